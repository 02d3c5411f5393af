/* Writes operands of layers, and elementwise layers. */
#include "kernels/requant.h"
#include "realize/emit/c_helium.h"
#include <string.h>

/* ---- operands ---- */

const char *itg_emit_input_name(itg_emitter *e, const itg_emit_layer *l, int32_t slot)
{
    int32_t buffers = 0;
    for (int32_t i = 0; i < l->input_count; i++)
        buffers += l->inputs[i] != ITG_NONE;
    return buffers <= 1 ? "x" : itg_emit_text(e, "x%d", (int)slot);
}

const char *itg_emit_output(itg_emitter *e, const itg_emit_layer *l, int32_t slot)
{
    return l->output_count == 1 ? "y" : itg_emit_text(e, "y%d", (int)slot);
}

bool itg_emit_output_last(const itg_emitter *e, const itg_emit_layer *l, int32_t slot)
{
    return e->buffers[l->outputs[slot]].last;
}

static int32_t value_of(const itg_emitter *e, const itg_emit_layer *l, int32_t slot)
{
    return l->inputs[slot] != ITG_NONE ? e->buffers[l->inputs[slot]].value
           : l->step != NULL           ? l->step->inputs[slot]
                                       : e->buffers[l->outputs[0]].value;
}

static itg_emit_operand read_constant(itg_emitter *e, int32_t value, int32_t slot, bool centered)
{
    const itg_pvalue *v = &e->p->values[value];
    int64_t zero = centered ? v->q.zero_point : 0;
    itg_emit_operand x = {.name = itg_emit_text(e, "k%d", (int)slot),
                          .lo = v->q.qmin - zero,
                          .hi = v->q.qmax - zero,
                          .shape = &v->shape};
    x.type = itg_emit_constant_type(v, centered);
    const char *packed = itg_emit_packed(e, value, NULL, 'n');
    ITG_EMIT_FORMAT(e, "    %s *const %s = %s;\n", itg_emit_ctype(x.type), x.name,
                    itg_emit_scratch(e, x.type, v->elements));
    itg_emit_unpack(e, 4, value, packed, "0", itg_emit_number(e, v->elements), zero, x.type,
                    x.name);
    return x;
}

itg_emit_operand itg_emit_read(itg_emitter *e, const itg_emit_layer *l, int32_t slot, bool centered)
{
    int32_t value = value_of(e, l, slot);
    const itg_pvalue *v = &e->p->values[value];
    if (l->inputs[slot] == ITG_NONE) return read_constant(e, value, slot, centered);
    itg_emit_operand x = {.name = itg_emit_input_name(e, l, slot),
                          .type = v->dtype,
                          .zero = centered ? v->q.zero_point : 0,
                          .last = e->buffers[l->inputs[slot]].last,
                          .shape = &v->shape};
    x.lo = v->q.qmin - x.zero;
    x.hi = v->q.qmax - x.zero;
    return x;
}

/* ---- strides of an operand under the dims of another shape ---- */

void itg_emit_broadcast_strides(const itg_emit_operand *x, const itg_shape *to,
                                int64_t out[ITG_MAX_RANK])
{
    int64_t own[ITG_MAX_RANK] = {0};
    int32_t lead = to->rank - x->shape->rank;
    itg_emit_strides(x->shape, x->last, own);
    for (int32_t d = 0; d < to->rank; d++)
        out[d] = d < lead || x->shape->dims[d - lead] == 1 ? 0 : own[d - lead];
}

static bool fits32(int64_t lo, int64_t hi)
{
    return lo >= INT32_MIN && hi <= INT32_MAX;
}

/* Returns "(int32_t)x[i] - 3" in a type that holds the result. */
static const char *centered_text(itg_emitter *e, const itg_emit_operand *x, const char *index,
                                 itg_dtype type)
{
    const char *code = itg_emit_text(e, "(%s)%s[%s]", itg_emit_ctype(type), x->name, index);
    if (x->zero == 0) return code;
    return itg_emit_text(e, "%s - %s%s%s", code, x->zero < 0 ? "(" : "",
                         itg_emit_number(e, x->zero), x->zero < 0 ? ")" : "");
}

void itg_emit_codes(itg_emitter *e, const itg_emit_layer *l, int32_t indent, itg_dtype sum,
                    const char *text, const char *index)
{
    const itg_step *s = l->step;
    if (s->output_count > 1) {
        ITG_EMIT_FORMAT(e, "%*sconst %s sum = %s;\n", (int)indent, "", itg_emit_ctype(sum), text);
        text = "sum";
    }
    for (int32_t o = 0; o < s->output_count; o++)
        ITG_EMIT_FORMAT(e, "%*s%s[%s] = (%s)%s;\n", (int)indent, "", itg_emit_output(e, l, o),
                        index, itg_emit_ctype(e->p->values[s->outputs[o]].dtype),
                        itg_emit_requantize(e, s, o, 0, 1, sum, "0", text, NULL));
}

/* ---- additions and products ---- */

/* An operand, after its own requantization if it has one. */
typedef struct side {
    const char *text;
    itg_dtype type;
} side;

static side side_of(itg_emitter *e, const itg_step *s, int slot, const itg_emit_operand *x,
                    const char *index)
{
    if (s->form != ITG_FORM_RESCALE) {
        itg_dtype type = fits32(x->lo, x->hi) ? ITG_S32 : ITG_S64;
        return (side){centered_text(e, x, index, type), type};
    }
    int64_t unit = (int64_t)1 << s->left_shift, lo = x->lo * unit, hi = x->hi * unit;
    itg_emit_sets sets = {.step = s,
                          .suffix = slot == 0 ? "_a" : "_b",
                          .requant = &s->operand[slot],
                          .count = 1,
                          .index = "0",
                          .least = lo,
                          .most = hi,
                          .sum = fits32(lo, hi) && fits32(x->lo, x->hi) ? ITG_S32 : ITG_S64};
    sets.lo = s->operand[slot].is_f32 ? 0 : itg_requant_apply(&s->operand[slot], lo);
    sets.hi = s->operand[slot].is_f32 ? 0 : itg_requant_apply(&s->operand[slot], hi);
    sets.code = fits32(sets.lo, sets.hi) ? ITG_S32 : ITG_S64;
    const char *v = centered_text(e, x, index, sets.sum);
    if (s->left_shift > 0) v = itg_emit_text(e, "(%s) * %s", v, itg_emit_number(e, unit));
    return (side){itg_emit_sets_text(e, &sets, v), sets.code};
}

void itg_emit_binary(itg_emitter *e, const itg_emit_layer *l)
{
    const itg_step *s = l->step;
    const itg_shape *shape = &e->p->values[s->outputs[0]].shape;
    const int64_t most = (int64_t)1 << 62;
    if (s->acc_lo < -most || s->acc_hi > most)
        itg_emit_fail(e, ITG_UNSUPPORTED, "node", s->name, "its results leave 62 bits");
    int64_t strides[3][ITG_MAX_RANK] = {{0}};
    const itg_emit_operand x[2] = {itg_emit_read(e, l, 0, true), itg_emit_read(e, l, 1, true)};
    bool last = itg_emit_output_last(e, l, 0);
    itg_emit_broadcast_strides(&x[0], shape, strides[0]);
    itg_emit_broadcast_strides(&x[1], shape, strides[1]);
    itg_emit_strides(shape, last, strides[2]);
    itg_emit_loops loops = itg_emit_loops_over(shape, last, strides);
    itg_emit_helium_binary(e, l, x, &loops);
    const char *index[3];
    int32_t braces = itg_emit_open(e, &loops, 3, 'i', 4, index), indent = 4 + 4 * braces;
    const side a = side_of(e, s, 0, &x[0], index[0]), b = side_of(e, s, 1, &x[1], index[1]);
    bool narrow = fits32(s->acc_lo, s->acc_hi) && a.type == ITG_S32 && b.type == ITG_S32;
    itg_dtype sum = narrow ? ITG_S32 : ITG_S64;
    ITG_EMIT_FORMAT(e, "%*sconst %s a = %s;\n%*sconst %s b = %s;\n", (int)indent, "",
                    itg_emit_ctype(sum), a.text, (int)indent, "", itg_emit_ctype(sum), b.text);
    const char *result = s->op == ITG_OP_MUL ? "a * b" : s->op == ITG_OP_SUB ? "a - b" : "a + b";
    itg_emit_codes(e, l, indent, sum, itg_emit_fit(e, s, sum, result), index[2]);
    itg_emit_close(e, braces, 4);
}

/* ---- one operand ---- */

static int32_t open_flat(itg_emitter *e, const itg_emit_layer *l, const itg_emit_operand *x,
                         const char *index[3])
{
    int64_t strides[3][ITG_MAX_RANK] = {{0}};
    bool last = itg_emit_output_last(e, l, 0);
    itg_emit_strides(x->shape, x->last, strides[0]);
    itg_emit_strides(x->shape, last, strides[1]);
    itg_emit_loops loops = itg_emit_loops_over(x->shape, last, strides);
    return itg_emit_open(e, &loops, 2, 'i', 4, index);
}

void itg_emit_clip(itg_emitter *e, const itg_emit_layer *l)
{
    const char *index[3];
    const itg_emit_operand x = itg_emit_read(e, l, 0, true);
    int32_t braces = open_flat(e, l, &x, index);
    itg_dtype sum = fits32(x.lo, x.hi) ? ITG_S32 : ITG_S64;
    const char *text = itg_emit_fit(e, l->step, sum, centered_text(e, &x, index[0], sum));
    itg_emit_codes(e, l, 4 + 4 * braces, sum, text, index[1]);
    itg_emit_close(e, braces, 4);
}

/* Returns the C text of a code's table entry. */
static const char *entry_text(itg_emitter *e, const itg_emit_operand *x, const char *table,
                              const char *index)
{
    return itg_emit_text(e, "%s[(int32_t)%s[%s] - %s%s%s]", table, x->name, index,
                         x->lo < 0 ? "(" : "", itg_emit_number(e, x->lo), x->lo < 0 ? ")" : "");
}

/* Returns the C text of the interpolation between two entries of the table of output o. The least
 * entry is subtracted, so that no negative value is shifted. Declares variables; opens no brace. */
static const char *between_text(itg_emitter *e, const itg_emit_operand *x,
                                const itg_emit_operand *table, const char *index, int32_t shift,
                                int32_t o, int32_t indent)
{
    const bool narrow = table->hi - table->lo < INT32_MAX >> (shift + 1);
    const char *type = itg_emit_ctype(narrow ? ITG_S32 : ITG_S64);
    const char *least =
        itg_emit_text(e, table->lo < 0 ? "(%s)" : "%s", itg_emit_number(e, table->lo));
    const int64_t first = (x->lo >> shift) * ((int64_t)1 << shift);
    ITG_EMIT_FORMAT(e, "%*sconst int32_t at%d = (int32_t)%s[%s] - %s%s%s;\n", (int)indent, "",
                    (int)o, x->name, index, first < 0 ? "(" : "", itg_emit_number(e, first),
                    first < 0 ? ")" : "");
    for (int i = 0; i < 2; i++)
        ITG_EMIT_FORMAT(e, "%*sconst %s %s%d = (%s)%s[(at%d >> %d)%s] - %s;\n", (int)indent, "",
                        type, i == 0 ? "a" : "b", (int)o, type, table->name, (int)o, (int)shift,
                        i == 0 ? "" : " + 1", least);
    return itg_emit_text(e, "(((a%d * %lld + (b%d - a%d) * (at%d & %lld) + %lld) >> %d) + %s)",
                         (int)o, 1LL << shift, (int)o, (int)o, (int)o, (1LL << shift) - 1,
                         1LL << (shift - 1), (int)shift, least);
}

/* Writes the entries of the table of output o. Their type is left open. */
static itg_emit_operand write_table(itg_emitter *e, const itg_pvalue *v, int32_t o)
{
    itg_emit_operand table = {.name = ""};
    int64_t *codes = itg_emit_alloc(e, (size_t)v->elements, sizeof *codes);
    if (codes == NULL) return table;
    for (int64_t i = 0; i < v->elements; i++) {
        codes[i] = itg_load(v->dtype, v->data, i);
        if (i == 0 || codes[i] < table.lo) table.lo = codes[i];
        if (i == 0 || codes[i] > table.hi) table.hi = codes[i];
    }
    table.name = itg_emit_array(e, itg_emit_text(e, "table%d", (int)o), codes, v->elements);
    return table;
}

void itg_emit_lut(itg_emitter *e, const itg_emit_layer *l)
{
    const char *index[3];
    const itg_step *s = l->step;
    const itg_emit_operand x = itg_emit_read(e, l, 0, false);
    const itg_emit_operand first = write_table(e, &e->p->values[s->inputs[1]], 0);
    if (s->output_count == 1) itg_emit_helium_lut(e, l, &x, &first);
    int32_t braces = open_flat(e, l, &x, index), indent = 4 + 4 * braces;
    for (int32_t o = 0; o < s->output_count; o++) {
        const itg_emit_operand table =
            o == 0 ? first : write_table(e, &e->p->values[s->inputs[o + 1]], o);
        const char *code = s->table_shift == 0
                               ? entry_text(e, &x, table.name, index[0])
                               : between_text(e, &x, &table, index[0], s->table_shift, o, indent);
        ITG_EMIT_FORMAT(e, "%*s%s[%s] = (%s)%s;\n", (int)indent, "", itg_emit_output(e, l, o),
                        index[1], itg_emit_ctype(e->p->values[s->outputs[o]].dtype), code);
    }
    itg_emit_close(e, braces, 4);
}
