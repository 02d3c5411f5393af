/* The plan on random programs: what lives at the same time shares no byte; memory is less than
 * everything side by side and no less than the largest live set. */
#include "fixture.h"
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
             codes = !joins && itg_rng_below(rng, 4) == 0;
        itg_shape shape = SHAPE(joins   ? m + n
                                : codes ? 1
                                        : 1 + (int64_t)itg_rng_below(rng, (uint64_t)m));
        snprintf(name, sizeof name, "v%d", i);
        assert_int_equal(itg_program_add_step(p, ITG_STEP_FLOAT, name, joins ? 2 : 1, 1, &s, NULL),
                         ITG_OK);
        s->op = joins ? ITG_OP_CONCAT : codes ? ITG_OP_REDUCE_SUM : ITG_OP_SLICE;
        s->inputs[0] = a;
        if (joins) s->inputs[1] = b;
        s->attrs.keepdims = true;
        s->attrs.axes_count = 1;
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

static bool overlap(const itg_pvalue *a, const itg_pvalue *b)
{
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static void live_values_never_share_memory(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 11);
    int sharing = 0;
    for (int round = 0; round < 60; round++) {
        itg_program *p;
        random_program(&rng, &p);
        size_t all = 0, largest = 0;
        for (int32_t at = 0; at <= p->step_count; at++) {
            size_t live = 0;
            for (int32_t a = 0; a < p->value_count; a++) {
                if (!needed(p, a, at)) continue;
                live += p->values[a].bytes;
                assert_true(p->values[a].offset + p->values[a].bytes <= p->instance_bytes);
                assert_int_equal(p->values[a].offset % 64, 0);
                for (int32_t b = 0; b < a; b++)
                    assert_false(needed(p, b, at) && overlap(&p->values[a], &p->values[b]));
            }
            if (live > largest) largest = live;
        }
        for (int32_t a = 0; a < p->value_count; a++)
            all += (p->values[a].bytes + 63) / 64 * 64;
        assert_true(p->instance_bytes >= largest);
        assert_true(p->instance_bytes <= all);
        sharing += p->instance_bytes < all;
        itg_program_destroy(p);
    }
    assert_true(sharing > 40);
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
    const itg_step *s = &p->steps[1];
    assert_true(s->scratch_bytes >= 2 * (8 + 4));
    for (int32_t k = 0; k < p->value_count; k++) {
        itg_pvalue scratch = {.offset = s->scratch_offset, .bytes = s->scratch_bytes};
        assert_false(overlap(&p->values[k], &scratch));
    }
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
    assert_int_equal(itg_program_finish(p, ITG_BOUNDS_STORE, &err), ITG_LIMIT);
    assert_non_null(strstr(err.message, "one instance needs"));
    itg_program_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(live_values_never_share_memory),
        cmocka_unit_test(scratch_lies_beside_its_step),
        cmocka_unit_test(a_program_too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
