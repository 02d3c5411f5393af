/* Depthwise convolution: for each tap, a whole row of outputs at once. A tap's valid columns are an interval, so padding costs
 * nothing and needs no copy of the input. */
#include "kernels/clones.h"
#include "kernels/int_conv.h"
#include <string.h>

int64_t itg_conv_depthwise_bytes(const itg_window *w)
{
    return w->out_height * w->out_width * (int64_t)sizeof(int64_t) +
           (w->height * w->width + w->kernel[0] * w->kernel[1]) * (int64_t)sizeof(int16_t);
}

/* acc[i] += x[i * stride] * weight */
ITG_CLONES
static void add_tap32(int32_t *acc, const int16_t *x, int64_t stride, int64_t n, int16_t weight)
{
    if (stride == 1) {
        for (int64_t i = 0; i < n; i++)
            acc[i] = (int32_t)((uint32_t)acc[i] + (uint32_t)(x[i] * weight));
    } else {
        for (int64_t i = 0; i < n; i++)
            acc[i] = (int32_t)((uint32_t)acc[i] + (uint32_t)(x[i * stride] * weight));
    }
}

ITG_CLONES
static void add_tap64(int64_t *acc, const int16_t *x, int64_t stride, int64_t n, int16_t weight)
{
    for (int64_t i = 0; i < n; i++)
        acc[i] += x[i * stride] * weight;
}

/* Outputs [*begin, *end) of `outputs` whose tap at `offset` lies within [0, size). */
static void valid_range(int64_t offset, int64_t stride, int64_t size, int64_t outputs,
                        int64_t *begin, int64_t *end)
{
    *begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    *end = offset >= size ? 0 : (size - 1 - offset) / stride + 1;
    if (*end > outputs) *end = outputs;
}

/* Adds every tap of one filter; the plane of sums is 32 or 64 bits wide. */
static void add_filter(const itg_conv_args *args, const int16_t *plane, const int16_t *taps,
                       void *acc)
{
    const itg_window *w = args->window;
    for (int64_t r = 0; r < w->kernel[0]; r++) {
        int64_t p0, p1, top = r * w->dilation[0] - w->pad_top;
        valid_range(top, w->stride[0], w->height, w->out_height, &p0, &p1);
        for (int64_t p = p0; p < p1; p++) {
            const int16_t *line = plane + (p * w->stride[0] + top) * w->width;
            for (int64_t s = 0; s < w->kernel[1]; s++) {
                int64_t q0, q1, left = s * w->dilation[1] - w->pad_left;
                valid_range(left, w->stride[1], w->width, w->out_width, &q0, &q1);
                if (q0 >= q1) continue;
                const int16_t *x = line + q0 * w->stride[1] + left;
                int64_t at = p * w->out_width + q0;
                int16_t tap = taps[r * w->kernel[1] + s];
                if (args->narrow)
                    add_tap32((int32_t *)acc + at, x, w->stride[1], q1 - q0, tap);
                else
                    add_tap64((int64_t *)acc + at, x, w->stride[1], q1 - q0, tap);
            }
        }
    }
}

void itg_conv_depthwise(const itg_conv_args *args, void *scratch)
{
    const itg_window *w = args->window;
    const int64_t area = w->height * w->width, pixels = w->out_height * w->out_width;
    const int64_t taps = w->kernel[0] * w->kernel[1], filters = w->out_channels / w->group;
    int16_t *plane = (int16_t *)(void *)((int64_t *)scratch + pixels), *filter = plane + area;
    for (int64_t k = 0; k < w->out_channels; k++) {
        if (k % filters == 0)
            itg_pack_row(args->x, k / filters * area, area, args->px.subtract, plane);
        itg_pack_row(args->weights, k * taps, taps, args->pw.subtract, filter);
        memset(scratch, 0, (size_t)pixels * sizeof(int64_t));
        add_filter(args, plane, filter, scratch);
        if (args->narrow) itg_conv_emit32(args, k, 0, pixels, scratch);
        else itg_conv_emit64(args, k, 0, pixels, scratch);
    }
}
