#include "recover/rows.h"
#include "kernels/clones.h"
#include <string.h>

typedef double vector8 __attribute__((vector_size(64)));

enum { LANES = 8, COLUMNS = 4 * LANES, CHUNK = 8 * COLUMNS };

ITG_CLONES static void recover_subtract(double *y, const double *x, double f, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] -= f * x[i];
}

void itg_row_subtract(double *y, const double *x, double f, int64_t n)
{
    recover_subtract(y, x, f, n);
}

#define SUBTRACT(y, f, x)                                                                          \
    do {                                                                                           \
        vector8 part;                                                                              \
        memcpy(&part, x, sizeof part);                                                             \
        (y) -= (f)*part;                                                                           \
    } while (0)

/* Subtracts in columns [first, end), some of which stay in registers. */
ITG_CLONES static void recover_subtract_columns(const itg_rows *r, int64_t first, int64_t end,
                                                int64_t n)
{
    const double *h[ITG_ROWS];
    for (int32_t k = 0; k < r->count; k++)
        h[k] = r->h + r->row[k] * n;
    for (int64_t j = first; j < end; j += COLUMNS) {
        double *y = r->y + j;
        vector8 a, b, c, d;
        memcpy(&a, y, sizeof a);
        memcpy(&b, y + LANES, sizeof b);
        memcpy(&c, y + 2 * LANES, sizeof c);
        memcpy(&d, y + 3 * LANES, sizeof d);
        for (int32_t k = 0; k < r->count; k++) {
            const double *x = h[k] + j, f = r->factor[k];
            SUBTRACT(a, f, x);
            SUBTRACT(b, f, x + LANES);
            SUBTRACT(c, f, x + 2 * LANES);
            SUBTRACT(d, f, x + 3 * LANES);
        }
        memcpy(y, &a, sizeof a);
        memcpy(y + LANES, &b, sizeof b);
        memcpy(y + 2 * LANES, &c, sizeof c);
        memcpy(y + 3 * LANES, &d, sizeof d);
    }
}

void itg_rows_subtract(const itg_rows *rows, int32_t vectors, int64_t n)
{
    const int64_t whole = n - n % COLUMNS;
    for (int64_t first = 0; first < whole; first += CHUNK)
        for (const itg_rows *r = rows; r < rows + vectors; r++)
            recover_subtract_columns(r, first, first + CHUNK < whole ? first + CHUNK : whole, n);
    for (const itg_rows *r = rows; r < rows + vectors && whole < n; r++)
        for (int32_t k = 0; k < r->count; k++)
            recover_subtract(r->y + whole, r->h + r->row[k] * n + whole, r->factor[k], n - whole);
}
