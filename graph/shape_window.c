/* Shapes of sliding windows: Conv, MaxPool, AveragePool and the global pools. Resolves auto_pad and
 * absent kernels. A 1-D window is a 2-D one of height 1 whose tensors keep rank 3. A 3-D window is
 * a 2-D window and a 1-D one. */
#include <string.h>
#include "shape.h"

#define MAX_WINDOW                                                                                 \
    ((int64_t)1 << 30) /* of kernel, stride, dilation and pads: products fit int64                 \
                        */

/* Returns dimension i (0: height, 1: width) of the image; a 1-D window has height 1. */
static int64_t image_dim(const itg_shape *x, int64_t spatial_rank, int i)
{
    if (spatial_rank == 1) return i == 0 ? 1 : x->dims[2];
    return x->dims[2 + i];
}

static itg_status check_window(const itg_graph *g, itg_id node, const itg_attrs *a, itg_error *err)
{
    for (int i = 0; i < 2; ++i) {
        if (a->kernel[i] < 1 || a->kernel[i] > MAX_WINDOW)
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "kernel [%lld,%lld] is not legal",
                                 (long long)a->kernel[0], (long long)a->kernel[1]);
        if (a->stride[i] < 1 || a->stride[i] > MAX_WINDOW || a->dilation[i] < 1 ||
            a->dilation[i] > MAX_WINDOW)
            return itg_node_fail(g, node, err, ITG_BAD_FILE,
                                 "strides and dilations must be positive");
    }
    for (int i = 0; i < 4; ++i)
        if (a->pad[i] < 0 || a->pad[i] > MAX_WINDOW)
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "pads must not be negative");
    return ITG_OK;
}

static int64_t window_extent(const itg_attrs *a, int i)
{
    return (a->kernel[i] - 1) * a->dilation[i] + 1;
}

/* Resolves auto_pad. ONNX: SAME gives ceil(in / stride) outputs; the odd element goes to the end
 * (UPPER) or the beginning (LOWER). */
static void resolve_auto_pad(itg_attrs *a, const itg_shape *x)
{
    if (a->auto_pad == ITG_PAD_EXPLICIT) return;
    for (int i = 0; i < 2; ++i) {
        int64_t in = image_dim(x, a->spatial_rank, i), total = 0;
        if (a->auto_pad != ITG_PAD_VALID) {
            int64_t out = (in + a->stride[i] - 1) / a->stride[i];
            total = (out - 1) * a->stride[i] + window_extent(a, i) - in;
            if (total < 0) total = 0;
        }
        a->pad[i] = a->auto_pad == ITG_PAD_SAME_LOWER ? total - total / 2 : total / 2;
        a->pad[2 + i] = total - a->pad[i];
    }
    if (a->auto_pad != ITG_PAD_VALID) a->ceil_mode = false; /* the count is known */
    a->auto_pad = ITG_PAD_EXPLICIT;
}

/* Returns the number of windows along dimension i. With ceil_mode the last window must start inside
 * the input or its leading padding. */
static int64_t window_count(const itg_attrs *a, int64_t in, int i)
{
    int64_t room = in + a->pad[i] + a->pad[2 + i] - window_extent(a, i);
    if (!a->ceil_mode) return room / a->stride[i] + 1;
    int64_t count = (room + a->stride[i] - 1) / a->stride[i] + 1;
    if ((count - 1) * a->stride[i] >= in + a->pad[i]) count--;
    return count;
}

/* Resolves the window's pads. y: the shape of its input, which becomes that of its output. */
static itg_status slide(const itg_graph *g, itg_id node, itg_attrs *a, itg_shape *y, itg_error *err)
{
    const itg_shape x = *y;
    itg_status status = check_window(g, node, a, err);
    if (status != ITG_OK) return status;
    resolve_auto_pad(a, &x);
    int64_t padded[2];
    for (int i = 0; i < 2; ++i)
        padded[i] = image_dim(&x, a->spatial_rank, i) + a->pad[i] + a->pad[2 + i];
    for (int i = 0; i < 2; ++i) {
        if (padded[i] < window_extent(a, i))
            return itg_node_fail(g, node, err, ITG_BAD_FILE,
                                 "kernel [%lld,%lld] is larger than its padded input [%lld,%lld]",
                                 (long long)window_extent(a, 0), (long long)window_extent(a, 1),
                                 (long long)padded[0], (long long)padded[1]);
        int64_t count = window_count(a, image_dim(&x, a->spatial_rank, i), i);
        if (a->spatial_rank == 2) y->dims[2 + i] = count;
        if (a->spatial_rank == 1 && i == 1) y->dims[2] = count;
    }
    return ITG_OK;
}

static itg_status set_window_output(itg_graph *g, itg_id node, int64_t channels, itg_error *err)
{
    itg_shape y = *itg_input_shape(g, node, 0);
    itg_status status = slide(g, node, &g->nodes[node].attrs, &y, err);
    if (status != ITG_OK) return status;
    y.dims[1] = channels;
    status = itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
    if (status == ITG_OK) status = itg_set_output(g, node, 1, ITG_S64, &y, err);
    return status;
}

/* Checks for rank 3 or 4 and sets spatial_rank. */
static itg_status check_image(itg_graph *g, itg_id node, itg_error *err)
{
    const itg_shape *x = itg_input_shape(g, node, 0);
    if (x->rank != 3 && x->rank != 4)
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED,
                             "its input has rank %d; expected [N,C,W] or [N,C,H,W]", (int)x->rank);
    g->nodes[node].attrs.spatial_rank = x->rank - 2;
    if (x->rank == 3) {
        itg_attrs *a = &g->nodes[node].attrs;
        a->stride[0] = a->dilation[0] = 1;
        a->pad[0] = a->pad[2] = 0;
        a->kernel[0] = 1;
    }
    return ITG_OK;
}

/* Takes the kernel from the weights' spatial dimensions; a stated kernel must agree. */
static itg_status take_kernel(itg_graph *g, itg_id node, const itg_shape *w, itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    for (int i = 0; i < 2; ++i) {
        int64_t size = image_dim(w, a->spatial_rank, i);
        if (a->kernel[i] != 0 && a->kernel[i] != size)
            return itg_node_fail(g, node, err, ITG_BAD_FILE,
                                 "kernel_shape [%lld,%lld] does not match its weights",
                                 (long long)a->kernel[0], (long long)a->kernel[1]);
        a->kernel[i] = size;
    }
    return ITG_OK;
}

static itg_status check_weights(const itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape x = *itg_input_shape(g, node, 0), w = *itg_input_shape(g, node, 1);
    const itg_shape *b = itg_input_shape(g, node, 2);
    int64_t group = g->nodes[node].attrs.group;
    char xt[96], wt[96];
    if (w.rank != x.rank)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its weights have rank %d, its input %d",
                             (int)w.rank, (int)x.rank);
    if (group < 1 || x.dims[1] % group != 0 || w.dims[0] % group != 0 || w.dims[0] < 1 ||
        w.dims[1] != x.dims[1] / group)
        return itg_node_fail(
            g, node, err, ITG_BAD_FILE, "weights %s do not fit input %s in %lld groups",
            itg_shape_text(&w, wt, sizeof wt), itg_shape_text(&x, xt, sizeof xt), (long long)group);
    if (b && (b->rank != 1 || b->dims[0] != w.dims[0]))
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its bias is %s; expected [%lld]",
                             itg_shape_text(b, xt, sizeof xt), (long long)w.dims[0]);
    return ITG_OK;
}

itg_status itg_infer_conv(itg_graph *g, itg_id node, itg_error *err)
{
    itg_status status = check_image(g, node, err);
    if (status == ITG_OK) status = check_weights(g, node, err);
    if (status != ITG_OK) return status;
    const itg_shape w = *itg_input_shape(g, node, 1);
    status = take_kernel(g, node, &w, err);
    return status == ITG_OK ? set_window_output(g, node, w.dims[0], err) : status;
}

/* ---- ConvTranspose ---- */

/* Returns the extent along dimension i and sets its pads. With a stated extent, or SAME, the excess
 * is split between both sides, the odd element as auto_pad says. */
static int64_t transposed_extent(itg_attrs *a, int64_t in, int i)
{
    int64_t full = a->stride[i] * (in - 1) + a->output_padding[i] + window_extent(a, i);
    bool same = a->auto_pad == ITG_PAD_SAME_UPPER || a->auto_pad == ITG_PAD_SAME_LOWER;
    int64_t out = a->output_shape[i] ? a->output_shape[i] : same ? in * a->stride[i] : 0;
    if (out == 0) return full - a->pad[i] - a->pad[2 + i];
    int64_t total = full > out ? full - out : 0;
    a->pad[i] = a->auto_pad == ITG_PAD_SAME_UPPER ? total / 2 : total - total / 2;
    a->pad[2 + i] = total - a->pad[i];
    return out;
}

/* Checks weights [C, M/group, ...] and the output's attributes. */
static itg_status check_transposed(itg_graph *g, itg_id node, itg_error *err)
{
    const itg_shape *x = itg_input_shape(g, node, 0), *w = itg_input_shape(g, node, 1);
    const itg_shape *b = itg_input_shape(g, node, 2);
    itg_attrs *a = &g->nodes[node].attrs;
    char xt[96], wt[96];
    if (x->rank == 3) a->output_padding[0] = a->output_shape[0] = 0;
    for (int i = 0; i < 2; ++i)
        if (a->output_padding[i] < 0 || a->output_padding[i] > MAX_WINDOW ||
            a->output_shape[i] < 0 || a->output_shape[i] > ITG_MAX_ELEMENTS)
            return itg_node_fail(g, node, err, ITG_BAD_FILE,
                                 "output_padding or output_shape is not legal");
    if (w->rank != x->rank || a->group < 1 || a->group > MAX_WINDOW || x->dims[1] % a->group != 0 ||
        w->dims[0] != x->dims[1] || w->dims[1] < 1)
        return itg_node_fail(g, node, err, ITG_BAD_FILE,
                             "weights %s do not fit input %s in %lld groups",
                             itg_shape_text(w, wt, sizeof wt), itg_shape_text(x, xt, sizeof xt),
                             (long long)a->group);
    if (b && (b->rank != 1 || b->dims[0] != w->dims[1] * a->group))
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its bias is %s; expected [%lld]",
                             itg_shape_text(b, xt, sizeof xt), (long long)(w->dims[1] * a->group));
    return take_kernel(g, node, w, err);
}

itg_status itg_infer_conv_transpose(itg_graph *g, itg_id node, itg_error *err)
{
    itg_status status = check_image(g, node, err);
    if (status == ITG_OK) status = check_transposed(g, node, err);
    if (status == ITG_OK) status = check_window(g, node, &g->nodes[node].attrs, err);
    if (status != ITG_OK) return status;
    itg_shape y = *itg_input_shape(g, node, 0);
    itg_attrs *a = &g->nodes[node].attrs;
    int32_t rank = (int32_t)a->spatial_rank;
    y.dims[1] = itg_input_shape(g, node, 1)->dims[1] * a->group;
    for (int i = 2 - rank; i < 2; ++i) {
        int64_t out = transposed_extent(a, y.dims[rank + i], i);
        if (out < 1) return itg_node_fail(g, node, err, ITG_BAD_FILE, "its pads leave no output");
        y.dims[rank + i] = out;
    }
    a->auto_pad = ITG_PAD_EXPLICIT;
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}

static itg_status check_pool_pads(const itg_graph *g, itg_id node, const itg_attrs *a,
                                  itg_error *err)
{
    for (int i = 0; i < 4; ++i)
        if (a->pad[i] >= window_extent(a, i % 2))
            return itg_node_fail(g, node, err, ITG_BAD_FILE,
                                 "pads must be smaller than the kernel");
    return ITG_OK;
}

itg_status itg_infer_pool(itg_graph *g, itg_id node, itg_error *err)
{
    itg_status status = check_image(g, node, err);
    if (status != ITG_OK) return status;
    const itg_shape *x = itg_input_shape(g, node, 0);
    status = set_window_output(g, node, x->dims[1], err);
    return status == ITG_OK ? check_pool_pads(g, node, &g->nodes[node].attrs, err) : status;
}

/* ---- volumes: the window of a plane [N,C,H,W], and that of a line [N,C,D] ---- */

static itg_attrs line_window(const itg_attrs *a)
{
    itg_attrs line = *a;
    const int64_t kernel[] = {1, a->depth[0]}, stride[] = {1, a->depth[1]},
                  dilation[] = {1, a->depth[2]}, pad[] = {0, a->depth[3], 0, a->depth[4]};
    memcpy(line.kernel, kernel, sizeof kernel);
    memcpy(line.stride, stride, sizeof stride);
    memcpy(line.dilation, dilation, sizeof dilation);
    memcpy(line.pad, pad, sizeof pad);
    line.spatial_rank = 1;
    return line;
}

static itg_status check_volume(itg_graph *g, itg_id node, itg_error *err)
{
    const itg_shape *x = itg_input_shape(g, node, 0);
    g->nodes[node].attrs.spatial_rank = 2;
    if (x->rank == 5) return ITG_OK;
    return itg_node_fail(g, node, err, ITG_BAD_FILE, "its input has rank %d; expected [N,C,D,H,W]",
                         (int)x->rank);
}

static itg_status set_volume_output(itg_graph *g, itg_id node, int64_t channels, itg_error *err)
{
    const itg_shape x = *itg_input_shape(g, node, 0);
    itg_attrs *a = &g->nodes[node].attrs, line = line_window(a);
    itg_shape planes = {.rank = 4, .dims = {x.dims[0], channels, x.dims[3], x.dims[4]}};
    itg_shape lines = {.rank = 3, .dims = {x.dims[0], channels, x.dims[2]}};
    itg_status status = slide(g, node, a, &planes, err);
    if (status == ITG_OK) status = slide(g, node, &line, &lines, err);
    if (status != ITG_OK) return status;
    a->depth[3] = line.pad[1];
    a->depth[4] = line.pad[3];
    return itg_set_output(
        g, node, 0, itg_input_dtype(g, node, 0),
        &(itg_shape){.rank = 5,
                     .dims = {x.dims[0], channels, lines.dims[2], planes.dims[2], planes.dims[3]}},
        err);
}

itg_status itg_infer_conv_3d(itg_graph *g, itg_id node, itg_error *err)
{
    itg_status status = check_volume(g, node, err);
    if (status == ITG_OK) status = check_weights(g, node, err);
    if (status != ITG_OK) return status;
    const itg_shape w = *itg_input_shape(g, node, 1);
    itg_attrs *a = &g->nodes[node].attrs;
    if (a->depth[0] != 0 && a->depth[0] != w.dims[2])
        return itg_node_fail(g, node, err, ITG_BAD_FILE,
                             "kernel_shape has depth %lld, its weights %lld",
                             (long long)a->depth[0], (long long)w.dims[2]);
    a->depth[0] = w.dims[2];
    const itg_shape planes = {.rank = 4, .dims = {w.dims[0], w.dims[1], w.dims[3], w.dims[4]}};
    status = take_kernel(g, node, &planes, err);
    return status == ITG_OK ? set_volume_output(g, node, w.dims[0], err) : status;
}

itg_status itg_infer_pool_3d(itg_graph *g, itg_id node, itg_error *err)
{
    itg_status status = check_volume(g, node, err);
    if (status != ITG_OK) return status;
    const int64_t channels = itg_input_shape(g, node, 0)->dims[1];
    status = set_volume_output(g, node, channels, err);
    const itg_attrs line = line_window(&g->nodes[node].attrs);
    if (status == ITG_OK) status = check_pool_pads(g, node, &g->nodes[node].attrs, err);
    return status == ITG_OK ? check_pool_pads(g, node, &line, err) : status;
}

itg_status itg_infer_global_pool(itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape y = *itg_input_shape(g, node, 0);
    if (y.rank < 3)
        return itg_node_fail(g, node, err, ITG_BAD_FILE,
                             "its input has rank %d; expected 3 or more", (int)y.rank);
    for (int32_t i = 2; i < y.rank; ++i)
        y.dims[i] = 1;
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &y, err);
}
