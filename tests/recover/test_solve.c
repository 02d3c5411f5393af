/* Factors and solutions: right to rounding, and the same bits on any number of threads. */
#include "recover/solve.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* a a' + I of a random a: positive definite. */
static double *make(int64_t n, uint64_t seed)
{
    double *a = malloc((size_t)(n * n) * sizeof *a), *h = malloc((size_t)(n * n) * sizeof *h);
    itg_rng rng;
    itg_rng_init(&rng, seed);
    for (int64_t i = 0; i < n * n; i++)
        a[i] = itg_rng_unit(&rng) - 0.5;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = i == j;
            for (int64_t k = 0; k < n; k++)
                sum += a[i * n + k] * a[j * n + k];
            h[i * n + j] = sum;
        }
    free(a);
    return h;
}

static double *copy(const double *x, int64_t n)
{
    double *out = malloc((size_t)n * sizeof *out);
    memcpy(out, x, (size_t)n * sizeof *out);
    return out;
}

static bool never(void *context)
{
    int *asked = context;
    ++*asked;
    return false;
}

static bool factor(double *h, int64_t n, int threads)
{
    const itg_stop stop = {NULL, NULL};
    const itg_solving how = {threads, &stop};
    bool definite = false;
    assert_int_equal(itg_cholesky(h, n, &how, &definite, NULL), ITG_OK);
    return definite;
}

static void solve(const double *l, int64_t n, double *x, int64_t columns, int threads)
{
    const itg_stop stop = {NULL, NULL};
    const itg_solving how = {threads, &stop};
    assert_int_equal(itg_cholesky_solve(l, n, x, columns, &how, NULL), ITG_OK);
}

/* y[i] -= f * x[i] */
static void subtract(double *y, const double *x, double f, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        volatile double product = f * x[i];
        y[i] -= product;
    }
}

/* The same, without blocks: elements subtract products in the order of k. */
static void factor_plainly(double *h, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        const double root = sqrt(h[k * n + k]);
        for (int64_t j = k; j < n; j++)
            h[k * n + j] /= root;
        for (int64_t i = k + 1; i < n; i++)
            subtract(h + i * n + i, h + k * n + i, h[k * n + i], n - i);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            h[i * n + j] = h[j * n + i];
}

static void solve_plainly(const double *l, int64_t n, double *x, int64_t columns)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++)
            subtract(x + i * columns, x + k * columns, l[i * n + k], columns);
        for (int64_t j = 0; j < columns; j++)
            x[i * columns + j] /= l[i * n + i];
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t k = n - 1; k > i; k--)
            subtract(x + i * columns, x + k * columns, l[i * n + k], columns);
        for (int64_t j = 0; j < columns; j++)
            x[i * columns + j] /= l[i * n + i];
    }
}

static void check(int64_t n, int64_t columns)
{
    double *h = make(n, (uint64_t)n), *l = copy(h, n * n), *again = copy(h, n * n);
    double *b = make(n > columns ? n : columns, 99), *x = copy(b, n * columns),
           *y = copy(b, n * columns);
    assert_true(factor(l, n, 1) && factor(again, n, 3));
    assert_memory_equal(l, again, (size_t)(n * n) * sizeof *l);
    solve(l, n, x, columns, 1);
    solve(l, n, y, columns, 3);
    assert_memory_equal(x, y, (size_t)(n * columns) * sizeof *x);
    memcpy(again, h, (size_t)(n * n) * sizeof *h);
    memcpy(y, b, (size_t)(n * columns) * sizeof *y);
    factor_plainly(again, n);
    solve_plainly(again, n, y, columns);
    assert_memory_equal(l, again, (size_t)(n * n) * sizeof *l);
    assert_memory_equal(x, y, (size_t)(n * columns) * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < columns; c++) {
            double sum = 0;
            for (int64_t k = 0; k < n; k++)
                sum += h[i * n + k] * x[k * columns + c];
            assert_true(fabs(sum - b[i * columns + c]) < 1e-9 * (double)n);
        }
    free(h);
    free(l);
    free(again);
    free(b);
    free(x);
    free(y);
}

static void solutions(void **state)
{
    (void)state;
    check(1, 1);
    check(9, 1);
    check(64, 17);
    check(65, 16);
    check(175, 100);
    check(300, 40);
}

static void indefinite(void **state)
{
    (void)state;
    double h[] = {1, 2, 2, 1}, zero[] = {0};
    assert_false(factor(h, 2, 1));
    assert_false(factor(zero, 1, 1));
}

/* True at the question that is behind so many. */
static bool after_some(void *context)
{
    int *left = context;
    return --*left < 0;
}

/* 300 rows are five blocks, and 40 columns two: each is asked about once. */
static void stopped(void **state)
{
    (void)state;
    int asked = 0;
    bool definite = false;
    double *h = make(300, 1), *l = copy(h, 300 * 300), *x = make(300, 2);
    itg_stop stop = {never, &asked};
    const itg_solving how = {1, &stop};
    assert_int_equal(itg_cholesky(l, 300, &how, &definite, NULL), ITG_OK);
    assert_true(definite && asked == 5);
    assert_int_equal(itg_cholesky_solve(l, 300, x, 40, &how, NULL), ITG_OK);
    assert_int_equal(asked, 7);
    for (int most = 0; most < 5; most++) {
        int left = most;
        stop = (itg_stop){after_some, &left};
        memcpy(l, h, 300 * 300 * sizeof *l);
        assert_int_equal(itg_cholesky(l, 300, &how, &definite, NULL), ITG_CANCELLED);
        left = most;
        assert_int_equal(itg_cholesky_solve(l, 300, x, 40, &how, NULL),
                         most < 2 ? ITG_CANCELLED : ITG_OK);
    }
    free(h);
    free(l);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(solutions), cmocka_unit_test(indefinite),
                                       cmocka_unit_test(stopped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
