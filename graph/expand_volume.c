/* Convolutions and pools over volumes [N,C,D,H,W].
 *   Conv   a Conv of images [N * depths, C * kernel, H, W], where the slices of the kernel's depth
 *          are channels; one accumulator holds the whole sum
 *   pools  a pool along height and width, then one along the depth */
#include "expand.h"
#include <string.h>

enum { MOST_SLICES = 1 << 20 };

/* Pads the volume along its depth with zeros. */
static itg_id put_padded(itg_expansion *e)
{
    const int64_t *depth = e->node.attrs.depth;
    itg_attrs attrs = itg_attrs_default(ITG_OP_PAD);
    itg_id x = itg_expanded_input(e, 0);
    itg_shape shape = itg_shape_at(e, x);
    if (depth[3] == 0 && depth[4] == 0) return x;
    attrs.pads_begin[2] = depth[3];
    shape.dims[2] += depth[3] + depth[4];
    return itg_put(
        e, &(itg_put_op){.suffix = "pad", .op = ITG_OP_PAD, .attrs = &attrs, .shape = &shape}, 1,
        &x);
}

/* Gathers the slices that each result's depth reads: [N,C,D,H,W] to [N,C,depths * kernel,H,W]. */
static itg_id put_slices(itg_expansion *e, itg_id x, int64_t depths)
{
    const int64_t kernel = e->node.attrs.depth[0], count = depths * kernel;
    itg_attrs attrs = itg_attrs_default(ITG_OP_GATHER);
    if (count > MOST_SLICES) itg_expansion_fail(e, ITG_LIMIT, "it reads too many slices");
    int64_t *at =
        e->status == ITG_OK ? itg_arena_array(e->g->arena, (size_t)count, sizeof *at) : NULL;
    if (!at && e->status == ITG_OK) itg_expansion_fail(e, ITG_NO_MEMORY, "out of memory");
    for (int64_t i = 0; at && i < count; ++i)
        at[i] = i / kernel * e->node.attrs.depth[1] + i % kernel * e->node.attrs.depth[2];
    itg_id indices = at ? itg_put_indices(e, "depths", at, count) : ITG_NONE;
    attrs.axis = 2;
    return itg_put(e, &(itg_put_op){.suffix = "slices", .op = ITG_OP_GATHER, .attrs = &attrs}, 2,
                   (itg_id[]){x, indices});
}

/* Rearranges [N,C,depths * kernel,H,W] to [N * depths,C * kernel,H,W]. */
static itg_id put_images(itg_expansion *e, itg_id x, int64_t depths)
{
    static const int64_t order[] = {0, 2, 1, 3, 4, 5};
    const int64_t kernel = e->node.attrs.depth[0];
    const itg_shape s = itg_shape_at(e, itg_expanded_input(e, 0));
    x = itg_put_reshape(
        e, "apart", x,
        (itg_shape){.rank = 6,
                    .dims = {s.dims[0], s.dims[1], depths, kernel, s.dims[3], s.dims[4]}});
    x = itg_put_transpose(e, "order", x, order);
    return itg_put_reshape(
        e, "images", x,
        (itg_shape){.rank = 4,
                    .dims = {s.dims[0] * depths, s.dims[1] * kernel, s.dims[3], s.dims[4]}});
}

static itg_id put_conv(itg_expansion *e, itg_id x)
{
    const itg_shape w = itg_shape_at(e, itg_expanded_input(e, 1));
    const itg_id bias = itg_expanded_input(e, 2);
    itg_attrs attrs = itg_attrs_default(ITG_OP_CONV);
    attrs.group = e->node.attrs.group;
    memcpy(attrs.stride, e->node.attrs.stride, sizeof attrs.stride);
    memcpy(attrs.dilation, e->node.attrs.dilation, sizeof attrs.dilation);
    memcpy(attrs.pad, e->node.attrs.pad, sizeof attrs.pad);
    itg_id weights = itg_put_reshape(
        e, "weights", itg_expanded_input(e, 1),
        (itg_shape){.rank = 4, .dims = {w.dims[0], w.dims[1] * w.dims[2], w.dims[3], w.dims[4]}});
    return itg_put(e, &(itg_put_op){.suffix = "conv", .op = ITG_OP_CONV, .attrs = &attrs},
                   bias == ITG_NONE ? 2 : 3, (itg_id[]){x, weights, bias});
}

void itg_expand_conv_3d(itg_expansion *e)
{
    static const int64_t order[] = {0, 2, 1, 3, 4};
    const itg_shape y = itg_shape_at(e, e->node.outputs[0]);
    const int64_t depths = y.dims[2];
    itg_id x = put_images(e, put_slices(e, put_padded(e), depths), depths);
    x = itg_put_reshape(
        e, "depth", put_conv(e, x),
        (itg_shape){.rank = 5, .dims = {y.dims[0], depths, y.dims[1], y.dims[3], y.dims[4]}});
    itg_expanded_output(e, 0, itg_put_transpose(e, "volume", x, order));
}

/* Adds a pool with the composite's modes. window: kernel, stride, dilation, first and last pad of
 * two dimensions. */
static itg_id put_pool(itg_expansion *e, const char *suffix, itg_id x, const int64_t window[2][5])
{
    const itg_op op = e->node.op == ITG_OP_MAX_POOL_3D ? ITG_OP_MAX_POOL : ITG_OP_AVERAGE_POOL;
    itg_attrs attrs = itg_attrs_default(op);
    attrs.ceil_mode = e->node.attrs.ceil_mode;
    attrs.count_include_pad = e->node.attrs.count_include_pad;
    for (int i = 0; i < 2; ++i) {
        attrs.kernel[i] = window[i][0];
        attrs.stride[i] = window[i][1];
        attrs.dilation[i] = window[i][2];
        attrs.pad[i] = window[i][3];
        attrs.pad[2 + i] = window[i][4];
    }
    return itg_put(e, &(itg_put_op){.suffix = suffix, .op = op, .attrs = &attrs}, 1, &x);
}

void itg_expand_pool_3d(itg_expansion *e)
{
    const itg_attrs *a = &e->node.attrs;
    const itg_shape s = itg_shape_at(e, itg_expanded_input(e, 0)),
                    y = itg_shape_at(e, e->node.outputs[0]);
    int64_t plane[2][5], line[2][5] = {{0}, {1, 1, 1, 0, 0}};
    for (int i = 0; i < 2; ++i)
        memcpy(plane[i],
               (int64_t[]){a->kernel[i], a->stride[i], a->dilation[i], a->pad[i], a->pad[2 + i]},
               sizeof plane[i]);
    memcpy(line[0], a->depth, sizeof line[0]);
    itg_id x = itg_put_reshape(
        e, "planes", itg_expanded_input(e, 0),
        (itg_shape){.rank = 4, .dims = {s.dims[0], s.dims[1] * s.dims[2], s.dims[3], s.dims[4]}});
    x = put_pool(e, "plane", x, (const int64_t(*)[5])plane);
    x = itg_put_reshape(
        e, "lines", x,
        (itg_shape){.rank = 4, .dims = {s.dims[0], s.dims[1], s.dims[2], y.dims[3] * y.dims[4]}});
    x = put_pool(e, "line", x, (const int64_t(*)[5])line);
    itg_expanded_output(e, 0, itg_put_reshape(e, "volume", x, y));
}
