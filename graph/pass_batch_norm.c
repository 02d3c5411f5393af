/* A BatchNormalization that was not folded becomes Mul and Add with constants that broadcast along
 * its channels: y = x * k + (beta - mean * k), k = gamma / sqrt(variance + epsilon), in double,
 * each constant rounded once. */
#include "passes.h"
#include <math.h>

static bool has_constants(const itg_graph *g, const itg_node *n)
{
    for (int32_t i = 1; i < 5; ++i)
        if (!itg_is_float_constant(g, n->inputs[i])) return false;
    return true;
}

static itg_status rewrite(itg_graph *g, itg_id node, itg_error *err)
{
    itg_node n = g->nodes[node]; /* a copy, because adding a node may move g->nodes */
    itg_id scale, shift, product;
    float *k, *t;
    itg_shape x = g->values[n.inputs[0]].shape, shape = {.rank = x.rank};
    for (int32_t i = 0; i < x.rank; ++i)
        shape.dims[i] = i == n.attrs.axis ? x.dims[i] : 1;
    itg_status status = itg_new_floats(g, n.name, "scale", &shape, &scale, &k, err);
    if (status == ITG_OK) status = itg_new_floats(g, n.name, "shift", &shape, &shift, &t, err);
    if (status != ITG_OK) return status;
    for (int64_t i = 0; i < x.dims[n.attrs.axis]; ++i) {
        double root = sqrt((double)itg_floats(g, n.inputs[4])[i] + (double)n.attrs.epsilon);
        double factor = (double)itg_floats(g, n.inputs[1])[i] / root;
        double mean = (double)itg_floats(g, n.inputs[3])[i];
        k[i] = (float)factor;
        t[i] = (float)((double)itg_floats(g, n.inputs[2])[i] - mean * factor);
    }
    itg_new_op mul = {.base = n.name,
                      .suffix = "mul",
                      .op = ITG_OP_MUL,
                      .inputs = {n.inputs[0], scale},
                      .shape = x};
    status = itg_insert(g, &mul, NULL, &product, err);
    if (status != ITG_OK) return status;
    itg_become(g, node, ITG_OP_ADD);
    return itg_graph_set_node_inputs(g, node, (const itg_id[]){product, shift}, 2, err);
}

itg_status itg_pass_batch_norm(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    if (g->nodes[node].op != ITG_OP_BATCH_NORMALIZATION) return ITG_OK;
    if (!has_constants(g, &g->nodes[node]))
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED, "its parameters are not all constant");
    *changed = true;
    return rewrite(g, node, err);
}
