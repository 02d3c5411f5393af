#include "kernels/float_call.h"

#include <stdlib.h>
#include <string.h>

const itg_tensor *itg_call_input(const itg_call *call, int32_t i)
{
    return i < call->input_count && call->inputs[i].data ? &call->inputs[i] : NULL;
}

itg_tensor *itg_call_output(const itg_call *call, int32_t i)
{
    return i < call->output_count && call->outputs[i].data ? &call->outputs[i] : NULL;
}

itg_status itg_call_fail(const itg_call *call, itg_status code, const char *what)
{
    return itg_fail(call->err, code, "%s: %s", itg_op_name(call->op), what);
}

itg_status itg_call_no_memory(const itg_call *call)
{
    return itg_call_fail(call, ITG_NO_MEMORY, "no memory for its temporaries");
}

/* Whether a tensor has data, or needs none because it is empty. */
static bool is_there(const itg_tensor *tensor)
{
    int64_t elements;
    return tensor->data || (itg_shape_elements(&tensor->shape, &elements) && elements == 0);
}

itg_status itg_call_need_f32(const itg_call *call, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        const itg_tensor *input = &call->inputs[i];
        if (i >= call->input_count || !is_there(input))
            return itg_fail(call->err, ITG_BAD_ARGUMENT, "%s: input %d is missing",
                            itg_op_name(call->op), (int)i);
        if (input->dtype != ITG_F32)
            return itg_fail(call->err, ITG_UNSUPPORTED, "%s: input %d is %s, only f32 is computed",
                            itg_op_name(call->op), (int)i, itg_dtype_name(input->dtype));
    }
    if (call->outputs[0].dtype != ITG_F32)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its output is not f32");
    return ITG_OK;
}

static bool shapes_known(const itg_tensor *tensors, int32_t count)
{
    int64_t elements;
    for (int32_t i = 0; i < count; ++i)
        if (tensors[i].data && !itg_shape_elements(&tensors[i].shape, &elements)) return false;
    return true;
}

itg_status itg_call_check(const itg_call *call, bool *done)
{
    *done = false;
    if (call->input_count < 1 || call->output_count < 1)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "it has no input or no output");
    const bool reads = !itg_op_is(call->op, ITG_READS_SHAPE);
    if ((reads && !is_there(&call->inputs[0])) || !is_there(&call->outputs[0]))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its first input or output has no data");
    if (!shapes_known(call->inputs, call->input_count) ||
        !shapes_known(call->outputs, call->output_count))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "a shape is unknown or too large");
    *done = call->output_count == 1 && itg_elements(&call->outputs[0].shape) == 0;
    return ITG_OK;
}

int64_t itg_elements(const itg_shape *shape)
{
    return itg_dims_product(shape, 0, shape->rank);
}

void *itg_call_alloc(int64_t count, size_t size)
{
    size_t bytes;
    if (count < 0 || !itg_mul_size((size_t)count, size, &bytes)) return NULL;
    return malloc(bytes ? bytes : 1);
}

/* ---- strided iteration ---- */
void itg_strided_init(itg_strided *s, const itg_shape *space)
{
    memset(s, 0, sizeof *s);
    s->rank = space->rank > 0 ? space->rank : 1;
    s->dims[0] = 1;
    for (int32_t d = 0; d < space->rank; ++d)
        s->dims[d] = space->dims[d];
}

void itg_row_major(const itg_shape *shape, int64_t *stride)
{
    int64_t step = 1;
    for (int32_t d = shape->rank - 1; d >= 0; --d) {
        stride[d] = step;
        step *= shape->dims[d];
    }
}

void itg_strided_view(itg_strided *s, const int64_t *stride, int64_t offset)
{
    for (int32_t d = 0; d < s->rank; ++d)
        s->stride[s->operands][d] = stride[d];
    s->offset[s->operands] = offset;
    ++s->operands;
}

void itg_strided_over(itg_strided *s, const itg_shape *space)
{
    int64_t own[ITG_MAX_RANK] = {0};
    itg_row_major(space, own);
    itg_strided_init(s, space);
    itg_strided_view(s, own, 0);
}

bool itg_strided_broadcast(itg_strided *s, const itg_shape *shape)
{
    int64_t own[ITG_MAX_RANK] = {0}, stride[ITG_MAX_RANK] = {0};
    itg_row_major(shape, own);
    for (int32_t d = shape->rank - 1; d >= 0; --d) {
        const int32_t at = d + s->rank - shape->rank;
        if (at < 0) {
            if (shape->dims[d] != 1) return false;
            continue;
        }
        if (shape->dims[d] != 1 && shape->dims[d] != s->dims[at]) return false;
        stride[at] = shape->dims[d] == 1 ? 0 : own[d];
    }
    itg_strided_view(s, stride, 0);
    return true;
}

static bool mergeable(const itg_strided *s, int32_t outer)
{
    for (int32_t i = 0; i < s->operands; ++i)
        if (s->stride[i][outer] != s->stride[i][outer + 1] * s->dims[outer + 1]) return false;
    return true;
}

static void drop_dimension(itg_strided *s, int32_t d)
{
    for (int32_t e = d; e + 1 < s->rank; ++e) {
        s->dims[e] = s->dims[e + 1];
        for (int32_t i = 0; i < s->operands; ++i)
            s->stride[i][e] = s->stride[i][e + 1];
    }
    --s->rank;
}

bool itg_strided_start(itg_strided *s)
{
    for (int32_t d = 0; d < s->rank; ++d)
        if (s->dims[d] == 0) return false;
    for (int32_t d = s->rank - 1; d >= 0 && s->rank > 1; --d)
        if (s->dims[d] == 1) drop_dimension(s, d);
    for (int32_t d = s->rank - 2; d >= 0; --d) {
        if (!mergeable(s, d)) continue;
        s->dims[d + 1] *= s->dims[d];
        drop_dimension(s, d);
    }
    return true;
}

bool itg_strided_next(itg_strided *s)
{
    for (int32_t d = s->rank - 2; d >= 0; --d) {
        for (int32_t i = 0; i < s->operands; ++i)
            s->offset[i] += s->stride[i][d];
        if (++s->index[d] < s->dims[d]) return true;
        s->index[d] = 0;
        for (int32_t i = 0; i < s->operands; ++i)
            s->offset[i] -= s->stride[i][d] * s->dims[d];
    }
    return false;
}
