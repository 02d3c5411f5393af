/* Edges, groups and widths. Edge numbers follow the order of annotated.h. */
#include "helpers.h"
#include <stdio.h>
#include <stdlib.h>

static itg_choice_space *space_of(const itg_hardware *hw, const itg_graph *g,
                                  const itg_space_options *options)
{
    itg_choice_space *space = NULL;
    itg_error err = {0};
    if (itg_choice_space_create(hw, g, options, &space, &err) != ITG_OK)
        fail_msg("%s", err.message);
    return space;
}

static void expect_infeasible(const itg_hardware *hw, const itg_graph *g,
                              const itg_space_options *options, const char *message)
{
    itg_choice_space *space = NULL;
    itg_error err = {0};
    assert_int_equal(itg_choice_space_create(hw, g, options, &space, &err), ITG_INFEASIBLE);
    assert_null(space);
    assert_string_equal(err.message, message);
}

/* Allowed widths of the edge as "4,5,6"; "-": nothing to choose. Static text: one at a time. */
static const char *widths(const itg_choice_space *space, int32_t edge)
{
    static char text[200];
    size_t used = 0;
    if (space->edge_group[edge] < 0) return "-";
    const itg_choice_group *group = &space->groups[space->edge_group[edge]];
    for (int32_t i = 0; i < group->bits_count; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%d", i ? "," : "", group->bits[i]);
    return text;
}

static void expect_widths(const itg_choice_space *space, const char *const *expected, int32_t count)
{
    assert_int_equal(space->edge_count, count);
    for (int32_t e = 0; e < count; e++)
        assert_string_equal(widths(space, e), expected[e]);
}

static void edges_come_in_order_and_groups_by_first_edge(void **state)
{
    (void)state;
    itg_hardware *hw = load("x86-vnni");
    itg_graph *g = make_chain();
    itg_choice_space *s = space_of(hw, g, NULL);
    static const itg_edge_ref order[] = {
        {0, 0, 0}, {0, 0, 1}, {0, 0, 2}, {0, 1, 0}, {0, 2, 0}, {0, 3, 0}, {0, 3, 1},
        {0, 4, 0}, {0, 4, 1}, {0, 5, 0}, {0, 6, 0}, {0, 6, 1}, {0, 6, 2}, {0, ITG_NONE, 0}};
    static const char *const values[] = {"x",     "w1", "b1",  "conv1", "relu1", "pool", "w2",
                                         "conv2", "k",  "add", "flat",  "w3",    "b3",   "fc"};
    /* -1: biases and the fused edge; the pool's and Flatten's inputs go with their outputs' readers
     */
    static const int32_t groups[] = {0, 1, -1, -1, 2, 2, 3, 4, 5, 6, 6, 7, -1, 8};
    assert_int_equal(s->edge_count, 14);
    assert_int_equal(s->group_count, 9);
    for (int32_t e = 0; e < 14; e++) {
        assert_string_equal(g->values[s->edges[e].value].name, values[e]);
        assert_int_equal(s->edges[e].node, order[e].node);
        assert_int_equal(s->edges[e].slot, order[e].slot);
        assert_int_equal(s->edge_group[e], groups[e]);
    }
    for (int32_t i = 0; i < 9; i++) {
        assert_int_equal(s->groups[i].is_weight, i == 1 || i == 3 || i == 7);
        assert_int_equal(s->groups[i].is_graph_input, i == 0);
        assert_int_equal(s->groups[i].is_graph_output, i == 8);
        assert_int_equal(s->groups[i].edge_count, i == 2 || i == 6 ? 2 : 1);
        assert_int_equal(s->groups[i].dtype_mask, s->groups[i].is_weight ? 6 : 1); /* w8, w7 */
        assert_string_equal(widths(s, s->groups[i].edges[0]), "2,3,4,5,6,7,8");
    }
    assert_int_equal(s->groups[2].edges[1], 5);
    assert_int_equal(s->groups[1].weight_elements, 8 * 4 * 3 * 3);
    assert_int_equal(s->groups[5].weight_elements,
                     6); /* a constant operand counts, but is no weight */
    assert_int_equal(s->groups[7].weight_elements, 960);
    assert_int_equal(s->groups[0].weight_elements, 0);
    itg_choice_space_destroy(s);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

/* x -> a -> b -> c: the values of three steps. Those of one number have one group, whatever reads
 * them, but not the network's output. */
static void values_that_repeat_have_one_group(void **state)
{
    (void)state;
    itg_hardware *hw = load("x86-vnni");
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,8"), step[3], both = x;
    static const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++)
        both = step[i] = ADD_NODE(g, ITG_OP_ADD, names[i], "1,8", NULL, both, x);
    finish(g, x, step[2]);
    itg_choice_space *s = space_of(hw, g, NULL);
    const int32_t apart = s->group_count;
    itg_choice_space_destroy(s);
    for (int i = 0; i < 3; i++)
        g->values[step[i]].repeat = g->repeat_count = 1;
    s = space_of(hw, g, NULL);
    assert_int_equal(s->group_count, apart - 1);
    assert_int_equal(s->edge_group[2], s->edge_group[4]); /* b reads a, c reads b */
    assert_int_not_equal(s->edge_group[2], s->edge_group[3]);
    assert_int_not_equal(s->edge_group[2], s->edge_group[6]); /* the output */
    itg_choice_space_destroy(s);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

static void all_float_has_nothing_to_choose(void **state)
{
    (void)state;
    itg_hardware *hw = load("float");
    itg_graph *g = make_chain();
    itg_choice_space *s = space_of(hw, g, NULL);
    assert_int_equal(s->group_count, 0);
    for (int32_t e = 0; e < s->edge_count; e++)
        assert_int_equal(s->edge_group[e], -1);
    itg_choice_space_destroy(s);
    itg_choice_space_destroy(NULL);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

/* Checks, for every combination of widths of a node's groups, that there is a spec, and that it
 * writes what is read. */
static void expect_every_combination(const itg_hardware *hw, const itg_graph *g,
                                     const itg_choice_space *s)
{
    for (itg_id n = 0; n < g->node_count; n++) {
        const itg_choice_group *in[2] = {NULL, NULL}, *weight = NULL;
        for (int32_t e = 0; e < s->edge_count; e++) {
            if (s->edges[e].node != n || s->edge_group[e] < 0) continue;
            const itg_choice_group *group = &s->groups[s->edge_group[e]];
            if (group->is_weight)
                weight = group;
            else
                in[s->edges[e].slot] = group;
        }
        if (!in[0]) continue; /* fused */
        for (int32_t i = 0; i < in[0]->bits_count; i++)
            for (int32_t j = 0; j < (in[1] ? in[1]->bits_count : 1); j++)
                for (int32_t k = 0; k < (weight ? weight->bits_count : 1); k++) {
                    int32_t bits[2] = {in[0]->bits[i], in[1] ? in[1]->bits[j] : 0};
                    const itg_hw_spec *spec = itg_hardware_match(
                        hw, g->nodes[n].op, bits, in[1] ? 2 : 1, weight ? weight->bits[k] : 0, 0);
                    assert_non_null(spec);
                    if (spec->form == ITG_FORM_KEEP) continue;
                    for (int32_t e = 0; e < s->edge_count; e++) {
                        itg_id producer = g->values[s->edges[e].value].producer;
                        if (producer != n || s->edge_group[e] < 0) continue;
                        const itg_choice_group *out = &s->groups[s->edge_group[e]];
                        for (int32_t b = 0; b < out->bits_count; b++)
                            assert_true(itg_hardware_dtype_for(hw, spec->output_mask, out->bits[b],
                                                               true) >= 0);
                    }
                }
    }
}

static void classes_that_do_not_mix_leave_the_first_by_default(void **state)
{
    (void)state;
    itg_hardware *hw = load("cortex-m");
    itg_graph *g = make_chain();
    itg_choice_space *s = space_of(hw, g, NULL);
    for (int32_t e = 0; e < s->edge_count; e++)
        if (s->edge_group[e] >= 0) assert_string_equal(widths(s, e), "2,3,4,5,6,7,8");
    expect_every_combination(hw, g, s);
    itg_choice_space_destroy(s);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

static void asking_for_wide_activations_leaves_the_wide_class(void **state)
{
    (void)state;
    itg_hardware *hw = load("cortex-m");
    itg_graph *g = make_chain();
    itg_space_options wide = {.activation = {16, 16}}, range = {.activation = {10, 12}},
                      both = {.activation = {7, 10}, .weight = {4, 5}};
    static const char *const sixteen[] = {"16", "2,3,4,5,6,7,8", "-",  "-",  "16",
                                          "16", "2,3,4,5,6,7,8", "16", "16", "16",
                                          "16", "2,3,4,5,6,7,8", "-",  "16"};
    itg_choice_space *s = space_of(hw, g, &wide);
    expect_widths(s, sixteen, 14);
    assert_int_equal(s->groups[0].dtype_mask, 1u << 2);
    expect_every_combination(hw, g, s);
    itg_choice_space_destroy(s);
    s = space_of(hw, g, &range);
    assert_string_equal(widths(s, 0), "10,11,12");
    expect_every_combination(hw, g, s);
    itg_choice_space_destroy(s);
    s = space_of(hw, g, &both); /* stated: taken as it is, also across classes */
    assert_string_equal(widths(s, 4), "7,8,9,10");
    assert_string_equal(widths(s, 1), "4,5");
    itg_choice_space_destroy(s);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

static void one_spec_of_many_classes_is_not_restricted(void **state)
{
    (void)state;
    /* Conv reads a8 and u8 and writes a8 in one spec: nothing depends on anything. */
    itg_hardware *hw = parse(chip);
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,4,4"), w = add_constant(g, "w", "2,2,1,1");
    itg_id pool = ADD_NODE(g, ITG_OP_MAX_POOL, "pool", "1,2,4,4", NULL, x);
    itg_id conv = ADD_NODE(g, ITG_OP_CONV, "conv", "1,2,4,4", NULL, pool, w);
    itg_id last = ADD_NODE(g, ITG_OP_MAX_POOL, "last", "1,2,4,4", NULL, conv);
    finish(g, x, last);
    itg_choice_space *s = space_of(hw, g, NULL);
    /* model_inputs a8, the pool a8 or a16, Conv a8 or u8: a8 is common to the group x, pool. */
    assert_int_equal(s->groups[s->edge_group[0]].dtype_mask, 1);
    assert_string_equal(widths(s, 0), "2,3,4,5,6,7,8");
    assert_string_equal(widths(s, 2), "2,3,4,5,6,7,8"); /* weight */
    assert_string_equal(widths(s, 3), "8");             /* tied to the output: output_bits 8..16 */
    assert_int_equal(s->edge_group[3], s->edge_group[4]);
    expect_every_combination(hw, g, s);
    itg_choice_space_destroy(s);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

static void tied_forms_join_groups(void **state)
{
    (void)state;
    char *text =
        replaced(chip,
                 "{\"arithmetic\": \"rescale\", \"inputs\": [\"a8\"],   \"outputs\": "
                 "[\"a8\"], \"left_shift\": 20,",
                 "{\"arithmetic\": \"equal_scale\", \"inputs\": [\"a8\"], \"outputs\": [\"a8\"],");
    itg_hardware *hw = parse(text), *x86 = load("x86-vnni");
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,4,4"), w = add_constant(g, "w", "2,2,1,1");
    itg_id a = ADD_NODE(g, ITG_OP_CONV, "a", "1,2,4,4", NULL, x, w);    /* edges 0, 1 */
    itg_id b = ADD_NODE(g, ITG_OP_CONV, "b", "1,2,4,4", NULL, x, w);    /* 2, 3 */
    itg_id sum = ADD_NODE(g, ITG_OP_ADD, "sum", "1,2,4,4", NULL, a, b); /* 4, 5 */
    finish(g, x, sum);
    itg_choice_space *s = space_of(hw, g, NULL);
    assert_int_equal(s->edge_group[4], s->edge_group[5]);
    assert_int_not_equal(s->edge_group[4], s->edge_group[6]); /* not with the sum */
    assert_int_not_equal(s->edge_group[0], s->edge_group[2]); /* two uses of x */
    assert_int_not_equal(s->edge_group[1], s->edge_group[3]); /* two uses of w */
    assert_int_equal(s->groups[s->edge_group[1]].weight_elements, 4);
    itg_choice_space_destroy(s);
    itg_graph_destroy(g);

    g = make_graph();
    x = add_input(g, "x", "1,2,4,4"), w = add_constant(g, "w", "2,2,1,1");
    itg_id k = add_constant(g, "k", "1,3,4,4");
    a = ADD_NODE(g, ITG_OP_CONV, "a", "1,2,4,4", NULL, x, w);                 /* 0, 1 */
    itg_id cat = ADD_NODE(g, ITG_OP_CONCAT, "cat", "1,7,4,4", NULL, a, k, x); /* 2, 3, 4 */
    itg_id tanh = ADD_NODE(g, ITG_OP_TANH, "tanh", "1,7,4,4", NULL, cat);     /* 5 */
    finish(g, x, tanh);
    assert_int_equal(itg_graph_set_outputs(g, (itg_id[]){tanh, cat, a}, 3, NULL), ITG_OK);
    s = space_of(x86, g, NULL); /* outputs: 6 tanh, 7 cat, 8 a */
    for (int32_t e = 3; e <= 7; e++)
        assert_int_equal(s->edge_group[e] == s->edge_group[2], e != 6);
    assert_int_not_equal(s->edge_group[8], s->edge_group[2]); /* another use of a */
    const itg_choice_group *group = &s->groups[s->edge_group[2]];
    assert_int_equal(group->edge_count, 5);
    assert_int_equal(group->weight_elements, 48);
    assert_true(group->is_graph_input && group->is_graph_output && !group->is_weight);
    itg_choice_space_destroy(s);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
    itg_hardware_destroy(x86);
    free(text);
}

static void float_readers_have_nothing_to_choose(void **state)
{
    (void)state;
    itg_hardware *hw = load("x86-vnni");
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,4,4"), w = add_constant(g, "w", "2,2,1,1");
    itg_id a = ADD_NODE(g, ITG_OP_CONV, "a", "1,2,4,4", NULL, x, w);
    itg_id soft = ADD_NODE(g, ITG_OP_SOFTMAX, "soft", "1,2,4,4", NULL, a);
    itg_id b = ADD_NODE(g, ITG_OP_CONV, "b", "1,2,4,4", NULL, soft, w);
    finish(g, x, b);
    assert_int_equal(itg_graph_set_outputs(g, (itg_id[]){b, soft, x}, 3, NULL), ITG_OK);
    itg_choice_space *s = space_of(hw, g, NULL);
    static const char *const all = "2,3,4,5,6,7,8";
    const char *const expected[] = {all, all, "-", all, all, all, "-", "-"};
    expect_widths(s, expected, 8);
    itg_choice_space_destroy(s);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

static void options_have_an_order(void **state)
{
    (void)state;
    const char *json = NULL;
    for (int i = 0; i < itg_hardware_builtin_count(); i++)
        if (strcmp(itg_hardware_builtin_name(i), "x86-vnni") == 0)
            json = itg_hardware_builtin_json(i);
    char *text = replaced(json, "\"dtypes\"",
                          "\"overrides\": [{\"node\": \"conv2\", \"weight_bits\": [8, 8], "
                          "\"activation_bits\": [7, 7]}], \"output_bits\": [6, 8], \"dtypes\"");
    itg_hardware *hw = parse(text);
    itg_graph *g = make_chain();
    itg_space_options o = {.weight = {2, 3}, .activation = {4, 6}, .input = {8, 8}};
    static const char *const expected[] = {"8",     "2,3",   "-",     "-",     "7",   "7", "8",
                                           "4,5,6", "4,5,6", "4,5,6", "4,5,6", "2,3", "-", "6"};
    itg_choice_space *s = space_of(hw, g, &o);
    expect_widths(s, expected, 14);
    itg_choice_space_destroy(s);
    o.output = (itg_bits_range){7, 16};
    s = space_of(hw, g, &o);
    assert_string_equal(widths(s, 13), "7,8");
    itg_choice_space_destroy(s);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
    free(text);
}

static void an_edge_without_a_width_is_named(void **state)
{
    (void)state;
    itg_hardware *hw = parse(chip);
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,4,4"), w = add_constant(g, "w", "2,2,1,1");
    itg_id a = ADD_NODE(g, ITG_OP_CONV, "a", "1,2,4,4", NULL, x, w);
    finish(g, x, ADD_NODE(g, ITG_OP_TANH, "act", "1,2,4,4", NULL, a));
    itg_space_options wide = {.activation = {16, 16}}, bad = {.weight = {8, 2}};
    expect_infeasible(
        hw, g, &wide,
        "model.onnx: value 'x' at node 'a': chip has no width within 16..16 bits there");
    itg_choice_space *space = NULL;
    itg_error err = {0};
    assert_int_equal(itg_choice_space_create(hw, g, &bad, &space, &err), ITG_BAD_ARGUMENT);
    assert_string_equal(err.message, "weight bits: expected 1 <= low <= high <= 32, got 8..2");
    /* Conv writes u8 only, Tanh reads a8 only. */
    char *text = replaced(chip, "\"weights\": [\"w8\"],   \"outputs\": [\"a8\"]",
                          "\"weights\": [\"w8\"],   \"outputs\": [\"u8\"]");
    itg_hardware *two = parse(text);
    itg_graph_destroy(g);
    g = make_graph();
    x = add_input(g, "x", "1,2,4,4"), w = add_constant(g, "w", "2,2,1,1");
    a = ADD_NODE(g, ITG_OP_CONV, "a", "1,2,4,4", NULL, x, w);
    finish(g, x, ADD_NODE(g, ITG_OP_TANH, "act", "1,2,4,4", NULL, a));
    expect_infeasible(
        two, g, NULL,
        "model.onnx: value 'a' at node 'act': chip has no dtype that both ends accept");
    free(text);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
    itg_hardware_destroy(two);
}

static void a_fused_activation_writes_what_its_host_writes(void **state)
{
    (void)state;
    itg_hardware *hw = parse(chip);
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,4,4"), w = add_constant(g, "w", "2,2,1,1");
    itg_id a = ADD_NODE(g, ITG_OP_CONV, "a", "1,2,4,4", NULL, x, w);
    itg_id relu = ADD_NODE(g, ITG_OP_RELU, "relu", "1,2,4,4", NULL, a);
    itg_id pool = ADD_NODE(g, ITG_OP_MAX_POOL, "pool", "1,2,4,4", NULL, relu);
    finish(g, x, pool);
    itg_choice_space *s = space_of(hw, g, NULL);
    assert_int_equal(s->edge_group[2], -1); /* the fused edge */
    assert_int_equal(s->groups[s->edge_group[3]].dtype_mask,
                     1u << 0); /* not a16, which MaxPool reads */
    itg_choice_space_destroy(s);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

/* The choice that keeps classes apart looks at all readers, also at those of the very first group:
 * here one group holds every activation, as the pool and Concat tie them. */
static void readers_in_the_first_group_count(void **state)
{
    (void)state;
    itg_hardware *hw =
        parse("{\"intaglio_hardware\": 1, \"name\": \"pair\", \"dtypes\": {"
              "\"a\": {\"storage\": \"u8\", \"bits\": [2, 8]}, "
              "\"b\": {\"storage\": \"u16\", \"bits\": [2, 16]}, "
              "\"w\": {\"storage\": \"s8\", \"bits\": [2, 8]}}, "
              "\"requantize\": {\"r\": {\"form\": \"f32\"}}, \"operators\": {"
              "\"MaxPool\": [{\"arithmetic\": \"keep_scale\", \"inputs\": [\"a\", \"b\"]}], "
              "\"Concat\": [{\"arithmetic\": \"keep_scale\", \"inputs\": [\"a\", \"b\"]}], "
              "\"Conv\": [{\"arithmetic\": \"mac\", \"inputs\": [\"a\"], \"weights\": [\"w\"], "
              "\"outputs\": [\"a\"], \"requantize\": \"r\", \"accumulator\": {\"bits\": 32}}, "
              "{\"arithmetic\": \"mac\", \"inputs\": [\"b\"], \"weights\": [\"w\"], "
              "\"outputs\": [\"b\"], \"requantize\": \"r\", \"accumulator\": {\"bits\": 32}}]}}");
    itg_attrs pool = itg_attrs_default(ITG_OP_MAX_POOL), conv = itg_attrs_default(ITG_OP_CONV),
              cat = itg_attrs_default(ITG_OP_CONCAT);
    pool.spatial_rank = conv.spatial_rank = 2;
    for (int d = 0; d < 2; d++)
        pool.kernel[d] = conv.kernel[d] = 1;
    cat.axis = 1;
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,4,4"), w = add_constant(g, "w", "2,2,1,1");
    itg_id p = ADD_NODE(g, ITG_OP_MAX_POOL, "p", "1,2,4,4", &pool, x);
    itg_id c = ADD_NODE(g, ITG_OP_CONV, "c", "1,2,4,4", &conv, p, w);
    finish(g, x, ADD_NODE(g, ITG_OP_CONCAT, "y", "1,4,4,4", &cat, p, c));
    itg_choice_space *s = space_of(hw, g, NULL);
    assert_int_equal(s->edge_group[0], 0);
    assert_int_equal(s->edge_group[s->edge_count - 1], 0);
    assert_int_equal(s->groups[0].dtype_mask, 1);
    itg_choice_space_destroy(s);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

/* ---- classes of dtypes, operator by operator ---- */

/* Dtypes 0 w (weights, 2..4 bits), 1 v (weights, 5..8), 2 a (2..8), 3 b (9..16). */
static itg_hardware *with_operator(const char *op, const char *specs)
{
    char text[2000];
    snprintf(text, sizeof text,
             "{\"intaglio_hardware\": 1, \"name\": \"classes\", \"dtypes\": {"
             "\"w\": {\"storage\": \"s8\", \"bits\": [2, 4]}, "
             "\"v\": {\"storage\": \"s8\", \"bits\": [5, 8]}, "
             "\"a\": {\"storage\": \"s8\", \"bits\": [2, 8]}, "
             "\"b\": {\"storage\": \"s16\", \"bits\": [9, 16]}}, "
             "\"requantize\": {\"r\": {\"form\": \"f32\"}}, "
             "\"model_inputs\": [\"a\", \"b\"], \"model_outputs\": [\"a\"], "
             "\"operators\": {\"%s\": [%s]}}",
             op, specs);
    return parse(text);
}

#define MAC(in, weight, out)                                                                       \
    "{\"arithmetic\": \"mac\", \"requantize\": \"r\", \"accumulator\": {\"bits\": 32}, "           \
    "\"inputs\": [" in "], \"weights\": [" weight "], \"outputs\": [" out "]}"
#define LUT(in, out) "{\"arithmetic\": \"lut\", \"inputs\": [" in "], \"outputs\": [" out "]}"
#define SUM(in, out)                                                                               \
    "{\"arithmetic\": \"rescale\", \"requantize\": \"r\", \"left_shift\": 4, "                     \
    "\"inputs\": [" in "], \"outputs\": [" out "]}"

#define NARROW "2,3,4,5,6,7,8"
#define BOTH NARROW ",9,10,11,12,13,14,15,16"

/* A single node y = op(x, second): a choice is taken away only where some combination of choices
 * has no spec, or one that does not write what is read of y. */
static void classes_stay_where_every_choice_has_a_spec(void **state)
{
    (void)state;
    static const struct {
        itg_op op;
        const char *specs, *x, *second; /* second NULL: none */
    } cases[] = {
        {ITG_OP_TANH, LUT("\"a\"", "\"a\"") ", " LUT("\"b\"", "\"a\""), BOTH, NULL},
        {ITG_OP_TANH, LUT("\"a\"", "\"a\"") ", " LUT("\"b\"", "\"b\""), NARROW, NULL},
        {ITG_OP_CONV, MAC("\"a\"", "\"w\"", "\"a\"") ", " MAC("\"b\"", "\"w\"", "\"a\""), BOTH,
         "2,3,4"},
        {ITG_OP_CONV, MAC("\"a\"", "\"w\"", "\"a\"") ", " MAC("\"b\"", "\"w\"", "\"b\""), NARROW,
         "2,3,4"},
        {ITG_OP_CONV, MAC("\"a\"", "\"w\"", "\"a\"") ", " MAC("\"a\"", "\"v\"", "\"a\""), NARROW,
         NARROW},
        {ITG_OP_CONV, MAC("\"a\"", "\"w\"", "\"a\"") ", " MAC("\"a\"", "\"v\"", "\"b\""), NARROW,
         "2,3,4"},
        {ITG_OP_CONV, MAC("\"a\"", "\"w\", \"v\"", "\"a\"") ", " MAC("\"b\"", "\"w\"", "\"a\""),
         NARROW, NARROW}, /* b beside v has none */
        {ITG_OP_ADD, SUM("\"a\", \"b\"", "\"a\""), BOTH, BOTH},
        {ITG_OP_ADD, SUM("\"a\"", "\"a\"") ", " SUM("\"b\"", "\"a\""), NARROW, NARROW},
        {ITG_OP_ADD,
         SUM("\"a\"", "\"a\"") ", " SUM("\"b\"", "\"a\"") ", " SUM("\"a\", \"b\"", "\"a\""), BOTH,
         BOTH},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        itg_hardware *hw = with_operator(itg_op_name(cases[i].op), cases[i].specs);
        itg_graph *g = make_graph();
        itg_id x = add_input(g, "x", "1,2,4,4"), z = x, y;
        if (cases[i].op == ITG_OP_TANH) {
            y = ADD_NODE(g, ITG_OP_TANH, "y", "1,2,4,4", NULL, x);
        } else {
            if (cases[i].op == ITG_OP_CONV) z = add_constant(g, "z", "2,2,1,1");
            y = ADD_NODE(g, cases[i].op, "y", "1,2,4,4", NULL, x, z);
        }
        finish(g, x, y);
        itg_choice_space *s = space_of(hw, g, NULL);
        assert_string_equal(widths(s, 0), cases[i].x);
        if (cases[i].second) assert_string_equal(widths(s, 1), cases[i].second);
        assert_string_equal(widths(s, s->edge_count - 1), NARROW);
        expect_every_combination(hw, g, s);
        itg_choice_space_destroy(s);
        itg_graph_destroy(g);
        itg_hardware_destroy(hw);
    }
}

/* Who states widths, of weights or of activations, gets them, whatever else there is a spec for. */
static void stated_widths_are_not_held_to_classes(void **state)
{
    (void)state;
    itg_hardware *hw =
        with_operator("Conv", MAC("\"a\"", "\"w\"", "\"a\"") ", " MAC("\"b\"", "\"v\"", "\"b\""));
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,4,4");
    finish(g, x,
           ADD_NODE(g, ITG_OP_CONV, "y", "1,2,4,4", NULL, x, add_constant(g, "z", "2,2,1,1")));
    static const struct {
        itg_space_options options;
        const char *x, *weights;
    } cases[] = {
        {{.weight = {0, 0}}, NARROW, "2,3,4"},
        {{.weight = {2, 8}}, NARROW, NARROW},
        {{.weight = {4, 5}}, NARROW, "4,5"},
        {{.input = {8, 9}}, "8,9", "2,3,4"},
        {{.activation = {2, 16}}, BOTH, "2,3,4"},
        {{.weight = {8, 8}, .activation = {7, 10}}, "7,8,9,10", "8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        itg_choice_space *s = space_of(hw, g, &cases[i].options);
        assert_string_equal(widths(s, 0), cases[i].x);
        assert_string_equal(widths(s, 1), cases[i].weights);
        itg_choice_space_destroy(s);
    }
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

/* As many dtypes as a description may have: the last counts as the first does. */
static void the_last_of_32_dtypes_is_one(void **state)
{
    (void)state;
    char text[4000] = "{\"intaglio_hardware\": 1, \"name\": \"many\", \"dtypes\": {";
    for (int i = 0; i < 32; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%s\"t%d\": {\"storage\": \"s8\", \"bits\": [%d, 8]}", i ? ", " : "", i,
                 i == 31 ? 5 : 8);
    snprintf(text + strlen(text), sizeof text - strlen(text), "}, \"operators\": {\"Tanh\": [%s]}}",
             LUT("\"t31\", \"t0\"", "\"t31\""));
    itg_hardware *hw = parse(text);
    itg_graph *g = make_graph();
    itg_id x = add_input(g, "x", "1,2,4,4");
    finish(g, x, ADD_NODE(g, ITG_OP_TANH, "y", "1,2,4,4", NULL, x));
    itg_choice_space *s = space_of(hw, g, NULL);
    assert_int_equal(s->groups[s->edge_group[0]].dtype_mask, 1u << 31 | 1u);
    assert_int_equal(s->groups[s->edge_group[1]].dtype_mask, 1u << 31);
    assert_string_equal(widths(s, 1), "5,6,7,8");
    itg_choice_space_destroy(s);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

/* Weights of float nodes have widths; nothing else has, nor what an override keeps in float. */
static void weights_of_float_nodes_have_widths(void **state)
{
    (void)state;
    static const char *const text = "{\"intaglio_hardware\": 1, \"name\": \"n\", \"float\": true,"
                                    " \"dtypes\": {\"w\": {\"storage\": \"s8\", \"bits\": [1, 4]}},"
                                    " \"float_weights\": {\"dtypes\": [\"w\"]}%s}";
    static const char *const overrides[] = {
        "", ", \"overrides\": [{\"node\": \"*\", \"float\": true}]"};
    for (int i = 0; i < 2; i++) {
        char whole[400];
        snprintf(whole, sizeof whole, text, overrides[i]);
        itg_hardware *hw = parse(whole);
        itg_graph *g = make_chain();
        itg_choice_space *s = space_of(hw, g, NULL);
        int32_t found = 0;
        for (int32_t e = 0; e < s->edge_count; e++) {
            const itg_edge_ref *edge = &s->edges[e];
            const bool weight = edge->node != ITG_NONE && edge->slot == 1 &&
                                itg_op_is(g->nodes[edge->node].op, ITG_IS_MAC);
            assert_string_equal(widths(s, e), weight && i == 0 ? "1,2,3,4" : "-");
            found += weight;
        }
        assert_true(found > 0);
        assert_int_equal(s->group_count, i == 0 ? found : 0);
        itg_choice_space_destroy(s);
        itg_graph_destroy(g);
        itg_hardware_destroy(hw);
    }
}

/* "edge:alternatives" of each group with several, and "f" where its weights may be float. */
static const char *ways(const itg_choice_space *space)
{
    static char text[200];
    size_t used = 0;
    *text = '\0';
    for (int32_t i = 0; i < space->group_count; i++) {
        const itg_choice_group *group = &space->groups[i];
        if (group->alternatives == 1 && !group->may_be_float) continue;
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%d:%d%s", used > 0 ? " " : "",
                             group->edges[0], group->alternatives, group->may_be_float ? "f" : "");
    }
    return text;
}

static void expect_ways(itg_hardware *hw, const char *expected)
{
    itg_graph *g = make_chain();
    itg_choice_space *s = space_of(hw, g, NULL);
    assert_string_equal(ways(s), expected);
    itg_choice_space_destroy(s);
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

/* An 8-bit accumulator beside a 32-bit one; s8 and u8 differ in sign alone, a8 in its zero point.
 */
#define SEVERAL_WAYS(inputs, rest)                                                                 \
    "{\"intaglio_hardware\": 1, \"name\": \"ways\", \"float\": true, \"dtypes\": {"                \
    "\"u8\": {\"storage\": \"u8\", \"bits\": [2, 8]}, \"s8\": {\"storage\": \"s8\", \"bits\": "    \
    "[2, 8]}, "                                                                                    \
    "\"a8\": {\"storage\": \"s8\", \"bits\": [2, 8], \"zero_point\": true}, "                      \
    "\"w8\": {\"storage\": \"s8\", \"bits\": [2, 8]}, \"w32\": {\"storage\": \"s32\", \"bits\": "  \
    "[9, 32]}}, "                                                                                  \
    "\"requantize\": {\"r\": {\"form\": \"tflite_double\"}}, \"fuse\": [[\"Conv\", \"Relu\"]], "   \
    "\"operators\": {\"Conv\": [" inputs "]}" rest "}"
#define WAY(acts, weights)                                                                         \
    "{\"arithmetic\": \"mac\", \"inputs\": " acts ", \"outputs\": [\"a8\"], \"weights\": " weights \
    ", \"accumulator\": {\"bits\": 32}, \"requantize\": \"r\"}"

static void several_ways_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        /* Of make_chain's edges the convolutions' have widths: 0 and 1, 5 and 6. */
        {SEVERAL_WAYS(WAY("[\"u8\", \"s8\"]", "[\"w8\"]"), ""), "1:1f 6:1f"},
        {SEVERAL_WAYS(WAY("[\"u8\", \"s8\", \"a8\"]", "[\"w8\"]"), ""), "0:3 1:1f 5:3 6:1f"},
        {SEVERAL_WAYS(WAY("[\"a8\"]", "[\"w8\"]") "," WAY("[\"a8\"]", "[\"w8\"]"), ""),
         "1:2f 6:2f"},
        {SEVERAL_WAYS(WAY("[\"a8\"]", "[\"w8\"]") "," WAY("[\"s8\"]", "[\"w8\"]"), ""),
         "0:2 1:2f 5:2 6:2f"},
        {SEVERAL_WAYS(WAY("[\"a8\"]", "[\"w32\"]"), ""), ""}, /* 32 bits are integers there */
        {SEVERAL_WAYS(WAY("[\"a8\"]", "[\"w8\"]"),
                      ", \"overrides\": [{\"node\": \"conv1\", \"float\": false}]"),
         "6:1f"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_ways(parse(cases[i].text), cases[i].expected);
    expect_ways(load("cortex-m"), ""); /* no float, and one way for each width */
}

/* Each of the four options names itself, at every end of what is possible. */
static void options_out_of_range_are_refused(void **state)
{
    (void)state;
    itg_hardware *hw = load("x86-vnni");
    itg_graph *g = make_chain();
    static const itg_bits_range bad[] = {{1, 8}, {8, 33}, {9, 8}, {0, 8}, {8, 0}};
    static const itg_bits_range bad_weights = {-1, 8}; /* they may have 1 */
    static const char *const names[] = {"weight", "activation", "input", "output"};
    for (int i = 0; i < 20; i++) {
        itg_space_options o = {.weight = {2, 32}, .activation = {8, 8}};
        itg_bits_range *ranges[] = {&o.weight, &o.activation, &o.input, &o.output};
        itg_choice_space *space = NULL;
        itg_error err = {0};
        char expected[100];
        const itg_bits_range range = i == 0 ? bad_weights : bad[i % 5];
        *ranges[i / 5] = range;
        snprintf(expected, sizeof expected, "%s bits: expected %d <= low <= high <= 32, got %d..%d",
                 names[i / 5], i < 5 ? 1 : 2, range.min, range.max);
        assert_int_equal(itg_choice_space_create(hw, g, &o, &space, &err), ITG_BAD_ARGUMENT);
        assert_string_equal(err.message, expected);
        assert_null(space);
    }
    itg_graph_destroy(g);
    itg_hardware_destroy(hw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_come_in_order_and_groups_by_first_edge),
        cmocka_unit_test(all_float_has_nothing_to_choose),
        cmocka_unit_test(values_that_repeat_have_one_group),
        cmocka_unit_test(classes_that_do_not_mix_leave_the_first_by_default),
        cmocka_unit_test(asking_for_wide_activations_leaves_the_wide_class),
        cmocka_unit_test(one_spec_of_many_classes_is_not_restricted),
        cmocka_unit_test(tied_forms_join_groups),
        cmocka_unit_test(float_readers_have_nothing_to_choose),
        cmocka_unit_test(options_have_an_order),
        cmocka_unit_test(an_edge_without_a_width_is_named),
        cmocka_unit_test(a_fused_activation_writes_what_its_host_writes),
        cmocka_unit_test(readers_in_the_first_group_count),
        cmocka_unit_test(classes_stay_where_every_choice_has_a_spec),
        cmocka_unit_test(stated_widths_are_not_held_to_classes),
        cmocka_unit_test(the_last_of_32_dtypes_is_one),
        cmocka_unit_test(weights_of_float_nodes_have_widths),
        cmocka_unit_test(several_ways_are_counted),
        cmocka_unit_test(options_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
