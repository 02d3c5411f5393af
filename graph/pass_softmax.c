/* Removes a trailing Softmax, because quality is measured on logits, which integers can compute.
 * Rewrites a Softmax of an opset before 13 to the present meaning. */
#include "passes.h"

static bool is_softmax(const itg_graph *g, itg_id node)
{
    return itg_op_is(g->nodes[node].op, ITG_IS_SOFTMAX);
}

/* Finds the Softmax that makes a graph output, directly or before nodes that only rearrange. No
 * value between has another use. ITG_NONE: there is none. */
static itg_id trailing_softmax(const itg_graph *g, itg_id output)
{
    itg_id value = output;
    for (;;) {
        itg_id node = g->values[value].producer;
        if (node == ITG_NONE || itg_graph_use_count(g, value) != 1) return ITG_NONE;
        if (is_softmax(g, node)) return node;
        if (!itg_op_is(g->nodes[node].op, ITG_IS_VIEW)) return ITG_NONE;
        value = g->nodes[node].inputs[0];
    }
}

void itg_drop_softmax(itg_graph *g)
{
    for (int32_t i = 0; i < g->output_count; ++i) {
        itg_id node = trailing_softmax(g, g->outputs[i]);
        /* fails if the logit is itself a graph input or output, which keeps its own name */
        if (node == ITG_NONE || !itg_bypass_node(g, node)) continue;
        g->dropped_softmax = true;
    }
}

/* Reshapes [.., tail] to [rows, product of tail] for a Softmax of the last axis, and back. */
static itg_status rewrite(itg_graph *g, itg_id node, itg_error *err)
{
    itg_id x = g->nodes[node].inputs[0], y = g->nodes[node].outputs[0], flat = x;
    const char *base = g->values[y].name;
    itg_shape shape = g->values[x].shape, rows = {.rank = 2, .dims = {1, 1}};
    for (int32_t i = 0; i < shape.rank; ++i)
        rows.dims[i >= g->nodes[node].attrs.axis] *= shape.dims[i];
    itg_status status = itg_insert_reshape(g, base, "rows", &rows, &flat, err);
    if (status != ITG_OK) return status;
    itg_new_op softmax = {.base = base,
                          .suffix = "softmax",
                          .op = g->nodes[node].op,
                          .inputs = {flat, ITG_NONE},
                          .shape = rows};
    itg_attrs attrs = itg_attrs_default(softmax.op);
    attrs.axis = 1;
    softmax.attrs = &attrs;
    status = itg_insert(g, &softmax, NULL, &flat, err);
    if (status != ITG_OK) return status;
    itg_become(g, node, ITG_OP_RESHAPE)->opset = 0;
    itg_graph_set_input(g, node, 0, flat);
    return ITG_OK;
}

itg_status itg_pass_old_softmax(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    if (!itg_is_old_softmax(g, node)) return ITG_OK;
    *changed = true;
    return rewrite(g, node, err);
}
