/* Builds the annotated graph from a strategy and a hardware description, in the order of
 * docs/arithmetic.md 2: nodes take specs, edges take roles, ties make groups, groups take
 * quantizers, values collect encodings, and each node's constants follow from them. */
#include "sim/annotate.h"
#include <string.h>

itg_status annotate_fail(annotate *x, itg_id node, itg_status code, const char *text)
{
    const itg_node *n = &x->g->nodes[node];
    return itg_fail(x->err, code, "%s: node '%s' (%s): %s", x->g->name, n->name, itg_op_name(n->op),
                    text);
}

/* ---- edges ---- */

static itg_status build_edges(annotate *x)
{
    const itg_graph *g = x->g;
    itg_annotated *a = x->a;
    int32_t count = g->output_count;
    for (itg_id n = 0; n < g->node_count; n++)
        for (int32_t i = 0; i < g->nodes[n].input_count; i++)
            count += g->nodes[n].inputs[i] != ITG_NONE;
    if (count != x->s->edge_count || g->node_count != x->s->node_count)
        return itg_fail(x->err, ITG_MISMATCH,
                        "%s: the strategy has %d nodes and %d edges, the graph %d and %d", g->name,
                        x->s->node_count, x->s->edge_count, g->node_count, count);
    a->edges = itg_arena_array(a->arena, (size_t)count, sizeof *a->edges);
    a->edge_of_node = itg_arena_array(a->arena, (size_t)g->node_count + 1, sizeof *a->edge_of_node);
    x->role = itg_arena_array(a->arena, (size_t)count, sizeof *x->role);
    x->tie = itg_arena_array(a->arena, (size_t)count, sizeof *x->tie);
    if (!a->edges || !a->edge_of_node || !x->role || !x->tie)
        return itg_fail(x->err, ITG_NO_MEMORY, "no memory for %d edges", count);
    int32_t e = 0;
    for (itg_id n = 0; n < g->node_count; n++) {
        a->edge_of_node[n] = e;
        for (int32_t i = 0; i < g->nodes[n].input_count; i++)
            if (g->nodes[n].inputs[i] != ITG_NONE)
                a->edges[e++] = (itg_edge){g->nodes[n].inputs[i], n, i, ITG_EDGE_FLOAT, -1};
    }
    a->edge_of_node[g->node_count] = e;
    for (int32_t i = 0; i < g->output_count; i++)
        a->edges[e++] = (itg_edge){g->outputs[i], ITG_NONE, i, ITG_EDGE_FLOAT, -1};
    a->edge_count = e;
    return ITG_OK;
}

/* Returns the node that computes a value's native result: the producer, or the node into which it
 * is fused. ITG_NONE: none. */
static itg_id native_node(const annotate *x, itg_id value)
{
    itg_id n = x->g->values[value].producer;
    return n != ITG_NONE && x->fused_into[n] != ITG_NONE ? x->fused_into[n] : n;
}

static void set_role(annotate *x, int32_t e)
{
    itg_edge *edge = &x->a->edges[e];
    const itg_value *value = &x->g->values[edge->value];
    edge->kind = ITG_EDGE_FLOAT;
    x->role[e] = ROLE_PLAIN;
    if (value->dtype != ITG_F32) return;
    if (edge->node == ITG_NONE) {
        if (x->s->edges[e].bits > 0) x->role[e] = ROLE_ACTIVATION;
    } else if (x->fused_into[edge->node] != ITG_NONE) {
        edge->kind = ITG_EDGE_FUSED;
        return;
    } else if (x->s->node_conds[edge->node]) {
        itg_slot_role role = itg_hardware_slot_role(x->g, edge->node, edge->slot);
        if (role == ITG_SLOT_WEIGHT)
            x->role[e] = ROLE_WEIGHT;
        else if (role == ITG_SLOT_ACTIVATION)
            x->role[e] = ROLE_ACTIVATION;
    } else if (x->s->edges[e].bits > 0 &&
               itg_hardware_float_weight(x->hw, x->g, edge->node, edge->slot)) {
        x->role[e] = ROLE_WEIGHT;
    }
    if (x->role[e] != ROLE_PLAIN) edge->kind = ITG_EDGE_QUANT;
}

static itg_status check_bits(annotate *x, int32_t e)
{
    const itg_edge *edge = &x->a->edges[e];
    int32_t bits = x->s->edges[e].bits;
    const char *value = x->g->values[edge->value].name,
               *reader = edge->node == ITG_NONE ? "graph output" : x->g->nodes[edge->node].name;
    const int32_t least = x->role[e] == ROLE_WEIGHT ? 1 : 2;
    if (!(x->role[e] == ROLE_PLAIN ? bits == 0 : bits >= least && bits <= 32))
        return itg_fail(x->err, ITG_MISMATCH,
                        "%s: strategy: edge %d ('%s' into '%s') has %d bits, expected %s",
                        x->g->name, e, value, reader, bits,
                        x->role[e] == ROLE_PLAIN    ? "0 (nothing to quantize there)"
                        : x->role[e] == ROLE_WEIGHT ? "1 to 32"
                                                    : "2 to 32");
    if (x->role[e] != ROLE_WEIGHT && x->s->edges[e].codes)
        return itg_fail(x->err, ITG_MISMATCH,
                        "%s: strategy: edge %d ('%s' into '%s') has codes, expected none: it is no "
                        "weight",
                        x->g->name, e, value, reader);
    if (x->role[e] == ROLE_ACTIVATION && x->s->edges[e].channel_count != 0)
        return itg_fail(x->err, ITG_MISMATCH,
                        "%s: strategy: edge %d ('%s' into '%s') has thresholds of channels, "
                        "expected a range: it is no weight",
                        x->g->name, e, value, reader);
    return ITG_OK;
}

/* ---- specs ---- */

/* Finds the spec that runs a node at the strategy's bits. bits0: those of its first activation. */
static itg_status match_spec(annotate *x, itg_id n, const itg_hw_spec **out, int32_t *bits0)
{
    const itg_node *node = &x->g->nodes[n];
    int32_t *bits = itg_arena_array(x->a->arena, (size_t)node->input_count + 1, sizeof *bits);
    int32_t count = 0, weight_bits = 0, passed_over = 0;
    if (!bits) return itg_no_memory(x->err);
    for (int32_t e = x->a->edge_of_node[n]; e < x->a->edge_of_node[n + 1]; e++) {
        if (x->role[e] == ROLE_WEIGHT) {
            weight_bits = x->s->edges[e].bits;
            passed_over = x->s->edges[e].passed_over;
        } else if (x->role[e] == ROLE_ACTIVATION) {
            bits[count++] = x->s->edges[e].bits;
        }
    }
    const itg_hw_spec *spec =
        itg_hardware_match(x->hw, node->op, bits, count, weight_bits, passed_over);
    if (!spec) {
        char *text = itg_arena_format(
            x->a->arena,
            "%s has no way to run it with inputs of %d bits and weights of %d (0: none)",
            x->hw->name, count ? bits[0] : 0, weight_bits);
        return annotate_fail(x, n, ITG_INFEASIBLE,
                             text ? text : "no way to run it with these bits");
    }
    *out = spec;
    *bits0 = count ? bits[0] : 0;
    return ITG_OK;
}

static itg_status choose_spec(annotate *x, itg_id n)
{
    const itg_node *node = &x->g->nodes[n];
    const itg_hw_spec *spec;
    int32_t bits;
    itg_status status = match_spec(x, n, &spec, &bits);
    if (status != ITG_OK) return status;
    x->spec[n] = spec;
    itg_node_note *note = &x->a->nodes[n];
    note->form = spec->form;
    note->spec = (int32_t)(spec - x->hw->ops[node->op].specs);
    /* These means are exact sums, and differ from RESCALE only in their constants. */
    if (spec->form == ITG_FORM_F32 &&
        (node->op == ITG_OP_GLOBAL_AVERAGE_POOL || node->op == ITG_OP_REDUCE_MEAN))
        note->form = ITG_FORM_RESCALE;
    note->acc = spec->acc;
    note->left_shift = spec->left_shift;
    if (spec->form == ITG_FORM_LUT && bits > spec->table_bits)
        note->table_shift = bits - spec->table_bits;
    note->rounding = spec->rounding;
    return ITG_OK;
}

static itg_status choose_specs(annotate *x)
{
    for (itg_id n = 0; n < x->g->node_count; n++) {
        itg_node_note *note = &x->a->nodes[n];
        note->activation = x->fused[n];
        note->out_value = x->g->nodes[x->fused[n] != ITG_NONE ? x->fused[n] : n].outputs[0];
        note->form = ITG_FORM_FLOAT;
        if (x->fused_into[n] != ITG_NONE) {
            note->form = ITG_FORM_FUSED;
        } else if (x->s->node_conds[n]) {
            itg_status status = choose_spec(x, n);
            if (status != ITG_OK) return status;
        }
    }
    return ITG_OK;
}

/* ---- ties and quantizers ---- */

static itg_status tie_edges(annotate *x)
{
    itg_arena *arena = x->a->arena;
    itg_tie *of = itg_arena_array(arena, (size_t)x->g->node_count + 1, sizeof *of);
    bool *part = itg_arena_array(arena, (size_t)x->a->edge_count + 1, sizeof *part);
    int32_t *repeats = itg_arena_array(arena, (size_t)x->g->repeat_count + 1, sizeof *repeats);
    if (!of || !part || !repeats) return itg_no_memory(x->err);
    for (itg_id n = 0; n < x->g->node_count; n++)
        if (x->spec[n])
            of[n] = x->spec[n]->form == ITG_FORM_KEEP    ? ITG_TIE_ALL
                    : x->spec[n]->form == ITG_FORM_EQUAL ? ITG_TIE_OPERANDS
                                                         : ITG_TIE_NONE;
    for (int32_t e = 0; e < x->a->edge_count; e++)
        part[e] = x->role[e] == ROLE_ACTIVATION;
    itg_tie_edges(&(itg_ties){x->g, of, x->a->edge_of_node, part, repeats}, x->tie);
    return ITG_OK;
}

/* Returns the dtypes that all readers and writers of the edge allow. */
static uint32_t edge_mask(const annotate *x, int32_t e)
{
    const itg_edge *edge = &x->a->edges[e];
    uint32_t mask = UINT32_MAX;
    if (edge->node != ITG_NONE)
        mask &= x->spec[edge->node]->input_mask;
    else if (x->hw->graph_output_mask)
        mask &= x->hw->graph_output_mask;
    if (x->g->values[edge->value].is_input && x->hw->graph_input_mask)
        mask &= x->hw->graph_input_mask;
    itg_id producer = native_node(x, edge->value);
    if (producer != ITG_NONE && x->spec[producer] && x->spec[producer]->form != ITG_FORM_KEEP &&
        x->spec[producer]->output_mask)
        mask &= x->spec[producer]->output_mask;
    return mask;
}

typedef struct group_info {
    uint32_t mask;
    int32_t bits, passed_over;
    double lo, hi;
    bool seen;
    itg_quantizer q;
} group_info;

/* Whether differences of such numbers are finite. False for NaN. */
static bool is_finite_range(double x)
{
    return x >= -1e300 && x <= 1e300;
}

static itg_status join_group(annotate *x, group_info *group, int32_t root, int32_t e)
{
    const itg_edge_choice *choice = &x->s->edges[e];
    if (!is_finite_range(choice->lo) || !is_finite_range(choice->hi))
        return itg_fail(x->err, ITG_MISMATCH, "%s: strategy: edge %d has no finite threshold",
                        x->g->name, e);
    if (!group->seen) {
        *group = (group_info){.mask = UINT32_MAX,
                              .bits = choice->bits,
                              .passed_over = choice->passed_over,
                              .lo = choice->lo,
                              .hi = choice->hi,
                              .seen = true};
    } else if (group->bits != choice->bits) {
        return itg_fail(x->err, ITG_INFEASIBLE,
                        "%s: strategy: edges %d and %d ('%s') must have equal bits, not %d and %d",
                        x->g->name, root, e, x->g->values[x->a->edges[e].value].name, group->bits,
                        choice->bits);
    } else if (group->passed_over != choice->passed_over) {
        return itg_fail(x->err, ITG_INFEASIBLE,
                        "%s: strategy: edges %d and %d ('%s') must pass over equally many dtypes",
                        x->g->name, root, e, x->g->values[x->a->edges[e].value].name);
    }
    group->mask &= edge_mask(x, e);
    if (choice->lo < group->lo) group->lo = choice->lo;
    if (choice->hi > group->hi) group->hi = choice->hi;
    return ITG_OK;
}

static itg_status group_quantizer(annotate *x, group_info *group, int32_t root)
{
    int32_t dtype = itg_hardware_dtype_after(x->hw, group->mask, group->bits, group->lo < 0,
                                             group->passed_over);
    float *scale = itg_arena_alloc(x->a->arena, sizeof *scale);
    if (!scale) return itg_no_memory(x->err);
    if (dtype < 0)
        return itg_fail(x->err, ITG_INFEASIBLE,
                        "%s: %s has no dtype of %d bits that all agree on for '%s' (edge %d)",
                        x->g->name, x->hw->name, group->bits,
                        x->g->values[x->a->edges[root].value].name, root);
    itg_status status =
        annotate_range_quantizer(&x->hw->dtypes[dtype], group->bits, group->lo, group->hi,
                                 x->hw->power_of_two_scales, scale, &group->q, x->err);
    return status == ITG_OK ? ITG_OK
                            : itg_prefix_error(x->err, status, "%s: value '%s'", x->g->name,
                                               x->g->values[x->a->edges[root].value].name);
}

/* Adds the integer encoding to outputs of KEEP, even if only floats read them, because their native
 * result is codes. */
static itg_status add_kept_encodings(annotate *x, itg_id n)
{
    const itg_node *node = &x->g->nodes[n];
    itg_encoding encoding = {.q = itg_annotated_encoding(x->a, n, 0)->q};
    itg_status status = ITG_OK;
    int32_t ignored = 0;
    for (int32_t i = 0; i < node->output_count && status == ITG_OK; i++)
        if (node->outputs[i] != ITG_NONE && x->g->values[node->outputs[i]].dtype == ITG_F32)
            status = annotate_add_encoding(x, node->outputs[i], &encoding, &ignored);
    return status;
}

static itg_status quantize_activations(annotate *x)
{
    group_info *groups = itg_arena_array(x->a->arena, (size_t)x->a->edge_count, sizeof *groups);
    itg_status status = ITG_OK;
    if (!groups) return itg_no_memory(x->err);
    for (int32_t e = 0; e < x->a->edge_count && status == ITG_OK; e++)
        if (x->role[e] == ROLE_ACTIVATION)
            status = join_group(x, &groups[itg_tie_root(x->tie, e)], itg_tie_root(x->tie, e), e);
    for (int32_t e = 0; e < x->a->edge_count && status == ITG_OK; e++)
        if (groups[e].seen) status = group_quantizer(x, &groups[e], e);
    for (int32_t e = 0; e < x->a->edge_count && status == ITG_OK; e++) {
        if (x->role[e] != ROLE_ACTIVATION) continue;
        itg_encoding encoding = {.q = groups[itg_tie_root(x->tie, e)].q};
        status =
            annotate_add_encoding(x, x->a->edges[e].value, &encoding, &x->a->edges[e].encoding);
    }
    for (itg_id n = 0; n < x->g->node_count && status == ITG_OK; n++)
        if (x->spec[n] && x->spec[n]->form == ITG_FORM_KEEP) status = add_kept_encodings(x, n);
    return status;
}

/* ---- encodings ---- */

static bool same_quantizer(const itg_quantizer *a, const itg_quantizer *b)
{
    return a->bits == b->bits && a->is_signed == b->is_signed && a->storage == b->storage &&
           a->qmin == b->qmin && a->qmax == b->qmax && a->zero_point == b->zero_point &&
           a->axis == b->axis && a->scale_count == b->scale_count &&
           memcmp(a->scale, b->scale, sizeof(float) * (size_t)a->scale_count) == 0;
}

static bool same_codes(const itg_constant *a, const itg_constant *b)
{
    return a == b || (a && b && itg_key_equal(&a->content, &b->content));
}

itg_status annotate_add_encoding(annotate *x, itg_id value, const itg_encoding *encoding,
                                 int32_t *out)
{
    itg_value_note *note = &x->a->values[value];
    for (int32_t i = 0; i < note->encoding_count; i++) {
        const itg_encoding *v = &note->encodings[i];
        if (v->is_float == encoding->is_float &&
            (v->is_float || (same_quantizer(&v->q, &encoding->q) &&
                             same_codes(v->constant, encoding->constant)))) {
            *out = i;
            return ITG_OK;
        }
    }
    itg_encoding *grown =
        itg_arena_array(x->a->arena, (size_t)note->encoding_count + 1, sizeof *grown);
    if (!grown) return itg_no_memory(x->err);
    if (note->encoding_count)
        memcpy(grown, note->encodings, sizeof *grown * (size_t)note->encoding_count);
    grown[note->encoding_count] = *encoding;
    if (!encoding->is_float) {
        grown[note->encoding_count].clamp_lo = encoding->q.qmin;
        grown[note->encoding_count].clamp_hi = encoding->q.qmax;
    }
    if (encoding->constant) itg_cache_hold(x->a->cache, encoding->constant);
    note->encodings = grown;
    *out = note->encoding_count++;
    return ITG_OK;
}

static itg_status add_float_encodings(annotate *x)
{
    itg_encoding encoding = {.is_float = true};
    itg_status status = ITG_OK;
    for (int32_t e = 0; e < x->a->edge_count && status == ITG_OK; e++)
        if (x->a->edges[e].kind == ITG_EDGE_FLOAT)
            status =
                annotate_add_encoding(x, x->a->edges[e].value, &encoding, &x->a->edges[e].encoding);
    return status;
}

/* ---- all nodes ---- */

static itg_status create_notes(annotate *x)
{
    itg_annotated *a = x->a;
    size_t nodes = (size_t)x->g->node_count, values = (size_t)x->g->value_count;
    a->graph = x->g;
    a->values = itg_arena_array(a->arena, values + 1, sizeof *a->values);
    a->nodes = itg_arena_array(a->arena, nodes + 1, sizeof *a->nodes);
    x->fused = itg_arena_array(a->arena, nodes + 1, sizeof *x->fused);
    x->fused_into = itg_arena_array(a->arena, nodes + 1, sizeof *x->fused_into);
    x->spec = itg_arena_array(a->arena, nodes + 1, sizeof *x->spec);
    if (!a->values || !a->nodes || !x->fused || !x->fused_into || !x->spec)
        return itg_fail(x->err, ITG_NO_MEMORY, "no memory to annotate %s", x->g->name);
    itg_hardware_fusion(x->hw, x->g, x->s->node_conds, x->fused);
    for (size_t n = 0; n < nodes; n++)
        x->fused_into[n] = ITG_NONE;
    for (size_t n = 0; n < nodes; n++)
        if (x->fused[n] != ITG_NONE) x->fused_into[x->fused[n]] = (itg_id)n;
    return ITG_OK;
}

static itg_status refuse_float(annotate *x, itg_id n)
{
    char *text = itg_arena_format(
        x->a->arena, "the strategy leaves it in float, and %s has no float", x->hw->name);
    return annotate_fail(x, n, ITG_MISMATCH,
                         text ? text
                              : "the strategy leaves it in float, and the hardware has no float");
}

static itg_status check_topology(annotate *x)
{
    const char **reasons =
        itg_arena_array(x->a->arena, (size_t)x->g->node_count + 1, sizeof *reasons);
    bool *allowed = itg_arena_array(x->a->arena, (size_t)x->g->node_count + 1, sizeof *allowed);
    if (!reasons || !allowed) return itg_no_memory(x->err);
    itg_status status = itg_hardware_topology(x->hw, x->g, x->a->arena, allowed, reasons, x->err);
    for (itg_id n = 0; n < x->g->node_count && status == ITG_OK; n++) {
        x->a->nodes[n].reason = reasons[n];
        if (x->s->node_conds[n] && !allowed[n])
            status =
                annotate_fail(x, n, ITG_MISMATCH, "the strategy quantizes it, the hardware cannot");
        else if (!x->s->node_conds[n] && allowed[n])
            x->a->nodes[n].reason = "the strategy leaves it in float";
        if (status == ITG_OK && !x->s->node_conds[n] && !x->hw->float_allowed)
            status = refuse_float(x, n);
    }
    return status;
}

static itg_status annotate_nodes(annotate *x)
{
    itg_status status = ITG_OK;
    for (itg_id n = 0; n < x->g->node_count && status == ITG_OK; n++) {
        if (!x->spec[n]) {
            status = annotate_float_weights(x, n);
            continue;
        }
        bool weights = x->spec[n]->form == ITG_FORM_MAC &&
                       itg_graph_is_constant(x->g, x->g->nodes[n].inputs[1]);
        status = weights ? annotate_mac(x, n) : annotate_epilogue(x, n);
    }
    return status;
}

static itg_status annotate_all(annotate *x)
{
    itg_status status = create_notes(x);
    if (status == ITG_OK) status = build_edges(x);
    if (status == ITG_OK) status = check_topology(x);
    if (status != ITG_OK) return status;
    for (int32_t e = 0; e < x->a->edge_count && status == ITG_OK; e++) {
        set_role(x, e);
        status = check_bits(x, e);
    }
    if (status == ITG_OK) status = choose_specs(x);
    if (status != ITG_OK) return status;
    status = tie_edges(x);
    if (status == ITG_OK) status = quantize_activations(x);
    if (status == ITG_OK) status = add_float_encodings(x);
    if (status == ITG_OK) status = annotate_constants(x);
    if (status == ITG_OK) status = annotate_nodes(x);
    return status;
}

itg_status itg_annotate(const itg_graph *g, const itg_hardware *hw, const itg_strategy *s,
                        itg_annotated **out, itg_error *err)
{
    return itg_annotate_with(g, hw, s, NULL, out, err);
}

itg_status itg_annotate_with(const itg_graph *g, const itg_hardware *hw, const itg_strategy *s,
                             const itg_constants *constants, itg_annotated **out, itg_error *err)
{
    itg_arena *arena = itg_arena_create(0);
    itg_annotated *a = arena ? itg_arena_alloc(arena, sizeof *a) : NULL;
    if (a) a->state = itg_arena_alloc(arena, sizeof *a->state);
    if (!a || !a->state) {
        itg_arena_destroy(arena);
        return itg_fail(err, ITG_NO_MEMORY, "no memory to annotate %s", g->name);
    }
    a->arena = arena;
    *a->state = (annotate){.g = g, .hw = hw, .s = s, .a = a, .err = err};
    itg_status status = ITG_OK;
    if (constants && constants->cache) {
        a->cache = itg_cache_share(constants->cache);
        a->content = constants->content;
    } else {
        status = itg_cache_create(0, &a->cache, err);
    }
    if (status == ITG_OK) status = annotate_all(a->state);
    if (status != ITG_OK) {
        itg_annotated_destroy(a);
        return status;
    }
    *out = a;
    return ITG_OK;
}

/* ---- one node again ---- */

/* Removes what annotate_mac made for the node. Weights that another node reads too stay. */
static void forget_weights(itg_annotated *a, itg_id node)
{
    itg_node_note *note = &a->nodes[node];
    itg_value_note *weights = &a->values[a->graph->nodes[node].inputs[1]];
    note->split = (itg_sum_split){0};
    note->bias = NULL;
    note->bias_count = 0;
    a->edges[a->edge_of_node[node] + 1].encoding = -1;
    if (weights->encoding_count != 1) return;
    itg_cache_release(a->cache, weights->encodings[0].constant);
    weights->encoding_count = 0;
}

itg_status itg_annotate_weights(itg_annotated *a, const itg_strategy *s, itg_id node,
                                bool *other_way, itg_error *err)
{
    annotate *x = a->state;
    const itg_hw_spec *spec = NULL;
    int32_t ignored;
    x->s = s;
    x->err = err;
    itg_status status = check_bits(x, a->edge_of_node[node] + 1);
    if (status == ITG_OK && !x->spec[node]) {
        *other_way = false;
        forget_weights(a, node);
        return annotate_float_weights(x, node);
    }
    if (status == ITG_OK) status = match_spec(x, node, &spec, &ignored);
    if (status != ITG_OK) return status;
    *other_way = spec != x->spec[node];
    if (*other_way) return ITG_OK;
    forget_weights(a, node);
    return annotate_mac(x, node);
}
