/* What a search works on and what it is to find, from the words of its command line. */
#include "cli/cmd_search.h"
#include "cli/commands.h"
#include <stdio.h>
#include <string.h>

#define DEFAULT_SQNR_DB 30 /* an error of 3 % of the outputs' size */

itg_cli_option itg_cli_limit_option(itg_metric metric)
{
    static const itg_cli_option options[ITG_METRIC_COUNT] = {
        [ITG_METRIC_WEIGHT_BYTES] = ITG_CLI_OPT_MAX_SIZE,
        [ITG_METRIC_BOPS] = ITG_CLI_OPT_MAX_BOPS,
        [ITG_METRIC_CYCLES] = ITG_CLI_OPT_MAX_CYCLES,
        [ITG_METRIC_PEAK_ACTIVATION_BYTES] = ITG_CLI_OPT_MAX_RAM,
        [ITG_METRIC_PARAMETER_BYTES] = ITG_CLI_OPT_MAX_FLASH,
    };
    return options[metric];
}

static bool is_limited(const itg_cli_args *args, itg_metric metric)
{
    itg_cli_option option = itg_cli_limit_option(metric);
    return option != ITG_CLI_OPT_HELP && args->given[option];
}

static void apply_methods(const itg_cli_args *args, itg_cli_option option,
                          itg_threshold_method *methods, int32_t *count)
{
    const itg_cli_value *value = &args->values[option];
    if (!args->given[option]) return;
    memcpy(methods, value->methods.values, sizeof *methods * (size_t)value->methods.count);
    *count = value->methods.count;
}

static void apply_goal(const itg_cli_args *args, itg_goal *goal)
{
    const itg_cli_value *values = args->values;
    if (args->given[ITG_CLI_OPT_MAX_DROP])
        (void)itg_goal_constrain(goal, ITG_METRIC_ACCURACY, values[ITG_CLI_OPT_MAX_DROP].fraction,
                                 true);
    if (args->given[ITG_CLI_OPT_MIN_SQNR])
        (void)itg_goal_constrain(goal, ITG_METRIC_SQNR, values[ITG_CLI_OPT_MIN_SQNR].number, false);
    if (args->given[ITG_CLI_OPT_MINIMIZE]) {
        memcpy(goal->objectives, values[ITG_CLI_OPT_MINIMIZE].costs.values,
               sizeof goal->objectives);
        goal->objective_count = values[ITG_CLI_OPT_MINIMIZE].costs.count;
    }
    for (int i = 0; i < ITG_METRIC_COUNT; i++)
        if (is_limited(args, (itg_metric)i))
            (void)itg_goal_constrain(goal, (itg_metric)i,
                                     values[itg_cli_limit_option((itg_metric)i)].number, false);
}

void itg_cli_search_apply(const itg_cli_args *args, itg_search_options *o)
{
    const itg_cli_value *values = args->values;
    const bool *given = args->given;
    apply_goal(args, &o->goal);
    if (given[ITG_CLI_OPT_SEARCHER])
        snprintf(o->searcher, sizeof o->searcher, "%s", values[ITG_CLI_OPT_SEARCHER].text);
    if (given[ITG_CLI_OPT_TRIALS]) o->trials = values[ITG_CLI_OPT_TRIALS].integer;
    if (given[ITG_CLI_OPT_SECONDS]) o->seconds = values[ITG_CLI_OPT_SECONDS].number;
    if (given[ITG_CLI_OPT_PATIENCE]) o->patience = values[ITG_CLI_OPT_PATIENCE].integer;
    if (given[ITG_CLI_OPT_TOLERANCE]) o->tolerance = values[ITG_CLI_OPT_TOLERANCE].fraction;
    if (given[ITG_CLI_OPT_SEED]) o->seed = values[ITG_CLI_OPT_SEED].seed;
    if (given[ITG_CLI_OPT_WEIGHT_RANGE]) o->weight_bits = values[ITG_CLI_OPT_WEIGHT_RANGE].range;
    if (given[ITG_CLI_OPT_ACTIVATION_RANGE])
        o->activation_bits = values[ITG_CLI_OPT_ACTIVATION_RANGE].range;
    if (given[ITG_CLI_OPT_INPUT_RANGE]) o->input_bits = values[ITG_CLI_OPT_INPUT_RANGE].range;
    if (given[ITG_CLI_OPT_OUTPUT_RANGE]) o->output_bits = values[ITG_CLI_OPT_OUTPUT_RANGE].range;
    apply_methods(args, ITG_CLI_OPT_METHODS, o->activation_methods, &o->activation_method_count);
    apply_methods(args, ITG_CLI_OPT_WEIGHT_METHODS, o->weight_methods, &o->weight_method_count);
    if (given[ITG_CLI_OPT_CALIBRATION_SAMPLES])
        o->calibration_samples = values[ITG_CLI_OPT_CALIBRATION_SAMPLES].integer;
    if (given[ITG_CLI_OPT_SEARCH_SAMPLES])
        o->search_samples = values[ITG_CLI_OPT_SEARCH_SAMPLES].integer;
    if (given[ITG_CLI_OPT_FLOAT_KERNELS])
        o->float_kernels = values[ITG_CLI_OPT_FLOAT_KERNELS].kernels;
    if (given[ITG_CLI_OPT_BASELINE]) o->hago_baseline = true;
    if (given[ITG_CLI_OPT_NO_EQUALIZE]) o->no_equalize = true;
    if (given[ITG_CLI_OPT_NO_RACING]) o->no_racing = true;
    o->threads = (int)values[ITG_CLI_OPT_THREADS].integer;
    o->block = values[ITG_CLI_OPT_BLOCK].integer;
    o->cache_bytes = values[ITG_CLI_OPT_CACHE_MB].integer * (1 << 20);
}

/* Limits alone: the best quality within them. Else there is a floor, and a cost to minimize. The
 * floor is that of a classifier, until its model is open (itg_cli_search_settle). */
void itg_cli_search_options(const itg_cli_args *args, itg_search_options *out)
{
    const itg_cli_value *values = args->values;
    bool limited = false;
    for (int i = 0; i < ITG_METRIC_COUNT; i++)
        limited |= is_limited(args, (itg_metric)i);
    bool sqnr = args->given[ITG_CLI_OPT_MIN_SQNR];
    bool maximize = limited && !sqnr && !args->given[ITG_CLI_OPT_MAX_DROP] &&
                    !args->given[ITG_CLI_OPT_MINIMIZE];
    *out =
        (itg_search_options){ITG_SEARCH_OPTIONS_VERSION, .seed = values[ITG_CLI_OPT_SEED].seed,
                             .tolerance = values[ITG_CLI_OPT_TOLERANCE].fraction,
                             .calibration_samples = values[ITG_CLI_OPT_CALIBRATION_SAMPLES].integer,
                             .search_samples = values[ITG_CLI_OPT_SEARCH_SAMPLES].integer};
    snprintf(out->searcher, sizeof out->searcher, "%s", values[ITG_CLI_OPT_SEARCHER].text);
    if (maximize)
        out->goal = (itg_goal){.objectives = {ITG_METRIC_ACCURACY}, .objective_count = 1};
    else if (!sqnr)
        (void)itg_goal_constrain(&out->goal, ITG_METRIC_ACCURACY, 0.01, true);
    itg_cli_search_apply(args, out);
}

itg_status itg_cli_search_settle(itg_cli_search_work *w, itg_error *err)
{
    itg_goal *goal = &w->options.goal;
    if (!itg_goal_counts_classes(goal) || itg_model_is_classifier(w->model)) return ITG_OK;
    if (w->args->given[ITG_CLI_OPT_MAX_DROP])
        return itg_cli_error(err, ITG_BAD_ARGUMENT,
                             "--max-drop counts points of a classifier, and %.200s is none (%d "
                             "output%s, without one axis of classes to itself): give --min-sqnr "
                             "DB, as in --min-sqnr 30dB, the least SQNR of all its outputs",
                             itg_model_name(w->model), (int)itg_model_output_count(w->model),
                             itg_model_output_count(w->model) == 1 ? "" : "s");
    itg_goal_release(goal, ITG_METRIC_ACCURACY);
    if (itg_goal_maximizes_quality(goal))
        goal->objectives[0] = ITG_METRIC_SQNR;
    else
        (void)itg_goal_constrain(goal, ITG_METRIC_SQNR, DEFAULT_SQNR_DB, false);
    return ITG_OK;
}

void itg_cli_search_files_of(const itg_cli_args *args, itg_cli_search_files *out)
{
    const itg_cli_value *values = args->values;
    *out = (itg_cli_search_files){.model = args->arguments[0],
                                  .data = values[ITG_CLI_OPT_DATA].text,
                                  .labels = values[ITG_CLI_OPT_LABELS].text,
                                  .holdout = values[ITG_CLI_OPT_HOLDOUT].text,
                                  .holdout_labels = values[ITG_CLI_OPT_HOLDOUT_LABELS].text,
                                  .data_limit = values[ITG_CLI_OPT_LIMIT].integer};
}

/* Labels are known to the log by their hash, as data is. */
static itg_run_data describe(const char *path, const itg_dataset *labels)
{
    itg_run_data about = {.name = path};
    if (!labels) return (itg_run_data){0};
    about.samples = itg_data_samples(labels);
    memcpy(about.hash, itg_data_hash(labels), sizeof about.hash);
    return about;
}

itg_status itg_cli_search_open(itg_cli_search_work *w, itg_error *err)
{
    const itg_cli_search_files *f = &w->files;
    const itg_model_options model = {ITG_MODEL_OPTIONS_VERSION,
                                     .no_equalize = w->options.no_equalize};
    itg_status status =
        w->hw ? ITG_OK : itg_hardware_load(w->args->values[ITG_CLI_OPT_HW].text, &w->hw, err);
    if (status == ITG_OK) status = itg_model_open(f->model, &model, &w->model, err);
    if (status == ITG_OK)
        status = itg_cli_data_open_files(f->data, f->labels, f->data_limit, &w->data, err);
    if (status == ITG_OK && f->holdout)
        status = itg_cli_data_open_files(f->holdout, f->holdout_labels, f->holdout_limit,
                                         &w->holdout, err);
    w->labels = describe(f->labels, w->data.labels);
    w->holdout_labels = describe(f->holdout_labels, w->holdout.labels);
    return status;
}
