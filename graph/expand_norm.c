/* Normalizations. With e = 1 along the axes that are not the channels':
 *   Instance, Group  LayerNormalization of rows [N, groups, rest], then Mul and Add per channel
 *   RMS              the first half of a LayerNormalization of (x, -x), whose mean is 0
 *   LRN              x * exp(-beta * log(k + alpha / size * sum of x * x over the window)) */
#include "expand.h"

/* Makes a constant with a number a channel from `count` numbers for equal groups of channels. */
static itg_id channel_constant(itg_expansion *e, int32_t slot, const char *what, itg_shape x)
{
    itg_shape shape = {.rank = x.rank - 1};
    itg_id out = ITG_NONE;
    const float *from = itg_need_floats(e, slot, what);
    for (int32_t i = 0; i < shape.rank; ++i)
        shape.dims[i] = i == 0 ? x.dims[1] : 1;
    float *to = from ? itg_put_floats(e, what, shape, &out) : NULL;
    if (!to) return ITG_NONE;
    int64_t share = x.dims[1] / itg_value_elements(e->g, itg_expanded_input(e, slot));
    for (int64_t c = 0; c < x.dims[1]; ++c)
        to[c] = from[c / share];
    return out;
}

itg_id itg_put_ones(itg_expansion *e, int64_t count)
{
    itg_id out;
    float *data = itg_put_floats(e, "ones", (itg_shape){.rank = 1, .dims = {count}}, &out);
    for (int64_t i = 0; data && i < count; ++i)
        data[i] = 1.0f;
    return out;
}

void itg_expand_group_normalization(itg_expansion *e)
{
    itg_id x = itg_expanded_input(e, 0);
    itg_shape shape = itg_shape_at(e, x);
    int64_t elements = itg_value_elements(e->g, x);
    int64_t groups = e->node.op == ITG_OP_GROUP_NORMALIZATION ? e->node.attrs.size : shape.dims[1];
    itg_shape rows = {.rank = 3,
                      .dims = {shape.dims[0], groups, elements / (shape.dims[0] * groups)}};
    itg_attrs attrs = itg_attrs_default(ITG_OP_LAYER_NORMALIZATION);
    attrs.epsilon = e->node.attrs.epsilon;
    itg_id scale = channel_constant(e, 1, "scale", shape);
    itg_id bias = channel_constant(e, 2, "bias", shape);
    x = itg_put_reshape(e, "rows", x, rows);
    x = itg_put(e,
                &(itg_put_op){.suffix = "norm", .op = ITG_OP_LAYER_NORMALIZATION, .attrs = &attrs},
                2, (itg_id[]){x, itg_put_ones(e, rows.dims[2])});
    x = itg_put_reshape(e, "image", x, shape);
    x = itg_put_simple(e, "mul", ITG_OP_MUL, x, scale);
    itg_expanded_output(e, 0, itg_put_simple(e, "add", ITG_OP_ADD, x, bias));
}

/* x * (mean(x * x) + epsilon) ^ -1/2 * scale, out of Mul, ReduceMean, Sqrt... */
static void expand_rms_written_out(itg_expansion *e)
{
    itg_id x = itg_expanded_input(e, 0);
    itg_attrs attrs = itg_attrs_default(ITG_OP_REDUCE_MEAN);
    for (int64_t i = e->node.attrs.axis; i < itg_shape_at(e, x).rank; ++i)
        attrs.axes[attrs.axes_count++] = i;
    itg_id epsilon = itg_put_number(e, "epsilon", (double)e->node.attrs.epsilon);
    itg_id r = itg_put_simple(e, "squares", ITG_OP_MUL, x, x);
    r = itg_put(e, &(itg_put_op){.suffix = "mean", .op = ITG_OP_REDUCE_MEAN, .attrs = &attrs}, 1,
                &r);
    r = itg_put_simple(e, "add", ITG_OP_ADD, r, epsilon);
    r = itg_put_simple(e, "root", ITG_OP_SQRT, r, ITG_NONE);
    r = itg_put_simple(e, "inverse", ITG_OP_RECIPROCAL, r, ITG_NONE);
    x = itg_put_simple(e, "norm", ITG_OP_MUL, x, r);
    itg_expanded_output(e, 0, itg_put_simple(e, "mul", ITG_OP_MUL, x, itg_expanded_input(e, 1)));
}

/* The scale [n], or one number for all, followed by n zeros: the second half is not read. */
static itg_id scale_and_zeros(itg_expansion *e, int64_t n)
{
    itg_id out;
    int64_t given = itg_value_elements(e->g, itg_expanded_input(e, 1));
    const float *from = itg_need_floats(e, 1, "scale");
    float *to = itg_put_floats(e, "scale", (itg_shape){.rank = 1, .dims = {2 * n}}, &out);
    for (int64_t i = 0; to && i < 2 * n; ++i)
        to[i] = i >= n ? 0.0f : from[given == 1 ? 0 : i];
    return out;
}

void itg_expand_rms_normalization(itg_expansion *e)
{
    itg_id x = itg_expanded_input(e, 0), scale = itg_expanded_input(e, 1);
    const itg_shape shape = itg_shape_at(e, x);
    const int64_t n = shape.dims[shape.rank - 1], first[ITG_MAX_RANK] = {0};
    const int64_t given = itg_value_elements(e->g, scale);
    if (e->node.attrs.axis != shape.rank - 1 || !itg_is_float_constant(e->g, scale) ||
        (given != 1 && given != n)) {
        expand_rms_written_out(e);
        return;
    }
    itg_attrs attrs = itg_attrs_default(ITG_OP_LAYER_NORMALIZATION);
    attrs.axis = e->node.attrs.axis;
    attrs.epsilon = e->node.attrs.epsilon;
    itg_id minus = itg_put_simple(e, "minus", ITG_OP_NEG, x, ITG_NONE);
    x = itg_put_concat(e, "both", attrs.axis, 2, (itg_id[]){x, minus});
    x = itg_put(e,
                &(itg_put_op){.suffix = "norm", .op = ITG_OP_LAYER_NORMALIZATION, .attrs = &attrs},
                2, (itg_id[]){x, scale_and_zeros(e, n)});
    itg_expanded_output(e, 0, itg_put_slice(e, "half", x, first, shape));
}

/* Weights [C,C,1(,1)] of a Conv that sums each channel's window. */
static itg_id window_weights(itg_expansion *e, int64_t channels, int32_t rank)
{
    const itg_attrs *a = &e->node.attrs;
    itg_shape shape = {.rank = rank, .dims = {channels, channels, 1, 1}};
    itg_id out;
    float *w = itg_put_floats(e, "window", shape, &out);
    int64_t before = (a->size - 1) / 2, behind = a->size - 1 - before;
    for (int64_t c = 0; w && c < channels; ++c)
        for (int64_t k = 0; k < channels; ++k)
            w[c * channels + k] = k >= c - before && k <= c + behind
                                      ? (float)((double)a->alpha / (double)a->size)
                                      : 0.0f;
    return out;
}

void itg_expand_lrn(itg_expansion *e)
{
    itg_id x = itg_expanded_input(e, 0), bias;
    itg_shape shape = itg_shape_at(e, x);
    itg_id weights = window_weights(e, shape.dims[1], shape.rank);
    float *k = itg_put_floats(e, "bias", (itg_shape){.rank = 1, .dims = {shape.dims[1]}}, &bias);
    for (int64_t c = 0; k && c < shape.dims[1]; ++c)
        k[c] = e->node.attrs.scale;
    itg_id minus = itg_put_number(e, "minus_beta", -(double)e->node.attrs.beta);
    itg_id s = itg_put_simple(e, "squares", ITG_OP_MUL, x, x);
    s = itg_put(e, &(itg_put_op){.suffix = "sum", .op = ITG_OP_CONV}, 3,
                (itg_id[]){s, weights, bias});
    s = itg_put_simple(e, "log", ITG_OP_LOG, s, ITG_NONE);
    s = itg_put_simple(e, "power", ITG_OP_MUL, s, minus);
    s = itg_put_simple(e, "factor", ITG_OP_EXP, s, ITG_NONE);
    itg_expanded_output(e, 0, itg_put_simple(e, "mul", ITG_OP_MUL, x, s));
}
