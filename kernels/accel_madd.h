/* Tiles by products of 16 bits: vpmaddwd multiplies pairs and adds them in 32, exactly, whatever
 * the codes. vpmaddubsw takes twice as many products, but saturates in 16 bits, and needs vpmaddwd,
 * too, to widen: where it may be used it is hardly faster than operands that are widened
 * beforehand, the weights once for all, the rows once a tile. Needs what accel_product.h does, and
 * WIDEN, a vector of words from bytes. */
#include "kernels/accel_product.h"

enum { CHUNK_STEPS = 4, CHUNK = CHUNK_STEPS * ITG_STEP_DEPTH };

TARGET static void read_rows(const itg_accel_tile *t, int64_t first, int64_t count, int16_t *out)
{
    for (int64_t r = 0; r < t->rows; r++, out += CHUNK)
        for (int64_t k = 0; k < count; k++) {
            const uint8_t *a = t->a + r * t->a_stride + t->offset[first + k];
            UNROLL
            for (int i = 0; i < ITG_STEP_DEPTH; i += 2 * LANES)
                STORE(out + k * ITG_STEP_DEPTH + i, WIDEN(a + i));
        }
}

/* t->b: words, [step][pair of depth][column][2]. */
TARGET static void tile(const itg_accel_tile *t)
{
    int16_t rows[ITG_TILE_ROWS * CHUNK];
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
