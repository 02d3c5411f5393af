/* Requantization against formulas written another way: quotients of 128-bit division, CMSIS-NN's
 * published C, and floor plus a distance for the roundings. */
#include "requant_cases.h"

/* round(n / d), d > 0, from truncating division: the candidates are q and q + sign. */
static wide divide(wide n, wide d, itg_rounding rounding)
{
    wide size = n < 0 ? -n : n, q = size / d, rest = size % d, other = d - rest;
    bool negative = n < 0, up = false; /* up: away from zero */
    switch (rounding) {
    case ITG_ROUND_HALF_EVEN:
        up = rest > other || (rest == other && q % 2 == 1);
        break;
    case ITG_ROUND_HALF_UP:
        up = rest > other || (rest == other && !negative);
        break;
    case ITG_ROUND_HALF_AWAY:
        up = rest >= other;
        break;
    default:
        up = negative;
        break;
    }
    if (rest == 0) up = false;
    q += up;
    return negative ? -q : q;
}

static wide power(int n)
{
    wide v = 1;
    for (int i = 0; i < n; i++)
        v *= 2;
    return v;
}

static int64_t apply_slowly(const itg_requant *r, int64_t acc)
{
    wide v = acc;
    for (int i = 0; i < r->stage_count; i++) {
        v *= r->stage[i].multiplier;
        if (r->stage[i].shift < 0)
            v *= power(-r->stage[i].shift);
        else
            v = divide(v, power(r->stage[i].shift), r->stage[i].rounding);
    }
    return saturated(v);
}

static void roundings_are_right_at_ties_and_below_zero(void **state)
{
    (void)state;
    static const int64_t in[] = {-7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7}; /* quarters */
    static const int64_t expect[ITG_ROUNDING_COUNT][15] = {
        {-2, -2, -1, -1, -1, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2},
        {-2, -1, -1, -1, -1, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2},
        {-2, -2, -1, -1, -1, -1, 0, 0, 0, 1, 1, 1, 1, 2, 2},
        {-2, -2, -2, -1, -1, -1, -1, 0, 0, 0, 0, 1, 1, 1, 1},
    };
    for (int r = 0; r < ITG_ROUNDING_COUNT; r++)
        for (int i = 0; i < 15; i++) {
            assert_int_equal(itg_round_shift_product(in[i], 1, 2, (itg_rounding)r), expect[r][i]);
            assert_int_equal(itg_round_divide(in[i], 4, (itg_rounding)r), expect[r][i]);
        }
}

static void shifts_of_products_equal_division(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 1);
    for (int i = 0; i < 200000; i++) {
        int64_t a = random_value(&rng, 64), b = random_value(&rng, 64);
        int32_t shift = (int32_t)itg_rng_below(&rng, 127);
        itg_rounding rounding = (itg_rounding)itg_rng_below(&rng, ITG_ROUNDING_COUNT);
        int64_t expect = saturated(divide((wide)a * b, power(shift), rounding));
        assert_true(itg_round_shift_product(a, b, shift, rounding) == expect);
    }
    assert_true(itg_round_shift_product(INT64_MIN, INT64_MIN, 126, ITG_ROUND_FLOOR) == 1);
    assert_true(itg_round_shift_product(INT64_MIN, INT64_MIN, 0, ITG_ROUND_FLOOR) == INT64_MAX);
    assert_true(itg_round_shift_product(INT64_MIN, INT64_MAX, 1, ITG_ROUND_FLOOR) == INT64_MIN);
}

static void divisions_equal_wide_division(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 2);
    for (int i = 0; i < 200000; i++) {
        int64_t n = random_value(&rng, 64), d = random_value(&rng, 63);
        d = d < 0 ? -d : d;
        if (d == 0) d = 1;
        itg_rounding rounding = (itg_rounding)itg_rng_below(&rng, ITG_ROUNDING_COUNT);
        assert_true(itg_round_divide(n, d, rounding) == (int64_t)divide(n, d, rounding));
    }
    assert_true(itg_round_divide(INT64_MIN, 1, ITG_ROUND_HALF_AWAY) == INT64_MIN);
    assert_true(itg_round_divide(INT64_MIN, INT64_MAX, ITG_ROUND_FLOOR) == -2);
}

static void half_even_equals_rint(void **state)
{
    (void)state;
    static const double special[] = {0.5,
                                     1.5,
                                     2.5,
                                     -0.5,
                                     -1.5,
                                     -2.5,
                                     0.49999999999999994,
                                     4503599627370495.5,
                                     4503599627370496.0,
                                     1e300,
                                     -1e300,
                                     -0.0,
                                     9007199254740993.0};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        double got = itg_round_half_even(special[i]), expect = rint(special[i]);
        assert_memory_equal(&got, &expect, sizeof got);
    }
    itg_rng rng;
    itg_rng_init(&rng, 3);
    for (int i = 0; i < 100000; i++) {
        double x = ldexp((double)random_value(&rng, 60), (int)itg_rng_below(&rng, 20) - 25);
        assert_true(itg_round_half_even(x) == rint(x));
    }
    assert_true(isnan(itg_round_half_even(NAN)));
}

/* ---- derivation: constants found with long double and integer comparison ---- */

static void expect_stage(const itg_requant *r, int i, int64_t m, int32_t shift, itg_rounding how)
{
    assert_true(i < r->stage_count);
    assert_true(r->stage[i].multiplier == m);
    assert_int_equal(r->stage[i].shift, shift);
    if (shift > 0) assert_int_equal(r->stage[i].rounding, how);
}

/* CMSIS-NN 6, arm_nnsupportfunctions.h, written out with C's operators. */
static int64_t cmsis_requantize(int64_t v, int32_t multiplier, int32_t shift)
{
    int64_t left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
    int64_t high = (((int64_t)1 << 30) + v * ((int64_t)1 << left) * multiplier) >> 31;
    int64_t mask = ((int64_t)1 << right) - 1, rest = high & mask, threshold = mask >> 1;
    if (high < 0) threshold++;
    return (high >> right) + (rest > threshold);
}

static int64_t cmsis_requantize_s64(int64_t v, int32_t reduced, int32_t shift)
{
    return ((v * reduced >> (14 - shift)) + 1) >> 1;
}

static void tflite_double_equals_cmsis(void **state)
{
    (void)state;
    const itg_requant_spec spec = {.form = ITG_REQUANT_TFLITE_DOUBLE};
    itg_rng rng;
    itg_rng_init(&rng, 4);
    for (int i = 0; i < 20000; i++) {
        double ratio = random_ratio(&rng, -20, 6);
        itg_requant r;
        assert_int_equal(itg_requant_derive(&spec, ratio, 0, 0, &r), ITG_OK);
        int e;
        long double f = frexpl(ratio, &e);
        int64_t m = (int64_t)floorl(f * 2147483648.0L + 0.5L);
        if (m == (int64_t)1 << 31) m /= 2, e++;
        for (int j = 0; j < 10; j++) {
            int64_t v = random_value(&rng, e > 0 ? 32 - e : 32);
            assert_true(itg_requant_apply(&r, v) == cmsis_requantize(v, (int32_t)m, e));
        }
        assert_true(fabs(itg_requant_ratio(&r) / ratio - 1) <= ldexp(1, -31));
    }
}

static void tflite_double_stages_and_limits(void **state)
{
    (void)state;
    itg_requant_spec spec = {.form = ITG_REQUANT_TFLITE_DOUBLE};
    itg_requant r;
    assert_int_equal(itg_requant_derive(&spec, 0.75, 0, 0, &r), ITG_OK);
    assert_int_equal(r.stage_count, 1);
    expect_stage(&r, 0, 3LL << 29, 31, ITG_ROUND_HALF_UP);
    assert_int_equal(itg_requant_derive(&spec, 6, 0, 0, &r), ITG_OK);
    assert_int_equal(r.stage_count, 2);
    expect_stage(&r, 0, 1, -3, ITG_ROUND_HALF_UP);
    expect_stage(&r, 1, 3LL << 29, 31, ITG_ROUND_HALF_UP);
    assert_int_equal(itg_requant_derive(&spec, 0.1875, 0, 0, &r), ITG_OK);
    assert_int_equal(r.stage_count, 2);
    expect_stage(&r, 1, 1, 2, ITG_ROUND_HALF_AWAY);
    /* rounds up to 2^31: halved, next exponent */
    assert_int_equal(itg_requant_derive(&spec, 1 - ldexp(1, -40), 0, 0, &r), ITG_OK);
    expect_stage(&r, 0, 1, -1, ITG_ROUND_HALF_UP);
    expect_stage(&r, 1, 1LL << 30, 31, ITG_ROUND_HALF_UP);
    assert_int_equal(itg_requant_derive(&spec, ldexp(0.5, -31), 0, 0, &r), ITG_OK);
    memset(&r, 7, sizeof r);
    itg_requant before = r;
    assert_int_equal(itg_requant_derive(&spec, ldexp(0.5, -32), 0, 0, &r), ITG_INFEASIBLE);
    assert_int_equal(itg_requant_derive(&spec, ldexp(0.5, 31), 0, 0, &r), ITG_INFEASIBLE);
    assert_int_equal(itg_requant_derive(&spec, 0, 0, 0, &r), ITG_INFEASIBLE);
    assert_int_equal(itg_requant_derive(&spec, -1, 0, 0, &r), ITG_INFEASIBLE);
    assert_int_equal(itg_requant_derive(&spec, NAN, 0, 0, &r), ITG_INFEASIBLE);
    assert_int_equal(itg_requant_derive(&spec, INFINITY, 0, 0, &r), ITG_INFEASIBLE);
    spec.max_shift = 30;
    assert_int_equal(itg_requant_derive(&spec, 0.75, 0, 0, &r), ITG_INFEASIBLE);
    assert_memory_equal(&r, &before, sizeof r);
}

static void s64_reduced_equals_cmsis(void **state)
{
    (void)state;
    const itg_requant_spec spec = {.form = ITG_REQUANT_S64_REDUCED};
    itg_rng rng;
    itg_rng_init(&rng, 5);
    for (int i = 0; i < 20000; i++) {
        double ratio = random_ratio(&rng, -20, 3);
        itg_requant r;
        assert_int_equal(itg_requant_derive(&spec, ratio, 0, 0, &r), ITG_OK);
        assert_int_equal(r.stage_count, 1);
        int e;
        int64_t m = (int64_t)floor(frexp(ratio, &e) * 2147483648.0 + 0.5);
        if (m == (int64_t)1 << 31) m /= 2, e++;
        int32_t reduced = m < 0x7FFF0000 ? (int32_t)((m + 32768) >> 16) : 0x7FFF;
        for (int j = 0; j < 10; j++) {
            int64_t v = random_value(&rng, 47);
            assert_true(itg_requant_apply(&r, v) == cmsis_requantize_s64(v, reduced, e));
        }
    }
}

static void shift_takes_powers_of_two_alone(void **state)
{
    (void)state;
    itg_requant_spec spec = {.form = ITG_REQUANT_SHIFT, .shift_rounding = ITG_ROUND_HALF_EVEN};
    itg_requant r;
    for (int n = -62; n <= 62; n++) {
        assert_int_equal(itg_requant_derive(&spec, ldexp(1, -n), 0, 0, &r), ITG_OK);
        assert_int_equal(r.stage_count, 1);
        expect_stage(&r, 0, 1, n, ITG_ROUND_HALF_EVEN);
        assert_true(itg_requant_ratio(&r) == ldexp(1, -n));
    }
    assert_int_equal(itg_requant_derive(&spec, ldexp(1, -63), 0, 0, &r), ITG_INFEASIBLE);
    assert_int_equal(itg_requant_derive(&spec, ldexp(1, 63), 0, 0, &r), ITG_INFEASIBLE);
    assert_int_equal(itg_requant_derive(&spec, 0.75, 0, 0, &r), ITG_INFEASIBLE);
    assert_int_equal(itg_requant_derive(&spec, nextafter(0.5, 1), 0, 0, &r), ITG_INFEASIBLE);
    spec.max_shift = 8;
    assert_int_equal(itg_requant_derive(&spec, ldexp(1, -8), 0, 0, &r), ITG_OK);
    assert_int_equal(itg_requant_derive(&spec, ldexp(1, -9), 0, 0, &r), ITG_INFEASIBLE);
}

static void preshift_brings_the_accumulator_within_its_bits(void **state)
{
    (void)state;
    const itg_requant_spec spec = {.form = ITG_REQUANT_PRESHIFT,
                                   .multiplier_bits = 16,
                                   .pre_shift_bits = 16,
                                   .pre_rounding = ITG_ROUND_FLOOR,
                                   .shift_rounding = ITG_ROUND_HALF_UP};
    itg_rng rng;
    itg_rng_init(&rng, 6);
    for (int i = 0; i < 20000; i++) {
        double ratio = random_ratio(&rng, -12, 0);
        int64_t bound = random_value(&rng, 32);
        bound = bound < 0 ? -bound : bound;
        itg_requant r;
        assert_int_equal(itg_requant_derive(&spec, ratio, 0, bound, &r), ITG_OK);
        int32_t p = r.stage_count == 2 ? r.stage[0].shift : 0;
        assert_true(r.stage_count == 1 || p > 0);
        assert_true(-((-bound) >> p) < 32768);
        assert_true(p == 0 || -((-bound) >> (p - 1)) >= 32768);
        int64_t m = r.stage[r.stage_count - 1].multiplier;
        assert_true(m >= 16384 && m < 32768);
        assert_true(fabs(itg_requant_ratio(&r) / ratio - 1) <= ldexp(1, -15));
        int64_t v = random_value(&rng, 32);
        if (v > bound || v < -bound) v = bound;
        int32_t rest = r.stage[r.stage_count - 1].shift;
        if (rest > 0)
            assert_true(itg_requant_apply(&r, v) ==
                        (((v >> p) * m + ((int64_t)1 << (rest - 1))) >> rest));
    }
}

static void stages_split_the_shift(void **state)
{
    (void)state;
    itg_requant_spec spec = {.form = ITG_REQUANT_STAGES,
                             .multiplier_bits = 32,
                             .multiply_shift = 31,
                             .multiply_rounding = ITG_ROUND_HALF_UP,
                             .shift_rounding = ITG_ROUND_HALF_AWAY};
    const itg_requant_spec tflite = {.form = ITG_REQUANT_TFLITE_DOUBLE};
    itg_rng rng;
    itg_rng_init(&rng, 7);
    for (int i = 0; i < 20000; i++) {
        double ratio = random_ratio(&rng, -20, 3);
        itg_requant a, b;
        assert_int_equal(itg_requant_derive(&spec, ratio, 0, 0, &a), ITG_OK);
        assert_int_equal(itg_requant_derive(&tflite, ratio, 0, 0, &b), ITG_OK);
        int64_t v = random_value(&rng, 40);
        assert_true(itg_requant_apply(&a, v) == itg_requant_apply(&b, v));
    }
    spec.multiply_shift = -1;
    itg_requant r;
    assert_int_equal(itg_requant_derive(&spec, 0.1875, 0, 0, &r), ITG_OK);
    assert_int_equal(r.stage_count, 1);
    expect_stage(&r, 0, 3LL << 29, 33, ITG_ROUND_HALF_UP);
    spec.multiply_shift = 0;
    spec.pre_shift_bits = 8;
    spec.multiplier_bits = 8;
    spec.pre_rounding = ITG_ROUND_HALF_EVEN;
    assert_int_equal(itg_requant_derive(&spec, 0.1875, 0, 1000, &r), ITG_OK);
    assert_int_equal(r.stage_count, 3);
    expect_stage(&r, 0, 1, 3, ITG_ROUND_HALF_EVEN);
    expect_stage(&r, 1, 96, 0, ITG_ROUND_HALF_UP);
    expect_stage(&r, 2, 1, 6, ITG_ROUND_HALF_AWAY);
}

static void f32_wants_a_normal_ratio(void **state)
{
    (void)state;
    const itg_requant_spec spec = {.form = ITG_REQUANT_F32};
    itg_requant r;
    assert_int_equal(itg_requant_derive(&spec, 1, 0.25F, 0, &r), ITG_OK);
    assert_true(r.is_f32 && r.ratio == 0.25F && itg_requant_ratio(&r) == 0.25);
    assert_int_equal(itg_requant_derive(&spec, 1, 0, 0, &r), ITG_INFEASIBLE);
    assert_int_equal(itg_requant_derive(&spec, 1, -1, 0, &r), ITG_INFEASIBLE);
    assert_int_equal(itg_requant_derive(&spec, 1, FLT_MIN / 2, 0, &r), ITG_INFEASIBLE);
    assert_int_equal(itg_requant_derive(&spec, 1, INFINITY, 0, &r), ITG_INFEASIBLE);
    assert_int_equal(itg_requant_derive(&spec, 1, NAN, 0, &r), ITG_INFEASIBLE);
}

/* ---- application ---- */

static void f32_equals_rintf_and_saturates(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 8);
    for (int i = 0; i < 100000; i++) {
        itg_requant r = {.is_f32 = true, .ratio = (float)random_ratio(&rng, -30, 10)};
        int64_t v = random_value(&rng, 50);
        volatile float acc = (float)v, product = acc * r.ratio;
        assert_true(itg_requant_apply(&r, v) == (int64_t)rintf(product));
    }
    itg_requant big = {.is_f32 = true, .ratio = 1e30F};
    assert_true(itg_requant_apply(&big, INT64_MAX) == INT64_MAX);
    assert_true(itg_requant_apply(&big, INT64_MIN) == INT64_MIN);
    itg_requant half = {.is_f32 = true, .ratio = 0.5F};
    assert_int_equal(itg_requant_apply(&half, 1), 0);
    assert_int_equal(itg_requant_apply(&half, 3), 2);
    assert_int_equal(itg_requant_apply(&half, -5), -2);
}

static void stages_equal_exact_division(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 9);
    for (int i = 0; i < 300000; i++) {
        itg_requant r = random_stages(&rng);
        int64_t v = random_value(&rng, 16); /* 15 + 3 * (31 + 6) bits: 128 hold it */
        assert_true(itg_requant_apply(&r, v) == apply_slowly(&r, v));
    }
    itg_requant identity = {0};
    assert_true(itg_requant_apply(&identity, INT64_MIN) == INT64_MIN);
    itg_requant back = {.stage_count = 2, .stage = {{1, -62, 0}, {1, 62, ITG_ROUND_FLOOR}}};
    assert_true(itg_requant_apply(&back, INT64_MIN) == INT64_MIN);
    itg_requant past = {.stage_count = 3,
                        .stage = {{INT64_MAX, -62, 0}, {INT64_MIN, -62, 0}, {INT64_MAX, 0, 0}}};
    assert_true(itg_requant_apply(&past, INT64_MAX) == INT64_MIN);
    assert_true(itg_requant_apply(&past, INT64_MIN) == INT64_MAX);
    assert_true(itg_requant_apply(&past, 0) == 0);
}

/* ---- reals, accumulators, float addition, names ---- */

static void quantize_equals_onnx(void **state)
{
    (void)state;
    assert_int_equal(itg_quantize_f32(1.25F, 0.5F, 3, -128, 127), 5); /* 2.5 to even */
    assert_int_equal(itg_quantize_f32(1.75F, 0.5F, 3, -128, 127), 7); /* 3.5 to even */
    assert_int_equal(itg_quantize_f32(-1.25F, 0.5F, 3, -128, 127), 1);
    assert_int_equal(itg_quantize_f32(NAN, 0.5F, 3, -128, 127), 3);
    assert_int_equal(itg_quantize_f32(INFINITY, 0.5F, 3, -128, 127), 127);
    assert_int_equal(itg_quantize_f32(-INFINITY, 0.5F, 3, -128, 127), -128);
    assert_int_equal(itg_quantize_f32(1e38F, 1e-30F, 3, 0, 255), 255);
    itg_rng rng;
    itg_rng_init(&rng, 11);
    for (int i = 0; i < 100000; i++) {
        float x = (float)ldexp((double)random_value(&rng, 24), -12);
        float scale = (float)random_ratio(&rng, -10, 2);
        volatile float ratio = x / scale;
        double expect = fmin(fmax(rint((double)ratio) + 5, -100), 90);
        assert_true((double)itg_quantize_f32(x, scale, 5, -100, 90) == expect);
    }
    assert_true(itg_dequantize_f32(7, 0.1F, 10) == -3.0F * 0.1F);
}

static void accumulators_wrap_and_saturate_at_every_width(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 12);
    for (int bits = 8; bits <= 64; bits++) {
        itg_accumulator wrap = {bits, ITG_OVERFLOW_WRAP}, clip = {bits, ITG_OVERFLOW_SATURATE};
        wide lo = -power(bits - 1), hi = power(bits - 1) - 1, size = power(bits);
        assert_true(itg_accumulator_min(wrap) == (int64_t)lo);
        assert_true(itg_accumulator_max(wrap) == (int64_t)hi);
        for (int i = 0; i < 2000; i++) {
            int64_t v = random_value(&rng, 64);
            wide w = ((v - lo) % size + size) % size + lo;
            assert_true(itg_accumulator_fit(wrap, v) == (int64_t)w);
            assert_true(itg_accumulator_fit(clip, v) == (int64_t)(v < lo ? lo : v > hi ? hi : v));
        }
    }
}

/* Beyond 128 bits, both signs: first 2^94, then another 2^62. */
static void products_beyond_the_widest_type_saturate(void **state)
{
    (void)state;
    itg_requant r = {.stage_count = 2,
                     .stage = {{(int64_t)1 << 31, 0, ITG_ROUND_HALF_UP},
                               {(int64_t)1 << 62, 62, ITG_ROUND_HALF_UP}}};
    assert_true(itg_requant_apply(&r, INT64_MIN) == INT64_MIN);
    assert_true(itg_requant_apply(&r, INT64_MAX) == INT64_MAX);
    assert_true(itg_requant_apply(&r, -1) == -((int64_t)1 << 31));
    r.stage[1].multiplier = -r.stage[1].multiplier;
    assert_true(itg_requant_apply(&r, INT64_MIN) == INT64_MAX);
    assert_true(itg_requant_apply(&r, INT64_MAX) == INT64_MIN);
    r.stage[1] = (itg_requant_stage){0, 0, ITG_ROUND_HALF_UP};
    assert_true(itg_requant_apply(&r, INT64_MIN) == 0);
    r.stage[1] = (itg_requant_stage){1, 31, ITG_ROUND_HALF_UP};
    assert_true(itg_requant_apply(&r, INT64_MIN) == INT64_MIN);
    /* A left shift of what is as large already. */
    r.stage[1] = (itg_requant_stage){1, -40, ITG_ROUND_HALF_UP};
    assert_true(itg_requant_apply(&r, INT64_MIN) == INT64_MIN);
    assert_true(itg_requant_apply(&r, INT64_MAX) == INT64_MAX);
}

static void dequantized_differences_beyond_64_bits_saturate(void **state)
{
    (void)state;
    assert_true(itg_dequantize_f32(INT64_MIN, 0.5f, INT64_MAX) == -0x1p62f);
    assert_true(itg_dequantize_f32(INT64_MAX, 0.5f, INT64_MIN) == 0x1p62f);
    assert_true(itg_dequantize_f32(5, 0.5f, 7) == -1);
    assert_true(itg_quantize_f32(FLT_MAX, 1, INT64_MAX, -9, INT64_MAX) == INT64_MAX);
    assert_true(itg_quantize_f32(-FLT_MAX, 1, INT64_MIN, INT64_MIN, 9) == INT64_MIN);
}

/* The least pre-shift after which neither end reaches 2^(bits-1): roundings differ at either end.
 */
static void preshift_looks_at_both_ends(void **state)
{
    (void)state;
    for (int rounding = 0; rounding < ITG_ROUNDING_COUNT; rounding++)
        for (int bits = 2; bits <= 8; bits++)
            for (int64_t bound = 0; bound < 1000; bound++) {
                itg_requant_spec spec = {.form = ITG_REQUANT_PRESHIFT,
                                         .pre_shift_bits = bits,
                                         .pre_rounding = (itg_rounding)rounding,
                                         .multiplier_bits = 16,
                                         .shift_rounding = ITG_ROUND_HALF_UP};
                itg_requant r;
                int32_t least = 0;
                const wide limit = power(bits - 1);
                while (divide(bound, power(least), spec.pre_rounding) >= limit ||
                       divide(-bound, power(least), spec.pre_rounding) <= -limit)
                    least++;
                assert_int_equal(itg_requant_derive(&spec, 0.01, 0.01f, bound, &r), ITG_OK);
                assert_int_equal(r.stage_count, least > 0 ? 2 : 1);
                if (least > 0) assert_int_equal(r.stage[0].shift, least);
            }
}

/* 63 bits are the most that a pre-shift is made for; from 64 on everything lies within. */
static void preshift_ends_at_63_bits(void **state)
{
    (void)state;
    itg_requant_spec spec = {.form = ITG_REQUANT_PRESHIFT,
                             .pre_shift_bits = 63,
                             .pre_rounding = ITG_ROUND_HALF_UP,
                             .multiplier_bits = 16,
                             .shift_rounding = ITG_ROUND_HALF_UP};
    itg_requant r;
    assert_int_equal(itg_requant_derive(&spec, 0.01, 0.01f, INT64_MAX, &r), ITG_OK);
    assert_int_equal(r.stage_count, 2);
    assert_int_equal(r.stage[0].shift, 2); /* half of it rounds up to 2^62 */
    spec.pre_shift_bits = 64;
    assert_int_equal(itg_requant_derive(&spec, 0.01, 0.01f, INT64_MAX, &r), ITG_OK);
    assert_int_equal(r.stage_count, 1);
}

static void names_go_both_ways(void **state)
{
    (void)state;
    for (int i = 0; i < ITG_REQUANT_FORM_COUNT; i++) {
        itg_requant_form f = ITG_REQUANT_FORM_COUNT;
        assert_true(itg_requant_form_from_name(itg_requant_form_name((itg_requant_form)i), &f));
        assert_int_equal(f, i);
    }
    itg_requant_form f = ITG_REQUANT_F32;
    assert_false(itg_requant_form_from_name("", &f));
    assert_int_equal(f, ITG_REQUANT_F32);
    assert_string_equal(itg_rounding_name(ITG_ROUND_HALF_AWAY), "half_away");
    assert_string_equal(itg_requant_form_name(ITG_REQUANT_S64_REDUCED), "s64_reduced");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roundings_are_right_at_ties_and_below_zero),
        cmocka_unit_test(shifts_of_products_equal_division),
        cmocka_unit_test(divisions_equal_wide_division),
        cmocka_unit_test(half_even_equals_rint),
        cmocka_unit_test(tflite_double_equals_cmsis),
        cmocka_unit_test(tflite_double_stages_and_limits),
        cmocka_unit_test(s64_reduced_equals_cmsis),
        cmocka_unit_test(shift_takes_powers_of_two_alone),
        cmocka_unit_test(preshift_brings_the_accumulator_within_its_bits),
        cmocka_unit_test(stages_split_the_shift),
        cmocka_unit_test(f32_wants_a_normal_ratio),
        cmocka_unit_test(f32_equals_rintf_and_saturates),
        cmocka_unit_test(stages_equal_exact_division),
        cmocka_unit_test(quantize_equals_onnx),
        cmocka_unit_test(accumulators_wrap_and_saturate_at_every_width),
        cmocka_unit_test(products_beyond_the_widest_type_saturate),
        cmocka_unit_test(dequantized_differences_beyond_64_bits_saturate),
        cmocka_unit_test(preshift_looks_at_both_ends),
        cmocka_unit_test(preshift_ends_at_63_bits),
        cmocka_unit_test(names_go_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
