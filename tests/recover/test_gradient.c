/* Each rule against differences of the network's outputs. */
#include "../graph/make.h"
#include "recover/gradient.h"
#include "sim/sim.h"
#include <math.h>
#include <stdlib.h>

#define STEP 0x1p-9f /* of an input's element */

/* The last graph of a test: its input, and the sum of its outputs by the signs that are drawn. */
typedef struct probe {
    itg_graph *g;
    itg_float_exec *exec;
    float x[512];
    int64_t count;
} probe;

/* Numbers that differ by more than a step, and are as far from 0. */
static void fill(probe *p)
{
    itg_rng rng;
    itg_rng_init(&rng, 3);
    for (int64_t i = 0; i < p->count; i++)
        p->x[i] = 0.01f * (float)(i + 1) * (i % 2 ? 1 : -1) / (float)p->count * 64;
    for (int64_t i = p->count - 1; i > 0; i--) {
        int64_t j = (int64_t)itg_rng_below(&rng, (uint64_t)i + 1);
        float x = p->x[i];
        p->x[i] = p->x[j];
        p->x[j] = x;
    }
}

static double drawn_sum(const probe *p)
{
    itg_rng rng;
    double sum = 0;
    itg_rng_init(&rng, 0);
    memcpy(itg_float_exec_input(p->exec, 0), p->x, (size_t)p->count * sizeof *p->x);
    assert_int_equal(itg_float_exec_run(p->exec, NULL), ITG_OK);
    for (int32_t i = 0; i < p->g->output_count; i++) {
        itg_tensor y = itg_float_exec_output(p->exec, i);
        int64_t n = 0;
        assert_true(itg_shape_elements(&y.shape, &n));
        for (int64_t k = 0; k < n; k++)
            sum += (itg_rng_below(&rng, 2) ? 1 : -1) * (double)((const float *)y.data)[k];
    }
    return sum;
}

static void compare(probe *p, const float *gradient)
{
    double most = 0;
    for (int64_t i = 0; i < p->count; i++)
        most = fmax(most, fabs((double)gradient[i]));
    assert_true(most > 0);
    for (int64_t i = 0; i < p->count; i++) {
        const float x = p->x[i];
        p->x[i] = x + STEP;
        double rise = drawn_sum(p);
        p->x[i] = x - STEP;
        rise = (rise - drawn_sum(p)) / (2 * (double)STEP);
        p->x[i] = x;
        if (fabs(rise - (double)gradient[i]) > 0.01 * most)
            fail_msg("element %lld: %g, expected %g", (long long)i, (double)gradient[i], rise);
    }
}

/* Two outputs: it is no classifier. */
static void check(itg_graph *g, itg_id y)
{
    probe p = {.g = g};
    itg_gradient_plan *plan = NULL;
    itg_gradient_run *run = NULL;
    itg_feed feed;
    const itg_id outputs[] = {y, ADD_OP(g, ITG_OP_NEG, "other", NULL, g->inputs[0])};
    assert_int_equal(itg_graph_set_outputs(g, outputs, 2, NULL), ITG_OK);
    itg_error err = {0};
    if (infer_all(g, &err) != ITG_OK) fail_msg("%s", err.message);
    const itg_shape *s = &g->values[g->inputs[0]].shape;
    assert_true(itg_shape_elements(s, &p.count) && p.count <= 512);
    fill(&p);
    const itg_dataset data = {.dtype = ITG_F32, .shape = *s, .data = p.x, .path = (char[]){"x"}};
    const itg_input_list inputs = itg_graph_inputs(g);
    const itg_preprocess preprocess = {.scale = 1};
    assert_int_equal(itg_feed_init(&inputs, &data, &preprocess, &feed, NULL), ITG_OK);
    assert_int_equal(itg_float_exec_create(g, ITG_FLOAT_REFERENCE, &p.exec, NULL), ITG_OK);
    assert_int_equal(itg_gradient_plan_create(g, true, &plan, NULL), ITG_OK);
    assert_true(itg_gradient_is_known(plan, g->inputs[0]));
    assert_int_equal(itg_gradient_run_create(plan, &run, NULL), ITG_OK);
    assert_int_equal(itg_gradient_run_sample(run, &feed, 0, NULL), ITG_OK);
    compare(&p, itg_gradient_of(run, g->inputs[0]));
    itg_gradient_run_destroy(run);
    itg_gradient_plan_destroy(plan);
    itg_float_exec_destroy(p.exec);
    itg_feed_deinit(&feed);
    itg_graph_destroy(g);
}

static itg_attrs order_of(int64_t a, int64_t b, int64_t c, int64_t d)
{
    itg_attrs t = itg_attrs_default(ITG_OP_TRANSPOSE);
    const int64_t order[] = {a, b, c, d};
    memcpy(t.perm, order, sizeof order);
    return t;
}

static void products(void **state)
{
    (void)state;
    itg_attrs a = {
        .kernel = {3, 2}, .stride = {2, 1}, .dilation = {1, 2}, .pad = {1, 1, 0, 1}, .group = 2};
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,4,6,5");
    check(g, ADD_OP(g, ITG_OP_CONV, "y", &a, x, add_floats(g, "w", "6,2,3,2", NULL)));
    /* strides that a dilation has part of, that are larger than the kernel, and none of whose
     * taps reads some inputs */
    itg_attrs wide[] = {
        {.kernel = {3, 3}, .stride = {4, 2}, .dilation = {2, 2}, .pad = {2, 3, 2, 1}, .group = 1},
        {.kernel = {1, 2}, .stride = {3, 3}, .dilation = {1, 1}, .pad = {0, 0, 0, 2}, .group = 1},
        {.kernel = {2, 3}, .stride = {2, 3}, .dilation = {3, 1}, .pad = {0, 1, 3, 0}, .group = 1}};
    const char *const shapes[] = {"4,2,3,3", "4,2,1,2", "4,2,2,3"};
    for (int i = 0; i < 3; i++) {
        g = make_graph();
        x = add_input(g, "x", "1,2,9,8");
        check(g, ADD_OP(g, ITG_OP_CONV, "y", &wide[i], x, add_floats(g, "w", shapes[i], NULL)));
    }
    for (int trans = 0; trans < 2; trans++) {
        itg_attrs gemm = {.trans_b = trans, .alpha = 1, .beta = 1};
        g = make_graph();
        x = add_input(g, "x", "1,8");
        check(g, ADD_OP(g, ITG_OP_GEMM, "y", &gemm, x,
                        add_floats(g, "w", trans ? "5,8" : "8,5", NULL)));
    }
    g = make_graph();
    x = add_input(g, "x", "1,2,4,6");
    itg_attrs t = order_of(0, 1, 3, 2);
    itg_id other = ADD_OP(g, ITG_OP_TRANSPOSE, "t", &t, x);
    check(g, ADD_OP(g, ITG_OP_MATMUL, "y", NULL, x, other));
}

static void operands(void **state)
{
    (void)state;
    static const itg_op ops[] = {ITG_OP_ADD, ITG_OP_SUB, ITG_OP_MUL, ITG_OP_DIV};
    for (int i = 0; i < 8; i++) {
        itg_graph *g = make_graph();
        itg_id x = add_input(g, "x", i % 2 ? "1,1,4,1" : "1,2,4,3");
        float two[] = {2, -3, 4, 5, -2, 3};
        itg_id w = add_floats(g, "w", i % 2 ? "1,2,1,3" : "2,1,3", two);
        check(g, i / 2 % 2 && i % 2 ? ADD_OP(g, ops[i / 2], "y", NULL, w, x)
                                    : ADD_OP(g, ops[i / 2], "y", NULL, x, w));
    }
}

static void functions(void **state)
{
    (void)state;
    static const itg_op ops[] = {ITG_OP_RELU, ITG_OP_SIGMOID, ITG_OP_TANH, ITG_OP_HARD_SWISH,
                                 ITG_OP_GELU};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        itg_graph *g = make_graph();
        check(g, ADD_OP(g, ops[i], "y", NULL, add_input(g, "x", "1,40")));
    }
    for (int axis = 1; axis < 3; axis++) {
        itg_attrs a = {.axis = axis, .epsilon = 1e-3f};
        itg_graph *g = make_graph();
        check(g, ADD_OP(g, ITG_OP_SOFTMAX, "y", &a, add_input(g, "x", "1,6,5")));
        g = make_graph();
        itg_id x = add_input(g, "x", "1,6,5");
        check(g, ADD_OP(g, ITG_OP_LAYER_NORMALIZATION, "y", &a, x,
                        add_floats(g, "scale", axis == 1 ? "6,5" : "5", NULL)));
    }
}

static void means(void **state)
{
    (void)state;
    itg_attrs pool = {.kernel = {3, 2}, .stride = {2, 1}, .dilation = {1, 1}, .pad = {1, 1, 1, 0}};
    for (int pads = 0; pads < 2; pads++) {
        pool.count_include_pad = pads;
        itg_graph *g = make_graph();
        check(g, ADD_OP(g, ITG_OP_AVERAGE_POOL, "y", &pool, add_input(g, "x", "1,2,7,6")));
    }
    itg_graph *g = make_graph();
    check(g, ADD_OP(g, ITG_OP_GLOBAL_AVERAGE_POOL, "y", NULL, add_input(g, "x", "1,3,4,5")));
    for (int keep = 0; keep < 2; keep++) {
        itg_attrs a = {.axes = {1, 3}, .axes_count = 2, .keepdims = keep};
        g = make_graph();
        check(g, ADD_OP(g, ITG_OP_REDUCE_MEAN, "y", &a, add_input(g, "x", "1,3,4,5")));
    }
    itg_attrs none = {.keepdims = 1}, all = none;
    none.noop_with_empty_axes = true;
    g = make_graph();
    check(g, ADD_OP(g, ITG_OP_REDUCE_SUM, "y", &none, add_input(g, "x", "1,3,4")));
    g = make_graph();
    check(g, ADD_OP(g, ITG_OP_REDUCE_SUM, "y", &all, add_input(g, "x", "1,3,4")));
}

/* Each move is followed by a product, so that elements in the wrong place are seen. */
static void moves(void **state)
{
    (void)state;
    itg_attrs t = order_of(0, 3, 1, 2), c = {.axis = 2};
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,3,4");
    itg_id y = ADD_OP(g, ITG_OP_TRANSPOSE, "t", &t, x);
    check(g, ADD_OP(g, ITG_OP_MUL, "y", NULL, y, add_floats(g, "w", "1,4,2,3", NULL)));
    g = make_graph();
    x = add_input(g, "x", "1,2,3");
    y = ADD_OP(g, ITG_OP_CONCAT, "c", &c, x, add_floats(g, "k", "1,2,2", NULL), x);
    check(g, ADD_OP(g, ITG_OP_MUL, "y", NULL, y, add_floats(g, "w", "1,2,8", NULL)));
    g = make_graph();
    x = add_input(g, "x", "1,2,3");
    y = ADD_OP(g, ITG_OP_FLATTEN, "f", &(itg_attrs){.axis = 1}, x);
    check(g, ADD_OP(g, ITG_OP_MUL, "y", NULL, y, add_floats(g, "w", "1,6", NULL)));
    g = make_graph();
    x = add_input(g, "x", "1,5,3");
    y = ADD_OP(g, ITG_OP_GATHER, "c", &(itg_attrs){.axis = 1}, x, ADD_INTS(g, "i", 4, 0, 4));
    check(g, ADD_OP(g, ITG_OP_MUL, "y", NULL, y, add_floats(g, "w", "1,3,3", NULL)));
}

/* What has no rule hides what is before it, and nothing else. */
static void unknown(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,4,4");
    itg_attrs pool = {.kernel = {2, 2}, .stride = {2, 2}, .dilation = {1, 1}};
    itg_id one = ADD_OP(g, ITG_OP_RELU, "one", NULL, x);
    itg_id two = ADD_OP(g, ITG_OP_MAX_POOL, "two", &pool, one);
    itg_id three = ADD_OP(g, ITG_OP_TANH, "three", NULL, two);
    set_output(g, three);
    assert_int_equal(infer_all(g, NULL), ITG_OK);
    itg_gradient_plan *plan = NULL;
    assert_int_equal(itg_gradient_plan_create(g, true, &plan, NULL), ITG_OK);
    assert_false(itg_gradient_is_known(plan, one));
    assert_false(itg_gradient_is_known(plan, x));
    assert_true(itg_gradient_is_known(plan, two));
    assert_true(itg_gradient_is_known(plan, three));
    itg_gradient_plan_destroy(plan);
    itg_graph_destroy(g);
}

/* Gradients go through rounding, and not through clipping. */
static void grids(void **state)
{
    (void)state;
    float x[] = {-0.3f, 0.1f, 0.26f, 1, 2.6f, 90}, step = 0.5f;
    const float rounded[] = {-0.5f, 0, 0.5f, 1, 2.5f, 3}, doubled[] = {-1, 0, 1, 2, 5, 6};
    const float wanted[] = {2, 2, 2, 2, 2, 0}, ones[] = {1, 1, 1, 1, 1, 1};
    const itg_quantizer q = {.bits = 4,
                             .qmin = -4,
                             .qmax = 7,
                             .zero_point = 1,
                             .axis = -1,
                             .scale_count = 1,
                             .scale = &step};
    itg_graph *g = make_graph();
    const itg_id in = add_input(g, "x", "1,6"), a = ADD_OP(g, ITG_OP_IDENTITY, "a", NULL, in),
                 y = ADD_OP(g, ITG_OP_MUL, "y", NULL, a, add_floats(g, "two", "1,1", NULL));
    float *two = (float *)(uintptr_t)g->values[g->nodes[1].inputs[1]].data;
    two[0] = 2;
    assert_int_equal(itg_graph_set_outputs(g, &y, 1, NULL), ITG_OK);
    assert_int_equal(infer_all(g, NULL), ITG_OK);
    const itg_dataset data = {
        .dtype = ITG_F32, .shape = {2, {1, 6}}, .data = x, .path = (char[]){"x"}};
    const itg_input_list inputs = itg_graph_inputs(g);
    const itg_preprocess preprocess = {.scale = 1};
    const itg_quantizer *of[8] = {0};
    itg_gradient_plan *plan = NULL;
    itg_gradient_run *run = NULL;
    itg_feed feed;
    assert_true(g->value_count <= 8);
    of[a] = &q;
    assert_int_equal(itg_feed_init(&inputs, &data, &preprocess, &feed, NULL), ITG_OK);
    assert_int_equal(itg_gradient_plan_create(g, true, &plan, NULL), ITG_OK);
    itg_gradient_plan_round(plan, of);
    assert_int_equal(itg_gradient_run_create(plan, &run, NULL), ITG_OK);
    assert_int_equal(itg_gradient_run_forward(run, &feed, 0, NULL), ITG_OK);
    assert_memory_equal(itg_gradient_value(run, a), rounded, sizeof rounded);
    for (int i = 0; i < 6; i++)
        assert_true(itg_gradient_value(run, y)[i] == doubled[i]);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(itg_gradient_run_backward(run, ones, NULL), ITG_OK);
        assert_memory_equal(itg_gradient_of(run, in), wanted, sizeof wanted);
    }
    itg_gradient_run_destroy(run);
    itg_gradient_plan_destroy(plan);
    itg_feed_deinit(&feed);
    itg_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products),  cmocka_unit_test(operands),
                                       cmocka_unit_test(functions), cmocka_unit_test(means),
                                       cmocka_unit_test(moves),     cmocka_unit_test(unknown),
                                       cmocka_unit_test(grids)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
