/* The operators of each kind of step, and the names of kinds in files: a prefix and the operator's
 * ONNX name. */
#include "realize/program.h"
#include "kernels/float_ops.h"
#include <string.h>

typedef struct kind_info {
    const char *prefix;
    bool named;  /* the operator's name follows the prefix */
    int classes; /* classes of operators; 0: those listed in ops */
    int op_count;
    itg_op ops[3];
} kind_info;

static const kind_info kinds[ITG_STEP_KIND_COUNT] = {
    [ITG_STEP_QUANTIZE] = {"Quantize", false, 0, 0, {0}},
    [ITG_STEP_DEQUANTIZE] = {"Dequantize", false, 0, 0, {0}},
    [ITG_STEP_FLOAT] = {"Float", true, 0, 0, {0}},
    [ITG_STEP_CONV] = {"Int", true, 0, 1, {ITG_OP_CONV}},
    [ITG_STEP_MATMUL] = {"Int", true, 0, 1, {ITG_OP_MATMUL}},
    [ITG_STEP_BINARY] = {"Int", true, 0, 3, {ITG_OP_ADD, ITG_OP_SUB, ITG_OP_MUL}},
    [ITG_STEP_CLIP] = {"Int", true, ITG_IS_CLAMP, 0, {0}},
    [ITG_STEP_MEAN] = {"Int", true, ITG_IS_AVERAGE, 0, {0}},
    [ITG_STEP_MAX] =
        {"Int", true, 0, 3, {ITG_OP_MAX_POOL, ITG_OP_GLOBAL_MAX_POOL, ITG_OP_REDUCE_MAX}},
    [ITG_STEP_MOVE] = {"Int", true, ITG_IS_MOVE, 0, {0}},
    [ITG_STEP_ARG_MAX] = {"Int", true, 0, 1, {ITG_OP_ARG_MAX}},
    [ITG_STEP_SOFTMAX] = {"Int", true, 0, 1, {ITG_OP_SOFTMAX}},
    [ITG_STEP_LAYER_NORM] = {"Int", true, 0, 1, {ITG_OP_LAYER_NORMALIZATION}},
    [ITG_STEP_LUT] = {"Lut", true, ITG_IS_UNIVARIATE, 0, {0}},
};

bool itg_step_kind_takes(itg_step_kind kind, itg_op op)
{
    const kind_info *info = &kinds[kind];
    if (kind == ITG_STEP_FLOAT) return op != ITG_OP_CONSTANT;
    for (int i = 0; i < info->op_count; i++)
        if (info->ops[i] == op) return true;
    return itg_op_is(op, info->classes);
}

uint32_t itg_step_forms(itg_step_kind kind, itg_op op)
{
    enum { RESCALE = 1 << ITG_FORM_RESCALE, F32 = 1 << ITG_FORM_F32, KEEP = 1 << ITG_FORM_KEEP };
    if (kind == ITG_STEP_BINARY)
        return op == ITG_OP_MUL ? 1 << ITG_FORM_PRODUCT | F32 : RESCALE | 1 << ITG_FORM_EQUAL | F32;
    if (kind == ITG_STEP_MEAN) return RESCALE | KEEP | (op == ITG_OP_AVERAGE_POOL ? F32 : 0);
    return 0;
}

const char *itg_step_type(const itg_step *s, char *buffer, size_t size)
{
    const kind_info *info = &kinds[s->kind];
    snprintf(buffer, size, "%s%s", info->prefix, info->named ? itg_op_name(s->op) : "");
    return buffer;
}

bool itg_step_type_parse(const char *type, itg_step_kind *kind, itg_op *op)
{
    for (int k = 0; k < ITG_STEP_KIND_COUNT; k++) {
        size_t length = strlen(kinds[k].prefix);
        if (strncmp(type, kinds[k].prefix, length) != 0) continue;
        itg_op found = ITG_OP_IDENTITY;
        if (kinds[k].named) {
            if (!itg_op_from_name(type + length, &found)) continue;
            if (!itg_step_kind_takes((itg_step_kind)k, found)) continue;
        } else if (type[length] != '\0') {
            continue;
        }
        *kind = (itg_step_kind)k;
        *op = found;
        return true;
    }
    return false;
}

bool itg_step_has_accumulator(const itg_step *s)
{
    switch (s->kind) {
    case ITG_STEP_CONV:
    case ITG_STEP_MATMUL:
    case ITG_STEP_CLIP:
    case ITG_STEP_SOFTMAX:
    case ITG_STEP_LAYER_NORM:
        return true;
    case ITG_STEP_BINARY:
        return s->form != ITG_FORM_F32;
    case ITG_STEP_MEAN:
        return s->form == ITG_FORM_RESCALE;
    default:
        return false;
    }
}

bool itg_step_is_f32(const itg_step *s)
{
    return (s->kind == ITG_STEP_BINARY || s->kind == ITG_STEP_MEAN) && s->form == ITG_FORM_F32;
}

bool itg_step_has_epilogue(const itg_step *s)
{
    return itg_step_has_accumulator(s) || itg_step_is_f32(s);
}
