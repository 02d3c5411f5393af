/* The nth allocation fails, for every n: reading, importing and writing end with ITG_NO_MEMORY and
 * leak nothing (the sanitizers see it). */
#include "onnx_wire.h"
#include <stdio.h>
#include "tests/faults.h"

/* A model with something of everything: attributes, tensors of two kinds, Constant nodes, made
 * inputs. */
static void make_model(wire *model)
{
    static const unsigned char raw[16] = {0};
    wire graph = {0}, tensor = {0}, attr = {0}, node = {0};
    wire_value(&graph, GRAPH_INPUT, "x", TYPE_FLOAT, 4);
    wire_value(&graph, GRAPH_OUTPUT, "y", TYPE_FLOAT, 4);
    wire_raw_tensor(&tensor, TYPE_FLOAT, 4, raw, 16);
    wire_message(&graph, GRAPH_INITIALIZER, &tensor);
    wire_raw_tensor(&tensor, TYPE_FLOAT16, 4, raw, 8);
    wire_text(&attr, ATTR_NAME, "value");
    wire_message(&attr, ATTR_T, &tensor);
    wire_int(&attr, ATTR_TYPE, 4);
    wire_message(&node, NODE_ATTRIBUTE, &attr);
    wire_text(&node, NODE_OUTPUT, "c");
    wire_text(&node, NODE_OP, "Constant");
    wire_message(&graph, GRAPH_NODE, &node);
    wire_text(&attr, ATTR_NAME, "axes");
    wire_int(&attr, ATTR_INTS, 0);
    wire_int(&attr, ATTR_TYPE, 7);
    wire_message(&node, NODE_ATTRIBUTE, &attr);
    wire_text(&node, NODE_INPUT, "x");
    wire_text(&node, NODE_OUTPUT, "u");
    wire_text(&node, NODE_OP, "Unsqueeze");
    wire_message(&graph, GRAPH_NODE, &node);
    wire_text(&node, NODE_INPUT, "u");
    wire_text(&node, NODE_INPUT, "c");
    wire_text(&node, NODE_INPUT, "w");
    wire_text(&node, NODE_OUTPUT, "y");
    wire_text(&node, NODE_OP, "Max");
    wire_message(&graph, GRAPH_NODE, &node);
    wire_model(model, &graph, 11);
    assert_true(itg_strbuf_ok(model));
}

static void importing_survives_every_failed_allocation(void **state)
{
    (void)state;
    wire model = {0};
    itg_status status = ITG_NO_MEMORY;
    int n = 0;
    make_model(&model);
    for (; status != ITG_OK && n < 10000; n++) {
        itg_graph *graph = NULL;
        itg_error err = {0};
        calls_left = n;
        status = import_bytes(model.text, model.length, &graph, &err);
        calls_left = -1;
        assert_int_equal(status == ITG_OK, graph != NULL);
        if (status != ITG_OK && err.code != ITG_NO_MEMORY) fail_msg("%s", err.message);
        itg_graph_destroy(graph);
    }
    assert_int_equal(status, ITG_OK);
    assert_true(n > 20);
    itg_strbuf_deinit(&model);
}

static itg_status write_model(itg_error *err)
{
    static const char *const x[] = {"x", "w"}, *const y[] = {"y"};
    static float zeros[4];
    itg_onnx_writer *w = NULL;
    itg_tensor tensor = {ITG_F32, {.rank = 1, .dims = {4}}, zeros};
    itg_status status = itg_onnx_writer_create("net", "1", &w, err);
    if (status != ITG_OK) return status;
    itg_onnx_writer_opset(w, "", 13);
    itg_onnx_writer_input(w, "x", ITG_F32, &tensor.shape);
    itg_onnx_writer_output(w, "y", ITG_F32, &tensor.shape);
    for (int i = 0; i < 100; i++)
        itg_onnx_writer_initializer(w, "w", &tensor);
    itg_onnx_writer_node(w, "", "Add", "n", x, 2, y, 1);
    itg_onnx_writer_ints(w, "ints", (int64_t[]){1, 2}, 2);
    itg_onnx_writer_string(w, "s", "text");
    status = itg_onnx_writer_save(w, TEST_FOLDER "/faults.onnx", err);
    itg_onnx_writer_destroy(w);
    return status;
}

static void writing_survives_every_failed_allocation(void **state)
{
    (void)state;
    itg_status status = ITG_NO_MEMORY;
    int n = 0;
    for (; status != ITG_OK && n < 1000; n++) {
        itg_error err = {0};
        calls_left = n;
        status = write_model(&err);
        calls_left = -1;
        if (status != ITG_OK && err.code != ITG_NO_MEMORY) fail_msg("%s", err.message);
    }
    assert_int_equal(status, ITG_OK);
    assert_true(n > 4);
    remove(TEST_FOLDER "/faults.onnx");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(importing_survives_every_failed_allocation),
        cmocka_unit_test(writing_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
