/* itg_bench_construct: what it costs to build a candidate, from a point to a plan that could run,
 * step by step: nothing seen before, one group changed to a width not seen, to one seen, all seen.
 */
#include "cli/passive.h"
#include "search/evaluator.h"
#include "bench/bench.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RESOLVE, ANNOTATE, COSTS, REALIZE, PLAN, BATCH, PHASES };
static const char *const phase_names[PHASES] = {"resolve", "annotate", "costs",
                                                "realize", "plan",     "batch"};

typedef struct construct {
    const char *model_path, *hardware, *data_path;
    int repeats;
    int64_t limit;
    itg_preprocess preprocess;
    itg_model *model;
    itg_hardware *hw;
    itg_dataset *data;
    itg_stats *stats;
    itg_evaluator evaluator;
    int32_t *point;
} construct;

/* Milliseconds of the phases of some constructions. */
typedef struct times {
    double sum[PHASES], least; /* least: of a whole */
    int64_t count;
} times;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static double lap(double *last)
{
    double now = now_ms(), passed = now - *last;
    *last = now;
    return passed;
}

/* Ends what the others began, as a trial does. */
typedef struct candidate {
    itg_strategy *strategy;
    itg_annotated *annotated;
    itg_program *program;
    itg_batch_plan *plan;
    itg_batch *batch;
} candidate;

static void destroy(candidate *c)
{
    itg_batch_destroy(c->batch);
    itg_batch_plan_destroy(c->plan);
    itg_program_destroy(c->program);
    itg_annotated_destroy(c->annotated);
    itg_strategy_destroy(c->strategy);
}

static itg_status build(const construct *b, times *t, itg_error *err)
{
    const itg_evaluator *e = &b->evaluator;
    candidate c = {0};
    itg_score score;
    double ms[PHASES] = {0}, last = now_ms(), whole = 0;
    itg_batch_options batch = {.kernels = e->kernels, .weights = e->weights};
    itg_status status = itg_evaluator_resolve(e, b->point, &c.strategy, err);
    ms[RESOLVE] = lap(&last);
    if (status == ITG_OK)
        status = itg_annotate_with(e->model, e->hw, c.strategy, &e->constants, &c.annotated, err);
    ms[ANNOTATE] = lap(&last);
    if (status == ITG_OK) status = itg_score_costs(e->hw, c.annotated, &score, err);
    ms[COSTS] = lap(&last);
    if (status == ITG_OK) status = itg_realize_program(c.annotated, NULL, &c.program, err);
    ms[REALIZE] = lap(&last);
    if (status == ITG_OK) status = itg_batch_plan_create(c.program, &batch, &c.plan, err);
    ms[PLAN] = lap(&last);
    if (status == ITG_OK) status = itg_batch_create(c.plan, &c.batch, err);
    destroy(&c);
    ms[BATCH] = lap(&last);
    if (status != ITG_OK)
        return status == ITG_INFEASIBLE || status == ITG_UNBOUNDED ? ITG_OK : status;
    for (int i = 0; i < PHASES; i++) {
        t->sum[i] += ms[i];
        whole += ms[i];
    }
    if (t->count == 0 || whole < t->least) t->least = whole;
    t->count++;
    return ITG_OK;
}

static void print_times(const char *name, const times *t)
{
    double whole = 0;
    if (t->count == 0) return;
    for (int i = 0; i < PHASES; i++)
        whole += t->sum[i];
    printf("  %-22s %9.3f ms  least %9.3f :", name, whole / (double)t->count, t->least);
    for (int i = 0; i < PHASES; i++)
        printf("  %s %.3f", phase_names[i], t->sum[i] / (double)t->count);
    printf("  (%lld)\n", (long long)t->count);
}

static itg_status start(construct *b, itg_error *err)
{
    itg_evaluator *e = &b->evaluator;
    *e = (itg_evaluator){.model = b->model, .hw = b->hw, .preprocess = &b->preprocess};
    itg_search_options options = ITG_SEARCH_OPTIONS_INIT;
    itg_status status = itg_evaluator_init(e, 0, err);
    if (status == ITG_OK)
        status = itg_point_space_create(b->hw, b->model, &options, &e->points, err);
    if (status == ITG_OK)
        status = itg_threshold_cache_create(b->model, b->hw, e->points->groups, b->stats, &e->cache,
                                            err);
    if (status != ITG_OK) return status;
    b->point = calloc((size_t)e->points->space.dim_count + 1, sizeof *b->point);
    if (!b->point) return itg_fail(err, ITG_NO_MEMORY, "no memory for a point");
    itg_point_space_corner(e->points, false, b->point);
    return ITG_OK;
}

static void stop(construct *b)
{
    itg_evaluator_deinit(&b->evaluator);
    free(b->point);
    b->point = NULL;
}

/* Each dimension to its second largest width and back. */
static itg_status change_each(construct *b, times *there, times *back, itg_error *err)
{
    const itg_search_space *space = &b->evaluator.points->space;
    itg_status status = ITG_OK;
    for (int32_t d = 0; d < space->dim_count && status == ITG_OK; d++) {
        const itg_dim *dim = &space->dims[d];
        int32_t before = b->point[d];
        for (int32_t k = 0; k < dim->count; k++)
            if (dim->values[k] != before) b->point[d] = dim->values[k];
        status = build(b, there, err);
        b->point[d] = before;
        if (status == ITG_OK) status = build(b, back, err);
    }
    return status;
}

static itg_status measure(construct *b, itg_error *err)
{
    times nothing = {0}, unseen = {0}, seen = {0}, all = {0}, ignored = {0};
    itg_status status = ITG_OK;
    for (int i = 0; i < b->repeats && status == ITG_OK; i++) {
        status = start(b, err);
        if (status == ITG_OK) status = build(b, &nothing, err);
        if (status == ITG_OK && i == b->repeats - 1) {
            status = change_each(b, &unseen, &ignored, err);
            for (int k = 0; k < b->repeats && status == ITG_OK; k++)
                status = change_each(b, &seen, &seen, err);
            for (int k = 0; k < 20 * b->repeats && status == ITG_OK; k++)
                status = build(b, &all, err);
        }
        stop(b);
    }
    if (status != ITG_OK) return status;
    print_times("nothing seen", &nothing);
    print_times("one changed, unseen", &unseen);
    print_times("one changed, seen", &seen);
    print_times("all seen", &all);
    return ITG_OK;
}

int main(int argc, char **argv)
{
    construct b = {.repeats = 5, .limit = 4};
    itg_error err = {0};
    itg_be_passive(argc, argv);
    if (argc != 5) {
        fputs("usage: itg_bench_construct MODEL HARDWARE DATA SCALE\n", stderr);
        return 2;
    }
    b.preprocess = itg_preprocess_default();
    b.preprocess.scale = (float)atof(argv[4]);
    bench_print_header(1, b.repeats);
    itg_status status = itg_model_open(argv[1], NULL, &b.model, &err);
    if (status == ITG_OK) status = itg_hardware_load(argv[2], &b.hw, &err);
    if (status == ITG_OK) status = itg_data_open(argv[3], b.limit, &b.data, &err);
    if (status == ITG_OK)
        status = itg_calibrate_model(b.model, b.data, &b.preprocess, 1, &b.stats, &err);
    if (status == ITG_OK) printf("\n%s on %s\n", itg_model_name(b.model), b.hw->name);
    if (status == ITG_OK) status = measure(&b, &err);
    itg_stats_destroy(b.stats);
    itg_data_close(b.data);
    itg_hardware_destroy(b.hw);
    itg_model_close(b.model);
    if (status == ITG_OK) return 0;
    fprintf(stderr, "itg_bench_construct: %s\n", err.message);
    return 1;
}
