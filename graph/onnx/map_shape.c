/* Operators that change shape or element type and no number. */
#include "graph/onnx/map.h"
#include "graph/onnx/tensor_types.h"

static itg_status map_reshape(itg_map_node *node, itg_error *err)
{
    if (!node->attrs.allowzero || node->opset >= 14) return ITG_OK;
    return itg_map_fail(node, err, ITG_BAD_FILE, "opset %d has no attribute 'allowzero'",
                        (int)node->opset);
}

/* Absent: perm[0] stays -1, the order is reversed. */
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

static itg_status axes_to_input(itg_map_node *node, bool is_required, itg_error *err)
{
    if (node->opset < 13) {
        if (node->input_count > 1)
            return itg_map_fail(node, err, ITG_BAD_FILE, "it has 2 inputs; opset %d has 1",
                                (int)node->opset);
        itg_status status = itg_map_ints_to_input(node, "axes", 1, err);
        if (status != ITG_OK) return status;
    }
    if (!is_required || (node->input_count > 1 && node->inputs[1] != ITG_NONE)) return ITG_OK;
    return itg_map_fail(node, err, ITG_BAD_FILE, "'axes' is missing");
}

static itg_status map_squeeze(itg_map_node *node, itg_error *err)
{
    return axes_to_input(node, false, err);
}

static itg_status map_unsqueeze(itg_map_node *node, itg_error *err)
{
    return axes_to_input(node, true, err);
}

static itg_status map_cast(itg_map_node *node, itg_error *err)
{
    int64_t to = 0;
    if (!itg_map_has(node, "to"))
        return itg_map_fail(node, err, ITG_BAD_FILE, "attribute 'to' is missing");
    itg_status status = itg_map_int(node, "to", 0, INT32_MAX, &to, err);
    if (status != ITG_OK) return status;
    if (itg_onnx_type_to_dtype((int32_t)to, &node->attrs.to)) return ITG_OK;
    return itg_map_fail(node, err, ITG_UNSUPPORTED,
                        "attribute 'to' is %s (%d), a type that is not supported",
                        itg_onnx_type_name((int32_t)to), (int)to);
}

/* Shape's start and end (opset 15) stand where shape inference reads them: starts[0], and axes[0]
 * if axes_count is 1. */
static itg_status map_shape(itg_map_node *node, itg_error *err)
{
    node->attrs.axes_count = itg_map_has(node, "end") ? 1 : 0;
    itg_status status =
        itg_map_int(node, "start", INT64_MIN, INT64_MAX, &node->attrs.starts[0], err);
    if (status == ITG_OK)
        status = itg_map_int(node, "end", INT64_MIN, INT64_MAX, &node->attrs.axes[0], err);
    return status;
}

/* The same as Expand of a scalar: so its value keeps its type, and no attribute has to hold it. */
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

/* Inference: the ratio has no meaning, and a constant training_mode must be false; another one is
 * shape inference's. */
static itg_status map_dropout(itg_map_node *node, itg_error *err)
{
    itg_tensor mode;
    if (node->opset < 12 && node->input_count > 1)
        return itg_map_fail(node, err, ITG_BAD_FILE, "it has %d inputs; opset %d has 1",
                            (int)node->input_count, (int)node->opset);
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
    {ITG_OP_RESHAPE, 2, 2, map_reshape, {ITG_ATTR_BOOL_RULE("allowzero", allowzero)}},
    {ITG_OP_FLATTEN, 1, 1, NULL, {ITG_ATTR_AXIS_RULE("axis")}},
    {ITG_OP_TRANSPOSE, 1, 1, map_transpose, {ITG_ATTR_CUSTOM_RULE("perm", 0)}},
    {ITG_OP_SQUEEZE, 1, 2, map_squeeze, {ITG_ATTR_CUSTOM_RULE("axes", 12)}},
    {ITG_OP_UNSQUEEZE, 1, 2, map_unsqueeze, {ITG_ATTR_CUSTOM_RULE("axes", 12)}},
    {ITG_OP_EXPAND, 2, 2, NULL, {{0}}},
    {ITG_OP_CONSTANT_OF_SHAPE, 1, 1, map_constant_of_shape, {ITG_ATTR_CUSTOM_RULE("value", 0)}},
    {ITG_OP_SHAPE,
     1,
     1,
     map_shape,
     {ITG_ATTR_CUSTOM_RULE("start", 0), ITG_ATTR_CUSTOM_RULE("end", 0)}},
    {ITG_OP_CAST,
     1,
     1,
     map_cast,
     {ITG_ATTR_CUSTOM_RULE("to", 0), ITG_ATTR_IGNORED_RULE("saturate")}},
    {ITG_OP_IDENTITY, 1, 1, NULL, {{0}}},
    {ITG_OP_DROPOUT,
     1,
     3,
     map_dropout,
     {ITG_ATTR_IGNORED_RULE("ratio"), ITG_ATTR_IGNORED_RULE("seed")}},
};

const itg_op_family itg_map_shape = {rules, (int32_t)(sizeof rules / sizeof rules[0])};
