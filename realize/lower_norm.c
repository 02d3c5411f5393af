/* Softmax and LayerNormalization: their tables and parameters become constants of the program. */
#include "kernels/math.h"
#include "kernels/requant.h"
#include "realize/lower.h"

/* fine: 2^bits * exp(-scale * j), j < 256; coarse: the same for 256 * j. Both end at the range of
 * codes. */
static itg_status add_table(itg_lowering *l, itg_id node, const itg_quantizer *q, bool coarse,
                            int32_t *out)
{
    const int64_t step = coarse ? 256 : 1, range = q->qmax - q->qmin,
                  count = coarse        ? range / 256 + 1
                          : range < 255 ? range + 1
                                        : 256;
    const char *name =
        itg_arena_format(l->p->arena, "%s:%s", l->g->nodes[node].name, coarse ? "coarse" : "fine");
    int32_t *entries = itg_arena_array(l->p->arena, (size_t)count, sizeof *entries);
    if (name == NULL || entries == NULL) return itg_lower_no_memory(l);
    for (int64_t j = 0; j < count; j++)
        entries[j] = (int32_t)itg_round_half_even(itg_ldexp(
            itg_exp(-((double)q->scale[0] * (double)(j * step))), l->a->nodes[node].fraction));
    const itg_tensor t = {ITG_S32, {1, {count}}, entries};
    return itg_lower_constant(l, name, &t, out);
}

itg_status itg_lower_softmax(itg_lowering *l, itg_id node)
{
    int32_t operand[3] = {ITG_NONE, ITG_NONE, ITG_NONE};
    itg_step *s;
    itg_status status = itg_lower_edge(l, node, 0, &operand[0]);
    if (status != ITG_OK) return status;
    const itg_quantizer q = l->p->values[operand[0]].q;
    for (int32_t i = 1; i < 3 && status == ITG_OK; i++)
        status = add_table(l, node, &q, i == 2, &operand[i]);
    if (status == ITG_OK)
        status = itg_lower_native(l, node, ITG_STEP_SOFTMAX, l->g->nodes[node].op, 3, &s);
    if (status != ITG_OK || s == NULL) return status;
    memcpy(s->inputs, operand, sizeof operand);
    s->fraction = l->a->nodes[node].fraction;
    return ITG_OK;
}

/* Adds a parameter with the shape of a row: the dimensions of x from the axis on. */
static itg_status add_parameter(itg_lowering *l, itg_id node, const char *what, itg_dtype dtype,
                                const void *data, int32_t *out)
{
    const itg_node *n = &l->g->nodes[node];
    const itg_shape *x = &l->g->values[n->inputs[0]].shape;
    itg_tensor t = {dtype, {0, {0}}, (void *)(uintptr_t)data};
    const char *name = itg_arena_format(l->p->arena, "%s:%s", n->name, what);
    if (name == NULL) return itg_lower_no_memory(l);
    for (int64_t d = n->attrs.axis; d < x->rank; d++)
        t.shape.dims[t.shape.rank++] = x->dims[d];
    return itg_lower_constant(l, name, &t, out);
}

itg_status itg_lower_layer_norm(itg_lowering *l, itg_id node)
{
    const itg_node_note *note = &l->a->nodes[node];
    int32_t operand[3] = {ITG_NONE, ITG_NONE, ITG_NONE};
    itg_step *s;
    itg_status status = itg_lower_edge(l, node, 0, &operand[0]);
    if (status == ITG_OK) status = add_parameter(l, node, "gain", ITG_S16, note->gain, &operand[1]);
    if (status == ITG_OK) status = add_parameter(l, node, "bias", ITG_S64, note->bias, &operand[2]);
    if (status == ITG_OK)
        status = itg_lower_native(l, node, ITG_STEP_LAYER_NORM, l->g->nodes[node].op, 3, &s);
    if (status != ITG_OK || s == NULL) return status;
    memcpy(s->inputs, operand, sizeof operand);
    s->fraction = note->fraction;
    s->epsilon = note->epsilon;
    return ITG_OK;
}
