/* The dtypes of an edge: those that both producer and consumer support. */
#include "keys.h"

static uint32_t all_dtypes(const itg_hardware *hw)
{
    return hw->dtype_count >= 32 ? UINT32_MAX : (1u << hw->dtype_count) - 1;
}

/* The dtypes that the consumer reads at this slot. */
static uint32_t consumer_dtypes(const itg_hardware *hw, const itg_graph *g, itg_id node,
                                itg_slot_role role)
{
    const itg_hw_op *op = &hw->ops[g->nodes[node].op];
    uint32_t mask = 0;
    for (int32_t i = 0; i < op->spec_count; i++)
        if (itg_hw_spec_fits(&op->specs[i], g, node))
            mask |= role == ITG_SLOT_WEIGHT ? op->specs[i].weight_mask : op->specs[i].input_mask;
    return mask;
}

itg_id itg_hw_host_of(const itg_graph *g, const itg_id *fused, itg_id node)
{
    if (g->nodes[node].input_count < 1 || g->nodes[node].inputs[0] == ITG_NONE) return node;
    itg_id before = g->values[g->nodes[node].inputs[0]].producer;
    return before != ITG_NONE && fused[before] == node ? before : node;
}

/* The dtypes that the value's producer writes. A float value is quantized to any dtype. */
static uint32_t producer_dtypes(const itg_hardware *hw, const itg_graph *g, const bool *topology,
                                const itg_id *fused, itg_id value)
{
    const itg_value *v = &g->values[value];
    if (v->producer == ITG_NONE)
        return v->is_input && hw->graph_input_mask ? hw->graph_input_mask : all_dtypes(hw);
    if (!topology[v->producer]) return all_dtypes(hw);
    itg_id host = itg_hw_host_of(g, fused, v->producer);
    const itg_hw_op *op = &hw->ops[g->nodes[host].op];
    uint32_t mask = 0;
    for (int32_t i = 0; i < op->spec_count; i++)
        if (itg_hw_spec_fits(&op->specs[i], g, host)) mask |= itg_hw_spec_outputs(&op->specs[i]);
    return mask;
}

bool itg_hardware_edge_dtypes(const itg_hardware *hw, const itg_graph *g, const bool *topology,
                              const itg_id *fused, const itg_edge_ref *edge, uint32_t *mask)
{
    const itg_value *v = &g->values[edge->value];
    if (v->dtype != ITG_F32) return false;
    uint32_t read;
    if (edge->node == ITG_NONE) {
        if (v->producer == ITG_NONE || !topology[v->producer]) return false;
        read = hw->graph_output_mask ? hw->graph_output_mask : all_dtypes(hw);
    } else {
        if (!topology[edge->node] && itg_hardware_float_weight(hw, g, edge->node, edge->slot)) {
            *mask = hw->float_weight_mask;
            return true;
        }
        itg_slot_role role = itg_hardware_slot_role(g, edge->node, edge->slot);
        if (!topology[edge->node] || role == ITG_SLOT_BIAS || role == ITG_SLOT_PARAMETER ||
            itg_hw_host_of(g, fused, edge->node) != edge->node)
            return false;
        read = consumer_dtypes(hw, g, edge->node, role);
    }
    *mask = read & producer_dtypes(hw, g, topology, fused, edge->value);
    return true;
}
