/* How greedy judges outcomes and learns from them. */
#include "search/greedy_state.h"
#include "search/points.h"
#include <math.h>
#include <string.h>

#define OVER_LIMIT 8.0 /* the weight of exceeding another limit, in shares of the widest cost */

double itg_greedy_parameter(const itg_greedy_state *s, int index)
{
    return s->options.parameters[index];
}

bool itg_greedy_is_hopeless(const itg_greedy_state *s, const itg_outcome *o)
{
    return o->quality < s->hopeless;
}

double itg_greedy_loss(const itg_greedy_state *s, const itg_outcome *o)
{
    if (!o->feasible || (s->fine && o->distortion < 0)) return INFINITY;
    return s->fine ? o->distortion : s->start_outcome.quality - o->quality;
}

double itg_greedy_cost_ratio(const itg_greedy_state *s, const itg_outcome *o)
{
    if (s->options.maximize_quality)
        return o->violation > 0 ? s->options.cost_limit + o->cost + o->violation : o->cost;
    double widest = s->start_outcome.cost > 0 ? s->start_outcome.cost : 1;
    return o->cost / widest + OVER_LIMIT * o->violation;
}

bool itg_greedy_is_good_enough(const itg_greedy_state *s, const itg_outcome *o)
{
    if (!o->feasible || (s->fine && o->distortion < 0)) return false;
    return (s->options.maximize_quality ? itg_outcome_is_within(o, &s->options)
                                        : o->quality >= s->options.quality_floor);
}

bool itg_greedy_is_safe(const itg_greedy_state *s, const itg_outcome *o)
{
    double floor = s->options.quality_floor, most = s->start_outcome.quality;
    double slack = 0;
    if (most > floor && floor > -INFINITY)
        slack = itg_greedy_parameter(s, ITG_GREEDY_SLACK) * (most - floor);
    return itg_greedy_is_good_enough(s, o) && o->quality >= floor + slack;
}

bool itg_greedy_is_better(const itg_greedy_state *s, const itg_outcome *a, const itg_outcome *b)
{
    double la = itg_greedy_loss(s, a), lb = itg_greedy_loss(s, b), ba = itg_greedy_cost_ratio(s, a),
           bb = itg_greedy_cost_ratio(s, b);
    if (s->options.maximize_quality) return la != lb ? la < lb : ba < bb;
    return ba != bb ? ba < bb : la < lb;
}

void itg_greedy_learn(itg_greedy_state *s, const int32_t *from, const itg_outcome *before,
                      const itg_greedy_asked *a)
{
    const itg_outcome *o = &a->outcome;
    if (!o->feasible) {
        itg_additive_learn(&s->loss, from, a->guess.levels, INFINITY);
        return;
    }
    itg_additive_learn(&s->saved, from, a->guess.levels,
                       itg_greedy_cost_ratio(s, before) - itg_greedy_cost_ratio(s, o));
    double lost = itg_greedy_loss(s, o) - itg_greedy_loss(s, before);
    if (itg_greedy_is_hopeless(s, o)) {
        double least = s->fine ? 4 * before->distortion : before->quality - s->hopeless;
        if (!(itg_additive_change(&s->loss, from, a->guess.levels) < least)) return;
        lost = least;
    } else if (s->fine && o->distortion < 0) {
        return;
    }
    itg_additive_learn(&s->loss, from, a->guess.levels, lost);
}

void itg_greedy_keep(itg_greedy_state *s, const itg_greedy_asked *a)
{
    memcpy(s->kept, a->guess.levels, sizeof *s->kept * (size_t)s->space->dim_count);
    s->kept_outcome = a->outcome;
    s->has_kept = true;
}

void itg_greedy_move_to(itg_greedy_state *s, const int32_t *levels, const itg_outcome *outcome)
{
    memcpy(s->current, levels, sizeof *levels * (size_t)s->space->dim_count);
    s->current_outcome = *outcome;
    s->by_share = 0;
    double loss = itg_greedy_loss(s, outcome);
    if (itg_greedy_is_safe(s, outcome) && loss > s->trusted) s->trusted = loss;
}

itg_greedy_asked *itg_greedy_add_point(itg_greedy_state *s, const int32_t *levels, int32_t index)
{
    itg_greedy_asked *a = &s->batch[s->batch_count++];
    memcpy(a->guess.levels, levels, sizeof *levels * (size_t)s->space->dim_count);
    a->index = index;
    return a;
}

itg_greedy_moves itg_greedy_moves_of(const itg_greedy_state *s)
{
    return (itg_greedy_moves){.space = s->space,
                              .movable = s->movable,
                              .top = s->top,
                              .loss = &s->loss,
                              .saved = &s->saved,
                              .history = &s->history,
                              .maximize_quality = s->options.maximize_quality,
                              .loss_cap = INFINITY,
                              .doubt = 1,
                              .cost_ratio_cap = s->options.cost_limit};
}
