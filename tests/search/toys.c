#include "toys.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MOST_OUTSTANDING 64

static const int32_t widths[] = {2, 3, 4, 5, 6, 7, 8}, methods[] = {0, 1, 2};

static double lacking(const int32_t *values, int d)
{
    return 8 - values[d];
}

static double squares(const int32_t *values, int32_t dims, const double *weights)
{
    double sum = 0;
    for (int32_t d = 0; d < dims; d++)
        sum += weights[d] * lacking(values, d) * lacking(values, d);
    return sum;
}

static double bytes_of(const int32_t *values, int32_t dims, const double *sizes)
{
    double sum = 0;
    for (int32_t d = 0; d < dims; d++)
        sum += sizes[d] * values[d];
    return sum;
}

static const double convex_sizes[] = {10, 400, 60, 200};
static const double convex_penalties[] = {0.001, 0.003, 0.0005, 0.002};

static itg_outcome convex(const int32_t *v)
{
    return (itg_outcome){.feasible = true,
                         .quality = 1 - squares(v, 4, convex_penalties),
                         .cost = bytes_of(v, 4, convex_sizes),
                         .distortion = -1};
}

static itg_outcome coarse(const int32_t *v)
{
    itg_outcome o = convex(v);
    o.distortion = 1 - o.quality;
    o.quality = floor(o.quality * 100) / 100;
    return o;
}

/* Dimension 0 saves most for what it loses, but once it is low, the others may not fall. */
static itg_outcome deceptive(const int32_t *v)
{
    static const double sizes[] = {10, 8, 8};
    double a = lacking(v, 0), b = lacking(v, 1), c = lacking(v, 2);
    return (itg_outcome){.feasible = true,
                         .quality = 1 - 0.002 * a - 0.003 * (b + c) - 0.05 * a * (b + c),
                         .cost = bytes_of(v, 3, sizes),
                         .distortion = -1};
}

/* Too wide an accumulator above 13 bits in all; dimensions 1 and 2 have slabs of their own. */
static itg_outcome infeasible(const int32_t *v)
{
    itg_outcome o = convex(v);
    if (v[0] + v[1] > 13 || v[1] == 5 || v[2] < 4) return (itg_outcome){.feasible = false};
    return o;
}

/* A method multiplies what its width loses. */
static itg_outcome unordered(const int32_t *v)
{
    static const double factor[2][3] = {{9, 1, 4}, {6, 7, 1}}, sizes[] = {100, 40};
    double lost = 0;
    for (int d = 0; d < 2; d++)
        lost += 0.002 * factor[d][v[2 + d]] * (1 + lacking(v, d) * lacking(v, d));
    return (itg_outcome){
        .feasible = true, .quality = 1 - lost, .cost = bytes_of(v, 2, sizes), .distortion = -1};
}

static itg_outcome one_dimension(const int32_t *v)
{
    return (itg_outcome){
        .feasible = true, .quality = 1 - 0.01 * lacking(v, 0), .cost = v[0], .distortion = -1};
}

static itg_outcome only_widest(const int32_t *v)
{
    itg_outcome o = convex(v);
    if (lacking(v, 0) + lacking(v, 1) + lacking(v, 2) + lacking(v, 3) > 0) o.quality -= 0.5;
    return o;
}

static itg_outcome nothing(const int32_t *v)
{
    itg_outcome o = convex(v);
    o.quality -= 0.5;
    return o;
}

#define LIMIT 2500.0

static itg_outcome limited(const int32_t *v)
{
    itg_outcome o = convex(v);
    o.cost /= LIMIT;
    return o;
}

/* ---- accumulators ---- */

static const double paired_sizes[] = {0, 400, 0, 200};
static const double paired_penalties[] = {0.0007, 0.002, 0.0005, 0.0012};

static itg_outcome fitting(const int32_t *v)
{
    return (itg_outcome){.feasible = true,
                         .quality = 1 - squares(v, 4, paired_penalties),
                         .cost = bytes_of(v, 4, paired_sizes),
                         .distortion = squares(v, 4, paired_penalties)};
}

static itg_outcome paired(const int32_t *v)
{
    static const itg_conflict both[] = {{0, 1}, {2, 3}};
    bool first = v[0] + v[1] > 12, second = v[2] + v[3] > 11;
    if (!first && !second) return fitting(v);
    return (itg_outcome){
        .distortion = -1, .conflicts = first ? both : both + 1, .conflict_count = first + second};
}

static itg_outcome unexplained(const int32_t *v)
{
    itg_outcome o = paired(v);
    o.conflicts = NULL;
    o.conflict_count = 0;
    return o;
}

static itg_outcome wrapped(const int32_t *v)
{
    itg_outcome o = fitting(v);
    if (paired(v).feasible) return o;
    o.quality = 0.1;
    o.distortion = 1.5;
    return o;
}

#define PAIRED_DIMS                                                                                \
    {                                                                                              \
        WIDTH(0), WIDTH(400), WIDTH(0), WIDTH(200)                                                 \
    }

#define WIDTH(saves)                                                                               \
    {                                                                                              \
        7, widths, true, saves, 0                                                                  \
    }
#define METHOD                                                                                     \
    {                                                                                              \
        3, methods, false, 0, 0                                                                    \
    }
#define CONVEX_DIMS                                                                                \
    {                                                                                              \
        WIDTH(10), WIDTH(400), WIDTH(60), WIDTH(200)                                               \
    }

const toy toys[TOY_COUNT] = {
    {"convex", 4, CONVEX_DIMS, convex, {.quality_floor = 0.9}},
    {"coarse", 4, CONVEX_DIMS, coarse, {.quality_floor = 0.9}},
    {"deceptive", 3, {WIDTH(10), WIDTH(8), WIDTH(8)}, deceptive, {.quality_floor = 0.95}},
    {"infeasible", 4, CONVEX_DIMS, infeasible, {.quality_floor = 0.9}},
    {"unordered", 4, {WIDTH(100), WIDTH(40), METHOD, METHOD}, unordered, {.quality_floor = 0.93}},
    {"one dimension", 1, {WIDTH(1)}, one_dimension, {.quality_floor = 0.965}},
    {"only widest", 4, CONVEX_DIMS, only_widest, {.quality_floor = 0.9}},
    {"nothing", 4, CONVEX_DIMS, nothing, {.quality_floor = 0.9}},
    {"maximize",
     4,
     {WIDTH(10 / LIMIT), WIDTH(400 / LIMIT), WIDTH(60 / LIMIT), WIDTH(200 / LIMIT)},
     limited,
     {.maximize_quality = true, .quality_floor = -INFINITY, .cost_limit = 1}},
    {"paired", 4, PAIRED_DIMS, paired, {.quality_floor = 0.93}},
    {"unexplained", 4, PAIRED_DIMS, unexplained, {.quality_floor = 0.93}},
    {"wrapped", 4, PAIRED_DIMS, wrapped, {.quality_floor = 0.93}},
};

static bool is_good(const toy *t, const itg_outcome *o)
{
    return o->feasible && o->quality >= t->options.quality_floor && o->violation <= 0 &&
           (!t->options.maximize_quality || o->cost <= t->options.cost_limit);
}

static bool is_better(const toy *t, const itg_outcome *a, const itg_outcome *b)
{
    if (t->options.maximize_quality)
        return a->quality != b->quality ? a->quality > b->quality : a->cost < b->cost;
    return a->cost != b->cost ? a->cost < b->cost : a->quality > b->quality;
}

static void evaluate(const toy *t, const int32_t *levels, double share, itg_outcome *o,
                     toy_result *r)
{
    int32_t values[TOY_DIMS] = {0};
    for (int32_t d = 0; d < t->dim_count; d++) {
        assert_in_range(levels[d], 0, t->dims[d].count - 1);
        values[d] = t->dims[d].values[levels[d]];
        r->trace = (r->trace ^ (uint64_t)levels[d]) * 1099511628211u;
    }
    *o = t->outcome(values);
    r->asked++;
    r->asked_all += !(share < 1);
    if (share < 1) return;
    if (!is_good(t, o) || (r->found_at > 0 && !is_better(t, o, &r->outcome))) return;
    r->found_at = r->asked;
    r->outcome = *o;
    memcpy(r->best, values, sizeof r->best);
}

/* The samples of the share are easier than the others. */
static itg_outcome by_share(itg_outcome o)
{
    if (!o.feasible) return o;
    o.quality = (double)NAN;
    o.distortion *= 0.8;
    return o;
}

/* As racing may do it and worse: any quality below the floor, any distortion or none. */
static itg_outcome raced(itg_outcome o, double floor, itg_rng *lots)
{
    static const double below[] = {1e-9, 1e-6, 0.001, 0.01, 0.1, 1};
    if (!o.feasible || o.quality >= floor) return o;
    double from = floor < INFINITY ? floor : 2 * itg_rng_unit(lots);
    o.quality = from - below[itg_rng_below(lots, 6)] * (1 + itg_rng_unit(lots));
    o.distortion = itg_rng_below(lots, 2) ? -1 : 2 * itg_rng_unit(lots);
    return o;
}

typedef struct batch {
    int32_t count, levels[MOST_OUTSTANDING][TOY_DIMS];
    itg_outcome outcomes[MOST_OUTSTANDING];
} batch;

/* Asks as often as it may, and evaluates; ITG_END as the searcher says it. */
static itg_status ask_batch(const toy *t, const itg_searcher_def *def, void *state, itg_rng rngs[2],
                            int64_t budget, toy_racing racing, batch *b, toy_result *r)
{
    itg_status status = ITG_OK;
    for (b->count = 0; b->count < def->outstanding && r->asked < budget; b->count++) {
        itg_interest interest = ITG_INTEREST_ALL;
        status = def->ask(state, &rngs[0], b->levels[b->count], &interest);
        if (status != ITG_OK) break;
        itg_outcome *o = &b->outcomes[b->count];
        evaluate(t, b->levels[b->count], interest.share, o, r);
        if (interest.share < 1) *o = by_share(*o);
        if (racing >= TOY_TELL_RACED) *o = raced(*o, interest.floor, &rngs[1]);
    }
    bool waits_for_nothing = status == ITG_WAIT && b->count == 0;
    assert_false(waits_for_nothing);
    return status == ITG_WAIT ? ITG_OK : status;
}

toy_result toy_search(const toy *t, const itg_searcher_def *def, uint64_t seed, int64_t budget,
                      toy_racing racing)
{
    itg_search_space space = {t->dim_count, t->dims};
    itg_searcher_options options = t->options;
    itg_rng rngs[2]; /* the searcher's, and for what is told of points below their floors */
    toy_result r = {0};
    batch b;
    assert_in_range(def->outstanding, 1, MOST_OUTSTANDING);
    options.trials = budget;
    options.shares = racing == TOY_TELL_SHARES;
    itg_rng_init(&rngs[0], seed);
    itg_rng_init(&rngs[1], (uint64_t)racing);
    void *state = calloc(1, def->state_size);
    if (!state) return (toy_result){.status = ITG_NO_MEMORY};
    if (options.parameters[0] == 0) itg_searcher_defaults(def, options.parameters);
    r.status = def->init(state, &space, &options, NULL);
    while (r.status == ITG_OK && r.asked < budget) {
        r.status = ask_batch(t, def, state, rngs, budget, racing, &b, &r);
        bool told = r.status == ITG_OK || r.status == ITG_END;
        for (int32_t i = 0; i < b.count && told; i++) {
            itg_status status = def->tell(state, b.levels[i], &b.outcomes[i]);
            if (status != ITG_OK) r.status = status;
            told = status == ITG_OK;
        }
    }
    if (r.status == ITG_END) r.status = ITG_OK;
    def->deinit(state);
    free(state);
    return r;
}

toy_result toy_optimum(const toy *t)
{
    toy_result r = {0};
    itg_outcome o;
    int32_t levels[TOY_DIMS] = {0};
    for (int32_t d = 0; d < t->dim_count;) {
        evaluate(t, levels, 1, &o, &r);
        for (d = 0; d < t->dim_count && ++levels[d] == t->dims[d].count; d++)
            levels[d] = 0;
    }
    return r;
}
