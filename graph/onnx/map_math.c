/* Matrix products, arithmetic and functions of one value. */
#include "graph/onnx/map.h"

/* Before opset 11 the bounds are attributes; from then on they are inputs, which shape inference
 * folds. */
static itg_status map_clip(itg_map_node *node, itg_error *err)
{
    if (node->opset < 11 && node->input_count > 1)
        return itg_map_fail(node, err, ITG_BAD_FILE, "it has %d inputs; opset %d has 1",
                            (int)node->input_count, (int)node->opset);
    itg_status status = itg_map_float(node, "min", &node->attrs.min, err);
    if (status == ITG_OK) status = itg_map_float(node, "max", &node->attrs.max, err);
    return status;
}

static const itg_op_rule rules[] = {
    {ITG_OP_GEMM,
     2,
     3,
     NULL,
     {ITG_ATTR_FLOAT_RULE("alpha", alpha), ITG_ATTR_FLOAT_RULE("beta", beta),
      ITG_ATTR_BOOL_RULE("transA", trans_a), ITG_ATTR_BOOL_RULE("transB", trans_b)}},
    {ITG_OP_MATMUL, 2, 2, NULL, {{0}}},
    {ITG_OP_ADD, 2, 2, NULL, {{0}}},
    {ITG_OP_SUB, 2, 2, NULL, {{0}}},
    {ITG_OP_MUL, 2, 2, NULL, {{0}}},
    {ITG_OP_DIV, 2, 2, NULL, {{0}}},
    {ITG_OP_POW, 2, 2, NULL, {{0}}},
    {ITG_OP_MIN, 1, -1, NULL, {{0}}},
    {ITG_OP_MAX, 1, -1, NULL, {{0}}},
    {ITG_OP_EQUAL, 2, 2, NULL, {{0}}},
    {ITG_OP_WHERE, 3, 3, NULL, {{0}}},
    {ITG_OP_RELU, 1, 1, NULL, {{0}}},
    {ITG_OP_LEAKY_RELU, 1, 1, NULL, {ITG_ATTR_FLOAT_RULE("alpha", alpha)}},
    {ITG_OP_PRELU, 2, 2, NULL, {{0}}},
    {ITG_OP_ELU, 1, 1, NULL, {ITG_ATTR_FLOAT_RULE("alpha", alpha)}},
    {ITG_OP_CLIP,
     1,
     3,
     map_clip,
     {ITG_ATTR_CUSTOM_RULE("min", 10), ITG_ATTR_CUSTOM_RULE("max", 10)}},
    {ITG_OP_SIGMOID, 1, 1, NULL, {{0}}},
    {ITG_OP_TANH, 1, 1, NULL, {{0}}},
    {ITG_OP_HARD_SIGMOID,
     1,
     1,
     NULL,
     {ITG_ATTR_FLOAT_RULE("alpha", alpha), ITG_ATTR_FLOAT_RULE("beta", beta)}},
    {ITG_OP_HARD_SWISH, 1, 1, NULL, {{0}}},
    {ITG_OP_SOFTPLUS, 1, 1, NULL, {{0}}},
    {ITG_OP_EXP, 1, 1, NULL, {{0}}},
    {ITG_OP_LOG, 1, 1, NULL, {{0}}},
    {ITG_OP_SQRT, 1, 1, NULL, {{0}}},
    {ITG_OP_RECIPROCAL, 1, 1, NULL, {{0}}},
    {ITG_OP_ERF, 1, 1, NULL, {{0}}},
    {ITG_OP_ABS, 1, 1, NULL, {{0}}},
    {ITG_OP_NEG, 1, 1, NULL, {{0}}},
    {ITG_OP_FLOOR, 1, 1, NULL, {{0}}},
    {ITG_OP_CEIL, 1, 1, NULL, {{0}}},
};

const itg_op_family itg_map_math = {rules, (int32_t)(sizeof rules / sizeof rules[0])};
