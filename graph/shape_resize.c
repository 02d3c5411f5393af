/* The extents of Resize: constant inputs X, roi, scales, sizes, for all axes or the listed ones. */
#include <math.h>
#include "expand.h"

typedef struct numbers {
    int32_t count;
    double v[2 * ITG_MAX_RANK];
} numbers;

static double number_at(const itg_value *v, int64_t i)
{
    if (v->dtype == ITG_F32) return (double)((const float *)v->data)[i];
    if (v->dtype == ITG_F64) return ((const double *)v->data)[i];
    return (double)itg_load(v->dtype, v->data, i);
}

/* Reads a constant list; count 0: the input is left out or empty. */
static itg_status read_numbers(const itg_graph *g, itg_id node, int32_t slot, const char *what,
                               numbers *out, itg_error *err)
{
    out->count = 0;
    if (!itg_has_input(g, node, slot)) return ITG_OK;
    const itg_value *v = &g->values[g->nodes[node].inputs[slot]];
    int64_t elements = 0;
    itg_shape_elements(&v->shape, &elements);
    if (elements == 0) return ITG_OK;
    if (!v->data)
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED, "its %s '%s' is not a constant", what,
                             v->name);
    if (v->shape.rank != 1 || elements > 2 * ITG_MAX_RANK || v->dtype == ITG_BOOL)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its %s '%s' is no list of numbers", what,
                             v->name);
    for (; out->count < elements; ++out->count)
        out->v[out->count] = number_at(v, out->count);
    return ITG_OK;
}

static itg_status check_count(const itg_graph *g, itg_id node, const char *what,
                              const numbers *list, int32_t expected, itg_error *err)
{
    if (list->count == 0 || list->count == expected) return ITG_OK;
    return itg_node_fail(g, node, err, ITG_BAD_FILE, "%d %s; expected %d", (int)list->count, what,
                         (int)expected);
}

/* Sets the regions. roi lists all begins before all ends. */
static void set_regions(const itg_attrs *a, const numbers *roi, itg_resize_axis *axes)
{
    for (int32_t i = 0; i < roi->count / 2; ++i) {
        axes[a->axes[i]].begin = roi->v[i];
        axes[a->axes[i]].end = roi->v[roi->count / 2 + i];
    }
}

/* Computes extents from scales, in float32 as ONNX's own shape inference. */
static itg_status set_scales(const itg_graph *g, itg_id node, const numbers *scales,
                             itg_resize_axis *axes, itg_error *err)
{
    const itg_attrs *a = &g->nodes[node].attrs;
    for (int32_t i = 0; i < scales->count; ++i) {
        itg_resize_axis *axis = &axes[a->axes[i]];
        float out = floorf((float)scales->v[i] * (float)axis->in);
        if (!(scales->v[i] > 0.0) || !(out < (float)ITG_MAX_ELEMENTS))
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "scale %g of axis %d is not legal",
                                 scales->v[i], (int)a->axes[i]);
        axis->scale = scales->v[i];
        axis->out = (int64_t)out;
    }
    return ITG_OK;
}

static itg_status set_sizes(const itg_graph *g, itg_id node, const numbers *sizes,
                            itg_resize_axis *axes, itg_error *err)
{
    const itg_attrs *a = &g->nodes[node].attrs;
    double least = INFINITY, most = 0.0;
    for (int32_t i = 0; i < sizes->count; ++i) {
        itg_resize_axis *axis = &axes[a->axes[i]];
        if (!(sizes->v[i] >= 0.0) || !(sizes->v[i] < (double)ITG_MAX_ELEMENTS) || axis->in < 1)
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "size %g of axis %d is not legal",
                                 sizes->v[i], (int)a->axes[i]);
        axis->out = (int64_t)sizes->v[i];
        axis->scale = (double)axis->out / (double)axis->in;
        least = fmin(least, axis->scale);
        most = fmax(most, axis->scale);
    }
    for (int32_t i = 0; i < sizes->count && a->aspect != ITG_STRETCH; ++i) {
        itg_resize_axis *axis = &axes[a->axes[i]];
        axis->scale = a->aspect == ITG_NOT_LARGER ? least : most;
        axis->out = (int64_t)fmin(axis->scale * (double)axis->in + 0.5, (double)ITG_MAX_ELEMENTS);
    }
    return ITG_OK;
}

itg_status itg_resize_axes(const itg_graph *g, itg_id node, itg_resize_axis *out, itg_error *err)
{
    const itg_attrs *a = &g->nodes[node].attrs;
    const itg_shape *x = itg_input_shape(g, node, 0);
    numbers roi, scales, sizes;
    for (int32_t i = 0; i < x->rank; ++i)
        out[i] = (itg_resize_axis){.in = x->dims[i], .out = x->dims[i], .scale = 1.0, .end = 1.0};
    itg_status status = read_numbers(g, node, 1, "roi", &roi, err);
    if (status == ITG_OK) status = read_numbers(g, node, 2, "scales", &scales, err);
    if (status == ITG_OK) status = read_numbers(g, node, 3, "sizes", &sizes, err);
    if (status != ITG_OK) return status;
    if ((scales.count > 0) == (sizes.count > 0))
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "either scales or sizes are expected");
    status = check_count(g, node, "scales", &scales, a->axes_count, err);
    if (status == ITG_OK) status = check_count(g, node, "sizes", &sizes, a->axes_count, err);
    if (a->coordinates != ITG_CROP_AND_RESIZE) roi.count = 0;
    if (status == ITG_OK) status = check_count(g, node, "roi", &roi, 2 * a->axes_count, err);
    if (status == ITG_OK) set_regions(a, &roi, out);
    if (status == ITG_OK) status = set_scales(g, node, &scales, out, err);
    return status == ITG_OK ? set_sizes(g, node, &sizes, out, err) : status;
}

/* Resolves the axes (without a list: all), in the order in which scales and sizes list them. */
static itg_status resolve_axes(itg_graph *g, itg_id node, int32_t rank, itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    itg_status status = ITG_OK;
    unsigned seen = 0;
    if (a->axes_count == 0)
        for (; a->axes_count < rank; ++a->axes_count)
            a->axes[a->axes_count] = a->axes_count;
    for (int32_t i = 0; i < a->axes_count && status == ITG_OK; ++i) {
        status = itg_resolve_axis(g, node, rank, &a->axes[i], err);
        if (status == ITG_OK && seen & 1u << a->axes[i])
            status = itg_node_fail(g, node, err, ITG_BAD_FILE, "axis %d is listed twice",
                                   (int)a->axes[i]);
        if (status == ITG_OK) seen |= 1u << a->axes[i];
    }
    return status;
}

itg_status itg_infer_resize(itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape y = *itg_input_shape(g, node, 0);
    itg_resize_axis axes[ITG_MAX_RANK];
    itg_status status = resolve_axes(g, node, y.rank, err);
    if (status == ITG_OK) status = itg_resize_axes(g, node, axes, err);
    if (status != ITG_OK) return status;
    for (int32_t i = 0; i < y.rank; ++i)
        y.dims[i] = axes[i].out;
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}
