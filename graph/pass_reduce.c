/* Replaces reductions of float32 by pools over all dimensions after the second, which more hardware
 * has. Before a GlobalMaxPool, a Transpose moves the reduced dimensions to the end if necessary,
 * and a Reshape merges the others except the first. A ReduceMean becomes a GlobalAveragePool where
 * it is one: the mean of every plane of images. */
#include "passes.h"

static bool is_reduced(const itg_attrs *a, int32_t d)
{
    for (int32_t i = 0; i < a->axes_count; ++i)
        if (a->axes[i] == d) return true;
    return false;
}

static bool applies(const itg_graph *g, const itg_node *n)
{
    if (n->op != ITG_OP_REDUCE_MAX || n->opset != 0 || n->input_count != 1) return false;
    const itg_value *x = &g->values[n->inputs[0]];
    return x->dtype == ITG_F32 && !x->data && x->shape.rank >= 2 && n->attrs.axes_count > 0 &&
           !is_reduced(&n->attrs, 0);
}

/* Computes the order that puts the reduced dimensions after the kept ones. */
static void order_of(const itg_attrs *a, const itg_shape *x, itg_attrs *transpose, itg_shape *moved,
                     itg_shape *rows)
{
    int32_t at = 0;
    *rows = (itg_shape){.rank = 3, .dims = {x->dims[0], 1, 1}};
    moved->rank = x->rank;
    for (int pass = 0; pass < 2; ++pass)
        for (int32_t d = 0; d < x->rank; ++d) {
            if (is_reduced(a, d) != (pass == 1)) continue;
            if (d > 0) rows->dims[1 + pass] *= x->dims[d];
            transpose->perm[at] = d;
            moved->dims[at++] = x->dims[d];
        }
}

/* Transposes the reduced dimensions to the end, unless they are there. */
static itg_status move_to_end(itg_graph *g, itg_id node, const itg_attrs *transpose,
                              const itg_shape *moved, itg_id *value, itg_error *err)
{
    itg_new_op op = {.base = g->values[g->nodes[node].outputs[0]].name,
                     .suffix = "to_end",
                     .op = ITG_OP_TRANSPOSE,
                     .inputs = {*value, ITG_NONE},
                     .attrs = transpose,
                     .shape = *moved};
    for (int32_t d = 0; d < moved->rank; ++d)
        if (transpose->perm[d] != d) return itg_insert(g, &op, NULL, value, err);
    return ITG_OK;
}

/* Inserts the pool; the node becomes a Reshape of what it makes. */
static itg_status reshape_of(itg_graph *g, itg_id node, const itg_new_op *pool, itg_error *err)
{
    itg_id value = ITG_NONE;
    itg_status status = itg_insert(g, pool, NULL, &value, err);
    if (status != ITG_OK) return status;
    itg_become(g, node, ITG_OP_RESHAPE);
    itg_graph_set_input(g, node, 0, value);
    return ITG_OK;
}

itg_status itg_pass_reduce_max(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    if (!applies(g, &g->nodes[node])) return ITG_OK;
    itg_attrs transpose = itg_attrs_default(ITG_OP_TRANSPOSE);
    itg_shape moved, rows;
    itg_id value = g->nodes[node].inputs[0];
    const char *base = g->values[g->nodes[node].outputs[0]].name;
    order_of(&g->nodes[node].attrs, &g->values[value].shape, &transpose, &moved, &rows);
    itg_status status = move_to_end(g, node, &transpose, &moved, &value, err);
    if (status != ITG_OK) return status;
    status = itg_insert_reshape(g, base, "rows", &rows, &value, err);
    if (status != ITG_OK) return status;
    rows.dims[2] = 1;
    itg_new_op pool = {.base = base,
                       .suffix = "max",
                       .op = ITG_OP_GLOBAL_MAX_POOL,
                       .inputs = {value, ITG_NONE},
                       .shape = rows};
    *changed = true;
    return reshape_of(g, node, &pool, err);
}

/* Whether the node is the mean over height and width. */
static bool is_mean_of_planes(const itg_graph *g, const itg_node *n)
{
    if (n->op != ITG_OP_REDUCE_MEAN || n->opset != 0 || n->input_count != 1) return false;
    const itg_value *x = &g->values[n->inputs[0]];
    return x->dtype == ITG_F32 && !x->data && x->shape.rank == 4 && !is_reduced(&n->attrs, 0) &&
           !is_reduced(&n->attrs, 1) && is_reduced(&n->attrs, 2) && is_reduced(&n->attrs, 3);
}

itg_status itg_pass_reduce_mean(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    if (!is_mean_of_planes(g, &g->nodes[node])) return ITG_OK;
    *changed = true;
    itg_id value = g->nodes[node].inputs[0];
    const itg_id y = g->nodes[node].outputs[0];
    if (g->values[y].shape.rank == 4) {
        itg_become(g, node, ITG_OP_GLOBAL_AVERAGE_POOL);
        return ITG_OK;
    }
    itg_new_op pool = {.base = g->values[y].name,
                       .suffix = "mean",
                       .op = ITG_OP_GLOBAL_AVERAGE_POOL,
                       .inputs = {value, ITG_NONE},
                       .shape = g->values[value].shape};
    pool.shape.dims[2] = pool.shape.dims[3] = 1;
    return reshape_of(g, node, &pool, err);
}
