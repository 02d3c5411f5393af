/* The calling program's searcher as one of the library's. Its levels are checked; it never sees
 * more points untold than it wants. */
#include "search/searcher.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_OUTSTANDING = 64 };

typedef struct user_state {
    const itg_user_searcher *user;
    const itg_search_space *space;
    itg_user_dim *dims;
    int32_t untold;
} user_state;

static itg_status check(const itg_user_searcher *user, itg_error *err)
{
    if (!user)
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "searcher user is one that a calling program brings "
                        "(itg_search_hooks.searcher), and there is none");
    itg_status status =
        itg_check_version("itg_user_searcher", user->version, ITG_USER_SEARCHER_VERSION, err);
    if (status == ITG_OK && (user->outstanding < 0 || user->outstanding > MOST_OUTSTANDING))
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "searcher user: %d points outstanding, expected 0 to %d",
                        (int)user->outstanding, MOST_OUTSTANDING);
    return status;
}

static itg_status init(void *state, const itg_search_space *space,
                       const itg_searcher_options *options, itg_error *err)
{
    user_state *s = state;
    itg_status status = check(options->user, err);
    if (status != ITG_OK) return status;
    s->user = options->user;
    s->space = space;
    s->dims = malloc(((size_t)space->dim_count + 1) * sizeof *s->dims);
    if (!s->dims) return itg_fail(err, ITG_NO_MEMORY, "no memory for searcher user");
    for (int32_t d = 0; d < space->dim_count; d++)
        s->dims[d] =
            (itg_user_dim){space->dims[d].count, space->dims[d].values, space->dims[d].ordered};
    const itg_user_space given = {.dim_count = space->dim_count,
                                  .dims = s->dims,
                                  .maximize_quality = options->maximize_quality,
                                  .quality_floor = options->quality_floor,
                                  .cost_limit = options->cost_limit,
                                  .trials = options->trials,
                                  .start = options->start};
    return s->user->begin ? s->user->begin(s->user->context, &given, err) : ITG_OK;
}

static bool are_levels(const itg_search_space *space, const int32_t *levels)
{
    for (int32_t d = 0; d < space->dim_count; d++)
        if (levels[d] < 0 || levels[d] >= space->dims[d].count) return false;
    return true;
}

static itg_status ask(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    user_state *s = state;
    const int32_t most = s->user->outstanding > 0 ? s->user->outstanding : 1;
    (void)rng;
    (void)interest;
    if (s->untold >= most) return ITG_WAIT;
    for (int32_t d = 0; d < s->space->dim_count; d++)
        levels[d] = -1;
    itg_status status = s->user->ask(s->user->context, levels);
    if (status == ITG_END || (status == ITG_WAIT && s->untold > 0)) return status;
    if (status != ITG_OK || !are_levels(s->space, levels)) return ITG_FAILURE;
    s->untold++;
    return ITG_OK;
}

static itg_status tell(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    user_state *s = state;
    itg_user_outcome told = {.feasible = outcome->feasible,
                             .quality = outcome->quality,
                             .cost = outcome->cost,
                             .violation = outcome->violation,
                             .distortion = outcome->distortion,
                             .objective_count = outcome->objective_count};
    memcpy(told.objectives, outcome->objectives, sizeof told.objectives);
    s->untold--;
    return s->user->tell(s->user->context, levels, &told) == ITG_OK ? ITG_OK : ITG_FAILURE;
}

static void deinit(void *state)
{
    user_state *s = state;
    free(s->dims);
}

const itg_searcher_def itg_searcher_user = {.name = "user",
                                            .help = "a searcher of the calling program",
                                            .state_size = sizeof(user_state),
                                            .outstanding = MOST_OUTSTANDING,
                                            .takes_start = true,
                                            .single_round = true,
                                            .init = init,
                                            .ask = ask,
                                            .tell = tell,
                                            .deinit = deinit};
