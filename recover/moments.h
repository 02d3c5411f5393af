/* Exact sums of products of integers. Integers are split into digits to the base 256, so that
 * 16-bit products can be summed exactly in 32 bits. Sums do not depend on the order, the machine or
 * the threads. Private to recover/. */
#ifndef ITG_RECOVER_MOMENTS_H
#define ITG_RECOVER_MOMENTS_H
#include "base/base.h"

#define ITG_MOMENTS_TILE 4
#define ITG_MOMENTS_COLUMNS 8192 /* at most: sums of products of digits then fit 32 bits */
#define ITG_MOMENTS_PART 1024    /* columns that are multiplied at a time: fewer take longer each */

/* Groups of rows of integers. */
typedef struct itg_digits {
    int16_t *data; /* [planes][groups][rows, to a multiple of ITG_MOMENTS_TILE][columns] */
    int64_t groups, rows, columns;
    int32_t planes; /* 1: integers of -256..256; n: of magnitude below 256^n / 2 */
} itg_digits;

/* Creates zeros. */
itg_status itg_digits_create(int64_t groups, int64_t rows, int64_t columns, int32_t planes,
                             itg_digits *out, itg_error *err);
void itg_digits_deinit(itg_digits *digits);
void itg_digits_clear(itg_digits *digits);
/* Sets `count` numbers of a row from a column on; overwrites `values`. */
void itg_digits_set(itg_digits *digits, int64_t group, int64_t row, int64_t column, int32_t *values,
                    int64_t count);
/* The sum of a row. */
int64_t itg_digits_sum(const itg_digits *digits, int64_t group, int64_t row);

/* Tiles of rows of a group. */
static inline int64_t itg_digits_tiles(const itg_digits *digits)
{
    return (digits->rows + ITG_MOMENTS_TILE - 1) / ITG_MOMENTS_TILE;
}
/* sums [a->rows][b->rows] of a group: adds the products of the rows of tiles [first, end) of a with
 * the rows of b, summed over the columns. upper: with those of the same tile and later ones. */
void itg_moments_add(const itg_digits *a, const itg_digits *b, int64_t group, int64_t first,
                     int64_t end, bool upper, int64_t *sums);
#endif
