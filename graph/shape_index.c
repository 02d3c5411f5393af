/* Shapes of operators that place elements by indices or by a pattern. */
#include "shape.h"

static itg_status fail_shapes(const itg_graph *g, itg_id node, itg_error *err)
{
    const itg_shape *x = itg_input_shape(g, node, 0), *indices = itg_input_shape(g, node, 1);
    char xt[96], it[96];
    return itg_node_fail(g, node, err, ITG_BAD_FILE, "indices %s do not fit %s%s",
                         itg_shape_text(indices, it, sizeof it), itg_shape_text(x, xt, sizeof xt),
                         itg_has_input(g, node, 2) ? ", or its updates do not fit them" : "");
}

/* Checks the dtypes of the indices and, for Scatter*, of the updates. */
static itg_status check_types(const itg_graph *g, itg_id node, itg_error *err)
{
    const itg_dtype dtype = itg_input_dtype(g, node, 1);
    if (dtype != ITG_S64 && dtype != ITG_S32)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its indices are %s; expected s64",
                             itg_dtype_name(dtype));
    if (itg_has_input(g, node, 2) && itg_input_dtype(g, node, 2) != itg_input_dtype(g, node, 0))
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its updates are %s; expected %s",
                             itg_dtype_name(itg_input_dtype(g, node, 2)),
                             itg_dtype_name(itg_input_dtype(g, node, 0)));
    return ITG_OK;
}

/* GatherElements: the indices' shape. ScatterElements: the input's; updates have the indices'. */
itg_status itg_infer_elements(itg_graph *g, itg_id node, itg_error *err)
{
    const bool scatters = g->nodes[node].op == ITG_OP_SCATTER_ELEMENTS;
    itg_shape x = *itg_input_shape(g, node, 0), indices = *itg_input_shape(g, node, 1);
    int64_t *axis = &g->nodes[node].attrs.axis;
    itg_status status = check_types(g, node, err);
    if (status == ITG_OK) status = itg_resolve_axis(g, node, x.rank, axis, err);
    if (status != ITG_OK) return status;
    bool fits = indices.rank == x.rank &&
                (!scatters || itg_shape_equal(itg_input_shape(g, node, 2), &indices));
    for (int32_t d = 0; fits && d < x.rank; ++d)
        fits = d == *axis || indices.dims[d] <= x.dims[d];
    if (!fits) return fail_shapes(g, node, err);
    status = itg_check_indices(g, node, x.dims[*axis], err);
    return status == ITG_OK ? itg_set_output(g, node, 0, itg_input_dtype(g, node, 0),
                                             scatters ? &x : &indices, err)
                            : status;
}

/* Computes the shape that rows of indices select: the indices' shape without its last dimension,
 * then the dimensions of x that a row does not index. */
static bool rows_shape(const itg_shape *x, const itg_shape *indices, int64_t batch_dims,
                       itg_shape *out)
{
    if (indices->rank < 1 || batch_dims < 0 || batch_dims >= indices->rank) return false;
    const int64_t width = indices->dims[indices->rank - 1];
    if (width < 1 || width + batch_dims > x->rank ||
        indices->rank - 1 + x->rank - width - batch_dims > ITG_MAX_RANK)
        return false;
    *out = (itg_shape){.rank = 0};
    for (int32_t d = 0; d < indices->rank - 1; ++d) {
        if (d < batch_dims && indices->dims[d] != x->dims[d]) return false;
        out->dims[out->rank++] = indices->dims[d];
    }
    for (int64_t d = batch_dims + width; d < x->rank; ++d)
        out->dims[out->rank++] = x->dims[d];
    return true;
}

itg_status itg_infer_rows(itg_graph *g, itg_id node, itg_error *err)
{
    const bool scatters = g->nodes[node].op == ITG_OP_SCATTER_ND;
    itg_shape x = *itg_input_shape(g, node, 0), rows;
    itg_status status = check_types(g, node, err);
    if (status != ITG_OK) return status;
    const int64_t batch_dims = scatters ? 0 : g->nodes[node].attrs.batch_dims;
    if (!rows_shape(&x, itg_input_shape(g, node, 1), batch_dims, &rows) ||
        (scatters && !itg_shape_equal(itg_input_shape(g, node, 2), &rows)))
        return fail_shapes(g, node, err);
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), scatters ? &x : &rows, err);
}

/* ---- patterns ---- */

itg_status itg_infer_size(itg_graph *g, itg_id node, itg_error *err)
{
    return itg_set_output(g, node, 0, ITG_S64, &(itg_shape){.rank = 0}, err);
}

itg_status itg_infer_eye_like(itg_graph *g, itg_id node, itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    itg_shape x = *itg_input_shape(g, node, 0);
    if (x.rank != 2)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its input has rank %d; expected 2",
                             (int)x.rank);
    if (a->to == ITG_DTYPE_COUNT) a->to = itg_input_dtype(g, node, 0);
    return itg_set_output(g, node, 0, a->to, &x, err);
}

/* Checks that an input is one integer. */
static itg_status check_index(const itg_graph *g, itg_id node, int32_t slot, const char *what,
                              itg_error *err)
{
    int64_t elements = 0;
    const itg_dtype dtype = itg_input_dtype(g, node, slot);
    if ((dtype == ITG_S64 || dtype == ITG_S32) &&
        itg_shape_elements(itg_input_shape(g, node, slot), &elements) && elements == 1)
        return ITG_OK;
    return itg_node_fail(g, node, err, ITG_BAD_FILE, "its %s is not one integer", what);
}

itg_status itg_infer_trilu(itg_graph *g, itg_id node, itg_error *err)
{
    const int32_t rank = itg_input_rank(g, node);
    if (rank < 2)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its input has rank %d; expected matrices",
                             (int)rank);
    itg_status status = itg_has_input(g, node, 1) ? check_index(g, node, 1, "k", err) : ITG_OK;
    return status == ITG_OK ? itg_infer_same(g, node, err) : status;
}

itg_status itg_infer_cumulative(itg_graph *g, itg_id node, itg_error *err)
{
    itg_status status = check_index(g, node, 1, "axis", err);
    if (status != ITG_OK) return status;
    const itg_value *v = &g->values[g->nodes[node].inputs[1]];
    int64_t axis = v->data ? itg_load(v->dtype, v->data, 0) : -1;
    status = itg_resolve_axis(g, node, itg_input_rank(g, node), &axis, err);
    return status == ITG_OK ? itg_infer_same(g, node, err) : status;
}

itg_status itg_infer_reverse_sequence(itg_graph *g, itg_id node, itg_error *err)
{
    const itg_attrs *a = &g->nodes[node].attrs;
    const itg_shape *x = itg_input_shape(g, node, 0), *lengths = itg_input_shape(g, node, 1);
    itg_status status = check_types(g, node, err);
    if (status != ITG_OK) return status;
    if (x->rank < 2 || a->batch_axis < 0 || a->batch_axis > 1 ||
        a->time_axis != 1 - a->batch_axis || lengths->rank != 1 ||
        lengths->dims[0] != x->dims[a->batch_axis])
        return itg_node_fail(g, node, err, ITG_BAD_FILE,
                             "its axes are not 0 and 1, or its lengths are not one a batch");
    return itg_infer_same(g, node, err);
}

itg_status itg_infer_det(itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape y = *itg_input_shape(g, node, 0);
    if (y.rank < 2 || y.dims[y.rank - 1] != y.dims[y.rank - 2])
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its input is no square matrix");
    y.rank -= 2;
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}
