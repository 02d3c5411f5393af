/* Copies values to another place: to the other layout, or constants to where a kernel expects a
 * computed value. */
#include "realize/batch_plan.h"

static itg_status run_convert(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    const itg_pvalue *v = &b->plan->program->values[o->value];
    const int64_t images = v->shape.dims[0], channels = itg_value_channels(v);
    const int64_t positions = v->elements / channels / images;
    const void *from = itg_batch_data(b, o->inputs[0]);
    void *to = itg_batch_data(b, o->outputs[0]);
    if (itg_place_is_last(o->outputs[0]))
        itg_to_channels_last(v->dtype, count * images, channels, positions, from, to);
    else
        itg_to_channels_first(v->dtype, count * images, channels, positions, from, to);
    return ITG_OK;
}

const itg_batch_kernel itg_batch_convert = {.name = "convert", .run = run_convert};

static itg_status run_load(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    (void)count;
    const itg_pvalue *v = &b->plan->program->values[o->value];
    memcpy(itg_batch_data(b, o->outputs[0]), v->data, v->bytes);
    return ITG_OK;
}

const itg_batch_kernel itg_batch_load = {.name = "load", .single = true, .run = run_load};
