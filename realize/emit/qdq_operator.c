/* Writes nodes of the prepared graph as ONNX nodes. Attributes become inputs where the opset has
 * them as inputs. */
#include <math.h>
#include <string.h>
#include "graph/onnx/tensor_types.h"
#include "realize/emit/qdq.h"

/* Returns the operator that is written in place of another. */
static itg_op written_as(itg_op op)
{
    if (op == ITG_OP_POWER) return ITG_OP_POW;
    if (!itg_op_is(op, ITG_IS_VIEW)) return op;
    return op == ITG_OP_DROPOUT || op == ITG_OP_IDENTITY ? ITG_OP_IDENTITY : ITG_OP_RESHAPE;
}

/* Swish as two operators, which every opset has. */
static bool is_written_out(const itg_node *n)
{
    return n->op == ITG_OP_SWISH && n->attrs.alpha == 1.0f;
}

int64_t itg_qdq_min_opset(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    int32_t count, opset = itg_op_info_of(n->op)->first_opset;
    const itg_attr *attr = itg_op_attrs(n->op, &count);
    if (is_written_out(n)) return itg_op_info_of(ITG_OP_SIGMOID)->first_opset;
    switch (n->op) {
    case ITG_OP_BATCH_NORMALIZATION: /* no prepared graph holds these */
    case ITG_OP_CONSTANT:
    case ITG_OP_CONSTANT_OF_SHAPE:
    case ITG_OP_CAST_LIKE:
    case ITG_OP_EINSUM: /* its equation is an input here */
    case ITG_OP_SCATTER:
        return 0;
    default:
        if (itg_op_is(n->op, ITG_READS_SHAPE)) return 0;
        break;
    }
    for (int32_t i = 0; i < count; i++)
        if (attr[i].first_opset > opset && attr[i].last_opset == 0 &&
            !itg_attr_is_preset(&attr[i], &n->attrs))
            opset = attr[i].first_opset;
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
    extra[0] = itg_qdq_list(q, n->name, "shape", ITG_S64, to.dims, to.rank);
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

/* Whether axes are an input: for ReduceSum from opset 13 on, for other reductions from 18 on. */
static bool axes_are_input(const itg_qdq *q, const itg_node *n)
{
    return n->op == ITG_OP_REDUCE_SUM || q->opset >= 18;
}

static int32_t axes_input(itg_qdq *q, const itg_node *n, const char **extra)
{
    int64_t axes[ITG_MAX_RANK];
    if (!axes_are_input(q, n)) return 0;
    extra[0] = itg_qdq_list(q, n->name, "axes", ITG_S64, axes, reduced_axes(q, n, axes));
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
    extra[0] = itg_qdq_list(q, n->name, "starts", ITG_S64, a->starts, a->axes_count);
    extra[1] = itg_qdq_list(q, n->name, "ends", ITG_S64, ends, a->axes_count);
    extra[2] = itg_qdq_list(q, n->name, "axes", ITG_S64, a->axes, a->axes_count);
    extra[3] = itg_qdq_list(q, n->name, "steps", ITG_S64, a->steps, a->axes_count);
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
    extra[0] = itg_qdq_list(q, n->name, "pads", ITG_S64, pads, 2 * in->rank);
    if (n->attrs.pad_value == 0 || q->a->nodes[node].form == ITG_FORM_KEEP) return 1;
    extra[1] = itg_qdq_float(q, n->name, "value", n->attrs.pad_value);
    return 2;
}

static int32_t sizes_input(itg_qdq *q, const itg_node *n, const char **extra)
{
    int64_t *sizes = itg_qdq_alloc(q, n->output_count, sizeof *sizes);
    if (sizes == NULL) return 0;
    for (int32_t i = 0; i < n->output_count; i++) {
        if (n->outputs[i] == ITG_NONE) {
            itg_qdq_fail(q, ITG_UNSUPPORTED, ITG_NONE, "Split with an output left out");
            return 0;
        }
        sizes[i] = shape_out(q, n, i)->dims[n->attrs.axis];
    }
    extra[0] = itg_qdq_list(q, n->name, "sizes", ITG_S64, sizes, n->output_count);
    return 1;
}

static int32_t extra_inputs(itg_qdq *q, itg_id node, const char **extra)
{
    const itg_node *n = &q->g->nodes[node];
    if (itg_op_is(n->op, ITG_IS_REDUCE)) return axes_input(q, n, extra);
    if (n->op == ITG_OP_POWER) {
        extra[0] = itg_qdq_float(q, n->name, "exponent", n->attrs.alpha);
        return 1;
    }
    switch (written_as(n->op)) {
    case ITG_OP_RESHAPE:
    case ITG_OP_EXPAND:
        return shape_input(q, n, extra);
    case ITG_OP_CLIP:
        return range_inputs(q, n, extra);
    case ITG_OP_SLICE:
        return slice_inputs(q, n, extra);
    case ITG_OP_PAD:
        return pad_inputs(q, node, extra);
    case ITG_OP_SPLIT:
        return sizes_input(q, n, extra);
    default:
        return 0;
    }
}

/* ---- attributes ---- */

/* Of two dimensions here, one stands in the file for a 1-D window: the second. */
static void window_list(itg_qdq *q, const itg_attr *attr, const itg_node *n)
{
    const int64_t *from = itg_attr_value(attr, &n->attrs);
    int32_t first = n->attrs.spatial_rank == 1 ? 1 : 0, count = 0;
    int64_t list[4];
    for (int32_t i = 0; i < itg_attr_count(attr, &n->attrs, 0); i++)
        if (i % 2 >= first) list[count++] = from[i];
    itg_onnx_writer_ints(q->w, attr->onnx, list, count);
}

static void attribute(itg_qdq *q, const itg_attr *attr, const itg_node *n)
{
    const void *value = itg_attr_value(attr, &n->attrs);
    int64_t axes[ITG_MAX_RANK];
    switch (attr->field->kind) {
    case ITG_KIND_AXIS:
        if (*(const int64_t *)value == ITG_MAX_RANK) break; /* there is none */
        itg_onnx_writer_int(q->w, attr->onnx, *(const int64_t *)value);
        break;
    case ITG_KIND_INT:
        itg_onnx_writer_int(q->w, attr->onnx, *(const int64_t *)value);
        break;
    case ITG_KIND_BOOL:
        itg_onnx_writer_int(q->w, attr->onnx, *(const bool *)value);
        break;
    case ITG_KIND_FLOAT:
    case ITG_KIND_BOUND:
        itg_onnx_writer_float(q->w, attr->onnx, *(const float *)value);
        break;
    case ITG_KIND_DTYPE:
        itg_onnx_writer_int(q->w, attr->onnx, itg_onnx_type_of(*(const itg_dtype *)value));
        break;
    case ITG_KIND_NAME:
        itg_onnx_writer_string(q->w, attr->onnx, itg_attr_word(attr, &n->attrs));
        break;
    case ITG_KIND_LIST:
        window_list(q, attr, n);
        break;
    case ITG_KIND_AXES:
        itg_onnx_writer_ints(q->w, attr->onnx, axes, reduced_axes(q, n, axes));
        break;
    case ITG_KIND_PER_DIM:
        itg_onnx_writer_ints(q->w, attr->onnx, value, shape_in(q, n)->rank);
        break;
    default: /* AUTO_PAD: pads are explicit; PER_AXIS: an input since opset 10 */
        break;
    }
}

/* Writes the attributes that the file's opset has. */
static void attributes(itg_qdq *q, const itg_node *n)
{
    int32_t count;
    const itg_attr *attr = itg_op_attrs(n->op, &count);
    if (itg_op_is(n->op, ITG_IS_VIEW)) return; /* written as Reshape or Identity */
    for (int32_t i = 0; i < count; i++)
        if (attr[i].onnx != NULL && attr[i].first_opset <= q->opset &&
            (attr[i].last_opset == 0 || attr[i].last_opset >= q->opset))
            attribute(q, &attr[i], n);
}

/* ---- nodes ---- */

static void write_out(itg_qdq *q, const char *x, const char *output)
{
    const char *share = itg_qdq_add(q, "Sigmoid", NULL, &x, 1, itg_qdq_name(q, output, "share"));
    itg_qdq_add(q, "Mul", NULL, (const char *[]){x, share}, 2, output);
}

void itg_qdq_operator(itg_qdq *q, itg_id node, const char *const *inputs, int32_t input_count,
                      const char *const *outputs, int32_t output_count, int32_t copy)
{
    const itg_node *n = &q->g->nodes[node];
    const char *extra[MAX_EXTRA] = {NULL};
    const char **all = itg_qdq_alloc(q, (int64_t)input_count + MAX_EXTRA, sizeof *all);
    if (!itg_qdq_ok(q)) return;
    if (is_written_out(n)) {
        write_out(q, inputs[0], outputs[0]);
        return;
    }
    bool nothing = itg_op_is(n->op, ITG_IS_REDUCE) && n->attrs.axes_count == 0 &&
                   n->attrs.noop_with_empty_axes;
    const char *type = itg_op_name(nothing ? ITG_OP_IDENTITY : written_as(n->op));
    for (int32_t i = 0; i < input_count; i++)
        all[i] = inputs[i] != NULL ? inputs[i] : "";
    int32_t extras = nothing ? 0 : extra_inputs(q, node, extra);
    for (int32_t i = 0; i < extras; i++)
        all[input_count + i] = extra[i];
    const char *name = copy == 0 ? n->name : itg_arena_format(q->arena, "%s/%d", n->name, copy);
    name = itg_qdq_node_name(q, name);
    if (!itg_qdq_ok(q)) return;
    itg_onnx_writer_node(q->w, "", type, name, all, input_count + extras, outputs, output_count);
    if (!nothing) attributes(q, n);
}

const char *itg_qdq_activation(itg_qdq *q, itg_id activation, const char *x, const char *output)
{
    if (x == NULL || output == NULL) return NULL;
    itg_qdq_operator(q, activation, &x, 1, &output, 1, 0);
    return itg_qdq_ok(q) ? output : NULL;
}
