/* Tiles by vpmaddwd, for processors without VNNI: bytes become 16 bits in registers, two products
 * are summed exactly in 32 (vpmaddubsw would do four at once, and lose bits). Compiled once per
 * vector width by a file that defines before it TARGET           the functions' attribute VECTOR,
 * LANES    the register and how many 32-bit sums it holds ROWS             rows of one block: ROWS
 * * 32 / LANES sums and two more registers must fit and the operations below it uses. Rows are
 * widened once a tile: the even bytes of each four, then the odd ones, as the weights are split in
 * registers. */
#include "kernels/accel_parts.h"
#include <string.h>

enum {
    CHUNK_STEPS = 4,
    QUADS = ITG_STEP_DEPTH / 4,
    QUAD_BYTES = 4 * ITG_PANEL_COLUMNS,
    VECTORS = ITG_PANEL_COLUMNS / LANES, /* of a panel */
    CHUNK_WORDS = CHUNK_STEPS * ITG_STEP_DEPTH
};

#define INLINE TARGET static inline __attribute__((always_inline))

/* One step of a row: for each four bytes two 32-bit words, even bytes and odd bytes. */
INLINE void widen_step(const uint8_t *a, uint32_t *out)
{
    for (int i = 0; i < QUADS; i++) {
        uint32_t four;
        memcpy(&four, a + 4 * i, sizeof four);
        out[i] = four & 0x00ff00ffU;
        out[QUADS + i] = four >> 8 & 0x00ff00ffU;
    }
}

/* `rows` (a constant) rows by one panel, steps [first, first + count). a: widened rows. */
INLINE void block(const uint32_t *a, const int rows, int64_t first, int64_t count, const int8_t *b,
                  int32_t *c)
{
    VECTOR sum[ROWS][VECTORS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++)
            sum[r][v] = first > 0 ? LOAD(c + r * ITG_TILE_COLUMNS + v * LANES) : ZERO();
    b += first * ITG_STEP_BYTES;
    for (int64_t k = 0; k < count; k++)
        for (int i = 0; i < QUADS; i++, b += QUAD_BYTES) {
            const uint32_t *x = a + k * 2 * QUADS + i;
            for (int v = 0; v < VECTORS; v++) {
                const VECTOR w = LOAD(b + v * 4 * LANES);
                const VECTOR even = EVEN_BYTES(w), odd = ODD_BYTES(w);
                for (int r = 0; r < rows; r++) {
                    const uint32_t *row = x + r * (CHUNK_WORDS / 2);
                    sum[r][v] = ADD(sum[r][v], MADD(SET(row[0]), even));
                    sum[r][v] = ADD(sum[r][v], MADD(SET(row[QUADS]), odd));
                }
            }
        }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++)
            STORE(c + r * ITG_TILE_COLUMNS + v * LANES, sum[r][v]);
}

TARGET static void all_rows(const uint32_t *a, int64_t first, int64_t count, const int8_t *b,
                            int32_t *c)
{
    block(a, ROWS, first, count, b, c);
}

TARGET static void one_row(const uint32_t *a, int64_t first, int64_t count, const int8_t *b,
                           int32_t *c)
{
    block(a, 1, first, count, b, c);
}

TARGET static void tile(const itg_accel_tile *t)
{
    uint32_t rows[ITG_TILE_ROWS * CHUNK_WORDS / 2];
    for (int64_t first = 0; first < t->steps; first += CHUNK_STEPS) {
        const int64_t count = t->steps - first < CHUNK_STEPS ? t->steps - first : CHUNK_STEPS;
        for (int64_t r = 0; r < t->rows; r++)
            for (int64_t k = 0; k < count; k++)
                widen_step(t->a + r * t->a_stride + t->offset[first + k],
                           rows + r * (CHUNK_WORDS / 2) + k * 2 * QUADS);
        for (int64_t p = 0; p < t->panels; p++) {
            const int8_t *b = t->b + p * t->b_stride;
            int64_t r = 0;
            for (; r + ROWS <= t->rows; r += ROWS)
                all_rows(rows + r * (CHUNK_WORDS / 2), first, count, b,
                         t->c + r * ITG_TILE_COLUMNS + p * ITG_PANEL_COLUMNS);
            for (; r < t->rows; r++)
                one_row(rows + r * (CHUNK_WORDS / 2), first, count, b,
                        t->c + r * ITG_TILE_COLUMNS + p * ITG_PANEL_COLUMNS);
        }
    }
}
