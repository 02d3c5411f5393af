/* Multiples of a matrix's rows, subtracted from vectors. Each element takes them one after the
 * other, the product rounded, then the difference. Private to recover/. */
#ifndef ITG_RECOVER_ROWS_H
#define ITG_RECOVER_ROWS_H
#include "base/base.h"

/* y[0..n) -= f * x[0..n) */
void itg_row_subtract(double *y, const double *x, double f, int64_t n);

enum { ITG_ROWS = 16 };
/* What a vector subtracts: factor[k] * row[at[k]], k ascending. */
typedef struct itg_rows {
    double *y; /* [n] */
    int32_t count, at[ITG_ROWS];
    double factor[ITG_ROWS];
} itg_rows;

/* Subtracts from `vectors` vectors, all of the same rows [ITG_ROWS] of n elements, which are read
 * from memory once. Rows that no vector names may be NULL. */
void itg_rows_subtract(const double *const *row, const itg_rows *rows, int32_t vectors, int64_t n);
#endif
