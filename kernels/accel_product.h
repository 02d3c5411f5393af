/* Sums of products of 16 bits, compiled once per vector width. The including file defines
 *   TARGET           the functions' attribute
 *   VECTOR, LANES    the register and how many 32-bit sums it holds
 *   ROWS, PANELS     size of a block; ROWS * PANELS * 16 / LANES sums, PANELS * 16 / LANES weights
 * and two more must fit the registers MULTIPLY_ADD     c + the sums of a's and b's pairs of
 * products, modulo 2^32 LOAD, STORE, ZERO and SET (of 32 bits). */
#include "kernels/accel_parts.h"
#include "kernels/clones.h"
#include <string.h>

enum { VECTORS = ITG_PANEL_COLUMNS / LANES }; /* of a panel */

#define INLINE TARGET static inline __attribute__((always_inline))

/* Sums ROWS rows by `panels` panels, a constant. */
INLINE void block(const itg_product *a, int64_t row, int64_t column, const int panels)
{
    VECTOR sum[ROWS][PANELS * VECTORS];
    const int16_t *v = a->v + row * a->v_stride;
    const int16_t *u = a->u + column / ITG_PANEL_COLUMNS * a->u_stride;
    int32_t *m = a->m + row * ITG_TILE_COLUMNS + column;
    ITG_UNROLL
    for (int r = 0; r < ROWS; r++)
        ITG_UNROLL
    for (int i = 0; i < panels * VECTORS; i++)
        sum[r][i] = a->adds ? LOAD(m + r * ITG_TILE_COLUMNS + i * LANES) : ZERO();
    for (int64_t k = 0; k < a->steps; k++, v += 2, u += 2 * ITG_PANEL_COLUMNS) {
        VECTOR w[PANELS * VECTORS];
        ITG_UNROLL
        for (int i = 0; i < panels * VECTORS; i++)
            w[i] = LOAD(u + i / VECTORS * a->u_stride + i % VECTORS * 2 * LANES);
        ITG_UNROLL
        for (int r = 0; r < ROWS; r++) {
            int32_t two;
            memcpy(&two, v + r * a->v_stride, sizeof two);
            const VECTOR x = SET(two);
            ITG_UNROLL
            for (int i = 0; i < panels * VECTORS; i++)
                sum[r][i] = MULTIPLY_ADD(sum[r][i], x, w[i]);
        }
    }
    ITG_UNROLL
    for (int r = 0; r < ROWS; r++)
        ITG_UNROLL
    for (int i = 0; i < panels * VECTORS; i++)
        STORE(m + r * ITG_TILE_COLUMNS + i * LANES, sum[r][i]);
}

TARGET static void multiply(const itg_product *a)
{
    for (int64_t row = 0; row < a->rows; row += ROWS) {
        int64_t panel = 0;
        for (; panel + PANELS <= a->panels; panel += PANELS)
            block(a, row, panel * ITG_PANEL_COLUMNS, PANELS);
        for (; panel < a->panels; panel++)
            block(a, row, panel * ITG_PANEL_COLUMNS, 1);
    }
}
