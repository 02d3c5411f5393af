/* Steps computed by stripes of rows give the codes of the whole program, in the executor and as C
 * source, and take the memory that is asked for. */
#include "program_maker.h"
#include "recurrent_program.h"
#define FOLDER TEST_FOLDER "/emitted_tiles"
#include "emitted.h"
#include "realize/tile.h"
#include "tests/single.h"
#include "tests/slow.h"

/* ---- the same codes ---- */

static single *instance_of(const itg_program *p)
{
    single *n = NULL;
    itg_error err = {0};
    if (single_create(p, &n, &err) != ITG_OK) fail_msg("%s", err.message);
    return n;
}

static void fill(single *n, const itg_program *p, uint64_t seed)
{
    itg_rng rng;
    itg_rng_init(&rng, seed);
    for (int32_t i = 0; i < p->input_count; i++) {
        const itg_pvalue *v = &p->values[p->inputs[i]];
        for (int64_t k = 0; k < v->elements; k++)
            if (v->dtype == ITG_F32)
                ((float *)single_input(n, i))[k] =
                    (float)((int64_t)itg_rng_below(&rng, 401) - 200) / 16;
            else
                itg_store(v->dtype, single_input(n, i), k, (int64_t)itg_rng_below(&rng, 2));
    }
}

/* Runs both on the same inputs and compares every byte of the outputs. */
static void assert_same(const itg_program *p, const itg_program *q, uint64_t seed)
{
    single *a = instance_of(p), *b = instance_of(q);
    assert_int_equal(p->output_count, q->output_count);
    for (uint64_t run = 0; run < 2; run++) {
        fill(a, p, seed * 2 + run);
        fill(b, q, seed * 2 + run);
        assert_int_equal(single_run(a, NULL), ITG_OK);
        assert_int_equal(single_run(b, NULL), ITG_OK);
        for (int32_t i = 0; i < p->output_count; i++) {
            const itg_tensor x = single_output(a, i), y = single_output(b, i);
            assert_int_equal(p->values[p->outputs[i]].bytes, q->values[q->outputs[i]].bytes);
            assert_memory_equal(x.data, y.data, p->values[p->outputs[i]].bytes);
        }
    }
    single_destroy(a);
    single_destroy(b);
}

/* Checks some numbers of stripes of each run of steps that fits. Returns how many had several
 * steps. */
static int check_stripes(const itg_program *p, uint64_t seed)
{
    int found = 0;
    for (int32_t first = 0; first < p->step_count; first++)
        for (int32_t last = first; last < p->step_count; last++) {
            if (!itg_stripes_fit(p, first, last)) continue;
            const int64_t rows = p->values[p->steps[last].outputs[0]].shape.dims[2];
            for (int32_t n = 1; n <= rows; n = n < 3 ? n + 1 : n < rows ? (int32_t)rows : n + 1) {
                itg_program *q = NULL;
                itg_error err = {0};
                const itg_stripes stripes = {first, last, n, false};
                if (itg_stripes_build(p, &stripes, &q, &err) != ITG_OK) fail_msg("%s", err.message);
                assert_same(p, q, seed);
                itg_program_destroy(q);
                found += n > 1 && last > first;
            }
        }
    return found;
}

static void stripes_give_the_codes_of_the_whole(void **state)
{
    (void)state;
    int found = 0;
    for (uint64_t seed = 1; seed <= (ITG_IS_SLOW ? 10u : 40u); seed++) {
        itg_program *(*const make[])(uint64_t) = {random_program, random_integer_program,
                                                  random_form_program};
        for (int i = 0; i < 3; i++) {
            itg_program *p = make[i](seed);
            found += check_stripes(p, seed);
            itg_program_destroy(p);
        }
    }
    print_message("%d runs of several steps by stripes\n", found);
    assert_true(found > (ITG_IS_SLOW ? 10 : 50));
}

/* ---- as C source ---- */

/* The longest run of steps that can be computed by stripes; false: none of several. */
static bool longest(const itg_program *p, itg_stripes *out)
{
    *out = (itg_stripes){0, 0, 0, false};
    for (int32_t first = 0; first < p->step_count; first++)
        for (int32_t last = first + 1; last < p->step_count; last++) {
            const int64_t rows = p->values[p->steps[last].outputs[0]].shape.rank > 2
                                     ? p->values[p->steps[last].outputs[0]].shape.dims[2]
                                     : 1;
            if (rows < 2 || last - first <= out->last - out->first) continue;
            if (itg_stripes_fit(p, first, last))
                *out = (itg_stripes){first, last, rows < 3 ? 2 : 3, false};
        }
    return out->count > 0;
}

static void stripes_give_the_same_as_c_source(void **state)
{
    (void)state;
    int emitted = 0;
    if (!has_compiler()) {
        print_message("skipped: no compiler\n");
        skip();
    }
    for (uint64_t seed = 1; emitted < (ITG_IS_SLOW ? 3 : 10) && seed < 400; seed++) {
        itg_program *p = random_integer_program(seed), *q = NULL;
        itg_stripes stripes;
        itg_error err = {0};
        if (longest(p, &stripes)) {
            assert_int_equal(itg_stripes_build(p, &stripes, &q, &err), ITG_OK);
            if (emits(q, "tile", 3, &err)) {
                compile_and_run("tile", FLAGS " -O1", seed);
                emitted++;
            }
        }
        itg_program_destroy(q);
        itg_program_destroy(p);
    }
    assert_int_equal(emitted, ITG_IS_SLOW ? 3 : 10);
}

/* ---- products of many rows ---- */

static void products_of_parts_give_the_codes_of_the_whole(void **state)
{
    (void)state;
    for (int shuffled = 0; shuffled < 2; shuffled++) {
        itg_program *p = recurrent_program(MOST_STEPS, shuffled == 1, RECURRENT_PRODUCT);
        itg_program *q = NULL;
        itg_tiling t;
        itg_error err = {0};
        int64_t whole = 0, bytes = 0;
        bool any = false;
        assert_int_equal(itg_products_find(p, &any, NULL), ITG_OK);
        assert_true(any);
        assert_int_equal(itg_program_arena_bytes(p, &whole, NULL), ITG_OK);
        if (itg_program_tile(p, whole / 4, &t, &q, &err) != ITG_OK) fail_msg("%s", err.message);
        assert_true(t.by_products);
        assert_int_equal(t.layers, 0);
        assert_int_equal(t.macs, t.whole_macs);
        assert_int_equal(itg_program_arena_bytes(q, &bytes, NULL), ITG_OK);
        assert_true(bytes == t.bytes && bytes <= whole / 4);
        assert_same(p, q, 3);
        if (has_compiler()) {
            assert_true(emits(q, "rows", 3, &err));
            compile_and_run("rows", FLAGS " -O1", 0);
        }
        itg_program_destroy(q);
        itg_program_destroy(p);
    }
    itg_program *p = recurrent_program(8, false, RECURRENT_TABLE);
    bool any = true;
    assert_int_equal(itg_products_find(p, &any, NULL), ITG_OK);
    assert_false(any);
    itg_program_destroy(p);
}

/* ---- the choice ---- */

/* Convolutions of 3x3, of which the first widens the image to 16 channels and the last narrows it
 * again. */
static itg_program *wide_in_the_middle(void)
{
    maker m = {.integer = true};
    itg_error err = {0};
    itg_rng_init(&m.rng, 1);
    assert_int_equal(itg_program_create("wide", &m.p, NULL), ITG_OK);
    itg_program *p = m.p;
    const itg_shape image = {4, {1, 2, 24, 24}};
    const int32_t input = add_value(&m, ITG_F32, image);
    int32_t x = add_codes(&m, image, NULL);
    itg_step *s = add_step(&m, ITG_STEP_QUANTIZE, ITG_OP_IDENTITY, 1, 1);
    s->inputs[0] = input;
    s->outputs[0] = x;
    for (int i = 0; i < 3; i++) {
        const itg_shape y = {4, {1, i < 2 ? 16 : 2, 24, 24}};
        const itg_shape taps = {4, {y.dims[1], value(&m, x)->shape.dims[1], 3, 3}};
        const int32_t w = add_constant(&m, taps, true);
        s = add_step(&m, ITG_STEP_CONV, ITG_OP_CONV, 2, 1);
        s->attrs = itg_attrs_default(ITG_OP_CONV);
        s->attrs.spatial_rank = 2;
        s->attrs.kernel[0] = s->attrs.kernel[1] = 3;
        for (int d = 0; d < 4; d++)
            s->attrs.pad[d] = 1;
        s->inputs[0] = x;
        s->inputs[1] = w;
        s->acc = (itg_accumulator){32, ITG_OVERFLOW_WRAP};
        add_encodings(&m, s, y, 20000, y.dims[1]);
        x = s->outputs[0];
    }
    p->inputs = itg_arena_array(p->arena, 1, sizeof *p->inputs);
    p->outputs = itg_arena_array(p->arena, 1, sizeof *p->outputs);
    p->inputs[p->input_count++] = input;
    p->outputs[p->output_count++] = x;
    if (itg_program_finish(p, ITG_BOUNDS_STORE, &err) != ITG_OK) fail_msg("%s", err.message);
    return p;
}

static void the_memory_asked_for_is_not_exceeded(void **state)
{
    (void)state;
    int64_t whole = 0, last_macs = 0;
    itg_program *p = wide_in_the_middle();
    assert_int_equal(itg_program_arena_bytes(p, &whole, NULL), ITG_OK);
    for (int64_t share = 100; share >= 40; share -= 20) {
        itg_program *tiled = NULL;
        itg_tiling t = {0};
        int64_t bytes = 0;
        itg_error err = {0};
        if (itg_program_tile(p, whole * share / 100, &t, &tiled, &err) != ITG_OK)
            fail_msg("%s", err.message);
        assert_int_equal(tiled != NULL, share < 100);
        const itg_program *q = tiled ? tiled : p;
        assert_int_equal(itg_program_arena_bytes(q, &bytes, NULL), ITG_OK);
        assert_true(bytes <= whole * share / 100);
        assert_int_equal(t.bytes, bytes);
        assert_int_equal(t.whole_bytes, whole);
        assert_int_equal(t.layers > 0, share < 100);
        assert_true(t.macs >= last_macs); /* less memory, more work */
        assert_true(t.macs == itg_program_macs(q));
        last_macs = t.macs;
        assert_same(p, q, 7);
        itg_program_destroy(tiled);
    }
    assert_true(last_macs > itg_program_macs(p));
    itg_program_destroy(p);
}

static void what_no_stripes_reach_is_refused(void **state)
{
    (void)state;
    itg_program *p = wide_in_the_middle(), *q = NULL;
    itg_tiling t = {0};
    itg_error err = {0};
    assert_int_equal(itg_program_tile(p, 100, &t, &q, &err), ITG_INFEASIBLE);
    assert_null(q);
    assert_non_null(strstr(err.message, "wide: it takes "));
    assert_non_null(strstr(err.message, "; 100 are allowed"));
    itg_program_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stripes_give_the_codes_of_the_whole),
        cmocka_unit_test(stripes_give_the_same_as_c_source),
        cmocka_unit_test(products_of_parts_give_the_codes_of_the_whole),
        cmocka_unit_test(the_memory_asked_for_is_not_exceeded),
        cmocka_unit_test(what_no_stripes_reach_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
