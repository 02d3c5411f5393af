#include "fuzz.h"
#include <stdlib.h>
#include "graph/onnx/file_read.h"
#include "graph/onnx/budget.h"
#include "kernels/float_ops.h"

typedef struct model {
    itg_onnx_writer *w;
    int nodes;
} model;

static float weight(int64_t i)
{
    return (float)(i * 7 % 11 - 5) / 8;
}

static void begin(model *m, int64_t opset, int32_t rank, const int64_t *dims)
{
    itg_shape shape = {.rank = rank};
    for (int32_t i = 0; i < rank; i++)
        shape.dims[i] = dims[i];
    m->nodes = 0;
    REQUIRE(itg_onnx_writer_create("net", "1", &m->w, NULL) == ITG_OK);
    itg_onnx_writer_opset(m->w, "", opset);
    itg_onnx_writer_input(m->w, "x", ITG_F32, &shape);
}

static void floats(model *m, const char *name, int32_t rank, const int64_t *dims)
{
    itg_tensor t = {.dtype = ITG_F32, .shape = {.rank = rank}};
    float data[512];
    int64_t n = 1;
    for (int32_t i = 0; i < rank; i++)
        n *= t.shape.dims[i] = dims[i];
    REQUIRE(n <= 512);
    for (int64_t i = 0; i < n; i++)
        data[i] = weight(i);
    t.data = data;
    itg_onnx_writer_initializer(m->w, name, &t);
}

static void integers(model *m, const char *name, int64_t count, const int64_t *data)
{
    itg_tensor t = {ITG_S64, {.rank = 1, .dims = {count}}, (void *)(uintptr_t)data};
    itg_onnx_writer_initializer(m->w, name, &t);
}

/* inputs end in NULL; the output is called as the node */
static void node(model *m, const char *op, const char *name, const char *a, const char *b,
                 const char *c)
{
    const char *inputs[] = {a, b, c}, *outputs[] = {name};
    itg_onnx_writer_node(m->w, "", op, name, inputs, c ? 3 : b ? 2 : 1, outputs, 1);
}

#define DIMS(...)                                                                                  \
    (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (const int64_t[])                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define INTS(...)                                                                                  \
    (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (const int64_t[])                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define LIST(...) (const int64_t[]){__VA_ARGS__}, (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / 8)

static void image_network(model *m)
{
    begin(m, 13, DIMS(-1, 2, 6, 6));
    floats(m, "w", DIMS(4, 2, 3, 3));
    floats(m, "b", DIMS(4));
    node(m, "Conv", "conv", "x", "w", "b");
    itg_onnx_writer_ints(m->w, "kernel_shape", LIST(3, 3));
    itg_onnx_writer_ints(m->w, "pads", LIST(1, 1, 1, 1));
    itg_onnx_writer_ints(m->w, "strides", LIST(1, 1));
    floats(m, "scale", DIMS(4));
    floats(m, "var", DIMS(4));
    const char *norm[] = {"conv", "scale", "b", "b", "scale"}, *out[] = {"norm"};
    itg_onnx_writer_node(m->w, "", "BatchNormalization", "norm", norm, 5, out, 1);
    itg_onnx_writer_float(m->w, "epsilon", 1.0f);
    node(m, "Relu", "relu", "norm", NULL, NULL);
    node(m, "MaxPool", "pool", "relu", NULL, NULL);
    itg_onnx_writer_ints(m->w, "kernel_shape", LIST(2, 2));
    itg_onnx_writer_ints(m->w, "strides", LIST(2, 2));
    floats(m, "d", DIMS(4, 1, 2, 2));
    node(m, "Conv", "deep", "pool", "d", NULL);
    itg_onnx_writer_int(m->w, "group", 4);
    itg_onnx_writer_string(m->w, "auto_pad", "SAME_UPPER");
    node(m, "Add", "add", "pool", "deep", NULL);
    node(m, "AveragePool", "mean", "add", NULL, NULL);
    itg_onnx_writer_ints(m->w, "kernel_shape", LIST(2, 2));
    itg_onnx_writer_int(m->w, "ceil_mode", 1);
    node(m, "GlobalAveragePool", "global", "mean", NULL, NULL);
    node(m, "Flatten", "flat", "global", NULL, NULL);
    floats(m, "g", DIMS(5, 4));
    floats(m, "h", DIMS(5));
    node(m, "Gemm", "y", "flat", "g", "h");
    itg_onnx_writer_int(m->w, "transB", 1);
}

static void movement_network(model *m)
{
    begin(m, 13, DIMS(1, 4, 6));
    integers(m, "shape", INTS(0, 2, -1));
    node(m, "Reshape", "r", "x", "shape", NULL);
    node(m, "Transpose", "t", "r", NULL, NULL);
    itg_onnx_writer_ints(m->w, "perm", LIST(0, 2, 1));
    integers(m, "starts", INTS(1, 0));
    integers(m, "ends", INTS(-1, 9223372036854775807));
    integers(m, "axes", INTS(1, 2));
    integers(m, "steps", INTS(2, 1));
    const char *slice[] = {"t", "starts", "ends", "axes", "steps"}, *sliced[] = {"s"};
    itg_onnx_writer_node(m->w, "", "Slice", "s", slice, 5, sliced, 1);
    node(m, "Concat", "c", "s", "s", NULL);
    itg_onnx_writer_int(m->w, "axis", 1);
    integers(m, "rows", INTS(3, -2, 0));
    node(m, "Gather", "take", "c", "rows", NULL);
    itg_onnx_writer_int(m->w, "axis", 1);
    integers(m, "pads", INTS(0, 1, 0, 0, 0, 1));
    node(m, "Pad", "p", "take", "pads", NULL);
    integers(m, "one", INTS(1));
    node(m, "Unsqueeze", "u", "p", "one", NULL);
    node(m, "Squeeze", "q", "u", "one", NULL);
    integers(m, "wide", INTS(2, 4, 3));
    node(m, "Expand", "e", "q", "wide", NULL);
    const char *parts[] = {"y", "z"}, *whole[] = {"e"};
    itg_onnx_writer_node(m->w, "", "Split", "split", whole, 1, parts, 2);
    itg_onnx_writer_int(m->w, "axis", 1);
}

static void elementwise_network(model *m)
{
    enum { OPSET = 14 };
    begin(m, OPSET, DIMS(1, 8));
    const char *last = "x";
    for (int op = 0; op < ITG_OP_COUNT; op++) {
        const itg_op_info *info = itg_op_info_of((itg_op)op);
        if (!itg_op_is((itg_op)op, ITG_IS_UNIVARIATE) || info->first_opset > OPSET ||
            op == ITG_OP_POWER)
            continue;
        node(m, info->name, info->name, last, NULL, NULL);
        last = info->name;
    }
    floats(m, "k", DIMS(8));
    floats(m, "lo", 0, NULL);
    node(m, "Mul", "m", last, "k", NULL);
    node(m, "Sub", "s", "m", "x", NULL);
    node(m, "Div", "v", "s", "k", NULL);
    node(m, "Clip", "c", "v", "lo", NULL);
    node(m, "Softmax", "soft", "c", NULL, NULL);
    itg_onnx_writer_int(m->w, "axis", -1);
    node(m, "ReduceMean", "mean", "soft", NULL, NULL);
    itg_onnx_writer_ints(m->w, "axes", LIST(1));
    node(m, "Add", "y", "soft", "mean", NULL);
    node(m, "ArgMax", "z", "y", NULL, NULL);
    itg_onnx_writer_int(m->w, "axis", 1);
}

static void matrix_network(model *m)
{
    begin(m, 17, DIMS(1, 3, 4));
    floats(m, "w", DIMS(4, 4));
    floats(m, "g", DIMS(4));
    node(m, "MatMul", "a", "x", "w", NULL);
    node(m, "Transpose", "t", "a", NULL, NULL);
    itg_onnx_writer_ints(m->w, "perm", LIST(0, 2, 1));
    node(m, "MatMul", "b", "a", "t", NULL);
    node(m, "Softmax", "p", "b", NULL, NULL);
    node(m, "MatMul", "v", "p", "a", NULL);
    node(m, "LayerNormalization", "l", "v", "g", "g");
    /* shapes computed from shapes, to be folded */
    node(m, "Shape", "shape", "l", NULL, NULL);
    integers(m, "first", INTS(0, 1));
    node(m, "Gather", "kept", "shape", "first", NULL);
    integers(m, "rest", INTS(-1));
    node(m, "Concat", "to", "kept", "rest", NULL);
    itg_onnx_writer_int(m->w, "axis", 0);
    node(m, "Reshape", "y", "l", "to", NULL);
    node(m, "ConstantOfShape", "z", "to", NULL, NULL);
}

static void line_network(model *m)
{
    begin(m, 9, DIMS(1, 3, 10));
    floats(m, "w", DIMS(2, 3, 3));
    node(m, "Conv", "c", "x", "w", NULL);
    itg_onnx_writer_ints(m->w, "dilations", LIST(2));
    itg_onnx_writer_ints(m->w, "strides", LIST(2));
    node(m, "MaxPool", "y", "c", NULL, NULL);
    itg_onnx_writer_ints(m->w, "kernel_shape", LIST(2));
}

/* scikit-learn's, in front of what is of codes. */
static void learned_network(model *m)
{
    const char *x[] = {"x"}, *scaled[] = {"a"}, *normal[] = {"n"}, *scores[] = {"l", "p"};
    begin(m, 18, DIMS(-1, 3));
    itg_onnx_writer_opset(m->w, "ai.onnx.ml", 3);
    itg_onnx_writer_node(m->w, "ai.onnx.ml", "Scaler", "a", x, 1, scaled, 1);
    itg_onnx_writer_floats(m->w, "offset", (const float[]){1, 2, 3}, 3);
    itg_onnx_writer_floats(m->w, "scale", (const float[]){0.5F, 1, 2}, 3);
    itg_onnx_writer_node(m->w, "ai.onnx.ml", "Normalizer", "n", scaled, 1, normal, 1);
    itg_onnx_writer_string(m->w, "norm", "L2");
    itg_onnx_writer_node(m->w, "ai.onnx.ml", "LinearClassifier", "c", normal, 1, scores, 2);
    itg_onnx_writer_ints(m->w, "classlabels_ints", LIST(0, 1));
    itg_onnx_writer_floats(m->w, "coefficients", (const float[]){1, -1, 2, 0, 1, 3}, 6);
    itg_onnx_writer_floats(m->w, "intercepts", (const float[]){0.5F, -1}, 2);
    itg_onnx_writer_string(m->w, "post_transform", "LOGISTIC");
    floats(m, "one", 0, NULL);
    node(m, "QuantizeLinear", "q", "p", "one", NULL);
    const char *sums[] = {"q", "w"}, *sum[] = {"s"};
    itg_tensor w = {ITG_U8, {2, {2, 2}}, (unsigned char[]){1, 2, 3, 4}};
    itg_onnx_writer_initializer(m->w, "w", &w);
    itg_onnx_writer_node(m->w, "", "MatMulInteger", "s", sums, 2, sum, 1);
    node(m, "Cast", "y", "s", NULL, NULL);
    itg_onnx_writer_int(m->w, "to", 1);
}

bool fuzz_model(int index, itg_strbuf *out)
{
    static void (*const networks[])(model *) = {image_network,       movement_network,
                                                elementwise_network, matrix_network,
                                                line_network,        learned_network};
    static const char *const outputs[][2] = {{"y", NULL}, {"y", "z"},  {"y", "z"},
                                             {"y", NULL}, {"y", NULL}, {"y", NULL}};
    model m;
    if (index >= (int)(sizeof networks / sizeof *networks)) return false;
    networks[index](&m);
    for (int i = 0; i < 2 && outputs[index][i]; i++)
        itg_onnx_writer_output(m.w, outputs[index][i],
                               outputs[index][i][0] == 'z' && index == 2 ? ITG_S64 : ITG_F32, NULL);
    const char *path = fuzz_file((const uint8_t *)"", 0);
    REQUIRE(itg_onnx_writer_save(m.w, path, NULL) == ITG_OK);
    itg_onnx_writer_destroy(m.w);
    fuzz_slurp(path, out);
    return true;
}

itg_graph *fuzz_prepare(const void *data, size_t bytes)
{
    itg_onnx_file *file = NULL;
    itg_graph *source = NULL, *prepared = NULL;
    itg_error err = {0};
    itg_prepare_options options = {.eval = itg_float_eval};
    itg_status status =
        itg_onnx_file_parse(data, bytes, "fuzz.onnx", itg_budget_of(bytes), &file, &err);
    if (status == ITG_OK) status = itg_onnx_import_file(file, "", &source, &err);
    itg_onnx_file_destroy(file);
    if (status == ITG_OK) status = itg_graph_prepare(source, &options, &prepared, &err);
    itg_graph_destroy(source);
    REQUIRE(status == ITG_OK || (err.code == status && err.message[0]));
    if (status != ITG_OK && getenv("ITG_FUZZ_SHOW")) fprintf(stderr, "%s\n", err.message);
    return prepared;
}

int64_t fuzz_work(const itg_graph *g)
{
    int64_t total = 0;
    for (itg_id n = 0; n < g->node_count; n++) {
        const itg_node *node_of = &g->nodes[n];
        int64_t most = 1, out = 1;
        for (int32_t i = 0; i < node_of->input_count + node_of->output_count; i++) {
            bool in = i < node_of->input_count;
            itg_id v = in ? node_of->inputs[i] : node_of->outputs[i - node_of->input_count];
            int64_t elements = 0;
            if (v == ITG_NONE) continue;
            if (!itg_shape_elements(&g->values[v].shape, &elements)) return INT64_MAX;
            if (in && elements > most) most = elements;
            if (!in && elements > out) out = elements;
        }
        const itg_attrs *a = &node_of->attrs; /* a pool's window may be far larger than its input */
        for (int d = 0; d < 2; d++)
            if (a->kernel[d] > most) most = a->kernel[d];
        if (out > INT64_MAX / 4 / most || (total += out * most) > INT64_MAX / 4) return INT64_MAX;
    }
    return total;
}
