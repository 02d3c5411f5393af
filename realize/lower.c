/* Lowers an annotated graph to a program: inputs, nodes in order by their form, outputs, then
 * checks and memory plan. */
#include "realize/lower.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Lowers RESCALE and F32, whose meaning depends on the operator. */
static itg_status lower_rescale(itg_lowering *l, itg_id node)
{
    itg_op op = l->g->nodes[node].op;
    if (itg_step_kind_takes(ITG_STEP_BINARY, op)) return itg_lower_binary(l, node);
    if (itg_step_kind_takes(ITG_STEP_CLIP, op)) return itg_lower_clip(l, node);
    if (itg_step_kind_takes(ITG_STEP_MEAN, op)) return itg_lower_mean(l, node);
    return itg_lower_fail(l, node, ITG_UNSUPPORTED, "no operator of this form");
}

static itg_status lower_nothing(itg_lowering *l, itg_id node)
{
    (void)l;
    (void)node;
    return ITG_OK;
}

static const itg_lower_fn lowerings[ITG_FORM_COUNT] = {
    [ITG_FORM_FLOAT] = itg_lower_float,
    [ITG_FORM_MAC] = itg_lower_mac,
    [ITG_FORM_PRODUCT] = itg_lower_binary,
    [ITG_FORM_RESCALE] = lower_rescale,
    [ITG_FORM_F32] = lower_rescale,
    [ITG_FORM_EQUAL] = itg_lower_binary,
    [ITG_FORM_KEEP] = itg_lower_keep,
    [ITG_FORM_LUT] = itg_lower_lut,
    [ITG_FORM_SOFTMAX] = itg_lower_softmax,
    [ITG_FORM_TFLITE_SOFTMAX] = itg_lower_tflite_softmax,
    [ITG_FORM_LAYER_NORM] = itg_lower_layer_norm,
    [ITG_FORM_FUSED] = lower_nothing,
};

/* ---- setting up ---- */

itg_status itg_lower_no_memory(itg_lowering *l)
{
    return itg_fail(l->err, ITG_NO_MEMORY, "%s: no memory to lower it", l->g->name);
}

/* Returns the encoding that has the value's own name: a graph input's float tensor, or an only
 * encoding. A graph output keeps the name, too. */
static int32_t plain_encoding(const itg_annotated *a, itg_id value)
{
    const itg_value_note *note = &a->values[value];
    bool is_input = a->graph->values[value].is_input;
    for (int32_t i = 0; is_input && i < note->encoding_count; i++)
        if (note->encodings[i].is_float) return i;
    return is_input || note->encoding_count != 1 ? ITG_NONE : 0;
}

static itg_status set_up_arrays(itg_lowering *l)
{
    size_t values = (size_t)l->g->value_count + 1;
    l->names.arena = l->p->arena;
    l->made = itg_arena_array(l->p->arena, values, sizeof *l->made);
    l->packed = itg_arena_array(l->p->arena, values, sizeof *l->packed);
    l->plain = itg_arena_array(l->p->arena, values, sizeof *l->plain);
    return l->made && l->packed && l->plain ? ITG_OK : itg_lower_no_memory(l);
}

static itg_status set_up_value(itg_lowering *l, itg_id v)
{
    size_t count = (size_t)l->a->values[v].encoding_count;
    if (l->made[v] != NULL) return ITG_OK;
    l->made[v] = itg_arena_array(l->p->arena, count + 1, sizeof **l->made);
    l->packed[v] = itg_arena_array(l->p->arena, count + 1, sizeof **l->packed);
    if (l->made[v] == NULL || l->packed[v] == NULL ||
        !itg_names_put(&l->names, l->g->values[v].name, v))
        return itg_lower_no_memory(l);
    for (size_t i = 0; i < count; i++)
        l->made[v][i] = l->packed[v][i] = ITG_NONE;
    l->plain[v] = plain_encoding(l->a, v);
    return ITG_OK;
}

/* Sets up what a node reads and makes. */
static itg_status set_up_node(itg_lowering *l, itg_id node)
{
    const itg_node *n = &l->g->nodes[node];
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < n->input_count && status == ITG_OK; i++)
        if (n->inputs[i] != ITG_NONE) status = set_up_value(l, n->inputs[i]);
    for (int32_t i = 0; i < n->output_count && status == ITG_OK; i++)
        if (n->outputs[i] != ITG_NONE) status = set_up_value(l, n->outputs[i]);
    return status == ITG_OK ? set_up_value(l, l->a->nodes[node].out_value) : status;
}

static itg_status set_up(itg_lowering *l)
{
    itg_status status = ITG_OK;
    for (itg_id v = 0; v < l->g->value_count && status == ITG_OK && l->known == NULL; v++)
        status = set_up_value(l, v);
    for (int32_t i = 0; i < l->g->input_count && status == ITG_OK; i++)
        status = set_up_value(l, l->g->inputs[i]);
    for (int32_t i = 0; i < l->output_count && status == ITG_OK; i++)
        status = set_up_value(
            l, itg_annotated_edge(l->a, l->outputs[i].node, l->outputs[i].slot)->value);
    for (itg_id n = l->needed_first; n < l->needed_end && status == ITG_OK && l->known != NULL; n++)
        if (l->needed[n]) status = set_up_node(l, n);
    if (status != ITG_OK) return status;
    for (int32_t i = 0; i < l->g->output_count; i++) {
        const itg_edge *e = itg_annotated_edge(l->a, ITG_NONE, i);
        if (e != NULL && !l->g->values[e->value].is_input) l->plain[e->value] = e->encoding;
    }
    return ITG_OK;
}

/* ---- the parts ---- */

static itg_status lower_input(itg_lowering *l, int32_t index)
{
    itg_id value = l->g->inputs[index];
    const itg_value *v = &l->g->values[value];
    const itg_value_note *note = &l->a->values[value];
    int32_t source, out;
    itg_status status = itg_program_add_value(l->p, v->name, v->dtype, &v->shape, &source, l->err);
    if (l->from != NULL) l->from[l->p->input_count] = index;
    l->p->inputs[l->p->input_count++] = source;
    for (int32_t i = 0; i < note->encoding_count && status == ITG_OK; i++) {
        if (note->encodings[i].is_float) {
            l->made[value][i] = source;
            continue;
        }
        status = itg_lower_output(l, value, i, &out);
        if (status == ITG_OK) status = itg_lower_convert(l, ITG_STEP_QUANTIZE, value, source, out);
    }
    return status;
}

/* Number of the known edge that carries what this one does; ITG_NONE: there is none. */
static int32_t known_edge(const itg_lowering *l, const itg_tap *tap)
{
    const itg_edge *e = itg_annotated_edge(l->a, tap->node, tap->slot);
    const int32_t i = l->known == NULL || e == NULL ? ITG_NONE : l->known->of[e->value];
    if (i == ITG_NONE) return ITG_NONE;
    const itg_tap *known = &l->known->taps[i];
    return itg_annotated_edge(l->a, known->node, known->slot)->encoding == e->encoding ? i
                                                                                       : ITG_NONE;
}

/* Makes what a known edge carries an input, once. */
static itg_status lower_known(itg_lowering *l, const itg_tap *tap)
{
    const int32_t i = known_edge(l, tap);
    if (i == ITG_NONE) return ITG_OK;
    const itg_edge *e = itg_annotated_edge(l->a, tap->node, tap->slot);
    if (l->made[e->value][e->encoding] != ITG_NONE) return ITG_OK;
    l->from[l->p->input_count] = -1 - i;
    return itg_lower_output(l, e->value, e->encoding, &l->p->inputs[l->p->input_count++]);
}

/* Each needed node reads at most so many known edges. */
static size_t most_inputs(const itg_lowering *l)
{
    size_t n = (size_t)l->g->input_count + (size_t)l->output_count;
    for (itg_id i = l->needed_first; i < l->needed_end && l->known != NULL; i++)
        if (l->needed[i]) n += (size_t)l->g->nodes[i].input_count;
    return n;
}

static itg_status lower_graph(itg_lowering *l)
{
    itg_program *p = l->p;
    p->inputs = itg_arena_array(p->arena, most_inputs(l) + 1, sizeof *p->inputs);
    p->outputs = itg_arena_array(p->arena, (size_t)l->output_count + 1, sizeof *p->outputs);
    if (p->inputs == NULL || p->outputs == NULL) return itg_lower_no_memory(l);
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < l->g->input_count && status == ITG_OK; i++)
        if (l->known == NULL || l->read[l->g->inputs[i]]) status = lower_input(l, i);
    for (int32_t i = 0; i < l->output_count && status == ITG_OK; i++)
        status = lower_known(l, &l->outputs[i]);
    for (itg_id n = l->needed_first; n < l->needed_end && status == ITG_OK && l->known != NULL; n++)
        for (int32_t i = 0; i < l->g->nodes[n].input_count && status == ITG_OK && l->needed[n]; i++)
            status = lower_known(l, &(itg_tap){n, i});
    for (itg_id n = l->needed_first; n < l->needed_end && status == ITG_OK; n++)
        if (l->needed[n]) status = lowerings[l->a->nodes[n].form](l, n);
    for (; p->output_count < l->output_count && status == ITG_OK; p->output_count++) {
        const itg_tap *tap = &l->outputs[p->output_count];
        status = itg_lower_edge(l, tap->node, tap->slot, &p->outputs[p->output_count]);
    }
    return status;
}

/* The smallest width that holds [lo, hi]; 65: more than 64. */
static int bits_for(int64_t lo, int64_t hi)
{
    if (lo == INT64_MIN || hi == INT64_MAX) return 65;
    int bits = 1;
    while (bits < 64 && (lo < INT64_MIN >> (64 - bits) || hi > INT64_MAX >> (64 - bits)))
        bits++;
    return bits;
}

static itg_status refuse_overflow(const itg_program *p, itg_error *err)
{
    for (int32_t i = 0; i < p->step_count; i++) {
        const itg_step *s = &p->steps[i];
        if (!itg_step_has_accumulator(s) || itg_step_fits(s)) continue;
        int bits = bits_for(s->acc_lo, s->acc_hi);
        return itg_fail(err, ITG_UNBOUNDED,
                        "%s: node '%s': accumulator needs %s%d bits for [%" PRId64 ",%" PRId64
                        "], the hardware has %d",
                        p->name, s->name, bits > 64 ? "more than " : "", bits > 64 ? 64 : bits,
                        s->acc_lo, s->acc_hi, (int)s->acc.bits);
    }
    return ITG_OK;
}

static itg_status begin(itg_lowering *l)
{
    l->g = l->a->graph;
    itg_status status = itg_program_create(l->g->name, &l->p, l->err);
    if (status == ITG_OK) l->p->cache = itg_cache_share(l->a->cache);
    return status;
}

/* Marks a value that is read. Nodes are looked at from the last one down to the first one that is
 * needed; *open counts the values whose producers are still to come. */
static void mark_read(itg_lowering *l, itg_id value, int32_t *open)
{
    const itg_id producer = l->g->values[value].producer;
    if (l->read[value]) return;
    l->read[value] = true;
    if (producer == ITG_NONE) return;
    ++*open;
    if (producer >= l->needed_end) l->needed_end = producer + 1;
}

/* Finds the nodes that the outputs depend on, and the range that they are in: of one layer in a
 * long network it is short. */
static itg_status find_needed(itg_lowering *l)
{
    const itg_graph *g = l->g;
    int32_t open = 0;
    l->read = itg_arena_array(l->p->arena, (size_t)g->value_count + 1, sizeof *l->read);
    l->needed = itg_arena_array(l->p->arena, (size_t)g->node_count + 1, sizeof *l->needed);
    if (l->read == NULL || l->needed == NULL) return itg_lower_no_memory(l);
    for (int32_t i = 0; i < l->output_count; i++)
        if (known_edge(l, &l->outputs[i]) == ITG_NONE)
            mark_read(l, itg_annotated_edge(l->a, l->outputs[i].node, l->outputs[i].slot)->value,
                      &open);
    for (l->needed_first = l->needed_end; open > 0; l->needed_first--) {
        const itg_id n = l->needed_first - 1;
        const itg_node *node = &g->nodes[n];
        for (int32_t i = 0; i < node->output_count; i++) {
            if (node->outputs[i] == ITG_NONE || !l->read[node->outputs[i]]) continue;
            l->needed[n] = true;
            open--;
        }
        for (int32_t i = 0; i < node->input_count && l->needed[n]; i++)
            if (node->inputs[i] != ITG_NONE && known_edge(l, &(itg_tap){n, i}) == ITG_NONE)
                mark_read(l, node->inputs[i], &open);
    }
    return ITG_OK;
}

static itg_status realize(itg_lowering l, bool allow_overflow, itg_program **out)
{
    itg_status status = begin(&l);
    if (status == ITG_OK) status = set_up_arrays(&l);
    if (status == ITG_OK) status = find_needed(&l);
    if (status == ITG_OK) status = set_up(&l);
    if (status == ITG_OK) status = lower_graph(&l);
    if (status == ITG_OK) {
        status = itg_program_finish(l.p, ITG_BOUNDS_STORE, l.err);
        if (status != ITG_OK) itg_prefix_error(l.err, status, "%s", l.p->name);
    }
    if (status == ITG_OK && !allow_overflow) status = refuse_overflow(l.p, l.err);
    if (status != ITG_OK) {
        itg_program_destroy(l.p);
        return status;
    }
    *out = l.p;
    return ITG_OK;
}

itg_status itg_realize_taps(const itg_annotated *a, const itg_tap *taps, int32_t count,
                            const itg_known *known, int32_t *from, itg_program **out,
                            itg_error *err)
{
    const itg_lowering l = {
        .a = a, .outputs = taps, .output_count = count, .known = known, .from = from, .err = err};
    return realize(l, true, out);
}

itg_status itg_realize_program(const itg_annotated *a, const itg_realize_options *options,
                               itg_program **out, itg_error *err)
{
    if (options != NULL) {
        itg_status status = itg_check_version("itg_realize_options", options->version,
                                              ITG_REALIZE_OPTIONS_VERSION, err);
        if (status != ITG_OK) return status;
    }
    int32_t count = a->graph->output_count;
    itg_tap *outputs = calloc((size_t)count + 1, sizeof *outputs);
    if (outputs == NULL) return itg_fail(err, ITG_NO_MEMORY, "no memory for a program");
    for (int32_t i = 0; i < count; i++)
        outputs[i] = (itg_tap){ITG_NONE, i};
    const itg_lowering l = {.a = a, .outputs = outputs, .output_count = count, .err = err};
    itg_status status = realize(l, options != NULL && options->allow_overflow, out);
    free(outputs);
    return status;
}

/* ---- a single node ---- */

/* Makes what the node reads inputs of the program. */
static itg_status lower_read(itg_lowering *l, itg_id node)
{
    itg_program *p = l->p;
    const itg_node *n = &l->g->nodes[node];
    itg_status status = ITG_OK;
    p->inputs = itg_arena_array(p->arena, (size_t)n->input_count + 1, sizeof *p->inputs);
    if (p->inputs == NULL) return itg_lower_no_memory(l);
    for (int32_t i = 0; i < n->input_count && status == ITG_OK; i++) {
        const itg_edge *e = itg_annotated_edge(l->a, node, i);
        if (e != NULL && e->encoding >= 0 && !itg_graph_is_constant(l->g, e->value) &&
            l->made[e->value][e->encoding] == ITG_NONE)
            status = itg_lower_output(l, e->value, e->encoding, &p->inputs[p->input_count++]);
    }
    return status;
}

static itg_status finish_node(itg_lowering *l, bool *fit)
{
    itg_program *p = l->p;
    *fit = true;
    if (p->step_count == 0) return ITG_OK; /* nothing reads its output */
    p->outputs = p->steps[p->step_count - 1].outputs;
    p->output_count = 1;
    itg_status status = itg_program_finish(p, ITG_BOUNDS_STORE, l->err);
    for (int32_t i = 0; status == ITG_OK && i < p->bound_count; i++)
        *fit = *fit && p->bounds[i].fits;
    return status;
}

itg_status itg_sums_fit(const itg_annotated *a, itg_id node, bool *fit, itg_error *err)
{
    itg_lowering l = {.a = a, .err = err};
    itg_status status = begin(&l);
    if (status == ITG_OK) status = set_up_arrays(&l);
    if (status == ITG_OK) status = set_up_node(&l, node);
    if (status == ITG_OK) status = lower_read(&l, node);
    if (status == ITG_OK) status = lowerings[a->nodes[node].form](&l, node);
    if (status == ITG_OK) status = finish_node(&l, fit);
    itg_program_destroy(l.p);
    return status;
}
