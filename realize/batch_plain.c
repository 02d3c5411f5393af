/* The plain executor's functions sample by sample, and conversions between layouts. */
#include "realize/batch_plan.h"

static itg_status prepare_plain(itg_batch_plan *plan, itg_batch_operation *o, itg_error *err)
{
    (void)err;
    o->scratch_bytes = itg_step_scratch(plan->program, o->step);
    return ITG_OK;
}

static itg_status run_plain(itg_batch *b, const itg_batch_operation *o, int64_t count,
                            itg_error *err)
{
    const itg_step *s = o->step;
    b->plain.scratch = itg_batch_scratch(b, o);
    for (int64_t k = 0; k < count; k++) {
        for (int32_t i = 0; i < s->input_count; i++)
            if (o->inputs[i] != ITG_NONE)
                b->places[s->inputs[i]] = (unsigned char *)itg_batch_data(b, o->inputs[i]) +
                                          (size_t)k * b->plan->program->values[s->inputs[i]].bytes;
        for (int32_t i = 0; i < s->output_count; i++)
            b->places[s->outputs[i]] = (unsigned char *)itg_batch_data(b, o->outputs[i]) +
                                       (size_t)k * b->plan->program->values[s->outputs[i]].bytes;
        itg_status status = itg_exec_step(&b->plain, s, err);
        if (status != ITG_OK) return status;
    }
    return ITG_OK;
}

const itg_batch_kernel itg_batch_plain = {"plain", ITG_WISH_PLAIN, NULL,
                                          NULL,    prepare_plain,  run_plain};

static itg_status run_convert(itg_batch *b, const itg_batch_operation *o, int64_t count,
                              itg_error *err)
{
    (void)err;
    const itg_pvalue *v = &b->plan->program->values[o->value];
    int64_t channels = itg_value_channels(v), positions = v->elements / channels;
    const void *from = itg_batch_data(b, o->inputs[0]);
    void *to = itg_batch_data(b, o->outputs[0]);
    if (itg_place_is_last(o->outputs[0]))
        itg_to_channels_last(v->dtype, count, channels, positions, from, to);
    else
        itg_to_channels_first(v->dtype, count, channels, positions, from, to);
    return ITG_OK;
}

const itg_batch_kernel itg_batch_convert = {"convert", ITG_WISH_PLAIN, NULL,
                                            NULL,      NULL,           run_convert};
