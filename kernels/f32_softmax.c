/* Softmax and LogSoftmax, computed in double and rounded once to float32. */
#include "kernels/float_call.h"
#include "kernels/math.h"
#include "kernels/math_lines.h"

#include <stdlib.h>

/* A row is filled up to a multiple of LANES, so that all of it is vectors; several rows are
 * computed together, so that one does not wait for the other. */
enum { LANES = 8, MOST_ROWS = 16, MOST_TERMS = 2048, SUMS = 4 };

typedef struct rows {
    int64_t n, all; /* elements, and with those that fill up */
    int64_t count;
    double most[MOST_ROWS], sum[MOST_ROWS];
    double *terms; /* [MOST_ROWS][all] */
} rows;

/* The largest element, as the largest of integers in the same order; *nans: how many NaN there are,
 * whose place in that order is another. */
ITG_CLONES static float largest_of(const float *x, int64_t n, int32_t *nans)
{
    int32_t most = INT32_MIN, count = 0, bits;
    float value;
    for (int64_t i = 0; i < n; ++i) {
        memcpy(&bits, &x[i], sizeof bits);
        const int32_t key = bits ^ (bits >> 31 & INT32_MAX);
        most = key > most ? key : most;
        count += x[i] != x[i];
    }
    most ^= most >> 31 & INT32_MAX;
    memcpy(&value, &most, sizeof value);
    *nans = count;
    return value;
}

/* A NaN is the largest where it is the first. */
static double most_of(const float *x, int64_t n)
{
    int32_t nans = 0;
    float most = largest_of(x, n, &nans);
    if (nans == 0) return (double)most;
    most = x[0];
    for (int64_t i = 1; i < n; ++i)
        most = x[i] > most ? x[i] : most;
    return (double)most;
}

/* terms = x - most. Returns how many of them are no ordinary exponents. */
ITG_CLONES static int64_t exponents_of(const float *x, int64_t n, double most, double *terms)
{
    int64_t others = 0;
    for (int64_t i = 0; i < n; ++i) {
        const double v = (double)x[i] - most;
        terms[i] = v;
        others += !(v >= ORDINARY_EXPONENT);
    }
    return others;
}

ITG_CLONES static void exp_of_terms(int64_t n, bool ordinary, double *terms)
{
    if (ordinary)
        for (int64_t i = 0; i < n; ++i)
            terms[i] = exp_of_ordinary(terms[i]);
    else
        for (int64_t i = 0; i < n; ++i)
            terms[i] = exp_of_sum(terms[i], 0.0);
}

ITG_CLONES static void divide_terms(const double *terms, double sum, int64_t n, float *y)
{
    for (int64_t i = 0; i < n; ++i)
        y[i] = (float)(terms[i] / sum);
}

/* Adds the terms of each row ascending. */
static void sum_rows(rows *r)
{
    for (int64_t k = 0; k < r->count; k += SUMS) {
        const double *row[SUMS];
        double sum[SUMS] = {0.0};
        for (int64_t l = 0; l < SUMS; ++l)
            row[l] = r->terms + (k + l < r->count ? k + l : k) * r->all;
        for (int64_t i = 0; i < r->n; ++i)
            for (int64_t l = 0; l < SUMS; ++l)
                sum[l] += row[l][i];
        for (int64_t l = 0; l < SUMS && k + l < r->count; ++l)
            r->sum[k + l] = sum[l];
    }
}

/* One of several tensors of rows, whose elements lie `inner` apart. */
static int64_t row_at(int64_t row, int64_t n, int64_t inner)
{
    return row / inner * n * inner + row % inner;
}

/* Softmax: exp(x - max), added ascending, by their sum. LogSoftmax: (x - max) - log(sum). line: of
 * one row. */
static void softmax_rows(itg_op op, const float *x, int64_t first, int64_t inner, rows *r,
                         float *line, float *y)
{
    const int64_t n = r->n;
    int64_t others = 0;
    for (int64_t k = 0; k < r->count; ++k) {
        const float *in = x + row_at(first + k, n, inner);
        double *terms = r->terms + k * r->all;
        for (int64_t i = 0; i < n && inner > 1; ++i)
            line[i] = in[i * inner];
        if (inner > 1) in = line;
        r->most[k] = most_of(in, n);
        others += exponents_of(in, n, r->most[k], terms);
        for (int64_t i = n; i < r->all; ++i)
            terms[i] = 0.0;
    }
    exp_of_terms(r->count * r->all, others == 0, r->terms);
    sum_rows(r);
    for (int64_t k = 0; k < r->count; ++k) {
        const float *in = x + row_at(first + k, n, inner);
        float *out = y + row_at(first + k, n, inner), *to = inner > 1 ? line : out;
        if (op == ITG_OP_LOG_SOFTMAX) {
            const double log_sum = itg_log(r->sum[k]);
            for (int64_t i = 0; i < n; ++i)
                to[i] = (float)(((double)in[i * inner] - r->most[k]) - log_sum);
        } else {
            divide_terms(r->terms + k * r->all, r->sum[k], n, to);
        }
        for (int64_t i = 0; i < n && inner > 1; ++i)
            out[i * inner] = line[i];
    }
}

itg_status itg_f32_softmax(const itg_call *call)
{
    itg_status status = itg_call_need_f32(call, 1);
    if (status != ITG_OK) return status;
    const itg_shape *shape = &call->inputs[0].shape;
    const int64_t axis = call->attrs->axis;
    if (axis < 0 || axis >= shape->rank || !itg_shape_equal(shape, &call->outputs[0].shape))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its axis or output does not fit its input");
    const int64_t outer = itg_dims_product(shape, 0, (int32_t)axis), n = shape->dims[axis];
    const int64_t inner = itg_dims_product(shape, (int32_t)axis + 1, shape->rank);
    rows r = {.n = n, .all = (n + LANES - 1) / LANES * LANES};
    int64_t at_once = n > 0 ? MOST_TERMS / r.all : 1;
    at_once = at_once < 1 ? 1 : at_once > MOST_ROWS ? MOST_ROWS : at_once;
    float *line = itg_call_alloc(n, sizeof *line);
    r.terms = line ? itg_call_alloc(at_once * r.all, sizeof *r.terms) : NULL;
    for (int64_t first = 0; first < outer * inner && n > 0 && r.terms; first += at_once) {
        r.count = outer * inner - first < at_once ? outer * inner - first : at_once;
        softmax_rows(call->op, call->inputs[0].data, first, inner, &r, line, call->outputs[0].data);
    }
    free(line);
    if (!r.terms) return itg_call_no_memory(call);
    free(r.terms);
    return ITG_OK;
}
