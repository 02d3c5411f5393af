/* Tiles for processors without VNNI, exact by one of two ways for each four values of depth. Where
 * no two products of neighbours can leave 16 bits, vpmaddubsw multiplies bytes and vpmaddwd by ones
 * widens; for unsigned bytes up to 255 that is where neither the positive nor the negative weights
 * of a pair sum to more than 128 in any of the 16 columns, always so of weights below 8 bits. Else
 * bytes become 16 bits, and vpmaddwd multiplies. Compiled once per vector width by a file that
 * defines before it
 *   TARGET           the functions' attribute
 *   VECTOR, LANES    the register and how many 32-bit sums it holds
 *   ROWS             rows of one block: ROWS * 16 / LANES sums and four more registers must fit
 * and the operations below it uses. Rows are copied and widened once a tile: the even bytes of each
 * four, then the odd ones, as the weights are split in registers. */
#include "kernels/accel_parts.h"
#include <string.h>

enum {
    CHUNK_STEPS = 4,
    QUADS = ITG_STEP_DEPTH / 4,
    QUAD_BYTES = 4 * ITG_PANEL_COLUMNS,
    VECTORS = ITG_PANEL_COLUMNS / LANES, /* of a panel */
    CHUNK_QUADS = CHUNK_STEPS * QUADS
};

#define INLINE TARGET static inline __attribute__((always_inline))

/* Bit i: quad i of a step may be multiplied in bytes. */
TARGET static void mark(const int8_t *panel, int64_t steps, uint16_t *safe)
{
    for (int64_t k = 0; k < steps; k++) {
        safe[k] = 0;
        for (int i = 0; i < QUADS; i++, panel += QUAD_BYTES) {
            bool fits = true;
            for (int v = 0; v < VECTORS; v++)
                fits = fits && PAIRS_FIT(LOAD(panel + v * 4 * LANES));
            safe[k] = (uint16_t)(safe[k] | (unsigned)fits << i);
        }
    }
}

/* The quads of a chunk by their way. */
typedef struct ways {
    int32_t bytes, words; /* how many */
    uint8_t byte[CHUNK_QUADS], word[CHUNK_QUADS];
} ways;

static void set_ways(const uint16_t *safe, int64_t steps, ways *w)
{
    w->bytes = w->words = 0;
    for (int64_t k = 0; k < steps; k++)
        for (int i = 0; i < QUADS; i++) {
            const bool fits = (safe[k] >> i & 1) != 0;
            w->byte[w->bytes] = w->word[w->words] = (uint8_t)(k * QUADS + i);
            w->bytes += fits;
            w->words += !fits;
        }
}

/* A chunk of the tile's rows. */
typedef struct chunk {
    uint32_t bytes[ITG_TILE_ROWS * CHUNK_QUADS];     /* fours as they are */
    uint32_t words[ITG_TILE_ROWS * CHUNK_QUADS * 2]; /* a quad: even bytes, odd bytes */
} chunk;

INLINE void read_step(const uint8_t *a, bool widen, uint32_t *bytes, uint32_t *words)
{
    memcpy(bytes, a, ITG_STEP_DEPTH);
    for (int i = 0; i < QUADS && widen; i++) {
        uint32_t four;
        memcpy(&four, a + 4 * i, sizeof four);
        words[i] = four & 0x00ff00ffU;
        words[QUADS + i] = four >> 8 & 0x00ff00ffU;
    }
}

TARGET static void read_rows(const itg_accel_tile *t, int64_t first, int64_t count, bool widen,
                             chunk *out)
{
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t k = 0; k < count; k++)
            read_step(t->a + r * t->a_stride + t->offset[first + k], widen,
                      out->bytes + r * CHUNK_QUADS + k * QUADS,
                      out->words + (r * CHUNK_QUADS + k * QUADS) * 2);
}

/* `rows` (a constant) rows from `row` on by one panel's chunk b, added to c unless `first`. */
INLINE void block(const chunk *a, int64_t row, const int rows, const ways *w, bool first,
                  const int8_t *b, int32_t *c)
{
    VECTOR sum[ROWS][VECTORS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++)
            sum[r][v] = first ? ZERO() : LOAD(c + r * ITG_TILE_COLUMNS + v * LANES);
    const uint32_t *bytes = a->bytes + row * CHUNK_QUADS, *words = a->words + row * CHUNK_QUADS * 2;
    const VECTOR ones = ONES();
    for (int32_t i = 0; i < w->bytes; i++) {
        const int quad = w->byte[i];
        for (int v = 0; v < VECTORS; v++) {
            const VECTOR y = LOAD(b + quad * QUAD_BYTES + v * 4 * LANES);
            for (int r = 0; r < rows; r++) {
                const VECTOR pairs = MADD_BYTES(SET(bytes[r * CHUNK_QUADS + quad]), y);
                sum[r][v] = ADD(sum[r][v], MADD(pairs, ones));
            }
        }
    }
    for (int32_t i = 0; i < w->words; i++) {
        const int quad = w->word[i];
        const uint32_t *x = words + quad / QUADS * (2 * QUADS) + quad % QUADS;
        for (int v = 0; v < VECTORS; v++) {
            const VECTOR y = LOAD(b + quad * QUAD_BYTES + v * 4 * LANES);
            const VECTOR even = EVEN_BYTES(y), odd = ODD_BYTES(y);
            for (int r = 0; r < rows; r++) {
                const uint32_t *four = x + r * (CHUNK_QUADS * 2);
                sum[r][v] = ADD(sum[r][v], MADD(SET(four[0]), even));
                sum[r][v] = ADD(sum[r][v], MADD(SET(four[QUADS]), odd));
            }
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < VECTORS; v++)
            STORE(c + r * ITG_TILE_COLUMNS + v * LANES, sum[r][v]);
}

TARGET static void all_rows(const chunk *a, int64_t row, const ways *w, bool first, const int8_t *b,
                            int32_t *c)
{
    block(a, row, ROWS, w, first, b, c);
}

TARGET static void one_row(const chunk *a, int64_t row, const ways *w, bool first, const int8_t *b,
                           int32_t *c)
{
    block(a, row, 1, w, first, b, c);
}

TARGET static void tile(const itg_accel_tile *t)
{
    chunk a;
    for (int64_t first = 0; first < t->steps; first += CHUNK_STEPS) {
        const int64_t count = t->steps - first < CHUNK_STEPS ? t->steps - first : CHUNK_STEPS;
        ways w[ITG_TILE_COLUMNS / ITG_PANEL_COLUMNS];
        int32_t words = 0;
        for (int64_t p = 0; p < t->panels; p++) {
            set_ways(t->safe + p * t->safe_stride + first, count, &w[p]);
            words += w[p].words;
        }
        read_rows(t, first, count, words > 0, &a);
        for (int64_t p = 0; p < t->panels; p++) {
            const int8_t *b = t->b + p * t->b_stride + first * ITG_STEP_BYTES;
            int32_t *c = t->c + p * ITG_PANEL_COLUMNS;
            int64_t r = 0;
            for (; r + ROWS <= t->rows; r += ROWS)
                all_rows(&a, r, &w[p], first == 0, b, c + r * ITG_TILE_COLUMNS);
            for (; r < t->rows; r++)
                one_row(&a, r, &w[p], first == 0, b, c + r * ITG_TILE_COLUMNS);
        }
    }
}
