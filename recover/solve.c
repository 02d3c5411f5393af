#include "recover/solve.h"
#include "recover/rows.h"
#include "kernels/math.h"

enum { BLOCK = 64, ROWS = 32 /* of an item */, COLUMNS = 32, PART = ITG_ROWS };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Subtracts rows from each vector of a list, all of the same rows. */
typedef struct subtraction {
    const double *row[PART];
    int32_t rows, count; /* count: of vectors */
    itg_rows vector[ROWS];
} subtraction;

/* Vectors are written before they are read: there is nothing else to set. */
static void begin(subtraction *s, int64_t rows)
{
    s->rows = (int32_t)rows;
    s->count = 0;
}

/* Adds a vector y, from which factor[k * step] * row[k] is to be subtracted. */
static void add_vector(subtraction *s, double *y, const double *factor, int64_t step)
{
    itg_rows *r = &s->vector[s->count++];
    r->y = y;
    r->count = s->rows;
    for (int32_t k = 0; k < s->rows; k++) {
        r->at[k] = k;
        r->factor[k] = factor[k * step];
    }
}

/* The factor is built transposed, in the upper triangle: later rows subtract multiples of row k of
 * U = L'. The rows of a block are computed first, then their effect on all rows below. Each element
 * processes k in ascending order. What becomes of the lower triangle meanwhile does not matter. */
typedef struct factor {
    double *h;
    int64_t n, first, end; /* rows of the block */
} factor;

/* Subtracts what rows [from, to) of U, at most PART, do to rows [first, end), at most ROWS. */
static void update_rows(const factor *f, int64_t from, int64_t to, int64_t first, int64_t end)
{
    const int64_t n = f->n;
    subtraction s;
    begin(&s, to - from);
    for (int64_t k = from; k < to; k++)
        s.row[k - from] = f->h + k * n + first;
    for (int64_t i = first; i < end; i++)
        add_vector(&s, f->h + i * n + first, f->h + from * n + i, n);
    itg_rows_subtract(s.row, s.vector, s.count, n - first);
}

static bool factor_part(const factor *f, int64_t first, int64_t end)
{
    double *h = f->h;
    for (int64_t k = first; k < end; k++) {
        double pivot = h[k * f->n + k];
        if (!(pivot > 0)) return false;
        double root = itg_sqrt(pivot);
        for (int64_t j = k; j < f->n; j++)
            h[k * f->n + j] /= root;
        for (int64_t i = k + 1; i < end; i++)
            itg_row_subtract(h + i * f->n + i, h + k * f->n + i, h[k * f->n + i], f->n - i);
    }
    return true;
}

static bool factor_block(const factor *f)
{
    for (int64_t k = f->first, next; k < f->end; k = next) {
        next = least(k + PART, f->end);
        if (!factor_part(f, k, next)) return false;
        for (int64_t i = next; i < f->end; i += ROWS)
            update_rows(f, k, next, i, least(i + ROWS, f->end));
    }
    return true;
}

static itg_status update_item(void *context, int worker, int64_t item, itg_error *err)
{
    const factor *f = context;
    const int64_t i = f->end + item * ROWS;
    (void)worker;
    (void)err;
    for (int64_t k = f->first; k < f->end; k += PART)
        update_rows(f, k, least(k + PART, f->end), i, least(i + ROWS, f->n));
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
        (void)itg_parallel_for(n > 4 * BLOCK ? how->threads : 1, (n - f.end + ROWS - 1) / ROWS,
                               update_item, &f, NULL);
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

/* Subtracts multiples of rows [from, to) of x, at most PART, the last first if `down`, from rows
 * [first, end), at most ROWS. x: `count` columns. */
static void substitute_rows(const substitution *s, double *x, int64_t count, bool down,
                            int64_t from, int64_t to, int64_t first, int64_t end)
{
    subtraction some;
    begin(&some, to - from);
    const int64_t k = down ? to - 1 : from, step = down ? -1 : 1;
    for (int32_t i = 0; i < some.rows; i++)
        some.row[i] = x + (k + step * i) * s->columns;
    for (int64_t i = first; i < end; i++)
        add_vector(&some, x + i * s->columns, s->l + i * s->n + k, step);
    itg_rows_subtract(some.row, some.vector, some.count, count);
}

static void divide_row(const substitution *s, double *x, int64_t count, int64_t i)
{
    for (int64_t j = 0; j < count; j++)
        x[i * s->columns + j] /= s->l[i * s->n + i];
}

/* Solves for some of the columns. */
static itg_status substitute(void *context, int worker, int64_t item, itg_error *err)
{
    const substitution *s = context;
    int64_t first = item * COLUMNS, n = s->n, end;
    int64_t count = least(s->columns - first, COLUMNS);
    double *x = s->x + first;
    itg_status status = itg_check_stop(s->stop, err);
    (void)worker;
    if (status != ITG_OK) return status;
    for (int64_t i = 0; i < n; i = end) {
        end = least(i + PART, n);
        for (int64_t k = 0; k < i; k += PART)
            substitute_rows(s, x, count, false, k, k + PART, i, end);
        for (int64_t row = i; row < end; row++) {
            substitute_rows(s, x, count, false, i, row, row, row + 1);
            divide_row(s, x, count, row);
        }
    }
    for (int64_t i = n; i > 0; i = end) {
        end = i > PART ? i - PART : 0;
        for (int64_t k = n; k > i; k = k - PART > i ? k - PART : i)
            substitute_rows(s, x, count, true, k - PART > i ? k - PART : i, k, end, i);
        for (int64_t row = i - 1; row >= end; row--) {
            substitute_rows(s, x, count, true, row + 1, i, row, row + 1);
            divide_row(s, x, count, row);
        }
    }
    return ITG_OK;
}

itg_status itg_cholesky_solve(const double *l, int64_t n, double *x, int64_t columns,
                              const itg_solving *how, itg_error *err)
{
    substitution s = {l, x, n, columns, how->stop};
    return itg_parallel_for(how->threads, (columns + COLUMNS - 1) / COLUMNS, substitute, &s, err);
}
