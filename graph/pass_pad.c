/* Folds a Pad of height and width into the Conv (zeros) or the MaxPool (minus infinity) behind it.
 */
#include "passes.h"
#include <math.h>

/* Fills pad as attrs.pad states it. False: the Pad does not add constants to height and width only.
 */
static bool spatial_pads(const itg_graph *g, const itg_node *n, int64_t pad[4])
{
    if (n->op != ITG_OP_PAD || n->input_count != 1) return false;
    const itg_shape *x = &g->values[n->inputs[0]].shape, *y = &g->values[n->outputs[0]].shape;
    if (n->attrs.pad_mode != ITG_PAD_CONSTANT || x->rank < 3 || x->rank > 4) return false;
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

/* Whether the node may pad its input itself, with the value that the Pad has. */
static bool takes_pads(const itg_node *n, float value, const int64_t pad[4])
{
    if (n->op == ITG_OP_CONV) return value == 0.0f;
    if (n->op != ITG_OP_MAX_POOL || value != -INFINITY || n->attrs.ceil_mode) return false;
    for (int i = 0; i < 4; ++i) /* each window holds an element */
        if (n->attrs.pad[i] + pad[i] >= n->attrs.kernel[i % 2]) return false;
    return true;
}

itg_status itg_pass_pad(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    (void)err;
    int64_t pad[4];
    if (!spatial_pads(g, &g->nodes[node], pad)) return ITG_OK;
    itg_id user = itg_graph_only_reader(g, g->nodes[node].outputs[0]);
    if (user == ITG_NONE || g->nodes[user].inputs[0] != g->nodes[node].outputs[0] ||
        !takes_pads(&g->nodes[user], g->nodes[node].attrs.pad_value, pad))
        return ITG_OK;
    for (int j = 0; j < 4; ++j)
        g->nodes[user].attrs.pad[j] += pad[j];
    *changed |= itg_bypass_node(g, node);
    return ITG_OK;
}
