/* Each estimator against an independent computation on the raw elements. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "sim/histogram.h"

enum { ELEMENTS = 4000 };

typedef enum kind { NORMAL, ONE_SIDED, RELU_OUTLIERS, SKEWED, UNIFORM, NEGATIVE, KIND_COUNT } kind;

/* Sum of 12 uniforms less 6: variance 1. */
static double normal(itg_rng *rng)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += itg_rng_unit(rng);
    return sum;
}

static void fill(kind k, float *x)
{
    itg_rng rng;
    itg_rng_init(&rng, (uint64_t)k + 17);
    for (int i = 0; i < ELEMENTS; i++) {
        const double v = normal(&rng);
        switch (k) {
        case NORMAL:
            x[i] = (float)v;
            break;
        case ONE_SIDED:
            x[i] = (float)fabs(v);
            break;
        case RELU_OUTLIERS:
            x[i] = i % 5 ? 0.0f : i % 1000 ? (float)fabs(v) : 25.0f;
            break;
        case SKEWED:
            x[i] = (float)(v > 0 ? 4 * v : v / 4);
            break;
        case UNIFORM:
            x[i] = (float)(itg_rng_unit(&rng) * 2 - 1);
            break;
        default:
            x[i] = (float)(-fabs(v));
            break;
        }
    }
}

static itg_value_stats *stats_of(const float *x, int64_t count)
{
    itg_value_stats *stats = malloc(sizeof *stats);
    itg_sums_fold fold = {0};
    itg_sums sums;
    assert_non_null(stats);
    itg_histogram_init(stats);
    itg_sums_of(x, count, ITG_F32_ALL, &sums);
    itg_histogram_add(stats, x, count, ITG_F32_ALL, &sums);
    itg_sums_add(stats, &fold, &sums);
    itg_sums_finish(stats, &fold);
    return stats;
}

/* Squared error when [lo, hi] is used, as docs/arithmetic.md makes quantizers of ranges. */
static double raw_error(const float *x, int count, const itg_threshold_target *t, double lo,
                        double hi)
{
    const double codes = ldexp(1, t->bits) - 1, half = ldexp(1, t->bits - 1);
    double qmin = 0, qmax = codes, step, zero = 0, error = 0;
    if (!t->symmetric) {
        step = (hi - lo) / codes;
    } else if (t->is_signed) {
        step = fmax(-lo, hi) / (t->power_of_two ? half : half - 1);
        qmin = -(half - 1);
        qmax = half - 1;
    } else {
        step = hi / codes;
    }
    if (t->power_of_two) step = exp2(ceil(log2(step)));
    if (!t->symmetric) zero = fmin(fmax(rint(-lo / step), 0), codes);
    for (int i = 0; i < count; i++) {
        const double q = fmin(fmax(rint((double)x[i] / step) + zero, qmin), qmax);
        const double e = (double)x[i] - (q - zero) * step;
        error += e * e;
    }
    return error;
}

static double least_error(const float *x, int count, const itg_threshold_target *t, double lo,
                          double hi)
{
    const bool is_free = !t->symmetric && lo < 0 && hi > 0;
    const int steps = is_free ? 48 : 400;
    double least = DBL_MAX;
    for (int i = 1; i <= steps; i++)
        for (int j = is_free ? 1 : i; j <= (is_free ? steps : i); j++) {
            const double e = raw_error(x, count, t, lo * i / steps, hi * j / steps);
            if (e < least) least = e;
        }
    return least;
}

static void estimate(itg_threshold_method method, const itg_value_stats *s,
                     const itg_threshold_target *t, double *lo, double *hi)
{
    itg_error err = {.message = ""};
    if (itg_threshold_estimate(method, s, t, lo, hi, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_true(*lo <= 0 && *hi >= 0);
    assert_true(!signbit(*lo) || *lo < 0);
}

static bool fits(kind k, const itg_threshold_target *t)
{
    return !t->symmetric || t->is_signed || k == ONE_SIDED || k == RELU_OUTLIERS;
}

static void mse_comes_close_to_the_least_error_of_a_fine_grid(void **state)
{
    (void)state;
    static float x[ELEMENTS];
    static const int bits[] = {2, 3, 4, 5, 6, 8};
    for (kind k = 0; k < KIND_COUNT; k++) {
        fill(k, x);
        itg_value_stats *s = stats_of(x, ELEMENTS);
        const double min = fmin(0, (double)s->min), max = fmax(0, (double)s->max);
        for (int form = 0; form < 6; form++) {
            for (size_t b = 0; b < sizeof bits / sizeof *bits; b++) {
                const itg_threshold_target t = {bits[b], form % 3 < 2, form % 3 == 0, form >= 3};
                double lo, hi;
                if (!fits(k, &t) ||
                    (t.power_of_two && !t.symmetric && (k == SKEWED || k == NORMAL)))
                    continue;
                estimate(ITG_THRESHOLD_MSE, s, &t, &lo, &hi);
                const double found = raw_error(x, ELEMENTS, &t, lo, hi);
                const double least = least_error(x, ELEMENTS, &t, min, max),
                             whole = raw_error(x, ELEMENTS, &t, min, max);
                if (found > 1.05 * least || found > 1.01 * whole)
                    fail_msg("kind %d form %d bits %d: %g in [%g,%g], least %g, max %g", (int)k,
                             form, bits[b], found, lo, hi, least, whole);
            }
        }
        free(s);
    }
}

static void mse_of_power_of_two_steps_searches_every_zero_point(void **state)
{
    (void)state;
    static float x[ELEMENTS];
    for (int bits = 2; bits <= 8; bits++) {
        const itg_threshold_target t = {bits, false, false, true};
        double lo, hi, least = DBL_MAX;
        fill(SKEWED, x);
        itg_value_stats *s = stats_of(x, ELEMENTS);
        estimate(ITG_THRESHOLD_MSE, s, &t, &lo, &hi);
        const double found = raw_error(x, ELEMENTS, &t, lo, hi), codes = ldexp(1, bits) - 1;
        for (int e = -8; e <= 4; e++)
            for (double zero = 0; zero <= codes; zero += bits > 5 ? 4 : 1) {
                const double error =
                    raw_error(x, ELEMENTS, &t, -zero * ldexp(1, e), (codes - zero) * ldexp(1, e));
                if (error < least) least = error;
            }
        if (found > 1.05 * least)
            fail_msg("bits %d: %g in [%g,%g], least %g", bits, found, lo, hi, least);
        free(s);
    }
}

static void mse_at_many_bits_keeps_nearly_the_whole_range(void **state)
{
    (void)state;
    static float x[ELEMENTS];
    for (kind k = 0; k < KIND_COUNT; k++) {
        fill(k, x);
        itg_value_stats *s = stats_of(x, ELEMENTS);
        for (int bits = 12; bits <= 32; bits += 4) {
            const itg_threshold_target t = {bits, true, true, false};
            double lo, hi;
            estimate(ITG_THRESHOLD_MSE, s, &t, &lo, &hi);
            const double largest = fmax(-(double)s->min, (double)s->max);
            assert_true(fmax(-lo, hi) <= largest && fmax(-lo, hi) > 0.99 * largest);
        }
        free(s);
    }
}

static void a_range_tells_of_negative_values_only_where_there_are_some(void **state)
{
    (void)state;
    static float x[ELEMENTS];
    const itg_threshold_target t = {6, true, true, false}, p = {6, true, true, true};
    for (kind k = 0; k < KIND_COUNT; k++) {
        fill(k, x);
        itg_value_stats *s = stats_of(x, ELEMENTS);
        for (int m = 0; m < ITG_THRESHOLD_METHOD_COUNT; m++) {
            double lo, hi;
            estimate((itg_threshold_method)m, s, &t, &lo, &hi);
            assert_int_equal(lo < 0, s->min < 0);
            assert_int_equal(hi > 0, s->max > 0);
            estimate((itg_threshold_method)m, s, &p, &lo, &hi);
            assert_int_equal(lo < 0, s->min < 0);
            assert_int_equal(hi > 0, s->max > 0);
        }
        free(s);
    }
}

static void max_average_and_power2_follow_their_formulas(void **state)
{
    (void)state;
    static itg_value_stats s;
    const itg_threshold_target asymmetric = {8, false, false, false},
                               symmetric = {8, true, true, false};
    double lo, hi;
    s = (itg_value_stats){.present = true,
                          .count = 4,
                          .min = -3.0f,
                          .max = 5.0f,
                          .average_min = -1.5,
                          .average_max = 2.5};
    s.negative[1536] = 1;
    s.exponent = -9;
    estimate(ITG_THRESHOLD_MAX, &s, &asymmetric, &lo, &hi);
    assert_true(lo == -3 && hi == 5);
    estimate(ITG_THRESHOLD_AVG, &s, &asymmetric, &lo, &hi);
    assert_true(lo == -1.5 && hi == 2.5);
    estimate(ITG_THRESHOLD_POWER2, &s, &asymmetric, &lo, &hi);
    assert_true(lo == -4 && hi == 8);
    estimate(ITG_THRESHOLD_POWER2, &s, &symmetric, &lo, &hi);
    assert_true(lo == -8 && hi == 8);
    s.min = 1.0f; /* all positive: the range still holds zero */
    s.max = 8.0f;
    s.average_min = 1.0;
    estimate(ITG_THRESHOLD_MAX, &s, &asymmetric, &lo, &hi);
    assert_true(lo == 0 && hi == 8);
    estimate(ITG_THRESHOLD_AVG, &s, &asymmetric, &lo, &hi);
    assert_true(lo == 0 && hi == 2.5);
    estimate(ITG_THRESHOLD_POWER2, &s, &symmetric, &lo, &hi);
    assert_true(lo == 0 && hi == 8);
}

static int compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void percentiles_leave_their_share_outside_on_each_side(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    static const struct {
        itg_threshold_method method;
        int outside;
    } cases[] = {{ITG_THRESHOLD_PERCENTILE, 10},
                 {ITG_THRESHOLD_PERCENTILE_99_9, 100},
                 {ITG_THRESHOLD_PERCENTILE_99_999, 1}};
    float *x = malloc(MANY * sizeof *x);
    const itg_threshold_target t = {8, false, false, false};
    itg_rng rng;
    double lo, hi;
    assert_non_null(x);
    itg_rng_init(&rng, 3);
    for (int i = 0; i < MANY; i++)
        x[i] = (float)(normal(&rng) * (i % 2 ? 1 : 3));
    itg_value_stats *s = stats_of(x, MANY);
    qsort(x, MANY, sizeof *x, compare);
    const double width = ldexp(1, s->exponent);
    for (int i = 0; i < 3; i++) {
        const int n = cases[i].outside;
        estimate(cases[i].method, s, &t, &lo, &hi);
        assert_true(hi >= (double)x[MANY - n - 1] - width && hi <= (double)x[MANY - n] + width);
        assert_true(lo <= (double)x[n] + width && lo >= (double)x[n - 1] - width);
    }
    free(s);
    free(x);
}

/* KL by the arrays P and Q themselves. */
static double kl_by_definition(const double *bins, int end, int clip, int levels)
{
    static double p[ITG_HISTOGRAM_BINS], q[ITG_HISTOGRAM_BINS];
    double total = 0, kept = 0, result = 0;
    for (int i = 0; i < end; i++) {
        if (i < clip) p[i] = bins[i];
        if (i >= clip) p[clip - 1] += bins[i];
        total += bins[i];
    }
    for (int j = 0; j < levels; j++) {
        const int from = j * clip / levels, to = (j + 1) * clip / levels;
        double sum = 0, filled = 0;
        for (int i = from; i < to; i++) {
            sum += bins[i];
            filled += p[i] > 0;
        }
        for (int i = from; i < to; i++)
            q[i] = p[i] > 0 ? sum / filled : 0;
        kept += sum;
    }
    for (int i = 0; i < clip; i++)
        if (p[i] > 0)
            result += q[i] > 0 ? p[i] / total * log((p[i] / total) / (q[i] / kept)) : INFINITY;
    return result;
}

static void kl_finds_the_clip_of_least_divergence(void **state)
{
    (void)state;
    static float x[ELEMENTS];
    static double bins[ITG_HISTOGRAM_BINS];
    for (kind k = 0; k < KIND_COUNT; k++) {
        fill(k, x);
        itg_value_stats *s = stats_of(x, ELEMENTS);
        for (int bits = 2; bits <= 10; bits++) {
            const itg_threshold_target t = {bits, true, true, false};
            const int levels = bits < 8 ? 1 << (bits - 1) : 128;
            int end = 0, best = 0;
            double least = INFINITY, lo, hi;
            for (int i = 0; i < ITG_HISTOGRAM_BINS; i++) {
                bins[i] = (double)(s->positive[i] + s->negative[i]);
                if (bins[i] > 0) end = i + 1;
            }
            for (int clip = end; clip >= 128; clip = clip % 8 ? clip / 8 * 8 : clip - 8) {
                const double d = kl_by_definition(bins, end, clip, levels);
                if (d < least - 1e-12) {
                    least = d;
                    best = clip;
                }
            }
            estimate(ITG_THRESHOLD_KL, s, &t, &lo, &hi);
            const double width = ldexp(1, s->exponent),
                         largest = fmax(-(double)s->min, (double)s->max);
            const double found = fmax(-lo, hi), wanted = fmin(best * width, largest);
            const double side = s->min < 0 ? -(double)s->min : 0,
                         other = s->max > 0 ? (double)s->max : 0;
            assert_true(found == fmin(wanted, fmax(side, other)));
        }
        free(s);
    }
}

/* Codes of what has no negative elements are all for the positive ones, zero point or not; and
 * codes without a sign do not look at negative elements. */
static void kl_spends_codes_only_on_elements_that_they_can_hold(void **state)
{
    (void)state;
    static float x[ELEMENTS], y[2 * ELEMENTS];
    for (kind k = 0; k < KIND_COUNT; k++) {
        fill(k, x);
        for (int i = 0; i < ELEMENTS; i++) {
            y[i] = x[i] = fabsf(x[i]);
            y[ELEMENTS + i] = -fabsf(x[i]) / 4;
        }
        itg_value_stats *positive = stats_of(x, ELEMENTS), *both = stats_of(y, 2 * ELEMENTS);
        for (int bits = 3; bits <= 8; bits += 5) {
            const itg_threshold_target codes = {bits, true, false, false},
                                       shifted = {bits, false, false, false};
            double lo, hi, other_lo, other_hi;
            estimate(ITG_THRESHOLD_KL, positive, &codes, &lo, &hi);
            estimate(ITG_THRESHOLD_KL, positive, &shifted, &other_lo, &other_hi);
            assert_true(hi > 0 && other_hi == hi && other_lo == 0);
            estimate(ITG_THRESHOLD_KL, both, &codes, &other_lo, &other_hi);
            assert_true(other_hi == hi);
        }
        free(positive);
        free(both);
    }
}

/* Grey images: half black, strokes of full white, edges in between. */
static void fill_with_pixels(float *x)
{
    itg_rng rng;
    itg_rng_init(&rng, 5);
    for (int i = 0; i < ELEMENTS; i++)
        x[i] =
            i % 2 ? 0.0f : (float)(i % 4 ? 253 + itg_rng_below(&rng, 3) : itg_rng_below(&rng, 256));
}

/* Share of what is not zero beyond the range. */
static double share_outside(const float *x, double lo, double hi)
{
    double outside = 0, all = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        all += x[i] != 0;
        outside += (double)x[i] < lo || (double)x[i] > hi;
    }
    return outside / all;
}

static void kl_saturates_few_elements_at_any_width(void **state)
{
    static const itg_threshold_target forms[] = {{8, true, true, false},
                                                 {8, false, false, false},
                                                 {8, true, true, true},
                                                 {8, true, false, false},
                                                 {8, true, false, true}};
    static float x[ELEMENTS];
    (void)state;
    for (int k = 0; k <= KIND_COUNT; k++) {
        if (k < KIND_COUNT)
            fill((kind)k, x);
        else
            fill_with_pixels(x);
        itg_value_stats *s = stats_of(x, ELEMENTS);
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
            for (int bits = 2; bits <= 8; bits++) {
                itg_threshold_target t = forms[f];
                double lo, hi;
                t.bits = bits;
                if (t.symmetric && !t.is_signed && s->min < 0) continue;
                estimate(ITG_THRESHOLD_KL, s, &t, &lo, &hi);
                const double share = share_outside(x, lo, hi);
                if (share > 0.3)
                    fail_msg("kind %d, form %zu, %d bits: %.3f are outside of [%g,%g]", k, f, bits,
                             share, lo, hi);
            }
        free(s);
    }
}

static void single_values_and_zeros_are_kept(void **state)
{
    (void)state;
    static const float values[] = {0.0f, 5.0f, -5.0f, 0.1f, 1.0f, 0x1p-149f, FLT_MAX, -FLT_MAX};
    float x[64];
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        for (int i = 0; i < 64; i++)
            x[i] = values[v];
        itg_value_stats *s = stats_of(x, 64);
        for (int m = 0; m < ITG_THRESHOLD_METHOD_COUNT; m++) {
            for (int form = 0; form < 3; form++) {
                const itg_threshold_target t = {8, form < 2, form == 0, false};
                double lo, hi;
                estimate((itg_threshold_method)m, s, &t, &lo, &hi);
                const double want = (double)values[v];
                if (form == 1 && want < 0) continue;
                if (m == ITG_THRESHOLD_POWER2) {
                    assert_true(want == 0 ? hi - lo == 0
                                          : hi - lo >= fabs(want) && hi - lo < 2 * fabs(want));
                } else if (m == ITG_THRESHOLD_PERCENTILE || m == ITG_THRESHOLD_PERCENTILE_99_9 ||
                           m == ITG_THRESHOLD_PERCENTILE_99_999) {
                    assert_true(fabs(hi + lo - want) <= 1e-3 * fabs(want)); /* within its bin */
                } else {
                    if (lo != fmin(want, 0) || hi != fmax(want, 0))
                        fail_msg("%s of %g, form %d: [%g,%g]",
                                 itg_threshold_name((itg_threshold_method)m), want, form, lo, hi);
                }
            }
        }
        free(s);
    }
}

static void mse_keeps_the_full_range_of_8_bit_images(void **state)
{
    (void)state;
    enum { MANY = 25600 };
    float *x = malloc(MANY * sizeof *x);
    const itg_threshold_target t = {8, false, false, false};
    double lo, hi;
    assert_non_null(x);
    for (int i = 0; i < MANY; i++)
        x[i] = (float)(i % 256) * 0x1.010102p-8f;
    itg_value_stats *s = stats_of(x, MANY);
    estimate(ITG_THRESHOLD_MSE, s, &t, &lo, &hi);
    assert_true(lo == 0 && hi > 0.998);
    free(s);
    free(x);
}

static void what_has_no_range_is_refused(void **state)
{
    (void)state;
    static itg_value_stats s;
    const itg_threshold_target t = {8, true, true, false}, one = {1, true, true, false},
                               wide = {33, true, true, false};
    const float nan[2] = {NAN, INFINITY};
    double lo = 42, hi = 43;
    itg_error err = {.message = ""};
    memset(&s, 0, sizeof s);
    assert_int_equal(itg_threshold_estimate(ITG_THRESHOLD_MSE, &s, &t, &lo, &hi, &err),
                     ITG_BAD_ARGUMENT);
    itg_value_stats *all_nan = stats_of(nan, 2);
    assert_int_equal(itg_threshold_estimate(ITG_THRESHOLD_MAX, all_nan, &t, &lo, &hi, &err),
                     ITG_FAILURE);
    assert_non_null(strstr(err.message, "2 NaN"));
    assert_int_equal(itg_threshold_estimate(ITG_THRESHOLD_MAX, all_nan, &one, &lo, &hi, &err),
                     ITG_BAD_ARGUMENT);
    assert_int_equal(itg_threshold_estimate(ITG_THRESHOLD_MAX, all_nan, &wide, &lo, &hi, &err),
                     ITG_BAD_ARGUMENT);
    assert_true(lo == 42 && hi == 43);
    free(all_nan);
}

static void constants_come_close_to_the_least_error(void **state)
{
    (void)state;
    static float x[ELEMENTS];
    for (kind k = 0; k < KIND_COUNT; k++) {
        fill(k, x);
        for (int bits = 2; bits <= 8; bits++) {
            for (int power = 0; power < 2; power++) {
                const itg_threshold_target t = {bits, true, true, power == 1};
                const int count = 300;
                double lo, hi, largest = 0;
                for (int i = 0; i < count; i++)
                    largest = fmax(largest, fabs((double)x[i]));
                assert_int_equal(itg_threshold_constant(ITG_THRESHOLD_MSE, x, count, count, count,
                                                        &t, &lo, &hi, NULL),
                                 ITG_OK);
                const double found = raw_error(x, count, &t, lo, hi),
                             least = least_error(x, count, &t, -largest, largest);
                if (found > 1.08 * least ||
                    found > 1.01 * raw_error(x, count, &t, -largest, largest))
                    fail_msg("kind %d bits %d: %g, least %g", (int)k, bits, found, least);
            }
        }
    }
}

static void constants_are_taken_by_their_strides(void **state)
{
    (void)state;
    /* [4,2,3]: the second of axis 1 */
    float x[24];
    double lo, hi;
    const itg_threshold_target t = {8, true, true, false};
    for (int i = 0; i < 24; i++)
        x[i] = i / 3 % 2 ? (float)(i - 12) : 1000.0f;
    for (int m = 0; m < ITG_THRESHOLD_METHOD_COUNT; m++) {
        assert_int_equal(
            itg_threshold_constant((itg_threshold_method)m, x + 3, 12, 6, 3, &t, &lo, &hi, NULL),
            ITG_OK);
        assert_true(lo >= -16 && hi <= 16 && lo <= -8 && hi >= 8);
    }
    assert_int_equal(itg_threshold_constant(ITG_THRESHOLD_MAX, x + 3, 12, 6, 3, &t, &lo, &hi, NULL),
                     ITG_OK);
    assert_true(lo == -9 && hi == 11);
    itg_error err;
    x[10] = NAN;
    assert_int_equal(itg_threshold_constant(ITG_THRESHOLD_MSE, x + 3, 12, 6, 3, &t, &lo, &hi, &err),
                     ITG_BAD_FILE);
    assert_int_equal(itg_threshold_constant(ITG_THRESHOLD_MSE, x, 4, 4, 3, &t, &lo, &hi, &err),
                     ITG_BAD_ARGUMENT);
    x[0] = 0.0f;
    assert_int_equal(itg_threshold_constant(ITG_THRESHOLD_MSE, x, 1, 1, 1, &t, &lo, &hi, &err),
                     ITG_OK);
    assert_true(lo == 0 && hi == 0);
}

static void names_go_both_ways(void **state)
{
    (void)state;
    for (int m = 0; m < ITG_THRESHOLD_METHOD_COUNT; m++) {
        itg_threshold_method back = ITG_THRESHOLD_METHOD_COUNT;
        assert_true(itg_threshold_from_name(itg_threshold_name((itg_threshold_method)m), &back));
        assert_int_equal(back, m);
    }
    itg_threshold_method none;
    assert_false(itg_threshold_from_name("median", &none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mse_comes_close_to_the_least_error_of_a_fine_grid),
        cmocka_unit_test(mse_of_power_of_two_steps_searches_every_zero_point),
        cmocka_unit_test(mse_at_many_bits_keeps_nearly_the_whole_range),
        cmocka_unit_test(a_range_tells_of_negative_values_only_where_there_are_some),
        cmocka_unit_test(max_average_and_power2_follow_their_formulas),
        cmocka_unit_test(percentiles_leave_their_share_outside_on_each_side),
        cmocka_unit_test(kl_finds_the_clip_of_least_divergence),
        cmocka_unit_test(kl_spends_codes_only_on_elements_that_they_can_hold),
        cmocka_unit_test(kl_saturates_few_elements_at_any_width),
        cmocka_unit_test(single_values_and_zeros_are_kept),
        cmocka_unit_test(mse_keeps_the_full_range_of_8_bit_images),
        cmocka_unit_test(what_has_no_range_is_refused),
        cmocka_unit_test(constants_come_close_to_the_least_error),
        cmocka_unit_test(constants_are_taken_by_their_strides),
        cmocka_unit_test(names_go_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
