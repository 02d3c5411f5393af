/* Operators that cut and join tensors. */
#include <string.h>
#include "graph/onnx/map.h"

static itg_status map_concat(itg_map_node *node, itg_error *err)
{
    return itg_map_has(node, "axis")
               ? ITG_OK
               : itg_map_fail(node, err, ITG_BAD_FILE, "attribute 'axis' is missing");
}

/* num_outputs (opset 18) must equal the number of outputs. */
static itg_status map_split(itg_map_node *node, itg_error *err)
{
    int64_t parts = node->output_count;
    itg_status status = itg_map_int(node, "num_outputs", 1, INT32_MAX, &parts, err);
    if (status != ITG_OK) return status;
    if (parts != node->output_count)
        return itg_map_fail(node, err, ITG_BAD_FILE,
                            "attribute 'num_outputs' is %d, it has %d outputs", (int)parts,
                            (int)node->output_count);
    const itg_onnx_attr *sizes = itg_onnx_attr_find(node->file, "split");
    if (!sizes) return ITG_OK;
    if (sizes->type != ITG_ATTR_INTS || sizes->count != node->output_count)
        return itg_map_fail(node, err, ITG_BAD_FILE, "attribute 'split' is no list of %d integers",
                            (int)node->output_count);
    /* only read: add_input copies it */
    itg_tensor tensor = {.dtype = ITG_S64, .shape = {.rank = 1, .dims = {sizes->count}}};
    tensor.data = (void *)(uintptr_t)sizes->ints;
    return itg_map_add_input(node, 1, "split", &tensor, err);
}

/* Turns the attributes before opset 10 into inputs, with steps of 1. */
static itg_status map_slice(itg_map_node *node, itg_error *err)
{
    static const int64_t ones[ITG_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    int64_t numbers[ITG_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    if (node->opset >= 10) {
        if (node->input_count >= 3 && node->inputs[1] != ITG_NONE && node->inputs[2] != ITG_NONE)
            return ITG_OK;
        return itg_map_fail(node, err, ITG_BAD_FILE, "starts and ends are missing");
    }
    const itg_onnx_attr *starts = itg_onnx_attr_find(node->file, "starts");
    const itg_onnx_attr *ends = itg_onnx_attr_find(node->file, "ends");
    const itg_onnx_attr *axes = itg_onnx_attr_find(node->file, "axes");
    bool is_list = starts && ends && starts->type == ITG_ATTR_INTS && ends->type == ITG_ATTR_INTS &&
                   starts->count == ends->count && starts->count <= ITG_MAX_RANK &&
                   (!axes || (axes->type == ITG_ATTR_INTS && axes->count == starts->count));
    if (!is_list)
        return itg_map_fail(
            node, err, ITG_BAD_FILE,
            "attributes 'starts' and 'ends' (and 'axes') of equal length up to %d are expected",
            ITG_MAX_RANK);
    itg_status status = itg_map_ints_to_input(node, "starts", 1, err);
    if (status == ITG_OK) status = itg_map_ints_to_input(node, "ends", 2, err);
    itg_tensor list = {
        .dtype = ITG_S64, .shape = {.rank = 1, .dims = {starts->count}}, .data = numbers};
    if (status == ITG_OK)
        status = axes ? itg_map_ints_to_input(node, "axes", 3, err)
                      : itg_map_add_input(node, 3, "axes", &list, err);
    memcpy(numbers, ones, sizeof numbers);
    if (status == ITG_OK) status = itg_map_add_input(node, 4, "steps", &list, err);
    return status;
}

/* Turns pads and value, attributes before opset 11, into inputs. */
static itg_status map_pad(itg_map_node *node, itg_error *err)
{
    float value = node->attrs.pad_value;
    if (node->opset >= 11) {
        if (node->input_count >= 2 && node->inputs[1] != ITG_NONE) return ITG_OK;
        return itg_map_fail(node, err, ITG_BAD_FILE, "pads are missing");
    }
    if (!itg_map_has(node, "pads"))
        return itg_map_fail(node, err, ITG_BAD_FILE, "attribute 'pads' is missing");
    itg_status status = itg_map_ints_to_input(node, "pads", 1, err);
    if (status != ITG_OK || value == 0.0f) return status;
    itg_tensor scalar = {.dtype = ITG_F32, .data = &value};
    return itg_map_add_input(node, 2, "value", &scalar, err);
}

static const itg_op_rule rules[] = {
    {ITG_OP_CONCAT, map_concat, {{0}}},
    {ITG_OP_SPLIT,
     map_split,
     {{"split", ITG_FILE_MAPPED, 12, 0}, {"num_outputs", ITG_FILE_MAPPED, 0, 0}}},
    {ITG_OP_SLICE, map_slice, {{"ends", ITG_FILE_MAPPED, 9, 0}}},
    {ITG_OP_PAD, map_pad, {{0}}},
};

const itg_op_family itg_map_slice = {rules, (int32_t)(sizeof rules / sizeof rules[0])};
