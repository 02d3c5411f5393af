/* Look-ups and text of an annotated graph made by hand. */
#include "make.h"
#include "graph/annotated.h"

static const float scales[] = {0.5f, 0.25f};
static const itg_requant requants[] = {
    {.stage_count = 2, .stage = {{77, 3, ITG_ROUND_HALF_UP}, {1, 5, ITG_ROUND_HALF_AWAY}}},
    {.is_f32 = true, .ratio = 0.125f}};

/* x -> c = Conv(x, w, no bias) -> y = Relu(c); edges: x.0, w.1, c.0, output. */
static itg_annotated *make_annotated(itg_graph *g)
{
    itg_arena *arena = itg_arena_create(0);
    assert_non_null(arena);
    itg_annotated *a = itg_arena_alloc(arena, sizeof *a);
    a->arena = arena;
    a->graph = g;
    a->edge_count = 4;
    a->edges = itg_arena_array(arena, 4, sizeof *a->edges);
    a->values = itg_arena_array(arena, 4, sizeof *a->values);
    a->nodes = itg_arena_array(arena, 2, sizeof *a->nodes);
    a->edge_of_node = itg_arena_array(arena, 3, sizeof *a->edge_of_node);
    a->edges[0] = (itg_edge){0, 0, 0, ITG_EDGE_QUANT, 0};
    a->edges[1] = (itg_edge){1, 0, 1, ITG_EDGE_QUANT, 0};
    a->edges[2] = (itg_edge){2, 1, 0, ITG_EDGE_FUSED, -1};
    a->edges[3] = (itg_edge){3, ITG_NONE, 0, ITG_EDGE_FLOAT, 0};
    a->edge_of_node[1] = 2;
    a->edge_of_node[2] = 3;
    for (int v = 0; v < 4; ++v) {
        a->values[v].encoding_count = v != 2;
        a->values[v].encodings = itg_arena_array(arena, 1, sizeof *a->values[v].encodings);
    }
    a->values[0].encodings[0] = (itg_encoding){.q = {8, false, ITG_U8, 0, 255, 3, -1, 1, scales},
                                               .clamp_hi = 255,
                                               .requant = requants,
                                               .requant_count = 2};
    a->values[1].encodings[0] = (itg_encoding){
        .q = {4, true, ITG_S8, -7, 7, 0, 0, 2, scales}, .clamp_lo = -7, .clamp_hi = 7};
    a->values[3].encodings[0] =
        (itg_encoding){.is_float = true, .dequant = scales, .dequant_count = 1};
    static const int64_t bias[] = {5, -6};
    a->nodes[0] = (itg_node_note){.form = ITG_FORM_MAC,
                                  .acc = {32, ITG_OVERFLOW_SATURATE},
                                  .activation = 1,
                                  .out_value = 3,
                                  .bias = bias,
                                  .bias_count = 2};
    a->nodes[1] = (itg_node_note){.form = ITG_FORM_FUSED, .activation = ITG_NONE};
    return a;
}

static itg_graph *make_net(void)
{
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,1,4,5"), w = add_floats(g, "w", "2,1,1,1", NULL);
    itg_id c = ADD_OP(g, ITG_OP_CONV, "c", NULL, x, w, ITG_NONE);
    set_output(g, ADD_OP(g, ITG_OP_RELU, "y", NULL, c));
    assert_int_equal(infer_all(g, NULL), ITG_OK);
    return g;
}

static void test_edges_are_found_by_node_and_slot(void **state)
{
    (void)state;
    itg_graph *g = make_net();
    itg_annotated *a = make_annotated(g);
    assert_ptr_equal(itg_annotated_edge(a, 0, 0), &a->edges[0]);
    assert_ptr_equal(itg_annotated_edge(a, 0, 1), &a->edges[1]);
    assert_null(itg_annotated_edge(a, 0, 2)); /* left out */
    assert_null(itg_annotated_edge(a, 0, 3));
    assert_ptr_equal(itg_annotated_edge(a, 1, 0), &a->edges[2]);
    assert_ptr_equal(itg_annotated_edge(a, ITG_NONE, 0), &a->edges[3]);
    assert_null(itg_annotated_edge(a, ITG_NONE, 1));
    assert_ptr_equal(itg_annotated_encoding(a, 0, 1), &a->values[1].encodings[0]);
    assert_null(itg_annotated_encoding(a, 1, 0)); /* fused */
    assert_ptr_equal(itg_annotated_encoding(a, ITG_NONE, 0), &a->values[3].encodings[0]);
    itg_annotated_destroy(a);
    itg_annotated_destroy(NULL);
    itg_graph_destroy(g);
}

static void test_an_edge_behind_a_left_out_input(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    float six = 6;
    itg_id x = add_input(g, "x", "4"), max = add_floats(g, "max", "", &six);
    set_output(g, ADD_OP(g, ITG_OP_CLIP, "y", NULL, x, ITG_NONE, max));
    itg_edge edges[3] = {0};
    int32_t edge_of_node[2] = {0, 2};
    itg_annotated a = {.graph = g, .edge_count = 3, .edges = edges, .edge_of_node = edge_of_node};
    assert_ptr_equal(itg_annotated_edge(&a, 0, 2), &edges[1]);
    assert_null(itg_annotated_edge(&a, 0, 1));
    assert_ptr_equal(itg_annotated_edge(&a, ITG_NONE, 0), &edges[2]);
    itg_graph_destroy(g);
}

static void test_text(void **state)
{
    (void)state;
    itg_graph *g = make_net();
    itg_annotated *a = make_annotated(g);
    itg_strbuf text = {0};
    itg_annotated_print(a, &text);
    assert_string_equal(
        text.text, "annotated net.onnx\n"
                   "node c Conv: mac accumulator=32 saturate activation=y bias[2]=5,-6\n"
                   "  edge %0 x -> c.0: u8 u8 in [0,255] zero_point=3 scale=0x1p-1 clamp [0,255] "
                   "requant[2]=(*77>>3 half_up; *1>>5 half_away)(*0x1p-3)\n"
                   "  edge %1 w -> c.1: s8 s4 in [-7,7] zero_point=0 axis=0 scale[2]=0x1p-1,0x1p-2 "
                   "clamp [-7,7]\n"
                   "node y Relu: fused\n"
                   "  edge %2 c -> y.0: fused\n"
                   "outputs\n"
                   "  edge %3 y -> output.0: float dequant=0x1p-1\n");
    itg_strbuf_deinit(&text);
    itg_annotated_destroy(a);
    itg_graph_destroy(g);
    for (int f = 0; f < ITG_FORM_COUNT; ++f)
        assert_string_not_equal(itg_form_name((itg_form)f), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges_are_found_by_node_and_slot),
        cmocka_unit_test(test_an_edge_behind_a_left_out_input),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
