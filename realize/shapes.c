#include "realize/shapes.h"
#include "realize/geometry.h"

#include <stdlib.h>

enum { MOST_POSITIONS = 1 << 24 }; /* of a window along one axis; limits loops */

/* Whether every window holds an element of the input. Windows between the paddings do. */
static bool is_covered(const itg_attrs *a, int axis, int64_t extent, int64_t positions)
{
    int64_t k = a->kernel[axis], s = a->stride[axis], d = a->dilation[axis], before = a->pad[axis];
    if ((positions - 1) * s - before >= extent) return false;
    if (d <= extent) return before <= (k - 1) * d;
    for (int64_t i = 0; i < positions && i * s < before; i++) {
        const itg_taps taps = itg_valid_taps(i * s - before, d, k, extent);
        if (taps.begin == taps.end) return false;
    }
    return true;
}

static itg_status check_windows(const itg_step *s, const itg_shape *x, const itg_shape *y,
                                itg_error *err)
{
    if (s->op != ITG_OP_CONV && s->op != ITG_OP_MAX_POOL && s->op != ITG_OP_AVERAGE_POOL)
        return ITG_OK;
    for (int32_t d = 2; d < x->rank; d++) {
        if (y->dims[d] > MOST_POSITIONS)
            return itg_fail(err, ITG_MISMATCH, "more than 2^24 windows along one axis");
        if (s->op != ITG_OP_CONV && !is_covered(&s->attrs, d + 2 - x->rank, x->dims[d], y->dims[d]))
            return itg_fail(err, ITG_MISMATCH, "a window holds no element of its input");
    }
    return ITG_OK;
}

/* Returns a value as inference sees it. Codes, biases and gains represent real numbers. */
static itg_tensor tensor_of(const itg_program *p, const itg_step *s, int32_t value, bool parameter)
{
    if (value == ITG_NONE) return (itg_tensor){ITG_F32, {-1, {0}}, NULL};
    itg_tensor t = itg_pvalue_tensor(&p->values[value]);
    if (p->values[value].quantized || (parameter && s->kind != ITG_STEP_FLOAT)) t.dtype = ITG_F32;
    if (p->values[value].quantized) t.data = NULL;
    return t;
}

/* Checks the number of operands. Shapes are attributes; only Split has several outputs. */
static itg_status check_arity(const itg_step *s, int32_t inputs, int32_t outputs, itg_error *err)
{
    if (s->op == ITG_OP_SHAPE || s->op == ITG_OP_CONSTANT_OF_SHAPE)
        return itg_fail(err, ITG_UNSUPPORTED, "%s has no place in a prepared graph",
                        itg_op_name(s->op));
    if (s->attrs.axes_count < 0 || s->attrs.axes_count > ITG_MAX_RANK)
        return itg_fail(err, ITG_MISMATCH, "bad number of axes");
    const int32_t most = itg_op_info_of(s->op)->max_outputs;
    if ((itg_op_is(s->op, ITG_IS_SHAPED) && inputs != 1) || outputs < 1 ||
        (most >= 0 && outputs > most))
        return itg_fail(err, ITG_MISMATCH, "%d inputs and %d outputs", (int)inputs, (int)outputs);
    return ITG_OK;
}

/* Completes attributes that a file may leave out. rank: of the first input. */
static itg_attrs completed(const itg_step *s, int32_t rank)
{
    itg_attrs a = s->attrs;
    for (int32_t i = rank; i < ITG_MAX_RANK && i >= 0; i++)
        a.perm[i] = -1;
    if (itg_op_is(s->op, ITG_IS_REDUCE) && a.axes_count == 0 && !a.noop_with_empty_axes)
        for (; a.axes_count < rank; a.axes_count++)
            a.axes[a.axes_count] = a.axes_count;
    return a;
}

itg_status itg_check_shapes(const itg_program *p, const itg_step *s, int32_t inputs,
                            int32_t outputs, itg_error *err)
{
    itg_status status = check_arity(s, inputs, outputs, err);
    if (status != ITG_OK) return status;
    itg_tensor *t = malloc(((size_t)inputs + (size_t)outputs + 1) * sizeof *t);
    if (t == NULL) return itg_no_memory(err);
    for (int32_t i = 0; i < inputs; i++)
        t[i] = tensor_of(p, s, s->inputs[i], i == 2 || (i > 0 && s->kind == ITG_STEP_LAYER_NORM));
    for (int32_t i = 0; i < outputs; i++)
        t[inputs + i] = tensor_of(p, s, s->outputs[i], false);
    itg_attrs attrs = completed(s, t[0].shape.rank);
    if (s->kind == ITG_STEP_MATMUL && attrs.trans_b && t[1].shape.rank > 1) {
        int64_t *last = &t[1].shape.dims[t[1].shape.rank - 2], rows = last[0];
        last[0] = last[1];
        last[1] = rows;
    }
    status = itg_infer_check(s->op, &attrs, t, inputs, t + inputs, outputs, err);
    if (status == ITG_OK) status = check_windows(s, &t[0].shape, &t[inputs].shape, err);
    free(t);
    return status;
}
