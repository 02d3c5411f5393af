/* Operators that choose, compare or sum elements. */
#include "graph/onnx/map.h"

/* Turns k, an attribute before opset 10, into an input. */
static itg_status map_top_k(itg_map_node *node, itg_error *err)
{
    int64_t k = 0;
    if (!itg_map_has(node, "k"))
        return node->input_count > 1 ? ITG_OK
                                     : itg_map_fail(node, err, ITG_BAD_FILE, "k is missing");
    itg_status status = itg_map_int(node, "k", 0, ITG_MAX_ELEMENTS, &k, err);
    itg_tensor tensor = {.dtype = ITG_S64, .shape = {.rank = 1, .dims = {1}}, .data = &k};
    return status == ITG_OK ? itg_map_add_input(node, 1, "k", &tensor, err) : status;
}

/* Refuses the number that stands for a missing axis. */
static itg_status map_flat_axis(itg_map_node *node, itg_error *err)
{
    if (node->attrs.axis != ITG_MAX_RANK || !itg_map_has(node, "axis")) return ITG_OK;
    return itg_map_fail(node, err, ITG_BAD_FILE, "axis %d; at most %d", ITG_MAX_RANK,
                        ITG_MAX_RANK - 1);
}

static itg_status map_bit_shift(itg_map_node *node, itg_error *err)
{
    return itg_map_has(node, "direction")
               ? ITG_OK
               : itg_map_fail(node, err, ITG_BAD_FILE, "attribute 'direction' is missing");
}

/* A Sum of two operands becomes Add; a Sum or Mean of one becomes Identity. */
static itg_status map_sum(itg_map_node *node, itg_error *err)
{
    (void)err;
    if (node->input_count == 1) node->op = ITG_OP_IDENTITY;
    if (node->input_count == 2 && node->op == ITG_OP_SUM) node->op = ITG_OP_ADD;
    return ITG_OK;
}

/* Scatter becomes ScatterElements without a reduction. */
static itg_status map_scatter(itg_map_node *node, itg_error *err)
{
    node->op = ITG_OP_SCATTER_ELEMENTS;
    node->attrs = itg_attrs_default(node->op);
    return itg_map_int(node, "axis", -ITG_MAX_RANK, ITG_MAX_RANK - 1, &node->attrs.axis, err);
}

static const itg_op_rule rules[] = {
    {ITG_OP_TOP_K, map_top_k, {{"k", ITG_FILE_MAPPED, 9, 0}}},
    {ITG_OP_COMPRESS, map_flat_axis, {{0}}},
    {ITG_OP_UNIQUE, map_flat_axis, {{0}}},
    {ITG_OP_BIT_SHIFT, map_bit_shift, {{0}}},
    {ITG_OP_SUM, map_sum, {{0}}},
    {ITG_OP_MEAN, map_sum, {{0}}},
    {ITG_OP_SCATTER, map_scatter, {{"axis", ITG_FILE_MAPPED, 0, 0}}},
    {ITG_OP_CAST_LIKE,
     NULL,
     {{"saturate", ITG_FILE_IGNORED, 0, 0}, {"round_mode", ITG_FILE_IGNORED, 0, 0}}},
};

const itg_op_family itg_map_values = {rules, (int32_t)(sizeof rules / sizeof rules[0])};
