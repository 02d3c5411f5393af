/* Operators of ai.onnx.ml: written out as others, whose results are those of the definition, and of
 * ONNX Runtime 1.30 where the definition leaves something open (numbers marked "ORT"). */
#include <math.h>
#include <stdio.h>
#include "kernels/float_ops.h"
#include "onnx_wire.h"

enum { ATTR_F = 2, ATTR_FLOATS = 7, ATTR_STRINGS = 9 };

/* A node that is being written, of domain ai.onnx.ml: x -> l, p. */
static wire node_of(const char *op, const char *first, const char *second)
{
    wire node = {0};
    wire_text(&node, NODE_INPUT, "x");
    wire_text(&node, NODE_OUTPUT, first);
    if (second) wire_text(&node, NODE_OUTPUT, second);
    wire_text(&node, NODE_OP, op);
    wire_text(&node, NODE_NAME, "it");
    wire_text(&node, NODE_DOMAIN, "ai.onnx.ml");
    return node;
}

static void end_attr(wire *node, wire *attr, const char *name, int64_t type)
{
    wire_text(attr, ATTR_NAME, name);
    wire_int(attr, ATTR_TYPE, type);
    wire_message(node, NODE_ATTRIBUTE, attr);
}

static void put_floats(wire *node, const char *name, const float *values, size_t count)
{
    wire attr = {0};
    wire_bytes(&attr, ATTR_FLOATS, values, count * sizeof *values); /* little-endian machines */
    end_attr(node, &attr, name, 6);
}

static void put_ints(wire *node, const char *name, const int64_t *values, size_t count)
{
    wire attr = {0};
    for (size_t i = 0; i < count; i++)
        wire_int(&attr, ATTR_INTS, values[i]);
    end_attr(node, &attr, name, 7);
}

static void put_strings(wire *node, const char *name, const char *const *values, size_t count)
{
    wire attr = {0};
    for (size_t i = 0; i < count; i++)
        wire_text(&attr, ATTR_STRINGS, values[i]);
    end_attr(node, &attr, name, 8);
}

static void put_text(wire *node, const char *name, const char *value)
{
    wire attr = {0};
    wire_text(&attr, ATTR_S, value);
    end_attr(node, &attr, name, 3);
}

static void put_int(wire *node, const char *name, int64_t value)
{
    wire attr = {0};
    wire_int(&attr, ATTR_I, value);
    end_attr(node, &attr, name, 2);
}

#define FLOATS(node, name, ...)                                                                    \
    put_floats(node, name, (const float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / 4)
#define INTS(node, name, ...)                                                                      \
    put_ints(node, name, (const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / 8)

/* ---- models whose x is a constant: preparation computes them ---- */

static void put_constant(wire *graph, const float *x, int64_t rows, int64_t columns)
{
    wire tensor = {0};
    wire_int(&tensor, TENSOR_DIMS, rows);
    wire_int(&tensor, TENSOR_DIMS, columns);
    wire_int(&tensor, TENSOR_TYPE, TYPE_FLOAT);
    wire_text(&tensor, TENSOR_NAME, "x");
    wire_bytes(&tensor, TENSOR_RAW, x, (size_t)(rows * columns) * sizeof *x);
    wire_message(graph, GRAPH_INITIALIZER, &tensor);
}

static void end_model(wire *model, wire *graph)
{
    wire version = {0};
    wire_model(model, graph, 13);
    wire_text(&version, OPSET_DOMAIN, "ai.onnx.ml");
    wire_int(&version, OPSET_VERSION, 1);
    wire_message(model, MODEL_OPSET, &version);
}

/* type: of output `name`; the node goes. */
static void make_model(wire *model, wire *node, const char *name, int32_t type, const float *x,
                       int64_t rows, int64_t columns)
{
    wire graph = {0};
    put_constant(&graph, x, rows, columns);
    wire_value(&graph, GRAPH_OUTPUT, name, type, rows);
    wire_message(&graph, GRAPH_NODE, node);
    end_model(model, &graph);
}

static itg_graph *compute(wire *model)
{
    itg_graph *source = NULL, *out = NULL;
    itg_error err = {0};
    const itg_prepare_options options = {
        .eval = itg_float_eval, .keep_batch = true, .model.keep_softmax = true};
    itg_status status = import_bytes(model->text, model->length, &source, &err);
    itg_strbuf_deinit(model);
    if (status == ITG_OK) status = itg_graph_prepare(source, &options, &out, &err);
    itg_graph_destroy(source);
    if (status != ITG_OK) fail_msg("%s", err.message);
    return out;
}

static void gives(wire *node, const float *x, int64_t rows, int64_t columns, const float *expected,
                  int64_t count)
{
    wire model = {0};
    make_model(&model, node, "p", TYPE_FLOAT, x, rows, columns);
    itg_graph *g = compute(&model);
    assert_true(itg_graph_is_constant(g, g->outputs[0]));
    const itg_tensor t = itg_graph_tensor(g, g->outputs[0]);
    assert_int_equal(t.dtype, ITG_F32);
    assert_int_equal(t.shape.dims[0], rows);
    assert_int_equal(t.shape.dims[0] * t.shape.dims[1], count);
    for (int64_t i = 0; i < count; i++)
        if (!(fabsf(((const float *)t.data)[i] - expected[i]) < 2e-6f))
            fail_msg("element %d is %.8g; expected %.8g", (int)i,
                     (double)((const float *)t.data)[i], (double)expected[i]);
    itg_graph_destroy(g);
}

static void labels(wire *node, const float *x, int64_t rows, int64_t columns,
                   const int64_t *expected)
{
    wire model = {0};
    make_model(&model, node, "l", TYPE_INT64, x, rows, columns);
    itg_graph *g = compute(&model);
    const itg_tensor t = itg_graph_tensor(g, g->outputs[0]);
    assert_int_equal(t.dtype, ITG_S64);
    assert_int_equal(t.shape.rank, 1);
    assert_int_equal(t.shape.dims[0], rows);
    assert_memory_equal(t.data, expected, (size_t)rows * sizeof *expected);
    itg_graph_destroy(g);
}

#define GIVES(node, rows, columns, x, ...)                                                         \
    gives(node, x, rows, columns, (const float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / 4)

/* ---- cases ---- */

static const float two[4] = {0.3f, -0.5f, -0.2f, 0.1f};

static void scalers_and_normalizers(void **state)
{
    (void)state;
    static const float x[6] = {1, -3, 0, 0, -2, -4};
    wire node = node_of("Scaler", "p", NULL);
    FLOATS(&node, "offset", 1, 2);
    FLOATS(&node, "scale", 0.5f);
    GIVES(&node, 3, 2, x, 0, -2.5f, -0.5f, -1, -1.5f, -3);
    node = node_of("Scaler", "p", NULL);
    FLOATS(&node, "offset", 1e-18f, 0);
    FLOATS(&node, "scale", 2, 3);
    GIVES(&node, 3, 2, x, 2, -9, 0, 0, -4, -12);
    node = node_of("Normalizer", "p", NULL);
    put_text(&node, "norm", "L1");
    GIVES(&node, 3, 2, x, 0.25f, -0.75f, 0, 0, -1.0f / 3, -2.0f / 3);
    node = node_of("Normalizer", "p", NULL);
    put_text(&node, "norm", "L2");
    GIVES(&node, 3, 2, x, 0.31622776f, -0.9486833f, 0, 0, -0.4472136f, -0.8944272f);
    node = node_of("Normalizer", "p", NULL);
    GIVES(&node, 3, 2, x, 1, -3, 0, 0, 1, 2); /* ORT */
    node = node_of("Binarizer", "p", NULL);
    GIVES(&node, 3, 2, x, 1, 0, 0, 0, 0, 0);
    node = node_of("Imputer", "p", NULL);
    FLOATS(&node, "imputed_value_floats", 5, 6);
    GIVES(&node, 3, 2, x, 1, -3, 5, 6, -2, -4);
}

static void linear_models(void **state)
{
    (void)state;
    wire node = node_of("LinearRegressor", "p", NULL);
    FLOATS(&node, "coefficients", 1, 2, -1, 4);
    FLOATS(&node, "intercepts", 0.5f, 1);
    put_int(&node, "targets", 2);
    GIVES(&node, 2, 2, two, -0.2f, -1.3f, 0.5f, 1.6f);
    node = node_of("LinearClassifier", "l", "p");
    FLOATS(&node, "coefficients", 1, 2, -1, 4);
    FLOATS(&node, "intercepts", 0.5f, 1);
    INTS(&node, "classlabels_ints", 7, -3);
    put_text(&node, "post_transform", "SOFTMAX");
    GIVES(&node, 2, 2, two, 0.75026011f, 0.24973989f, 0.24973989f, 0.75026011f);
    node = node_of("LinearClassifier", "l", "p");
    FLOATS(&node, "coefficients", 1, 2, -1, 4);
    FLOATS(&node, "intercepts", 0.5f, 1);
    INTS(&node, "classlabels_ints", 7, -3);
    labels(&node, two, 2, 2, (const int64_t[]){7, -3});
}

/* ORT */
static void one_score_stands_for_two_classes(void **state)
{
    (void)state;
    static const char *const transforms[] = {"NONE", "LOGISTIC", "SOFTMAX"};
    static const float expected[3][4] = {{1.6f, -0.6f, 0.9f, 0.1f},
                                         {0.64565629f, 0.35434371f, 0.47502083f, 0.52497917f},
                                         {1.6f, -0.6f, 0.9f, 0.1f}};
    for (int i = 0; i < 3; i++)
        for (int output = 0; output < 2; output++) {
            wire node = node_of("LinearClassifier", "l", "p");
            FLOATS(&node, "coefficients", 1, 2);
            FLOATS(&node, "intercepts", 0.1f);
            INTS(&node, "classlabels_ints", 0, 1);
            put_text(&node, "post_transform", transforms[i]);
            if (output == 0)
                gives(&node, two, 2, 2, expected[i], 4);
            else
                labels(&node, two, 2, 2, (const int64_t[]){0, 1});
        }
}

static wire machine(const char *op, const char *kernel)
{
    wire node = node_of(op, *op == 'S' && op[3] == 'C' ? "l" : "p",
                        *op == 'S' && op[3] == 'C' ? "p" : NULL);
    put_text(&node, "kernel_type", kernel);
    FLOATS(&node, "kernel_params", 0.5f, 0.25f, 3);
    FLOATS(&node, "support_vectors", 1, 0, 0, 1, 0.5f, 0.5f);
    FLOATS(&node, "rho", 0.05f);
    FLOATS(&node, "coefficients", 1, 0.5f, -1.5f);
    return node;
}

static double kernel_of(const char *kernel, const float *x, const float *v)
{
    const double dot = (double)x[0] * (double)v[0] + (double)x[1] * (double)v[1];
    const double a = (double)(x[0] - v[0]), b = (double)(x[1] - v[1]);
    if (strcmp(kernel, "LINEAR") == 0) return dot;
    if (strcmp(kernel, "RBF") == 0) return exp(-0.5 * (a * a + b * b));
    return strcmp(kernel, "POLY") == 0 ? pow(0.5 * dot + 0.25, 3) : tanh(0.5 * dot + 0.25);
}

static void support_vectors(void **state)
{
    (void)state;
    static const char *const all[] = {"LINEAR", "RBF", "POLY", "SIGMOID"};
    static const float v[3][2] = {{1, 0}, {0, 1}, {0.5f, 0.5f}}, c[3] = {1, 0.5f, -1.5f};
    for (int k = 0; k < 4; k++) {
        float sums[2], both[4];
        int64_t classes[2];
        for (int i = 0; i < 2; i++) {
            double sum = (double)0.05f;
            for (int s = 0; s < 3; s++)
                sum += (double)c[s] * kernel_of(all[k], two + 2 * i, v[s]);
            sums[i] = both[2 * i + 1] = (float)sum;
            both[2 * i] = -sums[i];
            classes[i] = sum > 0 ? 0 : 1; /* ORT */
        }
        wire node = machine("SVMRegressor", all[k]);
        put_int(&node, "n_supports", 3);
        gives(&node, two, 2, 2, sums, 2);
        for (int output = 0; output < 2; output++) {
            node = machine("SVMClassifier", all[k]);
            INTS(&node, "vectors_per_class", 2, 1);
            INTS(&node, "classlabels_ints", 0, 1);
            if (output == 0)
                gives(&node, two, 2, 2, both, 4);
            else
                labels(&node, two, 2, 2, classes);
        }
    }
}

static void put_stumps(wire *node, const char *mode, float threshold)
{
    const char *const modes[] = {"LEAF", mode, "LEAF", mode, "LEAF", "LEAF"};
    INTS(node, "nodes_treeids", 0, 0, 0, 0, 0, 9);
    INTS(node, "nodes_nodeids", 4, 0, 2, 3, 5, 0);
    INTS(node, "nodes_featureids", 0, 1, 0, 0, 0, 0);
    INTS(node, "nodes_truenodeids", 0, 2, 0, 4, 0, 0);
    INTS(node, "nodes_falsenodeids", 0, 3, 0, 5, 0, 0);
    FLOATS(node, "nodes_values", 0, threshold, 0, -threshold, 0, 0);
    put_strings(node, "nodes_modes", modes, 6);
}

static bool takes(const char *mode, float x, float threshold)
{
    if (strcmp(mode, "BRANCH_LEQ") == 0) return x <= threshold;
    if (strcmp(mode, "BRANCH_LT") == 0) return x < threshold;
    return strcmp(mode, "BRANCH_GTE") == 0 ? x >= threshold : x > threshold;
}

/* At thresholds, beside them by one float, and far from them; the second tree is one leaf. */
static void trees_compare_exactly(void **state)
{
    (void)state;
    static const char *const modes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"};
    static const float thresholds[] = {0.1f, -3, 1, 65536.5f, 1e-9f, 0};
    for (int k = 0; k < 4; k++)
        for (int t = 0; t < 6; t++) {
            const float at = thresholds[t];
            const float near[] = {at,   nextafterf(at, 1e9f), nextafterf(at, -1e9f), -at, 1e4f,
                                  -1e4f};
            float x[36][2], expected[36];
            for (int i = 0; i < 36; i++) {
                float *row = x[i];
                row[0] = near[i / 6];
                row[1] = near[i % 6];
                if (at == 0 && row[0] != 0 && fabsf(row[0]) < 1)
                    row[0] = 0; /* 2^-60 is the least */
                if (at == 0 && row[1] != 0 && fabsf(row[1]) < 1) row[1] = 0;
                expected[i] = 0.25f + (takes(modes[k], row[1], at)    ? 1.0f
                                       : takes(modes[k], row[0], -at) ? 2.0f
                                                                      : 3.0f);
            }
            wire node = node_of("TreeEnsembleRegressor", "p", NULL);
            put_stumps(&node, modes[k], at);
            INTS(&node, "target_treeids", 0, 0, 0, 9);
            INTS(&node, "target_nodeids", 2, 4, 5, 0);
            INTS(&node, "target_ids", 0, 0, 0, 0);
            FLOATS(&node, "target_weights", 1, 2, 3, -0.25f);
            FLOATS(&node, "base_values", 0.5f);
            gives(&node, x[0], 36, 2, expected, 36);
        }
}

static void refuses(wire *node, itg_status status, const char *text)
{
    wire model = {0};
    make_model(&model, node, "p", TYPE_FLOAT, two, 2, 2);
    assert_refused(&model, status, text, "node 0 'it' (");
}

static void put_vector(wire *node, const char *name, int type, const void *values, size_t count,
                       size_t size)
{
    wire attr = {0}, tensor = {0};
    wire_int(&tensor, TENSOR_DIMS, (int64_t)count);
    wire_int(&tensor, TENSOR_TYPE, type);
    wire_bytes(&tensor, TENSOR_RAW, values, count * size);
    wire_message(&attr, ATTR_T, &tensor);
    end_attr(node, &attr, name, 4);
}

/* The same trees: x[1] by the mode, else x[0] less or equal; one is a leaf. */
static wire ensemble(int mode, int64_t second, int64_t lone)
{
    wire node = node_of("TreeEnsemble", "p", NULL);
    INTS(&node, "nodes_featureids", 1, 0, 0);
    put_vector(&node, "nodes_splits", TYPE_FLOAT, (const float[]){0.5f, -2, 0}, 3, 4);
    put_vector(&node, "nodes_modes", 2, (const uint8_t[]){(uint8_t)mode, 0, 0}, 3, 1);
    put_ints(&node, "nodes_truenodeids", (const int64_t[]){0, 1, lone}, 3);
    put_ints(&node, "nodes_falsenodeids", (const int64_t[]){second, 2, 3}, 3);
    INTS(&node, "nodes_trueleafs", 1, 1, 1);
    INTS(&node, "nodes_falseleafs", 0, 1, 1);
    INTS(&node, "leaf_targetids", 0, 1, 0, 0);
    put_vector(&node, "leaf_weights", TYPE_FLOAT, (const float[]){1, 2, 3, -0.25f}, 4, 4);
    INTS(&node, "tree_roots", 0, 2);
    put_int(&node, "n_targets", 2);
    return node;
}

static void ensembles_of_opset_5(void **state)
{
    (void)state;
    static const float x[] = {0, 0.5f, 0, 0.75f, -2, 0.75f, -3, 0.25f};
    static const float expected[4][8] = {{0.75f, 0, 2.75f, 0, -0.25f, 2, 0.75f, 0},
                                         {2.75f, 0, 2.75f, 0, -0.25f, 2, 0.75f, 0},
                                         {0.75f, 0, 0.75f, 0, 0.75f, 0, -0.25f, 2},
                                         {2.75f, 0, 0.75f, 0, 0.75f, 0, -0.25f, 2}};
    for (int mode = 0; mode < 4; mode++) {
        wire node = ensemble(mode, 1, 3);
        gives(&node, x, 4, 2, expected[mode], 8);
    }
    wire node = ensemble(6, 1, 3);
    refuses(&node, ITG_UNSUPPORTED, "nodes_modes 'BRANCH_MEMBER'");
    node = ensemble(0, 0, 3);
    refuses(&node, ITG_BAD_FILE, "tree 0: node 0 is no such, or reached twice");
    node = ensemble(0, 7, 3);
    refuses(&node, ITG_BAD_FILE, "tree 0: node 7 is no such, or reached twice");
    node = ensemble(0, 1, 2);
    refuses(&node, ITG_BAD_FILE, "tree 1: node 2 is no such, or reached twice");
    node = node_of("TreeEnsemble", "p", NULL);
    refuses(&node, ITG_BAD_FILE, "lists of nodes_* or leaf_* are of different lengths, or empty");
    node = node_of("TreeEnsemble", "p", NULL);
    put_vector(&node, "nodes_splits", TYPE_FLOAT, x, 1, 4);
    put_vector(&node, "nodes_modes", TYPE_FLOAT, x, 1, 4);
    refuses(&node, ITG_UNSUPPORTED, "attribute 'nodes_modes' is no vector of uint8");
}

/* ORT */
static void trees_of_two_classes_with_one_score(void **state)
{
    (void)state;
    static const char *const transforms[] = {"NONE", "LOGISTIC"};
    static const float expected[2][2][4] = {{{0.3f, -0.3f, -0.7f, 0.7f}, {0.7f, 0.3f, 0.3f, 0.7f}},
                                            {{0.57444251f, 0.42555749f, 0.33181226f, 0.66818774f},
                                             {0.42555749f, 0.57444251f, 0.33181226f, 0.66818774f}}};
    for (int i = 0; i < 8; i++) {
        const bool positive = i & 1, logistic = i & 2, is_label = i & 4;
        wire node = node_of("TreeEnsembleClassifier", "l", "p");
        put_strings(&node, "nodes_modes", (const char *const[]){"BRANCH_LEQ", "LEAF", "LEAF"}, 3);
        INTS(&node, "nodes_treeids", 0, 0, 0);
        INTS(&node, "nodes_nodeids", 0, 1, 2);
        INTS(&node, "nodes_featureids", 0, 0, 0);
        INTS(&node, "nodes_truenodeids", 1, 0, 0);
        INTS(&node, "nodes_falsenodeids", 2, 0, 0);
        FLOATS(&node, "nodes_values", 0, 0, 0);
        INTS(&node, "class_treeids", 0, 0);
        INTS(&node, "class_nodeids", 1, 2);
        INTS(&node, "class_ids", 0, 0);
        FLOATS(&node, "class_weights", 0.7f, positive ? 0.3f : -0.3f);
        INTS(&node, "classlabels_int64s", 0, 1);
        put_text(&node, "post_transform", transforms[logistic]);
        if (is_label)
            labels(&node, two, 2, 2, (const int64_t[]){0, 1});
        else
            gives(&node, two, 2, 2, expected[logistic][positive], 4);
    }
}

/* Scores and labels, and a map of the scores: the map's tensor is the output. */
static void labels_and_maps_are_left_out(void **state)
{
    (void)state;
    wire node = node_of("LinearClassifier", "l", "p"), map = {0}, graph = {0}, model = {0};
    wire info = {0}, type = {0}, sequence = {0};
    FLOATS(&node, "coefficients", 1, 2, -1, 4);
    put_strings(&node, "classlabels_strings", (const char *const[]){"red", "blue"}, 2);
    put_constant(&graph, two, 2, 2);
    wire_text(&map, NODE_INPUT, "p");
    wire_text(&map, NODE_OUTPUT, "m");
    wire_text(&map, NODE_OP, "ZipMap");
    wire_text(&map, NODE_DOMAIN, "ai.onnx.ml");
    wire_value(&graph, GRAPH_OUTPUT, "l", TYPE_STRING, 2);
    wire_text(&info, 1, "m");
    wire_message(&type, 4, &sequence); /* TypeProto.sequence_type */
    wire_message(&info, 2, &type);
    wire_message(&graph, GRAPH_OUTPUT, &info);
    wire_message(&graph, GRAPH_NODE, &node);
    wire_message(&graph, GRAPH_NODE, &map);
    end_model(&model, &graph);
    itg_graph *g = compute(&model);
    assert_int_equal(g->output_count, 1);
    assert_true(g->left_labels_out);
    const itg_tensor t = itg_graph_tensor(g, g->outputs[0]);
    assert_true(fabsf(((const float *)t.data)[0] + 0.7f) < 1e-6f);
    itg_graph_destroy(g);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    wire node = node_of("Scaler", "p", NULL);
    FLOATS(&node, "offset", 1, 2, 3);
    FLOATS(&node, "scale", 1, 2);
    refuses(&node, ITG_BAD_FILE, "3 offsets and 2 scales");
    node = node_of("Normalizer", "p", NULL);
    put_text(&node, "norm", "L7");
    refuses(&node, ITG_UNSUPPORTED, "norm 'L7'; MAX, L1 and L2 are supported");
    node = node_of("LinearRegressor", "p", NULL);
    refuses(&node, ITG_BAD_FILE, "0 coefficients for 1 results");
    node = node_of("LinearRegressor", "p", NULL);
    put_int(&node, "coefficients", 3);
    refuses(&node, ITG_BAD_FILE, "attribute 'coefficients' is not a list of floats");
    node = node_of("LinearRegressor", "p", NULL);
    FLOATS(&node, "coefficients", 1, 2);
    put_text(&node, "post_transform", "PROBIT");
    refuses(&node, ITG_UNSUPPORTED, "post_transform 'PROBIT'");
    node = machine("SVMRegressor", "COSINE");
    put_int(&node, "n_supports", 3);
    refuses(&node, ITG_UNSUPPORTED, "kernel_type 'COSINE'");
    node = machine("SVMRegressor", "RBF");
    put_int(&node, "n_supports", 4);
    refuses(&node, ITG_BAD_FILE, "do not fit together");
    node = machine("SVMClassifier", "RBF");
    INTS(&node, "vectors_per_class", 2, 2);
    INTS(&node, "classlabels_ints", 0, 1);
    refuses(&node, ITG_BAD_FILE, "do not fit together");
    node = machine("SVMClassifier", "RBF");
    INTS(&node, "vectors_per_class", 2, 1);
    INTS(&node, "classlabels_ints", 0, 1);
    FLOATS(&node, "prob_a", 1);
    refuses(&node, ITG_UNSUPPORTED, "probabilities (prob_a)");
    node = node_of("DictVectorizer", "p", NULL);
    refuses(&node, ITG_UNSUPPORTED, "operators of domain 'ai.onnx.ml' are not supported");
}

static wire small_tree(int64_t yes, int64_t no, const char *mode, int64_t leaf)
{
    wire node = node_of("TreeEnsembleRegressor", "p", NULL);
    const char *const modes[] = {mode, "LEAF", "LEAF"};
    put_strings(&node, "nodes_modes", modes, 3);
    INTS(&node, "nodes_treeids", 0, 0, 0);
    INTS(&node, "nodes_nodeids", 0, 1, 2);
    INTS(&node, "nodes_featureids", 0, 0, 0);
    FLOATS(&node, "nodes_values", 0, 0, 0);
    put_ints(&node, "nodes_truenodeids", (const int64_t[]){yes, 0, 0}, 3);
    put_ints(&node, "nodes_falsenodeids", (const int64_t[]){no, 0, 0}, 3);
    INTS(&node, "target_treeids", 0);
    put_ints(&node, "target_nodeids", &leaf, 1);
    INTS(&node, "target_ids", 0);
    FLOATS(&node, "target_weights", 1);
    return node;
}

static void trees_that_are_none_are_refused(void **state)
{
    (void)state;
    wire node = small_tree(1, 7, "BRANCH_LEQ", 1);
    refuses(&node, ITG_BAD_FILE, "tree 0, node 0: its feature, value or nodes are no such");
    node = small_tree(1, 1, "BRANCH_LEQ", 1);
    refuses(&node, ITG_BAD_FILE, "tree 0, node 0: its feature, value or nodes are no such");
    node = small_tree(0, 1, "BRANCH_LEQ", 1);
    refuses(&node, ITG_BAD_FILE, "tree 0, node 0: not reached from its root");
    node = small_tree(1, 2, "BRANCH_EQ", 1);
    refuses(&node, ITG_UNSUPPORTED, "nodes_modes 'BRANCH_EQ'");
    node = small_tree(1, 2, "BRANCH_LT", 0);
    refuses(&node, ITG_BAD_FILE, "a weight of tree 0, node 0, result 0: there is no such");
    node = small_tree(1, 2, "LEAF", 0);
    refuses(&node, ITG_BAD_FILE, "tree 0 has 3 roots");
    node = node_of("TreeEnsembleRegressor", "p", NULL);
    refuses(&node, ITG_BAD_FILE, "lists of nodes_* are of different lengths, or empty");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalers_and_normalizers),
        cmocka_unit_test(linear_models),
        cmocka_unit_test(one_score_stands_for_two_classes),
        cmocka_unit_test(support_vectors),
        cmocka_unit_test(trees_compare_exactly),
        cmocka_unit_test(ensembles_of_opset_5),
        cmocka_unit_test(trees_of_two_classes_with_one_score),
        cmocka_unit_test(labels_and_maps_are_left_out),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(trees_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
