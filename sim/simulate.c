/* Executes the annotated graph by definition. An instance runs one sample at a time. */
#include "sim/simulate.h"
#include "kernels/float_ops.h"
#include <stdlib.h>
#include <string.h>

const itg_shape *sim_shape(const itg_sim *s, itg_id value)
{
    return &s->a->graph->values[value].shape;
}

const itg_encoding *sim_input_encoding(const itg_sim *s, itg_id node, int32_t slot)
{
    return itg_annotated_encoding(s->a, node, slot);
}

const double *sim_input_codes(const itg_sim *s, itg_id node, int32_t slot)
{
    const itg_edge *edge = itg_annotated_edge(s->a, node, slot);
    return s->values[edge->value].buffers[edge->encoding].codes;
}

int64_t sim_fit(itg_sim *s, const itg_node_note *note, int64_t sum)
{
    int64_t fitted = itg_accumulator_fit(note->acc, sum);
    s->overflowed += fitted != sum;
    return fitted;
}

/* ---- buffers ---- */

/* Whether the value itself is held, as floats or indices. */
static bool has_native(const itg_annotated *a, itg_id v)
{
    const itg_value *value = &a->graph->values[v];
    if (value->producer == ITG_NONE) return true;
    const itg_node_note *note = &a->nodes[value->producer];
    return note->form == ITG_FORM_FLOAT || value->dtype != ITG_F32;
}

static itg_status allocate_value(itg_sim *s, itg_id v, itg_error *err)
{
    const itg_value *value = &s->a->graph->values[v];
    const itg_value_note *note = &s->a->values[v];
    sim_value *out = &s->values[v];
    if (!itg_shape_elements(&value->shape, &out->elements))
        return itg_fail(err, ITG_LIMIT, "value '%s' is too large", value->name);
    size_t n = (size_t)out->elements;
    out->buffers =
        itg_arena_array(s->arena, (size_t)note->encoding_count + 1, sizeof *out->buffers);
    bool ok = out->buffers != NULL;
    if (has_native(s->a, v)) {
        out->native = value->data ? (void *)(uintptr_t)value->data
                                  : itg_arena_array(s->arena, n + 1, itg_dtype_size(value->dtype));
        ok = ok && out->native;
    }
    for (int32_t i = 0; ok && i < note->encoding_count; i++) {
        sim_buffer *b = &out->buffers[i];
        if (note->encodings[i].constant)
            b->codes = NULL; /* take_constants */
        else if (!note->encodings[i].is_float)
            ok = (b->codes = itg_arena_array(s->arena, n + 1, sizeof *b->codes)) != NULL;
        else if (out->native)
            b->real = value->dtype == ITG_F32 ? out->native : NULL;
        else
            ok = (b->real = itg_arena_array(s->arena, n + 1, sizeof *b->real)) != NULL;
    }
    return ok ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for value '%s'", value->name);
}

/* Quantizes a value's floats into its integer encodings: graph inputs, outputs of float nodes. */
static void quantize_native(itg_sim *s, itg_id v)
{
    const itg_value *value = &s->a->graph->values[v];
    const itg_value_note *note = &s->a->values[v];
    const float *x = s->values[v].native;
    if (value->dtype != ITG_F32) return;
    for (int32_t i = 0; i < note->encoding_count; i++) {
        const itg_quantizer *q = &note->encodings[i].q;
        sim_buffer *b = &s->values[v].buffers[i];
        if (note->encodings[i].is_float) continue;
        b->events = (itg_edge_events){.elements = s->values[v].elements};
        for (int64_t k = 0; k < s->values[v].elements; k++) {
            int64_t wide = itg_quantize_f32(x[k], q->scale[0], q->zero_point, INT32_MIN, INT32_MAX);
            b->codes[k] = (double)itg_clamp(wide, q->qmin, q->qmax);
            b->events.saturated += wide < q->qmin || wide > q->qmax;
        }
    }
}

/* Returns the elements of the constant that the node reads as codes there; 0: there is none. */
static int64_t constant_elements(const itg_sim *s, itg_id n, int32_t slot)
{
    const itg_edge *edge = itg_annotated_edge(s->a, n, slot);
    if (!edge || edge->kind != ITG_EDGE_QUANT) return 0;
    return s->a->values[edge->value].encodings[edge->encoding].constant
               ? s->values[edge->value].elements
               : 0;
}

/* Loads the constants of a node. They share memory with those of all others: in doubles the weights
 * of a network take eight times the room of their codes. */
static void take_constants(itg_sim *s, itg_id n)
{
    double *place = s->constants;
    for (int32_t i = 0; i < s->a->graph->nodes[n].input_count; i++) {
        int64_t elements = constant_elements(s, n, i);
        if (elements == 0) continue;
        const itg_edge *edge = itg_annotated_edge(s->a, n, i);
        const itg_encoding *encoding = &s->a->values[edge->value].encodings[edge->encoding];
        for (int64_t k = 0; k < elements; k++)
            place[k] = (double)itg_load(encoding->q.storage, encoding->constant->codes, k);
        s->values[edge->value].buffers[edge->encoding].codes = place;
        place += elements;
    }
}

static itg_status allocate_all(itg_sim *s, itg_error *err)
{
    const itg_graph *g = s->a->graph;
    int64_t largest = 1, constants = 1;
    size_t scratch = 1;
    itg_status status = ITG_OK;
    for (itg_id v = 0; v < g->value_count && status == ITG_OK; v++) {
        status = allocate_value(s, v, err);
        if (!itg_graph_is_constant(g, v) && s->values[v].elements > largest)
            largest = s->values[v].elements;
    }
    if (status != ITG_OK) return status;
    scratch = (size_t)largest;
    for (itg_id n = 0; n < g->node_count; n++) {
        size_t wanted = s->a->nodes[n].form == ITG_FORM_MAC ? sim_mac_scratch(s->a, n) : 0;
        if (wanted > scratch) scratch = wanted;
        int64_t sum = 0;
        for (int32_t i = 0; i < g->nodes[n].input_count; i++)
            sum += constant_elements(s, n, i);
        if (sum > constants) constants = sum;
    }
    s->constants = itg_arena_array(s->arena, (size_t)constants, sizeof *s->constants);
    s->acc = itg_arena_array(s->arena, (size_t)largest, sizeof *s->acc);
    s->count = itg_arena_array(s->arena, (size_t)largest, sizeof *s->count);
    s->columns = itg_arena_array(s->arena, scratch, sizeof *s->columns);
    s->packed = itg_arena_array(s->arena, (size_t)g->output_count + 1, sizeof *s->packed);
    bool ok = s->constants && s->acc && s->count && s->columns && s->packed;
    for (int32_t i = 0; ok && i < g->output_count; i++)
        ok = (s->packed[i] = itg_arena_array(
                  s->arena, (size_t)s->values[g->outputs[i]].elements + 1, 8)) != NULL;
    return ok ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory to simulate %s", g->name);
}

itg_status itg_sim_create(const itg_annotated *a, itg_sim **out, itg_error *err)
{
    itg_arena *arena = itg_arena_create(0);
    itg_sim *s = arena ? itg_arena_alloc(arena, sizeof *s) : NULL;
    if (s) {
        s->a = a;
        s->arena = arena;
        s->values = itg_arena_array(arena, (size_t)a->graph->value_count + 1, sizeof *s->values);
    }
    itg_status status = s && s->values ? allocate_all(s, err)
                                       : itg_fail(err, ITG_NO_MEMORY, "no memory to simulate");
    if (status != ITG_OK)
        itg_arena_destroy(arena);
    else
        *out = s;
    return status;
}

void itg_sim_destroy(itg_sim *sim)
{
    if (sim) itg_arena_destroy(sim->arena);
}

int32_t itg_sim_input_count(const itg_sim *sim)
{
    return sim->a->graph->input_count;
}

void *itg_sim_input(itg_sim *sim, int32_t index)
{
    return sim->values[sim->a->graph->inputs[index]].native;
}

/* ---- epilogue ---- */

float sim_activate(const itg_sim *s, itg_id activation, float v)
{
    if (activation == ITG_NONE) return v;
    const itg_node *node = &s->a->graph->nodes[activation];
    if (node->op == ITG_OP_RELU) return v < 0 ? 0 : v;
    v = v < node->attrs.min ? node->attrs.min : v;
    return v > node->attrs.max ? node->attrs.max : v;
}

static itg_id activation_of(const itg_sim *s, itg_id node)
{
    itg_op op = s->a->graph->nodes[node].op;
    return itg_op_is(op, ITG_IS_CLAMP) ? node : s->a->nodes[node].activation;
}

/* Whether the code is out of the quantizer's range and the activation would not clip it. */
bool sim_saturates(const itg_sim *s, itg_id activation, const itg_encoding *encoding, int64_t wide)
{
    const itg_quantizer *q = &encoding->q;
    if (wide >= q->qmin && wide <= q->qmax) return false;
    if (activation == ITG_NONE) return true;
    const itg_node *node = &s->a->graph->nodes[activation];
    bool relu = node->op == ITG_OP_RELU;
    double bound = relu ? 0 : wide < q->qmin ? (double)node->attrs.min : (double)node->attrs.max;
    if (wide > q->qmax)
        return relu ||
               itg_round_half_even(bound / (double)q->scale[0]) + q->zero_point > (double)q->qmax;
    return itg_round_half_even(bound / (double)q->scale[0]) + q->zero_point < (double)q->qmin;
}

void sim_epilogue(itg_sim *s, itg_id node, int64_t stride, const int32_t *counts)
{
    itg_id v = s->a->nodes[node].out_value;
    const itg_value_note *note = &s->a->values[v];
    int64_t n = s->values[v].elements;
    for (int32_t i = 0; i < note->encoding_count; i++) {
        const itg_encoding *encoding = &note->encodings[i];
        sim_buffer *b = &s->values[v].buffers[i];
        int32_t channels = encoding->is_float ? encoding->dequant_count : encoding->requant_count;
        b->events = (itg_edge_events){.elements = n, .overflowed = s->overflowed};
        for (int64_t k = 0; k < n; k++) {
            int64_t c = channels == 1 ? 0 : counts ? counts[k] - 1 : (k / stride) % channels;
            if (encoding->is_float) {
                b->real[k] = sim_activate(s, activation_of(s, node),
                                          (float)s->acc[k] * encoding->dequant[c]);
                continue;
            }
            int64_t wide = itg_requant_apply(&encoding->requant[c], s->acc[k]);
            wide = wide > INT64_MAX / 2   ? INT64_MAX / 2
                   : wide < INT64_MIN / 2 ? INT64_MIN / 2
                                          : wide;
            wide += encoding->q.zero_point;
            b->events.saturated += sim_saturates(s, activation_of(s, node), encoding, wide);
            b->codes[k] = (double)itg_clamp(wide, encoding->clamp_lo, encoding->clamp_hi);
        }
    }
}

/* ---- nodes ---- */

/* Returns weights that are kept as codes, as numbers, or NULL: no memory. */
static float *dequantized_weights(const itg_sim *s, itg_id n, int32_t slot)
{
    const itg_id value = itg_annotated_edge(s->a, n, slot)->value;
    const itg_encoding *encoding = sim_input_encoding(s, n, slot);
    float *out = malloc((size_t)s->values[value].elements * sizeof *out);
    if (out)
        itg_dequantize_constant(&encoding->q, sim_shape(s, value), encoding->constant->codes, out);
    return out;
}

static itg_status run_float(itg_sim *s, itg_id n, itg_error *err)
{
    const itg_graph *g = s->a->graph;
    const itg_node *node = &g->nodes[n];
    itg_tensor tensors[32], *all = tensors;
    float *weights = NULL;
    int32_t total = node->input_count + node->output_count;
    if (total > 32 && !(all = calloc((size_t)total, sizeof *all))) return itg_no_memory(err);
    memset(all, 0, sizeof *all * (size_t)total);
    for (int32_t i = 0; i < total; i++) {
        itg_id v = i < node->input_count ? node->inputs[i] : node->outputs[i - node->input_count];
        if (v == ITG_NONE) continue;
        all[i] = (itg_tensor){g->values[v].dtype, g->values[v].shape, s->values[v].native};
        if (i >= node->input_count || s->values[v].native) continue;
        all[i].data = s->values[v].buffers[itg_annotated_edge(s->a, n, i)->encoding].real;
    }
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < node->input_count; i++)
        if (constant_elements(s, n, i) > 0) { /* one slot at most */
            all[i].data = weights = dequantized_weights(s, n, i);
            if (!weights) status = itg_no_memory(err);
        }
    if (status == ITG_OK)
        status = itg_float_eval(node->op, &node->attrs, all, node->input_count,
                                all + node->input_count, node->output_count, err);
    free(weights);
    if (all != tensors) free(all);
    for (int32_t i = 0; i < node->output_count && status == ITG_OK; i++)
        if (node->outputs[i] != ITG_NONE) quantize_native(s, node->outputs[i]);
    return status;
}

/* Returns the codes of a KEEP node's output. annotate gives it exactly one integer encoding. */
static double *kept_codes(itg_sim *s, itg_id v)
{
    const itg_value_note *note = &s->a->values[v];
    int32_t i = 0;
    while (note->encodings[i].is_float)
        i++;
    return s->values[v].buffers[i].codes;
}

/* Fills the float encodings of a value whose codes pass unchanged. */
static void dequantize_kept(itg_sim *s, itg_id v, const itg_quantizer *q, const double *codes)
{
    const itg_value_note *note = &s->a->values[v];
    for (int32_t i = 0; i < note->encoding_count; i++) {
        sim_buffer *b = &s->values[v].buffers[i];
        b->events = (itg_edge_events){.elements = s->values[v].elements};
        for (int64_t k = 0; note->encodings[i].is_float && k < s->values[v].elements; k++)
            b->real[k] = itg_dequantize_f32((int64_t)codes[k], q->scale[0], q->zero_point);
    }
}

static itg_status run_movement(itg_sim *s, itg_id n, itg_error *err)
{
    const itg_graph *g = s->a->graph;
    const itg_node *node = &g->nodes[n];
    const itg_quantizer *q = &sim_input_encoding(s, n, 0)->q;
    int32_t total = node->input_count + node->output_count;
    itg_tensor *all = calloc((size_t)total, sizeof *all);
    double fill = q->zero_point;
    if (!all) return itg_no_memory(err);
    for (int32_t i = 0; i < node->input_count; i++) {
        const itg_edge *edge = itg_annotated_edge(s->a, n, i);
        if (!edge) continue;
        bool codes = edge->kind == ITG_EDGE_QUANT;
        all[i] = (itg_tensor){codes ? ITG_F64 : g->values[edge->value].dtype,
                              g->values[edge->value].shape,
                              codes ? (void *)s->values[edge->value].buffers[edge->encoding].codes
                                    : s->values[edge->value].native};
    }
    for (int32_t i = 0; i < node->output_count; i++) {
        itg_id v = node->outputs[i];
        if (v == ITG_NONE) continue;
        all[node->input_count + i] = (itg_tensor){ITG_F64, g->values[v].shape, kept_codes(s, v)};
    }
    itg_status status = itg_move_eval(node->op, &node->attrs, all, node->input_count,
                                      all + node->input_count, node->output_count, &fill, err);
    for (int32_t i = 0; i < node->output_count && status == ITG_OK; i++)
        if (node->outputs[i] != ITG_NONE)
            dequantize_kept(s, node->outputs[i], q, all[node->input_count + i].data);
    free(all);
    return status;
}

static itg_status run_keep(itg_sim *s, itg_id n, itg_error *err)
{
    const itg_node *node = &s->a->graph->nodes[n];
    if (node->op == ITG_OP_ARG_MAX) {
        sim_arg_max(s, n);
        return ITG_OK;
    }
    if (itg_op_is(node->op, ITG_IS_MOVE)) return run_movement(s, n, err);
    if (itg_op_is(node->op, ITG_IS_AVERAGE))
        sim_mean(s, n);
    else
        sim_max_pool(s, n);
    double *codes = kept_codes(s, node->outputs[0]);
    for (int64_t k = 0; k < s->values[node->outputs[0]].elements; k++)
        codes[k] = (double)s->acc[k];
    dequantize_kept(s, node->outputs[0], &sim_input_encoding(s, n, 0)->q, codes);
    return ITG_OK;
}

static itg_status run_node(itg_sim *s, itg_id n, itg_error *err)
{
    itg_op op = s->a->graph->nodes[n].op;
    s->overflowed = 0;
    take_constants(s, n);
    switch (s->a->nodes[n].form) {
    case ITG_FORM_FUSED:
        return ITG_OK;
    case ITG_FORM_FLOAT:
        return run_float(s, n, err);
    case ITG_FORM_MAC:
        sim_mac(s, n);
        return ITG_OK;
    case ITG_FORM_LUT:
        return sim_lut(s, n, err);
    case ITG_FORM_KEEP:
        return run_keep(s, n, err);
    case ITG_FORM_SOFTMAX:
    case ITG_FORM_TFLITE_SOFTMAX:
        sim_softmax(s, n);
        return ITG_OK;
    case ITG_FORM_LAYER_NORM:
        sim_layer_norm(s, n);
        return ITG_OK;
    default:
        break;
    }
    if (op == ITG_OP_ADD || op == ITG_OP_SUB || op == ITG_OP_MUL)
        sim_binary(s, n);
    else if (itg_op_is(op, ITG_IS_CLAMP))
        sim_activation(s, n);
    else if (s->a->nodes[n].form == ITG_FORM_F32)
        sim_mean_f32(s, n);
    else {
        sim_mean(s, n);
        sim_epilogue(s, n, 1, s->count);
    }
    return ITG_OK;
}

/* ---- running ---- */

/* Returns a code of a value, which may be a constant. */
static int64_t code_at(const itg_encoding *encoding, const sim_buffer *b, int64_t k)
{
    return encoding->constant ? itg_load(encoding->q.storage, encoding->constant->codes, k)
                              : (int64_t)b->codes[k];
}

static void pack_output(itg_sim *s, int32_t index)
{
    const itg_edge *edge = itg_annotated_edge(s->a, ITG_NONE, index);
    const itg_encoding *encoding = &s->a->values[edge->value].encodings[edge->encoding];
    const itg_quantizer *q = &encoding->q;
    const sim_buffer *b = &s->values[edge->value].buffers[edge->encoding];
    int64_t n = s->values[edge->value].elements;
    if (edge->kind != ITG_EDGE_QUANT) return;
    for (int64_t k = 0; k < n; k++) {
        int64_t code = code_at(encoding, b, k);
        switch (q->storage) {
        case ITG_S8:
            ((int8_t *)s->packed[index])[k] = (int8_t)code;
            break;
        case ITG_U8:
            ((uint8_t *)s->packed[index])[k] = (uint8_t)code;
            break;
        case ITG_S16:
            ((int16_t *)s->packed[index])[k] = (int16_t)code;
            break;
        case ITG_U16:
            ((uint16_t *)s->packed[index])[k] = (uint16_t)code;
            break;
        default:
            ((int32_t *)s->packed[index])[k] = (int32_t)code;
            break;
        }
    }
}

itg_status itg_sim_run(itg_sim *sim, itg_error *err)
{
    const itg_graph *g = sim->a->graph;
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < g->input_count; i++)
        quantize_native(sim, g->inputs[i]);
    for (itg_id n = 0; n < g->node_count && status == ITG_OK; n++) {
        status = run_node(sim, n, err);
        if (status != ITG_OK)
            itg_prefix_error(err, status, "%s: node '%s'", g->name, g->nodes[n].name);
    }
    for (int32_t i = 0; i < g->output_count && status == ITG_OK; i++)
        pack_output(sim, i);
    return status;
}

itg_tensor itg_sim_output(const itg_sim *sim, int32_t index, const itg_quantizer **q)
{
    const itg_edge *edge = itg_annotated_edge(sim->a, ITG_NONE, index);
    const itg_value *value = &sim->a->graph->values[edge->value];
    const itg_encoding *encoding = &sim->a->values[edge->value].encodings[edge->encoding];
    bool quantized = edge->kind == ITG_EDGE_QUANT;
    itg_tensor out = {quantized ? encoding->q.storage : value->dtype, value->shape,
                      sim->packed[index]};
    const sim_value *held = &sim->values[edge->value];
    if (!quantized)
        out.data = held->native ? held->native : (void *)held->buffers[edge->encoding].real;
    if (q) *q = quantized ? &encoding->q : NULL;
    return out;
}

/* Whether a real number lies outside the quantizer's range. */
static bool is_outside(const itg_quantizer *q, float scale, float x)
{
    int64_t wide = itg_quantize_f32(x, scale, q->zero_point, INT32_MIN, INT32_MAX);
    return wide < q->qmin || wide > q->qmax;
}

bool itg_sim_edge(const itg_sim *sim, int32_t index, float *values, itg_edge_events *events)
{
    const itg_edge *edge = &sim->a->edges[index];
    if (edge->kind == ITG_EDGE_FUSED || sim->a->graph->values[edge->value].dtype != ITG_F32)
        return false;
    const itg_encoding *encoding = &sim->a->values[edge->value].encodings[edge->encoding];
    const sim_value *value = &sim->values[edge->value];
    const sim_buffer *b = &value->buffers[edge->encoding];
    int64_t inner = 1;
    for (int32_t d = encoding->q.axis + 1;
         !encoding->is_float && encoding->q.axis >= 0 && d < sim_shape(sim, edge->value)->rank; d++)
        inner *= sim_shape(sim, edge->value)->dims[d];
    *events = b->events;
    if (encoding->constant) *events = (itg_edge_events){.elements = value->elements};
    for (int64_t k = 0; k < value->elements; k++) {
        const itg_quantizer *q = &encoding->q;
        if (encoding->is_float) {
            values[k] = b->real[k];
            continue;
        }
        float scale = q->scale[q->scale_count == 1 ? 0 : (k / inner) % q->scale_count];
        values[k] = itg_dequantize_f32(code_at(encoding, b, k), scale, q->zero_point);
        if (encoding->constant)
            events->saturated += is_outside(q, scale, ((const float *)value->native)[k]);
    }
    return true;
}
