/* Checks what the executor relies on: indices, single assignment, shapes, quantizers, constants. */
#include "realize/program.h"
#include <math.h>

static bool storage_fits(const itg_quantizer *q)
{
    if (q->storage != ITG_S8 && q->storage != ITG_U8 && q->storage != ITG_S16 &&
        q->storage != ITG_U16 && q->storage != ITG_S32)
        return false;
    return q->qmin >= itg_dtype_min(q->storage) && q->qmax <= itg_dtype_max(q->storage);
}

static itg_status check_quantizer(const itg_pvalue *v, itg_error *err)
{
    const itg_quantizer *q = &v->q;
    const bool signs = q->bits == 1 && v->data != NULL && q->is_signed && q->qmin == -1 &&
                       q->qmax == 1 && q->zero_point == 0;
    if (q->storage != v->dtype || !storage_fits(q) || (q->bits < 2 && !signs) || q->bits > 32)
        return itg_fail(err, ITG_MISMATCH, "value '%s': quantizer does not fit its storage %s",
                        v->name, itg_dtype_name(v->dtype));
    const int64_t span = (INT64_C(1) << q->bits) - 1;
    const bool zero_points = itg_has_zero_points(q) && v->data != NULL && q->is_signed &&
                             q->qmin == -span && q->qmax == span && q->zero_point == 0;
    if (q->bits > 1 && q->qmax - q->qmin > span && !zero_points)
        return itg_fail(err, ITG_MISMATCH, "value '%s': codes [%lld,%lld] do not fit %d bits",
                        v->name, (long long)q->qmin, (long long)q->qmax, (int)q->bits);
    if (q->qmin > q->zero_point || q->zero_point > q->qmax || q->qmin >= q->qmax)
        return itg_fail(err, ITG_MISMATCH, "value '%s': zero point %d is outside of [%lld,%lld]",
                        v->name, q->zero_point, (long long)q->qmin, (long long)q->qmax);
    if (q->axis < -1 || q->axis >= v->shape.rank || q->scale_count < 1 || q->scale == NULL ||
        q->scale_count != (q->axis < 0 ? 1 : v->shape.dims[q->axis]))
        return itg_fail(err, ITG_MISMATCH, "value '%s': %d scales along axis %d", v->name,
                        q->scale_count, q->axis);
    for (int32_t i = 0; i < q->scale_count; i++)
        if (!(q->scale[i] > 0) || !isfinite(q->scale[i]))
            return itg_fail(err, ITG_MISMATCH, "value '%s': scale %d is not positive and finite",
                            v->name, (int)i);
    if (v->data == NULL && q->scale_count != 1)
        return itg_fail(err, ITG_MISMATCH, "value '%s': only constants have several scales",
                        v->name);
    return ITG_OK;
}

/* Checks that constants are within the range from which bounds are derived. */
static itg_status check_codes(const itg_pvalue *v, itg_error *err)
{
    for (int64_t i = 0; i < v->elements; i++) {
        int64_t code = itg_load(v->dtype, v->data, i);
        if (v->q.bits == 1 && code == 0)
            return itg_fail(err, ITG_MISMATCH, "constant '%s': element %lld is 0, expected 1 or -1",
                            v->name, (long long)i);
        if (code < v->q.qmin || code > v->q.qmax)
            return itg_fail(
                err, ITG_MISMATCH, "constant '%s': element %lld is %lld, outside of [%lld,%lld]",
                v->name, (long long)i, (long long)code, (long long)v->q.qmin, (long long)v->q.qmax);
    }
    return ITG_OK;
}

/* Checks that each scale's codes are 2^bits, with 0 among them. */
static itg_status check_spans(const itg_pvalue *v, itg_error *err)
{
    const itg_quantizer *q = &v->q;
    if (!itg_has_zero_points(q)) return ITG_OK;
    for (int32_t i = 0; i < q->scale_count; i++) {
        int64_t least, most;
        itg_code_range(q, &v->shape, v->data, i, &least, &most);
        if (most - least > (INT64_C(1) << q->bits) - 1)
            return itg_fail(err, ITG_MISMATCH,
                            "constant '%s': codes [%lld,%lld] of scale %d do not fit %d bits",
                            v->name, (long long)least, (long long)most, (int)i, (int)q->bits);
    }
    return ITG_OK;
}

static itg_status check_value(itg_pvalue *v, itg_error *err)
{
    char text[128];
    bool known = v->shape.rank >= 0 && v->shape.rank <= ITG_MAX_RANK;
    for (int32_t i = 0; known && i < v->shape.rank; i++)
        known = v->shape.dims[i] >= 1;
    if (!known || !itg_shape_elements(&v->shape, &v->elements))
        return itg_fail(err, ITG_MISMATCH, "value '%s': impossible shape %s", v->name,
                        known ? itg_shape_text(&v->shape, text, sizeof text) : "");
    if ((unsigned)v->dtype >= ITG_DTYPE_COUNT)
        return itg_fail(err, ITG_MISMATCH, "value '%s': unknown type", v->name);
    v->bytes = (size_t)v->elements * itg_dtype_size(v->dtype);
    v->producer = ITG_NONE;
    if (!v->quantized) return ITG_OK;
    itg_status status = check_quantizer(v, err);
    if (status != ITG_OK || v->data == NULL || v->known != NULL) return status;
    status = check_codes(v, err);
    return status == ITG_OK ? check_spans(v, err) : status;
}

/* Checks that ids are in the program, inputs are written before and outputs only here. */
static itg_status check_operands(itg_program *p, int32_t index, bool *written, itg_error *err)
{
    const itg_step *s = &p->steps[index];
    for (int32_t i = 0; i < s->input_count; i++) {
        int32_t v = s->inputs[i];
        if (v == ITG_NONE) continue;
        if (v < 0 || v >= p->value_count || !written[v])
            return itg_fail(err, ITG_MISMATCH, "node '%s': input %d is used before it is made",
                            s->name, (int)i);
    }
    for (int32_t i = 0; i < s->output_count; i++) {
        int32_t v = s->outputs[i];
        if (v < 0 || v >= p->value_count || written[v])
            return itg_fail(err, ITG_MISMATCH, "node '%s': output %d is written twice", s->name,
                            (int)i);
        written[v] = true;
        p->values[v].producer = index;
    }
    return ITG_OK;
}

static itg_status check_steps(itg_program *p, bool *written, itg_error *err)
{
    for (int32_t i = 0; i < p->value_count; i++)
        written[i] = p->values[i].data != NULL;
    for (int32_t i = 0; i < p->input_count; i++) {
        const itg_pvalue *v = &p->values[p->inputs[i]];
        if (written[p->inputs[i]])
            return itg_fail(err, ITG_UNSUPPORTED, "input '%s' stands twice", v->name);
        written[p->inputs[i]] = true;
    }
    for (int32_t i = 0; i < p->step_count; i++) {
        itg_status status = check_operands(p, i, written, err);
        if (status == ITG_OK) status = itg_step_check(p, &p->steps[i], err);
        if (status != ITG_OK) return status;
    }
    for (int32_t i = 0; i < p->output_count; i++) {
        const itg_pvalue *v = &p->values[p->outputs[i]];
        if (!written[p->outputs[i]])
            return itg_fail(err, ITG_MISMATCH, "output '%s' is never made", v->name);
        if (v->quantized && itg_has_zero_points(&v->q))
            return itg_fail(err, ITG_MISMATCH, "output '%s' has zero points of scales", v->name);
    }
    return ITG_OK;
}

itg_status itg_program_check(itg_program *p, itg_error *err)
{
    if (p->output_count < 1) return itg_fail(err, ITG_MISMATCH, "a program without outputs");
    for (int32_t i = 0; i < p->value_count; i++) {
        itg_status status = check_value(&p->values[i], err);
        if (status != ITG_OK) return status;
    }
    bool *written = itg_arena_array(p->arena, (size_t)p->value_count + 1, sizeof *written);
    if (written == NULL) return itg_fail(err, ITG_NO_MEMORY, "no memory to check %s", p->name);
    return check_steps(p, written, err);
}
