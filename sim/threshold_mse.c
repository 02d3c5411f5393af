/* Expected squared quantization error over the histogram. The elements of a bin count as evenly
 * spread. Everything is in units of a bin's width. N(x), S(x), Q(x) are the count, sum and sum of
 * squares of the elements below x (each side of zero by magnitude, prefix sums at the bins' edges,
 * exact integrals within a bin). The elements between (k-1/2) step and (k+1/2) step round to k*step
 * and cost dQ - 2 k step dS + (k step)^2 dN. The last code also takes all elements above it: this
 * is the clipping. Exact zeros cost nothing, because zero is on every grid. If the full range's
 * step is already small against a bin, the histogram cannot distinguish cells: an element then
 * costs step^2/12, and the clipping is added. */
#include "sim/threshold.h"
#include "kernels/math.h"
#include <stdlib.h>

/* A grid whose steps are finer than this many bins counts as noise. This also bounds the work: 2^9
 * cells. */
#define NOISE_BINS 6.0

typedef struct moments {
    double count, sum, squares;
} moments;

typedef struct side {
    double top;     /* where the last bin in use ends, or the range within it */
    int32_t last;   /* the last bin in use */
    int32_t filled; /* bins in use */
    bool is_empty;
    const int64_t *bins;
    moments below[ITG_HISTOGRAM_BINS + 1]; /* [i]: of the elements in bins 0..i-1 */
} side;

typedef struct histogram_cost {
    double bins_per_unit;
    bool is_noise;
    side negative, positive;
} histogram_cost;

/* Returns the moments of the elements of bin i below i + length, spread over `width`. */
static moments part_of_bin(int32_t i, double elements, double length, double width)
{
    const double a = (double)i, count = width > 0 ? elements * (length / width) : elements;
    return (moments){count, count * (a + length / 2),
                     count * (a * a + a * length + length * length / 3)};
}

static moments add(moments a, moments b)
{
    return (moments){a.count + b.count, a.sum + b.sum, a.squares + b.squares};
}

static void side_init(side *s, const int64_t *bins, double top)
{
    s->bins = bins;
    s->last = -1;
    s->filled = 0;
    s->below[0] = (moments){0, 0, 0};
    for (int32_t i = 0; i < ITG_HISTOGRAM_BINS; i++)
        if (bins[i]) {
            s->last = i;
            s->filled++;
        }
    s->is_empty = s->last < 0;
    /* The largest element may not be among those that were counted. */
    s->top = top < (double)(s->last + 1) ? top : (double)(s->last + 1);
    for (int32_t i = 0; i <= s->last; i++) {
        const double width = i == s->last ? s->top - (double)i : 1.0;
        s->below[i + 1] = add(s->below[i], part_of_bin(i, (double)bins[i], width, width));
    }
}

static moments below(const side *s, double x)
{
    if (!(x < s->top)) return s->below[s->last + 1];
    const int32_t i = (int32_t)x;
    const double width = i == s->last ? s->top - (double)i : 1.0;
    return add(s->below[i], part_of_bin(i, (double)s->bins[i], x - (double)i, width));
}

static double cell_error(moments from, moments to, double value)
{
    const double count = to.count - from.count, sum = to.sum - from.sum,
                 squares = to.squares - from.squares;
    const double error = squares - 2 * value * sum + value * value * count;
    return error > 0 ? error : 0; /* cancellation may make it negative */
}

static double cells_error(const side *s, double step, int64_t codes)
{
    double error = 0;
    moments from = {0, 0, 0};
    for (int64_t k = 0;; k++) {
        const double edge = ((double)k + 0.5) * step;
        const bool is_last = k == codes || !(edge < s->top);
        const moments to = is_last ? s->below[s->last + 1] : below(s, edge);
        error += cell_error(from, to, (double)k * step);
        if (is_last) return error;
        from = to;
    }
}

static double noise_error(const side *s, double step, int64_t codes)
{
    const double limit = (double)codes * step;
    const moments inside = below(s, limit), all = s->below[s->last + 1];
    return inside.count * (step * step / 12) + cell_error(inside, all, limit);
}

static double side_error(const histogram_cost *c, const side *s, double step, int64_t codes)
{
    if (s->is_empty) return 0;
    if (codes == 0 || !(step > 0)) return s->below[s->last + 1].squares;
    return c->is_noise ? noise_error(s, step, codes) : cells_error(s, step, codes);
}

static double grid_error(void *context, const itg_grid *grid, double enough)
{
    (void)enough;
    const histogram_cost *c = context;
    const double step = grid->step * c->bins_per_unit;
    return side_error(c, &c->negative, step, grid->below) +
           side_error(c, &c->positive, step, grid->above);
}

itg_status itg_threshold_mse(const itg_value_stats *stats, const itg_threshold_target *target,
                             itg_range full, itg_range *out, itg_error *err)
{
    histogram_cost *cost = malloc(sizeof *cost);
    if (!cost) return itg_fail(err, ITG_NO_MEMORY, "threshold: no memory for prefix sums");
    cost->bins_per_unit = itg_ldexp(1.0, -stats->exponent);
    side_init(&cost->negative, stats->negative, -full.lo * cost->bins_per_unit);
    side_init(&cost->positive, stats->positive, full.hi * cost->bins_per_unit);
    cost->is_noise = itg_grid_of(target, full).step * cost->bins_per_unit < NOISE_BINS;
    /* one value on each side besides zero: keep the full range */
    const bool is_single = cost->negative.filled <= 1 && cost->positive.filled <= 1;
    *out = is_single ? full : itg_threshold_search(target, full, 1, grid_error, cost);
    free(cost);
    return ITG_OK;
}
