/* Values of the program: encodings with their names, constants with their codes. */
#include "realize/lower.h"

/* Adds a value. The plain encoding has the value's own name; others add a suffix: "conv1:s8". */
static itg_status add_value(itg_lowering *l, itg_id value, const char *what, itg_dtype dtype,
                            int32_t *out)
{
    const itg_value *v = &l->g->values[value];
    const char *name = v->name;
    if (what != NULL) {
        const char *wanted = itg_arena_format(l->p->arena, "%s:%s", v->name, what);
        name = wanted == NULL ? NULL : itg_names_unique(&l->names, wanted, 0);
    }
    if (name == NULL) return itg_lower_no_memory(l);
    return itg_program_add_value(l->p, name, dtype, &v->shape, out, l->err);
}

static const itg_encoding *encoding_of(const itg_lowering *l, itg_id value, int32_t encoding)
{
    return &l->a->values[value].encodings[encoding];
}

static itg_status add_encoding(itg_lowering *l, itg_id value, int32_t encoding, int32_t *out)
{
    const itg_encoding *v = encoding_of(l, value, encoding);
    itg_dtype dtype = v->is_float ? l->g->values[value].dtype : v->q.storage;
    const char *what = l->plain[value] == encoding ? NULL : itg_dtype_name(dtype);
    itg_status status = add_value(l, value, what, dtype, out);
    if (status == ITG_OK && !v->is_float)
        status = itg_program_set_quantizer(l->p, *out, &v->q, l->err);
    return status;
}

itg_status itg_lower_output(itg_lowering *l, itg_id value, int32_t encoding, int32_t *out)
{
    itg_status status = add_encoding(l, value, encoding, out);
    if (status == ITG_OK) l->made[value][encoding] = *out;
    return status;
}

itg_status itg_lower_hidden(itg_lowering *l, itg_id value, const char *what, itg_dtype dtype,
                            int32_t *out)
{
    return add_value(l, value, what, dtype, out);
}

itg_status itg_lower_convert(itg_lowering *l, itg_step_kind kind, itg_id value, int32_t from,
                             int32_t to)
{
    itg_step *s;
    itg_status status = itg_program_add_step(l->p, kind, l->p->values[to].name, 1, 1, &s, l->err);
    if (status != ITG_OK) return status;
    s->node = l->g->values[value].producer;
    s->inputs[0] = from;
    s->outputs[0] = to;
    return ITG_OK;
}

/* ---- constants ---- */

itg_status itg_lower_constant(itg_lowering *l, const char *name, const itg_tensor *data,
                              int32_t *out)
{
    const char *unique = itg_names_unique(&l->names, name, 0);
    const void *copy =
        unique == NULL ? NULL : itg_arena_copy(l->p->arena, data->data, itg_tensor_bytes(data));
    if (copy == NULL) return itg_lower_no_memory(l);
    itg_status status = itg_program_add_value(l->p, unique, data->dtype, &data->shape, out, l->err);
    if (status == ITG_OK) l->p->values[*out].data = copy;
    return status;
}

static void hold_codes(itg_pvalue *value, const itg_constant *codes)
{
    value->known = codes;
    value->held = true;
    value->data = codes->codes;
}

static itg_status need_codes(itg_lowering *l, itg_id value, const itg_encoding *v)
{
    return v->constant != NULL ? ITG_OK
                               : itg_fail(l->err, ITG_MISMATCH, "%s: constant '%s' has no codes",
                                          l->g->name, l->g->values[value].name);
}

/* Copies the constant, or borrows it if the model outlives the program. */
static itg_status set_copy(itg_lowering *l, itg_id value, int32_t to)
{
    itg_tensor t = itg_graph_tensor(l->g, value);
    itg_pvalue *out = &l->p->values[to];
    if (l->a->content == NULL) {
        out->data = itg_arena_copy(l->p->arena, t.data, itg_tensor_bytes(&t));
        return out->data == NULL ? itg_lower_no_memory(l) : ITG_OK;
    }
    itg_constant *known = itg_arena_alloc(l->p->arena, sizeof *known);
    if (known == NULL) return itg_lower_no_memory(l);
    known->content = l->a->content[value];
    known->codes = t.data;
    out->known = known;
    out->data = t.data;
    return ITG_OK;
}

static itg_status add_constant(itg_lowering *l, itg_id value, int32_t encoding, int32_t *out)
{
    const itg_encoding *v = encoding_of(l, value, encoding);
    itg_status status = itg_lower_output(l, value, encoding, out);
    if (status != ITG_OK) return status;
    if (v->is_float) return set_copy(l, value, *out);
    status = need_codes(l, value, v);
    if (status == ITG_OK) hold_codes(&l->p->values[*out], itg_cache_hold(l->a->cache, v->constant));
    return status;
}

itg_status itg_lower_edge(itg_lowering *l, itg_id node, int32_t slot, int32_t *out)
{
    const itg_edge *e = itg_annotated_edge(l->a, node, slot);
    if (e == NULL || e->kind == ITG_EDGE_FUSED || e->encoding < 0 ||
        e->encoding >= l->a->values[e->value].encoding_count)
        return itg_fail(l->err, ITG_MISMATCH, "%s: node %d, input %d: the edge carries no tensor",
                        l->g->name, (int)node, (int)slot);
    *out = l->made[e->value][e->encoding];
    if (*out != ITG_NONE) return ITG_OK;
    if (itg_graph_is_constant(l->g, e->value)) return add_constant(l, e->value, e->encoding, out);
    return itg_fail(l->err, ITG_MISMATCH, "%s: value '%s' is used before it is made", l->g->name,
                    l->g->values[e->value].name);
}

/* ---- weights in the layout of the matrix kernel ---- */

static itg_status add_packed(itg_lowering *l, itg_id value, const itg_encoding *v, int32_t *out)
{
    itg_quantizer q = v->q;
    int32_t rank = l->g->values[value].shape.rank;
    itg_status status = need_codes(l, value, v);
    if (status == ITG_OK) status = add_value(l, value, "transposed", q.storage, out);
    if (status != ITG_OK) return status;
    itg_shape *shape = &l->p->values[*out].shape;
    const itg_constant *codes = itg_constant_exchange(l->a->cache, v->constant, shape, &q);
    if (codes == NULL) return itg_lower_no_memory(l);
    hold_codes(&l->p->values[*out], codes);
    int64_t rows = shape->dims[rank - 2];
    shape->dims[rank - 2] = shape->dims[rank - 1];
    shape->dims[rank - 1] = rows;
    if (q.axis == rank - 1)
        q.axis = rank - 2;
    else if (q.axis == rank - 2)
        q.axis = rank - 1;
    return itg_program_set_quantizer(l->p, *out, &q, l->err);
}

itg_status itg_lower_packed_matrix(itg_lowering *l, itg_id node, int32_t slot, int32_t *out)
{
    const itg_encoding *v = itg_annotated_encoding(l->a, node, slot);
    const itg_edge *e = itg_annotated_edge(l->a, node, slot);
    if (v == NULL || v->is_float)
        return itg_lower_fail(l, node, ITG_MISMATCH, "weights without quantizer");
    int32_t *packed = &l->packed[e->value][e->encoding];
    itg_status status = *packed == ITG_NONE ? add_packed(l, e->value, v, packed) : ITG_OK;
    *out = *packed;
    return status;
}
