/* Elementwise operators: additions and products, activations on their own, lookup tables. */
#include "kernels/float_ops.h"
#include "kernels/requant.h"
#include "realize/lower.h"

/* Cost per byte of a table: the function, in multiplications of a fast kernel. */
#define ENTRY_COST 64.0

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

/* A table's function, input and output. Entries are 2^shift codes apart. */
typedef struct table {
    const itg_node *n;
    const itg_quantizer *x;
    const itg_encoding *v;
    int32_t shift;
} table;

/* Fills entries for every code of x, or for multiples of 2^shift around them. The function is
 * computed in double, rounded once to float32 and then encoded. */
static void fill_table(const table *t, void *out)
{
    const itg_node *n = t->n;
    const itg_quantizer *x = t->x;
    const itg_encoding *v = t->v;
    const int64_t step = (int64_t)1 << t->shift, first = (x->qmin >> t->shift) * step;
    for (int64_t i = 0; i < itg_table_entries(x, t->shift); i++) {
        float u = itg_dequantize_f32(first + i * step, x->scale[0], x->zero_point);
        float f = (float)itg_univariate(n->op, &n->attrs, (double)u);
        if (v->is_float)
            ((float *)out)[i] = f;
        else
            ((int32_t *)out)[i] =
                (int32_t)itg_quantize_f32(f, v->q.scale[0], v->q.zero_point, v->q.qmin, v->q.qmax);
    }
}

static void key_quantizer(itg_key_state *k, const itg_quantizer *q)
{
    itg_key_int(k, q->qmin);
    itg_key_int(k, q->qmax);
    itg_key_int(k, q->zero_point);
    itg_key_float(k, q->scale[0]);
}

/* Hashes everything that fill_table reads. */
static itg_key table_key(const table *t)
{
    enum { TAG_TABLE = 103 };
    itg_attrs attrs = itg_attrs_read_by(t->n->op, &t->n->attrs);
    itg_key_state k;
    itg_key_begin(&k, TAG_TABLE);
    itg_key_int(&k, t->n->op);
    itg_key_bytes(&k, &attrs, sizeof attrs); /* different padding bytes only miss the cache */
    key_quantizer(&k, t->x);
    itg_key_int(&k, t->shift);
    itg_key_int(&k, t->v->is_float);
    if (!t->v->is_float) key_quantizer(&k, &t->v->q);
    return itg_key_end(&k);
}

/* Sets the table's entries: computes them, or shares those of another program. */
static itg_status make_table(itg_lowering *l, const table *t, itg_pvalue *out)
{
    size_t bytes = (size_t)itg_table_entries(t->x, t->shift) * sizeof(int32_t);
    itg_key key = table_key(t);
    out->known = itg_constant_find(l->p->cache, &key, bytes);
    if (out->known == NULL) {
        void *entries;
        itg_constant *made =
            itg_constant_make(l->p->cache, &key, bytes, ENTRY_COST * (double)bytes, &entries);
        if (made == NULL) return itg_lower_no_memory(l);
        fill_table(t, entries);
        itg_constant_commit(l->p->cache, made, bytes);
        out->known = made;
    }
    out->held = true;
    out->data = out->known->codes;
    return ITG_OK;
}

static itg_status add_table(itg_lowering *l, itg_id node, const itg_quantizer *x,
                            const itg_encoding *v, int32_t *out)
{
    const table t = {&l->g->nodes[node], x, v, v->is_float ? 0 : l->a->nodes[node].table_shift};
    const itg_shape shape = {1, {itg_table_entries(x, t.shift)}};
    const char *wanted = itg_arena_format(l->p->arena, "%s:table", l->g->nodes[node].name);
    const char *name = wanted == NULL ? NULL : itg_names_unique(&l->names, wanted, 0);
    if (name == NULL) return itg_lower_no_memory(l);
    itg_status status =
        itg_program_add_value(l->p, name, v->is_float ? ITG_F32 : ITG_S32, &shape, out, l->err);
    return status == ITG_OK ? make_table(l, &t, &l->p->values[*out]) : status;
}

itg_status itg_lower_lut(itg_lowering *l, itg_id node)
{
    itg_id value = l->g->nodes[node].outputs[0];
    const itg_value_note *note = &l->a->values[value];
    int32_t x;
    itg_step *s;
    itg_status status = itg_lower_edge(l, node, 0, &x);
    if (status != ITG_OK || note->encoding_count == 0) return status;
    const itg_quantizer q = l->p->values[x].q;
    if (!l->p->values[x].quantized || q.qmax - q.qmin >= ITG_PROGRAM_MAX_TABLE)
        return itg_lower_fail(l, node, ITG_INFEASIBLE, "a table has at most 65536 entries");
    if (!itg_op_is(l->g->nodes[node].op, ITG_IS_UNIVARIATE))
        return itg_lower_fail(l, node, ITG_UNSUPPORTED, "no function of one variable");
    status = itg_lower_step(l, node, ITG_STEP_LUT, l->g->nodes[node].op, note->encoding_count + 1,
                            note->encoding_count, &s);
    if (status != ITG_OK) return status;
    s->inputs[0] = x;
    s->table_shift = l->a->nodes[node].table_shift;
    for (int32_t i = 0; i < note->encoding_count && status == ITG_OK; i++) {
        status = add_table(l, node, &q, &note->encodings[i], &s->inputs[i + 1]);
        if (status == ITG_OK) status = itg_lower_output(l, value, i, &s->outputs[i]);
    }
    return status;
}
