/* Tiles in plain C: operands are widened to 16 bits and laid out by depth, for dot products that
 * compilers vectorize. */
#include "kernels/accel_parts.h"
#include "kernels/clones.h"
#include <string.h>

enum { CHUNK_STEPS = 4, CHUNK = CHUNK_STEPS * ITG_STEP_DEPTH, ROWS = 4, LANES = 32 };

/* ---- dot products: sums modulo 2^32 ---- */

/* Four rows by two: eight sums a pass, where each loaded value is used four times or twice. */
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
static void dot_rows(const int16_t *a, int64_t rows, const int16_t *b, int64_t count, int64_t depth,
                     int32_t *acc, int64_t stride)
{
    depth = depth / LANES * LANES; /* always true; tells compilers that there is no tail */
    int64_t p = 0;
    if (rows == ROWS)
        for (; p + 2 <= count; p += 2)
            four_by_two(a, b + p * depth, depth, acc + p, stride);
    for (; p < count; p++)
        for (int64_t r = 0; r < rows; r++)
            acc[r * stride + p] = dot32(a + r * depth, b + p * depth, depth);
}

/* ---- tiles ---- */

ITG_INLINE void widen(const uint8_t *in, int64_t n, int16_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = in[i];
}

/* Widens rows of the tile, steps [first, first + count): out[row][depth]. */
ITG_CLONES
static void unpack_rows(const itg_accel_tile *t, int64_t row, int64_t rows, int64_t first,
                        int64_t count, int16_t *out)
{
    const int64_t depth = count * ITG_STEP_DEPTH;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < count; k++)
            widen(t->a + (row + r) * t->a_stride + t->offset[first + k], ITG_STEP_DEPTH,
                  out + r * depth + k * ITG_STEP_DEPTH);
}

/* Widens the panel's columns: out[column][depth]. */
ITG_CLONES
static void unpack_panel(const int8_t *panel, int64_t first, int64_t count, int16_t *out)
{
    const int64_t depth = count * ITG_STEP_DEPTH;
    const int8_t *in = panel + first * ITG_STEP_BYTES;
    for (int64_t k = 0; k < depth; k += 4)
        for (int64_t n = 0; n < ITG_PANEL_COLUMNS; n++, in += 4)
            for (int64_t i = 0; i < 4; i++)
                out[n * depth + k + i] = in[i];
}

static void add_rows(const int32_t *sums, int64_t rows, bool first, int32_t *c, int64_t stride)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t n = 0; n < ITG_PANEL_COLUMNS; n++) {
            uint32_t sum = first ? 0 : (uint32_t)c[r * stride + n];
            c[r * stride + n] = (int32_t)(sum + (uint32_t)sums[r * ITG_PANEL_COLUMNS + n]);
        }
}

static void tile(const itg_accel_tile *t)
{
    int16_t columns[ITG_TILE_COLUMNS * CHUNK], rows[ROWS * CHUNK];
    int32_t sums[ROWS * ITG_PANEL_COLUMNS];
    for (int64_t first = 0; first < t->steps; first += CHUNK_STEPS) {
        const int64_t count = t->steps - first < CHUNK_STEPS ? t->steps - first : CHUNK_STEPS;
        const int64_t depth = count * ITG_STEP_DEPTH;
        for (int64_t p = 0; p < t->panels; p++)
            unpack_panel(t->b + p * t->b_stride, first, count,
                         columns + p * ITG_PANEL_COLUMNS * depth);
        for (int64_t r = 0; r < t->rows; r += ROWS) {
            const int64_t n = t->rows - r < ROWS ? t->rows - r : ROWS;
            unpack_rows(t, r, n, first, count, rows);
            for (int64_t p = 0; p < t->panels; p++) {
                dot_rows(rows, n, columns + p * ITG_PANEL_COLUMNS * depth, ITG_PANEL_COLUMNS, depth,
                         sums, ITG_PANEL_COLUMNS);
                add_rows(sums, n, first == 0, t->c + r * ITG_TILE_COLUMNS + p * ITG_PANEL_COLUMNS,
                         ITG_TILE_COLUMNS);
            }
        }
    }
}

/* Adds one tap of 64 channels, whose weights lie 4 bytes apart. */
ITG_INLINE void add_tap(const uint8_t *x, const int16_t *weight, int32_t *acc)
{
    for (int64_t c = 0; c < ITG_DEPTHWISE_COLUMNS; c++)
        acc[c] = (int32_t)((uint32_t)acc[c] + (uint32_t)(x[c] * weight[c]));
}

ITG_CLONES
static void depthwise_tile(const itg_accel_tile *t)
{
    memset(t->c, 0, (size_t)(t->rows * ITG_DEPTHWISE_COLUMNS) * sizeof *t->c);
    for (int64_t k = 0; k < t->steps * ITG_DEPTHWISE_TAPS; k++) {
        const int8_t *b =
            t->b + k / ITG_DEPTHWISE_TAPS * ITG_DEPTHWISE_STEP_BYTES + k % ITG_DEPTHWISE_TAPS;
        int16_t weight[ITG_DEPTHWISE_COLUMNS];
        for (int64_t c = 0; c < ITG_DEPTHWISE_COLUMNS; c++)
            weight[c] = b[c * ITG_DEPTHWISE_TAPS];
        itg_accel_row row = {t->a + t->offset[k], t->left};
        for (int64_t r = 0; r < t->rows; r++, itg_accel_next_row(t, &row))
            add_tap(row.a, weight, t->c + r * ITG_DEPTHWISE_COLUMNS);
    }
}

void itg_depthwise_portable(const itg_accel_tile *t)
{
    depthwise_tile(t);
}

static bool always(void)
{
    return true;
}

const itg_accel_kernels itg_accel_portable = {
    .name = "portable",
    .granule = ITG_STEP_DEPTH,
    .step_cycles = 64,
    .usable = always,
    .tile = tile,
    .depthwise = itg_depthwise_portable,
    .lanes = itg_lanes_portable,
};
