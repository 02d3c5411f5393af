/* ConvTranspose as a Conv of stride 1 and a rearrangement. With stride s, result f (before the pads
 * are cut off) is y[f] = sum of x[i] * w[k] over i * s + k * d = f. The results f = q * s + p of
 * one phase p read the taps k with k * d = p + t * s: y[q * s + p] = sum of x[q - t] * w[k]. So
 * each phase is a convolution of the taps t in descending order; the phases are output channels,
 * and Reshape, Transpose, Reshape put them side by side. A Slice takes the results that the pads
 * leave. */
#include "expand.h"

#define MAX_PHASES 65536 /* stride of the height times stride of the width, at most */

/* One dimension of the window; 0 is the height. */
typedef struct dimension {
    int64_t in, out, kernel, dilation, stride;
    int64_t unit; /* dilation of the Conv: the taps t are its multiples */
    int64_t taps; /* extent of the Conv's kernel */
    int64_t pad[2];
    int64_t rows;  /* extent of the Conv's output */
    int64_t begin; /* index of the first kept result among the interleaved phases */
} dimension;

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static dimension dimension_of(const itg_expansion *e, int i)
{
    const itg_attrs *a = &e->node.attrs;
    int at = i + (int)a->spatial_rank;
    dimension d = {.in = 1, .out = 1, .kernel = 1, .dilation = 1, .stride = 1, .unit = 1};
    if (at >= 2) {
        d.in = itg_shape_at(e, e->node.inputs[0]).dims[at];
        d.out = itg_shape_at(e, e->node.outputs[0]).dims[at];
        d.kernel = a->kernel[i];
        d.dilation = a->dilation[i];
        d.stride = a->stride[i];
        d.begin = a->pad[i];
    }
    if (d.stride == 1) d.unit = d.dilation;
    int64_t reach = (d.kernel - 1) * d.dilation / d.stride / d.unit * d.unit;
    int64_t first = d.begin / d.stride, end = (d.begin + d.out + d.stride - 1) / d.stride;
    d.taps = reach / d.unit + 1;
    d.pad[0] = most(reach - first, 0);
    first = reach - d.pad[0]; /* the Conv's first result */
    d.pad[1] = most(end - first - (d.in + d.pad[0] - reach), 0);
    d.rows = d.in + d.pad[0] + d.pad[1] - reach;
    d.begin -= first * d.stride;
    return d;
}

/* Returns the kernel index that phase p reads at the Conv's tap j; -1 if there is none. */
static int64_t tap(const dimension *d, int64_t phase, int64_t j)
{
    int64_t t = (d->taps - 1 - j) * d->unit, k = phase + t * d->stride;
    return k % d->dilation == 0 && k / d->dilation < d->kernel ? k / d->dilation : -1;
}

/* Rearranges weights [C, M/group, kh, kw] to [M * phases, C/group, taps, taps]; a channel's phases
 * are adjacent. */
static void fill_weights(const itg_expansion *e, const dimension d[2], const float *from, float *to)
{
    const itg_shape w = itg_shape_at(e, e->node.inputs[1]);
    int64_t group = e->node.attrs.group, inputs = w.dims[0] / group, outputs = w.dims[1];
    for (int64_t m = 0; m < outputs * group; ++m)
        for (int64_t phase = 0; phase < d[0].stride * d[1].stride; ++phase)
            for (int64_t c = 0; c < inputs; ++c)
                for (int64_t j = 0; j < d[0].taps * d[1].taps; ++j) {
                    int64_t y = tap(&d[0], phase / d[1].stride, j / d[1].taps);
                    int64_t x = tap(&d[1], phase % d[1].stride, j % d[1].taps);
                    int64_t channel = m / outputs * inputs + c;
                    int64_t k = (channel * outputs + m % outputs) * d[0].kernel;
                    *to++ = y < 0 || x < 0 ? 0.0f : from[(k + y) * d[1].kernel + x];
                }
}

static itg_id put_weights(itg_expansion *e, const dimension d[2])
{
    const itg_shape w = itg_shape_at(e, e->node.inputs[1]);
    int64_t group = e->node.attrs.group;
    itg_shape shape = {.rank = w.rank,
                       .dims = {w.dims[1] * group * d[0].stride * d[1].stride, w.dims[0] / group,
                                w.rank == 3 ? d[1].taps : d[0].taps, d[1].taps}};
    itg_id out = ITG_NONE;
    int64_t elements;
    const float *from = itg_need_floats(e, 1, "weights");
    if (!itg_shape_elements(&shape, &elements) || elements > (int64_t)1 << 28)
        itg_expansion_fail(e, ITG_LIMIT, "its phases have too many weights");
    float *to = from ? itg_put_floats(e, "weights", shape, &out) : NULL;
    if (to) fill_weights(e, d, from, to);
    return out;
}

static itg_id put_bias(itg_expansion *e, int64_t phases)
{
    itg_id out = ITG_NONE;
    if (itg_expanded_input(e, 2) == ITG_NONE) return ITG_NONE;
    int64_t count = itg_shape_at(e, itg_expanded_input(e, 2)).dims[0];
    const float *from = itg_need_floats(e, 2, "bias");
    float *to =
        from ? itg_put_floats(e, "bias", (itg_shape){.rank = 1, .dims = {count * phases}}, &out)
             : NULL;
    for (int64_t i = 0; to && i < count * phases; ++i)
        to[i] = from[i / phases];
    return out;
}

static itg_id put_conv(itg_expansion *e, const dimension d[2])
{
    itg_attrs attrs = itg_attrs_default(ITG_OP_CONV);
    attrs.group = e->node.attrs.group;
    for (int i = 0; i < 2; ++i) {
        attrs.dilation[i] = d[i].unit;
        attrs.pad[i] = d[i].pad[0];
        attrs.pad[2 + i] = d[i].pad[1];
    }
    itg_id weights = put_weights(e, d), bias = put_bias(e, d[0].stride * d[1].stride);
    return itg_put(e, &(itg_put_op){.suffix = "phases", .op = ITG_OP_CONV, .attrs = &attrs},
                   bias == ITG_NONE ? 2 : 3, (itg_id[]){itg_expanded_input(e, 0), weights, bias});
}

/* Rearranges [N, M * sh * sw, H, W] to [N, M, H * sh, W * sw]. */
static itg_id interleave(itg_expansion *e, const dimension d[2], itg_id x, itg_shape *y)
{
    static const int64_t image[] = {0, 1, 4, 2, 5, 3}, line[] = {0, 1, 3, 2};
    itg_shape apart = {
        .rank = 6,
        .dims = {y->dims[0], y->dims[1], d[0].stride, d[1].stride, d[0].rows, d[1].rows}};
    bool is_line = y->rank == 3;
    if (is_line)
        apart = (itg_shape){.rank = 4, .dims = {y->dims[0], y->dims[1], d[1].stride, d[1].rows}};
    if (d[0].stride * d[1].stride == 1) return x;
    x = itg_put_reshape(e, "apart", x, apart);
    x = itg_put_transpose(e, "order", x, is_line ? line : image);
    return itg_put_reshape(e, "image", x, *y);
}

void itg_expand_conv_transpose(itg_expansion *e)
{
    dimension d[2] = {dimension_of(e, 0), dimension_of(e, 1)};
    itg_shape out = itg_shape_at(e, e->node.outputs[0]), all = out;
    int64_t begin[ITG_MAX_RANK] = {0};
    if (d[0].stride * d[1].stride > MAX_PHASES) {
        itg_expansion_fail(e, ITG_LIMIT, "strides [%lld,%lld] make too many phases",
                           (long long)d[0].stride, (long long)d[1].stride);
        return;
    }
    for (int i = 4 - out.rank; i < 2; ++i) {
        all.dims[out.rank - 2 + i] = d[i].rows * d[i].stride;
        begin[out.rank - 2 + i] = d[i].begin;
    }
    itg_id x = interleave(e, d, put_conv(e, d), &all);
    itg_expanded_output(e, 0, itg_put_slice(e, "slice", x, begin, out));
}
