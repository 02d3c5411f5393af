/* Operators that preparation replaces by others. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "graph/onnx/map.h"

/* ---- Resize and Upsample: inputs X, roi, scales, sizes ---- */
static itg_status map_resize(itg_map_node *node, itg_error *err)
{
    const int64_t *axes = NULL;
    int32_t count = -1;
    if (node->opset < 11) { /* X and scales; opset 11 named the rules that held before */
        node->attrs.coordinates = ITG_ASYMMETRIC;
        node->attrs.nearest = ITG_DOWNSAMPLE_CEIL;
        if (node->input_count != 2)
            return itg_map_fail(node, err, ITG_BAD_FILE, "scales are missing");
        node->inputs[2] = node->inputs[1];
        node->inputs[1] = ITG_NONE;
        node->input_count = 3;
    }
    itg_status status = itg_map_ints(node, "axes", -ITG_MAX_RANK, ITG_MAX_RANK, &axes, &count, err);
    if (status != ITG_OK || count < 0) return status;
    if (count > ITG_MAX_RANK)
        return itg_map_fail(node, err, ITG_UNSUPPORTED, "%d axes; at most %d are supported",
                            (int)count, ITG_MAX_RANK);
    node->attrs.axes_count = count;
    if (count > 0) memcpy(node->attrs.axes, axes, (size_t)count * sizeof *axes);
    return ITG_OK;
}

static itg_status scales_of_upsample(itg_map_node *node, itg_error *err)
{
    const itg_onnx_attr *scales = itg_onnx_attr_find(node->file, "scales");
    float list[ITG_MAX_RANK];
    if (!scales || scales->type != ITG_ATTR_FLOATS || scales->count > ITG_MAX_RANK)
        return itg_map_fail(node, err, ITG_BAD_FILE,
                            "attribute 'scales' is no list of at most %d numbers", ITG_MAX_RANK);
    if (scales->count > 0) memcpy(list, scales->floats, (size_t)scales->count * sizeof *list);
    itg_tensor tensor = {
        .dtype = ITG_F32, .shape = {.rank = 1, .dims = {scales->count}}, .data = list};
    return itg_map_add_input(node, 1, "scales", &tensor, err);
}

/* Makes the node a Resize that rounds coordinates down. */
static itg_status map_upsample(itg_map_node *node, itg_error *err)
{
    itg_resize_mode mode = node->attrs.resize_mode;
    itg_status status = node->opset < 9 ? scales_of_upsample(node, err) : ITG_OK;
    if (status != ITG_OK) return status;
    if (node->input_count != 2) return itg_map_fail(node, err, ITG_BAD_FILE, "scales are missing");
    node->op = ITG_OP_RESIZE;
    node->attrs = itg_attrs_default(ITG_OP_RESIZE);
    node->attrs.resize_mode = mode;
    node->attrs.coordinates = ITG_ASYMMETRIC;
    node->attrs.nearest = ITG_NEAREST_FLOOR;
    node->inputs[2] = node->inputs[1];
    node->inputs[1] = ITG_NONE;
    node->input_count = 3;
    return ITG_OK;
}

static itg_status map_conv_transpose(itg_map_node *node, itg_error *err)
{
    itg_status status = itg_map_conv(node, err);
    if (status == ITG_OK)
        status = itg_map_spatial(node, "output_padding", 0, node->attrs.output_padding, err);
    if (status == ITG_OK)
        status = itg_map_spatial(node, "output_shape", 1, node->attrs.output_shape, err);
    return status;
}

/* ---- recurrent operators ---- */
static int64_t activation_of(const char *name)
{
    itg_op op;
    if (strcmp(name, "Affine") == 0) return ITG_OP_ADD;
    if (strcmp(name, "ScaledTanh") == 0) return ITG_OP_MUL;
    return itg_op_from_name(name, &op) && itg_op_is(op, ITG_IS_UNIVARIATE) ? (int64_t)op : -1;
}

static itg_status read_activations(itg_map_node *node, itg_error *err)
{
    const itg_onnx_attr *names = itg_onnx_attr_find(node->file, "activations");
    itg_attrs *a = &node->attrs;
    if (!names) return ITG_OK;
    if (names->type != ITG_ATTR_STRINGS || names->count > 6)
        return itg_map_fail(node, err, ITG_BAD_FILE, "attribute 'activations' is no list of names");
    for (int64_t i = 0; i < names->count; i++) {
        a->activations[i] = activation_of(names->strings[i]);
        if (a->activations[i] < 0)
            return itg_map_fail(node, err, ITG_UNSUPPORTED, "activation '%.40s' is not supported",
                                names->strings[i]);
    }
    return ITG_OK;
}

/* Whether an activation has the parameter; *preset: its default. */
static bool takes(int64_t activation, bool is_beta, float *preset)
{
    itg_attrs attrs = itg_attrs_default((itg_op)activation);
    int32_t count;
    const itg_attr *attr = itg_op_attrs((itg_op)activation, &count);
    bool found = activation == ITG_OP_ADD || activation == ITG_OP_MUL;
    *preset = found ? 1.0f : is_beta ? attrs.beta : attrs.alpha;
    for (int32_t i = 0; i < count; i++)
        found |= strcmp(attr[i].field->member, is_beta ? "beta" : "alpha") == 0;
    return found;
}

/* Reads a number for each activation with the parameter, in order; others keep the preset. */
static itg_status read_parameters(itg_map_node *node, bool is_beta, float out[6], itg_error *err)
{
    const char *name = is_beta ? "activation_beta" : "activation_alpha";
    const itg_onnx_attr *list = itg_onnx_attr_find(node->file, name);
    int64_t next = 0;
    if (list && list->type != ITG_ATTR_FLOATS)
        return itg_map_fail(node, err, ITG_BAD_FILE, "attribute '%s' is no list of floats", name);
    for (int i = 0; i < 6 && node->attrs.activations[i] >= 0; i++) {
        if (takes(node->attrs.activations[i], is_beta, &out[i]) && list && next < list->count)
            out[i] = list->floats[next++];
        if (!isfinite(out[i]))
            return itg_map_fail(node, err, ITG_UNSUPPORTED, "attribute '%s' is infinite", name);
    }
    return ITG_OK;
}

static itg_status map_recurrent(itg_map_node *node, itg_error *err)
{
    itg_status status = read_activations(node, err);
    if (status == ITG_OK) status = read_parameters(node, false, node->attrs.activation_alpha, err);
    if (status == ITG_OK) status = read_parameters(node, true, node->attrs.activation_beta, err);
    return status;
}

static itg_status map_attention(itg_map_node *node, itg_error *err)
{
    itg_status status = itg_map_int(node, "q_num_heads", 1, INT32_MAX, &node->attrs.heads[0], err);
    return status == ITG_OK
               ? itg_map_int(node, "kv_num_heads", 1, INT32_MAX, &node->attrs.heads[1], err)
               : status;
}

static const itg_op_rule rules[] = {
    {ITG_OP_RESIZE, map_resize, {{0}}},
    {ITG_OP_UPSAMPLE, map_upsample, {{"scales", ITG_FILE_MAPPED, 8, 0}}},
    {ITG_OP_CONV_TRANSPOSE, map_conv_transpose, {{0}}},
    {ITG_OP_GROUP_NORMALIZATION, NULL, {{"stash_type", ITG_FILE_ONLY, 0, 1}}},
    {ITG_OP_RMS_NORMALIZATION, NULL, {{"stash_type", ITG_FILE_ONLY, 0, 1}}},
    {ITG_OP_RNN, map_recurrent, {{0}}},
    {ITG_OP_GRU, map_recurrent, {{0}}},
    {ITG_OP_LSTM, map_recurrent, {{0}}},
    {ITG_OP_ATTENTION,
     map_attention,
     {{"q_num_heads", ITG_FILE_MAPPED, 0, 0},
      {"kv_num_heads", ITG_FILE_MAPPED, 0, 0},
      {"qk_matmul_output_mode", ITG_FILE_IGNORED, 0, 0},
      {"softmax_precision", ITG_FILE_IGNORED, 0, 0},
      {"left_window_size", ITG_FILE_ONLY, 0, -1},
      {"right_window_size", ITG_FILE_ONLY, 0, -1}}},
};

const itg_op_family itg_map_composite = {rules, (int32_t)(sizeof rules / sizeof rules[0])};
