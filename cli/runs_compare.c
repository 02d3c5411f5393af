/* intaglio runs compare: prints two runs side by side, and the edges where their strategies differ.
 */
#include "cli/goal.h"
#include "cli/runs.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The same edge in both strategies; NULL where one has no such edge. */
typedef struct edge_pair {
    const itg_run_edge *a, *b;
    int32_t place; /* in A, or behind all of A's */
} edge_pair;

typedef struct comparison {
    const itg_cli_args *args;
    itg_cli_logged a, b;
    itg_run_edges *edges_a, *edges_b;
    edge_pair *pairs;
    int64_t pair_count, differing;
    bool same_model, same_hardware, same_data, same_holdout, same_preprocess;
} comparison;

/* ---- edges ---- */

static int by_text(const char *a, const char *b)
{
    if (!a || !b) return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

static int by_edge(const itg_run_edge *a, const itg_run_edge *b)
{
    int order = by_text(a->value, b->value);
    if (order == 0) order = by_text(a->node, b->node);
    return order == 0 ? (a->slot > b->slot) - (a->slot < b->slot) : order;
}

static int by_edge_pointers(const void *first, const void *second)
{
    const itg_run_edge *const *a = first, *const *b = second;
    return by_edge(*a, *b);
}

static int by_place(const void *first, const void *second)
{
    const edge_pair *a = first, *b = second;
    return (a->place > b->place) - (a->place < b->place);
}

static bool differs(const edge_pair *p)
{
    return !p->a || !p->b || p->a->bits != p->b->bits || by_text(p->a->method, p->b->method) != 0;
}

/* Returns the edges sorted by name; NULL without memory. */
static const itg_run_edge **sorted(const itg_run_edges *edges)
{
    int32_t count = itg_run_edges_count(edges);
    const itg_run_edge **list = malloc(sizeof *list * ((size_t)count + 1));
    for (int32_t i = 0; list && i < count; i++)
        list[i] = itg_run_edges_at(edges, i);
    if (list) qsort((void *)list, (size_t)count, sizeof *list, by_edge_pointers);
    return list;
}

static void merge(comparison *c, const itg_run_edge *const *a, const itg_run_edge *const *b)
{
    int32_t i = 0, j = 0, m = itg_run_edges_count(c->edges_a), n = itg_run_edges_count(c->edges_b);
    while (i < m || j < n) {
        int order = i == m ? 1 : j == n ? -1 : by_edge(a[i], b[j]);
        edge_pair *p = &c->pairs[c->pair_count++];
        p->a = order <= 0 ? a[i++] : NULL;
        p->b = order >= 0 ? b[j++] : NULL;
        p->place = p->a ? (int32_t)(p->a - itg_run_edges_at(c->edges_a, 0))
                        : m + (int32_t)(p->b - itg_run_edges_at(c->edges_b, 0));
        c->differing += differs(p);
    }
    qsort(c->pairs, (size_t)c->pair_count, sizeof *c->pairs, by_place);
}

static itg_status match_edges(comparison *c, itg_error *err)
{
    itg_status status = itg_run_edges_read(c->a.record, &c->edges_a, err);
    if (status == ITG_OK) status = itg_run_edges_read(c->b.record, &c->edges_b, err);
    if (status != ITG_OK) return status;
    size_t most = (size_t)itg_run_edges_count(c->edges_a) + (size_t)itg_run_edges_count(c->edges_b);
    const itg_run_edge **a = sorted(c->edges_a), **b = sorted(c->edges_b);
    c->pairs = calloc(most + 1, sizeof *c->pairs);
    if (a && b && c->pairs)
        merge(c, a, b);
    else
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for the edges");
    free((void *)a);
    free((void *)b);
    return status;
}

/* ---- reading ---- */

/* Whether both have the same hold-out. One split off the data is the same if data and seed are. */
static bool is_same_holdout(const comparison *c)
{
    const itg_run_info *a = &c->a.record->info, *b = &c->b.record->info;
    if (a->holdout.name || b->holdout.name)
        return itg_run_data_equal(&a->holdout, &b->holdout) &&
               itg_run_data_equal(&a->holdout_labels, &b->holdout_labels);
    return c->same_data && a->seed == b->seed && c->a.has_goal && c->b.has_goal;
}

static itg_status read_both(comparison *c, itg_run_log *log, int64_t a, int64_t b, itg_error *err)
{
    itg_status status = itg_cli_logged_read(log, a, &c->a, err);
    if (status == ITG_OK) status = itg_cli_logged_read(log, b, &c->b, err);
    if (status == ITG_OK) status = match_edges(c, err);
    if (status != ITG_OK) return status;
    const itg_run_info *i = &c->a.record->info, *j = &c->b.record->info;
    c->same_model = memcmp(i->model_hash, j->model_hash, sizeof i->model_hash) == 0;
    c->same_hardware = strcmp(i->hardware_json, j->hardware_json) == 0;
    c->same_preprocess = strcmp(i->preprocess_json, j->preprocess_json) == 0;
    c->same_data =
        itg_run_data_equal(&i->data, &j->data) && itg_run_data_equal(&i->labels, &j->labels);
    c->same_holdout = is_same_holdout(c);
    return ITG_OK;
}

static void close_both(comparison *c)
{
    free(c->pairs);
    itg_run_edges_destroy(c->edges_a);
    itg_run_edges_destroy(c->edges_b);
    itg_cli_logged_close(&c->a);
    itg_cli_logged_close(&c->b);
}

/* ---- the difference in quality ---- */

typedef struct difference {
    bool known, paired, counts; /* counts: shares of the samples, which have intervals */
    double drop, lo, hi;        /* of B below A, as itg_goal_quality; lo, hi where paired */
    bool overlap;               /* of the two intervals; SQNR has none */
    bool beyond_chance;
} difference;

/* Computes the difference in quality. The log keeps totals, not which samples were right, so a
 * paired test (McNemar's) is not possible. If both agreements with the same float network on the
 * same samples are known, the two differ on at most the sum of their disagreements, which bounds
 * the interval. Otherwise tells whether the two intervals overlap. */
static difference difference_of(const comparison *c)
{
    const itg_score *a = &c->a.record->result[ITG_RESULT_BEST],
                    *b = &c->b.record->result[ITG_RESULT_BEST];
    const itg_goal *goal = &c->a.options.goal;
    bool counts = itg_goal_counts_classes(goal);
    double p = itg_goal_quality(goal, a), q = itg_goal_quality(goal, b), alo, ahi, blo, bhi;
    bool both =
        c->a.record->known[ITG_RESULT_BEST] && c->b.record->known[ITG_RESULT_BEST] &&
        a->samples > 0 && b->samples > 0 && itg_cli_knows_quality(goal, a) &&
        itg_cli_knows_quality(goal, b) && itg_cli_same_quality(goal, &c->b.options.goal) &&
        (!counts || itg_score_knows(a, ITG_METRIC_TOP1) == itg_score_knows(b, ITG_METRIC_TOP1));
    if (!both) return (difference){0};
    difference d = {.known = true, .counts = counts, .drop = p - q};
    if (!counts) return d;
    itg_cli_interval(p, a->samples, &alo, &ahi);
    itg_cli_interval(q, b->samples, &blo, &bhi);
    d.overlap = alo <= bhi && blo <= ahi;
    d.beyond_chance = !d.overlap;
    if (!c->same_model || !c->same_holdout || a->samples != b->samples ||
        !itg_score_knows(a, ITG_METRIC_TOP1) || !itg_score_knows(a, ITG_METRIC_AGREEMENT) ||
        !itg_score_knows(b, ITG_METRIC_AGREEMENT))
        return d;
    itg_score other = *b;
    other.value[ITG_METRIC_AGREEMENT] =
        a->value[ITG_METRIC_AGREEMENT] + b->value[ITG_METRIC_AGREEMENT] - 1;
    if (other.value[ITG_METRIC_AGREEMENT] < 0) other.value[ITG_METRIC_AGREEMENT] = 0;
    itg_cli_drop paired = itg_cli_drop_of(a, &other);
    d.paired = true;
    d.lo = paired.lo;
    d.hi = paired.hi;
    d.beyond_chance = paired.lo > 0 || paired.hi < 0;
    return d;
}

/* ---- JSON ---- */

static void json_edge_side(itg_json_writer *json, const char *key, const itg_run_edge *e)
{
    if (!e) {
        itg_json_put_null(json, key);
        return;
    }
    itg_json_begin(json, key, '{');
    itg_json_put_int(json, "bits", e->bits);
    itg_json_put_text(json, "method", e->method);
    itg_json_end(json, '}');
}

static void json_edges(itg_json_writer *json, const comparison *c)
{
    itg_json_put_int(json, "edges_compared", c->pair_count);
    itg_json_begin(json, "edges", '[');
    for (int64_t i = 0; i < c->pair_count; i++) {
        const edge_pair *p = &c->pairs[i];
        const itg_run_edge *any = p->a ? p->a : p->b;
        if (!differs(p)) continue;
        itg_json_begin(json, NULL, '{');
        itg_json_put_text(json, "value", any->value);
        itg_json_put_text(json, "node", any->node);
        itg_json_put_int(json, "slot", any->slot);
        json_edge_side(json, "a", p->a);
        json_edge_side(json, "b", p->b);
        itg_json_end(json, '}');
    }
    itg_json_end(json, ']');
}

static void json_difference(itg_json_writer *json, const comparison *c)
{
    const itg_goal *goal = &c->a.options.goal;
    itg_metric metric = itg_goal_quality_metric(goal);
    difference d = difference_of(c);
    if (!d.known) {
        itg_json_put_null(json, "difference");
        return;
    }
    itg_json_begin(json, "difference", '{');
    itg_json_put_text(json, "quality",
                      !d.counts ? itg_goal_about(goal, metric).name
                      : itg_score_knows(&c->a.record->result[ITG_RESULT_BEST], ITG_METRIC_TOP1)
                          ? "top1"
                          : "agreement");
    itg_json_put_number(json, "drop_from_a_to_b",
                        metric == ITG_METRIC_SQNR ? 100 * d.drop : d.drop);
    if (d.paired) {
        itg_cli_json_pair(json, "interval", d.lo, d.hi);
    } else {
        itg_json_put_null(json, "interval");
    }
    itg_cli_json_known_bool(json, "intervals_overlap", d.counts, d.overlap);
    itg_cli_json_known_bool(json, "beyond_chance", d.counts, d.beyond_chance);
    itg_json_end(json, '}');
}

static int compare_json(const comparison *c)
{
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_text(&json, "db", c->args->values[ITG_CLI_OPT_RUNS_DB].text);
    itg_json_put_bool(&json, "same_model", c->same_model);
    itg_json_put_bool(&json, "same_hardware", c->same_hardware);
    itg_json_put_bool(&json, "same_data", c->same_data);
    itg_json_put_bool(&json, "same_holdout", c->same_holdout);
    itg_json_put_bool(&json, "same_preprocess", c->same_preprocess);
    itg_cli_json_logged_begin(&json, "a", &c->a);
    itg_json_end(&json, '}');
    itg_cli_json_logged_begin(&json, "b", &c->b);
    itg_json_end(&json, '}');
    json_difference(&json, c);
    json_edges(&json, c);
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

/* ---- text ---- */

static void cells(itg_cli_table *table, const char *name, const char *a, const char *b)
{
    itg_cli_table_texts(table, name, a, b, strcmp(a, b) == 0 ? "" : "differs", NULL);
}

static void warn(const comparison *c)
{
    const struct {
        bool same;
        const char *text;
    } checks[] = {
        {c->same_model, "ATTENTION: these are runs of two different models."},
        {c->same_hardware, "ATTENTION: the hardware descriptions differ; costs do not compare."},
        {c->same_preprocess, "ATTENTION: the preprocessing differs."},
        {c->same_data, "ATTENTION: they searched on different data or labels."},
        {c->same_holdout, "ATTENTION: their hold-out samples are not the same; quality compares "
                          "only within its interval."}};
    bool any = false;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (!checks[i].same) {
            if (!any) putchar('\n');
            any = true;
            puts(checks[i].text);
        }
}

static int print_heads(const comparison *c)
{
    const itg_run_info *i = &c->a.record->info, *j = &c->b.record->info;
    char a[128], b[128];
    itg_cli_table table;
    itg_cli_table_init(&table, "llll");
    itg_cli_table_cell(&table, "%s", "");
    itg_cli_table_cell(&table, "A: run %lld", (long long)c->a.record->run);
    itg_cli_table_cell(&table, "B: run %lld", (long long)c->b.record->run);
    itg_cli_table_cell(&table, "%s", "");
    cells(&table, "model", i->model_name, j->model_name);
    cells(&table, "hardware", i->hardware_name, j->hardware_name);
    cells(&table, "data", i->data.name, j->data.name);
    cells(&table, "hold-out", i->holdout.name ? i->holdout.name : "from the data",
          j->holdout.name ? j->holdout.name : "from the data");
    cells(&table, "searcher", i->searcher, j->searcher);
    cells(&table, "goal", itg_cli_short_goal(&c->a, a, sizeof a),
          itg_cli_short_goal(&c->b, b, sizeof b));
    snprintf(a, sizeof a, "%llu", (unsigned long long)i->seed);
    snprintf(b, sizeof b, "%llu", (unsigned long long)j->seed);
    cells(&table, "seed", a, b);
    cells(&table, "engine", i->engine_version, j->engine_version);
    cells(&table, "started", itg_cli_when(i->started, a, sizeof a),
          itg_cli_when(j->started, b, sizeof b));
    cells(&table, "trials", itg_cli_count_text((long long)c->a.record->trials, a),
          itg_cli_count_text((long long)c->b.record->trials, b));
    cells(&table, "duplicates", itg_cli_count_text((long long)c->a.record->duplicates, a),
          itg_cli_count_text((long long)c->b.record->duplicates, b));
    cells(&table, "stopped early", itg_cli_count_text((long long)c->a.record->raced, a),
          itg_cli_count_text((long long)c->b.record->raced, b));
    cells(&table, "state", itg_cli_state(&c->a, a, sizeof a), itg_cli_state(&c->b, b, sizeof b));
    return itg_cli_table_print(&table);
}

static const char *quality_text(const itg_goal *goal, const itg_score *score, char *buffer,
                                size_t size)
{
    double lo, hi, quality = itg_goal_quality(goal, score);
    if (score->samples <= 0) {
        snprintf(buffer, size, "-");
        return buffer;
    }
    if (!itg_goal_counts_classes(goal) || quality < 0)
        return itg_cli_quality_text(goal, score, buffer, size);
    itg_cli_interval(quality, score->samples, &lo, &hi);
    snprintf(buffer, size, "%.2f %% (%.2f to %.2f)%s", 100 * quality, 100 * lo, 100 * hi,
             itg_score_knows(score, ITG_METRIC_TOP1) ? "" : " a");
    return buffer;
}

static void quality_row(itg_cli_table *table, const comparison *c, itg_run_result which)
{
    char text[96];
    const itg_run_record *r = c->a.record, *t = c->b.record;
    const itg_score *a = &r->result[which], *b = &t->result[which];
    const itg_goal *ga = &c->a.options.goal, *gb = &c->b.options.goal;
    double p = itg_goal_quality(ga, a), q = itg_goal_quality(gb, b);
    if (!r->known[which] && !t->known[which]) return;
    itg_cli_table_texts(table, itg_cli_result_name(which), quality_text(ga, a, text, sizeof text),
                        NULL);
    itg_cli_table_cell(table, "%s", quality_text(gb, b, text, sizeof text));
    if (r->known[which] && t->known[which] && itg_cli_knows_quality(ga, a) &&
        itg_cli_knows_quality(gb, b) && itg_cli_same_quality(ga, gb))
        itg_cli_table_cell(table,
                           itg_goal_counts_classes(ga)                      ? "%+.2f points"
                           : itg_goal_quality_metric(ga) == ITG_METRIC_SQNR ? "%+.2f dB"
                                                                            : "%+.4g better",
                           itg_goal_counts_classes(ga) ||
                                   itg_goal_quality_metric(ga) == ITG_METRIC_SQNR
                               ? 100 * (q - p)
                               : q - p);
    else
        itg_cli_table_cell(table, "-");
}

static void cost_rows(itg_cli_table *table, const itg_run_record *r, const itg_run_record *t)
{
    const itg_score *a = &r->result[ITG_RESULT_BEST], *b = &t->result[ITG_RESULT_BEST];
    for (int m = 0; m < ITG_METRIC_COUNT; m++)
        if (itg_metric_is_cost((itg_metric)m) ||
            (m >= ITG_METRIC_USER1 &&
             (itg_score_knows(a, (itg_metric)m) || itg_score_knows(b, (itg_metric)m))))
            itg_cli_metric_row(table, (itg_metric)m, a, b);
}

static int print_results(const comparison *c)
{
    itg_cli_table table;
    puts(
        "\nQuality on the hold-out (top-1, or (a) agreement with float, with 95 % intervals; or dB "
        "of SQNR), and costs\nof the best:\n");
    itg_cli_table_init(&table, "lrrr");
    itg_cli_table_texts(&table, "", "A", "B", "B against A", NULL);
    for (int i = 0; i <= ITG_RESULT_BEST; i++)
        quality_row(&table, c, (itg_run_result)i);
    cost_rows(&table, c->a.record, c->b.record);
    return itg_cli_table_print(&table);
}

static void print_difference(const comparison *c)
{
    difference d = difference_of(c);
    putchar('\n');
    if (!d.known) {
        puts(
            "The quality of the two cannot be compared: one has no result, only one had labels, or "
            "they judged\nby different kinds of quality.");
        return;
    }
    itg_metric metric = itg_goal_quality_metric(&c->a.options.goal);
    if (metric == ITG_METRIC_SQNR)
        printf("B's best has %.2f dB of SQNR %s than A's.\n", 100 * fabs(d.drop),
               d.drop < 0 ? "more" : "less");
    else if (!d.counts)
        printf("The %s of B's best is %s than A's by %.4g.\n",
               itg_goal_about(&c->a.options.goal, metric).words, d.drop < 0 ? "better" : "worse",
               fabs(d.drop));
    if (!d.counts) return;
    printf("B's best has %.2f points %s than A's", 100 * (d.drop < 0 ? -d.drop : d.drop),
           d.drop < 0 ? "more" : "less");
    if (d.paired)
        printf(" (B below A, on the same samples: 95 %% interval %.2f to %.2f points)", 100 * d.lo,
               100 * d.hi);
    else
        printf("; the two intervals %s", d.overlap ? "overlap" : "do not overlap");
    puts(d.beyond_chance ? ": more than chance explains."
                         : ": the difference is within the interval.");
}

static void edge_cell(itg_cli_table *table, const itg_run_edge *e)
{
    if (!e)
        itg_cli_table_cell(table, "no such edge");
    else if (e->bits == 0)
        itg_cli_table_cell(table, "not quantized");
    else
        itg_cli_table_cell(table, "%d bits, %s", (int)e->bits, e->method ? e->method : "-");
}

static int print_edges(const comparison *c)
{
    itg_cli_table table;
    if (!c->a.record->strategy_json || !c->b.record->strategy_json) {
        puts("\nOne of them has no strategy: edges cannot be compared.");
        return ITG_CLI_OK;
    }
    printf("\n%lld of %lld edge%s differ in their bits or in the method of their threshold%s\n",
           (long long)c->differing, (long long)c->pair_count, itg_plural(c->pair_count),
           c->differing ? ":\n" : ".");
    if (c->differing == 0) return ITG_CLI_OK;
    itg_cli_table_init(&table, "lll");
    itg_cli_table_texts(&table, "value -> node.slot", "A", "B", NULL);
    for (int64_t i = 0; i < c->pair_count; i++) {
        const edge_pair *p = &c->pairs[i];
        const itg_run_edge *any = p->a ? p->a : p->b;
        if (!differs(p)) continue;
        itg_cli_table_cell(&table, "%s -> %s.%d", any->value, any->node ? any->node : "(output)",
                           (int)any->slot);
        edge_cell(&table, p->a);
        edge_cell(&table, p->b);
    }
    return itg_cli_table_print(&table);
}

static int compare_text(const comparison *c)
{
    int status = print_heads(c);
    warn(c);
    if (status == ITG_CLI_OK) status = print_results(c);
    print_difference(c);
    return status == ITG_CLI_OK ? print_edges(c) : status;
}

int itg_cli_runs_compare(const itg_cli_args *args, itg_run_log *log)
{
    comparison c = {.args = args};
    itg_error err = {0};
    int64_t a = 0, b = 0;
    if (args->argument_count > 3) return itg_cli_runs_compare_all(args, log);
    int status = itg_cli_run_number(args, 1, &a);
    if (status == ITG_CLI_OK) status = itg_cli_run_number(args, 2, &b);
    if (status != ITG_CLI_OK) return status;
    if (read_both(&c, log, a, b, &err) != ITG_OK)
        status = itg_cli_fail_error(&err);
    else
        status = args->given[ITG_CLI_OPT_JSON] ? compare_json(&c) : compare_text(&c);
    close_both(&c);
    return status;
}
