/* intaglio runs history (the trend of one model's runs) and runs compare with more than two runs.
 * Both print one line a run, compared with an earlier run. */
#include "cli/goal.h"
#include "cli/runs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct trend {
    const itg_cli_args *args;
    const itg_cli_logged **runs;    /* in the order of the lines */
    const itg_cli_logged **against; /* what each is compared with; NULL: nothing */
    bool *is_best;                  /* better than all lines before it that compare with it */
    int64_t count;
} trend;

/* ---- which runs, and against what ---- */

static bool has_best(const itg_cli_logged *run)
{
    return run->record->known[ITG_RESULT_BEST];
}

/* Whether two runs are comparable. Another file of the same name belongs to the same trend. */
static bool compare_with(const itg_cli_logged *a, const itg_cli_logged *b)
{
    return has_best(a) && has_best(b) && itg_cli_same_goal(a, b) &&
           strcmp(a->record->info.hardware_name, b->record->info.hardware_name) == 0;
}

/* Whether a is better than b in what the goal optimizes. */
static bool is_better(const itg_cli_logged *a, const itg_cli_logged *b)
{
    double x = itg_cli_run_cost(a), y = itg_cli_run_cost(b);
    return x < 0 || y < 0 ? itg_cli_best_quality(a) > itg_cli_best_quality(b) : x < y;
}

static void mark_best(trend *t)
{
    for (int64_t i = 0; i < t->count; i++) {
        t->is_best[i] = has_best(t->runs[i]) && t->runs[i]->record->goal_met;
        for (int64_t k = 0; k < i && t->is_best[i]; k++)
            t->is_best[i] = !compare_with(t->runs[i], t->runs[k]) ||
                            !t->runs[k]->record->goal_met || is_better(t->runs[i], t->runs[k]);
    }
}

static bool reserve(trend *t, int64_t most)
{
    size_t room = (size_t)most + 1;
    t->runs = calloc(room, sizeof *t->runs);
    t->against = calloc(room, sizeof *t->against);
    t->is_best = calloc(room, sizeof *t->is_best);
    return t->runs && t->against && t->is_best;
}

static void release(trend *t)
{
    free((void *)t->runs);
    free((void *)t->against);
    free(t->is_best);
}

/* ---- lines ---- */

/* Returns the goal's quality that reports show; NaN: not known. */
static double quality_of(const itg_cli_logged *run)
{
    const itg_score *best = &run->record->result[ITG_RESULT_BEST];
    return has_best(run) ? itg_score_get(best, itg_cli_counted(&run->options.goal, best))
                         : (double)NAN;
}

static double bytes_of(const itg_cli_logged *run)
{
    double bytes = run->record->result[ITG_RESULT_BEST].value[ITG_METRIC_WEIGHT_BYTES];
    return has_best(run) && bytes >= 0 ? bytes : (double)NAN;
}

static void change_cells(itg_cli_table *table, const itg_cli_logged *run,
                         const itg_cli_logged *than)
{
    const itg_goal *goal = &run->options.goal;
    double nothing = (double)NAN;
    itg_cli_change_cell(table, itg_goal_about(goal, itg_goal_quality_metric(goal)).unit,
                        than ? quality_of(than) : nothing, quality_of(run));
    itg_cli_change_cell(table, ITG_UNIT_BYTES, than ? bytes_of(than) : nothing, bytes_of(run));
}

static void line_cells(itg_cli_table *table, const trend *t, int64_t i)
{
    const itg_cli_logged *run = t->runs[i], *than = t->against[i];
    const itg_run_info *info = &run->record->info;
    char text[128], hash[ITG_CLI_HEX];
    itg_cli_table_cell(table, "%lld", (long long)run->record->run);
    itg_cli_table_texts(table, itg_cli_when(info->started, text, sizeof text), NULL);
    itg_cli_table_cell(table, "%.8s", itg_sha256_hex(info->model_hash, hash));
    itg_cli_table_texts(table, info->hardware_name, NULL);
    itg_cli_table_cell(table, "%s", itg_cli_short_goal(run, text, sizeof text));
    itg_cli_table_cell(table, "%.40s", itg_cli_state(run, text, sizeof text));
    itg_cli_table_cell(table, "%s",
                       has_best(run) ? itg_cli_quality_text(&run->options.goal,
                                                            &run->record->result[ITG_RESULT_BEST],
                                                            text, sizeof text)
                                     : "-");
    itg_cli_table_cell(table, "%s",
                       isnan(bytes_of(run)) ? "-" : itg_cli_amount(bytes_of(run), text));
    change_cells(table, run, than);
    itg_cli_table_cell(table, "%s", t->is_best[i] ? "best so far" : "");
}

static int print_text(const trend *t, const char *against)
{
    itg_cli_table table;
    itg_cli_table_init(&table, "rlllllrrrrl");
    itg_cli_table_texts(&table, "run", "started (UTC)", "model", "hardware", "goal", "state",
                        "best", "weight bytes", "quality", "bytes", "", NULL);
    for (int64_t i = 0; i < t->count; i++)
        line_cells(&table, t, i);
    int status = itg_cli_table_print(&table);
    printf(
        "\nBest: quality on the hold-out. Quality and bytes: the change against %s.\nBest so far: "
        "in what its goal optimizes, of the runs above it with that goal and hardware.\n",
        against);
    return status;
}

static void json_line(itg_json_writer *json, const trend *t, int64_t i)
{
    const itg_cli_logged *run = t->runs[i], *than = t->against[i];
    itg_cli_json_logged_begin(json, NULL, run);
    itg_cli_json_known(json, "against_run", than ? (double)than->record->run : -1);
    itg_json_put_number(json, "quality_change",
                        than ? quality_of(run) - quality_of(than) : (double)NAN);
    itg_json_put_number(json, "weight_bytes_change",
                        than ? bytes_of(run) - bytes_of(than) : (double)NAN);
    itg_json_put_bool(json, "best_so_far", t->is_best[i]);
    itg_json_end(json, '}');
}

static int print_json(const trend *t)
{
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_text(&json, "db", t->args->values[ITG_CLI_OPT_RUNS_DB].text);
    itg_json_begin(&json, "runs", '[');
    for (int64_t i = 0; i < t->count; i++)
        json_line(&json, t, i);
    itg_json_end(&json, ']');
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

static int print_trend(trend *t, const char *against)
{
    mark_best(t);
    return t->args->given[ITG_CLI_OPT_JSON] ? print_json(t) : print_text(t, against);
}

/* ---- runs history MODEL ---- */

/* Returns the latest earlier run that is comparable with it. */
static const itg_cli_logged *previous(const trend *t, const itg_cli_logged *run)
{
    for (int64_t i = t->count - 1; i >= 0; i--)
        if (compare_with(run, t->runs[i])) return t->runs[i];
    return NULL;
}

static int show_history(trend *t, const itg_cli_args *filter, const itg_cli_logged *all,
                        int64_t count)
{
    if (!reserve(t, count)) return itg_cli_fail("no memory for the runs");
    for (int64_t i = 0; i < count; i++) {
        if (!itg_cli_logged_matches(filter, &all[i])) continue;
        t->against[t->count] = previous(t, &all[i]);
        t->runs[t->count++] = &all[i];
    }
    if (t->count == 0)
        return itg_cli_fail("%.200s: no run of a model '%.100s': expected its file name or the "
                            "first digits of its hash, as in 'runs list'",
                            t->args->values[ITG_CLI_OPT_RUNS_DB].text, t->args->arguments[1]);
    return print_trend(t, "the run before with the same goal and hardware");
}

int itg_cli_runs_history(const itg_cli_args *args, itg_run_log *log)
{
    trend t = {.args = args};
    itg_cli_args filter = *args;
    itg_cli_logged *all = NULL;
    int64_t count = 0;
    itg_error err = {0};
    filter.values[ITG_CLI_OPT_RUNS_MODEL].text = args->arguments[1];
    if (itg_cli_logged_all(log, &all, &count, &err) != ITG_OK) return itg_cli_fail_error(&err);
    int status = show_history(&t, &filter, all, count);
    release(&t);
    itg_cli_logged_free(all, count);
    return status;
}

/* ---- runs compare A B C ... ---- */

/* Warns of inputs that make a run's figures not comparable with the first run's. */
static void warn(const itg_cli_logged *first, const itg_cli_logged *run)
{
    const itg_run_info *a = &first->record->info, *b = &run->record->info;
    const struct {
        bool same;
        const char *what;
    } checks[] = {
        {memcmp(a->model_hash, b->model_hash, sizeof a->model_hash) == 0, "model"},
        {strcmp(a->hardware_json, b->hardware_json) == 0, "hardware description"},
        {strcmp(a->preprocess_json, b->preprocess_json) == 0, "preprocessing"},
        {itg_run_data_equal(&a->data, &b->data) && itg_run_data_equal(&a->labels, &b->labels),
         "data"},
        {itg_run_data_equal(&a->holdout, &b->holdout) &&
             itg_run_data_equal(&a->holdout_labels, &b->holdout_labels) &&
             (a->holdout.name || a->seed == b->seed),
         "hold-out"},
        {itg_cli_same_goal(first, run), "goal"}};
    const char *join = "has another ";
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (checks[i].same) continue;
        if (*join == 'h') printf("ATTENTION: run %lld ", (long long)run->record->run);
        printf("%s%s", join, checks[i].what);
        join = ", ";
    }
    if (*join == ',') printf(" than run %lld.\n", (long long)first->record->run);
}

int itg_cli_runs_compare_all(const itg_cli_args *args, itg_run_log *log)
{
    itg_cli_logged runs[ITG_CLI_MAX_ARGUMENTS] = {{0}};
    trend t = {.args = args};
    itg_error err = {0};
    int status =
        reserve(&t, ITG_CLI_MAX_ARGUMENTS) ? ITG_CLI_OK : itg_cli_fail("no memory for the runs");
    for (int i = 1; i < args->argument_count && status == ITG_CLI_OK; i++) {
        int64_t number = 0;
        status = itg_cli_run_number(args, i, &number);
        if (status == ITG_CLI_OK && itg_cli_logged_read(log, number, &runs[i], &err) != ITG_OK)
            status = itg_cli_fail_error(&err);
        t.against[t.count] = i > 1 ? &runs[1] : NULL;
        t.runs[t.count++] = &runs[i];
    }
    if (status == ITG_CLI_OK) status = print_trend(&t, "the first run");
    for (int i = 2; i < args->argument_count && status == ITG_CLI_OK; i++)
        if (!args->given[ITG_CLI_OPT_JSON]) warn(&runs[1], &runs[i]);
    for (int i = 1; i < args->argument_count; i++)
        itg_cli_logged_close(&runs[i]);
    release(&t);
    return status;
}
