/* Costs against numbers worked out by hand. The annotated graphs are made by hand too: no annotate
 * is needed. */
#include "helpers.h"

/* All edges float without an encoding, all nodes float. */
static itg_annotated *annotate_nothing(const itg_graph *g)
{
    itg_arena *arena = itg_arena_create(0);
    itg_annotated *a = itg_arena_alloc(arena, sizeof *a);
    a->arena = arena;
    a->graph = g;
    a->nodes = itg_arena_array(arena, (size_t)g->node_count, sizeof *a->nodes);
    a->values = itg_arena_array(arena, (size_t)g->value_count, sizeof *a->values);
    a->edge_of_node = itg_arena_array(arena, (size_t)g->node_count + 1, sizeof *a->edge_of_node);
    a->edges = itg_arena_array(arena, 64, sizeof *a->edges);
    for (itg_id n = 0; n < g->node_count; n++) {
        a->nodes[n] = (itg_node_note){.activation = ITG_NONE, .out_value = g->nodes[n].outputs[0]};
        a->edge_of_node[n] = a->edge_count;
        for (int32_t i = 0; i < g->nodes[n].input_count; i++)
            a->edges[a->edge_count++] = (itg_edge){g->nodes[n].inputs[i], n, i, ITG_EDGE_FLOAT, -1};
    }
    a->edge_of_node[g->node_count] = a->edge_count;
    for (int32_t i = 0; i < g->output_count; i++)
        a->edges[a->edge_count++] = (itg_edge){g->outputs[i], ITG_NONE, i, ITG_EDGE_FLOAT, -1};
    for (itg_id v = 0; v < g->value_count; v++)
        a->values[v].encodings = itg_arena_array(arena, 4, sizeof *a->values[v].encodings);
    return a;
}

/* bits 0: a float encoding. Returns the encoding's number. */
static int32_t add_encoding(itg_annotated *a, itg_id value, int32_t bits, itg_dtype storage)
{
    itg_value_note *note = &a->values[value];
    note->encodings[note->encoding_count] =
        (itg_encoding){.is_float = bits == 0, .q = {.bits = bits, .storage = storage}};
    return note->encoding_count++;
}

static void read_encoding(itg_annotated *a, int32_t edge, int32_t encoding)
{
    bool is_float = a->values[a->edges[edge].value].encodings[encoding].is_float;
    a->edges[edge].encoding = encoding;
    a->edges[edge].kind = is_float ? ITG_EDGE_FLOAT : ITG_EDGE_QUANT;
}

static itg_cost cost_of(const char *target, const itg_annotated *a)
{
    itg_hardware *hw = load(target);
    itg_cost cost = {-1, -1, -1, -1};
    assert_int_equal(itg_cost_of(hw, a, &cost), ITG_OK);
    itg_hardware_destroy(hw);
    return cost;
}

static void finish_cost(itg_annotated *a, itg_graph *g)
{
    itg_arena_destroy(a->arena);
    itg_graph_destroy(g);
}

/* conv (with fused relu), pool on one encoding of it, float softmax behind; another encoding of
 * relu is an output. */
static void a_small_network_costs_what_is_counted_by_hand(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,4,4"), w = add_constant(g, "w", "3,2,3,3"),
           b = add_constant(g, "b", "3");
    itg_id conv = ADD_NODE(g, ITG_OP_CONV, "conv", "1,3,4,4", NULL, x, w, b); /* edges 0, 1, 2 */
    itg_id relu = ADD_NODE(g, ITG_OP_RELU, "relu", "1,3,4,4", NULL, conv);    /* 3 */
    itg_attrs attrs = itg_attrs_default(ITG_OP_MAX_POOL);
    attrs.kernel[0] = attrs.kernel[1] = 3;
    itg_id pool = ADD_NODE(g, ITG_OP_MAX_POOL, "pool", "1,3,2,2", &attrs, relu); /* 4 */
    itg_id soft = ADD_NODE(g, ITG_OP_SOFTMAX, "soft", "1,3,2,2", NULL, pool);    /* 5 */
    finish(g, x, soft); /* 6 soft, 7 relu */
    assert_int_equal(itg_graph_set_outputs(g, (itg_id[]){soft, relu}, 2, NULL), ITG_OK);
    itg_annotated *a = annotate_nothing(g);
    read_encoding(a, 0, add_encoding(a, x, 8, ITG_U8));
    read_encoding(a, 1, add_encoding(a, w, 5, ITG_S8));
    a->edges[3].kind = ITG_EDGE_FUSED;
    read_encoding(a, 4, add_encoding(a, relu, 6, ITG_U8));
    read_encoding(a, 7, add_encoding(a, relu, 16, ITG_S16));
    add_encoding(a, pool, 6, ITG_U8);
    read_encoding(a, 5, add_encoding(a, pool, 0, ITG_F32));
    read_encoding(a, 6, add_encoding(a, soft, 0, ITG_F32));
    int64_t bias[3] = {1, 2, 3};
    itg_requant f32[3] = {{.is_f32 = true}, {.is_f32 = true}, {.is_f32 = true}};
    itg_requant stages = {.stage_count = 2, .stage = {{12345, 31, 0}, {1, 5, 0}}};
    float dequant = 1;
    a->nodes[0] = (itg_node_note){.form = ITG_FORM_MAC,
                                  .acc = {32, 0},
                                  .activation = 1,
                                  .out_value = relu,
                                  .bias = bias,
                                  .bias_count = 3};
    a->nodes[1].form = ITG_FORM_FUSED;
    a->nodes[2].form = ITG_FORM_KEEP;
    a->values[relu].encodings[0].requant = f32;
    a->values[relu].encodings[0].requant_count = 3;
    a->values[relu].encodings[1].requant = &stages;
    a->values[relu].encodings[1].requant_count = 1;
    a->values[pool].encodings[1].dequant = &dequant;
    a->values[pool].encodings[1].dequant_count = 1;
    itg_cost c = cost_of("x86-vnni", a);
    assert_int_equal(c.weight_bytes, 34); /* 54 * 5 bits = 270 bits */
    assert_int_equal(c.parameter_bytes, 34 + 3 * 4 + 3 * 4 + (4 + 1 + 1) + 4);
    assert_int_equal(c.bops, 3 * 16 * (2 * 9) * 8 * 5);
    /* conv 864 MACs at 64; pool 12 windows of 9 elements at 32; softmax 12 elements at 16 */
    assert_true(c.cycles == 864.0 / 64 + 12.0 * 9 / 32 + 12.0 / 16);
    finish_cost(a, g);
}

static void a_weight_is_counted_once_for_each_quantizer(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,1,3,3"), w = add_constant(g, "w", "1,1,1,3"),
           k = add_constant(g, "k", "5");
    itg_id a1 = ADD_NODE(g, ITG_OP_CONV, "a", "1,1,3,1", NULL, x, w); /* edges 0, 1 */
    itg_id a2 = ADD_NODE(g, ITG_OP_CONV, "b", "1,1,3,1", NULL, x, w); /* 2, 3 */
    itg_id a3 = ADD_NODE(g, ITG_OP_CONV, "c", "1,1,3,1", NULL, x, w); /* 4, 5 */
    itg_id s = ADD_NODE(g, ITG_OP_ADD, "s", "1,1,3,5", NULL, a1, k);  /* 6, 7 */
    finish(g, x, s);
    assert_int_equal(itg_graph_set_outputs(g, (itg_id[]){s, a2, a3}, 3, NULL), ITG_OK);
    itg_annotated *a = annotate_nothing(g);
    int32_t four = add_encoding(a, w, 4, ITG_S8), two = add_encoding(a, w, 2, ITG_S8);
    read_encoding(a, 1, four);
    read_encoding(a, 3, two);
    read_encoding(a, 5, four);
    read_encoding(a, 7, add_encoding(a, k, 7, ITG_U8));
    itg_cost c = cost_of("x86-vnni", a);
    assert_int_equal(c.weight_bytes,
                     2 + 1 + 5); /* 12 bits, 6 bits, a constant operand of 35 bits */
    finish_cost(a, g);
}

static void float_nodes_count_32_bits_and_their_bias_is_no_weight(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_attrs attrs = itg_attrs_default(ITG_OP_GEMM);
    attrs.trans_b = true;
    itg_id x = add_input(g, "x", "1,7"), w = add_constant(g, "w", "5,7"),
           b = add_constant(g, "b", "5");
    itg_id y = ADD_NODE(g, ITG_OP_GEMM, "y", "1,5", &attrs, x, w, b);
    finish(g, x, y);
    itg_annotated *a = annotate_nothing(g);
    read_encoding(a, 0, add_encoding(a, x, 0, ITG_F32));
    read_encoding(a, 1, add_encoding(a, w, 0, ITG_F32));
    read_encoding(a, 2, add_encoding(a, b, 0, ITG_F32));
    read_encoding(a, 3, add_encoding(a, y, 0, ITG_F32));
    itg_cost c = cost_of("x86-vnni", a);
    assert_int_equal(c.weight_bytes, 35 * 4);
    assert_int_equal(c.parameter_bytes, 35 * 4 + 5 * 4);
    assert_int_equal(c.bops, 35 * 32 * 32);
    assert_true(c.cycles == 35.0 / 16);
    finish_cost(a, g);
}

/* The wide class of cortex-m: 64-bit sums have 8-byte biases and half the rate. */
static void wide_accumulators_have_wide_biases(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "2,6"), w = add_constant(g, "w", "6,4"),
           b = add_constant(g, "b", "4");
    itg_id m = ADD_NODE(g, ITG_OP_MATMUL, "m", "2,4", NULL, x, w, b); /* edges 0, 1, 2 */
    itg_id s = ADD_NODE(g, ITG_OP_ADD, "s", "2,4", NULL, m, m);       /* 3, 4 */
    itg_id t = ADD_NODE(g, ITG_OP_TRANSPOSE, "t", "4,2", NULL, s);    /* 5 */
    itg_id p = ADD_NODE(g, ITG_OP_MATMUL, "p", "2,2", NULL, s, t);    /* 6, 7 */
    finish(g, x, p);                                                  /* 8 */
    itg_annotated *a = annotate_nothing(g);
    itg_requant rescale = {.stage_count = 3, .stage = {{1, -2, 0}, {77, 31, 0}, {1, 3, 0}}};
    int64_t bias[4] = {0};
    read_encoding(a, 0, add_encoding(a, x, 12, ITG_S16));
    read_encoding(a, 1, add_encoding(a, w, 3, ITG_S8));
    add_encoding(a, m, 16, ITG_S16);
    read_encoding(a, 3, 0);
    read_encoding(a, 4, 0);
    int32_t both = add_encoding(a, s, 10, ITG_S16);
    read_encoding(a, 5, both);
    read_encoding(a, 6, both);
    read_encoding(a, 7, add_encoding(a, t, 9, ITG_S16));
    read_encoding(a, 8, add_encoding(a, p, 16, ITG_S16));
    a->nodes[0].form = a->nodes[3].form = ITG_FORM_MAC;
    a->nodes[0].spec = a->nodes[1].spec = 1; /* of cortex-m's lists, those of 16 bits */
    a->nodes[3].spec = 3;
    a->nodes[0].acc.bits = 64;
    a->nodes[0].bias = bias;
    a->nodes[0].bias_count = 4;
    a->nodes[1].form = ITG_FORM_RESCALE;
    a->nodes[1].operand[0] = a->nodes[1].operand[1] = rescale;
    a->nodes[2].form = ITG_FORM_KEEP;
    itg_cost c = cost_of("cortex-m", a);
    assert_int_equal(c.weight_bytes, 9);                              /* 24 * 3 bits */
    assert_int_equal(c.parameter_bytes, 9 + 4 * 8 + 2 * (1 + 5 + 1)); /* two operands' stages */
    assert_int_equal(c.bops, 2 * 4 * 6 * 12 * 3 + 2 * 2 * 4 * 10 * 9);
    /* Speeds of the 16-bit forms, and of Transpose; the MatMuls have outputs besides. */
    assert_true(c.cycles ==
                (48 / 0.342 + 8 * 1.88) + 8 / 0.0238 + 8 / 0.998 + (16 / 0.266 + 4 * 26.6));
    finish_cost(a, g);
}

static void a_group_convolution_multiplies_its_own_channels_only(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_attrs attrs = itg_attrs_default(ITG_OP_CONV);
    attrs.group = 8;
    itg_id x = add_input(g, "x", "1,8,5,5"), w = add_constant(g, "w", "8,1,3,3");
    itg_id y = ADD_NODE(g, ITG_OP_CONV, "y", "1,8,3,3", &attrs, x, w);
    finish(g, x, y);
    itg_annotated *a = annotate_nothing(g);
    read_encoding(a, 0, add_encoding(a, x, 8, ITG_U8));
    read_encoding(a, 1, add_encoding(a, w, 8, ITG_S8));
    a->nodes[0].form = ITG_FORM_MAC;
    assert_int_equal(cost_of("x86-vnni", a).bops, 8 * 9 * 9 * 64);
    assert_true(cost_of("x86-vnni", a).cycles == 8.0 * 9 * 9 / 64);
    /* depthwise, and 33.2 cycles an output */
    a->values[x].encodings[0].q.storage = ITG_S8;
    assert_true(cost_of("cortex-m", a).cycles == 8 * 9 * 9 / 0.332 + 8 * 9 * 33.2);
    finish_cost(a, g);
}

/* 4 bytes a part, 1 a shift; one operation more for each part of each output, or what the file
 * says. */
static void parts_of_a_sum_cost_constants_and_time(void **state)
{
    static const int64_t ends[3] = {5, 9, 18}, shifts[4] = {0, 3, 0, 1};
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "2,18"), w = add_constant(g, "w", "18,4");
    itg_id m = ADD_NODE(g, ITG_OP_MATMUL, "m", "2,4", NULL, x, w);
    finish(g, x, m);
    itg_annotated *a = annotate_nothing(g);
    read_encoding(a, 0, add_encoding(a, x, 8, ITG_S8));
    read_encoding(a, 1, add_encoding(a, w, 8, ITG_S8));
    read_encoding(a, 2, add_encoding(a, m, 8, ITG_S8));
    a->nodes[0].form = ITG_FORM_MAC;
    a->nodes[0].acc.bits = 32;
    itg_cost whole = cost_of("cvm", a);
    a->nodes[0].split = (itg_sum_split){3, ends, 4, shifts, ITG_ROUND_HALF_UP, 32};
    itg_cost parts = cost_of("cvm", a);
    assert_int_equal(parts.parameter_bytes - whole.parameter_bytes, 3 * 4 + 2);
    assert_true(whole.cycles == 2 * 4 * 18 / 4.0);
    assert_true(parts.cycles - whole.cycles == 2 * 4 * 3 / 4.0);
    assert_true(cost_of("avr", a).cycles == 2 * 4 * 18 / 0.095 + 2 * 4 * 3 * 15.0);
    itg_hardware *avr = load("avr");
    itg_node_cost node = itg_cost_of_node(avr, a, 0);
    assert_true(node.parts == 3 && node.joins == 2 * 4 * 3 && node.macs == 2 * 4 * 18);
    itg_hardware_destroy(avr);
    assert_int_equal(parts.weight_bytes, whole.weight_bytes);
    assert_int_equal(parts.bops, whole.bops);
    finish_cost(a, g);
}

static void sums_saturate(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "40000,40000"), y = add_input(g, "y", "40000,40000");
    itg_id m = ADD_NODE(g, ITG_OP_MATMUL, "m", "40000,40000", NULL, x, y);
    for (int i = 0; i < 12; i++) {
        char name[8] = {'n', (char)('a' + i)};
        m = ADD_NODE(g, ITG_OP_MATMUL, name, "1000000,1000,1", NULL, m, y);
    }
    finish(g, x, m);
    g->values[y].shape = (itg_shape){2, {1000000000, 1}}; /* 10^9 terms a product */
    itg_annotated *a = annotate_nothing(g);
    assert_int_equal(cost_of("float", a).bops, INT64_MAX);
    finish_cost(a, g);
}

/* Three Adds of which the last two repeat: two sets of constants. A different operator in between
 * has its own. */
static void constants_of_steps_that_repeat_count_once(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "2,6"), out[4];
    out[0] = ADD_NODE(g, ITG_OP_ADD, "a", "2,6", NULL, x, x);
    out[1] = ADD_NODE(g, ITG_OP_ADD, "b", "2,6", NULL, out[0], x);
    out[2] = ADD_NODE(g, ITG_OP_MUL, "c", "2,6", NULL, out[1], x);
    out[3] = ADD_NODE(g, ITG_OP_ADD, "d", "2,6", NULL, out[2], x);
    finish(g, x, out[3]);
    itg_annotated *a = annotate_nothing(g);
    itg_requant rescale = {.stage_count = 1, .stage = {{77, 31, 0}}};
    for (int i = 0; i < 4; i++) {
        const int32_t encoding = add_encoding(a, out[i], 8, ITG_S8);
        a->nodes[i].form = ITG_FORM_RESCALE;
        a->nodes[i].operand[0] = a->nodes[i].operand[1] = rescale;
        a->values[out[i]].encodings[encoding].requant = &rescale;
        a->values[out[i]].encodings[encoding].requant_count = 1;
    }
    const int64_t apart = cost_of("cortex-m", a).parameter_bytes;
    assert_int_equal(apart, 3 * 15 + 5); /* a Mul's operands have no constants */
    g->values[out[0]].repeat = g->values[out[1]].repeat = g->repeat_count = 1;
    assert_int_equal(cost_of("cortex-m", a).parameter_bytes, apart - 15);
    g->values[out[2]].repeat = 1;
    assert_int_equal(cost_of("cortex-m", a).parameter_bytes, apart - 15);
    g->values[out[3]].repeat = 1; /* behind a Mul */
    assert_int_equal(cost_of("cortex-m", a).parameter_bytes, apart - 15);
    finish_cost(a, g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_network_costs_what_is_counted_by_hand),
        cmocka_unit_test(a_weight_is_counted_once_for_each_quantizer),
        cmocka_unit_test(float_nodes_count_32_bits_and_their_bias_is_no_weight),
        cmocka_unit_test(wide_accumulators_have_wide_biases),
        cmocka_unit_test(a_group_convolution_multiplies_its_own_channels_only),
        cmocka_unit_test(parts_of_a_sum_cost_constants_and_time),
        cmocka_unit_test(sums_saturate),
        cmocka_unit_test(constants_of_steps_that_repeat_count_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
