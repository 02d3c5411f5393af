/* The simulator as a whole (docs/arithmetic.md 2.2, 2.3, 7): codes of inputs, float islands, and
 * what it counts on the way. */
#include "formulas.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/float_ops.h"
#include "sim/sim.h"

/* ---- inputs and outputs ---- */

static void inputs_become_codes(void **state)
{
    static const float x[] = {0,   -0.0f, 1,        -1,        0.5f, 1.5f,   2.5f,   -2.5f,
                              300, -300,  INFINITY, -INFINITY, NAN,  1e-30f, 127.5f, 126.5f};
    static const int64_t wanted[] = {100, 100, 101, 99, 100, 102, 102, 98,
                                     255, 0,   255, 0,  100, 100, 228, 226};
    itg_graph *g = net_new();
    itg_id in = net_input(g, "x", "1,16"), flat = NODE(g, "shape", ITG_OP_FLATTEN, NULL, in);
    OUTPUTS(g, in, flat, flat);
    sim_case c = case_new(g, chip("", U8, "", KEEP("Flatten")));
    set_range(&c, "shape", 0, 8, -100, 155);
    set_range(&c, NULL, 0, 8, -100, 155);
    annotated(&c);
    run(&c, x);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(output_code(&c, 0, i), wanted[i]);
        assert_true(output_real(&c, 1, i) == (float)(wanted[i] - 100));
    }
    float values[16];
    itg_edge_events events = {0};
    assert_true(itg_sim_edge(c.sim, 0, values, &events));
    assert_int_equal(events.elements, 16);
    assert_int_equal(events.saturated,
                     4); /* 300, -300 and the infinite ones; a NaN is the zero point */
    for (int i = 0; i < 16; i++)
        assert_true(values[i] == (float)(wanted[i] - 100));
    case_end(&c);
    (void)state;
}

/* ---- float islands ---- */

/* gemm -> Softmax (float) -> gemm; the first one's result is also read by integers, the Softmax's
 * by both. */
static void float_islands_with_mixed_readers(void **state)
{
    static const float w[] = {1, -0.5f, 0.25f, -1, 0.5f, 0.75f},
                       v[] = {0.5f, -0.25f, 1, 1, 0.125f, -1};
    itg_hardware *hw = NULL;
    assert_int_equal(itg_hardware_load("x86-vnni", &hw, NULL), ITG_OK);
    itg_graph *g = net_new();
    itg_attrs soft = itg_attrs_default(ITG_OP_SOFTMAX);
    soft.axis = 1;
    itg_id x = net_input(g, "x", "1,2"), a = net_gemm(g, "one", x, "3,2", w, ITG_NONE),
           s = NODE(g, "soft", ITG_OP_SOFTMAX, &soft, a);
    itg_id b = net_gemm(g, "two", s, "2,3", v, ITG_NONE),
           sum = NODE(g, "sum", ITG_OP_ADD, NULL, a, a),
           mixed = NODE(g, "mixed", ITG_OP_ADD, NULL, a, s);
    OUTPUTS(g, x, b, sum, s, mixed);
    sim_case c = case_new(g, hw);
    assert_true(c.s->node_conds[itg_graph_find_node(g, "two")] &&
                c.s->node_conds[itg_graph_find_node(g, "sum")]);
    assert_false(c.s->node_conds[itg_graph_find_node(g, "mixed")]); /* it follows a float node */
    set_all(&c, 8, 8, -1, 1, true);
    set_range(&c, "two", 0, 8, 0, 1);
    annotated(&c);
    itg_id n = itg_graph_find_node(g, "one");
    assert_int_equal(c.a->values[a].encoding_count, 2);
    assert_true(encoding_at(&c, "soft", 0)->is_float && encoding_at(&c, "mixed", 0)->is_float &&
                encoding_at(&c, NULL, 2)->is_float);
    assert_ptr_equal(encoding_at(&c, "soft", 0), encoding_at(&c, "mixed", 0));
    assert_string_equal(note_of(&c, "soft")->reason,
                        "Softmax is not among the hardware's operators");
    itg_rng rng;
    itg_rng_init(&rng, 11);
    for (int round = 0; round < 100; round++) {
        float in[2], real[3], probabilities[3];
        random_floats(&rng, in, 2, 1);
        run(&c, in);
        const itg_quantizer *xq = &encoding_at(&c, "one", 0)->q,
                            *wq = &encoding_at(&c, "one", 1)->q,
                            *aq = &encoding_at(&c, "sum", 0)->q;
        for (int k = 0; k < 3; k++) {
            int64_t acc = 0;
            for (int i = 0; i < 2; i++)
                acc += (code_of(in[i], xq->scale[0], xq->zero_point, 0, 255) - xq->zero_point) *
                       code_of(w[2 * k + i], wq->scale[k], 0, -127, 127);
            float unit = xq->scale[0] * wq->scale[k];
            real[k] = (float)acc * unit;
            int64_t q = f32_code(acc, unit / aq->scale[0], aq->zero_point, 0, 255);
            const itg_quantizer *o = &encoding_at(&c, NULL, 1)->q;
            assert_int_equal(output_code(&c, 1, k),
                             limited(float_sum_code(q, q, aq, aq, o, 1), 0, 255));
        }
        itg_tensor t = {ITG_F32, g->values[a].shape, real},
                   p = {ITG_F32, g->values[s].shape, probabilities};
        assert_int_equal(itg_float_eval(ITG_OP_SOFTMAX, &soft, &t, 1, &p, 1, NULL), ITG_OK);
        const itg_quantizer *sq = &encoding_at(&c, "two", 0)->q,
                            *vq = &encoding_at(&c, "two", 1)->q, *o = &encoding_at(&c, NULL, 0)->q;
        for (int k = 0; k < 3; k++) {
            assert_true(output_real(&c, 2, k) == probabilities[k]);
            assert_true(output_real(&c, 3, k) == real[k] + probabilities[k]);
        }
        for (int k = 0; k < 2; k++) {
            int64_t acc = 0;
            for (int i = 0; i < 3; i++)
                acc += (code_of(probabilities[i], sq->scale[0], sq->zero_point, 0, 255) -
                        sq->zero_point) *
                       code_of(v[3 * k + i], vq->scale[k], 0, -127, 127);
            assert_int_equal(
                output_code(&c, 0, k),
                f32_code(acc, sq->scale[0] * vq->scale[k] / o->scale[0], o->zero_point, 0, 255));
        }
    }
    assert_int_equal(c.a->nodes[n].form, ITG_FORM_MAC);
    case_end(&c);
    (void)state;
}

/* A float node with a result that nobody wants. */
static void float_nodes_with_results_left_out(void **state)
{
    itg_graph *g = net_new();
    itg_attrs norm = itg_attrs_default(ITG_OP_LAYER_NORMALIZATION);
    itg_id x = net_input(g, "x", "1,4"), k = net_constant(g, "k", "4", FLOATS(1, 2, 3, 4)), y, node;
    norm.axis = 1;
    assert_int_equal(itg_graph_add_value(g, "y", ITG_F32, NULL, NULL, &y, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_node(g, "norm", ITG_OP_LAYER_NORMALIZATION, (itg_id[]){x, k}, 2,
                                        (itg_id[]){y, ITG_NONE, ITG_NONE}, 3, &norm, &node, NULL),
                     ITG_OK);
    assert_int_equal(itg_infer_node(g, node, NULL), ITG_OK);
    itg_id z = NODE(g, "relu", ITG_OP_RELU, NULL, y);
    OUTPUTS(g, x, z, y);
    sim_case c =
        case_new(g, chip("'float':true,", U8, F32, ONE("Relu", "rescale", ",'requantize':'r'")));
    set_range(&c, "relu", 0, 8, -2, 2);
    set_range(&c, NULL, 0, 8, -2, 2);
    annotated(&c);
    run(&c, FLOATS(1, 2, 3, 4));
    assert_true(output_real(&c, 1, 0) < -1 && output_real(&c, 1, 3) > 1);
    assert_int_equal(output_code(&c, 0, 0), encoding_at(&c, NULL, 0)->q.zero_point);
    case_end(&c);
    (void)state;
}

/* ---- events ---- */

static void saturation_and_overflow_are_counted(void **state)
{
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,4"),
           y = net_gemm(g, "gemm", x, "2,4", FLOATS(1, 1, 1, 1, 1, -1, 1, -1), ITG_NONE);
    OUTPUTS(g, x, y, y);
    sim_case c = case_new(
        g, chip("", U8 "," W, F32,
                "'Gemm':[{'arithmetic':'mac','inputs':['u8'],'weights':['w'],'outputs':['u8'],'"
                "requantize':'r','accumulator':{'bits':16,'overflow':'saturate'}}]"));
    set_range(&c, "gemm", 0, 8, 0, 255);
    set_weights(&c, "gemm", 8, 1, (double[]){1}); /* codes 127 */
    set_range(&c, NULL, 0, 8, 0, 100);
    annotated(&c);
    float values[4];
    itg_edge_events in = {0}, out = {0};
    run(&c, FLOATS(300, 200, 100,
                   255.4f)); /* the sum stops at 32767; 127 * (255 - 200 + 100 - 255) = -12700 */
    assert_true(itg_sim_edge(c.sim, 0, values, &in));
    assert_true(in.elements == 4 && in.saturated == 1 && in.overflowed == 0);
    assert_true(values[0] == 255 && values[3] == 255);
    assert_true(itg_sim_edge(c.sim, case_edge(&c, NULL, 0), values, &out));
    assert_true(out.elements == 2 && out.saturated == 2 && out.overflowed == 1);
    assert_int_equal(output_code(&c, 0, 0), 255);
    assert_int_equal(output_code(&c, 0, 1), 0);
    assert_true(itg_sim_edge(c.sim, case_edge(&c, NULL, 1), values, &out));
    assert_true(out.saturated == 0 && values[0] == 32767 * (1.0f * (float)(1.0 / 127)));
    run(&c, FLOATS(1, 1, 1, 1)); /* counts are one run's */
    assert_true(itg_sim_edge(c.sim, 0, values, &in) &&
                itg_sim_edge(c.sim, case_edge(&c, NULL, 0), values, &out));
    assert_true(in.saturated == 0 && out.saturated == 0 && out.overflowed == 0);
    case_end(&c);
    (void)state;
}

/* 1, 40, 80, -40 pass through the node, and its result is read with codes of -20 to 50: what is
 * beyond is counted, once an element and run, and with a wide range nothing is. */
static void check_saturated(itg_op op, const char *operators, int64_t wanted)
{
    itg_graph *g = net_new();
    itg_attrs a = itg_attrs_default(op);
    itg_id x = net_input(g, "x", "1,1,1,4"), y;
    a.spatial_rank = 2;
    for (int i = 0; i < 2; i++)
        a.kernel[i] = a.stride[i] = a.dilation[i] = 1;
    if (op == ITG_OP_ADD || op == ITG_OP_SUB)
        y = NODE(g, "node", op, NULL, x, net_constant(g, "k", "1", FLOATS(0)));
    else if (op == ITG_OP_MUL)
        y = NODE(g, "node", op, NULL, x, net_constant(g, "k", "1", FLOATS(1)));
    else
        y = NODE(g, "node", op, &a, x);
    OUTPUTS(g, x, y, y);
    sim_case c = case_new(g, chip("", U8, F32, operators));
    set_all(&c, 0, 8, -100, 155, false);
    set_range(&c, NULL, 1, 8, -20, 50);
    annotated(&c);
    for (int round = 0; round < 2; round++) {
        float values[4];
        itg_edge_events wide = {0}, narrow = {0};
        run(&c, FLOATS(1, 40, 80, -40));
        assert_true(itg_sim_edge(c.sim, case_edge(&c, NULL, 0), values, &wide));
        assert_true(wide.elements == 4 && wide.saturated == 0 && wide.overflowed == 0);
        assert_true(itg_sim_edge(c.sim, case_edge(&c, NULL, 1), values, &narrow));
        if (narrow.elements != 4 || narrow.saturated != wanted || narrow.overflowed != 0)
            fail_msg("%s: %d of %d saturated", itg_op_name(op), (int)narrow.saturated,
                     (int)narrow.elements);
        assert_int_equal(output_code(&c, 1, 2), 255);
    }
    case_end(&c);
}

static void every_form_counts_what_saturates(void **state)
{
    (void)state;
    check_saturated(ITG_OP_ADD, ONE("Add", "f32", ""), 2);
    check_saturated(ITG_OP_SUB, ONE("Sub", "f32", ""), 2);
    check_saturated(ITG_OP_MUL, ONE("Mul", "f32", ""), 2);
    check_saturated(ITG_OP_ADD, ONE("Add", "rescale", ",'requantize':'r'"), 2);
    check_saturated(ITG_OP_MUL, ONE("Mul", "product", ",'requantize':'r'"), 2);
    check_saturated(ITG_OP_AVERAGE_POOL, ONE("AveragePool", "f32", ""), 2);
    check_saturated(ITG_OP_AVERAGE_POOL, ONE("AveragePool", "rescale", ",'requantize':'r'"), 2);
    check_saturated(ITG_OP_LEAKY_RELU, ONE("LeakyRelu", "lut", ""), 1); /* -40 becomes -0.4 */
    check_saturated(ITG_OP_ABS, ONE("Abs", "lut", ""), 1);
    check_saturated(ITG_OP_RELU, ONE("Relu", "rescale", ",'requantize':'r'"), 1);
}

/* ---- what check counts ---- */

static void products_are_counted_whatever_the_weights_rank(void **state)
{
    static const float w[6] = {1, 2, 3, 4, 5, 6};
    static const int64_t wanted[] = {4 * 3, 4 * 3 * 2, 4 * 3 * 2, 2 * 6};
    itg_hardware *hw = NULL;
    itg_check *check = NULL;
    itg_attrs conv = itg_attrs_default(ITG_OP_CONV);
    conv.spatial_rank = 1;
    conv.kernel[0] = 1;
    conv.kernel[1] = 3;
    assert_int_equal(itg_hardware_load("x86-vnni", &hw, NULL), ITG_OK);
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "4,3"), line = net_input(g, "line", "2,1,4"),
           vector = NODE(g, "vector", ITG_OP_MATMUL, NULL, x, net_constant(g, "v", "3", w)),
           matrix = NODE(g, "matrix", ITG_OP_MATMUL, NULL, x, net_constant(g, "m", "3,2", w)),
           gemm = net_gemm(g, "gemm", x, "2,3", w, ITG_NONE),
           images = NODE(g, "images", ITG_OP_CONV, &conv, line, net_constant(g, "c", "1,1,3", w));
    net_end(g, 2, (itg_id[]){x, line}, 4, (itg_id[]){vector, matrix, gemm, images});
    itg_model *model = g;
    assert_int_equal(itg_check_model(model, hw, &check, NULL), ITG_OK);
    assert_int_equal(itg_check_count(check), 4);
    for (int32_t i = 0; i < 4; i++)
        assert_int_equal(itg_check_node(check, i)->macs, wanted[i]);
    itg_check_destroy(check);
    itg_hardware_destroy(hw);
    itg_graph_destroy(g);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_become_codes),
        cmocka_unit_test(float_islands_with_mixed_readers),
        cmocka_unit_test(float_nodes_with_results_left_out),
        cmocka_unit_test(saturation_and_overflow_are_counted),
        cmocka_unit_test(every_form_counts_what_saturates),
        cmocka_unit_test(products_are_counted_whatever_the_weights_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
