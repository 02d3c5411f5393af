#include "fixture.h"
#include <math.h>
#include <stdlib.h>
#include "kernels/constants.h"

fixture fx_begin(const char *name)
{
    fixture f;
    memset(&f, 0, sizeof f);
    assert_int_equal(itg_graph_create(name, &f.g, NULL), ITG_OK);
    return f;
}

void fx_end(fixture *f)
{
    itg_annotated_destroy(f->a);
    itg_graph_destroy(f->g);
}

static itg_id add_value(fixture *f, const char *name, itg_dtype dtype, const itg_shape *shape,
                        const void *data)
{
    itg_id id;
    assert_int_equal(itg_graph_add_value(f->g, name, dtype, shape, data, &id, NULL), ITG_OK);
    return id;
}

itg_id fx_input(fixture *f, const char *name, itg_shape shape)
{
    itg_id inputs[8], id = add_value(f, name, ITG_F32, &shape, NULL);
    int32_t count = f->g->input_count;
    for (int32_t i = 0; i < count; i++)
        inputs[i] = f->g->inputs[i];
    inputs[count] = id;
    assert_int_equal(itg_graph_set_inputs(f->g, inputs, count + 1, NULL), ITG_OK);
    return id;
}

itg_id fx_constant(fixture *f, const char *name, itg_dtype dtype, itg_shape shape, const void *data)
{
    return add_value(f, name, dtype, &shape, data);
}

itg_id fx_nodes(fixture *f, const char *name, itg_op op, const itg_id *inputs, int32_t count,
                const itg_shape *shapes, int32_t outputs, itg_id *values)
{
    char text[64];
    itg_id node;
    itg_attrs attrs = itg_attrs_default(op);
    for (int32_t i = 0; i < outputs; i++) {
        snprintf(text, sizeof text, i == 0 ? "%s" : "%s_%d", name, (int)i);
        values[i] = add_value(f, text, op == ITG_OP_ARG_MAX ? ITG_S64 : ITG_F32, &shapes[i], NULL);
    }
    snprintf(text, sizeof text, "n_%s", name);
    assert_int_equal(
        itg_graph_add_node(f->g, text, op, inputs, count, values, outputs, &attrs, &node, NULL),
        ITG_OK);
    return values[0];
}

itg_id fx_node(fixture *f, const char *name, itg_op op, const itg_id *inputs, int32_t count,
               itg_shape shape)
{
    itg_id value;
    return fx_nodes(f, name, op, inputs, count, &shape, 1, &value);
}

itg_attrs *fx_attrs(fixture *f, itg_id value)
{
    return &f->g->nodes[f->g->values[value].producer].attrs;
}

void fx_outputs(fixture *f, const itg_id *values, int32_t count)
{
    assert_int_equal(itg_graph_set_outputs(f->g, values, count, NULL), ITG_OK);
}

/* ---- annotation ---- */

static void *zeroed(fixture *f, size_t count, size_t size)
{
    void *memory = itg_arena_array(f->a->arena, count + 1, size);
    assert_non_null(memory);
    return memory;
}

void fx_annotate(fixture *f)
{
    itg_arena *arena = itg_arena_create(0);
    assert_non_null(arena);
    f->a = itg_arena_alloc(arena, sizeof *f->a);
    assert_non_null(f->a);
    f->a->arena = arena;
    f->a->graph = f->g;
    f->a->values = zeroed(f, (size_t)f->g->value_count, sizeof *f->a->values);
    f->a->nodes = zeroed(f, (size_t)f->g->node_count, sizeof *f->a->nodes);
    f->choice = zeroed(f, (size_t)f->g->node_count, sizeof *f->choice);
}

itg_node_note *fx_note(fixture *f, itg_id value, itg_form form, int32_t acc_bits)
{
    itg_id node = f->g->values[value].producer;
    itg_node_note *note = &f->a->nodes[node];
    note->form = form;
    note->acc = (itg_accumulator){acc_bits, ITG_OVERFLOW_WRAP};
    note->activation = ITG_NONE;
    note->out_value = value;
    return note;
}

static itg_encoding *add_encoding(fixture *f, itg_id value)
{
    itg_value_note *note = &f->a->values[value];
    if (note->encodings == NULL) note->encodings = zeroed(f, 8, sizeof *note->encodings);
    assert_true(note->encoding_count < 8);
    return &note->encodings[note->encoding_count++];
}

itg_encoding *fx_codes(fixture *f, itg_id value, itg_dtype storage, int32_t bits, float scale,
                       int32_t zero_point)
{
    itg_encoding *v = add_encoding(f, value);
    float *copy = itg_arena_copy(f->a->arena, &scale, sizeof scale);
    bool is_signed = itg_dtype_min(storage) < 0;
    assert_non_null(copy);
    int64_t half = (int64_t)1 << (bits - 1);
    v->q = (itg_quantizer){bits,
                           is_signed,
                           storage,
                           is_signed ? -half : 0,
                           is_signed ? half - 1 : 2 * half - 1,
                           zero_point,
                           -1,
                           1,
                           copy};
    v->clamp_lo = v->q.qmin;
    v->clamp_hi = v->q.qmax;
    return v;
}

itg_encoding *fx_float(fixture *f, itg_id value)
{
    itg_encoding *v = add_encoding(f, value);
    v->is_float = true;
    return v;
}

void fx_channels(fixture *f, itg_encoding *v, int32_t axis, const float *scales, int32_t count)
{
    v->q.axis = axis;
    v->q.scale_count = count;
    v->q.scale = itg_arena_copy(f->a->arena, scales, (size_t)count * sizeof *scales);
    assert_non_null(v->q.scale);
}

void fx_requant(fixture *f, itg_encoding *v, const int64_t *multiplier, int32_t count,
                int32_t shift)
{
    itg_requant *r = zeroed(f, (size_t)count, sizeof *r);
    for (int32_t i = 0; i < count; i++) {
        r[i].stage_count = 1;
        r[i].stage[0] = (itg_requant_stage){multiplier[i], shift, ITG_ROUND_HALF_UP};
    }
    v->requant = r;
    v->requant_count = count;
}

void fx_dequant(fixture *f, itg_encoding *v, const float *factor, int32_t count)
{
    v->dequant = itg_arena_copy(f->a->arena, factor, (size_t)count * sizeof *factor);
    v->dequant_count = count;
    assert_non_null(v->dequant);
}

void fx_read(fixture *f, itg_id made_by, int32_t slot, int32_t encoding)
{
    f->choice[f->g->values[made_by].producer][slot] = encoding;
}

void fx_fuse(fixture *f, itg_id value, itg_id relu)
{
    itg_node_note *note = &f->a->nodes[f->g->values[value].producer];
    fx_note(f, relu, ITG_FORM_FUSED, 0);
    note->activation = f->g->values[relu].producer;
    note->out_value = relu;
    fx_read(f, relu, 0, -1);
}

static void add_edge(fixture *f, itg_id value, itg_id node, int32_t slot, int32_t encoding)
{
    itg_edge *e = &f->a->edges[f->a->edge_count++];
    *e = (itg_edge){value, node, slot, ITG_EDGE_FUSED, encoding};
    if (encoding < 0) return;
    assert_true(encoding < f->a->values[value].encoding_count);
    e->kind = f->a->values[value].encodings[encoding].is_float ? ITG_EDGE_FLOAT : ITG_EDGE_QUANT;
}

/* The nearest codes for every quantized constant. */
static void take_codes(fixture *f)
{
    assert_int_equal(itg_cache_create(0, &f->a->cache, NULL), ITG_OK);
    for (itg_id v = 0; v < f->g->value_count; v++)
        for (int32_t i = 0; i < f->a->values[v].encoding_count; i++) {
            itg_encoding *encoding = &f->a->values[v].encodings[i];
            const itg_value *value = &f->g->values[v];
            if (encoding->is_float || !itg_graph_is_constant(f->g, v)) continue;
            const itg_constant_source source = {
                .data = value->data, .shape = value->shape, .q = &encoding->q};
            encoding->constant = itg_constant_take(f->a->cache, NULL, &source);
            assert_non_null(encoding->constant);
        }
}

void fx_finish(fixture *f)
{
    take_codes(f);
    size_t edges = (size_t)f->g->output_count;
    for (itg_id n = 0; n < f->g->node_count; n++)
        edges += (size_t)f->g->nodes[n].input_count;
    f->a->edges = zeroed(f, edges, sizeof *f->a->edges);
    f->a->edge_of_node = zeroed(f, (size_t)f->g->node_count + 1, sizeof *f->a->edge_of_node);
    for (itg_id n = 0; n < f->g->node_count; n++) {
        const itg_node *node = &f->g->nodes[n];
        f->a->edge_of_node[n] = f->a->edge_count;
        for (int32_t i = 0; i < node->input_count; i++)
            if (node->inputs[i] != ITG_NONE) add_edge(f, node->inputs[i], n, i, f->choice[n][i]);
    }
    f->a->edge_of_node[f->g->node_count] = f->a->edge_count;
    for (int32_t i = 0; i < f->g->output_count; i++)
        add_edge(f, f->g->outputs[i], ITG_NONE, i, f->out_choice[i]);
}

/* ---- running ---- */

itg_program *fx_program(const fixture *f)
{
    itg_program *p = NULL;
    itg_error err = {ITG_OK, ""};
    if (itg_realize_program(f->a, NULL, &p, &err) != ITG_OK) fail_msg("%s", err.message);
    return p;
}

itg_step *fx_step(itg_program *p, const char *name)
{
    for (int32_t i = 0; i < p->step_count; i++)
        if (strcmp(p->steps[i].name, name) == 0) return &p->steps[i];
    fail_msg("no step %s", name);
    return NULL;
}

itg_pvalue *fx_value(itg_program *p, const char *name)
{
    for (int32_t i = 0; i < p->value_count; i++)
        if (strcmp(p->values[i].name, name) == 0) return &p->values[i];
    fail_msg("no value %s", name);
    return NULL;
}

itg_requant *fx_requant_of(itg_program *p, const char *name)
{
    return (itg_requant *)(uintptr_t)fx_step(p, name)->outs[0].requant;
}

single *fx_instance(const itg_program *p)
{
    single *instance = NULL;
    assert_int_equal(single_create(p, &instance, NULL), ITG_OK);
    return instance;
}

void fx_run(single *instance)
{
    itg_error err = {ITG_OK, ""};
    if (single_run(instance, &err) != ITG_OK) fail_msg("%s", err.message);
}

void fx_fill(single *instance, const itg_program *p, uint64_t seed, float limit)
{
    itg_rng rng;
    itg_rng_init(&rng, seed);
    for (int32_t k = 0; k < itg_program_input_count(p); k++) {
        int64_t elements = 0;
        const itg_tensor input = itg_program_input(p, k);
        float *x = single_input(instance, k);
        assert_int_equal(input.dtype, ITG_F32);
        assert_true(itg_shape_elements(&input.shape, &elements));
        for (int64_t i = 0; i < elements; i++) {
            int64_t steps = (int64_t)itg_rng_below(&rng, 128 * (uint64_t)limit + 1);
            x[i] = (float)(steps - 64 * (int64_t)limit) / 64.0f;
        }
    }
}

/* ---- formulas ---- */

int64_t half_up(int64_t v, int64_t m, int32_t shift)
{
    int64_t divisor = (int64_t)1 << shift, dividend = v * m + divisor / 2;
    return dividend >= 0 ? dividend / divisor : -((-dividend + divisor - 1) / divisor);
}

int64_t limited(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

int64_t code_of(float x, const itg_quantizer *q)
{
    double steps = (double)(x / q->scale[0]), whole = floor(steps), rest = steps - whole;
    int64_t code = (int64_t)whole;
    if (rest > 0.5 || (rest == 0.5 && code % 2 != 0)) code++;
    return limited(code + q->zero_point, q->qmin, q->qmax);
}
