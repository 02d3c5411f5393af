/* The container: values, nodes, names, uses, order, copies. */
#include "graph/edit.h"
#include "make.h"

static void test_names_are_unique_and_found(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_error err = {0};
    itg_id x = add_input(g, "x", "1,4"), id = 77;
    assert_int_equal(itg_graph_add_value(g, "x", ITG_F32, NULL, NULL, &id, &err), ITG_BAD_FILE);
    assert_string_equal(err.message, "net.onnx: the name 'x' is used twice");
    assert_int_equal(id, 77);
    ADD_OP(g, ITG_OP_RELU, "r", NULL, x);
    assert_int_equal(itg_graph_add_node(g, "r", ITG_OP_RELU, &x, 1, NULL, 0, NULL, &id, &err),
                     ITG_BAD_FILE);
    for (int i = 0; i < 1000; ++i) {
        assert_int_equal(itg_graph_add_value(g, NULL, ITG_F32, NULL, NULL, &id, NULL), ITG_OK);
        assert_int_equal(itg_graph_find_value(g, g->values[id].name), id);
    }
    assert_int_equal(itg_graph_find_value(g, "x"), x);
    assert_int_equal(itg_graph_find_value(g, "nothing"), ITG_NONE);
    assert_int_equal(itg_graph_find_node(g, "r"), 0);
    assert_int_equal(itg_graph_find_node(g, "x"), ITG_NONE);
    itg_graph_destroy(g);
}

static void test_constants_are_copied(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    float data[4] = {1, 2, 3, 4};
    itg_id c = add_floats(g, "c", "2,2", data);
    data[0] = 9;
    itg_tensor t = itg_graph_tensor(g, c);
    assert_true(itg_graph_is_constant(g, c));
    assert_false(itg_graph_is_constant(g, ITG_NONE));
    assert_true(((const float *)t.data)[0] == 1.0f);
    assert_int_equal(t.shape.rank, 2);
    itg_graph_destroy(g);
}

static void test_a_value_has_one_source(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_error err = {0};
    itg_id x = add_input(g, "x", "4"), y = ADD_OP(g, ITG_OP_RELU, "y", NULL, x), node = 5;
    assert_int_equal(itg_graph_add_node(g, "again", ITG_OP_RELU, &x, 1, &y, 1, NULL, &node, &err),
                     ITG_BAD_FILE);
    assert_string_equal(err.message,
                        "net.onnx: node 'again': its output 'y' is already defined elsewhere");
    assert_int_equal(itg_graph_add_node(g, "loop", ITG_OP_RELU, &x, 1, &x, 1, NULL, &node, &err),
                     ITG_BAD_FILE);
    assert_int_equal(itg_graph_set_inputs(g, &y, 1, &err), ITG_BAD_FILE);
    assert_int_equal(g->node_count, 1);
    assert_int_equal(node, 5);
    itg_graph_destroy(g);
}

static void test_uses_count_slots_and_outputs(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "4"), z = add_input(g, "z", "4");
    itg_id y = ADD_OP(g, ITG_OP_ADD, "y", NULL, x, x);
    set_output(g, y);
    assert_int_equal(itg_graph_use_count(g, x), 2);
    assert_int_equal(itg_graph_use_count(g, y), 1);
    itg_graph_replace_uses(g, x, z);
    assert_int_equal(itg_graph_use_count(g, x), 0);
    assert_int_equal(itg_graph_use_count(g, z), 2);
    itg_graph_replace_uses(g, y, z);
    assert_int_equal(g->outputs[0], z);
    itg_graph_destroy(g);
}

/* After any edit the counts are those of a walk over all nodes, and readers come in order. */
static void test_readers_follow_edits(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "4"), z = add_input(g, "z", "4");
    itg_id y = ADD_OP(g, ITG_OP_ADD, "y", NULL, x, x);
    itg_id r = ADD_OP(g, ITG_OP_RELU, "r", NULL, y), w = ADD_OP(g, ITG_OP_ADD, "w", NULL, y, r);
    set_output(g, w);
    itg_readers readers = itg_readers_of(g, y);
    assert_true(itg_next_reader(g, &readers));
    assert_int_equal(readers.node, g->values[r].producer);
    assert_true(itg_next_reader(g, &readers));
    assert_int_equal(readers.node, g->values[w].producer);
    assert_false(itg_next_reader(g, &readers));
    assert_int_equal(itg_graph_only_reader(g, y), ITG_NONE); /* two */
    assert_int_equal(itg_graph_only_reader(g, r), g->values[w].producer);
    assert_int_equal(itg_graph_only_reader(g, w), ITG_NONE); /* the graph's output */

    itg_graph_set_input(g, g->values[w].producer, 0, z);
    assert_int_equal(itg_graph_only_reader(g, y), g->values[r].producer);
    assert_int_equal(itg_graph_only_reader(g, z), g->values[w].producer);
    itg_graph_drop_inputs(g, g->values[y].producer, 1);
    assert_int_equal(itg_graph_only_reader(g, x), g->values[y].producer);
    const itg_id three[] = {z, z, x};
    assert_int_equal(itg_graph_set_node_inputs(g, g->values[r].producer, three, 3, NULL), ITG_OK);
    assert_int_equal(itg_graph_use_count(g, z), 3);
    assert_int_equal(itg_graph_use_count(g, y), 0);
    itg_kill_node(g, g->values[r].producer);
    assert_int_equal(itg_graph_only_reader(g, z), g->values[w].producer);
    assert_int_equal(itg_graph_only_reader(g, x), g->values[y].producer);
    itg_graph_destroy(g);
}

/* A pass that writes inputs by itself is found out. */
static void test_sort_finds_reads_that_were_not_counted(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_error err = {0};
    itg_id x = add_input(g, "x", "4"), z = add_input(g, "z", "4");
    itg_id y = ADD_OP(g, ITG_OP_ADD, "y", NULL, x, x);
    set_output(g, y);
    g->nodes[g->values[y].producer].inputs[1] = z;
    assert_int_equal(itg_graph_sort(g, &err), ITG_BAD_ARGUMENT);
    assert_string_equal(err.message, "net.onnx: value 'x' has 1 reads, but counts 2");
    itg_graph_destroy(g);
}

/* d(c(a), b), written backwards, with a dead branch. */
static void test_sort_orders_and_removes_dead_nodes(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "4"), v[5], node;
    const char *names[] = {"d", "c", "b", "a", "dead"};
    for (int i = 0; i < 5; ++i)
        assert_int_equal(itg_graph_add_value(g, names[i], ITG_F32, NULL, NULL, &v[i], NULL),
                         ITG_OK);
    add_floats(g, "unused", "4", NULL);
    assert_int_equal(itg_graph_add_node(g, "nd", ITG_OP_ADD, (itg_id[]){v[1], v[2]}, 2, &v[0], 1,
                                        NULL, &node, NULL),
                     0);
    assert_int_equal(
        itg_graph_add_node(g, "nc", ITG_OP_RELU, &v[3], 1, &v[1], 1, NULL, &node, NULL), 0);
    assert_int_equal(itg_graph_add_node(g, "nb", ITG_OP_RELU, &x, 1, &v[2], 1, NULL, &node, NULL),
                     0);
    assert_int_equal(itg_graph_add_node(g, "na", ITG_OP_RELU, &x, 1, &v[3], 1, NULL, &node, NULL),
                     0);
    assert_int_equal(
        itg_graph_add_node(g, "ndead", ITG_OP_RELU, &x, 1, &v[4], 1, NULL, &node, NULL), 0);
    set_output(g, v[0]);
    assert_int_equal(itg_graph_sort(g, NULL), ITG_OK);
    const char *expected[] = {"nb", "na", "nc", "nd"}; /* b is ready first among the old ids */
    assert_int_equal(g->node_count, 4);
    for (int i = 0; i < 4; ++i) {
        assert_string_equal(g->nodes[i].name, expected[i]);
        assert_int_equal(itg_graph_find_node(g, expected[i]), i);
        assert_int_equal(g->values[g->nodes[i].outputs[0]].producer, i);
    }
    assert_int_equal(itg_graph_find_value(g, "dead"), ITG_NONE);
    assert_int_equal(itg_graph_find_value(g, "unused"), ITG_NONE);
    assert_int_equal(itg_graph_find_node(g, "ndead"), ITG_NONE);
    assert_string_equal(g->values[g->outputs[0]].name, "d");
    assert_string_equal(g->values[g->inputs[0]].name, "x");
    itg_graph_destroy(g);
}

static void test_sort_keeps_an_order_that_is_topological(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "4");
    itg_id a = ADD_OP(g, ITG_OP_RELU, "a", NULL, x), b = ADD_OP(g, ITG_OP_RELU, "b", NULL, a);
    itg_id c = ADD_OP(g, ITG_OP_RELU, "c", NULL, x), d = ADD_OP(g, ITG_OP_ADD, "d", NULL, c, b);
    set_output(g, d);
    assert_int_equal(itg_graph_sort(g, NULL), ITG_OK);
    for (int i = 0; i < 4; ++i)
        assert_int_equal(g->nodes[i].name[0], "abcd"[i]);
    itg_graph_destroy(g);
}

static void test_sort_names_a_cycle_and_leaves_the_graph(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_error err = {0};
    itg_id x = add_input(g, "x", "4"), a, b, node;
    assert_int_equal(itg_graph_add_value(g, "a", ITG_F32, NULL, NULL, &a, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "b", ITG_F32, NULL, NULL, &b, NULL), ITG_OK);
    assert_int_equal(
        itg_graph_add_node(g, "na", ITG_OP_ADD, (itg_id[]){x, b}, 2, &a, 1, NULL, &node, NULL), 0);
    assert_int_equal(itg_graph_add_node(g, "nb", ITG_OP_RELU, &a, 1, &b, 1, NULL, &node, NULL), 0);
    set_output(g, b);
    assert_int_equal(itg_graph_sort(g, &err), ITG_BAD_FILE);
    assert_string_equal(err.message,
                        "net.onnx: node 'na' (Add): it depends on its own output: a cycle");
    assert_int_equal(g->node_count, 2);
    assert_string_equal(g->nodes[0].name, "na");
    itg_graph_destroy(g);
}

static void test_sort_names_what_is_never_produced(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_error err = {0};
    itg_id ghost;
    assert_int_equal(itg_graph_add_value(g, "ghost", ITG_F32, NULL, NULL, &ghost, NULL), ITG_OK);
    itg_id y = ADD_OP(g, ITG_OP_RELU, "y", NULL, ghost);
    set_output(g, y);
    assert_int_equal(itg_graph_sort(g, &err), ITG_BAD_FILE);
    assert_string_equal(err.message,
                        "net.onnx: node 'y' (Relu): its input 'ghost' is never produced");
    set_output(g, ghost);
    assert_int_equal(itg_graph_sort(g, &err), ITG_BAD_FILE);
    assert_string_equal(err.message, "net.onnx: graph output 'ghost' is never produced");
    itg_graph_destroy(g);
}

static itg_graph *small_net(float weight, int64_t stride)
{
    itg_graph *g = make_graph();
    itg_attrs a = itg_attrs_default(ITG_OP_CONV);
    a.stride[0] = a.stride[1] = stride;
    itg_id x = add_input(g, "x", "1,1,4,4"), w = add_floats(g, "w", "1,1,1,1", &weight);
    itg_id y = ADD_OP(g, ITG_OP_CONV, "y", &a, x, w);
    set_output(g, y);
    assert_int_equal(infer_all(g, NULL), ITG_OK);
    return g;
}

static void test_hash_sees_function_and_names(void **state)
{
    (void)state;
    unsigned char a[32], b[32];
    itg_graph *g = small_net(1, 1), *copy = NULL;
    g->source_hash[3] = 7;
    g->dropped_softmax = true;
    assert_int_equal(itg_graph_clone(g, &copy, NULL), ITG_OK);
    itg_graph_hash(g, a);
    itg_graph_hash(copy, b);
    assert_memory_equal(a, b, 32);
    assert_memory_equal(g->source_hash, copy->source_hash, 32);
    assert_true(copy->dropped_softmax && copy->arena != g->arena);
    g->dropped_softmax = false;
    itg_graph_hash(g, a);
    assert_memory_not_equal(a, b, 32);
    itg_graph *others[] = {small_net(2, 1), small_net(1, 2), small_net(-1, 1)};
    for (size_t i = 0; i < 3; ++i) {
        itg_graph_hash(others[i], b);
        assert_memory_not_equal(a, b, 32);
        itg_graph_destroy(others[i]);
    }
    g->nodes[0].attrs.epsilon = 5; /* not an attribute of Conv */
    itg_graph_hash(g, b);
    assert_memory_equal(a, b, 32);
    g->nodes[0].name = "z";
    itg_graph_hash(g, b);
    assert_memory_not_equal(a, b, 32);
    itg_graph_destroy(g);
    itg_graph_destroy(copy);
}

static void test_hash_sees_float_attributes(void **state)
{
    (void)state;
    unsigned char digests[2][32];
    for (int i = 0; i < 2; ++i) {
        itg_graph *g = make_graph();
        itg_attrs a = itg_attrs_default(ITG_OP_LEAKY_RELU);
        a.alpha = i ? 0.2f : 0.1f;
        itg_id x = add_input(g, "x", "4");
        set_output(g, ADD_OP(g, ITG_OP_LEAKY_RELU, "y", &a, x));
        assert_int_equal(infer_all(g, NULL), ITG_OK);
        itg_graph_hash(g, digests[i]);
        itg_graph_destroy(g);
    }
    assert_memory_not_equal(digests[0], digests[1], 32);
}

/* The same on every platform: a fixed graph has a fixed hash. */
static void test_hash_is_a_known_number(void **state)
{
    (void)state;
    unsigned char digest[32];
    char text[65];
    itg_graph *g = small_net(0.5f, 2);
    itg_graph_hash(g, digest);
    itg_sha256_hex(digest, text);
    assert_string_equal(text, "b39fb6dbc3ae48c6a1428c06389135afdc42fe8c3776500f1fbdcc8ce919c356");
    itg_graph_destroy(g);
}

static void test_print_is_stable_text(void **state)
{
    (void)state;
    itg_graph *g = make_graph();
    itg_strbuf text = {0};
    itg_attrs clip = itg_attrs_default(ITG_OP_CLIP), conv = itg_attrs_default(ITG_OP_CONV);
    clip.min = 0;
    clip.max = 6;
    conv.pad[1] = 1;
    itg_id x = add_input(g, "x", "1,2,4,4"), w = add_floats(g, "w", "3,2,1,1", NULL);
    itg_id c = ADD_OP(g, ITG_OP_CONV, "c", &conv, x, w, ITG_NONE),
           y = ADD_OP(g, ITG_OP_CLIP, "y", &clip, c);
    set_output(g, y);
    itg_graph_print(g, &text);
    assert_non_null(strstr(text.text, "%2 c = Conv(%0 x, %1 w, -)"));
    assert_non_null(strstr(text.text, ": f32[?]  # c\n"));
    itg_strbuf_deinit(&text);
    text = (itg_strbuf){0};
    assert_int_equal(infer_all(g, NULL), ITG_OK);
    itg_graph_print(g, &text);
    assert_string_equal(text.text,
                        "graph net.onnx\n"
                        "input %0 x : f32[1,2,4,4]\n"
                        "constant %1 w : f32[3,2,1,1]\n"
                        "%2 c = Conv(%0 x, %1 w, -) {kernel=[1,1] stride=[1,1] dilation=[1,1] "
                        "pad=[0,1,0,0] group=1} : f32[1,3,4,5]  # c\n"
                        "%3 y = Clip(%2 c) {min=0 max=6} : f32[1,3,4,5]  # y\n"
                        "output %3 y : f32[1,3,4,5]\n");
    itg_strbuf_deinit(&text);
    itg_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_unique_and_found),
        cmocka_unit_test(test_constants_are_copied),
        cmocka_unit_test(test_a_value_has_one_source),
        cmocka_unit_test(test_uses_count_slots_and_outputs),
        cmocka_unit_test(test_readers_follow_edits),
        cmocka_unit_test(test_sort_finds_reads_that_were_not_counted),
        cmocka_unit_test(test_sort_orders_and_removes_dead_nodes),
        cmocka_unit_test(test_sort_keeps_an_order_that_is_topological),
        cmocka_unit_test(test_sort_names_a_cycle_and_leaves_the_graph),
        cmocka_unit_test(test_sort_names_what_is_never_produced),
        cmocka_unit_test(test_hash_sees_function_and_names),
        cmocka_unit_test(test_hash_sees_float_attributes),
        cmocka_unit_test(test_hash_is_a_known_number),
        cmocka_unit_test(test_print_is_stable_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
