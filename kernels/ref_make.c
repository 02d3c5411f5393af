/* Operators that fill or place elements by a pattern: Range, Size, EyeLike, Trilu, Tile, CumSum,
 * CumProd, ReverseSequence. */
#include "kernels/float_call.h"

#include <string.h>

static itg_status does_not_fit(const itg_call *call)
{
    return itg_call_fail(call, ITG_BAD_ARGUMENT, "its inputs and its output do not fit together");
}

static bool is_index(const itg_tensor *t)
{
    return t && (t->dtype == ITG_S64 || t->dtype == ITG_S32);
}

/* Element i is start + i * delta; floats are computed in double and rounded once. */
itg_status itg_any_range(const itg_call *call)
{
    const itg_tensor *start = &call->inputs[0], *delta = itg_call_input(call, 2);
    itg_tensor *y = &call->outputs[0];
    if (!delta || start->dtype != y->dtype || delta->dtype != y->dtype) return does_not_fit(call);
    const int64_t n = itg_elements(&y->shape);
    for (int64_t i = 0; i < n; ++i) {
        if (itg_is_float(y->dtype))
            itg_store_number(y->dtype, y->data, i,
                             itg_load_number(y->dtype, start->data, 0) +
                                 (double)i * itg_load_number(y->dtype, delta->data, 0));
        else
            itg_store(y->dtype, y->data, i,
                      (int64_t)((uint64_t)itg_load(y->dtype, start->data, 0) +
                                (uint64_t)i * (uint64_t)itg_load(y->dtype, delta->data, 0)));
    }
    return ITG_OK;
}

itg_status itg_any_size(const itg_call *call)
{
    if (call->outputs[0].dtype != ITG_S64) return does_not_fit(call);
    *(int64_t *)call->outputs[0].data = itg_elements(&call->inputs[0].shape);
    return ITG_OK;
}

itg_status itg_any_eye_like(const itg_call *call)
{
    itg_tensor *y = &call->outputs[0];
    if (y->shape.rank != 2) return does_not_fit(call);
    for (int64_t r = 0; r < y->shape.dims[0]; ++r)
        for (int64_t c = 0; c < y->shape.dims[1]; ++c)
            itg_store(y->dtype, y->data, r * y->shape.dims[1] + c, c - r == call->attrs->k);
    return ITG_OK;
}

/* Keeps the part of each matrix on and above diagonal k (upper), or on and below it; else 0. */
itg_status itg_any_trilu(const itg_call *call)
{
    const itg_tensor *x = &call->inputs[0], *diagonal = itg_call_input(call, 1);
    itg_tensor *y = &call->outputs[0];
    const itg_shape *shape = &x->shape;
    if (shape->rank < 2 || !itg_shape_equal(shape, &y->shape) || x->dtype != y->dtype ||
        (diagonal && !is_index(diagonal)))
        return does_not_fit(call);
    const int64_t k = diagonal ? itg_load(diagonal->dtype, diagonal->data, 0) : 0;
    const int64_t rows = shape->dims[shape->rank - 2], columns = shape->dims[shape->rank - 1];
    const int64_t n = itg_elements(shape);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t at = i % columns - i / columns % rows;
        if (call->attrs->upper ? at >= k : at <= k)
            memmove(itg_element_at(y, i), itg_element_at(x, i), itg_dtype_size(x->dtype));
        else
            memset(itg_element_at(y, i), 0, itg_dtype_size(x->dtype));
    }
    return ITG_OK;
}

/* Returns the index in x of element i of y, in which x repeats along every dimension. */
static int64_t tiled_from(const itg_shape *x, const itg_shape *y, int64_t i)
{
    int64_t from = 0, step = 1;
    for (int32_t d = x->rank - 1; d >= 0; --d) {
        from += i % y->dims[d] % x->dims[d] * step;
        i /= y->dims[d];
        step *= x->dims[d];
    }
    return from;
}

itg_status itg_any_tile(const itg_call *call)
{
    const itg_tensor *x = &call->inputs[0];
    itg_tensor *y = &call->outputs[0];
    if (x->shape.rank != y->shape.rank || x->dtype != y->dtype) return does_not_fit(call);
    for (int32_t d = 0; d < x->shape.rank; ++d)
        if (x->shape.dims[d] < 1 || y->shape.dims[d] % x->shape.dims[d] != 0)
            return does_not_fit(call);
    const int64_t n = itg_elements(&y->shape);
    for (int64_t i = 0; i < n; ++i)
        memcpy(itg_element_at(y, i), itg_element_at(x, tiled_from(&x->shape, &y->shape, i)),
               itg_dtype_size(x->dtype));
    return ITG_OK;
}

/* Computes a line of CumSum or CumProd: floats in double, each rounded once; integers wrap. */
static void add_line(const itg_call *call, int64_t first, int64_t step, int64_t count)
{
    const itg_tensor *x = &call->inputs[0];
    itg_tensor *y = &call->outputs[0];
    const bool product = call->op == ITG_OP_CUM_PROD, exclusive = call->attrs->exclusive;
    double real = product ? 1.0 : 0.0;
    uint64_t whole = product;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t at = first + i * step;
        if (itg_is_float(x->dtype)) {
            const double value = itg_load_number(x->dtype, x->data, at);
            const double next = product ? real * value : real + value;
            itg_store_number(y->dtype, y->data, at, exclusive ? real : next);
            real = next;
        } else {
            const uint64_t value = (uint64_t)itg_load(x->dtype, x->data, at);
            const uint64_t next = product ? whole * value : whole + value;
            itg_store(y->dtype, y->data, at, (int64_t)(exclusive ? whole : next));
            whole = next;
        }
    }
}

itg_status itg_any_cumulative(const itg_call *call)
{
    const itg_tensor *x = &call->inputs[0], *along = itg_call_input(call, 1);
    const itg_shape *shape = &x->shape;
    if (!is_index(along) || !itg_shape_equal(shape, &call->outputs[0].shape) ||
        x->dtype != call->outputs[0].dtype)
        return does_not_fit(call);
    int64_t axis = itg_load(along->dtype, along->data, 0);
    if (axis < -shape->rank || axis >= shape->rank)
        return itg_fail(call->err, ITG_BAD_ARGUMENT, "%s: axis %lld is outside rank %d",
                        itg_op_name(call->op), (long long)axis, (int)shape->rank);
    axis += axis < 0 ? shape->rank : 0;
    const int64_t size = shape->dims[axis];
    const int64_t inner = itg_dims_product(shape, (int32_t)axis + 1, shape->rank);
    const int64_t lines = itg_dims_product(shape, 0, (int32_t)axis) * inner;
    for (int64_t line = 0; line < lines; ++line) {
        const int64_t first = line / inner * size * inner + line % inner;
        if (call->attrs->reverse)
            add_line(call, first + (size - 1) * inner, -inner, size);
        else
            add_line(call, first, inner, size);
    }
    return ITG_OK;
}

/* Reverses the first lengths[b] steps of each batch b. */
itg_status itg_any_reverse_sequence(const itg_call *call)
{
    const itg_tensor *x = &call->inputs[0], *lengths = itg_call_input(call, 1);
    itg_tensor *y = &call->outputs[0];
    const itg_shape *shape = &x->shape;
    const int64_t batch_axis = call->attrs->batch_axis;
    if (shape->rank < 2 || !is_index(lengths) || batch_axis < 0 || batch_axis > 1 ||
        call->attrs->time_axis != 1 - batch_axis || !itg_shape_equal(shape, &y->shape) ||
        x->dtype != y->dtype || itg_elements(&lengths->shape) != shape->dims[batch_axis])
        return does_not_fit(call);
    const int64_t batches = shape->dims[batch_axis], steps = shape->dims[1 - batch_axis];
    const int64_t inner = itg_dims_product(shape, 2, shape->rank);
    const int64_t b_stride = batch_axis == 0 ? steps : 1, t_stride = batch_axis == 0 ? 1 : batches;
    for (int64_t b = 0; b < batches; ++b) {
        const int64_t length = itg_load(lengths->dtype, lengths->data, b);
        if (length < 0 || length > steps)
            return itg_fail(call->err, ITG_BAD_ARGUMENT,
                            "ReverseSequence: length %lld is outside of [0, %lld]",
                            (long long)length, (long long)steps);
        for (int64_t t = 0; t < steps; ++t) {
            const int64_t from = t < length ? length - 1 - t : t;
            memcpy(itg_element_at(y, (b * b_stride + t * t_stride) * inner),
                   itg_element_at(x, (b * b_stride + from * t_stride) * inner),
                   (size_t)inner * itg_dtype_size(x->dtype));
        }
    }
    return ITG_OK;
}
