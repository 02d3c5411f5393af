/* Operators with a sliding window: convolution and pooling. A 1-D window becomes a 2-D one of
 * height 1. */
#include <inttypes.h>
#include <string.h>
#include "graph/onnx/map.h"

enum { MAX_EXTENT = 1 << 16 };

static itg_status read_auto_pad(itg_map_node *node, itg_error *err)
{
    static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    static const itg_auto_pad values[] = {ITG_PAD_EXPLICIT, ITG_PAD_SAME_UPPER, ITG_PAD_SAME_LOWER,
                                          ITG_PAD_VALID};
    const char *text = names[0];
    itg_status status = itg_map_string(node, "auto_pad", &text, err);
    if (status != ITG_OK) return status;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        node->attrs.auto_pad = values[i];
        return ITG_OK;
    }
    return itg_map_fail(node, err, ITG_UNSUPPORTED, "attribute 'auto_pad' is '%.40s'", text);
}

/* Returns the number of spatial dimensions that an attribute or the weights state; 0: none does. */
static int32_t stated_rank(const itg_map_node *node)
{
    static const char *const lists[] = {"kernel_shape", "strides", "dilations", "pads"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const itg_onnx_attr *attr = itg_onnx_attr_find(node->file, lists[i]);
        if (!attr || attr->type != ITG_ATTR_INTS || attr->count > 2 * ITG_MAX_RANK) continue;
        return (int32_t)attr->count / (strcmp(lists[i], "pads") == 0 ? 2 : 1);
    }
    itg_tensor weight;
    return itg_map_constant(node, 1, &weight) ? weight.shape.rank - 2 : 0;
}

/* Reads a list with one number per spatial dimension. depth: receives the first of three. */
static itg_status read_spatial(itg_map_node *node, const char *name, int64_t lo, int64_t *depth,
                               int64_t out[2], itg_error *err)
{
    const int64_t *list = NULL;
    int32_t count = -1, rank = (int32_t)node->attrs.spatial_rank;
    itg_status status = itg_map_ints(node, name, lo, MAX_EXTENT, &list, &count, err);
    if (status != ITG_OK || count < 0) return status;
    if (count != rank)
        return itg_map_fail(node, err, ITG_BAD_FILE,
                            "attribute '%s' has %d numbers; %d are expected", name, (int)count,
                            (int)rank);
    for (int32_t i = 0; i < rank; i++)
        *(rank == 3 && i == 0 ? depth : &out[2 - rank + i]) = list[i];
    return ITG_OK;
}

itg_status itg_map_spatial(itg_map_node *node, const char *name, int64_t lo, int64_t out[2],
                           itg_error *err)
{
    return read_spatial(node, name, lo, NULL, out, err);
}

static itg_status read_pads(itg_map_node *node, int32_t rank, itg_error *err)
{
    const int64_t *list = NULL;
    int32_t count = -1;
    bool is_any = false;
    itg_status status = itg_map_ints(node, "pads", 0, MAX_EXTENT, &list, &count, err);
    if (status != ITG_OK || count < 0) return status;
    if (count != 2 * rank)
        return itg_map_fail(node, err, ITG_BAD_FILE,
                            "attribute 'pads' has %d numbers; %d are expected", (int)count,
                            (int)(2 * rank));
    for (int32_t i = 0; i < rank; i++) {
        *(rank - i == 3 ? &node->attrs.depth[3] : &node->attrs.pad[2 - rank + i]) = list[i];
        *(rank - i == 3 ? &node->attrs.depth[4] : &node->attrs.pad[4 - rank + i]) = list[rank + i];
        is_any = is_any || list[i] > 0 || list[rank + i] > 0;
    }
    if (is_any && node->attrs.auto_pad != ITG_PAD_EXPLICIT)
        return itg_map_fail(node, err, ITG_BAD_FILE,
                            "attributes 'pads' and 'auto_pad' exclude each other");
    return ITG_OK;
}

/* Replaces the operator by its variant for volumes; false: it has none. */
static bool take_volume_op(itg_map_node *node)
{
    static const int64_t depth[] = {0, 1, 1, 0, 0};
    switch (node->op) {
    case ITG_OP_CONV:
        node->op = ITG_OP_CONV_3D;
        break;
    case ITG_OP_MAX_POOL:
        node->op = ITG_OP_MAX_POOL_3D;
        break;
    case ITG_OP_AVERAGE_POOL:
        node->op = ITG_OP_AVERAGE_POOL_3D;
        break;
    default:
        return false;
    }
    memcpy(node->attrs.depth, depth, sizeof depth);
    return true;
}

static itg_status map_window(itg_map_node *node, itg_error *err)
{
    int32_t rank = stated_rank(node);
    int64_t *depth = node->attrs.depth;
    if (rank == 0) rank = 2;
    if (rank < 1 || rank > 3 || (rank == 3 && !take_volume_op(node)))
        return itg_map_fail(node, err, ITG_UNSUPPORTED, "%d spatial dimensions; %s are supported",
                            (int)rank, node->op == ITG_OP_CONV_TRANSPOSE ? "1 and 2" : "1 to 3");
    node->attrs.spatial_rank = rank;
    if (rank == 1) node->attrs.kernel[0] = 1;
    itg_status status = read_auto_pad(node, err);
    if (status == ITG_OK)
        status = read_spatial(node, "kernel_shape", 1, &depth[0], node->attrs.kernel, err);
    if (status == ITG_OK)
        status = read_spatial(node, "strides", 1, &depth[1], node->attrs.stride, err);
    if (status == ITG_OK)
        status = read_spatial(node, "dilations", 1, &depth[2], node->attrs.dilation, err);
    if (status == ITG_OK) status = read_pads(node, rank, err);
    return status;
}

/* Takes a kernel that is not stated from constant weights. Of other weights, shape inference takes
 * it. */
itg_status itg_map_conv(itg_map_node *node, itg_error *err)
{
    itg_tensor weight;
    itg_status status = itg_map_int(node, "group", 1, INT32_MAX, &node->attrs.group, err);
    if (status == ITG_OK) status = map_window(node, err);
    if (status != ITG_OK || itg_map_has(node, "kernel_shape") ||
        !itg_map_constant(node, 1, &weight))
        return status;
    int32_t rank = (int32_t)node->attrs.spatial_rank;
    if (weight.shape.rank != rank + 2)
        return itg_map_fail(node, err, ITG_BAD_FILE, "the weights have rank %d; %d is expected",
                            (int)weight.shape.rank, (int)rank + 2);
    for (int32_t i = 0; i < rank; i++) {
        int64_t extent = weight.shape.dims[2 + i];
        if (extent < 1 || extent > MAX_EXTENT)
            return itg_map_fail(node, err, ITG_UNSUPPORTED,
                                "the kernel's size %" PRId64 " is not supported", extent);
        *(rank - i == 3 ? node->attrs.depth : &node->attrs.kernel[2 - rank + i]) = extent;
    }
    return ITG_OK;
}

static itg_status map_pool(itg_map_node *node, itg_error *err)
{
    int64_t storage_order = 0;
    if (!itg_map_has(node, "kernel_shape"))
        return itg_map_fail(node, err, ITG_BAD_FILE, "attribute 'kernel_shape' is missing");
    itg_status status = itg_map_int(node, "storage_order", 0, 1, &storage_order, err);
    if (status != ITG_OK) return status;
    if (storage_order == 1 && node->output_count > 1)
        return itg_map_fail(node, err, ITG_UNSUPPORTED,
                            "attribute 'storage_order' is 1; 0 is supported");
    status = map_window(node, err);
    if (status == ITG_OK && node->op == ITG_OP_MAX_POOL_3D && node->output_count > 1)
        return itg_map_fail(node, err, ITG_UNSUPPORTED,
                            "its second output, indices, is not computed");
    return status;
}

/* Refuses the internal names of operators on volumes; ONNX calls them Conv and the pools. */
static itg_status map_volume(itg_map_node *node, itg_error *err)
{
    return itg_map_fail(node, err, ITG_UNSUPPORTED, "the operator is not supported");
}

static const itg_op_rule rules[] = {
    {ITG_OP_CONV, itg_map_conv, {{0}}},
    {ITG_OP_MAX_POOL, map_pool, {{"storage_order", ITG_FILE_MAPPED, 0, 0}}},
    {ITG_OP_AVERAGE_POOL, map_pool, {{0}}},
    {ITG_OP_CONV_3D, map_volume, {{0}}},
    {ITG_OP_MAX_POOL_3D, map_volume, {{0}}},
    {ITG_OP_AVERAGE_POOL_3D, map_volume, {{0}}},
};

const itg_op_family itg_map_window = {rules, (int32_t)(sizeof rules / sizeof rules[0])};
