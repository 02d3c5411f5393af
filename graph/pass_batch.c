/* Makes the graph's inputs static. */
#include "passes.h"

/* Whether the node's target is only in its output's shape. Reshape, Slice... are so once a
 * preparation has resolved them. */
static bool keeps_target(const itg_node *n)
{
    if (n->opset != 0 || n->input_count != 1) return false;
    switch (n->op) {
    case ITG_OP_RESHAPE:
    case ITG_OP_EXPAND:
    case ITG_OP_SLICE:
    case ITG_OP_SPLIT:
    case ITG_OP_PAD:
        return true;
    default:
        return false;
    }
}

/* Removes the shapes that the file declares for results; inference finds them again. */
static void forget_shapes(itg_graph *g)
{
    for (int32_t n = 0; n < g->node_count; ++n) {
        if (keeps_target(&g->nodes[n])) continue;
        for (int32_t i = 0; i < g->nodes[n].output_count; ++i)
            if (g->nodes[n].outputs[i] != ITG_NONE)
                g->values[g->nodes[n].outputs[i]].shape.rank = -1;
    }
}

static itg_status check_input(const itg_graph *g, const itg_value *v, itg_error *err)
{
    int64_t elements = 0;
    if (v->shape.rank < 0)
        return itg_fail(err, ITG_UNSUPPORTED, "%s: input '%s': its rank is not known", g->name,
                        v->name);
    for (int32_t d = 0; d < v->shape.rank; ++d)
        if (v->shape.dims[d] < 1)
            return itg_fail(err, ITG_UNSUPPORTED,
                            "%s: input '%s': dimension %d has no fixed size of 1 or more", g->name,
                            v->name, (int)d);
    if (!itg_shape_elements(&v->shape, &elements))
        return itg_fail(err, ITG_LIMIT, "%s: input '%s' has too many elements", g->name, v->name);
    return ITG_OK;
}

/* Whether a first dimension above 1 is a batch: only if every input has one. Beside an input with 1
 * or an unknown number there, it belongs to the sample. */
static bool has_fixed_batch(const itg_graph *g)
{
    for (int32_t i = 0; i < g->input_count; ++i) {
        const itg_shape *s = &g->values[g->inputs[i]].shape;
        if (s->rank > 0 && s->dims[0] <= 1) return false;
    }
    return true;
}

itg_status itg_pass_batch(itg_graph *g, bool keep_batch, int64_t *old_batch, itg_error *err)
{
    int64_t batch = 1;
    const bool fixed = has_fixed_batch(g);
    forget_shapes(g);
    for (int32_t i = 0; i < g->input_count; ++i) {
        itg_value *v = &g->values[g->inputs[i]];
        if (!keep_batch && v->shape.rank > 0 && (fixed || v->shape.dims[0] <= 1)) {
            int64_t had = v->shape.dims[0];
            if (had > 1 && batch > 1 && had != batch)
                return itg_fail(err, ITG_UNSUPPORTED,
                                "%s: input '%s' has batch %lld, another input %lld", g->name,
                                v->name, (long long)had, (long long)batch);
            if (had > 1) batch = had;
            if (had != 1) g->rebatched = true;
            v->shape.dims[0] = 1;
        }
        itg_status status = check_input(g, v, err);
        if (status != ITG_OK) return status;
    }
    *old_batch = batch;
    return ITG_OK;
}
