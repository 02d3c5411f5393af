/* Widths as a multiple-choice knapsack. What each width alone loses of the outputs (distortion, as
 * greedy ranks by) and saves of the cost is measured, a sum of such terms (additive.h) is taken for
 * what any choice of widths loses and saves, and the knapsack of these terms (knapsack.h) is solved
 * exactly. What it proposes is asked for; the terms learn from the answers, and it is solved again:
 *  1. start (start.h).
 *  2. probes: each width alone at `levels` of its levels, from the narrowest up. Terms not probed
 *     follow the nearest one.
 *  3. the solution's front in equal steps of cost, once: where quality falls below the floor is not
 *     known yet.
 *  4. of the solution, the choices on both sides of what may be lost: the distortion at which
 *     quality meets the floor (history.h). It ends where nothing new is proposed, or after
 *     `patience` answers without a better point.
 * Under limits (bytes, BOPs, cycles, RAM, flash) that the start exceeds, what each of them is used
 * by is one more sum of terms, and the choice keeps them all: choices.h instead of knapsack.h, for
 * several bounds of what may be lost; maximizing quality, for limits that are a little closer, as
 * the terms of a peak of memory are no sum. allocate_solve.c has the proposals.
 * Quantization for neural networks as an integer program: Hubara et al. 2021, Accurate Post
 * Training Quantization With Small Calibration Sets (AdaQuant), section 3.4. */
#include "search/allocate_state.h"
#include "search/points.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const itg_searcher_parameter parameters[] = {
    [ITG_ALLOCATE_LEVELS] = {"levels", 3, 1, 64, true,
                             "levels of each width that are measured alone"},
    [ITG_ALLOCATE_PATIENCE] = {"patience", 32, 0, 1e9, true,
                               "answers without an improvement that end it"},
    [ITG_ALLOCATE_MARGIN] = {"margin", 1.5, 0, 100, false,
                             "standard deviations of quality to keep above the floor"},
    {0}};

/* Plans probes of `levels` levels below the start's, evenly spaced; the narrowest is one of them.
 */
static void plan_probes(itg_allocate_state *s)
{
    while (s->batch_count < ITG_ALLOCATE_BATCH && s->probe_dim < s->space->dim_count) {
        int32_t d = s->probe_dim, from = s->beginning.best[d];
        int32_t most = (int32_t)s->options.parameters[ITG_ALLOCATE_LEVELS],
                count = from < most ? from : most;
        if (itg_allocate_moves(s, d) && s->probe < count) {
            itg_allocate_add_point(s)[d] = from * s->probe / count;
            s->probe++;
        } else {
            s->probe_dim++;
            s->probe = 0;
        }
    }
    if (s->batch_count == 0) s->stage = ITG_ALLOCATE_FRONT;
}

/* ---- the table ---- */

static itg_status plan(itg_allocate_state *s)
{
    itg_status status = ITG_OK;
    s->batch_count = s->asked = s->told = 0;
    while (status == ITG_OK && s->batch_count == 0 && s->stage != ITG_ALLOCATE_END) {
        if (s->stage == ITG_ALLOCATE_START)
            status = itg_allocate_plan_start(s);
        else if (s->stage == ITG_ALLOCATE_PROBES)
            plan_probes(s);
        else
            status = itg_allocate_propose(s);
    }
    return status;
}

static itg_status init(void *state, const itg_search_space *space,
                       const itg_searcher_options *options, itg_error *err)
{
    return itg_allocate_init(state, space, options, err);
}

static itg_status ask(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    itg_allocate_state *s = state;
    (void)rng;
    (void)interest;
    if (s->asked == s->batch_count) {
        if (s->told < s->asked) return ITG_WAIT;
        itg_status status = plan(s);
        if (status != ITG_OK) return status;
        if (s->batch_count == 0) return ITG_END;
    }
    itg_allocate_next(s, levels);
    return ITG_OK;
}

static itg_status tell(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    (void)levels;
    return itg_allocate_tell(state, outcome, true);
}

static void deinit(void *state)
{
    itg_allocate_deinit(state);
}

const itg_searcher_def itg_searcher_allocate = {
    .name = "allocate",
    .help = "each width measured alone, then a multiple-choice knapsack, corrected by its answers",
    .parameters = parameters,
    .state_size = sizeof(itg_allocate_state),
    .outstanding = ITG_ALLOCATE_BATCH,
    .default_trials = 0,
    .wants_conflicts = true,
    .takes_start = true,
    .init = init,
    .ask = ask,
    .tell = tell,
    .deinit = deinit,
    .forecast = itg_allocate_forecast};
