/* Which arithmetic an operator may name. An operator without a row has no integer arithmetic: it is
 * a float island or nothing. */
#include "keys.h"
#include <stdio.h>

#define MAC (1u << ITG_FORM_MAC)
#define PRODUCT (1u << ITG_FORM_PRODUCT)
#define RESCALE (1u << ITG_FORM_RESCALE)
#define F32 (1u << ITG_FORM_F32)
#define EQUAL (1u << ITG_FORM_EQUAL)
#define KEEP (1u << ITG_FORM_KEEP)
#define LUT (1u << ITG_FORM_LUT)

static const uint32_t legal_forms[ITG_OP_COUNT] = {
    [ITG_OP_CONV] = MAC,
    [ITG_OP_GEMM] = MAC,
    [ITG_OP_MATMUL] = MAC,
    [ITG_OP_ADD] = RESCALE | F32 | EQUAL,
    [ITG_OP_SUB] = RESCALE | F32 | EQUAL,
    [ITG_OP_MUL] = PRODUCT | F32,
    [ITG_OP_RELU] = RESCALE | LUT,
    [ITG_OP_CLIP] = RESCALE | LUT,
    [ITG_OP_LEAKY_RELU] = LUT,
    [ITG_OP_ELU] = LUT,
    [ITG_OP_SIGMOID] = LUT,
    [ITG_OP_TANH] = LUT,
    [ITG_OP_HARD_SIGMOID] = LUT,
    [ITG_OP_HARD_SWISH] = LUT,
    [ITG_OP_SOFTPLUS] = LUT,
    [ITG_OP_EXP] = LUT,
    [ITG_OP_LOG] = LUT,
    [ITG_OP_SQRT] = LUT,
    [ITG_OP_RECIPROCAL] = LUT,
    [ITG_OP_ERF] = LUT,
    [ITG_OP_ABS] = LUT,
    [ITG_OP_NEG] = LUT,
    [ITG_OP_FLOOR] = LUT,
    [ITG_OP_CEIL] = LUT,
    [ITG_OP_MAX_POOL] = KEEP,
    [ITG_OP_GLOBAL_MAX_POOL] = KEEP,
    [ITG_OP_AVERAGE_POOL] = RESCALE | KEEP | F32,
    [ITG_OP_GLOBAL_AVERAGE_POOL] = RESCALE | KEEP | F32,
    [ITG_OP_REDUCE_MEAN] = RESCALE | KEEP | F32,
    [ITG_OP_ARG_MAX] = KEEP,
    [ITG_OP_CONCAT] = KEEP,
    [ITG_OP_SPLIT] = KEEP,
    [ITG_OP_RESHAPE] = KEEP,
    [ITG_OP_FLATTEN] = KEEP,
    [ITG_OP_SQUEEZE] = KEEP,
    [ITG_OP_UNSQUEEZE] = KEEP,
    [ITG_OP_TRANSPOSE] = KEEP,
    [ITG_OP_SLICE] = KEEP,
    [ITG_OP_GATHER] = KEEP,
    [ITG_OP_EXPAND] = KEEP,
    [ITG_OP_PAD] = KEEP,
};

uint32_t itg_hw_legal_forms(itg_op op)
{
    return legal_forms[op];
}

/* A clamp can be fused where the operator ends in a requantization; moved or looked-up codes have
 * none. One Relu or Clip is not fused into another: patterns have two nodes. */
bool itg_hw_can_fuse_into(itg_op producer, itg_op activation)
{
    return (activation == ITG_OP_RELU || activation == ITG_OP_CLIP) && producer != ITG_OP_RELU &&
           producer != ITG_OP_CLIP && (legal_forms[producer] & ~(KEEP | LUT)) != 0;
}

bool itg_hw_is_average(itg_op op)
{
    return op == ITG_OP_AVERAGE_POOL || op == ITG_OP_GLOBAL_AVERAGE_POOL ||
           op == ITG_OP_REDUCE_MEAN;
}

const char *itg_hw_form_names(uint32_t forms, char *buffer, size_t size)
{
    const itg_hw_choice *choice = itg_hw_find_key(&itg_hw_spec_keys, "arithmetic")->choices;
    size_t used = 0;
    buffer[0] = '\0';
    for (; choice->name; choice++) {
        if (!((forms >> choice->value) & 1u)) continue;
        int wrote =
            snprintf(buffer + used, size - used, "%s%s", used > 0 ? ", " : "", choice->name);
        if (wrote < 0 || (size_t)wrote >= size - used) break;
        used += (size_t)wrote;
    }
    return buffer;
}
