#include "base/flow.h"
#include "base/placement.h"
#include <stdlib.h>

static void read_at(itg_flow *flow, int32_t tensor, int32_t step)
{
    if (tensor != ITG_FLOW_NONE) flow->tensors[tensor].last = step;
}

static void set_lives(itg_flow *flow)
{
    for (int32_t i = 0; i < flow->tensor_count; i++)
        flow->tensors[i].first = flow->tensors[i].last = -1;
    for (int32_t i = 0; i < flow->step_count; i++) {
        const itg_flow_step *s = &flow->steps[i];
        for (int32_t k = 0; k < s->input_count; k++)
            read_at(flow, s->inputs[k], i);
        for (int32_t k = 0; k <= s->output_count; k++) {
            int32_t written = k < s->output_count ? s->outputs[k] : s->scratch;
            if (written == ITG_FLOW_NONE) continue;
            flow->tensors[written].first = i;
            read_at(flow, written, i);
        }
    }
    for (int32_t i = 0; i < flow->tensor_count; i++) {
        itg_flow_tensor *t = &flow->tensors[i];
        if (t->given || t->kept) t->last = flow->step_count;
    }
}

/* Collects the homes. A home lives as long as anything in it. */
static int32_t collect(const itg_flow *flow, itg_placed *items, int32_t *item_of)
{
    int32_t count = 0;
    for (int32_t i = 0; i < flow->tensor_count; i++) {
        const itg_flow_tensor *t = &flow->tensors[i];
        if (t->home != i) continue;
        item_of[i] = count;
        items[count++] =
            (itg_placed){.bytes = t->room, .first = t->first, .last = t->last, .index = i};
    }
    for (int32_t i = 0; i < flow->tensor_count; i++) {
        const itg_flow_tensor *t = &flow->tensors[i];
        if (t->home == ITG_FLOW_NONE || t->home == i) continue;
        itg_placed *home = &items[item_of[t->home]];
        if (t->first < home->first) home->first = t->first;
        if (t->last > home->last) home->last = t->last;
    }
    return count;
}

static uint64_t alignment_of(const itg_flow *flow, uint64_t alignment)
{
    for (int32_t i = 0; i < flow->tensor_count; i++) {
        const itg_flow_tensor *t = &flow->tensors[i];
        uint64_t element = (uint64_t)itg_dtype_size(t->dtype);
        if (!t->elsewhere && element > alignment) alignment = element;
    }
    return alignment;
}

static itg_status place(itg_flow *flow, uint64_t alignment, itg_error *err)
{
    size_t count = (size_t)flow->tensor_count + 1;
    itg_placed *items = calloc(count, sizeof *items);
    int32_t *item_of = calloc(count, sizeof *item_of);
    itg_status status = ITG_OK;
    if (items == NULL || item_of == NULL) {
        status = itg_fail(err, ITG_NO_MEMORY, "no memory to plan memory");
    } else {
        int32_t placed = collect(flow, items, item_of);
        status = itg_place_bound(items, placed, alignment, &flow->least, err);
        if (status == ITG_OK) status = itg_place_well(items, placed, alignment, &flow->bytes, err);
        for (int32_t i = 0; i < placed && status == ITG_OK; i++)
            flow->tensors[items[i].index].offset = items[i].offset;
        for (int32_t i = 0; i < flow->tensor_count && status == ITG_OK; i++) {
            itg_flow_tensor *t = &flow->tensors[i];
            if (t->home != ITG_FLOW_NONE && t->home != i)
                t->offset = flow->tensors[t->home].offset + t->within;
        }
    }
    free(items);
    free(item_of);
    return status;
}

itg_status itg_flow_live(itg_flow *flow, uint64_t *live, itg_error *err)
{
    set_lives(flow);
    return itg_flow_share(flow, live, err);
}

itg_status itg_flow_place(itg_flow *flow, uint64_t alignment, itg_error *err)
{
    return place(flow, alignment_of(flow, alignment), err);
}

itg_status itg_flow_plan(itg_flow *flow, uint64_t alignment, itg_error *err)
{
    itg_status status = itg_flow_live(flow, NULL, err);
    return status == ITG_OK ? itg_flow_place(flow, alignment, err) : status;
}
