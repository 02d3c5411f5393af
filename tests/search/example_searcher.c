/* Halving: each width alone, from the widest point, by bisection to the lowest level that is still
 * good with the others as they are; in the order of the dimensions. */
#include "search/points.h"
#include <stdlib.h>
#include <string.h>

typedef struct halving_state {
    const itg_search_space *space;
    itg_searcher_options options;
    int32_t *levels;   /* the point accepted so far */
    int32_t dim;       /* that is being halved; dim_count: done */
    int32_t bad, good; /* its levels: the highest known bad one, -1: none; the lowest good one */
    bool waiting;
} halving_state;

static void begin(halving_state *s, int32_t dim)
{
    while (dim < s->space->dim_count && (!s->space->dims[dim].ordered || s->levels[dim] == 0))
        dim++;
    s->dim = dim;
    s->bad = -1;
    s->good = dim < s->space->dim_count ? s->levels[dim] : 0;
}

static itg_status init(void *state, const itg_search_space *space,
                       const itg_searcher_options *options, itg_error *err)
{
    halving_state *s = state;
    s->space = space;
    s->options = *options;
    s->levels = malloc(sizeof *s->levels * ((size_t)space->dim_count + 1));
    if (!s->levels) return itg_fail(err, ITG_NO_MEMORY, "no memory for halving");
    itg_point_widest(space, s->levels);
    begin(s, 0);
    return ITG_OK;
}

static itg_status ask(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    halving_state *s = state;
    (void)rng;
    if (s->waiting) return ITG_WAIT;
    if (s->dim == s->space->dim_count) return ITG_END;
    memcpy(levels, s->levels, sizeof *levels * (size_t)s->space->dim_count);
    levels[s->dim] = (s->bad + s->good) / 2;
    interest->floor = s->options.quality_floor; /* good or not: nothing else is looked at */
    s->waiting = true;
    return ITG_OK;
}

static itg_status tell(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    halving_state *s = state;
    int32_t asked = levels[s->dim];
    s->waiting = false;
    if (itg_outcome_is_good(outcome, &s->options))
        s->good = s->levels[s->dim] = asked;
    else
        s->bad = asked;
    if (s->good - s->bad == 1) begin(s, s->dim + 1);
    return ITG_OK;
}

static void deinit(void *state)
{
    halving_state *s = state;
    free(s->levels);
}

extern const itg_searcher_def itg_searcher_halving;
const itg_searcher_def itg_searcher_halving = {.name = "halving",
                                               .help = "each width by bisection",
                                               .state_size = sizeof(halving_state),
                                               .outstanding = 1,
                                               .default_trials = 0,
                                               .init = init,
                                               .ask = ask,
                                               .tell = tell,
                                               .deinit = deinit};
