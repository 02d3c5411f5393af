/* Steps with epilogues. */
#include "realize/lower.h"
#include <float.h>
#include <math.h>

itg_status itg_lower_fail(itg_lowering *l, itg_id node, itg_status status, const char *what)
{
    return itg_fail(l->err, status, "%s: node '%s': %s", l->g->name, l->g->nodes[node].name, what);
}

itg_status itg_lower_step(itg_lowering *l, itg_id node, itg_step_kind kind, itg_op op,
                          int32_t inputs, int32_t outputs, itg_step **out)
{
    const itg_node *n = &l->g->nodes[node];
    itg_status status = itg_program_add_step(l->p, kind, n->name, inputs, outputs, out, l->err);
    if (status != ITG_OK) return status;
    itg_step *s = *out;
    s->node = node;
    s->op = op;
    s->attrs = itg_attrs_read_by(op, &n->attrs);
    s->acc = l->a->nodes[node].acc;
    return ITG_OK;
}

/* Sets the float bounds of the activation, which is fused or the node itself. */
static void set_activation(const itg_lowering *l, itg_id node, itg_step *s)
{
    itg_id activation = l->a->nodes[node].activation;
    const itg_node *n = &l->g->nodes[activation == ITG_NONE ? node : activation];
    s->float_lo = -INFINITY;
    s->float_hi = INFINITY;
    if (n->op == ITG_OP_RELU) s->float_lo = 0;
    if (n->op == ITG_OP_CLIP) {
        s->float_lo = n->attrs.min;
        s->float_hi = n->attrs.max;
    }
}

static itg_status set_out(itg_lowering *l, const itg_encoding *v, itg_step_out *o)
{
    o->lo = v->clamp_lo;
    o->hi = v->clamp_hi;
    if (v->is_float && v->dequant_count > 0) {
        o->dequant_count = v->dequant_count;
        o->dequant =
            itg_arena_copy(l->p->arena, v->dequant, (size_t)v->dequant_count * sizeof *v->dequant);
        if (o->dequant == NULL) return itg_lower_no_memory(l);
    } else if (!v->is_float && v->requant_count > 0) {
        o->requant_count = v->requant_count;
        o->requant =
            itg_arena_copy(l->p->arena, v->requant, (size_t)v->requant_count * sizeof *v->requant);
        if (o->requant == NULL) return itg_lower_no_memory(l);
    }
    return ITG_OK;
}

itg_status itg_lower_native(itg_lowering *l, itg_id node, itg_step_kind kind, itg_op op,
                            int32_t inputs, itg_step **out)
{
    itg_id value = l->a->nodes[node].out_value;
    const itg_value_note *note = &l->a->values[value];
    *out = NULL;
    if (note->encoding_count == 0) return ITG_OK;
    itg_step *s;
    itg_status status = itg_lower_step(l, node, kind, op, inputs, note->encoding_count, &s);
    if (status == ITG_OK) set_activation(l, node, s);
    for (int32_t i = 0; i < note->encoding_count && status == ITG_OK; i++) {
        status = itg_lower_output(l, value, i, &s->outputs[i]);
        if (status == ITG_OK) status = set_out(l, &note->encodings[i], &s->outs[i]);
    }
    if (status == ITG_OK) *out = s;
    return status;
}
