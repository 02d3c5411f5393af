/* Cross-layer equalization: the float function keeps every bit, and the maxima of each channel come
 * together. */
#include "make.h"
#include <math.h>
#include <stdlib.h>

typedef enum shape_kind {
    DIRECT,
    DEPTHWISE,
    FROM_DEPTHWISE,
    POOLED,
    FLATTENED,
    DENSE,
    TOKENS
} shape_kind;

/* Channel i of A's weights (inner of them each) and biases is 2^(3 i - 6) times larger than made.
 */
static itg_id skewed(itg_graph *g, const char *name, const char *shape, int64_t inner)
{
    itg_id w = add_floats(g, name, shape, NULL);
    float *data = (float *)(uintptr_t)g->values[w].data;
    itg_tensor t = itg_graph_tensor(g, w);
    for (int64_t i = 0; i < (int64_t)itg_tensor_bytes(&t) / 4; ++i)
        data[i] = ldexpf(data[i], (int)(3 * (i / inner % 4)) - 6);
    return w;
}

static itg_graph *make_pair(shape_kind kind)
{
    itg_graph *g = make_graph();
    itg_attrs depthwise = itg_attrs_default(ITG_OP_CONV),
              leaky = itg_attrs_default(ITG_OP_LEAKY_RELU);
    itg_attrs pool = itg_attrs_default(ITG_OP_AVERAGE_POOL);
    depthwise.group = 4;
    pool.kernel[0] = pool.kernel[1] = 2;
    itg_id x, y;
    if (kind == DENSE || kind == TOKENS) {
        x = add_input(g, "x", kind == DENSE ? "1,3" : "1,7,3");
        y = ADD_OP(g, ITG_OP_MATMUL, "a", NULL, x, skewed(g, "wa", "3,4", 1));
        y = ADD_OP(g, ITG_OP_ADD, "ab", NULL, y, skewed(g, "ba", "4", 1));
        y = ADD_OP(g, ITG_OP_RELU, "r", NULL, y);
        set_output(g, ADD_OP(g, ITG_OP_MATMUL, "b", NULL, y, add_floats(g, "wb", "4,5", NULL)));
        return g;
    }
    x = add_input(g, "x", kind == FROM_DEPTHWISE ? "1,4,5,5" : "1,3,5,5");
    itg_id wa =
        kind == FROM_DEPTHWISE ? skewed(g, "wa", "4,1,2,2", 4) : skewed(g, "wa", "4,3,2,2", 12);
    y = ADD_OP(g, ITG_OP_CONV, "a", kind == FROM_DEPTHWISE ? &depthwise : NULL, x, wa,
               skewed(g, "ba", "4", 1));
    y = ADD_OP(g, ITG_OP_LEAKY_RELU, "r", &leaky, y);
    if (kind == POOLED) y = ADD_OP(g, ITG_OP_AVERAGE_POOL, "p", &pool, y);
    if (kind == FLATTENED) y = ADD_OP(g, ITG_OP_FLATTEN, "f", NULL, y);
    if (kind == FLATTENED)
        y = ADD_OP(g, ITG_OP_MATMUL, "b", NULL, y, add_floats(g, "wb", "64,5", NULL));
    else if (kind == DEPTHWISE)
        y = ADD_OP(g, ITG_OP_CONV, "b", &depthwise, y, add_floats(g, "wb", "8,1,3,3", NULL));
    else
        y = ADD_OP(g, ITG_OP_CONV, "b", NULL, y, add_floats(g, "wb", "5,4,2,2", NULL));
    set_output(g, y);
    return g;
}

/* Where channel c stands among the i-th weights of A (B), in the prepared graph's layout. */
static int64_t channel_of(shape_kind kind, bool back, int64_t i)
{
    switch (kind) {
    case DENSE:
        return back ? i % 4 : i / 3; /* Gemm: [4,3], [5,4] */
    case TOKENS:
        return back ? i / 5 : i % 4; /* MatMul: [3,4], [4,5] */
    case FROM_DEPTHWISE:
        return back ? i / 4 % 4 : i / 4;
    case DEPTHWISE:
        return back ? i / 18 : i / 12; /* two outputs of 9 weights a channel */
    case FLATTENED:
        return back ? i % 64 / 16 : i / 12;
    default:
        return back ? i / 4 % 4 : i / 12;
    }
}

static void maxima(const itg_graph *g, shape_kind kind, itg_id node, bool back, double *r)
{
    itg_tensor w = itg_graph_tensor(g, g->nodes[node].inputs[1]);
    for (int64_t i = 0; i < (int64_t)itg_tensor_bytes(&w) / 4; ++i) {
        double *at = &r[channel_of(kind, back, i)];
        *at = fmax(*at, fabs((double)((const float *)w.data)[i]));
    }
}

static void test_maxima_come_together_and_no_bit_changes(void **state)
{
    (void)state;
    for (int k = DIRECT; k <= TOKENS; ++k) {
        itg_graph *g = make_pair((shape_kind)k), *plain = prepared(g, false),
                  *even = prepared(g, true);
        double r1[4] = {0}, r2[4] = {0}, s1[4] = {0}, s2[4] = {0};
        itg_id a = itg_graph_find_node(even, "a"), b = itg_graph_find_node(even, "b");
        maxima(plain, (shape_kind)k, a, false, r1);
        maxima(plain, (shape_kind)k, b, true, r2);
        maxima(even, (shape_kind)k, a, false, s1);
        maxima(even, (shape_kind)k, b, true, s2);
        int moved = 0;
        for (int c = 0; c < 4; ++c) {
            int e = (int)lround(log2(r1[c] / s1[c]));
            assert_true(s1[c] == ldexp(r1[c], -e) && s2[c] == ldexp(r2[c], e));
            assert_true(s1[c] / s2[c] >= 0.5 && s1[c] / s2[c] < 2);
            assert_true(floats_at(even, a, 2)[c] == ldexpf(floats_at(plain, a, 2)[c], -e));
            moved += e != 0;
        }
        assert_true(moved >= 2);
        assert_same_function(plain, even, 0);
        itg_graph_destroy(plain);
        itg_graph_destroy(even);
        itg_graph_destroy(g);
    }
}

/* The exponent of x = r1 / r2: the integer e with 2^(2e-1) <= x < 2^(2e+1). */
static void test_exponents_at_their_boundaries(void **state)
{
    (void)state;
    static const struct {
        float r1, r2;
        int e;
    } cases[] = {{1, 1, 0},
                 {2, 1, 1},
                 {1.9999999f, 1, 0},
                 {0.5f, 1, 0},
                 {0.49999997f, 1, -1},
                 {0.125f, 1, -1},
                 {0.12499999f, 1, -2},
                 {8, 1, 2},
                 {7.999999f, 1, 1},
                 {3, 0.75f, 1},
                 {1, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        itg_graph *g = make_graph();
        itg_id x = add_input(g, "x", "1,1,2,2"), a = add_floats(g, "wa", "1,1,1,1", &cases[i].r1);
        itg_id y = ADD_OP(g, ITG_OP_CONV, "a", NULL, x, a);
        set_output(
            g, ADD_OP(g, ITG_OP_CONV, "b", NULL, y, add_floats(g, "wb", "1,1,1,1", &cases[i].r2)));
        itg_graph *p = prepared(g, true);
        assert_true(floats_at(p, 0, 1)[0] == ldexpf(cases[i].r1, -cases[i].e));
        assert_true(floats_at(p, 1, 1)[0] == ldexpf(cases[i].r2, cases[i].e));
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

static void test_channels_that_would_lose_bits_are_left_alone(void **state)
{
    (void)state;
    static const struct {
        float a, bias, b;
    } cases[] = {{1, 0x1p-120f, 0x1p-30f},          /* the bias would be subnormal */
                 {0x1p80f, 0x1p127f, 0x1p120f},     /* the bias would overflow */
                 {0x1p-126f, 0x1p-100f, 0x1p-148f}, /* B's weight is subnormal and would stay so */
                 {0x1p100f, 1, 0x1p-149f}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        itg_graph *g = make_graph();
        itg_id x = add_input(g, "x", "1,1,2,2"), a = add_floats(g, "wa", "1,1,1,1", &cases[i].a);
        itg_id y =
            ADD_OP(g, ITG_OP_CONV, "a", NULL, x, a, add_floats(g, "ba", "1", &cases[i].bias));
        set_output(
            g, ADD_OP(g, ITG_OP_CONV, "b", NULL, y, add_floats(g, "wb", "1,1,1,1", &cases[i].b)));
        itg_graph *p = prepared(g, true);
        int e;
        frexpf(floats_at(p, 0, 1)[0] / cases[i].a, &e);
        assert_true(isnormal(floats_at(p, 0, 2)[0]));
        assert_true(floats_at(p, 1, 1)[0] == ldexpf(cases[i].b, 1 - e));
        if (i < 3) assert_int_equal(e, 1);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

/* What stands between decides: conv a -> between -> conv b. */
static void test_what_blocks_it(void **state)
{
    (void)state;
    static const itg_op ops[] = {ITG_OP_CLIP,    ITG_OP_SIGMOID,    ITG_OP_TANH, ITG_OP_ADD,
                                 ITG_OP_SOFTMAX, ITG_OP_HARD_SWISH, ITG_OP_ELU};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0] + 2; ++i) {
        itg_graph *g = make_graph();
        itg_attrs clip = itg_attrs_default(ITG_OP_CLIP);
        clip.max = 6;
        itg_id x = add_input(g, "x", "1,4,4,4"),
               a = ADD_OP(g, ITG_OP_CONV, "a", NULL, x, skewed(g, "wa", "4,4,1,1", 4)), y = a;
        bool single = i < sizeof ops / sizeof ops[0];
        if (single && ops[i] == ITG_OP_ADD)
            y = ADD_OP(g, ITG_OP_ADD, "m", NULL, a, x);
        else if (single)
            y = ADD_OP(g, ops[i], "m", ops[i] == ITG_OP_CLIP ? &clip : NULL, a);
        y = ADD_OP(g, ITG_OP_CONV, "b", NULL, y, add_floats(g, "wb", "4,4,1,1", NULL));
        itg_id outs[2] = {y, a}; /* last cases: a is an output, or has a second consumer */
        if (i == sizeof ops / sizeof ops[0] + 1)
            outs[1] = ADD_OP(g, ITG_OP_RELU, "second", NULL, a);
        assert_int_equal(itg_graph_set_outputs(g, outs, single ? 1 : 2, NULL), ITG_OK);
        itg_graph *p = prepared(g, true);
        assert_memory_equal(floats_at(p, itg_graph_find_node(p, "a"), 1),
                            g->values[itg_graph_find_value(g, "wa")].data, 16 * 4);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

/* A channel's least weight decides as its largest does: 2^-120 has no room for what 2^60 needs. */
static void test_small_weights_of_a_channel_hold_it(void **state)
{
    (void)state;
    static const float a[] = {0x1p60f, 0x1p-120f}, b[] = {1, 0.5f};
    static const float back_a[] = {0x1p-120f}, back_b[] = {0x1p60f, 0x1p-60f};
    for (int back = 0; back < 2; ++back) {
        itg_graph *g = make_graph();
        itg_id x = add_input(g, "x", back ? "1,1,2,2" : "1,2,2,2");
        itg_id wa = add_floats(g, "wa", back ? "1,1,1,1" : "1,2,1,1", back ? back_a : a);
        itg_id wb = add_floats(g, "wb", "2,1,1,1", back ? back_b : b);
        itg_id y = ADD_OP(g, ITG_OP_CONV, "a", NULL, x, wa);
        set_output(g, ADD_OP(g, ITG_OP_CONV, "b", NULL, y, wb));
        itg_graph *p = prepared(g, true);
        assert_true(floats_at(p, 0, 1)[0] == (back ? 0x1p-120f : 0x1p60f));
        assert_keeps_function(g, p, 0);
        itg_graph_destroy(p);
        itg_graph_destroy(g);
    }
}

/* A MatMul multiplies along the last axis of an image, which is no channel however long it is. */
static void test_matmul_of_an_image_reads_no_channels(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id y = ADD_OP(g, ITG_OP_CONV, "a", NULL, add_input(g, "x", "1,2,3,4"),
                      skewed(g, "wa", "4,2,1,1", 2));
    set_output(g, ADD_OP(g, ITG_OP_MATMUL, "b", NULL, y, add_floats(g, "wb", "4,5", NULL)));
    itg_graph *p = prepared(g, true);
    assert_memory_equal(floats_at(p, itg_graph_find_node(p, "a"), 1),
                        g->values[itg_graph_find_value(g, "wa")].data, 8 * sizeof(float));
    assert_keeps_function(g, p, 0);
    itg_graph_destroy(p);
    itg_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maxima_come_together_and_no_bit_changes),
        cmocka_unit_test(test_exponents_at_their_boundaries),
        cmocka_unit_test(test_channels_that_would_lose_bits_are_left_alone),
        cmocka_unit_test(test_what_blocks_it),
        cmocka_unit_test(test_small_weights_of_a_channel_hold_it),
        cmocka_unit_test(test_matmul_of_an_image_reads_no_channels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
