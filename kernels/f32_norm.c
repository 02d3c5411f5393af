/* BatchNormalization, LayerNormalization, Softmax, LogSoftmax, computed in double and rounded once
 * to float32. */
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

/* mean = sum / n; var = sum (x - mean)^2 / n, both in order; y = (x - mean) / sqrt(var + eps) *
 * scale + bias */
static void normalize(const float *x, int64_t n, double epsilon, const float *scale,
                      const float *bias, float *y, double *mean_out, double *inverse_out)
{
    double mean, variance;
    find_moments(x, 1, n, n, &mean, &variance);
    const double deviation = itg_sqrt(variance + epsilon);
    scale_row(x, n, mean, deviation, scale, bias, y);
    *mean_out = mean;
    *inverse_out = 1.0 / deviation;
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

static void normalize_rows(const itg_call *call, int64_t rows, int64_t n, const float *scale,
                           const float *bias)
{
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    const itg_tensor *mean = itg_call_output(call, 1), *inverse = itg_call_output(call, 2);
    for (int64_t row = 0; row < rows; ++row, x += n, y += n) {
        double mean_value, inverse_value;
        normalize(x, n, (double)call->attrs->epsilon, scale, bias, y, &mean_value, &inverse_value);
        if (mean) ((float *)mean->data)[row] = (float)mean_value;
        if (inverse) ((float *)inverse->data)[row] = (float)inverse_value;
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

ITG_CLONES static void exp_terms_less(double most, int64_t n, double *terms)
{
    for (int64_t i = 0; i < n; ++i)
        terms[i] = exp_of_sum(terms[i] - most, 0.0);
}

ITG_CLONES static void divide_terms(double sum, int64_t n, double *terms)
{
    for (int64_t i = 0; i < n; ++i)
        terms[i] = terms[i] / sum;
}

/* Softmax: exp(x - max), added ascending, by their sum. LogSoftmax: (x - max) - log(sum). terms:
 * [n]. */
static void softmax_row(itg_op op, const float *x, int64_t n, int64_t stride, double *terms,
                        float *y)
{
    double most = (double)x[0], sum = 0.0;
    for (int64_t i = 0; i < n; ++i) {
        terms[i] = (double)x[i * stride];
        most = terms[i] > most ? terms[i] : most;
    }
    exp_terms_less(most, n, terms);
    for (int64_t i = 0; i < n; ++i)
        sum += terms[i];
    if (op == ITG_OP_LOG_SOFTMAX) {
        const double log_sum = itg_log(sum);
        for (int64_t i = 0; i < n; ++i)
            y[i * stride] = (float)(((double)x[i * stride] - most) - log_sum);
        return;
    }
    divide_terms(sum, n, terms);
    for (int64_t i = 0; i < n; ++i)
        y[i * stride] = (float)terms[i];
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
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    double *terms = itg_call_alloc(n, sizeof *terms);
    if (!terms) return itg_call_no_memory(call);
    for (int64_t o = 0; o < outer; ++o, x += n * inner, y += n * inner)
        for (int64_t i = 0; i < inner; ++i)
            softmax_row(call->op, x + i, n, inner, terms, y + i);
    free(terms);
    return ITG_OK;
}
