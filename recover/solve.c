#include "recover/solve.h"
#include "recover/rows.h"
#include "kernels/math.h"

enum { BLOCK = 64, COLUMNS = 16 };

/* The factor is built transposed, in the upper triangle: later rows subtract multiples of row k of
 * U = L'. The rows of a block are computed first, then their effect on all rows below. Each element
 * processes k in ascending order. */
typedef struct factor {
    double *h;
    int64_t n, first, end; /* rows of the block */
} factor;

static bool factor_block(const factor *f)
{
    double *h = f->h;
    for (int64_t k = f->first; k < f->end; k++) {
        double pivot = h[k * f->n + k];
        if (!(pivot > 0)) return false;
        double root = itg_sqrt(pivot);
        for (int64_t j = k; j < f->n; j++)
            h[k * f->n + j] /= root;
        for (int64_t i = k + 1; i < f->end; i++)
            itg_row_subtract(h + i * f->n + i, h + k * f->n + i, h[k * f->n + i], f->n - i);
    }
    return true;
}

static itg_status update_row(void *context, int worker, int64_t item, itg_error *err)
{
    const factor *f = context;
    int64_t i = f->end + item;
    (void)worker;
    (void)err;
    for (int64_t k = f->first; k < f->end; k++)
        itg_row_subtract(f->h + i * f->n + i, f->h + k * f->n + i, f->h[k * f->n + i], f->n - i);
    return ITG_OK;
}

itg_status itg_cholesky(double *h, int64_t n, const itg_solving *how, bool *definite,
                        itg_error *err)
{
    *definite = true;
    for (int64_t first = 0; first < n; first += BLOCK) {
        factor f = {h, n, first, first + BLOCK < n ? first + BLOCK : n};
        itg_status status = itg_check_stop(how->stop, err);
        if (status != ITG_OK) return status;
        *definite = factor_block(&f);
        if (!*definite) return ITG_OK;
        (void)itg_parallel_for(n > 4 * BLOCK ? how->threads : 1, n - f.end, update_row, &f, NULL);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            h[i * n + j] = h[j * n + i];
    return ITG_OK;
}

typedef struct substitution {
    const double *l;
    double *x;
    int64_t n, columns;
    const itg_stop *stop;
} substitution;

/* Solves for some of the columns. */
static itg_status substitute(void *context, int worker, int64_t item, itg_error *err)
{
    const substitution *s = context;
    int64_t first = item * COLUMNS, n = s->n;
    int64_t count = s->columns - first < COLUMNS ? s->columns - first : COLUMNS;
    double *x = s->x + first;
    itg_status status = itg_check_stop(s->stop, err);
    (void)worker;
    if (status != ITG_OK) return status;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++)
            itg_row_subtract(x + i * s->columns, x + k * s->columns, s->l[i * n + k], count);
        for (int64_t j = 0; j < count; j++)
            x[i * s->columns + j] /= s->l[i * n + i];
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t k = n - 1; k > i; k--)
            itg_row_subtract(x + i * s->columns, x + k * s->columns, s->l[i * n + k], count);
        for (int64_t j = 0; j < count; j++)
            x[i * s->columns + j] /= s->l[i * n + i];
    }
    return ITG_OK;
}

itg_status itg_cholesky_solve(const double *l, int64_t n, double *x, int64_t columns,
                              const itg_solving *how, itg_error *err)
{
    substitution s = {l, x, n, columns, how->stop};
    return itg_parallel_for(how->threads, (columns + COLUMNS - 1) / COLUMNS, substitute, &s, err);
}
