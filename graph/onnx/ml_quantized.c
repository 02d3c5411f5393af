/* ONNX's operators of codes, as the operators of float32 between DequantizeLinear and
 * QuantizeLinear that they stand for. Sums of ConvInteger and MatMulInteger are made in float32 and
 * are exact below 2^24. */
#include <string.h>
#include "graph/onnx/ml_write.h"

enum { TO_FLOAT = 1, TO_INT32 = 6, NO_AXIS = 1 << 30 };

/* The input's name; NULL: it is left out. */
static const char *input(const itg_ml *m, int32_t slot)
{
    return slot < m->node->input_count && *m->node->inputs[slot] ? m->node->inputs[slot] : NULL;
}

static void need(itg_ml *m, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (!input(m, i)) itg_ml_fail(m, ITG_BAD_FILE, "input %d is left out", (int)i);
}

static const char *dequantize(itg_ml *m, const char *x, const char *scale, const char *zero,
                              int64_t axis)
{
    itg_ml_new node = {.op = "DequantizeLinear", .in = {x, scale, zero}};
    if (axis != NO_AXIS) {
        node.attr[0] = "axis";
        node.value[0] = axis;
    }
    return itg_ml_add(m, &node);
}

/* The node as one of float32 operands, with its own attributes; its output. */
static const char *as_float(itg_ml *m, const char *op, const char *const *in, int32_t count)
{
    itg_onnx_node node = *m->node;
    const char **names = itg_arena_array(m->file->arena, 4, sizeof *names);
    if (!names) {
        itg_ml_fail(m, ITG_NO_MEMORY, "no memory");
        return "";
    }
    names[0] = itg_ml_name(m, op);
    for (int32_t i = 0; i < count; i++)
        names[1 + i] = in[i];
    node.op_type = op;
    node.inputs = names + 1;
    node.input_count = count;
    node.outputs = names;
    node.output_count = 1;
    itg_ml_keep(m, &node);
    return names[0];
}

static void quantize(itg_ml *m, const char *y)
{
    itg_ml_add(m, &(itg_ml_new){.op = "QuantizeLinear",
                                .in = {y, input(m, 6), input(m, 7)},
                                .out = itg_ml_output(m, 0)});
}

/* x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B: of x_scale *
 * w_scale */
static void qlinear_conv(itg_ml *m)
{
    need(m, 8);
    const char *in[3] = {dequantize(m, input(m, 0), input(m, 1), input(m, 2), NO_AXIS),
                         dequantize(m, input(m, 3), input(m, 4), input(m, 5), 0)};
    if (input(m, 8)) {
        const char *scale =
            itg_ml_add(m, &(itg_ml_new){.op = "Mul", .in = {input(m, 1), input(m, 4)}});
        in[2] = dequantize(m, input(m, 8), scale, NULL, 0);
    }
    quantize(m, as_float(m, "Conv", in, in[2] ? 3 : 2));
}

/* The shape of a value that the file states; NULL: it states none. */
static const itg_shape *stated_shape(const itg_ml *m, const char *name)
{
    const itg_onnx_file *file = m->file;
    for (int32_t i = 0; i < file->initializer_count; i++)
        if (strcmp(file->initializers[i].name, name) == 0)
            return &file->initializers[i].tensor.shape;
    for (int32_t i = 0; i < file->input_count; i++)
        if (strcmp(file->inputs[i].name, name) == 0) return &file->inputs[i].shape;
    for (int32_t i = 0; i < file->node_count; i++) {
        const itg_onnx_node *node = &file->nodes[i];
        const itg_onnx_attr *value =
            strcmp(node->op_type, "Constant") == 0 ? itg_onnx_attr_find(node, "value") : NULL;
        if (value && value->type == ITG_ATTR_TENSOR && node->output_count == 1 &&
            strcmp(node->outputs[0], name) == 0)
            return &value->tensor.shape;
    }
    return NULL;
}

/* Whether an input holds one number for each of several rows, columns or channels. */
static bool is_vector(const itg_ml *m, int32_t slot)
{
    const itg_shape *shape = input(m, slot) ? stated_shape(m, input(m, slot)) : NULL;
    return shape && shape->rank == 1 && shape->dims[0] != 1;
}

static void qlinear_matmul(itg_ml *m)
{
    need(m, 8);
    const int64_t rows = is_vector(m, 1) ? -2 : NO_AXIS, columns = is_vector(m, 4) ? -1 : NO_AXIS;
    const char *in[2] = {dequantize(m, input(m, 0), input(m, 1), input(m, 2), rows),
                         dequantize(m, input(m, 3), input(m, 4), input(m, 5), columns)};
    quantize(m, as_float(m, "MatMul", in, 2));
}

static const char *cast(itg_ml *m, const char *x, int64_t to, const char *out)
{
    return itg_ml_add(
        m, &(itg_ml_new){.op = "Cast", .in = {x}, .out = out, .attr = {"to"}, .value = {to}});
}

/* Input `slot` less input slot + 2, its zero point, as float32. A vector of these is along the
 * axis: DequantizeLinear with as many scales of 1. */
static const char *centred(itg_ml *m, int32_t slot, int64_t axis)
{
    const char *x = input(m, slot), *zero = input(m, slot + 2);
    if (!zero) return cast(m, x, TO_FLOAT, NULL);
    const char *real = cast(m, zero, TO_FLOAT, NULL);
    if (!is_vector(m, slot + 2))
        return itg_ml_add(m, &(itg_ml_new){.op = "Sub", .in = {cast(m, x, TO_FLOAT, NULL), real}});
    const char *none = itg_ml_scalar(m, 0), *one = itg_ml_scalar(m, 1);
    const char *zeros = itg_ml_add(m, &(itg_ml_new){.op = "Mul", .in = {real, none}});
    const char *ones = itg_ml_add(m, &(itg_ml_new){.op = "Add", .in = {zeros, one}});
    return dequantize(m, x, ones, zero, axis);
}

static void sum_of_codes(itg_ml *m, const char *op, int64_t left, int64_t right)
{
    need(m, 2);
    const char *in[2] = {centred(m, 0, left), centred(m, 1, right)};
    cast(m, as_float(m, op, in, 2), TO_INT32, itg_ml_output(m, 0));
}

static void conv_integer(itg_ml *m)
{
    if (input(m, 3) && !stated_shape(m, input(m, 3)))
        itg_ml_fail(m, ITG_UNSUPPORTED, "the zero point of its weights is computed");
    sum_of_codes(m, "Conv", NO_AXIS, 0);
}

static void matmul_integer(itg_ml *m)
{
    sum_of_codes(m, "MatMul", -2, -1);
}

static const itg_ml_rule rules[] = {
    {"QLinearConv", qlinear_conv},
    {"QLinearMatMul", qlinear_matmul},
    {"ConvInteger", conv_integer},
    {"MatMulInteger", matmul_integer},
};
const itg_ml_family itg_ml_quantized = {rules, sizeof rules / sizeof *rules, ""};
