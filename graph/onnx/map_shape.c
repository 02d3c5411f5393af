/* Operators that change shape or element type only. */
#include "graph/onnx/map.h"

/* Without perm, perm[0] stays -1, which reverses the order. */
static itg_status map_transpose(itg_map_node *node, itg_error *err)
{
    const int64_t *perm = NULL;
    int32_t count = -1;
    bool seen[ITG_MAX_RANK] = {false};
    itg_status status = itg_map_ints(node, "perm", 0, ITG_MAX_RANK - 1, &perm, &count, err);
    if (status != ITG_OK || count < 0) return status;
    if (count > ITG_MAX_RANK)
        return itg_map_fail(node, err, ITG_UNSUPPORTED,
                            "attribute 'perm' has %d numbers; at most %d are supported", (int)count,
                            ITG_MAX_RANK);
    for (int32_t i = 0; i < count; i++) {
        if (perm[i] >= count || seen[perm[i]])
            return itg_map_fail(node, err, ITG_BAD_FILE,
                                "attribute 'perm' is no permutation of 0 to %d", (int)count - 1);
        seen[perm[i]] = true;
        node->attrs.perm[i] = perm[i];
    }
    return ITG_OK;
}

static itg_status map_unsqueeze(itg_map_node *node, itg_error *err)
{
    itg_status status = itg_map_axes(node, err);
    if (status != ITG_OK || (node->input_count > 1 && node->inputs[1] != ITG_NONE)) return status;
    return itg_map_fail(node, err, ITG_BAD_FILE, "'axes' is missing");
}

static itg_status map_cast(itg_map_node *node, itg_error *err)
{
    return itg_map_has(node, "to")
               ? ITG_OK
               : itg_map_fail(node, err, ITG_BAD_FILE, "attribute 'to' is missing");
}

/* Makes the node an Expand of a scalar, whose constant keeps the type of the value. */
static itg_status map_constant_of_shape(itg_map_node *node, itg_error *err)
{
    float zero = 0.0f;
    itg_tensor scalar = {.dtype = ITG_F32, .data = &zero};
    const itg_onnx_attr *attr = itg_onnx_attr_find(node->file, "value");
    if (attr) {
        int64_t elements = 0;
        if (attr->type != ITG_ATTR_TENSOR || !itg_shape_elements(&attr->tensor.shape, &elements) ||
            elements != 1)
            return itg_map_fail(node, err, ITG_BAD_FILE,
                                "attribute 'value' is no tensor of one element");
        scalar = attr->tensor;
        scalar.shape.rank = 0;
    }
    itg_id shape = node->inputs[0];
    node->op = ITG_OP_EXPAND;
    node->attrs = itg_attrs_default(ITG_OP_EXPAND);
    node->input_count = 0;
    itg_status status = itg_map_add_input(node, 0, "value", &scalar, err);
    if (status == ITG_OK) node->inputs[node->input_count++] = shape;
    return status;
}

/* Drops the ratio, which has no meaning in inference. A constant training_mode must be false; shape
 * inference checks one that is not constant. */
static itg_status map_dropout(itg_map_node *node, itg_error *err)
{
    itg_tensor mode;
    if (itg_map_constant(node, 2, &mode)) {
        int64_t elements = 0;
        if (mode.dtype != ITG_BOOL || !itg_shape_elements(&mode.shape, &elements) || elements != 1)
            return itg_map_fail(node, err, ITG_BAD_FILE, "'training_mode' is not one boolean");
        if (*(const unsigned char *)mode.data != 0)
            return itg_map_fail(node, err, ITG_UNSUPPORTED,
                                "'training_mode' is true; this is an inference engine");
        node->input_count = 1;
    } else if (node->input_count == 2) {
        node->input_count = 1;
    }
    return ITG_OK;
}

static const itg_op_rule rules[] = {
    {ITG_OP_TRANSPOSE, map_transpose, {{0}}},
    {ITG_OP_SQUEEZE, itg_map_axes, {{0}}},
    {ITG_OP_UNSQUEEZE, map_unsqueeze, {{0}}},
    {ITG_OP_CONSTANT_OF_SHAPE, map_constant_of_shape, {{"value", ITG_FILE_MAPPED, 0, 0}}},
    {ITG_OP_CAST,
     map_cast,
     {{"saturate", ITG_FILE_IGNORED, 0, 0}, {"round_mode", ITG_FILE_IGNORED, 0, 0}}},
    {ITG_OP_QUANTIZE_LINEAR,
     NULL,
     {{"saturate", ITG_FILE_IGNORED, 0, 0},
      {"block_size", ITG_FILE_ONLY, 0, 0},
      {"output_dtype", ITG_FILE_ONLY, 0, 0},
      {"precision", ITG_FILE_IGNORED, 0, 0}}},
    {ITG_OP_DEQUANTIZE_LINEAR,
     NULL,
     {{"block_size", ITG_FILE_ONLY, 0, 0}, {"output_dtype", ITG_FILE_ONLY, 0, 0}}},
    {ITG_OP_DROPOUT,
     map_dropout,
     {{"ratio", ITG_FILE_IGNORED, 11, 0}, {"seed", ITG_FILE_IGNORED, 0, 0}}},
};

const itg_op_family itg_map_shape = {rules, (int32_t)(sizeof rules / sizeof rules[0])};
