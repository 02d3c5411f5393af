/* Brings matrix products with constant weights to one form: Gemm with weights [N,K] if the input is
 * a matrix, MatMul with weights [K,N] if it has more dimensions. */
#include "passes.h"

/* Gives transposed weights the range that the file stated for the original, with the other axis. */
static itg_status keep_stated(itg_graph *g, itg_id weights, const itg_stated *stated,
                              itg_error *err)
{
    if (!stated) return ITG_OK;
    itg_stated *turned = itg_arena_copy(g->arena, stated, sizeof *stated);
    if (!turned) return itg_graph_no_memory(g, err);
    turned->axis = 1 - stated->axis;
    g->values[weights].stated = turned;
    return ITG_OK;
}

static itg_status transpose_weights(itg_graph *g, itg_id node, itg_error *err)
{
    itg_id weights = g->nodes[node].inputs[1];
    const float *from = itg_floats(g, weights);
    int64_t rows = g->values[weights].shape.dims[0], columns = g->values[weights].shape.dims[1];
    itg_shape shape = {.rank = 2, .dims = {columns, rows}};
    const itg_stated *stated = g->values[weights].stated;
    float *to;
    itg_status status = itg_own_floats(g, node, 1, &shape, &to, err);
    if (status != ITG_OK) return status;
    status = keep_stated(g, g->nodes[node].inputs[1], stated, err);
    if (status != ITG_OK) return status;
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
            to[c * rows + r] = from[r * columns + c];
    return ITG_OK;
}

/* Drops the leading ones of constant weights [1,..,1,K,N] if the input has at least their rank. */
static itg_status drop_leading_ones(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    itg_id x = g->nodes[node].inputs[0], weights = g->nodes[node].inputs[1];
    itg_shape w = g->values[weights].shape;
    if (w.rank < 3 || g->values[x].shape.rank < w.rank) return ITG_OK;
    for (int32_t i = 0; i < w.rank - 2; ++i)
        if (w.dims[i] != 1) return ITG_OK;
    itg_shape flat = {.rank = 2, .dims = {w.dims[w.rank - 2], w.dims[w.rank - 1]}};
    const float *from = itg_floats(g, weights);
    float *to;
    itg_status status = itg_own_floats(g, node, 1, &flat, &to, err);
    if (status != ITG_OK) return status;
    for (int64_t i = 0; i < flat.dims[0] * flat.dims[1]; ++i)
        to[i] = from[i];
    *changed = true;
    return ITG_OK;
}

static itg_status canonical_matmul(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    itg_status status = drop_leading_ones(g, node, changed, err);
    if (status != ITG_OK) return status;
    if (g->values[g->nodes[node].inputs[0]].shape.rank != 2 ||
        g->values[g->nodes[node].inputs[1]].shape.rank != 2)
        return ITG_OK;
    status = transpose_weights(g, node, err);
    if (status != ITG_OK) return status;
    itg_become(g, node, ITG_OP_GEMM)->attrs.trans_b = true;
    *changed = true;
    return ITG_OK;
}

itg_status itg_pass_gemm(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    const itg_node *n = &g->nodes[node];
    if (n->input_count < 2 || !itg_is_float_constant(g, n->inputs[1])) return ITG_OK;
    if (n->op == ITG_OP_MATMUL) return canonical_matmul(g, node, changed, err);
    if (n->op != ITG_OP_GEMM || n->attrs.trans_b) return ITG_OK;
    g->nodes[node].attrs.trans_b = true;
    *changed = true;
    return transpose_weights(g, node, err);
}
