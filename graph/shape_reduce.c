/* Shapes of reductions and normalizations. */
#include "shape.h"

itg_status itg_infer_reduce(itg_graph *g, itg_id node, itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    itg_shape x = *itg_input_shape(g, node, 0), y = {.rank = 0};
    itg_status status = itg_take_axes(g, node, 1, err);
    if (status == ITG_OK) status = itg_resolve_axes(g, node, x.rank, a->axes, a->axes_count, err);
    if (status != ITG_OK) return status;
    if (a->axes_count == 0 && !a->noop_with_empty_axes)
        for (a->axes_count = 0; a->axes_count < x.rank; ++a->axes_count)
            a->axes[a->axes_count] = a->axes_count;
    itg_graph_drop_inputs(g, node, 1);
    for (int32_t i = 0, next = 0; i < x.rank; ++i) {
        bool reduced = next < a->axes_count && a->axes[next] == i;
        next += reduced;
        if (!reduced || a->keepdims) y.dims[y.rank++] = reduced ? 1 : x.dims[i];
        if (reduced && x.dims[i] == 0 && g->nodes[node].op == ITG_OP_REDUCE_MEAN)
            return itg_node_fail(g, node, err, ITG_UNSUPPORTED,
                                 "axis %d has no elements; ONNX does not define their mean",
                                 (int)i);
    }
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}

itg_status itg_infer_arg_max(itg_graph *g, itg_id node, itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    itg_shape x = *itg_input_shape(g, node, 0), y = {.rank = 0};
    itg_status status = itg_resolve_axis(g, node, x.rank, &a->axis, err);
    if (status != ITG_OK) return status;
    if (x.dims[a->axis] == 0)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "axis %lld has no elements",
                             (long long)a->axis);
    for (int32_t i = 0; i < x.rank; ++i)
        if (i != a->axis || a->keepdims) y.dims[y.rank++] = i == a->axis ? 1 : x.dims[i];
    return itg_set_output(g, node, 0, ITG_S64, &y, err);
}

bool itg_is_old_softmax(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    return (n->op == ITG_OP_HARDMAX || itg_op_is(n->op, ITG_IS_SOFTMAX)) && n->opset > 0 &&
           n->opset < 13;
}

/* Before opset 13 a row is everything from `axis` on. If at most one of those dimensions is not 1,
 * this equals today's Softmax along that dimension; pass_softmax.c rewrites the others. */
itg_status itg_infer_softmax(itg_graph *g, itg_id node, itg_error *err)
{
    itg_node *n = &g->nodes[node];
    itg_shape x = *itg_input_shape(g, node, 0);
    itg_status status = itg_resolve_axis(g, node, x.rank, &n->attrs.axis, err);
    if (status != ITG_OK) return status;
    if (itg_is_old_softmax(g, node)) {
        int64_t wide = 0, axis = n->attrs.axis;
        for (int64_t i = n->attrs.axis; i < x.rank; ++i)
            if (x.dims[i] != 1) {
                wide++;
                axis = i;
            }
        if (wide <= 1) {
            n->attrs.axis = axis;
            n->opset = 0;
        }
    }
    return itg_infer_same(g, node, err);
}

itg_status itg_infer_lp_normalization(itg_graph *g, itg_id node, itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    itg_status status = itg_resolve_axis(g, node, itg_input_rank(g, node), &a->axis, err);
    if (status == ITG_OK && a->p != 1 && a->p != 2)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "p is %lld; 1 and 2 are norms",
                             (long long)a->p);
    return status == ITG_OK ? itg_infer_same(g, node, err) : status;
}

itg_status itg_infer_mean_variance(itg_graph *g, itg_id node, itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    itg_status status =
        itg_resolve_axes(g, node, itg_input_rank(g, node), a->axes, a->axes_count, err);
    return status == ITG_OK ? itg_infer_same(g, node, err) : status;
}

itg_status itg_infer_batch_normalization(itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape x = *itg_input_shape(g, node, 0);
    const itg_node *n = &g->nodes[node];
    static const char *const names[] = {"X", "scale", "bias", "mean", "variance"};
    int64_t axis = n->attrs.axis;
    if (x.rank < 2 || axis < 0 || axis >= x.rank)
        return itg_node_fail(g, node, err, ITG_BAD_FILE,
                             "its input has rank %d; expected [N,C,...]", (int)x.rank);
    for (int32_t i = 1; i < 5; ++i) {
        const itg_shape *p = itg_input_shape(g, node, i);
        char text[96];
        if (p->rank != 1 || p->dims[0] != x.dims[axis])
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "its %s is %s; expected [%lld]",
                                 names[i], itg_shape_text(p, text, sizeof text),
                                 (long long)x.dims[axis]);
    }
    for (int32_t i = 1; i < n->output_count; ++i)
        if (n->outputs[i] != ITG_NONE && itg_graph_use_count(g, n->outputs[i]) > 0)
            return itg_node_fail(g, node, err, ITG_UNSUPPORTED, "its training output '%s' is used",
                                 g->values[n->outputs[i]].name);
    if (n->attrs.training_mode && !g->values[n->inputs[0]].data)
        return itg_node_fail(
            g, node, err, ITG_UNSUPPORTED,
            "its training_mode is 1: it normalizes by the statistics of a batch, "
            "which a network does only while it is trained; export it for inference");
    g->nodes[node].output_count = 1;
    return itg_infer_same(g, node, err);
}

itg_status itg_infer_layer_normalization(itg_graph *g, itg_id node, itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    itg_shape x = *itg_input_shape(g, node, 0), tail = {.rank = 0}, row = x;
    char pt[96], tt[96];
    itg_status status = itg_resolve_axis(g, node, x.rank, &a->axis, err);
    if (status != ITG_OK) return status;
    for (int64_t i = a->axis; i < x.rank; ++i) {
        tail.dims[tail.rank++] = x.dims[i];
        row.dims[i] = 1;
    }
    for (int32_t i = 1; i < 3; ++i) {
        const itg_shape *p = itg_input_shape(g, node, i);
        itg_shape both;
        if (p && (!itg_broadcast_shapes(p, &tail, &both) || !itg_shape_equal(&both, &tail)))
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "its %s is %s; expected %s",
                                 i == 1 ? "scale" : "bias", itg_shape_text(p, pt, sizeof pt),
                                 itg_shape_text(&tail, tt, sizeof tt));
    }
    status = itg_set_output(g, node, 1, ITG_F32, &row, err);
    if (status == ITG_OK) status = itg_set_output(g, node, 2, ITG_F32, &row, err);
    return status == ITG_OK ? itg_infer_same(g, node, err) : status;
}
