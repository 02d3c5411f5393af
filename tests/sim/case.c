#include "case.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- networks ---- */

itg_graph *net_new(void)
{
    itg_graph *g = NULL;
    assert_int_equal(itg_graph_create("net.onnx", &g, NULL), ITG_OK);
    return g;
}

static itg_shape parse_shape(const char *text)
{
    itg_shape shape = {0};
    while (*text) {
        char *end;
        shape.dims[shape.rank++] = strtoll(text, &end, 10);
        text = *end ? end + 1 : end;
    }
    return shape;
}

static itg_id add_value(itg_graph *g, const char *name, itg_dtype dtype, const char *text,
                        const void *data)
{
    itg_shape shape = parse_shape(text);
    itg_id id = ITG_NONE;
    assert_int_equal(itg_graph_add_value(g, name, dtype, &shape, data, &id, NULL), ITG_OK);
    return id;
}

itg_id net_input(itg_graph *g, const char *name, const char *shape)
{
    return add_value(g, name, ITG_F32, shape, NULL);
}

itg_id net_constant(itg_graph *g, const char *name, const char *shape, const float *data)
{
    return add_value(g, name, ITG_F32, shape, data);
}

itg_id net_indices(itg_graph *g, const char *name, const char *shape, const int64_t *data)
{
    return add_value(g, name, ITG_S64, shape, data);
}

itg_id net_node(itg_graph *g, const char *name, itg_op op, const itg_attrs *attrs, int32_t count,
                const itg_id *inputs)
{
    itg_attrs defaults = itg_attrs_default(op);
    itg_id out = ITG_NONE, node = ITG_NONE;
    itg_error err = {0};
    assert_int_equal(itg_graph_add_value(g, name, ITG_F32, NULL, NULL, &out, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_node(g, name, op, inputs, count, &out, 1,
                                        attrs ? attrs : &defaults, &node, NULL),
                     ITG_OK);
    if (itg_infer_node(g, node, &err) != ITG_OK) fail_msg("%s", err.message);
    return out;
}

itg_id net_gemm(itg_graph *g, const char *name, itg_id x, const char *shape, const float *w,
                itg_id bias)
{
    itg_attrs a = itg_attrs_default(ITG_OP_GEMM);
    char constant[32];
    a.trans_b = true;
    snprintf(constant, sizeof constant, "%s.w", name);
    itg_id inputs[] = {x, net_constant(g, constant, shape, w), bias};
    return net_node(g, name, ITG_OP_GEMM, &a, bias == ITG_NONE ? 2 : 3, inputs);
}

void net_end(itg_graph *g, int32_t inputs, const itg_id *input, int32_t outputs,
             const itg_id *output)
{
    itg_error err = {0};
    assert_int_equal(itg_graph_set_inputs(g, input, inputs, NULL), ITG_OK);
    assert_int_equal(itg_graph_set_outputs(g, output, outputs, NULL), ITG_OK);
    if (itg_graph_verify(g, &err) != ITG_OK) fail_msg("%s", err.message);
}

itg_hardware *chip(const char *head, const char *dtypes, const char *requants,
                   const char *operators)
{
    itg_strbuf text = {0};
    itg_hardware *hw = NULL;
    itg_error err = {0};
    itg_strbuf_format(&text,
                      "{\"intaglio_hardware\":1,\"name\":\"chip\",%s\"dtypes\":{%s},"
                      "\"requantize\":{%s},\"operators\":{%s}}",
                      head, dtypes, requants, operators);
    assert_true(itg_strbuf_ok(&text));
    for (size_t i = 0; i < text.length; i++)
        if (text.text[i] == '\'') text.text[i] = '"';
    if (itg_hardware_parse(text.text, text.length, "chip.json", &hw, &err) != ITG_OK)
        fail_msg("%s", err.message);
    itg_strbuf_deinit(&text);
    return hw;
}

/* ---- cases ---- */

sim_case case_new(itg_graph *g, itg_hardware *hw)
{
    sim_case c = {.g = g, .hw = hw};
    itg_error err = {0};
    assert_int_equal(itg_strategy_create(g, &c.s, &err), ITG_OK);
    if (itg_hardware_topology(hw, g, c.s->arena, c.s->node_conds, NULL, &err) != ITG_OK)
        fail_msg("%s", err.message);
    return c;
}

void case_end(sim_case *c)
{
    itg_sim_destroy(c->sim);
    itg_annotated_destroy(c->a);
    itg_strategy_destroy(c->s);
    itg_hardware_destroy(c->hw);
    itg_graph_destroy(c->g);
}

int32_t case_edge(const sim_case *c, const char *node, int32_t slot)
{
    int32_t e = 0;
    for (itg_id n = 0; n < c->g->node_count; n++)
        for (int32_t i = 0; i < c->g->nodes[n].input_count; i++) {
            if (c->g->nodes[n].inputs[i] == ITG_NONE) continue;
            if (node && i == slot && strcmp(c->g->nodes[n].name, node) == 0) return e;
            e++;
        }
    if (node) fail_msg("no edge into '%s' slot %d", node, (int)slot);
    return e + slot;
}

void set_range(sim_case *c, const char *node, int32_t slot, int32_t bits, double lo, double hi)
{
    int32_t e = case_edge(c, node, slot);
    c->s->edge_conds[e] = bits > 0;
    c->s->edges[e] = (itg_edge_choice){.bits = bits, .lo = lo, .hi = hi};
}

void set_weights(sim_case *c, const char *node, int32_t bits, int32_t count, const double *t)
{
    int32_t e = case_edge(c, node, 1);
    c->s->edge_conds[e] = true;
    c->s->edges[e] = (itg_edge_choice){.bits = bits, .channel_count = count};
    c->s->edges[e].channel = itg_arena_copy(c->s->arena, t, sizeof *t * (size_t)count);
    assert_non_null(c->s->edges[e].channel);
}

static void set_largest(sim_case *c, const itg_edge_ref *edge, int32_t bits, bool per_channel)
{
    const itg_value *w = &c->g->values[edge->value];
    bool last = c->g->nodes[edge->node].op == ITG_OP_MATMUL;
    int64_t elements = 0;
    assert_true(itg_shape_elements(&w->shape, &elements));
    int64_t channels = per_channel ? w->shape.dims[last ? w->shape.rank - 1 : 0] : 1;
    double *t = calloc((size_t)channels, sizeof *t);
    assert_non_null(t);
    for (int64_t i = 0; i < elements; i++) {
        int64_t k = last ? i % channels : i / (elements / channels);
        double v = fabs((double)((const float *)w->data)[i]);
        if (v > t[k]) t[k] = v;
    }
    set_weights(c, c->g->nodes[edge->node].name, bits, (int32_t)channels, t);
    free(t);
}

void set_all(sim_case *c, int32_t weight_bits, int32_t bits, double lo, double hi, bool per_channel)
{
    itg_choice_space *space = NULL;
    itg_space_options options = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
    itg_error err = {0};
    if (itg_choice_space_create(c->hw, c->g, &options, &space, &err) != ITG_OK)
        fail_msg("%s", err.message);
    for (int32_t e = 0; e < space->edge_count; e++) {
        const itg_edge_ref *edge = &space->edges[e];
        int32_t group = space->edge_group[e];
        if (group < 0) continue;
        if (space->groups[group].is_weight)
            set_largest(c, edge, weight_bits, per_channel);
        else
            set_range(c, edge->node == ITG_NONE ? NULL : c->g->nodes[edge->node].name, edge->slot,
                      bits, lo, hi);
    }
    itg_choice_space_destroy(space);
}

void annotated(sim_case *c)
{
    itg_error err = {0};
    itg_annotated_destroy(c->a);
    c->a = NULL;
    if (itg_annotate(c->g, c->hw, c->s, &c->a, &err) != ITG_OK) fail_msg("%s", err.message);
}

void refused(sim_case *c, itg_status code, const char *message)
{
    itg_error err = {0};
    itg_annotated *out = NULL;
    itg_status status = itg_annotate(c->g, c->hw, c->s, &out, &err);
    assert_null(out);
    if (status != code || !strstr(err.message, message))
        fail_msg("expected %s '%s', got %s '%s'", itg_status_name(code), message,
                 itg_status_name(status), err.message);
    assert_int_equal(err.code, code);
}

const itg_encoding *encoding_at(const sim_case *c, const char *node, int32_t slot)
{
    const itg_edge *edge = &c->a->edges[case_edge(c, node, slot)];
    if (edge->encoding < 0) return NULL;
    assert_in_range(edge->encoding, 0, c->a->values[edge->value].encoding_count - 1);
    return &c->a->values[edge->value].encodings[edge->encoding];
}

const itg_node_note *note_of(const sim_case *c, const char *node)
{
    itg_id n = itg_graph_find_node(c->g, node);
    assert_int_not_equal(n, ITG_NONE);
    return &c->a->nodes[n];
}

void run(sim_case *c, const float *x)
{
    itg_error err = {0};
    int64_t elements = 0;
    if (!c->sim) assert_int_equal(itg_sim_create(c->a, &c->sim, &err), ITG_OK);
    assert_true(itg_shape_elements(&c->g->values[c->g->inputs[0]].shape, &elements));
    memcpy(itg_sim_input(c->sim, 0), x, sizeof *x * (size_t)elements);
    if (itg_sim_run(c->sim, &err) != ITG_OK) fail_msg("%s", err.message);
}

int64_t output_code(const sim_case *c, int32_t output, int64_t index)
{
    const itg_quantizer *q = NULL;
    itg_tensor t = itg_sim_output(c->sim, output, &q);
    assert_true(q || t.dtype == ITG_S64);
    if (q) assert_int_equal(t.dtype, q->storage);
    switch (t.dtype) {
    case ITG_S8:
        return ((const int8_t *)t.data)[index];
    case ITG_U8:
        return ((const uint8_t *)t.data)[index];
    case ITG_S16:
        return ((const int16_t *)t.data)[index];
    case ITG_U16:
        return ((const uint16_t *)t.data)[index];
    case ITG_S32:
        return ((const int32_t *)t.data)[index];
    default:
        return ((const int64_t *)t.data)[index];
    }
}

float output_real(const sim_case *c, int32_t output, int64_t index)
{
    const itg_quantizer *q = NULL;
    itg_tensor t = itg_sim_output(c->sim, output, &q);
    assert_null(q);
    assert_int_equal(t.dtype, ITG_F32);
    return ((const float *)t.data)[index];
}

/* ---- formulas ---- */

int64_t limited(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

int64_t code_of(float x, float scale, int64_t zero, int64_t lo, int64_t hi)
{
    float u = x / scale;
    if (isnan(u)) return zero;
    double q = nearbyint((double)u) + (double)zero;
    return q < (double)lo ? lo : q > (double)hi ? hi : (int64_t)q;
}

int64_t f32_code(int64_t acc, float c, int64_t zero, int64_t lo, int64_t hi)
{
    float v = (float)acc * c;
    double q = nearbyint((double)v) + (double)zero;
    return q < (double)lo ? lo : q > (double)hi ? hi : (int64_t)q;
}

double random_real(itg_rng *rng, double lo, double hi)
{
    return lo + itg_rng_unit(rng) * (hi - lo);
}
