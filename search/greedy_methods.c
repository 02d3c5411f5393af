/* Greedy's sixth stage: threshold methods, and other dtypes and specs for the same widths. */
#include "search/greedy_state.h"

#define METHOD_PASSES 2

/* The next method and value that differ from the current point; false: that were all. */
static bool next_method(itg_greedy_state *s)
{
    for (; s->method_dim < s->space->dim_count; s->method_dim++, s->method_level = 0) {
        const itg_dim *dim = &s->space->dims[s->method_dim];
        if (dim->ordered) continue;
        if (s->method_level == s->current[s->method_dim]) s->method_level++;
        if (s->method_level < dim->count) return true;
    }
    return false;
}

void itg_greedy_plan_methods(itg_greedy_state *s)
{
    bool first = s->method_dim == 0 && s->method_level == 0;
    if (first && (s->method_passes == METHOD_PASSES || (s->method_passes > 0 && !s->improved))) {
        s->stage = ITG_GREEDY_END;
        return;
    }
    while (s->batch_count < ITG_GREEDY_BATCH && next_method(s)) {
        itg_greedy_asked *a = itg_greedy_add_point(s, s->current, s->method_dim);
        a->guess.levels[s->method_dim] = s->method_level++;
    }
    if (s->batch_count == 0) s->stage = ITG_GREEDY_COMBINE;
}

/* Whether an outcome is better at no higher cost ratio, or as good at a lower one; or, if the
 * current point is not good enough, is good enough. */
static bool is_better_method(const itg_greedy_state *s, const itg_outcome *o,
                             const itg_outcome *than)
{
    if (!itg_greedy_is_good_enough(s, o)) return false;
    if (!itg_greedy_is_good_enough(s, than)) return true;
    const double cost = itg_greedy_cost_ratio(s, o), cost_of_than = itg_greedy_cost_ratio(s, than),
                 loss = itg_greedy_loss(s, o), loss_of_than = itg_greedy_loss(s, than);
    return cost <= cost_of_than && loss <= loss_of_than &&
           (cost < cost_of_than || loss < loss_of_than);
}

void itg_greedy_absorb_methods(itg_greedy_state *s)
{
    for (int32_t i = 0; i < s->batch_count; i++) {
        const itg_greedy_asked *a = &s->batch[i];
        itg_greedy_learn(s, s->current, &s->current_outcome, a);
        if (is_better_method(s, &a->outcome, s->has_kept ? &s->kept_outcome : &s->current_outcome))
            itg_greedy_keep(s, a);
    }
}

/* The value of a method that is expected to lose least. */
static int32_t best_value(const itg_greedy_state *s, int32_t d)
{
    int32_t best = s->current[d];
    for (int32_t l = 0; l < s->space->dims[d].count && !s->space->dims[d].ordered; l++)
        if (itg_additive_step(&s->loss, d, best, l) < 0) best = l;
    return best;
}

static double gain(const itg_greedy_state *s, int32_t d)
{
    return -itg_additive_step(&s->loss, d, s->current[d], best_value(s, d));
}

/* Plans combinations: all changes that gain, the better half of them, and so on. */
static void plan_combinations(itg_greedy_state *s)
{
    int32_t gaining = 0, *left = s->scratch.levels; /* 1: not in the combination yet */
    for (int32_t d = 0; d < s->space->dim_count; d++)
        gaining += left[d] = gain(s, d) > 0;
    for (int32_t i = 0; i < ITG_GREEDY_BATCH && gaining > 1; i++, gaining /= 2) {
        itg_greedy_asked *a = itg_greedy_add_point(s, s->current, 0);
        for (int32_t d = 0; d < s->space->dim_count; d++)
            left[d] = gain(s, d) > 0;
        for (int32_t k = 0; k < gaining; k++) {
            int32_t most = -1;
            for (int32_t d = 0; d < s->space->dim_count; d++)
                if (left[d] && (most < 0 || gain(s, d) > gain(s, most))) most = d;
            a->guess.levels[most] = best_value(s, most);
            left[most] = 0;
        }
    }
}

static void end_methods(itg_greedy_state *s)
{
    bool was_good = itg_greedy_is_good_enough(s, &s->current_outcome);
    s->stage = !s->has_kept ? ITG_GREEDY_END : was_good ? ITG_GREEDY_IMPROVE : ITG_GREEDY_PATH;
    if (s->has_kept) itg_greedy_move_to(s, s->kept, &s->kept_outcome);
    s->has_kept = s->improved = false;
    s->method_passes++;
    s->method_dim = s->method_level = 0;
    s->stalled = 0;
}

void itg_greedy_plan_combine(itg_greedy_state *s)
{
    plan_combinations(s);
    if (s->batch_count == 0) end_methods(s);
}

void itg_greedy_absorb_combine(itg_greedy_state *s)
{
    for (int32_t i = 0; i < s->batch_count; i++) {
        const itg_greedy_asked *a = &s->batch[i];
        if (is_better_method(s, &a->outcome, s->has_kept ? &s->kept_outcome : &s->current_outcome))
            itg_greedy_keep(s, a);
    }
    end_methods(s);
}
