/* Constant channels go into biases, unread channels go: the float function stays. */
#include "make.h"
#include <math.h>

#define CHANNELS 8

/* What becomes of each of A's channels: live, lost (weights 1e-30), zero (weights 0), each with a
 * bias above or below 0. */
static const float factor[CHANNELS] = {1, 1e-30f, 1e-30f, 0, 0, 1, 1e-25f, 1};
static const float biases[CHANNELS] = {0.3f, 0.7f, -0.7f, 1.5f, -1, -0.2f, 0.25f, 0.1f};

static float *data_of(itg_graph *g, itg_id value)
{
    return (float *)(uintptr_t)g->values[value].data;
}

/* Weights whose output channel c (inner of them each) is scaled by factor[c % CHANNELS]. */
static itg_id losing(itg_graph *g, const char *name, const char *shape, int64_t inner)
{
    itg_id w = add_floats(g, name, shape, NULL);
    itg_tensor t = itg_graph_tensor(g, w);
    for (int64_t i = 0; i < (int64_t)itg_tensor_bytes(&t) / 4; ++i)
        data_of(g, w)[i] *= factor[i / inner % CHANNELS];
    return w;
}

static itg_attrs conv_attrs(int64_t group, int64_t pad)
{
    itg_attrs a = itg_attrs_default(ITG_OP_CONV);
    a.group = group;
    for (int i = 0; i < 4; ++i)
        a.pad[i] = pad;
    return a;
}

static itg_id add_maker(itg_graph *g, itg_id x)
{
    return ADD_OP(g, ITG_OP_CONV, "a", NULL, x, losing(g, "wa", "8,3,1,1", 3),
                  add_floats(g, "ba", "8", biases));
}

static int64_t width_of(const itg_graph *g, const char *node)
{
    itg_id id = itg_graph_find_node(g, node);
    return g->values[g->nodes[id].inputs[1]].shape.dims[0];
}

/* Constants pass a Relu into the bias of a Conv without pads; the channels go. */
static void test_constants_go_into_the_next_bias(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id y = add_maker(g, add_input(g, "x", "1,3,5,5"));
    y = ADD_OP(g, ITG_OP_RELU, "r", NULL, y);
    set_output(g, ADD_OP(g, ITG_OP_CONV, "b", NULL, y, add_floats(g, "wb", "4,8,2,2", NULL)));
    itg_graph *p = prepared(g, false);
    assert_keeps_function(g, p, 1e-6);
    assert_int_equal(width_of(p, "a"), 3);
    assert_int_equal(width_of(p, "b"), 4);
    assert_int_equal(p->nodes[only(p, ITG_OP_RELU)].input_count, 1);
    assert_int_equal(p->values[p->nodes[only(p, ITG_OP_RELU)].outputs[0]].shape.dims[1], 3);
    itg_id b = itg_graph_find_node(p, "b");
    assert_int_equal(p->nodes[b].input_count, 3); /* it had no bias */
    const float *wb = data_of(g, itg_graph_find_value(g, "wb"));
    for (int64_t k = 0; k < 4; ++k) {
        double sum = 0;
        for (int64_t i = 0; i < 32; ++i) {
            int64_t c = i / 4;
            if (factor[c] < 1e-20f && biases[c] > 0)
                sum += (double)biases[c] * (double)wb[k * 32 + i];
        }
        assert_true(floats_at(p, b, 2)[k] == (float)sum);
    }
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* Under pads the border sees 0: only channels that are 0 behind the Relu go. The depthwise Conv's
 * own channels lose their weights, and their biases go into the Conv behind it. */
static void test_depthwise_with_pads(void **state)
{
    (void)state;
    for (int64_t multiplier = 1; multiplier <= 2; ++multiplier) {
        itg_graph *g = make_graph();
        itg_attrs deep = conv_attrs(CHANNELS, 1);
        itg_id y = add_maker(g, add_input(g, "x", "1,3,5,5"));
        y = ADD_OP(g, ITG_OP_RELU, "r", NULL, y);
        y = ADD_OP(g, ITG_OP_CONV, "d", &deep, y,
                   add_floats(g, "wd", multiplier == 1 ? "8,1,3,3" : "16,1,3,3", NULL),
                   add_floats(g, "bd", multiplier == 1 ? "8" : "16", NULL));
        y = ADD_OP(g, ITG_OP_HARD_SWISH, "h", NULL, y);
        y = ADD_OP(g, ITG_OP_CONV, "b", NULL, y,
                   add_floats(g, "wb", multiplier == 1 ? "5,8,1,1" : "5,16,1,1", NULL),
                   add_floats(g, "bb", "5", NULL));
        set_output(g, y);
        itg_graph *p = prepared(g, false);
        assert_keeps_function(g, p, 1e-6);
        assert_int_equal(width_of(p, "a"), 6);
        assert_int_equal(width_of(p, "d"), 6 * multiplier);
        itg_id d = itg_graph_find_node(p, "d");
        assert_int_equal(p->nodes[d].attrs.group, 6);
        /* channels 1, 3 and 6 stay as constants of A, without weights */
        for (int64_t i = 0; i < 3; ++i)
            assert_true(floats_at(p, 0, 1)[3 + i] == 0);
        assert_true(floats_at(p, 0, 2)[1] == 0.7f);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

/* Pools, a flattening and a Gemm; an average that counts pads hands 0 on alone. */
static void test_pools_and_flattenings(void **state)
{
    (void)state;
    for (int counts = 0; counts < 2; ++counts) {
        itg_graph *g = make_graph();
        itg_attrs pool = itg_attrs_default(ITG_OP_AVERAGE_POOL),
                  max = itg_attrs_default(ITG_OP_MAX_POOL);
        for (int i = 0; i < 2; ++i) {
            pool.kernel[i] = max.kernel[i] = 2;
            pool.pad[i] = 1;
        }
        pool.count_include_pad = counts == 1;
        itg_id y = add_maker(g, add_input(g, "x", "1,3,4,4"));
        y = ADD_OP(g, ITG_OP_RELU, "r", NULL, y);
        y = ADD_OP(g, ITG_OP_MAX_POOL, "m", &max, y);
        y = ADD_OP(g, ITG_OP_AVERAGE_POOL, "p", &pool, y);
        y = ADD_OP(g, ITG_OP_FLATTEN, "f", NULL, y);
        set_output(g, ADD_OP(g, ITG_OP_MATMUL, "b", NULL, y, add_floats(g, "wb", "72,3", NULL)));
        itg_graph *p = prepared(g, false);
        assert_keeps_function(g, p, 1e-6);
        assert_int_equal(width_of(p, "a"), counts ? 6 : 3);
        assert_int_equal(p->values[p->nodes[itg_graph_find_node(p, "b")].inputs[1]].shape.dims[1],
                         9 * (counts ? 6 : 3));
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

/* Channels of the last axis: MatMul of rank 3. */
static void test_tokens(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,7,3"), w = add_floats(g, "wa", "3,8", NULL);
    for (int i = 0; i < 24; ++i)
        data_of(g, w)[i] *= factor[i % CHANNELS];
    itg_id y = ADD_OP(g, ITG_OP_MATMUL, "a", NULL, x, w);
    y = ADD_OP(g, ITG_OP_ADD, "ab", NULL, y, add_floats(g, "ba", "8", biases));
    y = ADD_OP(g, ITG_OP_TANH, "t", NULL, y);
    y = ADD_OP(g, ITG_OP_MATMUL, "b", NULL, y, add_floats(g, "wb", "8,5", NULL));
    set_output(g, y);
    itg_graph *p = prepared(g, false);
    assert_keeps_function(g, p, 1e-6);
    assert_int_equal(p->values[p->nodes[0].inputs[1]].shape.dims[1], 3);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* Every user counts: two readers, one of which reads all channels; an Add; a graph output. */
static void test_channels_that_stay(void **state)
{
    (void)state;
    for (int k = 0; k < 4; ++k) {
        itg_graph *g = make_graph();
        itg_id a = add_maker(g, add_input(g, "x", "1,3,5,5")), outs[2];
        itg_attrs pads = conv_attrs(1, 1), grouped = conv_attrs(2, 0);
        outs[0] = ADD_OP(g, ITG_OP_CONV, "b", NULL, a, add_floats(g, "wb", "4,8,1,1", NULL));
        outs[1] =
            k == 0 ? ADD_OP(g, ITG_OP_CONV, "c", &pads, a, add_floats(g, "wc", "2,8,3,3", NULL))
            : k == 1
                ? ADD_OP(g, ITG_OP_CONV, "c", &grouped, a, add_floats(g, "wc", "2,4,1,1", NULL))
            : k == 2 ? ADD_OP(g, ITG_OP_ADD, "c", NULL, a, add_floats(g, "wc", "1,8,5,5", NULL))
                     : a;
        assert_int_equal(itg_graph_set_outputs(g, outs, 2, NULL), ITG_OK);
        itg_graph *p = prepared(g, false);
        assert_keeps_function(g, p, 1e-6);
        assert_int_equal(width_of(p, "a"), CHANNELS);
        itg_id b = itg_graph_find_node(p, "b"); /* it takes the constants all the same */
        for (int64_t i = 0; i < 32; ++i)
            assert_int_equal(floats_at(p, b, 1)[i] == 0, factor[i % CHANNELS] < 1);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

/* What nothing reads needs no constant; where nothing is read at all, one channel stays. */
static void test_unread_channels(void **state)
{
    (void)state;
    for (int all = 0; all < 2; ++all) {
        itg_graph *g = make_graph();
        itg_id x = add_input(g, "x", "1,3,5,5");
        itg_id y = ADD_OP(g, ITG_OP_CONV, "a", NULL, x, add_floats(g, "wa", "8,3,3,3", NULL));
        itg_id w = add_floats(g, "wb", "4,8,1,1", NULL);
        for (int i = 0; i < 32; ++i)
            if (all || i % 8 == 2 || i % 8 == 7) data_of(g, w)[i] = 0;
        set_output(g, ADD_OP(g, ITG_OP_CONV, "b", NULL, y, w, add_floats(g, "bb", "4", NULL)));
        itg_graph *p = prepared(g, false);
        assert_keeps_function(g, p, 0);
        assert_int_equal(width_of(p, "a"), all ? 1 : 6);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

/* Weights are lost where the bias swallows them for every input below 2^32, and no earlier. */
static void test_what_a_bias_swallows(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; ++lost) {
        itg_graph *g = make_graph();
        float w[] = {1, 0, lost ? 0x1p-58f : 0x1p-57f, 0}, b[] = {1, 1};
        itg_attrs pads = conv_attrs(1, 1);
        itg_id x = add_input(g, "x", "1,2,3,3");
        itg_id y = ADD_OP(g, ITG_OP_CONV, "a", NULL, x, add_floats(g, "wa", "2,2,1,1", w),
                          add_floats(g, "ba", "2", b));
        set_output(g, ADD_OP(g, ITG_OP_CONV, "b", &pads, y, add_floats(g, "wb", "1,2,3,3", NULL)));
        itg_graph *p = prepared(g, false);
        assert_true(floats_at(p, 0, 1)[2] == (lost ? 0 : 0x1p-57f));
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

/* One constant of two nodes: each has its own afterwards. */
static void test_shared_weights(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,8,5,5"), w = losing(g, "w", "8,8,1,1", 8),
           b = add_floats(g, "b", "8", biases);
    itg_id y = ADD_OP(g, ITG_OP_RELU, "r", NULL, ADD_OP(g, ITG_OP_CONV, "a", NULL, x, w, b));
    y = ADD_OP(g, ITG_OP_RELU, "s", NULL, ADD_OP(g, ITG_OP_CONV, "b2", NULL, y, w, b));
    set_output(g, ADD_OP(g, ITG_OP_CONV, "c", NULL, y, add_floats(g, "wc", "2,8,1,1", NULL)));
    itg_graph *p = prepared(g, true);
    assert_keeps_function(g, p, 1e-6);
    assert_int_equal(width_of(p, "a"), 3);
    assert_int_equal(width_of(p, "b2"), 3);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

/* The bias is the range where it exceeds the weights by far: such a channel is not blown up. */
static void test_equalization_respects_biases(void **state)
{
    (void)state;
    for (int k = 1; k < 13; ++k) {
        itg_graph *g = make_graph();
        itg_attrs deep = conv_attrs(CHANNELS, 1);
        itg_id w = add_floats(g, "wa", "8,3,1,1", NULL);
        for (int i = 9; i < 12; ++i)
            data_of(g, w)[i] *= (float)pow(10, -k);
        itg_id y = ADD_OP(
            g, ITG_OP_CONV, "a", NULL, add_input(g, "x", "1,3,5,5"), w,
            add_floats(g, "ba", "8", (float[]){0.3f, 0.2f, -0.4f, 0.3f, 0.5f, -0.1f, 0.3f, 0.2f}));
        y = ADD_OP(g, ITG_OP_RELU, "r", NULL, y);
        set_output(g, ADD_OP(g, ITG_OP_CONV, "d", &deep, y, add_floats(g, "wd", "8,1,3,3", NULL)));
        itg_graph *p = prepared(g, true);
        double largest = 0;
        for (int c = 0; c < CHANNELS; ++c)
            if (c != 3) largest = fmax(largest, fabs((double)floats_at(p, 0, 2)[c]));
        assert_true(fabs((double)floats_at(p, 0, 2)[3]) <= 4 * largest);
        assert_keeps_function(g, p, 0);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants_go_into_the_next_bias),
        cmocka_unit_test(test_depthwise_with_pads),
        cmocka_unit_test(test_pools_and_flattenings),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_channels_that_stay),
        cmocka_unit_test(test_unread_channels),
        cmocka_unit_test(test_what_a_bias_swallows),
        cmocka_unit_test(test_shared_weights),
        cmocka_unit_test(test_equalization_respects_biases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
