/* intaglio search: finds the cheapest strategy that is good enough. Ctrl-C ends it after the batch
 * at hand, with all its results. */
#include "cli/cmd_search.h"
#include "cli/commands.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- interruption ---- */

/* The one thing that a signal handler may write to. */
static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    static const char text[] =
        "\nintaglio: finishing this batch of trials; once more to stop at once\n";
    (void)number;
    interrupted = 1;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) return; /* nobody to tell */
}

/* The second signal finds the default action, and kills. */
static void catch_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = interrupt;
    action.sa_flags = (int)(SA_RESETHAND | SA_RESTART);
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- hooks ---- */

static double hook_clock(void *context)
{
    (void)context;
    return itg_cli_now();
}

static void hook_progress(void *context, const itg_trial *trial, const itg_trial *best,
                          int64_t planned)
{
    itg_cli_search_work *w = context;
    itg_cli_progress_show(&w->progress, trial, best, planned, itg_cli_now());
}

static itg_status hook_trial(void *context, const itg_trial *trial, itg_error *err)
{
    itg_cli_search_work *w = context;
    (void)err;
    /* A log that cannot be written ends the search, but must not cost what it has found. */
    if (w->recorder && w->log_failure.code == ITG_OK)
        itg_cli_recorder_trial(w->recorder, trial, itg_cli_now(), &w->log_failure);
    return ITG_OK;
}

static bool hook_cancelled(void *context)
{
    const itg_cli_search_work *w = context;
    return interrupted != 0 || w->log_failure.code != ITG_OK;
}

/* ---- the log ---- */

static void json_range(itg_cli_json *json, const char *key, const itg_bits_range *range)
{
    itg_cli_json_begin(json, key, '[');
    itg_cli_json_integer(json, NULL, range->min);
    itg_cli_json_integer(json, NULL, range->max);
    itg_cli_json_end(json, ']');
}

static char *options_text(const itg_search_options *o)
{
    itg_cli_json json = {0};
    itg_cli_json_begin(&json, NULL, '{');
    itg_cli_json_text(&json, "searcher", o->searcher);
    itg_cli_json_number(&json, "max_drop", o->max_drop);
    itg_cli_json_integer(&json, "trials", o->trials);
    json_range(&json, "weight_bits", &o->weight_bits);
    json_range(&json, "activation_bits", &o->activation_bits);
    itg_cli_json_integer(&json, "calibration_samples", o->calibration_samples);
    itg_cli_json_integer(&json, "search_samples", o->search_samples);
    itg_cli_json_end(&json, '}');
    return itg_cli_json_take(&json);
}

static itg_run_data data_of(const char *name, const itg_dataset *samples)
{
    itg_run_data data = {.name = name};
    if (!samples) return data;
    data.samples = itg_data_samples(samples);
    memcpy(data.hash, itg_data_hash(samples), sizeof data.hash);
    return data;
}

static itg_status begin_log(itg_cli_search_work *w, itg_error *err)
{
    const itg_cli_value *values = w->args->values;
    char started[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (!w->args->given[ITG_CLI_OPT_DB]) return ITG_OK;
    if (gmtime_r(&now, &utc)) strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", &utc);
    itg_status status = itg_preprocess_text(&w->preprocess, &w->preprocess_json, err);
    if (status != ITG_OK) return status;
    w->options_json = options_text(&w->options);
    itg_run_info info = {.model_name = itg_model_name(w->model),
                         .hardware_name = itg_hardware_name(w->hw),
                         .searcher = w->options.searcher,
                         .options_json = w->options_json ? w->options_json : "{}",
                         .hardware_json = itg_hardware_json(w->hw),
                         .preprocess_json = w->preprocess_json,
                         .engine_version = itg_engine_version(),
                         .started = started,
                         .data = data_of(values[ITG_CLI_OPT_DATA].text, w->data.samples),
                         .holdout = data_of(values[ITG_CLI_OPT_HOLDOUT].text, w->holdout.samples),
                         .seed = w->options.seed};
    memcpy(info.model_hash, itg_model_hash(w->model), sizeof info.model_hash);
    return itg_cli_recorder_open(values[ITG_CLI_OPT_DB].text, &info, &w->recorder, err);
}

static itg_status end_log(itg_cli_search_work *w, itg_error *err)
{
    const itg_trial *best = itg_search_best(w->result);
    if (!w->recorder) return ITG_OK;
    itg_status status =
        best ? itg_strategy_text(itg_search_strategy(w->result), w->model, &w->strategy_json, err)
             : ITG_OK;
    if (status != ITG_OK) return status;
    itg_run_end end = {.stop_reason = itg_search_stop_reason(w->result),
                       .strategy_json = w->strategy_json,
                       .best_trial = best ? best->index : -1,
                       .holdout_float = itg_search_float(w->result, true),
                       .holdout_uniform8 = itg_search_uniform8(w->result, true),
                       .holdout_best = best ? itg_search_best_holdout(w->result) : NULL};
    return itg_cli_recorder_end(w->recorder, &end, err);
}

/* The run that failed says so; its trials stay. */
static void end_log_failed(itg_cli_search_work *w, const itg_error *why)
{
    itg_run_end end = {.stop_reason = why->message, .best_trial = -1};
    if (w->recorder) itg_cli_recorder_end(w->recorder, &end, NULL);
}

/* ---- the command ---- */

static itg_search_options options_of(const itg_cli_args *args)
{
    const itg_cli_value *values = args->values;
    return (itg_search_options){.searcher = values[ITG_CLI_OPT_SEARCHER].text,
                                .max_drop = values[ITG_CLI_OPT_MAX_DROP].fraction,
                                .trials = values[ITG_CLI_OPT_TRIALS].integer,
                                .seed = values[ITG_CLI_OPT_SEED].seed,
                                .threads = (int)values[ITG_CLI_OPT_THREADS].integer,
                                .weight_bits = values[ITG_CLI_OPT_WEIGHT_RANGE].range,
                                .activation_bits = values[ITG_CLI_OPT_ACTIVATION_RANGE].range,
                                .calibration_samples =
                                    values[ITG_CLI_OPT_CALIBRATION_SAMPLES].integer,
                                .search_samples = values[ITG_CLI_OPT_SEARCH_SAMPLES].integer};
}

static itg_status open_inputs(itg_cli_search_work *w, itg_error *err)
{
    const itg_cli_value *values = w->args->values;
    itg_status status = itg_hardware_load(values[ITG_CLI_OPT_HW].text, &w->hw, err);
    if (status == ITG_OK) status = itg_model_open(w->args->arguments[0], &w->model, err);
    if (status == ITG_OK) status = itg_cli_data_open(w->args, &w->data, err);
    if (status == ITG_OK && w->args->given[ITG_CLI_OPT_HOLDOUT])
        status =
            itg_cli_data_open_files(values[ITG_CLI_OPT_HOLDOUT].text,
                                    values[ITG_CLI_OPT_HOLDOUT_LABELS].text, 0, &w->holdout, err);
    return status;
}

static itg_status search(itg_cli_search_work *w, itg_error *err)
{
    itg_search_hooks hooks = {w, hook_clock, hook_progress, hook_trial, hook_cancelled};
    itg_status status = open_inputs(w, err);
    if (status == ITG_OK) status = begin_log(w, err);
    if (status != ITG_OK) return status;
    itg_search_data data = {w->data.samples, w->data.labels, w->holdout.samples, w->holdout.labels};
    catch_signals();
    double start = itg_cli_now();
    itg_cli_progress_begin(&w->progress, w->args->given[ITG_CLI_OPT_QUIET], start);
    status =
        itg_search(w->model, w->hw, &w->preprocess, &data, &w->options, &hooks, &w->result, err);
    itg_cli_progress_end(&w->progress);
    w->seconds = itg_cli_now() - start;
    if (status != ITG_OK) end_log_failed(w, err);
    return status;
}

/* The strategy first: it must not be lost to a log that cannot be written. */
static itg_status write_outputs(itg_cli_search_work *w, itg_error *err)
{
    const char *path = w->args->values[ITG_CLI_OPT_OUT_STRATEGY].text;
    itg_status status = ITG_OK;
    if (path && itg_search_best(w->result))
        status = itg_strategy_save(itg_search_strategy(w->result), w->model, path, err);
    if (status == ITG_OK && w->log_failure.code == ITG_OK) end_log(w, &w->log_failure);
    return status;
}

static int report(const itg_cli_search_work *w)
{
    int result = w->args->given[ITG_CLI_OPT_JSON] ? itg_cli_search_json(w) : itg_cli_search_text(w);
    if (result != ITG_CLI_OK) return result;
    const itg_score *floats = itg_search_float(w->result, false);
    bool cancelled = w->log_failure.code == ITG_OK &&
                     strcmp(itg_search_stop_reason(w->result), "cancelled") == 0;
    if (itg_search_best(w->result)) {
        if (cancelled) fputs("intaglio: interrupted; the best so far was kept\n", stderr);
        return ITG_CLI_OK;
    }
    if (cancelled)
        return itg_cli_fail("interrupted before a trial was good enough; no strategy was written");
    return itg_cli_fail("no trial came within %.4g points of the float network's %.2f %% (%s, "
                        "search samples); no strategy was written",
                        100 * w->options.max_drop,
                        100 * (floats->top1 >= 0 ? floats->top1 : floats->agreement),
                        floats->top1 >= 0 ? "top-1" : "agreement");
}

static itg_status deinit(itg_cli_search_work *w, itg_error *err)
{
    itg_status status = itg_cli_recorder_close(w->recorder, err);
    itg_search_result_destroy(w->result);
    itg_free(w->options_json);
    itg_free(w->preprocess_json);
    itg_free(w->strategy_json);
    itg_cli_data_close(&w->data);
    itg_cli_data_close(&w->holdout);
    itg_hardware_destroy(w->hw);
    itg_model_close(w->model);
    return status;
}

static int run(const itg_cli_args *args)
{
    itg_cli_search_work w = {
        .args = args, .preprocess = itg_preprocess_default(), .options = options_of(args)};
    itg_error err = {0};
    if (args->given[ITG_CLI_OPT_HOLDOUT_LABELS] && !args->given[ITG_CLI_OPT_HOLDOUT])
        return itg_cli_fail_usage(args->command, "--holdout-labels goes with --holdout");
    itg_cli_preprocess(args, &w.preprocess);
    itg_status status = search(&w, &err);
    if (status == ITG_OK) status = write_outputs(&w, &err);
    int result = status == ITG_OK ? report(&w) : itg_cli_fail_error(&err);
    if (w.log_failure.code != ITG_OK) result = itg_cli_fail_error(&w.log_failure);
    status = deinit(&w, &err);
    return status != ITG_OK && result == ITG_CLI_OK ? itg_cli_fail_error(&err) : result;
}

const itg_cli_command itg_cli_search = {
    .name = "search",
    .summary = "Searches the bit width of every edge: the smallest network that is good enough",
    .usage = "MODEL --hw T --data X [--labels Y] [--holdout X2 --holdout-labels Y2]\n"
             " [--max-drop 1%] [--db runs.db] [-o strategy.json] [...]",
    .details = "Every trial is scored by the deployed program itself. --data is split by the seed "
               "into samples to\n"
               "calibrate on, samples to judge trials on and, without --holdout, a hold-out; "
               "results are reported on the\n"
               "hold-out. Without labels, quality is agreement with the float network. Ctrl-C ends "
               "the search after the\n"
               "trials at hand and keeps the best so far; a second one stops at once.",
    .min_arguments = 1,
    .max_arguments = 1,
    .arguments = {"MODEL"},
    .required = {ITG_CLI_OPT_HW, ITG_CLI_OPT_DATA},
    .required_count = 2,
    .options = {ITG_CLI_OPT_HW, ITG_CLI_OPT_DATA, ITG_CLI_OPT_LABELS, ITG_CLI_OPT_HOLDOUT,
                ITG_CLI_OPT_HOLDOUT_LABELS, ITG_CLI_OPT_LIMIT, ITG_CLI_PREPROCESS,
                ITG_CLI_OPT_SEARCHER, ITG_CLI_OPT_MAX_DROP, ITG_CLI_OPT_TRIALS, ITG_CLI_OPT_SEED,
                ITG_CLI_OPT_WEIGHT_RANGE, ITG_CLI_OPT_ACTIVATION_RANGE,
                ITG_CLI_OPT_CALIBRATION_SAMPLES, ITG_CLI_OPT_SEARCH_SAMPLES, ITG_CLI_OPT_DB,
                ITG_CLI_OPT_OUT_STRATEGY, ITG_CLI_OPT_QUIET},
    .option_count = 17 + ITG_CLI_PREPROCESS_COUNT,
    .run = run,
};
