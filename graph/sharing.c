#include "graph/sharing.h"

/* Whether a part along an axis is one run of bytes: only dimensions of 1 stand before the axis. */
static bool is_outermost(const itg_shape *whole, int64_t axis)
{
    if (axis < 0 || axis >= whole->rank) return false;
    for (int64_t d = 0; d < axis; d++)
        if (whole->dims[d] != 1) return false;
    return true;
}

/* Whether a slice is one run of bytes: it takes all of every axis behind its first longer one. */
static bool slice_is_run(const itg_attrs *attrs, const itg_shape *x, const itg_shape *y,
                         int64_t *shift)
{
    int64_t start[ITG_MAX_RANK] = {0}, stride = 1, first = 0;
    int32_t outer = 0;
    if (x->rank != y->rank) return false;
    while (outer < y->rank && y->dims[outer] == 1)
        outer++;
    for (int32_t i = 0; i < attrs->axes_count; i++) {
        int64_t axis = attrs->axes[i];
        if (axis < 0 || axis >= x->rank) return false;
        start[axis] = attrs->starts[i];
        if (start[axis] < 0 || start[axis] > x->dims[axis] - y->dims[axis]) return false;
        if (axis == outer && attrs->steps[i] != 1) return false;
        if (axis > outer && (y->dims[axis] != x->dims[axis] || attrs->steps[i] != 1)) return false;
    }
    for (int32_t d = x->rank - 1; d >= 0; d--) {
        first += start[d] * stride;
        stride *= x->dims[d];
    }
    *shift = first;
    return true;
}

/* Whether axes of more than one element stay in order. */
static bool keeps_order(const itg_attrs *attrs, const itg_shape *x)
{
    int64_t last = -1;
    for (int32_t d = 0; d < x->rank; d++) {
        int64_t axis = attrs->perm[d] < 0 ? x->rank - 1 - d : attrs->perm[d];
        if (axis >= x->rank) return false;
        if (x->dims[axis] == 1) continue;
        if (axis < last) return false;
        last = axis;
    }
    return true;
}

itg_sharing itg_op_sharing(itg_op op, const itg_attrs *attrs, const itg_shape *x,
                           const itg_shape *y, int64_t *shift)
{
    *shift = 0;
    if (itg_op_is(op, ITG_IS_VIEW)) return ITG_SHARING_OUTPUTS;
    switch (op) {
    case ITG_OP_TRANSPOSE:
        return keeps_order(attrs, x) ? ITG_SHARING_OUTPUTS : ITG_SHARING_NONE;
    case ITG_OP_SLICE:
        return slice_is_run(attrs, x, y, shift) ? ITG_SHARING_OUTPUTS : ITG_SHARING_NONE;
    case ITG_OP_SPLIT:
        return is_outermost(x, attrs->axis) ? ITG_SHARING_OUTPUTS : ITG_SHARING_NONE;
    case ITG_OP_CONCAT:
        return is_outermost(y, attrs->axis) ? ITG_SHARING_INPUTS : ITG_SHARING_NONE;
    case ITG_OP_ADD:
    case ITG_OP_SUB:
    case ITG_OP_MUL:
    case ITG_OP_DIV:
    case ITG_OP_PRELU:
        return ITG_SHARING_ELEMENTS;
    default: /* Min and Max of many operands read some after writing the first result */
        return itg_op_is(op, ITG_IS_UNIVARIATE) ? ITG_SHARING_ELEMENTS : ITG_SHARING_NONE;
    }
}
