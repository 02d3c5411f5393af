/* Shapes that depend on what constants hold, and those of operators that place elements by indices;
 * numbers that a file might hold to do harm. */
#include <math.h>
#include "make.h"

enum { MOST = 3 };

/* Of one node: inputs as given, and shapes (or, behind '!', a part of the message). */
typedef struct net {
    itg_graph *g;
    itg_id inputs[MOST];
    int32_t count;
} net;

static net begin(void)
{
    return (net){.g = make_graph()};
}

static const char *name_of(const net *n)
{
    static const char *const names[MOST] = {"a", "b", "c"};
    return names[n->count];
}

static void open_input(net *n, itg_dtype dtype, const char *shape)
{
    itg_id id = add_input(n->g, name_of(n), shape);
    n->g->values[id].dtype = dtype;
    n->inputs[n->count++] = id;
}

static void given(net *n, itg_dtype dtype, const char *shape, const void *data)
{
    itg_shape dims = shape_of(shape);
    itg_id id;
    assert_int_equal(itg_graph_add_value(n->g, name_of(n), dtype, &dims, data, &id, NULL), ITG_OK);
    n->inputs[n->count++] = id;
}

static void given_int(net *n, int64_t number)
{
    given(n, ITG_S64, "", &number);
}

static void expect(net *n, itg_op op, const itg_attrs *attrs, itg_dtype dtype, const char *expected)
{
    itg_error err = {0};
    itg_id y = add_op(n->g, op, "n", attrs, n->count, n->inputs);
    const itg_status status = itg_infer_node(n->g, n->g->values[y].producer, &err);
    if (expected[0] == '!') {
        assert_int_not_equal(status, ITG_OK);
        if (!strstr(err.message, expected + 1))
            fail_msg("'%s' without '%s'", err.message, expected + 1);
    } else {
        const itg_shape shape = shape_of(expected);
        if (status != ITG_OK) fail_msg("%s", err.message);
        assert_true(itg_shape_equal(&n->g->values[y].shape, &shape));
        assert_int_equal(n->g->values[y].dtype, dtype);
        assert_int_equal(itg_infer_node(n->g, n->g->values[y].producer, NULL), ITG_OK);
        assert_true(itg_shape_equal(&n->g->values[y].shape, &shape));
    }
    itg_graph_destroy(n->g);
}

static void range_of_ints(int64_t start, int64_t limit, int64_t delta, const char *expected)
{
    net n = begin();
    given_int(&n, start);
    given_int(&n, limit);
    given_int(&n, delta);
    expect(&n, ITG_OP_RANGE, NULL, ITG_S64, expected);
}

static void range_of_floats(float start, float limit, float delta, const char *expected)
{
    net n = begin();
    given(&n, ITG_F32, "", &start);
    given(&n, ITG_F32, "1", &limit);
    given(&n, ITG_F32, "", &delta);
    expect(&n, ITG_OP_RANGE, NULL, ITG_F32, expected);
}

static void ranges_end_before_their_limit(void **state)
{
    (void)state;
    range_of_ints(0, 10, 3, "4");
    range_of_ints(0, 9, 3, "3");
    range_of_ints(5, 5, 1, "0");
    range_of_ints(5, 9, -1, "0");
    range_of_ints(7, -2, -4, "3");
    range_of_ints(INT64_MIN, INT64_MAX, INT64_MAX, "3");
    range_of_ints(0, 1, 0, "!give no range");
    range_of_ints(0, INT64_C(1) << 60, 1, "!give no range of at most 2147483648");
    range_of_ints(INT64_MIN, INT64_MAX, 1, "!give no range");
    range_of_floats(0, 1, 0.25f, "4");
    range_of_floats(1, 0, 0.25f, "0");
    range_of_floats(0, 1, 0, "!give no range");
    range_of_floats(0, 0, 0, "!give no range");
    range_of_floats(NAN, 1, 1, "!give no range");
    range_of_floats(0, INFINITY, 1, "!give no range");
    range_of_floats(0, 1e30f, 1e-30f, "!give no range");
}

static void sizes_must_be_constants_by_name(void **state)
{
    static const struct {
        itg_op op;
        const char *message;
    } cases[] = {
        {ITG_OP_RANGE, "!its limit 'b' is not a constant, and the shape of its output depends on"},
        {ITG_OP_TILE, "!its repeats 'b' is not a constant"},
        {ITG_OP_TOP_K, "!its k 'b' is not a constant"},
        {ITG_OP_ONE_HOT, "!its depth 'b' is not a constant"},
        {ITG_OP_COMPRESS, "!its condition 'b' is not a constant"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        net n = begin();
        given_int(&n, 1);
        if (cases[i].op != ITG_OP_RANGE) n.g->values[n.inputs[0]].shape = shape_of("1");
        open_input(&n, ITG_S64, "1");
        if (cases[i].op == ITG_OP_RANGE || cases[i].op == ITG_OP_ONE_HOT) given_int(&n, 1);
        expect(&n, cases[i].op, NULL, ITG_S64, cases[i].message);
    }
    static const itg_op alone[] = {ITG_OP_NON_ZERO, ITG_OP_UNIQUE};
    for (int i = 0; i < 2; ++i) {
        net n = begin();
        open_input(&n, ITG_F32, "2");
        expect(&n, alone[i], NULL, ITG_F32, "!its input 'a' is not a constant");
    }
}

static void tile(const char *shape, int64_t count, const int64_t *repeats, const char *expected)
{
    net n = begin();
    char text[8];
    open_input(&n, ITG_U8, shape);
    snprintf(text, sizeof text, "%d", (int)count);
    given(&n, ITG_S64, text, repeats);
    expect(&n, ITG_OP_TILE, NULL, ITG_U8, expected);
}

static void tiles_multiply_dimensions(void **state)
{
    (void)state;
    tile("2,3", 2, (int64_t[]){2, 1}, "4,3");
    tile("2,3", 2, (int64_t[]){0, 1}, "0,3");
    tile("2,3", 1, (int64_t[]){2}, "!1 repeats; expected 2");
    tile("2,3", 2, (int64_t[]){-1, 1}, "!-1 repeats on axis 0");
    tile("2,3", 2, (int64_t[]){INT64_C(1) << 62, 1}, "!repeats on axis 0");
    tile("2,3", 2, (int64_t[]){1 << 30, 1 << 30}, "!too many elements");
}

static void top_k(float k, bool is_float, const char *expected)
{
    net n = begin();
    int64_t whole = is_float ? 0 : (int64_t)k;
    open_input(&n, ITG_F32, "2,5");
    given(&n, is_float ? ITG_F32 : ITG_S64, "1", is_float ? (void *)&k : (void *)&whole);
    itg_attrs attrs = itg_attrs_default(ITG_OP_TOP_K);
    expect(&n, ITG_OP_TOP_K, &attrs, ITG_F32, expected);
}

static void one_hot(int64_t depth, int64_t axis, const char *expected)
{
    net n = begin();
    open_input(&n, ITG_S64, "2,3");
    given_int(&n, depth);
    given(&n, ITG_U8, "2", (uint8_t[]){0, 1});
    itg_attrs attrs = itg_attrs_default(ITG_OP_ONE_HOT);
    attrs.axis = axis;
    expect(&n, ITG_OP_ONE_HOT, &attrs, ITG_U8, expected);
}

static void sizes_are_bounded(void **state)
{
    (void)state;
    top_k(2, false, "2,2");
    top_k(6, false, "!k is 6, its axis has 5 elements");
    top_k(-1, false, "!its k is not from 0");
    top_k(NAN, true, "!its k is not from 0");
    one_hot(4, -1, "2,3,4");
    one_hot(4, 0, "4,2,3");
    one_hot(4, 3, "!axis 3 is outside rank 3");
    one_hot(INT64_C(1) << 40, 0, "!its depth is not from 0");
    one_hot(INT64_C(1) << 31, 0, "!too many elements");
}

static void chosen_elements_are_counted(void **state)
{
    itg_attrs attrs = itg_attrs_default(ITG_OP_COMPRESS);
    (void)state;
    net n = begin();
    given(&n, ITG_F32, "2,3", (float[]){1, 0, -0.0f, 4, NAN, 6});
    expect(&n, ITG_OP_NON_ZERO, NULL, ITG_S64, "2,4");
    n = begin();
    given(&n, ITG_BOOL, "", (uint8_t[]){1});
    expect(&n, ITG_OP_NON_ZERO, NULL, ITG_S64, "1,1");
    n = begin();
    given(&n, ITG_F32, "2,3", (float[]){1, 0, -0.0f, 1, 0, 0});
    attrs = itg_attrs_default(ITG_OP_UNIQUE);
    expect(&n, ITG_OP_UNIQUE, &attrs, ITG_F32, "2");
    n = begin();
    given(&n, ITG_F32, "2,3", (float[]){1, 0, -0.0f, 1, 0, 0});
    attrs.axis = -2;
    expect(&n, ITG_OP_UNIQUE, &attrs, ITG_F32, "1,3");
    attrs = itg_attrs_default(ITG_OP_COMPRESS);
    for (int flat = 0; flat < 2; ++flat) {
        n = begin();
        open_input(&n, ITG_F32, "2,3");
        given(&n, ITG_BOOL, "2", (uint8_t[]){0, 1});
        attrs.axis = flat ? ITG_MAX_RANK : 1;
        expect(&n, ITG_OP_COMPRESS, &attrs, ITG_F32, flat ? "1" : "2,1");
    }
    n = begin();
    open_input(&n, ITG_F32, "2,3");
    given(&n, ITG_BOOL, "3", (uint8_t[]){0, 0, 1});
    attrs.axis = 0;
    expect(&n, ITG_OP_COMPRESS, &attrs, ITG_F32, "!its condition chooses element 2 of 2");
}

/* ---- indices ---- */

static void indexed(itg_op op, const char *x, const char *indices, const char *updates,
                    const char *expected)
{
    net n = begin();
    itg_attrs attrs = itg_attrs_default(op);
    open_input(&n, ITG_S32, x);
    open_input(&n, ITG_S64, indices);
    if (updates) open_input(&n, ITG_S32, updates);
    if (op == ITG_OP_GATHER_ELEMENTS || op == ITG_OP_SCATTER_ELEMENTS) attrs.axis = -1;
    expect(&n, op, &attrs, ITG_S32, expected);
}

static void indices_fit_their_tensor(void **state)
{
    (void)state;
    indexed(ITG_OP_GATHER_ELEMENTS, "2,3", "1,7", NULL, "1,7");
    indexed(ITG_OP_GATHER_ELEMENTS, "2,3", "3,1", NULL, "!indices [3,1] do not fit [2,3]");
    indexed(ITG_OP_GATHER_ELEMENTS, "2,3", "2", NULL, "!do not fit");
    indexed(ITG_OP_SCATTER_ELEMENTS, "2,3", "1,2", "1,2", "2,3");
    indexed(ITG_OP_SCATTER_ELEMENTS, "2,3", "1,2", "2,1", "!or its updates do not fit");
    indexed(ITG_OP_GATHER_ND, "2,3,4", "5,2", NULL, "5,4");
    indexed(ITG_OP_GATHER_ND, "2,3,4", "5,4", NULL, "!do not fit");
    indexed(ITG_OP_GATHER_ND, "2,3,4", "5,0", NULL, "!do not fit");
    indexed(ITG_OP_SCATTER_ND, "2,3,4", "5,2", "5,4", "2,3,4");
    indexed(ITG_OP_SCATTER_ND, "2,3,4", "5,2", "5,3", "!or its updates do not fit");
    net n = begin();
    open_input(&n, ITG_S32, "2,3");
    given(&n, ITG_S64, "1,2", (int64_t[]){0, 2});
    itg_attrs attrs = itg_attrs_default(ITG_OP_GATHER_ELEMENTS);
    expect(&n, ITG_OP_GATHER_ELEMENTS, &attrs, ITG_S32, "!index 2 is outside its axis of 2");
}

static void patterns_have_their_shapes(void **state)
{
    itg_attrs attrs = itg_attrs_default(ITG_OP_EYE_LIKE);
    (void)state;
    net n = begin();
    open_input(&n, ITG_U8, "2,3");
    expect(&n, ITG_OP_EYE_LIKE, &attrs, ITG_U8, "2,3");
    n = begin();
    open_input(&n, ITG_U8, "2,3,4");
    expect(&n, ITG_OP_EYE_LIKE, &attrs, ITG_U8, "!rank 3; expected 2");
    n = begin();
    open_input(&n, ITG_F32, "2,3");
    expect(&n, ITG_OP_SIZE, NULL, ITG_S64, "");
    n = begin();
    open_input(&n, ITG_F32, "3");
    expect(&n, ITG_OP_TRILU, NULL, ITG_F32, "!rank 1; expected matrices");
    n = begin();
    open_input(&n, ITG_F32, "3");
    given_int(&n, 1);
    expect(&n, ITG_OP_CUM_SUM, NULL, ITG_F32, "!axis 1 is outside rank 1");
    n = begin();
    open_input(&n, ITG_F32, "5,3,3");
    expect(&n, ITG_OP_DET, NULL, ITG_F32, "5");
    n = begin();
    open_input(&n, ITG_F32, "5,3");
    expect(&n, ITG_OP_DET, NULL, ITG_F32, "!no square matrix");
}

static void einsum(const char *a, const char *b, bool is_open, const char *expected)
{
    static const int64_t labels[] = {0, 1, -1, 2, 1, -1, 2, 0, -1};
    net n = begin();
    open_input(&n, ITG_F32, a);
    open_input(&n, ITG_F32, b);
    if (is_open)
        open_input(&n, ITG_S64, "9");
    else
        given(&n, ITG_S64, "9", labels);
    expect(&n, ITG_OP_EINSUM, NULL, ITG_F32, expected);
}

static void contractions_are_bounded(void **state)
{
    (void)state;
    einsum("2,3", "4,3", false, "4,2");
    einsum("2,1", "4,3", false, "4,2");
    einsum("2,3", "4,2", false, "!does not fit the shapes");
    einsum("2,3", "4,3,1", false, "!does not fit the ranks");
    einsum("65536,3", "65536,3", false, "!more than 2^32 products");
    einsum("2,3", "4,3", true, "!2 operands and an equation; 1 to 8 are supported");
}

static void operands_have_the_types_of_the_operator(void **state)
{
    static const struct {
        itg_op op;
        itg_dtype dtype;
        const char *expected;
        itg_dtype out;
    } cases[] = {
        {ITG_OP_AND, ITG_S64, "!its input is s64; expected bool", ITG_BOOL},
        {ITG_OP_BITWISE_OR, ITG_F32, "!its input is f32; expected integers", ITG_F32},
        {ITG_OP_BIT_SHIFT, ITG_U8, "3", ITG_U8},
        {ITG_OP_LESS, ITG_F32, "3", ITG_BOOL},
        {ITG_OP_XOR, ITG_BOOL, "3", ITG_BOOL},
        {ITG_OP_IS_NAN, ITG_S32, "!its input is s32; expected f32", ITG_BOOL},
        {ITG_OP_IS_INF, ITG_F32, "3", ITG_BOOL},
        {ITG_OP_NOT, ITG_F32, "!its input is f32; expected bool", ITG_BOOL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        net n = begin();
        open_input(&n, cases[i].dtype, "3");
        if (itg_op_info_of(cases[i].op)->min_inputs > 1) open_input(&n, cases[i].dtype, "3");
        expect(&n, cases[i].op, NULL, cases[i].out, cases[i].expected);
    }
    net n = begin();
    open_input(&n, ITG_F32, "3");
    open_input(&n, ITG_U8, "");
    itg_id y = add_op(n.g, ITG_OP_CAST_LIKE, "n", NULL, 2, n.inputs);
    assert_int_equal(itg_infer_node(n.g, n.g->values[y].producer, NULL), ITG_OK);
    const itg_node *cast = &n.g->nodes[n.g->values[y].producer];
    assert_true(cast->op == ITG_OP_CAST && cast->attrs.to == ITG_U8 && cast->input_count == 1);
    itg_graph_destroy(n.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_end_before_their_limit),
        cmocka_unit_test(sizes_must_be_constants_by_name),
        cmocka_unit_test(tiles_multiply_dimensions),
        cmocka_unit_test(sizes_are_bounded),
        cmocka_unit_test(chosen_elements_are_counted),
        cmocka_unit_test(indices_fit_their_tensor),
        cmocka_unit_test(patterns_have_their_shapes),
        cmocka_unit_test(contractions_are_bounded),
        cmocka_unit_test(operands_have_the_types_of_the_operator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
