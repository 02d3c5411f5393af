/* Building, finishing and querying programs. */
#include "realize/program.h"
#include <stdlib.h>
#include <string.h>

static itg_status no_memory(itg_error *err, const char *what)
{
    return itg_fail(err, ITG_NO_MEMORY, "no memory for %s", what);
}

itg_status itg_program_create(const char *name, itg_program **out, itg_error *err)
{
    itg_program *p = calloc(1, sizeof *p);
    if (p == NULL) return no_memory(err, "a program");
    p->arena = itg_arena_create(0);
    if (p->arena != NULL) p->name = itg_arena_strdup(p->arena, name);
    if (p->name == NULL) {
        itg_program_destroy(p);
        return no_memory(err, "a program");
    }
    *out = p;
    return ITG_OK;
}

void itg_program_destroy(itg_program *program)
{
    if (program == NULL) return;
    for (int32_t i = 0; i < program->value_count; i++)
        if (program->values[i].held) itg_cache_release(program->cache, program->values[i].known);
    itg_cache_destroy(program->cache);
    itg_arena_destroy(program->arena);
    free(program);
}

/* Doubles an arena array; the old one stays in the arena. NULL: no memory. */
static void *grown(itg_arena *arena, const void *old, int32_t count, int32_t *capacity, size_t size)
{
    int32_t wanted = *capacity == 0 ? 64 : *capacity * 2;
    void *new_array = itg_arena_array(arena, (size_t)wanted, size);
    if (new_array == NULL) return NULL;
    if (count > 0) memcpy(new_array, old, (size_t)count * size);
    *capacity = wanted;
    return new_array;
}

itg_status itg_program_add_value(itg_program *p, const char *name, itg_dtype dtype,
                                 const itg_shape *shape, int32_t *out, itg_error *err)
{
    if (p->value_count >= ITG_PROGRAM_MAX_VALUES)
        return itg_fail(err, ITG_LIMIT, "%s: more than %d values", p->name, ITG_PROGRAM_MAX_VALUES);
    if (p->value_count == p->value_capacity) {
        itg_pvalue *values =
            grown(p->arena, p->values, p->value_count, &p->value_capacity, sizeof *values);
        if (values == NULL) return no_memory(err, "values");
        p->values = values;
    }
    itg_pvalue *v = &p->values[p->value_count];
    v->name = itg_arena_strdup(p->arena, name);
    if (v->name == NULL) return no_memory(err, "a name");
    v->dtype = dtype;
    v->shape = *shape;
    v->producer = ITG_NONE;
    *out = p->value_count++;
    return ITG_OK;
}

itg_status itg_program_add_step(itg_program *p, itg_step_kind kind, const char *name,
                                int32_t input_count, int32_t output_count, itg_step **out,
                                itg_error *err)
{
    if (p->step_count >= ITG_PROGRAM_MAX_VALUES)
        return itg_fail(err, ITG_LIMIT, "%s: more than %d nodes", p->name, ITG_PROGRAM_MAX_VALUES);
    if (input_count > ITG_PROGRAM_MAX_VALUES || output_count > ITG_PROGRAM_MAX_VALUES)
        return itg_fail(err, ITG_LIMIT, "%s: node '%.100s': more than %d operands", p->name, name,
                        ITG_PROGRAM_MAX_VALUES);
    if (p->step_count == p->step_capacity) {
        itg_step *steps =
            grown(p->arena, p->steps, p->step_count, &p->step_capacity, sizeof *steps);
        if (steps == NULL) return no_memory(err, "nodes");
        p->steps = steps;
    }
    itg_step *s = &p->steps[p->step_count];
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->node = ITG_NONE;
    s->input_count = input_count;
    s->output_count = output_count;
    s->name = itg_arena_strdup(p->arena, name);
    s->inputs = itg_arena_array(p->arena, (size_t)input_count + 1, sizeof *s->inputs);
    s->outputs = itg_arena_array(p->arena, (size_t)output_count + 1, sizeof *s->outputs);
    s->outs = itg_arena_array(p->arena, (size_t)output_count + 1, sizeof *s->outs);
    if (s->name == NULL || s->inputs == NULL || s->outputs == NULL || s->outs == NULL)
        return no_memory(err, "a node");
    for (int32_t i = 0; i < input_count; i++)
        s->inputs[i] = ITG_NONE;
    for (int32_t i = 0; i < output_count; i++)
        s->outputs[i] = ITG_NONE;
    p->step_count++;
    *out = s;
    return ITG_OK;
}

itg_status itg_program_set_quantizer(itg_program *p, int32_t value, const itg_quantizer *q,
                                     itg_error *err)
{
    itg_pvalue *v = &p->values[value];
    const float *scale =
        itg_arena_copy(p->arena, q->scale, (size_t)q->scale_count * sizeof *q->scale);
    if (scale == NULL) return no_memory(err, "scales");
    v->q = *q;
    v->q.is_signed = itg_dtype_min(q->storage) < 0;
    v->q.scale = scale;
    v->quantized = true;
    return ITG_OK;
}

bool itg_quantizer_equal(const itg_quantizer *a, const itg_quantizer *b)
{
    if (a->bits != b->bits || a->is_signed != b->is_signed || a->storage != b->storage ||
        a->qmin != b->qmin || a->qmax != b->qmax || a->zero_point != b->zero_point ||
        a->axis != b->axis || a->scale_count != b->scale_count)
        return false;
    return memcmp(a->scale, b->scale, (size_t)a->scale_count * sizeof *a->scale) == 0;
}

/* ---- finishing ---- */

/* Stores a derived bound, or compares it with the stated one. */
static itg_status settle_bound(const itg_step *s, itg_bounds_mode mode, const int64_t derived[2],
                               int64_t *lo, int64_t *hi, itg_error *err)
{
    if (mode == ITG_BOUNDS_COMPARE && (derived[0] != *lo || derived[1] != *hi))
        return itg_fail(err, ITG_MISMATCH,
                        "node '%s': stated bound [%lld,%lld], the constants give [%lld,%lld]",
                        s->name, (long long)*lo, (long long)*hi, (long long)derived[0],
                        (long long)derived[1]);
    *lo = derived[0];
    *hi = derived[1];
    return ITG_OK;
}

/* A split sum has two bounds: of its parts, and of their sum. Both must fit. */
static itg_status finish_split_bounds(itg_program *p, itg_step *s, itg_bounds_mode mode,
                                      itg_error *err)
{
    int64_t part[2], joined[2];
    itg_step_split_bound(p, s, &part[0], &part[1], &joined[0], &joined[1]);
    itg_status status = settle_bound(s, mode, part, &s->acc_lo, &s->acc_hi, err);
    if (status == ITG_OK) status = settle_bound(s, mode, joined, &s->join_lo, &s->join_hi, err);
    if (status != ITG_OK) return status;
    if (!itg_step_fits(s))
        return itg_fail(err, ITG_MISMATCH, "node '%s': parts of a split sum leave its accumulator",
                        s->name);
    s->kernel_bound = itg_step_kernel_bound(p, s);
    p->bounds[p->bound_count++] = (itg_bound){s->node, part[0], part[1], true, s->acc};
    p->bounds[p->bound_count++] =
        (itg_bound){s->node, joined[0], joined[1], true, itg_step_join(s)};
    return ITG_OK;
}

static itg_status finish_bounds(itg_program *p, itg_bounds_mode mode, itg_error *err)
{
    itg_status status = ITG_OK;
    p->bounds = itg_arena_array(p->arena, 2 * (size_t)p->step_count + 1, sizeof *p->bounds);
    if (p->bounds == NULL) return no_memory(err, "bounds");
    for (int32_t i = 0; i < p->step_count && status == ITG_OK; i++) {
        itg_step *s = &p->steps[i];
        if (!itg_step_has_accumulator(s)) continue;
        if (s->split.part_count > 0) {
            status = finish_split_bounds(p, s, mode, err);
            continue;
        }
        int64_t derived[2];
        itg_step_bound(p, s, &derived[0], &derived[1]);
        status = settle_bound(s, mode, derived, &s->acc_lo, &s->acc_hi, err);
        if (status != ITG_OK) break;
        s->kernel_bound = itg_step_kernel_bound(p, s);
        p->bounds[p->bound_count++] =
            (itg_bound){s->node, s->acc_lo, s->acc_hi, itg_step_fits(s), s->acc};
    }
    return status;
}

static itg_status finish_islands(itg_program *p, itg_error *err)
{
    p->islands = itg_arena_array(p->arena, (size_t)p->step_count + 1, sizeof *p->islands);
    if (p->islands == NULL) return no_memory(err, "names");
    for (int32_t i = 0; i < p->step_count; i++) {
        const itg_step *s = &p->steps[i];
        if (s->kind != ITG_STEP_FLOAT) continue;
        const char *text =
            itg_arena_format(p->arena, "%s %s: %s", itg_op_name(s->op), s->name,
                             s->reason != NULL && s->reason[0] != '\0' ? s->reason : "float node");
        if (text == NULL) return no_memory(err, "names");
        p->islands[p->island_count++] = text;
    }
    return ITG_OK;
}

itg_status itg_program_finish(itg_program *p, itg_bounds_mode mode, itg_error *err)
{
    itg_status status = itg_program_check(p, err);
    if (status == ITG_OK) status = finish_bounds(p, mode, err);
    if (status == ITG_OK) status = finish_islands(p, err);
    return status;
}

/* ---- questions ---- */

int32_t itg_program_input_count(const itg_program *p)
{
    return p->input_count;
}

itg_tensor itg_program_input(const itg_program *p, int32_t index)
{
    return itg_pvalue_tensor(&p->values[p->inputs[index]]);
}

const char *itg_program_input_name(const itg_program *p, int32_t index)
{
    return p->values[p->inputs[index]].name;
}

const itg_shape *itg_program_input_shape(const itg_program *p, int32_t index)
{
    return &p->values[p->inputs[index]].shape;
}

int32_t itg_program_output_count(const itg_program *p)
{
    return p->output_count;
}

const char *itg_program_output_name(const itg_program *p, int32_t index)
{
    return p->values[p->outputs[index]].name;
}

void itg_program_output_info(const itg_program *p, int32_t index, itg_dtype *dtype,
                             const itg_shape **shape, const itg_quantizer **q)
{
    const itg_pvalue *v = &p->values[p->outputs[index]];
    *dtype = v->dtype;
    *shape = &v->shape;
    *q = v->quantized ? &v->q : NULL;
}

const itg_bound *itg_program_bounds(const itg_program *p, int32_t *count)
{
    *count = p->bound_count;
    return p->bounds;
}

/* Returns the node of bound `index`. Bounds are in the order of accumulating steps, two per split
 * sum. */
const char *itg_program_bound_name(const itg_program *p, int32_t index)
{
    int32_t end = 0;
    for (int32_t i = 0; i < p->step_count; i++) {
        if (!itg_step_has_accumulator(&p->steps[i])) continue;
        end += p->steps[i].split.part_count > 0 ? 2 : 1;
        if (index < end) return p->steps[i].name;
    }
    return NULL;
}

int32_t itg_program_float_island_count(const itg_program *p)
{
    return p->island_count;
}

const char *itg_program_float_island(const itg_program *p, int32_t index)
{
    return p->islands[index];
}

const char *itg_program_metadata(const itg_program *p, const char *key)
{
    for (int32_t i = 0; i < p->metadata_count; i++)
        if (strcmp(p->metadata_key[i], key) == 0) return p->metadata_value[i];
    return NULL;
}
