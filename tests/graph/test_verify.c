/* The verifier names what is wrong with a damaged graph. */
#include "make.h"

/* x[1,2,4,4] -> c = Conv(w) -> r = Relu -> y = Add(r, c) */
static itg_graph *make_good(void)
{
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,4,4"), w = add_floats(g, "w", "3,2,1,1", NULL);
    itg_id c = ADD_OP(g, ITG_OP_CONV, "c", NULL, x, w), r = ADD_OP(g, ITG_OP_RELU, "r", NULL, c);
    set_output(g, ADD_OP(g, ITG_OP_ADD, "y", NULL, r, c));
    assert_int_equal(infer_all(g, NULL), ITG_OK);
    assert_int_equal(itg_graph_verify(g, NULL), ITG_OK);
    return g;
}

static void refuse(itg_graph *g, const char *message)
{
    itg_error err = {0};
    assert_int_not_equal(itg_graph_verify(g, &err), ITG_OK);
    assert_string_equal(err.message, message);
    itg_graph_destroy(g);
}

static void test_shapes_must_be_known_and_positive(void **state)
{
    (void)state;
    itg_graph *g = make_good();
    g->values[itg_graph_find_value(g, "r")].shape.rank = -1;
    refuse(g, "net.onnx: value 'r' has no shape");
    g = make_good();
    g->values[itg_graph_find_value(g, "r")].shape.dims[2] = 0;
    refuse(g, "net.onnx: value 'r' has shape [1,3,0,4]; positive dimensions are expected");
    g = make_good();
    g->values[itg_graph_find_value(g, "r")].shape.dims[2] = -1;
    refuse(g, "net.onnx: value 'r' has shape [1,3,?,4]; positive dimensions are expected");
}

static void test_inputs_must_exist_and_come_before(void **state)
{
    (void)state;
    itg_graph *g = make_good();
    g->nodes[1].inputs[0] = 99;
    refuse(g, "net.onnx: node 'r' (Relu): its input 0 is no value");
    g = make_good();
    g->nodes[1].inputs[0] = itg_graph_find_value(g, "y");
    refuse(g,
           "net.onnx: node 'r' (Relu): its input 'y' is produced behind it: no topological order");
    g = make_good();
    g->nodes[1].inputs[0] = ITG_NONE;
    refuse(g, "net.onnx: node 'r' (Relu): input 0 must not be left out");
    g = make_good();
    g->nodes[2].input_count = 1;
    refuse(g, "net.onnx: node 'y' (Add): 1 inputs; expected 2 to 2");
    g = make_good();
    g->nodes[2].output_count = 0;
    refuse(g, "net.onnx: node 'y' (Add): 0 outputs; expected 1 to 1");
}

static void test_every_value_has_one_source(void **state)
{
    (void)state;
    itg_graph *g = make_good();
    g->values[itg_graph_find_value(g, "w")].data = NULL;
    refuse(g, "net.onnx: value 'w' has 0 sources; expected one");
    g = make_good();
    g->values[itg_graph_find_value(g, "r")].is_input = true;
    refuse(g, "net.onnx: value 'r' has 2 sources; expected one");
    g = make_good();
    g->values[itg_graph_find_value(g, "r")].producer = 0;
    refuse(g, "net.onnx: node 'r' (Relu): its output 'r' has another producer");
}

static void test_dtypes_of_arithmetic(void **state)
{
    (void)state;
    itg_graph *g = make_good();
    g->values[itg_graph_find_value(g, "w")].dtype = ITG_S32;
    refuse(g, "net.onnx: node 'c' (Conv): its input 'w' is s32; expected f32");
}

static void test_names_and_ends(void **state)
{
    (void)state;
    itg_graph *g = make_good();
    g->values[itg_graph_find_value(g, "r")].name = "x";
    refuse(g, "net.onnx: the name 'x' is used twice");
    g = make_good();
    g->nodes[1].name = "";
    refuse(g, "net.onnx: node 1 has no name");
    g = make_good();
    g->nodes[1].name = "c";
    refuse(g, "net.onnx: node 'c' (Relu): its name is used twice");
    g = make_good();
    g->output_count = 0;
    refuse(g, "net.onnx: it has no outputs");
    g = make_good();
    g->values[g->inputs[0]].is_input = false;
    refuse(g, "net.onnx: graph input 0 is no input value");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_must_be_known_and_positive),
        cmocka_unit_test(test_inputs_must_exist_and_come_before),
        cmocka_unit_test(test_every_value_has_one_source),
        cmocka_unit_test(test_dtypes_of_arithmetic),
        cmocka_unit_test(test_names_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
