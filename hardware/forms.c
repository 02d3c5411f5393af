/* The arithmetic that an operator may name. An operator without a row has none for integers. */
#include "keys.h"
#include <stdio.h>

#define MAC (1u << ITG_FORM_MAC)
#define PRODUCT (1u << ITG_FORM_PRODUCT)
#define RESCALE (1u << ITG_FORM_RESCALE)
#define F32 (1u << ITG_FORM_F32)
#define EQUAL (1u << ITG_FORM_EQUAL)
#define KEEP (1u << ITG_FORM_KEEP)
#define LUT (1u << ITG_FORM_LUT)

/* The first class that contains the operator decides. */
static const struct {
    int classes;
    uint32_t forms;
} forms_of_class[] = {
    {ITG_IS_MAC, MAC},        {ITG_IS_CLAMP, RESCALE | LUT},
    {ITG_IS_UNIVARIATE, LUT}, {ITG_IS_AVERAGE, RESCALE | KEEP | F32},
    {ITG_IS_POOL, KEEP},      {ITG_IS_MOVE, KEEP},
};

uint32_t itg_hw_legal_forms(itg_op op)
{
    switch (op) {
    case ITG_OP_ADD:
    case ITG_OP_SUB:
        return RESCALE | F32 | EQUAL;
    case ITG_OP_MUL:
        return PRODUCT | F32;
    case ITG_OP_ARG_MAX:
        return KEEP;
    case ITG_OP_SOFTMAX:
        return 1u << ITG_FORM_SOFTMAX;
    case ITG_OP_LAYER_NORMALIZATION:
        return 1u << ITG_FORM_LAYER_NORM;
    case ITG_OP_IDENTITY: /* preparation removes these two */
    case ITG_OP_DROPOUT:
        return 0;
    default:
        break;
    }
    for (size_t i = 0; i < sizeof forms_of_class / sizeof *forms_of_class; i++)
        if (itg_op_is(op, forms_of_class[i].classes)) return forms_of_class[i].forms;
    return 0;
}

/* A clamp can be fused if the producer ends in a requantization; moved or looked-up codes do not. A
 * clamp is not fused into another, because patterns have two nodes. */
bool itg_hw_can_fuse_into(itg_op producer, itg_op activation)
{
    return itg_op_is(activation, ITG_IS_CLAMP) && !itg_op_is(producer, ITG_IS_CLAMP) &&
           (itg_hw_legal_forms(producer) & ~(KEEP | LUT)) != 0;
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
