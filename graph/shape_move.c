/* Shapes of operators that rearrange elements (Reshape and its like, Transpose, Expand) and of
 * operators that make shapes. Once inferred, the target of Reshape and Expand is only in the
 * output's shape; a second inference checks it. */
#include "shape.h"

/* Returns the shape that an earlier inference left at output 0; false: there is none. */
static bool kept_shape(const itg_graph *g, itg_id node, itg_shape *out)
{
    int64_t elements = 0;
    const itg_node *n = &g->nodes[node];
    if (n->opset != 0 || !itg_has_output(g, node, 0)) return false;
    *out = g->values[n->outputs[0]].shape;
    return out->rank >= 0 && itg_shape_elements(out, &elements);
}

/* Replaces each 0 of a target by the input's dimension, and a -1 by what remains. */
static itg_status fill_target(const itg_graph *g, itg_id node, const itg_shape *x, itg_shape *y,
                              itg_error *err)
{
    int64_t total = 0, known = 1;
    int32_t open = -1;
    char xt[96], yt[96];
    itg_shape_text(y, yt, sizeof yt);
    itg_shape_text(x, xt, sizeof xt);
    for (int32_t i = 0; i < y->rank; ++i) {
        if (y->dims[i] == 0 && !g->nodes[node].attrs.allowzero) {
            if (i >= x->rank)
                return itg_node_fail(g, node, err, ITG_BAD_FILE,
                                     "target %s copies a dimension that input %s does not have", yt,
                                     xt);
            y->dims[i] = x->dims[i];
        }
        if (y->dims[i] < -1 || y->dims[i] > ITG_MAX_ELEMENTS || (y->dims[i] == -1 && open >= 0))
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "target %s is not legal", yt);
        if (y->dims[i] == -1) {
            open = i;
        } else {
            known *= y->dims[i];
            if (known > ITG_MAX_ELEMENTS)
                return itg_node_fail(g, node, err, ITG_LIMIT, "target %s has too many elements",
                                     yt);
        }
    }
    itg_shape_elements(x, &total);
    if (open >= 0 && known > 0 && total % known == 0) y->dims[open] = total / known;
    if (open >= 0 ? y->dims[open] == -1 : known != total)
        return itg_node_fail(g, node, err, ITG_BAD_FILE,
                             "target %s does not hold the elements of %s", yt, xt);
    return ITG_OK;
}

itg_status itg_infer_reshape(itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape x = *itg_input_shape(g, node, 0), y = {.rank = 0};
    itg_ints target;
    if (itg_has_input(g, node, 1)) {
        itg_status status = itg_read_ints(g, node, 1, "shape", &target, err);
        if (status != ITG_OK) return status;
        if (target.count > ITG_MAX_RANK)
            return itg_node_fail(g, node, err, ITG_UNSUPPORTED, "rank %d; at most %d",
                                 (int)target.count, ITG_MAX_RANK);
        for (; y.rank < target.count; ++y.rank)
            y.dims[y.rank] = target.v[y.rank];
        status = fill_target(g, node, &x, &y, err);
        if (status != ITG_OK) return status;
    } else if (!kept_shape(g, node, &y)) {
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "it has no target shape");
    }
    int64_t had = 0, has = 0;
    char xt[96], yt[96];
    if (!itg_shape_elements(&x, &had) || !itg_shape_elements(&y, &has) || had != has)
        return itg_node_fail(g, node, err, ITG_BAD_FILE,
                             "target %s does not hold the elements of %s",
                             itg_shape_text(&y, yt, sizeof yt), itg_shape_text(&x, xt, sizeof xt));
    itg_graph_drop_inputs(g, node, 1);
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}

itg_status itg_infer_flatten(itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape x = *itg_input_shape(g, node, 0), y = {.rank = 2, .dims = {1, 1}};
    int64_t axis = g->nodes[node].attrs.axis;
    if (axis < -x.rank || axis > x.rank)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "axis %lld is outside rank %d",
                             (long long)axis, (int)x.rank);
    if (axis < 0) axis += x.rank;
    g->nodes[node].attrs.axis = axis;
    for (int32_t i = 0; i < x.rank; ++i)
        y.dims[i >= axis] *= x.dims[i]; /* no overflow: a part of a checked product, or 0 */
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}

itg_status itg_infer_squeeze(itg_graph *g, itg_id node, itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    itg_shape x = *itg_input_shape(g, node, 0), y = {.rank = 0};
    itg_status status = itg_take_axes(g, node, 1, err);
    if (status == ITG_OK) status = itg_resolve_axes(g, node, x.rank, a->axes, a->axes_count, err);
    if (status != ITG_OK) return status;
    if (a->axes_count == 0)
        for (int32_t i = 0; i < x.rank; ++i)
            if (x.dims[i] == 1) a->axes[a->axes_count++] = i;
    itg_graph_drop_inputs(g, node, 1);
    for (int32_t i = 0, next = 0; i < x.rank; ++i) {
        if (next >= a->axes_count || a->axes[next] != i) {
            y.dims[y.rank++] = x.dims[i];
            continue;
        }
        next++;
        if (x.dims[i] != 1)
            return itg_node_fail(g, node, err, ITG_BAD_FILE,
                                 "axis %d has %lld elements; expected 1", (int)i,
                                 (long long)x.dims[i]);
    }
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}

itg_status itg_infer_unsqueeze(itg_graph *g, itg_id node, itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    itg_shape x = *itg_input_shape(g, node, 0), y = {.rank = 0};
    itg_status status = itg_take_axes(g, node, 1, err);
    if (status != ITG_OK) return status;
    int32_t rank = x.rank + a->axes_count;
    if (a->axes_count < 1 || rank > ITG_MAX_RANK)
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED,
                             "%d axes on rank %d; expected 1 or more, "
                             "and at most rank %d",
                             (int)a->axes_count, (int)x.rank, ITG_MAX_RANK);
    status = itg_resolve_axes(g, node, rank, a->axes, a->axes_count, err);
    if (status != ITG_OK) return status;
    itg_graph_drop_inputs(g, node, 1);
    for (int32_t next = 0, from = 0; y.rank < rank; ++y.rank) {
        bool added = next < a->axes_count && a->axes[next] == y.rank;
        y.dims[y.rank] = added ? 1 : x.dims[from++];
        next += added;
    }
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}

itg_status itg_infer_transpose(itg_graph *g, itg_id node, itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    itg_shape x = *itg_input_shape(g, node, 0), y = {.rank = x.rank};
    unsigned seen = 0;
    bool absent = true, legal = true;
    for (int32_t i = 0; i < ITG_MAX_RANK; ++i)
        absent &= a->perm[i] == -1;
    for (int32_t i = 0; i < x.rank && absent; ++i)
        a->perm[i] = x.rank - 1 - i;
    for (int32_t i = 0; i < ITG_MAX_RANK; ++i) {
        if (i >= x.rank) {
            legal &= a->perm[i] == -1;
            continue;
        }
        legal &= a->perm[i] >= 0 && a->perm[i] < x.rank;
        if (!legal) break;
        seen |= 1u << a->perm[i];
        y.dims[i] = x.dims[a->perm[i]];
    }
    if (!legal || seen != (1u << x.rank) - 1)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "perm is no permutation of %d dimensions",
                             (int)x.rank);
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}

itg_status itg_infer_expand(itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape x = *itg_input_shape(g, node, 0), target = {.rank = 0}, y;
    itg_ints dims;
    char xt[96], tt[96];
    if (itg_has_input(g, node, 1)) {
        itg_status status = itg_read_ints(g, node, 1, "shape", &dims, err);
        if (status != ITG_OK) return status;
        for (; target.rank < dims.count && target.rank < ITG_MAX_RANK; ++target.rank)
            target.dims[target.rank] = dims.v[target.rank];
    } else if (!kept_shape(g, node, &target)) {
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "it has no target shape");
    }
    bool legal = !itg_has_input(g, node, 1) || target.rank == dims.count;
    for (int32_t i = 0; i < target.rank; ++i)
        legal &= target.dims[i] >= 0;
    if (!legal || !itg_broadcast_shapes(&x, &target, &y))
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "input %s does not broadcast to %s",
                             itg_shape_text(&x, xt, sizeof xt),
                             itg_shape_text(&target, tt, sizeof tt));
    itg_graph_drop_inputs(g, node, 1);
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}

/* Opset 15 selects a part of the shape; its ends are clamped as a slice's. */
itg_status itg_infer_shape(itg_graph *g, itg_id node, itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    int64_t rank = itg_input_shape(g, node, 0)->rank;
    int64_t range[2] = {a->start, a->end};
    for (int i = 0; i < 2; ++i) {
        if (range[i] < 0) range[i] = range[i] < -rank ? 0 : range[i] + rank;
        if (range[i] > rank) range[i] = rank;
    }
    a->start = range[0];
    a->end = range[1];
    itg_shape y = {.rank = 1, .dims = {range[1] > range[0] ? range[1] - range[0] : 0}};
    return itg_set_output(g, node, 0, ITG_S64, &y, err);
}

itg_status itg_infer_constant_of_shape(itg_graph *g, itg_id node, itg_error *err)
{
    itg_ints dims;
    itg_shape y = {.rank = 0};
    itg_status status = itg_read_ints(g, node, 0, "shape", &dims, err);
    if (status != ITG_OK) return status;
    if (dims.count > ITG_MAX_RANK)
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED, "rank %d; at most %d", (int)dims.count,
                             ITG_MAX_RANK);
    for (; y.rank < dims.count; ++y.rank) {
        if (dims.v[y.rank] < 0)
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "dimension %lld is negative",
                                 (long long)dims.v[y.rank]);
        y.dims[y.rank] = dims.v[y.rank];
    }
    return itg_set_output(g, node, 0, g->nodes[node].attrs.to, &y, err);
}
