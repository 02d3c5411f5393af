/* Runs a program: step after step, each from and into planned memory. Nothing here allocates once
 * the instance stands. */
#include "realize/exec.h"
#include <stdlib.h>

typedef struct executor {
    itg_status (*run)(itg_instance *instance, const itg_step *s, itg_error *err);
    size_t (*scratch)(const itg_program *p, const itg_step *s); /* NULL: none */
} executor;

static const executor executors[ITG_STEP_KIND_COUNT] = {
    [ITG_STEP_QUANTIZE] = {itg_exec_quantize, NULL},
    [ITG_STEP_DEQUANTIZE] = {itg_exec_dequantize, NULL},
    [ITG_STEP_FLOAT] = {itg_exec_float, NULL},
    [ITG_STEP_CONV] = {itg_exec_conv, itg_exec_conv_scratch},
    [ITG_STEP_MATMUL] = {itg_exec_matmul, itg_exec_matmul_scratch},
    [ITG_STEP_BINARY] = {itg_exec_binary, NULL},
    [ITG_STEP_CLIP] = {itg_exec_clip, itg_exec_clip_scratch},
    [ITG_STEP_MEAN] = {itg_exec_mean, itg_exec_mean_scratch},
    [ITG_STEP_MAX] = {itg_exec_max, NULL},
    [ITG_STEP_MOVE] = {itg_exec_move, NULL},
    [ITG_STEP_ARG_MAX] = {itg_exec_arg_max, NULL},
    [ITG_STEP_LUT] = {itg_exec_lut, NULL},
};

size_t itg_step_scratch(const itg_program *p, const itg_step *s)
{
    return executors[s->kind].scratch == NULL ? 0 : executors[s->kind].scratch(p, s);
}

/* ---- operands ---- */

void *itg_exec_data(const itg_instance *instance, int32_t value)
{
    const itg_pvalue *v = &instance->program->values[value];
    if (v->data != NULL) return (void *)(uintptr_t)v->data;
    return instance->places != NULL ? instance->places[value] : instance->memory + v->offset;
}

itg_int_operand itg_exec_operand(const itg_instance *instance, int32_t value)
{
    const itg_pvalue *v = &instance->program->values[value];
    return (itg_int_operand){v->dtype, itg_exec_data(instance, value), v->q.zero_point, v->q.qmin,
                             v->q.qmax};
}

void *itg_exec_scratch(const itg_instance *instance, const itg_step *s)
{
    return instance->places != NULL ? instance->scratch : instance->memory + s->scratch_offset;
}

void itg_exec_epilogues(itg_instance *instance, const itg_step *s)
{
    for (int32_t i = 0; i < s->output_count; i++) {
        const itg_pvalue *v = &instance->program->values[s->outputs[i]];
        const itg_step_out *o = &s->outs[i];
        instance->epilogues[i] = (itg_epilogue){.storage = v->dtype,
                                                .out = itg_exec_data(instance, s->outputs[i]),
                                                .requant = o->requant,
                                                .requant_count = o->requant_count,
                                                .zero_point = v->quantized ? v->q.zero_point : 0,
                                                .lo = o->lo,
                                                .hi = o->hi,
                                                .dequant = o->dequant,
                                                .dequant_count = o->dequant_count,
                                                .float_lo = s->float_lo,
                                                .float_hi = s->float_hi};
    }
}

void itg_exec_advance(itg_instance *instance, const itg_step *s, int64_t elements)
{
    for (int32_t i = 0; i < s->output_count; i++) {
        itg_epilogue *e = &instance->epilogues[i];
        e->out = (unsigned char *)e->out + (size_t)elements * itg_dtype_size(e->storage);
    }
}

/* ---- instances ---- */

itg_status itg_instance_create(const itg_program *p, itg_instance **out, itg_error *err)
{
    int32_t most_in = 1, most_out = 1;
    for (int32_t i = 0; i < p->step_count; i++) {
        if (p->steps[i].input_count > most_in) most_in = p->steps[i].input_count;
        if (p->steps[i].output_count > most_out) most_out = p->steps[i].output_count;
    }
    itg_instance *instance = calloc(1, sizeof *instance);
    if (instance != NULL) {
        instance->program = p;
        instance->allocation = calloc(p->instance_bytes + 64, 1);
        instance->inputs = calloc((size_t)most_in, sizeof *instance->inputs);
        instance->outputs = calloc((size_t)most_out, sizeof *instance->outputs);
        instance->epilogues = calloc((size_t)most_out, sizeof *instance->epilogues);
        instance->scales = calloc((size_t)most_out, sizeof *instance->scales);
    }
    if (instance == NULL || instance->allocation == NULL || instance->inputs == NULL ||
        instance->outputs == NULL || instance->epilogues == NULL || instance->scales == NULL) {
        itg_instance_destroy(instance);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for an instance of %zu bytes", p->name,
                        p->instance_bytes);
    }
    size_t beyond = (size_t)((uintptr_t)instance->allocation % 64);
    instance->memory = (unsigned char *)instance->allocation + (beyond > 0 ? 64 - beyond : 0);
    *out = instance;
    return ITG_OK;
}

void itg_instance_destroy(itg_instance *instance)
{
    if (instance == NULL) return;
    free(instance->allocation);
    free(instance->inputs);
    free(instance->outputs);
    free(instance->epilogues);
    free(instance->scales);
    free(instance);
}

void *itg_instance_input(itg_instance *instance, int32_t index)
{
    return itg_exec_data(instance, instance->program->inputs[index]);
}

itg_status itg_exec_step(itg_instance *instance, const itg_step *s, itg_error *err)
{
    itg_status status = executors[s->kind].run(instance, s, err);
    if (status == ITG_OK) return ITG_OK;
    return itg_prefix_error(err, status, "%s: node '%s'", instance->program->name, s->name);
}

itg_status itg_instance_run(itg_instance *instance, itg_error *err)
{
    const itg_program *p = instance->program;
    for (int32_t i = 0; i < p->step_count; i++) {
        if (p->steps[i].free) continue;
        itg_status status = itg_exec_step(instance, &p->steps[i], err);
        if (status != ITG_OK) return status;
    }
    return ITG_OK;
}

itg_tensor itg_instance_output(const itg_instance *instance, int32_t index)
{
    int32_t value = instance->program->outputs[index];
    itg_tensor t = itg_pvalue_tensor(&instance->program->values[value]);
    t.data = itg_exec_data(instance, value);
    return t;
}
