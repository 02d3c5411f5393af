/* What repeats in a program stands once in its C source: arrays, functions, and calls as a loop. */
#include "program_maker.h"
#define FOLDER TEST_FOLDER "/emitted_loops"
#include "emitted.h"

enum { SIZE = 8, MOST_STEPS = 64, CODES = 256 };

/* ---- a program of steps that repeat ---- */

static int32_t codes(maker *m, itg_shape shape)
{
    float one = 1;
    itg_quantizer q = {.bits = 8,
                       .is_signed = true,
                       .qmin = -128,
                       .qmax = 127,
                       .axis = -1,
                       .scale_count = 1,
                       .scale = &one,
                       .storage = ITG_S8};
    return add_codes(m, shape, &q);
}

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

static int32_t part_at(int t, int steps, bool shuffled)
{
    return shuffled ? t * 5 % steps : t;
}

/* h = table(h + part t of x), for as many parts; their order is that of time, or another. The first
 * has another table if `odd`. */
static itg_program *recurrent(int steps, bool shuffled, bool odd)
{
    maker m = {0};
    itg_error err = {0};
    int32_t part[MOST_STEPS];
    const itg_shape all = {2, {steps, SIZE}}, one = {2, {1, SIZE}};
    itg_rng_init(&m.rng, 1);
    assert_int_equal(itg_program_create("recurrent", &m.p, NULL), ITG_OK);
    itg_program *p = m.p;
    const int32_t input = add_value(&m, ITG_F32, all), quantized = codes(&m, all);
    itg_step *s = add_step(&m, ITG_STEP_QUANTIZE, ITG_OP_IDENTITY, 1, 1);
    s->inputs[0] = input;
    s->outputs[0] = quantized;
    const int32_t x = add_table(&m, quantized, odd);
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

/* ---- what the source has ---- */

typedef struct counts {
    int functions, calls, loops, tables, moves, steady;
} counts;

static int count_of(const char *text, const char *what)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
        count++;
    return count;
}

static counts counts_of(const itg_program *p)
{
    itg_strbuf source = {0}, header = {0};
    assert_int_equal(itg_program_source(p, "net", &source, &header, NULL), ITG_OK);
    const char *run = strstr(source.text, "\nvoid net_run(");
    assert_non_null(run);
    const counts c = {.functions = count_of(source.text, "static void layer_"),
                      .calls = count_of(run, " layer_"),
                      .loops = count_of(run, "for (int32_t t = 0;"),
                      .tables = count_of(source.text, "_table0[256] = {"),
                      .moves = count_of(run, "const int32_t move"),
                      .steady = count_of(run, " + t * 8")};
    itg_strbuf_deinit(&source);
    itg_strbuf_deinit(&header);
    return c;
}

static void check(const itg_program *p)
{
    itg_error err = {0};
    if (!has_compiler()) {
        print_message("skipped: no compiler\n");
        skip();
    }
    if (!emits(p, "loop", 3, &err)) fail_msg("%s", err.message);
    compile_and_run("loop", FLAGS " -O1", 0);
}

static void steps_in_the_order_of_memory_move_by_one_distance(void **state)
{
    (void)state;
    for (int steps = 12; steps <= MOST_STEPS; steps += 52) {
        itg_program *p = recurrent(steps, false, true);
        const counts c = counts_of(p);
        assert_int_equal(c.functions, 3); /* both tables and the sum */
        assert_int_equal(c.tables, 2);
        assert_int_equal(c.loops, 1);
        assert_true(c.steady > 0);
        assert_in_range(c.calls, 3, 8);
        check(p);
        itg_program_destroy(p);
    }
}

static void steps_in_another_order_read_how_they_move(void **state)
{
    (void)state;
    itg_program *p = recurrent(MOST_STEPS, true, false);
    const counts c = counts_of(p);
    assert_int_equal(c.functions, 3); /* the table of all parts is a function of its own */
    assert_int_equal(c.tables, 1);
    assert_int_equal(c.loops, 1);
    assert_in_range(c.moves, 1, 3);
    assert_int_equal(c.steady, 0);
    assert_in_range(c.calls, 3, 8);
    check(p);
    itg_program_destroy(p);
}

static void few_calls_are_no_loop(void **state)
{
    (void)state;
    itg_program *p = recurrent(4, false, false);
    assert_int_equal(counts_of(p).loops, 0);
    assert_int_equal(counts_of(p).calls, 8); /* none for the parts, which lie in what they are of */
    check(p);
    itg_program_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_in_the_order_of_memory_move_by_one_distance),
        cmocka_unit_test(steps_in_another_order_read_how_they_move),
        cmocka_unit_test(few_calls_are_no_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
