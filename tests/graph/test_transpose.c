/* Transposes cancel, and the function stays the same in every bit: only elements move. */
#include "make.h"

static itg_id transpose(itg_graph *g, const char *name, itg_id x, const char *perm)
{
    itg_attrs a = itg_attrs_default(ITG_OP_TRANSPOSE);
    for (int i = 0; perm[i]; ++i)
        a.perm[i] = perm[i] - '0';
    return ADD_OP(g, ITG_OP_TRANSPOSE, name, &a, x);
}

static void check(itg_graph *g, itg_id y, int32_t transposes, int32_t nodes)
{
    set_output(g, y);
    itg_graph *p = prepared(g, false);
    assert_int_equal(count_of(p, ITG_OP_TRANSPOSE), transposes);
    assert_int_equal(p->node_count, nodes);
    assert_string_equal(p->values[p->outputs[0]].name, g->values[y].name);
    assert_keeps_function(g, p, 0);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

static void test_inverse_pairs_cancel(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,3,4,5"), r = ADD_OP(g, ITG_OP_RELU, "r", NULL, x);
    check(g, transpose(g, "b", transpose(g, "a", r, "0231"), "0312"), 0, 1);
    g = make_graph();
    x = add_input(g, "x", "2,3,4");
    check(g, transpose(g, "b", transpose(g, "a", x, "120"), "120"), 1, 1); /* one other Transpose */
    g = make_graph();
    x = add_input(g, "x", "2,3,4");
    r = ADD_OP(g, ITG_OP_RELU, "r", NULL, x);
    check(g, transpose(g, "a", r, "012"), 0, 1);
}

static void test_a_transpose_of_size_one_is_a_reshape(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,4,5,1");
    check(g, transpose(g, "a", x, "0312"), 0, 1);
    g = make_graph();
    x = add_input(g, "x", "1,4,5,2");
    check(g, transpose(g, "a", x, "0312"), 1, 1);
}

/* Constants of one number a channel move with it. */
static void test_transposes_cancel_through_elementwise_nodes(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,3,4,5"), y = transpose(g, "a", x, "0231");
    y = ADD_OP(g, ITG_OP_RELU, "r", NULL, y);
    y = ADD_OP(g, ITG_OP_MUL, "m", NULL, y,
               add_floats(g, "k", "3", NULL)); /* channels: last, here */
    y = ADD_OP(g, ITG_OP_ADD, "s", NULL, y, add_floats(g, "l", "4,1,1", NULL));
    y = ADD_OP(g, ITG_OP_PRELU, "p", NULL, y, add_floats(g, "slope", "3", NULL));
    check(g, transpose(g, "b", y, "0312"), 0, 9); /* PRelu is six nodes */
}

static void test_a_constant_of_many_dimensions_stops_them(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,3,4,5"), y = transpose(g, "a", x, "0231");
    y = ADD_OP(g, ITG_OP_MUL, "m", NULL, y, add_floats(g, "k", "5,3", NULL));
    check(g, transpose(g, "b", y, "0312"), 2, 3);
}

static void test_a_sum_of_two_transposes_is_transposed_once(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,3,4"), z = add_input(g, "z", "1,3,4");
    itg_id a = transpose(g, "a", x, "021"), b = transpose(g, "b", z, "021");
    check(g, ADD_OP(g, ITG_OP_SUB, "y", NULL, a, b), 1, 2);
    g = make_graph();
    x = add_input(g, "x", "1,3,4");
    z = add_input(g, "z", "3,1,4");
    a = transpose(g, "a", x, "021");
    b = transpose(g, "b", z, "120"); /* another permutation: nothing to do */
    check(g, ADD_OP(g, ITG_OP_ADD, "y", NULL, a, b), 2, 3);
}

/* As vit_cifar_ibp writes it: MatMul, bias, and a BatchNormalization between two Transposes. */
static void test_batch_norm_between_transposes_reaches_the_weights(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    float variance[] = {0.5f, 2, 1};
    itg_id x = add_input(g, "x", "1,5,4"), w = add_floats(g, "w", "4,3", NULL);
    itg_id y = ADD_OP(g, ITG_OP_MATMUL, "m", NULL, x, w);
    y = ADD_OP(g, ITG_OP_ADD, "s", NULL, add_floats(g, "bias", "3", NULL), y);
    y = transpose(g, "a", y, "021");
    y = ADD_OP(g, ITG_OP_BATCH_NORMALIZATION, "bn", NULL, y, add_floats(g, "g", "3", NULL),
               add_floats(g, "b", "3", NULL), add_floats(g, "mean", "3", NULL),
               add_floats(g, "v", "3", variance));
    y = transpose(g, "t", y, "021");
    set_output(g, y);
    itg_graph *p = prepared(g, false);
    assert_int_equal(p->node_count, 1);
    assert_int_equal(p->nodes[0].op, ITG_OP_MATMUL);
    assert_keeps_function(g, p, 1e-6);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* A result that something else reads in its transposed form stays. */
static void test_a_transpose_with_two_uses_stays(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,3,4"), a = transpose(g, "a", x, "021");
    itg_id r = ADD_OP(g, ITG_OP_RELU, "r", NULL, a);
    check(g, ADD_OP(g, ITG_OP_ADD, "y", NULL, a, r), 1, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inverse_pairs_cancel),
        cmocka_unit_test(test_a_transpose_of_size_one_is_a_reshape),
        cmocka_unit_test(test_transposes_cancel_through_elementwise_nodes),
        cmocka_unit_test(test_a_constant_of_many_dimensions_stops_them),
        cmocka_unit_test(test_a_sum_of_two_transposes_is_transposed_once),
        cmocka_unit_test(test_batch_norm_between_transposes_reaches_the_weights),
        cmocka_unit_test(test_a_transpose_with_two_uses_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
