/* BatchNormalization, Mul, Add... into weights and bias: the function stays, and each number is
 * rounded once. */
#include "make.h"
#include <math.h>

static const float gammas[] = {0.3f, -1.7f, 2.1f}, betas[] = {0.2f, 0.9f, -0.4f};
static const float means[] = {0.11f, -0.7f, 0.05f}, variances[] = {0.9f, 0.013f, 3.3f};

static itg_id batch_norm(itg_graph *g, const char *name, itg_id x)
{
    const char *prefix[] = {"gamma", "beta", "mean", "variance"};
    const float *data[] = {gammas, betas, means, variances};
    itg_id ids[5] = {x};
    for (int i = 0; i < 4; ++i) {
        char text[40];
        snprintf(text, sizeof text, "%s.%s", name, prefix[i]);
        ids[i + 1] = add_floats(g, text, "3", data[i]);
    }
    return add_op(g, ITG_OP_BATCH_NORMALIZATION, name, NULL, 5, ids);
}

/* The formula of the header, in long double: what double, rounded once, must give. */
static void check_norm(float weight, float bias, int c, float new_weight, float new_bias)
{
    double k = (double)gammas[c] / sqrt((double)variances[c] + (double)1e-5f);
    assert_true(new_weight == (float)((double)weight * k));
    assert_true(new_bias == (float)(((double)bias - (double)means[c]) * k + (double)betas[c]));
}

static void test_batch_norm_goes_into_conv(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,5,5"), w = add_floats(g, "w", "3,2,3,3", NULL),
           b = add_floats(g, "b", "3", NULL);
    itg_id c = ADD_OP(g, ITG_OP_CONV, "c", NULL, x, w, b);
    set_output(g, batch_norm(g, "bn", c));
    itg_graph *p = prepared(g, false);
    assert_int_equal(p->node_count, 1);
    assert_string_equal(p->values[p->outputs[0]].name, "bn");
    assert_int_not_equal(itg_graph_find_value(p, "w"), ITG_NONE); /* the file's names survive */
    for (int i = 0; i < 54; ++i)
        check_norm(((const float *)g->values[w].data)[i],
                   ((const float *)g->values[b].data)[i / 18], i / 18, floats_at(p, 0, 1)[i],
                   floats_at(p, 0, 2)[i / 18]);
    assert_keeps_function(g, p, 1e-6);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* Gemm with alpha and beta, then BN, Mul, Add, c - x, Div: one rounding of each weight. */
static void test_a_whole_chain_is_rounded_once(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_attrs a = itg_attrs_default(ITG_OP_GEMM);
    a.alpha = 0.7f;
    a.beta = 1.3f;
    float third = 1.0f / 3, seven = 7;
    itg_id x = add_input(g, "x", "1,4"), w = add_floats(g, "w", "4,3", NULL),
           b = add_floats(g, "b", "1,3", NULL);
    itg_id y = ADD_OP(g, ITG_OP_GEMM, "fc", &a, x, w, b);
    y = batch_norm(g, "bn", y);
    itg_id m = add_floats(g, "m", "1,3", NULL), t = add_floats(g, "t", "", &third),
           s = add_floats(g, "s", "3", NULL);
    y = ADD_OP(g, ITG_OP_MUL, "mul", NULL, m, y);
    y = ADD_OP(g, ITG_OP_ADD, "add", NULL, y, t);
    y = ADD_OP(g, ITG_OP_SUB, "sub", NULL, s, y);
    y = ADD_OP(g, ITG_OP_DIV, "div", NULL, y, add_floats(g, "seven", "1", &seven));
    set_output(g, y);
    itg_graph *p = prepared(g, false);
    assert_int_equal(p->node_count, 1);
    assert_int_equal(p->nodes[0].op, ITG_OP_GEMM);
    assert_true(p->nodes[0].attrs.trans_b && p->nodes[0].attrs.alpha == 1 &&
                p->nodes[0].attrs.beta == 1);
    for (int n = 0; n < 3; ++n) {
        double k = (double)gammas[n] / sqrt((double)variances[n] + (double)1e-5f);
        double scale = (double)0.7f * k * (double)((const float *)g->values[m].data)[n];
        double shift = (double)1.3f * (double)((const float *)g->values[b].data)[n];
        shift = (shift - (double)means[n]) * k + (double)betas[n];
        shift = shift * (double)((const float *)g->values[m].data)[n] + (double)third;
        shift = ((double)((const float *)g->values[s].data)[n] - shift) / 7;
        assert_true(floats_at(p, 0, 2)[n] == (float)shift);
        for (int i = 0; i < 4; ++i)
            assert_true(
                floats_at(p, 0, 1)[n * 4 + i] ==
                (float)((double)((const float *)g->values[w].data)[i * 3 + n] * (-scale / 7)));
    }
    assert_keeps_function(g, p, 1e-6);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* Shapes of an addend: whether it is a bias of a Conv [1,3,3,3] (or not, or no legal Add). */
static void test_what_counts_as_a_bias(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        bool folds;
    } cases[] = {{"3,1,1", true},    {"1,3,1,1", true},     {"", true},     {"1", true},
                 {"1,1", true},      {"3", false},          {"1,3", false}, {"3,1", false},
                 {"1,1,3,3", false}, {"1,1,1,3,1,1", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        itg_graph *g = make_graph();
        itg_id x = add_input(g, "x", "1,2,3,3"), w = add_floats(g, "w", "3,2,1,1", NULL);
        itg_id c = ADD_OP(g, ITG_OP_CONV, "c", NULL, x, w);
        set_output(g,
                   ADD_OP(g, ITG_OP_ADD, "y", NULL, add_floats(g, "k", cases[i].shape, NULL), c));
        itg_graph *p = prepared(g, false);
        assert_int_equal(count_of(p, ITG_OP_ADD), !cases[i].folds);
        assert_keeps_function(g, p, 1e-6);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

static void test_matmul_of_rank_three_takes_a_bias(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,5,4"), w = add_floats(g, "w", "4,3", NULL),
           b = add_floats(g, "b", "1,1,3", NULL);
    itg_id y = ADD_OP(g, ITG_OP_MATMUL, "m", NULL, x, w);
    set_output(g, ADD_OP(g, ITG_OP_ADD, "y", NULL, b, y));
    itg_graph *p = prepared(g, false);
    assert_int_equal(p->node_count, 1);
    assert_int_equal(p->nodes[0].op, ITG_OP_MATMUL);
    assert_memory_equal(floats_at(p, 0, 2), g->values[b].data, 3 * sizeof(float));
    assert_memory_equal(floats_at(p, 0, 1), g->values[w].data, 12 * sizeof(float));
    assert_keeps_function(g, p, 1e-6);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* Another use of the result, or a graph output in between: nothing may go into the weights. */
static void test_a_result_that_is_used_twice_stays(void **state)
{
    (void)state;
    for (int output = 0; output < 2; ++output) {
        itg_graph *g = make_graph();
        itg_id x = add_input(g, "x", "1,2,3,3"), w = add_floats(g, "w", "3,2,1,1", NULL);
        itg_id c = ADD_OP(g, ITG_OP_CONV, "c", NULL, x, w),
               r = ADD_OP(g, ITG_OP_RELU, "r", NULL, c);
        itg_id y = batch_norm(g, "bn", c);
        assert_int_equal(itg_graph_set_outputs(g, (itg_id[]){y, output ? c : r}, 2, NULL), ITG_OK);
        itg_graph *p = prepared(g, false);
        assert_int_equal(count_of(p, ITG_OP_BATCH_NORMALIZATION), 0);
        assert_int_equal(count_of(p, ITG_OP_MUL), 1);
        assert_int_equal(count_of(p, ITG_OP_ADD), 1);
        assert_memory_equal(floats_at(p, only(p, ITG_OP_CONV), 1), g->values[w].data,
                            6 * sizeof(float));
        assert_keeps_function(g, p, 1e-6);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

/* Weights that two nodes share: each gets its own. */
static void test_shared_weights_are_separated(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,3,3,3"), w = add_floats(g, "w", "3,3,1,1", NULL);
    itg_id c = ADD_OP(g, ITG_OP_CONV, "c", NULL, x, w), y = batch_norm(g, "bn", c);
    set_output(g, ADD_OP(g, ITG_OP_CONV, "d", NULL, y, w));
    itg_graph *p = prepared(g, false);
    assert_int_equal(p->node_count, 2);
    assert_memory_equal(floats_at(p, 1, 1), g->values[w].data, 9 * sizeof(float));
    assert_memory_not_equal(floats_at(p, 0, 1), g->values[w].data, 9 * sizeof(float));
    assert_keeps_function(g, p, 1e-6);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* A first BatchNormalization has no weights before it. */
static void test_a_lonely_batch_norm_becomes_mul_and_add(void **state)
{
    (void)state;
    const char *shapes[] = {"1,3", "1,3,4", "1,3,4,4"};
    for (size_t i = 0; i < 3; ++i) {
        itg_graph *g = make_graph();
        itg_id x = add_input(g, "x", shapes[i]);
        set_output(g, batch_norm(g, "bn", x));
        itg_graph *p = prepared(g, false);
        assert_int_equal(p->node_count, 2);
        for (int c = 0; c < 3; ++c) {
            double k = (double)gammas[c] / sqrt((double)variances[c] + (double)1e-5f);
            assert_true(floats_at(p, only(p, ITG_OP_MUL), 1)[c] == (float)k);
            assert_true(floats_at(p, only(p, ITG_OP_ADD), 1)[c] ==
                        (float)((double)betas[c] - (double)means[c] * k));
        }
        assert_keeps_function(g, p, 1e-6);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

/* [1,3,4] x [4,3]: the BatchNormalization runs along the rows, the weights along the columns. */
static void test_another_axis_is_not_the_weights(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,3,4"), w = add_floats(g, "w", "4,3", NULL);
    set_output(g, batch_norm(g, "bn", ADD_OP(g, ITG_OP_MATMUL, "m", NULL, x, w)));
    itg_graph *p = prepared(g, false);
    assert_int_equal(p->node_count, 3);
    assert_keeps_function(g, p, 1e-6);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* 1e30 * 1e30 is no float32: the model's own arithmetic stays. */
static void test_infinite_weights_are_not_made(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    float huge[] = {1e30f}, tiny[] = {1e-30f};
    itg_id x = add_input(g, "x", "1,1,2,2"), w = add_floats(g, "w", "1,1,1,1", huge);
    itg_id c = ADD_OP(g, ITG_OP_CONV, "c", NULL, x, w);
    itg_id m = ADD_OP(g, ITG_OP_MUL, "m", NULL, c, add_floats(g, "k", "1", huge));
    set_output(g, m);
    itg_graph *p = prepared(g, false);
    assert_int_equal(count_of(p, ITG_OP_MUL), 1);
    itg_graph_destroy(p);
    set_output(g, ADD_OP(g, ITG_OP_MUL, "n", NULL, m, add_floats(g, "l", "1", tiny)));
    p = prepared(g, false); /* as a whole it fits */
    assert_int_equal(p->node_count, 1);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch_norm_goes_into_conv),
        cmocka_unit_test(test_a_whole_chain_is_rounded_once),
        cmocka_unit_test(test_what_counts_as_a_bias),
        cmocka_unit_test(test_matmul_of_rank_three_takes_a_bias),
        cmocka_unit_test(test_a_result_that_is_used_twice_stays),
        cmocka_unit_test(test_shared_weights_are_separated),
        cmocka_unit_test(test_a_lonely_batch_norm_becomes_mul_and_add),
        cmocka_unit_test(test_another_axis_is_not_the_weights),
        cmocka_unit_test(test_infinite_weights_are_not_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
