/* intaglio sensitivity: measures what each group of edges loses and saves at each width and
 * threshold method, with all others at their widest. Ctrl-C ends it and keeps the results so far.
 */
#include "cli/cmd_search.h"
#include "cli/commands.h"
#include "cli/goal.h"
#include "cli/metric.h"
#include "cli/sensitivities.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct survey {
    itg_cli_search_work search;
    const itg_trial **trials;
    itg_cli_sensitivities found;
} survey;

static itg_status read_trials(survey *s, itg_error *err)
{
    const itg_search_result *r = s->search.result;
    const itg_run_record record = {.info.space_json = s->search.space_json, .log = "the search"};
    const int64_t count = itg_search_trial_count(r);
    s->trials = calloc((size_t)count + 1, sizeof *s->trials);
    if (!s->trials) return itg_fail(err, ITG_NO_MEMORY, "no memory for the trials");
    for (int64_t i = 0; i < count; i++)
        s->trials[i] = itg_search_trial_at(r, i);
    return itg_cli_sensitivities_read(&s->found, &record, &s->search.options.goal, s->trials, count,
                                      err);
}

static bool is_complete(const survey *s)
{
    return strcmp(itg_search_stop_reason(s->search.result), "exhausted") == 0;
}

/* ---- JSON ---- */

static void json_trial(itg_json_writer *json, const survey *s, const itg_trial *trial)
{
    itg_json_put_int(json, "trial", trial->index);
    itg_json_put_bool(json, "feasible", trial->feasible);
    itg_json_put_text(json, "error", trial->error);
    itg_json_put_number(json, "quality", itg_cli_sensitivity_quality(&s->found, trial));
    itg_json_put_number(json, "quality_change", itg_cli_sensitivity_change(&s->found, trial));
    itg_json_put_number(json, "lost_db", itg_cli_lost_db(&s->found, trial));
    itg_cli_json_metrics(json, "", &trial->score, ITG_CLI_METRICS);
    if (trial->feasible)
        itg_json_put_hash(json, "digest", trial->score.digest);
    else
        itg_json_put_null(json, "digest");
}

static void json_row(itg_json_writer *json, const survey *s, const itg_cli_loss *r)
{
    const itg_run_choice *group = itg_cli_loss_group(r);
    itg_json_begin(json, NULL, '{');
    itg_json_begin(json, "edges", '[');
    for (int32_t i = 0; i < group->edge_count; i++)
        itg_json_put_text(json, NULL, group->edges[i]);
    itg_json_end(json, ']');
    if (r->width)
        itg_json_put(json, "bits", "%s", r->width->value);
    else
        itg_json_put_null(json, "bits");
    itg_json_put_text(json, "method", r->method ? r->method->value : NULL);
    json_trial(json, s, r->trial);
    itg_json_end(json, '}');
}

static void make_json(itg_json_writer *json, const survey *s)
{
    const itg_cli_search_work *w = &s->search;
    const itg_score *floats = itg_search_float(w->result, false);
    itg_json_begin(json, NULL, '{');
    itg_json_put_text(json, "model", itg_model_name(w->model));
    itg_json_put_text(json, "hardware", itg_hardware_name(w->hw));
    itg_json_put_seed(json, "seed", w->options.seed);
    itg_json_put_int(json, "samples", floats->samples);
    itg_json_put_text(
        json, "quality",
        itg_cli_quality_name(&w->options.goal, itg_score_knows(floats, ITG_METRIC_TOP1)));
    itg_json_put_bool(json, "complete", is_complete(s));
    itg_json_put_int(json, "trials", itg_search_trial_count(w->result));
    itg_json_put_int(json, "reused_trials", w->replay_count);
    itg_json_begin(json, "float", '{');
    itg_cli_json_metrics(json, "", floats, ITG_CLI_QUALITIES);
    itg_json_end(json, '}');
    itg_json_begin(json, "widest", '{');
    json_trial(json, s, s->found.widest);
    itg_json_end(json, '}');
    itg_json_begin_as(json, "choices", '[', ITG_JSON_LINES);
    for (int64_t i = 0; i < s->found.count; i++)
        json_row(json, s, &s->found.rows[i]);
    itg_json_end(json, ']');
    itg_json_end(json, '}');
}

static int print_json(const survey *s)
{
    itg_json_writer json = {0};
    make_json(&json, s);
    return itg_cli_json_print(&json);
}

static itg_status write_json(const survey *s, itg_error *err)
{
    const char *path = s->search.args->values[ITG_CLI_OPT_OUT_TABLE].text;
    itg_json_writer json = {0};
    if (!path) return ITG_OK;
    make_json(&json, s);
    itg_strbuf_add(&json.text, "\n");
    itg_status status = itg_strbuf_ok(&json.text)
                            ? itg_file_write(path, json.text.text, strlen(json.text.text), err)
                            : itg_fail(err, ITG_NO_MEMORY, "no memory for %s", path);
    itg_strbuf_deinit(&json.text);
    return status;
}

/* ---- text ---- */

static int print_text(const survey *s)
{
    const itg_cli_search_work *w = &s->search;
    const itg_score *floats = itg_search_float(w->result, false);
    long long trials = (long long)itg_search_trial_count(w->result);
    long long reused = (long long)w->replay_count;
    itg_cli_table table;
    char text[64];
    printf("%s on %s: each choice alone, all others at the widest; %lld search sample%s\n",
           itg_model_name(w->model), itg_hardware_name(w->hw), (long long)floats->samples,
           itg_plural(floats->samples));
    printf("%lld trial%s evaluated, %lld from the log; float has %s\n\n", trials - reused,
           itg_plural(trials - reused), reused,
           itg_cli_quality_text(&w->options.goal, floats, text, sizeof text));
    itg_cli_sensitivities_table(&table, &s->found, true);
    int status = itg_cli_table_print(&table);
    if (!s->found.widest->feasible)
        printf(
            "\nThe hardware cannot run all at the widest: %s\nOne narrow width alone mostly does "
            "not change that; narrower --activation-bits or --weight-bits do.\n",
            s->found.widest->error);
    if (w->args->given[ITG_CLI_OPT_DB])
        printf("\n%s: run %lld\n", w->args->values[ITG_CLI_OPT_DB].text,
               (long long)itg_cli_search_run(w));
    return status;
}

/* ---- the command ---- */

static int report(survey *s)
{
    itg_error err = {0};
    if (read_trials(s, &err) != ITG_OK || write_json(s, &err) != ITG_OK)
        return itg_cli_fail_error(&err);
    int status = s->search.args->given[ITG_CLI_OPT_JSON] ? print_json(s) : print_text(s);
    if (!is_complete(s)) fputs("intaglio: interrupted; this is what was known by then\n", stderr);
    return status;
}

static int check_options(const itg_cli_args *args)
{
    int usage = itg_cli_metric_name_check(args);
    return usage == ITG_CLI_OK ? itg_cli_metric_check(args) : usage;
}

static int run(const itg_cli_args *args)
{
    survey s = {.trials = NULL};
    itg_error err = {0};
    int usage = check_options(args);
    if (usage != ITG_CLI_OK) return usage;
    itg_status status = itg_cli_search_survey(args, &s.search, &err);
    int result = status == ITG_OK ? report(&s) : itg_cli_fail_error(&err);
    itg_cli_sensitivities_close(&s.found);
    free(s.trials);
    if (s.search.log_failure.code != ITG_OK) result = itg_cli_fail_error(&s.search.log_failure);
    status = itg_cli_search_close(&s.search, &err);
    return status != ITG_OK && result == ITG_CLI_OK ? itg_cli_fail_error(&err) : result;
}

const itg_cli_command itg_cli_sensitivity = {
    .name = "sensitivity",
    .summary = "Measures what each edge loses and saves at each width, all others at the widest",
    .usage =
        "MODEL --hw T --data X [--labels Y] [--threshold A,B..] [--db runs.db] [-o FILE] [...]",
    .details =
        "Each group of edges that must agree is set to each width that the hardware has, and with "
        "--threshold and\n"
        "--weight-threshold to each method, alone: all others have the widest width and the first "
        "method. The score is\n"
        "the deployed program's on the search samples, as in a search with the same options, and "
        "does not depend on\n"
        "--threads. The loudest stand first: SQNR is that of the outputs against the float "
        "network's; bars are\n"
        "the dB lost against all at the widest.\n\n"
        "--db keeps the trials in the log as a run without a best. Where the log has a run with "
        "the "
        "same model,\n"
        "hardware, data, options and version, its trials are taken from there, and what is missing "
        "is added. Ctrl-C\n"
        "ends it and prints what is known; with --db the same words go on from there.",
    .min_arguments = 1,
    .max_arguments = 1,
    .arguments = {"MODEL"},
    .required = {ITG_CLI_OPT_HW, ITG_CLI_OPT_DATA},
    .required_count = 2,
    .options = {ITG_CLI_OPT_HW,
                ITG_CLI_OPT_DATA,
                ITG_CLI_OPT_LABELS,
                ITG_CLI_OPT_LIMIT,
                ITG_CLI_PREPROCESS,
                ITG_CLI_OPT_METRIC,
                ITG_CLI_METRIC,
                ITG_CLI_OPT_SEED,
                ITG_CLI_OPT_WEIGHT_RANGE,
                ITG_CLI_OPT_ACTIVATION_RANGE,
                ITG_CLI_OPT_INPUT_RANGE,
                ITG_CLI_OPT_OUTPUT_RANGE,
                ITG_CLI_OPT_METHODS,
                ITG_CLI_OPT_WEIGHT_METHODS,
                ITG_CLI_OPT_ONLY,
                ITG_CLI_OPT_SKIP,
                ITG_CLI_OPT_FIX,
                ITG_CLI_OPT_ALLOW_FLOAT,
                ITG_CLI_OPT_CALIBRATION_SAMPLES,
                ITG_CLI_OPT_SEARCH_SAMPLES,
                ITG_CLI_OPT_FLOAT_KERNELS,
                ITG_CLI_OPT_INPUT_SHAPE,
                ITG_CLI_OPT_OUTPUTS,
                ITG_CLI_OPT_KEEP_SOFTMAX,
                ITG_CLI_OPT_NO_EQUALIZE,
                ITG_CLI_OPT_RECOVER,
                ITG_CLI_OPT_CACHE_MB,
                ITG_CLI_OPT_BLOCK,
                ITG_CLI_OPT_DB,
                ITG_CLI_OPT_OUT_TABLE,
                ITG_CLI_OPT_QUIET},
    .run = run,
};
