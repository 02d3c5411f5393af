#include "recurrent_program.h"
#include "program_maker.h"

enum { SIZE = 8, WIDER = 16, GATES = 4, CODES = 256 };

/* A table of its own; `odd` says which of two. */
static int32_t add_table(maker *m, int32_t x, bool odd)
{
    const int32_t y = add_like(m, value(m, x)->shape, x);
    const int32_t table = add_value(m, ITG_S32, (itg_shape){1, {CODES}});
    int32_t *entries = itg_arena_array(m->p->arena, CODES, sizeof *entries);
    for (int i = 0; i < CODES; i++)
        entries[i] = (i * 37 + (odd ? 11 : 0)) % CODES - 128;
    value(m, table)->data = entries;
    itg_step *s = add_step(m, ITG_STEP_LUT, ITG_OP_SIGMOID, 2, 1);
    s->inputs[0] = x;
    s->inputs[1] = table;
    s->outputs[0] = y;
    return y;
}

static int32_t add_sum(maker *m, int32_t x, int32_t y)
{
    const int32_t sum = add_like(m, value(m, x)->shape, x);
    itg_step *s = add_step(m, ITG_STEP_BINARY, ITG_OP_ADD, 2, 1);
    itg_requant *r = itg_arena_alloc(m->p->arena, sizeof *r);
    *r = (itg_requant){.stage_count = 1, .stage = {{3, 2, ITG_ROUND_HALF_UP}}};
    s->inputs[0] = x;
    s->inputs[1] = y;
    s->outputs[0] = sum;
    s->form = ITG_FORM_EQUAL;
    s->acc = (itg_accumulator){32, ITG_OVERFLOW_WRAP};
    s->outs[0] = (itg_step_out){.requant = r, .requant_count = 1, .lo = -128, .hi = 127};
    return sum;
}

static int32_t add_matrix(maker *m, int64_t rows, int64_t columns)
{
    const int32_t w = add_bytes(m, (itg_shape){2, {rows, columns}});
    int8_t *weights = itg_arena_array(m->p->arena, (size_t)(rows * columns), 1);
    for (int64_t i = 0; i < rows * columns; i++)
        weights[i] = (int8_t)(i * 29 % 255 - 127);
    value(m, w)->data = weights;
    return w;
}

static int32_t add_product(maker *m, int32_t x, int32_t w)
{
    itg_shape shape = value(m, x)->shape;
    shape.dims[1] = value(m, w)->shape.dims[1];
    const int32_t y = add_like(m, shape, x);
    itg_step *s = add_step(m, ITG_STEP_MATMUL, ITG_OP_MATMUL, 2, 1);
    itg_requant *r = itg_arena_alloc(m->p->arena, sizeof *r);
    *r = (itg_requant){.stage_count = 1, .stage = {{3, 10, ITG_ROUND_HALF_UP}}};
    s->inputs[0] = x;
    s->inputs[1] = w;
    s->outputs[0] = y;
    s->acc = (itg_accumulator){32, ITG_OVERFLOW_WRAP};
    s->outs[0] = (itg_step_out){.requant = r, .requant_count = 1, .lo = -128, .hi = 127};
    return y;
}

static void add_split(maker *m, int32_t x, int32_t count, int32_t axis, int32_t *out)
{
    itg_shape shape = value(m, x)->shape;
    shape.dims[axis] /= count;
    for (int32_t i = 0; i < count; i++)
        out[i] = add_like(m, shape, x);
    itg_step *s = add_step(m, ITG_STEP_MOVE, ITG_OP_SPLIT, 1, count);
    s->attrs.axis = axis;
    s->inputs[0] = x;
    memcpy(s->outputs, out, (size_t)count * sizeof *out);
}

/* The sum of two of its parts. */
static int32_t add_state(maker *m, int32_t gates)
{
    int32_t gate[GATES];
    add_split(m, gates, GATES, 1, gate);
    return add_sum(m, gate[0], gate[GATES - 1]);
}

static int32_t part_at(int t, int steps, bool shuffled)
{
    return shuffled ? t * 5 % steps : t;
}

itg_program *recurrent_program(int steps, bool shuffled, recurrent_input from)
{
    maker m = {0};
    itg_error err = {0};
    int32_t part[MOST_STEPS] = {0}, states[MOST_STEPS] = {0};
    const bool keeps = from == RECURRENT_STATES;
    const itg_shape kept = {2, {steps, WIDER}}, all = {2, {steps, keeps ? WIDER * GATES : SIZE}};
    itg_rng_init(&m.rng, 1);
    assert_int_equal(itg_program_create("recurrent", &m.p, NULL), ITG_OK);
    itg_program *p = m.p;
    const int32_t input = add_value(&m, ITG_F32, all), quantized = add_bytes(&m, all);
    itg_step *s = add_step(&m, ITG_STEP_QUANTIZE, ITG_OP_IDENTITY, 1, 1);
    s->inputs[0] = input;
    s->outputs[0] = quantized;
    const int32_t x = from == RECURRENT_PRODUCT
                          ? add_product(&m, quantized, add_matrix(&m, SIZE, SIZE))
                          : add_table(&m, quantized, from == RECURRENT_OTHER_TABLE);
    const int32_t w = keeps ? add_matrix(&m, WIDER, WIDER * GATES) : ITG_NONE;
    add_split(&m, x, steps, 0, part);
    int32_t h = ITG_NONE;
    for (int t = 0; t < steps; t++) {
        int32_t sum = part[part_at(t, steps, shuffled)];
        if (t > 0) sum = add_sum(&m, sum, keeps ? add_product(&m, h, w) : h);
        h = add_table(&m, sum, false);
        if (keeps) states[t] = h = add_state(&m, h);
    }
    if (keeps) {
        h = add_like(&m, kept, x);
        s = add_step(&m, ITG_STEP_MOVE, ITG_OP_CONCAT, steps, 1);
        memcpy(s->inputs, states, (size_t)steps * sizeof *states);
        s->outputs[0] = h;
        h = add_table(&m, h, true);
    }
    p->inputs = itg_arena_array(p->arena, 1, sizeof *p->inputs);
    p->outputs = itg_arena_array(p->arena, 1, sizeof *p->outputs);
    p->inputs[p->input_count++] = input;
    p->outputs[p->output_count++] = h;
    if (itg_program_finish(p, ITG_BOUNDS_STORE, &err) != ITG_OK) fail_msg("%s", err.message);
    return p;
}
