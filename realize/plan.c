/* Memory of one instance: every value that is computed, and every step's scratch, gets a place that
 * nothing alive at the same time shares. Greedy by size (Pisarchyk and Lee 2020, arXiv:2001.03288):
 * the largest first, each at the lowest gap that is free throughout its life. Inputs and outputs
 * live to the end: they are filled before a run and read after it. */
#include "realize/program.h"
#include <stdlib.h>

#define ALIGNMENT 64
#define NOT_STORED (-2) /* constants: an instance holds no copy of them */

typedef struct item {
    size_t bytes, offset;
    int32_t first, last, index; /* index: value, or value_count + step for scratch */
} item;

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

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

static int32_t collect(const itg_program *p, item *items)
{
    int32_t n = 0;
    for (int32_t i = 0; i < p->value_count; i++) {
        const itg_pvalue *v = &p->values[i];
        if (v->first == NOT_STORED) continue;
        items[n++] = (item){aligned(v->bytes), 0, v->first, v->last, i};
    }
    for (int32_t i = 0; i < p->step_count; i++)
        if (p->steps[i].scratch_bytes > 0)
            items[n++] = (item){aligned(p->steps[i].scratch_bytes), 0, i, i, p->value_count + i};
    return n;
}

/* Larger first; equal sizes in order of index, so that the plan is one. */
static int by_size(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->index < y->index ? -1 : 1;
}

/* Lowest offset where `x` fits beside the placed items, which are sorted by offset; inserts x
 * there. */
static void place(item *placed, int32_t count, item x)
{
    size_t offset = 0;
    for (int32_t i = 0; i < count; i++) {
        if (placed[i].last < x.first || placed[i].first > x.last) continue;
        if (placed[i].offset >= offset + x.bytes) break;
        size_t end = placed[i].offset + placed[i].bytes;
        if (end > offset) offset = end;
    }
    x.offset = offset;
    int32_t at = count;
    for (; at > 0 && placed[at - 1].offset > offset; at--)
        placed[at] = placed[at - 1];
    placed[at] = x;
}

itg_status itg_program_plan(itg_program *p, itg_error *err)
{
    for (int32_t i = 0; i < p->step_count; i++)
        p->steps[i].scratch_bytes = itg_step_scratch(p, &p->steps[i]);
    set_lives(p);
    size_t most = (size_t)p->value_count + (size_t)p->step_count + 1;
    item *items = calloc(most, sizeof *items), *placed = calloc(most, sizeof *placed);
    itg_status status = ITG_OK;
    if (items == NULL || placed == NULL) {
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for the plan of %s", p->name);
        goto cleanup;
    }
    int32_t count = collect(p, items);
    qsort(items, (size_t)count, sizeof *items, by_size);
    size_t end = 0;
    for (int32_t i = 0; i < count; i++)
        place(placed, i, items[i]);
    for (int32_t i = 0; i < count; i++) {
        const item *x = &placed[i];
        if (x->offset + x->bytes > end) end = x->offset + x->bytes;
        if (x->index < p->value_count)
            p->values[x->index].offset = x->offset;
        else
            p->steps[x->index - p->value_count].scratch_offset = x->offset;
    }
    if (end > ITG_PROGRAM_MAX_BYTES)
        status =
            itg_fail(err, ITG_LIMIT, "%s: one instance needs %zu bytes, at most %zu are allowed",
                     p->name, end, ITG_PROGRAM_MAX_BYTES);
    p->instance_bytes = end;
cleanup:
    free(items);
    free(placed);
    return status;
}
