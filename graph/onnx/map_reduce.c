/* Reductions, and operators that normalize along axes. */
#include "graph/onnx/map.h"

/* Before opset 13 the input is flattened to two dimensions at `axis`, 1 if absent. Shape inference
 * distinguishes this by the node's opset. */
static itg_status map_softmax(itg_map_node *node, itg_error *err)
{
    (void)err;
    if (!itg_map_has(node, "axis")) node->attrs.axis = node->opset < 13 ? 1 : -1;
    return ITG_OK;
}

/* Refuses further outputs, which are for training (since opset 14 with training_mode). */
static itg_status map_batch_normalization(itg_map_node *node, itg_error *err)
{
    if (node->output_count == 1 || node->attrs.training_mode) return ITG_OK;
    return itg_map_fail(node, err, ITG_UNSUPPORTED,
                        "it has %d outputs, as in training; 1 is supported",
                        (int)node->output_count);
}

/* Without axes: all axes of an image except the channels. */
static itg_status map_mean_variance(itg_map_node *node, itg_error *err)
{
    static const int64_t image[] = {0, 2, 3};
    const int64_t *axes = image;
    int32_t count = 3, stated = -1;
    itg_status status =
        itg_map_ints(node, "axes", -ITG_MAX_RANK, ITG_MAX_RANK - 1, &axes, &stated, err);
    if (stated >= 0) count = stated;
    if (status == ITG_OK && count > ITG_MAX_RANK)
        return itg_map_fail(node, err, ITG_BAD_FILE, "%d axes; at most %d", (int)count,
                            ITG_MAX_RANK);
    for (int32_t i = 0; status == ITG_OK && i < count; i++)
        node->attrs.axes[i] = axes[i];
    node->attrs.axes_count = count;
    return status;
}

static const itg_op_rule rules[] = {
    {ITG_OP_REDUCE_MEAN, itg_map_axes, {{0}}},
    {ITG_OP_REDUCE_SUM, itg_map_axes, {{0}}},
    {ITG_OP_REDUCE_MAX, itg_map_axes, {{0}}},
    {ITG_OP_REDUCE_MIN, itg_map_axes, {{0}}},
    {ITG_OP_REDUCE_PROD, itg_map_axes, {{0}}},
    {ITG_OP_REDUCE_L1, itg_map_axes, {{0}}},
    {ITG_OP_REDUCE_L2, itg_map_axes, {{0}}},
    {ITG_OP_REDUCE_SUM_SQUARE, itg_map_axes, {{0}}},
    {ITG_OP_REDUCE_LOG_SUM, itg_map_axes, {{0}}},
    {ITG_OP_REDUCE_LOG_SUM_EXP, itg_map_axes, {{0}}},
    {ITG_OP_MEAN_VARIANCE_NORMALIZATION, map_mean_variance, {{0}}},
    {ITG_OP_HARDMAX, map_softmax, {{0}}},
    {ITG_OP_SOFTMAX, map_softmax, {{0}}},
    {ITG_OP_LOG_SOFTMAX, map_softmax, {{0}}},
    {ITG_OP_BATCH_NORMALIZATION,
     map_batch_normalization,
     {{"momentum", ITG_FILE_IGNORED, 0, 0}, {"spatial", ITG_FILE_ONLY, 0, 1}}},
    {ITG_OP_LAYER_NORMALIZATION, NULL, {{"stash_type", ITG_FILE_ONLY, 0, 1}}},
};

const itg_op_family itg_map_reduce = {rules, (int32_t)(sizeof rules / sizeof rules[0])};
