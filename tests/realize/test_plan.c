/* Plans of random programs for a device, replayed with marks instead of numbers: every step finds
 * in memory what it reads, whatever lies within or over what. */
#include "fixture.h"
#include "realize/batch_plan.h"
#include <stdlib.h>

static void random_program(itg_rng *rng, itg_program **out)
{
    itg_program *p = NULL;
    assert_int_equal(itg_program_create("random", &p, NULL), ITG_OK);
    p->inputs = itg_arena_array(p->arena, 4, sizeof *p->inputs);
    p->outputs = itg_arena_array(p->arena, 4, sizeof *p->outputs);
    assert_true(p->inputs != NULL && p->outputs != NULL);
    char name[16];
    for (int i = 0; i < 2; i++, p->input_count++) {
        itg_shape shape = SHAPE(1 + (int64_t)itg_rng_below(rng, 400));
        snprintf(name, sizeof name, "in%d", i);
        assert_int_equal(itg_program_add_value(p, name, ITG_F32, &shape, &p->inputs[i], NULL),
                         ITG_OK);
    }
    int steps = 1 + (int)itg_rng_below(rng, 60);
    for (int i = 0; i < steps; i++) {
        itg_step *s;
        int32_t a = (int32_t)itg_rng_below(rng, (uint64_t)p->value_count),
                b = (int32_t)itg_rng_below(rng, (uint64_t)p->value_count);
        int64_t m = p->values[a].shape.dims[0], n = p->values[b].shape.dims[0];
        bool joins = m + n < 5000 && itg_rng_below(rng, 2) == 0,
             sums = !joins && itg_rng_below(rng, 4) == 0,
             over = !joins && !sums && itg_rng_below(rng, 2) == 0;
        int64_t start = joins || sums || over ? 0 : (int64_t)itg_rng_below(rng, (uint64_t)m);
        itg_shape shape = SHAPE(joins  ? m + n
                                : sums ? 1
                                : over ? m
                                       : 1 + (int64_t)itg_rng_below(rng, (uint64_t)(m - start)));
        snprintf(name, sizeof name, "v%d", i);
        assert_int_equal(itg_program_add_step(p, ITG_STEP_FLOAT, name, joins ? 2 : 1, 1, &s, NULL),
                         ITG_OK);
        s->op = joins  ? ITG_OP_CONCAT
                : sums ? ITG_OP_REDUCE_SUM
                : over ? ITG_OP_RELU
                       : ITG_OP_SLICE;
        s->inputs[0] = a;
        if (joins) s->inputs[1] = b;
        s->attrs.keepdims = true;
        s->attrs.axes_count = 1;
        s->attrs.starts[0] = start;
        s->attrs.steps[0] = 1;
        assert_int_equal(itg_program_add_value(p, name, ITG_F32, &shape, &s->outputs[0], NULL),
                         ITG_OK);
    }
    p->output_count = 1 + (int32_t)itg_rng_below(rng, 3);
    for (int32_t i = 0; i < p->output_count; i++)
        p->outputs[i] = (int32_t)itg_rng_below(rng, (uint64_t)p->value_count);
    itg_error err;
    if (itg_program_finish(p, ITG_BOUNDS_STORE, &err) != ITG_OK) fail_msg("%s", err.message);
    *out = p;
}

/* Whether step `at` needs the value's memory: found by looking, not by the plan's own lives. */
static bool needed(const itg_program *p, int32_t value, int32_t at)
{
    int32_t made = -1, last = -1;
    for (int32_t i = 0; i < p->step_count; i++) {
        for (int32_t k = 0; k < p->steps[i].output_count; k++)
            if (p->steps[i].outputs[k] == value) made = last = i;
        for (int32_t k = 0; k < p->steps[i].input_count; k++)
            if (p->steps[i].inputs[k] == value) last = i;
    }
    for (int32_t i = 0; i < p->input_count; i++)
        if (p->inputs[i] == value) made = -1, last = p->step_count;
    for (int32_t i = 0; i < p->output_count; i++)
        if (p->outputs[i] == value) last = p->step_count;
    return made <= at && at <= last;
}

/* What every value holds: a mark an element. Moved elements keep theirs. */
static uint32_t **marks_of(const itg_program *p)
{
    uint32_t **marks = calloc((size_t)p->value_count, sizeof *marks), next = 1;
    for (int32_t i = 0; i < p->value_count; i++)
        marks[i] = calloc((size_t)p->values[i].elements, sizeof **marks);
    for (int32_t i = 0; i < p->input_count; i++)
        for (int64_t e = 0; e < p->values[p->inputs[i]].elements; e++)
            marks[p->inputs[i]][e] = next++;
    for (int32_t i = 0; i < p->step_count; i++) {
        const itg_step *s = &p->steps[i];
        int64_t count = p->values[s->outputs[0]].elements, first = p->values[s->inputs[0]].elements;
        for (int64_t e = 0; e < count; e++)
            marks[s->outputs[0]][e] = s->op == ITG_OP_SLICE
                                          ? marks[s->inputs[0]][e + s->attrs.starts[0]]
                                      : s->op != ITG_OP_CONCAT ? next++
                                      : e < first              ? marks[s->inputs[0]][e]
                                                               : marks[s->inputs[1]][e - first];
    }
    return marks;
}

static void free_marks(const itg_program *p, uint32_t **marks)
{
    for (int32_t i = 0; i < p->value_count; i++)
        free(marks[i]);
    free(marks);
}

/* Inputs lie elsewhere. Returns the steps that had nothing to do. */
static int replay(const itg_program *p, const itg_flow *plan, uint32_t **marks)
{
    const itg_flow_tensor *at = plan->tensors;
    const uint64_t bytes = plan->bytes;
    uint32_t *memory = calloc(bytes / 4 + 1, sizeof *memory);
    int idle = 0;
    for (int32_t i = 0; i < p->step_count; i++) {
        const itg_step *s = &p->steps[i];
        for (int32_t k = 0; k < s->input_count; k++)
            if (p->values[s->inputs[k]].producer != ITG_NONE)
                assert_memory_equal(memory + at[s->inputs[k]].offset / 4, marks[s->inputs[k]],
                                    p->values[s->inputs[k]].bytes);
        assert_true(at[s->outputs[0]].offset + p->values[s->outputs[0]].bytes <= bytes);
        idle += plan->steps[i].free;
        if (plan->steps[i].free) continue;
        memcpy(memory + at[s->outputs[0]].offset / 4, marks[s->outputs[0]],
               p->values[s->outputs[0]].bytes);
    }
    for (int32_t i = 0; i < p->value_count; i++)
        if (needed(p, i, p->step_count) && p->values[i].producer != ITG_NONE)
            assert_memory_equal(memory + at[i].offset / 4, marks[i], p->values[i].bytes);
    free(memory);
    return idle;
}

/* Where everything lies apart: the most bytes that one step needs. */
static size_t largest_live(const itg_program *p)
{
    size_t largest = 0;
    for (int32_t at = 0; at <= p->step_count; at++) {
        size_t live = 0;
        for (int32_t a = 0; a < p->value_count; a++)
            if (needed(p, a, at) && p->values[a].producer != ITG_NONE) live += p->values[a].bytes;
        if (live > largest) largest = live;
    }
    return largest;
}

static void every_step_reads_what_was_written_for_it(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 11);
    int idle = 0, below = 0, inside = 0;
    for (int round = 0; round < 200; round++) {
        itg_program *p;
        itg_flow d;
        random_program(&rng, &p);
        uint32_t **marks = marks_of(p);
        assert_int_equal(itg_program_flow(p, 4, &d, NULL), ITG_OK);
        idle += replay(p, &d, marks);
        for (int32_t i = 0; i < p->value_count; i++)
            inside += d.tensors[i].home != ITG_NONE && d.tensors[i].home != i;
        assert_true(d.bytes >= d.least && d.bytes % 4 == 0);
        assert_true(d.least <= largest_live(p));
        below += d.bytes < largest_live(p);
        itg_program_flow_deinit(&d);
        free_marks(p, marks);
        itg_program_destroy(p);
    }
    assert_true(idle > 200 && below > 20 && inside > 400);
}

static bool overlap(size_t a, size_t a_bytes, size_t b, size_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

static void scratch_lies_beside_its_step(void **state)
{
    (void)state;
    fixture f = fx_begin("scratch");
    itg_id x = fx_input(&f, "x", SHAPE(1, 2, 8, 8));
    itg_id y = fx_node(&f, "y", ITG_OP_GLOBAL_AVERAGE_POOL, LIST(x), SHAPE(1, 2, 1, 1));
    fx_outputs(&f, LIST(y));
    fx_annotate(&f);
    fx_codes(&f, x, ITG_S8, 8, 1, 0);
    fx_note(&f, y, ITG_FORM_RESCALE, 32);
    fx_requant(&f, fx_codes(&f, y, ITG_S8, 8, 1, 0), (const int64_t[]){1}, 1, 6);
    fx_finish(&f);
    itg_program *p = fx_program(&f);
    itg_batch_plan *plan = NULL;
    int scratches = 0;
    assert_int_equal(itg_batch_plan_create(p, &(itg_batch_options){.block = 3}, &plan, NULL),
                     ITG_OK);
    for (int32_t i = 0; i < plan->operation_count; i++) {
        const itg_batch_operation *o = &plan->operations[i];
        scratches += o->scratch_bytes > 0;
        for (int32_t k = 0; k < p->value_count * ITG_LAYOUT_COUNT && o->scratch_bytes > 0; k++) {
            const itg_batch_place *at = &plan->places[k];
            if (!at->used || at->first > i || at->last < i) continue;
            assert_false(overlap(o->scratch_offset, o->scratch_bytes, at->offset,
                                 3 * itg_place_value(plan, k)->bytes));
        }
    }
    assert_true(scratches > 0);
    itg_batch_plan_destroy(plan);
    itg_program_destroy(p);
    fx_end(&f);
}

static void a_program_too_large_is_refused(void **state)
{
    (void)state;
    itg_program *p = NULL;
    itg_step *s;
    itg_error err;
    itg_shape small = SHAPE(1), large = SHAPE(1 << 30);
    assert_int_equal(itg_program_create("large", &p, NULL), ITG_OK);
    p->inputs = itg_arena_array(p->arena, 1, sizeof *p->inputs);
    p->outputs = itg_arena_array(p->arena, 2, sizeof *p->outputs);
    assert_int_equal(itg_program_add_value(p, "x", ITG_F32, &small, &p->inputs[0], NULL), ITG_OK);
    p->input_count = 1;
    for (int i = 0; i < 2; i++, p->output_count++) {
        assert_int_equal(itg_program_add_step(p, ITG_STEP_FLOAT, "e", 1, 1, &s, NULL), ITG_OK);
        s->op = ITG_OP_EXPAND;
        s->inputs[0] = p->inputs[0];
        assert_int_equal(
            itg_program_add_value(p, i == 0 ? "a" : "b", ITG_F32, &large, &s->outputs[0], NULL),
            ITG_OK);
        p->outputs[i] = s->outputs[0];
    }
    assert_int_equal(itg_program_finish(p, ITG_BOUNDS_STORE, &err), ITG_OK);
    itg_batch_plan *plan = NULL;
    assert_int_equal(itg_batch_plan_create(p, &(itg_batch_options){.block = 1}, &plan, &err),
                     ITG_LIMIT);
    assert_non_null(strstr(err.message, "a block of 1 samples needs"));
    itg_program_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_reads_what_was_written_for_it),
        cmocka_unit_test(scratch_lies_beside_its_step),
        cmocka_unit_test(a_program_too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
