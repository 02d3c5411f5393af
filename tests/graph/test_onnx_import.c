/* File -> graph: attributes, names, constants, versions. A case builds a model with the writer,
 * imports it and looks at the one node that matters; the expected numbers stand in ONNX's operator
 * pages. */
#include "onnx_wire.h"
#include <math.h>
#include <stdio.h>
#include "graph/onnx/map.h"

#define FILE_NAME TEST_FOLDER "/import.onnx"

static const float zeros[256];

/* Opset, input x [2,3,8,8]; y is the output. */
static itg_onnx_writer *begin(int64_t opset)
{
    itg_onnx_writer *w = NULL;
    itg_shape x = {.rank = 4, .dims = {2, 3, 8, 8}};
    assert_int_equal(itg_onnx_writer_create("net", "", &w, NULL), ITG_OK);
    itg_onnx_writer_opset(w, "", opset);
    itg_onnx_writer_input(w, "x", ITG_F32, &x);
    itg_onnx_writer_output(w, "y", ITG_F32, NULL);
    return w;
}

static void constant(itg_onnx_writer *w, const char *name, itg_dtype dtype, itg_shape shape,
                     const void *data)
{
    itg_tensor t = {dtype, shape, (void *)(uintptr_t)data};
    itg_onnx_writer_initializer(w, name, &t);
}

static void constant_ints(itg_onnx_writer *w, const char *name, const int64_t *data, int64_t count)
{
    constant(w, name, ITG_S64, (itg_shape){.rank = 1, .dims = {count}}, data);
}

/* A node "n"; inputs separated by commas. */
static void node(itg_onnx_writer *w, const char *op, const char *inputs, const char *outputs)
{
    char in[64], out[64];
    const char *ins[8], *outs[8];
    int32_t counts[2] = {0, 0};
    snprintf(in, sizeof in, "%s", inputs);
    snprintf(out, sizeof out, "%s", outputs);
    for (int side = 0; side < 2; side++) {
        char *at = side ? out : in;
        while (*(side ? outputs : inputs)) {
            char *comma = strchr(at, ',');
            (side ? outs : ins)[counts[side]++] = at;
            if (!comma) break;
            *comma = 0;
            at = comma + 1;
        }
    }
    itg_onnx_writer_node(w, "", op, "n", ins, counts[0], outs, counts[1]);
}

static itg_status save_and_import(itg_onnx_writer *w, itg_graph **out, itg_error *err)
{
    assert_int_equal(itg_onnx_writer_save(w, FILE_NAME, err), ITG_OK);
    itg_onnx_writer_destroy(w);
    itg_status status = itg_onnx_import(FILE_NAME, "", out, err);
    remove(FILE_NAME);
    return status;
}

static itg_graph *finish(itg_onnx_writer *w)
{
    itg_graph *graph = NULL;
    itg_error err = {0};
    if (save_and_import(w, &graph, &err) != ITG_OK) fail_msg("%s", err.message);
    return graph;
}

static const itg_node *only_node(const itg_graph *graph)
{
    assert_int_equal(graph->node_count, 1);
    return &graph->nodes[0];
}

static void refuse(itg_onnx_writer *w, itg_status wanted, const char *part)
{
    itg_graph *graph = NULL;
    itg_error err = {0};
    itg_status status = save_and_import(w, &graph, &err);
    if (status != wanted || !strstr(err.message, "import.onnx") || !strstr(err.message, part))
        fail_msg("status %s, message \"%s\"; expected %s and \"%s\"", itg_status_name(status),
                 err.message, itg_status_name(wanted), part);
}

/* Input slot of a node holds exactly these int64. */
static void assert_input_ints(const itg_graph *g, const itg_node *n, int32_t slot, int64_t count,
                              const int64_t *want)
{
    assert_true(slot < n->input_count);
    assert_true(itg_graph_is_constant(g, n->inputs[slot]));
    itg_tensor t = itg_graph_tensor(g, n->inputs[slot]);
    assert_int_equal(t.dtype, ITG_S64);
    assert_int_equal(t.shape.rank, 1);
    assert_int_equal(t.shape.dims[0], count);
    assert_memory_equal(t.data, want, (size_t)count * sizeof *want);
}

/* ---- windows ---- */
static void conv_reads_all_attributes(void **state)
{
    (void)state;
    itg_onnx_writer *w = begin(13);
    constant(w, "w", ITG_F32, (itg_shape){.rank = 4, .dims = {6, 1, 2, 3}}, zeros);
    node(w, "Conv", "x,w", "y");
    itg_onnx_writer_ints(w, "kernel_shape", (int64_t[]){2, 3}, 2);
    itg_onnx_writer_ints(w, "strides", (int64_t[]){4, 5}, 2);
    itg_onnx_writer_ints(w, "dilations", (int64_t[]){6, 7}, 2);
    itg_onnx_writer_ints(w, "pads", (int64_t[]){1, 2, 3, 4}, 4);
    itg_onnx_writer_int(w, "group", 3);
    itg_graph *g = finish(w);
    const itg_attrs *a = &only_node(g)->attrs;
    assert_int_equal(a->spatial_rank, 2);
    assert_memory_equal(a->kernel, ((int64_t[]){2, 3}), 16);
    assert_memory_equal(a->stride, ((int64_t[]){4, 5}), 16);
    assert_memory_equal(a->dilation, ((int64_t[]){6, 7}), 16);
    assert_memory_equal(a->pad, ((int64_t[]){1, 2, 3, 4}), 32);
    assert_int_equal(a->group, 3);
    assert_int_equal(a->auto_pad, ITG_PAD_EXPLICIT);
    itg_graph_destroy(g);
}

static void conv_takes_an_absent_kernel_from_its_weights(void **state)
{
    (void)state;
    itg_onnx_writer *w = begin(11);
    constant(w, "w", ITG_F32, (itg_shape){.rank = 4, .dims = {6, 3, 2, 3}}, zeros);
    node(w, "Conv", "x,w", "y");
    itg_onnx_writer_string(w, "auto_pad", "SAME_LOWER");
    itg_graph *g = finish(w);
    const itg_attrs *a = &only_node(g)->attrs;
    assert_memory_equal(a->kernel, ((int64_t[]){2, 3}), 16);
    assert_memory_equal(a->stride, ((int64_t[]){1, 1}), 16);
    assert_int_equal(a->auto_pad, ITG_PAD_SAME_LOWER);
    itg_graph_destroy(g);
}

static void one_dimension_becomes_a_window_of_height_one(void **state)
{
    (void)state;
    itg_onnx_writer *w = begin(13);
    node(w, "MaxPool", "x", "y");
    itg_onnx_writer_ints(w, "kernel_shape", (int64_t[]){5}, 1);
    itg_onnx_writer_ints(w, "strides", (int64_t[]){2}, 1);
    itg_onnx_writer_ints(w, "pads", (int64_t[]){3, 4}, 2);
    itg_onnx_writer_int(w, "ceil_mode", 1);
    itg_graph *g = finish(w);
    const itg_attrs *a = &only_node(g)->attrs;
    assert_int_equal(a->spatial_rank, 1);
    assert_memory_equal(a->kernel, ((int64_t[]){1, 5}), 16);
    assert_memory_equal(a->stride, ((int64_t[]){1, 2}), 16);
    assert_memory_equal(a->dilation, ((int64_t[]){1, 1}), 16);
    assert_memory_equal(a->pad, ((int64_t[]){0, 3, 0, 4}), 32);
    assert_true(a->ceil_mode);
    itg_graph_destroy(g);
}

static void three_dimensions_are_a_depth_and_an_image(void **state)
{
    (void)state;
    itg_onnx_writer *w = begin(13);
    constant(w, "w", ITG_F32, (itg_shape){.rank = 5, .dims = {2, 1, 2, 3, 4}}, zeros);
    node(w, "Conv", "x,w", "y");
    itg_onnx_writer_ints(w, "strides", (int64_t[]){5, 6, 7}, 3);
    itg_onnx_writer_ints(w, "pads", (int64_t[]){1, 2, 3, 4, 5, 6}, 6);
    itg_graph *g = finish(w);
    const itg_attrs *a = &only_node(g)->attrs;
    assert_int_equal(only_node(g)->op, ITG_OP_CONV_3D);
    assert_memory_equal(a->depth, ((int64_t[]){2, 5, 1, 1, 4}), 40);
    assert_memory_equal(a->kernel, ((int64_t[]){3, 4}), 16);
    assert_memory_equal(a->stride, ((int64_t[]){6, 7}), 16);
    assert_memory_equal(a->dilation, ((int64_t[]){1, 1}), 16);
    assert_memory_equal(a->pad, ((int64_t[]){2, 3, 5, 6}), 32);
    itg_graph_destroy(g);
}

static void bad_windows_are_refused(void **state)
{
    (void)state;
    itg_onnx_writer *w = begin(13);
    node(w, "MaxPool", "x", "y");
    itg_onnx_writer_ints(w, "kernel_shape", (int64_t[]){2, 2, 2, 2}, 4);
    refuse(w, ITG_UNSUPPORTED, "node 0 'n' (MaxPool): 4 spatial dimensions; 1 to 3");
    w = begin(13);
    node(w, "ConvTranspose", "x,x", "y");
    itg_onnx_writer_ints(w, "kernel_shape", (int64_t[]){2, 2, 2}, 3);
    refuse(w, ITG_UNSUPPORTED, "(ConvTranspose): 3 spatial dimensions; 1 and 2");
    w = begin(13);
    node(w, "MaxPool3D", "x", "y"); /* a name of ours */
    refuse(w, ITG_UNSUPPORTED, "node 0 'n' (MaxPool3D): the operator is not supported");
    w = begin(13);
    node(w, "MaxPool", "x", "y");
    itg_onnx_writer_ints(w, "kernel_shape", (int64_t[]){2, 2, 2}, 3);
    itg_onnx_writer_ints(w, "pads", (int64_t[]){0, 0, 0, 0}, 4);
    refuse(w, ITG_BAD_FILE, "attribute 'pads' has 4 numbers; 6 are expected");
    w = begin(13);
    node(w, "MaxPool", "x", "y");
    refuse(w, ITG_BAD_FILE, "'kernel_shape' is missing");
    w = begin(13);
    node(w, "MaxPool", "x", "y");
    itg_onnx_writer_ints(w, "kernel_shape", (int64_t[]){0, 2}, 2);
    refuse(w, ITG_UNSUPPORTED, "'kernel_shape' is 0; 1 to 65536");
    w = begin(13);
    node(w, "MaxPool", "x", "y");
    itg_onnx_writer_ints(w, "kernel_shape", (int64_t[]){2, 2}, 2);
    itg_onnx_writer_ints(w, "pads", (int64_t[]){1, 1}, 2);
    refuse(w, ITG_BAD_FILE, "'pads' has 2 numbers; 4");
    w = begin(13);
    node(w, "AveragePool", "x", "y");
    itg_onnx_writer_ints(w, "kernel_shape", (int64_t[]){2, 2}, 2);
    itg_onnx_writer_string(w, "auto_pad", "SOMEHOW");
    refuse(w, ITG_UNSUPPORTED, "'auto_pad' is 'SOMEHOW'");
    w = begin(13);
    constant(w, "w", ITG_F32, (itg_shape){.rank = 4, .dims = {6, 3, 2, 3}}, zeros);
    node(w, "Conv", "x,w", "y");
    itg_onnx_writer_int(w, "group", 0);
    refuse(w, ITG_UNSUPPORTED, "'group' is 0");
}

/* ---- one form for every opset ---- */
static void clip_bounds_stay_attributes_or_inputs(void **state)
{
    (void)state;
    static const float six = 6.0f;
    itg_onnx_writer *w = begin(7);
    node(w, "Clip", "x", "y");
    itg_onnx_writer_float(w, "max", 6.0f);
    itg_graph *g = finish(w);
    assert_true(isinf(only_node(g)->attrs.min) && only_node(g)->attrs.min < 0);
    assert_true(only_node(g)->attrs.max == 6.0f);
    assert_int_equal(only_node(g)->input_count, 1);
    itg_graph_destroy(g);
    w = begin(11);
    constant(w, "six", ITG_F32, (itg_shape){.rank = 0}, &six);
    node(w, "Clip", "x,,six", "y");
    g = finish(w);
    assert_int_equal(only_node(g)->input_count, 3);
    assert_int_equal(only_node(g)->inputs[1], ITG_NONE);
    assert_true(itg_graph_is_constant(g, only_node(g)->inputs[2]));
    itg_graph_destroy(g);
    w = begin(11);
    node(w, "Clip", "x", "y");
    itg_onnx_writer_float(w, "max", 6.0f);
    refuse(w, ITG_BAD_FILE, "opset 11 has no attribute 'max'");
}

static void old_slices_get_inputs(void **state)
{
    (void)state;
    for (int with_axes = 0; with_axes < 2; with_axes++) {
        itg_onnx_writer *w = begin(9);
        node(w, "Slice", "x", "y");
        itg_onnx_writer_ints(w, "starts", (int64_t[]){0, -3}, 2);
        itg_onnx_writer_ints(w, "ends", (int64_t[]){1, INT64_MAX}, 2);
        if (with_axes) itg_onnx_writer_ints(w, "axes", (int64_t[]){3, 2}, 2);
        itg_graph *g = finish(w);
        const itg_node *n = only_node(g);
        assert_int_equal(n->input_count, 5);
        assert_input_ints(g, n, 1, 2, (int64_t[]){0, -3});
        assert_input_ints(g, n, 2, 2, (int64_t[]){1, INT64_MAX});
        assert_input_ints(g, n, 3, 2, with_axes ? (int64_t[]){3, 2} : (int64_t[]){0, 1});
        assert_input_ints(g, n, 4, 2, (int64_t[]){1, 1});
        itg_graph_destroy(g);
    }
}

static void attributes_become_inputs(void **state)
{
    (void)state;
    static const struct {
        const char *op, *attr;
        int64_t last_opset, values[8];
        int64_t count;
    } cases[] = {
        {"Squeeze", "axes", 12, {0}, 1},
        {"Unsqueeze", "axes", 12, {0, 2}, 2},
        {"ReduceMean", "axes", 17, {1, -1}, 2},
        {"ReduceMax", "axes", 17, {2}, 1},
        {"ReduceSum", "axes", 12, {0, 1}, 2},
        {"Split", "split", 12, {8}, 1},
        {"Pad", "pads", 10, {0, 0, 1, 1, 0, 0, 2, 2}, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int64_t opset = 7; opset <= 21; opset++) {
            itg_onnx_writer *w = begin(opset);
            bool is_attr = opset <= cases[i].last_opset;
            constant_ints(w, "list", cases[i].values, cases[i].count);
            node(w, cases[i].op, is_attr ? "x" : "x,list", "y");
            if (is_attr) itg_onnx_writer_ints(w, cases[i].attr, cases[i].values, cases[i].count);
            itg_graph *g = finish(w);
            assert_int_equal(only_node(g)->input_count, 2);
            assert_input_ints(g, only_node(g), 1, cases[i].count, cases[i].values);
            assert_int_equal(only_node(g)->opset, opset);
            itg_graph_destroy(g);
            w = begin(opset); /* the other form is an error of the file */
            constant_ints(w, "list", cases[i].values, cases[i].count);
            node(w, cases[i].op, is_attr ? "x,list" : "x", "y");
            if (!is_attr) itg_onnx_writer_ints(w, cases[i].attr, cases[i].values, cases[i].count);
            refuse(w, ITG_BAD_FILE, "node 0");
        }
}

static void old_pads_keep_their_value(void **state)
{
    (void)state;
    itg_onnx_writer *w = begin(10);
    node(w, "Pad", "x", "y");
    itg_onnx_writer_ints(w, "pads", (int64_t[]){0, 0, 1, 1, 0, 0, 1, 1}, 8);
    itg_onnx_writer_float(w, "value", -1.5f);
    itg_onnx_writer_string(w, "mode", "constant");
    itg_graph *g = finish(w);
    assert_int_equal(only_node(g)->input_count, 3);
    assert_true(*(const float *)itg_graph_tensor(g, only_node(g)->inputs[2]).data == -1.5f);
    itg_graph_destroy(g);
    w = begin(19);
    constant_ints(w, "p", (int64_t[]){0, 0, 1, 1, 0, 0, 1, 1}, 8);
    node(w, "Pad", "x,p", "y");
    itg_onnx_writer_string(w, "mode", "wrap");
    refuse(w, ITG_UNSUPPORTED, "'mode' is 'wrap'");
}

static void softmax_axis_defaults_by_opset(void **state)
{
    (void)state;
    static const int64_t opsets[] = {7, 12, 13, 21}, axes[] = {1, 1, -1, -1};
    for (size_t i = 0; i < 4; i++) {
        itg_onnx_writer *w = begin(opsets[i]);
        node(w, "Softmax", "x", "y");
        itg_graph *g = finish(w);
        assert_int_equal(only_node(g)->attrs.axis, axes[i]);
        assert_int_equal(only_node(g)->opset, opsets[i]);
        itg_graph_destroy(g);
    }
    itg_onnx_writer *w = begin(7);
    node(w, "LogSoftmax", "x", "y");
    itg_onnx_writer_int(w, "axis", 3);
    itg_graph *g = finish(w);
    assert_int_equal(only_node(g)->attrs.axis, 3);
    itg_graph_destroy(g);
}

static void transpose_takes_a_permutation_only(void **state)
{
    (void)state;
    itg_onnx_writer *w = begin(13);
    node(w, "Transpose", "x", "y");
    itg_onnx_writer_ints(w, "perm", (int64_t[]){0, 2, 3, 1}, 4);
    itg_graph *g = finish(w);
    assert_memory_equal(only_node(g)->attrs.perm, ((int64_t[]){0, 2, 3, 1, -1, -1, -1, -1}), 64);
    itg_graph_destroy(g);
    w = begin(13);
    node(w, "Transpose", "x", "y");
    g = finish(w);
    assert_int_equal(only_node(g)->attrs.perm[0], -1);
    itg_graph_destroy(g);
    w = begin(13);
    node(w, "Transpose", "x", "y");
    itg_onnx_writer_ints(w, "perm", (int64_t[]){0, 2, 2, 1}, 4);
    refuse(w, ITG_BAD_FILE, "no permutation");
}

static void cast_knows_types_by_name(void **state)
{
    (void)state;
    itg_onnx_writer *w = begin(13);
    node(w, "Cast", "x", "y");
    itg_onnx_writer_int(w, "to", TYPE_INT64);
    itg_graph *g = finish(w);
    assert_int_equal(only_node(g)->attrs.to, ITG_S64);
    itg_graph_destroy(g);
    w = begin(13);
    node(w, "Cast", "x", "y");
    itg_onnx_writer_int(w, "to", 17);
    refuse(w, ITG_UNSUPPORTED, "'to' is FLOAT8E4M3FN");
    w = begin(13);
    node(w, "Cast", "x", "y");
    refuse(w, ITG_BAD_FILE, "'to' is missing");
    w = begin(13);
    node(w, "Cast", "x", "y");
    itg_onnx_writer_int(w, "to", -1);
    refuse(w, ITG_UNSUPPORTED, "'to' is -1; 0 to 2147483647");
}

static void constant_of_shape_expands_a_scalar_of_its_type(void **state)
{
    (void)state;
    itg_onnx_writer *w = begin(13);
    constant_ints(w, "s", (int64_t[]){2, 3}, 2);
    node(w, "ConstantOfShape", "s", "y");
    itg_graph *g = finish(w);
    const itg_node *n = only_node(g);
    assert_int_equal(n->op, ITG_OP_EXPAND);
    assert_int_equal(itg_graph_tensor(g, n->inputs[0]).dtype, ITG_F32);
    assert_int_equal(itg_graph_tensor(g, n->inputs[0]).shape.rank, 0);
    assert_true(*(const float *)itg_graph_tensor(g, n->inputs[0]).data == 0.0f);
    assert_input_ints(g, n, 1, 2, (int64_t[]){2, 3});
    itg_graph_destroy(g);
}

/* ---- names, order, constants ---- */
static void nameless_and_namesake_nodes_get_names(void **state)
{
    (void)state;
    itg_onnx_writer *w = begin(13);
    static const char *const x[] = {"x"}, *const a[] = {"a"}, *const b[] = {"b"},
                             *const c[] = {"c"}, *const y[] = {"y"};
    itg_onnx_writer_node(w, "", "Relu", "", x, 1, a, 1);
    itg_onnx_writer_node(w, "", "Relu", "twin", a, 1, b, 1);
    itg_onnx_writer_node(w, "", "Relu", "twin", b, 1, c, 1);
    itg_onnx_writer_node(w, "", "Relu", "Relu_0", c, 1, y, 1);
    itg_graph *g = finish(w);
    assert_int_equal(g->node_count, 4);
    assert_string_equal(g->nodes[0].name, "Relu_0");
    assert_string_equal(g->nodes[1].name, "twin");
    assert_string_equal(g->nodes[2].name, "twin_2");
    assert_string_equal(g->nodes[3].name, "Relu_0_3");
    itg_graph_destroy(g);
}

static void nodes_may_stand_in_any_order(void **state)
{
    (void)state;
    itg_onnx_writer *w = begin(13);
    node(w, "Relu", "a", "y");
    node(w, "Abs", "x", "a");
    itg_graph *g = finish(w);
    assert_int_equal(g->node_count, 2);
    assert_int_equal(g->nodes[0].op, ITG_OP_ABS);
    assert_int_equal(g->nodes[1].op, ITG_OP_RELU);
    itg_graph_destroy(g);
}

static void initializers_among_the_inputs_are_constants(void **state)
{
    (void)state;
    itg_onnx_writer *w = begin(7);
    itg_shape shape = {.rank = 1, .dims = {8}};
    itg_onnx_writer_input(w, "b", ITG_F32, &shape);
    constant(w, "b", ITG_F32, shape, zeros);
    node(w, "Add", "x,b", "y");
    itg_graph *g = finish(w);
    assert_int_equal(g->input_count, 1);
    assert_string_equal(g->values[g->inputs[0]].name, "x");
    assert_true(itg_graph_is_constant(g, only_node(g)->inputs[1]));
    itg_graph_destroy(g);
}

static void unused_inputs_stay(void **state)
{
    (void)state;
    itg_onnx_writer *w = begin(13);
    itg_shape shape = {.rank = 1, .dims = {8}};
    itg_onnx_writer_input(w, "unused", ITG_S64, &shape);
    node(w, "Relu", "x", "y");
    itg_graph *g = finish(w);
    assert_int_equal(g->input_count, 2);
    assert_string_equal(g->values[g->inputs[1]].name, "unused");
    assert_int_equal(g->values[g->inputs[1]].dtype, ITG_S64);
    itg_graph_destroy(g);
}

static void constant_nodes_become_constants(void **state)
{
    (void)state;
    itg_onnx_writer *w = begin(13);
    node(w, "Constant", "", "f");
    itg_onnx_writer_float(w, "value_float", 2.5f);
    node(w, "Constant", "", "s");
    itg_onnx_writer_ints(w, "value_ints", (int64_t[]){0, -1}, 2);
    node(w, "Mul", "x,f", "a");
    node(w, "Reshape", "a,s", "y");
    itg_graph *g = finish(w);
    assert_int_equal(g->node_count, 2);
    itg_tensor f = itg_graph_tensor(g, g->nodes[0].inputs[1]);
    assert_int_equal(f.shape.rank, 0);
    assert_true(*(const float *)f.data == 2.5f);
    assert_input_ints(g, &g->nodes[1], 1, 2, (int64_t[]){0, -1});
    itg_graph_destroy(g);
    w = begin(13);
    node(w, "Constant", "", "y");
    itg_onnx_writer_string(w, "value_string", "text");
    refuse(w, ITG_UNSUPPORTED, "'value_string'");
}

/* ---- refusals ---- */
static void opsets_outside_the_range_are_refused_with_their_number(void **state)
{
    (void)state;
    static const int64_t opsets[] = {1, 6, 29, INT64_MAX};
    static const char *const texts[] = {"opset 1;", "opset 6;", "opset 29;",
                                        "opset 9223372036854775807;"};
    for (size_t i = 0; i < 4; i++) {
        itg_onnx_writer *w = begin(opsets[i]);
        node(w, "Relu", "x", "y");
        refuse(w, ITG_UNSUPPORTED, texts[i]);
    }
}

static void what_is_not_supported_is_named(void **state)
{
    (void)state;
    static const char *const x[] = {"x"}, *const y[] = {"y"};
    itg_onnx_writer *w = begin(13);
    node(w, "NonMaxSuppression", "x", "y");
    refuse(w, ITG_UNSUPPORTED, "node 0 'n' (NonMaxSuppression): the operator is not supported");
    w = begin(13);
    itg_onnx_writer_node(w, "com.microsoft", "Gelu", "g", x, 1, y, 1);
    refuse(w, ITG_UNSUPPORTED, "node 0 'g' (Gelu): operators of domain 'com.microsoft'");
    w = begin(13);
    node(w, "DynamicQuantizeLinear", "x", "y");
    refuse(w, ITG_UNSUPPORTED, "already quantized");
    w = begin(13);
    node(w, "QLinearConv", "x,x", "y");
    refuse(w, ITG_BAD_FILE, "input 2 is left out");
    w = begin(13);
    node(w, "Relu", "x", "y");
    itg_onnx_writer_int(w, "bogus", 1);
    refuse(w, ITG_UNSUPPORTED, "attribute 'bogus' is not supported");
    w = begin(13);
    node(w, "Flatten", "x", "y");
    itg_onnx_writer_string(w, "axis", "one");
    refuse(w, ITG_BAD_FILE, "attribute 'axis' is not an integer");
    w = begin(13);
    node(w, "Flatten", "x", "y");
    itg_onnx_writer_int(w, "axis", 9);
    refuse(w, ITG_UNSUPPORTED, "'axis' is 9; -8 to 8");
    w = begin(13);
    node(w, "LeakyRelu", "x", "y");
    itg_onnx_writer_float(w, "alpha", NAN);
    refuse(w, ITG_BAD_FILE, "'alpha' is not a number");
}

static void broken_graphs_are_refused(void **state)
{
    (void)state;
    itg_onnx_writer *w = begin(13);
    node(w, "Relu", "ghost", "y");
    refuse(w, ITG_BAD_FILE, "input 0 'ghost' is defined nowhere");
    w = begin(13);
    node(w, "Relu", "x", "z");
    refuse(w, ITG_BAD_FILE, "output 'y' is defined nowhere");
    w = begin(13);
    node(w, "Relu", "x", "y");
    node(w, "Abs", "x", "y");
    refuse(w, ITG_BAD_FILE, "'y' is defined twice");
    w = begin(13);
    node(w, "Relu", "x", "x");
    refuse(w, ITG_BAD_FILE, "'x' is defined twice");
    w = begin(13);
    node(w, "Relu", "y", "a");
    node(w, "Relu", "a", "y");
    refuse(w, ITG_BAD_FILE, "cycle");
    w = begin(13);
    node(w, "MatMul", "x,x,x", "y");
    refuse(w, ITG_BAD_FILE, "3 inputs; at most 2");
    w = begin(13);
    node(w, "Add", "x", "y");
    refuse(w, ITG_BAD_FILE, "1 inputs; at least 2");
    w = begin(13);
    node(w, "Add", ",x", "y");
    refuse(w, ITG_BAD_FILE, "input 0 is left out");
    w = begin(13);
    node(w, "Relu", "x", "y,z");
    refuse(w, ITG_BAD_FILE, "2 outputs");
}

/* ---- sums, choices ---- */

static void sums_of_few_are_simpler_operators(void **state)
{
    static const struct {
        const char *op, *inputs;
        itg_op becomes;
    } cases[] = {
        {"Sum", "x", ITG_OP_IDENTITY},  {"Sum", "x,x", ITG_OP_ADD},   {"Sum", "x,x,x", ITG_OP_SUM},
        {"Mean", "x", ITG_OP_IDENTITY}, {"Mean", "x,x", ITG_OP_MEAN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        itg_onnx_writer *w = begin(13);
        node(w, cases[i].op, cases[i].inputs, "y");
        itg_graph *g = finish(w);
        assert_int_equal(only_node(g)->op, cases[i].becomes);
        itg_graph_destroy(g);
    }
}

static void old_forms_become_todays(void **state)
{
    (void)state;
    itg_onnx_writer *w = begin(9);
    node(w, "TopK", "x", "y");
    itg_onnx_writer_int(w, "k", 3);
    itg_graph *g = finish(w);
    assert_input_ints(g, only_node(g), 1, 1, (int64_t[]){3});
    itg_graph_destroy(g);
    w = begin(9);
    node(w, "TopK", "x", "y");
    refuse(w, ITG_BAD_FILE, "k is missing");
    w = begin(9);
    node(w, "Scatter", "x,x,x", "y");
    itg_onnx_writer_int(w, "axis", 2);
    g = finish(w);
    assert_int_equal(only_node(g)->op, ITG_OP_SCATTER_ELEMENTS);
    assert_int_equal(only_node(g)->attrs.axis, 2);
    itg_graph_destroy(g);
    w = begin(13);
    node(w, "MeanVarianceNormalization", "x", "y");
    g = finish(w);
    assert_int_equal(only_node(g)->attrs.axes_count, 3);
    assert_memory_equal(only_node(g)->attrs.axes, ((int64_t[]){0, 2, 3}), 24);
    itg_graph_destroy(g);
    w = begin(13);
    node(w, "Compress", "x,x", "y");
    itg_onnx_writer_int(w, "axis", ITG_MAX_RANK);
    refuse(w, ITG_BAD_FILE, "axis 8; at most 7");
    w = begin(13);
    node(w, "BitShift", "x,x", "y");
    refuse(w, ITG_BAD_FILE, "'direction' is missing");
}

static void equations_become_labels(void **state)
{
    static const struct {
        const char *text, *inputs;
        int64_t labels[10]; /* to -2 */
    } cases[] = {
        {"ab, cb -> ca", "x,x", {0, 1, -1, 2, 1, -1, 2, 0, -1, -2}},
        {"bA,b", "x,x", {1, 26, -1, 1, -1, 26, -1, -2}},
        {"...ii", "x", {52, 8, 8, -1, 52, -1, -2}},
        {"i->", "x", {8, -1, -1, -2}},
    };
    static const char *const bad[] = {"ab,c->a", "a->b->c", "a..", "a->b,c", "a1", "->"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        itg_onnx_writer *w = begin(13);
        node(w, "Einsum", cases[i].inputs, "y");
        itg_onnx_writer_string(w, "equation", cases[i].text);
        itg_graph *g = finish(w);
        const itg_node *n = only_node(g);
        int64_t count = 0;
        while (cases[i].labels[count] != -2)
            count++;
        assert_input_ints(g, n, n->input_count - 1, count, cases[i].labels);
        itg_graph_destroy(g);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        itg_onnx_writer *w = begin(13);
        node(w, "Einsum", i == 5 ? "x,x" : "x", "y");
        itg_onnx_writer_string(w, "equation", bad[i]);
        refuse(w, ITG_BAD_FILE, "does not fit its");
    }
}

/* A value that is not the preset: the file's, and as the node must hold it. */
static void write_other_value(itg_onnx_writer *w, const itg_attr *attr, itg_attrs *want)
{
    void *slot = itg_attr_slot(attr, want);
    switch (attr->field->kind) {
    case ITG_KIND_BOOL:
        *(bool *)slot = attr->preset == 0;
        itg_onnx_writer_int(w, attr->onnx, *(bool *)slot);
        break;
    case ITG_KIND_FLOAT:
    case ITG_KIND_BOUND:
        *(float *)slot = 0.625f;
        itg_onnx_writer_float(w, attr->onnx, 0.625f);
        break;
    case ITG_KIND_NAME:
        assert_true(itg_attr_set_word(attr, want, attr->field->words[1]));
        itg_onnx_writer_string(w, attr->onnx, attr->field->words[1]);
        break;
    case ITG_KIND_DTYPE:
        *(itg_dtype *)slot = ITG_S8;
        itg_onnx_writer_int(w, attr->onnx, 3);
        break;
    default:
        *(int64_t *)slot = 3;
        itg_onnx_writer_int(w, attr->onnx, 3);
    }
}

static itg_onnx_writer *begin_with(const itg_attr *attr, int64_t opset)
{
    const itg_op_info *info = itg_op_info_of(attr->op);
    char inputs[32] = "x";
    itg_onnx_writer *w = begin(opset);
    for (int32_t i = 1; i < info->min_inputs; i++)
        strcat(inputs, ",x");
    if (strcmp(attr->onnx, "group") == 0) strcpy(inputs, "x,w");
    constant(w, "w", ITG_F32, (itg_shape){.rank = 4, .dims = {6, 1, 2, 3}}, zeros);
    if (attr->op == ITG_OP_PAD && attr->last_opset == 0) strcpy(inputs, "x,p");
    if (attr->op == ITG_OP_RESIZE || attr->op == ITG_OP_UPSAMPLE) strcpy(inputs, "x,s");
    constant(w, "s", ITG_F32, (itg_shape){.rank = 1, .dims = {4}}, zeros);
    if (attr->op == ITG_OP_TOP_K) strcpy(inputs, "x,p");
    constant_ints(w, "p", (int64_t[]){0, 0, 0, 0, 0, 0, 0, 0}, 8);
    node(w, info->name, inputs, "y");
    if (itg_op_is(attr->op, ITG_IS_POOL))
        itg_onnx_writer_ints(w, "kernel_shape", (int64_t[]){2, 2}, 2);
    if (attr->op == ITG_OP_PAD && attr->last_opset > 0)
        itg_onnx_writer_ints(w, "pads", (int64_t[]){0, 0, 0, 0, 0, 0, 0, 0}, 8);
    return w;
}

static void check_attribute(const itg_attr *attr)
{
    const itg_op_info *info = itg_op_info_of(attr->op);
    itg_attrs want = itg_attrs_default(attr->op);
    int64_t opset = attr->last_opset > 0 ? attr->last_opset : ITG_OPSET_MAX;
    itg_onnx_writer *w = begin_with(attr, opset);
    write_other_value(w, attr, &want);
    itg_graph *g = finish(w);
    const itg_node *n = only_node(g);
    assert_int_equal(n->op, attr->op == ITG_OP_UPSAMPLE ? ITG_OP_RESIZE : attr->op);
    if (memcmp(itg_attr_value(attr, &n->attrs), itg_attr_value(attr, &want), attr->field->size) !=
        0)
        fail_msg("%s: %s is not read", info->name, attr->onnx);
    itg_graph_destroy(g);
    if (attr->first_opset <= info->first_opset || attr->first_opset <= ITG_OPSET_MIN) return;
    w = begin_with(attr, attr->first_opset - 1);
    write_other_value(w, attr, &want);
    refuse(w, ITG_BAD_FILE, "has no attribute");
    if (attr->last_opset == 0) return;
    w = begin_with(attr, attr->last_opset + 1);
    write_other_value(w, attr, &want);
    refuse(w, ITG_BAD_FILE, "the last that has it");
}

/* Numbers, flags and names; the cases above are about lists. */
static void every_attribute_is_read_in_its_opsets(void **state)
{
    int32_t count, seen = 0;
    (void)state;
    for (int op = 0; op < ITG_OP_COUNT; op++)
        for (const itg_attr *a = itg_op_attrs((itg_op)op, &count); count-- > 0; a++) {
            itg_attr_kind kind = a->field->kind;
            if (!a->onnx || kind == ITG_KIND_AUTO_PAD || kind >= ITG_KIND_LIST) continue;
            check_attribute(a);
            seen++;
        }
    assert_true(seen > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_reads_all_attributes),
        cmocka_unit_test(conv_takes_an_absent_kernel_from_its_weights),
        cmocka_unit_test(one_dimension_becomes_a_window_of_height_one),
        cmocka_unit_test(three_dimensions_are_a_depth_and_an_image),
        cmocka_unit_test(bad_windows_are_refused),
        cmocka_unit_test(clip_bounds_stay_attributes_or_inputs),
        cmocka_unit_test(old_slices_get_inputs),
        cmocka_unit_test(attributes_become_inputs),
        cmocka_unit_test(old_pads_keep_their_value),
        cmocka_unit_test(softmax_axis_defaults_by_opset),
        cmocka_unit_test(sums_of_few_are_simpler_operators),
        cmocka_unit_test(old_forms_become_todays),
        cmocka_unit_test(equations_become_labels),
        cmocka_unit_test(transpose_takes_a_permutation_only),
        cmocka_unit_test(cast_knows_types_by_name),
        cmocka_unit_test(constant_of_shape_expands_a_scalar_of_its_type),
        cmocka_unit_test(nameless_and_namesake_nodes_get_names),
        cmocka_unit_test(nodes_may_stand_in_any_order),
        cmocka_unit_test(initializers_among_the_inputs_are_constants),
        cmocka_unit_test(unused_inputs_stay),
        cmocka_unit_test(constant_nodes_become_constants),
        cmocka_unit_test(opsets_outside_the_range_are_refused_with_their_number),
        cmocka_unit_test(what_is_not_supported_is_named),
        cmocka_unit_test(broken_graphs_are_refused),
        cmocka_unit_test(every_attribute_is_read_in_its_opsets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
