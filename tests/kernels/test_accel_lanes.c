/* Requantization in lanes against one value at a time, every form and rounding; and the proof that
 * a kernel set must pass, given sets that are wrong. */
#include "accel_cases.h"
#include "kernels/accel_parts.h"

enum { CHANNELS = 75, ROWS = 9, STRIDE = 96, FIT_BITS = 20 };

typedef struct block {
    int32_t acc32[ROWS * STRIDE];
    int64_t acc64[ROWS * STRIDE];
    int32_t bias32[CHANNELS + ITG_MAX_COLUMNS];
    int64_t bias64[CHANNELS + ITG_MAX_COLUMNS];
    itg_requant requant[CHANNELS];
    float dequant[CHANNELS];
    itg_epilogue e;
    int64_t bound; /* of a sum with its bias */
    int32_t fit;
    bool wide;
} block;

/* ---- random constants ---- */

static itg_requant_spec random_spec(itg_rng *rng)
{
    itg_requant_spec spec = {.form = (itg_requant_form)itg_rng_below(rng, ITG_REQUANT_FORM_COUNT),
                             .multiplier_bits = (int32_t)between(rng, 8, 32),
                             .multiply_shift = (int32_t)between(rng, -1, 31),
                             .pre_shift_bits =
                                 itg_rng_below(rng, 2) ? 0 : (int32_t)between(rng, 12, 32)};
    spec.pre_rounding = (itg_rounding)itg_rng_below(rng, ITG_ROUNDING_COUNT);
    spec.multiply_rounding = (itg_rounding)itg_rng_below(rng, ITG_ROUNDING_COUNT);
    spec.shift_rounding = (itg_rounding)itg_rng_below(rng, ITG_ROUNDING_COUNT);
    return spec;
}

static void draw_requants(itg_rng *rng, block *t)
{
    const itg_requant_spec spec = random_spec(rng);
    const int low = (int)between(rng, -25, 3);
    for (int c = 0; c < CHANNELS; c++) {
        double ratio = ldexp(0.5 + itg_rng_unit(rng) / 2, low + (int)itg_rng_below(rng, 4));
        if (spec.form == ITG_REQUANT_SHIFT) ratio = ldexp(1, low + (int)itg_rng_below(rng, 4));
        memset(&t->requant[c], 0, sizeof t->requant[c]);
        (void)itg_requant_derive(&spec, ratio, (float)ratio, t->bound, &t->requant[c]);
        t->dequant[c] = (float)ratio;
    }
    if (itg_rng_below(rng, 8) == 0) /* no channel like the others */
        for (int c = 0; c < CHANNELS; c++)
            t->requant[c] = random_requant(rng);
}

static void draw_output(itg_rng *rng, block *t)
{
    static const itg_dtype all[] = {ITG_U8, ITG_S8, ITG_U16, ITG_S16, ITG_S32, ITG_S64, ITG_F32};
    const itg_dtype storage = all[itg_rng_below(rng, 7)];
    t->e = (itg_epilogue){.storage = storage,
                          .requant = t->requant,
                          .requant_count = itg_rng_below(rng, 8) ? CHANNELS : 1,
                          .dequant = t->dequant,
                          .dequant_count = itg_rng_below(rng, 8) ? CHANNELS : 0,
                          .float_lo = itg_rng_below(rng, 2) ? 0 : -INFINITY,
                          .float_hi = itg_rng_below(rng, 2) ? 6 : INFINITY};
    if (storage == ITG_F32) return;
    int64_t lo = storage == ITG_S64 ? -100000 : itg_dtype_min(storage);
    int64_t hi = storage == ITG_S64 ? 100000 : itg_dtype_max(storage);
    t->e.zero_point = itg_dtype_size(storage) > 2 ? 0 : between(rng, lo, hi);
    t->e.lo = itg_rng_below(rng, 2) ? lo : between(rng, lo, t->e.zero_point);
    t->e.hi = itg_rng_below(rng, 2) ? hi : between(rng, t->e.zero_point, hi);
}

/* Sums within the bound, a third of them at its ends or near zero; the bias is taken off again. */
static void draw_sums(itg_rng *rng, block *t)
{
    t->wide = itg_rng_below(rng, 2);
    t->bound = ((int64_t)1 << between(rng, 4, t->wide ? 47 : 31)) - 1;
    t->fit = itg_rng_below(rng, 8) ? 0 : (t->wide ? 64 : 32) - FIT_BITS;
    if (t->fit > 0) t->bound = (int64_t)1 << (FIT_BITS - 1);
    for (int c = 0; c < CHANNELS; c++) {
        t->bias32[c] = (int32_t)itg_rng_next(rng);
        t->bias64[c] = (int64_t)itg_rng_next(rng);
    }
    for (int i = 0; i < ROWS * STRIDE; i++) {
        int64_t sum = between(rng, -t->bound, t->bound), near = between(rng, -3, 3);
        if (itg_rng_below(rng, 3) == 0)
            sum = itg_rng_below(rng, 2) ? near : near > 0 ? near - t->bound - 1 : t->bound + near;
        if (sum > t->bound || sum < -t->bound) sum = t->bound;
        if (t->fit > 0) sum = (int64_t)itg_rng_next(rng) >> 32;
        t->acc32[i] =
            (int32_t)((uint32_t)(uint64_t)sum - (uint32_t)t->bias32[i % STRIDE % CHANNELS]);
        t->acc64[i] = (int64_t)((uint64_t)sum - (uint64_t)t->bias64[i % STRIDE % CHANNELS]);
    }
}

static int64_t sum_of(const block *t, int row, int64_t channel)
{
    uint64_t sum = t->wide
                       ? (uint64_t)t->acc64[row * STRIDE + channel] + (uint64_t)t->bias64[channel]
                       : (uint64_t)(int64_t)(int32_t)((uint32_t)t->acc32[row * STRIDE + channel] +
                                                      (uint32_t)t->bias32[channel]);
    const itg_accumulator acc = {FIT_BITS, ITG_OVERFLOW_WRAP};
    return t->fit > 0 ? itg_accumulator_fit(acc, (int64_t)sum) : (int64_t)sum;
}

/* ---- one value at a time ---- */
static void expect(const block *t, const void *out, int64_t at, int64_t sum, int64_t channel)
{
    const itg_epilogue *e = &t->e;
    if (e->storage == ITG_F32) {
        volatile float f = (float)sum;
        if (e->dequant_count > 0) f = f * e->dequant[channel % e->dequant_count];
        float limited = f < e->float_lo ? e->float_lo : f > e->float_hi ? e->float_hi : f;
        assert_memory_equal((const float *)out + at, &limited, sizeof limited);
        return;
    }
    wide code = itg_requant_apply(&e->requant[channel % e->requant_count], sum);
    code += e->zero_point;
    code = code < e->lo ? e->lo : code > e->hi ? e->hi : code;
    assert_true(itg_load(e->storage, out, at) == (int64_t)code);
}

static void check_block(const itg_accel_kernels *kernels, const block *t, itg_rng *rng)
{
    itg_arena *arena = itg_arena_create(0);
    itg_lanes lanes;
    assert_true(itg_lanes_init(&lanes, &t->e, CHANNELS, t->bound, t->wide, arena));
    const int64_t first = between(rng, 0, CHANNELS - 1);
    const int64_t columns = between(rng, 1, CHANNELS - first < 64 ? CHANNELS - first : 64);
    const size_t size = itg_dtype_size(t->e.storage);
    guarded out = guard((size_t)(ROWS * columns) * size, size);
    itg_lanes_args a = {.lanes = &lanes,
                        .acc32 = t->wide ? NULL : t->acc32 + first,
                        .acc64 = t->acc64 + first,
                        .acc_stride = STRIDE,
                        .rows = ROWS,
                        .columns = columns,
                        .bias32 = t->bias32 + first,
                        .bias64 = t->bias64 + first,
                        .fit = t->fit,
                        .channel = first,
                        .out = out.data,
                        .out_stride = columns};
    if (lanes.kind == ITG_LANES_GENERIC)
        itg_lanes_generic(&a);
    else
        kernels->lanes(&a);
    for (int r = 0; r < ROWS; r++)
        for (int64_t c = 0; c < columns; c++)
            expect(t, out.data, r * columns + c, sum_of(t, r, first + c), first + c);
    unguard(&out);
    itg_arena_destroy(arena);
}

static void lanes_equal_single_values(void **state)
{
    (void)state;
    static block t; /* large */
    for (int s = 1; itg_accel_set(s); s++) {
        const itg_accel_kernels *kernels = set_or_skip(itg_accel_set(s));
        if (!kernels) continue;
        itg_rng rng;
        itg_rng_init(&rng, 81);
        for (int i = 0; i < 4000; i++) {
            draw_sums(&rng, &t);
            draw_requants(&rng, &t);
            draw_output(&rng, &t);
            check_block(kernels, &t, &rng);
        }
    }
}

/* The forms that targets use run in lanes, not value by value. */
static void common_forms_have_lanes(void **state)
{
    (void)state;
    static const itg_requant_form forms[] = {ITG_REQUANT_TFLITE_DOUBLE, ITG_REQUANT_S64_REDUCED,
                                             ITG_REQUANT_SHIFT,         ITG_REQUANT_PRESHIFT,
                                             ITG_REQUANT_F32,           ITG_REQUANT_STAGES};
    for (int i = 0; i < 6; i++)
        for (int wide_sums = 0; wide_sums < 2; wide_sums++) {
            const itg_requant_spec spec = {.form = forms[i],
                                           .multiplier_bits = 16,
                                           .multiply_shift = 15,
                                           .pre_shift_bits = 24,
                                           .pre_rounding = ITG_ROUND_HALF_UP,
                                           .multiply_rounding = ITG_ROUND_HALF_UP,
                                           .shift_rounding = ITG_ROUND_HALF_EVEN};
            const int64_t bound = wide_sums ? (int64_t)1 << 46 : 40000000;
            itg_requant r;
            if (wide_sums && forms[i] == ITG_REQUANT_TFLITE_DOUBLE) continue; /* 77 bits */
            assert_int_equal(itg_requant_derive(&spec, 1.0 / 4096, 1.0F / 4096, bound, &r), ITG_OK);
            const itg_epilogue e = {
                .storage = ITG_S8, .requant = &r, .requant_count = 1, .lo = -128, .hi = 127};
            itg_arena *arena = itg_arena_create(0);
            itg_lanes lanes;
            assert_true(itg_lanes_init(&lanes, &e, 3, bound, wide_sums, arena));
            assert_int_not_equal(lanes.kind, ITG_LANES_GENERIC);
            itg_arena_destroy(arena);
        }
}

/* ---- sets that are wrong ---- */

/* As vpmaddubsw: sums of two products saturate at 16 bits. */
static void saturating_tile(const itg_accel_tile *t)
{
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t n = 0; n < t->panels * ITG_PANEL_COLUMNS; n++) {
            const int8_t *b =
                t->b + n / ITG_PANEL_COLUMNS * t->b_stride + n % ITG_PANEL_COLUMNS * 4;
            int64_t sum = 0;
            for (int64_t k = 0; k < t->steps * ITG_STEP_DEPTH; k += 2) {
                const uint8_t *a =
                    t->a + r * t->a_stride + t->offset[k / ITG_STEP_DEPTH] + k % ITG_STEP_DEPTH;
                const int8_t *w = b + k / 4 * (4 * ITG_PANEL_COLUMNS) + k % 4;
                sum += itg_clamp(a[0] * w[0] + a[1] * w[1], INT16_MIN, INT16_MAX);
            }
            t->c[r * ITG_TILE_COLUMNS + n] = (int32_t)(uint32_t)(uint64_t)sum;
        }
}

/* As vpdpbusds: the accumulator saturates. */
static void sticky_tile(const itg_accel_tile *t)
{
    itg_accel_portable.tile(t);
    for (int64_t i = 0; i < ITG_TILE_SUMS; i++)
        if (t->c[i] > (1 << 30)) t->c[i] = 1 << 30;
}

static void no_last_column(const itg_accel_tile *t)
{
    itg_accel_portable.tile(t);
    for (int64_t r = 0; r < t->rows; r++)
        t->c[r * ITG_TILE_COLUMNS + t->panels * ITG_PANEL_COLUMNS - 1] = 0;
}

static void no_last_row(const itg_accel_tile *t)
{
    itg_accel_portable.depthwise(t);
    memset(t->c + (t->rows - 1) * ITG_DEPTHWISE_COLUMNS, 0, sizeof(int32_t));
}

/* Ties go up, whatever the stage says. */
static void lanes_half_up(const itg_lanes_args *a)
{
    itg_lanes lanes = *a->lanes;
    itg_lanes_args other = *a;
    for (int i = 0; i < 3; i++)
        lanes.rounding[i] = ITG_ROUND_HALF_UP;
    other.lanes = &lanes;
    itg_accel_portable.lanes(&other);
}

/* Zeros, as if every sum were done. */
static bool no_sums(const itg_byte_sum *s)
{
    memset(s->out, 0, (size_t)s->n);
    return true;
}

/* ---- wrong depthwise tiles ---- */
static const itg_accel_kernels *depthwise; /* the right set */

static void one_neighbour_too_few(const itg_accel_tile *t)
{
    depthwise->depthwise(t);
    if (t->threes) t->c[(t->rows - 1) * ITG_DEPTHWISE_COLUMNS] ^= 1 << 20;
}

/* Sums where they lie without parts. */
static void two_parts_exchanged(const itg_accel_tile *t)
{
    itg_accel_tile plain = *t;
    plain.parts = false;
    depthwise->depthwise(&plain);
}

static void one_line_for_all(const itg_accel_tile *t)
{
    itg_accel_tile line = *t;
    line.gap = 0;
    depthwise->depthwise(&line);
}

/* ---- wrong tiles of Winograd ---- */
static const itg_winograd_kernels *winograd; /* the right ones */

static void last_channel_off_by_one(const itg_winograd_input *a)
{
    winograd->input(a);
    a->v[7 * a->stride + a->channels - 1]++;
}

static void sums_of_too_few_bits(const itg_winograd_output *a)
{
    enum { BITS = 27 }; /* sums reach 28 */
    winograd->output(a);
    for (int64_t i = 0; i < a->rows * ITG_WINOGRAD_COLUMNS; i++)
        for (int64_t c = 0; c < a->panels * ITG_PANEL_COLUMNS; c++)
            a->out[i][c] = (int32_t)((uint32_t)a->out[i][c] << (32 - BITS)) >> (32 - BITS);
}

static void products_that_saturate(const itg_product *a)
{
    winograd->multiply(a);
    for (int64_t r = 0; r < a->rows; r++)
        for (int64_t c = 0; c < a->panels * ITG_PANEL_COLUMNS; c++) {
            const int16_t *u =
                a->u + c / ITG_PANEL_COLUMNS * a->u_stride + c % ITG_PANEL_COLUMNS * 2;
            int64_t sum = 0;
            for (int64_t k = 0; k < a->steps; k++)
                for (int64_t i = 0; i < 2; i++)
                    sum += a->v[r * a->v_stride + k * 2 + i] * u[k * 2 * ITG_PANEL_COLUMNS + i];
            if (sum > INT32_MAX) a->m[r * ITG_TILE_COLUMNS + c] = INT32_MAX;
            if (sum < INT32_MIN) a->m[r * ITG_TILE_COLUMNS + c] = INT32_MIN;
        }
}

static void wrong_depthwise_tiles_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"portable", "avx2", "avxvnni", "vnni", "neon"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (itg_accel_choose(names[i], &depthwise, NULL) != ITG_OK) continue;
        itg_accel_kernels wrong = *depthwise;
        assert_true(itg_accel_proves(&wrong));
        wrong.depthwise = one_neighbour_too_few;
        assert_false(itg_accel_proves(&wrong));
        wrong.depthwise = one_line_for_all;
        assert_false(itg_accel_proves(&wrong));
        wrong.depthwise = two_parts_exchanged;
        assert_int_equal(itg_accel_proves(&wrong), !depthwise->parts);
    }
}

/* Each of the three steps, wrong in what only large sums, or one channel, show. */
static void wrong_winograd_tiles_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"avx2", "avx512", "avxvnni", "vnni"};
    for (int i = 0; i < 4; i++) {
        const itg_accel_kernels *kernels = NULL;
        if (itg_accel_choose(names[i], &kernels, NULL) != ITG_OK) continue;
        winograd = kernels->winograd;
        for (int j = 0; j < 3; j++) {
            itg_accel_kernels wrong = *kernels;
            itg_winograd_kernels steps = *winograd;
            wrong.winograd = &steps;
            if (j == 0) steps.input = last_channel_off_by_one;
            if (j == 1) steps.multiply = products_that_saturate;
            if (j == 2) steps.output = sums_of_too_few_bits;
            assert_false(itg_accel_proves(&wrong));
        }
    }
}

static bool all_but_the_last(const uint8_t entry[256], const uint8_t *x, int64_t n, uint8_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = i < n - 1 ? entry[x[i]] : (uint8_t)~entry[x[i]];
    return true;
}

static void a_set_that_is_wrong_is_refused(void **state)
{
    (void)state;
    assert_true(itg_accel_proves(&itg_accel_portable));
    itg_accel_kernels wrong = itg_accel_portable;
    wrong.tile = saturating_tile;
    assert_false(itg_accel_proves(&wrong));
    wrong.tile = sticky_tile;
    assert_false(itg_accel_proves(&wrong));
    wrong.tile = no_last_column;
    assert_false(itg_accel_proves(&wrong));
    wrong = itg_accel_portable;
    wrong.depthwise = no_last_row;
    assert_false(itg_accel_proves(&wrong));
    wrong = itg_accel_portable;
    wrong.lanes = lanes_half_up;
    assert_false(itg_accel_proves(&wrong));
    wrong = itg_accel_portable;
    wrong.sum_bytes = no_sums;
    assert_false(itg_accel_proves(&wrong));
    wrong = itg_accel_portable;
    wrong.look_up = all_but_the_last;
    assert_false(itg_accel_proves(&wrong));
}

/* ---- layouts ---- */
static void layouts_are_each_others_inverse(void **state)
{
    (void)state;
    static const itg_dtype all[] = {ITG_U8, ITG_S16, ITG_F32, ITG_S64};
    itg_rng rng;
    itg_rng_init(&rng, 82);
    for (int i = 0; i < 100; i++) {
        const itg_dtype dtype = all[i % 4];
        const int64_t n = between(&rng, 1, 3), c = between(&rng, 1, 70), p = between(&rng, 1, 70);
        const size_t bytes = (size_t)(n * c * p) * itg_dtype_size(dtype);
        unsigned char *in = buffer((int64_t)bytes), *last = buffer((int64_t)bytes),
                      *back = buffer((int64_t)bytes);
        for (size_t j = 0; j < bytes; j++)
            in[j] = (unsigned char)itg_rng_next(&rng);
        itg_to_channels_last(dtype, n, c, p, in, last);
        itg_to_channels_first(dtype, n, c, p, last, back);
        assert_memory_equal(in, back, bytes);
        const int64_t at = (n - 1) * c * p, size = (int64_t)itg_dtype_size(dtype);
        if (c > 1 && p > 2) /* channel 1, pixel 2 of the last matrix */
            assert_memory_equal(last + (at + 2 * c + 1) * size, in + (at + p + 2) * size,
                                (size_t)size);
        guarded_free(in);
        guarded_free(last);
        guarded_free(back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_equal_single_values),
        cmocka_unit_test(common_forms_have_lanes),
        cmocka_unit_test(a_set_that_is_wrong_is_refused),
        cmocka_unit_test(wrong_depthwise_tiles_are_refused),
        cmocka_unit_test(wrong_winograd_tiles_are_refused),
        cmocka_unit_test(layouts_are_each_others_inverse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
