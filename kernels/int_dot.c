/* Dot products of 16-bit rows. Sums are exact whenever the caller's bound holds, so their order is
 * free; 32-bit ones are taken modulo 2^32, since a bound of the whole says nothing of a part. The
 * loops are reductions that gcc turns into pairwise multiply-adds. */
#include "kernels/int_parts.h"
#include "kernels/clones.h"
#include "kernels/requant.h"

__extension__ typedef __int128 wide;

/* Four rows against two: eight sums a pass, each loaded value used four or two times. */
ITG_INLINE void four_by_two(const int16_t *a, const int16_t *b, int64_t depth, int32_t *acc,
                            int64_t stride)
{
    const int16_t *a1 = a + depth, *a2 = a1 + depth, *a3 = a2 + depth, *b1 = b + depth;
    uint32_t s00 = 0, s01 = 0, s10 = 0, s11 = 0, s20 = 0, s21 = 0, s30 = 0, s31 = 0;
    for (int64_t i = 0; i < depth; i++) {
        s00 += (uint32_t)(a[i] * b[i]);
        s01 += (uint32_t)(a[i] * b1[i]);
        s10 += (uint32_t)(a1[i] * b[i]);
        s11 += (uint32_t)(a1[i] * b1[i]);
        s20 += (uint32_t)(a2[i] * b[i]);
        s21 += (uint32_t)(a2[i] * b1[i]);
        s30 += (uint32_t)(a3[i] * b[i]);
        s31 += (uint32_t)(a3[i] * b1[i]);
    }
    acc[0] = (int32_t)s00, acc[1] = (int32_t)s01;
    acc[stride] = (int32_t)s10, acc[stride + 1] = (int32_t)s11;
    acc[2 * stride] = (int32_t)s20, acc[2 * stride + 1] = (int32_t)s21;
    acc[3 * stride] = (int32_t)s30, acc[3 * stride + 1] = (int32_t)s31;
}

ITG_INLINE int32_t dot32(const int16_t *a, const int16_t *b, int64_t n)
{
    uint32_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (uint32_t)(a[i] * b[i]);
    return (int32_t)sum;
}

ITG_CLONES
static void tile32(const int16_t *a, int64_t rows, const int16_t *b, int64_t count, int64_t depth,
                   int32_t *acc, int64_t stride)
{
    depth = depth / ITG_DOT_LANES * ITG_DOT_LANES;
    int64_t p = 0;
    if (rows == ITG_DOT_ROWS)
        for (; p + 2 <= count; p += 2)
            four_by_two(a, b + p * depth, depth, acc + p, stride);
    for (; p < count; p++)
        for (int64_t r = 0; r < rows; r++)
            acc[r * stride + p] = dot32(a + r * depth, b + p * depth, depth);
}

void itg_dot_tile32(const int16_t *a, int64_t rows, const int16_t *b, int64_t count, int64_t depth,
                    int32_t *acc, int64_t stride)
{
    tile32(a, rows, b, count, depth, acc, stride);
}

ITG_INLINE int64_t dot64(const int16_t *a, const int16_t *b, int64_t n, int64_t block)
{
    int64_t sum = 0;
    if (block == 0) {
        for (int64_t i = 0; i < n; i++)
            sum += (int64_t)(a[i] * b[i]);
        return sum;
    }
    for (int64_t i = 0; i < n; i += block)
        sum += dot32(a + i, b + i, n - i < block ? n - i : block);
    return sum;
}

ITG_CLONES
static void row64(const int16_t *a, const int16_t *b, int64_t count, int64_t depth, int64_t block,
                  int64_t *acc)
{
    for (int64_t p = 0; p < count; p++)
        acc[p] = dot64(a, b + p * depth, depth, block);
}

void itg_dot_tile64(const int16_t *a, int64_t rows, const int16_t *b, int64_t count, int64_t depth,
                    int64_t a_max, int64_t b_max, int64_t *acc, int64_t stride)
{
    int64_t product = a_max * b_max, safe = product > 0 ? INT32_MAX / product : depth;
    int64_t block = safe / ITG_DOT_LANES * ITG_DOT_LANES;
    for (int64_t r = 0; r < rows; r++)
        row64(a + r * depth, b, count, depth, block, acc + r * stride);
}

/* |a[i] * b[i]| below 2^62 and a width of at most 62 bits: no step leaves 64 bits. */
static bool steps_fit(const int64_t *a, const int64_t *b, int64_t n, int32_t bits)
{
    const int64_t limit = (int64_t)1 << 31;
    bool fit = bits <= 62;
    for (int64_t i = 0; i < n && fit; i++)
        fit = a[i] > -limit && a[i] < limit && b[i] > -limit && b[i] < limit;
    return fit;
}

static int64_t saturating(const int64_t *a, const int64_t *b, int64_t n, int64_t bias,
                          itg_accumulator width)
{
    const int64_t lo = itg_accumulator_min(width), hi = itg_accumulator_max(width);
    int64_t acc = itg_clamp(bias, lo, hi);
    if (steps_fit(a, b, n, width.bits)) {
        for (int64_t i = 0; i < n; i++)
            acc = itg_clamp(acc + a[i] * b[i], lo, hi);
        return acc;
    }
    for (int64_t i = 0; i < n; i++) {
        wide v = (wide)a[i] * b[i] + acc;
        acc = v > hi ? hi : v < lo ? lo : (int64_t)v;
    }
    return acc;
}

/* Wrapping: the sum modulo 2^64 holds the low bits of the exact one, whatever its size. */
int64_t itg_dot_sequential(const int64_t *a, const int64_t *b, int64_t n, int64_t bias,
                           const itg_mac_options *mac)
{
    if (mac->may_overflow && mac->acc.overflow == ITG_OVERFLOW_SATURATE)
        return saturating(a, b, n, bias, mac->acc);
    uint64_t sum = (uint64_t)bias;
    for (int64_t i = 0; i < n; i++)
        sum += (uint64_t)a[i] * (uint64_t)b[i];
    return mac->may_overflow ? itg_accumulator_fit(mac->acc, (int64_t)sum) : (int64_t)sum;
}

int64_t itg_dot_split(const int64_t *a, const int64_t *b, int64_t bias, int64_t channel,
                      const itg_sum_split *split)
{
    int32_t shift = (int32_t)split->shift[split->shift_count == 1 ? 0 : channel];
    int64_t joined = itg_round_shift_product(bias, 1, shift, split->rounding);
    for (int64_t p = 0, i = 0; p < split->part_count; p++) {
        int64_t part = 0;
        for (; i < split->end[p]; i++)
            part += a[i] * b[i];
        joined += itg_round_shift_product(part, 1, shift, split->rounding);
    }
    return joined;
}
