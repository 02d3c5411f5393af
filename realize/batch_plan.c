/* Plans: choose layouts, prepare kernels, and place the memory of a block of samples. */
#include "realize/batch_plan.h"
#include "base/placement.h"
#include <stdlib.h>

enum { SLACK = 64, LEAST_BLOCK = 8, MOST_BLOCK = 32 };
static const size_t BLOCK_BYTES = (size_t)1 << 20; /* of a step's operands: about half of an L2 */
static const size_t PART_BYTES = (size_t)1 << 19;  /* of one operand */

/* Returns the block size whose largest step fits the cache with its weights, but at least a size
 * that is worth loading the weights for. */
static int64_t chosen_block(const itg_program *p)
{
    size_t most = 1;
    for (int32_t i = 0; i < p->step_count; i++) {
        size_t bytes = 0;
        for (int32_t k = 0; k < p->steps[i].output_count; k++)
            bytes += p->values[p->steps[i].outputs[k]].bytes;
        if (bytes > most) most = bytes;
    }
    size_t block = BLOCK_BYTES / most;
    return block < LEAST_BLOCK ? LEAST_BLOCK : block > MOST_BLOCK ? MOST_BLOCK : (int64_t)block;
}

static void set_lives(itg_batch_plan *plan)
{
    const itg_program *p = plan->program;
    for (int32_t i = 0; i < p->input_count; i++) {
        itg_batch_place *x = &plan->places[p->inputs[i] * ITG_LAYOUT_COUNT];
        x->first = x->last = -1;
    }
    for (int32_t i = 0; i < plan->operation_count; i++) {
        const itg_batch_operation *o = &plan->operations[i];
        for (int32_t k = 0; k < o->output_count; k++)
            plan->places[o->outputs[k]].first = plan->places[o->outputs[k]].last = i;
        for (int32_t k = 0; k < o->input_count; k++)
            if (o->inputs[k] != ITG_NONE) plan->places[o->inputs[k]].last = i;
    }
    for (int32_t i = 0; i < p->output_count; i++)
        plan->places[p->outputs[i] * ITG_LAYOUT_COUNT].last = plan->operation_count;
}

/* Computes the bytes of a place; false: too many. */
static bool place_bytes(const itg_batch_plan *plan, int32_t place, size_t *out)
{
    const size_t samples = (size_t)plan->places[place].samples;
    return itg_mul_size(itg_place_value(plan, place)->bytes, samples, out) &&
           *out <= ITG_PROGRAM_MAX_BYTES && itg_add_size(*out, SLACK, out);
}

static itg_status too_large(const itg_batch_plan *plan)
{
    return itg_fail(plan->err, ITG_LIMIT, "%s: a block of %lld samples needs more than %zu bytes",
                    plan->program->name, (long long)plan->block, ITG_PROGRAM_MAX_BYTES);
}

/* Places values and scratch. index: the place, or the number of places + the operation. */
static itg_status place_all(itg_batch_plan *plan)
{
    int32_t places = plan->program->value_count * ITG_LAYOUT_COUNT, count = 0;
    itg_placed *items = calloc((size_t)places + (size_t)plan->operation_count + 1, sizeof *items);
    if (items == NULL) return itg_fail(plan->err, ITG_NO_MEMORY, "no memory for a plan");
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < places && status == ITG_OK; i++) {
        const itg_batch_place *x = &plan->places[i];
        size_t bytes;
        if (!x->used) continue;
        if (!place_bytes(plan, i, &bytes)) status = too_large(plan);
        if (status == ITG_OK)
            items[count++] =
                (itg_placed){.bytes = bytes, .first = x->first, .last = x->last, .index = i};
    }
    for (int32_t i = 0; i < plan->operation_count && status == ITG_OK; i++) {
        size_t bytes = plan->operations[i].scratch_bytes;
        if (bytes > ITG_PROGRAM_MAX_BYTES) status = too_large(plan);
        if (bytes > 0)
            items[count++] =
                (itg_placed){.bytes = bytes + SLACK, .first = i, .last = i, .index = places + i};
    }
    uint64_t end = 0;
    if (status == ITG_OK)
        status = itg_place(items, count, ITG_PLACEMENT_ALIGNMENT, &end, plan->err);
    if (status == ITG_OK && end > ITG_PROGRAM_MAX_BYTES) status = too_large(plan);
    plan->bytes = (size_t)end;
    for (int32_t i = 0; i < count && status == ITG_OK; i++) {
        if (items[i].index < places)
            plan->places[items[i].index].offset = (size_t)items[i].offset;
        else
            plan->operations[items[i].index - places].scratch_offset = (size_t)items[i].offset;
    }
    free(items);
    return status;
}

static itg_status prepare(itg_batch_plan *plan)
{
    plan->borrowed =
        itg_arena_array(plan->arena, (size_t)plan->operation_count + 1, sizeof *plan->borrowed);
    if (plan->borrowed == NULL) return itg_fail(plan->err, ITG_NO_MEMORY, "no memory for a plan");
    for (int32_t i = 0; i < plan->operation_count; i++) {
        itg_batch_operation *o = &plan->operations[i];
        itg_status status = o->kernel->prepare == NULL ? ITG_OK : o->kernel->prepare(plan, o);
        if (status != ITG_OK)
            return itg_prefix_error(plan->err, status, "%s: node '%s'", plan->program->name,
                                    o->step != NULL ? o->step->name : "");
    }
    return ITG_OK;
}

itg_status itg_batch_plan_create(const itg_program *program, const itg_batch_options *options,
                                 itg_batch_plan **out, itg_error *err)
{
    if (options->block < 0 || options->block > ITG_MOST_BLOCK)
        return itg_fail(err, ITG_BAD_ARGUMENT, "blocks have 1 to %d samples", ITG_MOST_BLOCK);
    itg_batch_plan *plan = calloc(1, sizeof *plan);
    if (plan != NULL) plan->arena = itg_arena_create(0);
    if (plan == NULL || plan->arena == NULL) {
        itg_batch_plan_destroy(plan);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for a plan", program->name);
    }
    plan->program = program;
    plan->err = err;
    plan->kernels = options->kernels;
    plan->weights = options->weights;
    plan->block = options->block > 0 ? options->block : chosen_block(program);
    plan->part_bytes = options->part_bytes > 0 ? options->part_bytes : PART_BYTES;
    itg_status status =
        plan->kernels != NULL ? ITG_OK : itg_accel_choose(NULL, &plan->kernels, err);
    if (status == ITG_OK) status = itg_batch_keys(plan);
    if (status == ITG_OK) status = itg_batch_lay_out(plan);
    if (status == ITG_OK) set_lives(plan);
    if (status == ITG_OK) status = itg_batch_divide(plan);
    if (status == ITG_OK) status = prepare(plan);
    if (status == ITG_OK) status = place_all(plan);
    if (status == ITG_OK)
        *out = plan;
    else
        itg_batch_plan_destroy(plan);
    return status;
}

void itg_batch_plan_destroy(itg_batch_plan *plan)
{
    if (plan == NULL) return;
    for (int32_t i = 0; i < plan->borrowed_count; i++)
        itg_cache_release(plan->weights, plan->borrowed[i]);
    itg_arena_destroy(plan->arena);
    free(plan);
}

int64_t itg_batch_plan_block(const itg_batch_plan *plan)
{
    return plan->block;
}

void itg_batch_plan_print(const itg_batch_plan *plan, itg_strbuf *out)
{
    itg_strbuf_format(out, "plan of %s: %lld samples, %zu bytes\n", plan->program->name,
                      (long long)plan->block, plan->bytes);
    for (int32_t i = 0; i < plan->operation_count; i++) {
        const itg_batch_operation *o = &plan->operations[i];
        itg_strbuf_format(out, "  %s", o->kernel->name);
        if (o->layers != NULL) itg_strbuf_format(out, "/%s", itg_accel_layer_set(o->layers[0]));
        itg_strbuf_format(out, " %s, %lld at a time:", o->step != NULL ? o->step->name : "",
                          (long long)o->section->part);
        for (int32_t k = 0; k < o->input_count; k++)
            if (o->inputs[k] != ITG_NONE)
                itg_strbuf_format(out, " %s%s", itg_place_value(plan, o->inputs[k])->name,
                                  itg_place_is_last(o->inputs[k]) ? "'" : "");
        itg_strbuf_add(out, " ->");
        for (int32_t k = 0; k < o->output_count; k++)
            itg_strbuf_format(out, " %s%s", itg_place_value(plan, o->outputs[k])->name,
                              itg_place_is_last(o->outputs[k]) ? "'" : "");
        itg_strbuf_add(out, "\n");
    }
}
