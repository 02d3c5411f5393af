/* Data movement: Reshape Flatten Squeeze Unsqueeze Identity Dropout copy; Transpose Slice Expand
 * Concat Split are strided copies; Gather copies runs. An element is as many bytes as its dtype
 * has. */
#include "kernels/float_call.h"
#include "kernels/float_ops.h"

#include <string.h>

#define COPY_EACH(size)                                                                            \
    for (int64_t i = 0; i < n; ++i)                                                                \
    memcpy(out + i * step_out * (size), in + i * step_in * (size), (size))

/* Copies n elements; steps are in elements. */
static void copy_run(char *out, int64_t step_out, const char *in, int64_t step_in, int64_t n,
                     size_t size)
{
    if (step_out == 1 && step_in == 1) {
        memcpy(out, in, (size_t)n * size);
    } else if (size == 4) {
        COPY_EACH(4);
    } else if (size == 1) {
        COPY_EACH(1);
    } else if (size == 2) {
        COPY_EACH(2);
    } else {
        COPY_EACH(8);
    }
}

/* Copies operand 1 to operand 0. */
static void copy_strided(itg_strided *s, void *out, const void *in, size_t size)
{
    const int64_t bytes = (int64_t)size;
    if (!itg_strided_start(s)) return;
    do {
        copy_run((char *)out + s->offset[0] * bytes, itg_strided_step(s, 0),
                 (const char *)in + s->offset[1] * bytes, itg_strided_step(s, 1),
                 itg_strided_run(s), size);
    } while (itg_strided_next(s));
}

/* Fills the output from input 0 with these strides. */
static itg_status copy_view(const itg_call *call, const int64_t *strides, int64_t offset)
{
    itg_strided s;
    itg_strided_over(&s, &call->outputs[0].shape);
    itg_strided_view(&s, strides, offset);
    copy_strided(&s, call->outputs[0].data, call->inputs[0].data,
                 itg_dtype_size(call->inputs[0].dtype));
    return ITG_OK;
}

static itg_status copy_whole(const itg_call *call)
{
    const itg_tensor *x = &call->inputs[0];
    itg_tensor *y = &call->outputs[0], *mask = itg_call_output(call, 1);
    const int64_t n = itg_elements(&x->shape);
    if (itg_elements(&y->shape) != n)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "output and input differ in size");
    if (y->data != x->data) memmove(y->data, x->data, (size_t)n * itg_dtype_size(x->dtype));
    if (mask) { /* Dropout's mask: everything is kept */
        if (mask->dtype != ITG_BOOL || itg_elements(&mask->shape) != n)
            return itg_call_fail(call, ITG_BAD_ARGUMENT, "its mask does not fit");
        memset(mask->data, 1, (size_t)n);
    }
    return ITG_OK;
}

static itg_status transpose(const itg_call *call)
{
    const itg_shape *in = &call->inputs[0].shape, *out = &call->outputs[0].shape;
    int64_t from[ITG_MAX_RANK] = {0}, stride[ITG_MAX_RANK] = {0};
    bool seen[ITG_MAX_RANK] = {false};
    bool fits = in->rank == out->rank;
    itg_row_major(in, from);
    for (int32_t d = 0; fits && d < in->rank; ++d) {
        const int64_t axis = call->attrs->perm[d];
        fits = axis >= 0 && axis < in->rank && !seen[axis] && out->dims[d] == in->dims[axis];
        if (!fits) break;
        seen[axis] = true;
        stride[d] = from[axis];
    }
    if (!fits) return itg_call_fail(call, ITG_BAD_ARGUMENT, "perm does not fit input and output");
    return copy_view(call, stride, 0);
}

/* Whether the elements start + i * step of a slice lie in the input. */
static bool slice_inside(int64_t start, int64_t step, int64_t extent, int64_t size)
{
    if (extent == 0) return true;
    if (start < 0 || start >= size) return false;
    if (extent == 1) return true;
    if (step < -size || step > size) return false;
    const int64_t last = start + (extent - 1) * step; /* both factors below 2^31 */
    return last >= 0 && last < size;
}

static itg_status slice(const itg_call *call)
{
    const itg_attrs *attrs = call->attrs;
    const itg_shape *in = &call->inputs[0].shape, *out = &call->outputs[0].shape;
    int64_t from[ITG_MAX_RANK] = {0}, stride[ITG_MAX_RANK] = {0};
    int64_t start[ITG_MAX_RANK] = {0}, step[ITG_MAX_RANK], offset = 0;
    bool fits = in->rank == out->rank && attrs->axes_count <= ITG_MAX_RANK;
    for (int32_t d = 0; d < ITG_MAX_RANK; ++d)
        step[d] = 1;
    for (int32_t i = 0; fits && i < attrs->axes_count; ++i) {
        const int64_t axis = attrs->axes[i];
        fits = axis >= 0 && axis < in->rank;
        if (!fits) break;
        start[axis] = attrs->starts[i];
        step[axis] = attrs->steps[i];
    }
    itg_row_major(in, from);
    for (int32_t d = 0; fits && d < in->rank; ++d) {
        fits = slice_inside(start[d], step[d], out->dims[d], in->dims[d]);
        if (!fits || out->dims[d] == 0) continue;
        stride[d] = out->dims[d] > 1 ? from[d] * step[d] : 0;
        offset += from[d] * start[d];
    }
    if (!fits) return itg_call_fail(call, ITG_BAD_ARGUMENT, "the slice leaves its input");
    return copy_view(call, stride, offset);
}

static itg_status expand(const itg_call *call)
{
    itg_strided s;
    itg_strided_over(&s, &call->outputs[0].shape);
    if (!itg_strided_broadcast(&s, &call->inputs[0].shape))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its input does not broadcast to its output");
    copy_strided(&s, call->outputs[0].data, call->inputs[0].data,
                 itg_dtype_size(call->inputs[0].dtype));
    return ITG_OK;
}

/* Whether parts along the axis make up `whole` (Concat, Split). */
static bool parts_fit(const itg_tensor *whole, const itg_tensor *parts, int32_t count, int64_t axis)
{
    int64_t total = 0;
    if (axis < 0 || axis >= whole->shape.rank) return false;
    for (int32_t i = 0; i < count; ++i) {
        itg_shape shape = parts[i].shape;
        if (shape.rank != whole->shape.rank || parts[i].dtype != whole->dtype) return false;
        total += shape.dims[axis];
        shape.dims[axis] = whole->shape.dims[axis];
        if (!itg_shape_equal(&shape, &whole->shape)) return false;
        if (!parts[i].data && itg_elements(&parts[i].shape) != 0) return false;
    }
    return total == whole->shape.dims[axis];
}

static itg_status move_parts(const itg_call *call, const itg_tensor *whole, const itg_tensor *parts,
                             int32_t count)
{
    const int64_t axis = call->attrs->axis;
    if (!parts_fit(whole, parts, count, axis))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its parts do not fit the whole on its axis");
    const size_t size = itg_dtype_size(whole->dtype);
    const int64_t outer = itg_dims_product(&whole->shape, 0, (int32_t)axis);
    const int64_t inner = itg_dims_product(&whole->shape, (int32_t)axis + 1, whole->shape.rank);
    const size_t pitch = (size_t)(whole->shape.dims[axis] * inner) * size;
    char *base = whole->data;
    for (int32_t i = 0; i < count; ++i) {
        const size_t bytes = (size_t)(parts[i].shape.dims[axis] * inner) * size;
        char *part = parts[i].data;
        for (int64_t o = 0; bytes > 0 && o < outer; ++o) {
            char *at = base + (size_t)o * pitch, *own = part + (size_t)o * bytes;
            if (call->op == ITG_OP_CONCAT) {
                memcpy(at, own, bytes);
            } else {
                memcpy(own, at, bytes);
            }
        }
        base += bytes;
    }
    return ITG_OK;
}

static itg_status concat(const itg_call *call)
{
    return move_parts(call, &call->outputs[0], call->inputs, call->input_count);
}

static itg_status split(const itg_call *call)
{
    return move_parts(call, &call->inputs[0], call->outputs, call->output_count);
}

static itg_status gather(const itg_call *call)
{
    const itg_tensor *x = &call->inputs[0], *indices = itg_call_input(call, 1);
    const int64_t axis = call->attrs->axis;
    if (!indices || axis < 0 || axis >= x->shape.rank ||
        (indices->dtype != ITG_S64 && indices->dtype != ITG_S32))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its axis or its indices do not fit");
    const int64_t outer = itg_dims_product(&x->shape, 0, (int32_t)axis);
    const int64_t inner = itg_dims_product(&x->shape, (int32_t)axis + 1, x->shape.rank);
    const int64_t size = x->shape.dims[axis], count = itg_elements(&indices->shape);
    if (itg_elements(&call->outputs[0].shape) != outer * count * inner)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its output does not fit");
    const size_t bytes = (size_t)inner * itg_dtype_size(x->dtype);
    for (int64_t i = 0; i < count; ++i) {
        int64_t index = itg_load(indices->dtype, indices->data, i);
        if (index < -size || index >= size)
            return itg_fail(call->err, ITG_BAD_ARGUMENT,
                            "Gather: index %lld is outside of [%lld, %lld]", (long long)index,
                            (long long)-size, (long long)size - 1);
        if (index < 0) index += size;
        for (int64_t o = 0; o < outer; ++o)
            memcpy((char *)call->outputs[0].data + (size_t)(o * count + i) * bytes,
                   (const char *)x->data + (size_t)(o * size + index) * bytes, bytes);
    }
    return ITG_OK;
}

/* Operators without an entry are views, which copy_whole copies. */
static const itg_call_fn moves[ITG_OP_COUNT] = {
    [ITG_OP_TRANSPOSE] = transpose, [ITG_OP_SLICE] = slice, [ITG_OP_EXPAND] = expand,
    [ITG_OP_CONCAT] = concat,       [ITG_OP_SPLIT] = split, [ITG_OP_GATHER] = gather,
    [ITG_OP_PAD] = itg_move_pad,
};

itg_status itg_move_eval(itg_op op, const itg_attrs *attrs, const itg_tensor *inputs,
                         int32_t input_count, itg_tensor *outputs, int32_t output_count,
                         const void *fill, itg_error *err)
{
    const itg_call call = {op, attrs, inputs, input_count, outputs, output_count, fill, err};
    if (!itg_op_is(op, ITG_IS_MOVE))
        return itg_fail(err, ITG_BAD_ARGUMENT, "%s moves no data", itg_op_name(op));
    bool done;
    itg_status status = itg_call_check(&call, &done);
    if (status != ITG_OK || done) return status;
    if (inputs[0].dtype != outputs[0].dtype)
        return itg_call_fail(&call, ITG_BAD_ARGUMENT, "output and input differ in type");
    return itg_op_is(op, ITG_IS_VIEW) ? copy_whole(&call) : moves[op](&call);
}
