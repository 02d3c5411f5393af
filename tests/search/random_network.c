#include "random_net.h"
#include "random_network.h"
#include "sim/sim.h"
#include "kernels/float_ops.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Elements beyond which nothing is made larger; images in one tensor. */
enum { LARGE = 1500, MOST_IMAGES = 6 };

int64_t pick(net *n, int64_t lo, int64_t hi)
{
    return lo + (int64_t)itg_rng_below(&n->rng, (uint64_t)(hi - lo + 1));
}
static float real(net *n)
{
    return (float)(itg_rng_unit(&n->rng) * 2 - 1);
}

itg_id constant(net *n, int32_t rank, const int64_t *dims, float spread)
{
    itg_shape shape = {.rank = rank};
    int64_t elements = 1;
    itg_id id = ITG_NONE;
    for (int32_t i = 0; i < rank; i++) {
        shape.dims[i] = dims[i];
        elements *= dims[i];
    }
    float *data = malloc(sizeof *data * (size_t)elements);
    for (int64_t i = 0; i < elements; i++)
        data[i] = real(n) * spread;
    if (pick(n, 0, 5) == 0 && rank > 1)
        memset(data, 0, sizeof *data * (size_t)(elements / dims[0])); /* a zero channel */
    assert_int_equal(itg_graph_add_value(n->g, NULL, ITG_F32, &shape, data, &id, NULL), ITG_OK);
    free(data);
    return id;
}

itg_id indices(net *n, const int64_t *values, int64_t count)
{
    itg_shape shape = {1, {count}};
    itg_id id = ITG_NONE;
    assert_int_equal(itg_graph_add_value(n->g, NULL, ITG_S64, &shape, values, &id, NULL), ITG_OK);
    return id;
}

static void apply_all(net *n, itg_op op, const itg_id *inputs, int32_t count,
                      const itg_attrs *attrs, itg_id *outputs, int32_t output_count)
{
    itg_id node = ITG_NONE;
    itg_error err = {0};
    for (int32_t i = 0; i < output_count; i++)
        assert_int_equal(itg_graph_add_value(n->g, NULL, ITG_F32, NULL, NULL, &outputs[i], NULL),
                         ITG_OK);
    assert_int_equal(itg_graph_add_node(n->g, NULL, op, inputs, count, outputs, output_count, attrs,
                                        &node, NULL),
                     ITG_OK);
    if (itg_infer_node(n->g, node, &err) != ITG_OK) fail_msg("%s", err.message);
}

itg_id apply(net *n, itg_op op, const itg_id *inputs, int32_t count, const itg_attrs *attrs)
{
    itg_id out = ITG_NONE;
    apply_all(n, op, inputs, count, attrs, &out, 1);
    return out;
}

itg_id apply_plain(net *n, itg_op op, itg_id x)
{
    itg_attrs a = itg_attrs_default(op);
    return apply(n, op, &x, 1, &a);
}

const int64_t *dims(const net *n, itg_id v)
{
    return n->g->values[v].shape.dims;
}
static int64_t elements(const net *n, itg_id v)
{
    const int64_t *d = dims(n, v);
    return d[0] * d[1] * d[2] * d[3];
}
static itg_id any(net *n)
{
    return n->pool[pick(n, 0, n->count - 1)];
}

/* Does the target run it, as integers or as floats? */
static bool runs(const net *n, itg_op op)
{
    return n->hw->float_allowed || n->hw->ops[op].spec_count > 0;
}

itg_id reshape(net *n, itg_id x, const int64_t *to, int64_t rank)
{
    itg_attrs a = itg_attrs_default(ITG_OP_RESHAPE);
    itg_id inputs[] = {x, indices(n, to, rank)};
    return apply(n, ITG_OP_RESHAPE, inputs, 2, &a);
}

/* ---- windows ---- */

static void window(net *n, itg_attrs *a, itg_id x)
{
    for (int d = 0; d < 2; d++) {
        int64_t extent = dims(n, x)[2 + d];
        a->kernel[d] = pick(n, 1, extent < 3 ? extent : 3);
        a->stride[d] = extent > 4 ? pick(n, 1, 2) : 1;
        a->pad[d] = pick(n, 0, a->kernel[d] - 1);
        a->pad[2 + d] = pick(n, 0, a->kernel[d] - 1);
        a->dilation[d] = 1;
    }
    a->spatial_rank = 2;
}

static itg_id add_conv(net *n, itg_id x)
{
    itg_attrs a = itg_attrs_default(ITG_OP_CONV);
    int64_t channels = dims(n, x)[1], groups[] = {1, channels, channels % 2 == 0 ? 2 : 1};
    window(n, &a, x);
    a.group = groups[pick(n, 0, 2)];
    int64_t out = a.group * pick(n, 1, a.group > 2 ? 2 : 4),
            shape[] = {out, channels / a.group, a.kernel[0], a.kernel[1]};
    if (pick(n, 0, 3) == 0 && dims(n, x)[2] > 4 && dims(n, x)[3] > 4)
        a.dilation[0] = a.dilation[1] = 2;
    itg_id inputs[] = {x, constant(n, 4, shape, 0.7f), constant(n, 1, shape, 0.3f)};
    return apply(n, ITG_OP_CONV, inputs, pick(n, 0, 3) ? 3 : 2, &a);
}

/* Along the rows of an image laid end to end. */
static itg_id add_flat_conv(net *n, itg_id x)
{
    const int64_t *d = dims(n, x), line[] = {d[0], d[1], d[2] * d[3]};
    itg_attrs a = itg_attrs_default(ITG_OP_CONV);
    a.spatial_rank = 1;
    a.kernel[0] = 1;
    a.kernel[1] = pick(n, 1, line[2] < 3 ? line[2] : 3);
    a.pad[1] = pick(n, 0, a.kernel[1] - 1);
    a.group = pick(n, 0, 1) ? line[1] : 1;
    int64_t shape[] = {a.group * pick(n, 1, 2), line[1] / a.group, a.kernel[1]};
    itg_id inputs[] = {reshape(n, x, line, 3), constant(n, 3, shape, 0.7f),
                       constant(n, 1, shape, 0.3f)};
    itg_id y = apply(n, ITG_OP_CONV, inputs, 3, &a);
    const int64_t image[] = {dims(n, y)[0], dims(n, y)[1], 1, dims(n, y)[2]};
    return reshape(n, y, image, 4);
}

static itg_id add_pool(net *n, itg_id x, itg_op op)
{
    itg_attrs a = itg_attrs_default(op);
    window(n, &a, x);
    a.count_include_pad = pick(n, 0, 1);
    a.ceil_mode = pick(n, 0, 1);
    return apply(n, op, &x, 1, &a);
}

/* Along any axes, often that one of the images too. */
itg_id reduce(net *n, itg_id x, itg_op op)
{
    itg_attrs a = itg_attrs_default(op);
    for (int64_t i = pick(n, 0, 2); i < 4; i += pick(n, 1, 2))
        a.axes[a.axes_count++] = i;
    return apply(n, op, &x, 1, &a);
}

static itg_id add_reduction(net *n, itg_id x)
{
    static const itg_op ops[] = {ITG_OP_GLOBAL_AVERAGE_POOL, ITG_OP_GLOBAL_MAX_POOL,
                                 ITG_OP_REDUCE_MEAN};
    itg_op op = ops[pick(n, 0, 2)];
    return op == ITG_OP_REDUCE_MEAN ? reduce(n, x, op) : apply_plain(n, op, x);
}

/* ---- element by element ---- */

/* Any function that the target has as a table, or Relu or Clip where it has no tables. */
static itg_op pick_function(net *n)
{
    int classes = n->tables ? ITG_IS_UNIVARIATE : ITG_IS_CLAMP;
    itg_op ops[ITG_OP_COUNT];
    int64_t count = 0;
    for (int op = 0; op < ITG_OP_COUNT; op++)
        if (itg_op_is((itg_op)op, classes) && runs(n, (itg_op)op)) ops[count++] = (itg_op)op;
    return count > 0 ? ops[pick(n, 0, count - 1)] : ITG_OP_RELU;
}

/* Any of the words of attributes that have words. */
static void pick_words(net *n, itg_op op, itg_attrs *attrs)
{
    int32_t count;
    const itg_attr *attr = itg_op_attrs(op, &count);
    for (int32_t i = 0; i < count; i++)
        if (attr[i].field->kind == ITG_KIND_NAME && pick(n, 0, 1))
            assert_true(itg_attr_set_word(&attr[i], attrs, attr[i].field->words[1]));
}

static itg_id add_unary(net *n, itg_id x)
{
    itg_op op = pick_function(n);
    itg_attrs a = itg_attrs_default(op), bounds = itg_attrs_default(ITG_OP_CLIP);
    bool arc = op == ITG_OP_ASIN || op == ITG_OP_ACOS || op == ITG_OP_ATANH || op == ITG_OP_TAN;
    bool grows = op == ITG_OP_EXP || op == ITG_OP_SINH || op == ITG_OP_COSH;
    bounds.min = op == ITG_OP_ACOSH ? 1.125f : 0.25f;
    bounds.max = arc ? 0.875f : 2.0f;
    if (arc || grows || op == ITG_OP_LOG || op == ITG_OP_SQRT || op == ITG_OP_RECIPROCAL ||
        op == ITG_OP_ACOSH)
        x = apply(n, ITG_OP_CLIP, &x, 1, &bounds); /* where these are finite */
    if (op == ITG_OP_CLIP) {
        a.min = pick(n, 0, 1) ? 0.0f : -0.4f;
        a.max = 0.8f;
    }
    pick_words(n, op, &a);
    return apply(n, op, &x, 1, &a);
}

static bool broadcasts(const int64_t *from, const int64_t *to)
{
    for (int i = 0; i < 4; i++)
        if (from[i] != to[i] && from[i] != 1) return false;
    return true;
}

/* A value that broadcasts to x, or a constant that does. */
itg_id partner(net *n, itg_id x)
{
    static const int kept[][4] = {{0, 1, 0, 0}, {1, 0, 0, 0}, {1, 1, 1, 1}, {0, 0, 1, 1}};
    int64_t shape[4], which = pick(n, 0, 3);
    for (int32_t i = 0; i < n->count; i++)
        if (broadcasts(dims(n, n->pool[i]), dims(n, x)) && pick(n, 0, 1)) return n->pool[i];
    for (int i = 0; i < 4; i++)
        shape[i] = kept[which][i] ? dims(n, x)[i] : 1;
    return constant(n, 4, shape, 0.8f);
}

static itg_id add_pair(net *n, itg_id x, itg_op op)
{
    itg_attrs a = itg_attrs_default(op);
    itg_id inputs[2] = {x, partner(n, x)};
    if (pick(n, 0, 2) == 0) {
        inputs[0] = inputs[1];
        inputs[1] = x;
    }
    return apply(n, op, inputs, 2, &a);
}

static itg_id add_binary(net *n, itg_id x)
{
    static const itg_op ops[] = {ITG_OP_ADD, ITG_OP_SUB, ITG_OP_MUL};
    return add_pair(n, x, ops[pick(n, 0, 2)]);
}

/* Softmax along any axis; LayerNormalization over the last dimensions. */
static itg_id add_normalization(net *n, itg_id x, itg_op op)
{
    itg_attrs a = itg_attrs_default(op);
    a.axis = pick(n, op == ITG_OP_SOFTMAX ? 0 : 2, 3);
    if (op == ITG_OP_SOFTMAX) return apply(n, op, &x, 1, &a);
    const int64_t *row = dims(n, x) + a.axis, rank = 4 - a.axis;
    itg_id inputs[3] = {x, constant(n, (int32_t)rank, row, 1.0f), ITG_NONE};
    if (pick(n, 0, 2) == 0) return apply(n, op, inputs, 2, &a);
    inputs[2] = constant(n, 1, row + rank - 1, 0.5f);
    return apply(n, op, inputs, 3, &a);
}

/* Operators that are floats on some targets. */
static itg_id add_island(net *n, itg_id x)
{
    static const itg_op ops[] = {ITG_OP_SOFTMAX,
                                 ITG_OP_LOG_SOFTMAX,
                                 ITG_OP_LAYER_NORMALIZATION,
                                 ITG_OP_BATCH_NORMALIZATION,
                                 ITG_OP_PRELU,
                                 ITG_OP_DIV,
                                 ITG_OP_POW,
                                 ITG_OP_WHERE,
                                 ITG_OP_MIN,
                                 ITG_OP_MAX,
                                 ITG_OP_REDUCE_SUM,
                                 ITG_OP_REDUCE_MAX};
    if (pick(n, 0, 1)) return add_reference(n, x);
    itg_op op = ops[pick(n, 0, 11)];
    if (itg_op_is(op, ITG_IS_REDUCE)) return reduce(n, x, op);
    if (op == ITG_OP_MIN || op == ITG_OP_MAX) return add_pair(n, x, op);
    if (op == ITG_OP_SOFTMAX || op == ITG_OP_LAYER_NORMALIZATION)
        return add_normalization(n, x, op);
    itg_attrs a = itg_attrs_default(op), bounds = itg_attrs_default(ITG_OP_CLIP);
    const int64_t channels[] = {dims(n, x)[1], 1, 1};
    itg_id inputs[5] = {x};
    int32_t count = 1;
    bounds.min = 0.5f;
    bounds.max = 2.0f;
    if (op == ITG_OP_LOG_SOFTMAX) {
        a.axis = pick(n, 0, 3);
    } else if (op == ITG_OP_BATCH_NORMALIZATION) {
        for (; count < 5; count++)
            inputs[count] = constant(n, 1, channels, 0.9f);
        inputs[4] = apply(n, ITG_OP_CLIP, &inputs[4], 1, &bounds);
    } else if (op == ITG_OP_PRELU) {
        inputs[count++] = constant(n, 3, channels, 0.5f);
    } else if (op == ITG_OP_WHERE) {
        itg_attrs same = itg_attrs_default(ITG_OP_EQUAL), none = itg_attrs_default(ITG_OP_RELU);
        itg_id pair[] = {apply(n, ITG_OP_RELU, &x, 1, &none), x};
        inputs[0] = apply(n, ITG_OP_EQUAL, pair, 2, &same);
        inputs[count++] = x;
        inputs[count++] = partner(n, x);
    } else {
        inputs[op == ITG_OP_DIV] = apply(n, ITG_OP_CLIP, &x, 1, &bounds);
        inputs[op == ITG_OP_POW] = op == ITG_OP_DIV ? x : constant(n, 3, channels, 2.0f);
        count = 2;
    }
    return apply(n, op, inputs, count, &a);
}

/* ---- movement ---- */

static itg_id add_concat(net *n, itg_id x, int64_t axis)
{
    itg_attrs a = itg_attrs_default(ITG_OP_CONCAT);
    itg_id inputs[] = {x, x};
    a.axis = axis;
    for (int32_t i = 0; i < n->count; i++) {
        int64_t other[4];
        memcpy(other, dims(n, n->pool[i]), sizeof other);
        if (other[axis] + dims(n, x)[axis] > MOST_IMAGES) continue;
        other[axis] = dims(n, x)[axis];
        if (memcmp(other, dims(n, x), sizeof other) == 0 && pick(n, 0, 1)) inputs[1] = n->pool[i];
    }
    return apply(n, ITG_OP_CONCAT, inputs, 2, &a);
}

static itg_id add_transpose(net *n, itg_id x)
{
    static const int64_t perms[][4] = {{0, 1, 3, 2}, {0, 2, 3, 1}, {0, 3, 1, 2},
                                       {1, 0, 2, 3}, {2, 1, 0, 3}, {3, 0, 1, 2}};
    itg_attrs a = itg_attrs_default(ITG_OP_TRANSPOSE);
    const int64_t *perm = perms[pick(n, 0, 5)];
    if (dims(n, x)[perm[0]] > MOST_IMAGES) perm = perms[0];
    memcpy(a.perm, perm, 4 * sizeof *perm);
    return apply(n, ITG_OP_TRANSPOSE, &x, 1, &a);
}

static itg_id add_slice(net *n, itg_id x)
{
    itg_attrs a = itg_attrs_default(ITG_OP_SLICE);
    int64_t axis = pick(n, 0, 3), extent = dims(n, x)[axis], step = pick(n, 0, 1) ? 1 : -1;
    int64_t start = pick(n, 0, extent - 1), end = step > 0 ? extent : -extent - 1;
    itg_id inputs[] = {x, indices(n, &start, 1), indices(n, &end, 1), indices(n, &axis, 1),
                       indices(n, &step, 1)};
    return apply(n, ITG_OP_SLICE, inputs, 5, &a);
}

/* The other part stays in the pool, for whoever wants it. */
static itg_id add_split(net *n, itg_id x)
{
    itg_attrs a = itg_attrs_default(ITG_OP_SPLIT);
    itg_id outputs[2];
    a.axis = pick(n, 0, 3);
    int64_t extent = dims(n, x)[a.axis], first = extent / 2;
    if (first < 1) return x;
    const int64_t sizes[] = {first, extent - first};
    itg_id inputs[] = {x, indices(n, sizes, 2)};
    apply_all(n, ITG_OP_SPLIT, inputs, 2, &a, outputs, 2);
    n->pool[n->count++] = outputs[0];
    return outputs[1];
}

static itg_id add_gather(net *n, itg_id x)
{
    itg_attrs a = itg_attrs_default(ITG_OP_GATHER);
    a.axis = pick(n, 0, 3);
    int64_t extent = dims(n, x)[a.axis], count = pick(n, 1, extent < 4 ? extent : 4), at[4];
    for (int64_t i = 0; i < count; i++)
        at[i] = pick(n, -extent, extent - 1);
    itg_id inputs[] = {x, indices(n, at, count)};
    return apply(n, ITG_OP_GATHER, inputs, 2, &a);
}

static itg_id add_pad(net *n, itg_id x)
{
    itg_attrs a = itg_attrs_default(ITG_OP_PAD);
    int64_t pads[8];
    if (n->hw->float_allowed) a.pad_mode = (itg_pad_mode)pick(n, ITG_PAD_CONSTANT, ITG_PAD_EDGE);
    for (int i = 0; i < 8; i++) {
        int64_t most = a.pad_mode == ITG_PAD_REFLECT ? dims(n, x)[i % 4] - 1 : 1;
        pads[i] = most > 0 && pick(n, 0, 2) == 0;
    }
    if (dims(n, x)[0] + 2 > MOST_IMAGES) pads[0] = pads[4] = 0;
    itg_id inputs[] = {x, indices(n, pads, 8)};
    return apply(n, ITG_OP_PAD, inputs, 2, &a);
}

static itg_id add_expand(net *n, itg_id x)
{
    itg_attrs a = itg_attrs_default(ITG_OP_EXPAND);
    int64_t to[4];
    for (int i = 0; i < 4; i++)
        to[i] = dims(n, x)[i] == 1 ? pick(n, 1, 2) : 1;
    itg_id inputs[] = {x, indices(n, to, 4)};
    return apply(n, ITG_OP_EXPAND, inputs, 2, &a);
}

/* The dimensions of 1 of a pooled image out and in again. */
static itg_id add_squeeze(net *n, itg_id x)
{
    itg_attrs a = itg_attrs_default(ITG_OP_SQUEEZE);
    const int64_t axes[] = {2, 3};
    itg_id inputs[] = {apply_plain(n, ITG_OP_GLOBAL_AVERAGE_POOL, x), indices(n, axes, 2)};
    inputs[0] = apply(n, ITG_OP_SQUEEZE, inputs, 2, &a);
    if (pick(n, 0, 1) && runs(n, ITG_OP_SIGMOID) && n->tables)
        inputs[0] = apply_plain(n, ITG_OP_SIGMOID, inputs[0]);
    a = itg_attrs_default(ITG_OP_UNSQUEEZE);
    return apply(n, ITG_OP_UNSQUEEZE, inputs, 2, &a);
}

/* More images in one tensor, or fewer. */
static itg_id add_images(net *n, itg_id x)
{
    const int64_t *d = dims(n, x);
    if (d[0] > 1 && pick(n, 0, 3) == 0) {
        const int64_t one[] = {1, d[0] * d[1], d[2], d[3]};
        return reshape(n, x, one, 4);
    }
    if (d[0] * 2 > MOST_IMAGES) return x;
    const int64_t rows[] = {d[0] * 2, d[1], d[2] / 2, d[3]},
                  channels[] = {d[0] * 2, d[1] / 2, d[2], d[3]};
    if (d[1] % 2 == 0 && pick(n, 0, 1)) return reshape(n, x, channels, 4);
    if (d[2] % 2 == 0 && pick(n, 0, 1)) return reshape(n, x, rows, 4);
    return add_concat(n, x, 0);
}

static itg_id add_movement(net *n, itg_id x)
{
    static const itg_op ops[] = {ITG_OP_SLICE,  ITG_OP_SPLIT,     ITG_OP_GATHER, ITG_OP_PAD,
                                 ITG_OP_EXPAND, ITG_OP_TRANSPOSE, ITG_OP_CONCAT};
    static itg_id (*const add[])(net *, itg_id) = {add_slice, add_split,  add_gather,
                                                   add_pad,   add_expand, add_transpose};
    int64_t which = pick(n, 0, 6);
    if (!runs(n, ops[which])) return x;
    return which < 6 ? add[which](n, x) : add_concat(n, x, pick(n, 1, 3));
}

/* ---- matrices ---- */

/* By a constant, or by its own transpose: two activations. */
static itg_id add_matmul(net *n, itg_id x)
{
    itg_attrs a = itg_attrs_default(ITG_OP_MATMUL);
    int64_t shape[] = {dims(n, x)[3], pick(n, 1, 6)};
    itg_id inputs[] = {x, ITG_NONE};
    if (pick(n, 0, 1)) {
        inputs[1] = constant(n, 2, shape, 0.6f);
    } else {
        itg_attrs turn = itg_attrs_default(ITG_OP_TRANSPOSE);
        int64_t perm[] = {0, 1, 3, 2};
        memcpy(turn.perm, perm, sizeof perm);
        inputs[1] = apply(n, ITG_OP_TRANSPOSE, &x, 1, &turn);
    }
    return apply(n, ITG_OP_MATMUL, inputs, 2, &a);
}

/* A row of outputs for each image. */
static itg_id add_gemm(net *n, itg_id x, int64_t outputs)
{
    itg_attrs a = itg_attrs_default(ITG_OP_FLATTEN);
    x = apply(n, ITG_OP_FLATTEN, &x, 1, &a);
    int64_t w[] = {outputs, dims(n, x)[1]};
    a = itg_attrs_default(ITG_OP_GEMM);
    a.trans_b = true;
    itg_id inputs[] = {x, constant(n, 2, w, 0.9f), constant(n, 1, w, 0.2f)};
    return apply(n, ITG_OP_GEMM, inputs, 3, &a);
}

static itg_id add_inner_gemm(net *n, itg_id x)
{
    itg_id y = add_gemm(n, x, pick(n, 1, 6));
    const int64_t image[] = {dims(n, y)[0], dims(n, y)[1], 1, 1};
    return reshape(n, y, image, 4);
}

static itg_id finish(net *n, itg_id x)
{
    return add_gemm(n, apply_plain(n, ITG_OP_GLOBAL_AVERAGE_POOL, x), 5);
}

/* ---- any of these ---- */

static itg_id add_any(net *n, itg_id x)
{
    bool large = elements(n, x) > LARGE;
    if (n->hw->float_allowed && n->tables && pick(n, 0, 3) == 0)
        return add_island(n, pick(n, 0, 1) && !large ? add_images(n, x) : x);
    switch (pick(n, 0, 22)) {
    case 0:
        return add_pool(n, x, pick(n, 0, 1) ? ITG_OP_MAX_POOL : ITG_OP_AVERAGE_POOL);
    case 1:
    case 2:
        return add_binary(n, x);
    case 3:
    case 4:
        return large ? add_slice(n, x) : add_movement(n, x);
    case 5:
    case 6:
    case 13:
    case 14:
        return add_unary(n, pick(n, 0, 1) && !large ? add_images(n, x) : x);
    case 7:
        return large ? x : add_matmul(n, x);
    case 8:
    case 9:
        return large ? x : add_images(n, x);
    case 10:
        return pick(n, 0, 2) ? add_reduction(n, x) : add_squeeze(n, x);
    case 11:
        return pick(n, 0, 2) ? add_inner_gemm(n, x) : add_flat_conv(n, x);
    case 12:
        return add_binary(n, x);
    case 15:
        if (runs(n, ITG_OP_SOFTMAX)) return add_normalization(n, x, ITG_OP_SOFTMAX);
        return large ? x : add_conv(n, x);
    case 16:
        if (runs(n, ITG_OP_LAYER_NORMALIZATION))
            return add_normalization(n, x, ITG_OP_LAYER_NORMALIZATION);
        return large ? x : add_conv(n, x);
    default:
        return large ? add_pool(n, x, ITG_OP_MAX_POOL) : add_conv(n, x);
    }
}

static itg_id second_output(net *n)
{
    itg_id x = any(n);
    itg_attrs a = itg_attrs_default(ITG_OP_ARG_MAX);
    a.axis = pick(n, 0, 3);
    a.select_last_index = pick(n, 0, 1);
    if (pick(n, 0, 2) || !runs(n, ITG_OP_ARG_MAX)) return x;
    return apply(n, ITG_OP_ARG_MAX, &x, 1, &a);
}

/* ---- float executors ---- */

static itg_tensor run_floats(const itg_graph *g, itg_float_kernels kernels, uint64_t seed,
                             itg_float_exec **exec)
{
    itg_rng rng;
    int64_t count = 0;
    itg_rng_init(&rng, seed + 7);
    assert_int_equal(itg_float_exec_create(g, kernels, exec, NULL), ITG_OK);
    assert_true(itg_shape_elements(&g->values[g->inputs[0]].shape, &count));
    float *x = itg_float_exec_input(*exec, 0);
    for (int64_t i = 0; i < count; i++)
        x[i] = (float)(itg_rng_unit(&rng) * 3 - 1);
    assert_int_equal(itg_float_exec_run(*exec, NULL), ITG_OK);
    return itg_float_exec_output(*exec, 0);
}

/* Equal but for roundings: of folded constants, of another order of sums. */
static void compare_floats(const itg_graph *made, const itg_graph *g, itg_float_kernels kernels,
                           uint64_t seed)
{
    itg_float_exec *exec[2] = {NULL, NULL};
    itg_tensor x = run_floats(made, ITG_FLOAT_REFERENCE, seed, &exec[0]),
               y = run_floats(g, kernels, seed, &exec[1]);
    const float *a = x.data, *b = y.data;
    double largest = 0;
    int64_t count = 0;
    assert_true(itg_shape_equal(&x.shape, &y.shape) && itg_shape_elements(&x.shape, &count));
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs((double)a[i]));
    for (int64_t i = 0; i < count; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= 2e-3 * largest))
            fail_msg("seed %llu: prepared, with kernels %d, output %lld is %g, not %g",
                     (unsigned long long)seed, (int)kernels, (long long)i, (double)b[i],
                     (double)a[i]);
    itg_float_exec_destroy(exec[0]);
    itg_float_exec_destroy(exec[1]);
}

/* ---- a whole network ---- */

itg_graph *random_network(uint64_t seed, const itg_hardware *hw, bool tables)
{
    net n = {.hw = hw, .tables = tables, .count = 1};
    itg_shape input = {4, {1, 0, 0, 0}};
    itg_graph *prepared = NULL;
    itg_error err = {0};
    itg_prepare_options options = {.eval = itg_float_eval, .model.keep_softmax = true};
    itg_rng_init(&n.rng, seed);
    for (int d = 1; d < 4; d++)
        input.dims[d] = d == 1 ? pick(&n, 1, 4) : pick(&n, 4, 9);
    assert_int_equal(itg_graph_create("random", &n.g, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(n.g, "x", ITG_F32, &input, NULL, &n.pool[0], NULL),
                     ITG_OK);
    assert_int_equal(itg_graph_set_inputs(n.g, n.pool, 1, NULL), ITG_OK);
    int64_t steps = pick(&n, 3, 12);
    for (int64_t i = 0; i < steps; i++) {
        itg_id x = pick(&n, 0, 2) ? n.pool[n.count - 1] : any(&n), y = add_any(&n, x);
        n.pool[n.count++] = y;
    }
    itg_id outputs[] = {finish(&n, n.pool[n.count - 1]), second_output(&n)};
    bool two = outputs[1] != n.pool[0] && pick(&n, 0, 1);
    assert_int_equal(itg_graph_set_outputs(n.g, outputs, two ? 2 : 1, NULL), ITG_OK);
    if (itg_graph_prepare(n.g, &options, &prepared, &err) != ITG_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    for (int k = 0; k < ITG_FLOAT_KERNELS_COUNT; k++)
        if (itg_float_kernels_built((itg_float_kernels)k))
            compare_floats(n.g, prepared, (itg_float_kernels)k, seed);
    itg_graph_destroy(n.g);
    return prepared;
}

static bool has_images(const itg_graph *g, itg_id value)
{
    if (value == ITG_NONE || g->values[value].data) return false;
    const itg_shape *s = &g->values[value].shape;
    return s->rank >= 2 && s->dims[0] > 1;
}

bool has_inner_batch(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    bool found = false;
    for (int32_t i = 0; i < n->input_count; i++)
        found |= has_images(g, n->inputs[i]);
    for (int32_t i = 0; i < n->output_count; i++)
        found |= has_images(g, n->outputs[i]);
    return found;
}
