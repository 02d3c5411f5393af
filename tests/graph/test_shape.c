/* Shapes of everything but windows; the expected ones follow ONNX's operator pages and numpy. */
#include "make.h"

/* Infers one node of these inputs and compares: a shape, or (where `expected` is no shape) the end
 * of the message. */
static void check(itg_graph *g, itg_op op, const itg_attrs *attrs, int32_t count,
                  const itg_id *inputs, const char *expected)
{
    itg_error err = {0};
    itg_id y = add_op(g, op, "n", attrs, count, inputs);
    itg_status status = itg_infer_node(g, g->values[y].producer, &err);
    if (expected[0] != '!') {
        char text[96];
        itg_shape shape = shape_of(expected);
        if (status != ITG_OK) fail_msg("%s", err.message);
        if (!itg_shape_equal(&g->values[y].shape, &shape))
            fail_msg("%s is %s; expected %s", itg_op_name(op),
                     itg_shape_text(&g->values[y].shape, text, sizeof text), expected);
        assert_int_equal(itg_infer_node(g, g->values[y].producer, NULL), ITG_OK); /* again */
        assert_true(itg_shape_equal(&g->values[y].shape, &shape));
    } else {
        assert_int_not_equal(status, ITG_OK);
        if (!strstr(err.message, expected + 1))
            fail_msg("'%s' without '%s'", err.message, expected + 1);
        if (strncmp(err.message, "net.onnx: node 'n' (", 20) != 0) fail_msg("%s", err.message);
        assert_int_equal(g->values[y].shape.rank, -1);
    }
    itg_graph_destroy(g);
}

static void check_shapes(itg_op op, const itg_attrs *attrs, const char *a, const char *b,
                         const char *c, const char *expected)
{
    itg_graph *g = make_graph();
    const char *shapes[] = {a, b, c}, *names[] = {"a", "b", "c"};
    itg_id ids[3];
    int32_t count = 0;
    for (int i = 0; i < 3; ++i)
        if (shapes[i]) ids[count++] = add_input(g, names[i], shapes[i]);
    check(g, op, attrs, count, ids, expected);
}

/* Input "a" and one constant list. */
static void check_list(itg_op op, const itg_attrs *attrs, const char *a, int32_t count,
                       const int64_t *list, const char *expected)
{
    itg_graph *g = make_graph();
    itg_id ids[2] = {add_input(g, "a", a), add_ints(g, "list", count, list)};
    check(g, op, attrs, 2, ids, expected);
}
#define LIST(...)                                                                                  \
    (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[])                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* Outputs of training may be named, but nothing reads them. */
static void test_batch_norm_has_one_output(void **state)
{
    (void)state;
    for (int used = 0; used < 2; used++) {
        itg_graph *g = make_graph();
        itg_error err = {0};
        itg_id in[5] = {add_input(g, "x", "2,3,4")}, out[2];
        const char *names[] = {"scale", "bias", "mean", "variance"};
        const itg_attrs attrs = itg_attrs_default(ITG_OP_BATCH_NORMALIZATION);
        for (int i = 0; i < 4; i++)
            in[i + 1] = add_input(g, names[i], "3");
        for (int i = 0; i < 2; i++)
            assert_int_equal(
                itg_graph_add_value(g, i ? "running" : "y", ITG_F32, NULL, NULL, &out[i], NULL),
                ITG_OK);
        itg_id node;
        assert_int_equal(itg_graph_add_node(g, "n", ITG_OP_BATCH_NORMALIZATION, in, 5, out, 2,
                                            &attrs, &node, NULL),
                         ITG_OK);
        if (used) add_op(g, ITG_OP_RELU, "r", NULL, 1, &out[1]);
        itg_status status = itg_infer_node(g, node, &err);
        assert_int_equal(status, used ? ITG_UNSUPPORTED : ITG_OK);
        if (used) assert_non_null(strstr(err.message, "its training output 'running' is used"));
        if (!used) assert_int_equal(g->nodes[node].output_count, 1);
        itg_graph_destroy(g);
    }
}

static void test_binary_operators_broadcast(void **state)
{
    (void)state;
    check_shapes(ITG_OP_ADD, NULL, "2,3,4", "3,1", NULL, "2,3,4");
    check_shapes(ITG_OP_MUL, NULL, "", "5", NULL, "5");
    check_shapes(ITG_OP_SUB, NULL, "1,4", "3,1", NULL, "3,4");
    check_shapes(ITG_OP_POW, NULL, "2,0", "1", NULL, "2,0");
    check_shapes(ITG_OP_MAX, NULL, "2,1", "1,3", "4,1,1", "4,2,3");
    check_shapes(ITG_OP_DIV, NULL, "2,3", "4", NULL, "!shapes [2,3] and [4] do not broadcast");
    check_shapes(ITG_OP_PRELU, NULL, "2,3,4", "3,1", NULL, "2,3,4");
    check_shapes(ITG_OP_PRELU, NULL, "3,1", "2,3,4", NULL,
                 "!slope [2,3,4] does not broadcast to [3,1]");
    check_shapes(ITG_OP_RELU, NULL, "2,3", NULL, NULL, "2,3");
    check_shapes(ITG_OP_ADD, NULL, "2,3", NULL, NULL, "!1 inputs; expected 2 to 2");
}

static void test_comparison_and_choice_have_their_dtypes(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id a = add_input(g, "a", "2,3"), b = add_input(g, "b", "3");
    itg_id e = ADD_OP(g, ITG_OP_EQUAL, "e", NULL, a, b),
           w = ADD_OP(g, ITG_OP_WHERE, "w", NULL, e, a, b);
    itg_attrs cast = itg_attrs_default(ITG_OP_CAST);
    cast.to = ITG_S64;
    itg_id c = ADD_OP(g, ITG_OP_CAST, "c", &cast, w), s = ADD_OP(g, ITG_OP_SHAPE, "s", NULL, c);
    itg_id mixed = ADD_OP(g, ITG_OP_ADD, "mixed", NULL, w, c);
    itg_error err = {0};
    assert_int_equal(infer_all(g, &err), ITG_BAD_FILE);
    assert_string_equal(err.message, "net.onnx: node 'mixed' (Add): operands are f32 and s64");
    assert_int_equal(g->values[e].dtype, ITG_BOOL);
    assert_int_equal(g->values[w].dtype, ITG_F32);
    assert_int_equal(g->values[c].dtype, ITG_S64);
    assert_int_equal(g->values[s].dtype, ITG_S64);
    assert_int_equal(g->values[s].shape.dims[0], 2);
    assert_int_equal(g->values[mixed].shape.rank, -1);
    itg_graph_destroy(g);
}

static void test_matrix_products(void **state)
{
    (void)state;
    itg_attrs t = itg_attrs_default(ITG_OP_GEMM);
    check_shapes(ITG_OP_MATMUL, NULL, "2,3", "3,4", NULL, "2,4");
    check_shapes(ITG_OP_MATMUL, NULL, "5,1,2,3", "6,3,4", NULL, "5,6,2,4");
    check_shapes(ITG_OP_MATMUL, NULL, "3", "5,3,4", NULL, "5,4");
    check_shapes(ITG_OP_MATMUL, NULL, "2,3", "3", NULL, "2");
    check_shapes(ITG_OP_MATMUL, NULL, "3", "3", NULL, "");
    check_shapes(ITG_OP_MATMUL, NULL, "2,7,3", "3,4", "4", "2,7,4");
    check_shapes(ITG_OP_MATMUL, NULL, "2,7,3", "3,4", "3", "!its bias is [3]; expected [4]");
    check_shapes(ITG_OP_MATMUL, NULL, "2,3", "4,3", NULL, "!operands [2,3] and [4,3] do not fit");
    check_shapes(ITG_OP_GEMM, &t, "2,3", "3,4", "1,4", "2,4");
    check_shapes(ITG_OP_GEMM, &t, "2,3", "3,4", "3", "!bias [3] does not broadcast to [2,4]");
    t.trans_a = t.trans_b = true;
    check_shapes(ITG_OP_GEMM, &t, "3,2", "4,3", "", "2,4");
    check_shapes(ITG_OP_GEMM, &t, "2,3", "4,3", NULL, "!do not fit (transA=1, transB=1)");
    check_shapes(ITG_OP_GEMM, &t, "2,3,1", "4,3", NULL, "!must have rank 2");
}

static void test_reshape_and_kin(void **state)
{
    (void)state;
    itg_attrs zero = itg_attrs_default(ITG_OP_RESHAPE), flat = itg_attrs_default(ITG_OP_FLATTEN);
    zero.allowzero = true;
    check_list(ITG_OP_RESHAPE, NULL, "2,3,4", LIST(4, 6), "4,6");
    check_list(ITG_OP_RESHAPE, NULL, "2,3,4", LIST(0, -1), "2,12");
    check_list(ITG_OP_RESHAPE, NULL, "2,3,4", LIST(-1), "24");
    check_list(ITG_OP_RESHAPE, &zero, "0,3", LIST(3, 0), "3,0");
    check_list(ITG_OP_RESHAPE, NULL, "2,3", LIST(4, 2),
               "!target [4,2] does not hold the elements of [2,3]");
    check_list(ITG_OP_RESHAPE, NULL, "2,3", LIST(-1, -1), "!is not legal");
    check_list(ITG_OP_RESHAPE, NULL, "2,3", LIST(6, 1, 0), "!copies a dimension");
    check_list(ITG_OP_RESHAPE, NULL, "2,3", LIST(-1, 4), "!does not hold");
    check_list(ITG_OP_RESHAPE, NULL, "2,3", LIST(INT64_MAX, INT64_MAX), "!is not legal");
    check_list(ITG_OP_RESHAPE, NULL, "2,3", LIST(1LL << 31, 1LL << 31), "!too many elements");
    flat.axis = -1;
    check_shapes(ITG_OP_FLATTEN, &flat, "2,3,4", NULL, NULL, "6,4");
    flat.axis = 0;
    check_shapes(ITG_OP_FLATTEN, &flat, "2,3,4", NULL, NULL, "1,24");
    flat.axis = 3;
    check_shapes(ITG_OP_FLATTEN, &flat, "2,3,4", NULL, NULL, "24,1");
    flat.axis = 4;
    check_shapes(ITG_OP_FLATTEN, &flat, "2,3,4", NULL, NULL, "!axis 4 is outside rank 3");
    check_list(ITG_OP_SQUEEZE, NULL, "1,3,1", LIST(-1), "1,3");
    check_shapes(ITG_OP_SQUEEZE, NULL, "1,3,1", NULL, NULL, "3");
    check_list(ITG_OP_SQUEEZE, NULL, "1,3,1", LIST(1), "!axis 1 has 3 elements; expected 1");
    check_list(ITG_OP_UNSQUEEZE, NULL, "3,4", LIST(3, 0), "1,3,4,1");
    check_list(ITG_OP_UNSQUEEZE, NULL, "3,4", LIST(-1), "3,4,1");
    check_list(ITG_OP_UNSQUEEZE, NULL, "3,4", LIST(0, 0), "!axis 0 is listed twice");
    check_list(ITG_OP_EXPAND, NULL, "3,1", LIST(2, 1, 6), "2,3,6");
    check_list(ITG_OP_EXPAND, NULL, "3,1", LIST(2, 6), "!does not broadcast");
    check_list(ITG_OP_EXPAND, NULL, "3,1", LIST(-1, 6), "!does not broadcast");
}

static void test_shape_like_inputs_must_be_constant(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id ids[2] = {add_input(g, "a", "2,3"), add_input(g, "s", "2")};
    check(g, ITG_OP_RESHAPE, NULL, 2, ids, "!its shape 's' is not a constant");
    g = make_graph();
    ids[0] = add_input(g, "a", "2,3");
    ids[1] = add_floats(g, "s", "2", NULL);
    check(g, ITG_OP_RESHAPE, NULL, 2, ids, "!its shape 's' is f32; expected s64");
}

static void test_transpose(void **state)
{
    (void)state;
    itg_attrs a = itg_attrs_default(ITG_OP_TRANSPOSE);
    check_shapes(ITG_OP_TRANSPOSE, &a, "2,3,4", NULL, NULL, "4,3,2");
    a.perm[0] = 1, a.perm[1] = 2, a.perm[2] = 0;
    check_shapes(ITG_OP_TRANSPOSE, &a, "2,3,4", NULL, NULL, "3,4,2");
    check_shapes(ITG_OP_TRANSPOSE, &a, "2,3", NULL, NULL,
                 "!perm is no permutation of 2 dimensions");
    check_shapes(ITG_OP_TRANSPOSE, &a, "2,3,4,5", NULL, NULL,
                 "!perm is no permutation of 4 dimensions");
    a.perm[2] = 1;
    check_shapes(ITG_OP_TRANSPOSE, &a, "2,3,4", NULL, NULL,
                 "!perm is no permutation of 3 dimensions");
}

/* Elements that numpy's a[start:end:step] has, taken one by one. */
static int64_t count_slice(int64_t dim, int64_t start, int64_t end, int64_t step)
{
    int64_t count = 0, from = start < 0 ? start + dim : start, to = end < 0 ? end + dim : end;
    if (step > 0) {
        for (int64_t i = from < 0 ? 0 : from; i < dim && i < to; i += step)
            count++;
    } else {
        for (int64_t i = from >= dim ? dim - 1 : from; i >= 0 && i > (to < 0 ? -1 : to); i += step)
            count++;
    }
    return count;
}

static void test_slice_clamps_as_numpy(void **state)
{
    (void)state;
    for (int64_t start = -7; start <= 7; ++start)
        for (int64_t end = -7; end <= 7; ++end)
            for (int64_t step = -3; step <= 3; ++step) {
                char expected[32];
                itg_graph *g = make_graph();
                itg_id ids[5] = {add_input(g, "a", "2,5"), ADD_INTS(g, "starts", start),
                                 ADD_INTS(g, "ends", end), ADD_INTS(g, "axes", -1),
                                 ADD_INTS(g, "steps", step)};
                snprintf(expected, sizeof expected, "2,%d",
                         (int)(step ? count_slice(5, start, end, step) : 0));
                check(g, ITG_OP_SLICE, NULL, 5, ids, step ? expected : "!axis 1 has step 0");
            }
    itg_graph *g = make_graph();
    itg_id a = add_input(g, "a", "4,5"), s = ADD_INTS(g, "s", INT64_MAX, 1),
           e = ADD_INTS(g, "e", INT64_MIN, INT64_MAX);
    itg_id axes = ADD_INTS(g, "axes", 0, 1), steps = ADD_INTS(g, "steps", -1, 2);
    itg_id y = ADD_OP(g, ITG_OP_SLICE, "y", NULL, a, s, e, axes, steps);
    itg_shape expected = shape_of("4,2");
    assert_int_equal(infer_all(g, NULL), ITG_OK);
    assert_true(itg_shape_equal(&g->values[y].shape, &expected));
    assert_int_equal(g->nodes[0].attrs.starts[0], 3);
    assert_int_equal(g->nodes[0].attrs.starts[1], 1);
    assert_int_equal(g->nodes[0].input_count, 1);
    itg_graph_destroy(g);
}

static void test_concat_split_gather_pad(void **state)
{
    (void)state;
    itg_attrs a = itg_attrs_default(ITG_OP_CONCAT);
    a.axis = -1;
    check_shapes(ITG_OP_CONCAT, &a, "2,3", "2,1", "2,5", "2,9");
    check_shapes(ITG_OP_CONCAT, &a, "2,3", "3,1", NULL,
                 "!inputs [2,3] and [3,1] do not fit on axis 1");
    check_list(ITG_OP_GATHER, NULL, "4,5", LIST(3, -4, 0), "3,5");
    check_list(ITG_OP_GATHER, NULL, "4,5", LIST(4), "!index 4 is outside its axis of 4 elements");
    check_list(ITG_OP_PAD, NULL, "4,5", LIST(1, 0, 2, -2), "7,3");
    check_list(ITG_OP_PAD, NULL, "4,5", LIST(0, -3, 0, -3), "!do not fit dimension 1");
    check_list(ITG_OP_PAD, NULL, "4,5", LIST(1, 0, 2), "!3 pads; expected 4");
    a = itg_attrs_default(ITG_OP_PAD);
    a.pad_mode = ITG_PAD_REFLECT;
    check_list(ITG_OP_PAD, &a, "4,5", LIST(3, 0, 3, 0), "10,5");
    check_list(ITG_OP_PAD, &a, "4,5", LIST(4, 0, 0, 0), "!do not fit dimension 0");
}

static itg_status split(int32_t opset, int32_t parts, int64_t dim, const int64_t *sizes,
                        int64_t *out)
{
    itg_graph *g = make_graph();
    itg_id ids[2], outs[4], node;
    char shape[32];
    snprintf(shape, sizeof shape, "2,%d", (int)dim);
    ids[0] = add_input(g, "a", shape);
    if (sizes) ids[1] = add_ints(g, "sizes", parts, sizes);
    itg_attrs a = itg_attrs_default(ITG_OP_SPLIT);
    a.axis = 1;
    for (int32_t i = 0; i < parts; ++i)
        assert_int_equal(itg_graph_add_value(g, NULL, ITG_F32, NULL, NULL, &outs[i], NULL), ITG_OK);
    assert_int_equal(
        itg_graph_add_node(g, "n", ITG_OP_SPLIT, ids, sizes ? 2 : 1, outs, parts, &a, &node, NULL),
        ITG_OK);
    g->nodes[0].opset = opset;
    itg_status status = infer_all(g, NULL);
    if (status == ITG_OK) assert_int_equal(infer_all(g, NULL), ITG_OK);
    for (int32_t i = 0; i < parts && status == ITG_OK; ++i)
        out[i] = g->values[outs[i]].shape.dims[1];
    itg_graph_destroy(g);
    return status;
}

static void test_split_by_sizes_or_in_equal_parts(void **state)
{
    (void)state;
    int64_t out[4];
    assert_int_equal(split(13, 3, 7, (int64_t[]){1, 4, 2}, out), ITG_OK);
    assert_true(out[0] == 1 && out[1] == 4 && out[2] == 2);
    assert_int_equal(split(13, 3, 6, NULL, out), ITG_OK);
    assert_true(out[0] == 2 && out[1] == 2 && out[2] == 2);
    assert_int_equal(split(13, 3, 7, NULL, out), ITG_BAD_FILE);
    assert_int_equal(split(18, 3, 7, NULL, out), ITG_OK); /* the last is smaller */
    assert_true(out[0] == 3 && out[1] == 3 && out[2] == 1);
    assert_int_equal(split(13, 3, 7, (int64_t[]){1, 4, 3}, out), ITG_BAD_FILE);
    assert_int_equal(split(13, 3, 7, (int64_t[]){9, -4, 2}, out), ITG_BAD_FILE);
}

static void test_reductions_and_normalizations(void **state)
{
    (void)state;
    itg_attrs a = itg_attrs_default(ITG_OP_REDUCE_MEAN);
    check_list(ITG_OP_REDUCE_MEAN, &a, "2,3,4", LIST(-1, 0), "1,3,1");
    check_shapes(ITG_OP_REDUCE_SUM, &a, "2,3", NULL, NULL, "1,1");
    a.keepdims = false;
    check_list(ITG_OP_REDUCE_MAX, &a, "2,3,4", LIST(1), "2,4");
    check_shapes(ITG_OP_REDUCE_SUM, &a, "2,3", NULL, NULL, "");
    a.noop_with_empty_axes = true;
    check_shapes(ITG_OP_REDUCE_SUM, &a, "2,3", NULL, NULL, "2,3");
    a = itg_attrs_default(ITG_OP_ARG_MAX);
    a.axis = -1;
    check_shapes(ITG_OP_ARG_MAX, &a, "2,3", NULL, NULL, "2,1");
    a.keepdims = false;
    check_shapes(ITG_OP_ARG_MAX, &a, "2,3", NULL, NULL, "2");
    a.axis = 2;
    check_shapes(ITG_OP_ARG_MAX, &a, "2,3", NULL, NULL, "!axis 2 is outside rank 2");
    check_shapes(ITG_OP_SOFTMAX, NULL, "2,3", NULL, NULL, "2,3");
    check_shapes(ITG_OP_LAYER_NORMALIZATION, NULL, "2,3", "3", "3", "2,3");
    check_shapes(ITG_OP_LAYER_NORMALIZATION, NULL, "2,3", "2", NULL,
                 "!its scale is [2]; expected [3]");
}

static void test_old_softmax_over_one_real_dimension_gets_its_axis(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_attrs a = itg_attrs_default(ITG_OP_SOFTMAX);
    a.axis = 1;
    itg_id x = add_input(g, "x", "4,1,9,1"), z = add_input(g, "z", "4,2,9");
    ADD_OP(g, ITG_OP_SOFTMAX, "one", &a, x);
    ADD_OP(g, ITG_OP_SOFTMAX, "two", &a, z);
    set_opset(g, 11);
    assert_int_equal(infer_all(g, NULL), ITG_OK);
    assert_int_equal(g->nodes[0].attrs.axis, 2);
    assert_int_equal(g->nodes[0].opset, 0);
    assert_int_equal(g->nodes[1].attrs.axis, 1);
    assert_int_equal(g->nodes[1].opset, 11); /* pass_softmax.c's */
    itg_graph_destroy(g);
}

static void test_clip_takes_constant_bounds(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    float six = 6;
    itg_id x = add_input(g, "x", "3"), max = add_floats(g, "max", "", &six);
    ADD_OP(g, ITG_OP_CLIP, "y", NULL, x, ITG_NONE, max);
    assert_int_equal(infer_all(g, NULL), ITG_OK);
    assert_true(g->nodes[0].attrs.max == 6.0f && g->nodes[0].attrs.min < -3e38f);
    assert_int_equal(g->nodes[0].input_count, 1);
    itg_graph_destroy(g);
}

static void test_clip_with_crossed_bounds_is_its_maximum(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    float two = 2, minus = -1;
    itg_id x = add_input(g, "x", "3"), min = add_floats(g, "min", "", &two),
           max = add_floats(g, "max", "", &minus);
    ADD_OP(g, ITG_OP_CLIP, "y", NULL, x, min, max);
    assert_int_equal(infer_all(g, NULL), ITG_OK);
    assert_true(g->nodes[0].attrs.min == -1.0f && g->nodes[0].attrs.max == -1.0f);
    itg_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_norm_has_one_output),
        cmocka_unit_test(test_binary_operators_broadcast),
        cmocka_unit_test(test_comparison_and_choice_have_their_dtypes),
        cmocka_unit_test(test_matrix_products),
        cmocka_unit_test(test_reshape_and_kin),
        cmocka_unit_test(test_shape_like_inputs_must_be_constant),
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_slice_clamps_as_numpy),
        cmocka_unit_test(test_concat_split_gather_pad),
        cmocka_unit_test(test_split_by_sizes_or_in_equal_parts),
        cmocka_unit_test(test_reductions_and_normalizations),
        cmocka_unit_test(test_old_softmax_over_one_real_dimension_gets_its_axis),
        cmocka_unit_test(test_clip_takes_constant_bounds),
        cmocka_unit_test(test_clip_with_crossed_bounds_is_its_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
