/* Simulated annealing, by default with HAGO's schedule (TVM, python/tvm/relay/hago/search.py):
 * temperature 0.5 down to 0.0005, 0.99 of it after each proposal (688 proposals); a proposal moves
 * a tenth of the dimensions, at least one, by up to two levels; a worse one is accepted with
 * probability exp(-increase / temperature) (Metropolis). Departures: dimensions with one value are
 * left alone, a move is never by nothing, and a width at an end of its range moves inwards.
 *
 * Energy, smaller is better:
 *   minimizing a cost:    cost / cost of the widest point
 *                         + penalty * (what quality falls short of the floor + violation)
 *   maximizing quality:   -quality + penalty * (what quality falls short of the floor
 *                         + what cost exceeds its limit by + violation)
 * By default a miss of the floor by 0.01 costs as much as a tenth of the widest point's cost.
 *
 * With a start, the widest point is still the first, for its cost; then the start is accepted
 * whatever it is, and the first temperature is `warm`: the schedule's own would forget it.
 *
 * The random number of the acceptance is drawn with the proposal: it fixes the largest energy that
 * is accepted, and from it the racing floor, below which a proposal is refused without looking at
 * anything else (tell tests exactly this, so a raced quality below the floor cannot matter). */
#include "kernels/math.h"
#include "search/points.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { T0, T1, COOLING, ONE_IN, LEVELS, PENALTY, WARM };
static const itg_searcher_parameter parameters[] = {
    [T0] = {"t0", 0.5, 1e-9, 1e9, false, "the first temperature"},
    [T1] = {"t1", 0.0005, 1e-9, 1e9, false, "the last temperature"},
    [COOLING] = {"cooling", 0.99, 0.001, 0.999999, false, "the temperature's factor per proposal"},
    [ONE_IN] = {"one_in", 10, 1, 1e6, true, "a proposal moves one dimension in so many"},
    [LEVELS] = {"levels", 2, 1, 32, true, "the most levels that a width moves at once"},
    [PENALTY] = {"penalty", 10, 0.001, 1e9, false, "the weight of missing the goal"},
    [WARM] = {"warm", 0.005, 1e-9, 1e9, false,
              "the first temperature behind a start (--start), if lower than t0"},
    {0}};

typedef struct anneal_state {
    const itg_search_space *space;
    itg_searcher_options options;
    int32_t *levels;   /* the point accepted last */
    uint32_t *movable; /* dimensions with more than one value */
    int32_t movable_count;
    double energy, widest_cost, temperature;
    double most_energy, floor; /* of the proposal whose outcome is awaited */
    bool started, waiting, accepted_any;
    bool takes_start, at_start; /* the start is not asked for yet; its outcome is awaited */
} anneal_state;

static double parameter(const anneal_state *s, int index)
{
    return s->options.parameters[index];
}

static itg_status init(void *state, const itg_search_space *space,
                       const itg_searcher_options *options, itg_error *err)
{
    anneal_state *s = state;
    s->space = space;
    s->options = *options;
    s->temperature = parameter(s, T0);
    s->widest_cost = 1;
    s->levels = malloc(sizeof *s->levels * (size_t)(space->dim_count + 1));
    s->movable = malloc(sizeof *s->movable * (size_t)(space->dim_count + 1));
    if (!s->levels || !s->movable) return itg_fail(err, ITG_NO_MEMORY, "no memory for anneal");
    for (int32_t d = 0; d < space->dim_count; d++)
        if (space->dims[d].count > 1) s->movable[s->movable_count++] = (uint32_t)d;
    itg_point_widest(space, s->levels);
    s->takes_start = options->start != NULL;
    if (s->takes_start && parameter(s, WARM) < s->temperature) s->temperature = parameter(s, WARM);
    return ITG_OK;
}

static double shortfall(double quality, double floor)
{
    return quality < floor ? floor - quality : 0;
}

static double energy_of(const anneal_state *s, const itg_outcome *o)
{
    double miss = shortfall(o->quality, s->options.quality_floor) + o->violation;
    if (!s->options.maximize_quality)
        return o->cost / s->widest_cost + parameter(s, PENALTY) * miss;
    if (o->cost > s->options.cost_limit) miss += o->cost - s->options.cost_limit;
    return -o->quality + parameter(s, PENALTY) * miss;
}

/* The quality below which the energy exceeds most_energy at any cost. */
static double floor_of(const anneal_state *s)
{
    if (s->options.maximize_quality) return -s->most_energy;
    return s->options.quality_floor - s->most_energy / parameter(s, PENALTY);
}

/* Draws another level of a dimension, uniformly. On an ordered dimension it is at most `most` away.
 */
static int32_t another_level(const itg_dim *dim, int32_t level, int32_t most, itg_rng *rng)
{
    int32_t low = 0, high = dim->count - 1;
    if (dim->ordered && level > most) low = level - most;
    if (dim->ordered && high - level > most) high = level + most;
    int32_t other = low + (int32_t)itg_rng_below(rng, (uint64_t)(high - low));
    return other < level ? other : other + 1;
}

/* Moves the dimensions that a partial Fisher-Yates shuffle puts first. */
static void propose(anneal_state *s, itg_rng *rng, int32_t *levels)
{
    int32_t one_in = (int32_t)parameter(s, ONE_IN), most = (int32_t)parameter(s, LEVELS);
    int32_t count = (s->movable_count + one_in - 1) / one_in;
    for (int32_t i = 0; i < count; i++) {
        int32_t at = i + (int32_t)itg_rng_below(rng, (uint64_t)(s->movable_count - i));
        uint32_t d = s->movable[at];
        s->movable[at] = s->movable[i];
        s->movable[i] = d;
        levels[d] = another_level(&s->space->dims[d], levels[d], most, rng);
    }
    double unit = 1.0 - itg_rng_unit(rng); /* (0, 1]: it has a logarithm */
    s->most_energy = s->energy - s->temperature * itg_log(unit);
    s->temperature *= parameter(s, COOLING);
}

static itg_status ask(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    anneal_state *s = state;
    if (s->waiting) return ITG_WAIT;
    bool cold = s->temperature < parameter(s, T1) || s->movable_count == 0;
    if (s->started && !s->takes_start && cold) return ITG_END;
    memcpy(levels, s->levels, sizeof *levels * (size_t)s->space->dim_count);
    s->floor = -INFINITY;
    s->at_start = s->started && s->takes_start;
    if (s->at_start) {
        s->takes_start = false;
        memcpy(levels, s->options.start, sizeof *levels * (size_t)s->space->dim_count);
    } else if (s->started) {
        propose(s, rng, levels);
        if (s->accepted_any) s->floor = floor_of(s);
    }
    s->started = s->waiting = true;
    interest->floor = s->floor;
    return ITG_OK;
}

static itg_status tell(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    anneal_state *s = state;
    bool first = s->floor == -INFINITY && !s->accepted_any;
    s->waiting = false;
    if (!outcome
             ->feasible) { /* infeasible points are all alike: it wanders until one is feasible */
        if (!s->accepted_any)
            memcpy(s->levels, levels, sizeof *levels * (size_t)s->space->dim_count);
        return ITG_OK;
    }
    if (outcome->quality < s->floor) return ITG_OK;
    if (first && outcome->cost > 0) s->widest_cost = outcome->cost;
    double energy = energy_of(s, outcome);
    if (s->accepted_any && !s->at_start && energy > s->most_energy) return ITG_OK;
    s->accepted_any = true;
    s->energy = energy;
    memcpy(s->levels, levels, sizeof *levels * (size_t)s->space->dim_count);
    return ITG_OK;
}

static void deinit(void *state)
{
    anneal_state *s = state;
    free(s->levels);
    free(s->movable);
}

const itg_searcher_def itg_searcher_anneal = {
    .name = "anneal",
    .help = "simulated annealing with HAGO's schedule: wants all of its 689 trials, or a start",
    .parameters = parameters,
    .state_size = sizeof(anneal_state),
    .outstanding = 1,
    .default_trials = 0,
    .takes_start = true,
    .init = init,
    .ask = ask,
    .tell = tell,
    .deinit = deinit};
