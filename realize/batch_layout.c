/* Chooses kernels and layouts, step by step. Each kernel states the layout of its operands; a value
 * in the other layout is converted once, before its first reader. */
#include "realize/batch_plan.h"

/* Costs of moving or looking up an element, and of a multiplication in a kernel for single samples,
 * in multiplications of a block. Rough: they only rank what a cache keeps. */
enum { ELEMENT_COST = 64, SINGLE_COST = 16 };

bool itg_value_has_layouts(const itg_pvalue *v)
{
    const itg_shape *s = &v->shape;
    return s->rank >= 3 && s->dims[1] > 1 && v->elements > s->dims[0] * s->dims[1];
}

itg_shape itg_place_shape(const itg_batch_plan *plan, int32_t place)
{
    itg_shape from = itg_place_value(plan, place)->shape;
    if (!itg_place_is_last(place)) return from;
    itg_shape shape = from;
    for (int32_t i = 2; i < from.rank; i++)
        shape.dims[i - 1] = from.dims[i];
    shape.dims[from.rank - 1] = from.dims[1];
    return shape;
}

/* ---- kernels ---- */

/* The first kernel that takes the step is used; the last one takes all steps of its kind. */
static const itg_batch_kernel *const kernels[ITG_STEP_KIND_COUNT][2] = {
    [ITG_STEP_QUANTIZE] = {&itg_batch_quantize},
    [ITG_STEP_DEQUANTIZE] = {&itg_batch_dequantize},
    [ITG_STEP_FLOAT] = {&itg_batch_float},
    [ITG_STEP_CONV] = {&itg_batch_conv, &itg_batch_product},
    [ITG_STEP_MATMUL] = {&itg_batch_matmul, &itg_batch_product},
    [ITG_STEP_BINARY] = {&itg_batch_binary, &itg_batch_binary_single},
    [ITG_STEP_CLIP] = {&itg_batch_clip},
    [ITG_STEP_MEAN] = {&itg_batch_mean, &itg_batch_reduce_mean},
    [ITG_STEP_MAX] = {&itg_batch_max, &itg_batch_reduce_max},
    [ITG_STEP_MOVE] = {&itg_batch_move, &itg_batch_move_single},
    [ITG_STEP_ARG_MAX] = {&itg_batch_reduce_max},
    [ITG_STEP_LUT] = {&itg_batch_lut},
    [ITG_STEP_SOFTMAX] = {&itg_batch_softmax},
    [ITG_STEP_LAYER_NORM] = {&itg_batch_layer_norm},
};

static const itg_batch_kernel *kernel_of(const itg_batch_plan *plan, const itg_step *s)
{
    const itg_batch_kernel *first = kernels[s->kind][0];
    return first->takes == NULL || first->takes(plan, s) ? first : kernels[s->kind][1];
}

static double cost_of(const itg_program *p, const itg_step *s, bool single)
{
    double cost = 0;
    for (int32_t i = 0; i < s->input_count; i++)
        if (s->inputs[i] != ITG_NONE && p->values[s->inputs[i]].data == NULL)
            cost += (double)p->values[s->inputs[i]].elements * ELEMENT_COST;
    for (int32_t i = 0; i < s->output_count; i++)
        cost += (double)p->values[s->outputs[i]].elements * ELEMENT_COST;
    if (s->kind == ITG_STEP_CONV || s->kind == ITG_STEP_MATMUL) {
        const itg_shape *x = &p->values[s->inputs[0]].shape, *w = &p->values[s->inputs[1]].shape;
        int64_t terms = x->dims[x->rank - 1];
        if (s->kind == ITG_STEP_CONV) terms = p->values[s->inputs[1]].elements / w->dims[0];
        cost += (double)p->values[s->outputs[0]].elements * (double)terms;
    }
    return single ? cost * SINGLE_COST : cost;
}

/* ---- operations ---- */

static itg_status no_memory(const itg_batch_plan *plan)
{
    return itg_fail(plan->err, ITG_NO_MEMORY, "%s: no memory for a plan", plan->program->name);
}

static itg_status add_operation(itg_batch_plan *plan, const itg_batch_kernel *kernel,
                                int32_t inputs, int32_t outputs, itg_batch_operation **out)
{
    itg_batch_operation *o = &plan->operations[plan->operation_count];
    o->kernel = kernel;
    o->input_count = inputs;
    o->output_count = outputs;
    o->inputs = itg_arena_array(plan->arena, (size_t)inputs + 1, sizeof *o->inputs);
    o->outputs = itg_arena_array(plan->arena, (size_t)outputs + 1, sizeof *o->outputs);
    if (o->inputs == NULL || o->outputs == NULL) return no_memory(plan);
    plan->operation_count++;
    *out = o;
    return ITG_OK;
}

static int32_t place_of(const itg_batch_plan *plan, int32_t value, itg_layout layout)
{
    bool last = layout == ITG_CHANNELS_LAST && itg_value_has_layouts(&plan->program->values[value]);
    return value * ITG_LAYOUT_COUNT + (last ? ITG_CHANNELS_LAST : ITG_PLAIN);
}

static bool computed(const itg_batch_plan *plan, int32_t value)
{
    return value != ITG_NONE && plan->program->values[value].data == NULL;
}

/* Provides a value in a layout: loads a constant, or converts from the other layout. */
static itg_status need(itg_batch_plan *plan, int32_t value, itg_layout layout, int32_t *out)
{
    int32_t place = place_of(plan, value, layout);
    *out = place;
    if (plan->places[place].used) return ITG_OK;
    const bool loads = !computed(plan, value) && !itg_place_is_last(place);
    itg_batch_operation *o = NULL;
    int32_t from = ITG_NONE;
    itg_status status = ITG_OK;
    if (!computed(plan, value) && !loads) status = need(plan, value, ITG_PLAIN, &from);
    if (status == ITG_OK)
        status =
            add_operation(plan, loads ? &itg_batch_load : &itg_batch_convert, loads ? 0 : 1, 1, &o);
    if (status != ITG_OK) return status;
    o->value = value;
    if (!loads)
        o->inputs[0] = place_of(plan, value, layout == ITG_PLAIN ? ITG_CHANNELS_LAST : ITG_PLAIN);
    o->outputs[0] = place;
    o->cost = (double)plan->program->values[value].elements * ELEMENT_COST;
    plan->places[place].used = true;
    return ITG_OK;
}

static bool may_last(const itg_batch_plan *plan, const itg_batch_kernel *k, const itg_step *s)
{
    return k->lasts == NULL || k->lasts(plan, s);
}

/* Returns the layout of the first computed input; channels last if it has both. */
static itg_layout layout_of_inputs(const itg_batch_plan *plan, const itg_step *s)
{
    for (int32_t i = 0; i < s->input_count; i++)
        if (computed(plan, s->inputs[i]) &&
            itg_value_has_layouts(&plan->program->values[s->inputs[i]]))
            return plan->places[place_of(plan, s->inputs[i], ITG_CHANNELS_LAST)].used
                       ? ITG_CHANNELS_LAST
                       : ITG_PLAIN;
    return ITG_PLAIN;
}

/* Returns channels last if a later step wants `value` so. */
static itg_layout layout_of_reader(const itg_batch_plan *plan, int32_t step, int32_t value)
{
    const itg_program *p = plan->program;
    for (int32_t i = step + 1; i < p->step_count; i++)
        for (int32_t k = 0; k < p->steps[i].input_count; k++)
            if (p->steps[i].inputs[k] == value &&
                kernel_of(plan, &p->steps[i])->wish == ITG_WISH_LAST)
                return ITG_CHANNELS_LAST;
    return ITG_PLAIN;
}

static itg_status add_step(itg_batch_plan *plan, int32_t index)
{
    const itg_step *s = &plan->program->steps[index];
    const itg_batch_kernel *k = kernel_of(plan, s);
    itg_layout in = k->wish == ITG_WISH_LAST ? ITG_CHANNELS_LAST : ITG_PLAIN;
    if (k->wish == ITG_WISH_SAME && may_last(plan, k, s)) in = layout_of_inputs(plan, s);
    itg_layout out = k->wish == ITG_WISH_SOURCE ? layout_of_reader(plan, index, s->outputs[0]) : in;
    int32_t *inputs = itg_arena_array(plan->arena, (size_t)s->input_count + 1, sizeof *inputs);
    itg_batch_operation *o = NULL;
    itg_status status = inputs == NULL ? no_memory(plan) : ITG_OK;
    for (int32_t i = 0; i < s->input_count && status == ITG_OK; i++) {
        inputs[i] = ITG_NONE;
        if (computed(plan, s->inputs[i]) || (i == 0 && k->loads))
            status = need(plan, s->inputs[i], in, &inputs[i]);
    }
    if (status == ITG_OK) status = add_operation(plan, k, s->input_count, s->output_count, &o);
    if (status != ITG_OK) return status;
    o->step = s;
    o->inputs = inputs;
    o->cost = cost_of(plan->program, s, k->single);
    for (int32_t i = 0; i < s->output_count; i++) {
        o->outputs[i] = place_of(plan, s->outputs[i], out);
        plan->places[o->outputs[i]].used = true;
    }
    return ITG_OK;
}

itg_status itg_batch_lay_out(itg_batch_plan *plan)
{
    const itg_program *p = plan->program;
    /* Each value is converted and loaded at most once. */
    size_t most = (size_t)p->step_count + 2 * (size_t)p->value_count + 1;
    plan->operations = itg_arena_array(plan->arena, most, sizeof *plan->operations);
    plan->places = itg_arena_array(plan->arena, (size_t)p->value_count * ITG_LAYOUT_COUNT + 1,
                                   sizeof *plan->places);
    if (plan->operations == NULL || plan->places == NULL) return no_memory(plan);
    for (int32_t i = 0; i < p->input_count; i++)
        plan->places[place_of(plan, p->inputs[i], ITG_PLAIN)].used = true;
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < p->step_count && status == ITG_OK; i++)
        status = add_step(plan, i);
    for (int32_t i = 0; i < p->output_count && status == ITG_OK; i++) {
        int32_t ignored;
        if (computed(plan, p->outputs[i])) status = need(plan, p->outputs[i], ITG_PLAIN, &ignored);
    }
    return status;
}
