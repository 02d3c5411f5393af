/* Greedy's fifth stage: single moves and exchanges about the current point. */
#include "search/greedy_state.h"
#include <math.h>

#define WORTH_WAITING 0.001 /* a smaller gain does not renew the patience */
#define DOUBT 2.0           /* how far beyond the cap unknown terms may reach */
#define SHARP 5.0           /* if this many deviations fit the allowed loss, luck is no danger: */
#define SHARP_DOUBT 4.0     /* all points up to this far beyond the cap are tried */

/* Sets the allowed loss, and how far beyond it points are tried once all others have been. */
static itg_status set_caps(const itg_greedy_state *s, itg_greedy_moves *moves)
{
    double may_lose = s->start_outcome.quality - s->options.quality_floor, unexplained = 0;
    moves->doubt_all = true;
    if (!s->fine || s->options.maximize_quality) {
        moves->loss_cap = s->options.maximize_quality ? INFINITY : may_lose;
        moves->doubt = s->fine ? DOUBT : INFINITY;
        return ITG_OK;
    }
    itg_status status = itg_history_distortion_cap(
        &s->history, s->options.quality_floor, s->hopeless,
        itg_greedy_parameter(s, ITG_GREEDY_MARGIN), &moves->loss_cap, &unexplained);
    if (moves->loss_cap < s->trusted) moves->loss_cap = s->trusted;
    moves->doubt_all = unexplained * SHARP < may_lose;
    moves->doubt = moves->doubt_all ? SHARP_DOUBT : DOUBT;
    return status;
}

/* Leaves a current point that lies beyond the cap (it was lucky) for the best one that does not. */
static void leave_lucky(itg_greedy_state *s, double cap)
{
    if (!(itg_greedy_loss(s, &s->current_outcome) > cap)) return;
    itg_greedy_move_to(s, s->start, &s->start_outcome);
    for (int64_t i = 0; i < s->history.count; i++) {
        const itg_outcome *o = itg_history_at(&s->history, i);
        if (itg_greedy_is_good_enough(s, o) && o->distortion >= 0 && itg_greedy_loss(s, o) <= cap &&
            itg_greedy_is_better(s, o, &s->current_outcome))
            itg_greedy_move_to(s, itg_point_map_point(&s->history, i), o);
    }
}

static void end_improve(itg_greedy_state *s)
{
    bool steps = s->descended && !s->options.maximize_quality;
    s->stage = steps ? ITG_GREEDY_STEPS : ITG_GREEDY_METHODS;
    s->stepped = s->descended = false;
    itg_greedy_begin_steps(s);
}

itg_status itg_greedy_plan_improve(itg_greedy_state *s)
{
    itg_greedy_moves moves = itg_greedy_moves_of(s);
    itg_guess out[ITG_GREEDY_BATCH];
    itg_status status = set_caps(s, &moves);
    if (status != ITG_OK) return status;
    s->sharp = moves.doubt_all;
    if (!s->sharp) leave_lucky(s, moves.loss_cap);
    itg_guess current = {s->current, itg_greedy_loss(s, &s->current_outcome),
                         itg_greedy_cost_ratio(s, &s->current_outcome)};
    for (int32_t i = 0; i < ITG_GREEDY_BATCH; i++)
        out[i] = s->batch[i].guess;
    itg_guess start = {s->start, itg_greedy_loss(s, &s->start_outcome),
                       itg_greedy_cost_ratio(s, &s->start_outcome)};
    moves.start = &start;
    moves.probed = s->sharp && !s->options.maximize_quality ? &s->probed : NULL;
    double patience = itg_greedy_parameter(s, ITG_GREEDY_PATIENCE) +
                      itg_greedy_parameter(s, ITG_GREEDY_PATIENCE_PER_WIDTH) * s->movable_count;
    int32_t count = 0;
    if ((double)s->stalled < patience)
        count = itg_greedy_propose(&moves, &current, out, &s->scratch);
    for (int32_t i = 0; i < ITG_GREEDY_BATCH; i++)
        s->batch[i].guess = out[i]; /* the same arrays in another order */
    s->batch_count = count < itg_greedy_room(s) ? count : itg_greedy_room(s);
    if (count == 0)
        end_improve(s);
    else
        itg_greedy_add_current(s);
    return ITG_OK;
}

void itg_greedy_absorb_improve(itg_greedy_state *s)
{
    itg_greedy_take_share(s);
    for (int32_t i = 0; i < s->batch_count; i++)
        itg_greedy_learn(s, s->current, &s->current_outcome, &s->batch[i]);
    s->stalled += s->batch_count;
    s->waiting = s->batch_count;
    s->stage = ITG_GREEDY_CONFIRM;
}

/* ---- the best of what was told becomes the current point ---- */

static bool is_good(const itg_greedy_state *s, const itg_greedy_asked *a)
{
    return itg_greedy_is_good_enough(s, &a->outcome) && !itg_greedy_is_hopeless(s, &a->outcome);
}

/* Whether all samples are worth asking about a point. */
static bool may_be_good(const itg_greedy_state *s, const itg_greedy_asked *a,
                        const itg_greedy_moves *moves)
{
    return a->outcome.feasible && itg_greedy_loss(s, &a->outcome) <=
                                      moves->loss_cap * (moves->doubt_all ? moves->doubt : 1);
}

/* The best of those that wait, if it is better than the current point; -1: none is. */
static int32_t best_waiting(const itg_greedy_state *s, const itg_greedy_moves *moves)
{
    const itg_outcome *than = &s->current_outcome;
    int32_t best = -1;
    for (int32_t i = 0; i < s->waiting; i++) {
        const itg_greedy_asked *a = &s->batch[i];
        const bool good = itg_greedy_shares(s) ? may_be_good(s, a, moves) : is_good(s, a);
        if (!good || !itg_greedy_is_better(s, &a->outcome, than)) continue;
        than = &a->outcome;
        best = i;
    }
    return best;
}

static void take_best(itg_greedy_state *s, const itg_greedy_asked *best)
{
    double gain = s->options.maximize_quality ? 1
                                              : itg_greedy_cost_ratio(s, &s->current_outcome) -
                                                    itg_greedy_cost_ratio(s, &best->outcome);
    if (gain >= WORTH_WAITING) s->stalled = 0;
    itg_greedy_move_to(s, best->guess.levels, &best->outcome);
    if (itg_greedy_shares(s)) s->by_share = best->by_share;
    s->improved = s->descended = true;
    s->stage = ITG_GREEDY_IMPROVE;
}

static void swap(itg_greedy_state *s, int32_t a, int32_t b)
{
    const itg_greedy_asked kept = s->batch[a];
    s->batch[a] = s->batch[b];
    s->batch[b] = kept;
}

itg_status itg_greedy_plan_confirm(itg_greedy_state *s)
{
    itg_greedy_moves moves = itg_greedy_moves_of(s);
    itg_status status = itg_greedy_shares(s) ? set_caps(s, &moves) : ITG_OK;
    if (status != ITG_OK) return status;
    const int32_t best = best_waiting(s, &moves);
    s->stage = ITG_GREEDY_IMPROVE;
    if (best < 0) return ITG_OK;
    if (!itg_greedy_shares(s)) {
        take_best(s, &s->batch[best]);
        return ITG_OK;
    }
    s->stage = ITG_GREEDY_CONFIRM;
    swap(s, 0, best);
    s->batch_count = 1;
    return ITG_OK;
}

void itg_greedy_absorb_confirm(itg_greedy_state *s)
{
    const itg_greedy_asked *a = &s->batch[0];
    itg_greedy_learn(s, s->current, &s->current_outcome, a);
    if (is_good(s, a) && itg_greedy_is_better(s, &a->outcome, &s->current_outcome))
        take_best(s, a);
    else
        swap(s, 0, --s->waiting);
}
