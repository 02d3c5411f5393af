/* Thresholds where their searches and sums have edges: the smallest fractions, a side whose
 * elements all lie in the first bin, a quantile beyond the largest element. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "sim/histogram.h"
#include "sim/threshold.h"

/* ---- the search ---- */

typedef struct valley {
    double lo, hi; /* the range of no cost; 0: any */
    const itg_threshold_target *target;
    int calls;
} valley;

static double distance(double a, double b)
{
    return b > 0 ? fabs(log(a / b)) : 0;
}

static double cost_of(void *context, const itg_grid *grid, double enough)
{
    valley *v = context;
    (void)enough;
    v->calls++;
    return distance(grid->step * (double)grid->above, v->hi) +
           distance(grid->step * (double)grid->below, v->lo);
}

static const itg_threshold_target symmetric = {
    .bits = 8, .is_signed = true, .symmetric = true, .power_of_two = false};
static const itg_threshold_target asymmetric = {
    .bits = 16, .is_signed = false, .symmetric = false, .power_of_two = false};

static void the_search_reaches_the_smallest_fractions(void **state)
{
    (void)state;
    for (int i = 1; i <= 10; i++) {
        valley v = {ldexp(1, -i), ldexp(1, -i), &symmetric, 0};
        itg_range r = itg_threshold_search(&symmetric, (itg_range){-1, 1}, 1, cost_of, &v);
        assert_true(r.hi == v.hi && r.lo == -v.lo);
        assert_in_range(v.calls, 128 + 3 + 8, 128 + 2 * 8 + 3 + 3);
    }
    /* Below them there is nothing: the smallest is taken. */
    valley v = {ldexp(1, -14), ldexp(1, -14), &symmetric, 0};
    itg_range r = itg_threshold_search(&symmetric, (itg_range){-1, 1}, 1, cost_of, &v);
    assert_true(r.hi == ldexp(1, -10));
}

/* Nothing near leads there. */
static double hole(void *context, const itg_grid *grid, double enough)
{
    const double hi = grid->step * (double)grid->above, at = *(double *)context;
    (void)enough;
    return fabs(hi - at) < at / 100 ? 0 : 1 + fabs(hi - 0.5);
}

static void the_smallest_fractions_are_tried_whatever_lies_between(void **state)
{
    (void)state;
    for (int i = 7; i <= 10; i++) {
        double at = ldexp(1, -i);
        itg_range r = itg_threshold_search(&symmetric, (itg_range){-1, 1}, 1, hole, &at);
        assert_true(r.hi == at);
    }
    double at = ldexp(1, -11);
    itg_range r = itg_threshold_search(&symmetric, (itg_range){-1, 1}, 1, hole, &at);
    assert_true(fabs(r.hi - 0.5) < 0.01);
}

/* Fractions are 1/128 apart, and 1/1024 around the best of them; with stride 2 twice as far. */
static void the_search_is_eight_times_finer_around_the_best(void **state)
{
    (void)state;
    for (int stride = 1; stride <= 2; stride++)
        for (int i = 140; i <= 1024; i += 7) {
            valley v = {i / 1024.0, i / 1024.0, &symmetric, 0};
            itg_range r = itg_threshold_search(&symmetric, (itg_range){-1, 1}, stride, cost_of, &v);
            assert_true(fabs(r.hi * 1024 - i) <= stride - 1 + 1e-9);
            assert_true(r.lo == -r.hi);
        }
}

/* Free of each other, each bound finds its own. */
static void bounds_are_found_each_on_its_own(void **state)
{
    (void)state;
    valley v = {0.75, 2.5, &asymmetric, 0};
    itg_range r = itg_threshold_search(&asymmetric, (itg_range){-3, 4}, 1, cost_of, &v);
    assert_true(fabs(r.lo + 0.75) < 0.03 && fabs(r.hi - 2.5) < 0.03);
    v = (valley){2, 0.5, &asymmetric, 0};
    r = itg_threshold_search(&asymmetric, (itg_range){-3, 4}, 1, cost_of, &v);
    assert_true(fabs(r.lo + 2) < 0.03 && fabs(r.hi - 0.5) < 0.03);
}

static double flat(void *context, const itg_grid *grid, double enough)
{
    (void)context, (void)grid, (void)enough;
    return 1;
}

/* Within 1/256 errors are equal, and the wider range is kept. */
static double slope(void *context, const itg_grid *grid, double enough)
{
    (void)enough;
    const double hi = grid->step * (double)grid->above;
    return 1 + *(double *)context * hi;
}

static void of_nearly_equal_errors_the_wider_range_is_kept(void **state)
{
    (void)state;
    double factor = 1.0 / 300;
    itg_range full = {-1, 1};
    assert_true(itg_threshold_search(&symmetric, full, 1, flat, NULL).hi == 1);
    /* Everything costs at most 1/300 more than the least: the fullest that does not cost more than
     * the full range. */
    itg_range r = itg_threshold_search(&symmetric, full, 1, slope, &factor);
    assert_true(r.hi == 1);
    factor = 1.0 / 100; /* up to where it costs 1/256 more than 1 + 1/102400 */
    r = itg_threshold_search(&symmetric, full, 1, slope, &factor);
    assert_true(fabs(r.hi - 0.39) < 0.01);
}

/* ---- mse ---- */

/* `count` elements of each given magnitude and sign. */
static itg_value_stats *stats_of(const float *values, const int64_t *counts, int n)
{
    itg_value_stats *stats = calloc(1, sizeof *stats);
    itg_sums_fold fold = {0};
    itg_sums sums;
    int64_t total = 0, at = 0;
    for (int i = 0; i < n; i++)
        total += counts[i];
    float *x = malloc(sizeof *x * (size_t)total);
    assert_true(stats && x);
    for (int i = 0; i < n; i++)
        for (int64_t k = 0; k < counts[i]; k++)
            x[at++] = values[i];
    itg_histogram_init(stats);
    itg_sums_of(x, total, ITG_F32_ALL, &sums);
    itg_histogram_add(stats, x, total, ITG_F32_ALL, &sums);
    itg_sums_add(stats, &fold, &sums);
    itg_sums_finish(stats, &fold);
    free(x);
    return stats;
}

/* Very many elements on the positive side, all in its first bin: where steps count as noise, their
 * noise is the larger part of the error, and the few negative ones are clipped for it. */
static void a_side_within_its_first_bin_counts(void **state)
{
    (void)state;
    const itg_threshold_target twelve_bits = {.bits = 12};
    const float values[] = {-1, -0.9f, -0.7f, -0.4f, -0.3f, 0.0004f};
    const int64_t few[] = {1, 2, 3, 4, 5, 1}, many[] = {1, 2, 3, 4, 5, 4000000};
    itg_range full = {-1, 0.0004f}, without, with;
    itg_value_stats *s = stats_of(values, few, 6);
    assert_int_equal(itg_threshold_mse(s, &twelve_bits, full, &without, NULL), ITG_OK);
    free(s);
    s = stats_of(values, many, 6);
    assert_true(s->positive[0] == 4000000);
    assert_int_equal(itg_threshold_mse(s, &twelve_bits, full, &with, NULL), ITG_OK);
    free(s);
    assert_true(without.lo == -1);
    assert_true(with.lo > -1);
}

/* Where a part of the elements is counted, the range may reach further than what was. Statistics of
 * other values come before, whose sums lay where these do. */
static void the_range_may_reach_beyond_what_was_counted(void **state)
{
    enum { VALUES = 1900, COUNTED = 1000 };
    (void)state;
    const itg_threshold_target eight_bits = {.bits = 8};
    static float values[VALUES];
    static int64_t counts[VALUES];
    const itg_range full = {0, 1.9};
    for (int32_t other = 0; other < 4; other++) {
        itg_range r;
        for (int i = 0; i < VALUES; i++) {
            values[i] = (float)(i + 1) / COUNTED;
            counts[i] = i < COUNTED ? 1 : other * 100;
        }
        itg_value_stats *s = stats_of(values, counts, VALUES);
        assert_int_equal(itg_threshold_mse(s, &eight_bits, full, &r, NULL), ITG_OK);
        free(s);
        for (int i = COUNTED; i < VALUES; i++)
            counts[i] = i == VALUES - 1;
        s = stats_of(values, counts, VALUES);
        int last = ITG_HISTOGRAM_BINS - 1;
        while (s->positive[last] == 0)
            last--;
        s->positive[last] = 0; /* the largest is not counted */
        assert_int_equal(itg_threshold_mse(s, &eight_bits, full, &r, NULL), ITG_OK);
        free(s);
        assert_true(r.lo == 0 && fabs(r.hi - 1) < 0.02);
    }
}

/* Where a HardSwish reads a value, most of what is below -3 is 0 behind it: codes are not spent on
 * it, though there is much of it. */
static void errors_count_as_they_are_behind_a_gate(void **state)
{
    enum { VALUES = 200 };
    (void)state;
    const itg_threshold_target eight_bits = {.bits = 8};
    const itg_node gate = {.op = ITG_OP_HARD_SWISH, .attrs = itg_attrs_default(ITG_OP_HARD_SWISH)};
    float values[VALUES];
    int64_t counts[VALUES];
    itg_range full = {-10, 2}, before, behind;
    itg_value_stats weighed;
    for (int i = 0; i < VALUES; i++) {
        values[i] = -10 + 12 * (float)i / (VALUES - 1);
        counts[i] = 1000;
    }
    itg_value_stats *s = stats_of(values, counts, VALUES);
    itg_weigh_bins(&gate, s, &weighed);
    assert_true(weighed.min == s->min && weighed.max == s->max && weighed.exponent == s->exponent);
    assert_int_equal(itg_threshold_mse(s, &eight_bits, full, &before, NULL), ITG_OK);
    assert_int_equal(itg_threshold_mse(&weighed, &eight_bits, full, &behind, NULL), ITG_OK);
    free(s);
    assert_true(before.lo < -9 && behind.lo > -3.2 && behind.lo < -1);
    assert_true(behind.hi > 1.9);
}

/* ---- percentile ---- */

/* Quantiles are interpolated within a bin, so they may lie beyond what the bin holds. */
static void a_quantile_never_lies_beyond_the_extremes(void **state)
{
    (void)state;
    const float values[] = {-1.0001f, 1.0001f, 0.5f, -0.5f};
    const int64_t counts[] = {100, 100, 100, 100};
    itg_value_stats *s = stats_of(values, counts, 4);
    itg_range r = itg_threshold_percentile(s, 1e-4);
    assert_true(r.hi == (double)1.0001f && r.lo == -(double)1.0001f);
    free(s);
    /* And within them, where more than a ten thousandth lies further in. */
    const int64_t lonely[] = {1, 1, 20000, 20000};
    s = stats_of(values, lonely, 4);
    r = itg_threshold_percentile(s, 1e-4);
    assert_true(r.hi >= 0.5 && r.hi < 0.51 && r.lo <= -0.5 && r.lo > -0.51);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_search_reaches_the_smallest_fractions),
        cmocka_unit_test(the_smallest_fractions_are_tried_whatever_lies_between),
        cmocka_unit_test(the_search_is_eight_times_finer_around_the_best),
        cmocka_unit_test(bounds_are_found_each_on_its_own),
        cmocka_unit_test(of_nearly_equal_errors_the_wider_range_is_kept),
        cmocka_unit_test(a_side_within_its_first_bin_counts),
        cmocka_unit_test(the_range_may_reach_beyond_what_was_counted),
        cmocka_unit_test(errors_count_as_they_are_behind_a_gate),
        cmocka_unit_test(a_quantile_never_lies_beyond_the_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
