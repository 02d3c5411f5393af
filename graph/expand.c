/* Replaces composite operators; the functions that all expand_*.c files share. */
#include "expand.h"
#include <stdarg.h>
#include <string.h>

static itg_expand_fn *const expand[ITG_OP_COUNT] = {
    [ITG_OP_RESIZE] = itg_expand_resize,
    [ITG_OP_CONV_TRANSPOSE] = itg_expand_conv_transpose,
    [ITG_OP_CONV_3D] = itg_expand_conv_3d,
    [ITG_OP_MAX_POOL_3D] = itg_expand_pool_3d,
    [ITG_OP_AVERAGE_POOL_3D] = itg_expand_pool_3d,
    [ITG_OP_DEPTH_TO_SPACE] = itg_expand_depth_to_space,
    [ITG_OP_SPACE_TO_DEPTH] = itg_expand_space_to_depth,
    [ITG_OP_INSTANCE_NORMALIZATION] = itg_expand_group_normalization,
    [ITG_OP_GROUP_NORMALIZATION] = itg_expand_group_normalization,
    [ITG_OP_RMS_NORMALIZATION] = itg_expand_rms_normalization,
    [ITG_OP_LRN] = itg_expand_lrn,
    [ITG_OP_RNN] = itg_expand_recurrent,
    [ITG_OP_GRU] = itg_expand_recurrent,
    [ITG_OP_LSTM] = itg_expand_recurrent,
    [ITG_OP_ATTENTION] = itg_expand_attention,
    [ITG_OP_EINSUM] = itg_expand_einsum,
};

itg_status itg_expand_node(itg_graph *g, itg_id node, itg_expand_fn *expand_fn, itg_error *err)
{
    itg_expansion e = {
        .g = g, .id = node, .node = g->nodes[node], .made = g->node_count, .err = err};
    if (expand_fn)
        expand_fn(&e);
    else
        itg_expansion_fail(&e, ITG_UNSUPPORTED, "nothing replaces this operator");
    if (e.status == ITG_OK && g->nodes[node].op == e.node.op) itg_kill_node(g, node);
    return e.status;
}

itg_status itg_pass_expand(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    const itg_op op = g->nodes[node].op;
    if (!itg_op_is(op, ITG_IS_COMPOSITE) && !itg_einsum_is_contraction(g, node)) return ITG_OK;
    *changed = true;
    return itg_expand_node(g, node, expand[op], err);
}

/* ---- nodes ---- */

static itg_id add_value(itg_expansion *e, const char *suffix, itg_dtype dtype,
                        const itg_shape *shape)
{
    itg_id id = ITG_NONE;
    if (e->status != ITG_OK) return ITG_NONE;
    const char *name = itg_fresh_value_name(e->g, e->node.name, suffix);
    e->status = name ? itg_graph_add_value(e->g, name, dtype, shape, NULL, &id, e->err)
                     : itg_graph_no_memory(e->g, e->err);
    return e->status == ITG_OK ? id : ITG_NONE;
}

/* Adds a node for op and infers its outputs. */
static void add_node(itg_expansion *e, const itg_put_op *op, int32_t count, const itg_id *inputs,
                     int32_t output_count, const itg_id *outputs)
{
    itg_id node;
    if (e->status != ITG_OK) return;
    const char *name = itg_fresh_node_name(e->g, e->node.name, op->suffix);
    e->status = name ? itg_graph_add_node(e->g, name, op->op, inputs, count, outputs, output_count,
                                          op->attrs, &node, e->err)
                     : itg_graph_no_memory(e->g, e->err);
    if (e->status == ITG_OK) e->status = itg_infer_node(e->g, node, e->err);
}

itg_id itg_put(itg_expansion *e, const itg_put_op *op, int32_t count, const itg_id *inputs)
{
    itg_id out = add_value(e, op->suffix, ITG_F32, op->shape);
    add_node(e, op, count, inputs, 1, &out);
    return e->status == ITG_OK ? out : ITG_NONE;
}

itg_id itg_put_simple(itg_expansion *e, const char *suffix, itg_op op, itg_id a, itg_id b)
{
    return itg_put(e, &(itg_put_op){.suffix = suffix, .op = op}, b == ITG_NONE ? 1 : 2,
                   (itg_id[]){a, b});
}

itg_id itg_put_reshape(itg_expansion *e, const char *suffix, itg_id x, itg_shape shape)
{
    return itg_put(e, &(itg_put_op){.suffix = suffix, .op = ITG_OP_RESHAPE, .shape = &shape}, 1,
                   &x);
}

itg_id itg_put_transpose(itg_expansion *e, const char *suffix, itg_id x, const int64_t *perm)
{
    itg_attrs attrs = itg_attrs_default(ITG_OP_TRANSPOSE);
    if (e->status != ITG_OK) return ITG_NONE;
    memcpy(attrs.perm, perm, (size_t)e->g->values[x].shape.rank * sizeof *perm);
    return itg_put(e, &(itg_put_op){.suffix = suffix, .op = ITG_OP_TRANSPOSE, .attrs = &attrs}, 1,
                   &x);
}

itg_id itg_put_concat(itg_expansion *e, const char *suffix, int64_t axis, int32_t count,
                      const itg_id *inputs)
{
    itg_attrs attrs = itg_attrs_default(ITG_OP_CONCAT);
    attrs.axis = axis;
    if (count == 1) return inputs[0];
    return itg_put(e, &(itg_put_op){.suffix = suffix, .op = ITG_OP_CONCAT, .attrs = &attrs}, count,
                   inputs);
}

void itg_put_split(itg_expansion *e, const char *suffix, itg_id x, int64_t axis, int32_t count,
                   itg_id *out)
{
    itg_attrs attrs = itg_attrs_default(ITG_OP_SPLIT);
    attrs.axis = axis;
    out[0] = x;
    if (count == 1 || e->status != ITG_OK) return;
    itg_shape part = e->g->values[x].shape;
    part.dims[axis] /= count;
    for (int32_t i = 0; i < count; ++i) {
        const char *name = itg_arena_format(e->g->arena, "%s/%d", suffix, (int)i);
        if (!name) e->status = itg_graph_no_memory(e->g, e->err);
        out[i] = add_value(e, name, ITG_F32, &part);
    }
    add_node(e, &(itg_put_op){.suffix = suffix, .op = ITG_OP_SPLIT, .attrs = &attrs}, 1, &x, count,
             out);
}

itg_id itg_put_slice(itg_expansion *e, const char *suffix, itg_id x, const int64_t *begin,
                     itg_shape shape)
{
    itg_attrs attrs = itg_attrs_default(ITG_OP_SLICE);
    if (e->status != ITG_OK) return ITG_NONE;
    const itg_shape from = e->g->values[x].shape;
    for (int32_t i = 0; i < from.rank; ++i) {
        if (from.dims[i] == shape.dims[i]) continue;
        attrs.axes[attrs.axes_count] = i;
        attrs.starts[attrs.axes_count++] = begin[i];
    }
    if (attrs.axes_count == 0) return x;
    return itg_put(
        e, &(itg_put_op){.suffix = suffix, .op = ITG_OP_SLICE, .attrs = &attrs, .shape = &shape}, 1,
        &x);
}

/* ---- constants ---- */

float *itg_put_floats(itg_expansion *e, const char *suffix, itg_shape shape, itg_id *out)
{
    float *data = NULL;
    *out = ITG_NONE;
    if (e->status == ITG_OK)
        e->status = itg_new_floats(e->g, e->node.name, suffix, &shape, out, &data, e->err);
    return e->status == ITG_OK ? data : NULL;
}

itg_id itg_put_number(itg_expansion *e, const char *suffix, double value)
{
    itg_id out;
    float *data = itg_put_floats(e, suffix, (itg_shape){.rank = 0}, &out);
    if (data) *data = (float)value;
    return out;
}

itg_id itg_put_indices(itg_expansion *e, const char *suffix, const int64_t *values, int64_t count)
{
    itg_id out = add_value(e, suffix, ITG_S64, &(itg_shape){.rank = 1, .dims = {count}});
    if (out == ITG_NONE) return ITG_NONE;
    e->g->values[out].data = itg_arena_copy(e->g->arena, values, (size_t)count * sizeof *values);
    if (!e->g->values[out].data) e->status = itg_graph_no_memory(e->g, e->err);
    return out;
}

/* ---- the composite node ---- */

itg_id itg_expanded_input(const itg_expansion *e, int32_t slot)
{
    return slot < e->node.input_count ? e->node.inputs[slot] : ITG_NONE;
}

bool itg_wants_output(const itg_expansion *e, int32_t slot)
{
    return slot < e->node.output_count && e->node.outputs[slot] != ITG_NONE &&
           itg_graph_use_count(e->g, e->node.outputs[slot]) > 0;
}

itg_shape itg_shape_at(const itg_expansion *e, itg_id value)
{
    return value == ITG_NONE ? (itg_shape){.rank = 0} : e->g->values[value].shape;
}

void itg_expansion_fail(itg_expansion *e, itg_status code, const char *format, ...)
{
    char text[320];
    va_list arguments;
    if (e->status != ITG_OK) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    e->status = itg_node_fail(e->g, e->id, e->err, code, "%s", text);
}

const float *itg_need_floats(itg_expansion *e, int32_t slot, const char *what)
{
    itg_id value = itg_expanded_input(e, slot);
    if (e->status != ITG_OK) return NULL;
    if (value != ITG_NONE && itg_is_float_constant(e->g, value)) return itg_floats(e->g, value);
    itg_expansion_fail(e, ITG_UNSUPPORTED, "its %s '%s' is no float32 constant", what,
                       value == ITG_NONE ? "" : e->g->values[value].name);
    return NULL;
}

static void swap_names(itg_graph *g, itg_id a, itg_id b)
{
    const char *name = g->nodes[a].name;
    g->nodes[a].name = g->nodes[b].name;
    g->nodes[b].name = name;
}

void itg_expanded_output(itg_expansion *e, int32_t slot, itg_id value)
{
    itg_graph *g = e->g;
    if (e->status != ITG_OK || !itg_wants_output(e, slot)) return;
    itg_id out = e->node.outputs[slot], maker = g->values[value].producer;
    if (maker < e->made) { /* the value existed before the expansion */
        itg_become(g, e->id, ITG_OP_IDENTITY)->output_count = 1;
        itg_set_only_input(g, e->id, value);
        return;
    }
    int32_t from = g->values[value].producer_slot;
    itg_graph_replace_uses(g, value, out);
    g->nodes[maker].outputs[from] = out;
    g->values[value].producer = ITG_NONE;
    g->values[out].producer = maker;
    g->values[out].producer_slot = from;
    if (g->nodes[e->id].name != e->node.name) return; /* an earlier output's node has it */
    swap_names(g, maker, e->id);
    itg_graph_rename(g);
}
