/* Resize as a linear map along each axis in turn. An axis that keeps its elements is skipped. An
 * axis where each result is one element becomes a Gather. Any other becomes a MatMul by a constant
 * matrix [in, out], between two Transposes unless it is the last axis. Coordinates and weights
 * follow ONNX in binary64; each weight is rounded once. */
#include <math.h>
#include <stdlib.h>
#include "expand.h"

#define MAX_MATRIX ((int64_t)1 << 24) /* elements */

typedef struct resizer {
    itg_expansion *e;
    const itg_attrs *a;
    itg_resize_axis axis;
    double *column; /* [axis.in]: the weights of one result's elements */
} resizer;

/* ---- coordinates ---- */

/* Returns the position of result i along the input's axis. */
static double coordinate(const itg_attrs *a, const itg_resize_axis *x, int64_t i)
{
    double at = (double)i, in = (double)x->in, wide = x->scale * in;
    double half_pixel = (at + 0.5) / x->scale - 0.5;
    switch (a->coordinates) {
    case ITG_ASYMMETRIC:
        return at / x->scale;
    case ITG_ALIGN_CORNERS:
        return wide == 1.0 ? 0.0 : at * (in - 1.0) / (wide - 1.0);
    case ITG_PYTORCH_HALF_PIXEL:
        return wide == 1.0 ? -0.5 : half_pixel;
    case ITG_HALF_PIXEL_SYMMETRIC:
        return in / 2.0 * (1.0 - (double)x->out / wide) + half_pixel;
    case ITG_HALF_PIXEL_FOR_NEAREST:
        return (at + 0.5) / x->scale;
    case ITG_CROP_AND_RESIZE:
        return (wide == 1.0 ? (x->end - x->begin) * (in - 1.0) / 2.0
                            : at * (x->end - x->begin) * (in - 1.0) / (wide - 1.0)) +
               x->begin * (in - 1.0);
    default:
        return half_pixel;
    }
}

static bool is_outside(const itg_attrs *a, const itg_resize_axis *x, double at)
{
    return a->coordinates == ITG_CROP_AND_RESIZE && !(at >= 0.0 && at <= (double)(x->in - 1));
}

static int64_t clamp(double at, int64_t in)
{
    return at < 0.0 ? 0 : at > (double)(in - 1) ? in - 1 : (int64_t)at;
}

static int64_t nearest(const itg_attrs *a, const itg_resize_axis *x, double at)
{
    switch (a->nearest) {
    case ITG_PREFER_FLOOR:
        return clamp(ceil(at - 0.5), x->in);
    case ITG_PREFER_CEIL:
        return clamp(floor(at + 0.5), x->in);
    case ITG_NEAREST_CEIL:
        return clamp(ceil(at), x->in);
    case ITG_DOWNSAMPLE_CEIL:
        return clamp(x->scale < 1.0 ? ceil(at) : floor(at), x->in);
    default:
        return clamp(floor(at), x->in);
    }
}

/* ---- weights ---- */

static double linear_weight(double distance)
{
    return distance < 1.0 ? 1.0 - distance : 0.0;
}

static double cubic_weight(double a, double d)
{
    if (d <= 1.0) return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
    return d < 2.0 ? ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a : 0.0;
}

/* Fills the column with the weights of the elements within `reach`, which antialias widens by 1 /
 * scale. Weights outside the axis go to its end, or are dropped if excluded. */
static void fill_column(resizer *r, double at)
{
    const itg_resize_axis *x = &r->axis;
    bool smooths = r->a->antialias && x->scale < 1.0;
    double stretch = smooths ? x->scale : 1.0, sum = 0.0;
    double reach = (r->a->resize_mode == ITG_RESIZE_CUBIC ? 2.0 : 1.0) / stretch;
    for (int64_t i = 0; i < x->in; ++i)
        r->column[i] = 0.0;
    for (double i = floor(at - reach); i <= at + reach; ++i) {
        double d = fabs(i - at) * stretch;
        double w = r->a->resize_mode == ITG_RESIZE_CUBIC ? cubic_weight((double)r->a->alpha, d)
                                                         : linear_weight(d);
        if (r->a->exclude_outside && (i < 0.0 || i > (double)(x->in - 1))) continue;
        r->column[clamp(i, x->in)] += w;
        sum += w;
    }
    if ((smooths || r->a->exclude_outside) && sum != 0.0)
        for (int64_t i = 0; i < x->in; ++i)
            r->column[i] /= sum;
}

/* ---- one axis ---- */

/* Returns the one element that result i is equal to; -1 if there is none. */
static int64_t single(resizer *r, int64_t i)
{
    double at = coordinate(r->a, &r->axis, i);
    int64_t found = -1;
    if (is_outside(r->a, &r->axis, at)) return -1;
    if (r->a->resize_mode == ITG_RESIZE_NEAREST) return nearest(r->a, &r->axis, at);
    fill_column(r, at);
    for (int64_t k = 0; k < r->axis.in; ++k) {
        if ((float)r->column[k] == 0.0f) continue;
        if (found >= 0 || (float)r->column[k] != 1.0f) return -1;
        found = k;
    }
    return found;
}

/* Finds the element of every result; false if a result is not a single element. */
static bool find_indices(resizer *r, int64_t *indices, bool *keeps)
{
    *keeps = r->axis.in == r->axis.out;
    for (int64_t i = 0; i < r->axis.out; ++i) {
        indices[i] = single(r, i);
        if (indices[i] < 0) return false;
        *keeps = *keeps && indices[i] == i;
    }
    return true;
}

static itg_id gather(resizer *r, const char *name, itg_id x, int32_t axis, const int64_t *indices)
{
    itg_attrs attrs = itg_attrs_default(ITG_OP_GATHER);
    attrs.axis = axis;
    itg_id list = itg_put_indices(r->e, name, indices, r->axis.out);
    return itg_put(r->e, &(itg_put_op){.suffix = name, .op = ITG_OP_GATHER, .attrs = &attrs}, 2,
                   (itg_id[]){x, list});
}

/* Fills the matrix. Results outside of the region have weights 0 and the value as bias. */
static void fill_matrix(resizer *r, float *matrix, float *outside)
{
    int64_t in = r->axis.in, out = r->axis.out;
    for (int64_t i = 0; i < out; ++i) {
        double at = coordinate(r->a, &r->axis, i);
        bool is_out = is_outside(r->a, &r->axis, at);
        if (outside) outside[i] = is_out ? r->a->extrapolation : 0.0f;
        for (int64_t k = 0; k < in; ++k)
            r->column[k] = 0.0;
        if (!is_out && r->a->resize_mode == ITG_RESIZE_NEAREST)
            r->column[nearest(r->a, &r->axis, at)] = 1.0;
        else if (!is_out)
            fill_column(r, at);
        for (int64_t k = 0; k < in; ++k)
            matrix[k * out + i] = (float)r->column[k];
    }
}

static itg_id multiply(resizer *r, const char *name, itg_id x)
{
    bool has_outside = r->a->coordinates == ITG_CROP_AND_RESIZE && r->a->extrapolation != 0.0f;
    itg_shape shape = {.rank = 2, .dims = {r->axis.in, r->axis.out}};
    itg_id matrix, bias = ITG_NONE;
    float *outside = NULL, *weights = itg_put_floats(r->e, name, shape, &matrix);
    if (has_outside)
        outside =
            itg_put_floats(r->e, "outside", (itg_shape){.rank = 1, .dims = {r->axis.out}}, &bias);
    if (r->e->status != ITG_OK) return ITG_NONE;
    fill_matrix(r, weights, outside);
    return itg_put(r->e, &(itg_put_op){.suffix = name, .op = ITG_OP_MATMUL}, has_outside ? 3 : 2,
                   (itg_id[]){x, matrix, bias});
}

/* Transposes the axis to the end, multiplies, and transposes it back. */
static itg_id multiply_along(resizer *r, const char *name, itg_id x, int32_t axis)
{
    int64_t perm[ITG_MAX_RANK];
    int32_t last = itg_shape_at(r->e, x).rank - 1;
    for (int32_t i = 0; i <= last; ++i)
        perm[i] = i == axis ? last : i == last ? axis : i;
    if (axis != last) x = itg_put_transpose(r->e, name, x, perm);
    x = multiply(r, name, x);
    return axis == last ? x : itg_put_transpose(r->e, name, x, perm);
}

static bool fits(const resizer *r)
{
    bool is_list =
        r->a->resize_mode == ITG_RESIZE_NEAREST && r->a->coordinates != ITG_CROP_AND_RESIZE;
    return r->axis.out <= MAX_MATRIX && (is_list || r->axis.in * r->axis.out <= MAX_MATRIX);
}

static itg_id resize_axis(resizer *r, itg_id x, int32_t axis)
{
    bool keeps = false;
    const char *name = itg_arena_format(r->e->g->arena, "axis%d", (int)axis);
    int64_t *indices = malloc((size_t)r->axis.out * sizeof *indices);
    r->column = malloc((size_t)r->axis.in * sizeof *r->column);
    if (!name || !indices || !r->column)
        r->e->status = itg_graph_no_memory(r->e->g, r->e->err);
    else if (!find_indices(r, indices, &keeps))
        x = multiply_along(r, name, x, axis);
    else if (!keeps)
        x = gather(r, name, x, axis, indices);
    free(r->column);
    free(indices);
    return x;
}

/* Whether a Resize changes an axis. ONNX skips one that keeps its size and is read whole. */
static bool changes(const itg_attrs *a, const itg_resize_axis *x)
{
    bool reads_all = a->coordinates != ITG_CROP_AND_RESIZE || (x->begin == 0.0 && x->end == 1.0);
    return x->scale != 1.0 || x->in != x->out || !reads_all;
}

void itg_expand_resize(itg_expansion *e)
{
    itg_resize_axis axes[ITG_MAX_RANK];
    itg_id x = itg_expanded_input(e, 0);
    e->status = itg_resize_axes(e->g, e->id, axes, e->err);
    for (int32_t i = itg_shape_at(e, x).rank - 1; i >= 0 && e->status == ITG_OK; --i) {
        resizer r = {.e = e, .a = &e->node.attrs, .axis = axes[i]};
        if (axes[i].in < 1 || axes[i].out < 1)
            itg_expansion_fail(e, ITG_UNSUPPORTED, "axis %d has no elements", (int)i);
        else if (!fits(&r))
            itg_expansion_fail(e, ITG_LIMIT, "axis %d from %lld to %lld elements is too much",
                               (int)i, (long long)axes[i].in, (long long)axes[i].out);
        else if (changes(r.a, &axes[i]))
            x = resize_axis(&r, x, i);
    }
    itg_expanded_output(e, 0, x);
}
