/* Random search draws every dimension uniformly. Its first point has every width at its largest;
 * its second is the start, if one is given. It is the baseline that any searcher must beat
 * (Bergstra, Bengio 2012). It learns nothing from outcomes, so it needs no exact quality. */
#include "search/points.h"
#include <math.h>
#include <string.h>

typedef struct random_state {
    const itg_search_space *space;
    const int32_t *start; /* still to be asked; NULL: none, or it was */
    int64_t left;
    bool started;
} random_state;

static itg_status init(void *state, const itg_search_space *space,
                       const itg_searcher_options *options, itg_error *err)
{
    random_state *s = state;
    (void)err;
    s->space = space;
    s->left = options->trials;
    s->start = options->start;
    return ITG_OK;
}

static itg_status ask(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    random_state *s = state;
    if (s->left <= 0) return ITG_END;
    s->left--;
    interest->floor = INFINITY;
    if (!s->started) {
        s->started = true;
        itg_point_widest(s->space, levels);
        return ITG_OK;
    }
    if (s->start) {
        memcpy(levels, s->start, sizeof *levels * (size_t)s->space->dim_count);
        s->start = NULL;
        return ITG_OK;
    }
    for (int32_t d = 0; d < s->space->dim_count; d++)
        levels[d] = (int32_t)itg_rng_below(rng, (uint64_t)s->space->dims[d].count);
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
    (void)state;
}

const itg_searcher_def itg_searcher_random = {
    .name = "random",
    .help = "each width and method drawn uniformly: a baseline, of "
            "use where a few points are all there are",
    .state_size = sizeof(random_state),
    .outstanding = 16,
    .default_trials = 100,
    .takes_start = true,
    .init = init,
    .ask = ask,
    .tell = tell,
    .deinit = deinit};
