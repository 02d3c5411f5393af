/* The quadratic problem of a layer. */
#include "recover/fit.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* Returns what is added to the diagonal of H for one channel of two inputs with mean 0, their sums
 * of squares 100 and 300, in so many positions. */
static double ridge_of(int64_t positions, double share)
{
    const itg_layer layer = {.groups = 1, .rows = 1, .depth = 2};
    int64_t xx[] = {100, 0, 0, 300}, tx[] = {0, 0}, x[] = {0, 0}, t[] = {0};
    const itg_moments moments = {positions, 1, 1, xx, tx, x, t};
    const float weights[] = {1, -2};
    const itg_stop never = {0};
    const itg_fit_options options = {true, share, {1, &never}};
    itg_fit fit;
    assert_int_equal(itg_fit_create(&layer, &moments, weights, NULL, &options, &fit, NULL), ITG_OK);
    const double ridge = fit.h[0] - 100;
    assert_true(fabs(fit.h[3] - 300 - ridge) < 1e-9 && fit.h[1] == 0 && fit.h[2] == 0);
    for (int i = 0; i < 2; i++) {
        assert_true(fabs(fit.c[i] - ridge * (double)weights[i]) < 1e-9);
        assert_true(fabs(fit.v[i] * fit.h[3 * i] - fit.c[i]) < 1e-9);
    }
    itg_fit_deinit(&fit);
    return ridge;
}

/* The mean of the diagonal is 200; 32 positions are enough for two terms. */
static void few_positions_need_more_ridge(void **state)
{
    (void)state;
    assert_true(fabs(ridge_of(4000, 1) - 0.03 * 200) < 1e-9);
    assert_true(fabs(ridge_of(32, 1) - 0.03 * 200) < 1e-9);
    assert_true(fabs(ridge_of(8, 1) - (0.03 + 0.3 * (0.25 - 0.0625)) * 200) < 1e-9);
    assert_true(fabs(ridge_of(1, 1) - (0.03 + 0.3 * (2 - 0.0625)) * 200) < 1e-9);
    assert_true(fabs(ridge_of(8, 0.5) - 0.5 * (0.03 + 0.3 * (0.25 - 0.0625)) * 200) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_positions_need_more_ridge)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
