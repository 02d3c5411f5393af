/* The cheapest points that reach the floor after all. In a search's last round points have better
 * codes of weights than those they were judged by (search_rounds.c), so some that were below the
 * floor now keep it. An answer takes seconds there. So first the points that are cheaper than the
 * best, none of which another beats in cost and distortion, are bisected by cost, as if better
 * codes kept their order. Then the one that failed by least, for what it saves, is widened, the
 * cheapest dimensions first, and the points on that way to the best's cost are bisected, too. */
#include "search/searcher.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP 0.005 /* what a widened point must save at least, as a share of the best's cost */

typedef struct cheaper_state {
    const itg_search_space *space;
    int32_t *levels;               /* [count][dim_count], by ascending cost */
    int64_t low, high;             /* points before low fail; high, or the best, keeps the floor */
    double floor, least;           /* the least cost of what keeps it */
    int32_t *failed;               /* the point to widen */
    double failed_cost, failed_by; /* INFINITY: there is none */
    bool waits, widens;
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

static void list(cheaper_state *s, const itg_searcher_options *o, itg_told *told)
{
    int64_t count = 0;
    for (int64_t i = 0; i < o->past_count; i++)
        if (is_good(&o->past[i].outcome, s->floor))
            s->least = fmin(s->least, o->past[i].outcome.cost);
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
    const size_t count = (size_t)options->past_count + dims;
    itg_told *told = calloc(count, sizeof *told);
    s->space = space;
    s->levels = calloc(count * dims, sizeof *s->levels);
    s->failed = calloc(dims, sizeof *s->failed);
    s->floor = options->quality_floor;
    s->least = s->failed_by = INFINITY;
    if (told && s->levels && s->failed) list(s, options, told);
    free(told);
    return told && s->levels && s->failed
               ? ITG_OK
               : itg_fail(err, ITG_NO_MEMORY, "no memory for earlier trials");
}

/* The dimension whose next level costs least, of those that are not widened yet; -1: none. */
static int32_t cheapest(const cheaper_state *s, const int32_t *levels)
{
    int32_t best = -1;
    for (int32_t d = 0; d < s->space->dim_count; d++) {
        const itg_dim *dim = &s->space->dims[d];
        if (dim->ordered && dim->cost_per_level > 0 && levels[d] == s->failed[d] &&
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
    s->widens = true;
    for (int32_t d; s->failed_by < INFINITY && (d = cheapest(s, last)) >= 0;) {
        cost += s->space->dims[d].cost_per_level;
        if (cost > s->least * (1 - STEP)) return;
        int32_t *next = point_at(s, s->high++);
        memcpy(next, last, point_bytes(s));
        next[d]++;
        last = next;
    }
}

static itg_status ask(void *state, itg_rng *rng, int32_t *levels, double *floor)
{
    cheaper_state *s = state;
    (void)rng;
    (void)floor; /* how far a point fails matters */
    if (s->waits) return ITG_WAIT;
    if (s->low >= s->high && !s->widens) widen(s);
    if (s->low >= s->high) return ITG_END;
    memcpy(levels, point_at(s, (s->low + s->high) / 2), point_bytes(s));
    s->waits = true;
    return ITG_OK;
}

static itg_status tell(void *state, const int32_t *levels, const itg_outcome *o)
{
    cheaper_state *s = state;
    const int64_t at = (s->low + s->high) / 2;
    const double by = (s->floor - o->quality) / (s->least - o->cost);
    s->waits = false;
    if (is_good(o, s->floor)) {
        s->high = at;
        s->least = fmin(s->least, o->cost);
        return ITG_OK;
    }
    s->low = at + 1;
    if (!s->widens && o->feasible && !(o->violation > 0) && by < s->failed_by) {
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
}

const itg_searcher_def itg_searcher_cheaper = {
    .name = "cheaper",
    .help = "the cheapest of earlier points that reaches the floor with other codes",
    .state_size = sizeof(cheaper_state),
    .outstanding = 1,
    .takes_past = true,
    .init = init,
    .ask = ask,
    .tell = tell,
    .deinit = deinit};
