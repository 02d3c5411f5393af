/* intaglio search: finds the strategy that meets a goal best, or continues a run of the log. Ctrl-C
 * ends it and keeps the results so far. */
#include "cli/cmd_search.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/metric.h"
#include "cli/table.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void hook_codes(void *context, int32_t layer, int32_t layers)
{
    itg_cli_search_work *w = context;
    itg_cli_progress_codes(&w->progress, layer, layers);
}

static bool has_lost_metric(const itg_cli_search_work *w)
{
    return itg_cli_metric_failure(w->metric, NULL) != ITG_OK;
}

/* Whether the metric command failed for another reason than that the user stopped the search. */
static bool metric_failed(const itg_cli_search_work *w, itg_error *err)
{
    itg_status status = itg_cli_metric_failure(w->metric, err);
    return status != ITG_OK && status != ITG_CANCELLED;
}

static itg_status hook_trial(void *context, const itg_trial *trial, itg_error *err)
{
    itg_cli_search_work *w = context;
    (void)err;
    /* A log that cannot be written, or a quality that is not known, ends the search, but must not
     * cost what it has found. */
    if (w->recorder && w->log_failure.code == ITG_OK && !has_lost_metric(w))
        itg_cli_recorder_trial(w->recorder, trial, itg_cli_now(), &w->log_failure);
    return ITG_OK;
}

static bool hook_cancelled(void *context)
{
    const itg_cli_search_work *w = context;
    return itg_cli_is_interrupted() || w->log_failure.code != ITG_OK || has_lost_metric(w);
}

/* Whether to skip the hold-out: in a survey, and PATIENCE_S after an interrupt. */
static bool hook_hurry(void *context)
{
    enum { PATIENCE_S = 2 };
    const itg_cli_search_work *w = context;
    return w->is_survey || itg_cli_interrupted_for() >= PATIENCE_S;
}

static void hook_note(void *context, const char *text)
{
    const itg_cli_search_work *w = context;
    if (!w->args->given[ITG_CLI_OPT_QUIET]) fprintf(stderr, "intaglio: note: %s\n", text);
}

/* ---- workers elsewhere ---- */

static itg_status open_workers(itg_cli_search_work *w, itg_error *err)
{
    const itg_cli_value *values = w->args->values;
    itg_coordinator_options o = {.hooks = {w, hook_clock, hook_cancelled, hook_note},
                                 .model = w->model,
                                 .model_path = w->files.model,
                                 .recheck = values[ITG_CLI_OPT_RECHECK].fraction,
                                 .threads = w->options.threads};
    if (!w->args->given[ITG_CLI_OPT_WORKERS]) return ITG_OK;
    signal(SIGPIPE, SIG_IGN); /* a server that is gone is an error of the connection */
    itg_status status = itg_remote_parse(values[ITG_CLI_OPT_WORKERS].text,
                                         getenv(ITG_CLI_REDIS_PASSWORD), &o.address, err);
    return status == ITG_OK ? itg_coordinator_open(&o, &w->coordinator, err) : status;
}

/* ---- the search ---- */

static itg_status prepare(itg_cli_search_work *w, itg_error *err)
{
    bool resumes = w->args->given[ITG_CLI_OPT_RESUME];
    itg_status status = ITG_OK;
    if (resumes) {
        status = itg_cli_search_resume(w, err);
    } else {
        w->preprocess = itg_preprocess_default();
        itg_cli_preprocess(w->args, &w->preprocess);
        if (w->is_survey)
            itg_cli_search_survey_options(w->args, &w->options);
        else
            itg_cli_search_options(w->args, &w->options);
        itg_cli_search_files_of(w->args, &w->files);
    }
    if (status == ITG_OK) status = itg_cli_search_open(w, err);
    if (status == ITG_OK && !resumes) status = itg_cli_search_settle(w, err);
    if (status == ITG_OK && resumes) status = itg_cli_search_agree(w, err);
    if (status == ITG_OK) status = itg_cli_search_take_start(w, err);
    if (status == ITG_OK && w->is_survey) status = itg_cli_search_reuse(w, err);
    if (status == ITG_OK) status = itg_cli_search_read_mark(w, err);
    if (status == ITG_OK) status = open_workers(w, err);
    if (status == ITG_OK) status = itg_cli_search_begin_log(w, err);
    return status;
}

static itg_status name_run(const itg_run_record *run, itg_error *err)
{
    itg_error why = *err;
    return itg_fail(err, why.code, "%.200s: run %lld: %.280s", run->log, (long long)run->run,
                    why.message);
}

/* Prints, before the search, what will not be kept and which options have no effect. */
static void note_options(const itg_cli_search_work *w)
{
    const bool *given = w->args->given;
    const itg_goal *goal = &w->options.goal;
    if (given[ITG_CLI_OPT_QUIET]) return;
    if (!w->is_survey && !given[ITG_CLI_OPT_OUT_STRATEGY] && !given[ITG_CLI_OPT_DB])
        fputs("intaglio: warning: the strategy will be lost: neither -o nor --db says where to "
              "keep it\n",
              stderr);
    for (int i = 0; i < ITG_METRIC_COUNT; i++) {
        double there = itg_hardware_limit(w->hw, (itg_metric)i);
        char number[32];
        if (!(there > 0) || !(itg_goal_limit(goal, (itg_metric)i) > there)) continue;
        fprintf(stderr, "intaglio: note: --max-%s has no effect: %s has %s (memory.%s_bytes)\n",
                itg_metric_about((itg_metric)i)->goal, itg_hardware_name(w->hw),
                itg_cli_count_text((long long)there, number),
                itg_metric_about((itg_metric)i)->goal);
    }
}

static itg_status search(itg_cli_search_work *w, itg_error *err)
{
    itg_search_hooks hooks = {
        ITG_SEARCH_HOOKS_VERSION,  .context = w,        .clock = hook_clock,
        .progress = hook_progress, .trial = hook_trial, .cancelled = hook_cancelled,
        .hurry = hook_hurry,       .note = hook_note,   .codes = hook_codes};
    if (w->coordinator) hooks.evaluator = itg_coordinator_evaluator(w->coordinator);
    note_options(w);
    itg_search_data data = {w->data.samples, w->data.labels, w->holdout.samples, w->holdout.labels};
    itg_cli_note_kernels(w->options.float_kernels);
    itg_cli_note_hardware(w->hw, w->model,
                          w->args->given[ITG_CLI_OPT_HW] ? w->args->values[ITG_CLI_OPT_HW].text
                                                         : itg_hardware_name(w->hw));
    itg_cli_catch_interrupts();
    double start = itg_cli_now();
    itg_cli_progress_begin(&w->progress, w->args->given[ITG_CLI_OPT_QUIET], &w->options, start);
    itg_status status =
        itg_search(w->model, w->hw, &w->preprocess, &data, &w->options, &hooks, &w->result, err);
    itg_cli_progress_end(&w->progress);
    if (status != ITG_OK && has_lost_metric(w)) status = itg_cli_metric_failure(w->metric, err);
    w->seconds = itg_cli_now() - start;
    if (status != ITG_OK) itg_cli_search_fail_log(w, err);
    if (status == ITG_MISMATCH && w->resumed) /* the search knows no log */
        return name_run(w->resumed, err);
    return status;
}

/* Writes the strategy first, so that a log that cannot be written does not lose it. */
static itg_status write_outputs(itg_cli_search_work *w, itg_error *err)
{
    const char *path = w->args->values[ITG_CLI_OPT_OUT_STRATEGY].text;
    itg_status status = ITG_OK;
    if (path && itg_search_best(w->result))
        status = itg_strategy_save(itg_search_strategy(w->result), w->model, path, err);
    if (status == ITG_OK && w->log_failure.code == ITG_OK)
        itg_cli_search_end_log(w, &w->log_failure);
    return status;
}

static itg_status perform(itg_cli_search_work *work, itg_error *err)
{
    itg_status status = prepare(work, err);
    if (status == ITG_OK) status = search(work, err);
    return status == ITG_OK ? write_outputs(work, err) : status;
}

itg_status itg_cli_search_perform(const itg_cli_args *args, itg_cli_search_work *work,
                                  itg_error *err)
{
    *work = (itg_cli_search_work){.args = args};
    return perform(work, err);
}

itg_status itg_cli_search_survey(const itg_cli_args *args, itg_cli_search_work *work,
                                 itg_error *err)
{
    *work = (itg_cli_search_work){.args = args, .is_survey = true};
    return perform(work, err);
}

itg_status itg_cli_search_close(itg_cli_search_work *w, itg_error *err)
{
    itg_status status = itg_cli_recorder_close(w->recorder, err);
    itg_coordinator_close(w->coordinator);
    itg_search_result_destroy(w->result);
    itg_cli_metric_close(w->metric);
    itg_run_log_free_trials(w->replay, w->replay_count);
    itg_run_record_destroy(w->resumed);
    itg_cli_logged_close(&w->mark);
    itg_cli_search_drop_start(w);
    itg_free(w->options_json);
    itg_free(w->preprocess_json);
    itg_free(w->strategy_json);
    itg_free(w->codes);
    itg_free(w->space_json);
    itg_cli_data_close(&w->data);
    itg_cli_data_close(&w->holdout);
    itg_hardware_destroy(w->hw);
    itg_model_close(w->model);
    return status;
}

/* ---- the command ---- */

int itg_cli_search_held(const itg_search_result *result)
{
    if (itg_search_goal_holds(result)) return ITG_CLI_OK;
    itg_cli_fail("the goal is met on the search samples alone: %s", itg_search_limited_by(result));
    return ITG_CLI_NOT_HELD;
}

/* Reports on the goal and on the strategy. Returns an exit status. */
static int conclude(const itg_cli_search_work *w)
{
    const char *path = w->args->values[ITG_CLI_OPT_OUT_STRATEGY].text;
    bool cancelled = w->log_failure.code == ITG_OK && !metric_failed(w, NULL) &&
                     strcmp(itg_search_stop_reason(w->result), "cancelled") == 0;
    const char *lead = cancelled ? "interrupted before the goal was met" : "the goal is not met";
    const char *why = itg_search_limited_by(w->result);
    const itg_trial *best = itg_search_best(w->result);
    if (best && itg_search_goal_met(w->result)) {
        if (cancelled) fputs("intaglio: interrupted; the best so far was kept\n", stderr);
        return itg_cli_search_held(w->result);
    }
    if (!best)
        return itg_cli_fail("%s%s%s; no trial could be run, and no strategy was written", lead,
                            *why ? ": " : "", why);
    return itg_cli_fail("%s%s%s; trial %lld comes nearest%s%s", lead, *why ? ": " : "", why,
                        (long long)best->index, path ? ", and is in " : "", path ? path : "");
}

static int report(const itg_cli_search_work *w)
{
    int result = w->args->given[ITG_CLI_OPT_JSON] ? itg_cli_search_json(w) : itg_cli_search_text(w);
    return result == ITG_CLI_OK ? itg_cli_search_judge(w, conclude(w)) : result;
}

/* Checks which options go together, beyond the parser's checks. Returns an exit status. */
static int check_options(const itg_cli_args *args)
{
    const bool *given = args->given;
    bool resumes = given[ITG_CLI_OPT_RESUME];
    if (resumes && !args->given[ITG_CLI_OPT_DB])
        return itg_cli_fail_usage(args->command, "--resume goes with --db, the log of the run");
    if (given[ITG_CLI_OPT_PAST] && (resumes || !given[ITG_CLI_OPT_DB]))
        return itg_cli_fail_usage(
            args->command, resumes ? "--past: the run that --resume goes on with says it itself"
                                   : "--past goes with --db, the log of these runs");
    if (given[ITG_CLI_OPT_RECHECK] && !given[ITG_CLI_OPT_WORKERS])
        return itg_cli_fail_usage(args->command, "--recheck goes with --workers");
    if (given[ITG_CLI_OPT_WORKERS] && given[ITG_CLI_OPT_METRIC_COMMAND])
        return itg_cli_fail_usage(args->command,
                                  "--workers and --metric-command exclude each other: workers "
                                  "execute nothing that a search sends");
    if (given[ITG_CLI_OPT_FAIL_IF_WORSE] && !given[ITG_CLI_OPT_DB])
        return itg_cli_fail_usage(args->command,
                                  "--fail-if-worse goes with --db, the log of that run");
    if (!resumes && args->given[ITG_CLI_OPT_HOLDOUT_LABELS] && !args->given[ITG_CLI_OPT_HOLDOUT])
        return itg_cli_fail_usage(args->command, "--holdout-labels goes with --holdout");
    if (args->given[ITG_CLI_OPT_MAX_DROP] && args->given[ITG_CLI_OPT_MIN_SQNR])
        return itg_cli_fail_usage(args->command,
                                  "--max-drop and --min-sqnr are floors of two kinds "
                                  "of quality: give one of them");
    if (args->values[ITG_CLI_OPT_PARETO].costs.count >= ITG_MOST_OBJECTIVES)
        return itg_cli_fail_usage(args->command, "--pareto takes at most %d costs",
                                  ITG_MOST_OBJECTIVES - 1);
    if (given[ITG_CLI_OPT_PARETO] && given[ITG_CLI_OPT_MINIMIZE])
        return itg_cli_fail_usage(args->command,
                                  "--pareto and --minimize are two goals: give one of them");
    if (args->given[ITG_CLI_OPT_TOLERANCE] && !args->given[ITG_CLI_OPT_PATIENCE] && !resumes)
        return itg_cli_fail_usage(args->command, "--tolerance goes with --patience");
    if (!resumes && given[ITG_CLI_OPT_METRIC_COMMAND] && !itg_cli_search_has_goal(args))
        return itg_cli_fail_usage(
            args->command, "--metric-command needs a goal: --max-drop D, how much worse than "
                           "float it may be in its own unit, or a limit such as --max-size");
    if (resumes && given[ITG_CLI_OPT_METRIC])
        return itg_cli_fail_usage(args->command,
                                  "--metric: the run that --resume goes on with says it itself");
    if (given[ITG_CLI_OPT_METRIC] && given[ITG_CLI_OPT_MIN_SQNR])
        return itg_cli_fail_usage(args->command,
                                  "--metric and --min-sqnr are two qualities: give one of them");
    if (given[ITG_CLI_OPT_METRIC] && !itg_cli_search_has_goal(args))
        return itg_cli_fail_usage(
            args->command, "--metric needs a goal: --max-drop D, how much worse than float it may "
                           "be in its own unit, or a limit such as --max-size");
    if (!resumes && !given[ITG_CLI_OPT_METRIC_COMMAND] &&
        itg_metric_about(itg_cli_metric_named(args))->unit == ITG_UNIT_SHARE &&
        args->values[ITG_CLI_OPT_MAX_DROP].fraction > 1)
        return itg_cli_fail_usage(args->command, "--max-drop %.15g: expected " ITG_CLI_SHARE,
                                  args->values[ITG_CLI_OPT_MAX_DROP].fraction);
    if (!resumes && given[ITG_CLI_OPT_HOLDOUT_LABELS] && !given[ITG_CLI_OPT_LABELS])
        return itg_cli_fail_usage(args->command, "--holdout-labels goes with --labels: quality is "
                                                 "top-1 on both, or on neither");
    if (!resumes && given[ITG_CLI_OPT_HOLDOUT] && given[ITG_CLI_OPT_LABELS] &&
        !given[ITG_CLI_OPT_HOLDOUT_LABELS])
        return itg_cli_fail_usage(args->command, "--holdout-labels Y2 is missing: --labels judges "
                                                 "trials by top-1, and so the hold-out");
    if (!resumes && given[ITG_CLI_OPT_BASELINE] &&
        strcmp(args->values[ITG_CLI_OPT_SEARCHER].searcher, "hago-greedy") == 0)
        return itg_cli_fail_usage(
            args->command, "--baseline hago-greedy beside --searcher hago-greedy compares nothing");
    return ITG_CLI_OK;
}

static int run(const itg_cli_args *args)
{
    itg_cli_search_work w;
    itg_error err = {0};
    int usage = itg_cli_metric_name_check(args);
    if (usage == ITG_CLI_OK) usage = check_options(args);
    if (usage == ITG_CLI_OK) usage = itg_cli_metric_check(args);
    if (usage != ITG_CLI_OK) return usage;
    itg_status status = itg_cli_search_perform(args, &w, &err);
    int result = status == ITG_OK ? report(&w) : itg_cli_fail_error(&err);
    if (w.log_failure.code != ITG_OK) result = itg_cli_fail_error(&w.log_failure);
    if (status == ITG_OK && metric_failed(&w, &err)) result = itg_cli_fail_error(&err);
    status = itg_cli_search_close(&w, &err);
    return status != ITG_OK && result == ITG_CLI_OK ? itg_cli_fail_error(&err) : result;
}

const itg_cli_command itg_cli_search = {
    .name = "search",
    .summary = "Searches the bit width of every edge: the smallest network that is good enough",
    .usage = "MODEL --hw T --data X [--labels Y] [--holdout X2 --holdout-labels Y2]\n"
             " [--max-drop 1% | --min-sqnr 30dB] [--max-size B] [--db runs.db] [-o strategy.json] "
             "[...]\n"
             "--resume RUN --db runs.db [...]",
    .details =
        "What is wanted: without limits, the fewest bytes of weights (or the least of what "
        "--minimize names)\n"
        "that keep the floor: --max-drop below the float network, or an SQNR of --min-sqnr. With "
        "limits alone\n"
        "(--max-size, --max-bops, --max-cycles, --max-ram): the best quality within them. With "
        "limits and a floor or\n"
        "--minimize: the least cost that keeps the floor and the limits. With --pareto: the whole "
        "front of "
        "quality and costs, of which 'runs front' shows and 'runs best --trial' takes any. The "
        "memory that the "
        "hardware's description\n"
        "states is a limit, too.\n\n"
        "Exit status 0: the goal is met on the search samples, and holds on the hold-out. 1: it is "
        "not met on the\n"
        "search samples (or the search failed); what limits it is said, and the nearest strategy "
        "is kept. 3: it is met\n"
        "on the search samples, but not on the hold-out, by the best's quality there against the "
        "float network's there.\n4: --fail-if-worse says so, whether or not the goal holds.\n\n"
        "Every trial is scored by the deployed program itself. --data is split by the seed into "
        "samples to\n"
        "calibrate on, samples to judge trials on, samples to choose the best on (where there are "
        "enough, and\n"
        "a floor) and, without --holdout, a hold-out; results are reported on the hold-out. "
        "Quality is top-1;\n"
        "without labels, agreement with the float network. A network that is no classifier "
        "(several outputs,\n"
        "one element, or more than one axis) is judged by the SQNR of all its outputs against the "
        "float\n"
        "network's, each counting alike. With --metric, that metric; with --metric-command, the "
        "number that\n"
        "the command prints.\nCtrl-C ends the search and keeps the "
        "best so far; a\n"
        "second one stops at once.\n\n"
        "--resume goes on with a run of the log as if it had never been interrupted. What is not "
        "given is taken\n"
        "from the log; what is given must be what the run had, but for --trials, --seconds (of the "
        "run as a\n"
        "whole), --threads and the outputs. A run that came to its own end is replayed and "
        "reported.",
    .min_arguments = 1,
    .max_arguments = 1,
    .arguments = {"MODEL"},
    .required = {ITG_CLI_OPT_HW, ITG_CLI_OPT_DATA},
    .required_count = 2,
    .complete_with = ITG_CLI_OPT_RESUME,
    .options = {ITG_CLI_OPT_HW,
                ITG_CLI_OPT_DATA,
                ITG_CLI_OPT_LABELS,
                ITG_CLI_OPT_HOLDOUT,
                ITG_CLI_OPT_HOLDOUT_LABELS,
                ITG_CLI_OPT_LIMIT,
                ITG_CLI_PREPROCESS,
                ITG_CLI_OPT_METRIC,
                ITG_CLI_METRIC,
                ITG_CLI_OPT_MAX_DROP,
                ITG_CLI_OPT_MIN_SQNR,
                ITG_CLI_OPT_MINIMIZE,
                ITG_CLI_OPT_PARETO,
                ITG_CLI_OPT_MAX_SIZE,
                ITG_CLI_OPT_MAX_BOPS,
                ITG_CLI_OPT_MAX_CYCLES,
                ITG_CLI_OPT_MAX_RAM,
                ITG_CLI_OPT_MAX_FLASH,
#define ITG_SEARCH_OPTION(id, ...) ITG_CLI_OPT_##id,
#include <intaglio/search_options.def>
                ITG_CLI_OPT_START,
                ITG_CLI_OPT_PAST,
                ITG_CLI_OPT_CACHE_MB,
                ITG_CLI_OPT_BLOCK,
                ITG_CLI_OPT_DB,
                ITG_CLI_OPT_RESUME,
                ITG_CLI_OPT_FAIL_IF_WORSE,
                ITG_CLI_OPT_OUT_STRATEGY,
                ITG_CLI_OPT_WORKERS,
                ITG_CLI_OPT_RECHECK,
                ITG_CLI_OPT_QUIET},
    .run = run,
};
