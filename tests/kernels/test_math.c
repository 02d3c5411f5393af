/* kernels/math against the C library in long double: stated bounds in ulp of a double, special
 * values, monotonicity. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include "base/base.h"
#include "kernels/math.h"

typedef double (*function)(double);
typedef long double (*reference)(long double);

/* Error in units of the last place of the reference rounded to double (subnormal spacing at least).
 */
static double ulp_error(double got, long double want)
{
    int exponent;
    if (want == 0.0L) return got == 0.0 ? 0.0 : INFINITY;
    (void)frexpl(want, &exponent);
    if (exponent < -1021) exponent = -1021;
    return (double)(fabsl((long double)got - want) / ldexpl(1.0L, exponent - 53));
}

/* The library's own error where long double is no wider than double. */
static double slack(void)
{
    return LDBL_MANT_DIG > 53 ? 0.0 : 1.5;
}

static void check_points(function f, reference g, double lo, double hi, double bound)
{
    itg_rng rng;
    itg_rng_init(&rng, 7);
    double worst = 0.0, where = 0.0;
    for (int i = 0; i <= 200000; ++i) {
        const double x =
            i <= 100000 ? lo + (hi - lo) * (i / 100000.0) : lo + (hi - lo) * itg_rng_unit(&rng);
        const double error = ulp_error(f(x), g((long double)x));
        if (!(error <= worst)) {
            worst = error;
            where = x;
        }
    }
    if (!(worst <= bound + slack())) fail_msg("%g ulp at %a, allowed %g", worst, where, bound);
}

/* Magnitudes over many binades, both signs. */
static void check_binades(function f, reference g, int least, int most, bool both, double bound)
{
    itg_rng rng;
    itg_rng_init(&rng, 11);
    for (int e = least; e <= most; ++e)
        for (int i = 0; i < 200; ++i) {
            const double x = ldexp(1.0 + itg_rng_unit(&rng), e) * (both && i % 2 ? -1.0 : 1.0);
            const double error = ulp_error(f(x), g((long double)x));
            if (!(error <= bound + slack())) fail_msg("%g ulp at %a, allowed %g", error, x, bound);
        }
}

/* float32 numbers in order of value: key and number of a key. */
static int64_t key_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 31 ? -(int64_t)(bits & 0x7fffffffu) : (int64_t)bits;
}

static float from_key(int64_t key)
{
    const uint32_t bits = key < 0 ? 0x80000000u | (uint32_t)-key : (uint32_t)key;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* On a float32 grid, which is what tables and tensors ask for, nothing ever turns back. */
static void check_monotone(function f, float lo, float hi, int64_t step)
{
    double last = f((double)lo);
    for (int64_t key = key_of(lo); key <= key_of(hi); key += step) {
        const double y = f((double)from_key(key));
        if (y < last) fail_msg("falls by %a at %a", last - y, (double)from_key(key));
        last = y;
    }
}

/* Neighbouring doubles around a point, where an algorithm changes its branch. */
static void check_monotone_around(function f, double center)
{
    double x = center;
    for (int i = 0; i < 2000; ++i)
        x = nextafter(x, -INFINITY);
    for (int i = 0; i < 4000; ++i) {
        const double next = nextafter(x, INFINITY);
        const double fall = f(x) - f(next);
        if (fall > 2.0 * DBL_EPSILON * fabs(f(x))) fail_msg("falls by %a at %a", fall, x);
        x = next;
    }
}

static void exp_is_within_one_ulp(void **state)
{
    (void)state;
    check_points(itg_exp, expl, -708.0, 709.7, 1.0);
    check_points(itg_exp, expl, -2.0, 2.0, 1.0);
    check_points(itg_exp, expl, -745.2, -708.0, 1.0);
    check_binades(itg_exp, expl, -60, 8, true, 1.0);
    check_monotone(itg_exp, -110.0f, 90.0f, 997);
    check_monotone_around(itg_exp, 0.34657359027997264);
    check_monotone_around(itg_exp, 1.0);
}

static void log_is_within_one_ulp(void **state)
{
    (void)state;
    check_points(itg_log, logl, 0.4, 2.5, 1.0);
    check_points(itg_log, logl, 0.99, 1.01, 1.0);
    check_binades(itg_log, logl, -1074, 1023, false, 1.0);
    check_monotone(itg_log, 0x1p-149f, FLT_MAX, 9973);
    check_monotone_around(itg_log, 1.0);
    check_monotone_around(itg_log, 1.4142135623730951);
}

static void log2_is_within_two_ulp_and_exact_on_powers(void **state)
{
    (void)state;
    check_points(itg_log2, log2l, 0.4, 2.5, 2.5);
    check_binades(itg_log2, log2l, -1074, 1023, false, 2.5);
    check_monotone(itg_log2, 0x1p-149f, FLT_MAX, 9973);
    for (int e = -1074; e <= 1023; ++e)
        assert_true(itg_log2(ldexp(1.0, e)) == (double)e);
}

static void erf_is_within_three_ulp(void **state)
{
    (void)state;
    check_points(itg_erf, erfl, -7.0, 7.0, 3.0);
    check_points(itg_erf, erfl, 0.9, 1.1, 3.0);
    check_binades(itg_erf, erfl, -1000, 4, true, 3.0);
    check_monotone(itg_erf, -7.0f, 7.0f, 997);
    check_monotone_around(itg_erf, 1.0);
    check_monotone_around(itg_erf, 6.0);
}

static void tanh_is_within_three_ulp(void **state)
{
    (void)state;
    check_points(itg_tanh, tanhl, -25.0, 25.0, 3.0);
    check_points(itg_tanh, tanhl, -1.0, 1.0, 3.0);
    check_binades(itg_tanh, tanhl, -1000, 6, true, 3.0);
    check_monotone(itg_tanh, -22.0f, 22.0f, 997);
    check_monotone_around(itg_tanh, 0.625);
}

static long double sigmoid_reference(long double x)
{
    return x >= 0 ? 1.0L / (1.0L + expl(-x)) : expl(x) / (1.0L + expl(x));
}

static void sigmoid_is_within_three_ulp(void **state)
{
    (void)state;
    check_points(itg_sigmoid, sigmoid_reference, -40.0, 40.0, 3.0);
    check_points(itg_sigmoid, sigmoid_reference, -700.0, -30.0, 3.0);
    check_binades(itg_sigmoid, sigmoid_reference, -60, 8, true, 3.0);
    check_monotone(itg_sigmoid, -110.0f, 40.0f, 997);
    check_monotone_around(itg_sigmoid, 0.0);
}

static void sines_are_within_four_ulp(void **state)
{
    (void)state;
    check_points(itg_sin, sinl, -10.0, 10.0, 4.0);
    check_points(itg_cos, cosl, -10.0, 10.0, 4.0);
    check_points(itg_tan, tanl, -10.0, 10.0, 6.0);
    check_points(itg_sin, sinl, 3.14, 3.143, 4.0); /* near a multiple of pi */
    check_binades(itg_sin, sinl, -1000, 60, true, 4.0);
    check_binades(itg_cos, cosl, -60, 60, true, 4.0);
    check_binades(itg_tan, tanl, -1000, 60, true, 6.0);
}

/* sin and cos of 10^22, and of the double nearest to a multiple of pi/2 (values: Muller, Elementary
 * Functions). */
static void large_angles_are_reduced_exactly(void **state)
{
    (void)state;
    assert_true(fabs(itg_sin(1e22) - -0.8522008497671888017727) < 1e-15);
    assert_true(fabs(itg_cos(1e22) - 0.5232147853951389454975) < 1e-15);
    const double worst = ldexp(6381956970095103.0, 797);
    assert_true(fabs(itg_cos(worst) / -4.68716592425462761112e-19 - 1.0) < 1e-15);
    assert_true(isnan(itg_sin(INFINITY)) && isnan(itg_cos(-INFINITY)) && isnan(itg_tan(NAN)));
    assert_true(signbit(itg_sin(-0.0)) && itg_cos(0.0) == 1.0);
}

static void arcs_are_within_four_ulp(void **state)
{
    (void)state;
    check_points(itg_atan, atanl, -8.0, 8.0, 2.0);
    check_binades(itg_atan, atanl, -1000, 1000, true, 2.0);
    check_points(itg_asin, asinl, -1.0, 1.0, 4.0);
    check_binades(itg_asin, asinl, -1000, -1, true, 4.0);
    check_points(itg_acos, acosl, -1.0, 1.0, 4.0);
    check_monotone(itg_atan, -9.0f, 9.0f, 997);
    assert_true(isnan(itg_asin(1.5)) && isnan(itg_acos(-1.5)) && isnan(itg_asin(INFINITY)));
    assert_true(itg_acos(1.0) == 0.0 && itg_acos(-1.0) == 0x1.921fb54442d18p+1);
    assert_true(itg_atan(-INFINITY) == -0x1.921fb54442d18p+0 && signbit(itg_atan(-0.0)));
}

static void hyperbolic_functions_are_within_five_ulp(void **state)
{
    (void)state;
    check_points(itg_sinh, sinhl, -30.0, 30.0, 5.0);
    check_binades(itg_sinh, sinhl, -1000, 8, true, 5.0);
    check_points(itg_cosh, coshl, -30.0, 30.0, 2.0);
    check_points(itg_asinh, asinhl, -30.0, 30.0, 5.0);
    check_binades(itg_asinh, asinhl, -1000, 1000, true, 5.0);
    check_points(itg_acosh, acoshl, 1.0, 30.0, 5.0);
    check_binades(itg_acosh, acoshl, 1, 1000, false, 5.0);
    check_points(itg_atanh, atanhl, -1.0, 1.0, 5.0);
    check_binades(itg_atanh, atanhl, -1000, -1, true, 5.0);
    assert_true(itg_sinh(-INFINITY) == -INFINITY && itg_cosh(-INFINITY) == INFINITY);
    assert_true(itg_asinh(-INFINITY) == -INFINITY && itg_acosh(INFINITY) == INFINITY);
    assert_true(isnan(itg_acosh(0.5)) && isnan(itg_atanh(2.0)) && itg_atanh(-1.0) == -INFINITY);
    assert_true(signbit(itg_sinh(-0.0)) && signbit(itg_asinh(-0.0)) && signbit(itg_atanh(-0.0)));
}

static void pow_is_within_two_ulp(void **state)
{
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 3);
    for (int i = 0; i < 400000; ++i) {
        const double x = ldexp(1.0 + itg_rng_unit(&rng), (int)itg_rng_below(&rng, 60) - 30);
        const double y = (itg_rng_unit(&rng) - 0.5) * (i % 2 ? 8.0 : 60.0);
        const long double want = powl((long double)x, (long double)y);
        if (want > DBL_MAX || want < DBL_MIN) continue;
        const double error = ulp_error(itg_pow(x, y), want);
        if (!(error <= 2.0 + slack())) fail_msg("%g ulp at %a ^ %a", error, x, y);
    }
}

static void pow_is_within_two_ulp_near_one(void **state)
{
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 5);
    for (int i = 0; i < 100000; ++i) {
        const double x =
            1.0 + (itg_rng_unit(&rng) - 0.5) * ldexp(1.0, -(int)itg_rng_below(&rng, 50));
        const double y = (itg_rng_unit(&rng) - 0.5) * ldexp(1.0, (int)itg_rng_below(&rng, 50));
        const long double want = powl((long double)x, (long double)y);
        if (want > DBL_MAX || want < DBL_MIN) continue;
        const double error = ulp_error(itg_pow(x, y), want);
        if (!(error <= 2.0 + slack())) fail_msg("%g ulp at %a ^ %a", error, x, y);
    }
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : memcmp(&a, &b, sizeof a) == 0;
}

/* C11 F.10.4.4 and everything else that its library defines exactly: all pairs of interesting
 * values. */
static void pow_agrees_at_special_values(void **state)
{
    static const double values[] = {0.0,
                                    -0.0,
                                    1.0,
                                    -1.0,
                                    2.0,
                                    -2.0,
                                    0.5,
                                    -0.5,
                                    3.0,
                                    -3.0,
                                    4.0,
                                    -4.0,
                                    5.0,
                                    -5.0,
                                    0x1p53,
                                    -0x1p53,
                                    0x1p60,
                                    -0x1p60,
                                    1e300,
                                    -1e300,
                                    INFINITY,
                                    -INFINITY,
                                    NAN,
                                    0x1p53 + 2,
                                    0x1p-1074,
                                    -0x1p-1074,
                                    DBL_MAX,
                                    -DBL_MAX,
                                    0x1.fffffffffffffp-1};
    const int count = (int)(sizeof values / sizeof values[0]);
    (void)state;
    for (int i = 0; i < count; ++i)
        for (int j = 0; j < count; ++j) {
            const double got = itg_pow(values[i], values[j]), want = pow(values[i], values[j]);
            const bool is_close =
                same(got, want) || fabs(got - want) <= 4 * DBL_EPSILON * fabs(want);
            if (!is_close) fail_msg("%a ^ %a = %a, not %a", values[i], values[j], got, want);
        }
}

static void pow_is_exact_where_promised(void **state)
{
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 9);
    for (int i = 0; i < 10000; ++i) {
        const double x = (itg_rng_unit(&rng) - 0.5) * 1000.0;
        assert_true(itg_pow(x, 0.0) == 1.0);
        assert_true(itg_pow(x, 1.0) == x);
        assert_true(itg_pow(x, 2.0) == x * x);
        assert_true(itg_pow(x, -1.0) == 1.0 / x);
        assert_true(itg_pow(fabs(x), 0.5) == sqrt(fabs(x)));
    }
}

static void special_values_are_those_of_c(void **state)
{
    (void)state;
    assert_true(same(itg_exp(INFINITY), INFINITY) && same(itg_exp(-INFINITY), 0.0));
    assert_true(itg_exp(0.0) == 1.0 && itg_exp(-0.0) == 1.0 && isnan(itg_exp(NAN)));
    assert_true(itg_exp(709.8) == INFINITY && itg_exp(-746.0) == 0.0 && itg_exp(1e300) == INFINITY);
    assert_true(itg_exp(-745.0) == 0x1p-1074);
    assert_true(itg_log(0.0) == -INFINITY && itg_log(-0.0) == -INFINITY && isnan(itg_log(-1.0)));
    assert_true(same(itg_log(1.0), 0.0) && itg_log(INFINITY) == INFINITY && isnan(itg_log(NAN)));
    assert_true(same(itg_erf(-0.0), -0.0) && itg_erf(INFINITY) == 1.0 &&
                itg_erf(-INFINITY) == -1.0);
    assert_true(same(itg_tanh(-0.0), -0.0) && itg_tanh(INFINITY) == 1.0 && itg_tanh(-1e9) == -1.0);
    assert_true(isnan(itg_erf(NAN)) && isnan(itg_tanh(NAN)) && isnan(itg_sigmoid(NAN)));
    assert_true(itg_sigmoid(0.0) == 0.5 && itg_sigmoid(INFINITY) == 1.0);
    assert_true(itg_sigmoid(-INFINITY) == 0.0 && itg_sigmoid(-800.0) == 0.0);
    assert_true(isnan(itg_sqrt(-1.0)) && same(itg_sqrt(-0.0), -0.0) && itg_sqrt(2.0) == sqrt(2.0));
    assert_true(same(itg_floor(-0.5), -1.0) && same(itg_ceil(-0.5), -0.0));
}

static void frexp_and_ldexp_agree_with_the_library(void **state)
{
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 13);
    for (int i = 0; i < 300000; ++i) {
        uint64_t bits = itg_rng_next(&rng);
        double x;
        if (i % 8 == 0) bits &= 0x800fffffffffffffu; /* subnormal */
        memcpy(&x, &bits, sizeof x);
        if (isnan(x)) continue;
        int mine = 0, theirs = 0;
        const double m = itg_frexp(x, &mine), want = frexp(x, &theirs);
        assert_true(same(m, want));
        if (isfinite(x)) assert_int_equal(mine, theirs);
        const int shift = (int)itg_rng_below(&rng, 4400) - 2200;
        assert_true(same(itg_ldexp(x, shift), ldexp(x, shift)));
    }
    assert_true(itg_ldexp(1.0, 100000) == INFINITY && itg_ldexp(1.0, -100000) == 0.0);
}

/* The bits themselves, so that another platform that disagrees fails here and not in a digest. */
static void bits_are_pinned(void **state)
{
    itg_sha256 hash;
    itg_rng rng;
    unsigned char digest[32], little[8];
    char hex[65];
    (void)state;
    itg_sha256_init(&hash);
    itg_rng_init(&rng, 17);
    for (int i = 0; i < 20000; ++i) {
        const double x = (itg_rng_unit(&rng) - 0.5) * (i % 2 ? 4.0 : 60.0);
        const double positive = fabs(x) + 0x1p-30;
        const double all[] = {itg_exp(x),  itg_log(positive), itg_log2(positive),        itg_erf(x),
                              itg_tanh(x), itg_sigmoid(x),    itg_pow(positive, 0.3 * x)};
        for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
            itg_copy_little_endian(little, &all[k], 1, 8);
            itg_sha256_update(&hash, little, 8);
        }
    }
    itg_sha256_final(&hash, digest);
    itg_sha256_hex(digest, hex);
    assert_string_equal(hex, "239441924fb7ef4611cbf7160fb5d3d03e6d35212d030ff653fc4c1c01140ce4");
}

static void bits_of_angles_and_hyperbolas_are_pinned(void **state)
{
    itg_sha256 hash;
    itg_rng rng;
    unsigned char digest[32], little[8];
    char hex[65];
    (void)state;
    itg_sha256_init(&hash);
    itg_rng_init(&rng, 23);
    for (int i = 0; i < 20000; ++i) {
        const double x = (itg_rng_unit(&rng) - 0.5) * (i % 2 ? 4.0 : 60.0), small = x / 30.5;
        const double angle = ldexp(x, i % 100);
        const double all[] = {itg_sin(angle),   itg_cos(angle),
                              itg_tan(angle),   itg_asin(small),
                              itg_acos(small),  itg_atan(x),
                              itg_sinh(x),      itg_cosh(x),
                              itg_asinh(x),     itg_acosh(1.0 + fabs(x)),
                              itg_atanh(small), itg_log1p(fabs(x))};
        for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
            itg_copy_little_endian(little, &all[k], 1, 8);
            itg_sha256_update(&hash, little, 8);
        }
    }
    itg_sha256_final(&hash, digest);
    itg_sha256_hex(digest, hex);
    assert_string_equal(hex, "900502cff7e0d966d0af9be360b527c81a33cb35df66acbf7d3834618a26b36a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_within_one_ulp),
        cmocka_unit_test(log_is_within_one_ulp),
        cmocka_unit_test(log2_is_within_two_ulp_and_exact_on_powers),
        cmocka_unit_test(erf_is_within_three_ulp),
        cmocka_unit_test(tanh_is_within_three_ulp),
        cmocka_unit_test(sigmoid_is_within_three_ulp),
        cmocka_unit_test(sines_are_within_four_ulp),
        cmocka_unit_test(large_angles_are_reduced_exactly),
        cmocka_unit_test(arcs_are_within_four_ulp),
        cmocka_unit_test(hyperbolic_functions_are_within_five_ulp),
        cmocka_unit_test(pow_is_within_two_ulp),
        cmocka_unit_test(pow_is_within_two_ulp_near_one),
        cmocka_unit_test(pow_agrees_at_special_values),
        cmocka_unit_test(pow_is_exact_where_promised),
        cmocka_unit_test(special_values_are_those_of_c),
        cmocka_unit_test(frexp_and_ldexp_agree_with_the_library),
        cmocka_unit_test(bits_are_pinned),
        cmocka_unit_test(bits_of_angles_and_hyperbolas_are_pinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
