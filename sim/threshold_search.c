/* Searches for a clip range. First both bounds shrink together: in steps of stride/128, then by
 * halves, and in eight times finer steps around the best. Then, if the bounds are
 * independent, each moves on its own, twice. With power-of-two steps these candidates share few
 * grids; the result is the grid's own range. At most about 480 evaluations. */
#include "sim/threshold.h"
#include <float.h>

enum { FRACTIONS = 128, FINE = 8, ROUNDS = 2, MOST = FRACTIONS + 2 * FINE + 3 };
#define SMALLEST (1.0 / 1024) /* three halves below 1 / FRACTIONS */
/* Errors this close count as equal: the wider range is kept. */
#define SAME (1.0 + 1.0 / 256.0)

typedef struct search {
    const itg_threshold_target *target;
    itg_threshold_cost cost;
    void *context;
    itg_range range;         /* the best so far */
    bool moves_lo, moves_hi; /* what a line search scales */
} search;

static itg_range scaled(const search *s, itg_range range, double fraction)
{
    if (s->moves_lo) range.lo *= fraction;
    if (s->moves_hi) range.hi *= fraction;
    return range;
}

static double cost_of(search *s, itg_range range, double enough)
{
    itg_grid grid = itg_grid_of(s->target, range);
    return s->cost(s->context, &grid, enough);
}

/* Scales `full` along the moving bounds, by every stride-th fraction; the other bound stays at the
 * best range's. */
static void search_line(search *s, itg_range full, int stride)
{
    double fractions[MOST], costs[MOST], least = 0, chosen = 0;
    int count = 0, best = 0;
    itg_range base = {s->moves_lo ? full.lo : s->range.lo, s->moves_hi ? full.hi : s->range.hi};
    for (int i = FRACTIONS; i >= 1; i -= stride)
        fractions[count++] = (double)i / FRACTIONS;
    for (double f = (double)stride / (2 * FRACTIONS); f >= SMALLEST; f /= 2)
        fractions[count++] = f;
    for (int i = 0; i < count; i++) {
        /* A cost above the best by more than SAME decides nothing and need not be exact. */
        costs[i] = cost_of(s, scaled(s, base, fractions[i]), i > 0 ? costs[best] * SAME : DBL_MAX);
        if (costs[i] < costs[best]) best = i;
    }
    const double centre = fractions[best];
    for (int i = -FINE + 1; i < FINE; i++) {
        const double fraction = centre + (double)(i * stride) / (FRACTIONS * FINE);
        if (i == 0 || fraction > 1.0 || fraction <= 0.0) continue;
        fractions[count] = fraction;
        costs[count] = cost_of(s, scaled(s, base, fraction), costs[best] * SAME);
        if (costs[count] < costs[best]) best = count;
        count++;
    }
    least = costs[best];
    for (int i = 0; i < count; i++)
        if (costs[i] <= least * SAME && fractions[i] > chosen) chosen = fractions[i];
    base = scaled(s, base, chosen);
    if (least <= cost_of(s, s->range, DBL_MAX)) s->range = base;
}

itg_range itg_threshold_search(const itg_threshold_target *target, itg_range full, int stride,
                               itg_threshold_cost cost, void *context)
{
    search s = {target, cost, context, full, true, true};
    search_line(&s, full, stride);
    const bool is_free = !target->symmetric && full.lo < 0 && full.hi > 0;
    for (int round = 0; is_free && round < ROUNDS; round++) {
        s.moves_lo = false;
        s.moves_hi = true;
        search_line(&s, full, 2);
        s.moves_lo = true;
        s.moves_hi = false;
        search_line(&s, full, 2);
    }
    if (cost_of(&s, s.range, DBL_MAX) > cost_of(&s, full, DBL_MAX)) s.range = full;
    if (!target->power_of_two) return s.range;
    itg_grid grid = itg_grid_of(target, s.range);
    itg_range covered = itg_grid_range(target, &grid);
    return grid.step > 0
               ? (itg_range){full.lo < 0 ? covered.lo : 0.0, full.hi > 0 ? covered.hi : 0.0}
               : full;
}
