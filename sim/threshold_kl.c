/* Kullback-Leibler divergence between the distribution and its clipped, quantized form (S. Migacz,
 * 8-bit Inference with TensorRT, GTC 2017; MXNet's contrib/quantization). Both histograms fold to
 * magnitudes. For a clip at bin i, P is bins 0..i-1, with all elements above added to the last of
 * them. Q is the same bins without those elements, merged into `levels` groups; each group spreads
 * again evenly over those of its bins that are not empty in P. Departures: exact zeros, which every
 * grid holds, are left out (they would dominate); group borders are floor(j*i/levels), so any i is
 * possible; a clip where Q is zero and P is not is infinitely bad instead of smoothed. Asymmetric
 * power-of-two targets are estimated as if their steps were free.
 *
 * The narrowest clip has as many bins as 8 bits have levels, for fewer bits too, although their
 * groups are then wider. All elements above a clip lie in the last bin of P, and cost about
 * log(bins of the last group) of what Q gives that bin. So a clip of few bins may saturate all
 * elements at almost no divergence (at one bin, P and Q are equal). The published search, which is
 * for 8 bits, does not try such clips.
 *
 * The sums run over groups, not bins: KL * |P| = sum p log p - sum over groups of P_group
 * log(q_group) - |P| log|P| + |P| log|Q| */
#include "sim/threshold.h"
#include "kernels/math.h"
#include <math.h>
#include <stdlib.h>

enum { MAX_LEVELS = 256, CLIP_STEP = 8 };

/* Sums over bins 0..i-1. */
typedef struct prefix {
    double count, entropy; /* entropy: sum of c log c */
    int32_t filled;
} prefix;

typedef struct kl {
    int32_t levels, least, end; /* least: bins of the narrowest clip; end: bins in use */
    double bins[ITG_HISTOGRAM_BINS];
    prefix below[ITG_HISTOGRAM_BINS + 1];
} kl;

static double x_log_x(double x)
{
    return x > 0 ? x * itg_log(x) : 0.0;
}

static void kl_init(kl *k, const itg_value_stats *stats, bool uses_negative)
{
    k->end = 0;
    k->below[0] = (prefix){0, 0, 0};
    for (int32_t i = 0; i < ITG_HISTOGRAM_BINS; i++) {
        const double c = (double)(stats->positive[i] + (uses_negative ? stats->negative[i] : 0));
        const prefix *before = &k->below[i];
        k->bins[i] = c;
        k->below[i + 1] =
            (prefix){before->count + c, before->entropy + x_log_x(c), before->filled + (c > 0)};
        if (c > 0) k->end = i + 1;
    }
}

/* Returns the divergence at a clip after `clip` bins. */
static double divergence(const kl *k, int32_t clip)
{
    const double total = k->below[k->end].count, inside = k->below[clip].count,
                 outside = total - inside;
    const double last = k->bins[clip - 1];
    double cross = 0;
    for (int32_t j = 0, from = 0; j < k->levels; j++) {
        const int32_t to = (int32_t)((int64_t)(j + 1) * clip / k->levels);
        const bool is_last = j == k->levels - 1;
        const double q = k->below[to].count - k->below[from].count;
        int32_t filled = k->below[to].filled - k->below[from].filled;
        if (is_last && !(last > 0) && outside > 0)
            filled++; /* the bin that only clipped elements fill */
        const double p = is_last ? q + outside : q;
        if (p > 0 && !(q > 0)) return HUGE_VAL;
        if (p > 0) cross += p * itg_log(q / (double)filled);
        from = to;
    }
    const double entropy = k->below[clip].entropy - x_log_x(last) + x_log_x(last + outside);
    const double result = (entropy - cross) / total - itg_log(total) + itg_log(inside);
    return result > 0 ? result : 0; /* rounding may make it negative */
}

/* Returns the best clip in bins, a multiple of CLIP_STEP and at least k->least; ties: wider. */
static double best_clip(const kl *k)
{
    double best = divergence(k, k->end);
    int32_t chosen = k->end;
    for (int32_t clip = (k->end - 1) / CLIP_STEP * CLIP_STEP; clip >= k->least; clip -= CLIP_STEP) {
        const double d = divergence(k, clip);
        if (!(d < best)) continue;
        best = d;
        chosen = clip;
    }
    return (double)chosen;
}

/* Tries only clips of power-of-two steps: the full range's step, halved while the clip is wide
 * enough. Returns t. */
static double best_power(const kl *k, const itg_threshold_target *target, itg_range full,
                         double width)
{
    itg_grid grid = itg_grid_of(target, full);
    double best = HUGE_VAL, chosen = 0;
    for (int i = 0; i < 12 && grid.step > 0; i++, grid.step /= 2) {
        const itg_range range = itg_grid_range(target, &grid);
        const double codes = (double)(grid.above > grid.below ? grid.above : grid.below),
                     t = -range.lo > range.hi ? -range.lo : range.hi,
                     bins = (codes + 0.5) * grid.step / width; /* where codes begin to saturate */
        const int32_t clip = bins < (double)k->end ? (int32_t)bins : k->end;
        if (clip < 1 || (i > 0 && clip < k->least)) break;
        const double d = divergence(k, clip);
        if (i > 0 && !(d < best)) continue;
        best = d;
        chosen = t;
    }
    return chosen;
}

itg_status itg_threshold_kl(const itg_value_stats *stats, const itg_threshold_target *target,
                            itg_range full, itg_range *out, itg_error *err)
{
    const bool is_unsigned = target->symmetric && !target->is_signed;
    const bool uses_negative = !is_unsigned && full.lo < 0;
    const bool is_folded =
        uses_negative ? full.hi > 0 || target->symmetric : target->symmetric && target->is_signed;
    const int32_t bits = target->bits - (is_folded ? 1 : 0);
    const int32_t most = is_folded ? MAX_LEVELS / 2 : MAX_LEVELS;
    const double width = itg_ldexp(1.0, stats->exponent),
                 largest = -full.lo > full.hi ? -full.lo : full.hi;
    if (is_unsigned && !(full.hi > 0)) {
        *out = full;
        return ITG_OK;
    }
    kl *k = malloc(sizeof *k);
    if (!k) return itg_fail(err, ITG_NO_MEMORY, "threshold: no memory for prefix sums");
    k->levels = bits < 8 ? 1 << bits : most;
    k->least = most;
    kl_init(k, stats, uses_negative);
    double t = best_clip(k) * width;
    if (target->power_of_two && target->symmetric) t = best_power(k, target, full, width);
    free(k);
    if (target->power_of_two && target->symmetric) {
        *out = itg_range_both(full, t);
    } else {
        if (t > largest) t = largest;
        *out = (itg_range){full.lo < -t ? -t : full.lo, full.hi > t ? t : full.hi};
    }
    return ITG_OK;
}
