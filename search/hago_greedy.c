/* HAGO's greedy pass (TVM, python/tvm/relay/hago/search.py): from the largest widths, group by
 * group, one bit down until quality falls below the floor, then one back up and on to the next
 * group. Where quality is maximized, it ends as soon as the limits are met. Departures: groups that
 * save most per bit come first, and the next two levels of a group are asked together (lookahead),
 * so that two candidates run side by side; a level below a refused one is told and ignored. Where
 * the largest widths cannot be run, or are not good enough, it begins elsewhere (start.h), and
 * widths that follow from others are no groups of their own. Threshold methods stay as they are.
 * Racing floor: the quality floor, for below it a point is refused, however far; without one
 * nothing is refused for its quality. */
#include "search/start.h"
#include "search/points.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_AHEAD 8
static const itg_searcher_parameter parameters[] = {
    {"lookahead", 2, 1, MOST_AHEAD, true, "levels of a group that are tried side by side"}, {0}};

typedef struct greedy_state {
    const itg_search_space *space;
    itg_searcher_options options;
    itg_start beginning;
    int32_t *levels; /* the point accepted so far */
    int32_t *order;  /* the widths, in the order in which they are lowered */
    int32_t order_count;
    int32_t position;    /* in order; -1: the starting point is still to be asked */
    int32_t asked, told; /* levels below the accepted one, of the current dimension */
    bool closed;         /* outstanding points are told before more is asked */
    bool refused;        /* a told level was refused: the rest is ignored */
    bool met;            /* maximizing quality: the limits are met, the rest is ignored */
} greedy_state;

/* Sorts the dimensions by their saving per level, the largest first; ties by index. The order is
 * part of the result, so the sort (insertion sort) is stable. */
static void sort_dimensions(greedy_state *s)
{
    const itg_dim *dims = s->space->dims;
    for (int32_t i = 0; i < s->space->dim_count; i++) {
        if (!dims[i].ordered || itg_start_follows(&s->beginning, i)) continue;
        int32_t at = s->order_count++;
        while (at > 0 && dims[s->order[at - 1]].cost_per_level < dims[i].cost_per_level) {
            s->order[at] = s->order[at - 1];
            at--;
        }
        s->order[at] = i;
    }
}

static itg_status init(void *state, const itg_search_space *space,
                       const itg_searcher_options *options, itg_error *err)
{
    greedy_state *s = state;
    s->space = space;
    s->options = *options;
    s->position = -1;
    s->levels = malloc(sizeof *s->levels * (size_t)(space->dim_count + 1));
    s->order = malloc(sizeof *s->order * (size_t)(space->dim_count + 1));
    if (!s->levels || !s->order) return itg_fail(err, ITG_NO_MEMORY, "no memory for hago-greedy");
    return itg_start_init(&s->beginning, space, options, err);
}

/* Begins at the point that was found; false: there is none. */
static bool begin(greedy_state *s)
{
    if (!s->beginning.found) return false;
    memcpy(s->levels, s->beginning.best, sizeof *s->levels * (size_t)s->space->dim_count);
    sort_dimensions(s);
    s->position = 0;
    s->asked = s->told = 0;
    return true;
}

/* The dimension that is being lowered; -1: all are done. Skips dimensions that cannot go lower or
 * were refused. */
static int32_t current(greedy_state *s)
{
    while (s->position < s->order_count) {
        int32_t d = s->order[s->position];
        bool idle = s->asked == s->told;
        if (idle && s->refused) {
            s->refused = false;
        } else if (!(idle && s->levels[d] == 0)) {
            return d;
        }
        s->position++;
        s->asked = s->told = 0;
    }
    return -1;
}

static bool meets_limits(const greedy_state *s, const itg_outcome *outcome)
{
    return s->options.maximize_quality && outcome->feasible &&
           itg_outcome_is_within(outcome, &s->options);
}

static itg_status next_point(greedy_state *s, int32_t *levels, itg_interest *interest)
{
    size_t bytes = sizeof *levels * (size_t)s->space->dim_count;
    if (s->position < 0) {
        if (s->asked > s->told) return ITG_WAIT;
        if (itg_start_ask(&s->beginning) == ITG_OK) {
            memcpy(levels, s->beginning.levels, bytes);
            s->asked++;
            return ITG_OK;
        }
        if (!begin(s)) return ITG_END;
        s->met = meets_limits(s, &s->beginning.outcome);
    }
    memcpy(levels, s->levels, bytes);
    /* Without a floor nothing is refused. */
    interest->floor = s->options.quality_floor > -INFINITY ? s->options.quality_floor : INFINITY;
    if (s->met) return s->asked == s->told ? ITG_END : ITG_WAIT;
    int32_t d = current(s);
    if (d < 0) return ITG_END;
    int32_t ahead = s->asked - s->told;
    if (ahead == (int32_t)s->options.parameters[0] || s->refused || s->levels[d] - ahead <= 0)
        return ITG_WAIT;
    levels[d] = s->levels[d] - ahead - 1;
    itg_start_fit(&s->beginning, levels);
    s->asked++;
    return ITG_OK;
}

static itg_status ask(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    greedy_state *s = state;
    (void)rng;
    if (s->closed && s->asked > s->told) return ITG_WAIT;
    itg_status status = next_point(s, levels, interest);
    s->closed = status == ITG_WAIT;
    return status;
}

static itg_status tell(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    greedy_state *s = state;
    s->told++;
    if (s->position < 0) return itg_start_tell(&s->beginning, outcome);
    if (s->refused || s->met) return ITG_OK;
    if (outcome->feasible && outcome->quality >= s->options.quality_floor) {
        memcpy(s->levels, levels, sizeof *levels * (size_t)s->space->dim_count);
        s->met = meets_limits(s, outcome);
    } else {
        s->refused = true;
    }
    return ITG_OK;
}

static void deinit(void *state)
{
    greedy_state *s = state;
    itg_start_deinit(&s->beginning);
    free(s->levels);
    free(s->order);
}

const itg_searcher_def itg_searcher_hago_greedy = {
    .name = "hago-greedy",
    .help = "HAGO's pass: each group one bit down until quality falls below the floor",
    .parameters = parameters,
    .state_size = sizeof(greedy_state),
    .outstanding = MOST_AHEAD,
    .default_trials = 0,
    .wants_conflicts = true,
    .takes_start = true,
    .init = init,
    .ask = ask,
    .tell = tell,
    .deinit = deinit};
