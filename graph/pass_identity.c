/* Removes nodes that return their input unchanged. */
#include "passes.h"
#include <math.h>

static bool same_shape(const itg_graph *g, const itg_node *n)
{
    return itg_shape_equal(&g->values[n->inputs[0]].shape, &g->values[n->outputs[0]].shape);
}

static bool moves_nothing(const itg_node *n, int32_t rank)
{
    for (int32_t i = 0; i < rank; ++i)
        if (n->attrs.pads_begin[i] != 0) return false;
    return true;
}

static bool steps_forward(const itg_node *n)
{
    for (int32_t i = 0; i < n->attrs.axes_count; ++i)
        if (n->attrs.steps[i] < 0) return false;
    return true;
}

static bool is_identity(const itg_graph *g, const itg_node *n)
{
    switch (n->op) {
    case ITG_OP_IDENTITY:
    case ITG_OP_DROPOUT:
        return true;
    case ITG_OP_CAST:
        return g->values[n->inputs[0]].dtype == n->attrs.to;
    case ITG_OP_CLIP:
        return n->attrs.min == -INFINITY && n->attrs.max == INFINITY;
    case ITG_OP_MIN:
    case ITG_OP_MAX:
    case ITG_OP_CONCAT:
        return n->input_count == 1;
    case ITG_OP_SPLIT:
        return n->output_count == 1;
    case ITG_OP_EXPAND:
        return same_shape(g, n);
    case ITG_OP_SLICE:
        return same_shape(g, n) && steps_forward(n);
    case ITG_OP_PAD:
        return same_shape(g, n) && moves_nothing(n, g->values[n->inputs[0]].shape.rank);
    default:
        return itg_op_is(n->op, ITG_IS_REDUCE) && n->attrs.axes_count == 0 && same_shape(g, n);
    }
}

itg_status itg_pass_identity(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    const itg_node *n = &g->nodes[node];
    if (n->output_count < 1 || n->outputs[0] == ITG_NONE || !is_identity(g, n)) return ITG_OK;
    if (n->op == ITG_OP_DROPOUT && n->output_count > 1 && n->outputs[1] != ITG_NONE &&
        itg_graph_use_count(g, n->outputs[1]) > 0)
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED, "its mask '%s' is used",
                             g->values[n->outputs[1]].name);
    *changed |= itg_bypass_node(g, node);
    return ITG_OK;
}
