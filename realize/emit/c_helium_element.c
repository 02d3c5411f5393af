/* Helium: sums and products of two operands, four elements at a time, and tables, sixteen. */
#include "realize/emit/c_helium.h"

enum { LANES = 4, BYTES = 16 };

static const char scale_all_text[] =
    "#ifdef HELIUM\n"
    "/* round(round(v * multiplier / 2^31) / 2^down), half up, then half away from zero. */\n"
    "static inline int32x4_t helium_scale_all(int32x4_t v, int32_t multiplier, int32_t down)\n"
    "{\n"
    "    v = vqrdmulhq_n_s32(v, multiplier);\n"
    "    if (down > 0) v = vrshlq_n_s32(vqaddq_s32(v, vshrq_n_s32(v, 31)), -down);\n"
    "    return v;\n"
    "}\n"
    "#endif\n\n";

static int64_t magnitude(int64_t lo, int64_t hi)
{
    return hi > -lo ? hi : -lo;
}

static bool fits32(int64_t lo, int64_t hi)
{
    return lo > INT32_MIN && hi <= INT32_MAX;
}

/* ---- codes of an output ---- */

void itg_emit_helium_scale_needs(itg_emitter *e)
{
    itg_emit_helium_needs(e);
    if (itg_emit_needs(e, "helium_scale_all")) itg_strbuf_add(&e->helpers, scale_all_text);
}

/* Returns the text of the requantization of a vector. */
static const char *scaled(itg_emitter *e, const char *v, const itg_emit_doubling *by)
{
    itg_emit_helium_scale_needs(e);
    return itg_emit_text(e, "helium_scale_all(%s, %s, %d)", v, itg_emit_number(e, by->multiplier),
                         (int)by->down);
}

bool itg_emit_helium_output(const itg_emitter *e, const itg_emit_layer *l, itg_emit_doubling *out)
{
    const itg_step *s = l->step;
    return s->output_count == 1 && itg_step_fits(s) && fits32(s->acc_lo, s->acc_hi) &&
           itg_dtype_size(e->p->values[s->outputs[0]].dtype) == 1 &&
           s->outs[0].requant_count == 1 &&
           itg_emit_doubling_of(&s->outs[0].requant[0], magnitude(s->acc_lo, s->acc_hi), out) &&
           out->left == 0;
}

/* Writes the conversion of four sums, the variable `a`, to codes of output 0 from the element `at`
 * on; whole: all four, or those in the predicate `some`. */
static void put(itg_emitter *e, const itg_emit_layer *l, const char *at, bool whole,
                const itg_emit_doubling *by)
{
    const itg_step *s = l->step;
    ITG_EMIT_FORMAT(
        e,
        "        a = vqaddq_n_s32(%s, %s);\n"
        "        a = vminq_s32(vmaxq_s32(a, vdupq_n_s32(%s)), vdupq_n_s32(%s));\n"
        "        %s((int8_t *)%s + %s, a%s);\n",
        scaled(e, "a", by), itg_emit_number(e, e->p->values[s->outputs[0]].q.zero_point),
        itg_emit_number(e, s->outs[0].lo), itg_emit_number(e, s->outs[0].hi),
        whole ? "vstrbq_s32" : "vstrbq_p_s32", itg_emit_output(e, l, 0), at, whole ? "" : ", some");
}

const char *itg_emit_helium_four(itg_emitter *e, const char *array, itg_dtype type, const char *at,
                                 bool whole)
{
    const bool is_unsigned = type == ITG_U8 || type == ITG_U16;
    const size_t size = itg_dtype_size(type);
    const char *text =
        itg_emit_text(e, "vldr%cq%s_%s32(%s + %s%s)",
                      size == 1   ? 'b'
                      : size == 2 ? 'h'
                                  : 'w',
                      whole ? "" : "_z", is_unsigned ? "u" : "s", array, at, whole ? "" : ", some");
    return is_unsigned ? itg_emit_text(e, "vreinterpretq_s32_u32(%s)", text) : text;
}

/* ---- two operands ---- */

static bool operand_fits(const itg_step *s, int slot, const itg_emit_operand *x,
                         itg_emit_doubling *out)
{
    if (x->type != ITG_S8 && x->type != ITG_U8 && x->type != ITG_S16) return false;
    if (s->form != ITG_FORM_RESCALE) return true;
    const int64_t unit = (int64_t)1 << s->left_shift;
    return s->left_shift < 24 && fits32(x->lo * unit, x->hi * unit) &&
           itg_emit_doubling_of(&s->operand[slot], magnitude(x->lo, x->hi) * unit, out) &&
           out->left == 0;
}

/* Writes statements that bring elements of an operand, from index on, to the scale of the sum; or
 * its one element there, as long as `step` is 0. */
static void write_operand(itg_emitter *e, const itg_step *s, const itg_emit_operand *x, char name,
                          const char *index, bool whole, int64_t step, const itg_emit_doubling *by)
{
    const char v[2] = {name, '\0'};
    const char *text = step == 0 ? itg_emit_text(e, "vdupq_n_s32((int32_t)%s[%s])", x->name, index)
                                 : itg_emit_helium_four(e, x->name, x->type, index, whole);
    ITG_EMIT_FORMAT(e, "        int32x4_t %c = %s;\n", name, text);
    if (x->zero != 0)
        ITG_EMIT_FORMAT(e, "        %c = vsubq_n_s32(%c, %s);\n", name, name,
                        itg_emit_number(e, x->zero));
    if (s->form != ITG_FORM_RESCALE) return;
    if (s->left_shift > 0)
        ITG_EMIT_FORMAT(e, "        %c = vshlq_n_s32(%c, %d);\n", name, name, (int)s->left_shift);
    ITG_EMIT_FORMAT(e, "        %c = %s;\n", name, scaled(e, v, by));
}

/* Whether vectors of the innermost loop lie together, or are one element in an operand. */
static bool in_line(const itg_emit_loops *l)
{
    const int32_t d = l->rank - 1;
    return d >= 0 && l->dims[d] >= LANES && l->stride[2][d] == 1 && l->stride[0][d] <= 1 &&
           l->stride[1][d] <= 1;
}

void itg_emit_helium_binary(itg_emitter *e, const itg_emit_layer *l, const itg_emit_operand x[2],
                            const itg_emit_loops *loops)
{
    itg_emit_doubling operand[2], sum;
    const itg_step *s = l->step;
    const itg_emit_loops merged = itg_emit_merged(loops, 3);
    if (!in_line(&merged) || !itg_emit_helium_output(e, l, &sum)) return;
    for (int i = 0; i < 2; i++)
        if (!operand_fits(s, i, &x[i], &operand[i])) return;
    const int32_t inner = merged.rank - 1;
    const char *index[3], *count = itg_emit_number(e, merged.dims[inner]);
    const bool whole = merged.dims[inner] % LANES == 0;
    itg_emit_loops outer = merged;
    outer.rank = inner;
    itg_emit_helium_needs(e);
    itg_strbuf_add(&e->body, "#ifdef HELIUM\n    FENCE;\n");
    const int32_t braces = itg_emit_open(e, &outer, 3, 'i', 4, index);
    ITG_EMIT_FORMAT(e, "    for (int32_t i = 0; i < %s; i += %d) {\n", count, LANES);
    if (!whole)
        ITG_EMIT_FORMAT(e, "        const mve_pred16_t some = vctp32q((uint32_t)(%s - i));\n",
                        count);
    for (int i = 0; i < 3; i++)
        if (merged.stride[i][inner] > 0)
            index[i] = braces == 0 ? "i" : itg_emit_text(e, "%s + i", index[i]);
    for (int i = 0; i < 2; i++)
        write_operand(e, s, &x[i], i == 0 ? 'a' : 'b', index[i], whole, merged.stride[i][inner],
                      &operand[i]);
    ITG_EMIT_FORMAT(e, "        a = v%sq_s32(a, b);\n",
                    s->op == ITG_OP_MUL   ? "mul"
                    : s->op == ITG_OP_SUB ? "sub"
                                          : "add");
    put(e, l, index[2], whole, &sum);
    itg_strbuf_add(&e->body, "    }\n");
    itg_emit_close(e, braces, 4);
    itg_strbuf_add(&e->body, "    FENCE;\n    return;\n#endif\n");
}

/* ---- tables ---- */

void itg_emit_helium_lut(itg_emitter *e, const itg_emit_layer *l, const itg_emit_operand *x,
                         const itg_emit_operand *table)
{
    const itg_step *s = l->step;
    const itg_pvalue *y = &e->p->values[s->outputs[0]];
    const bool bytes = (table->lo >= INT8_MIN && table->hi <= INT8_MAX) ||
                       (table->lo >= 0 && table->hi <= UINT8_MAX);
    const bool together =
        x->last == itg_emit_output_last(e, l, 0) || itg_emit_layouts_coincide(e, l->outputs[0]);
    if (s->table_shift != 0 || itg_dtype_size(x->type) != 1 || itg_dtype_size(y->dtype) != 1 ||
        !bytes || !together || y->elements < BYTES)
        return;
    const bool whole = y->elements % BYTES == 0;
    const char *count = itg_emit_number(e, y->elements);
    itg_emit_helium_needs(e);
    ITG_EMIT_FORMAT(e, "#ifdef HELIUM\n    FENCE;\n    for (int32_t i = 0; i < %s; i += %d) {\n",
                    count, BYTES);
    if (!whole)
        ITG_EMIT_FORMAT(e, "        const mve_pred16_t some = vctp8q((uint32_t)(%s - i));\n",
                        count);
    ITG_EMIT_FORMAT(
        e,
        "        const uint8x16_t at = vsubq_n_u8(%s((const uint8_t *)%s + i%s), %lld);\n"
        "        %s((uint8_t *)%s + i, %s((const uint8_t *)%s, at%s)%s);\n    }\n"
        "    FENCE;\n    return;\n#endif\n",
        whole ? "vldrbq_u8" : "vldrbq_z_u8", x->name, whole ? "" : ", some",
        (long long)(x->lo & UINT8_MAX), whole ? "vstrbq_u8" : "vstrbq_p_u8",
        itg_emit_output(e, l, 0), whole ? "vldrbq_gather_offset_u8" : "vldrbq_gather_offset_z_u8",
        table->name, whole ? "" : ", some", whole ? "" : ", some");
}
