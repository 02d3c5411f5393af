/* Nodes of the prepared graph as ONNX's: what stands in attributes there goes back to where the
 * opset has it. */
#include <math.h>
#include <string.h>
#include "graph/onnx/tensor_types.h"
#include "realize/emit/qdq.h"

/* What an operator has besides its inputs. */
enum {
    WINDOW = 1, /* kernel_shape, strides, pads, dilations */
    GROUP = 2,
    CEIL = 4,
    COUNT_PAD = 8,
    ALPHA = 16,
    BETA = 32,
    TRANSPOSES = 64,
    AXIS = 128,
    EPSILON = 256,
    KEEPDIMS = 512,
    LAST = 1024,
    PERM = 2048,
    TO = 4096,
    /* inputs made from attributes */
    SHAPE = 8192,
    AXES = 16384,
    RANGE = 32768,
    SLICE = 65536,
    PADS = 131072,
    SIZES = 262144
};

typedef struct rule {
    int32_t min_opset; /* 0: it cannot be written */
    int32_t has;
    const char *type; /* NULL: the operator's own name */
} rule;

static const rule rules[ITG_OP_COUNT] = {
    [ITG_OP_CONV] = {13, WINDOW | GROUP, NULL},
    [ITG_OP_GEMM] = {13, ALPHA | BETA | TRANSPOSES, NULL},
    [ITG_OP_MATMUL] = {13, 0, NULL},
    [ITG_OP_ADD] = {13, 0, NULL},
    [ITG_OP_SUB] = {13, 0, NULL},
    [ITG_OP_MUL] = {13, 0, NULL},
    [ITG_OP_DIV] = {13, 0, NULL},
    [ITG_OP_POW] = {13, 0, NULL},
    [ITG_OP_MIN] = {13, 0, NULL},
    [ITG_OP_MAX] = {13, 0, NULL},
    [ITG_OP_RELU] = {13, 0, NULL},
    [ITG_OP_LEAKY_RELU] = {13, ALPHA, NULL},
    [ITG_OP_PRELU] = {13, 0, NULL},
    [ITG_OP_ELU] = {13, ALPHA, NULL},
    [ITG_OP_CLIP] = {13, RANGE, NULL},
    [ITG_OP_SIGMOID] = {13, 0, NULL},
    [ITG_OP_TANH] = {13, 0, NULL},
    [ITG_OP_HARD_SIGMOID] = {13, ALPHA | BETA, NULL},
    [ITG_OP_HARD_SWISH] = {14, 0, NULL},
    [ITG_OP_SOFTPLUS] = {13, 0, NULL},
    [ITG_OP_EXP] = {13, 0, NULL},
    [ITG_OP_LOG] = {13, 0, NULL},
    [ITG_OP_SQRT] = {13, 0, NULL},
    [ITG_OP_RECIPROCAL] = {13, 0, NULL},
    [ITG_OP_ERF] = {13, 0, NULL},
    [ITG_OP_ABS] = {13, 0, NULL},
    [ITG_OP_NEG] = {13, 0, NULL},
    [ITG_OP_FLOOR] = {13, 0, NULL},
    [ITG_OP_CEIL] = {13, 0, NULL},
    [ITG_OP_MAX_POOL] = {13, WINDOW | CEIL, NULL},
    [ITG_OP_AVERAGE_POOL] = {13, WINDOW | CEIL | COUNT_PAD, NULL},
    [ITG_OP_GLOBAL_AVERAGE_POOL] = {13, 0, NULL},
    [ITG_OP_GLOBAL_MAX_POOL] = {13, 0, NULL},
    [ITG_OP_REDUCE_MEAN] = {13, AXES | KEEPDIMS, NULL},
    [ITG_OP_REDUCE_SUM] = {13, AXES | KEEPDIMS, NULL},
    [ITG_OP_REDUCE_MAX] = {13, AXES | KEEPDIMS, NULL},
    [ITG_OP_LAYER_NORMALIZATION] = {17, AXIS | EPSILON, NULL},
    [ITG_OP_SOFTMAX] = {13, AXIS, NULL},
    [ITG_OP_LOG_SOFTMAX] = {13, AXIS, NULL},
    [ITG_OP_ARG_MAX] = {13, AXIS | KEEPDIMS | LAST, NULL},
    [ITG_OP_CONCAT] = {13, AXIS, NULL},
    [ITG_OP_SPLIT] = {13, AXIS | SIZES, NULL},
    [ITG_OP_RESHAPE] = {13, SHAPE, NULL},
    [ITG_OP_FLATTEN] = {13, SHAPE, "Reshape"},
    [ITG_OP_SQUEEZE] = {13, SHAPE, "Reshape"},
    [ITG_OP_UNSQUEEZE] = {13, SHAPE, "Reshape"},
    [ITG_OP_TRANSPOSE] = {13, PERM, NULL},
    [ITG_OP_SLICE] = {13, SLICE, NULL},
    [ITG_OP_GATHER] = {13, AXIS, NULL},
    [ITG_OP_EXPAND] = {13, SHAPE, NULL},
    [ITG_OP_PAD] = {13, PADS, NULL},
    [ITG_OP_CAST] = {13, TO, NULL},
    [ITG_OP_EQUAL] = {13, 0, NULL},
    [ITG_OP_WHERE] = {13, 0, NULL},
    [ITG_OP_IDENTITY] = {13, 0, NULL},
    [ITG_OP_DROPOUT] = {13, 0, "Identity"},
};

int64_t itg_qdq_min_opset(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    int64_t opset = rules[n->op].min_opset;
    bool dilated = n->attrs.dilation[0] != 1 || n->attrs.dilation[1] != 1;
    if (n->op == ITG_OP_AVERAGE_POOL && dilated) opset = 19;
    return opset;
}

/* ---- inputs that the prepared graph holds as attributes ---- */

enum { MAX_EXTRA = 4 };

static const itg_shape *shape_in(const itg_qdq *q, const itg_node *n)
{
    return &q->g->values[n->inputs[0]].shape;
}

static const itg_shape *shape_out(const itg_qdq *q, const itg_node *n, int32_t output)
{
    return &q->g->values[n->outputs[output]].shape;
}

static int32_t shape_input(itg_qdq *q, const itg_node *n, const char **extra)
{
    itg_shape to = n->op == ITG_OP_EXPAND ? *shape_out(q, n, 0) : itg_qdq_shape(q, n->outputs[0]);
    extra[0] = itg_qdq_int64s(q, n->name, "shape", to.dims, to.rank);
    return 1;
}

static int32_t reduced_axes(const itg_qdq *q, const itg_node *n, int64_t *axes)
{
    int32_t rank = shape_in(q, n)->rank, count = n->attrs.axes_count;
    for (int32_t i = 0; i < count; i++)
        axes[i] = n->attrs.axes[i];
    for (; n->attrs.axes_count == 0 && count < rank; count++)
        axes[count] = count;
    return count;
}

/* ReduceSum has axes as an input from opset 13 on, its like from 18 on. */
static bool axes_are_input(const itg_qdq *q, const itg_node *n)
{
    return n->op == ITG_OP_REDUCE_SUM || q->opset >= 18;
}

static int32_t axes_input(itg_qdq *q, const itg_node *n, const char **extra)
{
    int64_t axes[ITG_MAX_RANK];
    if (!axes_are_input(q, n)) return 0;
    extra[0] = itg_qdq_int64s(q, n->name, "axes", axes, reduced_axes(q, n, axes));
    return 1;
}

static int32_t range_inputs(itg_qdq *q, const itg_node *n, const char **extra)
{
    extra[0] = extra[1] = "";
    if (isfinite(n->attrs.min)) extra[0] = itg_qdq_float(q, n->name, "min", n->attrs.min);
    if (isfinite(n->attrs.max)) extra[1] = itg_qdq_float(q, n->name, "max", n->attrs.max);
    return 2;
}

/* An end before the first element is written as one before all: -1 would be the last element. */
static int32_t slice_inputs(itg_qdq *q, const itg_node *n, const char **extra)
{
    const itg_attrs *a = &n->attrs;
    int64_t ends[ITG_MAX_RANK];
    for (int32_t i = 0; i < a->axes_count; i++) {
        int64_t in = shape_in(q, n)->dims[a->axes[i]], size = shape_out(q, n, 0)->dims[a->axes[i]];
        ends[i] = a->starts[i] + (size - 1) * a->steps[i] + (a->steps[i] > 0 ? 1 : -1);
        if (ends[i] < 0) ends[i] = -in - 1;
    }
    extra[0] = itg_qdq_int64s(q, n->name, "starts", a->starts, a->axes_count);
    extra[1] = itg_qdq_int64s(q, n->name, "ends", ends, a->axes_count);
    extra[2] = itg_qdq_int64s(q, n->name, "axes", a->axes, a->axes_count);
    extra[3] = itg_qdq_int64s(q, n->name, "steps", a->steps, a->axes_count);
    return 4;
}

static int32_t pad_inputs(itg_qdq *q, itg_id node, const char **extra)
{
    const itg_node *n = &q->g->nodes[node];
    const itg_shape *in = shape_in(q, n), *out = shape_out(q, n, 0);
    int64_t pads[2 * ITG_MAX_RANK];
    for (int32_t i = 0; i < in->rank; i++) {
        pads[i] = n->attrs.pads_begin[i];
        pads[in->rank + i] = out->dims[i] - in->dims[i] - pads[i];
    }
    extra[0] = itg_qdq_int64s(q, n->name, "pads", pads, 2 * in->rank);
    if (n->attrs.pad_value == 0 || q->a->nodes[node].form == ITG_FORM_KEEP) return 1;
    extra[1] = itg_qdq_float(q, n->name, "value", n->attrs.pad_value);
    return 2;
}

static int32_t sizes_input(itg_qdq *q, const itg_node *n, const char **extra)
{
    int64_t *sizes = itg_arena_array(q->arena, (size_t)n->output_count + 1, sizeof *sizes);
    if (sizes == NULL) {
        itg_qdq_fail(q, ITG_NO_MEMORY, ITG_NONE, "no memory for a list");
        return 0;
    }
    for (int32_t i = 0; i < n->output_count; i++) {
        if (n->outputs[i] == ITG_NONE) {
            itg_qdq_fail(q, ITG_UNSUPPORTED, ITG_NONE, "Split with an output left out");
            return 0;
        }
        sizes[i] = shape_out(q, n, i)->dims[n->attrs.axis];
    }
    extra[0] = itg_qdq_int64s(q, n->name, "sizes", sizes, n->output_count);
    return 1;
}

static int32_t extra_inputs(itg_qdq *q, itg_id node, const char **extra)
{
    const itg_node *n = &q->g->nodes[node];
    int32_t has = rules[n->op].has;
    if (has & SHAPE) return shape_input(q, n, extra);
    if (has & AXES) return axes_input(q, n, extra);
    if (has & RANGE) return range_inputs(q, n, extra);
    if (has & SLICE) return slice_inputs(q, n, extra);
    if (has & PADS) return pad_inputs(q, node, extra);
    if (has & SIZES) return sizes_input(q, n, extra);
    return 0;
}

/* ---- attributes ---- */

/* Of two dimensions here, one stands in the file for a 1-D window: the second. */
static void window_attributes(itg_onnx_writer *w, const itg_node *n, bool dilations)
{
    const itg_attrs *a = &n->attrs;
    int32_t first = a->spatial_rank == 1 ? 1 : 0, rank = 2 - first;
    int64_t pads[4];
    for (int32_t i = 0; i < rank; i++) {
        pads[i] = a->pad[first + i];
        pads[rank + i] = a->pad[2 + first + i];
    }
    itg_onnx_writer_ints(w, "kernel_shape", a->kernel + first, rank);
    itg_onnx_writer_ints(w, "strides", a->stride + first, rank);
    itg_onnx_writer_ints(w, "pads", pads, 2 * (int64_t)rank);
    if (dilations) itg_onnx_writer_ints(w, "dilations", a->dilation + first, rank);
}

static void number_attributes(itg_onnx_writer *w, const itg_node *n, int32_t has)
{
    const itg_attrs *a = &n->attrs;
    if (has & GROUP) itg_onnx_writer_int(w, "group", a->group);
    if (has & CEIL) itg_onnx_writer_int(w, "ceil_mode", a->ceil_mode);
    if (has & COUNT_PAD) itg_onnx_writer_int(w, "count_include_pad", a->count_include_pad);
    if (has & ALPHA) itg_onnx_writer_float(w, "alpha", a->alpha);
    if (has & BETA) itg_onnx_writer_float(w, "beta", a->beta);
    if (has & TRANSPOSES) itg_onnx_writer_int(w, "transA", a->trans_a);
    if (has & TRANSPOSES) itg_onnx_writer_int(w, "transB", a->trans_b);
    if (has & AXIS) itg_onnx_writer_int(w, "axis", a->axis);
    if (has & EPSILON) itg_onnx_writer_float(w, "epsilon", a->epsilon);
    if (has & KEEPDIMS) itg_onnx_writer_int(w, "keepdims", a->keepdims);
    if (has & LAST) itg_onnx_writer_int(w, "select_last_index", a->select_last_index);
    if (has & TO) itg_onnx_writer_int(w, "to", itg_onnx_type_of(a->to));
}

static void attributes(itg_qdq *q, const itg_node *n)
{
    static const char *const modes[] = {"constant", "reflect", "edge"};
    int32_t has = rules[n->op].has;
    int64_t axes[ITG_MAX_RANK];
    if (has & WINDOW) {
        bool dilated = n->attrs.dilation[0] != 1 || n->attrs.dilation[1] != 1;
        window_attributes(q->w, n, dilated);
    }
    number_attributes(q->w, n, has);
    if (has & PERM) itg_onnx_writer_ints(q->w, "perm", n->attrs.perm, shape_in(q, n)->rank);
    if (has & PADS) itg_onnx_writer_string(q->w, "mode", modes[n->attrs.pad_mode]);
    if ((has & AXES) && !axes_are_input(q, n))
        itg_onnx_writer_ints(q->w, "axes", axes, reduced_axes(q, n, axes));
}

/* ---- nodes ---- */

void itg_qdq_operator(itg_qdq *q, itg_id node, const char *const *inputs, int32_t input_count,
                      const char *const *outputs, int32_t output_count, int32_t copy)
{
    const itg_node *n = &q->g->nodes[node];
    const char *type = rules[n->op].type != NULL ? rules[n->op].type : itg_op_name(n->op);
    const char *extra[MAX_EXTRA] = {NULL};
    const char **all = itg_arena_array(q->arena, (size_t)input_count + MAX_EXTRA, sizeof *all);
    if (!itg_qdq_ok(q)) return;
    if (all == NULL) {
        itg_qdq_fail(q, ITG_NO_MEMORY, node, "no memory to write it");
        return;
    }
    bool nothing =
        (rules[n->op].has & AXES) && n->attrs.axes_count == 0 && n->attrs.noop_with_empty_axes;
    for (int32_t i = 0; i < input_count; i++)
        all[i] = inputs[i] != NULL ? inputs[i] : "";
    int32_t extras = nothing ? 0 : extra_inputs(q, node, extra);
    for (int32_t i = 0; i < extras; i++)
        all[input_count + i] = extra[i];
    const char *name = copy == 0 ? n->name : itg_arena_format(q->arena, "%s/%d", n->name, copy);
    name = name != NULL ? itg_names_unique(&q->node_names, name, 0) : NULL;
    if (name == NULL) itg_qdq_fail(q, ITG_NO_MEMORY, node, "no memory to write it");
    if (!itg_qdq_ok(q)) return;
    itg_onnx_writer_node(q->w, "", nothing ? "Identity" : type, name, all, input_count + extras,
                         outputs, output_count);
    if (!nothing) attributes(q, n);
}

const char *itg_qdq_activation(itg_qdq *q, itg_id activation, const char *x, const char *output)
{
    if (x == NULL || output == NULL) return NULL;
    itg_qdq_operator(q, activation, &x, 1, &output, 1, 0);
    return itg_qdq_ok(q) ? output : NULL;
}
