/* Shapes that depend on the elements of inputs, which must be constants. These inputs stay, so that
 * a second inference gives the same result. */
#include "base/element.h"
#include "shape.h"

static itg_status need_constant(const itg_graph *g, itg_id node, int32_t slot, const char *what,
                                itg_error *err)
{
    if (!itg_has_input(g, node, slot))
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its %s is left out", what);
    const itg_value *v = &g->values[g->nodes[node].inputs[slot]];
    if (v->data) return ITG_OK;
    return itg_node_fail(g, node, err, ITG_UNSUPPORTED,
                         "its %s '%s' is not a constant, and the shape of its output depends on it",
                         what, v->name);
}

/* Reads a constant of one element. */
static itg_status need_number(const itg_graph *g, itg_id node, int32_t slot, const char *what,
                              itg_tensor *out, itg_error *err)
{
    int64_t elements = 0;
    itg_status status = need_constant(g, node, slot, what, err);
    if (status != ITG_OK) return status;
    *out = itg_graph_tensor(g, g->nodes[node].inputs[slot]);
    if (itg_shape_elements(&out->shape, &elements) && elements == 1) return ITG_OK;
    return itg_node_fail(g, node, err, ITG_BAD_FILE, "its %s is not one number", what);
}

/* Reads a constant size from 0 to ITG_MAX_ELEMENTS. */
static itg_status need_size(const itg_graph *g, itg_id node, int32_t slot, const char *what,
                            int64_t *out, itg_error *err)
{
    itg_tensor t;
    itg_status status = need_number(g, node, slot, what, &t, err);
    if (status != ITG_OK) return status;
    double real = 0;
    if (t.dtype == ITG_F32) real = (double)*(const float *)t.data;
    if (t.dtype == ITG_F64) real = *(const double *)t.data;
    const bool in_reach = real >= 0.0 && real <= (double)ITG_MAX_ELEMENTS;
    *out = in_reach ? itg_load(t.dtype, t.data, 0) : -1;
    if (*out >= 0 && *out <= ITG_MAX_ELEMENTS) return ITG_OK;
    return itg_node_fail(g, node, err, ITG_BAD_FILE, "its %s is not from 0 to %lld", what,
                         (long long)ITG_MAX_ELEMENTS);
}

/* ---- Range ---- */

/* Returns how many numbers lie from start to before limit; -1: delta is 0, or too many. */
static int64_t count_whole(int64_t start, int64_t limit, int64_t delta)
{
    if (delta == 0) return -1;
    if (delta > 0 ? start >= limit : start <= limit) return 0;
    const uint64_t way =
        delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    const uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    const uint64_t count = way / step + (way % step != 0);
    return count <= (uint64_t)ITG_MAX_ELEMENTS ? (int64_t)count : -1;
}

static int64_t count_real(double start, double limit, double delta)
{
    const double count = (limit - start) / delta;
    if (!(count <= (double)ITG_MAX_ELEMENTS) || delta == 0.0) return -1;
    const int64_t whole = count > 0.0 ? (int64_t)count : 0;
    return whole + (count > (double)whole);
}

itg_status itg_infer_range(itg_graph *g, itg_id node, itg_error *err)
{
    static const char *const names[] = {"start", "limit", "delta"};
    itg_tensor t[3];
    for (int32_t i = 0; i < 3; ++i) {
        itg_status status = need_number(g, node, i, names[i], &t[i], err);
        if (status != ITG_OK) return status;
        if (t[i].dtype != t[0].dtype || t[i].dtype == ITG_BOOL)
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "its %s is %s", names[i],
                                 itg_dtype_name(t[i].dtype));
    }
    itg_shape y = {.rank = 1};
    if (t[0].dtype == ITG_F32)
        y.dims[0] = count_real((double)*(const float *)t[0].data, (double)*(const float *)t[1].data,
                               (double)*(const float *)t[2].data);
    else if (t[0].dtype == ITG_F64)
        y.dims[0] = count_real(*(const double *)t[0].data, *(const double *)t[1].data,
                               *(const double *)t[2].data);
    else
        y.dims[0] =
            count_whole(itg_load(t[0].dtype, t[0].data, 0), itg_load(t[1].dtype, t[1].data, 0),
                        itg_load(t[2].dtype, t[2].data, 0));
    if (y.dims[0] < 0)
        return itg_node_fail(g, node, err, ITG_BAD_FILE,
                             "its start, limit and delta give no range of at most %lld numbers",
                             (long long)ITG_MAX_ELEMENTS);
    return itg_set_output(g, node, 0, t[0].dtype, &y, err);
}

/* ---- the others ---- */

itg_status itg_infer_tile(itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape x = *itg_input_shape(g, node, 0), y = x;
    itg_ints repeats;
    itg_status status = itg_read_ints(g, node, 1, "repeats", &repeats, err);
    if (status != ITG_OK) return status;
    if (repeats.count != x.rank)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "%d repeats; expected %d",
                             (int)repeats.count, (int)x.rank);
    for (int32_t i = 0; i < x.rank; ++i) {
        if (repeats.v[i] < 0 || repeats.v[i] > ITG_MAX_ELEMENTS)
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "%lld repeats on axis %d",
                                 (long long)repeats.v[i], (int)i);
        y.dims[i] *= repeats.v[i]; /* both at most 2^31 */
    }
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}

itg_status itg_infer_top_k(itg_graph *g, itg_id node, itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    itg_shape y = *itg_input_shape(g, node, 0);
    int64_t k = 0;
    itg_status status = itg_resolve_axis(g, node, y.rank, &a->axis, err);
    if (status == ITG_OK) status = need_size(g, node, 1, "k", &k, err);
    if (status != ITG_OK) return status;
    if (k > y.dims[a->axis] || !itg_has_output(g, node, 0))
        return itg_node_fail(g, node, err, ITG_BAD_FILE,
                             "k is %lld, its axis has %lld elements; and it needs output 0",
                             (long long)k, (long long)y.dims[a->axis]);
    y.dims[a->axis] = k;
    status = itg_set_output(g, node, 1, ITG_S64, &y, err);
    return status == ITG_OK ? itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err)
                            : status;
}

itg_status itg_infer_one_hot(itg_graph *g, itg_id node, itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    itg_shape x = *itg_input_shape(g, node, 0), y = {.rank = 0};
    const itg_shape *values = itg_input_shape(g, node, 2);
    int64_t depth = 0, elements = 0;
    itg_status status = itg_resolve_axis(g, node, x.rank + 1, &a->axis, err);
    if (status == ITG_OK) status = need_size(g, node, 1, "depth", &depth, err);
    if (status != ITG_OK) return status;
    if (!itg_shape_elements(values, &elements) || elements != 2 || x.rank >= ITG_MAX_RANK)
        return itg_node_fail(g, node, err, ITG_BAD_FILE,
                             "its values are not two, or its indices have rank %d or more",
                             ITG_MAX_RANK);
    for (int32_t i = 0; i <= x.rank; ++i)
        y.dims[y.rank++] = i < a->axis ? x.dims[i] : i == a->axis ? depth : x.dims[i - 1];
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 2), &y, err);
}

itg_status itg_infer_non_zero(itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape y = {.rank = 2};
    int64_t elements = 0;
    itg_status status = need_constant(g, node, 0, "input", err);
    if (status != ITG_OK) return status;
    itg_tensor x = itg_graph_tensor(g, g->nodes[node].inputs[0]);
    itg_shape_elements(&x.shape, &elements);
    for (int64_t i = 0; i < elements; ++i)
        y.dims[1] += !itg_element_is_zero(&x, i);
    y.dims[0] = x.shape.rank > 0 ? x.shape.rank : 1;
    return itg_set_output(g, node, 0, ITG_S64, &y, err);
}

/* Resolves an axis. The preset ITG_MAX_RANK means that the input is flattened. */
static itg_status resolve_flat_axis(itg_graph *g, itg_id node, itg_error *err)
{
    int64_t *axis = &g->nodes[node].attrs.axis;
    if (*axis == ITG_MAX_RANK) return ITG_OK;
    return itg_resolve_axis(g, node, itg_input_rank(g, node), axis, err);
}

/* Sets an output with `count` slices of the input. */
static itg_status set_slices(itg_graph *g, itg_id node, int64_t count, itg_error *err)
{
    const int64_t axis = g->nodes[node].attrs.axis;
    itg_shape y = {.rank = 1};
    if (axis != ITG_MAX_RANK) y = *itg_input_shape(g, node, 0);
    y.dims[axis == ITG_MAX_RANK ? 0 : axis] = count;
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}

itg_status itg_infer_compress(itg_graph *g, itg_id node, itg_error *err)
{
    itg_status status = resolve_flat_axis(g, node, err);
    if (status == ITG_OK) status = need_constant(g, node, 1, "condition", err);
    if (status != ITG_OK) return status;
    const itg_shape *x = itg_input_shape(g, node, 0);
    const int64_t axis = g->nodes[node].attrs.axis;
    itg_tensor chosen = itg_graph_tensor(g, g->nodes[node].inputs[1]);
    int64_t slices = 0, count = 0;
    if (axis == ITG_MAX_RANK)
        itg_shape_elements(x, &slices);
    else
        slices = x->dims[axis];
    if (chosen.dtype != ITG_BOOL || chosen.shape.rank != 1)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its condition is no list of booleans");
    for (int64_t i = 0; i < chosen.shape.dims[0]; ++i) {
        if (itg_element_is_zero(&chosen, i)) continue;
        if (i >= slices)
            return itg_node_fail(g, node, err, ITG_BAD_FILE,
                                 "its condition chooses element %lld of %lld", (long long)i,
                                 (long long)slices);
        ++count;
    }
    return set_slices(g, node, count, err);
}

itg_status itg_infer_unique(itg_graph *g, itg_id node, itg_error *err)
{
    itg_unique u;
    itg_status status = resolve_flat_axis(g, node, err);
    if (status == ITG_OK) status = need_constant(g, node, 0, "input", err);
    if (status != ITG_OK) return status;
    const itg_tensor x = itg_graph_tensor(g, g->nodes[node].inputs[0]);
    if (!itg_unique_find(&x, g->nodes[node].attrs.axis, false, &u))
        status = itg_graph_no_memory(g, err);
    const itg_shape distinct = {.rank = 1, .dims = {u.count}}, all = {.rank = 1, .dims = {u.total}};
    const int64_t count = u.count;
    itg_unique_deinit(&u);
    for (int32_t i = 1; i < 4 && status == ITG_OK; ++i)
        status = itg_set_output(g, node, i, ITG_S64, i == 2 ? &all : &distinct, err);
    return status == ITG_OK ? set_slices(g, node, count, err) : status;
}
