/* Functions of a model are written out: nodes, names, attributes, opsets. */
#include "onnx_wire.h"
#include <stdio.h>

enum {
    FUNCTION_NAME = 1,
    FUNCTION_INPUT = 4,
    FUNCTION_OUTPUT = 5,
    FUNCTION_NODE = 7,
    FUNCTION_OPSET = 9,
    FUNCTION_DOMAIN = 10,
    FUNCTION_PRESET = 11,
    FUNCTION_OVERLOAD = 13,
    NODE_OVERLOAD = 8,
    ATTR_F = 2,
    ATTR_REFERENCE = 21,
    MODEL_FUNCTION = 25
};

static void put_float(wire *attr, float value)
{
    wire_varint(attr, ATTR_F << 3 | 5);
    itg_strbuf_bytes(attr, &value, sizeof value); /* little-endian machines run this test */
}

static void set_float(wire *node, uint32_t field, const char *name, float value)
{
    wire attr = {0};
    wire_text(&attr, ATTR_NAME, name);
    put_float(&attr, value);
    wire_int(&attr, ATTR_TYPE, 1);
    wire_message(node, field, &attr);
}

static void refer(wire *node, const char *name, const char *to)
{
    wire attr = {0};
    wire_text(&attr, ATTR_NAME, name);
    wire_int(&attr, ATTR_TYPE, 1);
    wire_text(&attr, ATTR_REFERENCE, to);
    wire_message(node, NODE_ATTRIBUTE, &attr);
}

static wire node_of(const char *domain, const char *op, const char *name, const char *input,
                    const char *output)
{
    wire node = {0};
    wire_text(&node, NODE_INPUT, input);
    wire_text(&node, NODE_OUTPUT, output);
    if (*name) wire_text(&node, NODE_NAME, name);
    wire_text(&node, NODE_OP, op);
    if (*domain) wire_text(&node, NODE_DOMAIN, domain);
    return node;
}

static wire function_of(const char *name, const char *input, const char *output, int64_t opset)
{
    wire function = {0}, version = {0};
    wire_text(&function, FUNCTION_NAME, name);
    wire_text(&function, FUNCTION_DOMAIN, "mine");
    wire_text(&function, FUNCTION_INPUT, input);
    wire_text(&function, FUNCTION_OUTPUT, output);
    if (opset) {
        wire_int(&version, OPSET_VERSION, opset);
        wire_message(&function, FUNCTION_OPSET, &version);
    }
    return function;
}

/* Leak: LeakyRelu with the caller's slope, 0.5 where it says none. Twice: Leak of Leak. */
static void add_functions(wire *model)
{
    wire leak = function_of("Leak", "x", "y", 16), twice = function_of("Twice", "a", "b", 16);
    wire node = node_of("", "LeakyRelu", "l", "x", "y");
    refer(&node, "alpha", "slope");
    wire_message(&leak, FUNCTION_NODE, &node);
    set_float(&leak, FUNCTION_PRESET, "slope", 0.5f);
    wire_message(model, MODEL_FUNCTION, &leak);
    node = node_of("mine", "Leak", "", "a", "m");
    refer(&node, "slope", "first");
    wire_message(&twice, FUNCTION_NODE, &node);
    node = node_of("mine", "Leak", "", "m", "b");
    wire_message(&twice, FUNCTION_NODE, &node);
    wire_message(model, MODEL_FUNCTION, &twice);
}

static wire model_of(wire *graph)
{
    wire model = {0};
    wire_value(graph, GRAPH_INPUT, "x", TYPE_FLOAT, 4);
    wire_value(graph, GRAPH_OUTPUT, "y", TYPE_FLOAT, 4);
    wire_model(&model, graph, 13);
    return model;
}

static itg_graph *import(wire *model)
{
    itg_graph *g = NULL;
    itg_error err = {0};
    assert_true(itg_strbuf_ok(model));
    if (import_bytes(model->text, model->length, &g, &err) != ITG_OK) fail_msg("%s", err.message);
    itg_strbuf_deinit(model);
    return g;
}

static void calls_become_the_nodes_of_their_functions(void **state)
{
    (void)state;
    wire graph = {0}, node = node_of("mine", "Twice", "block", "x", "m");
    set_float(&node, NODE_ATTRIBUTE, "first", 0.25f);
    wire_message(&graph, GRAPH_NODE, &node);
    node = node_of("mine", "Leak", "", "m", "y");
    wire_message(&graph, GRAPH_NODE, &node);
    wire model = model_of(&graph);
    add_functions(&model);
    itg_graph *g = import(&model);
    static const float slopes[] = {0.25f, 0.5f, 0.5f};
    static const char *const outputs[] = {"block/m", "m", "y"};
    static const char *const names[] = {"block/Leak/l", "block/Leak_2/l", "Leak/l"};
    assert_int_equal(g->node_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(g->nodes[i].op, ITG_OP_LEAKY_RELU);
        assert_true(g->nodes[i].attrs.alpha == slopes[i]);
        assert_string_equal(g->values[g->nodes[i].outputs[0]].name, outputs[i]);
        assert_string_equal(g->nodes[i].name, names[i]);
        assert_int_equal(g->nodes[i].opset, 16);
    }
    itg_graph_destroy(g);
}

static void an_attribute_that_nobody_states_is_left_out(void **state)
{
    (void)state;
    wire graph = {0}, function = function_of("Plain", "x", "y", 0);
    wire node = node_of("", "LeakyRelu", "", "x", "y");
    refer(&node, "alpha", "slope");
    wire_message(&function, FUNCTION_NODE, &node);
    node = node_of("mine", "Plain", "p", "x", "y");
    wire_message(&graph, GRAPH_NODE, &node);
    wire model = model_of(&graph);
    wire_message(&model, MODEL_FUNCTION, &function);
    itg_graph *g = import(&model);
    assert_true(g->nodes[0].attrs.alpha == 0.01f);
    assert_string_equal(g->nodes[0].name, "p/LeakyRelu");
    assert_int_equal(g->nodes[0].opset, 13);
    itg_graph_destroy(g);
}

static void an_overload_is_a_function_of_its_own(void **state)
{
    (void)state;
    wire graph = {0}, model = {0};
    wire node = node_of("mine", "F", "f", "x", "y");
    wire_text(&node, NODE_OVERLOAD, "two");
    wire_message(&graph, GRAPH_NODE, &node);
    model = model_of(&graph);
    for (int i = 0; i < 2; i++) {
        wire function = function_of("F", "x", "y", 0);
        node = node_of("", i ? "Tanh" : "Relu", "", "x", "y");
        wire_message(&function, FUNCTION_NODE, &node);
        if (i) wire_text(&function, FUNCTION_OVERLOAD, "two");
        wire_message(&model, MODEL_FUNCTION, &function);
    }
    itg_graph *g = import(&model);
    assert_int_equal(g->nodes[0].op, ITG_OP_TANH);
    itg_graph_destroy(g);
}

static wire model_calling(const char *name, wire *function)
{
    wire graph = {0}, node = node_of("mine", name, "call", "x", "y");
    wire_message(&graph, GRAPH_NODE, &node);
    wire model = model_of(&graph);
    wire_message(&model, MODEL_FUNCTION, function);
    return model;
}

static void what_cannot_be_written_out_is_refused(void **state)
{
    (void)state;
    wire f = function_of("Loop", "x", "y", 0), node = node_of("mine", "Loop", "", "x", "y");
    wire_message(&f, FUNCTION_NODE, &node);
    wire model = model_calling("Loop", &f);
    assert_refused(&model, ITG_BAD_FILE, "function 'Loop'", "calls itself");

    f = function_of("Same", "x", "x", 0);
    model = model_calling("Same", &f);
    assert_refused(&model, ITG_UNSUPPORTED, "function 'Same'", "'x' stands twice");

    f = function_of("Old", "x", "y", 3);
    node = node_of("", "Relu", "", "x", "y");
    wire_message(&f, FUNCTION_NODE, &node);
    model = model_calling("Old", &f);
    assert_refused(&model, ITG_UNSUPPORTED, "call/Relu", "of opset 3; 7 to");

    f = function_of("Open", "x", "y", 0);
    node = node_of("", "Relu", "", "nothing", "y");
    wire_message(&f, FUNCTION_NODE, &node);
    model = model_calling("Open", &f);
    assert_refused(&model, ITG_BAD_FILE, "call/Relu", "'call/nothing' is defined nowhere");

    wire graph = {0};
    node = node_of("mine", "Leak", "", "x", "y");
    wire_text(&node, NODE_INPUT, "x");
    wire_message(&graph, GRAPH_NODE, &node);
    model = model_of(&graph);
    add_functions(&model);
    assert_refused(&model, ITG_BAD_FILE, "(Leak)",
                   "2 inputs and 1 outputs; its function has 1 and 1");

    graph = (wire){0};
    wire_node(&graph, "Relu", "x", "y");
    model = model_of(&graph);
    add_functions(&model);
    add_functions(&model);
    assert_refused(&model, ITG_BAD_FILE, "function 'Leak'", "defined twice");
}

/* F0 calls F1 twice, F1 calls F2 twice...: 2^30 nodes of a file of 3 kB. */
static void a_file_that_would_grow_without_bound_is_refused(void **state)
{
    (void)state;
    wire graph = {0}, node = node_of("mine", "F0", "", "x", "y");
    wire_message(&graph, GRAPH_NODE, &node);
    wire model = model_of(&graph);
    for (int i = 0; i < 30; i++) {
        char name[8], next[8];
        snprintf(name, sizeof name, "F%d", i);
        snprintf(next, sizeof next, "F%d", i + 1);
        wire f = function_of(name, "x", "y", 0);
        const char *domain = i < 29 ? "mine" : "", *op = i < 29 ? next : "Relu";
        node = node_of(domain, op, "", "x", "m");
        wire_message(&f, FUNCTION_NODE, &node);
        node = node_of(domain, op, "", "m", "y");
        wire_message(&f, FUNCTION_NODE, &node);
        wire_message(&model, MODEL_FUNCTION, &f);
    }
    assert_refused(&model, ITG_NO_MEMORY, "more memory than its size allows", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_become_the_nodes_of_their_functions),
        cmocka_unit_test(an_attribute_that_nobody_states_is_left_out),
        cmocka_unit_test(an_overload_is_a_function_of_its_own),
        cmocka_unit_test(what_cannot_be_written_out_is_refused),
        cmocka_unit_test(a_file_that_would_grow_without_bound_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
