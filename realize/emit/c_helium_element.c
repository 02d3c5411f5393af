/* Helium: additions of two operands, four elements at a time. */
#include "realize/emit/c_helium.h"

enum { LANES = 4 };

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

/* Constants of a rescaling addition in this form. */
typedef struct addition {
    itg_emit_doubling operand[2], sum;
} addition;

static int64_t magnitude(int64_t lo, int64_t hi)
{
    return hi > -lo ? hi : -lo;
}

static bool fits32(int64_t lo, int64_t hi)
{
    return lo > INT32_MIN && hi <= INT32_MAX;
}

static bool operand_fits(const itg_emitter *e, const itg_emit_layer *l, int slot,
                         const itg_emit_operand *x, itg_emit_doubling *out)
{
    const itg_step *s = l->step;
    const itg_shape *shape = &e->p->values[s->outputs[0]].shape;
    const int64_t unit = (int64_t)1 << s->left_shift;
    bool same = l->inputs[slot] != ITG_NONE && x->type == ITG_S8 &&
                x->last == itg_emit_output_last(e, l, 0) && x->shape->rank == shape->rank;
    for (int32_t d = 0; d < shape->rank && same; d++)
        same = x->shape->dims[d] == shape->dims[d];
    return same && s->left_shift < 24 && fits32(x->lo * unit, x->hi * unit) &&
           itg_emit_doubling_of(&s->operand[slot], magnitude(x->lo, x->hi) * unit, out) &&
           out->left == 0;
}

static bool has_form(const itg_emitter *e, const itg_emit_layer *l, const itg_emit_operand x[2],
                     addition *out)
{
    const itg_step *s = l->step;
    if (s->form != ITG_FORM_RESCALE || s->output_count != 1) return false;
    if (s->op != ITG_OP_ADD && s->op != ITG_OP_SUB) return false;
    if (!itg_step_fits(s) || !fits32(s->acc_lo, s->acc_hi)) return false;
    if (itg_dtype_size(e->p->values[s->outputs[0]].dtype) != 1) return false;
    for (int i = 0; i < 2; i++)
        if (!operand_fits(e, l, i, &x[i], &out->operand[i])) return false;
    return s->outs[0].requant_count == 1 &&
           itg_emit_doubling_of(&s->outs[0].requant[0], magnitude(s->acc_lo, s->acc_hi),
                                &out->sum) &&
           out->sum.left == 0;
}

static const char *scaled(itg_emitter *e, const char *v, const itg_emit_doubling *by)
{
    return itg_emit_text(e, "helium_scale_all(%s, %s, %d)", v, itg_emit_number(e, by->multiplier),
                         (int)by->down);
}

/* Writes statements that bring four elements of an operand to the sum's scale. */
static void write_operand(itg_emitter *e, const itg_step *s, const itg_emit_operand *x, char name,
                          bool whole, const itg_emit_doubling *by)
{
    ITG_EMIT_FORMAT(e, "        int32x4_t %c = %s(%s + i%s);\n        %c = vsubq_n_s32(%c, %s);\n",
                    name, whole ? "vldrbq_s32" : "vldrbq_z_s32", x->name, whole ? "" : ", some",
                    name, name, itg_emit_number(e, x->zero));
    if (s->left_shift > 0)
        ITG_EMIT_FORMAT(e, "        %c = vshlq_n_s32(%c, %d);\n", name, name, (int)s->left_shift);
    const char v[2] = {name, '\0'};
    ITG_EMIT_FORMAT(e, "        %c = %s;\n", name, scaled(e, v, by));
}

void itg_emit_helium_binary(itg_emitter *e, const itg_emit_layer *l, const itg_emit_operand x[2])
{
    addition by;
    const itg_step *s = l->step;
    const itg_pvalue *y = &e->p->values[s->outputs[0]];
    if (!has_form(e, l, x, &by)) return;
    const bool whole = y->elements % LANES == 0;
    itg_emit_helium_needs(e);
    if (itg_emit_needs(e, "helium_scale_all")) itg_strbuf_add(&e->helpers, scale_all_text);
    ITG_EMIT_FORMAT(e, "#ifdef HELIUM\n    FENCE;\n    for (int32_t i = 0; i < %s; i += %d) {\n",
                    itg_emit_number(e, y->elements), LANES);
    if (!whole)
        ITG_EMIT_FORMAT(e, "        const mve_pred16_t some = vctp32q((uint32_t)(%s - i));\n",
                        itg_emit_number(e, y->elements));
    for (int i = 0; i < 2; i++)
        write_operand(e, s, &x[i], i == 0 ? 'a' : 'b', whole, &by.operand[i]);
    const char *sum = s->op == ITG_OP_SUB ? "vsubq_s32(a, b)" : "vaddq_s32(a, b)";
    ITG_EMIT_FORMAT(e,
                    "        a = vqaddq_n_s32(%s, %s);\n"
                    "        a = vminq_s32(vmaxq_s32(a, vdupq_n_s32(%s)), vdupq_n_s32(%s));\n"
                    "        %s((int8_t *)%s + i, a%s);\n    }\n    FENCE;\n    return;\n#endif\n",
                    scaled(e, sum, &by.sum), itg_emit_number(e, y->q.zero_point),
                    itg_emit_number(e, s->outs[0].lo), itg_emit_number(e, s->outs[0].hi),
                    whole ? "vstrbq_s32" : "vstrbq_p_s32", itg_emit_output(e, l, 0),
                    whole ? "" : ", some");
}
