/* Multiples of a matrix's rows, subtracted from a vector. Each element takes them one after the
 * other, the product rounded, then the difference. Private to recover/. */
#ifndef ITG_RECOVER_ROWS_H
#define ITG_RECOVER_ROWS_H
#include "base/base.h"

/* y[0..n) -= f * x[0..n) */
void itg_row_subtract(double *y, const double *x, double f, int64_t n);

enum { ITG_ROWS = 16 };
typedef struct itg_rows {
    double *y;       /* [n] */
    const double *h; /* [n][n] */
    int32_t count, row[ITG_ROWS];
    double factor[ITG_ROWS];
} itg_rows;

/* y -= factor[k] * h[row[k]], k ascending, for each of `vectors`. Rows that several have in common
 * are read from memory once. */
void itg_rows_subtract(const itg_rows *rows, int32_t vectors, int64_t n);
#endif
