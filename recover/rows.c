#include "recover/rows.h"
#include "kernels/clones.h"
#include <string.h>

/* No larger than AVX2's: GCC keeps larger ones in memory where there is no AVX-512. */
typedef double vector __attribute__((vector_size(32)));

enum {
    LANES = 4,
    VECTORS = 8,
    COLUMNS = VECTORS * LANES,
    CHUNK = 4 * COLUMNS,
    MANY = 4,  /* vectors */
    FAR = 512, /* elements from row to row */
};

ITG_CLONES static void recover_subtract(double *y, const double *x, double f, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] -= f * x[i];
}

void itg_row_subtract(double *y, const double *x, double f, int64_t n)
{
    recover_subtract(y, x, f, n);
}

/* Subtracts from n elements of y, some of which stay in registers. */
ITG_CLONES static void recover_subtract_rows(const itg_rows *r, const double *const *x, double *y,
                                             int64_t n)
{
    int64_t j = 0;
    for (; j + COLUMNS <= n; j += COLUMNS) {
        vector sum[VECTORS], part;
        ITG_UNROLL
        for (int v = 0; v < VECTORS; v++)
            memcpy(&sum[v], y + j + v * LANES, sizeof part);
        for (int32_t k = 0; k < r->count; k++) {
            const double *from = x[r->at[k]] + j, f = r->factor[k];
            ITG_UNROLL
            for (int v = 0; v < VECTORS; v++) {
                memcpy(&part, from + v * LANES, sizeof part);
                sum[v] -= f * part;
            }
        }
        ITG_UNROLL
        for (int v = 0; v < VECTORS; v++)
            memcpy(y + j + v * LANES, &sum[v], sizeof part);
    }
    for (int32_t k = 0; k < r->count && j < n; k++)
        for (int64_t i = j; i < n; i++)
            y[i] -= r->factor[k] * x[r->at[k]][i];
}

/* Long rows often lie a multiple of 4 KiB apart, so that a cache keeps few of them: what many
 * vectors need is copied. */
void itg_rows_subtract(const double *const *row, const itg_rows *rows, int32_t vectors, int64_t n)
{
    double copy[ITG_ROWS][CHUNK];
    const double *x[ITG_ROWS];
    bool used[ITG_ROWS] = {false};
    const bool copies = vectors >= MANY && n >= FAR;
    for (const itg_rows *r = rows; r < rows + vectors; r++)
        for (int32_t k = 0; k < r->count; k++)
            used[r->at[k]] = true;
    for (int64_t first = 0; first < n; first += CHUNK) {
        const int64_t count = n - first < CHUNK ? n - first : CHUNK;
        for (int k = 0; k < ITG_ROWS; k++) {
            if (!used[k]) continue;
            x[k] = row[k] + first;
            if (!copies) continue;
            memcpy(copy[k], x[k], (size_t)count * sizeof **copy);
            x[k] = copy[k];
        }
        for (const itg_rows *r = rows; r < rows + vectors; r++)
            recover_subtract_rows(r, x, r->y + first, count);
    }
}
