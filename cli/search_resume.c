/* --resume: the run's record in the log stands for everything that is not given again. What is
 * given must be what the run had, but for how long it may go on and what it prints. */
#include "cli/cmd_search.h"
#include "cli/commands.h"
#include "cli/holder.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { VALUE = 128 };

/* ---- options ---- */

static const itg_cli_option agreeing[] = {ITG_CLI_OPT_SEARCHER,
                                          ITG_CLI_OPT_MAX_DROP,
                                          ITG_CLI_OPT_MIN_SQNR,
                                          ITG_CLI_OPT_MINIMIZE,
                                          ITG_CLI_OPT_MAX_SIZE,
                                          ITG_CLI_OPT_MAX_BOPS,
                                          ITG_CLI_OPT_MAX_CYCLES,
                                          ITG_CLI_OPT_MAX_RAM,
                                          ITG_CLI_OPT_MAX_FLASH,
                                          ITG_CLI_OPT_PATIENCE,
                                          ITG_CLI_OPT_TOLERANCE,
                                          ITG_CLI_OPT_SEED,
                                          ITG_CLI_OPT_WEIGHT_RANGE,
                                          ITG_CLI_OPT_ACTIVATION_RANGE,
                                          ITG_CLI_OPT_INPUT_RANGE,
                                          ITG_CLI_OPT_OUTPUT_RANGE,
                                          ITG_CLI_OPT_METHODS,
                                          ITG_CLI_OPT_WEIGHT_METHODS,
                                          ITG_CLI_OPT_CALIBRATION_SAMPLES,
                                          ITG_CLI_OPT_SEARCH_SAMPLES,
                                          ITG_CLI_OPT_FLOAT_KERNELS,
                                          ITG_CLI_OPT_BASELINE,
                                          ITG_CLI_OPT_NO_EQUALIZE,
                                          ITG_CLI_OPT_NO_RACING};

static void say_number(char out[VALUE], double value, bool known)
{
    snprintf(out, VALUE, known ? "%.15g" : "none", value);
}

static void say_range(char out[VALUE], itg_bits_range range)
{
    if (range.max == 0)
        snprintf(out, VALUE, "none");
    else
        snprintf(out, VALUE, "%d:%d", (int)range.min, (int)range.max);
}

static void say_methods(char out[VALUE], const itg_threshold_method *methods, int32_t count)
{
    size_t used = 0;
    snprintf(out, VALUE, "none");
    for (int32_t i = 0; i < count && used < VALUE; i++)
        used += (size_t)snprintf(out + used, VALUE - used, "%s%s", i > 0 ? "," : "",
                                 itg_threshold_name(methods[i]));
}

static void say_goal(const itg_goal *goal, itg_cli_option option, char out[VALUE])
{
    char objectives[96];
    if (option == ITG_CLI_OPT_MAX_DROP)
        say_number(out, itg_goal_drop(goal), itg_goal_drop(goal) >= 0);
    else if (option == ITG_CLI_OPT_MIN_SQNR)
        say_number(out, itg_goal_least_sqnr(goal), itg_goal_least_sqnr(goal) > 0);
    else if (option == ITG_CLI_OPT_MINIMIZE)
        snprintf(out, VALUE, "%s",
                 itg_goal_maximizes_quality(goal)
                     ? "none"
                     : itg_goal_objectives_text(goal, objectives, sizeof objectives));
    for (int i = 0; i < ITG_METRIC_COUNT; i++)
        if (option == itg_cli_limit_option((itg_metric)i))
            say_number(out, itg_goal_limit(goal, (itg_metric)i),
                       itg_goal_limit(goal, (itg_metric)i) > 0);
}

/* The value that one option has, as text; equal texts are equal values. */
static void say(const itg_search_options *o, itg_cli_option option, char out[VALUE])
{
    switch ((int)option) {
    case ITG_CLI_OPT_SEARCHER:
        snprintf(out, VALUE, "%s", o->searcher);
        break;
    case ITG_CLI_OPT_PATIENCE:
        say_number(out, (double)o->patience, o->patience > 0);
        break;
    case ITG_CLI_OPT_TOLERANCE:
        say_number(out, o->tolerance, true);
        break;
    case ITG_CLI_OPT_SEED:
        snprintf(out, VALUE, "%" PRIu64, o->seed);
        break;
    case ITG_CLI_OPT_WEIGHT_RANGE:
        say_range(out, o->weight_bits);
        break;
    case ITG_CLI_OPT_ACTIVATION_RANGE:
        say_range(out, o->activation_bits);
        break;
    case ITG_CLI_OPT_INPUT_RANGE:
        say_range(out, o->input_bits);
        break;
    case ITG_CLI_OPT_OUTPUT_RANGE:
        say_range(out, o->output_bits);
        break;
    case ITG_CLI_OPT_METHODS:
        say_methods(out, o->activation_methods, o->activation_method_count);
        break;
    case ITG_CLI_OPT_WEIGHT_METHODS:
        say_methods(out, o->weight_methods, o->weight_method_count);
        break;
    case ITG_CLI_OPT_CALIBRATION_SAMPLES:
        say_number(out, (double)o->calibration_samples, true);
        break;
    case ITG_CLI_OPT_SEARCH_SAMPLES:
        say_number(out, (double)o->search_samples, true);
        break;
    case ITG_CLI_OPT_FLOAT_KERNELS:
        snprintf(out, VALUE, "%s", itg_float_kernels_name(o->float_kernels));
        break;
    case ITG_CLI_OPT_BASELINE:
        snprintf(out, VALUE, "%s", o->hago_baseline ? "hago-greedy" : "none");
        break;
    case ITG_CLI_OPT_NO_EQUALIZE:
        snprintf(out, VALUE, "%s", o->no_equalize ? "set" : "equalization");
        break;
    case ITG_CLI_OPT_NO_RACING:
        snprintf(out, VALUE, "%s", o->no_racing ? "set" : "racing");
        break;
    default:
        say_goal(&o->goal, option, out);
    }
}

static itg_status refuse(const itg_cli_search_work *w, itg_cli_option option, const char *given,
                         const char *logged, itg_error *err)
{
    return itg_cli_error(err, ITG_BAD_ARGUMENT, "--%s %s: run %" PRId64 " of %s has %s",
                         itg_cli_option_spec(option)->name, given, w->resumed->run,
                         w->args->values[ITG_CLI_OPT_DB].text, logged);
}

/* "runs.db: run 3: its options": what errors call a document of the log. */
static const char *place_of(const itg_cli_search_work *w, const char *what, char *out, size_t size)
{
    snprintf(out, size, "%.400s: run %" PRId64 ": its %s", w->resumed->log, w->resumed->run, what);
    return out;
}

/* A longer run than before is fine; one that is shorter than what is there already is not. */
static itg_status check_trials(itg_cli_search_work *w, itg_error *err)
{
    int64_t *trials = &w->options.trials;
    if (!w->args->given[ITG_CLI_OPT_TRIALS]) {
        if (*trials > 0 && *trials < w->replay_count) *trials = w->replay_count;
        return ITG_OK;
    }
    if (*trials >= w->replay_count) return ITG_OK;
    return itg_cli_error(
        err, ITG_BAD_ARGUMENT,
        "--trials %" PRId64 ": run %" PRId64 " of %s has %" PRId64 " trials already", *trials,
        w->resumed->run, w->args->values[ITG_CLI_OPT_DB].text, w->replay_count);
}

static itg_status resume_options(itg_cli_search_work *w, itg_error *err)
{
    char given[VALUE], logged[VALUE], source[512];
    itg_search_options o;
    itg_status status = itg_search_options_from_text(
        w->resumed->info.options_json, place_of(w, "options", source, sizeof source), &o, err);
    if (status != ITG_OK) return status;
    w->options = o;
    itg_cli_search_apply(w->args, &w->options);
    for (size_t i = 0; i < sizeof agreeing / sizeof *agreeing; i++) {
        if (!w->args->given[agreeing[i]]) continue;
        say(&w->options, agreeing[i], given);
        say(&o, agreeing[i], logged);
        if (strcmp(given, logged) != 0) return refuse(w, agreeing[i], given, logged, err);
    }
    return check_trials(w, err);
}

/* ---- hardware and preprocessing ---- */

static itg_status resume_hardware(itg_cli_search_work *w, itg_error *err)
{
    const itg_run_info *info = &w->resumed->info;
    const char *name = w->args->values[ITG_CLI_OPT_HW].text;
    char source[512];
    if (!w->args->given[ITG_CLI_OPT_HW])
        return itg_hardware_parse(info->hardware_json, strlen(info->hardware_json),
                                  place_of(w, "hardware", source, sizeof source), &w->hw, err);
    itg_status status = itg_hardware_load(name, &w->hw, err);
    if (status != ITG_OK || strcmp(itg_hardware_json(w->hw), info->hardware_json) == 0)
        return status;
    if (strcmp(itg_hardware_name(w->hw), info->hardware_name) != 0)
        return refuse(w, ITG_CLI_OPT_HW, name, info->hardware_name, err);
    return itg_cli_error(
        err, ITG_BAD_ARGUMENT, "--hw %s: run %" PRId64 " of %s has another description of '%s'",
        name, w->resumed->run, w->args->values[ITG_CLI_OPT_DB].text, info->hardware_name);
}

static itg_status resume_preprocess(itg_cli_search_work *w, itg_error *err)
{
    const char *logged = w->resumed->info.preprocess_json;
    char source[512];
    itg_status status = itg_preprocess_from_text(
        logged, place_of(w, "preprocessing", source, sizeof source), &w->preprocess, err);
    if (status != ITG_OK) return status;
    itg_preprocess given = w->preprocess;
    char *text = NULL, *before = NULL;
    itg_cli_preprocess(w->args, &given);
    status = itg_preprocess_text(&given, &text, err);
    if (status == ITG_OK) status = itg_preprocess_text(&w->preprocess, &before, err);
    if (status == ITG_OK && strcmp(text, before) != 0)
        status = itg_cli_error(err, ITG_BAD_ARGUMENT,
                               "the preprocessing would be %s, run %" PRId64 " of %s has %s", text,
                               w->resumed->run, w->args->values[ITG_CLI_OPT_DB].text, before);
    itg_free(text);
    itg_free(before);
    return status;
}

/* ---- files ---- */

/* The name to open: what is given, else the log's. What the run did without cannot be given. */
static itg_status pick(const itg_cli_search_work *w, itg_cli_option option,
                       const itg_run_data *logged, const char **out, itg_error *err)
{
    const char *given = w->args->values[option].text;
    if (w->args->given[option] && !logged->name) return refuse(w, option, given, "none", err);
    *out = w->args->given[option] ? given : logged->name;
    return ITG_OK;
}

/* The first check, of the command line, knows nothing of files that the log names. */
static itg_status protect_inputs(const itg_cli_search_work *w, itg_error *err)
{
    const itg_cli_search_files *f = &w->files;
    const char *const inputs[] = {f->model, f->data, f->labels, f->holdout, f->holdout_labels};
    itg_cli_file files[sizeof inputs / sizeof *inputs];
    int count = 0;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (inputs[i]) files[count++] = (itg_cli_file){inputs[i], inputs[i], false};
    return itg_cli_keep_apart(w->args, files, count, err);
}

static itg_status resume_files(itg_cli_search_work *w, itg_error *err)
{
    const itg_run_info *info = &w->resumed->info;
    itg_cli_search_files *f = &w->files;
    char given[VALUE], logged[VALUE];
    f->model = w->args->argument_count > 0 ? w->args->arguments[0] : info->model_name;
    f->data_limit = info->data.samples;
    f->holdout_limit = info->holdout.samples;
    itg_status status = pick(w, ITG_CLI_OPT_DATA, &info->data, &f->data, err);
    if (status == ITG_OK) status = pick(w, ITG_CLI_OPT_LABELS, &info->labels, &f->labels, err);
    if (status == ITG_OK) status = pick(w, ITG_CLI_OPT_HOLDOUT, &info->holdout, &f->holdout, err);
    if (status == ITG_OK)
        status =
            pick(w, ITG_CLI_OPT_HOLDOUT_LABELS, &info->holdout_labels, &f->holdout_labels, err);
    int64_t limit = w->args->values[ITG_CLI_OPT_LIMIT].integer;
    if (status != ITG_OK || !w->args->given[ITG_CLI_OPT_LIMIT] || limit >= f->data_limit)
        return status;
    say_number(given, (double)limit, true);
    say_number(logged, (double)f->data_limit, true);
    return refuse(w, ITG_CLI_OPT_LIMIT, given, logged, err);
}

static itg_status compare_hash(const itg_cli_search_work *w, const char *path,
                               const unsigned char found[32], const char *logged_name,
                               const unsigned char logged[32], itg_error *err)
{
    char is[ITG_CLI_HEX], was[ITG_CLI_HEX];
    if (memcmp(found, logged, 32) == 0) return ITG_OK;
    return itg_cli_error(
        err, ITG_BAD_ARGUMENT,
        "%.120s: has SHA-256 %.16s..., run %" PRId64 " of %.120s had %.16s... (%.120s)", path,
        itg_cli_hex(found, is), w->resumed->run, w->args->values[ITG_CLI_OPT_DB].text,
        itg_cli_hex(logged, was), logged_name);
}

itg_status itg_cli_search_agree(const itg_cli_search_work *w, itg_error *err)
{
    const itg_run_info *info = &w->resumed->info;
    const itg_cli_search_files *f = &w->files;
    itg_status status = compare_hash(w, f->model, itg_model_hash(w->model), info->model_name,
                                     info->model_hash, err);
    if (status == ITG_OK)
        status = compare_hash(w, f->data, itg_data_hash(w->data.samples), info->data.name,
                              info->data.hash, err);
    if (status == ITG_OK && f->labels)
        status =
            compare_hash(w, f->labels, w->labels.hash, info->labels.name, info->labels.hash, err);
    if (status == ITG_OK && f->holdout)
        status = compare_hash(w, f->holdout, itg_data_hash(w->holdout.samples), info->holdout.name,
                              info->holdout.hash, err);
    if (status == ITG_OK && f->holdout_labels)
        status = compare_hash(w, f->holdout_labels, w->holdout_labels.hash,
                              info->holdout_labels.name, info->holdout_labels.hash, err);
    return status;
}

/* ---- the run ---- */

static itg_status read_run(itg_cli_search_work *w, itg_error *err)
{
    const itg_cli_value *values = w->args->values;
    int64_t run = values[ITG_CLI_OPT_RESUME].integer;
    itg_run_log *log = NULL;
    itg_cli_holder self;
    itg_status status = itg_run_log_open_reader(values[ITG_CLI_OPT_DB].text, &log, err);
    if (status == ITG_OK) status = itg_run_log_read_run(log, run, &w->resumed, err);
    /* Whoever writes it now would be found again before the search; but then the files are read. */
    if (status == ITG_OK) status = itg_run_log_check_free(log, run, itg_cli_claim(&self), err);
    if (status == ITG_OK)
        status = itg_run_log_load_trials(log, run, &w->replay, &w->replay_count, err);
    itg_run_log_close(log, NULL);
    return status;
}

/* Another version may score the same point otherwise: a run is of one version from start to end. */
static itg_status check_version(const itg_cli_search_work *w, itg_error *err)
{
    const char *version = w->resumed->info.engine_version;
    const char *db = w->args->values[ITG_CLI_OPT_DB].text;
    if (strcmp(version, itg_engine_version()) != 0)
        return itg_cli_error(err, ITG_UNSUPPORTED,
                             "run %" PRId64 " of %s was made by version %s; this is %s, which "
                             "cannot go on with it",
                             w->resumed->run, db, version, itg_engine_version());
    if (!w->resumed->info.space_json)
        return itg_cli_error(err, ITG_UNSUPPORTED,
                             "run %" PRId64 " of %s was written before runs could be resumed",
                             w->resumed->run, db);
    return ITG_OK;
}

itg_status itg_cli_search_resume(itg_cli_search_work *w, itg_error *err)
{
    itg_status status = read_run(w, err);
    if (status == ITG_OK) status = check_version(w, err);
    if (status == ITG_OK) status = resume_options(w, err);
    if (status == ITG_OK) status = resume_hardware(w, err);
    if (status == ITG_OK) status = resume_preprocess(w, err);
    if (status == ITG_OK) status = resume_files(w, err);
    if (status == ITG_OK) status = protect_inputs(w, err);
    if (status != ITG_OK) return status;
    w->options.replay = w->replay;
    w->options.replay_count = w->replay_count;
    return ITG_OK;
}
