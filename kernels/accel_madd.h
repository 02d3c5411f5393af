/* Tiles from products of 16 bits. vpmaddwd multiplies pairs and adds them exactly in 32 bits for
 * all codes. vpmaddubsw does twice as many products, but it saturates at 16 bits and needs vpmaddwd
 * to widen; it is hardly faster than widening the operands first, the weights when they are packed
 * and the rows once a tile. The including file defines the macros of accel_product.h and WIDEN,
 * which loads bytes as a vector of words. */
#include "kernels/accel_product.h"

enum { CHUNK_STEPS = 4, CHUNK = CHUNK_STEPS * ITG_STEP_DEPTH };

TARGET static void read_rows(const itg_accel_tile *t, int64_t first, int64_t count, int16_t *out)
{
    for (int64_t r = 0; r < t->rows; r++, out += CHUNK)
        for (int64_t k = 0; k < count; k++) {
            const uint8_t *a = t->a + r * t->a_stride + t->offset[first + k];
            ITG_UNROLL
            for (int i = 0; i < ITG_STEP_DEPTH; i += 2 * LANES)
                STORE(out + k * ITG_STEP_DEPTH + i, WIDEN(a + i));
        }
}

/* t->b: words, [step][pair of depth][column][2]. */
TARGET static void tile_block(const itg_accel_tile *t)
{
    int16_t rows[ITG_BLOCK_ROWS * CHUNK];
    for (int64_t first = 0; first < t->steps; first += CHUNK_STEPS) {
        const int64_t count = t->steps - first < CHUNK_STEPS ? t->steps - first : CHUNK_STEPS;
        const int64_t left = t->depth - first * ITG_STEP_DEPTH;
        const int64_t depth = left < count * ITG_STEP_DEPTH ? left : count * ITG_STEP_DEPTH;
        read_rows(t, first, count, rows);
        const itg_product product = {.v = rows,
                                     .v_stride = CHUNK,
                                     .u = (const int16_t *)(const void *)t->b +
                                          first * ITG_STEP_BYTES,
                                     .u_stride = t->b_stride / (int64_t)sizeof(int16_t),
                                     .rows = t->rows,
                                     .steps = (depth + 1) / 2,
                                     .panels = t->panels,
                                     .m = t->c,
                                     .adds = first > 0};
        multiply(&product);
    }
}

static void tile(const itg_accel_tile *t)
{
    itg_accel_by_blocks(t, tile_block);
}
