/* intaglio runs list: prints one line a run and marks runs that are worse than an earlier run of
 * the same search. */
#include "cli/goal.h"
#include "cli/runs.h"
#include "cli/table.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- regressions ---- */

/* A smaller increase of a cost is not a regression, because another seed finds another strategy. */
#define COST_SLACK 0.01
#define SQNR_SLACK 0.01 /* 1 dB: SQNR has no interval */

/* How a run is worse than the earlier run `than`; 0: it is not worse. */
typedef struct regression {
    int64_t than;
    bool of_quality;
    double increase; /* of the cost that is minimized, a share; where not of_quality */
} regression;

/* The best that earlier runs of the same search reached. */
typedef struct reached {
    int64_t cheapest, surest; /* runs; 0: none yet */
    double cost, quality;     /* quality: the lower end of its interval, or less by the slack */
} reached;

static int by_bytes(const itg_run_data *a, const itg_run_data *b)
{
    if (!a->name || !b->name) return (a->name != NULL) - (b->name != NULL);
    return memcmp(a->hash, b->hash, sizeof a->hash);
}

int itg_cli_by_number(double a, double b)
{
    return (a > b) - (a < b);
}

static int by_goal(const itg_cli_logged *a, const itg_cli_logged *b)
{
    const itg_goal *g = &a->options.goal, *h = &b->options.goal;
    if (itg_goal_quality_metric(g) != itg_goal_quality_metric(h))
        return itg_goal_quality_metric(g) > itg_goal_quality_metric(h) ? 1 : -1;
    if (a->has_goal != b->has_goal) return a->has_goal ? 1 : -1;
    if (!a->has_goal) return strcmp(a->record->info.options_json, b->record->info.options_json);
    char mine[96], theirs[96];
    int order = strcmp(itg_goal_objectives_text(g, mine, sizeof mine),
                       itg_goal_objectives_text(h, theirs, sizeof theirs));
    if (order == 0) order = itg_cli_by_number(itg_goal_drop(g), itg_goal_drop(h));
    if (order == 0) order = itg_cli_by_number(itg_goal_least_sqnr(g), itg_goal_least_sqnr(h));
    for (int i = 0; i < ITG_METRIC_COUNT && order == 0; i++)
        order =
            itg_cli_by_number(itg_goal_limit(g, (itg_metric)i), itg_goal_limit(h, (itg_metric)i));
    return order;
}

/* Order of searches. Returns 0 if the figures of the two may be compared. */
static int by_search(const itg_cli_logged *a, const itg_cli_logged *b)
{
    const itg_run_info *i = &a->record->info, *j = &b->record->info;
    int order = memcmp(i->model_hash, j->model_hash, sizeof i->model_hash);
    if (order == 0) order = strcmp(i->hardware_json, j->hardware_json);
    if (order == 0) order = strcmp(i->preprocess_json, j->preprocess_json);
    if (order == 0) order = by_bytes(&i->data, &j->data);
    if (order == 0) order = by_bytes(&i->labels, &j->labels);
    if (order == 0) order = by_bytes(&i->holdout, &j->holdout);
    if (order == 0) order = by_bytes(&i->holdout_labels, &j->holdout_labels);
    return order == 0 ? by_goal(a, b) : order;
}

static int by_search_and_run(const void *first, const void *second)
{
    const itg_cli_logged *const *a = first, *const *b = second;
    int order = by_search(*a, *b);
    if (order != 0) return order;
    return ((*a)->record->run > (*b)->record->run) - ((*a)->record->run < (*b)->record->run);
}

double itg_cli_run_cost(const itg_cli_logged *run)
{
    const itg_goal *goal = &run->options.goal;
    if (run->has_goal && itg_goal_maximizes_quality(goal)) return -1;
    return run->record->result[ITG_RESULT_BEST]
        .value[run->has_goal ? itg_goal_objective(goal) : ITG_METRIC_WEIGHT_BYTES];
}

double itg_cli_best_quality(const itg_cli_logged *run)
{
    return itg_goal_quality(&run->options.goal, &run->record->result[ITG_RESULT_BEST]);
}

static regression compare(const itg_cli_logged *run, const reached *before)
{
    double quality = itg_cli_best_quality(run), cost = itg_cli_run_cost(run);
    if (before->surest && quality < before->quality &&
        itg_cli_knows_quality(&run->options.goal, &run->record->result[ITG_RESULT_BEST]))
        return (regression){.than = before->surest, .of_quality = true};
    if (before->cheapest && cost > before->cost * (1 + COST_SLACK))
        return (regression){.than = before->cheapest, .increase = cost / before->cost - 1};
    return (regression){0};
}

/* Updates what was reached by a run, if it met its goal. */
static void reach(reached *so_far, const itg_cli_logged *run)
{
    const itg_score *best = &run->record->result[ITG_RESULT_BEST];
    double quality = itg_cli_best_quality(run), cost = itg_cli_run_cost(run),
           lo = quality - SQNR_SLACK, hi = 0;
    if (!run->record->goal_met) return;
    if (cost > 0 && (!so_far->cheapest || cost < so_far->cost)) {
        so_far->cheapest = run->record->run;
        so_far->cost = cost;
    }
    if (!itg_cli_knows_quality(&run->options.goal, best) || best->samples <= 0) return;
    if (itg_goal_counts_classes(&run->options.goal))
        itg_cli_interval(quality, best->samples, &lo, &hi);
    if (!so_far->surest || lo > so_far->quality) {
        so_far->surest = run->record->run;
        so_far->quality = lo;
    }
}

bool itg_cli_same_goal(const itg_cli_logged *a, const itg_cli_logged *b)
{
    return by_goal(a, b) == 0;
}

bool itg_cli_is_worse(const itg_cli_logged *run, const itg_cli_logged *than, bool *of_quality)
{
    reached before = {0};
    reach(&before, than);
    const regression worse = compare(run, &before);
    *of_quality = worse.of_quality;
    return worse.than != 0;
}

/* Sets out[i] for runs[i]. Returns false without memory. */
static bool find_regressions(const itg_cli_logged *runs, int64_t count, regression *out)
{
    const itg_cli_logged **sorted = malloc(sizeof *sorted * ((size_t)count + 1));
    reached so_far = {0};
    if (!sorted) return false;
    for (int64_t i = 0; i < count; i++)
        sorted[i] = &runs[i];
    qsort(sorted, (size_t)count, sizeof *sorted, by_search_and_run);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && by_search(sorted[i - 1], sorted[i]) != 0) so_far = (reached){0};
        if (!sorted[i]->record->known[ITG_RESULT_BEST]) continue;
        out[sorted[i] - runs] = compare(sorted[i], &so_far);
        reach(&so_far, sorted[i]);
    }
    free(sorted);
    return true;
}

/* ---- list ---- */

typedef struct listing {
    const itg_cli_args *args;
    itg_cli_logged *runs;
    regression *worse;
    int64_t count, shown;
} listing;

double itg_cli_share_of_uniform(const itg_run_record *r)
{
    return r->known[ITG_RESULT_BEST] && r->known[ITG_RESULT_UNIFORM8] &&
                   r->result[ITG_RESULT_UNIFORM8].value[ITG_METRIC_WEIGHT_BYTES] > 0
               ? r->result[ITG_RESULT_BEST].value[ITG_METRIC_WEIGHT_BYTES] /
                     r->result[ITG_RESULT_UNIFORM8].value[ITG_METRIC_WEIGHT_BYTES]
               : -1;
}

static void json_run(itg_json_writer *json, const itg_cli_logged *run, const regression *worse)
{
    itg_cli_json_logged_begin(json, NULL, run);
    itg_cli_json_known(json, "weight_bytes_of_uniform8", itg_cli_share_of_uniform(run->record));
    if (!worse->than) {
        itg_json_put_null(json, "regression");
    } else {
        itg_json_begin(json, "regression", '{');
        itg_json_put_int(json, "worse_than_run", worse->than);
        itg_json_put_text(json, "what", worse->of_quality ? "quality" : "cost");
        if (!worse->of_quality) itg_json_put_number(json, "increase", worse->increase);
        itg_json_end(json, '}');
    }
    itg_json_end(json, '}');
}

static int list_json(const listing *l)
{
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_text(&json, "db", l->args->values[ITG_CLI_OPT_RUNS_DB].text);
    itg_json_begin(&json, "runs", '[');
    for (int64_t i = 0; i < l->count; i++)
        if (itg_cli_logged_matches(l->args, &l->runs[i]))
            json_run(&json, &l->runs[i], &l->worse[i]);
    itg_json_end(&json, ']');
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

static void quality_cell(itg_cli_table *table, const itg_goal *goal, bool has,
                         const itg_score *score)
{
    char text[32];
    bool agreement = itg_goal_counts_classes(goal) && !itg_score_knows(score, ITG_METRIC_TOP1);
    itg_cli_table_cell(
        table, "%s%s", has ? itg_cli_quality_text(goal, score, text, sizeof text) : "-",
        has && agreement && itg_score_knows(score, ITG_METRIC_AGREEMENT) ? " a" : "");
}

static void worse_cell(itg_cli_table *table, const regression *worse)
{
    if (!worse->than)
        itg_cli_table_cell(table, "%s", "");
    else if (worse->of_quality)
        itg_cli_table_cell(table, "WORSE than run %lld: quality", (long long)worse->than);
    else
        itg_cli_table_cell(table, "WORSE than run %lld: +%.1f %%", (long long)worse->than,
                           100 * worse->increase);
}

void itg_cli_runs_row(itg_cli_table *table, const itg_cli_logged *run)
{
    const itg_run_record *r = run->record;
    char text[128];
    itg_cli_table_cell(table, "%lld", (long long)r->run);
    itg_cli_table_texts(table, itg_cli_when(r->info.started, text, sizeof text),
                        itg_cli_base_name(r->info.model_name), r->info.hardware_name,
                        r->info.searcher, NULL);
    itg_cli_table_cell(table, "%s", itg_cli_short_goal(run, text, sizeof text));
    itg_cli_table_cell(table, "%s", itg_cli_count_text((long long)r->trials, text));
    itg_cli_table_cell(table, "%.40s", itg_cli_state(run, text, sizeof text));
    itg_cli_table_cell(table, "%s", r->info.engine_version);
    const itg_goal *goal = &run->options.goal;
    bool top1 = itg_goal_counts_classes(goal) &&
                itg_score_knows(&r->result[ITG_RESULT_FLOAT], ITG_METRIC_TOP1);
    quality_cell(table, goal, r->known[ITG_RESULT_FLOAT] && top1, &r->result[ITG_RESULT_FLOAT]);
    quality_cell(table, goal, r->known[ITG_RESULT_BEST], &r->result[ITG_RESULT_BEST]);
    itg_cli_table_cell(
        table, "%s",
        itg_cli_amount(r->known[ITG_RESULT_BEST]
                           ? r->result[ITG_RESULT_BEST].value[ITG_METRIC_WEIGHT_BYTES]
                           : -1,
                       text));
    itg_cli_table_cell(table, "%s", itg_cli_share(itg_cli_share_of_uniform(r), text, sizeof text));
}

void itg_cli_runs_titles(itg_cli_table *table, bool with_worse)
{
    itg_cli_table_init(table, with_worse ? "rlllllrllrrrrl" : "rlllllrllrrrr");
    itg_cli_table_texts(table, "run", "started (UTC)", "model", "hardware", "searcher", "goal",
                        "trials", "state", "engine", "float", "best", "weight bytes", "of 8 bit",
                        NULL);
    if (with_worse) itg_cli_table_cell(table, "%s", "");
}

void itg_cli_runs_explain(void)
{
    puts(
        "\nfloat and best: top-1 on the hold-out, or (a) agreement with the float network, or (dB) "
        "SQNR against it.\nMissed on hold-out: the goal was met on the search samples alone. Of "
        "8 bit: the best's weight bytes\nas a share of those of the network with 8 bits "
        "everywhere.");
}

static int list_text(const listing *l)
{
    const char *db = l->args->values[ITG_CLI_OPT_RUNS_DB].text;
    itg_cli_table table;
    bool any_worse = false;
    if (l->shown == 0) {
        printf("%s: %s\n", db, l->count == 0 ? "no runs yet" : "no run fits --model and --hw");
        return ITG_CLI_OK;
    }
    for (int64_t i = 0; i < l->count; i++)
        any_worse = any_worse || (l->worse[i].than && itg_cli_logged_matches(l->args, &l->runs[i]));
    itg_cli_runs_titles(&table, any_worse);
    for (int64_t i = 0; i < l->count; i++) {
        if (!itg_cli_logged_matches(l->args, &l->runs[i])) continue;
        itg_cli_runs_row(&table, &l->runs[i]);
        if (any_worse) worse_cell(&table, &l->worse[i]);
    }
    int status = itg_cli_table_print(&table);
    itg_cli_runs_explain();
    if (any_worse)
        puts("WORSE: than the best earlier run with the same model, hardware, data and goal; "
             "quality below the 95 %\ninterval of that run (an SQNR: by more than 1 dB), or more "
             "than 1 % above it in what is minimized.");
    return status;
}

static int list_loaded(listing *l)
{
    l->worse = calloc((size_t)l->count + 1, sizeof *l->worse);
    if (!l->worse || !find_regressions(l->runs, l->count, l->worse))
        return itg_cli_fail("no memory for the list of runs");
    for (int64_t i = 0; i < l->count; i++)
        l->shown += itg_cli_logged_matches(l->args, &l->runs[i]);
    return l->args->given[ITG_CLI_OPT_JSON] ? list_json(l) : list_text(l);
}

int itg_cli_runs_list(const itg_cli_args *args, itg_run_log *log)
{
    listing l = {.args = args};
    itg_error err = {0};
    if (itg_cli_logged_all(log, &l.runs, &l.count, &err) != ITG_OK) return itg_cli_fail_error(&err);
    int status = list_loaded(&l);
    free(l.worse);
    itg_cli_logged_free(l.runs, l.count);
    return status;
}
