/* The cost of an annotated graph, from shapes and quantizers only.
 *
 * cycles: Conv, Gemm, MatMul take MACs / macs_per_cycle (depthwise: depthwise_macs_per_cycle) of
 * the matching spec, and its output_cycles for each output; if their sums are split, also
 * join_cycles for each part of each output. Any other node takes the larger of its first input's
 * and its first output's elements, at the rate macs_per_cycle. Fused activations take nothing. */
#include "base/packed.h"
#include "keys.h"
#include <stdlib.h>

static int64_t mul_saturated(int64_t a, int64_t b)
{
    return a != 0 && b > INT64_MAX / a ? INT64_MAX : a * b;
}

static int64_t elements_of(const itg_graph *g, itg_id value)
{
    int64_t n;
    return value != ITG_NONE && itg_shape_elements(&g->values[value].shape, &n) ? n : 0;
}

static const itg_encoding *encoding_of(const itg_annotated *a, const itg_edge *edge)
{
    if (!edge || edge->kind == ITG_EDGE_FUSED || edge->encoding < 0) return NULL;
    return &a->values[edge->value].encodings[edge->encoding];
}

/* Width of the slot's operand; float counts 32. */
static int32_t bits_at(const itg_annotated *a, itg_id node, int32_t slot)
{
    const itg_edge *edge = itg_annotated_edge(a, node, slot);
    const itg_encoding *encoding = encoding_of(a, edge);
    return encoding && edge->kind == ITG_EDGE_QUANT && !encoding->is_float ? encoding->q.bits : 32;
}

/* ---- work ---- */

int64_t itg_hardware_macs(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    const itg_shape *right = &g->values[n->inputs[1]].shape;
    int64_t terms = 0;
    if (n->op == ITG_OP_CONV) {
        int64_t all = elements_of(g, n->inputs[1]);
        terms = right->rank > 0 && right->dims[0] > 0 ? all / right->dims[0] : 0;
    } else if (right->rank == 1) {
        terms = right->dims[0];
    } else if (right->rank >= 2) {
        bool columns = n->op == ITG_OP_GEMM && n->attrs.trans_b;
        terms = right->dims[columns ? right->rank - 1 : right->rank - 2];
    }
    return mul_saturated(elements_of(g, n->outputs[0]), terms);
}

double itg_hardware_all_macs(const itg_graph *g)
{
    double macs = 0;
    for (itg_id n = 0; n < g->node_count; n++)
        if (itg_op_is(g->nodes[n].op, ITG_IS_MAC)) macs += (double)itg_hardware_macs(g, n);
    return macs;
}

/* Whether the node is a convolution with one input channel a group. */
static bool is_depthwise(const itg_graph *g, const itg_node *n)
{
    return n->op == ITG_OP_CONV && n->attrs.group > 1 && g->values[n->inputs[1]].shape.rank > 1 &&
           g->values[n->inputs[1]].shape.dims[1] == 1;
}

/* Elements that a node goes through: of a pool, those of all its windows; else the larger of the
 * first input's and the first output's. */
static int64_t passes_of(const itg_graph *g, const itg_node *n)
{
    const int64_t in = elements_of(g, n->inputs[0]);
    const int64_t out = n->output_count > 0 ? elements_of(g, n->outputs[0]) : 0;
    if (n->op != ITG_OP_MAX_POOL && n->op != ITG_OP_AVERAGE_POOL) return in > out ? in : out;
    return mul_saturated(out, mul_saturated(n->attrs.kernel[0], n->attrs.kernel[1]));
}

static double rate_of(const itg_hardware *hw, const itg_annotated *a, itg_id n,
                      const itg_hw_spec *spec)
{
    if (a->nodes[n].form == ITG_FORM_FLOAT) return hw->float_macs_per_cycle;
    return is_depthwise(a->graph, &a->graph->nodes[n]) ? spec->depthwise_macs_per_cycle
                                                       : spec->macs_per_cycle;
}

/* MACs, bit operations and cycles of one node, without fused activations. */
static itg_node_cost work_of(const itg_hardware *hw, const itg_annotated *a, itg_id n)
{
    const itg_graph *g = a->graph;
    const itg_node *node = &g->nodes[n];
    itg_node_cost cost = {0};
    if (a->nodes[n].form == ITG_FORM_FUSED || node->input_count < 1) return cost;
    const int64_t out = node->output_count > 0 ? elements_of(g, node->outputs[0]) : 0;
    int64_t work = passes_of(g, node);
    const itg_hw_spec *spec =
        a->nodes[n].form == ITG_FORM_FLOAT ? NULL : &hw->ops[node->op].specs[a->nodes[n].spec];
    cost.spec = spec;
    cost.depthwise = is_depthwise(g, node);
    cost.elements = work;
    cost.outputs = out;
    if (itg_op_is(node->op, ITG_IS_MAC)) {
        cost.macs = work = itg_hardware_macs(g, n);
        int64_t bits = (int64_t)bits_at(a, n, 0) * bits_at(a, n, 1);
        cost.bops = mul_saturated(work, bits);
        cost.parts = a->nodes[n].split.part_count;
        cost.joins = mul_saturated(out, cost.parts);
    }
    cost.cycles = (double)work / rate_of(hw, a, n, spec);
    if (spec && cost.macs > 0) cost.cycles += (double)out * spec->output_cycles;
    if (spec && cost.joins > 0) cost.cycles += (double)cost.joins * spec->split.join_cycles;
    return cost;
}

/* ---- parameters ---- */

static int64_t requant_bytes(const itg_requant *r)
{
    int64_t bytes = r->is_f32 ? 4 : 0;
    for (int32_t i = 0; i < r->stage_count; i++)
        bytes += (r->stage[i].multiplier != 1 ? 4 : 0) + (r->stage[i].shift != 0 ? 1 : 0);
    return bytes;
}

/* Bytes of the ends of the parts and of their shifts. */
static int64_t split_bytes(const itg_sum_split *split)
{
    int64_t bytes = 4 * (int64_t)split->part_count;
    for (int32_t i = 0; i < split->shift_count; i++)
        bytes += split->shift[i] != 0;
    return bytes;
}

static void add_to(int64_t *sum, int64_t bytes)
{
    *sum = itg_add_saturated(*sum, bytes);
}

/* Whether the node repeats what another did in an earlier step of a recurrent operator, with the
 * same constants. last [g->repeat_count + 1]: zeros at first; 1 + the last node of each number. */
static bool repeats(const itg_graph *g, itg_id node, itg_id *last)
{
    const itg_node *n = &g->nodes[node];
    const itg_id value = n->output_count > 0 ? n->outputs[0] : ITG_NONE;
    const int32_t number = value == ITG_NONE ? 0 : g->values[value].repeat;
    if (number == 0) return false;
    const itg_id before = last[number] - 1;
    last[number] = node + 1;
    return before >= 0 && g->nodes[before].op == n->op;
}

/* Adds biases, splits and constants of operands to their nodes, and the constants of a result to
 * the node that computes it; of nodes that repeat, to the first. repeated: [nodes]. */
static void add_constants(const itg_annotated *a, const bool *repeated, itg_cost *nodes)
{
    for (itg_id n = 0; n < a->graph->node_count; n++) {
        const itg_node_note *note = &a->nodes[n];
        itg_op op = a->graph->nodes[n].op;
        if (repeated[n]) continue;
        int64_t bytes = 2 * (int64_t)note->gain_count + split_bytes(&note->split);
        if (note->bias)
            bytes += note->bias_count * (note->acc.bits <= 32 ? INT64_C(4) : INT64_C(8));
        if (note->form == ITG_FORM_RESCALE && (op == ITG_OP_ADD || op == ITG_OP_SUB))
            bytes += requant_bytes(&note->operand[0]) + requant_bytes(&note->operand[1]);
        add_to(&nodes[n].parameter_bytes, bytes);
    }
    for (itg_id v = 0; v < a->graph->value_count; v++) {
        const itg_id producer = a->graph->values[v].producer;
        if (producer != ITG_NONE && repeated[producer]) continue;
        itg_cost *owner = &nodes[producer == ITG_NONE ? a->graph->node_count : producer];
        for (int32_t i = 0; i < a->values[v].encoding_count; i++) {
            const itg_encoding *encoding = &a->values[v].encodings[i];
            int64_t bytes = encoding->dequant ? 4 * (int64_t)encoding->dequant_count : 0;
            for (int32_t c = 0; encoding->requant && c < encoding->requant_count; c++)
                bytes += requant_bytes(&encoding->requant[c]);
            add_to(&owner->parameter_bytes, bytes);
        }
    }
}

/* Whether an integer node's note holds the constant: biases, parameters of a normalization. */
static bool is_noted(const itg_annotated *a, const itg_edge *edge)
{
    const itg_slot_role role = itg_hardware_slot_role(a->graph, edge->node, edge->slot);
    const itg_form form = a->nodes[edge->node].form;
    return (role == ITG_SLOT_BIAS && form != ITG_FORM_FLOAT) || form == ITG_FORM_LAYER_NORM;
}

/* Adds each encoding of each constant to the first node that reads it. A MAC's bias is counted with
 * its node; a float node's bias is a parameter, not a weight. counted: zeros, one for each
 * encoding. */
static void add_weights(const itg_annotated *a, const size_t *first, bool *counted, itg_cost *nodes)
{
    const itg_graph *g = a->graph;
    for (int32_t e = 0; e < a->edge_count; e++) {
        const itg_edge *edge = &a->edges[e];
        const itg_encoding *encoding = encoding_of(a, edge);
        if (!encoding || edge->node == ITG_NONE || g->values[edge->value].dtype != ITG_F32 ||
            !itg_graph_is_constant(g, edge->value))
            continue;
        bool is_bias = itg_hardware_slot_role(g, edge->node, edge->slot) == ITG_SLOT_BIAS;
        if (is_noted(a, edge)) continue;
        bool *seen = &counted[first[edge->value] + (size_t)edge->encoding];
        if (*seen) continue;
        *seen = true;
        int64_t bytes = itg_packed_bytes(elements_of(g, edge->value),
                                         encoding->is_float ? 32 : encoding->q.bits);
        if (!is_bias) add_to(&nodes[edge->node].weight_bytes, bytes);
        if (a->nodes[edge->node].form == ITG_FORM_FLOAT && !encoding->is_float)
            bytes += 4 * (int64_t)encoding->q.scale_count;
        if (encoding->zero) bytes += encoding->q.scale_count;
        add_to(&nodes[edge->node].parameter_bytes, bytes);
    }
}

itg_node_cost itg_cost_of_node(const itg_hardware *hw, const itg_annotated *a, itg_id node)
{
    const itg_graph *g = a->graph;
    itg_node_cost cost = work_of(hw, a, node);
    for (int32_t e = a->edge_of_node[node]; e < a->edge_of_node[node + 1]; e++) {
        const itg_edge *edge = &a->edges[e];
        const itg_encoding *encoding = encoding_of(a, edge);
        if (encoding == NULL || g->values[edge->value].dtype != ITG_F32 ||
            !itg_graph_is_constant(g, edge->value) ||
            itg_hardware_slot_role(g, node, edge->slot) == ITG_SLOT_BIAS || is_noted(a, edge))
            continue;
        cost.weight_bytes = itg_add_saturated(
            cost.weight_bytes, itg_packed_bytes(elements_of(g, edge->value),
                                                encoding->is_float ? 32 : encoding->q.bits));
    }
    return cost;
}

/* ---- all ---- */

/* Numbers the encodings of all values: value v has first[v]..first[v+1]-1. NULL: no memory. */
static size_t *number_encodings(const itg_annotated *a, itg_arena *scratch)
{
    size_t values = (size_t)a->graph->value_count;
    size_t *first = itg_arena_array(scratch, values + 1, sizeof *first);
    for (size_t v = 0; first && v < values; v++)
        first[v + 1] = first[v] + (size_t)a->values[v].encoding_count;
    return first;
}

itg_status itg_cost_of_nodes(const itg_hardware *hw, const itg_annotated *a, itg_cost *out)
{
    const itg_id node_count = a->graph->node_count;
    itg_arena *scratch = itg_arena_create(0);
    size_t *first = scratch ? number_encodings(a, scratch) : NULL;
    bool *counted =
        first ? itg_arena_array(scratch, first[a->graph->value_count] + 1, sizeof *counted) : NULL;
    itg_id *last =
        scratch ? itg_arena_array(scratch, (size_t)a->graph->repeat_count + 1, sizeof *last) : NULL;
    bool *repeated =
        scratch ? itg_arena_array(scratch, (size_t)node_count + 1, sizeof *repeated) : NULL;
    const bool ready = counted && last && repeated;
    for (itg_id n = 0; ready && n < node_count; n++) {
        const itg_node_cost work = work_of(hw, a, n);
        out[n] = (itg_cost){.bops = work.bops, .cycles = work.cycles};
        repeated[n] = repeats(a->graph, n, last);
    }
    if (ready) {
        out[node_count] = (itg_cost){0};
        add_weights(a, first, counted, out);
        add_constants(a, repeated, out);
    }
    const itg_status status = ready ? ITG_OK : ITG_NO_MEMORY;
    itg_arena_destroy(scratch);
    return status;
}

itg_status itg_cost_of(const itg_hardware *hw, const itg_annotated *a, itg_cost *out)
{
    const itg_id node_count = a->graph->node_count;
    itg_cost sum = {0}, *nodes = malloc(((size_t)node_count + 1) * sizeof *nodes);
    itg_status status = nodes ? itg_cost_of_nodes(hw, a, nodes) : ITG_NO_MEMORY;
    for (itg_id n = 0; status == ITG_OK && n <= node_count; n++) {
        add_to(&sum.weight_bytes, nodes[n].weight_bytes);
        add_to(&sum.parameter_bytes, nodes[n].parameter_bytes);
        add_to(&sum.bops, nodes[n].bops);
        sum.cycles += nodes[n].cycles;
    }
    free(nodes);
    if (status == ITG_OK) *out = sum;
    return status;
}
