/* BatchNormalization and LayerNormalization, computed in double and rounded once to float32. */
#include "kernels/float_call.h"
#include "kernels/math.h"
#include "kernels/math_lines.h"

#include <stdlib.h>

/* Mean and variance of `rows` rows of `count` elements each, `stride` apart: both sums in order. */
static void find_moments(const float *x, int64_t rows, int64_t stride, int64_t count, double *mean,
                         double *variance)
{
    const double n = (double)(rows * count);
    double sum = 0.0, squares = 0.0;
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = 0; i < count; ++i)
            sum += (double)x[r * stride + i];
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = 0; i < count; ++i) {
            const double difference = (double)x[r * stride + i] - sum / n;
            squares += difference * difference;
        }
    *mean = sum / n;
    *variance = squares / n;
}

/* y = (x - mean) / sqrt(var + eps) * scale + bias, from left to right; with training_mode of x's
 * own mean and variance. */
itg_status itg_f32_batch_normalization(const itg_call *call)
{
    itg_status status = itg_call_need_f32(call, 5);
    if (status != ITG_OK) return status;
    const itg_shape *shape = &call->inputs[0].shape;
    const int64_t batch = shape->rank > 0 ? shape->dims[0] : 1;
    const int64_t channels = shape->rank > 1 ? shape->dims[1] : 1;
    const int64_t inner = itg_dims_product(shape, 2, shape->rank);
    const float *in[5];
    for (int i = 0; i < 5; ++i) {
        in[i] = call->inputs[i].data;
        if (i > 0 && itg_elements(&call->inputs[i].shape) != channels)
            return itg_call_fail(call, ITG_BAD_ARGUMENT, "its parameters are not f32[channels]");
    }
    if (!itg_shape_equal(shape, &call->outputs[0].shape))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "output and input differ in shape");
    for (int32_t i = 1; i < call->output_count; ++i)
        if (call->outputs[i].data)
            return itg_call_fail(call, ITG_UNSUPPORTED, "training outputs are not computed");
    float *out = call->outputs[0].data;
    for (int64_t c = 0; c < channels; ++c) {
        const double scale = (double)in[1][c], bias = (double)in[2][c];
        double mean = (double)in[3][c], variance = (double)in[4][c];
        if (call->attrs->training_mode)
            find_moments(in[0] + c * inner, batch, channels * inner, inner, &mean, &variance);
        const double deviation = itg_sqrt(variance + (double)call->attrs->epsilon);
        for (int64_t n = 0; n < batch; ++n) {
            const float *x = in[0] + (n * channels + c) * inner;
            float *y = out + (n * channels + c) * inner;
            for (int64_t i = 0; i < inner; ++i)
                y[i] = (float)(((double)x[i] - mean) / deviation * scale + bias);
        }
    }
    return ITG_OK;
}

/* bias: NULL for none */
ITG_CLONES static void scale_row(const float *x, int64_t n, double mean, double deviation,
                                 const float *scale, const float *bias, float *y)
{
    if (bias)
        for (int64_t i = 0; i < n; ++i)
            y[i] = (float)(((double)x[i] - mean) / deviation * (double)scale[i] + (double)bias[i]);
    else
        for (int64_t i = 0; i < n; ++i)
            y[i] = (float)(((double)x[i] - mean) / deviation * (double)scale[i] + 0.0);
}

enum { ROWS = 4 }; /* one sum does not wait for the other */

/* find_moments of each of ROWS rows of n elements. */
static void find_moments_of_rows(const float *const x[ROWS], int64_t n, double mean[ROWS],
                                 double variance[ROWS])
{
    double sum[ROWS] = {0.0}, squares[ROWS] = {0.0};
    for (int64_t i = 0; i < n; ++i)
        for (int r = 0; r < ROWS; ++r)
            sum[r] += (double)x[r][i];
    for (int r = 0; r < ROWS; ++r)
        mean[r] = sum[r] / (double)n;
    for (int64_t i = 0; i < n; ++i)
        for (int r = 0; r < ROWS; ++r) {
            const double difference = (double)x[r][i] - mean[r];
            squares[r] += difference * difference;
        }
    for (int r = 0; r < ROWS; ++r)
        variance[r] = squares[r] / (double)n;
}

/* Broadcasts a parameter to the normalized dimensions [axis, rank). NULL: no memory, or *fits is
 * false. */
static float *spread(const itg_tensor *parameter, const itg_shape *shape, int32_t axis, bool *fits)
{
    itg_strided s;
    itg_shape normalized = {shape->rank - axis, {0}};
    for (int32_t d = axis; d < shape->rank; ++d)
        normalized.dims[d - axis] = shape->dims[d];
    float *out = itg_call_alloc(itg_elements(&normalized), sizeof *out);
    if (!out) return NULL;
    itg_strided_over(&s, &normalized);
    *fits = itg_strided_broadcast(&s, &parameter->shape);
    if (!*fits) {
        free(out);
        return NULL;
    }
    const float *in = parameter->data;
    if (itg_strided_start(&s)) {
        do {
            for (int64_t i = 0; i < itg_strided_run(&s); ++i)
                out[s.offset[0] + i * itg_strided_step(&s, 0)] =
                    in[s.offset[1] + i * itg_strided_step(&s, 1)];
        } while (itg_strided_next(&s));
    }
    return out;
}

static itg_status check_layer(const itg_call *call, int64_t rows)
{
    const int64_t axis = call->attrs->axis;
    const itg_tensor *bias = itg_call_input(call, 2);
    if (axis < 0 || axis >= call->inputs[0].shape.rank ||
        !itg_shape_equal(&call->inputs[0].shape, &call->outputs[0].shape) ||
        (bias && bias->dtype != ITG_F32))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "axis, bias or output do not fit its input");
    for (int32_t i = 1; i < call->output_count; ++i)
        if (call->outputs[i].data && (call->outputs[i].dtype != ITG_F32 || i > 2 ||
                                      itg_elements(&call->outputs[i].shape) != rows))
            return itg_call_fail(call, ITG_BAD_ARGUMENT, "a statistics output does not fit");
    return ITG_OK;
}

/* mean = sum / n; var = sum (x - mean)^2 / n, both in order; y = (x - mean) / sqrt(var + eps) *
 * scale + bias */
static void normalize_rows(const itg_call *call, int64_t rows, int64_t n, const float *scale,
                           const float *bias)
{
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    const itg_tensor *mean = itg_call_output(call, 1), *inverse = itg_call_output(call, 2);
    double means[ROWS], variances[ROWS];
    for (int64_t row = 0; row < rows; ++row) {
        const int64_t k = row % ROWS;
        const float *several[ROWS];
        for (int r = 0; r < ROWS && k == 0; ++r)
            several[r] = x + (row + r < rows ? row + r : row) * n;
        if (k == 0) find_moments_of_rows(several, n, means, variances);
        const double deviation = itg_sqrt(variances[k] + (double)call->attrs->epsilon);
        scale_row(x + row * n, n, means[k], deviation, scale, bias, y + row * n);
        if (mean) ((float *)mean->data)[row] = (float)means[k];
        if (inverse) ((float *)inverse->data)[row] = (float)(1.0 / deviation);
    }
}

itg_status itg_f32_layer_normalization(const itg_call *call)
{
    itg_status status = itg_call_need_f32(call, 2);
    if (status != ITG_OK) return status;
    const itg_shape *shape = &call->inputs[0].shape;
    const int32_t axis = (int32_t)call->attrs->axis;
    const bool inside = call->attrs->axis >= 0 && call->attrs->axis < shape->rank;
    const int64_t rows = inside ? itg_dims_product(shape, 0, axis) : 0;
    const itg_tensor *bias_input = itg_call_input(call, 2);
    status = check_layer(call, rows);
    if (status != ITG_OK) return status;
    bool scale_fits = true, bias_fits = true;
    float *scale = spread(&call->inputs[1], shape, axis, &scale_fits);
    float *bias = scale && bias_input ? spread(bias_input, shape, axis, &bias_fits) : NULL;
    if (!scale_fits || !bias_fits) {
        status = itg_call_fail(call, ITG_BAD_ARGUMENT, "scale or bias do not fit its input");
    } else if (!scale || (bias_input && !bias)) {
        status = itg_call_no_memory(call);
    } else {
        normalize_rows(call, rows, itg_dims_product(shape, axis, shape->rank), scale, bias);
    }
    free(bias);
    free(scale);
    return status;
}
