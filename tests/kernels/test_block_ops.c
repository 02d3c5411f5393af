/* Rows of codes at once (block_ops.h) against int_ops.h and requant.h, by every kernel set. */
#include "accel_cases.h"
#include "kernels/accel_parts.h"
#include "kernels/block_ops.h"
#include <math.h>

enum { MOST = 3000, MOST_OUT = 3, BYTES = 256, PAIRS = BYTES * BYTES };

typedef struct trial {
    itg_int_binary k;
    itg_dtype storage[2];
    itg_int_operand x[2];
    itg_requant requant[MOST_OUT];
    float scale[MOST_OUT];
    itg_epilogue out[MOST_OUT];
    int32_t out_count;
    int64_t n;
    guarded codes[2], y[MOST_OUT];
} trial;

static itg_requant form_requant(itg_rng *rng, itg_requant_form form, int low, int high)
{
    const itg_requant_spec spec = {
        .form = form, .shift_rounding = (itg_rounding)itg_rng_below(rng, ITG_ROUNDING_COUNT)};
    const double fraction = form == ITG_REQUANT_SHIFT ? 0.5 : 0.5 + itg_rng_unit(rng) / 2;
    const double ratio = ldexp(fraction, (int)between(rng, low, high));
    itg_requant r;
    assert_int_equal(itg_requant_derive(&spec, ratio, (float)ratio, 0, &r), ITG_OK);
    return r;
}

static itg_dtype code_storage(itg_rng *rng, bool bytes)
{
    static const itg_dtype all[] = {ITG_S8, ITG_U8, ITG_S16, ITG_U16};
    return all[itg_rng_below(rng, bytes ? 2 : 4)];
}

static void draw_operand(itg_rng *rng, trial *t, int i, bool bytes)
{
    const itg_dtype storage = code_storage(rng, bytes);
    const int64_t least = itg_dtype_min(storage), most = itg_dtype_max(storage);
    itg_int_operand *x = &t->x[i];
    t->codes[i] = guard((size_t)t->n * itg_dtype_size(storage), itg_dtype_size(storage));
    *x = (itg_int_operand){storage, t->codes[i].data, 0, least, most};
    if (itg_rng_below(rng, 2)) {
        x->qmax = between(rng, 1, most);
        x->qmin = least < 0 ? -x->qmax : 0;
    }
    x->zero_point = between(rng, x->qmin, x->qmax);
    const bool ends = itg_rng_below(rng, 4) == 0;
    for (int64_t j = 0; j < t->n; j++)
        itg_store(storage, t->codes[i].data, j,
                  !ends                   ? between(rng, x->qmin, x->qmax)
                  : itg_rng_below(rng, 2) ? x->qmin
                                          : x->qmax);
}

static void draw_outputs(itg_rng *rng, trial *t, bool floats)
{
    t->out_count = (int32_t)between(rng, 1, MOST_OUT);
    for (int32_t o = 0; o < t->out_count; o++) {
        const itg_dtype storage = code_storage(rng, itg_rng_below(rng, 3) > 0);
        const int64_t lo = itg_dtype_min(storage), hi = itg_dtype_max(storage);
        if (floats && itg_rng_below(rng, 3) == 0) {
            t->y[o] = guard((size_t)t->n * sizeof(float), sizeof(float));
            t->out[o] = (itg_epilogue){.storage = ITG_F32,
                                       .out = t->y[o].data,
                                       .float_lo = itg_rng_below(rng, 2) ? 0 : -INFINITY,
                                       .float_hi = itg_rng_below(rng, 2) ? 6 : INFINITY};
            continue;
        }
        t->requant[o] = form_requant(rng, (itg_requant_form)itg_rng_below(rng, 3), -24, 2);
        if (itg_rng_below(rng, 4) == 0) t->requant[o] = form_requant(rng, ITG_REQUANT_F32, -24, 2);
        t->scale[o] = (float)ldexp(0.5 + itg_rng_unit(rng), (int)between(rng, -3, 3));
        t->out[o] = (itg_epilogue){.storage = storage,
                                   .requant = floats ? NULL : &t->requant[o],
                                   .requant_count = floats ? 0 : 1,
                                   .zero_point = between(rng, lo, hi),
                                   .lo = itg_rng_below(rng, 2) ? lo : between(rng, lo, 3),
                                   .hi = itg_rng_below(rng, 2) ? hi : between(rng, 4, hi)};
        t->y[o] = guard((size_t)t->n * itg_dtype_size(storage), itg_dtype_size(storage));
        t->out[o].out = t->y[o].data;
    }
}

static void draw_trial(itg_rng *rng, trial *t, itg_binary_form form, bool bytes)
{
    memset(t, 0, sizeof *t);
    t->n = itg_rng_below(rng, 4) ? between(rng, 1, 200) : between(rng, 1, MOST);
    for (int i = 0; i < 2; i++)
        draw_operand(rng, t, i, bytes);
    draw_outputs(rng, t, form == ITG_BINARY_F32 || form == ITG_BINARY_F32_PRODUCT);
    const itg_requant_form scaling = (itg_requant_form)itg_rng_below(rng, 3);
    t->k = (itg_int_binary){.form = form,
                            .sign = itg_rng_below(rng, 3) ? 1 : -1,
                            .left_shift = (int32_t)between(rng, 0, bytes ? 20 : 12),
                            .ra = form_requant(rng, scaling, -6, 0),
                            .rb = form_requant(rng, scaling, -6, 0),
                            .scale_a = (float)(0.1 + itg_rng_unit(rng)),
                            .scale_b = (float)(0.1 + itg_rng_unit(rng)),
                            .scale_out = t->scale,
                            .acc = {itg_rng_below(rng, 2) ? 32 : 0, ITG_OVERFLOW_SATURATE}};
}

static void release(trial *t)
{
    for (int i = 0; i < 2; i++)
        unguard(&t->codes[i]);
    for (int32_t o = 0; o < t->out_count; o++)
        unguard(&t->y[o]);
}

/* Is there a fast form? Then its outputs are int_ops.h's. */
static bool check(const itg_accel_kernels *kernels, const trial *t)
{
    itg_arena *arena = itg_arena_create(0);
    itg_block_element *made = NULL;
    void *y[MOST_OUT], *expected[MOST_OUT];
    itg_epilogue out[MOST_OUT];
    for (int32_t o = 0; o < t->out_count; o++) {
        y[o] = t->out[o].out;
        expected[o] = buffer(t->n * (int64_t)sizeof(float));
        out[o] = t->out[o];
        out[o].out = expected[o];
    }
    assert_int_equal(itg_block_binary_create(kernels, &t->k, &t->x[0], &t->x[1], t->out,
                                             t->out_count, arena, &made, NULL),
                     ITG_OK);
    if (made) {
        itg_broadcast shape = {.out = {1, {t->n}}, .stride_a = {1}, .stride_b = {1}};
        itg_block_element_run(made, t->x[0].data, t->x[1].data, y, t->n);
        itg_int_binary_run(&t->k, &shape, &t->x[0], &t->x[1], out, t->out_count);
    }
    for (int32_t o = 0; o < t->out_count; o++) {
        const size_t bytes = (size_t)t->n * itg_dtype_size(t->out[o].storage);
        if (made) assert_memory_equal(y[o], expected[o], bytes);
        guarded_free(expected[o]);
    }
    itg_arena_destroy(arena);
    return made != NULL;
}

static void sums_and_products_equal_single_ones(void **state)
{
    (void)state;
    enum { TRIALS = 1500 };
    enum { FORMS = 5 };
    static const itg_binary_form forms[FORMS] = {ITG_BINARY_RESCALE, ITG_BINARY_EQUAL,
                                                 ITG_BINARY_PRODUCT, ITG_BINARY_F32,
                                                 ITG_BINARY_F32_PRODUCT};
    for (int s = 1; itg_accel_set(s); s++) {
        const itg_accel_kernels *kernels = set_or_skip(itg_accel_set(s));
        if (!kernels) continue;
        itg_rng rng;
        itg_rng_init(&rng, 91);
        int fast[FORMS] = {0};
        for (int i = 0; i < TRIALS; i++) {
            trial t;
            draw_trial(&rng, &t, forms[i % FORMS], itg_rng_below(&rng, 2));
            fast[i % FORMS] += check(kernels, &t);
            release(&t);
        }
        for (int i = 0; i < FORMS; i++) /* the exceptions are exceptions */
            assert_in_range(fast[i], TRIALS / FORMS / 3, TRIALS / FORMS);
    }
}

/* Every pair of bytes, and lengths that leave tails of all sizes. */
static void rescaled_sums_of_all_bytes(void **state)
{
    (void)state;
    for (int s = 1; itg_accel_set(s); s++) {
        const itg_accel_kernels *kernels = set_or_skip(itg_accel_set(s));
        if (!kernels) continue;
        itg_rng rng;
        itg_rng_init(&rng, 92);
        int fast = 0;
        for (int i = 0; i < 16; i++) {
            trial t;
            do { /* both storages, in any order */
                draw_trial(&rng, &t, ITG_BINARY_RESCALE, true);
                if (t.out_count > 0) release(&t);
            } while ((t.x[0].storage == ITG_S8) != (i % 2 > 0) ||
                     (t.x[1].storage == ITG_S8) != (i / 2 % 2 > 0));
            t.n = PAIRS - i;
            for (int j = 0; j < 2; j++) {
                t.codes[j] = guard((size_t)t.n, 1);
                t.x[j].data = t.codes[j].data;
                t.x[j].qmin = itg_dtype_min(t.x[j].storage);
                t.x[j].qmax = itg_dtype_max(t.x[j].storage);
                for (int64_t p = 0; p < t.n; p++)
                    t.codes[j].data[p] = (unsigned char)(j == 0 ? p : p / BYTES);
            }
            for (int32_t o = 0; o < t.out_count; o++) {
                t.y[o] = guard((size_t)t.n * itg_dtype_size(t.out[o].storage), 2);
                t.out[o].out = t.y[o].data;
                t.out[o].requant = &t.requant[o];
            }
            t.k.scale_out = t.scale;
            fast += check(kernels, &t);
            release(&t);
        }
        assert_in_range(fast, 8, 16);
    }
}

static void check_tables(const itg_accel_kernels *kernels, itg_rng *rng)
{
    trial t;
    draw_trial(rng, &t, ITG_BINARY_EQUAL, itg_rng_below(rng, 3) > 0);
    const itg_int_operand *x = &t.x[0];
    const int64_t entries = x->qmax - x->qmin + 1;
    const itg_dtype storage = itg_rng_below(rng, 2) ? ITG_S8 : ITG_U8;
    int32_t *table = buffer(entries * (int64_t)sizeof *table);
    float *numbers = buffer(entries * (int64_t)sizeof *numbers);
    for (int64_t e = 0; e < entries; e++) {
        table[e] = (int32_t)between(rng, itg_dtype_min(storage), itg_dtype_max(storage));
        numbers[e] = (float)table[e] * 0.25F;
    }
    guarded y = guard((size_t)t.n, 1), z = guard((size_t)t.n * sizeof(float), sizeof(float));
    itg_block_lut(kernels, &(itg_lut){table, 0, storage}, x, t.n, y.data);
    itg_block_lut(kernels, &(itg_lut){numbers, 0, ITG_F32}, x, t.n, z.data);
    for (int64_t j = 0; j < t.n; j++) {
        const int64_t entry = itg_load(x->storage, x->data, j) - x->qmin;
        float number;
        memcpy(&number, z.data + (size_t)j * sizeof number, sizeof number);
        assert_int_equal(itg_load(storage, y.data, j), table[entry]);
        assert_true(number == numbers[entry]);
    }
    unguard(&y);
    unguard(&z);
    guarded_free(table);
    guarded_free(numbers);
    release(&t);
}

static void tables_equal_single_entries(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 93);
    for (int s = 0; itg_accel_set(s); s++) {
        const itg_accel_kernels *kernels = set_or_skip(itg_accel_set(s));
        for (int i = 0; kernels && i < 200; i++)
            check_tables(kernels, &rng);
    }
}

/* Exactly the straight line between two entries, rounded half up. */
static void wide_codes_lie_between_two_entries(void **state)
{
    (void)state;
    enum { FROM = -3000, TO = 2999, CODES = TO - FROM + 1 };
    static int16_t codes[CODES], out[CODES];
    static int32_t table[CODES + 2];
    itg_rng rng;
    itg_rng_init(&rng, 5);
    for (int i = 0; i < CODES; i++)
        codes[i] = (int16_t)(FROM + i);
    for (int32_t shift = 1; shift <= 14; shift++) {
        const int32_t step = 1 << shift, first = (int32_t)floor((double)FROM / step);
        for (int i = 0; i < CODES + 2; i++)
            table[i] = (int32_t)between(&rng, INT16_MIN, INT16_MAX);
        const itg_int_operand x = {.data = codes, .storage = ITG_S16, .qmin = FROM, .qmax = TO};
        itg_block_lut(&itg_accel_reference, &(itg_lut){table, shift, ITG_S16}, &x, CODES, out);
        for (int i = 0; i < CODES; i++) {
            const double at = (double)codes[i] / step - first, part = at - floor(at);
            const double a = table[(int)at], b = table[(int)at + 1];
            assert_int_equal(out[i], (int)floor(a + (b - a) * part + 0.5));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_products_equal_single_ones),
        cmocka_unit_test(rescaled_sums_of_all_bytes),
        cmocka_unit_test(tables_equal_single_entries),
        cmocka_unit_test(wide_codes_lie_between_two_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
