/* Which nodes become integer, and why the others do not. */
#include "helpers.h"
#include <stdlib.h>

typedef struct selection {
    itg_arena *arena;
    bool topology[32];
    const char *reasons[32];
    itg_id fused[32];
    itg_error err;
    itg_status status;
} selection;

static selection select_nodes(const itg_hardware *hw, const itg_graph *g)
{
    selection s = {.arena = itg_arena_create(0)};
    assert_true(g->node_count <= 32);
    s.status = itg_hardware_topology(hw, g, s.arena, s.topology, s.reasons, &s.err);
    if (s.status == ITG_OK) itg_hardware_fusion(hw, g, s.topology, s.fused);
    return s;
}

static void expect_reason(const itg_hardware *hw, itg_graph *g, const char *reason)
{
    const char *why = NULL;
    itg_arena *arena = itg_arena_create(0);
    bool supported = itg_hardware_supports(hw, g, g->node_count - 1, arena, &why);
    assert_int_equal(supported, reason == NULL);
    if (reason)
        assert_string_equal(why, reason);
    else
        assert_null(why);
    itg_arena_destroy(arena);
    itg_graph_destroy(g);
}

static void a_plain_network_is_integer_and_relu_is_fused(void **state)
{
    (void)state;
    itg_hardware *hw = load("cortex-m");
    itg_graph *g = make_chain();
    selection s = select_nodes(hw, g);
    assert_int_equal(s.status, ITG_OK);
    for (int i = 0; i < g->node_count; i++) {
        assert_true(s.topology[i]);
        assert_null(s.reasons[i]);
        assert_int_equal(s.fused[i], i == 0 ? 1 : ITG_NONE);
    }
    itg_arena_destroy(s.arena);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

static void all_float_quantizes_nothing(void **state)
{
    (void)state;
    itg_hardware *hw = load("float");
    itg_graph *g = make_chain();
    selection s = select_nodes(hw, g);
    assert_int_equal(s.status, ITG_OK);
    for (int i = 0; i < g->node_count; i++) {
        assert_false(s.topology[i]);
        assert_string_equal(s.reasons[i], "the hardware computes everything in float");
        assert_int_equal(s.fused[i], ITG_NONE);
    }
    itg_arena_destroy(s.arena);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

/* conv -> softmax -> add(softmax, softmax) -> add2(add, conv) ... */
static itg_graph *softmax_inside(void)
{
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,4,4"), w = add_constant(g, "w", "2,2,1,1");
    itg_id conv = ADD_NODE(g, ITG_OP_CONV, "conv", "1,2,4,4", NULL, x, w);
    itg_id soft = ADD_NODE(g, ITG_OP_LOG_SOFTMAX, "soft", "1,2,4,4", NULL, conv);
    itg_id add = ADD_NODE(g, ITG_OP_ADD, "add", "1,2,4,4", NULL, soft, conv);
    itg_id last = ADD_NODE(g, ITG_OP_CONV, "last", "1,2,4,4", NULL, add, w);
    itg_id tail = ADD_NODE(g, ITG_OP_ADD, "tail", "1,2,4,4", NULL, last, x);
    finish(g, x, tail);
    return g;
}

static void follow_stays_float_behind_a_float_node(void **state)
{
    (void)state;
    itg_hardware *hw = load("x86-vnni");
    itg_graph *g = softmax_inside();
    selection s = select_nodes(hw, g);
    assert_int_equal(s.status, ITG_OK);
    const bool expected[] = {true, false, false, true,
                             true}; /* tail: a quantized node and a graph input */
    assert_memory_equal(s.topology, expected, sizeof expected);
    assert_string_equal(s.reasons[1], "LogSoftmax is not among the hardware's operators");
    assert_string_equal(s.reasons[2], "it follows a float node");
    itg_arena_destroy(s.arena);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

static void without_float_the_first_float_node_is_named(void **state)
{
    (void)state;
    itg_hardware *hw = load("cortex-m");
    itg_graph *g = softmax_inside();
    selection s = select_nodes(hw, g);
    assert_int_equal(s.status, ITG_INFEASIBLE);
    assert_string_equal(s.err.message,
                        "model.onnx: node 1 'soft' (LogSoftmax): LogSoftmax is not among the "
                        "hardware's operators, and cortex-m has no float");
    itg_arena_destroy(s.arena);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

static itg_hardware *with_overrides(const char *target, const char *overrides)
{
    const char *json = NULL;
    for (int i = 0; i < itg_hardware_builtin_count(); i++)
        if (strcmp(itg_hardware_builtin_name(i), target) == 0) json = itg_hardware_builtin_json(i);
    char *text = replaced(json, "\"dtypes\"", overrides);
    itg_hardware *hw = parse(text);
    free(text);
    return hw;
}

static void overrides_force_and_forbid_float(void **state)
{
    (void)state;
    itg_hardware *hw = with_overrides(
        "x86-vnni", "\"overrides\": [{\"node\": \"c*v?\", \"float\": true}], \"dtypes\"");
    itg_graph *g = make_chain();
    selection s = select_nodes(hw, g);
    assert_int_equal(s.status, ITG_OK);
    assert_false(s.topology[0]); /* conv1 */
    assert_string_equal(s.reasons[0], "an override keeps it in float");
    assert_false(s.topology[1]); /* relu1 follows it */
    assert_false(s.topology[3]); /* conv2 */
    assert_true(s.topology[6]);  /* fc */
    itg_arena_destroy(s.arena);
    itg_hardware_destroy(hw);
    hw =
        with_overrides("x86-vnni", "\"overrides\": [{\"node\": \"*\", \"float\": true}, {\"node\": "
                                   "\"relu1\", \"float\": false}], \"dtypes\"");
    s = select_nodes(hw, g);
    assert_int_equal(s.status, ITG_OK); /* the last override wins, and lifts follow */
    assert_true(s.topology[1] && !s.topology[0] && !s.topology[2]);
    itg_arena_destroy(s.arena);
    itg_hardware_destroy(hw);
    itg_graph_destroy(g);
    hw = with_overrides("x86-vnni",
                        "\"overrides\": [{\"node\": \"soft\", \"float\": false}], \"dtypes\"");
    g = softmax_inside();
    s = select_nodes(hw, g);
    assert_int_equal(s.status, ITG_INFEASIBLE);
    assert_non_null(strstr(s.err.message, "node 1 'soft' (LogSoftmax)"));
    assert_non_null(strstr(s.err.message, "an override of x86-vnni forbids float"));
    itg_arena_destroy(s.arena);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

/* x -> conv -> op, one of the given operator. */
static itg_graph *behind_conv(itg_op op, const itg_attrs *attrs)
{
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,4,4"), w = add_constant(g, "w", "2,2,1,1");
    itg_id conv = ADD_NODE(g, ITG_OP_CONV, "conv", "1,2,4,4", NULL, x, w);
    finish(g, x, ADD_NODE(g, op, "n", "1,2,4,4", attrs, conv));
    return g;
}

static void the_reason_says_what_integers_cannot_do(void **state)
{
    (void)state;
    itg_hardware *hw = load("cortex-m");
    itg_attrs attrs = itg_attrs_default(ITG_OP_PAD);
    expect_reason(hw, behind_conv(ITG_OP_PAD, &attrs), NULL);
    attrs.pad_value = 1;
    expect_reason(hw, behind_conv(ITG_OP_PAD, &attrs), "it pads with a value other than 0");
    attrs.pad_mode = ITG_PAD_EDGE;
    expect_reason(hw, behind_conv(ITG_OP_PAD, &attrs), "its mode is not constant");
    expect_reason(hw, behind_conv(ITG_OP_SIGMOID, NULL), NULL);
    expect_reason(hw, behind_conv(ITG_OP_REDUCE_MEAN, NULL), NULL);

    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,4,4"), w = add_input(g, "w", "2,2,1,1");
    ADD_NODE(g, ITG_OP_CONV, "n", "1,2,4,4", NULL, x, w);
    expect_reason(hw, g, "its weights are not constant");
    g = make_graph();
    x = add_input(g, "x", "1,2,4,4"), w = add_constant(g, "w", "2,2,1,1");
    ADD_NODE(g, ITG_OP_CONV, "n", "1,2,4,4", NULL, x, w, x);
    expect_reason(hw, g, "its bias is not constant");
    g = make_graph();
    x = add_input(g, "x", "1,2,4,4"), w = add_constant(g, "w", "2,2,1,1");
    ADD_NODE(g, ITG_OP_CONV, "n", "1,2,4,4", NULL, x, w, add_constant(g, "b", "1"));
    expect_reason(hw, g, "its bias is not one value a channel");
    g = make_graph();
    w = add_constant(g, "w", "2,2");
    ADD_NODE(g, ITG_OP_ADD, "n", "2,2", NULL, w, w);
    expect_reason(hw, g, "none of its operands is computed");
    g = make_graph();
    x = add_input(g, "x", "4,4");
    ADD_NODE(g, ITG_OP_GATHER, "n", "4,4", NULL, x, x);
    expect_reason(hw, g, "a parameter among its inputs is not constant");
    g = make_graph();
    x = add_input(g, "x", "4,4");
    ADD_NODE(g, ITG_OP_CLIP, "n", "4,4", NULL, x, ITG_NONE, add_constant(g, "most", ""));
    expect_reason(hw, g, NULL); /* a bound that is left out */
    g = make_graph();
    x = add_input(g, "x", "4,4");
    ADD_NODE(g, ITG_OP_ADD, "n", "4,4", NULL, x, ITG_NONE);
    expect_reason(hw, g, "an operand is left out");
    itg_hardware_destroy(hw);
}

static itg_graph *make_gemm(bool trans_a, bool trans_b, float alpha)
{
    itg_graph *g = make_graph();
    itg_attrs attrs = itg_attrs_default(ITG_OP_GEMM);
    attrs.trans_a = trans_a;
    attrs.trans_b = trans_b;
    attrs.alpha = alpha;
    itg_id x = add_input(g, "x", "4,4"), w = add_constant(g, "w", "4,4");
    ADD_NODE(g, ITG_OP_GEMM, "n", "4,4", &attrs, x, w, add_constant(g, "b", "4"));
    return g;
}

static itg_graph *make_matmul(bool left_constant, bool right_constant, const char *right_shape)
{
    itg_graph *g = make_graph();
    itg_id a = left_constant ? add_constant(g, "a", "4,4") : add_input(g, "a", "4,4");
    itg_id b = right_constant ? add_constant(g, "b", right_shape) : add_input(g, "b", right_shape);
    ADD_NODE(g, ITG_OP_MATMUL, "n", "4,4", NULL, a, b);
    return g;
}

static void matrices_are_integer_in_their_prepared_form_only(void **state)
{
    (void)state;
    itg_hardware *hw = load("cortex-m"), *one = parse(chip);
    expect_reason(hw, make_gemm(false, true, 1), NULL);
    expect_reason(hw, make_gemm(false, false, 1), "it is not of the form x * transposed weights");
    expect_reason(hw, make_gemm(true, true, 1), "it is not of the form x * transposed weights");
    expect_reason(hw, make_gemm(false, true, 2), "its alpha or beta is not 1");
    expect_reason(hw, make_matmul(false, true, "4,4"), NULL);
    expect_reason(hw, make_matmul(false, false, "4,4"), NULL);
    expect_reason(hw, make_matmul(true, false, "4,4"), "its left operand is constant");
    expect_reason(hw, make_matmul(false, true, "1,4,4"), "its weights are not 2-D");
    expect_reason(one, make_matmul(false, false, "4,4"), NULL);
    expect_reason(one, make_matmul(false, true, "4,4"),
                  "the hardware has no constant operand here");
    itg_hardware_destroy(hw);
    itg_hardware_destroy(one);
}

static void a_chip_without_biases_refuses_a_bias(void **state)
{
    (void)state;
    char *text = replaced(chip, "\"bias\": true", "\"bias\": false");
    itg_hardware *hw = parse(text);
    free(text);
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,4,4"), w = add_constant(g, "w", "2,2,1,1");
    ADD_NODE(g, ITG_OP_CONV, "n", "1,2,4,4", NULL, x, w, add_constant(g, "b", "2"));
    expect_reason(hw, g, "the hardware has no bias here");
    expect_reason(hw, behind_conv(ITG_OP_MAX_POOL, NULL), NULL);
    itg_hardware_destroy(hw);
}

static void only_the_single_reader_is_fused(void **state)
{
    (void)state;
    itg_hardware *hw = load("cortex-m");
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,4,4"), w = add_constant(g, "w", "2,2,1,1");
    itg_id conv = ADD_NODE(g, ITG_OP_CONV, "conv", "1,2,4,4", NULL, x, w);
    itg_id relu = ADD_NODE(g, ITG_OP_RELU, "relu", "1,2,4,4", NULL, conv); /* conv is read twice */
    itg_id add = ADD_NODE(g, ITG_OP_ADD, "add", "1,2,4,4", NULL, conv, relu);
    itg_id clip = ADD_NODE(g, ITG_OP_CLIP, "clip", "1,2,4,4", NULL, add);    /* fused into add */
    itg_id relu2 = ADD_NODE(g, ITG_OP_RELU, "relu2", "1,2,4,4", NULL, clip); /* not into clip */
    itg_id pool = ADD_NODE(g, ITG_OP_MAX_POOL, "pool", "1,2,4,4", NULL, relu2);
    itg_id relu3 =
        ADD_NODE(g, ITG_OP_RELU, "relu3", "1,2,4,4", NULL, pool); /* pools have no clamp */
    itg_id conv2 = ADD_NODE(g, ITG_OP_CONV, "conv2", "1,2,4,4", NULL, relu3, w);
    itg_id relu4 =
        ADD_NODE(g, ITG_OP_RELU, "relu4", "1,2,4,4", NULL, conv2); /* conv2 is an output */
    finish(g, x, relu4);
    assert_int_equal(itg_graph_set_outputs(g, (itg_id[]){conv2, relu4}, 2, NULL), ITG_OK);
    selection s = select_nodes(hw, g);
    assert_int_equal(s.status, ITG_OK);
    for (int i = 0; i < g->node_count; i++)
        assert_int_equal(s.fused[i], i == 2 ? 3 : ITG_NONE);
    itg_arena_destroy(s.arena);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

/* `chip` lists neither Relu nor Clip: they exist as clamps of Conv and Add alone, and it has no
 * float. */
static void a_fused_activation_needs_no_operator_of_its_own(void **state)
{
    (void)state;
    itg_hardware *hw = parse(chip);
    itg_graph *g = behind_conv(ITG_OP_RELU, NULL);
    selection s = select_nodes(hw, g);
    assert_int_equal(s.status, ITG_OK);
    assert_true(s.topology[0] && s.topology[1]);
    assert_int_equal(s.fused[0], 1);
    itg_arena_destroy(s.arena);
    itg_graph_destroy(g);
    g = behind_conv(ITG_OP_CLIP, NULL);
    s = select_nodes(hw, g);
    assert_int_equal(s.status, ITG_INFEASIBLE);
    assert_non_null(
        strstr(s.err.message, "node 1 'n' (Clip): Clip is not among the hardware's operators"));
    itg_arena_destroy(s.arena);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

static void match_takes_the_first_spec_that_admits_the_bits(void **state)
{
    (void)state;
    itg_hardware *hw = load("cortex-m");
    const itg_hw_op *conv = &hw->ops[ITG_OP_CONV], *matmul = &hw->ops[ITG_OP_MATMUL];
    int32_t eight[] = {8, 8}, sixteen[] = {16, 16}, mixed[] = {8, 16}, seventeen[] = {17};
    assert_ptr_equal(itg_hardware_match(hw, ITG_OP_CONV, eight, 1, 4, 0), &conv->specs[0]);
    assert_ptr_equal(itg_hardware_match(hw, ITG_OP_CONV, sixteen, 1, 4, 0), &conv->specs[1]);
    assert_null(itg_hardware_match(hw, ITG_OP_CONV, eight, 1, 9, 0));
    assert_null(itg_hardware_match(hw, ITG_OP_CONV, eight, 1, 0, 0));
    assert_null(itg_hardware_match(hw, ITG_OP_CONV, seventeen, 1, 8, 0));
    assert_null(itg_hardware_match(hw, ITG_OP_ADD, mixed, 2, 0, 0));
    assert_ptr_equal(itg_hardware_match(hw, ITG_OP_MATMUL, sixteen, 2, 0, 0), &matmul->specs[3]);
    assert_ptr_equal(itg_hardware_match(hw, ITG_OP_MATMUL, eight, 1, 8, 0), &matmul->specs[0]);
    itg_hardware_destroy(hw);
}

static void what_fits_is_passed_over_until_the_last(void **state)
{
    (void)state;
    itg_hardware *hw = load("tests/independent/hardware/choices.json"); /* 0 s8, 1 a8, 2 w8 */
    const itg_hw_spec *specs = hw->ops[ITG_OP_CONV].specs;
    const int32_t eight = 8, nine = 9;
    for (int32_t k = 0; k < 5; k++) {
        assert_ptr_equal(itg_hardware_match(hw, ITG_OP_CONV, &eight, 1, 4, k),
                         &specs[k < 2 ? k : 2]);
        assert_null(itg_hardware_match(hw, ITG_OP_CONV, &nine, 1, 4, k));
        assert_int_equal(itg_hardware_dtype_after(hw, 3, 8, true, k), k == 0 ? 0 : 1);
        assert_int_equal(itg_hardware_dtype_after(hw, 2, 8, true, k), 1);
        assert_int_equal(itg_hardware_dtype_after(hw, 3, 9, true, k), -1);
    }
    itg_hardware_destroy(hw);
}

/* The activation that is fused into the node stays with it; others judge for themselves. */
static void nodes_that_stay_float_take_what_follows_along(void **state)
{
    (void)state;
    itg_hardware *hw = load("x86-vnni");
    itg_graph *g = make_chain();
    itg_arena *arena = itg_arena_create(0);
    bool topology[32], in_float[32] = {true};
    const char *reasons[32];
    itg_error err = {0};
    assert_int_equal(itg_hardware_topology_of(hw, g, in_float, arena, topology, reasons, &err),
                     ITG_OK);
    assert_false(topology[0]);
    assert_string_equal(reasons[0], "the strategy leaves it in float");
    assert_true(topology[g->node_count - 1]);
    itg_arena_destroy(arena);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

static void dtype_for_keeps_negatives_out_of_unsigned_symmetric(void **state)
{
    (void)state;
    itg_hardware *hw = parse(chip); /* 0 a8, 1 w8, 2 a16, 3 u8 without zero point */
    assert_int_equal(itg_hardware_dtype_for(hw, 1u << 3, 8, false), 3);
    assert_int_equal(itg_hardware_dtype_for(hw, 1u << 3, 8, true), -1);
    assert_int_equal(itg_hardware_dtype_for(hw, 1u << 3, 2, false), -1);
    assert_int_equal(itg_hardware_dtype_for(hw, 1u << 3 | 1u, 8, true), 0);
    assert_int_equal(itg_hardware_dtype_for(hw, UINT32_MAX, 16, true), 2);
    assert_int_equal(itg_hardware_dtype_for(hw, 0, 8, false), -1);
    itg_hardware_destroy(hw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_network_is_integer_and_relu_is_fused),
        cmocka_unit_test(all_float_quantizes_nothing),
        cmocka_unit_test(follow_stays_float_behind_a_float_node),
        cmocka_unit_test(without_float_the_first_float_node_is_named),
        cmocka_unit_test(overrides_force_and_forbid_float),
        cmocka_unit_test(the_reason_says_what_integers_cannot_do),
        cmocka_unit_test(matrices_are_integer_in_their_prepared_form_only),
        cmocka_unit_test(a_chip_without_biases_refuses_a_bias),
        cmocka_unit_test(only_the_single_reader_is_fused),
        cmocka_unit_test(a_fused_activation_needs_no_operator_of_its_own),
        cmocka_unit_test(match_takes_the_first_spec_that_admits_the_bits),
        cmocka_unit_test(what_fits_is_passed_over_until_the_last),
        cmocka_unit_test(nodes_that_stay_float_take_what_follows_along),
        cmocka_unit_test(dtype_for_keeps_negatives_out_of_unsigned_symmetric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
