/* Greedy's fifth stage: each width one level down, whatever its distortion. The stage before may
 * not go beyond a distortion that some widths cannot bear, although others can. */
#include "search/greedy_state.h"
#include <math.h>
#include <string.h>

/* The width whose next step down saves most per loss, of those that were not refused and not asked
 * for in this batch; -1: none. */
static int32_t best_step(const itg_greedy_state *s, itg_guess *guess)
{
    double best = -1;
    int32_t dim = -1;
    for (int32_t d = 0; d < s->space->dim_count; d++) {
        int32_t now = s->current[d];
        if (!s->movable[d] || s->refused[d] || now == 0) continue;
        double lost = itg_additive_step(&s->loss, d, now, now - 1);
        double saved = itg_additive_step(&s->saved, d, now, now - 1);
        bool asked = false;
        for (int32_t i = 0; i < s->batch_count; i++)
            asked |= s->batch[i].index == d;
        guess->levels[d] = now - 1;
        if (!asked && lost < INFINITY && !itg_history_find(&s->history, guess->levels)) {
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

void itg_greedy_plan_steps(itg_greedy_state *s)
{
    memcpy(s->scratch.levels, s->current, sizeof *s->current * (size_t)s->space->dim_count);
    while (s->batch_count < ITG_GREEDY_BATCH) {
        int32_t d = best_step(s, &s->scratch);
        if (d < 0) break;
        itg_greedy_add_point(s, s->current, d)->guess.levels[d]--;
    }
    if (s->batch_count > 0) return;
    s->stage = s->stepped ? ITG_GREEDY_IMPROVE : ITG_GREEDY_METHODS;
    s->fruitless = 0;
}

/* The best of those that are safe is taken; the others' ratios are known better now. */
void itg_greedy_absorb_steps(itg_greedy_state *s)
{
    const itg_greedy_asked *best = NULL;
    double best_ratio = -1, burden = itg_greedy_burden(s, &s->current_outcome),
           loss = itg_greedy_loss(s, &s->current_outcome);
    for (int32_t i = 0; i < s->batch_count; i++) {
        const itg_greedy_asked *a = &s->batch[i];
        double lost = itg_greedy_loss(s, &a->outcome) - loss;
        double saved = burden - itg_greedy_burden(s, &a->outcome);
        double ratio = saved / (lost > ITG_GREEDY_SMALLEST ? lost : ITG_GREEDY_SMALLEST);
        itg_greedy_learn(s, s->current, &s->current_outcome, a);
        s->refused[a->index] = !itg_greedy_is_safe(s, &a->outcome) || !(saved > 0);
        if (s->refused[a->index] || ratio <= best_ratio) continue;
        best = a;
        best_ratio = ratio;
    }
    if (!best) return;
    itg_greedy_move_to(s, best->guess.levels, &best->outcome);
    s->stepped = s->improved = true;
}
