/* Exact arithmetic, matrix products in one form, Reshape, Pad. */
#include "make.h"
#include <math.h>

static void check(itg_graph *g, itg_id y, itg_op op, int32_t count, int32_t nodes, double tolerance)
{
    set_output(g, y);
    itg_graph *p = prepared(g, false);
    assert_int_equal(count_of(p, op), count);
    assert_int_equal(p->node_count, nodes);
    assert_keeps_function(g, p, tolerance);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

static void divide(const float *by, bool becomes, double tolerance)
{
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2"), c = add_floats(g, "c", "2", by);
    check(g, ADD_OP(g, ITG_OP_DIV, "y", NULL, x, c), ITG_OP_MUL, becomes, 1, tolerance);
}

static void test_division_by_constants_becomes_mul(void **state)
{
    (void)state;
    divide((float[]){8, -0.25f}, true, 0);
    divide((float[]){1, 0x1p126f}, true, 0);
    divide((float[]){8, 3}, true, 1e-6);
    divide((float[]){1, 1.41421354f}, true, 1e-6);
    divide((float[]){1, 0x1p127f}, false, 0); /* its reciprocal is subnormal */
}

/* (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) over the last `axes` dimensions */
static itg_id decomposed_norm(itg_graph *g, itg_id x, int32_t axes, bool pow)
{
    itg_attrs a = itg_attrs_default(ITG_OP_REDUCE_MEAN);
    for (int32_t i = 0; i < axes; i++)
        a.axes[a.axes_count++] = 3 - axes + i;
    itg_id two = add_floats(g, "two", "", (float[]){2}),
           epsilon = add_floats(g, "epsilon", "", (float[]){0.01f});
    itg_id mean = ADD_OP(g, ITG_OP_REDUCE_MEAN, "mean", &a, x);
    itg_id d = ADD_OP(g, ITG_OP_SUB, "d", NULL, x, mean);
    itg_id square = ADD_OP(g, pow ? ITG_OP_POW : ITG_OP_MUL, "square", NULL, d, pow ? two : d);
    itg_id variance = ADD_OP(g, ITG_OP_REDUCE_MEAN, "variance", &a, square);
    itg_id sum = ADD_OP(g, ITG_OP_ADD, "sum", NULL, epsilon, variance);
    return ADD_OP(g, ITG_OP_DIV, "norm", NULL, d, ADD_OP(g, ITG_OP_SQRT, "root", NULL, sum));
}

static void test_a_decomposed_layer_normalization_is_one_node(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        itg_graph *g = make_graph();
        itg_id x = add_input(g, "x", "2,3,4");
        itg_id y = decomposed_norm(g, x, 1 + i / 2, i % 2);
        check(g, y, ITG_OP_LAYER_NORMALIZATION, 1, 1, 1e-5);
        g = make_graph();
        x = add_input(g, "x", "2,3,4");
        y = decomposed_norm(g, x, 1 + i / 2, i % 2);
        y = ADD_OP(g, ITG_OP_MUL, "scaled", NULL, y, add_floats(g, "scale", "4", NULL));
        y = ADD_OP(g, ITG_OP_ADD, "y", NULL, add_floats(g, "bias", "4", NULL), y);
        check(g, y, ITG_OP_LAYER_NORMALIZATION, 1, 1, 1e-5);
    }
}

/* Factors that do not broadcast to a row stay nodes; another mean is no normalization. */
static void test_what_is_no_layer_normalization_stays(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "2,3,4"), y = decomposed_norm(g, x, 1, true);
    y = ADD_OP(g, ITG_OP_MUL, "y", NULL, y, add_floats(g, "scale", "3,1", NULL));
    check(g, y, ITG_OP_MUL, 1, 2, 1e-5);
    g = make_graph();
    itg_attrs a = itg_attrs_default(ITG_OP_REDUCE_MEAN);
    a.axes[a.axes_count++] = 1; /* not the last dimension */
    x = add_input(g, "x", "2,3,4");
    itg_id d = ADD_OP(g, ITG_OP_SUB, "d", NULL, x, ADD_OP(g, ITG_OP_REDUCE_MEAN, "m", &a, x));
    itg_id v = ADD_OP(g, ITG_OP_REDUCE_MEAN, "v", &a, ADD_OP(g, ITG_OP_MUL, "s", NULL, d, d));
    v = ADD_OP(g, ITG_OP_ADD, "e", NULL, v, add_floats(g, "one", "", (float[]){1}));
    y = ADD_OP(g, ITG_OP_DIV, "y", NULL, d, ADD_OP(g, ITG_OP_SQRT, "r", NULL, v));
    check(g, y, ITG_OP_LAYER_NORMALIZATION, 0, 8, 1e-5); /* the quotient is two nodes */
}

/* The three factors in every order of two products. */
static void test_a_decomposed_gelu_is_one_node(void **state)
{
    (void)state;
    for (int order = 0; order < 12; order++) {
        itg_graph *g = make_graph();
        itg_id x = add_input(g, "x", "2,4"), half = add_floats(g, "half", "", (float[]){0.5f});
        itg_id root = add_floats(g, "root", "", (float[]){order % 2 ? 1.41421354f : 0.70710677f});
        itg_id u = ADD_OP(g, order % 2 ? ITG_OP_DIV : ITG_OP_MUL, "u", NULL, x, root);
        itg_id share = ADD_OP(g, ITG_OP_ADD, "share", NULL, ADD_OP(g, ITG_OP_ERF, "erf", NULL, u),
                              add_floats(g, "one", "", (float[]){1}));
        const itg_id factors[3] = {x, half, share}, *f = factors;
        const int first = order / 2 % 3, second = (first + 1) % 3, third = (first + 2) % 3;
        itg_id y = ADD_OP(g, ITG_OP_MUL, "inner", NULL, f[first], f[second]);
        y = order < 6 ? ADD_OP(g, ITG_OP_MUL, "y", NULL, y, f[third])
                      : ADD_OP(g, ITG_OP_MUL, "y", NULL, f[third], y);
        check(g, y, ITG_OP_GELU, 1, 1, 1e-6);
    }
}

static void test_subtraction_of_a_constant_becomes_add(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2"), c = add_floats(g, "c", "2", NULL);
    check(g, ADD_OP(g, ITG_OP_SUB, "y", NULL, x, c), ITG_OP_ADD, 1, 1, 0);
    g = make_graph();
    x = add_input(g, "x", "1,2");
    c = add_floats(g, "c", "2", NULL);
    check(g, ADD_OP(g, ITG_OP_SUB, "y", NULL, c, x), ITG_OP_SUB, 1, 1, 0);
}

static void test_a_constant_operand_stands_second(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2"), c = add_floats(g, "c", "2", NULL);
    set_output(g, ADD_OP(g, ITG_OP_MUL, "y", NULL, c, x));
    itg_graph *p = prepared(g, false);
    assert_int_equal(p->nodes[0].inputs[0], p->inputs[0]);
    assert_keeps_function(g, p, 0);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* A constant that several nodes share keeps its value for the others. */
static void test_a_shared_constant_is_not_changed(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2"), c = add_floats(g, "c", "2", NULL);
    itg_id a = ADD_OP(g, ITG_OP_SUB, "a", NULL, x, c), b = ADD_OP(g, ITG_OP_SUB, "b", NULL, a, c);
    check(g, ADD_OP(g, ITG_OP_MUL, "y", NULL, b, c), ITG_OP_ADD, 2, 3, 0);
}

static void test_matmul_of_matrices_becomes_gemm(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,4"), w = add_floats(g, "w", "4,3", NULL);
    set_output(g, ADD_OP(g, ITG_OP_MATMUL, "y", NULL, x, w));
    itg_graph *p = prepared(g, false);
    assert_int_equal(p->nodes[0].op, ITG_OP_GEMM);
    assert_true(p->nodes[0].attrs.trans_b);
    itg_shape expected = shape_of("3,4");
    assert_true(itg_shape_equal(&p->values[p->nodes[0].inputs[1]].shape, &expected));
    for (int n = 0; n < 3; ++n)
        for (int k = 0; k < 4; ++k)
            assert_true(floats_at(p, 0, 1)[n * 4 + k] ==
                        ((const float *)g->values[w].data)[k * 3 + n]);
    assert_keeps_function(g, p, 0);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
    g = make_graph(); /* weights of rank 3 that are one matrix */
    x = add_input(g, "x", "1,5,4");
    w = add_floats(g, "w", "1,4,3", NULL);
    set_output(g, ADD_OP(g, ITG_OP_MATMUL, "y", NULL, x, w));
    p = prepared(g, false);
    assert_int_equal(p->values[p->nodes[0].inputs[1]].shape.rank, 2);
    assert_keeps_function(g, p, 0);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
    g = make_graph(); /* no constant: nothing */
    x = add_input(g, "x", "2,3");
    itg_id z = add_input(g, "z", "3,4");
    check(g, ADD_OP(g, ITG_OP_MATMUL, "y", NULL, x, z), ITG_OP_MATMUL, 1, 1, 0);
}

static void test_gemm_gets_its_canonical_form(void **state)
{
    (void)state;
    const char *biases[] = {"3", "1,3", "", "1,1", "2,3", "2,1"};
    for (size_t i = 0; i < sizeof biases / sizeof biases[0]; ++i) {
        itg_graph *g = make_graph();
        itg_attrs a = itg_attrs_default(ITG_OP_GEMM);
        a.beta = 0.5f;
        itg_id x = add_input(g, "x", "2,4"), w = add_floats(g, "w", "4,3", NULL),
               c = add_floats(g, "c", biases[i], NULL);
        set_output(g, ADD_OP(g, ITG_OP_GEMM, "y", &a, x, w, c));
        itg_graph *p = prepared(g, false);
        const itg_node *n = &p->nodes[0];
        assert_int_equal(p->node_count, 1);
        assert_true(n->attrs.trans_b);
        itg_shape expected = shape_of("3");
        bool row = i < 4; /* [2,3] and [2,1] differ between rows: they stay */
        assert_int_equal(itg_shape_equal(&p->values[n->inputs[2]].shape, &expected), row);
        assert_true(n->attrs.beta == (row ? 1.0f : 0.5f));
        assert_keeps_function(g, p, 1e-6);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

static void test_reshapes_merge_and_vanish(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,4,1,1"), r = ADD_OP(g, ITG_OP_TANH, "r", NULL, x);
    itg_id y = ADD_OP(g, ITG_OP_SQUEEZE, "s", NULL, r, ADD_INTS(g, "axes", 2, 3));
    y = ADD_OP(g, ITG_OP_UNSQUEEZE, "u", NULL, y, ADD_INTS(g, "more", 0));
    y = ADD_OP(g, ITG_OP_FLATTEN, "f", NULL, y);
    check(g, y, ITG_OP_RESHAPE, 1, 2, 0);
    g = make_graph();
    x = add_input(g, "x", "1,4,1,1");
    r = ADD_OP(g, ITG_OP_TANH, "r", NULL, x);
    y = ADD_OP(g, ITG_OP_FLATTEN, "f", NULL, r);
    y = ADD_OP(g, ITG_OP_RESHAPE, "back", NULL, y, ADD_INTS(g, "t", 1, 4, 1, 1));
    check(g, y, ITG_OP_RESHAPE, 0, 1, 0);
}

/* Pads of [1,2,4,4] in front of a Conv. */
static void pad_conv(const int64_t *pads, float value, bool merges)
{
    itg_graph *g = make_graph();
    itg_attrs a = itg_attrs_default(ITG_OP_CONV);
    a.pad[0] = a.pad[3] = 1;
    itg_id x = add_input(g, "x", "1,2,4,4"), w = add_floats(g, "w", "3,2,2,2", NULL);
    itg_id p = ADD_OP(g, ITG_OP_PAD, "p", NULL, x, add_ints(g, "pads", 8, pads),
                      add_floats(g, "v", "", &value));
    check(g, ADD_OP(g, ITG_OP_CONV, "y", &a, p, w), ITG_OP_PAD, !merges, merges ? 1 : 2, 0);
}

static void test_zero_padding_goes_into_conv(void **state)
{
    (void)state;
    pad_conv((int64_t[]){0, 0, 1, 2, 0, 0, 3, 4}, 0, true);
    pad_conv((int64_t[]){0, 0, 1, -1, 0, 0, 0, 0}, 0, false);
    pad_conv((int64_t[]){1, 0, 1, 0, 0, 0, 0, 0}, 0, false);
}

/* A border of another number is a constant beside the input, along each axis that grows. */
static void test_other_padding_becomes_concat(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    float half = 0.5f;
    itg_id x = add_input(g, "x", "1,2,4,4");
    itg_id p = ADD_OP(g, ITG_OP_PAD, "p", NULL, x, ADD_INTS(g, "pads", 0, 0, 1, 2, 0, 0, 0, 4),
                      add_floats(g, "v", "", &half));
    check(g, p, ITG_OP_CONCAT, 2, 2, 0);
}

/* Minus infinity in front of a MaxPool is the pool's own padding. */
static void test_padding_goes_into_max_pool(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    const float least = -INFINITY;
    itg_attrs a = itg_attrs_default(ITG_OP_MAX_POOL);
    a.kernel[0] = a.kernel[1] = 3;
    a.pad[0] = 1;
    itg_id x = add_input(g, "x", "1,2,4,4");
    itg_id p = ADD_OP(g, ITG_OP_PAD, "p", NULL, x, ADD_INTS(g, "pads", 0, 0, 1, 2, 0, 0, 0, 1),
                      add_floats(g, "v", "", &least));
    check(g, ADD_OP(g, ITG_OP_MAX_POOL, "y", &a, p), ITG_OP_PAD, 0, 1, 0);
}

static void test_zero_padding_of_one_dimension_goes_into_conv(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,4"), w = add_floats(g, "w", "3,2,2", NULL);
    itg_id p = ADD_OP(g, ITG_OP_PAD, "p", NULL, x, ADD_INTS(g, "pads", 0, 0, 2, 0, 0, 1));
    check(g, ADD_OP(g, ITG_OP_CONV, "y", NULL, p, w), ITG_OP_PAD, 0, 1, 0);
}

static void test_more_nodes_than_the_limit_are_refused(void **state)
{
    (void)state;
    itg_graph *g = make_graph(), *p = NULL;
    itg_error err = {0};
    itg_prepare_options options = {0};
    itg_id y = add_input(g, "x", "1");
    for (int i = 0; i <= 16384; ++i) {
        itg_id next;
        assert_int_equal(itg_graph_add_value(g, NULL, ITG_F32, NULL, NULL, &next, NULL), ITG_OK);
        assert_int_equal(
            itg_graph_add_node(g, NULL, ITG_OP_RELU, &y, 1, &next, 1, NULL, NULL, NULL), ITG_OK);
        y = next;
    }
    set_output(g, y);
    assert_int_equal(itg_graph_prepare(g, &options, &p, &err), ITG_LIMIT);
    assert_string_equal(err.message, "net.onnx: 16385 nodes; at most 16384 are prepared");
    itg_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_division_by_constants_becomes_mul),
        cmocka_unit_test(test_a_decomposed_layer_normalization_is_one_node),
        cmocka_unit_test(test_what_is_no_layer_normalization_stays),
        cmocka_unit_test(test_a_decomposed_gelu_is_one_node),
        cmocka_unit_test(test_subtraction_of_a_constant_becomes_add),
        cmocka_unit_test(test_a_constant_operand_stands_second),
        cmocka_unit_test(test_a_shared_constant_is_not_changed),
        cmocka_unit_test(test_matmul_of_matrices_becomes_gemm),
        cmocka_unit_test(test_gemm_gets_its_canonical_form),
        cmocka_unit_test(test_reshapes_merge_and_vanish),
        cmocka_unit_test(test_zero_padding_goes_into_conv),
        cmocka_unit_test(test_other_padding_becomes_concat),
        cmocka_unit_test(test_padding_goes_into_max_pool),
        cmocka_unit_test(test_zero_padding_of_one_dimension_goes_into_conv),
        cmocka_unit_test(test_more_nodes_than_the_limit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
