/* Checks of Softmax and LayerNormalization. They ensure that every integer of a row has at most 62
 * bits and that the native result fits the accumulator (docs/arithmetic.md 3.4, 3.5). */
#include "kernels/requant.h"
#include "realize/check_step.h"

#define MOST_ROW (INT64_C(1) << 20)
#define LARGEST (INT64_C(1) << 61)

enum { MOST_NORM_FRACTION = 20 };

static const itg_pvalue *value(const itg_program *p, const itg_step *s, int32_t slot)
{
    return &p->values[s->inputs[slot]];
}

/* Checks that entries are in [0, 2^bits] and the first is 2^bits. */
static itg_status check_exponentials(const itg_pvalue *table, int64_t count, int32_t bits,
                                     itg_error *err)
{
    const int64_t one = INT64_C(1) << bits;
    if (table->data == NULL || table->quantized || table->dtype != ITG_S32 ||
        table->elements != count)
        return itg_fail(err, ITG_MISMATCH, "table '%s' needs %lld entries of s32", table->name,
                        (long long)count);
    for (int64_t i = 0; i < count; i++) {
        const int64_t entry = ((const int32_t *)table->data)[i];
        if (entry < 0 || entry > one || (i == 0 && entry != one))
            return itg_fail(err, ITG_MISMATCH, "table '%s': entry %lld is out of range",
                            table->name, (long long)i);
    }
    return ITG_OK;
}

itg_status itg_check_softmax(const itg_program *p, const itg_step *s, itg_error *err)
{
    const itg_pvalue *x = value(p, s, 0);
    const int64_t range = x->q.qmax - x->q.qmin;
    if (s->fraction < 1 || s->fraction > ITG_PROBABILITY_BITS || range > UINT16_MAX)
        return itg_fail(err, ITG_MISMATCH, "bits of its exponentials, or of its input");
    if (x->shape.dims[s->attrs.axis] > itg_accumulator_max(s->acc) >> s->fraction)
        return itg_fail(err, ITG_MISMATCH, "the sum of a row leaves the accumulator");
    itg_status status =
        check_exponentials(value(p, s, 1), range < 255 ? range + 1 : 256, s->fraction, err);
    if (status != ITG_OK) return status;
    return check_exponentials(value(p, s, 2), range / 256 + 1, s->fraction, err);
}

static bool is_parameter(const itg_pvalue *v, itg_dtype dtype, int64_t n)
{
    return v->data != NULL && !v->quantized && v->dtype == dtype && v->elements == n;
}

static bool within(const int64_t *values, int64_t count, int64_t most)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] < -most || values[i] > most) return false;
    return true;
}

itg_status itg_check_layer_norm(const itg_program *p, const itg_step *s, itg_error *err)
{
    const itg_pvalue *x = value(p, s, 0);
    const int64_t n = itg_dims_product(&x->shape, (int32_t)s->attrs.axis, x->shape.rank),
                  widest = itg_most_of(&x->q);
    if (!is_parameter(value(p, s, 1), ITG_S16, n) || !is_parameter(value(p, s, 2), ITG_S64, n))
        return itg_fail(err, ITG_MISMATCH, "gain is no s16, or bias no s64 constant of a row");
    if (s->fraction < 0 || s->fraction > MOST_NORM_FRACTION || s->epsilon < 1 ||
        s->epsilon > LARGEST || widest > UINT16_MAX || n > MOST_ROW ||
        n * n > LARGEST / (widest * widest) || !within(value(p, s, 2)->data, n, LARGEST))
        return itg_fail(err, ITG_MISMATCH, "its rows leave 62 bits");
    int64_t lo, hi;
    itg_step_bound(p, s, &lo, &hi);
    if (lo < itg_accumulator_min(s->acc) || hi > itg_accumulator_max(s->acc))
        return itg_fail(err, ITG_MISMATCH, "a scaled element leaves the accumulator");
    return ITG_OK;
}
