/* Gemm and MatMul: the same bits as sums in the stated order, for every layout, size and
 * broadcasting. */
#include "float_cases.h"
#include <math.h>

static void naive_gemm(const itg_attrs *attrs, const itg_tensor *a, const itg_tensor *b,
                       const itg_tensor *c, int64_t c_row, int64_t c_column, itg_tensor *y)
{
    const float *x = a->data, *w = b->data, *start = c ? c->data : NULL;
    const int64_t m = y->shape.dims[0], n = y->shape.dims[1];
    const int64_t depth = a->shape.dims[attrs->trans_a ? 0 : 1];
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            const float scaled = start ? attrs->beta * start[i * c_row + j * c_column] : 0.0f;
            float sum = scaled + 0.0f;
            for (int64_t k = 0; k < depth; ++k) {
                const volatile float left =
                    attrs->alpha * x[attrs->trans_a ? k * m + i : i * depth + k];
                sum = fmaf(left, w[attrs->trans_b ? j * depth + k : k * n + j], sum);
            }
            ((float *)y->data)[i * n + j] = sum;
        }
}

static void check_gemm(itg_rng *rng, int64_t m, int64_t n, int64_t k, bool trans_a, bool trans_b)
{
    itg_attrs attrs = attributes();
    attrs.trans_a = trans_a;
    attrs.trans_b = trans_b;
    if (itg_rng_below(rng, 2)) attrs.alpha = 0.37f;
    if (itg_rng_below(rng, 2)) attrs.beta = -1.5f;
    const int64_t rows = itg_rng_below(rng, 2) ? m : 1, columns = itg_rng_below(rng, 2) ? n : 1;
    itg_tensor in[3] = {trans_a ? make(ITG_F32, DIMS(k, m)) : make(ITG_F32, DIMS(m, k)),
                        trans_b ? make(ITG_F32, DIMS(n, k)) : make(ITG_F32, DIMS(k, n)),
                        make(ITG_F32, DIMS(rows, columns))};
    itg_tensor y = make(ITG_F32, DIMS(m, n)), want = make(ITG_F32, DIMS(m, n));
    for (int i = 0; i < 3; ++i)
        fill_random(&in[i], rng, 2.0f);
    const int inputs = itg_rng_below(rng, 4) ? 3 : 2;
    naive_gemm(&attrs, &in[0], &in[1], inputs == 3 ? &in[2] : NULL, rows == 1 ? 0 : columns,
               columns == 1 ? 0 : 1, &want);
    run(ITG_OP_GEMM, &attrs, in, inputs, &y);
    assert_same_bits(&y, &want);
    for (int i = 0; i < 3; ++i)
        drop(&in[i]);
    drop(&y);
    drop(&want);
}

static void gemm_gives_the_bits_of_the_stated_order(void **state)
{
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 1);
    for (int i = 0; i < 1200; ++i) {
        const int64_t m = i % 3 == 0 ? between(&rng, 1, 2) : between(&rng, 1, 40);
        const int64_t n = i % 5 == 0 ? 1 : between(&rng, 1, 90);
        check_gemm(&rng, m, n, between(&rng, 1, 150), i % 4 == 1, i % 2 == 0);
    }
}

static void a_bias_of_one_dimension_runs_along_the_columns(void **state)
{
    float a[2] = {1.0f, 2.0f}, b[2] = {10.0f, 100.0f}, c[2] = {5.0f, 7.0f}, y[4];
    itg_attrs attrs = attributes();
    (void)state;
    const itg_tensor in[3] = {view(ITG_F32, a, DIMS(2, 1)), view(ITG_F32, b, DIMS(1, 2)),
                              view(ITG_F32, c, DIMS(2))};
    itg_tensor out = view(ITG_F32, y, DIMS(2, 2));
    run(ITG_OP_GEMM, &attrs, in, 3, &out);
    assert_true(y[0] == 15.0f && y[1] == 107.0f && y[2] == 25.0f && y[3] == 207.0f);
}

/* One matrix of a stack. */
static void naive_matrix(const float *a, const float *b, const float *bias, int64_t m, int64_t n,
                         int64_t depth, float *y)
{
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            float sum = (bias ? bias[j] : 0.0f) + 0.0f;
            for (int64_t k = 0; k < depth; ++k) {
                sum = fmaf(a[i * depth + k], b[k * n + j], sum);
            }
            y[i * n + j] = sum;
        }
}

/* Stacks [s, t] against [s or 1, t or 1], or less on either side. */
static void check_stack(itg_rng *rng, int64_t m, int64_t n, int64_t k)
{
    const int64_t s = between(rng, 1, 3), t = between(rng, 1, 4);
    const int64_t as = itg_rng_below(rng, 2) ? s : 1,
                  bs = as == s ? between(rng, 0, 1) * (s - 1) + 1 : s;
    const int64_t at = itg_rng_below(rng, 2) ? t : 1,
                  bt = at == t ? between(rng, 0, 1) * (t - 1) + 1 : t;
    const bool has_bias = itg_rng_below(rng, 2) != 0;
    itg_attrs attrs = attributes();
    itg_tensor in[3] = {make(ITG_F32, DIMS(as, at, m, k)), make(ITG_F32, DIMS(bs, bt, k, n)),
                        make(ITG_F32, DIMS(n))};
    itg_tensor y = make(ITG_F32, DIMS(s, t, m, n)), want = make(ITG_F32, DIMS(s, t, m, n));
    for (int i = 0; i < 3; ++i)
        fill_random(&in[i], rng, 2.0f);
    for (int64_t i = 0; i < s * t; ++i) {
        const int64_t ai = (as == 1 ? 0 : i / t) * at + (at == 1 ? 0 : i % t);
        const int64_t bi = (bs == 1 ? 0 : i / t) * bt + (bt == 1 ? 0 : i % t);
        naive_matrix((float *)in[0].data + ai * m * k, (float *)in[1].data + bi * k * n,
                     has_bias ? in[2].data : NULL, m, n, k, (float *)want.data + i * m * n);
    }
    if (bs == 1 && bt == 1 && itg_rng_below(rng, 2)) { /* the same as a plain matrix */
        in[1].shape = (itg_shape){2, {k, n}};
    }
    run(ITG_OP_MATMUL, &attrs, in, has_bias ? 3 : 2, &y);
    assert_same_bits(&y, &want);
    for (int i = 0; i < 3; ++i)
        drop(&in[i]);
    drop(&y);
    drop(&want);
}

static void matmul_gives_the_bits_of_the_stated_order(void **state)
{
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 2);
    for (int i = 0; i < 800; ++i)
        check_stack(&rng, i % 3 == 0 ? 1 : between(&rng, 1, 30),
                    i % 5 == 0 ? 1 : between(&rng, 1, 70), between(&rng, 1, 80));
}

static void vectors_are_rows_on_the_left_and_columns_on_the_right(void **state)
{
    float a[3] = {1.0f, 2.0f, 3.0f}, b[6] = {1.0f, 10.0f, 2.0f, 20.0f, 3.0f, 30.0f}, y[3];
    itg_attrs attrs = attributes();
    (void)state;
    const itg_tensor vector = view(ITG_F32, a, DIMS(3));
    const itg_tensor left[2] = {vector, view(ITG_F32, b, DIMS(3, 2))};
    itg_tensor two = view(ITG_F32, y, DIMS(2));
    run(ITG_OP_MATMUL, &attrs, left, 2, &two);
    assert_true(y[0] == 14.0f && y[1] == 140.0f);
    const itg_tensor right[2] = {view(ITG_F32, b, DIMS(2, 3)), vector};
    run(ITG_OP_MATMUL, &attrs, right, 2, &two);
    assert_true(y[0] == 27.0f && y[1] == 116.0f);
    const itg_tensor both[2] = {vector, vector};
    itg_tensor scalar = view(ITG_F32, y, NULL, 0);
    run(ITG_OP_MATMUL, &attrs, both, 2, &scalar);
    assert_true(y[0] == 14.0f);
}

static void what_does_not_fit_is_refused(void **state)
{
    float a[6] = {0}, b[6] = {0}, y[9] = {0};
    itg_attrs attrs = attributes();
    itg_error err;
    (void)state;
    itg_tensor in[2] = {view(ITG_F32, a, DIMS(2, 3)), view(ITG_F32, b, DIMS(2, 3))};
    itg_tensor out = view(ITG_F32, y, DIMS(2, 3));
    assert_int_equal(itg_float_eval(ITG_OP_GEMM, &attrs, in, 2, &out, 1, &err), ITG_BAD_ARGUMENT);
    assert_int_equal(itg_float_eval(ITG_OP_MATMUL, &attrs, in, 2, &out, 1, &err), ITG_BAD_ARGUMENT);
    in[1] = view(ITG_F32, b, DIMS(3, 2));
    assert_int_equal(itg_float_eval(ITG_OP_MATMUL, &attrs, in, 2, &out, 1, &err), ITG_BAD_ARGUMENT);
    in[1] = view(ITG_F32, b, NULL, 0);
    assert_int_equal(itg_float_eval(ITG_OP_MATMUL, &attrs, in, 2, &out, 1, &err), ITG_BAD_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_gives_the_bits_of_the_stated_order),
        cmocka_unit_test(a_bias_of_one_dimension_runs_along_the_columns),
        cmocka_unit_test(matmul_gives_the_bits_of_the_stated_order),
        cmocka_unit_test(vectors_are_rows_on_the_left_and_columns_on_the_right),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
