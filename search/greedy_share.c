/* What a share of the samples says of points: enough to rank them, not to take one. */
#include "search/greedy_state.h"

/* Maximizing quality, points are taken by their distortion, which then is that of all samples. */
static double share_of(const itg_greedy_state *s)
{
    const bool ranks_alone = s->options.shares && s->fine && !s->options.maximize_quality;
    return ranks_alone ? itg_greedy_parameter(s, ITG_GREEDY_SHARE) : 1;
}

bool itg_greedy_shares(const itg_greedy_state *s)
{
    return share_of(s) < 1;
}

double itg_greedy_asked_share(const itg_greedy_state *s)
{
    const bool ranks = s->stage == ITG_GREEDY_PROBES || s->stage == ITG_GREEDY_IMPROVE ||
                       (s->stage == ITG_GREEDY_STEPS && !s->sure && s->allowed_count == 0);
    return ranks ? share_of(s) : 1;
}

int32_t itg_greedy_room(const itg_greedy_state *s)
{
    return itg_greedy_shares(s) && !(s->by_share > 0) ? ITG_GREEDY_BATCH - 1 : ITG_GREEDY_BATCH;
}

void itg_greedy_add_current(itg_greedy_state *s)
{
    s->has_current = itg_greedy_room(s) < ITG_GREEDY_BATCH;
    if (s->has_current) (void)itg_greedy_add_point(s, s->current, -1);
}

void itg_greedy_take_share(itg_greedy_state *s)
{
    if (!itg_greedy_shares(s)) return;
    if (s->has_current) {
        s->asked = s->told = --s->batch_count;
        s->by_share = s->batch[s->batch_count].outcome.distortion;
        s->has_current = false;
    }
    const double whole = s->current_outcome.distortion;
    const double factor = s->by_share > 0 && whole > 0 ? whole / s->by_share : 1;
    for (int32_t i = 0; i < s->batch_count; i++) {
        itg_greedy_asked *a = &s->batch[i];
        a->by_share = a->outcome.distortion;
        if (a->by_share > 0) a->outcome.distortion *= factor;
    }
}
