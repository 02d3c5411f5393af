/* Products of many rows, as those of a recurrent operator's inputs of all steps: one for each run
 * of rows that is read apart, just before it is read. */
#include "realize/tile_build.h"
#include <string.h>

typedef struct builder {
    itg_tiler t;
    const int32_t *split; /* [steps]: as find has it */
    int32_t *of;    /* [values of p]: the product whose rows it is, made when read; ITG_NONE */
    int64_t *start; /* [values of p]: its first row */
} builder;

/* ---- which products ---- */

/* Whether step i is a product of rows by one matrix that is split along axis 0 at once. */
static bool is_split(const itg_program *p, int32_t i, int32_t split)
{
    const itg_step *s = &p->steps[i], *reader = &p->steps[split];
    if (s->kind != ITG_STEP_MATMUL || s->output_count != 1 || reader->kind != ITG_STEP_MOVE ||
        reader->op != ITG_OP_SPLIT || reader->attrs.axis != 0)
        return false;
    const itg_pvalue *a = &p->values[s->inputs[0]], *w = &p->values[s->inputs[1]];
    return w->data != NULL && w->shape.rank == 2 && a->data == NULL && a->quantized &&
           a->shape.rank == p->values[s->outputs[0]].shape.rank && a->shape.rank >= 2;
}

/* Returns, for each step, the Split along axis 0 that alone reads its product; ITG_NONE: it is no
 * such product. *any: some are. NULL: no memory. */
static int32_t *find(const itg_program *p, itg_arena *arena, bool *any)
{
    int32_t *out = itg_arena_array(arena, (size_t)p->step_count + 1, sizeof *out);
    int32_t *reads = itg_arena_array(arena, (size_t)p->value_count + 1, sizeof *reads);
    int32_t *reader = itg_arena_array(arena, (size_t)p->value_count + 1, sizeof *reader);
    *any = false;
    if (!out || !reads || !reader) return NULL;
    for (int32_t i = 0; i < p->output_count; i++)
        reads[p->outputs[i]]++;
    for (int32_t i = 0; i < p->step_count; i++)
        for (int32_t k = 0; k < p->steps[i].input_count; k++) {
            const int32_t x = p->steps[i].inputs[k];
            if (x == ITG_NONE) continue;
            reads[x]++;
            reader[x] = i;
        }
    for (int32_t i = 0; i < p->step_count; i++) {
        const int32_t y = p->steps[i].output_count > 0 ? p->steps[i].outputs[0] : ITG_NONE;
        const bool alone = y != ITG_NONE && reads[y] == 1 && p->values[y].producer == i;
        out[i] = alone && is_split(p, i, reader[y]) ? reader[y] : ITG_NONE;
        *any = *any || out[i] != ITG_NONE;
    }
    return out;
}

static itg_status no_memory(const itg_program *p, itg_error *err)
{
    return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for its parts", p->name);
}

itg_status itg_products_find(const itg_program *p, bool *any, itg_error *err)
{
    itg_arena *arena = itg_arena_create(0);
    const int32_t *found = arena ? find(p, arena, any) : NULL;
    itg_arena_destroy(arena);
    return found ? ITG_OK : no_memory(p, err);
}

/* ---- building ---- */

/* Notes which rows of the product each part of the split is. */
static void note_parts(builder *b, int32_t i)
{
    const itg_step *split = &b->t.p->steps[b->split[i]];
    int64_t at = 0;
    for (int32_t k = 0; k < split->output_count; k++) {
        b->of[split->outputs[k]] = i;
        b->start[split->outputs[k]] = at;
        at += b->t.p->values[split->outputs[k]].shape.dims[0];
    }
}

/* Makes a part of a product: rows of its first operand, by the same matrix. */
static void make_part(builder *b, int32_t value)
{
    const itg_program *p = b->t.p;
    const itg_step *from = &p->steps[b->of[value]];
    const int32_t a = from->inputs[0];
    itg_shape shape = p->values[a].shape;
    if (b->of[a] != ITG_NONE && b->t.whole[a] == ITG_NONE) make_part(b, a);
    shape.dims[0] = p->values[value].shape.dims[0];
    const int32_t x = itg_tiler_part(&b->t, a, &shape, (int32_t)b->start[value]);
    itg_tiler_slice(&b->t, from, 0, b->start[value], b->t.whole[a], x);
    b->t.whole[value] =
        itg_tiler_part(&b->t, value, &p->values[value].shape, (int32_t)b->start[value]);
    itg_step *s = itg_tiler_step(&b->t, from);
    for (int32_t i = 0; s && i < from->input_count; i++)
        s->inputs[i] = i == 0                        ? x
                       : from->inputs[i] == ITG_NONE ? ITG_NONE
                                                     : b->t.whole[from->inputs[i]];
    if (s) s->outputs[0] = b->t.whole[value];
}

static void copy_step(builder *b, int32_t i)
{
    const itg_step *s = &b->t.p->steps[i];
    if (b->split[i] != ITG_NONE) {
        note_parts(b, i);
        return;
    }
    for (int32_t k = 0; k < s->input_count && b->t.status == ITG_OK; k++) {
        const int32_t x = s->inputs[k];
        if (x != ITG_NONE && b->of[x] != ITG_NONE && b->t.whole[x] == ITG_NONE) make_part(b, x);
    }
    const int32_t x = s->input_count > 0 ? s->inputs[0] : ITG_NONE;
    const int32_t producer = x == ITG_NONE ? ITG_NONE : b->t.p->values[x].producer;
    if (producer != ITG_NONE && b->split[producer] == i) return; /* the Split */
    if (b->t.status == ITG_OK) itg_tiler_copy(&b->t, s);
}

itg_status itg_products_build(const itg_program *p, itg_program **out, itg_error *err)
{
    builder b = {.split = NULL};
    bool any;
    if (itg_tiler_begin(&b.t, p, err) == ITG_OK) {
        b.split = find(p, b.t.q->arena, &any);
        b.of = itg_tiler_array(&b.t, p->value_count, sizeof *b.of);
        b.start = itg_tiler_array(&b.t, p->value_count, sizeof *b.start);
        if (!b.split && b.t.status == ITG_OK) b.t.status = no_memory(p, err);
        for (int32_t v = 0; b.of && v < p->value_count; v++)
            b.of[v] = ITG_NONE;
    }
    for (int32_t i = 0; i < p->step_count && b.t.status == ITG_OK; i++)
        copy_step(&b, i);
    for (int32_t i = 0; i < p->output_count && b.t.status == ITG_OK; i++)
        if (b.t.whole[p->outputs[i]] == ITG_NONE) make_part(&b, p->outputs[i]);
    return itg_tiler_end(&b.t, out);
}
