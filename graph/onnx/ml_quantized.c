/* ONNX's operators of codes, as the operators of float32 between DequantizeLinear and
 * QuantizeLinear that they stand for. Sums of ConvInteger and MatMulInteger are made in float32 and
 * are exact below 2^24. */
#include "graph/onnx/ml_write.h"

enum { TO_FLOAT = 1, TO_INT32 = 6, NO_AXIS = -1 };

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

static void qlinear_matmul(itg_ml *m)
{
    need(m, 8);
    const char *in[2] = {dequantize(m, input(m, 0), input(m, 1), input(m, 2), NO_AXIS),
                         dequantize(m, input(m, 3), input(m, 4), input(m, 5), NO_AXIS)};
    quantize(m, as_float(m, "MatMul", in, 2));
}

static const char *cast(itg_ml *m, const char *x, int64_t to, const char *out)
{
    return itg_ml_add(
        m, &(itg_ml_new){.op = "Cast", .in = {x}, .out = out, .attr = {"to"}, .value = {to}});
}

/* x - zero, as float32. */
static const char *centred(itg_ml *m, const char *x, const char *zero)
{
    const char *codes = cast(m, x, TO_FLOAT, NULL);
    if (!zero) return codes;
    return itg_ml_add(m, &(itg_ml_new){.op = "Sub", .in = {codes, cast(m, zero, TO_FLOAT, NULL)}});
}

static void sum_of_codes(itg_ml *m, const char *op)
{
    need(m, 2);
    const char *in[2] = {centred(m, input(m, 0), input(m, 2)),
                         centred(m, input(m, 1), input(m, 3))};
    cast(m, as_float(m, op, in, 2), TO_INT32, itg_ml_output(m, 0));
}

static void conv_integer(itg_ml *m)
{
    sum_of_codes(m, "Conv");
}

static void matmul_integer(itg_ml *m)
{
    sum_of_codes(m, "MatMul");
}

static const itg_ml_rule rules[] = {
    {"QLinearConv", qlinear_conv},
    {"QLinearMatMul", qlinear_matmul},
    {"ConvInteger", conv_integer},
    {"MatMulInteger", matmul_integer},
};
const itg_ml_family itg_ml_quantized = {rules, sizeof rules / sizeof *rules, ""};
