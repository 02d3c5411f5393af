/* Elementwise operators: additions and products, activations on their own, lookup tables. */
#include "kernels/float_ops.h"
#include "kernels/requant.h"
#include "realize/lower.h"

itg_status itg_lower_binary(itg_lowering *l, itg_id node)
{
    const itg_node_note *note = &l->a->nodes[node];
    int32_t a, b;
    itg_step *s;
    itg_status status = itg_lower_edge(l, node, 0, &a);
    if (status == ITG_OK) status = itg_lower_edge(l, node, 1, &b);
    if (status == ITG_OK)
        status = itg_lower_native(l, node, ITG_STEP_BINARY, l->g->nodes[node].op, 2, &s);
    if (status != ITG_OK || s == NULL) return status;
    s->inputs[0] = a;
    s->inputs[1] = b;
    s->form = note->form;
    if (note->form != ITG_FORM_RESCALE) return ITG_OK;
    s->left_shift = note->left_shift;
    s->operand[0] = note->operand[0];
    s->operand[1] = note->operand[1];
    return ITG_OK;
}

itg_status itg_lower_clip(itg_lowering *l, itg_id node)
{
    int32_t x;
    itg_step *s;
    itg_status status = itg_lower_edge(l, node, 0, &x);
    if (status == ITG_OK)
        status = itg_lower_native(l, node, ITG_STEP_CLIP, l->g->nodes[node].op, 1, &s);
    if (status == ITG_OK && s != NULL) s->inputs[0] = x;
    return status;
}

/* One entry for every code of x: the function in double, one rounding to float32, then the
 * version's code. */
static itg_status add_table(itg_lowering *l, itg_id node, const itg_quantizer *x,
                            const itg_version *v, int32_t *out)
{
    const itg_node *n = &l->g->nodes[node];
    int64_t entries = x->qmax - x->qmin + 1;
    itg_tensor t = {v->is_float ? ITG_F32 : ITG_S32, {1, {entries}}, NULL};
    t.data = itg_arena_array(l->p->arena, (size_t)entries, sizeof(int32_t));
    const char *name = itg_arena_format(l->p->arena, "%s:table", n->name);
    if (t.data == NULL || name == NULL)
        return itg_lower_fail(l, node, ITG_NO_MEMORY, "no memory for a table");
    for (int64_t i = 0; i < entries; i++) {
        float u = itg_dequantize_f32(x->qmin + i, x->scale[0], x->zero_point);
        float f = (float)itg_univariate(n->op, &n->attrs, (double)u);
        if (v->is_float)
            ((float *)t.data)[i] = f;
        else
            ((int32_t *)t.data)[i] =
                (int32_t)itg_quantize_f32(f, v->q.scale[0], v->q.zero_point, v->q.qmin, v->q.qmax);
    }
    return itg_lower_constant(l, name, &t, out);
}

itg_status itg_lower_lut(itg_lowering *l, itg_id node)
{
    itg_id value = l->g->nodes[node].outputs[0];
    const itg_value_note *note = &l->a->values[value];
    int32_t x;
    itg_step *s;
    itg_status status = itg_lower_edge(l, node, 0, &x);
    if (status != ITG_OK || note->version_count == 0) return status;
    const itg_quantizer q = l->p->values[x].q;
    if (!l->p->values[x].quantized || q.qmax - q.qmin >= ITG_PROGRAM_MAX_TABLE)
        return itg_lower_fail(l, node, ITG_INFEASIBLE, "a table has at most 65536 entries");
    if (!itg_is_univariate(l->g->nodes[node].op))
        return itg_lower_fail(l, node, ITG_UNSUPPORTED, "no function of one variable");
    status = itg_lower_step(l, node, ITG_STEP_LUT, l->g->nodes[node].op, note->version_count + 1,
                            note->version_count, &s);
    if (status != ITG_OK) return status;
    s->inputs[0] = x;
    for (int32_t i = 0; i < note->version_count && status == ITG_OK; i++) {
        status = add_table(l, node, &q, &note->versions[i], &s->inputs[i + 1]);
        if (status == ITG_OK) status = itg_lower_output(l, value, i, &s->outputs[i]);
    }
    return status;
}
