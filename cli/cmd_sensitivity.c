/* intaglio sensitivity: measures what each group of edges loses and saves at each width and
 * threshold method, with all others at their widest. Ctrl-C ends it and keeps the results so far.
 */
#include "cli/cmd_search.h"
#include "cli/commands.h"
#include "cli/goal.h"
#include "cli/metric.h"
#include "cli/table.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One trial: the group that differs from the widest point, and how. */
typedef struct row {
    const itg_trial *trial;
    itg_run_choices *choices;
    const itg_run_choice *width, *method; /* of that group; NULL: there is nothing to choose */
} row;

typedef struct survey {
    itg_cli_search_work search;
    const itg_trial *widest; /* NULL: interrupted before it */
    row *rows;
    int64_t count;
} survey;

static const itg_metric costs[] = {ITG_METRIC_WEIGHT_BYTES, ITG_METRIC_BOPS, ITG_METRIC_CYCLES};
enum { COSTS = sizeof costs / sizeof *costs };

/* ---- rows ---- */

static bool is_width(const itg_run_choice *choice)
{
    return strcmp(choice->kind, "bits") == 0;
}

/* Returns the dimension in which a trial differs from the widest point. */
static int32_t first_difference(const itg_trial *a, const itg_trial *b)
{
    int32_t d = 0;
    while (d + 1 < a->dim_count && a->point[d] == b->point[d])
        d++;
    return d;
}

/* Finds the choices of the row's group. Its first edge identifies it; no other group has it. */
static void find_choices(row *r, const itg_trial *widest)
{
    const char *edge = itg_run_choices_at(r->choices, first_difference(r->trial, widest))->edges[0];
    for (int32_t i = 0; i < itg_run_choices_count(r->choices); i++) {
        const itg_run_choice *choice = itg_run_choices_at(r->choices, i);
        if (strcmp(choice->edges[0], edge) == 0)
            *(is_width(choice) ? &r->width : &r->method) = choice;
    }
}

static const itg_run_choice *group_of(const row *r)
{
    return r->width ? r->width : r->method;
}

static double distortion_of(const itg_trial *trial)
{
    return trial->feasible ? itg_score_get(&trial->score, ITG_METRIC_DISTORTION) : INFINITY;
}

/* Order of rows: by distortion, largest first; in trial order if not known. Rows that cannot be
 * executed come last. */
static int by_loss(const void *first, const void *second)
{
    const itg_trial *a = ((const row *)first)->trial, *b = ((const row *)second)->trial;
    double x = distortion_of(a), y = distortion_of(b);
    if (a->feasible != b->feasible) return a->feasible ? -1 : 1;
    if (x > y || y > x) return x > y ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static itg_status make_rows(survey *s, itg_error *err)
{
    const itg_search_result *r = s->search.result;
    const itg_run_record record = {.info.space_json = s->search.space_json, .log = "the search"};
    int64_t trials = itg_search_trial_count(r);
    s->widest = itg_search_trial_at(r, 0);
    s->rows = calloc((size_t)trials + 1, sizeof *s->rows);
    if (!s->rows) return itg_fail(err, ITG_NO_MEMORY, "no memory for %lld rows", (long long)trials);
    for (int64_t i = 1; i < trials; i++) {
        row *next = &s->rows[s->count];
        next->trial = itg_search_trial_at(r, i);
        itg_status status = itg_run_choices_read(&record, next->trial, &next->choices, err);
        if (status != ITG_OK) return status;
        find_choices(next, s->widest);
        s->count++;
    }
    qsort(s->rows, (size_t)s->count, sizeof *s->rows, by_loss);
    return ITG_OK;
}

static void close_survey(survey *s)
{
    for (int64_t i = 0; i < s->count; i++)
        itg_run_choices_destroy(s->rows[i].choices);
    free(s->rows);
}

static bool is_complete(const survey *s)
{
    return strcmp(itg_search_stop_reason(s->search.result), "exhausted") == 0;
}

/* ---- figures ---- */

static double quality_of(const survey *s, const itg_trial *trial)
{
    return itg_score_get(&trial->score, itg_cli_counted(&s->search.options.goal, &trial->score));
}

/* Returns by how many dB the noise in the outputs exceeds that of the widest point; at least 0;
 * NaN: not known. */
static double lost_db(const survey *s, const itg_trial *trial)
{
    double most = ITG_MOST_SQNR_DB;
    double before = itg_score_get(&s->widest->score, ITG_METRIC_SQNR);
    double after = itg_score_get(&trial->score, ITG_METRIC_SQNR);
    if (!s->widest->feasible || !trial->feasible || isnan(before) || isnan(after))
        return (double)NAN;
    return fmax(0, fmin(before, most) - fmax(fmin(after, most), -most));
}

/* Returns the loss of the longest bar, at least 1 dB. */
static double most_lost_db(const survey *s)
{
    double most = 1;
    for (int64_t i = 0; i < s->count; i++)
        most = fmax(most, lost_db(s, s->rows[i].trial)); /* a NaN is left out */
    return most;
}

/* ---- JSON ---- */

static void json_trial(itg_json_writer *json, const survey *s, const itg_trial *trial)
{
    double change = s->widest->feasible && trial->feasible
                        ? quality_of(s, trial) - quality_of(s, s->widest)
                        : (double)NAN;
    itg_json_put_int(json, "trial", trial->index);
    itg_json_put_bool(json, "feasible", trial->feasible);
    itg_json_put_text(json, "error", trial->error);
    itg_json_put_number(json, "quality", trial->feasible ? quality_of(s, trial) : (double)NAN);
    itg_json_put_number(json, "quality_change", change);
    itg_json_put_number(json, "lost_db", lost_db(s, trial));
    itg_cli_json_metrics(json, "", &trial->score, ITG_CLI_METRICS);
    if (trial->feasible)
        itg_json_put_hash(json, "digest", trial->score.digest);
    else
        itg_json_put_null(json, "digest");
}

static void json_row(itg_json_writer *json, const survey *s, const row *r)
{
    const itg_run_choice *group = group_of(r);
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
    json_trial(json, s, s->widest);
    itg_json_end(json, '}');
    itg_json_begin_as(json, "choices", '[', ITG_JSON_LINES);
    for (int64_t i = 0; i < s->count; i++)
        json_row(json, s, &s->rows[i]);
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

enum { BAR = 20 };

static void bar_cell(itg_cli_table *table, double lost, double most)
{
    static const char marks[] = "####################";
    int length = lost > 0 && most > 0 ? (int)(BAR * lost / most + 0.5) : 0;
    itg_cli_table_cell(table, "%.*s", length, marks);
}

static void score_cells(itg_cli_table *table, const survey *s, const itg_trial *trial, double most)
{
    const itg_goal *goal = &s->search.options.goal;
    char text[64];
    itg_cli_table_cell(table, "%s", itg_cli_quality_text(goal, &trial->score, text, sizeof text));
    if (trial == s->widest)
        itg_cli_table_cell(table, "%s", "");
    else
        itg_cli_change_cell(table, itg_goal_about(goal, itg_goal_quality_metric(goal)).unit,
                            s->widest->feasible ? quality_of(s, s->widest) : (double)NAN,
                            trial->feasible ? quality_of(s, trial) : (double)NAN);
    itg_cli_table_cell(
        table, "%s",
        itg_cli_unit_text(ITG_UNIT_DECIBELS, itg_score_get(&trial->score, ITG_METRIC_SQNR), text));
    itg_cli_metric_cells(table, costs, COSTS, &trial->score);
    bar_cell(table, trial == s->widest ? 0 : lost_db(s, trial), most);
}

static bool has_methods(const survey *s)
{
    const itg_search_options *o = &s->search.options;
    return o->weight_methods.count > 1 || o->activation_methods.count > 1;
}

static void row_cells(itg_cli_table *table, const survey *s, const row *r, double most)
{
    const itg_run_choice *group = group_of(r);
    if (group->edge_count > 1)
        itg_cli_table_cell(table, "%s, and %d more", group->edges[0], (int)group->edge_count - 1);
    else
        itg_cli_table_cell(table, "%s", group->edges[0]);
    itg_cli_table_cell(table, "%s", r->width ? r->width->value : "");
    if (has_methods(s)) itg_cli_table_cell(table, "%s", r->method ? r->method->value : "");
    score_cells(table, s, r->trial, most);
}

static int print_table(const survey *s)
{
    const itg_score *floats = itg_search_float(s->search.result, false);
    double most = most_lost_db(s);
    itg_cli_table table;
    bool methods = has_methods(s);
    itg_cli_table_init(&table, methods ? "lrlrrrrrrl" : "lrrrrrrrl");
    itg_cli_table_texts(&table, "edges", "bits", methods ? "threshold" : NULL, NULL);
    itg_cli_table_texts(
        &table,
        itg_cli_quality_name(&s->search.options.goal, itg_score_knows(floats, ITG_METRIC_TOP1)),
        "change", "SQNR", NULL);
    itg_cli_metric_titles(&table, costs, COSTS);
    itg_cli_table_cell(&table, "SQNR lost");
    itg_cli_table_texts(&table, "all at the widest", "", methods ? "" : NULL, NULL);
    score_cells(&table, s, s->widest, most);
    for (int64_t i = 0; i < s->count; i++)
        row_cells(&table, s, &s->rows[i], most);
    return itg_cli_table_print(&table);
}

static int print_text(const survey *s)
{
    const itg_cli_search_work *w = &s->search;
    const itg_score *floats = itg_search_float(w->result, false);
    long long trials = (long long)itg_search_trial_count(w->result);
    long long reused = (long long)w->replay_count;
    char text[64];
    printf("%s on %s: each choice alone, all others at the widest; %lld search sample%s\n",
           itg_model_name(w->model), itg_hardware_name(w->hw), (long long)floats->samples,
           itg_plural(floats->samples));
    printf("%lld trial%s evaluated, %lld from the log; float has %s\n\n", trials - reused,
           itg_plural(trials - reused), reused,
           itg_cli_quality_text(&w->options.goal, floats, text, sizeof text));
    int status = print_table(s);
    if (!s->widest->feasible)
        printf(
            "\nThe hardware cannot run all at the widest: %s\nOne narrow width alone mostly does "
            "not change that; narrower --activation-bits or --weight-bits do.\n",
            s->widest->error);
    if (w->args->given[ITG_CLI_OPT_DB])
        printf("\n%s: run %lld\n", w->args->values[ITG_CLI_OPT_DB].text,
               (long long)itg_cli_search_run(w));
    return status;
}

/* ---- the command ---- */

static int report(survey *s)
{
    itg_error err = {0};
    if (make_rows(s, &err) != ITG_OK || write_json(s, &err) != ITG_OK)
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
    survey s = {.rows = NULL};
    itg_error err = {0};
    int usage = check_options(args);
    if (usage != ITG_CLI_OK) return usage;
    itg_status status = itg_cli_search_survey(args, &s.search, &err);
    int result = status == ITG_OK ? report(&s) : itg_cli_fail_error(&err);
    close_survey(&s);
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
