/* Selects the nodes that run in integers, and the Relu and Clip nodes that are fused into their
 * producer. */
#include "keys.h"

/* ---- one node ---- */

/* The check_* functions return why a node cannot be an integer node, as a constant text; NULL: it
 * can. */

static const char *check_mac(const itg_graph *g, const itg_hw_op *op, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    const itg_value *values = g->values;
    if (itg_graph_is_constant(g, n->inputs[0])) return "its left operand is constant";
    bool has_weights = itg_graph_is_constant(g, n->inputs[1]);
    int32_t rank = values[n->inputs[1]].shape.rank;
    if (n->op != ITG_OP_MATMUL && !has_weights) return "its weights are not constant";
    if (n->op != ITG_OP_CONV && has_weights && rank != 2) return "its weights are not 2-D";
    if (n->op == ITG_OP_MATMUL && (rank < 2 || values[n->inputs[0]].shape.rank < 2))
        return "its operands are not matrices";
    if (n->op == ITG_OP_GEMM && (n->attrs.trans_a || !n->attrs.trans_b))
        return "it is not of the form x * transposed weights";
    if (n->op == ITG_OP_GEMM && !(n->attrs.alpha == 1.0f && n->attrs.beta == 1.0f))
        return "its alpha or beta is not 1";
    if (n->input_count < 3 || n->inputs[2] == ITG_NONE) return NULL;
    const itg_shape *weights = &values[n->inputs[1]].shape;
    int64_t channels = weights->dims[n->op == ITG_OP_MATMUL ? weights->rank - 1 : 0], biases = 0;
    if (!itg_graph_is_constant(g, n->inputs[2])) return "its bias is not constant";
    if (!itg_shape_elements(&values[n->inputs[2]].shape, &biases) || biases != channels)
        return "its bias is not one value a channel";
    for (int32_t i = 0; i < op->spec_count; i++)
        if (itg_hw_spec_fits(&op->specs[i], g, node) && !op->specs[i].bias)
            return "the hardware has no bias here";
    return NULL;
}

/* Whether a slot holds indices, which are integers whatever codes they select. */
static bool is_index(const itg_graph *g, const itg_node *n, int32_t slot)
{
    return n->op == ITG_OP_GATHER && slot == 1 && g->values[n->inputs[slot]].dtype != ITG_F32;
}

/* Checks the activations, or the indices of a Gather. At least one must be computed. */
static const char *check_operands(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    int32_t computed = 0;
    for (int32_t i = 0; i < n->input_count; i++) {
        itg_id v = n->inputs[i];
        if (v == ITG_NONE && i < 2 && itg_hardware_slot_role(g, node, i) != ITG_SLOT_PARAMETER)
            return "an operand is left out";
        if (v == ITG_NONE) continue;
        bool constant = itg_graph_is_constant(g, v);
        if (itg_hardware_slot_role(g, node, i) == ITG_SLOT_PARAMETER) {
            if (!constant && is_index(g, n, i))
                computed++;
            else if (!constant)
                return "a parameter among its inputs is not constant";
            continue;
        }
        if (g->values[v].dtype != ITG_F32) return "it does not compute on float32";
        if (!constant) computed++;
    }
    return computed > 0 ? NULL : "none of its operands is computed";
}

static const char *check_outputs(const itg_graph *g, const itg_node *n)
{
    if (n->output_count < 1 || n->outputs[0] == ITG_NONE) return "its result is not used";
    for (int32_t i = 0; i < n->output_count; i++) {
        if (n->outputs[i] == ITG_NONE) continue;
        if (i > 0 && n->op == ITG_OP_MAX_POOL) return "its indices are used";
        if (i > 0 && n->op == ITG_OP_LAYER_NORMALIZATION) return "its statistics are used";
        if (n->op != ITG_OP_ARG_MAX && g->values[n->outputs[i]].dtype != ITG_F32)
            return "it does not compute float32";
    }
    return NULL;
}

static const char *check_pad(const itg_node *n)
{
    if (n->op != ITG_OP_PAD) return NULL;
    if (n->attrs.pad_mode != ITG_PAD_CONSTANT) return "its mode is not constant";
    return n->attrs.pad_value == 0.0f ? NULL : "it pads with a value other than 0";
}

static bool any_spec_fits(const itg_hw_op *op, const itg_graph *g, itg_id node)
{
    for (int32_t i = 0; i < op->spec_count; i++)
        if (itg_hw_spec_fits(&op->specs[i], g, node)) return true;
    return false;
}

bool itg_hardware_supports(const itg_hardware *hw, const itg_graph *g, itg_id node,
                           itg_arena *arena, const char **reason)
{
    const itg_node *n = &g->nodes[node];
    const itg_hw_op *op = &hw->ops[n->op];
    const char *why = hw->all_float ? "the hardware computes everything in float" : NULL;
    if (!why && op->spec_count == 0) {
        *reason = itg_hardware_float_weight(hw, g, node, 1)
                      ? "its weights alone are codes"
                      : itg_arena_format(arena, "%s is not among the hardware's operators",
                                         itg_op_name(n->op));
        return false;
    }
    if (!why) why = check_operands(g, node);
    if (!why && op->specs[0].form == ITG_FORM_MAC) why = check_mac(g, op, node);
    if (!why) why = check_outputs(g, n);
    if (!why) why = check_pad(n);
    if (!why && !any_spec_fits(op, g, node))
        why = itg_graph_is_constant(g, n->inputs[1]) ? "the hardware has no constant operand here"
                                                     : "the hardware has no two activations here";
    *reason = why;
    return why == NULL;
}

/* ---- fusion ---- */

/* Whether every spec that the node may run by ends in a requantization, and so in a clamp, whatever
 * the bits are. */
static bool ends_in_clamp(const itg_hardware *hw, const itg_graph *g, itg_id node)
{
    const itg_hw_op *op = &hw->ops[g->nodes[node].op];
    bool any = false;
    for (int32_t i = 0; i < op->spec_count; i++) {
        if (!itg_hw_spec_fits(&op->specs[i], g, node)) continue;
        if (op->specs[i].form == ITG_FORM_KEEP || op->specs[i].form == ITG_FORM_LUT) return false;
        any = true;
    }
    return any;
}

/* Returns the quantized node into whose clamp this Relu or Clip is fused, or ITG_NONE. topology
 * must be final for earlier nodes. Hosts are never Relu or Clip (itg_hw_can_fuse_into), so fusions
 * do not nest. */
static itg_id fusion_host(const itg_hardware *hw, const itg_graph *g, const bool *topology,
                          itg_id node)
{
    const itg_node *n = &g->nodes[node];
    if (!itg_op_is(n->op, ITG_IS_CLAMP)) return ITG_NONE;
    if (n->inputs[0] == ITG_NONE) return ITG_NONE;
    for (int32_t i = 1; i < n->input_count; i++)
        if (n->inputs[i] != ITG_NONE && !itg_graph_is_constant(g, n->inputs[i])) return ITG_NONE;
    itg_id host = g->values[n->inputs[0]].producer;
    if (host == ITG_NONE || g->values[n->inputs[0]].producer_slot != 0 || !topology[host] ||
        !hw->fuse[g->nodes[host].op][n->op] || itg_graph_use_count(g, n->inputs[0]) != 1 ||
        !ends_in_clamp(hw, g, host))
        return ITG_NONE;
    return host;
}

void itg_hardware_fusion(const itg_hardware *hw, const itg_graph *g, const bool *topology,
                         itg_id *fused)
{
    for (itg_id n = 0; n < g->node_count; n++)
        fused[n] = ITG_NONE;
    for (itg_id n = 0; n < g->node_count; n++) {
        itg_id host = topology[n] ? fusion_host(hw, g, topology, n) : ITG_NONE;
        if (host != ITG_NONE) fused[host] = n;
    }
}

/* ---- the whole graph ---- */

static bool follows_float(const itg_graph *g, const bool *topology, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    for (int32_t i = 0; i < n->input_count; i++) {
        itg_id v = n->inputs[i];
        if (v == ITG_NONE || itg_graph_is_constant(g, v)) continue;
        itg_id producer = g->values[v].producer;
        if (producer != ITG_NONE && !topology[producer]) return true;
    }
    return false;
}

static const char no_memory[] = "no memory for the reason";

/* Returns why the node is float; NULL: it is quantized. */
static const char *float_reason(const itg_hardware *hw, const itg_graph *g, itg_id node,
                                const bool *in_float, itg_arena *arena, const bool *topology,
                                const itg_hw_override *o)
{
    const char *reason = NULL;
    if (in_float && in_float[node]) return "the strategy leaves it in float";
    if (o->has_float && o->is_float) return "an override keeps it in float";
    if (!hw->all_float && fusion_host(hw, g, topology, node) != ITG_NONE) return NULL;
    if (!itg_hardware_supports(hw, g, node, arena, &reason)) return reason ? reason : no_memory;
    bool may_stay_float = hw->float_allowed && !o->has_float;
    if (hw->ops[g->nodes[node].op].follow && may_stay_float && follows_float(g, topology, node))
        return "it follows a float node";
    return NULL;
}

/* Judges all nodes, even after a refusal, so that `check` can show each reason. */
itg_status itg_hardware_topology_of(const itg_hardware *hw, const itg_graph *g,
                                    const bool *in_float, itg_arena *arena, bool *topology,
                                    const char **reasons, itg_error *err)
{
    itg_status status = ITG_OK;
    for (itg_id n = 0; n < g->node_count; n++) {
        const itg_node *node = &g->nodes[n];
        itg_hw_override o = itg_hw_override_of(hw, node->name);
        const char *reason = float_reason(hw, g, n, in_float, arena, topology, &o);
        if (reason == no_memory) return itg_fail(err, ITG_NO_MEMORY, "%s: %s", g->name, reason);
        topology[n] = reason == NULL;
        if (reasons) reasons[n] = reason;
        if (!reason || status != ITG_OK) continue;
        if (!hw->float_allowed)
            status = itg_fail(err, ITG_INFEASIBLE, "%s: node %d '%s' (%s): %s, and %s has no float",
                              g->name, (int)n, node->name, itg_op_name(node->op), reason, hw->name);
        else if (o.has_float && !o.is_float)
            status = itg_fail(err, ITG_INFEASIBLE,
                              "%s: node %d '%s' (%s): %s, and an override of %s forbids float",
                              g->name, (int)n, node->name, itg_op_name(node->op), reason, hw->name);
    }
    return status;
}

itg_status itg_hardware_topology(const itg_hardware *hw, const itg_graph *g, itg_arena *arena,
                                 bool *topology, const char **reasons, itg_error *err)
{
    return itg_hardware_topology_of(hw, g, NULL, arena, topology, reasons, err);
}
