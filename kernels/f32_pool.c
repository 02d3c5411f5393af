/* Pooling. MaxPool starts at -inf and ignores padding; NaN in a window is its result. An average is
 * a sum in double, kernel row then column ascending, divided by the count in double and rounded
 * once. Outputs of a row are computed in parallel. */
#include "kernels/f32_window.h"

#include <math.h> /* INFINITY */
#include <stdlib.h>

static void max_row(const itg_window *w, const float *x, int64_t p, float *y)
{
    const int64_t top = p * w->stride[0] - w->pad_top;
    const itg_taps rows = itg_valid_taps(top, w->dilation[0], w->kernel[0], w->height);
    for (int64_t q = 0; q < w->out_width; ++q)
        y[q] = -INFINITY;
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const float *row = x + (top + r * w->dilation[0]) * w->width;
        for (int64_t s = 0; s < w->kernel[1]; ++s) {
            const int64_t shift = s * w->dilation[1] - w->pad_left, stride = w->stride[1];
            const itg_taps valid = itg_valid_taps(shift, stride, w->out_width, w->width);
            for (int64_t q = valid.begin; q < valid.end; ++q) {
                const float value = row[q * stride + shift];
                y[q] = value > y[q] || value != value ? value : y[q];
            }
        }
    }
}

static itg_status pool_window(const itg_call *call, itg_window *w, int64_t *batch)
{
    itg_status status = itg_call_need_f32(call, 1);
    if (status == ITG_OK) status = itg_f32_window(call, w, batch);
    if (status == ITG_OK && w->channels != w->out_channels)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "input and output differ in channels");
    return status;
}

itg_status itg_f32_max_pool(const itg_call *call)
{
    itg_window w;
    int64_t batch;
    itg_status status = pool_window(call, &w, &batch);
    if (status != ITG_OK) return status;
    if (itg_call_output(call, 1))
        return itg_call_fail(call, ITG_UNSUPPORTED, "its second output, indices, is not computed");
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    for (int64_t c = 0; c < batch * w.channels; ++c, x += w.height * w.width)
        for (int64_t p = 0; p < w.out_height; ++p, y += w.out_width)
            max_row(&w, x, p, y);
    return ITG_OK;
}

/* Returns the divisor of a window along one dimension: its taps inside the input or, with padding
 * counted, inside input and padding (a window of ceil_mode may reach beyond both). */
static int64_t divisor(const itg_window *w, int d, int64_t out, int64_t pad_begin, int64_t pad_end,
                       bool count_pads)
{
    const int64_t first = out * w->stride[d] - pad_begin;
    const int64_t size = d == 0 ? w->height : w->width;
    const itg_taps inside = count_pads ? itg_valid_taps(first + pad_begin, w->dilation[d],
                                                        w->kernel[d], size + pad_begin + pad_end)
                                       : itg_valid_taps(first, w->dilation[d], w->kernel[d], size);
    return inside.end - inside.begin;
}

static void sum_row(const itg_window *w, const float *x, int64_t p, double *sums)
{
    const int64_t top = p * w->stride[0] - w->pad_top;
    const itg_taps rows = itg_valid_taps(top, w->dilation[0], w->kernel[0], w->height);
    for (int64_t q = 0; q < w->out_width; ++q)
        sums[q] = 0.0;
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const float *row = x + (top + r * w->dilation[0]) * w->width;
        for (int64_t s = 0; s < w->kernel[1]; ++s) {
            const int64_t shift = s * w->dilation[1] - w->pad_left, stride = w->stride[1];
            const itg_taps valid = itg_valid_taps(shift, stride, w->out_width, w->width);
            for (int64_t q = valid.begin; q < valid.end; ++q)
                sums[q] += (double)row[q * stride + shift];
        }
    }
}

itg_status itg_f32_average_pool(const itg_call *call)
{
    itg_window w;
    int64_t batch;
    itg_status status = pool_window(call, &w, &batch);
    if (status != ITG_OK) return status;
    const itg_attrs *attrs = call->attrs;
    const bool count_pads = attrs->count_include_pad;
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    double *sums = itg_call_alloc(w.out_width, sizeof *sums);
    if (!sums) return itg_call_no_memory(call);
    for (int64_t c = 0; c < batch * w.channels; ++c, x += w.height * w.width)
        for (int64_t p = 0; p < w.out_height; ++p, y += w.out_width) {
            const int64_t rows = divisor(&w, 0, p, w.pad_top, attrs->pad[2], count_pads);
            sum_row(&w, x, p, sums);
            for (int64_t q = 0; q < w.out_width; ++q) {
                const int64_t columns = divisor(&w, 1, q, w.pad_left, attrs->pad[3], count_pads);
                const double count = (double)(rows * columns);
                y[q] = count > 0.0 ? (float)(sums[q] / count) : 0.0f;
            }
        }
    free(sums);
    return ITG_OK;
}

itg_status itg_f32_global_pool(const itg_call *call)
{
    itg_status status = itg_call_need_f32(call, 1);
    if (status != ITG_OK) return status;
    const itg_shape *shape = &call->inputs[0].shape;
    const int64_t planes = shape->rank > 1 ? shape->dims[0] * shape->dims[1] : 0;
    if (shape->rank < 3 || itg_elements(&call->outputs[0].shape) != planes)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its output is not one element a channel");
    const int64_t size = itg_dims_product(shape, 2, shape->rank);
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    for (int64_t c = 0; c < planes; ++c, x += size) {
        if (call->op == ITG_OP_GLOBAL_MAX_POOL) {
            float most = -INFINITY;
            for (int64_t i = 0; i < size; ++i)
                most = x[i] > most || x[i] != x[i] ? x[i] : most;
            y[c] = most;
        } else {
            double sum = 0.0;
            for (int64_t i = 0; i < size; ++i)
                sum += (double)x[i];
            y[c] = (float)(sum / (double)size);
        }
    }
    return ITG_OK;
}
