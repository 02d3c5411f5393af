/* Batch, inference with constant folding, Softmax, nodes without effect: what prepares the file's
 * graph. */
#include "make.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "graph/passes.h"
#include "kernels/float_ops.h"

static itg_status prepare(const itg_graph *g, bool keep_batch, itg_graph **out, itg_error *err)
{
    itg_prepare_options options = {.eval = itg_float_eval, .keep_batch = keep_batch};
    return itg_graph_prepare(g, &options, out, err);
}

static itg_attrs with_axis(itg_op op, int64_t axis)
{
    itg_attrs a = itg_attrs_default(op);
    a.axis = axis;
    return a;
}

/* Reshape(x, Concat(Unsqueeze(Gather(Shape(x), 0)), -1)): flattens as PyTorch exports it. */
static void test_a_shape_chain_becomes_a_reshape(void **state)
{
    (void)state;
    itg_graph *g = make_graph(), *p = NULL;
    int64_t zero = 0;
    itg_shape scalar = {.rank = 0};
    itg_id x = add_input(g, "x", "1,3,4"), index, s = ADD_OP(g, ITG_OP_SHAPE, "s", NULL, x);
    x = g->inputs[0];
    g->values[x].shape.dims[0] = -1;
    assert_int_equal(itg_graph_add_value(g, "index", ITG_S64, &scalar, &zero, &index, NULL),
                     ITG_OK);
    itg_id axes = ADD_INTS(g, "axes", 0), rest = ADD_INTS(g, "rest", -1);
    itg_id batch = ADD_OP(g, ITG_OP_GATHER, "batch", NULL, s, index);
    itg_id one = ADD_OP(g, ITG_OP_UNSQUEEZE, "one", NULL, batch, axes);
    itg_id target = ADD_OP(g, ITG_OP_CONCAT, "target", NULL, one, rest);
    itg_id flat = ADD_OP(g, ITG_OP_RESHAPE, "flat", NULL, x, target);
    set_output(g, ADD_OP(g, ITG_OP_RELU, "y", NULL, flat));
    assert_int_equal(prepare(g, false, &p, NULL), ITG_OK);
    assert_int_equal(p->node_count, 2);
    assert_int_equal(p->nodes[0].op, ITG_OP_RESHAPE);
    itg_shape expected = shape_of("1,12");
    assert_true(itg_shape_equal(&p->values[p->outputs[0]].shape, &expected));
    assert_int_equal(p->value_count, 3);
    assert_int_equal(g->values[x].shape.dims[0], -1); /* the source is not changed */
    assert_int_equal(g->node_count, 6);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

static itg_status never(itg_op op, const itg_attrs *attrs, const itg_tensor *inputs,
                        int32_t input_count, itg_tensor *outputs, int32_t output_count,
                        itg_error *err)
{
    (void)op, (void)attrs, (void)inputs, (void)input_count, (void)outputs, (void)output_count;
    return itg_fail(err, ITG_UNSUPPORTED, "not today");
}

static itg_status broken(itg_op op, const itg_attrs *attrs, const itg_tensor *inputs,
                         int32_t input_count, itg_tensor *outputs, int32_t output_count,
                         itg_error *err)
{
    (void)op, (void)attrs, (void)inputs, (void)input_count, (void)outputs, (void)output_count;
    return itg_fail(err, ITG_FAILURE, "it broke");
}

static void test_folding_respects_the_evaluator(void **state)
{
    (void)state;
    itg_error err = {0};
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "4"), c = add_floats(g, "c", "4", (float[]){1, 2, 3, -4});
    itg_id r = ADD_OP(g, ITG_OP_RELU, "r", NULL, c);
    set_output(g, ADD_OP(g, ITG_OP_ADD, "y", NULL, x, r));
    assert_int_equal(itg_pass_fold(g, never, 1, &err), ITG_OK);
    assert_int_equal(g->node_count, 2); /* the node stays */
    assert_int_equal(itg_pass_fold(g, broken, 1, &err), ITG_FAILURE);
    assert_string_equal(err.message, "net.onnx: node 'r' (Relu): it broke");
    assert_int_equal(itg_pass_fold(g, itg_float_eval, 1, &err), ITG_OK);
    assert_int_equal(g->node_count, 1);
    const float *folded = floats_at(g, 0, 1);
    assert_true(folded[0] == 1 && folded[2] == 3 && folded[3] == 0);
    itg_graph_destroy(g);
}

/* A few bytes of shape would make 256 MiB. */
static void test_folding_makes_nothing_huge(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    float one = 1;
    itg_id x = add_input(g, "x", "1"), c = add_floats(g, "c", "1", &one);
    itg_id dims = ADD_INTS(g, "dims", 1 << 13, 1 << 13);
    itg_id e = ADD_OP(g, ITG_OP_EXPAND, "e", NULL, c, dims);
    set_output(g, ADD_OP(g, ITG_OP_ADD, "y", NULL, e, x));
    assert_int_equal(itg_pass_fold(g, itg_float_eval, 1, NULL), ITG_OK);
    assert_int_equal(count_of(g, ITG_OP_EXPAND), 1);
    assert_true(itg_arena_used(g->arena) < (1 << 20));
    itg_graph_destroy(g);
}

/* A causal mask: Where(Less(columns, rows), x, -1) with rows and columns by Range of a Shape. */
static void test_a_mask_of_ranges_becomes_a_constant(void **state)
{
    (void)state;
    itg_graph *g = make_graph(), *p = NULL;
    itg_error err = {0};
    const float minus = -1;
    itg_id x = add_input(g, "x", "1,3,3"), zero, one;
    itg_shape scalar = {.rank = 0};
    assert_int_equal(itg_graph_add_value(g, "zero", ITG_S64, &scalar, (int64_t[]){0}, &zero, NULL),
                     ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "one", ITG_S64, &scalar, (int64_t[]){1}, &one, NULL),
                     ITG_OK);
    itg_id shape = ADD_OP(g, ITG_OP_SHAPE, "shape", NULL, x);
    itg_id size = ADD_OP(g, ITG_OP_GATHER, "size", NULL, shape, one);
    itg_id columns = ADD_OP(g, ITG_OP_RANGE, "columns", NULL, zero, size, one);
    itg_id axis = ADD_INTS(g, "axis", 1);
    itg_id rows = ADD_OP(g, ITG_OP_UNSQUEEZE, "rows", NULL, columns, axis);
    itg_id mask = ADD_OP(g, ITG_OP_LESS_OR_EQUAL, "mask", NULL, columns, rows);
    itg_id low = add_floats(g, "low", "1", &minus);
    set_output(g, ADD_OP(g, ITG_OP_WHERE, "y", NULL, mask, x, low));
    if (prepare(g, false, &p, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_int_equal(p->node_count, 1);
    const itg_value *c = &p->values[p->nodes[0].inputs[0]];
    const uint8_t expected[] = {1, 0, 0, 1, 1, 0, 1, 1, 1};
    assert_int_equal(c->dtype, ITG_BOOL);
    assert_memory_equal(c->data, expected, sizeof expected);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* Size and EyeLike of a value that varies; the outputs of Unique that are left out. */
static void test_shapes_alone_are_read(void **state)
{
    (void)state;
    itg_graph *g = make_graph(), *p = NULL;
    itg_error err = {0};
    itg_attrs attrs = itg_attrs_default(ITG_OP_UNIQUE), eye = itg_attrs_default(ITG_OP_EYE_LIKE);
    itg_id distinct;
    itg_id x = add_input(g, "x", "1,2"), size = ADD_OP(g, ITG_OP_SIZE, "size", NULL, x), counts;
    itg_id list = ADD_INTS(g, "list", 7, 4, 7), node, axis = ADD_INTS(g, "axis", 0);
    assert_int_equal(itg_graph_add_value(g, "distinct", ITG_F32, NULL, NULL, &distinct, NULL),
                     ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "counts", ITG_F32, NULL, NULL, &counts, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_node(g, "unique", ITG_OP_UNIQUE, &list, 1,
                                        (itg_id[]){distinct, ITG_NONE, ITG_NONE, counts}, 4, &attrs,
                                        &node, NULL),
                     ITG_OK);
    itg_id row = ADD_OP(g, ITG_OP_UNSQUEEZE, "row", NULL, counts, axis);
    itg_id sum = ADD_OP(g, ITG_OP_MUL, "product", NULL, row, size);
    itg_id ones = ADD_OP(g, ITG_OP_CAST, "ones", NULL, sum);
    ones = ADD_OP(g, ITG_OP_ADD, "all", NULL, ones, ADD_OP(g, ITG_OP_EYE_LIKE, "eye", &eye, x));
    set_output(g, ADD_OP(g, ITG_OP_ADD, "y", NULL, x, ones));
    if (prepare(g, false, &p, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_int_equal(p->node_count, 1);
    const float *folded = floats_at(p, 0, 1);
    assert_true(folded[0] == 3 && folded[1] == 4); /* counts 1 and 2, times 2, and the diagonal */
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

static void test_open_dimensions_are_refused_but_for_the_batch(void **state)
{
    (void)state;
    itg_error err = {0};
    itg_graph *g = make_graph(), *p = NULL;
    itg_id x = add_input(g, "x", "1,3,4");
    set_output(g, ADD_OP(g, ITG_OP_RELU, "y", NULL, x));
    g->values[x].shape.dims[0] = -1;
    assert_int_equal(prepare(g, true, &p, &err), ITG_UNSUPPORTED);
    assert_string_equal(err.message,
                        "net.onnx: input 'x': dimension 0 has no fixed size of 1 or more");
    g->values[x].shape.dims[2] = -1;
    assert_int_equal(prepare(g, false, &p, &err), ITG_UNSUPPORTED);
    assert_string_equal(err.message,
                        "net.onnx: input 'x': dimension 2 has no fixed size of 1 or more");
    assert_null(p);
    itg_graph_destroy(g);
}

/* Input [10,1,2,2], Reshape to [target0, 4]. */
static itg_status rebatch(int64_t target0, const char *constant, itg_graph **out, itg_error *err)
{
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "10,1,2,2"), target = ADD_INTS(g, "target", target0, 4);
    itg_id y = ADD_OP(g, ITG_OP_RESHAPE, "flat", NULL, x, target);
    if (constant) y = ADD_OP(g, ITG_OP_ADD, "sum", NULL, y, add_floats(g, "c", constant, NULL));
    set_output(g, y);
    itg_status status = prepare(g, false, out, err);
    itg_graph_destroy(g);
    return status;
}

static void test_a_fixed_batch_becomes_one(void **state)
{
    (void)state;
    itg_error err = {0};
    itg_graph *p = NULL;
    itg_shape expected = shape_of("1,4");
    assert_int_equal(rebatch(10, NULL, &p, &err), ITG_OK);
    assert_true(itg_shape_equal(&p->values[p->outputs[0]].shape, &expected));
    assert_int_equal(p->values[p->inputs[0]].shape.dims[0], 1);
    itg_graph_destroy(p);
    assert_int_equal(rebatch(-1, "4", &p, &err), ITG_OK);
    itg_graph_destroy(p);
    assert_int_not_equal(rebatch(5, NULL, &p, &err), ITG_OK);
    assert_string_equal(err.message,
                        "net.onnx: node 'flat' (Reshape): target [5,4] does not hold the "
                        "elements of [1,1,2,2]");
    assert_int_equal(rebatch(10, "10,4", &p, &err), ITG_UNSUPPORTED);
    assert_string_equal(err.message,
                        "net.onnx: node 'sum' (Add): its constant 'c' fixes the batch to "
                        "10; a batch of 1 is expected");
}

static void test_a_batch_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    itg_error err = {0};
    itg_graph *g = make_graph(), *p = NULL;
    itg_id x = add_input(g, "x", "10,3"), target = ADD_INTS(g, "target", 10, 6);
    itg_id two = ADD_OP(g, ITG_OP_CONCAT, "two", &(itg_attrs){.axis = 0}, x, x);
    set_output(g, ADD_OP(g, ITG_OP_RESHAPE, "flat", NULL, two, target));
    assert_int_equal(prepare(g, false, &p, &err), ITG_OK); /* [2,3] to [1,6] */
    itg_graph_destroy(p);
    g->nodes[0].op = ITG_OP_RELU;
    g->nodes[0].input_count = 1;
    assert_int_equal(prepare(g, false, &p, &err), ITG_UNSUPPORTED);
    assert_string_equal(err.message,
                        "net.onnx: node 'flat' (Reshape): its target 'target' fits neither "
                        "batch 1 nor the file's batch 10");
    itg_graph_destroy(g);
}

static void test_nodes_without_effect_go_and_outputs_keep_their_names(void **state)
{
    (void)state;
    itg_graph *g = make_graph(), *p = NULL;
    itg_id x = add_input(g, "x", "1,4"), a = ADD_OP(g, ITG_OP_IDENTITY, "a", NULL, x);
    itg_id b = ADD_OP(g, ITG_OP_RELU, "b", NULL, a), c = ADD_OP(g, ITG_OP_DROPOUT, "c", NULL, b);
    itg_id d = ADD_OP(g, ITG_OP_CAST, "d", NULL, c), e = ADD_OP(g, ITG_OP_CLIP, "e", NULL, d);
    set_output(g, ADD_OP(g, ITG_OP_IDENTITY, "y", NULL, e));
    assert_int_equal(prepare(g, false, &p, NULL), ITG_OK);
    assert_int_equal(p->node_count, 1);
    assert_int_equal(p->nodes[0].op, ITG_OP_RELU);
    assert_string_equal(p->values[p->outputs[0]].name, "y");
    assert_int_equal(p->nodes[0].inputs[0], p->inputs[0]);
    assert_string_equal(p->values[p->inputs[0]].name, "x");
    itg_graph_destroy(p);
    set_output(g, a); /* an output that is the input: the node stays */
    assert_int_equal(prepare(g, false, &p, NULL), ITG_OK);
    assert_int_equal(p->node_count, 1);
    assert_int_equal(p->nodes[0].op, ITG_OP_IDENTITY);
    assert_string_equal(p->values[p->outputs[0]].name, "a");
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

static void test_a_trailing_softmax_is_left_off(void **state)
{
    (void)state;
    for (int through = 0; through < 2; ++through) {
        itg_graph *g = make_graph(), *p = NULL;
        itg_id x = add_input(g, "x", "1,4"), r = ADD_OP(g, ITG_OP_RELU, "r", NULL, x);
        itg_id y = ADD_OP(g, through ? ITG_OP_LOG_SOFTMAX : ITG_OP_SOFTMAX, "probability", NULL, r);
        if (through) y = ADD_OP(g, ITG_OP_RESHAPE, "shaped", NULL, y, ADD_INTS(g, "t", 4));
        set_output(g, y);
        assert_int_equal(prepare(g, false, &p, NULL), ITG_OK);
        assert_true(p->dropped_softmax);
        assert_int_equal(count_of(p, ITG_OP_SOFTMAX) + count_of(p, ITG_OP_LOG_SOFTMAX), 0);
        assert_string_equal(p->values[p->outputs[0]].name, through ? "shaped" : "probability");
        itg_graph_destroy(p);
        p = prepared(g, false); /* keep_softmax */
        assert_false(p->dropped_softmax);
        assert_int_equal(count_of(p, ITG_OP_SOFTMAX) + count_of(p, ITG_OP_LOG_SOFTMAX), 1);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

static void test_a_softmax_that_is_used_inside_stays(void **state)
{
    (void)state;
    itg_graph *g = make_graph(), *p = NULL;
    itg_id x = add_input(g, "x", "1,4"), s = ADD_OP(g, ITG_OP_SOFTMAX, "s", NULL, x);
    itg_id y = ADD_OP(g, ITG_OP_RELU, "y", NULL, s);
    assert_int_equal(itg_graph_set_outputs(g, (itg_id[]){s, y}, 2, NULL), ITG_OK);
    assert_int_equal(prepare(g, false, &p, NULL), ITG_OK);
    assert_false(p->dropped_softmax);
    assert_int_equal(count_of(p, ITG_OP_SOFTMAX), 1);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* Before opset 13, axis 1 of [2,3,4] makes rows of 12. */
static void test_old_softmax_is_rewritten_with_reshapes(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_attrs a = with_axis(ITG_OP_SOFTMAX, 1);
    itg_id x = add_input(g, "x", "2,3,4"), y = ADD_OP(g, ITG_OP_SOFTMAX, "s", &a, x);
    set_output(g, y);
    set_opset(g, 11);
    itg_graph *p = prepared(g, false);
    int64_t count;
    float *values = evaluate(p, &count);
    assert_int_equal(count, 24);
    for (int row = 0; row < 2; ++row) {
        double sum = 0;
        for (int i = 0; i < 12; ++i)
            sum += (double)values[row * 12 + i];
        assert_true(sum > 0.99999 && sum < 1.00001);
    }
    itg_shape rows = shape_of("2,12"), whole = shape_of("2,3,4");
    assert_true(
        itg_shape_equal(&p->values[p->nodes[only(p, ITG_OP_SOFTMAX)].outputs[0]].shape, &rows));
    assert_true(itg_shape_equal(&p->values[p->outputs[0]].shape, &whole));
    assert_string_equal(p->values[p->outputs[0]].name, "s");
    free(values);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* Preparing what is prepared changes nothing. */
static void test_preparation_is_idempotent(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,4,6,6"), w = add_floats(g, "w", "5,4,3,3", NULL);
    itg_id c = ADD_OP(g, ITG_OP_CONV, "c", NULL, x, w), r = ADD_OP(g, ITG_OP_RELU, "r", NULL, c);
    itg_id s = ADD_OP(g, ITG_OP_SLICE, "s", NULL, r, ADD_INTS(g, "st", 1), ADD_INTS(g, "en", 3),
                      ADD_INTS(g, "ax", 2));
    itg_id e = ADD_OP(g, ITG_OP_EXPAND, "e", NULL, s, ADD_INTS(g, "dims", 3, 5, 2, 4));
    itg_id p = ADD_OP(g, ITG_OP_PAD, "p", NULL, e, ADD_INTS(g, "pads", 0, 0, 1, 0, 0, 1, 0, -1));
    set_output(g, ADD_OP(g, ITG_OP_FLATTEN, "y", NULL, p));
    itg_graph *first = prepared(g, true), *second = prepared(first, false);
    unsigned char a[32], b[32];
    itg_graph_hash(first, a);
    itg_graph_hash(second, b);
    assert_memory_equal(a, b, 32);
    assert_keeps_function(g, first, 0);
    itg_graph_destroy(second);
    itg_graph_destroy(first);
    itg_graph_destroy(g);
}

/* x[1,3,4] -> a Slice of none of its rows -> a reduction of these; plus x. */
static itg_status reduce_nothing(itg_op op, itg_graph **out, itg_error *err)
{
    itg_graph *g = make_graph();
    itg_attrs a = itg_attrs_default(op);
    itg_id x = add_input(g, "x", "1,3,4");
    itg_id none = ADD_OP(g, ITG_OP_SLICE, "none", NULL, x, ADD_INTS(g, "from", 2),
                         ADD_INTS(g, "to", 2), ADD_INTS(g, "along", 1));
    a.axes_count = 1;
    a.axes[0] = 1;
    itg_id reduced = ADD_OP(g, op, "reduced", &a, none);
    set_output(g, ADD_OP(g, ITG_OP_ADD, "y", NULL, x, reduced));
    itg_status status = prepare(g, false, out, err);
    itg_graph_destroy(g);
    return status;
}

/* As ONNX defines them; a mean of nothing it does not. */
static void test_reductions_of_no_elements_are_constants(void **state)
{
    (void)state;
    itg_graph *p = NULL;
    itg_error err = {0};
    for (int k = 0; k < 2; k++) {
        if (reduce_nothing(k ? ITG_OP_REDUCE_MAX : ITG_OP_REDUCE_SUM, &p, &err) != ITG_OK)
            fail_msg("%s", err.message);
        assert_int_equal(p->node_count, 1);
        const itg_value *v = &p->values[p->nodes[0].inputs[1]];
        itg_shape expected = shape_of("1,1,4");
        assert_true(v->data != NULL && itg_shape_equal(&v->shape, &expected));
        for (int i = 0; i < 4; i++)
            assert_true(((const float *)v->data)[i] == (k ? -INFINITY : 0.0f));
        itg_graph_destroy(p);
    }
    assert_int_equal(reduce_nothing(ITG_OP_REDUCE_MEAN, &p, &err), ITG_UNSUPPORTED);
    assert_non_null(strstr(err.message, "node 'reduced' (ReduceMean): axis 1 has no elements"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_shape_chain_becomes_a_reshape),
        cmocka_unit_test(test_folding_respects_the_evaluator),
        cmocka_unit_test(test_folding_makes_nothing_huge),
        cmocka_unit_test(test_a_mask_of_ranges_becomes_a_constant),
        cmocka_unit_test(test_shapes_alone_are_read),
        cmocka_unit_test(test_open_dimensions_are_refused_but_for_the_batch),
        cmocka_unit_test(test_a_fixed_batch_becomes_one),
        cmocka_unit_test(test_a_batch_that_does_not_fit_is_refused),
        cmocka_unit_test(test_nodes_without_effect_go_and_outputs_keep_their_names),
        cmocka_unit_test(test_a_trailing_softmax_is_left_off),
        cmocka_unit_test(test_a_softmax_that_is_used_inside_stays),
        cmocka_unit_test(test_old_softmax_is_rewritten_with_reshapes),
        cmocka_unit_test(test_preparation_is_idempotent),
        cmocka_unit_test(test_reductions_of_no_elements_are_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
