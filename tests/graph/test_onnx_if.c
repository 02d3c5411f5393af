/* An If whose condition follows from constants and shapes is the branch that it takes; the other
 * one need not even fit. */
#include <stdio.h>
#include "kernels/float_ops.h"
#include "onnx_wire.h"

static wire node_of(const char *op, const char *input, const char *output)
{
    wire node = {0};
    if (*input) wire_text(&node, NODE_INPUT, input);
    wire_text(&node, NODE_OUTPUT, output);
    wire_text(&node, NODE_OP, op);
    return node;
}

static void add_branch(wire *node, const char *name, wire *graph)
{
    wire attr = {0};
    wire_text(&attr, ATTR_NAME, name);
    wire_message(&attr, ATTR_G, graph);
    wire_int(&attr, ATTR_TYPE, 5);
    wire_message(node, NODE_ATTRIBUTE, &attr);
}

static void add_shape_test(wire *graph, int64_t value)
{
    wire shape = node_of("Shape", "x", "shape"), equal = node_of("Equal", "shape", "is");
    wire tensor = {0};
    wire_int(&tensor, TENSOR_DIMS, 1);
    wire_int(&tensor, TENSOR_TYPE, TYPE_INT64);
    wire_text(&tensor, TENSOR_NAME, "k");
    wire_int(&tensor, TENSOR_INT64S, value);
    wire_message(graph, GRAPH_INITIALIZER, &tensor);
    wire_message(graph, GRAPH_NODE, &shape);
    wire_text(&equal, NODE_INPUT, "k");
    wire_message(graph, GRAPH_NODE, &equal);
}

/* x[4] -> If (shape == value): then r = Relu(x) else r = Flatten(Tanh(x), axis beyond its rank). */
static itg_status import(int64_t value, const char *condition, itg_graph **out, itg_error *err)
{
    wire graph = {0}, model = {0}, yes = {0}, no = {0}, node, inner;
    itg_graph *source = NULL;
    itg_prepare_options options = {.eval = itg_float_eval, .keep_batch = true};
    wire_value(&graph, GRAPH_INPUT, "x", TYPE_FLOAT, 4);
    wire_value(&graph, GRAPH_INPUT, "open", TYPE_BOOL, 1);
    wire_value(&graph, GRAPH_OUTPUT, "y", TYPE_FLOAT, 4);
    add_shape_test(&graph, value);
    inner = node_of("Relu", "x", "r");
    wire_message(&yes, GRAPH_NODE, &inner);
    wire_value(&yes, GRAPH_OUTPUT, "r", TYPE_FLOAT, 4);
    inner = node_of("Tanh", "x", "t");
    wire_message(&no, GRAPH_NODE, &inner);
    inner = node_of("GlobalAveragePool", "t", "r"); /* of rank 1: does not fit */
    wire_message(&no, GRAPH_NODE, &inner);
    wire_value(&no, GRAPH_OUTPUT, "r", TYPE_FLOAT, 4);
    node = node_of("If", condition, "i");
    add_branch(&node, "then_branch", &yes);
    add_branch(&node, "else_branch", &no);
    wire_message(&graph, GRAPH_NODE, &node);
    wire_node(&graph, "Neg", "i", "y");
    wire_model(&model, &graph, 13);
    *out = NULL;
    itg_status status = import_bytes(model.text, model.length, &source, err);
    itg_strbuf_deinit(&model);
    if (status == ITG_OK) status = itg_graph_prepare(source, &options, out, err);
    itg_graph_destroy(source);
    return status;
}

static void the_branch_that_is_taken_is_the_network(void **state)
{
    (void)state;
    itg_graph *g;
    itg_error err = {0};
    if (import(4, "is", &g, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_int_equal(g->node_count, 2);
    assert_int_equal(g->nodes[0].op, ITG_OP_RELU);
    assert_string_equal(g->values[g->nodes[0].outputs[0]].name, "r");
    assert_int_equal(g->nodes[1].op, ITG_OP_NEG);
    assert_false(g->nodes[0].in_branch);
    itg_graph_destroy(g);
}

static void a_branch_that_is_taken_must_fit(void **state)
{
    (void)state;
    itg_graph *g;
    itg_error err = {0};
    assert_int_not_equal(import(5, "is", &g, &err), ITG_OK);
    assert_null(g);
    assert_non_null(strstr(err.message, "test.onnx"));
}

static void a_condition_that_varies_is_refused(void **state)
{
    (void)state;
    itg_graph *g;
    itg_error err = {0};
    assert_int_equal(import(4, "open", &g, &err), ITG_UNSUPPORTED);
    assert_non_null(strstr(err.message, "(If): its condition 'open' is not a constant bool"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_branch_that_is_taken_is_the_network),
        cmocka_unit_test(a_branch_that_is_taken_must_fit),
        cmocka_unit_test(a_condition_that_varies_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
