/* Reductions. Sums are formed in double in row-major order of the input; means divide by the count
 * in double; both are rounded once. Maxima start at -inf; NaN among the elements is the result.
 * Without elements, the sum is 0 and the maximum -inf, as in ONNX; the mean, which ONNX leaves
 * open, is NaN. */
#include "kernels/float_call.h"

#include <math.h> /* INFINITY */
#include <stdlib.h>

/* Strides of the output over the input's dimensions: 0 along reduced ones. */
static bool output_strides(const itg_call *call, int64_t *stride)
{
    const itg_attrs *attrs = call->attrs;
    const itg_shape *in = &call->inputs[0].shape;
    bool reduced[ITG_MAX_RANK] = {false};
    const bool all = attrs->axes_count == 0 && !attrs->noop_with_empty_axes;
    for (int32_t i = 0; i < attrs->axes_count; ++i) {
        if (i >= ITG_MAX_RANK || attrs->axes[i] < 0 || attrs->axes[i] >= in->rank) return false;
        reduced[attrs->axes[i]] = true;
    }
    int64_t step = 1;
    for (int32_t d = in->rank - 1; d >= 0; --d) {
        const bool gone = all || reduced[d];
        stride[d] = gone ? 0 : step;
        if (!gone) step *= in->dims[d];
    }
    return step == itg_elements(&call->outputs[0].shape);
}

bool itg_reduce_space(const itg_call *call, itg_strided *s)
{
    int64_t out[ITG_MAX_RANK] = {0};
    if (!output_strides(call, out)) return false;
    itg_strided_over(s, &call->inputs[0].shape);
    itg_strided_view(s, out, 0);
    return true;
}

/* input = operand 0, sums = operand 1 */
static void sum_runs(itg_strided *s, const float *x, double *sums)
{
    do {
        const float *in = x + s->offset[0];
        double *out = sums + s->offset[1];
        const int64_t step = itg_strided_step(s, 1), run = itg_strided_run(s);
        if (step == 0) {
            double sum = *out;
            for (int64_t i = 0; i < run; ++i)
                sum += (double)in[i];
            *out = sum;
        } else {
            for (int64_t i = 0; i < run; ++i)
                out[i * step] += (double)in[i];
        }
    } while (itg_strided_next(s));
}

static void max_runs(itg_strided *s, const float *x, float *y)
{
    do {
        const float *in = x + s->offset[0];
        float *out = y + s->offset[1];
        const int64_t step = itg_strided_step(s, 1), run = itg_strided_run(s);
        for (int64_t i = 0; i < run; ++i)
            out[i * step] = in[i] > out[i * step] || in[i] != in[i] ? in[i] : out[i * step];
    } while (itg_strided_next(s));
}

static itg_status reduce_max(const itg_call *call, itg_strided *s, int64_t outputs)
{
    float *y = call->outputs[0].data;
    for (int64_t i = 0; i < outputs; ++i)
        y[i] = -INFINITY;
    if (itg_strided_start(s)) max_runs(s, call->inputs[0].data, y);
    return ITG_OK;
}

static itg_status reduce_sum(const itg_call *call, itg_strided *s, int64_t outputs)
{
    float *y = call->outputs[0].data;
    const int64_t inputs = itg_elements(&call->inputs[0].shape);
    const double count = call->op == ITG_OP_REDUCE_MEAN ? (double)(inputs / outputs) : 1.0;
    double *sums = itg_call_alloc(outputs, sizeof *sums);
    if (!sums) return itg_call_no_memory(call);
    for (int64_t i = 0; i < outputs; ++i)
        sums[i] = 0.0;
    if (itg_strided_start(s)) sum_runs(s, call->inputs[0].data, sums);
    for (int64_t i = 0; i < outputs; ++i)
        y[i] = (float)(sums[i] / count);
    free(sums);
    return ITG_OK;
}

itg_status itg_f32_reduce(const itg_call *call)
{
    itg_strided s;
    if (call->inputs[0].dtype != ITG_F32) return itg_any_reduce(call);
    itg_status status = itg_call_need_f32(call, 1);
    if (status != ITG_OK) return status;
    if (!itg_reduce_space(call, &s))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its axes do not fit input and output");
    const int64_t outputs = itg_elements(&call->outputs[0].shape);
    return call->op == ITG_OP_REDUCE_MAX ? reduce_max(call, &s, outputs)
                                         : reduce_sum(call, &s, outputs);
}

/* Whether a value replaces the largest so far. NaN is larger than every number. */
static bool is_more(double value, double most, bool or_equal)
{
    if (most != most) return or_equal && value != value;
    return value > most || value != value || (or_equal && value == most);
}

/* Of equal largest (ArgMin: smallest) values finds the first, or last with select_last_index. */
itg_status itg_f32_arg_max(const itg_call *call)
{
    const itg_tensor *x = &call->inputs[0];
    const itg_shape *shape = &x->shape;
    const int64_t axis = call->attrs->axis;
    if (axis < 0 || axis >= shape->rank || call->outputs[0].dtype != ITG_S64)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its axis or output does not fit");
    const int64_t outer = itg_dims_product(shape, 0, (int32_t)axis), size = shape->dims[axis];
    const int64_t inner = itg_dims_product(shape, (int32_t)axis + 1, shape->rank);
    if (itg_elements(&call->outputs[0].shape) != outer * inner || size < 1)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its output does not fit its input");
    if (x->dtype != ITG_F32 && !itg_dtype_is_integer(x->dtype))
        return itg_call_fail(call, ITG_UNSUPPORTED, "only f32 and integers are compared");
    int64_t *y = call->outputs[0].data;
    const double sign = call->op == ITG_OP_ARG_MIN ? -1.0 : 1.0;
    for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < inner; ++i) {
            const int64_t first = o * size * inner + i;
            int64_t best = 0;
            double most = sign * itg_load_number(x->dtype, x->data, first);
            for (int64_t k = 1; k < size; ++k) {
                const double value = sign * itg_load_number(x->dtype, x->data, first + k * inner);
                if (is_more(value, most, call->attrs->select_last_index)) {
                    best = k;
                    most = value;
                }
            }
            *y++ = best;
        }
    return ITG_OK;
}
