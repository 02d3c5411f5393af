/* Replaces a Pad that repeats or mirrors its input by a Gather along each padded axis. Gather moves
 * codes unchanged, so the padding runs in integers. */
#include "passes.h"

/* Returns the index, along an axis of n elements, of the element that a padded axis has at i. i is
 * negative in front of the input. */
static int64_t source_of(itg_pad_mode mode, int64_t i, int64_t n)
{
    if (mode == ITG_PAD_EDGE) return i < 0 ? 0 : i >= n ? n - 1 : i;
    if (n == 1) return 0;
    const int64_t period = 2 * (n - 1), at = ((i % period) + period) % period;
    return at < n ? at : period - at;
}

static itg_status add_indices(itg_graph *g, itg_id node, int32_t axis, const char *base,
                              itg_id *out, itg_error *err)
{
    const itg_node *n = &g->nodes[node];
    const int64_t from = g->values[n->inputs[0]].shape.dims[axis];
    const int64_t count = g->values[n->outputs[0]].shape.dims[axis];
    int64_t *indices;
    itg_status status = itg_new_indices(g, base, "indices", count, out, &indices, err);
    for (int64_t i = 0; i < count && status == ITG_OK; ++i)
        indices[i] = source_of(n->attrs.pad_mode, i - n->attrs.pads_begin[axis], from);
    return status;
}

/* Adds the Gather of one axis. *value: the result so far. */
static itg_status pad_axis(itg_graph *g, itg_id node, int32_t axis, itg_id *value, itg_error *err)
{
    const char *base = g->values[g->nodes[node].outputs[0]].name;
    itg_attrs attrs = itg_attrs_default(ITG_OP_GATHER);
    itg_id indices;
    attrs.axis = axis;
    itg_status status = add_indices(g, node, axis, base, &indices, err);
    if (status != ITG_OK) return status;
    itg_new_op gather = {.base = base,
                         .suffix = "pad",
                         .op = ITG_OP_GATHER,
                         .inputs = {*value, indices},
                         .attrs = &attrs,
                         .shape = g->values[*value].shape};
    gather.shape.dims[axis] = g->values[g->nodes[node].outputs[0]].shape.dims[axis];
    return itg_insert(g, &gather, NULL, value, err);
}

itg_status itg_pass_pad_gather(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    const itg_node *n = &g->nodes[node];
    if (n->op != ITG_OP_PAD || n->opset != 0 || n->input_count != 1 ||
        n->attrs.pad_mode == ITG_PAD_CONSTANT)
        return ITG_OK;
    itg_id value = n->inputs[0];
    const itg_shape x = g->values[value].shape, y = g->values[n->outputs[0]].shape;
    if (g->values[value].dtype != ITG_F32 || g->values[value].data) return ITG_OK;
    for (int32_t axis = 0; axis < x.rank; ++axis) {
        if (x.dims[axis] == y.dims[axis] && g->nodes[node].attrs.pads_begin[axis] == 0) continue;
        itg_status status = pad_axis(g, node, axis, &value, err);
        if (status != ITG_OK) return status;
    }
    itg_become(g, node, ITG_OP_IDENTITY); /* itg_pass_identity removes it */
    itg_graph_set_input(g, node, 0, value);
    *changed = true;
    return ITG_OK;
}
