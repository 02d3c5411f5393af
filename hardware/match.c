/* Queries on a spec, a slot or a name. */
#include "keys.h"
#include <string.h>

itg_slot_role itg_hardware_slot_role(const itg_graph *g, itg_id node, int32_t slot)
{
    const itg_node *n = &g->nodes[node];
    if (slot == 0 || n->op == ITG_OP_CONCAT || itg_op_is(n->op, ITG_IS_BROADCAST))
        return ITG_SLOT_ACTIVATION;
    if (!itg_op_is(n->op, ITG_IS_MAC)) return ITG_SLOT_PARAMETER;
    if (slot == 2) return ITG_SLOT_BIAS;
    return n->op != ITG_OP_MATMUL || itg_graph_is_constant(g, n->inputs[slot])
               ? ITG_SLOT_WEIGHT
               : ITG_SLOT_ACTIVATION;
}

bool itg_hardware_float_weight(const itg_hardware *hw, const itg_graph *g, itg_id node,
                               int32_t slot)
{
    const itg_node *n = &g->nodes[node];
    if (hw->float_weight_mask == 0 || slot != 1 || !itg_op_is(n->op, ITG_IS_MAC) ||
        !itg_graph_is_constant(g, n->inputs[1]))
        return false;
    const itg_value *w = &g->values[n->inputs[1]];
    const itg_hw_override o = itg_hw_override_of(hw, n->name);
    return w->dtype == ITG_F32 && w->shape.rank >= 2 && !(o.has_float && o.is_float) &&
           (n->op != ITG_OP_GEMM || n->attrs.trans_b);
}

bool itg_hw_spec_fits(const itg_hw_spec *spec, const itg_graph *g, itg_id node)
{
    bool weights =
        g->nodes[node].input_count > 1 && itg_hardware_slot_role(g, node, 1) == ITG_SLOT_WEIGHT;
    return (spec->weight_mask != 0) == weights;
}

uint32_t itg_hw_spec_outputs(const itg_hw_spec *spec)
{
    return spec->output_mask ? spec->output_mask : spec->input_mask;
}

static bool admits(const itg_hardware *hw, uint32_t mask, int32_t bits)
{
    return itg_hardware_dtype_for(hw, mask, bits, false) >= 0;
}

const itg_hw_spec *itg_hardware_match(const itg_hardware *hw, itg_op op, const int32_t *input_bits,
                                      int32_t input_count, int32_t weight_bits, int32_t passed_over)
{
    const itg_hw_spec *found = NULL;
    for (int32_t s = 0; s < hw->ops[op].spec_count && passed_over >= 0; s++) {
        const itg_hw_spec *spec = &hw->ops[op].specs[s];
        if ((spec->weight_mask != 0) != (weight_bits != 0)) continue;
        if (weight_bits != 0 && !admits(hw, spec->weight_mask, weight_bits)) continue;
        int32_t i = 0;
        while (i < input_count && admits(hw, spec->input_mask, input_bits[i]))
            i++;
        if (i < input_count) continue;
        found = spec;
        passed_over--;
    }
    return found;
}

int32_t itg_hardware_dtype_after(const itg_hardware *hw, uint32_t mask, int32_t bits,
                                 bool may_be_negative, int32_t passed_over)
{
    int32_t found = -1;
    for (int32_t i = 0; i < hw->dtype_count && passed_over >= 0; i++) {
        const itg_hw_dtype *dtype = &hw->dtypes[i];
        if (!((mask >> i) & 1u) || bits < dtype->bits_min || bits > dtype->bits_max) continue;
        bool holds_negative = dtype->zero_point || itg_dtype_min(dtype->storage) < 0;
        if (may_be_negative && !holds_negative) continue;
        found = i;
        passed_over--;
    }
    return found;
}

int32_t itg_hardware_dtype_for(const itg_hardware *hw, uint32_t mask, int32_t bits,
                               bool may_be_negative)
{
    return itg_hardware_dtype_after(hw, mask, bits, may_be_negative, 0);
}

bool itg_hardware_has_zero_points(const itg_hardware *hw, const itg_hw_spec *spec, int32_t bits)
{
    const uint32_t mask = spec ? spec->weight_mask : hw->float_weight_mask;
    const int32_t dtype = itg_hardware_dtype_for(hw, mask, bits, true);
    return dtype >= 0 && hw->dtypes[dtype].zero_point;
}

/* Only the last star needs to be tried again, so no pattern takes exponential time. */
bool itg_hw_glob(const char *pattern, const char *text)
{
    const char *star = NULL, *resume = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

itg_hw_override itg_hw_override_of(const itg_hardware *hw, const char *node_name)
{
    itg_hw_override all = {.has_float = false};
    for (int32_t i = 0; i < hw->override_count; i++) {
        const itg_hw_override *o = &hw->overrides[i];
        if (!itg_hw_glob(o->pattern, node_name)) continue;
        if (o->has_float) {
            all.has_float = true;
            all.is_float = o->is_float;
        }
        if (o->weight_bits_max != 0) {
            all.weight_bits_min = o->weight_bits_min;
            all.weight_bits_max = o->weight_bits_max;
        }
        if (o->activation_bits_max != 0) {
            all.activation_bits_min = o->activation_bits_min;
            all.activation_bits_max = o->activation_bits_max;
        }
    }
    return all;
}
