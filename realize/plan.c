/* Memory of one instance: every value that is computed, and every step's scratch, gets a place that
 * nothing alive at the same time shares. Inputs and outputs live to the end: they are filled before
 * a run and read after it. */
#include "base/placement.h"
#include "realize/program.h"
#include <stdlib.h>

#define NOT_STORED (-2) /* constants: an instance holds no copy of them */

static void set_lives(itg_program *p)
{
    for (int32_t i = 0; i < p->value_count; i++)
        p->values[i].first = p->values[i].last =
            p->values[i].producer == ITG_NONE ? NOT_STORED : p->values[i].producer;
    for (int32_t i = 0; i < p->step_count; i++)
        for (int32_t k = 0; k < p->steps[i].input_count; k++)
            if (p->steps[i].inputs[k] != ITG_NONE) p->values[p->steps[i].inputs[k]].last = i;
    for (int32_t i = 0; i < p->input_count; i++) {
        p->values[p->inputs[i]].first = -1;
        p->values[p->inputs[i]].last = p->step_count;
    }
    for (int32_t i = 0; i < p->output_count; i++)
        p->values[p->outputs[i]].last = p->step_count;
}

/* index: value, or value_count + step for scratch */
static int32_t collect(const itg_program *p, itg_placed *items)
{
    int32_t n = 0;
    for (int32_t i = 0; i < p->value_count; i++) {
        const itg_pvalue *v = &p->values[i];
        if (v->first == NOT_STORED) continue;
        items[n++] = (itg_placed){v->bytes, 0, v->first, v->last, i};
    }
    for (int32_t i = 0; i < p->step_count; i++)
        if (p->steps[i].scratch_bytes > 0)
            items[n++] = (itg_placed){p->steps[i].scratch_bytes, 0, i, i, p->value_count + i};
    return n;
}

itg_status itg_program_plan(itg_program *p, itg_error *err)
{
    for (int32_t i = 0; i < p->step_count; i++)
        p->steps[i].scratch_bytes = itg_step_scratch(p, &p->steps[i]);
    set_lives(p);
    size_t end = 0;
    itg_placed *items = calloc((size_t)p->value_count + (size_t)p->step_count + 1, sizeof *items);
    if (items == NULL) return itg_fail(err, ITG_NO_MEMORY, "no memory for the plan of %s", p->name);
    int32_t count = collect(p, items);
    itg_status status = itg_place(items, count, &end, err);
    for (int32_t i = 0; i < count && status == ITG_OK; i++) {
        const itg_placed *x = &items[i];
        if (x->index < p->value_count)
            p->values[x->index].offset = x->offset;
        else
            p->steps[x->index - p->value_count].scratch_offset = x->offset;
    }
    if (status == ITG_OK && end > ITG_PROGRAM_MAX_BYTES)
        status =
            itg_fail(err, ITG_LIMIT, "%s: one instance needs %zu bytes, at most %zu are allowed",
                     p->name, end, ITG_PROGRAM_MAX_BYTES);
    if (status == ITG_OK) p->instance_bytes = end;
    free(items);
    return status;
}
