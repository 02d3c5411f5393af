#include "recurrent_program.h"
#include "program_maker.h"

enum { SIZE = 8, CODES = 256 };

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

/* By a matrix of its own. */
static int32_t add_product(maker *m, int32_t x)
{
    const int32_t y = add_like(m, value(m, x)->shape, x);
    const int32_t w = add_bytes(m, (itg_shape){2, {SIZE, SIZE}});
    int8_t *weights = itg_arena_array(m->p->arena, SIZE * SIZE, 1);
    for (int i = 0; i < SIZE * SIZE; i++)
        weights[i] = (int8_t)(i * 29 % 255 - 127);
    value(m, w)->data = weights;
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

static int32_t part_at(int t, int steps, bool shuffled)
{
    return shuffled ? t * 5 % steps : t;
}

itg_program *recurrent_program(int steps, bool shuffled, recurrent_input from)
{
    maker m = {0};
    itg_error err = {0};
    int32_t part[MOST_STEPS];
    const itg_shape all = {2, {steps, SIZE}}, one = {2, {1, SIZE}};
    itg_rng_init(&m.rng, 1);
    assert_int_equal(itg_program_create("recurrent", &m.p, NULL), ITG_OK);
    itg_program *p = m.p;
    const int32_t input = add_value(&m, ITG_F32, all), quantized = add_bytes(&m, all);
    itg_step *s = add_step(&m, ITG_STEP_QUANTIZE, ITG_OP_IDENTITY, 1, 1);
    s->inputs[0] = input;
    s->outputs[0] = quantized;
    const int32_t x = from == RECURRENT_PRODUCT
                          ? add_product(&m, quantized)
                          : add_table(&m, quantized, from == RECURRENT_OTHER_TABLE);
    for (int t = 0; t < steps; t++)
        part[t] = add_like(&m, one, x);
    s = add_step(&m, ITG_STEP_MOVE, ITG_OP_SPLIT, 1, steps);
    s->inputs[0] = x;
    memcpy(s->outputs, part, (size_t)steps * sizeof *part);
    int32_t h = add_table(&m, part[part_at(0, steps, shuffled)], false);
    for (int t = 1; t < steps; t++)
        h = add_table(&m, add_sum(&m, part[part_at(t, steps, shuffled)], h), false);
    p->inputs = itg_arena_array(p->arena, 1, sizeof *p->inputs);
    p->outputs = itg_arena_array(p->arena, 1, sizeof *p->outputs);
    p->inputs[p->input_count++] = input;
    p->outputs[p->output_count++] = h;
    if (itg_program_finish(p, ITG_BOUNDS_STORE, &err) != ITG_OK) fail_msg("%s", err.message);
    return p;
}
