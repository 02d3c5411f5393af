/* One output element from one element of each operand. */
#include "realize/exec.h"
#include "kernels/requant.h"

#define CLIP_BLOCK 2048

static const itg_pvalue *value(const itg_instance *instance, int32_t id)
{
    return &instance->program->values[id];
}

itg_status itg_exec_quantize(itg_instance *instance, const itg_step *s, itg_error *err)
{
    (void)err;
    const itg_pvalue *y = value(instance, s->outputs[0]);
    const float *x = itg_exec_data(instance, s->inputs[0]);
    void *out = itg_exec_data(instance, s->outputs[0]);
    for (int64_t i = 0; i < y->elements; i++)
        itg_store(y->dtype, out, i,
                  itg_quantize_f32(x[i], y->q.scale[0], y->q.zero_point, y->q.qmin, y->q.qmax));
    return ITG_OK;
}

itg_status itg_exec_dequantize(itg_instance *instance, const itg_step *s, itg_error *err)
{
    (void)err;
    const itg_pvalue *x = value(instance, s->inputs[0]);
    const void *in = itg_exec_data(instance, s->inputs[0]);
    float *out = itg_exec_data(instance, s->outputs[0]);
    for (int64_t i = 0; i < x->elements; i++)
        out[i] = itg_dequantize_f32(itg_load(x->dtype, in, i), x->q.scale[0], x->q.zero_point);
    return ITG_OK;
}

static itg_binary_form binary_form(const itg_step *s)
{
    switch (s->form) {
    case ITG_FORM_PRODUCT:
        return ITG_BINARY_PRODUCT;
    case ITG_FORM_EQUAL:
        return ITG_BINARY_EQUAL;
    case ITG_FORM_F32:
        return s->op == ITG_OP_MUL ? ITG_BINARY_F32_PRODUCT : ITG_BINARY_F32;
    default:
        return ITG_BINARY_RESCALE;
    }
}

itg_status itg_exec_binary(itg_instance *instance, const itg_step *s, itg_error *err)
{
    (void)err;
    const itg_pvalue *a = value(instance, s->inputs[0]), *b = value(instance, s->inputs[1]);
    itg_broadcast shape =
        itg_broadcast_of(&a->shape, &b->shape, &value(instance, s->outputs[0])->shape);
    itg_int_operand x = itg_exec_operand(instance, s->inputs[0]),
                    y = itg_exec_operand(instance, s->inputs[1]);
    for (int32_t i = 0; i < s->output_count; i++) {
        const itg_pvalue *out = value(instance, s->outputs[i]);
        instance->scales[i] = out->quantized ? out->q.scale[0] : 1.0f;
    }
    itg_int_binary k = {.form = binary_form(s),
                        .sign = s->op == ITG_OP_SUB ? -1 : 1,
                        .left_shift = s->left_shift,
                        .ra = s->operand[0],
                        .rb = s->operand[1],
                        .scale_a = a->q.scale[0],
                        .scale_b = b->q.scale[0],
                        .scale_out = instance->scales,
                        .acc = s->acc};
    itg_exec_epilogues(instance, s);
    itg_int_binary_run(&k, &shape, &x, &y, instance->epilogues, s->output_count);
    return ITG_OK;
}

size_t itg_exec_clip_scratch(const itg_program *p, const itg_step *s)
{
    (void)p;
    (void)s;
    return CLIP_BLOCK * sizeof(int64_t);
}

itg_status itg_exec_clip(itg_instance *instance, const itg_step *s, itg_error *err)
{
    (void)err;
    const itg_pvalue *x = value(instance, s->inputs[0]);
    const void *in = itg_exec_data(instance, s->inputs[0]);
    int64_t *acc = itg_exec_scratch(instance, s);
    itg_exec_epilogues(instance, s);
    for (int64_t first = 0; first < x->elements; first += CLIP_BLOCK) {
        int64_t n = x->elements - first < CLIP_BLOCK ? x->elements - first : CLIP_BLOCK;
        for (int64_t i = 0; i < n; i++)
            acc[i] =
                itg_accumulator_fit(s->acc, itg_load(x->dtype, in, first + i) - x->q.zero_point);
        for (int32_t k = 0; k < s->output_count; k++)
            itg_int_epilogue(acc, n, 0, &instance->epilogues[k]);
        itg_exec_advance(instance, s, n);
    }
    return ITG_OK;
}

itg_status itg_exec_lut(itg_instance *instance, const itg_step *s, itg_error *err)
{
    (void)err;
    const itg_pvalue *x = value(instance, s->inputs[0]);
    itg_int_operand codes = itg_exec_operand(instance, s->inputs[0]);
    for (int32_t k = 0; k < s->output_count; k++) {
        const itg_pvalue *y = value(instance, s->outputs[k]);
        const void *table = itg_exec_data(instance, s->inputs[k + 1]);
        if (y->quantized) {
            itg_int_lut(&codes, x->elements, table, y->dtype,
                        itg_exec_data(instance, s->outputs[k]));
            continue;
        }
        float *out = itg_exec_data(instance, s->outputs[k]);
        for (int64_t i = 0; i < x->elements; i++)
            out[i] = ((const float *)table)[itg_load(x->dtype, codes.data, i) - codes.qmin];
    }
    return ITG_OK;
}
