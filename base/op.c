#include "base/base.h"
#include <string.h>

static const itg_op_info infos[ITG_OP_COUNT] = {
#define ITG_OP(id, name, classes, min_in, max_in, max_out, opset)                                  \
    {name, classes, min_in, max_in, max_out, opset},
#include <intaglio/ops.def>
};

const itg_op_info *itg_op_info_of(itg_op op)
{
    return &infos[op];
}

const char *itg_op_name(itg_op op)
{
    return (int)op >= 0 && op < ITG_OP_COUNT ? infos[op].name : "unknown";
}

bool itg_op_from_name(const char *name, itg_op *out)
{
    for (int i = 0; i < ITG_OP_COUNT; i++) {
        if (strcmp(name, infos[i].name) == 0) {
            *out = (itg_op)i;
            return true;
        }
    }
    return false;
}

bool itg_op_is(itg_op op, int classes)
{
    return (int)op >= 0 && op < ITG_OP_COUNT && (infos[op].classes & classes) != 0;
}
