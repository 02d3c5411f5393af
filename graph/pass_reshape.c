/* Turns every operator that only changes a shape into Reshape, with the target in the output's
 * shape. */
#include "passes.h"

static bool is_reshape(const itg_node *n)
{
    return n->input_count > 0 && itg_op_is(n->op, ITG_IS_VIEW) && n->op != ITG_OP_IDENTITY &&
           n->op != ITG_OP_DROPOUT;
}

itg_status itg_pass_reshape(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    (void)err;
    const itg_node *n = &g->nodes[node];
    if (!is_reshape(n)) return ITG_OK;
    *changed |= n->op != ITG_OP_RESHAPE;
    itg_become(g, node, ITG_OP_RESHAPE);
    itg_graph_drop_inputs(g, node, 1);
    itg_id before = g->values[n->inputs[0]].producer;
    if (before != ITG_NONE && is_reshape(&g->nodes[before])) {
        itg_graph_set_input(g, node, 0, g->nodes[before].inputs[0]);
        *changed = true;
    }
    if (itg_shape_equal(&g->values[n->inputs[0]].shape, &g->values[n->outputs[0]].shape))
        *changed |= itg_bypass_node(g, node);
    return ITG_OK;
}
