/* Elements of every dtype: Cast, Shape, ConstantOfShape, Where. */
#include "kernels/float_call.h"

#include <string.h>

bool itg_is_float(itg_dtype dtype)
{
    return dtype == ITG_F32 || dtype == ITG_F64;
}

double itg_load_number(itg_dtype dtype, const void *data, int64_t index)
{
    if (dtype == ITG_F32) return (double)((const float *)data)[index];
    if (dtype == ITG_F64) return ((const double *)data)[index];
    return (double)itg_load(dtype, data, index);
}

void itg_store_number(itg_dtype dtype, void *data, int64_t index, double value)
{
    if (dtype == ITG_F32) {
        ((float *)data)[index] = (float)value;
    } else if (dtype == ITG_F64) {
        ((double *)data)[index] = value;
    } else if (dtype == ITG_BOOL) {
        ((uint8_t *)data)[index] = value != 0.0;
    } else {
        const int64_t least = itg_dtype_min(dtype), most = itg_dtype_max(dtype);
        int64_t whole = 0; /* NaN */
        if (value <= (double)least) {
            whole = least;
        } else if (value >= (double)most) { /* (double)INT64_MAX is 2^63 */
            whole = most;
        } else if (value == value) {
            whole = (int64_t)value;
        }
        itg_store(dtype, data, index, whole);
    }
}

itg_status itg_any_cast(const itg_call *call)
{
    const itg_tensor *x = &call->inputs[0];
    itg_tensor *y = &call->outputs[0];
    const int64_t n = itg_elements(&x->shape);
    if (itg_elements(&y->shape) != n)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "output and input differ in size");
    if (y->dtype != call->attrs->to)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its output is not of the type it casts to");
    for (int64_t i = 0; i < n; ++i) {
        if (itg_is_float(x->dtype)) {
            itg_store_number(y->dtype, y->data, i, itg_load_number(x->dtype, x->data, i));
        } else {
            itg_store(y->dtype, y->data, i, itg_load(x->dtype, x->data, i));
        }
    }
    return ITG_OK;
}

/* A shorter output holds the dimensions from attrs.start on (opset 15). */
itg_status itg_any_shape(const itg_call *call)
{
    const itg_shape *shape = &call->inputs[0].shape;
    const int64_t n = itg_elements(&call->outputs[0].shape);
    const int64_t first = n == shape->rank ? 0 : call->attrs->start;
    if (call->outputs[0].dtype != ITG_S64 || first < 0 || first > shape->rank ||
        n > shape->rank - first)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its output is not s64[rank of its input]");
    int64_t *y = call->outputs[0].data;
    for (int64_t i = 0; i < n; ++i)
        y[i] = shape->dims[first + i];
    return ITG_OK;
}

/* The value is input 1 (one element of the output's type), or attrs.pad_value if that is left
 * out. */
itg_status itg_any_constant_of_shape(const itg_call *call)
{
    itg_tensor *y = &call->outputs[0];
    const itg_tensor *value = itg_call_input(call, 1);
    const size_t size = itg_dtype_size(y->dtype);
    const int64_t n = itg_elements(&y->shape);
    char *out = y->data;
    if (value && (value->dtype != y->dtype || itg_elements(&value->shape) != 1))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its value is not one element of its output");
    if (n < 1) return ITG_OK;
    if (value) {
        memcpy(out, value->data, size);
    } else {
        itg_store_number(y->dtype, out, 0, (double)call->attrs->pad_value);
    }
    for (int64_t i = 1; i < n; ++i)
        memcpy(out + (size_t)i * size, out, size);
    return ITG_OK;
}

itg_status itg_any_where(const itg_call *call)
{
    itg_strided s;
    itg_tensor *out = &call->outputs[0];
    const size_t size = itg_dtype_size(out->dtype);
    itg_strided_over(&s, &out->shape);
    for (int32_t i = 0; i < 3; ++i) {
        const itg_tensor *in = itg_call_input(call, i);
        if (!in || in->dtype != (i == 0 ? ITG_BOOL : out->dtype))
            return itg_call_fail(call, ITG_BAD_ARGUMENT,
                                 "an operand is missing or of a wrong type");
        if (!itg_strided_broadcast(&s, &in->shape))
            return itg_call_fail(call, ITG_BAD_ARGUMENT, "operands do not broadcast to the output");
    }
    if (!itg_strided_start(&s)) return ITG_OK;
    const uint8_t *condition = call->inputs[0].data;
    do {
        for (int64_t i = 0; i < itg_strided_run(&s); ++i) {
            const int chosen = condition[s.offset[1] + i * itg_strided_step(&s, 1)] ? 2 : 3;
            const int64_t at = s.offset[chosen] + i * itg_strided_step(&s, chosen);
            memcpy((char *)out->data + (size_t)(s.offset[0] + i) * size,
                   (const char *)call->inputs[chosen - 1].data + (size_t)at * size, size);
        }
    } while (itg_strided_next(&s));
    return ITG_OK;
}
