#include "realize/memory.h"

struct itg_memory_plan {
    itg_arena *arena; /* owns it all, this struct too */
    const char **steps;
    itg_memory_place *places;
    int32_t step_count, count;
    int64_t bytes;
};

static const char *copy_name(itg_memory_plan *plan, const char *name)
{
    return itg_arena_strdup(plan->arena, name ? name : "");
}

static bool add_steps(itg_memory_plan *plan, const itg_flow *flow, const itg_flow_names *names)
{
    plan->steps = itg_arena_array(plan->arena, (size_t)flow->step_count + 1, sizeof *plan->steps);
    if (!plan->steps) return false;
    for (int32_t i = 0; i < flow->step_count; i++) {
        plan->steps[i] = copy_name(plan, names->step(names->context, i));
        if (!plan->steps[i]) return false;
    }
    plan->step_count = flow->step_count;
    return true;
}

/* A tensor that exists before the first step, or is read after the last, exists during it. */
static itg_memory_place place_of(const itg_flow *flow, int32_t tensor)
{
    const itg_flow_tensor *t = &flow->tensors[tensor];
    return (itg_memory_place){.first = t->first < 0 ? 0 : t->first,
                              .last = t->last < flow->step_count ? t->last : flow->step_count - 1,
                              .offset = (int64_t)t->offset,
                              .bytes = (int64_t)t->bytes};
}

static bool add_places(itg_memory_plan *plan, const itg_flow *flow, const itg_flow_names *names)
{
    plan->places =
        itg_arena_array(plan->arena, (size_t)flow->tensor_count + 1, sizeof *plan->places);
    if (!plan->places) return false;
    for (int32_t i = 0; i < flow->tensor_count; i++) {
        const itg_flow_tensor *t = &flow->tensors[i];
        if (t->elsewhere || t->home == ITG_FLOW_NONE || t->bytes == 0) continue;
        itg_memory_place *place = &plan->places[plan->count++];
        *place = place_of(flow, i);
        place->scratch = names->is_scratch(names->context, i);
        place->name = copy_name(plan, names->tensor(names->context, i));
        if (!place->name) return false;
    }
    return true;
}

itg_status itg_memory_plan_make(const itg_flow *flow, const itg_flow_names *names, int64_t bytes,
                                itg_memory_plan **out, itg_error *err)
{
    itg_arena *arena = itg_arena_create(0);
    itg_memory_plan *plan = arena ? itg_arena_alloc(arena, sizeof *plan) : NULL;
    if (plan) *plan = (itg_memory_plan){.arena = arena, .bytes = bytes};
    if (plan && add_steps(plan, flow, names) && add_places(plan, flow, names)) {
        *out = plan;
        return ITG_OK;
    }
    if (arena) itg_arena_destroy(arena);
    return itg_fail(err, ITG_NO_MEMORY, "no memory for a plan of memory");
}

void itg_memory_plan_destroy(itg_memory_plan *plan)
{
    if (plan) itg_arena_destroy(plan->arena);
}

int64_t itg_memory_plan_bytes(const itg_memory_plan *plan)
{
    return plan->bytes;
}

int32_t itg_memory_plan_steps(const itg_memory_plan *plan)
{
    return plan->step_count;
}

const char *itg_memory_plan_step(const itg_memory_plan *plan, int32_t index)
{
    return index >= 0 && index < plan->step_count ? plan->steps[index] : NULL;
}

int32_t itg_memory_plan_count(const itg_memory_plan *plan)
{
    return plan->count;
}

const itg_memory_place *itg_memory_plan_at(const itg_memory_plan *plan, int32_t index)
{
    return index >= 0 && index < plan->count ? &plan->places[index] : NULL;
}
