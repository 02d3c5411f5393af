/* Shapes of operators that cut and join tensors. Once inferred, the extents of Slice, Split and Pad
 * are only in the outputs' shapes; a second inference checks them. */
#include "shape.h"

#define MAX_STEP ((int64_t)1 << 32) /* exceeds every dimension, as all longer steps do */

itg_status itg_infer_concat(itg_graph *g, itg_id node, itg_error *err)
{
    itg_node *n = &g->nodes[node];
    itg_shape y = *itg_input_shape(g, node, 0);
    itg_status status = itg_resolve_axis(g, node, y.rank, &n->attrs.axis, err);
    if (status != ITG_OK) return status;
    for (int32_t i = 1; i < n->input_count; ++i) {
        const itg_shape *x = itg_input_shape(g, node, i);
        char yt[96], xt[96];
        if (!x)
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "input %d must not be left out",
                                 (int)i);
        itg_shape other = *x;
        int64_t along = x->rank == y.rank ? x->dims[n->attrs.axis] : 0;
        if (x->rank == y.rank) other.dims[n->attrs.axis] = y.dims[n->attrs.axis];
        if (!itg_shape_equal(&other, &y))
            return itg_node_fail(g, node, err, ITG_BAD_FILE,
                                 "inputs %s and %s do not fit on axis %lld",
                                 itg_shape_text(&y, yt, sizeof yt),
                                 itg_shape_text(x, xt, sizeof xt), (long long)n->attrs.axis);
        if (itg_input_dtype(g, node, i) != itg_input_dtype(g, node, 0))
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "inputs are %s and %s",
                                 itg_dtype_name(itg_input_dtype(g, node, 0)),
                                 itg_dtype_name(itg_input_dtype(g, node, i)));
        y.dims[n->attrs.axis] += along; /* at most 2^31 inputs of 2^31 each */
    }
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}

/* Returns the size of part i: the stated one, the one that an earlier inference left, or an equal
 * share (since opset 18 the last may be smaller). */
static int64_t split_size(const itg_graph *g, itg_id node, const itg_ints *sizes, int32_t i)
{
    const itg_node *n = &g->nodes[node];
    int64_t axis = n->attrs.axis, total = itg_input_shape(g, node, 0)->dims[axis];
    if (sizes) return i < sizes->count ? sizes->v[i] : -1;
    const itg_value *v = n->outputs[i] == ITG_NONE ? NULL : &g->values[n->outputs[i]];
    if (n->opset == 0 && v && v->shape.rank > axis) return v->shape.dims[axis];
    int64_t share = (total + n->output_count - 1) / n->output_count, rest = total - i * share;
    if (n->opset > 0 && n->opset < 18 && total % n->output_count != 0) return -1;
    return rest < share ? rest : share;
}

itg_status itg_infer_split(itg_graph *g, itg_id node, itg_error *err)
{
    itg_node *n = &g->nodes[node];
    itg_shape x = *itg_input_shape(g, node, 0), y = x;
    itg_ints sizes;
    bool stated = itg_has_input(g, node, 1);
    itg_status status = itg_resolve_axis(g, node, x.rank, &n->attrs.axis, err);
    if (status == ITG_OK && stated) status = itg_read_ints(g, node, 1, "split", &sizes, err);
    if (status != ITG_OK) return status;
    int64_t total = 0, axis = n->attrs.axis;
    bool legal = !stated || sizes.count == n->output_count;
    for (int32_t i = 0; i < n->output_count && legal; ++i) {
        int64_t size = split_size(g, node, stated ? &sizes : NULL, i);
        legal = size >= 0 && size <= x.dims[axis];
        total += size;
    }
    if (!legal || total != x.dims[axis])
        return itg_node_fail(g, node, err, ITG_BAD_FILE,
                             "%lld elements on axis %lld do not split into "
                             "its %d outputs",
                             (long long)x.dims[axis], (long long)axis, (int)n->output_count);
    for (int32_t i = 0; i < n->output_count && status == ITG_OK; ++i) {
        y.dims[axis] = split_size(g, node, stated ? &sizes : NULL, i);
        status = itg_set_output(g, node, i, itg_input_dtype(g, node, 0), &y, err);
    }
    if (status == ITG_OK) itg_graph_drop_inputs(g, node, 1);
    return status;
}

/* Clamps one axis of a slice as numpy does and resolves *start. Returns the number of elements. */
static int64_t slice_axis(int64_t dim, int64_t *start, int64_t end, int64_t step)
{
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1, from = *start;
    from = from < -dim ? low : from < 0 ? from + dim : from > high ? high : from;
    end = end < -dim ? low : end < 0 ? end + dim : end > high ? high : end;
    int64_t count = step > 0 ? (end - from + step - 1) / step : (from - end - step - 1) / -step;
    *start = from < 0 ? 0 : from;
    return count > 0 ? count : 0;
}

static itg_status read_slice(itg_graph *g, itg_id node, const itg_shape *x, itg_shape *y,
                             itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    itg_ints starts, ends, steps = {0};
    itg_status status = itg_read_ints(g, node, 1, "starts", &starts, err);
    if (status == ITG_OK) status = itg_read_ints(g, node, 2, "ends", &ends, err);
    if (status == ITG_OK) status = itg_take_axes(g, node, 3, err);
    if (status == ITG_OK && itg_has_input(g, node, 4))
        status = itg_read_ints(g, node, 4, "steps", &steps, err);
    if (status != ITG_OK) return status;
    if (!itg_has_input(g, node, 3) && a->axes_count == 0)
        for (; a->axes_count < starts.count && a->axes_count < ITG_MAX_RANK; ++a->axes_count)
            a->axes[a->axes_count] = a->axes_count;
    if (starts.count != ends.count || starts.count != a->axes_count ||
        (steps.count != 0 && steps.count != starts.count))
        return itg_node_fail(g, node, err, ITG_BAD_FILE,
                             "starts, ends, axes and steps differ in length");
    unsigned seen = 0;
    for (int32_t i = 0; i < starts.count; ++i) {
        int64_t step = steps.count ? steps.v[i] : 1;
        status = itg_resolve_axis(g, node, x->rank, &a->axes[i], err);
        if (status != ITG_OK) return status;
        if (step == 0 || (seen & 1u << a->axes[i]))
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "axis %lld has %s",
                                 (long long)a->axes[i], step == 0 ? "step 0" : "two entries");
        seen |= 1u << a->axes[i];
        a->steps[i] = step > MAX_STEP ? MAX_STEP : step < -MAX_STEP ? -MAX_STEP : step;
        a->starts[i] = starts.v[i];
        y->dims[a->axes[i]] =
            slice_axis(x->dims[a->axes[i]], &a->starts[i], ends.v[i], a->steps[i]);
    }
    return ITG_OK;
}

/* Checks a Slice that was inferred before: every element that it selects must exist. */
static itg_status check_slice(const itg_graph *g, itg_id node, const itg_shape *x, itg_shape *y,
                              itg_error *err)
{
    const itg_attrs *a = &g->nodes[node].attrs;
    const itg_shape *kept = &g->values[g->nodes[node].outputs[0]].shape;
    unsigned seen = 0;
    bool legal = g->nodes[node].opset == 0 && kept->rank == x->rank;
    for (int32_t i = 0; i < a->axes_count && legal; ++i) {
        int64_t axis = a->axes[i], step = a->steps[i];
        legal = axis >= 0 && axis < x->rank && step >= -MAX_STEP && step <= MAX_STEP && step != 0 &&
                !(seen & 1u << axis) && kept->dims[axis] <= x->dims[axis];
        if (!legal) break;
        seen |= 1u << axis;
        y->dims[axis] = kept->dims[axis];
        if (kept->dims[axis] == 0) continue;
        legal = a->starts[i] >= 0 && a->starts[i] < x->dims[axis];
        int64_t last = legal ? a->starts[i] + (kept->dims[axis] - 1) * step : -1;
        legal = last >= 0 && last < x->dims[axis];
    }
    if (!legal || !itg_shape_equal(kept, y))
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its extent does not fit its input");
    return ITG_OK;
}

itg_status itg_infer_slice(itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape x = *itg_input_shape(g, node, 0), y = x;
    bool stated = itg_has_input(g, node, 1) && itg_has_input(g, node, 2);
    if (!stated && !itg_has_output(g, node, 0))
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "it has no starts and ends");
    itg_status status =
        stated ? read_slice(g, node, &x, &y, err) : check_slice(g, node, &x, &y, err);
    if (status == ITG_OK) status = itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
    if (status == ITG_OK) itg_graph_drop_inputs(g, node, 1);
    return status;
}

itg_status itg_check_indices(const itg_graph *g, itg_id node, int64_t dim, itg_error *err)
{
    const itg_value *v = &g->values[g->nodes[node].inputs[1]];
    int64_t count = 0;
    if (v->dtype != ITG_S64 && v->dtype != ITG_S32)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its indices '%s' are %s; expected s64",
                             v->name, itg_dtype_name(v->dtype));
    if (!v->data || !itg_shape_elements(&v->shape, &count)) return ITG_OK;
    for (int64_t i = 0; i < count; ++i) {
        int64_t index = itg_load(v->dtype, v->data, i);
        if (index < -dim || index >= dim)
            return itg_node_fail(g, node, err, ITG_BAD_FILE,
                                 "index %lld is outside its axis of %lld elements",
                                 (long long)index, (long long)dim);
    }
    return ITG_OK;
}

itg_status itg_infer_gather(itg_graph *g, itg_id node, itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    itg_shape x = *itg_input_shape(g, node, 0), y = {.rank = 0};
    const itg_shape *indices = itg_input_shape(g, node, 1);
    itg_status status = itg_resolve_axis(g, node, x.rank, &a->axis, err);
    if (status == ITG_OK) status = itg_check_indices(g, node, x.dims[a->axis], err);
    if (status != ITG_OK) return status;
    if (x.rank - 1 + indices->rank > ITG_MAX_RANK)
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED, "its output has rank %d; at most %d",
                             (int)(x.rank - 1 + indices->rank), ITG_MAX_RANK);
    for (int32_t i = 0; i < x.rank; ++i) {
        if (i != a->axis) {
            y.dims[y.rank++] = x.dims[i];
            continue;
        }
        for (int32_t j = 0; j < indices->rank; ++j)
            y.dims[y.rank++] = indices->dims[j];
    }
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}

/* Reads the pads in front of and behind every dimension from the constant inputs pads and axes. */
static itg_status read_pads(itg_graph *g, itg_id node, int32_t rank, int64_t *end, itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    itg_ints pads;
    itg_status status = itg_read_ints(g, node, 1, "pads", &pads, err);
    if (status == ITG_OK && itg_has_input(g, node, 2))
        status = itg_read_float(g, node, 2, "value", &a->pad_value, err);
    if (status == ITG_OK) status = itg_take_axes(g, node, 3, err);
    if (status != ITG_OK) return status;
    bool listed = itg_has_input(g, node, 3);
    int32_t count = listed ? a->axes_count : rank;
    if (pads.count != 2 * count)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "%d pads; expected %d", (int)pads.count,
                             (int)(2 * count));
    for (int32_t i = 0; i < rank; ++i)
        a->pads_begin[i] = end[i] = 0;
    for (int32_t i = 0; i < count; ++i) {
        int64_t axis = listed ? a->axes[i] : i;
        status = itg_resolve_axis(g, node, rank, &axis, err);
        if (status != ITG_OK) return status;
        a->pads_begin[axis] = pads.v[i];
        end[axis] = pads.v[count + i];
    }
    a->axes_count = 0;
    return ITG_OK;
}

static itg_status keep_pads(const itg_graph *g, itg_id node, const itg_shape *x, int64_t *end,
                            itg_error *err)
{
    const itg_node *n = &g->nodes[node];
    const itg_shape *y = &g->values[n->outputs[0]].shape;
    if (n->opset != 0 || y->rank != x->rank)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "it has no pads");
    for (int32_t i = 0; i < x->rank; ++i) {
        int64_t begin = n->attrs.pads_begin[i];
        if (begin < -x->dims[i] || begin > y->dims[i])
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "its pads do not fit its shapes");
        end[i] = y->dims[i] - x->dims[i] - begin;
    }
    return ITG_OK;
}

itg_status itg_infer_pad(itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape x = *itg_input_shape(g, node, 0), y = x;
    const itg_attrs *a = &g->nodes[node].attrs;
    int64_t end[ITG_MAX_RANK] = {0};
    if (!itg_has_output(g, node, 0))
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its output is left out");
    itg_status status = itg_has_input(g, node, 1) ? read_pads(g, node, x.rank, end, err)
                                                  : keep_pads(g, node, &x, end, err);
    if (status != ITG_OK) return status;
    for (int32_t i = 0; i < x.rank; ++i) {
        int64_t begin = a->pads_begin[i], limit = ITG_MAX_ELEMENTS, most = limit;
        if (a->pad_mode == ITG_PAD_REFLECT) most = x.dims[i] - 1;
        if (a->pad_mode == ITG_PAD_EDGE && x.dims[i] == 0) most = 0;
        if (begin < -limit || end[i] < -limit || begin > most || end[i] > most ||
            x.dims[i] + begin + end[i] < 0 || begin < -x.dims[i] || end[i] < -x.dims[i] ||
            (a->pad_mode != ITG_PAD_CONSTANT && x.dims[i] > 0 &&
             x.dims[i] + (begin < 0 ? begin : 0) + (end[i] < 0 ? end[i] : 0) < 1))
            return itg_node_fail(g, node, err, ITG_BAD_FILE,
                                 "pads %lld and %lld do not fit dimension %d of %lld elements",
                                 (long long)begin, (long long)end[i], (int)i, (long long)x.dims[i]);
        y.dims[i] += begin + end[i];
    }
    status = itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
    if (status == ITG_OK) itg_graph_drop_inputs(g, node, 1);
    return status;
}
