/* Where a batch's samples lie behind a node: x [1,2,3], whose dimension 0 Transpose puts in place
 * b, then the node. */
#include "fixture.h"
#include "realize/emit/qdq.h"

enum { MIXED = ITG_NONE };

typedef struct batch_case {
    itg_op op;
    int32_t b;
    int32_t second; /* second operand: 0: none; 1: the first once more; 2: a constant */
    itg_shape constant;
    itg_attrs attrs;
    itg_shape y;
    int32_t expected;
} batch_case;

#define ALONE                                                                                      \
    0,                                                                                             \
    {                                                                                              \
        0                                                                                          \
    }
#define TWICE                                                                                      \
    1,                                                                                             \
    {                                                                                              \
        0                                                                                          \
    }
#define WITH(...) 2, SHAPE(__VA_ARGS__)
#define ATTRS(...)                                                                                 \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static const batch_case cases[] = {
    {ITG_OP_RELU, 0, ALONE, ATTRS(0), SHAPE(1, 2, 3), 0},
    {ITG_OP_RELU, 2, ALONE, ATTRS(0), SHAPE(2, 3, 1), 2},
    {ITG_OP_TRANSPOSE, 1, ALONE, ATTRS(.perm = {2, 0, 1}), SHAPE(3, 2, 1), 2},
    {ITG_OP_TRANSPOSE, 1, ALONE, ATTRS(.perm = {1, 2, 0}), SHAPE(1, 3, 2), 0},
    {ITG_OP_RESHAPE, 1, ALONE, ATTRS(0), SHAPE(2, 1, 1, 3), 1},
    {ITG_OP_RESHAPE, 1, ALONE, ATTRS(0), SHAPE(3, 2), MIXED},
    {ITG_OP_RESHAPE, 2, ALONE, ATTRS(0), SHAPE(6, 1), 1},
    {ITG_OP_ADD, 1, TWICE, ATTRS(0), SHAPE(2, 1, 3), 1},
    {ITG_OP_ADD, 1, WITH(3), ATTRS(0), SHAPE(2, 1, 3), 1},
    {ITG_OP_ADD, 1, WITH(1, 3), ATTRS(0), SHAPE(2, 1, 3), 1},
    {ITG_OP_ADD, 1, WITH(4, 3), ATTRS(0), SHAPE(2, 4, 3), MIXED},
    {ITG_OP_ADD, 1, WITH(5, 1, 1, 1), ATTRS(0), SHAPE(5, 2, 1, 3), 2},
    {ITG_OP_CONCAT, 1, TWICE, ATTRS(.axis = 0), SHAPE(4, 1, 3), 1},
    {ITG_OP_CONCAT, 1, TWICE, ATTRS(.axis = 1), SHAPE(2, 2, 3), MIXED},
    {ITG_OP_CONCAT, 1, WITH(2, 1, 3), ATTRS(.axis = 0), SHAPE(4, 1, 3), MIXED},
    {ITG_OP_SPLIT, 1, ALONE, ATTRS(.axis = 0), SHAPE(2, 1, 3), 1},
    {ITG_OP_SPLIT, 1, ALONE, ATTRS(.axis = 1), SHAPE(2, 1, 3), MIXED},
    {ITG_OP_SOFTMAX, 2, ALONE, ATTRS(.axis = 1), SHAPE(2, 3, 1), 2},
    {ITG_OP_SOFTMAX, 2, ALONE, ATTRS(.axis = 2), SHAPE(2, 3, 1), MIXED},
    {ITG_OP_LAYER_NORMALIZATION, 1, WITH(3), ATTRS(.axis = 2), SHAPE(2, 1, 3), 1},
    {ITG_OP_LAYER_NORMALIZATION, 1, WITH(1, 3), ATTRS(.axis = 1), SHAPE(2, 1, 3), MIXED},
    {ITG_OP_LAYER_NORMALIZATION, 1, WITH(2, 1, 3), ATTRS(.axis = 0), SHAPE(2, 1, 3), MIXED},
    {ITG_OP_GATHER, 1, WITH(2), ATTRS(.axis = 1), SHAPE(2, 2, 3), MIXED},
    {ITG_OP_GATHER, 1, WITH(2, 2), ATTRS(.axis = 0), SHAPE(2, 2, 1, 3), 2},
    {ITG_OP_GATHER, 1, WITH(2, 2), ATTRS(.axis = 2), SHAPE(2, 1, 2, 2), 1},
    {ITG_OP_ARG_MAX, 1, ALONE, ATTRS(.axis = 1, .keepdims = true), SHAPE(2, 1, 3), MIXED},
    {ITG_OP_ARG_MAX, 1, ALONE, ATTRS(.axis = 0, .keepdims = true), SHAPE(1, 1, 3), 1},
    {ITG_OP_ARG_MAX, 1, ALONE, ATTRS(.axis = 0), SHAPE(1, 3), 0},
    {ITG_OP_REDUCE_MEAN, 1, ALONE, ATTRS(.axes_count = 1, .axes = {2}), SHAPE(2, 1), 1},
    {ITG_OP_REDUCE_MEAN, 2, ALONE, ATTRS(.axes_count = 2, .axes = {0, 1}), SHAPE(1), 0},
    {ITG_OP_REDUCE_MEAN, 2, ALONE, ATTRS(.axes_count = 2, .axes = {0, 1}, .keepdims = true),
     SHAPE(1, 1, 1), 2},
    {ITG_OP_REDUCE_MAX, 1, ALONE, ATTRS(.axes_count = 2, .axes = {0, 1}), SHAPE(3), MIXED},
    {ITG_OP_REDUCE_SUM, 1, ALONE, ATTRS(.axes_count = 0), SHAPE(1), MIXED},
    {ITG_OP_REDUCE_SUM, 1, ALONE, ATTRS(.noop_with_empty_axes = true), SHAPE(2, 1, 3), 1},
    {ITG_OP_SLICE, 1, ALONE, ATTRS(.axes_count = 2, .axes = {0, 2}), SHAPE(1, 1, 2), 1},
    {ITG_OP_SLICE, 1, ALONE, ATTRS(.axes_count = 2, .axes = {0, 1}), SHAPE(1, 1, 3), MIXED},
    {ITG_OP_PAD, 1, ALONE, ATTRS(.pads_begin = {2}), SHAPE(4, 1, 3), 1},
    {ITG_OP_PAD, 1, ALONE, ATTRS(.pads_begin = {0, 1}), SHAPE(2, 2, 3), MIXED},
    {ITG_OP_PAD, 1, ALONE, ATTRS(0), SHAPE(2, 2, 3), MIXED}, /* behind the last */
    {ITG_OP_EXPAND, 1, WITH(3), ATTRS(0), SHAPE(2, 1, 3), 1},
    {ITG_OP_EXPAND, 1, WITH(3), ATTRS(0), SHAPE(5, 2, 1, 3), 2},
    {ITG_OP_EXPAND, 1, WITH(3), ATTRS(0), SHAPE(2, 4, 3), MIXED},
    {ITG_OP_MATMUL, 1, WITH(3, 4), ATTRS(0), SHAPE(2, 1, 4), 1},
    {ITG_OP_MATMUL, 0, WITH(3, 4), ATTRS(0), SHAPE(1, 2, 4), 0},
    {ITG_OP_MATMUL, 0, WITH(1, 3, 4), ATTRS(0), SHAPE(1, 2, 4), 0},
    {ITG_OP_MATMUL, 0, WITH(5, 3, 4), ATTRS(0), SHAPE(5, 2, 4), MIXED},
    {ITG_OP_MATMUL, 1, WITH(2, 3, 4), ATTRS(0), SHAPE(2, 1, 4), MIXED},
    {ITG_OP_MATMUL, 2, WITH(1, 4), ATTRS(0), SHAPE(2, 3, 4), MIXED},
    {ITG_OP_CONV, 0, WITH(4, 2, 1), ATTRS(0), SHAPE(1, 4, 3), 0},
    {ITG_OP_CONV, 1, WITH(4, 1, 1), ATTRS(0), SHAPE(2, 4, 3), MIXED},
    {ITG_OP_MAX_POOL, 0, ALONE, ATTRS(0), SHAPE(1, 2, 2), 0},
    {ITG_OP_MAX_POOL, 2, ALONE, ATTRS(0), SHAPE(2, 3, 1), MIXED},
};

/* Its dimension 0 goes to place b; the others stay in order. */
static itg_id moved(fixture *f, itg_id x, int32_t b)
{
    static const int64_t perm[3][3] = {{0, 1, 2}, {1, 0, 2}, {1, 2, 0}};
    static const itg_shape shapes[3] = {{3, {1, 2, 3}}, {3, {2, 1, 3}}, {3, {2, 3, 1}}};
    itg_id y = fx_node(f, "moved", ITG_OP_TRANSPOSE, LIST(x), shapes[b]);
    memcpy(fx_attrs(f, y)->perm, perm[b], sizeof perm[b]);
    return y;
}

static void check_case(const batch_case *c, size_t number)
{
    static const float numbers[64];
    fixture f = fx_begin("batch");
    itg_id inputs[2] = {moved(&f, fx_input(&f, "x", SHAPE(1, 2, 3)), c->b)};
    inputs[1] = inputs[0];
    if (c->second == 2) inputs[1] = fx_constant(&f, "k", ITG_F32, c->constant, numbers);
    itg_id y = fx_node(&f, "y", c->op, inputs, c->second == 0 ? 1 : 2, c->y);
    *fx_attrs(&f, y) = c->attrs;
    fx_outputs(&f, LIST(y));
    int32_t axis[8];
    bool open = itg_qdq_find_batch(f.g, axis);
    if (axis[y] != c->expected || open != (c->expected == 0))
        fail_msg("case %zu, %s: dimension %d, expected %d", number, itg_op_name(c->op),
                 (int)axis[y], (int)c->expected);
    fx_end(&f);
}

static void samples_are_followed_through_every_operator(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_case(&cases[i], i);
}

static void gemm_takes_rows_and_one_bias_for_all(void **state)
{
    static const float numbers[16];
    static const struct {
        bool trans_a;
        itg_shape bias;
        bool open;
    } gemms[] = {{false, {1, {4}}, true},
                 {false, {2, {1, 4}}, true},
                 {false, {2, {2, 4}}, false},
                 {true, {1, {4}}, false}};
    (void)state;
    for (size_t i = 0; i < sizeof gemms / sizeof *gemms; i++) {
        fixture f = fx_begin("gemm");
        itg_id x = fx_input(&f, "x", SHAPE(1, 3));
        itg_id w = fx_constant(&f, "w", ITG_F32, SHAPE(3, 4), numbers);
        itg_id bias = fx_constant(&f, "bias", ITG_F32, gemms[i].bias, numbers);
        itg_id y = fx_node(&f, "y", ITG_OP_GEMM, LIST(x, w, bias), SHAPE(1, 4));
        fx_attrs(&f, y)->trans_a = gemms[i].trans_a;
        fx_outputs(&f, LIST(y));
        int32_t axis[4];
        assert_true(itg_qdq_find_batch(f.g, axis) == gemms[i].open);
        fx_end(&f);
    }
}

static void an_input_without_a_batch_of_one_has_none(void **state)
{
    (void)state;
    static const itg_shape shapes[] = {{2, {2, 3}}, {0, {0}}};
    for (size_t i = 0; i < 2; i++) {
        fixture f = fx_begin("input");
        itg_id y = fx_node(&f, "y", ITG_OP_RELU, LIST(fx_input(&f, "x", shapes[i])), shapes[i]);
        fx_outputs(&f, LIST(y));
        int32_t axis[2];
        assert_false(itg_qdq_find_batch(f.g, axis));
        fx_end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_followed_through_every_operator),
        cmocka_unit_test(gemm_takes_rows_and_one_bias_for_all),
        cmocka_unit_test(an_input_without_a_batch_of_one_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
