/* Reductions, and operators that normalize along axes. */
#include "graph/onnx/map.h"

static itg_status reduce_axes(itg_map_node *node, int32_t last_attribute_opset, itg_error *err)
{
    if (node->opset > last_attribute_opset) return ITG_OK;
    if (node->input_count > 1)
        return itg_map_fail(node, err, ITG_BAD_FILE, "it has 2 inputs; opset %d has 1",
                            (int)node->opset);
    return itg_map_ints_to_input(node, "axes", 1, err);
}

static itg_status map_reduce_sum(itg_map_node *node, itg_error *err)
{
    return reduce_axes(node, 12, err);
}

static itg_status map_reduce(itg_map_node *node, itg_error *err)
{
    return reduce_axes(node, 17, err);
}

/* Before opset 13 the input is flattened to two dimensions at `axis`, 1 if absent; the node's opset
 * tells shape inference. */
static itg_status map_softmax(itg_map_node *node, itg_error *err)
{
    (void)err;
    if (!itg_map_has(node, "axis")) node->attrs.axis = node->opset < 13 ? 1 : -1;
    return ITG_OK;
}

/* More than one output is training before opset 14, and needs training_mode from then on. */
static itg_status map_batch_normalization(itg_map_node *node, itg_error *err)
{
    node->attrs.axis = 1;
    if (node->output_count == 1) return ITG_OK;
    return itg_map_fail(node, err, ITG_UNSUPPORTED,
                        "it has %d outputs, as in training; 1 is supported",
                        (int)node->output_count);
}

#define REDUCE_RULES(last_opset)                                                                   \
    ITG_ATTR_CUSTOM_RULE("axes", last_opset), ITG_ATTR_BOOL_RULE("keepdims", keepdims),            \
        ITG_ATTR_BOOL_RULE("noop_with_empty_axes", noop_with_empty_axes)

static const itg_op_rule rules[] = {
    {ITG_OP_REDUCE_MEAN, 1, 2, map_reduce, {REDUCE_RULES(17)}},
    {ITG_OP_REDUCE_SUM, 1, 2, map_reduce_sum, {REDUCE_RULES(12)}},
    {ITG_OP_REDUCE_MAX, 1, 2, map_reduce, {REDUCE_RULES(17)}},
    {ITG_OP_ARG_MAX,
     1,
     1,
     NULL,
     {ITG_ATTR_AXIS_RULE("axis"), ITG_ATTR_BOOL_RULE("keepdims", keepdims),
      ITG_ATTR_BOOL_RULE("select_last_index", select_last_index)}},
    {ITG_OP_SOFTMAX, 1, 1, map_softmax, {ITG_ATTR_AXIS_RULE("axis")}},
    {ITG_OP_LOG_SOFTMAX, 1, 1, map_softmax, {ITG_ATTR_AXIS_RULE("axis")}},
    {ITG_OP_BATCH_NORMALIZATION,
     5,
     5,
     map_batch_normalization,
     {ITG_ATTR_FLOAT_RULE("epsilon", epsilon), ITG_ATTR_IGNORED_RULE("momentum"),
      ITG_ATTR_ONLY_RULE("spatial", 1), ITG_ATTR_ONLY_RULE("training_mode", 0)}},
    {ITG_OP_LAYER_NORMALIZATION,
     2,
     3,
     NULL,
     {ITG_ATTR_AXIS_RULE("axis"), ITG_ATTR_FLOAT_RULE("epsilon", epsilon),
      ITG_ATTR_ONLY_RULE("stash_type", 1)}},
};

const itg_op_family itg_map_reduce = {rules, (int32_t)(sizeof rules / sizeof rules[0])};
