/* Histograms. Invariant: exponent = exponent_of(max(|min|, |max|)), or NO_EXPONENT if only zeros
 * were added. */
#include "sim/histogram.h"
#include "kernels/math.h"
#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { NO_EXPONENT = INT32_MIN, BINS_LOG2 = 11 };

/* The parts are added in ascending order. */
static double whole(const double *parts)
{
    double sum = 0;
    for (int i = 0; i < ITG_F32_SUMS; i++)
        sum += parts[i];
    return sum;
}

static bool is_finite(float x)
{
    return x >= -FLT_MAX && x <= FLT_MAX;
}

static int64_t block_end(int64_t block, int64_t count)
{
    return (block + 1) * ITG_F32_BLOCK < count ? (block + 1) * ITG_F32_BLOCK : count;
}

static void sum_part(const float *data, int64_t count, itg_f32_part part, itg_sums *out)
{
    double sum[ITG_F32_SUMS] = {0}, squares[ITG_F32_SUMS] = {0};
    for (int64_t block = part.first; block * ITG_F32_BLOCK < count; block += part.period)
        for (int64_t i = block * ITG_F32_BLOCK; i < block_end(block, count); i++) {
            if (!is_finite(data[i])) continue;
            const double x = (double)data[i];
            sum[i % ITG_F32_SUMS] += x;
            squares[i % ITG_F32_SUMS] += x * x;
            out->counted++;
        }
    out->sum = whole(sum);
    out->sum_squares = whole(squares);
}

void itg_sums_of(const float *data, int64_t count, itg_f32_part part, itg_sums *out)
{
    itg_sums sums = {.min = FLT_MAX, .max = -FLT_MAX};
    for (int64_t i = 0; i < count; i++) {
        const float x = data[i];
        if (!is_finite(x)) {
            sums.nan_count++;
            continue;
        }
        if (x < sums.min) sums.min = x;
        if (x > sums.max) sums.max = x;
    }
    sums.count = count - sums.nan_count;
    sum_part(data, count, part, &sums);
    /* adding zero turns -0 into 0, so that the order of the two does not show */
    sums.min = sums.count ? sums.min + 0.0f : 0.0f;
    sums.max = sums.count ? sums.max + 0.0f : 0.0f;
    *out = sums;
}

void itg_histogram_init(itg_value_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    stats->exponent = NO_EXPONENT;
}

itg_value_stats *itg_histograms_create(size_t count)
{
    itg_value_stats *stats = calloc(count ? count : 1, sizeof *stats);
    for (size_t i = 0; stats && i < count; i++)
        stats[i].exponent = NO_EXPONENT;
    return stats;
}

/* Returns the smallest e with largest < 2^(11+e); largest > 0. */
static int32_t exponent_of(double largest)
{
    int exponent = 0;
    itg_frexp(largest, &exponent); /* largest = [0.5, 1) * 2^exponent */
    return exponent - BINS_LOG2;
}

static void merge_bins(int64_t *bins, int32_t shift)
{
    if (shift > 31) shift = 31;
    for (int32_t i = 0; i < ITG_HISTOGRAM_BINS; i++) {
        const int64_t moved = bins[i];
        bins[i] = 0;
        bins[i >> shift] += moved;
    }
}

static void grow(itg_value_stats *stats, int32_t exponent)
{
    if (stats->exponent == NO_EXPONENT) {
        stats->exponent = exponent;
    } else if (exponent > stats->exponent) {
        merge_bins(stats->positive, exponent - stats->exponent);
        merge_bins(stats->negative, exponent - stats->exponent);
        stats->exponent = exponent;
    }
}

static void widen(itg_value_stats *stats, float min, float max)
{
    if (min < stats->min) stats->min = min;
    if (max > stats->max) stats->max = max;
}

/* By the invariant, positions are below 2^11. The product with a power of two is exact: floats
 * reach 2^-149, doubles 2^-1074. */
static double bins_per_unit(const itg_value_stats *stats)
{
    return stats->exponent == NO_EXPONENT ? 0.0 : itg_ldexp(1.0, -stats->exponent);
}

/* Makes room for elements of this range. Returns the bins per unit. */
static double grow_for(itg_value_stats *stats, const itg_sums *sums)
{
    const double below = -(double)sums->min, above = (double)sums->max;
    const double largest = below > above ? below : above;
    if (largest > 0) grow(stats, exponent_of(largest));
    return bins_per_unit(stats);
}

static void count_one(itg_value_stats *stats, float x, double scale)
{
    const double position = (double)x * scale;
    if (x > 0.0f)
        stats->positive[(int32_t)position]++;
    else if (x < 0.0f)
        stats->negative[(int32_t)-position]++;
    else
        stats->zeros++;
}

void itg_histogram_add(itg_value_stats *stats, const float *data, int64_t count, itg_f32_part part,
                       const itg_sums *sums)
{
    if (!sums->count) return;
    const double scale = grow_for(stats, sums);
    for (int64_t block = part.first; block * ITG_F32_BLOCK < count; block += part.period)
        for (int64_t i = block * ITG_F32_BLOCK; i < block_end(block, count); i++)
            if (is_finite(data[i])) count_one(stats, data[i], scale);
}

void itg_histogram_measure(itg_value_stats *stats, const float *data, int64_t count,
                           itg_f32_part part, itg_sums *sums)
{
    itg_sums s = {.count = count};
    if (!itg_f32_range(data, count, &s.min, &s.max)) {
        itg_sums_of(data, count, part, sums);
        itg_histogram_add(stats, data, count, part, sums);
        return;
    }
    s.min = s.min + 0.0f; /* as in itg_sums_of */
    s.max = s.max + 0.0f;
    const double scale = grow_for(stats, &s);
    if (scale > FLT_MAX) { /* values below 2^-116 */
        sum_part(data, count, part, &s);
        itg_histogram_add(stats, data, count, part, &s);
        *sums = s;
        return;
    }
    itg_f32_counts c = {.scale = (float)scale, .bins = ITG_HISTOGRAM_BINS, .counts = stats->bins};
    s.counted = itg_f32_count(data, count, part, &c);
    for (int32_t i = 2 * ITG_HISTOGRAM_BINS; i < 2 * ITG_HISTOGRAM_BINS + ITG_F32_SPARE_BINS; i++) {
        stats->zeros += stats->bins[i];
        stats->bins[i] = 0;
    }
    s.sum = whole(c.sum);
    s.sum_squares = whole(c.squares);
    *sums = s;
}

void itg_histogram_merge(itg_value_stats *into, const itg_value_stats *from)
{
    into->zeros += from->zeros;
    if (from->exponent == NO_EXPONENT) return;
    grow(into, from->exponent);
    int32_t shift = into->exponent - from->exponent;
    if (shift > 31) shift = 31;
    for (int32_t i = 0; i < ITG_HISTOGRAM_BINS; i++) {
        if (from->positive[i] != 0) into->positive[i >> shift] += from->positive[i];
        if (from->negative[i] != 0) into->negative[i >> shift] += from->negative[i];
    }
}

void itg_sums_add(itg_value_stats *stats, itg_sums_fold *fold, const itg_sums *sums)
{
    stats->nan_count += sums->nan_count;
    if (!sums->count) return;
    if (!stats->count) {
        stats->min = sums->min;
        stats->max = sums->max;
    }
    widen(stats, sums->min, sums->max);
    stats->count += sums->count;
    stats->counted += sums->counted;
    fold->samples++;
    fold->sum += sums->sum;
    fold->sum_squares += sums->sum_squares;
    fold->sum_min += (double)sums->min;
    fold->sum_max += (double)sums->max;
}

void itg_sums_finish(itg_value_stats *stats, const itg_sums_fold *fold)
{
    stats->present = true;
    if (stats->exponent == NO_EXPONENT) stats->exponent = 0;
    if (!stats->count) return;
    const double n = stats->counted ? (double)stats->counted : 1;
    stats->mean = fold->sum / n;
    stats->variance = fold->sum_squares / n - stats->mean * stats->mean;
    if (!(stats->variance > 0)) stats->variance = 0; /* rounding may make it slightly negative */
    stats->average_min = fold->sum_min / (double)fold->samples;
    stats->average_max = fold->sum_max / (double)fold->samples;
}
