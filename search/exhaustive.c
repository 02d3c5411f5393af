/* Enumerates all points of a small space, beginning at the widest, in the order of an odometer
 * whose last dimension runs fastest. Tests use it as the oracle of the other searchers. It learns
 * nothing from outcomes, so it needs no exact quality. */
#include "search/points.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const itg_searcher_parameter parameters[] = {
    {"points", 1e6, 1, 1e9, true, "the most points that a space may have"}, {0}};

typedef struct exhaustive_state {
    const itg_search_space *space;
    int32_t *steps; /* per dimension: levels away from where the widest point has it */
    bool ended;
} exhaustive_state;

static itg_status init(void *state, const itg_search_space *space,
                       const itg_searcher_options *options, itg_error *err)
{
    exhaustive_state *s = state;
    int64_t points = 1, most = (int64_t)options->parameters[0];
    for (int32_t d = 0; d < space->dim_count; d++) {
        points *= space->dims[d].count; /* below 1e9 * 2^31 */
        if (points > most)
            return itg_fail(
                err, ITG_LIMIT,
                "exhaustive takes spaces of at most %lld points, but the first %d of %d "
                "dimensions have %lld already; narrow the widths or take another "
                "searcher",
                (long long)most, d + 1, space->dim_count, (long long)points);
    }
    s->space = space;
    s->steps = calloc((size_t)space->dim_count + 1, sizeof *s->steps);
    return s->steps ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for exhaustive");
}

static void advance(exhaustive_state *s)
{
    int32_t d = s->space->dim_count - 1;
    while (d >= 0 && s->steps[d] == s->space->dims[d].count - 1)
        s->steps[d--] = 0;
    if (d >= 0)
        s->steps[d]++;
    else
        s->ended = true;
}

static itg_status ask(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    exhaustive_state *s = state;
    (void)rng;
    if (s->ended) return ITG_END;
    for (int32_t d = 0; d < s->space->dim_count; d++) {
        const itg_dim *dim = &s->space->dims[d];
        levels[d] = dim->ordered ? dim->count - 1 - s->steps[d] : s->steps[d];
    }
    interest->floor = INFINITY;
    advance(s);
    return ITG_OK;
}

static itg_status tell(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    (void)state;
    (void)levels;
    (void)outcome;
    return ITG_OK;
}

static void deinit(void *state)
{
    exhaustive_state *s = state;
    free(s->steps);
}

const itg_searcher_def itg_searcher_exhaustive = {.name = "exhaustive",
                                                  .help = "every point of a small space",
                                                  .parameters = parameters,
                                                  .state_size = sizeof(exhaustive_state),
                                                  .outstanding = 16,
                                                  .default_trials = 0,
                                                  .init = init,
                                                  .ask = ask,
                                                  .tell = tell,
                                                  .deinit = deinit};
