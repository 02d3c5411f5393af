/* Steps that hand whole tensors to kernels/float_ops.h: float islands, and data movement of codes.
 */
#include "realize/exec.h"
#include "kernels/float_ops.h"

static void gather_operands(itg_instance *instance, const itg_step *s)
{
    const itg_pvalue *values = instance->program->values;
    for (int32_t i = 0; i < s->input_count; i++) {
        instance->inputs[i] = (itg_tensor){ITG_F32, {0, {0}}, NULL};
        if (s->inputs[i] == ITG_NONE) continue;
        instance->inputs[i] = itg_pvalue_tensor(&values[s->inputs[i]]);
        instance->inputs[i].data = itg_exec_data(instance, s->inputs[i]);
    }
    for (int32_t i = 0; i < s->output_count; i++) {
        instance->outputs[i] = itg_pvalue_tensor(&values[s->outputs[i]]);
        instance->outputs[i].data = itg_exec_data(instance, s->outputs[i]);
    }
}

itg_status itg_exec_float(itg_instance *instance, const itg_step *s, itg_error *err)
{
    gather_operands(instance, s);
    return itg_float_eval(s->op, &s->attrs, instance->inputs, s->input_count, instance->outputs,
                          s->output_count, err);
}

itg_status itg_exec_move(itg_instance *instance, const itg_step *s, itg_error *err)
{
    const itg_pvalue *y = &instance->program->values[s->outputs[0]];
    int64_t fill = 0; /* room for one code of any storage: zero */
    itg_store(y->dtype, &fill, 0, y->q.zero_point);
    gather_operands(instance, s);
    return itg_move_eval(s->op, &s->attrs, instance->inputs, s->input_count, instance->outputs,
                         s->output_count, &fill, err);
}
