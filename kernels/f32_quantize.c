/* QuantizeLinear and DequantizeLinear of ONNX files, with one scale or one per element along an
 * axis. In float32: q = saturate(round(x / scale) + zero), half to even; x = (q - zero) * scale. */
#include "kernels/float_call.h"
#include "kernels/requant.h"

typedef struct grid {
    const float *scale;
    const itg_tensor *zero; /* NULL: 0 */
    int64_t count, inner;   /* number of scales; elements per scale */
} grid;

static itg_status grid_of(const itg_call *call, const itg_tensor *real, const itg_tensor *codes,
                          grid *out)
{
    const itg_tensor *scale = itg_call_input(call, 1), *zero = itg_call_input(call, 2);
    const int64_t axis = call->attrs->axis;
    if (real->dtype != ITG_F32 || !scale || scale->dtype != ITG_F32 ||
        !itg_shape_equal(&call->inputs[0].shape, &call->outputs[0].shape))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its operands do not fit");
    *out = (grid){scale->data, zero, itg_elements(&scale->shape), 1};
    if (out->count != 1 &&
        (axis < 0 || axis >= real->shape.rank || out->count != real->shape.dims[axis]))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its scale does not fit its axis");
    if (out->count != 1)
        out->inner = itg_dims_product(&real->shape, (int32_t)axis + 1, real->shape.rank);
    if (zero && (zero->dtype != codes->dtype || itg_elements(&zero->shape) != out->count))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its zero point does not fit its scale");
    return ITG_OK;
}

static int64_t zero_at(const grid *g, int64_t channel)
{
    return g->zero ? itg_load(g->zero->dtype, g->zero->data, channel) : 0;
}

itg_status itg_f32_quantize(const itg_call *call)
{
    const itg_tensor *x = &call->inputs[0];
    itg_tensor *y = &call->outputs[0];
    grid g;
    itg_status status = grid_of(call, x, y, &g);
    if (status != ITG_OK) return status;
    const int64_t n = itg_elements(&x->shape);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t c = i / g.inner % g.count;
        const float quotient = ((const float *)x->data)[i] / g.scale[c];
        itg_store_number(y->dtype, y->data, i,
                         itg_round_half_even((double)quotient) + (double)zero_at(&g, c));
    }
    return ITG_OK;
}

itg_status itg_f32_dequantize(const itg_call *call)
{
    const itg_tensor *q = &call->inputs[0];
    itg_tensor *y = &call->outputs[0];
    grid g;
    itg_status status = grid_of(call, y, q, &g);
    if (status != ITG_OK) return status;
    const int64_t n = itg_elements(&q->shape);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t c = i / g.inner % g.count;
        const int64_t code = itg_load(q->dtype, q->data, i) - zero_at(&g, c);
        ((float *)y->data)[i] = (float)code * g.scale[c];
    }
    return ITG_OK;
}
