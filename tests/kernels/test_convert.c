/* Cast among all types, Shape, ConstantOfShape, Equal, Where. */
#include "float_cases.h"

static void cast(const itg_tensor *x, itg_tensor *y)
{
    itg_attrs attrs = attributes();
    attrs.to = y->dtype;
    run(ITG_OP_CAST, &attrs, x, 1, y);
}

static void floats_truncate_and_saturate(void **state)
{
    float x[8] = {1.9f, -1.9f, 300.0f, -300.0f, NAN, INFINITY, -INFINITY, 1e20f};
    int8_t s8[8];
    uint8_t u8[8];
    uint32_t u32[8];
    int64_t s64[8];
    (void)state;
    const itg_tensor in = view(ITG_F32, x, DIMS(8));
    itg_tensor out = view(ITG_S8, s8, DIMS(8));
    static const int8_t want_s8[8] = {1, -1, 127, -128, 0, 127, -128, 127};
    cast(&in, &out);
    assert_memory_equal(s8, want_s8, sizeof s8);
    out = view(ITG_U8, u8, DIMS(8));
    static const uint8_t want_u8[8] = {1, 0, 255, 0, 0, 255, 0, 255};
    cast(&in, &out);
    assert_memory_equal(u8, want_u8, sizeof u8);
    out = view(ITG_U32, u32, DIMS(8));
    cast(&in, &out);
    assert_true(u32[2] == 300 && u32[3] == 0 && u32[5] == UINT32_MAX);
    out = view(ITG_S64, s64, DIMS(8));
    cast(&in, &out);
    assert_true(s64[3] == -300 && s64[4] == 0 && s64[5] == INT64_MAX && s64[6] == INT64_MIN &&
                s64[7] == INT64_MAX);
}

static void integers_wrap_into_narrower_ones(void **state)
{
    int64_t x[5] = {-1, 256, 65537, INT64_MAX, 1LL << 40};
    uint8_t u8[5];
    int16_t s16[5];
    int32_t s32[5];
    (void)state;
    const itg_tensor in = view(ITG_S64, x, DIMS(5));
    itg_tensor out = view(ITG_U8, u8, DIMS(5));
    cast(&in, &out);
    assert_true(u8[0] == 255 && u8[1] == 0 && u8[2] == 1 && u8[3] == 255 && u8[4] == 0);
    out = view(ITG_S16, s16, DIMS(5));
    cast(&in, &out);
    assert_true(s16[0] == -1 && s16[1] == 256 && s16[2] == 1 && s16[3] == -1);
    out = view(ITG_S32, s32, DIMS(5));
    cast(&in, &out);
    assert_true(s32[0] == -1 && s32[2] == 65537 && s32[3] == -1 && s32[4] == 0);
}

/* 2^53 + 1 would round twice on the way through a double. */
static void large_integers_round_once(void **state)
{
    int64_t x[2] = {(1LL << 54) + (1LL << 30) + 1, (1LL << 53) + 1};
    float f[2];
    double d[2];
    (void)state;
    const itg_tensor in = view(ITG_S64, x, DIMS(2));
    itg_tensor out = view(ITG_F32, f, DIMS(2)), wide = view(ITG_F64, d, DIMS(2));
    cast(&in, &out);
    assert_true(f[0] == 0x1.000002p54f && f[1] == 0x1p53f);
    cast(&in, &wide);
    assert_true(d[1] == 0x1p53);
}

static void booleans_are_zero_or_one(void **state)
{
    float x[4] = {0.0f, -0.0f, 0.25f, NAN};
    uint8_t y[4], raw[2] = {7, 0};
    int32_t z[2];
    (void)state;
    const itg_tensor in = view(ITG_F32, x, DIMS(4)), truth = view(ITG_BOOL, raw, DIMS(2));
    itg_tensor out = view(ITG_BOOL, y, DIMS(4)), number = view(ITG_S32, z, DIMS(2));
    cast(&in, &out);
    assert_true(y[0] == 0 && y[1] == 0 && y[2] == 1 && y[3] == 1);
    cast(&truth, &number);
    assert_true(z[0] == 1 && z[1] == 0);
}

/* Small numbers survive any pair of types. */
static void every_pair_of_types_keeps_small_numbers(void **state)
{
    (void)state;
    for (int from = 0; from < ITG_DTYPE_COUNT; ++from)
        for (int to = 0; to < ITG_DTYPE_COUNT; ++to) {
            float start[3] = {0.0f, 1.0f, 100.0f}, end[3];
            uint64_t a[3] = {0}, b[3] = {0};
            const itg_tensor in = view(ITG_F32, start, DIMS(3));
            itg_tensor x = view((itg_dtype)from, a, DIMS(3)), y = view((itg_dtype)to, b, DIMS(3));
            itg_tensor out = view(ITG_F32, end, DIMS(3));
            cast(&in, &x);
            cast(&x, &y);
            cast(&y, &out);
            const float most = from == ITG_BOOL || to == ITG_BOOL ? 1.0f : 100.0f;
            assert_true(end[0] == 0.0f && end[1] == 1.0f && end[2] == most);
        }
}

static void shape_gives_dimensions(void **state)
{
    float x[6] = {0};
    int64_t y[2];
    itg_attrs attrs = attributes();
    itg_error err;
    (void)state;
    const itg_tensor in = view(ITG_F32, x, DIMS(2, 3));
    itg_tensor out = view(ITG_S64, y, DIMS(2)), last = view(ITG_S64, y, DIMS(1));
    run(ITG_OP_SHAPE, &attrs, &in, 1, &out);
    assert_true(y[0] == 2 && y[1] == 3);
    attrs.start = 1;
    run(ITG_OP_SHAPE, &attrs, &in, 1, &last);
    assert_true(y[0] == 3);
    attrs.start = 2;
    assert_int_equal(itg_float_eval(ITG_OP_SHAPE, &attrs, &in, 1, &last, 1, &err),
                     ITG_BAD_ARGUMENT);
}

static void constant_of_shape_repeats_its_value(void **state)
{
    int64_t shape[2] = {2, 2}, value[1] = {1LL << 60}, y[4];
    float f[4];
    itg_attrs attrs = attributes();
    itg_error err;
    (void)state;
    itg_tensor in[2] = {view(ITG_S64, shape, DIMS(2)), view(ITG_S64, value, DIMS(1))};
    itg_tensor whole = view(ITG_S64, y, DIMS(2, 2)), real = view(ITG_F32, f, DIMS(2, 2));
    run(ITG_OP_CONSTANT_OF_SHAPE, &attrs, in, 2, &whole);
    assert_true(y[0] == 1LL << 60 && y[3] == 1LL << 60);
    run(ITG_OP_CONSTANT_OF_SHAPE, &attrs, in, 1, &real);
    assert_true(f[0] == 0.0f && f[3] == 0.0f);
    attrs.pad_value = 2.5f;
    run(ITG_OP_CONSTANT_OF_SHAPE, &attrs, in, 1, &real);
    assert_true(f[0] == 2.5f && f[3] == 2.5f);
    assert_int_equal(itg_float_eval(ITG_OP_CONSTANT_OF_SHAPE, &attrs, in, 2, &real, 1, &err),
                     ITG_BAD_ARGUMENT);
    in[0] = view(ITG_S64, NULL, DIMS(0)); /* the shape of a scalar */
    itg_tensor scalar = view(ITG_F32, f, NULL, 0);
    run(ITG_OP_CONSTANT_OF_SHAPE, &attrs, in, 1, &scalar);
    assert_true(f[0] == 2.5f);
}

static void equal_compares_any_type(void **state)
{
    int64_t a[2] = {(1LL << 53) + 1, 2}, b[2] = {1LL << 53, 2};
    float f[2] = {NAN, -0.0f}, g[1] = {0.0f};
    uint8_t p[2] = {1, 0}, q[2] = {2, 1}, y[2];
    itg_attrs attrs = attributes();
    (void)state;
    itg_tensor out = view(ITG_BOOL, y, DIMS(2));
    const itg_tensor whole[2] = {view(ITG_S64, a, DIMS(2)), view(ITG_S64, b, DIMS(2))};
    run(ITG_OP_EQUAL, &attrs, whole, 2, &out);
    assert_true(y[0] == 0 && y[1] == 1);
    const itg_tensor real[2] = {view(ITG_F32, f, DIMS(2)), view(ITG_F32, g, DIMS(1))};
    run(ITG_OP_EQUAL, &attrs, real, 2, &out);
    assert_true(y[0] == 0 && y[1] == 1);
    const itg_tensor truth[2] = {view(ITG_BOOL, p, DIMS(2)), view(ITG_BOOL, q, DIMS(2))};
    run(ITG_OP_EQUAL, &attrs, truth, 2, &out);
    assert_true(y[0] == 1 && y[1] == 0);
}

static void where_chooses_by_element(void **state)
{
    uint8_t condition[2] = {1, 0};
    int64_t a[3] = {1, 2, 3}, b[1] = {-9}, y[6];
    itg_attrs attrs = attributes();
    (void)state;
    const itg_tensor in[3] = {view(ITG_BOOL, condition, DIMS(2, 1)), view(ITG_S64, a, DIMS(3)),
                              view(ITG_S64, b, NULL, 0)};
    itg_tensor out = view(ITG_S64, y, DIMS(2, 3));
    static const int64_t want[6] = {1, 2, 3, -9, -9, -9};
    run(ITG_OP_WHERE, &attrs, in, 3, &out);
    assert_memory_equal(y, want, sizeof want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_truncate_and_saturate),
        cmocka_unit_test(integers_wrap_into_narrower_ones),
        cmocka_unit_test(large_integers_round_once),
        cmocka_unit_test(booleans_are_zero_or_one),
        cmocka_unit_test(every_pair_of_types_keeps_small_numbers),
        cmocka_unit_test(shape_gives_dimensions),
        cmocka_unit_test(constant_of_shape_repeats_its_value),
        cmocka_unit_test(equal_compares_any_type),
        cmocka_unit_test(where_chooses_by_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
