/* The cheapest points that reach the floor after all. In a search's last round points have better
 * codes of weights than those they were judged by (search_rounds.c), so some that were below the
 * floor now keep it. An answer takes seconds there. So first the points that are cheaper than the
 * best, none of which another beats in cost and distortion, are bisected by cost, as if better
 * codes kept their order. Then the one that failed by least, for what it saves, is widened, the
 * cheapest dimensions first, and the points on that way to the best's cost are bisected, too.
 *
 * Where the best is yet to be chosen on samples of its own (selection.c), it may fail there. So,
 * last, points on the way up from it are asked for, `rungs` of them at most: where no earlier point
 * that keeps the floor costs about as much. */
#include "search/searcher.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP 0.005 /* what a widened point must save at least, as a share of the best's cost */
#define RUNG 0.06  /* from a rung to the next, the same */

static const itg_searcher_parameter parameters[] = {
    {"rungs", 0, 0, 64, true, "safer points to ask for beside the best"}, {0}};

typedef enum cheaper_stage { CHEAPER_EARLIER, CHEAPER_WIDER, CHEAPER_SAFER } cheaper_stage;

typedef struct cheaper_state {
    const itg_search_space *space;
    int32_t rungs;
    int32_t *levels;   /* [count][dim_count], by ascending cost */
    int64_t low, high; /* points before low fail; high, or the best, keeps the floor */
    double *costs;     /* of earlier points that keep the floor */
    int64_t cost_count;
    double floor, least;           /* the least cost of what keeps it */
    int32_t *best;                 /* that point */
    int32_t *failed;               /* the point to widen */
    double failed_cost, failed_by; /* INFINITY: there is none */
    cheaper_stage stage;
    bool waits;
} cheaper_state;

static bool is_good(const itg_outcome *o, double floor)
{
    return o->feasible && o->quality >= floor && !(o->violation > 0);
}

/* Ascending cost, then distortion; then the order in which they were told, which the block of
 * levels has. */
static int by_cost(const void *a, const void *b)
{
    const itg_told *x = a, *y = b;
    const double difference = x->outcome.cost - y->outcome.cost,
                 farther = x->outcome.distortion - y->outcome.distortion;
    if (difference < 0 || difference > 0) return difference < 0 ? -1 : 1;
    if (farther < 0 || farther > 0) return farther < 0 ? -1 : 1;
    return (x->levels > y->levels) - (x->levels < y->levels);
}

static size_t point_bytes(const cheaper_state *s)
{
    return (size_t)s->space->dim_count * sizeof *s->levels;
}

static int32_t *point_at(const cheaper_state *s, int64_t index)
{
    return s->levels + index * s->space->dim_count;
}

static void keep_best(cheaper_state *s, const int32_t *levels, const itg_outcome *o)
{
    if (!(o->cost < s->least)) return;
    s->least = o->cost;
    memcpy(s->best, levels, point_bytes(s));
}

static void list(cheaper_state *s, const itg_searcher_options *o, itg_told *told)
{
    int64_t count = 0;
    for (int64_t i = 0; i < o->past_count; i++) {
        if (!is_good(&o->past[i].outcome, s->floor)) continue;
        keep_best(s, o->past[i].levels, &o->past[i].outcome);
        s->costs[s->cost_count++] = o->past[i].outcome.cost;
    }
    for (int64_t i = 0; i < o->past_count; i++) {
        const itg_outcome *known = &o->past[i].outcome;
        if (known->feasible && !(known->violation > 0) && known->distortion >= 0 &&
            known->cost < s->least)
            told[count++] = o->past[i];
    }
    qsort(told, (size_t)count, sizeof *told, by_cost);
    double nearest = INFINITY;
    for (int64_t i = 0; i < count; i++) {
        if (!(told[i].outcome.distortion < nearest)) continue;
        nearest = told[i].outcome.distortion;
        memcpy(point_at(s, s->high++), told[i].levels, point_bytes(s));
    }
}

static itg_status init(void *state, const itg_search_space *space,
                       const itg_searcher_options *options, itg_error *err)
{
    cheaper_state *s = state;
    const size_t dims = (size_t)space->dim_count + 1;
    s->space = space;
    s->rungs = (int32_t)options->parameters[0];
    const size_t count = (size_t)options->past_count + dims + (size_t)s->rungs;
    itg_told *told = calloc(count, sizeof *told);
    s->levels = calloc(count * dims, sizeof *s->levels);
    s->failed = calloc(dims, sizeof *s->failed);
    s->best = calloc(dims, sizeof *s->best);
    s->floor = options->quality_floor;
    s->least = s->failed_by = INFINITY;
    s->costs = calloc(count, sizeof *s->costs);
    const bool complete = told && s->levels && s->failed && s->best && s->costs;
    if (complete) list(s, options, told);
    free(told);
    return complete ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for earlier trials");
}

/* The dimension whose next level costs least, of those that are as wide as in `from`; -1: none. */
static int32_t cheapest(const cheaper_state *s, const int32_t *from, const int32_t *levels)
{
    int32_t best = -1;
    for (int32_t d = 0; d < s->space->dim_count; d++) {
        const itg_dim *dim = &s->space->dims[d];
        if (dim->ordered && dim->cost_per_level > 0 && levels[d] == from[d] &&
            levels[d] + 1 < dim->count &&
            (best < 0 || dim->cost_per_level < s->space->dims[best].cost_per_level))
            best = d;
    }
    return best;
}

/* Lists the points on the way up from the failed one. */
static void widen(cheaper_state *s)
{
    const int32_t *last = s->failed;
    double cost = s->failed_cost;
    s->low = s->high = 0;
    s->stage = CHEAPER_WIDER;
    for (int32_t d; s->failed_by < INFINITY && (d = cheapest(s, s->failed, last)) >= 0;) {
        cost += s->space->dims[d].cost_per_level;
        if (cost > s->least * (1 - STEP)) return;
        int32_t *next = point_at(s, s->high++);
        memcpy(next, last, point_bytes(s));
        next[d]++;
        last = next;
    }
}

static bool is_known(const cheaper_state *s, double cost)
{
    for (int64_t i = 0; i < s->cost_count; i++)
        if (fabs(s->costs[i] - cost) < cost * RUNG / 2) return true;
    return false;
}

/* Lists the rungs: every dimension goes up by a level, the cheapest first, then by another. */
static void climb(cheaper_state *s)
{
    double cost = s->least;
    int32_t *from = s->failed, *at = s->best; /* neither is needed any more */
    s->low = s->high = 0;
    s->stage = CHEAPER_SAFER;
    if (!(cost > 0 && cost < INFINITY)) return;
    memcpy(from, at, point_bytes(s));
    for (int32_t rung = 1; rung <= s->rungs;) {
        int32_t d = cheapest(s, from, at);
        if (d < 0) {
            memcpy(from, at, point_bytes(s));
            d = cheapest(s, from, at);
        }
        if (d < 0) return;
        at[d]++;
        cost += s->space->dims[d].cost_per_level;
        if (cost < s->least * (1 + RUNG * rung)) continue;
        if (!is_known(s, cost)) memcpy(point_at(s, s->high++), at, point_bytes(s));
        while (cost >= s->least * (1 + RUNG * rung))
            rung++;
    }
}

static int64_t next_index(const cheaper_state *s)
{
    return s->stage == CHEAPER_SAFER ? s->low : (s->low + s->high) / 2;
}

static itg_status ask(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    cheaper_state *s = state;
    (void)rng;
    (void)interest; /* how far a point fails matters */
    if (s->waits) return ITG_WAIT;
    if (s->low >= s->high && s->stage == CHEAPER_EARLIER) widen(s);
    if (s->low >= s->high && s->stage == CHEAPER_WIDER) climb(s);
    if (s->low >= s->high) return ITG_END;
    memcpy(levels, point_at(s, next_index(s)), point_bytes(s));
    s->waits = true;
    return ITG_OK;
}

static itg_status tell(void *state, const int32_t *levels, const itg_outcome *o)
{
    cheaper_state *s = state;
    const int64_t at = next_index(s);
    const double by = (s->floor - o->quality) / (s->least - o->cost);
    s->waits = false;
    if (s->stage != CHEAPER_SAFER && is_good(o, s->floor)) {
        s->high = at;
        keep_best(s, levels, o);
        return ITG_OK;
    }
    s->low = at + 1;
    if (s->stage == CHEAPER_EARLIER && o->feasible && !(o->violation > 0) && by < s->failed_by) {
        memcpy(s->failed, levels, point_bytes(s));
        s->failed_cost = o->cost;
        s->failed_by = by;
    }
    return ITG_OK;
}

static void deinit(void *state)
{
    cheaper_state *s = state;
    free(s->levels);
    free(s->failed);
    free(s->best);
    free(s->costs);
}

const itg_searcher_def itg_searcher_cheaper = {
    .name = "cheaper",
    .help = "the cheapest of earlier points that reaches the floor with other codes",
    .parameters = parameters,
    .state_size = sizeof(cheaper_state),
    .outstanding = 1,
    .takes_past = true,
    .init = init,
    .ask = ask,
    .tell = tell,
    .deinit = deinit};
