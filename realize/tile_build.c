#include "realize/tile_build.h"
#include <string.h>

static const char *text(itg_tiler *t, const char *made)
{
    if (!made && t->status == ITG_OK)
        t->status = itg_fail(t->err, ITG_NO_MEMORY, "%s: no memory for its parts", t->p->name);
    return made ? made : "";
}

void *itg_tiler_array(itg_tiler *t, int64_t count, size_t size)
{
    void *out = itg_arena_array(t->q->arena, (size_t)count + 1, size);
    if (!out) (void)text(t, NULL);
    return out;
}

/* ---- values ---- */

static int32_t add_value(itg_tiler *t, int32_t like, const itg_shape *shape, const char *wanted)
{
    const itg_pvalue *v = &t->p->values[like];
    int32_t id = ITG_NONE;
    const char *name = text(t, itg_names_unique(&t->names, wanted, 0));
    if (t->status == ITG_OK)
        t->status = itg_program_add_value(t->q, name, v->dtype, shape, &id, t->err);
    if (t->status != ITG_OK) return ITG_NONE;
    t->q->values[id].quantized = v->quantized;
    t->q->values[id].q = v->q;
    t->q->values[id].data = v->data;
    return id;
}

int32_t itg_tiler_part(itg_tiler *t, int32_t like, const itg_shape *shape, int32_t number)
{
    const char *name = t->p->values[like].name;
    return add_value(t, like, shape,
                     text(t, itg_arena_format(t->q->arena, "%s/part%d", name, (int)number)));
}

static void add_whole(itg_tiler *t, int32_t value)
{
    const itg_pvalue *v = &t->p->values[value];
    t->whole[value] = add_value(t, value, &v->shape, v->name);
}

/* ---- steps ---- */

itg_step *itg_tiler_step(itg_tiler *t, const itg_step *like)
{
    itg_step *s = NULL;
    if (t->status == ITG_OK)
        t->status = itg_program_add_step(t->q, like->kind, like->name, like->input_count,
                                         like->output_count, &s, t->err);
    if (t->status != ITG_OK) return NULL;
    const itg_step made = *s;
    *s = *like;
    s->name = made.name;
    s->inputs = made.inputs;
    s->outputs = made.outputs;
    return s;
}

void itg_tiler_outputs(itg_tiler *t, const itg_step *step)
{
    for (int32_t i = 0; i < step->output_count; i++)
        add_whole(t, step->outputs[i]);
}

void itg_tiler_copy(itg_tiler *t, const itg_step *step)
{
    itg_tiler_outputs(t, step);
    itg_step *s = itg_tiler_step(t, step);
    for (int32_t i = 0; s && i < step->input_count; i++)
        s->inputs[i] = step->inputs[i] == ITG_NONE ? ITG_NONE : t->whole[step->inputs[i]];
    for (int32_t i = 0; s && i < step->output_count; i++)
        s->outputs[i] = t->whole[step->outputs[i]];
}

itg_step *itg_tiler_move(itg_tiler *t, itg_op op, const itg_step *of, int32_t inputs)
{
    const itg_step like = {.kind = ITG_STEP_MOVE,
                           .op = op,
                           .node = of->node,
                           .name = of->name,
                           .attrs = itg_attrs_default(op),
                           .outs = itg_tiler_array(t, 1, sizeof *like.outs),
                           .input_count = inputs,
                           .output_count = 1};
    return itg_tiler_step(t, &like);
}

void itg_tiler_slice(itg_tiler *t, const itg_step *of, int32_t axis, int64_t start, int32_t from,
                     int32_t to)
{
    itg_step *s = itg_tiler_move(t, ITG_OP_SLICE, of, 1);
    if (!s) return;
    s->attrs.axes_count = 1;
    s->attrs.axes[0] = axis;
    s->attrs.starts[0] = start;
    s->attrs.steps[0] = 1;
    s->inputs[0] = from;
    s->outputs[0] = to;
}

/* ---- beginning and end ---- */

itg_status itg_tiler_begin(itg_tiler *t, const itg_program *p, itg_error *err)
{
    *t = (itg_tiler){.p = p, .err = err};
    t->status = itg_program_create(p->name, &t->q, err);
    if (t->status != ITG_OK) return t->status;
    t->names.arena = t->q->arena;
    t->whole = itg_tiler_array(t, p->value_count, sizeof *t->whole);
    for (int32_t v = 0; v < p->value_count && t->status == ITG_OK; v++) {
        t->whole[v] = ITG_NONE;
        if (p->values[v].producer == ITG_NONE) add_whole(t, v);
    }
    return t->status;
}

static int32_t *in_q(itg_tiler *t, const int32_t *values, int32_t count)
{
    int32_t *out = itg_tiler_array(t, count, sizeof *out);
    for (int32_t i = 0; out && i < count; i++)
        out[i] = t->whole[values[i]];
    return out;
}

itg_status itg_tiler_end(itg_tiler *t, itg_program **out)
{
    const itg_program *p = t->p;
    itg_program *q = t->q;
    if (!q) return t->status;
    if (t->status == ITG_OK) {
        q->inputs = in_q(t, p->inputs, p->input_count);
        q->outputs = in_q(t, p->outputs, p->output_count);
        q->input_count = p->input_count;
        q->output_count = p->output_count;
        q->metadata_key = p->metadata_key;
        q->metadata_value = p->metadata_value;
        q->metadata_count = p->metadata_count;
    }
    if (t->status == ITG_OK) t->status = itg_program_finish(q, ITG_BOUNDS_STORE, t->err);
    if (t->status == ITG_OK)
        *out = q;
    else
        itg_program_destroy(q);
    return t->status;
}
