#include "channels.h"

/* Whether a node is a Conv, a MatMul with weights of rank 2, or a Gemm with weights [N,K], alpha 1
 * and beta 1. */
static bool has_constant_weights(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    if (n->input_count < 2 || !itg_is_float_constant(g, n->inputs[1])) return false;
    int32_t rank = g->values[n->inputs[1]].shape.rank;
    switch (n->op) {
    case ITG_OP_CONV:
        return true;
    case ITG_OP_GEMM:
        return rank == 2 && n->attrs.trans_b && !n->attrs.trans_a && n->attrs.alpha == 1 &&
               n->attrs.beta == 1;
    case ITG_OP_MATMUL:
        return rank == 2;
    default:
        return false;
    }
}

static bool has_bias(const itg_node *n)
{
    return n->input_count > 2 && n->inputs[2] != ITG_NONE;
}

bool itg_makes_channels(const itg_graph *g, itg_id node, itg_channels *out)
{
    const itg_node *n = &g->nodes[node];
    if (!has_constant_weights(g, node)) return false;
    int64_t count = g->values[n->inputs[1]].shape.dims[n->op == ITG_OP_MATMUL ? 1 : 0];
    if (has_bias(n) &&
        (!itg_is_float_constant(g, n->inputs[2]) || g->values[n->inputs[2]].shape.rank != 1 ||
         itg_value_elements(g, n->inputs[2]) != count))
        return false;
    *out = (itg_channels){count, 1, n->op == ITG_OP_CONV};
    return true;
}

/* Whether a Reshape makes [N,C*...] of [N,C,...]: each channel's elements stay adjacent. */
static bool is_flattening(const itg_shape *x, const itg_shape *y)
{
    return x->rank >= 3 && y->rank == 2 && x->dims[0] == y->dims[0];
}

bool itg_hands_channels_on(const itg_graph *g, itg_id node, itg_channels *channels)
{
    const itg_node *n = &g->nodes[node];
    if (n->input_count != 1 || n->output_count != 1) return false;
    const itg_shape *x = &g->values[n->inputs[0]].shape, *y = &g->values[n->outputs[0]].shape;
    if (itg_op_is(n->op, ITG_IS_POOL)) return channels->is_image;
    if (n->op != ITG_OP_RESHAPE) return itg_op_is(n->op, ITG_IS_UNIVARIATE);
    if (!channels->is_image || !is_flattening(x, y)) return false;
    channels->block *= y->dims[1] / x->dims[1];
    channels->is_image = false;
    return true;
}

bool itg_is_depthwise(const itg_graph *g, itg_id node, const itg_channels *channels)
{
    const itg_node *n = &g->nodes[node];
    return n->op == ITG_OP_CONV && n->attrs.group > 1 &&
           n->attrs.group == channels->count * channels->block;
}

bool itg_reads_channels(const itg_graph *g, itg_id node, itg_id value, const itg_channels *channels)
{
    const itg_node *n = &g->nodes[node];
    if (!has_constant_weights(g, node) || n->inputs[0] != value) return false;
    const itg_shape *w = &g->values[n->inputs[1]].shape;
    int64_t indices = channels->count * channels->block;
    switch (n->op) {
    case ITG_OP_CONV:
        return channels->is_image && (n->attrs.group == 1 || n->attrs.group == indices);
    case ITG_OP_GEMM:
        return !channels->is_image && w->dims[1] == indices;
    default:
        return !channels->is_image && w->dims[0] == indices;
    }
}

itg_channel_walk itg_channel_walk_of(int64_t count, int64_t run)
{
    return (itg_channel_walk){count, run, 0, run};
}

itg_channel_walk itg_made_walk(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    const itg_shape *w = &g->values[n->inputs[1]].shape;
    if (n->op == ITG_OP_MATMUL) return itg_channel_walk_of(w->dims[1], 1);
    return itg_channel_walk_of(w->dims[0], itg_value_elements(g, n->inputs[1]) / w->dims[0]);
}

itg_channel_walk itg_read_walk(const itg_graph *g, itg_id node, const itg_channels *channels)
{
    const itg_node *n = &g->nodes[node];
    const itg_shape *w = &g->values[n->inputs[1]].shape;
    if (n->op == ITG_OP_GEMM) return itg_channel_walk_of(channels->count, channels->block);
    if (n->op == ITG_OP_MATMUL)
        return itg_channel_walk_of(channels->count, w->dims[1] * channels->block);
    int64_t outer = n->attrs.group == 1 ? w->dims[0] : 1;
    return itg_channel_walk_of(channels->count,
                               itg_value_elements(g, n->inputs[1]) / outer / channels->count);
}

const float *itg_bias_floats(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    return has_bias(n) ? itg_floats(g, n->inputs[2]) : NULL;
}

itg_status itg_own_bias(itg_graph *g, itg_id node, int64_t channels, float **data, itg_error *err)
{
    const itg_shape shape = {.rank = 1, .dims = {channels}};
    itg_id bias = ITG_NONE;
    if (has_bias(&g->nodes[node])) return itg_own_floats(g, node, 2, &shape, data, err);
    itg_status status = itg_new_floats(g, g->nodes[node].name, "bias", &shape, &bias, data, err);
    if (status != ITG_OK) return status;
    const itg_id *inputs = g->nodes[node].inputs;
    return itg_graph_set_node_inputs(g, node, (const itg_id[]){inputs[0], inputs[1], bias}, 3, err);
}
