/* Range, counts and sums against plain loops. */
#include "float_cases.h"
#include "kernels/f32_measure.h"

enum { BINS = 64, MOST = 3000 };

static void fill_with_zeros(float *x, int64_t n, itg_rng *rng)
{
    for (int64_t i = 0; i < n; ++i) {
        const double u = itg_rng_unit(rng);
        x[i] = (float)(u < 0.2 ? 0.0 : u < 0.3 ? -0.0 : (itg_rng_unit(rng) - 0.6) * 9);
    }
}

static void counts_and_sums_are_those_of_a_plain_loop(void **state)
{
    static float x[MOST];
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 5);
    for (int64_t n = 1; n <= MOST; n += n < 20 ? 1 : 149) {
        const int64_t period = 1 + n % 4;
        const itg_f32_part part = {period, n / 7 % period};
        int64_t counted = 0;
        int64_t counts[2 * BINS + ITG_F32_SPARE_BINS] = {0}, zeros = 0;
        int64_t want[2 * BINS] = {0}, want_zeros = 0;
        double sum[ITG_F32_SUMS] = {0.5}, squares[ITG_F32_SUMS] = {0.25};
        fill_with_zeros(x, n, &rng);
        itg_f32_counts c = {8.0, BINS, counts, {0.5}, {0.25}};
        const int64_t found = itg_f32_count(x, n, part, &c);
        for (int64_t i = 0; i < n; ++i) {
            if (i / ITG_F32_BLOCK % period != part.first) continue;
            counted++;
            const double wide = (double)x[i];
            sum[i % ITG_F32_SUMS] += wide;
            squares[i % ITG_F32_SUMS] += wide * wide;
            if (x[i] == 0.0f)
                want_zeros++;
            else
                want[(x[i] < 0.0f ? BINS : 0) + (int)(fabs(wide) * 8.0)]++;
        }
        for (int i = 0; i < ITG_F32_SPARE_BINS; ++i)
            zeros += counts[2 * BINS + i];
        assert_int_equal(found, counted);
        assert_int_equal(zeros, want_zeros);
        assert_memory_equal(counts, want, sizeof want);
        assert_memory_equal(c.sum, sum, sizeof sum);
        assert_memory_equal(c.squares, squares, sizeof squares);
    }
}

static void the_range_is_that_of_a_plain_loop(void **state)
{
    static float x[MOST];
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 6);
    for (int64_t n = 1; n <= MOST; n += n < 40 ? 1 : 97) {
        float min = 0, max = 0, least = INFINITY, most = -INFINITY;
        fill_with_zeros(x, n, &rng);
        if (n % 3 == 0) x[n / 2] = 0x1p-149f;
        if (n % 5 == 0) x[n - 1] = -0x1.fffffep127f;
        for (int64_t i = 0; i < n; ++i) {
            least = fminf(least, x[i]);
            most = fmaxf(most, x[i]);
        }
        assert_true(itg_f32_range(x, n, &min, &max));
        assert_true(min == least && max == most);
    }
}

static void what_is_not_finite_has_no_range(void **state)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    float x[100] = {0}, min = 7, max = 7;
    (void)state;
    assert_false(itg_f32_range(x, 0, &min, &max));
    for (int i = 0; i < 3; ++i)
        for (int at = 0; at < 100; ++at) {
            x[at] = bad[i];
            assert_false(itg_f32_range(x, 100, &min, &max));
            x[at] = 0;
        }
    assert_true(min == 7 && max == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_sums_are_those_of_a_plain_loop),
        cmocka_unit_test(the_range_is_that_of_a_plain_loop),
        cmocka_unit_test(what_is_not_finite_has_no_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
