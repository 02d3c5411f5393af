/* The choice space: edges, their groups, and the widths of each group.
 *
 * Invariant: a group's dtype mask holds the dtypes that both ends of all its edges support, limited
 * to those with a width in the group's range. Groups are numbered by their first edge. */
#include "keys.h"

typedef struct builder {
    const itg_hardware *hw;
    const itg_graph *g;
    itg_space_options options;
    itg_choice_space *space;
    itg_arena *scratch;
    bool *topology;
    itg_id *fused;
    int32_t *first;      /* [node_count + 1]: first edge of each node; last: first output edge */
    int32_t *parent;     /* [edge_count]: union-find; the smallest edge of a set is its root */
    uint32_t *edge_mask; /* [edge_count] */
    bool *has_choice;    /* [edge_count] */
    bool *is_stated;     /* [group_count]: an option or override states its range of widths */
} builder;

#define ARRAY(arena, pointer, count)                                                               \
    ((pointer) = itg_arena_array((arena), (size_t)(count) + 1, sizeof *(pointer)))

/* ---- edges ---- */

static itg_status list_edges(builder *b, itg_error *err)
{
    const itg_graph *g = b->g;
    int64_t most = g->output_count;
    for (itg_id n = 0; n < g->node_count; n++)
        most += g->nodes[n].input_count;
    if (most > INT32_MAX / 2) return itg_fail(err, ITG_LIMIT, "%s: too many edges", g->name);
    itg_choice_space *space = b->space;
    if (!ARRAY(space->arena, space->edges, most) || !ARRAY(space->arena, space->edge_group, most) ||
        !ARRAY(b->scratch, b->first, g->node_count + 1))
        return itg_no_memory(err);
    int32_t count = 0;
    for (itg_id n = 0; n < g->node_count; n++) {
        b->first[n] = count;
        for (int32_t slot = 0; slot < g->nodes[n].input_count; slot++)
            if (g->nodes[n].inputs[slot] != ITG_NONE)
                space->edges[count++] = (itg_edge_ref){g->nodes[n].inputs[slot], n, slot};
    }
    b->first[g->node_count] = count;
    for (int32_t i = 0; i < g->output_count; i++)
        space->edges[count++] = (itg_edge_ref){g->outputs[i], ITG_NONE, i};
    space->edge_count = count;
    return ITG_OK;
}

/* ---- groups ---- */

static bool any_form(const builder *b, itg_id node, itg_form form)
{
    const itg_hw_op *op = &b->hw->ops[b->g->nodes[node].op];
    for (int32_t i = 0; i < op->spec_count; i++)
        if (op->specs[i].form == form) return true;
    return false;
}

static itg_status tie_edges(builder *b, itg_error *err)
{
    itg_tie *of;
    int32_t *repeats;
    if (!ARRAY(b->scratch, of, b->g->node_count) || !ARRAY(b->scratch, repeats, b->g->repeat_count))
        return itg_no_memory(err);
    for (itg_id n = 0; n < b->g->node_count; n++)
        if (b->topology[n] && itg_hw_host_of(b->g, b->fused, n) == n)
            of[n] = any_form(b, n, ITG_FORM_KEEP)    ? ITG_TIE_ALL
                    : any_form(b, n, ITG_FORM_EQUAL) ? ITG_TIE_OPERANDS
                                                     : ITG_TIE_NONE;
    itg_tie_edges(&(itg_ties){b->g, of, b->first, b->has_choice, repeats}, b->parent);
    return ITG_OK;
}

static bool reads_weight(const builder *b, int32_t e)
{
    const itg_edge_ref *edge = &b->space->edges[e];
    return edge->node != ITG_NONE &&
           itg_hardware_slot_role(b->g, edge->node, edge->slot) == ITG_SLOT_WEIGHT;
}

/* Adds the edge's constant to its group, once. counted[value]: 1 + the last group that counted
 * it. */
static void count_constant(const builder *b, itg_choice_group *group, int32_t group_index,
                           itg_id value, int32_t *counted)
{
    int64_t elements;
    if (!itg_graph_is_constant(b->g, value) || counted[value] == group_index + 1) return;
    counted[value] = group_index + 1;
    if (itg_shape_elements(&b->g->values[value].shape, &elements) &&
        elements <= INT64_MAX - group->weight_elements)
        group->weight_elements += elements;
}

static itg_status form_groups(builder *b, itg_error *err)
{
    itg_choice_space *space = b->space;
    int32_t *counted, *lists, groups = 0, used = 0;
    for (int32_t e = 0; e < space->edge_count; e++) {
        bool leads = b->has_choice[e] && itg_tie_root(b->parent, e) == e;
        space->edge_group[e] = leads ? groups++ : -1;
    }
    if (!ARRAY(space->arena, space->groups, groups) ||
        !ARRAY(space->arena, lists, space->edge_count) ||
        !ARRAY(b->scratch, counted, b->g->value_count) || !ARRAY(b->scratch, b->is_stated, groups))
        return itg_no_memory(err);
    space->group_count = groups;
    for (int32_t e = 0; e < space->edge_count; e++) {
        if (!b->has_choice[e]) continue;
        space->edge_group[e] = space->edge_group[itg_tie_root(b->parent, e)];
        space->groups[space->edge_group[e]].edge_count++;
    }
    for (int32_t i = 0; i < groups; i++) {
        space->groups[i].edges = lists + used;
        space->groups[i].dtype_mask = UINT32_MAX;
        used += space->groups[i].edge_count;
        space->groups[i].edge_count = 0;
    }
    for (int32_t e = 0; e < space->edge_count; e++) {
        if (!b->has_choice[e]) continue;
        const itg_edge_ref *edge = &space->edges[e];
        itg_choice_group *group = &space->groups[space->edge_group[e]];
        lists[(group->edges - lists) + group->edge_count++] = e;
        group->dtype_mask &= b->edge_mask[e];
        group->is_weight = group->is_weight || reads_weight(b, e);
        group->is_graph_input = group->is_graph_input || b->g->values[edge->value].is_input;
        group->is_graph_output = group->is_graph_output || edge->node == ITG_NONE;
        count_constant(b, group, space->edge_group[e], edge->value, counted);
    }
    return ITG_OK;
}

/* ---- ranges of widths ---- */

static void narrow(itg_bits_range *range, int32_t min, int32_t max)
{
    if (min > range->min) range->min = min;
    if (max < range->max) range->max = max;
}

/* Narrows by an option if it is stated; false: it is not. */
static bool apply_option(itg_bits_range *range, itg_bits_range option)
{
    if (option.min == 0 && option.max == 0) return false;
    narrow(range, option.min, option.max);
    return true;
}

/* Narrows by the overrides of the nodes that read the group's edges; false: none states widths. */
static bool apply_overrides(const builder *b, const itg_choice_group *group, itg_bits_range *range)
{
    bool any = false;
    for (int32_t i = 0; b->hw->override_count > 0 && i < group->edge_count; i++) {
        itg_id node = b->space->edges[group->edges[i]].node;
        if (node == ITG_NONE) continue;
        itg_hw_override o = itg_hw_override_of(b->hw, b->g->nodes[node].name);
        itg_bits_range stated =
            group->is_weight ? (itg_bits_range){o.weight_bits_min, o.weight_bits_max}
                             : (itg_bits_range){o.activation_bits_min, o.activation_bits_max};
        any = apply_option(range, stated) || any;
    }
    return any;
}

/* Precedence: overrides; then weight, input and output; then activation. The hardware's output_bits
 * always apply. */
static itg_bits_range range_of(const builder *b, const itg_choice_group *group, bool *stated)
{
    const itg_space_options *o = &b->options;
    itg_bits_range range = {1, 32};
    *stated = apply_overrides(b, group, &range);
    if (!*stated && group->is_weight) *stated = apply_option(&range, o->weight);
    if (!*stated && !group->is_weight) {
        if (group->is_graph_input) *stated = apply_option(&range, o->input);
        if (group->is_graph_output) *stated = apply_option(&range, o->output) || *stated;
        if (!*stated) *stated = apply_option(&range, o->activation);
    }
    if (group->is_graph_output && b->hw->output_bits_max != 0)
        narrow(&range, b->hw->output_bits_min, b->hw->output_bits_max);
    return range;
}

static itg_status fail_group(const builder *b, const itg_choice_group *group, itg_bits_range range,
                             itg_error *err)
{
    const itg_graph *g = b->g;
    const itg_edge_ref *edge = &b->space->edges[group->edges[0]];
    bool is_output = edge->node == ITG_NONE;
    const char *tied = group->edge_count > 1 ? ", or the edges that must agree with it" : "";
    if (range.min > range.max || group->dtype_mask != 0)
        return itg_fail(err, ITG_INFEASIBLE,
                        "%s: value '%s' at %s '%s'%s: %s has no width within %d..%d bits there",
                        g->name, g->values[edge->value].name, is_output ? "output" : "node",
                        is_output ? g->values[edge->value].name : g->nodes[edge->node].name, tied,
                        b->hw->name, (int)range.min, (int)range.max);
    return itg_fail(
        err, ITG_INFEASIBLE, "%s: value '%s' at %s '%s'%s: %s has no dtype that both ends accept",
        g->name, g->values[edge->value].name, is_output ? "output" : "node",
        is_output ? g->values[edge->value].name : g->nodes[edge->node].name, tied, b->hw->name);
}

/* Limits the mask to dtypes that have a width in the range. */
static uint32_t dtypes_within(const itg_hardware *hw, uint32_t mask, itg_bits_range range)
{
    for (int32_t i = 0; i < hw->dtype_count; i++)
        if (hw->dtypes[i].bits_max < range.min || hw->dtypes[i].bits_min > range.max)
            mask &= ~(1u << i);
    return mask;
}

static itg_status narrow_groups(builder *b, itg_error *err)
{
    for (int32_t i = 0; i < b->space->group_count; i++) {
        itg_choice_group *group = &b->space->groups[i];
        itg_bits_range range = range_of(b, group, &b->is_stated[i]);
        uint32_t mask = dtypes_within(b->hw, group->dtype_mask, range);
        if (mask == 0 || range.min > range.max) return fail_group(b, group, range, err);
        group->dtype_mask = mask;
    }
    return ITG_OK;
}

static itg_status list_widths(builder *b, itg_error *err)
{
    for (int32_t i = 0; i < b->space->group_count; i++) {
        itg_choice_group *group = &b->space->groups[i];
        bool stated;
        itg_bits_range range = range_of(b, group, &stated);
        for (int32_t bits = range.min; bits <= range.max; bits++)
            if (itg_hardware_dtype_for(b->hw, group->dtype_mask, bits, false) >= 0)
                group->bits[group->bits_count++] = bits;
        if (group->bits_count == 0) return fail_group(b, group, range, err);
    }
    return ITG_OK;
}

/* ---- classes of dtypes for which operators have separate specs ---- */

/* The dtypes of the edge at a slot; 0: its bits cannot be chosen. */
static uint32_t mask_at(const builder *b, itg_id node, int32_t slot)
{
    for (int32_t e = b->first[node]; e < b->first[node + 1]; e++)
        if (b->space->edges[e].slot == slot && b->space->edge_group[e] >= 0)
            return b->space->groups[b->space->edge_group[e]].dtype_mask;
    return 0;
}

static bool reads(const itg_hw_spec *spec, uint32_t left, uint32_t right, bool right_is_weight)
{
    uint32_t second = right_is_weight ? spec->weight_mask : spec->input_mask;
    return (spec->input_mask & left) && (right == 0 || (second & right));
}

/* Whether, for every choice of operand dtypes, the first spec that reads them writes all dtypes
 * that readers of the output may have. */
static bool takes_every_choice(const builder *b, itg_id node, const uint32_t *read)
{
    const itg_node *n = &b->g->nodes[node];
    const itg_hw_op *op = &b->hw->ops[n->op];
    bool binary = n->input_count > 1 && n->op != ITG_OP_CONCAT;
    bool weight = binary && itg_hardware_slot_role(b->g, node, 1) == ITG_SLOT_WEIGHT;
    uint32_t left = mask_at(b, node, 0), right = binary ? mask_at(b, node, 1) : 0;
    itg_id last = b->fused[node] != ITG_NONE ? b->fused[node] : node;
    uint32_t outputs = read[b->g->nodes[last].outputs[0]];
    for (int32_t i = 0; i < b->hw->dtype_count; i++) {
        if (!((left >> i) & 1u)) continue;
        for (int32_t j = 0; j < b->hw->dtype_count; j++) {
            if (right != 0 && !((right >> j) & 1u)) continue;
            int32_t s = 0;
            while (s < op->spec_count &&
                   !(itg_hw_spec_fits(&op->specs[s], b->g, node) &&
                     reads(&op->specs[s], 1u << i, right ? 1u << j : 0, weight)))
                s++;
            if (s == op->spec_count || (outputs & ~itg_hw_spec_outputs(&op->specs[s])))
                return false;
            if (right == 0) break;
        }
    }
    return true;
}

/* For each node where this fails, restricts activations whose range nobody stated, and the node's
 * weights, to the dtypes of the node's first spec. */
static itg_status separate_classes(builder *b, itg_error *err)
{
    const itg_graph *g = b->g;
    uint32_t *read, kept = 0;
    if (!ARRAY(b->scratch, read, g->value_count)) return itg_no_memory(err);
    for (int32_t e = 0; e < b->space->edge_count; e++)
        if (b->space->edge_group[e] >= 0)
            read[b->space->edges[e].value] |= b->space->groups[b->space->edge_group[e]].dtype_mask;
    for (itg_id n = 0; n < g->node_count; n++) {
        /* Tied forms have one group for inputs and outputs. */
        if (!b->topology[n] || itg_hw_host_of(g, b->fused, n) != n ||
            any_form(b, n, ITG_FORM_KEEP) || takes_every_choice(b, n, read))
            continue;
        const itg_hw_spec *spec = b->hw->ops[g->nodes[n].op].specs;
        while (!itg_hw_spec_fits(spec, g, n))
            spec++; /* the node is quantized, so one fits */
        kept |= spec->input_mask | itg_hw_spec_outputs(spec);
        for (int32_t e = b->first[n]; e < b->first[n + 1]; e++) {
            int32_t group = b->space->edge_group[e];
            if (group < 0 || !b->space->groups[group].is_weight || b->is_stated[group]) continue;
            if (b->space->groups[group].dtype_mask & spec->weight_mask)
                b->space->groups[group].dtype_mask &= spec->weight_mask;
        }
    }
    for (int32_t i = 0; kept != 0 && i < b->space->group_count; i++) {
        itg_choice_group *group = &b->space->groups[i];
        if (!group->is_weight && !b->is_stated[i] && (group->dtype_mask & kept))
            group->dtype_mask &= kept;
    }
    return ITG_OK;
}

/* ---- choices between dtypes and between specs ---- */

/* How many dtypes of the group have a width, if zero points are a choice there; else 1. Without
 * such a choice the first one is as good as any. */
static int32_t count_dtypes(const builder *b, const itg_choice_group *group, int32_t bits)
{
    int32_t count = 0, with_zero_point = 0;
    for (int32_t i = 0; i < b->hw->dtype_count; i++) {
        const itg_hw_dtype *dtype = &b->hw->dtypes[i];
        if (!((group->dtype_mask >> i) & 1u) || bits < dtype->bits_min || bits > dtype->bits_max)
            continue;
        count++;
        with_zero_point += dtype->zero_point;
    }
    return with_zero_point > 0 && with_zero_point < count ? count : 1;
}

/* How many specs a node of weights has for one pair of widths, at most. */
static int32_t count_specs(const builder *b, itg_id node, const itg_choice_group *inputs,
                           const itg_choice_group *weights)
{
    const itg_op op = b->g->nodes[node].op;
    int32_t most = 1;
    for (int32_t i = 0; i < inputs->bits_count; i++)
        for (int32_t w = 0; w < weights->bits_count; w++)
            while (itg_hardware_match(b->hw, op, &inputs->bits[i], 1, weights->bits[w], most) !=
                   itg_hardware_match(b->hw, op, &inputs->bits[i], 1, weights->bits[w], most - 1))
                most++;
    return most;
}

static int32_t alternatives_of(const builder *b, const itg_choice_group *group)
{
    int32_t most = 1;
    for (int32_t i = 0; !group->is_weight && i < group->bits_count; i++) {
        int32_t count = count_dtypes(b, group, group->bits[i]);
        if (count > most) most = count;
    }
    for (int32_t i = 0; group->is_weight && i < group->edge_count; i++) {
        const itg_id node = b->space->edges[group->edges[i]].node;
        int32_t inputs = b->space->edge_group[b->first[node]]; /* slot 0 */
        int32_t count = inputs < 0 || !b->topology[node]
                            ? 1
                            : count_specs(b, node, &b->space->groups[inputs], group);
        if (count > most) most = count;
    }
    return most;
}

static void count_alternatives(builder *b)
{
    for (int32_t i = 0; i < b->space->group_count; i++)
        b->space->groups[i].alternatives = alternatives_of(b, &b->space->groups[i]);
}

/* ---- float ---- */

static bool forbids_float(const builder *b, itg_id node)
{
    return node != ITG_NONE && itg_hw_override_of(b->hw, b->g->nodes[node].name).has_float;
}

/* Nodes that an override keeps out of float, and Relus that are fused into them, are not float; nor
 * are weights for which 32 bits are an integer width. */
static bool may_be_float(const builder *b, const itg_choice_group *group)
{
    bool may = b->hw->float_allowed && group->is_weight;
    for (int32_t i = 0; i < b->hw->dtype_count; i++)
        if ((group->dtype_mask >> i) & 1u) may = may && b->hw->dtypes[i].bits_max < ITG_FLOAT_BITS;
    for (int32_t i = 0; may && i < group->edge_count; i++) {
        const itg_id node = b->space->edges[group->edges[i]].node;
        may = b->topology[node] && !forbids_float(b, node) && !forbids_float(b, b->fused[node]);
    }
    return may;
}

static void mark_float(builder *b)
{
    for (int32_t i = 0; i < b->space->group_count; i++)
        b->space->groups[i].may_be_float = may_be_float(b, &b->space->groups[i]);
}

/* ---- assembly ---- */

static itg_status build(builder *b, itg_error *err)
{
    const itg_graph *g = b->g;
    itg_status status = list_edges(b, err);
    if (status != ITG_OK) return status;
    int32_t count = b->space->edge_count;
    if (!ARRAY(b->scratch, b->topology, g->node_count) ||
        !ARRAY(b->scratch, b->fused, g->node_count) || !ARRAY(b->scratch, b->parent, count) ||
        !ARRAY(b->scratch, b->edge_mask, count) || !ARRAY(b->scratch, b->has_choice, count))
        return itg_no_memory(err);
    status = itg_hardware_topology(b->hw, g, b->scratch, b->topology, NULL, err);
    if (status != ITG_OK) return status;
    itg_hardware_fusion(b->hw, g, b->topology, b->fused);
    for (int32_t e = 0; e < count; e++) {
        b->has_choice[e] = itg_hardware_edge_dtypes(b->hw, g, b->topology, b->fused,
                                                    &b->space->edges[e], &b->edge_mask[e]);
    }
    status = tie_edges(b, err);
    if (status == ITG_OK) status = form_groups(b, err);
    if (status == ITG_OK) status = narrow_groups(b, err);
    if (status == ITG_OK) status = separate_classes(b, err);
    if (status == ITG_OK) status = list_widths(b, err);
    if (status == ITG_OK) count_alternatives(b);
    if (status == ITG_OK) mark_float(b);
    return status;
}

static itg_status check_option(const char *name, int32_t least, itg_bits_range range,
                               itg_error *err)
{
    if (range.min == 0 && range.max == 0) return ITG_OK;
    if (range.min >= least && range.min <= range.max && range.max <= 32) return ITG_OK;
    return itg_fail(err, ITG_BAD_ARGUMENT, "%s bits: expected %d <= low <= high <= 32, got %d..%d",
                    name, (int)least, (int)range.min, (int)range.max);
}

itg_status itg_choice_space_create(const itg_hardware *hw, const itg_graph *g,
                                   const itg_space_options *options, itg_choice_space **out,
                                   itg_error *err)
{
    builder b = {.hw = hw, .g = g};
    if (options) b.options = *options;
    itg_status status = check_option("weight", 1, b.options.weight, err);
    if (status == ITG_OK) status = check_option("activation", 2, b.options.activation, err);
    if (status == ITG_OK) status = check_option("input", 2, b.options.input, err);
    if (status == ITG_OK) status = check_option("output", 2, b.options.output, err);
    if (status != ITG_OK) return status;
    itg_arena *arena = itg_arena_create(0);
    b.scratch = itg_arena_create(0);
    if (arena) b.space = itg_arena_alloc(arena, sizeof *b.space);
    if (b.space && b.scratch) {
        b.space->arena = arena;
        status = build(&b, err);
    } else {
        status = itg_no_memory(err);
    }
    itg_arena_destroy(b.scratch);
    if (status == ITG_OK)
        *out = b.space;
    else
        itg_arena_destroy(arena);
    return status;
}

void itg_choice_space_destroy(itg_choice_space *space)
{
    if (space) itg_arena_destroy(space->arena);
}
