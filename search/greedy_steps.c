/* Greedy's fourth stage lowers each width by one level, whatever its distortion: the cap of the
 * stage before suits the most sensitive widths, and others may bear more. */
#include "search/greedy_state.h"
#include <math.h>
#include <string.h>

#define TOO_MUCH 2.0 /* times the largest loss that is known to be safe */

/* Tries refused steps again, except the step that ended the path: with a noisy quality it would be
 * asked for until it gets lucky, as it saves much. */
void itg_greedy_begin_steps(itg_greedy_state *s)
{
    for (int32_t d = 0; d < s->space->dim_count; d++)
        s->refused[d] = d == s->path_end.dim && !s->sharp ? s->path_end.level : -1;
    s->sure = !itg_greedy_shares(s);
}

/* Finds the width whose next step down saves most per loss, among those that were neither refused
 * nor asked for in this batch; -1: none. */
static int32_t best_step(const itg_greedy_state *s, itg_guess *guess)
{
    double best = -1;
    int32_t dim = -1;
    for (int32_t d = 0; d < s->space->dim_count; d++) {
        int32_t now = s->current[d];
        if (!s->movable[d] || s->refused[d] >= now - 1 || now == 0) continue;
        double lost = itg_additive_step(&s->loss, d, now, now - 1);
        double saved = itg_additive_step(&s->saved, d, now, now - 1);
        bool asked = false;
        for (int32_t i = 0; i < s->batch_count; i++)
            asked |= s->batch[i].index == d;
        guess->levels[d] = now - 1;
        if (!asked && lost < INFINITY && !itg_history_tells(&s->history, guess->levels)) {
            double ratio =
                saved > 0 ? saved / (lost > ITG_GREEDY_SMALLEST ? lost : ITG_GREEDY_SMALLEST) : 0;
            if (ratio > best) {
                best = ratio;
                dim = d;
            }
        }
        guess->levels[d] = now;
    }
    return dim;
}

/* Whether the terms, which just learned of each step alone, expect that a point loses far more
 * than what is known to be safe. */
static bool loses_too_much(const itg_greedy_state *s, const itg_greedy_asked *a)
{
    const double loss = itg_greedy_loss(s, &s->current_outcome) +
                        itg_additive_change(&s->loss, s->current, a->guess.levels);
    return itg_greedy_shares(s) && loss > TOO_MUCH * s->trusted;
}

/* Adds the `count` best steps that are allowed, as one point. */
static void add_together(itg_greedy_state *s, int32_t count)
{
    itg_greedy_asked *a = itg_greedy_add_point(s, s->current, 0);
    for (int32_t k = 0; k < count; k++) {
        int32_t best = -1;
        for (int32_t d = 0; d < s->space->dim_count; d++)
            if (a->guess.levels[d] == s->current[d] && s->step_ratio[d] >= 0 &&
                (best < 0 || s->step_ratio[d] > s->step_ratio[best]))
                best = d;
        a->guess.levels[best]--;
        a->index = best;
    }
    const bool useless =
        itg_history_tells(&s->history, a->guess.levels) || (count > 1 && loses_too_much(s, a));
    if (useless) s->batch_count--;
}

/* Plans joint steps: all widths that may step, the better half of them, and so on. Where it is not
 * sure that they may, one after the other, down to the best step alone. */
static void plan_together(itg_greedy_state *s)
{
    for (int32_t count = s->allowed_count; s->sure && count > 1; count /= 2)
        add_together(s, count);
    while (!s->sure && s->allowed_count > 0 && s->batch_count == 0) {
        add_together(s, s->allowed_count);
        if (s->batch_count == 0) s->allowed_count /= 2;
    }
}

/* Continues from the kept point, if there is one. Nothing is known of its steps yet. */
static void step_to_kept(itg_greedy_state *s)
{
    if (!s->has_kept) return;
    itg_greedy_move_to(s, s->kept, &s->kept_outcome);
    s->stepped = s->improved = true;
    s->sure = !itg_greedy_shares(s);
    s->has_kept = false;
    s->allowed_count = 0;
}

void itg_greedy_plan_steps(itg_greedy_state *s)
{
    plan_together(s);
    if (s->batch_count > 0) return;
    step_to_kept(s);
    memcpy(s->scratch.levels, s->current, sizeof *s->current * (size_t)s->space->dim_count);
    while (s->batch_count < (s->sure ? ITG_GREEDY_BATCH : itg_greedy_room(s))) {
        int32_t d = best_step(s, &s->scratch);
        if (d < 0) break;
        itg_greedy_add_point(s, s->current, d)->guess.levels[d]--;
    }
    if (s->batch_count > 0) {
        if (!s->sure) itg_greedy_add_current(s);
        return;
    }
    s->stage = s->stepped ? ITG_GREEDY_IMPROVE : ITG_GREEDY_METHODS;
    s->stalled = 0;
}

/* Takes a set of steps if it is safe. Where not even the best step alone is, the others are asked
 * for by all samples. */
static void absorb_set(itg_greedy_state *s)
{
    const itg_greedy_asked *a = &s->batch[0];
    itg_greedy_learn(s, s->current, &s->current_outcome, a);
    if (itg_greedy_is_safe(s, &a->outcome) &&
        itg_greedy_is_better(s, &a->outcome, &s->current_outcome)) {
        itg_greedy_keep(s, a);
        step_to_kept(s);
        return;
    }
    s->sure = s->allowed_count == 1;
    if (s->sure) s->refused[a->index] = a->guess.levels[a->index];
    s->allowed_count /= 2;
}

/* Takes the largest set of steps that is safe together, or else the best single step. */
static void absorb_together(itg_greedy_state *s)
{
    for (int32_t i = 0; i < s->batch_count; i++) {
        const itg_greedy_asked *a = &s->batch[i];
        itg_greedy_learn(s, s->current, &s->current_outcome, a);
        if (itg_greedy_is_safe(s, &a->outcome) &&
            itg_greedy_is_better(s, &a->outcome, &s->kept_outcome))
            itg_greedy_keep(s, a);
    }
    step_to_kept(s);
}

void itg_greedy_absorb_steps(itg_greedy_state *s)
{
    double best = -1, cost_ratio = itg_greedy_cost_ratio(s, &s->current_outcome),
           loss = itg_greedy_loss(s, &s->current_outcome);
    if (!s->sure && s->allowed_count > 0) {
        absorb_set(s);
        return;
    }
    if (s->allowed_count > 1) {
        absorb_together(s);
        return;
    }
    if (!s->sure) itg_greedy_take_share(s);
    for (int32_t d = 0; d < s->space->dim_count; d++)
        s->step_ratio[d] = -1;
    for (int32_t i = 0; i < s->batch_count; i++) {
        const itg_greedy_asked *a = &s->batch[i];
        double lost = itg_greedy_loss(s, &a->outcome) - loss;
        double saved = cost_ratio - itg_greedy_cost_ratio(s, &a->outcome);
        itg_greedy_learn(s, s->current, &s->current_outcome, a);
        const bool may_be_safe = s->sure ? itg_greedy_is_safe(s, &a->outcome) : a->outcome.feasible;
        if (!may_be_safe || !(saved > 0)) {
            s->refused[a->index] = a->guess.levels[a->index];
            continue;
        }
        double ratio = saved / (lost > ITG_GREEDY_SMALLEST ? lost : ITG_GREEDY_SMALLEST);
        s->step_ratio[a->index] = ratio;
        s->allowed_count++;
        if (ratio <= best || !s->sure) continue;
        best = ratio;
        itg_greedy_keep(s, a);
    }
}
