/* Sections: neighbouring operations on values that are too large for the second cache as a whole
 * block. A section runs all its operations on some samples, then on the next ones, so that what one
 * operation writes is read while it lies in the cache. Values that stay inside have memory for one
 * part; small values have one part, the block. */
#include "realize/batch_plan.h"

static size_t largest_value(const itg_batch_plan *plan, const itg_batch_operation *o)
{
    size_t most = 1;
    for (int32_t k = 0; k < o->input_count + o->output_count; k++) {
        const int32_t place = k < o->input_count ? o->inputs[k] : o->outputs[k - o->input_count];
        const size_t bytes = place == ITG_NONE ? 0 : itg_place_value(plan, place)->bytes;
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* The samples of a part that suit one operation: the block halved until its values fit. */
static int64_t part_for(const itg_batch_plan *plan, const itg_batch_operation *o)
{
    const size_t fits = plan->part_bytes / largest_value(plan, o);
    int64_t part = plan->block;
    while (part > 1 && (uint64_t)part > fits)
        part = (part + 1) / 2;
    return part;
}

/* An operation joins a section if the parts of no two differ by more than twice: weights are read
 * again for every part. */
static void divide(itg_batch_plan *plan)
{
    itg_batch_section *s = NULL;
    int64_t most = 0; /* part of the section's operations */
    for (int32_t i = 0; i < plan->operation_count; i++) {
        const int64_t part = part_for(plan, &plan->operations[i]);
        const int64_t least = s && s->part < part ? s->part : part;
        most = s && most > part ? most : part;
        if (!s || most > 2 * least) {
            s = &plan->sections[plan->section_count++];
            *s = (itg_batch_section){.first = i, .part = part};
            most = part;
        }
        s->part = s->part < part ? s->part : part;
        s->end = i + 1;
        plan->operations[i].section = s;
    }
}

/* The section of operation i: inputs are written, and where nobody reads them also last used, by
 * the first one. NULL: behind the last. */
static const itg_batch_section *section_of(const itg_batch_plan *plan, int32_t i)
{
    const int32_t at = i < 0 ? 0 : i;
    return at < plan->operation_count ? plan->operations[at].section : NULL;
}

/* Values inside a section lie over each other as in a block that runs at once. All others exist
 * while any part of the sections that write or read them runs. */
static void set_life(const itg_batch_plan *plan, itg_batch_place *x)
{
    const itg_batch_section *writer = section_of(plan, x->first);
    const itg_batch_section *reader = section_of(plan, x->last);
    x->samples = plan->block;
    x->inner = writer && writer == reader && writer->part < plan->block;
    if (x->inner) {
        x->samples = writer->part;
        return;
    }
    if (writer && writer->part < plan->block && x->first > writer->first) x->first = writer->first;
    if (reader && reader->part < plan->block) x->last = reader->end - 1;
}

itg_status itg_batch_divide(itg_batch_plan *plan)
{
    plan->sections =
        itg_arena_array(plan->arena, (size_t)plan->operation_count + 1, sizeof *plan->sections);
    if (plan->sections == NULL) return itg_fail(plan->err, ITG_NO_MEMORY, "no memory for a plan");
    divide(plan);
    for (int32_t i = 0; i < plan->program->value_count * ITG_LAYOUT_COUNT; i++)
        if (plan->places[i].used) set_life(plan, &plan->places[i]);
    return ITG_OK;
}
