/* Reference operators on every element type: comparisons, logic, bits, indices, order, patterns and
 * reductions, against values that ONNX's operator pages and numpy give; and what they refuse. */
#include "float_cases.h"

#define F32S(...) ((float[]){__VA_ARGS__})
#define S64S(...) ((int64_t[]){__VA_ARGS__})
#define BOOLS(...) ((uint8_t[]){__VA_ARGS__})

static void expect(itg_op op, const itg_attrs *a, const itg_tensor *in, int count, itg_dtype dtype,
                   const int64_t *dims, int rank, const void *want)
{
    itg_tensor out = make(dtype, dims, rank);
    run(op, a, in, count, &out);
    if (memcmp(out.data, want, (size_t)count_of(&out) * itg_dtype_size(dtype)) != 0)
        fail_msg("%s gives something else", itg_op_name(op));
    drop(&out);
}

static void refuse(itg_op op, const itg_attrs *a, const itg_tensor *in, int count, itg_tensor out,
                   const char *part)
{
    itg_error err = {ITG_OK, ""};
    assert_int_not_equal(itg_float_eval(op, a, in, count, &out, 1, &err), ITG_OK);
    if (!strstr(err.message, part)) fail_msg("'%s' without '%s'", err.message, part);
}

static void comparisons_know_nan_and_integers_beyond_doubles(void **state)
{
    static const struct {
        itg_op op;
        uint8_t real[4], whole[2];
    } cases[] = {
        {ITG_OP_LESS, {1, 0, 0, 0}, {1, 0}},    {ITG_OP_LESS_OR_EQUAL, {1, 1, 0, 0}, {1, 1}},
        {ITG_OP_GREATER, {0, 0, 1, 0}, {0, 0}}, {ITG_OP_GREATER_OR_EQUAL, {0, 1, 1, 0}, {0, 1}},
        {ITG_OP_EQUAL, {0, 1, 0, 0}, {0, 1}},
    };
    const itg_attrs attrs = attributes();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        itg_tensor in[2] = {view(ITG_F32, F32S(1, 2, 3, NAN), DIMS(4)),
                            view(ITG_F32, F32S(2), DIMS(1))};
        expect(cases[i].op, &attrs, in, 2, ITG_BOOL, DIMS(4), cases[i].real);
        in[0] = view(ITG_S64, S64S((INT64_C(1) << 60) - 1, INT64_C(1) << 60), DIMS(2));
        in[1] = view(ITG_S64, S64S(INT64_C(1) << 60), NULL, 0);
        expect(cases[i].op, &attrs, in, 2, ITG_BOOL, DIMS(2), cases[i].whole);
    }
}

static void logic_and_bits(void **state)
{
    itg_attrs attrs = attributes();
    itg_tensor in[2] = {view(ITG_BOOL, BOOLS(0, 0, 1, 1), DIMS(4)),
                        view(ITG_BOOL, BOOLS(0, 1, 0, 1), DIMS(4))};
    (void)state;
    expect(ITG_OP_AND, &attrs, in, 2, ITG_BOOL, DIMS(4), BOOLS(0, 0, 0, 1));
    expect(ITG_OP_OR, &attrs, in, 2, ITG_BOOL, DIMS(4), BOOLS(0, 1, 1, 1));
    expect(ITG_OP_XOR, &attrs, in, 2, ITG_BOOL, DIMS(4), BOOLS(0, 1, 1, 0));
    expect(ITG_OP_NOT, &attrs, in, 1, ITG_BOOL, DIMS(4), BOOLS(1, 1, 0, 0));
    in[0] = view(ITG_U8, BOOLS(0xf0, 1), DIMS(2));
    in[1] = view(ITG_U8, BOOLS(0x3c, 9), DIMS(2));
    expect(ITG_OP_BITWISE_AND, &attrs, in, 2, ITG_U8, DIMS(2), BOOLS(0x30, 1));
    expect(ITG_OP_BITWISE_XOR, &attrs, in, 2, ITG_U8, DIMS(2), BOOLS(0xcc, 8));
    expect(ITG_OP_BITWISE_NOT, &attrs, in, 1, ITG_U8, DIMS(2), BOOLS(0x0f, 0xfe));
    in[1] = view(ITG_U8, BOOLS(2, 200), DIMS(2));
    expect(ITG_OP_BIT_SHIFT, &attrs, in, 2, ITG_U8, DIMS(2), BOOLS(0xc0, 0));
    attrs.shift = 1;
    in[0] = view(ITG_S64, S64S(-8, -8, 8), DIMS(3));
    in[1] = view(ITG_S64, S64S(1, 64, -1), DIMS(3));
    expect(ITG_OP_BIT_SHIFT, &attrs, in, 2, ITG_S64, DIMS(3), S64S(-4, -1, 0));
}

static void remainders_have_the_sign_they_should(void **state)
{
    itg_attrs attrs = attributes();
    itg_tensor in[2] = {view(ITG_S64, S64S(-4, 7, 5, 4, -7, INT64_MIN), DIMS(6)),
                        view(ITG_S64, S64S(2, -3, 8, -2, 3, -1), DIMS(6))};
    itg_error err = {ITG_OK, ""};
    (void)state;
    expect(ITG_OP_MOD, &attrs, in, 2, ITG_S64, DIMS(6), S64S(0, -2, 5, 0, 2, 0));
    attrs.truncated = true;
    expect(ITG_OP_MOD, &attrs, in, 2, ITG_S64, DIMS(6), S64S(0, 1, 5, 0, -1, 0));
    in[1] = view(ITG_S64, S64S(0), DIMS(1));
    itg_tensor out = make(ITG_S64, DIMS(6));
    assert_int_equal(itg_float_eval(ITG_OP_MOD, &attrs, in, 2, &out, 1, &err), ITG_BAD_ARGUMENT);
    drop(&out);
    in[0] = view(ITG_F32, F32S(-4.5f, 4.5f), DIMS(2));
    in[1] = view(ITG_F32, F32S(2, -2), DIMS(2));
    expect(ITG_OP_MOD, &attrs, in, 2, ITG_F32, DIMS(2), F32S(-0.5f, 0.5f));
    attrs.truncated = false;
    expect(ITG_OP_MOD, &attrs, in, 2, ITG_F32, DIMS(2), F32S(1.5f, -1.5f));
}

static void narrow_integers_wrap(void **state)
{
    const itg_attrs attrs = attributes();
    const itg_tensor in[2] = {view(ITG_U8, BOOLS(200, 3, 0), DIMS(3)),
                              view(ITG_U8, BOOLS(100, 5, 1), DIMS(3))};
    (void)state;
    expect(ITG_OP_ADD, &attrs, in, 2, ITG_U8, DIMS(3), BOOLS(44, 8, 1));
    expect(ITG_OP_SUB, &attrs, in, 2, ITG_U8, DIMS(3), BOOLS(100, 254, 255));
    expect(ITG_OP_MUL, &attrs, in, 2, ITG_U8, DIMS(3), BOOLS(32, 15, 0));
    expect(ITG_OP_DIV, &attrs, in, 2, ITG_U8, DIMS(3), BOOLS(2, 0, 0));
    expect(ITG_OP_MAX, &attrs, in, 2, ITG_U8, DIMS(3), BOOLS(200, 5, 1));
}

static void functions_of_integers(void **state)
{
    itg_attrs attrs = attributes();
    const itg_tensor x = view(ITG_S64, S64S(INT64_MIN, -3, 0, INT64_MAX), DIMS(4));
    (void)state;
    attrs.min = -2.0f;
    expect(ITG_OP_NEG, &attrs, &x, 1, ITG_S64, DIMS(4), S64S(INT64_MIN, 3, 0, -INT64_MAX));
    expect(ITG_OP_ABS, &attrs, &x, 1, ITG_S64, DIMS(4), S64S(INT64_MIN, 3, 0, INT64_MAX));
    expect(ITG_OP_SIGN, &attrs, &x, 1, ITG_S64, DIMS(4), S64S(-1, -1, 0, 1));
    expect(ITG_OP_RELU, &attrs, &x, 1, ITG_S64, DIMS(4), S64S(0, 0, 0, INT64_MAX));
    expect(ITG_OP_CLIP, &attrs, &x, 1, ITG_S64, DIMS(4), S64S(-2, -2, 0, INT64_MAX));
}

static void tests_of_floats(void **state)
{
    itg_attrs attrs = attributes();
    const itg_tensor x = view(ITG_F32, F32S(1, NAN, INFINITY, -INFINITY), DIMS(4));
    (void)state;
    expect(ITG_OP_IS_NAN, &attrs, &x, 1, ITG_BOOL, DIMS(4), BOOLS(0, 1, 0, 0));
    attrs.detect_positive = true;
    expect(ITG_OP_IS_INF, &attrs, &x, 1, ITG_BOOL, DIMS(4), BOOLS(0, 0, 1, 0));
    attrs.detect_negative = true;
    expect(ITG_OP_IS_INF, &attrs, &x, 1, ITG_BOOL, DIMS(4), BOOLS(0, 0, 1, 1));
}

static void sums_and_means_of_several(void **state)
{
    const itg_attrs attrs = attributes();
    const itg_tensor in[3] = {view(ITG_F32, F32S(1, 2, 3, 4), DIMS(2, 2)),
                              view(ITG_F32, F32S(10, 20), DIMS(2)),
                              view(ITG_F32, F32S(-5), NULL, 0)};
    (void)state;
    expect(ITG_OP_SUM, &attrs, in, 3, ITG_F32, DIMS(2, 2), F32S(6, 17, 8, 19));
    expect(ITG_OP_MEAN, &attrs, in, 2, ITG_F32, DIMS(2, 2), F32S(5.5f, 11, 6.5f, 12));
}

/* ---- indices ---- */

static void elements_are_gathered_and_scattered(void **state)
{
    itg_attrs attrs = attributes();
    itg_tensor in[3] = {view(ITG_S64, S64S(1, 2, 3, 4, 5, 6), DIMS(2, 3)),
                        view(ITG_S64, S64S(1, -2), DIMS(1, 2)),
                        view(ITG_S64, S64S(40, 50), DIMS(1, 2))};
    (void)state;
    expect(ITG_OP_GATHER_ELEMENTS, &attrs, in, 2, ITG_S64, DIMS(1, 2), S64S(4, 2));
    expect(ITG_OP_SCATTER_ELEMENTS, &attrs, in, 3, ITG_S64, DIMS(2, 3), S64S(1, 50, 3, 40, 5, 6));
    attrs.reduction = ITG_SCATTER_ADD;
    expect(ITG_OP_SCATTER_ELEMENTS, &attrs, in, 3, ITG_S64, DIMS(2, 3), S64S(1, 52, 3, 44, 5, 6));
    attrs.reduction = ITG_SCATTER_MIN;
    expect(ITG_OP_SCATTER_ELEMENTS, &attrs, in, 3, ITG_S64, DIMS(2, 3), S64S(1, 2, 3, 4, 5, 6));
    int64_t room[6];
    in[1] = view(ITG_S64, S64S(2, 0), DIMS(1, 2));
    refuse(ITG_OP_SCATTER_ELEMENTS, &attrs, in, 3, view(ITG_S64, room, DIMS(2, 3)),
           "index 2 is outside of [-2, 1]");
    in[1] = view(ITG_S64, S64S(0, 0, 0, 0), DIMS(1, 4));
    refuse(ITG_OP_GATHER_ELEMENTS, &attrs, in, 2, view(ITG_S64, room, DIMS(1, 4)), "do not fit");
}

static void rows_are_gathered_and_scattered(void **state)
{
    itg_attrs attrs = attributes();
    itg_tensor in[3] = {view(ITG_F32, F32S(0, 1, 2, 3, 4, 5, 6, 7), DIMS(2, 2, 2)),
                        view(ITG_S64, S64S(1, 0), DIMS(2, 1)),
                        view(ITG_F32, F32S(9, 9, 9, 9, 8, 8, 8, 8), DIMS(2, 2, 2))};
    float room[8];
    (void)state;
    expect(ITG_OP_GATHER_ND, &attrs, in, 2, ITG_F32, DIMS(2, 2, 2), F32S(4, 5, 6, 7, 0, 1, 2, 3));
    attrs.batch_dims = 1;
    expect(ITG_OP_GATHER_ND, &attrs, in, 2, ITG_F32, DIMS(2, 2), F32S(2, 3, 4, 5));
    attrs.batch_dims = 0;
    expect(ITG_OP_SCATTER_ND, &attrs, in, 3, ITG_F32, DIMS(2, 2, 2), F32S(8, 8, 8, 8, 9, 9, 9, 9));
    attrs.reduction = ITG_SCATTER_MUL;
    expect(ITG_OP_SCATTER_ND, &attrs, in, 3, ITG_F32, DIMS(2, 2, 2),
           F32S(0, 8, 16, 24, 36, 45, 54, 63));
    in[1] = view(ITG_S64, S64S(1, -3), DIMS(2, 1));
    refuse(ITG_OP_GATHER_ND, &attrs, in, 2, view(ITG_F32, room, DIMS(2, 2, 2)),
           "index -3 is outside of [-2, 1]");
    attrs.batch_dims = 2;
    refuse(ITG_OP_GATHER_ND, &attrs, in, 2, view(ITG_F32, room, DIMS(2, 2, 2)), "do not fit");
}

static void one_hot_is_on_where_the_index_says(void **state)
{
    itg_attrs attrs = attributes();
    const itg_tensor in[3] = {view(ITG_F32, F32S(1, -1, 7), DIMS(3)),
                              view(ITG_S64, S64S(2), DIMS(1)), view(ITG_S64, S64S(3, 5), DIMS(2))};
    (void)state;
    attrs.axis = 1;
    expect(ITG_OP_ONE_HOT, &attrs, in, 3, ITG_S64, DIMS(3, 2), S64S(3, 5, 3, 5, 3, 3));
    attrs.axis = 0;
    expect(ITG_OP_ONE_HOT, &attrs, in, 3, ITG_S64, DIMS(2, 3), S64S(3, 3, 3, 5, 5, 3));
}

/* ---- order ---- */

static void top_k_takes_the_first_of_equals(void **state)
{
    itg_attrs attrs = attributes();
    float values[2];
    int64_t indices[2];
    itg_error err = {ITG_OK, ""};
    const itg_tensor in[2] = {view(ITG_F32, F32S(2, NAN, 5, 5, 1), DIMS(5)),
                              view(ITG_S64, S64S(2), DIMS(1))};
    itg_tensor out[2] = {view(ITG_F32, values, DIMS(2)), view(ITG_S64, indices, DIMS(2))};
    (void)state;
    attrs.largest = true;
    assert_int_equal(itg_float_eval(ITG_OP_TOP_K, &attrs, in, 2, out, 2, &err), ITG_OK);
    assert_true(isnan(values[0]) && values[1] == 5 && indices[0] == 1 && indices[1] == 2);
    attrs.largest = false;
    assert_int_equal(itg_float_eval(ITG_OP_TOP_K, &attrs, in, 2, out, 2, &err), ITG_OK);
    assert_true(values[0] == 1 && values[1] == 2 && indices[0] == 4 && indices[1] == 0);
    out[0].shape.dims[0] = 6;
    assert_int_not_equal(itg_float_eval(ITG_OP_TOP_K, &attrs, in, 2, out, 2, &err), ITG_OK);
}

static void unique_slices_have_all_four_outputs(void **state)
{
    itg_attrs attrs = attributes();
    int64_t y[4], first[2], which[3], times[2];
    itg_error err = {ITG_OK, ""};
    const itg_tensor x = view(ITG_S64, S64S(3, 1, 0, 7, 3, 1), DIMS(3, 2));
    itg_tensor out[4] = {view(ITG_S64, y, DIMS(2, 2)), view(ITG_S64, first, DIMS(2)),
                         view(ITG_S64, which, DIMS(3)), view(ITG_S64, times, DIMS(2))};
    (void)state;
    for (int sorted = 0; sorted < 2; ++sorted) {
        attrs.sorted = sorted;
        assert_int_equal(itg_float_eval(ITG_OP_UNIQUE, &attrs, &x, 1, out, 4, &err), ITG_OK);
        const int64_t three = sorted ? 1 : 0;
        assert_true(y[three * 2] == 3 && y[three * 2 + 1] == 1 && y[(1 - three) * 2] == 0);
        assert_true(first[three] == 0 && first[1 - three] == 1);
        assert_true(which[0] == three && which[1] == 1 - three && which[2] == three);
        assert_true(times[three] == 2 && times[1 - three] == 1);
    }
    out[0].shape.dims[0] = 3;
    assert_int_not_equal(itg_float_eval(ITG_OP_UNIQUE, &attrs, &x, 1, out, 4, &err), ITG_OK);
}

static void chosen_elements_are_found(void **state)
{
    itg_attrs attrs = attributes();
    itg_tensor in[2] = {view(ITG_F32, F32S(1, -0.0f, NAN, 0, 5, 6), DIMS(2, 3)),
                        view(ITG_BOOL, BOOLS(0, 1), DIMS(2))};
    int64_t room[8];
    (void)state;
    expect(ITG_OP_NON_ZERO, &attrs, in, 1, ITG_S64, DIMS(2, 4), S64S(0, 0, 1, 1, 0, 2, 1, 2));
    refuse(ITG_OP_NON_ZERO, &attrs, in, 1, view(ITG_S64, room, DIMS(2, 3)), "too small");
    expect(ITG_OP_COMPRESS, &attrs, in, 2, ITG_F32, DIMS(1, 3), F32S(0, 5, 6));
    attrs.axis = ITG_MAX_RANK;
    expect(ITG_OP_COMPRESS, &attrs, in, 2, ITG_F32, DIMS(1), F32S(-0.0f));
    in[1] = view(ITG_BOOL, BOOLS(0, 0, 0, 0, 0, 0, 1), DIMS(7));
    refuse(ITG_OP_COMPRESS, &attrs, in, 2, view(ITG_F32, room, DIMS(1)), "condition");
}

/* ---- patterns ---- */

static void patterns_are_made(void **state)
{
    itg_attrs attrs = attributes();
    const itg_tensor range[3] = {view(ITG_S64, S64S(7), NULL, 0), view(ITG_S64, S64S(-2), NULL, 0),
                                 view(ITG_S64, S64S(-4), NULL, 0)};
    itg_tensor x = view(ITG_S64, S64S(1, 2, 3, 4, 5, 6), DIMS(2, 3));
    itg_tensor in[2] = {x, view(ITG_S64, S64S(1), NULL, 0)};
    (void)state;
    expect(ITG_OP_RANGE, &attrs, range, 3, ITG_S64, DIMS(3), S64S(7, 3, -1));
    expect(ITG_OP_TILE, &attrs, in, 2, ITG_S64, DIMS(2, 6),
           S64S(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
    expect(ITG_OP_TRILU, &attrs, in, 1, ITG_S64, DIMS(2, 3), S64S(1, 0, 0, 4, 5, 0));
    attrs.upper = true;
    expect(ITG_OP_TRILU, &attrs, in, 2, ITG_S64, DIMS(2, 3), S64S(0, 2, 3, 0, 0, 6));
    attrs.k = -1;
    x.data = NULL; /* the shape alone is read */
    expect(ITG_OP_EYE_LIKE, &attrs, &x, 1, ITG_U8, DIMS(2, 3), BOOLS(0, 0, 0, 1, 0, 0));
    expect(ITG_OP_SIZE, &attrs, &x, 1, ITG_S64, NULL, 0, S64S(6));
}

static void contractions_follow_their_equation(void **state)
{
    const itg_attrs attrs = attributes();
    itg_tensor in[3] = {view(ITG_F32, F32S(1, 2, 3, 4, 5, 6), DIMS(2, 3)),
                        view(ITG_F32, F32S(1, 0, 2, 1, 0, 3), DIMS(2, 3)),
                        view(ITG_S64, S64S(0, 1, -1, 2, 1, -1, 2, 0, -1), DIMS(9))};
    float room[4];
    (void)state;
    expect(ITG_OP_EINSUM, &attrs, in, 3, ITG_F32, DIMS(2, 2), F32S(7, 16, 10, 22)); /* ab,cb->ca */
    in[2] = view(ITG_S64, S64S(0, 52, -1, 0, 52, -1, 52, -1), DIMS(8)); /* a...,a...->... */
    expect(ITG_OP_EINSUM, &attrs, in, 3, ITG_F32, DIMS(3), F32S(5, 0, 24));
    in[1] = view(ITG_S64, S64S(0, 0, -1, 0, -1), DIMS(5)); /* aa->a */
    in[0] = view(ITG_F32, F32S(1, 2, 3, 4), DIMS(2, 2));
    expect(ITG_OP_EINSUM, &attrs, in, 2, ITG_F32, DIMS(2), F32S(1, 4));
    in[1] = view(ITG_S64, S64S(0, 1, -1, -1), DIMS(4)); /* ab-> */
    expect(ITG_OP_EINSUM, &attrs, in, 2, ITG_F32, NULL, 0, F32S(10));
    static const int64_t bad[][5] = {{0, 1, -1, 2, -1}, {0, -1, 0, -1, -1}, {0, 0, 0, -1, -1},
                                     {0, 1, -1, 0, 0},  {0, 1, -1, 0, 60},  {-7, 1, -1, 1, -1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        in[1] = view(ITG_S64, (void *)(uintptr_t)bad[i], DIMS(5));
        refuse(ITG_OP_EINSUM, &attrs, in, 2, view(ITG_F32, room, DIMS(2)), "Einsum: its");
    }
}

static void running_sums_and_products(void **state)
{
    itg_attrs attrs = attributes();
    itg_tensor in[2] = {view(ITG_S64, S64S(1, 2, 3, 4, 5, 6), DIMS(2, 3)),
                        view(ITG_S64, S64S(-1), NULL, 0)};
    int64_t room[6];
    (void)state;
    expect(ITG_OP_CUM_SUM, &attrs, in, 2, ITG_S64, DIMS(2, 3), S64S(1, 3, 6, 4, 9, 15));
    expect(ITG_OP_CUM_PROD, &attrs, in, 2, ITG_S64, DIMS(2, 3), S64S(1, 2, 6, 4, 20, 120));
    attrs.reverse = attrs.exclusive = true;
    expect(ITG_OP_CUM_SUM, &attrs, in, 2, ITG_S64, DIMS(2, 3), S64S(5, 3, 0, 11, 6, 0));
    expect(ITG_OP_CUM_PROD, &attrs, in, 2, ITG_S64, DIMS(2, 3), S64S(6, 3, 1, 30, 6, 1));
    in[1] = view(ITG_S64, S64S(2), NULL, 0);
    refuse(ITG_OP_CUM_SUM, &attrs, in, 2, view(ITG_S64, room, DIMS(2, 3)), "outside rank 2");
}

static void sequences_are_reversed(void **state)
{
    itg_attrs attrs = attributes();
    itg_tensor in[2] = {view(ITG_S64, S64S(1, 2, 3, 4, 5, 6), DIMS(2, 3)),
                        view(ITG_S64, S64S(2, 3), DIMS(2))};
    int64_t room[6];
    (void)state;
    attrs.time_axis = 1;
    expect(ITG_OP_REVERSE_SEQUENCE, &attrs, in, 2, ITG_S64, DIMS(2, 3), S64S(2, 1, 3, 6, 5, 4));
    in[1] = view(ITG_S64, S64S(2, 4), DIMS(2));
    refuse(ITG_OP_REVERSE_SEQUENCE, &attrs, in, 2, view(ITG_S64, room, DIMS(2, 3)),
           "length 4 is outside of [0, 3]");
}

/* ---- reductions ---- */

static void reductions_of_floats(void **state)
{
    static const struct {
        itg_op op;
        double want[2];
    } cases[] = {
        {ITG_OP_REDUCE_MIN, {-3, 0.5}},
        {ITG_OP_REDUCE_PROD, {-6, 1}},
        {ITG_OP_REDUCE_L1, {5, 2.5}},
        {ITG_OP_REDUCE_L2, {3.605551275463989, 2.0615528}},
        {ITG_OP_REDUCE_SUM_SQUARE, {13, 4.25}},
        {ITG_OP_REDUCE_LOG_SUM, {NAN, 0.9162907318741551}},
        {ITG_OP_REDUCE_LOG_SUM_EXP, {2.006715348489118, 2.2014132779827524}},
    };
    itg_attrs attrs = attributes();
    const itg_tensor x = view(ITG_F32, F32S(-3, 2, 2, 0.5f), DIMS(2, 2));
    (void)state;
    attrs.axes_count = 1;
    attrs.axes[0] = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        float y[2];
        itg_tensor out = view(ITG_F32, y, DIMS(2));
        run(cases[i].op, &attrs, &x, 1, &out);
        for (int k = 0; k < 2; ++k)
            assert_true(fabs((double)y[k] - cases[i].want[k]) < 1e-6 ||
                        (isnan(y[k]) && isnan(cases[i].want[k])));
    }
    const itg_tensor huge = view(ITG_F32, F32S(1000, 1000), DIMS(1, 2));
    float y[1];
    itg_tensor out = view(ITG_F32, y, DIMS(1));
    run(ITG_OP_REDUCE_LOG_SUM_EXP, &attrs, &huge, 1, &out);
    assert_true(fabs((double)y[0] - 1000.6931471805599) < 1e-4);
}

static void reductions_of_integers(void **state)
{
    itg_attrs attrs = attributes();
    const itg_tensor x = view(ITG_S64, S64S(INT64_C(1) << 60, -3, 4, 4), DIMS(2, 2));
    const itg_tensor bits = view(ITG_BOOL, BOOLS(0, 1, 1, 1), DIMS(2, 2));
    (void)state;
    attrs.axes_count = 1;
    attrs.axes[0] = 1;
    const int64_t big = INT64_C(1) << 60;
    expect(ITG_OP_REDUCE_MIN, &attrs, &x, 1, ITG_S64, DIMS(2), S64S(-3, 4));
    expect(ITG_OP_REDUCE_MAX, &attrs, &x, 1, ITG_S64, DIMS(2), S64S(big, 4));
    expect(ITG_OP_REDUCE_SUM, &attrs, &x, 1, ITG_S64, DIMS(2), S64S(big - 3, 8));
    expect(ITG_OP_REDUCE_MEAN, &attrs, &x, 1, ITG_S64, DIMS(2), S64S((big - 3) / 2, 4));
    expect(ITG_OP_REDUCE_PROD, &attrs, &x, 1, ITG_S64, DIMS(2), S64S(-3 * big, 16));
    expect(ITG_OP_REDUCE_L1, &attrs, &x, 1, ITG_S64, DIMS(2), S64S(big + 3, 8));
    expect(ITG_OP_REDUCE_SUM_SQUARE, &attrs, &x, 1, ITG_S64, DIMS(2), S64S(9, 32));
    expect(ITG_OP_REDUCE_L2, &attrs, &x, 1, ITG_S64, DIMS(2), S64S(big, 5));
    expect(ITG_OP_REDUCE_MIN, &attrs, &bits, 1, ITG_BOOL, DIMS(2), BOOLS(0, 1));
    attrs.axis = 1;
    expect(ITG_OP_ARG_MIN, &attrs, &x, 1, ITG_S64, DIMS(2), S64S(1, 0));
}

static void lines_are_normalized(void **state)
{
    itg_attrs attrs = attributes();
    const itg_tensor x = view(ITG_F32, F32S(3, 4, 0, 0), DIMS(2, 2));
    float y[4];
    itg_tensor out = view(ITG_F32, y, DIMS(2, 2));
    (void)state;
    attrs.axis = 1;
    attrs.p = 2;
    expect(ITG_OP_LP_NORMALIZATION, &attrs, &x, 1, ITG_F32, DIMS(2, 2), F32S(0.6f, 0.8f, 0, 0));
    attrs.p = 1;
    expect(ITG_OP_LP_NORMALIZATION, &attrs, &x, 1, ITG_F32, DIMS(2, 2),
           F32S(3.0f / 7, 4.0f / 7, 0, 0));
    expect(ITG_OP_HARDMAX, &attrs, &x, 1, ITG_F32, DIMS(2, 2), F32S(0, 1, 1, 0));
    attrs.axes_count = 1;
    run(ITG_OP_MEAN_VARIANCE_NORMALIZATION, &attrs, &x, 1, &out);
    assert_true(fabsf(y[0] - 1) < 1e-6f && fabsf(y[1] - 1) < 1e-6f && fabsf(y[2] + 1) < 1e-6f);
    const itg_tensor square = view(ITG_F32, F32S(0, 2, 3, 4), DIMS(1, 2, 2));
    expect(ITG_OP_DET, &attrs, &square, 1, ITG_F32, DIMS(1), F32S(-6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_know_nan_and_integers_beyond_doubles),
        cmocka_unit_test(logic_and_bits),
        cmocka_unit_test(remainders_have_the_sign_they_should),
        cmocka_unit_test(narrow_integers_wrap),
        cmocka_unit_test(functions_of_integers),
        cmocka_unit_test(tests_of_floats),
        cmocka_unit_test(sums_and_means_of_several),
        cmocka_unit_test(elements_are_gathered_and_scattered),
        cmocka_unit_test(rows_are_gathered_and_scattered),
        cmocka_unit_test(one_hot_is_on_where_the_index_says),
        cmocka_unit_test(top_k_takes_the_first_of_equals),
        cmocka_unit_test(unique_slices_have_all_four_outputs),
        cmocka_unit_test(chosen_elements_are_found),
        cmocka_unit_test(patterns_are_made),
        cmocka_unit_test(contractions_follow_their_equation),
        cmocka_unit_test(running_sums_and_products),
        cmocka_unit_test(sequences_are_reversed),
        cmocka_unit_test(reductions_of_floats),
        cmocka_unit_test(reductions_of_integers),
        cmocka_unit_test(lines_are_normalized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
