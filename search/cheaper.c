/* The cheapest of earlier points that reaches the floor after all. In a search's last round points
 * have better codes of weights than those they were judged by (search_rounds.c), so some that were
 * below the floor now keep it. An answer takes seconds there: the points that are cheaper than the
 * best, none of which another beats in cost and distortion, are bisected by cost, as if better
 * codes kept their order. */
#include "search/searcher.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct cheaper_state {
    int32_t *levels; /* [count][dim_count], by ascending cost */
    int32_t dim_count;
    int64_t low, high; /* points before low fail; high, or the best, keeps the floor */
    double floor;
    bool waits;
} cheaper_state;

static bool is_good(const itg_outcome *o, double floor)
{
    return o->feasible && o->quality >= floor && !(o->violation > 0);
}

/* The cost of the cheapest point that reached the floor. */
static double least_cost(const itg_searcher_options *o)
{
    double least = INFINITY;
    for (int64_t i = 0; i < o->past_count; i++)
        if (is_good(&o->past[i].outcome, o->quality_floor))
            least = fmin(least, o->past[i].outcome.cost);
    return least;
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

static void list(cheaper_state *s, const itg_searcher_options *o, itg_told *told)
{
    const double most = least_cost(o);
    const size_t dims = (size_t)s->dim_count;
    int64_t count = 0;
    for (int64_t i = 0; i < o->past_count; i++) {
        const itg_outcome *known = &o->past[i].outcome;
        if (known->feasible && !(known->violation > 0) && known->distortion >= 0 &&
            known->cost < most)
            told[count++] = o->past[i];
    }
    qsort(told, (size_t)count, sizeof *told, by_cost);
    double nearest = INFINITY;
    for (int64_t i = 0; i < count; i++) {
        if (!(told[i].outcome.distortion < nearest)) continue;
        nearest = told[i].outcome.distortion;
        memcpy(s->levels + (size_t)s->high++ * dims, told[i].levels, dims * sizeof *s->levels);
    }
}

static itg_status init(void *state, const itg_search_space *space,
                       const itg_searcher_options *options, itg_error *err)
{
    cheaper_state *s = state;
    const size_t count = (size_t)options->past_count + 1, dims = (size_t)space->dim_count;
    itg_told *told = calloc(count, sizeof *told);
    s->levels = calloc(count * (dims + 1), sizeof *s->levels);
    s->dim_count = space->dim_count;
    s->floor = options->quality_floor;
    if (told && s->levels) list(s, options, told);
    free(told);
    return told && s->levels ? ITG_OK
                             : itg_fail(err, ITG_NO_MEMORY, "no memory for earlier trials");
}

static int64_t middle(const cheaper_state *s)
{
    return (s->low + s->high) / 2;
}

static itg_status ask(void *state, itg_rng *rng, int32_t *levels, double *floor)
{
    cheaper_state *s = state;
    const size_t dims = (size_t)s->dim_count;
    (void)rng;
    if (s->low >= s->high) return ITG_END;
    if (s->waits) return ITG_WAIT;
    memcpy(levels, s->levels + (size_t)middle(s) * dims, dims * sizeof *levels);
    *floor = s->floor;
    s->waits = true;
    return ITG_OK;
}

static itg_status tell(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    cheaper_state *s = state;
    (void)levels;
    s->waits = false;
    if (is_good(outcome, s->floor))
        s->high = middle(s);
    else
        s->low = middle(s) + 1;
    return ITG_OK;
}

static void deinit(void *state)
{
    cheaper_state *s = state;
    free(s->levels);
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
