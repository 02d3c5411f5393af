/* The nth allocation fails, for every n until none does: preparation says so, leaves its argument
 * alone, gives nothing out, and (the sanitizer's business) leaks nothing. */
#include "make.h"
#include <stdlib.h>
#include "kernels/float_ops.h"
#include "tests/faults.h"

/* A graph that every pass works on. */
static itg_graph *make_everything(void)
{
    itg_graph *g = make_graph();
    itg_attrs nhwc = itg_attrs_default(ITG_OP_TRANSPOSE), nchw = nhwc;
    const int64_t there[] = {0, 2, 3, 1}, back[] = {0, 3, 1, 2};
    for (int i = 0; i < 4; ++i) {
        nhwc.perm[i] = there[i];
        nchw.perm[i] = back[i];
    }
    float four = 4, ones[] = {1, 1, 1};
    itg_id x = add_input(g, "x", "1,2,6,6");
    itg_id y = ADD_OP(g, ITG_OP_PAD, "pad", NULL, x, ADD_INTS(g, "pads", 0, 0, 1, 1, 0, 0, 1, 1));
    y = ADD_OP(g, ITG_OP_CONV, "c", NULL, y, add_floats(g, "w", "3,2,3,3", NULL));
    y = ADD_OP(g, ITG_OP_TRANSPOSE, "t", &nhwc, y);
    y = ADD_OP(g, ITG_OP_MUL, "m", NULL, y, add_floats(g, "k", "3", NULL));
    y = ADD_OP(g, ITG_OP_TRANSPOSE, "u", &nchw, y);
    y = ADD_OP(g, ITG_OP_RELU, "r", NULL, y);
    y = ADD_OP(g, ITG_OP_DIV, "d", NULL, y, add_floats(g, "four", "", &four));
    itg_id one = add_floats(g, "one", "3", ones);
    y = ADD_OP(g, ITG_OP_BATCH_NORMALIZATION, "bn", NULL, y, one, one, one, one);
    itg_id v = add_floats(g, "v", "4,3,1,1", NULL);
    memset((float *)(uintptr_t)g->values[v].data, 0, 3 * sizeof(float)); /* a constant channel */
    y = ADD_OP(g, ITG_OP_CONV, "e", NULL, y, v, add_floats(g, "bias", "4", NULL));
    y = ADD_OP(g, ITG_OP_TANH, "h", NULL, y);
    y = ADD_OP(g, ITG_OP_CONV, "f", NULL, y, add_floats(g, "z", "4,4,1,1", NULL));
    y = ADD_OP(g, ITG_OP_FLATTEN, "flat", NULL, y);
    y = ADD_OP(g, ITG_OP_MATMUL, "fc", NULL, y, add_floats(g, "q", "144,8", NULL));
    y = ADD_OP(g, ITG_OP_RESHAPE, "split", NULL, y, ADD_INTS(g, "shape", 2, 4));
    itg_attrs rows = itg_attrs_default(ITG_OP_SOFTMAX);
    rows.axis = 0;
    set_output(g, ADD_OP(g, ITG_OP_SOFTMAX, "y", &rows, y));
    set_opset(g, 11);
    return g;
}

/* A node of each family of composite operators. */
static itg_graph *make_composed(void)
{
    itg_graph *g = make_graph();
    itg_attrs linear = itg_attrs_default(ITG_OP_RESIZE);
    itg_attrs doubled = itg_attrs_default(ITG_OP_CONV_TRANSPOSE);
    linear.resize_mode = ITG_RESIZE_LINEAR;
    doubled.stride[0] = doubled.stride[1] = 2;
    itg_id x = add_input(g, "x", "1,2,3,3"), one = add_floats(g, "one", "2", NULL);
    itg_attrs deep = itg_attrs_default(ITG_OP_CONV_3D);
    deep.depth[0] = 3; /* with a pad of 1 on both sides */
    itg_id y = ADD_OP(g, ITG_OP_RESHAPE, "volume", NULL, x, ADD_INTS(g, "deep", 1, 1, 2, 3, 3));
    y = ADD_OP(g, ITG_OP_CONV_3D, "sum", &deep, y, add_floats(g, "vw", "1,1,3,1,1", NULL));
    y = ADD_OP(g, ITG_OP_RESHAPE, "flat", NULL, y, ADD_INTS(g, "image", 1, 2, 3, 3));
    y = ADD_OP(g, ITG_OP_RESIZE, "resize", &linear, y, ITG_NONE, ITG_NONE,
               ADD_INTS(g, "sizes", 1, 2, 4, 3));
    y = ADD_OP(g, ITG_OP_CONV_TRANSPOSE, "grow", &doubled, y, add_floats(g, "w", "2,2,3,2", NULL),
               one);
    y = ADD_OP(g, ITG_OP_INSTANCE_NORMALIZATION, "norm", NULL, y, one, one);
    itg_attrs window = itg_attrs_default(ITG_OP_LRN);
    window.size = 3;
    y = ADD_OP(g, ITG_OP_LRN, "lrn", &window, y);
    y = ADD_OP(g, ITG_OP_RESHAPE, "rows", NULL, y, ADD_INTS(g, "shape", 3, 1, -1));
    y = ADD_OP(g, ITG_OP_GRU, "gru", NULL, y, add_floats(g, "gw", "1,6,36", NULL),
               add_floats(g, "gr", "1,6,2", NULL), add_floats(g, "gb", "1,12", NULL));
    y = ADD_OP(g, ITG_OP_TRANSPOSE, "heads", NULL, y);
    itg_attrs causal = itg_attrs_default(ITG_OP_ATTENTION);
    causal.causal = true;
    set_output(g, ADD_OP(g, ITG_OP_ATTENTION, "y", &causal, y, y, y));
    return g;
}

static void check_everything(const itg_graph *p)
{
    assert_int_equal(count_of(p, ITG_OP_TRANSPOSE) + count_of(p, ITG_OP_PAD), 0);
    itg_id e = itg_graph_find_node(p, "e");
    assert_int_equal(p->values[p->nodes[e].outputs[0]].shape.dims[1], 3);
}

static void check_composed(const itg_graph *p)
{
    assert_int_equal(count_of(p, ITG_OP_CONV), 3);
    assert_int_equal(count_of(p, ITG_OP_SOFTMAX), 1);
}

/* Prepares the graph with one more allocation each time, until none fails. */
static void exhaust(itg_graph *g, void (*check)(const itg_graph *p))
{
    unsigned char before[32], after[32];
    itg_prepare_options options = {.eval = itg_float_eval, .model.keep_softmax = true};
    itg_graph_hash(g, before);
    int n = 0;
    for (;; ++n) {
        itg_graph *p = NULL;
        itg_error err = {0};
        calls_left = n;
        itg_status status = itg_graph_prepare(g, &options, &p, &err);
        bool spared = calls_left >= 0;
        calls_left = -1;
        if (status == ITG_OK) {
            assert_true(spared);
            check(p);
            itg_graph_destroy(p);
            break;
        }
        assert_int_equal(status, ITG_NO_MEMORY);
        assert_int_equal(err.code, ITG_NO_MEMORY);
        assert_null(p);
        itg_graph_hash(g, after);
        assert_memory_equal(before, after, 32);
    }
    assert_true(n > 20);
    itg_graph_destroy(g);
}

static void test_every_allocation_of_preparation_may_fail(void **state)
{
    (void)state;
    exhaust(make_everything(), check_everything);
}

static void test_every_allocation_of_composite_operators_may_fail(void **state)
{
    (void)state;
    exhaust(make_composed(), check_composed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation_of_preparation_may_fail),
        cmocka_unit_test(test_every_allocation_of_composite_operators_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
