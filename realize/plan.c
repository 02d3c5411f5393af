/* Memory plan of a device: one arena for activations and outputs. */
#include "base/flow.h"
#include "base/placement.h"
#include "graph/sharing.h"
#include "realize/memory.h"
#include "realize/program.h"
#include <stdlib.h>
#include <string.h>

/* Returns how a step's outputs may share memory in emitted code. Each output of a table is computed
 * from the whole input. */
static itg_sharing sharing_of(const itg_program *p, const itg_step *s, uint64_t *shift)
{
    int64_t elements = 0;
    *shift = 0;
    if (s->input_count < 1 || s->inputs[0] == ITG_NONE || s->output_count < 1)
        return ITG_SHARING_NONE;
    if (s->kind == ITG_STEP_LUT && s->output_count > 1) return ITG_SHARING_NONE;
    if (s->kind == ITG_STEP_QUANTIZE || s->kind == ITG_STEP_DEQUANTIZE) return ITG_SHARING_NONE;
    const itg_pvalue *x = &p->values[s->inputs[0]];
    itg_sharing sharing =
        itg_op_sharing(s->op, &s->attrs, &x->shape, &p->values[s->outputs[0]].shape, &elements);
    *shift = (uint64_t)elements * (uint64_t)itg_dtype_size(x->dtype);
    return sharing;
}

/* Tensor i is value i. */
static void describe(const itg_program *p, itg_flow *flow)
{
    for (int32_t i = 0; i < p->value_count; i++) {
        const itg_pvalue *v = &p->values[i];
        flow->tensors[i].dtype = v->dtype;
        flow->tensors[i].bytes = v->bytes;
        flow->tensors[i].elsewhere = v->producer == ITG_NONE;
    }
    for (int32_t i = 0; i < p->input_count; i++) {
        flow->tensors[p->inputs[i]].elsewhere = true;
        flow->tensors[p->inputs[i]].given = true;
    }
    for (int32_t i = 0; i < p->output_count; i++)
        flow->tensors[p->outputs[i]].kept = true;
    for (int32_t i = 0; i < p->step_count; i++) {
        const itg_step *s = &p->steps[i];
        itg_flow_step *step = &flow->steps[i];
        *step = (itg_flow_step){.input_count = s->input_count,
                                .output_count = s->output_count,
                                .inputs = s->inputs,
                                .outputs = s->outputs,
                                .scratch = ITG_NONE};
        step->sharing = sharing_of(p, s, &step->shift);
    }
}

itg_status itg_program_flow(const itg_program *p, size_t alignment, itg_flow *flow, itg_error *err)
{
    *flow = (itg_flow){.tensor_count = p->value_count, .step_count = p->step_count};
    flow->tensors = calloc((size_t)flow->tensor_count + 1, sizeof *flow->tensors);
    flow->steps = calloc((size_t)flow->step_count + 1, sizeof *flow->steps);
    itg_status status = ITG_OK;
    if (flow->tensors == NULL || flow->steps == NULL) {
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for the plan of %s", p->name);
    } else {
        describe(p, flow);
        status = itg_flow_plan(flow, alignment, err);
    }
    if (status != ITG_OK) itg_program_flow_deinit(flow);
    return status;
}

void itg_program_flow_deinit(itg_flow *flow)
{
    free(flow->tensors);
    free(flow->steps);
}

itg_status itg_program_activation_bytes(const itg_program *p, int64_t *out, itg_error *err)
{
    itg_flow flow;
    itg_status status = itg_program_flow(p, ITG_FLOW_DEVICE_ALIGNMENT, &flow, err);
    if (status != ITG_OK) return status;
    *out = (int64_t)flow.bytes;
    itg_program_flow_deinit(&flow);
    return ITG_OK;
}

itg_status itg_program_ram_bytes(const itg_program *p, int64_t *out, itg_error *err)
{
    itg_status status = itg_program_arena_bytes(p, out, err);
    if (status != ITG_UNSUPPORTED && status != ITG_LIMIT) return status;
    return itg_program_activation_bytes(p, out, err);
}

/* ---- reports ---- */

static const char *tensor_name(const void *context, int32_t tensor)
{
    return ((const itg_program *)context)->values[tensor].name;
}

static bool is_scratch(const void *context, int32_t tensor)
{
    (void)context;
    (void)tensor;
    return false;
}

static const char *step_name(const void *context, int32_t step)
{
    return ((const itg_program *)context)->steps[step].name;
}

itg_status itg_program_memory(const itg_program *p, itg_memory_plan **out, itg_error *err)
{
    const itg_flow_names names = {tensor_name, is_scratch, step_name, p};
    itg_flow flow;
    itg_status status = itg_program_arena(p, NULL, out, err);
    if (status != ITG_UNSUPPORTED && status != ITG_LIMIT) return status;
    status = itg_program_flow(p, ITG_FLOW_DEVICE_ALIGNMENT, &flow, err);
    if (status != ITG_OK) return status;
    status = itg_memory_plan_make(&flow, &names, (int64_t)flow.bytes, out, err);
    itg_program_flow_deinit(&flow);
    return status;
}
