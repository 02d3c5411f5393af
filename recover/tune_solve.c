/* The linear system by conjugate gradients (Hestenes and Stiefel 1952), preconditioned by its
 * diagonal. The matrix is never made: it is multiplied row by row. */
#include "kernels/clones.h"
#include "kernels/math.h"
#include "recover/tune_rows.h"
#include <stdlib.h>
#include <string.h>

enum { LANES = 16, COLUMNS = 256, MOST_STEPS = 60 };
#define PRECISION 1e-5 /* of the squared residual, relative to that of 0 */

typedef struct solving {
    const itg_tune_problem *p;
    double ridge;     /* of the diagonal */
    double *products; /* [samples][ITG_TUNE_DIRECTIONS]: of a vector with the rows */
    const double *x;  /* [parameters]; NULL: of the first rows, and of squares */
    double *y, *squares;
} solving;

ITG_CLONES static double recover_dot(const float *a, const double *b, int64_t n)
{
    double sums[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            sums[k] += (double)a[i + k] * b[i + k];
    for (; i < n; i++)
        sum += (double)a[i] * b[i];
    for (int k = 0; k < LANES; k++)
        sum += sums[k];
    return sum;
}

ITG_CLONES static void recover_add_row(const float *a, double factor, double *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += (double)a[i] * factor;
}

ITG_CLONES static void recover_add_row_squares(const float *a, double *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += (double)a[i] * (double)a[i];
}

static const float *row_of(const itg_tune_rows *r, int64_t sample, int32_t k)
{
    return r->values + (sample * (1 + ITG_TUNE_DIRECTIONS) + k) * r->parameters;
}

static itg_status multiply_sample(void *context, int worker, int64_t item, itg_error *err)
{
    const solving *s = context;
    const itg_tune_rows *r = s->p->rows;
    const int64_t sample = s->p->first + item;
    (void)worker;
    (void)err;
    for (int32_t k = 0; k < r->counts[sample]; k++)
        s->products[sample * ITG_TUNE_DIRECTIONS + k] =
            recover_dot(row_of(r, sample, k + 1), s->x, r->parameters);
    return ITG_OK;
}

/* Sets some columns of y to the sum of rows times products, or of the first rows; then those of
 * squares, too. */
static itg_status add_columns(void *context, int worker, int64_t item, itg_error *err)
{
    const solving *s = context;
    const itg_tune_rows *r = s->p->rows;
    const int64_t first = item * COLUMNS, left = r->parameters - first,
                  count = left < COLUMNS ? left : COLUMNS;
    double *y = s->y + first;
    (void)worker;
    (void)err;
    memset(y, 0, (size_t)count * sizeof *y);
    for (int64_t sample = s->p->first; sample < s->p->end; sample++) {
        if (!s->x) recover_add_row(row_of(r, sample, 0) + first, 1, y, count);
        for (int32_t k = 0; k < r->counts[sample]; k++) {
            const float *row = row_of(r, sample, k + 1) + first;
            if (s->x)
                recover_add_row(row, s->products[sample * ITG_TUNE_DIRECTIONS + k], y, count);
            else
                recover_add_row_squares(row, s->squares + first, count);
        }
    }
    return ITG_OK;
}

static itg_status add_all(solving *s, itg_error *err)
{
    return itg_parallel_for(s->p->threads, (s->p->rows->parameters + COLUMNS - 1) / COLUMNS,
                            add_columns, s, err);
}

/* y = (R'R + added) x */
static itg_status multiply(solving *s, const double *added, const double *x, double *y,
                           itg_error *err)
{
    s->x = x;
    s->y = y;
    itg_status status = itg_check_stop(s->p->stop, err);
    if (status == ITG_OK)
        status = itg_parallel_for(s->p->threads, s->p->end - s->p->first, multiply_sample, s, err);
    if (status == ITG_OK) status = add_all(s, err);
    for (int64_t i = 0; i < s->p->rows->parameters && status == ITG_OK; i++)
        y[i] += added[i] * x[i];
    return status;
}

/* Vectors of the method, [parameters] each. */
typedef struct vectors {
    double *added, *inverse; /* to the diagonal; of the diagonal, 0: the parameter stays */
    double *residual, *direction, *product;
} vectors;

static double residual_size(const vectors *v, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += v->residual[i] * v->inverse[i] * v->residual[i];
    return sum;
}

/* Sets the diagonal, and the residual of x. *scale: the size of the residual of 0. */
static itg_status start(solving *s, const vectors *v, const double *x, double *scale,
                        itg_error *err)
{
    const int64_t n = s->p->rows->parameters;
    s->x = NULL;
    s->y = v->residual;
    s->squares = v->product;
    memset(v->product, 0, (size_t)n * sizeof *v->product);
    itg_status status = add_all(s, err);
    for (int64_t i = 0; i < n && status == ITG_OK; i++) {
        const bool moves = s->p->rows->prior[i] > 0;
        v->added[i] = s->ridge * v->product[i] + s->p->rows->prior[i];
        v->inverse[i] = moves ? 1 / (v->product[i] + v->added[i]) : 0;
        v->residual[i] = -v->residual[i];
    }
    *scale = residual_size(v, n);
    if (status == ITG_OK) status = multiply(s, v->added, x, v->product, err);
    for (int64_t i = 0; i < n && status == ITG_OK; i++) {
        v->residual[i] -= v->product[i];
        v->direction[i] = v->inverse[i] * v->residual[i];
    }
    return status;
}

static itg_status iterate(solving *s, const vectors *v, double enough, double *x, itg_error *err)
{
    const int64_t n = s->p->rows->parameters;
    double size = residual_size(v, n);
    itg_status status = ITG_OK;
    for (int k = 0; k < MOST_STEPS && size > enough && status == ITG_OK; k++) {
        double curvature = 0, before = size;
        status = multiply(s, v->added, v->direction, v->product, err);
        for (int64_t i = 0; i < n; i++)
            curvature += v->direction[i] * v->product[i];
        if (status != ITG_OK || !(curvature > 0)) break;
        for (int64_t i = 0; i < n; i++) {
            x[i] += size / curvature * v->direction[i];
            v->residual[i] -= size / curvature * v->product[i];
        }
        size = residual_size(v, n);
        for (int64_t i = 0; i < n; i++)
            v->direction[i] = v->inverse[i] * v->residual[i] + size / before * v->direction[i];
    }
    return status;
}

itg_status itg_tune_solve(const itg_tune_problem *p, double ridge, double *step, itg_error *err)
{
    const size_t n = (size_t)p->rows->parameters;
    double *memory = malloc(5 * n * sizeof *memory);
    solving s = {.p = p,
                 .ridge = ridge,
                 .products =
                     malloc((size_t)p->rows->samples * ITG_TUNE_DIRECTIONS * sizeof *s.products)};
    itg_status status = memory && s.products
                            ? ITG_OK
                            : itg_fail(err, ITG_NO_MEMORY, "no memory for scales and biases");
    if (status == ITG_OK) {
        const vectors v = {memory, memory + n, memory + 2 * n, memory + 3 * n, memory + 4 * n};
        double scale = 0;
        status = start(&s, &v, step, &scale, err);
        if (status == ITG_OK) status = iterate(&s, &v, scale * PRECISION, step, err);
    }
    free(s.products);
    free(memory);
    return status;
}

itg_tune_change itg_tune_predict(const itg_tune_problem *p, const double *step)
{
    double slope = 0, curvature = 0, squares[3] = {0};
    const double n = (double)(p->end - p->first);
    for (int64_t sample = p->first; sample < p->end; sample++) {
        const double own = recover_dot(row_of(p->rows, sample, 0), step, p->rows->parameters);
        double bend = 0;
        for (int32_t k = 0; k < p->rows->counts[sample]; k++) {
            const double x = recover_dot(row_of(p->rows, sample, k + 1), step, p->rows->parameters);
            bend += x * x / 2;
        }
        slope += own;
        curvature += bend;
        squares[0] += own * own;
        squares[1] += own * bend;
        squares[2] += bend * bend;
    }
    itg_tune_change c = {0};
    if (!(slope < 0) || !(curvature > 0)) return c;
    c.part = -slope / (2 * curvature) < 1 ? -slope / (2 * curvature) : 1;
    c.mean = (slope + curvature * c.part) * c.part / n;
    const double square =
        (squares[0] + (2 * squares[1] + squares[2] * c.part) * c.part) * c.part * c.part / n;
    c.error = itg_sqrt(square > c.mean * c.mean ? (square - c.mean * c.mean) / n : 0);
    return c;
}
