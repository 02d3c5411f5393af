/* Folds a Pad of height and width with zeros into the Conv behind it. */
#include "passes.h"

/* Fills pad as attrs.pad states it. False: the Pad does not add zeros to height and width only. */
static bool spatial_pads(const itg_graph *g, const itg_node *n, int64_t pad[4])
{
    if (n->op != ITG_OP_PAD || n->input_count != 1) return false;
    const itg_shape *x = &g->values[n->inputs[0]].shape, *y = &g->values[n->outputs[0]].shape;
    if (n->attrs.pad_mode != ITG_PAD_CONSTANT || n->attrs.pad_value != 0.0f || x->rank < 3 ||
        x->rank > 4)
        return false;
    for (int i = 0; i < 4; ++i)
        pad[i] = 0;
    for (int32_t d = 0; d < x->rank; ++d) {
        int64_t begin = n->attrs.pads_begin[d], end = y->dims[d] - x->dims[d] - begin;
        if (begin < 0 || end < 0 || (d < 2 && (begin > 0 || end > 0))) return false;
        if (d < 2) continue;
        pad[d - 2 + (x->rank == 3)] = begin;
        pad[d + (x->rank == 3)] = end;
    }
    return true;
}

itg_status itg_pass_pad(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    (void)err;
    int64_t pad[4];
    if (!spatial_pads(g, &g->nodes[node], pad)) return ITG_OK;
    itg_id conv = itg_only_consumer(g, g->nodes[node].outputs[0]);
    if (conv == ITG_NONE || g->nodes[conv].op != ITG_OP_CONV ||
        g->nodes[conv].inputs[0] != g->nodes[node].outputs[0])
        return ITG_OK;
    for (int j = 0; j < 4; ++j)
        g->nodes[conv].attrs.pad[j] += pad[j];
    *changed |= itg_bypass_node(g, node);
    return ITG_OK;
}
