/* All that keeps a file from being imported is named at once, by kind and with its number. */
#include "onnx_wire.h"
#include <stdio.h>

#define FILE_NAME TEST_FOLDER "/survey.onnx"

static void add_node(wire *graph, const char *domain, const char *op, const char *name,
                     const char *input, const char *output, bool subgraph)
{
    wire node = {0}, attr = {0};
    wire_text(&node, NODE_INPUT, input);
    wire_text(&node, NODE_OUTPUT, output);
    wire_text(&node, NODE_NAME, name);
    wire_text(&node, NODE_OP, op);
    if (*domain) wire_text(&node, NODE_DOMAIN, domain);
    if (subgraph) {
        wire_text(&attr, ATTR_NAME, "body");
        wire_int(&attr, ATTR_TYPE, 5);
        wire_text(&attr, ATTR_G, "");
        wire_message(&node, NODE_ATTRIBUTE, &attr);
    }
    wire_message(graph, GRAPH_NODE, &node);
}

static void add_initializer(wire *graph, const char *name, int32_t type)
{
    wire tensor = {0};
    wire_int(&tensor, TENSOR_DIMS, 1);
    wire_int(&tensor, TENSOR_TYPE, type);
    wire_text(&tensor, TENSOR_NAME, name);
    wire_text(&tensor, TENSOR_RAW, "a");
    wire_message(graph, GRAPH_INITIALIZER, &tensor);
}

static void save(wire *graph, int64_t opset)
{
    wire model = {0}, version = {0}, function = {0};
    wire_int(&model, MODEL_IR, 8);
    wire_message(&model, MODEL_GRAPH, graph);
    wire_int(&version, OPSET_VERSION, opset);
    wire_message(&model, MODEL_OPSET, &version);
    wire_text(&function, 1, "Block");
    wire_text(&function, 4, "x");
    wire_text(&function, 5, "y");
    wire_text(&function, 10, "mine");
    wire inner = {0};
    wire_text(&inner, NODE_INPUT, "x");
    wire_text(&inner, NODE_OUTPUT, "y");
    wire_text(&inner, NODE_OP, "Thing");
    wire_message(&function, 7, &inner);
    wire_message(&model, 25, &function);
    assert_int_equal(itg_file_write(FILE_NAME, model.text, model.length, NULL), ITG_OK);
    itg_strbuf_deinit(&model);
}

static const itg_refusal *find(const itg_refusals *all, const char *what)
{
    for (int32_t i = 0; i < all->count; i++)
        if (strcmp(all->at[i].what, what) == 0) return &all->at[i];
    fail_msg("'%s' is not listed", what);
    return NULL;
}

static void check(const itg_refusals *all, const char *what, int64_t count, const char *why,
                  const char *first, const char *help)
{
    const itg_refusal *r = find(all, what);
    assert_int_equal(r->count, count);
    if (!strstr(r->why, why)) fail_msg("%s: '%s'", what, r->why);
    assert_string_equal(r->first, first);
    assert_non_null(r->help);
    if (!strstr(r->help, help)) fail_msg("%s: '%s'", what, r->help);
}

static void a_bad_network(wire *graph)
{
    wire_value(graph, GRAPH_INPUT, "x", TYPE_FLOAT, 1);
    wire_value(graph, GRAPH_INPUT, "words", TYPE_STRING, 1);
    add_initializer(graph, "k", 17); /* FLOAT8E4M3FN */
    add_initializer(graph, "l", 17);
    add_node(graph, "", "NonMaxSuppression", "a", "x", "1", false);
    add_node(graph, "", "Loop", "b", "1", "2", true);
    add_node(graph, "", "NonMaxSuppression", "c", "2", "3", false);
    add_node(graph, "com.microsoft", "Gelu", "d", "3", "4", false);
    add_node(graph, "mine", "Block", "e", "4", "5", false);
    add_node(graph, "", "Relu", "f", "5", "6", false);
    add_node(graph, "ai.onnx.ml", "Scaler", "g", "6", "7", false);
    add_node(graph, "", "DynamicQuantizeLinear", "h", "7", "y", false);
    wire_value(graph, GRAPH_OUTPUT, "y", TYPE_FLOAT, 1);
}

static void every_kind_is_named_with_its_number_and_what_would_help(void **state)
{
    (void)state;
    wire graph = {0};
    itg_refusals *all = calloc(1, sizeof *all);
    itg_graph *g = NULL;
    itg_error err = {0};
    a_bad_network(&graph);
    save(&graph, 13);
    assert_int_equal(itg_onnx_import_collect(FILE_NAME, "", all, &g, &err), ITG_UNSUPPORTED);
    assert_null(g);
    assert_int_equal(all->count, 8);
    check(all, "operator NonMaxSuppression", 2, "is not supported", "node 0 'a'", "without fusing");
    check(all, "operator Loop", 1, "control flow", "node 1 'b'", "fixed input sizes");
    check(all, "operator com.microsoft.Gelu", 1, "domain", "node 3 'd'", "optimizations");
    check(all, "operator Thing", 1, "is not supported", "node 4 'e/Thing'", "other operators");
    check(all, "operator ai.onnx.ml.Scaler", 1, "domain", "node 6 'g'", "ONNX itself");
    check(all, "operator DynamicQuantizeLinear", 1, "already quantized", "node 7 'h'",
          "float model");
    check(all, "initializer", 2, "FLOAT8", "k", "float32");
    check(all, "input", 1, "STRING", "words", "float32");
    free(all);
    remove(FILE_NAME);
}

static void one_message_names_the_first_and_the_others(void **state)
{
    (void)state;
    wire graph = {0};
    itg_graph *g = NULL;
    itg_error err = {0};
    a_bad_network(&graph);
    save(&graph, 13);
    assert_int_equal(itg_onnx_import(FILE_NAME, "", &g, &err), ITG_UNSUPPORTED);
    static const char *const parts[] = {"initializer 'k'", "(2 times); also refused: ",
                                        "operator NonMaxSuppression (2)", "operator Thing (1)"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(err.message, parts[i])) fail_msg("%s", err.message);
    assert_int_equal(itg_onnx_import(FILE_NAME, "", &g, NULL), ITG_UNSUPPORTED);
    remove(FILE_NAME);
}

/* Attributes mean other things in other opsets: only what no opset has is named beside it. */
static void an_opset_that_is_not_known_hides_no_operator(void **state)
{
    (void)state;
    wire graph = {0};
    itg_refusals *all = calloc(1, sizeof *all);
    itg_graph *g = NULL;
    itg_error err = {0};
    wire_value(&graph, GRAPH_INPUT, "x", TYPE_FLOAT, 1);
    add_node(&graph, "", "Relu", "r", "x", "1", true);
    add_node(&graph, "", "NonMaxSuppression", "n", "1", "y", false);
    add_node(&graph, "", "Flatten", "f", "nowhere", "z", false);
    wire_value(&graph, GRAPH_OUTPUT, "y", TYPE_FLOAT, 1);
    save(&graph, 29);
    assert_int_equal(itg_onnx_import_collect(FILE_NAME, "", all, &g, &err), ITG_UNSUPPORTED);
    assert_int_equal(all->count, 3);
    check(all, "opset", 1, "opset 29; 7 to 28", "", "version_converter");
    check(all, "operator NonMaxSuppression", 1, "not supported", "node 1 'n'", "another opset");
    find(all, "operator Relu"); /* a subgraph in it */
    free(all);
    remove(FILE_NAME);
}

static void kinds_beyond_the_list_are_counted(void **state)
{
    (void)state;
    enum { NODES = ITG_MOST_REFUSALS + 40 };
    wire graph = {0};
    itg_refusals *all = calloc(1, sizeof *all);
    itg_graph *g = NULL;
    itg_error err = {0};
    wire_value(&graph, GRAPH_INPUT, "x", TYPE_FLOAT, 1);
    for (int i = 0; i < NODES; i++) {
        char op[32], out[32];
        snprintf(op, sizeof op, "Custom%d", i);
        snprintf(out, sizeof out, "o%d", i);
        add_node(&graph, "", op, "n", "x", out, false);
    }
    save(&graph, 13);
    assert_int_equal(itg_onnx_import_collect(FILE_NAME, "", all, &g, &err), ITG_UNSUPPORTED);
    assert_int_equal(all->count, ITG_MOST_REFUSALS);
    assert_int_equal(all->others, 40);
    assert_true(strlen(err.message) < sizeof err.message);
    free(all);
    remove(FILE_NAME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_named_with_its_number_and_what_would_help),
        cmocka_unit_test(one_message_names_the_first_and_the_others),
        cmocka_unit_test(an_opset_that_is_not_known_hides_no_operator),
        cmocka_unit_test(kinds_beyond_the_list_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
