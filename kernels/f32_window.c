#include "kernels/f32_window.h"

static itg_status read_plane(const itg_call *call, const itg_shape *shape, int64_t *channels,
                             int64_t *height, int64_t *width)
{
    if (shape->rank != 3 && shape->rank != 4)
        return itg_call_fail(call, ITG_UNSUPPORTED,
                             "only one or two spatial dimensions are computed");
    *channels = shape->dims[1];
    *height = shape->rank == 4 ? shape->dims[2] : 1;
    *width = shape->dims[shape->rank - 1];
    return ITG_OK;
}

/* Whether all coordinates p * stride + r * dilation stay below 2^40 and thus in int64. */
static bool is_small(const itg_window *w, const int64_t *pads)
{
    const int64_t limit = (int64_t)1 << 40;
    const int64_t outs[2] = {w->out_height, w->out_width};
    for (int d = 0; d < 2; ++d) {
        const int64_t k = w->kernel[d], s = w->stride[d], dilation = w->dilation[d];
        if (k < 1 || s < 1 || dilation < 1) return false;
        if (k > ITG_MAX_ELEMENTS || s > limit / (outs[d] + 1) || dilation > limit / k) return false;
    }
    for (int i = 0; i < 4; ++i)
        if (pads[i] <= -limit || pads[i] >= limit) return false;
    return true;
}

itg_status itg_f32_window(const itg_call *call, itg_window *w, int64_t *batch)
{
    const itg_attrs *attrs = call->attrs;
    const itg_shape *in = &call->inputs[0].shape, *out = &call->outputs[0].shape;
    itg_status status = read_plane(call, in, &w->channels, &w->height, &w->width);
    if (status == ITG_OK)
        status = read_plane(call, out, &w->out_channels, &w->out_height, &w->out_width);
    if (status != ITG_OK) return status;
    for (int d = 0; d < 2; ++d) {
        w->kernel[d] = attrs->kernel[d];
        w->stride[d] = attrs->stride[d];
        w->dilation[d] = attrs->dilation[d];
    }
    w->pad_top = attrs->pad[0];
    w->pad_left = attrs->pad[1];
    w->group = attrs->group;
    *batch = in->dims[0];
    if (in->rank != out->rank || in->dims[0] != out->dims[0] || !is_small(w, attrs->pad))
        return itg_call_fail(call, ITG_BAD_ARGUMENT,
                             "shape, kernel, stride, dilation and pads do not fit together");
    return ITG_OK;
}
