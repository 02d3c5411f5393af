/* Outputs that the caller chooses: what lies behind them, and inputs that only that needs, are not
 * even looked at. */
#include "onnx_wire.h"
#include <stdio.h>

/* x -> Relu -> r -> NonMaxSuppression (with the input "limit") -> y;  r -> Tanh -> t */
static itg_status import(const char *outputs, itg_graph **out, itg_error *err)
{
    wire graph = {0}, model = {0}, node = {0};
    itg_onnx_file *file = NULL;
    wire_value(&graph, GRAPH_INPUT, "x", TYPE_FLOAT, 4);
    wire_value(&graph, GRAPH_INPUT, "limit", TYPE_FLOAT, 4);
    wire_value(&graph, GRAPH_OUTPUT, "y", TYPE_FLOAT, 4);
    wire_text(&node, NODE_INPUT, "r");
    wire_text(&node, NODE_INPUT, "limit");
    wire_text(&node, NODE_OUTPUT, "y");
    wire_text(&node, NODE_OP, "NonMaxSuppression");
    wire_message(&graph, GRAPH_NODE, &node);
    wire_node(&graph, "Tanh", "r", "t");
    wire_node(&graph, "Relu", "x", "r");
    wire_model(&model, &graph, 13);
    *out = NULL;
    itg_status status = itg_onnx_file_parse((const unsigned char *)model.text, model.length,
                                            "test.onnx", itg_budget_of(model.length), &file, err);
    assert_int_equal(status, ITG_OK);
    status = itg_onnx_import_file(file, outputs, out, err);
    itg_onnx_file_destroy(file);
    itg_strbuf_deinit(&model);
    return status;
}

static void chosen(const char *outputs, int32_t nodes, const char *first)
{
    itg_graph *g;
    itg_error err = {0};
    if (import(outputs, &g, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_int_equal(g->node_count, nodes);
    assert_int_equal(g->input_count, 1);
    assert_string_equal(g->values[g->inputs[0]].name, "x");
    assert_string_equal(g->values[g->outputs[0]].name, first);
    itg_graph_destroy(g);
}

static void only_what_the_outputs_need_is_imported(void **state)
{
    (void)state;
    chosen("r", 1, "r");
    chosen("t", 2, "t");
    chosen("t,r", 2, "t");
    chosen("r,t", 2, "r");
}

static void refused(const char *outputs, itg_status wanted, const char *part)
{
    itg_graph *g;
    itg_error err = {0};
    assert_int_equal(import(outputs, &g, &err), wanted);
    assert_null(g);
    if (!strstr(err.message, part)) fail_msg("\"%s\"; expected \"%s\"", err.message, part);
}

static void outputs_that_are_none_are_refused(void **state)
{
    (void)state;
    refused("", ITG_UNSUPPORTED, "NonMaxSuppression");
    refused("y", ITG_UNSUPPORTED, "NonMaxSuppression");
    refused("q", ITG_BAD_ARGUMENT, "output 'q' is wanted, and no node makes");
    refused("r,", ITG_BAD_ARGUMENT, "output '' is wanted");
    refused("r,t,r", ITG_BAD_ARGUMENT, "output 'r' is wanted twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_the_outputs_need_is_imported),
        cmocka_unit_test(outputs_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
