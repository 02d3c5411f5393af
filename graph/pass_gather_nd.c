/* Replaces GatherND with constant indices over leading dimensions by Gather, which every target
 * has. The indexed dimensions are flattened into one, after a first dimension of 1. */
#include "passes.h"

static bool applies(const itg_graph *g, const itg_node *n)
{
    if (n->op != ITG_OP_GATHER_ND || n->opset != 0 || n->attrs.batch_dims != 0) return false;
    const itg_value *x = &g->values[n->inputs[0]], *indices = &g->values[n->inputs[1]];
    if (x->dtype != ITG_F32 || x->data || !indices->data || indices->dtype != ITG_S64 ||
        indices->shape.rank < 1)
        return false;
    const int64_t depth = indices->shape.dims[indices->shape.rank - 1];
    return depth <= x->shape.rank && x->shape.rank - depth <= ITG_MAX_RANK - 2;
}

/* Returns the flat index of a tuple of indices over x's leading dimensions. */
static int64_t flat_index(const int64_t *index, int64_t depth, const itg_shape *x)
{
    int64_t at = 0;
    for (int64_t d = 0; d < depth; ++d)
        at = at * x->dims[d] + (index[d] < 0 ? index[d] + x->dims[d] : index[d]);
    return at;
}

static itg_status flat_indices(itg_graph *g, itg_id node, const char *base, itg_id *out,
                               itg_error *err)
{
    const itg_node *n = &g->nodes[node];
    const itg_value *indices = &g->values[n->inputs[1]];
    const int64_t depth = indices->shape.dims[indices->shape.rank - 1];
    const itg_shape x = g->values[n->inputs[0]].shape;
    const int64_t count = itg_value_elements(g, n->inputs[1]) / (depth > 0 ? depth : 1);
    const int64_t *from = indices->data;
    int64_t *to;
    itg_status status = itg_new_indices(g, base, "indices", count, out, &to, err);
    for (int64_t i = 0; i < count && status == ITG_OK; ++i)
        to[i] = flat_index(from + i * depth, depth, &x);
    return status;
}

/* x with its first `depth` dimensions flattened, after a dimension of 1. */
static itg_shape rows_of(const itg_shape *x, int64_t depth)
{
    itg_shape rows = {.rank = 2, .dims = {1, 1}};
    for (int32_t d = 0; d < x->rank; ++d) {
        if (d < depth)
            rows.dims[1] *= x->dims[d];
        else
            rows.dims[rows.rank++] = x->dims[d];
    }
    return rows;
}

itg_status itg_pass_gather_nd(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    if (!applies(g, &g->nodes[node])) return ITG_OK;
    const itg_node *n = &g->nodes[node];
    const itg_shape *index_shape = &g->values[n->inputs[1]].shape;
    const int64_t depth = index_shape->dims[index_shape->rank - 1];
    const char *base = g->values[n->outputs[0]].name;
    itg_attrs attrs = itg_attrs_default(ITG_OP_GATHER);
    itg_id value = n->inputs[0], indices;
    itg_shape rows = rows_of(&g->values[value].shape, depth);
    attrs.axis = 1;
    itg_status status = flat_indices(g, node, base, &indices, err);
    if (status != ITG_OK) return status;
    status = itg_insert_reshape(g, base, "rows", &rows, &value, err);
    if (status != ITG_OK) return status;
    rows.dims[1] = g->values[indices].shape.dims[0];
    itg_new_op gather = {.base = base,
                         .suffix = "gather",
                         .op = ITG_OP_GATHER,
                         .inputs = {value, indices},
                         .attrs = &attrs,
                         .shape = rows};
    status = itg_insert(g, &gather, NULL, &value, err);
    if (status != ITG_OK) return status;
    itg_become(g, node, ITG_OP_RESHAPE);
    itg_set_only_input(g, node, value);
    *changed = true;
    return ITG_OK;
}
