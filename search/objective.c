/* What the search wants: the fewest weight bytes above a floor of quality. */
#include "search/engine.h"

double itg_trial_quality(const itg_trial *trial)
{
    return trial->score.top1 >= 0 ? trial->score.top1 : trial->score.agreement;
}

static bool meets(const itg_trial *t, double floor)
{
    return t->index >= 0 && t->feasible && itg_trial_quality(t) >= floor;
}

static int64_t total_bits(const itg_trial *t)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < t->group_count; i++)
        sum += t->bits[i];
    return sum;
}

bool itg_trial_is_better(const itg_trial *a, const itg_trial *b, double quality_floor)
{
    if (!meets(a, quality_floor)) return false;
    if (!meets(b, quality_floor)) return true;
    if (a->score.weight_bytes != b->score.weight_bytes)
        return a->score.weight_bytes < b->score.weight_bytes;
    double qa = itg_trial_quality(a), qb = itg_trial_quality(b);
    if (qa != qb) return qa > qb;
    int64_t ta = total_bits(a), tb = total_bits(b);
    return ta != tb ? ta < tb : a->index < b->index;
}
