#include "sim/distance.h"
#include <math.h>
#include <stdlib.h>

void itg_reference_deinit(itg_reference *reference)
{
    free(reference->values);
    free(reference->power);
    *reference = (itg_reference){0};
}

double itg_real_at(const itg_tensor *t, const itg_quantizer *q, int64_t i)
{
    int64_t code = 0;
    switch (t->dtype) {
    case ITG_F32:
        return ((const float *)t->data)[i];
    case ITG_F64:
        return ((const double *)t->data)[i];
    case ITG_S8:
        code = ((const int8_t *)t->data)[i];
        break;
    case ITG_U8:
    case ITG_BOOL:
        code = ((const uint8_t *)t->data)[i];
        break;
    case ITG_S16:
        code = ((const int16_t *)t->data)[i];
        break;
    case ITG_U16:
        code = ((const uint16_t *)t->data)[i];
        break;
    case ITG_S32:
        code = ((const int32_t *)t->data)[i];
        break;
    case ITG_U32:
        code = ((const uint32_t *)t->data)[i];
        break;
    default:
        code = ((const int64_t *)t->data)[i];
    }
    return q ? (double)q->scale[0] * (double)(code - q->zero_point) : (double)code;
}

static int64_t elements_of(const itg_tensor *t)
{
    return (int64_t)(itg_tensor_bytes(t) / itg_dtype_size(t->dtype));
}

/* Whether integers stand for themselves, so that they are compared for equality. */
static bool is_counted(const itg_tensor *t, const itg_quantizer *q)
{
    return !q && t->dtype != ITG_F32 && t->dtype != ITG_F64;
}

int64_t itg_real_elements(const itg_tensor *outputs, const itg_quantizer *const *quantizers,
                          int32_t output_count)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < output_count; i++) {
        if (quantizers[i] && quantizers[i]->scale_count != 1) return 0;
        sum += elements_of(&outputs[i]);
    }
    return sum;
}

itg_status itg_reference_init(const itg_backend *backend, int64_t samples, int64_t elements,
                              itg_reference *out, itg_error *err)
{
    itg_reference made = {samples, elements, backend->output_count, NULL, NULL, *backend};
    size_t bytes = 0;
    bool fits = itg_mul_size((size_t)elements * sizeof *made.values, (size_t)samples, &bytes) &&
                bytes <= ITG_MAX_REFERENCE_BYTES;
    made.power = calloc((size_t)backend->output_count + 1, sizeof *made.power);
    if (fits) made.values = malloc(bytes + 1);
    if (!made.power || (fits && !made.values)) {
        itg_reference_deinit(&made);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the float network's outputs");
    }
    *out = made;
    return ITG_OK;
}

void itg_reference_add(itg_reference *r, int64_t sample, const itg_tensor *outputs,
                       const itg_quantizer *const *quantizers)
{
    for (int32_t i = 0; i < r->output_count; i++) {
        int64_t count = elements_of(&outputs[i]);
        double power = 0;
        for (int64_t k = 0; k < count; k++) {
            double v = is_counted(&outputs[i], quantizers[i])
                           ? 1
                           : itg_real_at(&outputs[i], quantizers[i], k);
            power += v * v;
        }
        r->power[i] += power;
    }
    if (r->values)
        itg_copy_reals(outputs, quantizers, r->output_count, r->values + sample * r->elements);
}

void itg_reference_finish(itg_reference *r)
{
    bool finite = true;
    for (int32_t i = 0; i < r->output_count; i++)
        finite = finite && isfinite(r->power[i]);
    if (!finite) itg_reference_deinit(r);
}

void itg_distances(const itg_reference *r, const float *wanted, const itg_tensor *outputs,
                   const itg_quantizer *const *quantizers, double *out)
{
    for (int32_t i = 0; i < r->output_count; i++) {
        bool counted = is_counted(&outputs[i], quantizers[i]);
        int64_t count = elements_of(&outputs[i]);
        double sum = 0;
        for (int64_t k = 0; k < count; k++, wanted++) {
            double x = itg_real_at(&outputs[i], quantizers[i], k);
            double d = counted ? (double)((float)x != *wanted) : x - (double)*wanted;
            sum += d * d;
        }
        out[i] = sum;
    }
}

void itg_copy_reals(const itg_tensor *outputs, const itg_quantizer *const *quantizers,
                    int32_t output_count, float *out)
{
    for (int32_t i = 0; i < output_count; i++) {
        int64_t count = elements_of(&outputs[i]);
        for (int64_t k = 0; k < count; k++)
            *out++ = (float)itg_real_at(&outputs[i], quantizers[i], k);
    }
}

double itg_output_distortion(const itg_reference *r, const double *sums, int32_t i)
{
    return r->power[i] > 0 ? sums[i] / r->power[i] : sums[i] > 0 ? 1 : sums[i];
}

double itg_distortion_of(const itg_reference *r, const double *sums)
{
    double sum = 0;
    for (int32_t i = 0; i < r->output_count; i++)
        sum += itg_output_distortion(r, sums, i);
    return r->output_count > 1 ? sum / r->output_count : sum;
}
