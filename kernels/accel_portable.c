/* Tiles in plain C: operands widened to 16 bits and to rows of depth, then dot products that
 * compilers vectorize. */
#include "kernels/accel_parts.h"
#include "kernels/clones.h"
#include "kernels/int_parts.h"
#include <string.h>

enum { CHUNK_STEPS = 4, CHUNK = CHUNK_STEPS * ITG_STEP_DEPTH };

ITG_INLINE void widen(const uint8_t *in, int64_t n, int16_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = in[i];
}

/* Rows of the tile, steps [first, first + count): out[row][depth]. */
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

/* The panel's columns: out[column][depth]. */
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
    int16_t columns[ITG_TILE_COLUMNS * CHUNK], rows[ITG_DOT_ROWS * CHUNK];
    int32_t sums[ITG_DOT_ROWS * ITG_PANEL_COLUMNS];
    for (int64_t first = 0; first < t->steps; first += CHUNK_STEPS) {
        const int64_t count = t->steps - first < CHUNK_STEPS ? t->steps - first : CHUNK_STEPS;
        const int64_t depth = count * ITG_STEP_DEPTH;
        for (int64_t p = 0; p < t->panels; p++)
            unpack_panel(t->b + p * t->b_stride, first, count,
                         columns + p * ITG_PANEL_COLUMNS * depth);
        for (int64_t r = 0; r < t->rows; r += ITG_DOT_ROWS) {
            const int64_t n = t->rows - r < ITG_DOT_ROWS ? t->rows - r : ITG_DOT_ROWS;
            unpack_rows(t, r, n, first, count, rows);
            for (int64_t p = 0; p < t->panels; p++) {
                itg_dot_tile32(rows, n, columns + p * ITG_PANEL_COLUMNS * depth, ITG_PANEL_COLUMNS,
                               depth, sums, ITG_PANEL_COLUMNS);
                add_rows(sums, n, first == 0, t->c + r * ITG_TILE_COLUMNS + p * ITG_PANEL_COLUMNS,
                         ITG_TILE_COLUMNS);
            }
        }
    }
}

/* One tap of 64 channels; weights lie 4 bytes apart. */
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
        for (int64_t r = 0; r < t->rows; r++)
            add_tap(t->a + r * t->a_stride + t->offset[k], weight,
                    t->c + r * ITG_DEPTHWISE_COLUMNS);
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
    .usable = always,
    .tile = tile,
    .depthwise = itg_depthwise_portable,
    .lanes = itg_lanes_portable,
};
