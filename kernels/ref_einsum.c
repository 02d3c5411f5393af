/* Einsum by loops over the labels of its equation. Products and sums are formed in double, in
 * ascending order of the labels, and rounded once. */
#include "base/einsum.h"
#include "kernels/float_call.h"

/* Advances the indices of these labels and the positions in the operands. False: after the last
 * indices; all are reset to the first. */
static bool advance(const itg_einsum *e, const int32_t *labels, int32_t count, int64_t *index,
                    int64_t *at)
{
    for (int32_t d = count - 1; d >= 0; --d) {
        const int32_t label = labels[d];
        const bool wraps = ++index[label] == e->size[label];
        for (int32_t k = 0; k < e->operands; ++k)
            at[k] += e->stride[k][label] * (wraps ? 1 - e->size[label] : 1);
        if (!wraps) return true;
        index[label] = 0;
    }
    return false;
}

static double product(const itg_call *call, int32_t operands, const int64_t *at)
{
    double result = itg_load_number(call->inputs[0].dtype, call->inputs[0].data, at[0]);
    for (int32_t k = 1; k < operands; ++k)
        result *= itg_load_number(call->inputs[k].dtype, call->inputs[k].data, at[k]);
    return result;
}

static const char *resolve(const itg_call *call, itg_einsum *e)
{
    itg_shape shapes[ITG_EINSUM_OPERANDS], shape;
    const int32_t operands = call->input_count - 1;
    const itg_tensor *labels = itg_call_input(call, operands);
    if (operands > ITG_EINSUM_OPERANDS || !labels || labels->dtype != ITG_S64 ||
        labels->shape.rank != 1)
        return "its equation is missing";
    for (int32_t k = 0; k < operands; ++k) {
        if (call->inputs[k].dtype != call->outputs[0].dtype) return "its operands differ in type";
        shapes[k] = call->inputs[k].shape;
    }
    const char *why =
        itg_einsum_resolve(labels->data, labels->shape.dims[0], shapes, operands, e, &shape);
    if (why) return why;
    return itg_shape_equal(&shape, &call->outputs[0].shape) ? NULL : "its output does not fit";
}

itg_status itg_any_einsum(const itg_call *call)
{
    itg_einsum e;
    int64_t index[ITG_EINSUM_LABELS] = {0}, at[ITG_EINSUM_OPERANDS] = {0};
    const char *why = resolve(call, &e);
    if (why) return itg_call_fail(call, ITG_BAD_ARGUMENT, why);
    itg_tensor *y = &call->outputs[0];
    const int64_t n = itg_elements(&y->shape);
    bool empty = false;
    for (int32_t i = 0; i < e.summed_count; ++i)
        empty |= e.size[e.summed[i]] == 0;
    for (int64_t i = 0; i < n; ++i) {
        double sum = 0.0;
        for (bool more = !empty; more; more = advance(&e, e.summed, e.summed_count, index, at))
            sum += product(call, e.operands, at);
        itg_store_number(y->dtype, y->data, i, sum);
        advance(&e, e.out, e.out_count, index, at);
    }
    return ITG_OK;
}
