#include "base/base.h"
#include <string.h>

static const char *const names[ITG_OP_COUNT] = {
#define ITG_OP(id, name, min_in, max_in, max_out) name,
#include <intaglio/ops.def>
#undef ITG_OP
};

const char *itg_op_name(itg_op op)
{
    return (int)op >= 0 && op < ITG_OP_COUNT ? names[op] : "unknown";
}

bool itg_op_from_name(const char *name, itg_op *out)
{
    for (int i = 0; i < ITG_OP_COUNT; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (itg_op)i;
            return true;
        }
    }
    return false;
}

bool itg_is_univariate(itg_op op)
{
    switch (op) {
    case ITG_OP_RELU:
    case ITG_OP_LEAKY_RELU:
    case ITG_OP_ELU:
    case ITG_OP_CLIP:
    case ITG_OP_SIGMOID:
    case ITG_OP_TANH:
    case ITG_OP_HARD_SIGMOID:
    case ITG_OP_HARD_SWISH:
    case ITG_OP_SOFTPLUS:
    case ITG_OP_EXP:
    case ITG_OP_LOG:
    case ITG_OP_SQRT:
    case ITG_OP_RECIPROCAL:
    case ITG_OP_ERF:
    case ITG_OP_ABS:
    case ITG_OP_NEG:
    case ITG_OP_FLOOR:
    case ITG_OP_CEIL:
        return true;
    default:
        return false;
    }
}
