/* Many values at once against one at a time, and float addition step by step. */
#include "requant_cases.h"
#include "kernels/int_parts.h"
#include "kernels/requant_span.h"

static void spans_equal_single_values(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 10);
    for (int i = 0; i < 6000; i++) {
        itg_requant r[3];
        for (int c = 0; c < 3; c++) {
            r[c] = random_stages(&rng);
            if (itg_rng_below(&rng, 3) == 0)
                r[c] = (itg_requant){.is_f32 = true, .ratio = (float)random_ratio(&rng, -30, 10)};
        }
        int64_t zp = random_value(&rng, 17), lo = random_value(&rng, 31);
        int64_t hi = lo + (int64_t)itg_rng_below(&rng, 70000),
                n = 1 + (int64_t)itg_rng_below(&rng, ITG_SPAN);
        int32_t q32[ITG_SPAN], q64[ITG_SPAN], qc[ITG_SPAN];
        int64_t wide_acc[ITG_SPAN], narrow[ITG_SPAN];
        int bits = 1 + (int)itg_rng_below(&rng, 64);
        if (lo > INT32_MAX - 70000) lo = -128, hi = 127;
        for (int64_t j = 0; j < n; j++) {
            wide_acc[j] = random_value(&rng, bits);
            narrow[j] = (int32_t)random_value(&rng, 32);
        }
        itg_requant_span64(&r[0], narrow, n, zp, lo, hi, q32);
        itg_requant_span64(&r[0], wide_acc, n, zp, lo, hi, q64);
        const itg_epilogue e = {.storage = ITG_S32,
                                .out = qc,
                                .requant = r,
                                .requant_count = 3,
                                .zero_point = zp,
                                .lo = lo,
                                .hi = hi};
        itg_epilogue_row64(wide_acc, n, 0, 1, 1, &e);
        for (int64_t j = 0; j < n; j++) {
            wide a = itg_requant_apply(&r[0], narrow[j]), b = itg_requant_apply(&r[0], wide_acc[j]);
            wide c = itg_requant_apply(&r[(1 + j) % 3], wide_acc[j]);
            assert_int_equal(q32[j], itg_clamp(saturated(a + zp), lo, hi));
            assert_int_equal(q64[j], itg_clamp(saturated(b + zp), lo, hi));
            assert_int_equal(qc[j], itg_clamp(saturated(c + zp), lo, hi));
        }
    }
}

/* Sums that 64 bits would not hold while the rounding is added. */
static void spans_are_exact_at_the_edge_of_64_bits(void **state)
{
    (void)state;
    static const int64_t multipliers[] = {1, -1, 3, INT32_MAX, INT64_MAX, INT64_MIN};
    for (int i = 0; i < 6; i++)
        for (int shift = -62; shift <= 62; shift += 31)
            for (int rounding = 0; rounding < ITG_ROUNDING_COUNT; rounding++) {
                const itg_requant r = {.stage_count = 1,
                                       .stage = {{multipliers[i], shift, (itg_rounding)rounding}}};
                int64_t acc[128];
                int32_t q[128];
                for (int j = 0; j < 64; j++) {
                    acc[2 * j] = INT64_MAX >> j;
                    acc[2 * j + 1] = INT64_MIN >> j;
                }
                for (int64_t j = 0; j < 128; j++)
                    itg_requant_span64(&r, acc + j, 1, 0, INT32_MIN, INT32_MAX, q + j);
                for (int64_t j = 0; j < 128; j++)
                    assert_true(q[j] ==
                                itg_clamp(itg_requant_apply(&r, acc[j]), INT32_MIN, INT32_MAX));
            }
}

/* Exponents within [-reach, reach]: far ones leave the sums that binary64 holds exactly. */
static void float_additions(int reach)
{
    itg_rng rng;
    itg_rng_init(&rng, 13);
    for (int i = 0; i < 20000; i++) {
        float sa = (float)random_ratio(&rng, -reach, reach),
              sb = (float)random_ratio(&rng, -reach, reach),
              sc = (float)random_ratio(&rng, -reach, reach);
        int32_t za = (int32_t)random_value(&rng, 8), zb = (int32_t)random_value(&rng, 8),
                zc = (int32_t)random_value(&rng, 8);
        itg_f32_add k = itg_f32_add_derive(sa, za, sb, zb, sc, zc);
        volatile float ra = sa / sc, rb = sb / sc, pb = rb * (float)zb;
        volatile float fixed = (float)zc - fmaf(ra, (float)za, pb);
        int32_t a[32], b[32], q[32];
        for (int j = 0; j < 32; j++) {
            a[j] = (int32_t)random_value(&rng, 16);
            b[j] = (int32_t)random_value(&rng, 16);
        }
        itg_f32_add_span(&k, a, b, 32, -128, 127, q);
        for (int j = 0; j < 32; j++) {
            volatile float second = fmaf((float)b[j], rb, fixed),
                           sum = fmaf((float)a[j], ra, second);
            float expect = fminf(fmaxf(rintf(sum), -128), 127);
            assert_true((float)itg_f32_add_apply(&k, a[j], b[j], -128, 127) == expect);
            assert_true((float)q[j] == expect);
        }
    }
}

static void float_addition_rounds_each_sum_once(void **state)
{
    (void)state;
    float_additions(4);
    float_additions(45);
}

static void float_product_adds_the_zero_point_before_rounding(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 14);
    for (int i = 0; i < 20000; i++) {
        float sa = (float)random_ratio(&rng, -8, 2), sb = (float)random_ratio(&rng, -8, 2);
        volatile float scale = sa * sb;
        /* Every second ratio is a power of two: halves are common, and the zero point's parity
         * decides. */
        float sc = i % 2 ? scale * 4 : (float)random_ratio(&rng, -8, 8);
        int32_t zc = (int32_t)random_value(&rng, 8);
        itg_f32_mul k = itg_f32_mul_derive(sa, sb, sc, zc);
        volatile float ratio = scale / sc;
        int64_t v[32];
        int32_t q[32];
        for (int j = 0; j < 32; j++)
            v[j] = random_value(&rng, j % 2 ? 10 : 40);
        itg_f32_mul_span(&k, v, 32, -128, 127, q);
        for (int j = 0; j < 32; j++) {
            volatile float scaled = (float)v[j] * ratio, sum = scaled + (float)zc;
            float expect = fminf(fmaxf(rintf(sum), -128), 127);
            assert_true((float)itg_f32_mul_apply(&k, v[j], -128, 127) == expect);
            assert_true((float)q[j] == expect);
        }
    }
}

static float random_float(itg_rng *rng, int reach)
{
    double sign = itg_rng_below(rng, 2) ? 1 : -1;
    return (float)(sign * random_ratio(rng, -reach, reach));
}

static void fused_multiply_add_equals_the_standard_library(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 15);
    for (int i = 0; i < 400000; i++) {
        int reach = i % 3 == 0 ? 2 : i % 3 == 1 ? 30 : 60;
        float a = random_float(&rng, reach), b = random_float(&rng, reach),
              c = random_float(&rng, 2 * reach);
        if (i % 5 == 0) c = -(a * b); /* cancels but for the product's own rounding */
        assert_true(itg_fma_f32(a, b, c) == fmaf(a, b, c));
    }
    /* The sum 2^24 + 1 + 2^-60 lies above a tie of float32; binary64 alone would land on it. */
    assert_true(itg_fma_f32(4097, 4095, 2) == fmaf(4097, 4095, 2));
    assert_true(itg_fma_f32(0x1p-30F, 0x1p-30F, 0x1.000002p24F) == 0x1.000002p24F);
    assert_true(itg_fma_f32(0x1.000002p0F, 0x1.000002p0F, 0x1p-60F) ==
                fmaf(0x1.000002p0F, 0x1.000002p0F, 0x1p-60F));
    assert_true(itg_fma_f32(0x1.8p0F, 0x1.000002p0F, -0x1p-60F) == 0x1.800002p0F);
    assert_true(itg_fma_f32(0x1.8p0F, 0x1.000002p0F, 0x1p-60F) == 0x1.800004p0F);
}

static void mean_code_adds_the_zero_point_before_rounding(void **state)
{
    (void)state;
    for (int zero = 0; zero < 4; zero++)
        for (int half = -9; half < 10; half++) {
            float x = (float)half * 0.25F;
            assert_true((float)itg_quantize_mean_f32(x, 0.5F, zero, 0, 255) ==
                        fmaxf(rintf((float)half * 0.5F + (float)zero), 0));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_equal_single_values),
        cmocka_unit_test(spans_are_exact_at_the_edge_of_64_bits),
        cmocka_unit_test(float_addition_rounds_each_sum_once),
        cmocka_unit_test(float_product_adds_the_zero_point_before_rounding),
        cmocka_unit_test(fused_multiply_add_equals_the_standard_library),
        cmocka_unit_test(mean_code_adds_the_zero_point_before_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
