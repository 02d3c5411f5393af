/* Hardmax, LpNormalization, MeanVarianceNormalization, Det of float32, computed in double and
 * rounded once. */
#include "kernels/float_call.h"
#include "kernels/math.h"

#include <stdlib.h>

static bool find_lines(const itg_call *call, int64_t *size, int64_t *inner, int64_t *lines)
{
    const itg_shape *shape = &call->inputs[0].shape;
    const int64_t axis = call->attrs->axis;
    if (axis < 0 || axis >= shape->rank || !itg_shape_equal(shape, &call->outputs[0].shape))
        return false;
    *size = shape->dims[axis];
    *inner = itg_dims_product(shape, (int32_t)axis + 1, shape->rank);
    *lines = itg_dims_product(shape, 0, (int32_t)axis) * *inner;
    return true;
}

/* Writes 1 at the first largest element (NaN is larger than every number), else 0. */
static void hardmax_line(const float *x, float *y, int64_t step, int64_t size)
{
    int64_t best = 0;
    for (int64_t i = 1; i < size; ++i) {
        const float value = x[i * step], most = x[best * step];
        if (most == most && (value > most || value != value)) best = i;
    }
    for (int64_t i = 0; i < size; ++i)
        y[i * step] = i == best ? 1.0f : 0.0f;
}

/* Divides a line by its norm; if that is 0, the results are 0. */
static void normalize_line(const float *x, float *y, int64_t step, int64_t size, bool squares)
{
    double norm = 0.0;
    for (int64_t i = 0; i < size; ++i) {
        const double value = (double)x[i * step];
        norm += squares ? value * value : value < 0.0 ? -value : value;
    }
    if (squares) norm = itg_sqrt(norm);
    for (int64_t i = 0; i < size; ++i)
        y[i * step] = norm == 0.0 ? 0.0f : (float)((double)x[i * step] / norm);
}

itg_status itg_f32_lines(const itg_call *call)
{
    int64_t size, inner, lines;
    itg_status status = itg_call_need_f32(call, 1);
    if (status != ITG_OK) return status;
    if (!find_lines(call, &size, &inner, &lines))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its axis or output does not fit its input");
    for (int64_t line = 0; line < lines; ++line) {
        const int64_t first = line / inner * size * inner + line % inner;
        const float *x = (const float *)call->inputs[0].data + first;
        float *y = (float *)call->outputs[0].data + first;
        if (call->op == ITG_OP_HARDMAX)
            hardmax_line(x, y, inner, size);
        else
            normalize_line(x, y, inner, size, call->attrs->p == 2);
    }
    return ITG_OK;
}

/* Adds each x to its sum, or, with a mean, the squared distance from it. */
static void add_all(itg_strided s, const float *x, const double *mean, double *sums)
{
    if (!itg_strided_start(&s)) return;
    do {
        for (int64_t i = 0; i < itg_strided_run(&s); ++i) {
            const int64_t to = s.offset[1] + i * itg_strided_step(&s, 1);
            const double value = (double)x[s.offset[0] + i] - (mean ? mean[to] : 0.0);
            sums[to] += mean ? value * value : value;
        }
    } while (itg_strided_next(&s));
}

/* (x - mean) / (sqrt(variance) + 1e-9), mean and variance over the axes. */
itg_status itg_f32_mean_variance(const itg_call *call)
{
    itg_strided s;
    itg_shape reduced = call->inputs[0].shape;
    itg_status status = itg_call_need_f32(call, 1);
    if (status != ITG_OK) return status;
    for (int32_t i = 0; i < call->attrs->axes_count; ++i)
        if (call->attrs->axes[i] >= 0 && call->attrs->axes[i] < reduced.rank)
            reduced.dims[call->attrs->axes[i]] = 1;
    itg_tensor sums = {ITG_F32, reduced, NULL};
    itg_call sum = *call;
    sum.outputs = &sums;
    if (!itg_shape_equal(&call->inputs[0].shape, &call->outputs[0].shape) ||
        !itg_reduce_space(&sum, &s))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its axes do not fit input and output");
    const int64_t n = itg_elements(&reduced);
    const double count = n > 0 ? (double)(itg_elements(&call->inputs[0].shape) / n) : 1.0;
    double *mean = calloc((size_t)n + 1, 2 * sizeof *mean), *variance = mean + n;
    if (!mean) return itg_call_no_memory(call);
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    add_all(s, x, NULL, mean);
    for (int64_t i = 0; i < n; ++i)
        mean[i] /= count;
    add_all(s, x, mean, variance);
    if (itg_strided_start(&s)) {
        do {
            for (int64_t i = 0; i < itg_strided_run(&s); ++i) {
                const int64_t at = s.offset[0] + i, of = s.offset[1] + i * itg_strided_step(&s, 1);
                y[at] =
                    (float)(((double)x[at] - mean[of]) / (itg_sqrt(variance[of] / count) + 1e-9));
            }
        } while (itg_strided_next(&s));
    }
    free(mean);
    return ITG_OK;
}

/* ---- Det ---- */

static void swap_rows(double *m, int64_t n, int64_t a, int64_t b)
{
    for (int64_t c = 0; c < n; ++c) {
        const double kept = m[a * n + c];
        m[a * n + c] = m[b * n + c];
        m[b * n + c] = kept;
    }
}

static int64_t largest_in_column(const double *m, int64_t n, int64_t c)
{
    int64_t best = c;
    for (int64_t r = c + 1; r < n; ++r) {
        const double a = m[r * n + c], b = m[best * n + c];
        if ((a < 0.0 ? -a : a) > (b < 0.0 ? -b : b)) best = r;
    }
    return best;
}

/* Gaussian elimination with the largest pivot in each column. */
static double determinant(double *m, int64_t n)
{
    double product = 1.0;
    for (int64_t c = 0; c < n; ++c) {
        const int64_t pivot = largest_in_column(m, n, c);
        if (m[pivot * n + c] == 0.0) return 0.0;
        if (pivot != c) {
            swap_rows(m, n, pivot, c);
            product = -product;
        }
        product *= m[c * n + c];
        for (int64_t r = c + 1; r < n; ++r) {
            const double factor = m[r * n + c] / m[c * n + c];
            for (int64_t k = c; k < n; ++k)
                m[r * n + k] -= factor * m[c * n + k];
        }
    }
    return product;
}

itg_status itg_f32_det(const itg_call *call)
{
    const itg_shape *shape = &call->inputs[0].shape;
    itg_status status = itg_call_need_f32(call, 1);
    if (status != ITG_OK) return status;
    const int64_t n = shape->rank >= 2 ? shape->dims[shape->rank - 1] : -1;
    const int64_t count = shape->rank >= 2 ? itg_dims_product(shape, 0, shape->rank - 2) : 0;
    if (n < 0 || shape->dims[shape->rank - 2] != n ||
        itg_elements(&call->outputs[0].shape) != count)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its matrices and its output do not fit");
    double *matrix = itg_call_alloc(n * n, sizeof *matrix);
    if (!matrix) return itg_call_no_memory(call);
    for (int64_t i = 0; i < count; ++i) {
        const float *x = (const float *)call->inputs[0].data + i * n * n;
        for (int64_t k = 0; k < n * n; ++k)
            matrix[k] = (double)x[k];
        ((float *)call->outputs[0].data)[i] = (float)determinant(matrix, n);
    }
    free(matrix);
    return ITG_OK;
}
