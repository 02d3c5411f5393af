/* Shapes of matrix products. */
#include "base/einsum.h"
#include "shape.h"

/* Whether Gemm's C broadcasts to its output without enlarging it. */
static bool fits_output(const itg_shape *c, const itg_shape *y)
{
    itg_shape both;
    return itg_broadcast_shapes(c, y, &both) && itg_shape_equal(&both, y);
}

itg_status itg_infer_gemm(itg_graph *g, itg_id node, itg_error *err)
{
    const itg_shape *a = itg_input_shape(g, node, 0), *b = itg_input_shape(g, node, 1);
    const itg_shape *c = itg_input_shape(g, node, 2);
    const itg_attrs *attrs = &g->nodes[node].attrs;
    char at[96], bt[96];
    if (a->rank != 2 || b->rank != 2)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "operands %s and %s must have rank 2",
                             itg_shape_text(a, at, sizeof at), itg_shape_text(b, bt, sizeof bt));
    int64_t inner_a = a->dims[attrs->trans_a ? 0 : 1], inner_b = b->dims[attrs->trans_b ? 1 : 0];
    if (inner_a != inner_b)
        return itg_node_fail(g, node, err, ITG_BAD_FILE,
                             "operands %s and %s do not fit (transA=%d, transB=%d)",
                             itg_shape_text(a, at, sizeof at), itg_shape_text(b, bt, sizeof bt),
                             (int)attrs->trans_a, (int)attrs->trans_b);
    itg_shape y = {.rank = 2};
    y.dims[0] = a->dims[attrs->trans_a ? 1 : 0];
    y.dims[1] = b->dims[attrs->trans_b ? 0 : 1];
    if (c && !fits_output(c, &y))
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "bias %s does not broadcast to %s",
                             itg_shape_text(c, at, sizeof at), itg_shape_text(&y, bt, sizeof bt));
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}

/* As numpy: operands of rank 1 become a row (left) or a column (right); the result drops it. */
itg_status itg_infer_matmul(itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape a = *itg_input_shape(g, node, 0), b = *itg_input_shape(g, node, 1), y;
    const itg_shape *bias = itg_input_shape(g, node, 2);
    bool row = a.rank == 1, column = b.rank == 1;
    char at[96], bt[96];
    itg_shape_text(&a, at, sizeof at);
    itg_shape_text(&b, bt, sizeof bt);
    if (a.rank == 0 || b.rank == 0)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "operands %s and %s must not be scalars",
                             at, bt);
    if (row) a = (itg_shape){.rank = 2, .dims = {1, a.dims[0]}};
    if (column) b = (itg_shape){.rank = 2, .dims = {b.dims[0], 1}};
    int64_t m = a.dims[a.rank - 2], k = a.dims[a.rank - 1], n = b.dims[b.rank - 1];
    bool fits = k == b.dims[b.rank - 2];
    a.rank -= 2;
    b.rank -= 2;
    if (!fits || !itg_broadcast_shapes(&a, &b, &y))
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "operands %s and %s do not fit", at, bt);
    if (!row) y.dims[y.rank++] = m;
    if (!column) y.dims[y.rank++] = n;
    if (bias && (bias->rank != 1 || column || bias->dims[0] != n))
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its bias is %s; expected [%lld]",
                             itg_shape_text(bias, at, sizeof at), (long long)n);
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}

/* Infers an Einsum: operands of one type, then the equation, which is a constant. */
itg_status itg_infer_einsum(itg_graph *g, itg_id node, itg_error *err)
{
    const itg_node *n = &g->nodes[node];
    const int32_t operands = n->input_count - 1;
    itg_shape shapes[ITG_EINSUM_OPERANDS], y;
    itg_einsum resolved;
    const itg_value *labels =
        n->inputs[operands] != ITG_NONE ? &g->values[n->inputs[operands]] : NULL;
    if (operands < 1 || operands > ITG_EINSUM_OPERANDS || !labels || !labels->data ||
        labels->dtype != ITG_S64 || labels->shape.rank != 1)
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED,
                             "%d operands and an equation; 1 to %d are supported", (int)operands,
                             (int)ITG_EINSUM_OPERANDS);
    for (int32_t k = 0; k < operands; ++k) {
        if (!itg_has_input(g, node, k) ||
            itg_input_dtype(g, node, k) != itg_input_dtype(g, node, 0))
            return itg_node_fail(g, node, err, ITG_BAD_FILE,
                                 "its operands differ in type, or one is left out");
        shapes[k] = *itg_input_shape(g, node, k);
    }
    const char *why =
        itg_einsum_resolve(labels->data, labels->shape.dims[0], shapes, operands, &resolved, &y);
    if (why) return itg_node_fail(g, node, err, ITG_BAD_FILE, "%s", why);
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}
