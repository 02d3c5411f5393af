/* Derives the inputs and the goal of a search from its command line. */
#include "cli/cmd_search.h"
#include "cli/goal.h"
#include "cli/commands.h"
#include "cli/metric.h"
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_SQNR_DB 30 /* an error of 3 % of the outputs' size */

static const struct member {
    itg_cli_option option;
    size_t offset, bytes;
    enum { FREE, KEPT } resume;
} members[] = {
#define ITG_SEARCH_OPTION(id, member, kind, resume, ...)                                           \
    {ITG_CLI_OPT_##id, offsetof(itg_search_options, member),                                       \
     sizeof((itg_search_options *)NULL)->member, resume},
#include <intaglio/search_options.def>
};
enum { MEMBERS = sizeof members / sizeof *members };

/* Returns the option that limits a cost; ITG_CLI_OPT_HELP if there is none. */
static itg_cli_option limit_option(itg_metric metric)
{
    static const itg_cli_option options[ITG_METRIC_COUNT] = {
#define ITG_CLI_LIMIT(id, metric, ...) [ITG_METRIC_##metric] = ITG_CLI_OPT_##id,
#include "cli/options.def"
    };
    return options[metric];
}

static bool is_limited(const itg_cli_args *args, itg_metric metric)
{
    itg_cli_option option = limit_option(metric);
    return option != ITG_CLI_OPT_HELP && args->given[option];
}

/* Returns the metric of the floor and of the best within limits: the user's metric if there is one;
 * for a resumed run the one of its goal; else that of --metric. */
static itg_metric quality_of(const itg_cli_args *args, const itg_goal *goal)
{
    if (*goal->user[0].info.name) return ITG_METRIC_USER1;
    if (args->given[ITG_CLI_OPT_RESUME]) return itg_goal_quality_metric(goal);
    return itg_cli_metric_named(args);
}

static void apply_goal(const itg_cli_args *args, itg_goal *goal)
{
    const itg_cli_value *values = args->values;
    itg_cli_metric_info(args, &goal->user[0].info);
    if (args->given[ITG_CLI_OPT_MAX_DROP])
        (void)itg_goal_constrain(goal, quality_of(args, goal),
                                 values[ITG_CLI_OPT_MAX_DROP].fraction, true);
    if (args->given[ITG_CLI_OPT_MIN_SQNR])
        (void)itg_goal_constrain(goal, ITG_METRIC_SQNR, values[ITG_CLI_OPT_MIN_SQNR].number, false);
    if (args->given[ITG_CLI_OPT_MINIMIZE]) {
        memcpy(goal->objectives, values[ITG_CLI_OPT_MINIMIZE].costs.values,
               sizeof goal->objectives);
        goal->objective_count = values[ITG_CLI_OPT_MINIMIZE].costs.count;
    }
    if (args->given[ITG_CLI_OPT_PARETO])
        itg_goal_set_front(goal, values[ITG_CLI_OPT_PARETO].costs.values,
                           values[ITG_CLI_OPT_PARETO].costs.count);
    for (int i = 0; i < ITG_METRIC_COUNT; i++)
        if (is_limited(args, (itg_metric)i))
            (void)itg_goal_constrain(goal, (itg_metric)i,
                                     values[limit_option((itg_metric)i)].number, false);
}

/* Applies the given options. all: applies the defaults of all others, too. */
static void apply(const itg_cli_args *args, bool all, itg_search_options *o)
{
    const itg_cli_value *values = args->values;
    apply_goal(args, &o->goal);
    for (int i = 0; i < MEMBERS; i++)
        if (all || args->given[members[i].option])
            memcpy((char *)o + members[i].offset, &values[members[i].option], members[i].bytes);
    o->threads = (int)values[ITG_CLI_OPT_THREADS].integer;
    o->block = values[ITG_CLI_OPT_BLOCK].integer;
    o->cache_bytes = values[ITG_CLI_OPT_CACHE_MB].integer * (1 << 20);
}

void itg_cli_search_apply(const itg_cli_args *args, itg_search_options *o)
{
    apply(args, false, o);
}

static bool has_limit(const itg_cli_args *args)
{
    bool limited = false;
    for (int i = 0; i < ITG_METRIC_COUNT; i++)
        limited |= is_limited(args, (itg_metric)i);
    return limited;
}

bool itg_cli_search_has_goal(const itg_cli_args *args)
{
    return has_limit(args) || args->given[ITG_CLI_OPT_MAX_DROP] ||
           args->given[ITG_CLI_OPT_MIN_SQNR];
}

/* With limits alone the goal is the best quality within them; else a floor and a cost to minimize.
 * The floor is that of a classifier until the model is open (itg_cli_search_settle). */
void itg_cli_search_options(const itg_cli_args *args, itg_search_options *out)
{
    bool limited = has_limit(args);
    bool sqnr = args->given[ITG_CLI_OPT_MIN_SQNR];
    bool maximize = limited && !sqnr && !args->given[ITG_CLI_OPT_MAX_DROP] &&
                    !args->given[ITG_CLI_OPT_MINIMIZE] && !args->given[ITG_CLI_OPT_PARETO];
    *out = (itg_search_options)ITG_SEARCH_OPTIONS_INIT;
    if (!maximize && !sqnr && !args->given[ITG_CLI_OPT_METRIC_COMMAND] &&
        !args->given[ITG_CLI_OPT_METRIC])
        (void)itg_goal_constrain(&out->goal, ITG_METRIC_ACCURACY, 0.01, true);
    apply(args, true, out);
    if (maximize) {
        out->goal.objectives[0] = quality_of(args, &out->goal);
        out->goal.objective_count = 1;
    }
    if (args->given[ITG_CLI_OPT_PARETO] && !args->given[ITG_CLI_OPT_SEARCHER])
        snprintf(out->searcher, sizeof out->searcher, "%s",
                 out->goal.objective_count > 2 ? "evolve" : "sweep");
}

void itg_cli_search_survey_options(const itg_cli_args *args, itg_search_options *out)
{
    itg_cli_search_options(args, out);
    out->goal.constraint_count = 0;
    out->goal.objectives[0] = quality_of(args, &out->goal);
    out->goal.objective_count = 1;
    out->no_racing = true;
    snprintf(out->searcher, sizeof out->searcher, "sensitivity");
}

/* ---- what options are, as text ---- */

static void say_number(char *out, double value)
{
    snprintf(out, ITG_CLI_OPTION_TEXT, value > 0 ? "%.15g" : "none", value);
}

static void say_methods(char *out, const itg_threshold_methods *methods)
{
    snprintf(out, ITG_CLI_OPTION_TEXT, "%s", methods->count > 0 ? "" : "none");
    for (int32_t i = 0; i < methods->count; i++)
        itg_cli_append(out, ITG_CLI_OPTION_TEXT, "%s%s", i > 0 ? "," : "",
                       itg_threshold_name(methods->values[i]));
}

static void say_value(const itg_cli_spec *spec, const itg_cli_value *v, char *out)
{
    switch ((int)spec->kind) {
    case ITG_CLI_INTEGER:
        say_number(out, (double)v->integer);
        break;
    case ITG_CLI_SEED:
        snprintf(out, ITG_CLI_OPTION_TEXT, "%" PRIu64, v->seed);
        break;
    case ITG_CLI_RANGE:
        snprintf(out, ITG_CLI_OPTION_TEXT, v->range.max ? "%d:%d" : "none", (int)v->range.min,
                 (int)v->range.max);
        break;
    case ITG_CLI_METHODS:
        say_methods(out, &v->methods);
        break;
    case ITG_CLI_SEARCHER:
        snprintf(out, ITG_CLI_OPTION_TEXT, "%s", v->searcher);
        break;
    case ITG_CLI_MODEL_TEXT:
        snprintf(out, ITG_CLI_OPTION_TEXT, "%s", *v->model_text ? v->model_text : "none");
        break;
    case ITG_CLI_KERNELS:
        snprintf(out, ITG_CLI_OPTION_TEXT, "%s", itg_float_kernels_name(v->kernels));
        break;
    case ITG_CLI_RECOVER:
        snprintf(out, ITG_CLI_OPTION_TEXT, "%s", itg_recover_mode_name(v->recover));
        break;
    case ITG_CLI_BASELINE:
        snprintf(out, ITG_CLI_OPTION_TEXT, "%s", v->flag ? spec->argument : "none");
        break;
    case ITG_CLI_FLAG:
        snprintf(out, ITG_CLI_OPTION_TEXT, "%s",
                 v->flag                              ? "set"
                 : strncmp(spec->name, "no-", 3) == 0 ? spec->name + strlen("no-")
                                                      : "not set");
        break;
    default:
        say_number(out, v->number);
    }
}

static bool say_goal(const itg_goal *goal, itg_cli_option option, char *out)
{
    if (option == ITG_CLI_OPT_MAX_DROP) {
        snprintf(out, ITG_CLI_OPTION_TEXT, itg_goal_drop(goal) >= 0 ? "%.15g" : "none",
                 itg_goal_drop(goal));
        return true;
    }
    if (option == ITG_CLI_OPT_MIN_SQNR) {
        say_number(out, itg_goal_least_sqnr(goal));
        return true;
    }
    if (option == ITG_CLI_OPT_METRIC_COMMAND) {
        const itg_user_info *info = &goal->user[0].info;
        snprintf(out, ITG_CLI_OPTION_TEXT, "%s%s", *info->name ? info->name : "none",
                 *info->name && !info->up ? " (smaller is better)" : "");
        return true;
    }
    if (option == ITG_CLI_OPT_MINIMIZE) {
        if (itg_goal_maximizes_quality(goal) || itg_cli_goal_has_front(goal))
            snprintf(out, ITG_CLI_OPTION_TEXT, "none");
        else
            itg_goal_objectives_text(goal, out, ITG_CLI_OPTION_TEXT);
        return true;
    }
    if (option == ITG_CLI_OPT_PARETO) {
        if (itg_cli_goal_has_front(goal))
            itg_goal_objectives_text(goal, out, ITG_CLI_OPTION_TEXT);
        else
            snprintf(out, ITG_CLI_OPTION_TEXT, "none");
        return true;
    }
    for (int i = 0; i < ITG_METRIC_COUNT; i++)
        if (option && option == limit_option((itg_metric)i)) {
            say_number(out, itg_goal_limit(goal, (itg_metric)i));
            return true;
        }
    return false;
}

bool itg_cli_search_option_text(const itg_search_options *o, itg_cli_option option,
                                char out[ITG_CLI_OPTION_TEXT])
{
    for (int i = 0; i < MEMBERS; i++) {
        itg_cli_value value = {0};
        if (members[i].option != option) continue;
        memcpy(&value, (const char *)o + members[i].offset, members[i].bytes);
        say_value(itg_cli_option_spec(option), &value, out);
        return members[i].resume == KEPT;
    }
    return say_goal(&o->goal, option, out);
}

/* ---- files ---- */

itg_status itg_cli_search_settle(itg_cli_search_work *w, itg_error *err)
{
    itg_goal *goal = &w->options.goal;
    if (!itg_goal_counts_classes(goal) || itg_model_is_classifier(w->model) ||
        w->args->given[ITG_CLI_OPT_METRIC])
        return ITG_OK;
    if (w->args->given[ITG_CLI_OPT_MAX_DROP])
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "--max-drop counts points of a classifier, and %.200s is none (%d "
                        "output%s, without one axis of classes to itself): give --min-sqnr "
                        "DB, as in --min-sqnr 30dB, the least SQNR of all its outputs",
                        itg_model_name(w->model), (int)itg_model_output_count(w->model),
                        itg_model_output_count(w->model) == 1 ? "" : "s");
    itg_goal_release(goal, ITG_METRIC_ACCURACY);
    for (int32_t i = 0; i < goal->objective_count; i++)
        if (!itg_metric_is_cost(goal->objectives[i])) goal->objectives[i] = ITG_METRIC_SQNR;
    if (!itg_goal_maximizes_quality(goal))
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

/* Describes labels for the log. They are identified by hash, as data is. */
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
    itg_model_options model = w->options.model;
    model.version = ITG_MODEL_OPTIONS_VERSION;
    itg_status status =
        w->hw ? ITG_OK : itg_hardware_load(w->args->values[ITG_CLI_OPT_HW].text, &w->hw, err);
    if (status == ITG_OK) status = itg_model_open(f->model, &model, &w->model, err);
    if (status == ITG_OK) status = itg_cli_keep_data_files(w->args, w->model, err);
    if (status == ITG_OK) status = itg_cli_metric_open(w->args, w->model, NULL, &w->metric, err);
    if (w->metric)
        memcpy(w->options.goal.user, itg_cli_metric_users(w->metric), sizeof w->options.goal.user);
    else if (status == ITG_OK) /* of a run that goes on */
        (void)itg_cli_top_metric(w->options.goal.user[0].info.name, &w->options.goal.user[0]);
    if (status == ITG_OK)
        status = itg_cli_data_open_files(itg_cli_model_input(w->model), f->data, f->labels,
                                         f->data_limit, &w->data, err);
    if (status == ITG_OK && f->holdout)
        status = itg_cli_data_open_files(itg_cli_model_input(w->model), f->holdout,
                                         f->holdout_labels, f->holdout_limit, &w->holdout, err);
    w->labels = describe(f->labels, w->data.labels);
    w->holdout_labels = describe(f->holdout_labels, w->holdout.labels);
    return status;
}
