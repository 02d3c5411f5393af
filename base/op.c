#include <intaglio/types.h>
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
