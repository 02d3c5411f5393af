/* Rows of Softmax and LayerNormalization against real arithmetic, within the bounds that
 * docs/arithmetic.md 3.4 and 3.5 prove, also where these are the widest. */
#include "kernels/int_ops.h"
#include "kernels/requant.h"
#include "int_cases.h"
#include <math.h>
#include <stdlib.h>

enum { MOST = 46340, FRACTION = 20 };

static uint64_t state = 1;
static int64_t pick(int64_t lo, int64_t hi)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return lo + (int64_t)((state >> 33) % (uint64_t)(hi - lo + 1));
}

static void roots_are_exact(void **unused)
{
    (void)unused;
    for (int64_t r = 0; r < 70000; r++) {
        assert_int_equal(itg_floor_sqrt(r * r), r);
        assert_int_equal(itg_floor_sqrt(r * r + 2 * r), r);
    }
    for (int i = 0; i < 100000; i++) {
        const int64_t r = pick(0, 0x7fffffff), v = r * r;
        assert_int_equal(itg_floor_sqrt(v), r);
        if (r > 0) assert_int_equal(itg_floor_sqrt(v - 1), r - 1);
    }
    assert_int_equal(itg_floor_sqrt(INT64_MAX), 3037000499);
}

/* ---- Softmax ---- */

static void fill_table(int32_t *table, int64_t count, int64_t step, double scale, int32_t bits)
{
    for (int64_t j = 0; j < count; j++)
        table[j] = (int32_t)rint(ldexp(exp(-scale * (double)(j * step)), bits));
}

static void check_softmax(const int16_t *x, int64_t n, int64_t stride, double scale, int32_t bits)
{
    static int32_t fine[256], coarse[256];
    int64_t *acc = calloc((size_t)(n * stride), sizeof *acc), all = 0;
    fill_table(fine, 256, 1, scale, bits);
    fill_table(coarse, 256, 256, scale, bits);
    const itg_int_softmax k = {fine, coarse, bits, n, stride};
    const itg_int_operand codes = {ITG_S16, x, 0, INT16_MIN, INT16_MAX};
    itg_int_softmax_row(&k, &codes, 0, acc);
    int64_t most = x[0];
    double sum = 0, bound = ldexp((double)n + 1, 1 - bits) + ldexp(1, -31);
    for (int64_t i = 0; i < n; i++)
        most = x[i * stride] > most ? x[i * stride] : most;
    for (int64_t i = 0; i < n; i++)
        sum += exp(scale * (double)(x[i * stride] - most));
    for (int64_t i = 0; i < n; i++) {
        const double p = exp(scale * (double)(x[i * stride] - most)) / sum;
        assert_true(fabs(ldexp((double)acc[i * stride], -30) - p) <= bound);
        all += acc[i * stride];
    }
    /* A row adds up to 1, but for the rounding of each quotient. */
    assert_true(llabs(all - (INT64_C(1) << 30)) <= n / 2 + 1);
    free(acc);
}

static void softmax_is_near_the_real_one(void **unused)
{
    (void)unused;
    static int16_t x[4096];
    const double scales[] = {1e-9, 1.0 / 4096, 0.01, 0.3, 5, 1e6};
    for (int i = 0; i < 300; i++) {
        const int64_t n = pick(1, 64), stride = pick(1, 4), width = pick(0, 32767);
        for (int64_t k = 0; k < n * stride; k++)
            x[k] = (int16_t)pick(-width - (width == 32767), width);
        check_softmax(x, n, stride, scales[i % 6], i % 2 ? 30 : 16);
    }
    for (int64_t k = 0; k < 4096; k++)
        x[k] = k == 7 ? INT16_MAX : INT16_MIN;
    check_softmax(x, 4096, 1, 1e-4, 30);
    check_softmax(x, 4096, 1, 1e6, 18);
}

/* ---- Softmax of TensorFlow Lite ---- */

static void check_tflite(const int8_t *x, int64_t n, int64_t stride, double scale, int32_t bits)
{
    int32_t table[256];
    int64_t *acc = calloc((size_t)(n * stride), sizeof *acc), most = x[0];
    itg_int_tflite_exponentials(scale, 256, table);
    for (int i = 0; i < 256; i++)
        assert_true(fabs(ldexp((double)table[i], -31) - exp(-scale * i)) <= ldexp(1, -22));
    const itg_int_tflite_softmax k = {table, bits, n, stride};
    const itg_int_operand codes = {ITG_S8, x, 0, INT8_MIN, INT8_MAX};
    itg_int_tflite_softmax_row(&k, &codes, 0, acc);
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        most = x[i * stride] > most ? x[i * stride] : most;
    for (int64_t i = 0; i < n; i++)
        sum += exp(scale * (double)(x[i * stride] - most));
    const double bound = ((double)n + 2) * (ldexp(1, -20) + ldexp(1, -22)) + ldexp(1, -bits - 1);
    for (int64_t i = 0; i < n; i++) {
        const double p = exp(scale * (double)(x[i * stride] - most)) / sum;
        assert_true(fabs(ldexp((double)acc[i * stride], -bits) - p) <= bound);
        assert_in_range(acc[i * stride], 0, INT64_C(1) << bits);
    }
    free(acc);
}

/* From the least scale on; above 32 every difference is beyond the table. The longest rows, where
 * all are equal, all but one are far below, and all are just above half a unit of the sum. */
static void tflite_softmax_is_near_the_real_one(void **unused)
{
    (void)unused;
    static int8_t x[ITG_TFLITE_MOST_ROW];
    const double scales[] = {0x1p-26, 1e-5, 1.0 / 16, 0.11, 0.5, 1, 31, 32, 33, 1e30};
    for (int i = 0; i < 500; i++) {
        const int64_t n = pick(1, 64), stride = pick(1, 4), width = pick(0, 127);
        for (int64_t k = 0; k < n * stride; k++)
            x[k] = (int8_t)pick(-width, width);
        check_tflite(x, n, stride, scales[i % 10], i % 2 ? 8 : 16);
    }
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < 10; i++) {
            for (int64_t k = 0; k < ITG_TFLITE_MOST_ROW; k++)
                x[k] = (int8_t)(k == 7 ? 127 : kind == 0 ? 127 : kind == 1 ? -128 : 0);
            check_tflite(x, ITG_TFLITE_MOST_ROW, 1, i == 0 ? 13.5 / 127 : scales[i], 16);
            check_tflite(x, ITG_TFLITE_MOST_ROW, 1, scales[i], 8);
        }
}

/* ---- LayerNormalization ---- */

static void check_layer_norm(const int16_t *x, int64_t n, int64_t epsilon)
{
    int64_t *acc = calloc((size_t)n, sizeof *acc), *bias = calloc((size_t)n, sizeof *bias);
    int16_t *gain = calloc((size_t)n, sizeof *gain);
    for (int64_t i = 0; i < n; i++)
        gain[i] = 1;
    const itg_int_layer_norm k = {gain, bias, FRACTION, n, epsilon};
    const itg_int_operand codes = {ITG_S16, x, 0, -32767, 32767};
    itg_int_layer_norm_row(&k, &codes, 0, acc);
    long double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i];
        squares += (long double)x[i] * x[i];
    }
    const long double total = (long double)n * squares - sum * sum + (long double)epsilon;
    const double bound = ldexp(1, -FRACTION - 1) + ldexp(sqrt((double)n), -30) + 1e-15;
    for (int64_t i = 0; i < n; i++) {
        const long double y = ((long double)n * x[i] - sum) / sqrtl(total);
        assert_true(fabs((double)(ldexpl((long double)acc[i], -FRACTION) - y)) <= bound);
        assert_true(llabs(acc[i]) <= itg_floor_sqrt(n << 2 * FRACTION) + 4);
        acc[i] = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        gain[i] = (int16_t)(i % 2 ? -32767 : 32767);
        bias[i] = i % 3 ? INT64_C(1) << 60 : -(INT64_C(1) << 60);
    }
    itg_int_layer_norm_row(&k, &codes, 0, acc);
    for (int64_t i = 0; i < n; i++)
        assert_true(llabs(acc[i] - bias[i]) < INT64_C(1) << 46);
    free(acc);
    free(bias);
    free(gain);
}

static void layer_norm_is_near_the_real_one(void **unused)
{
    (void)unused;
    static int16_t x[MOST];
    const int64_t epsilons[] = {1, 1000, INT64_C(1) << 40, INT64_C(1) << 61};
    for (int i = 0; i < 400; i++) {
        const int64_t n = pick(1, 300), width = pick(0, 3) ? pick(0, 32767) : pick(0, 2),
                      at = pick(-32767 + width, 32767 - width);
        for (int64_t k = 0; k < n; k++)
            x[k] = (int16_t)(at + pick(-width, width));
        check_layer_norm(x, n, epsilons[i % 4]);
    }
    /* The longest row of the widest codes: one of them alone, and half of them on each side. */
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < 4; i++) {
            for (int64_t k = 0; k < MOST; k++)
                x[k] = (int16_t)(kind == 0   ? (k == 5 ? 32767 : -32767)
                                 : kind == 1 ? (k % 2 ? 32767 : -32767)
                                             : 32767);
            check_layer_norm(x, MOST, epsilons[i]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roots_are_exact),
        cmocka_unit_test(softmax_is_near_the_real_one),
        cmocka_unit_test(tflite_softmax_is_near_the_real_one),
        cmocka_unit_test(layer_norm_is_near_the_real_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
