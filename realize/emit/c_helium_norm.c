/* Helium: rows of Softmax and LayerNormalization, and products of activations, four elements at a
 * time. */
#include "realize/emit/c_helium.h"
#include <string.h>

static const char codes_text[] =
    "#ifdef HELIUM\n"
    "/* How sums become codes. */\n"
    "typedef struct helium_range {\n"
    "    int32_t multiplier, down, zero, lo, hi;\n"
    "} helium_range;\n\n"
    "static inline void helium_store(const helium_range *to, int32x4_t v, int8_t *y, "
    "mve_pred16_t some)\n"
    "{\n"
    "    v = vqaddq_n_s32(helium_scale_all(v, to->multiplier, to->down), to->zero);\n"
    "    v = vminq_s32(vmaxq_s32(v, vdupq_n_s32(to->lo)), vdupq_n_s32(to->hi));\n"
    "    vstrbq_p_s32(y, v, some);\n"
    "}\n"
    "#endif\n\n";

/* Whether the layer has this form of output, from x of bytes. Writes what converts it to codes. */
static bool has_form(itg_emitter *e, const itg_emit_layer *l, const itg_emit_operand *x,
                     itg_emit_doubling *by)
{
    if (itg_dtype_size(x->type) != 1 || !itg_emit_helium_output(e, l, by)) return false;
    itg_emit_helium_scale_needs(e);
    if (itg_emit_needs(e, "helium_range")) itg_strbuf_add(&e->helpers, codes_text);
    return true;
}

/* Writes the beginning of a block, with the constant `to`. */
static void begin(itg_emitter *e, const itg_emit_layer *l, const itg_emit_doubling *by)
{
    const itg_step *s = l->step;
    ITG_EMIT_FORMAT(e,
                    "#ifdef HELIUM\n    static const helium_range to = {%s, %d, %s, %s, %s};\n"
                    "    FENCE;\n",
                    itg_emit_number(e, by->multiplier), (int)by->down,
                    itg_emit_number(e, e->p->values[s->outputs[0]].q.zero_point),
                    itg_emit_number(e, s->outs[0].lo), itg_emit_number(e, s->outs[0].hi));
}

static void end(itg_emitter *e)
{
    itg_strbuf_add(&e->body, "    FENCE;\n    return;\n#endif\n");
}

/* Writes the call of a function of rows of `count` elements, with `more` arguments. */
static void call_rows(itg_emitter *e, const itg_emit_layer *l, const itg_emit_operand *x,
                      const char *function, int64_t count, const char *more)
{
    const int64_t elements = itg_dims_product(x->shape, 0, x->shape->rank);
    ITG_EMIT_FORMAT(e, "    %s(%s, (int8_t *)%s, %s, %s, &to, %s);\n", function, x->name,
                    itg_emit_output(e, l, 0), itg_emit_number(e, elements),
                    itg_emit_number(e, count), more);
}

/* ---- Softmax ---- */

static const char softmax_text[] =
    "#ifdef HELIUM\n"
    "static inline int32x4_t helium_powers_$1(const $2 *x, int32x4_t top, const int32_t *fine,\n"
    "                                      mve_pred16_t some)\n"
    "{\n"
    "    const uint32x4_t d = vreinterpretq_u32_s32(vsubq_s32(top, $3));\n"
    "    return vldrwq_gather_shifted_offset_z_s32(fine, d, some);\n"
    "}\n\n"
    "/* Softmax of rows of n codes; fine: exponentials by the distance from the greatest. */\n"
    "QUICK ONCE void helium_softmax_$1(const $2 *x, int8_t *y, int32_t count, int32_t n,\n"
    "                               const helium_range *to, const int32_t *fine, int32_t begin)\n"
    "{\n"
    "    for (int32_t i = 0; i < count; i += n) {\n"
    "        int32_t sum = 0, shift = begin;\n"
    "        $2 most = x[i];\n"
    "        for (int32_t k = 0; k < n; k += 16) {\n"
    "            const mve_pred16_t some = vctp8q((uint32_t)(n - k));\n"
    "            most = vmaxvq_p_$1(most, vldrbq_z_$1(x + i + k, some), some);\n"
    "        }\n"
    "        const int32x4_t top = vdupq_n_s32(most);\n"
    "        for (int32_t k = 0; k < n; k += 4) {\n"
    "            const mve_pred16_t some = vctp32q((uint32_t)(n - k));\n"
    "            const int32x4_t v = helium_powers_$1(x + i + k, top, fine, some);\n"
    "            sum = vaddvaq_p_s32(sum, vrshrq_n_s32(v, 12), some);\n"
    "        }\n"
    "        const int32_t inverse = reciprocal(sum, &shift);\n"
    "        for (int32_t k = 0; k < n; k += 4) {\n"
    "            const mve_pred16_t some = vctp32q((uint32_t)(n - k));\n"
    "            const int32x4_t v = helium_powers_$1(x + i + k, top, fine, some);\n"
    "            helium_store(to, vrshlq_n_s32(vqrdmulhq_n_s32(v, inverse), -shift), y + i + k, "
    "some);\n"
    "        }\n"
    "    }\n"
    "}\n"
    "#endif\n\n";

void itg_emit_helium_softmax(itg_emitter *e, const itg_emit_layer *l, const itg_emit_operand *x,
                             const char *fine, int32_t shift)
{
    itg_emit_doubling by;
    const int32_t axis = (int32_t)l->step->attrs.axis;
    if (itg_dims_product(x->shape, axis + 1, x->shape->rank) != 1 || !has_form(e, l, x, &by))
        return;
    const char *type = itg_dtype_name(x->type), *name = itg_emit_text(e, "helium_softmax_%s", type);
    if (itg_emit_needs(e, name))
        itg_emit_template(&e->helpers, softmax_text, type, itg_emit_ctype(x->type),
                          itg_emit_helium_four(e, "x", x->type, "0", false), NULL);
    begin(e, l, &by);
    call_rows(e, l, x, name, x->shape->dims[axis], itg_emit_text(e, "%s, %d", fine, (int)shift));
    end(e);
}

/* ---- LayerNormalization ---- */

static const char divide_text[] =
    "#ifdef HELIUM\n"
    "/* divide_by_root of four. */\n"
    "static inline int32x4_t helium_divide_by_root(const ratio *r, int32x4_t d)\n"
    "{\n"
    "    const uint32x4_t size = vshlq_r_u32(vreinterpretq_u32_s32(vabsq_s32(d)), r->raise);\n"
    "    uint32x4_t q = vrmulhq_u32(size, vdupq_n_u32(r->inverse));\n"
    "    uint32x4_t rest = vaddq_n_u32(vshlq_r_u32(size, r->shift), r->root / 2);\n"
    "    rest = vsubq_u32(rest, vmulq_n_u32(q, r->root));\n"
    "    q = vaddq_m_n_u32(q, q, 1, vcmpcsq_n_u32(rest, r->root));\n"
    "    const int32x4_t v = vreinterpretq_s32_u32(q);\n"
    "    return vnegq_m_s32(v, v, vcmpltq_n_s32(d, 0));\n"
    "}\n"
    "#endif\n\n";

static const char norm_text[] =
    "#ifdef HELIUM\n"
    "/* LayerNormalization of rows of n codes. */\n"
    "QUICK ONCE void $1(const $2 *x, int8_t *y, int32_t count, int32_t n, const helium_range *to,\n"
    "    int32_t zero, int64_t epsilon, int32_t fraction, $3, $4)\n"
    "{\n"
    "    for (int32_t i = 0; i < count; i += n) {\n"
    "        $9 codes = 0, products = 0;\n"
    "        for (int32_t k = 0; k < n; k += 16) {\n"
    "            const $5 v = vldrbq_z_$6(x + i + k, vctp8q((uint32_t)(n - k)));\n"
    "            codes = vaddvaq_$6(codes, v);\n"
    "            products = vmladavaq_$6(products, v, v);\n"
    "        }\n"
    "        const int32_t sum = (int32_t)codes - n * zero;\n"
    "        const int64_t squares = products - zero * ((int64_t)codes + sum);\n"
    "        const ratio by = ratio_of((uint64_t)(n * squares - (int64_t)sum * sum + epsilon), "
    "fraction);\n"
    "        for (int32_t k = 0; k < n; k += 4) {\n"
    "            const mve_pred16_t some = vctp32q((uint32_t)(n - k));\n"
    "            int32x4_t v = vmulq_n_s32(vsubq_n_s32($7, zero), n);\n"
    "            v = helium_divide_by_root(&by, vsubq_n_s32(v, sum));\n"
    "            $8\n"
    "            helium_store(to, v, y + i + k, some);\n"
    "        }\n"
    "    }\n"
    "}\n"
    "#endif\n\n";

/* A constant of the layer as a parameter of the function: an array, or a number if all are equal.
 */
typedef struct parameter {
    const char *text, *type; /* type: "s16", of an array; "one" */
    const char *declaration; /* "const int16_t *gain" */
    const char *term;        /* "vmulq_n_s32(v, gain)" */
} parameter;

static parameter parameter_of(itg_emitter *e, const itg_emit_layer *l, int32_t slot,
                              const char *what, const char *operation)
{
    const itg_pvalue *v = &e->p->values[l->step->inputs[slot]];
    const int64_t *values = itg_emit_numbers(e, v);
    if (values == NULL) return (parameter){"", "", "", ""};
    const itg_dtype type = itg_emit_smallest(values, v->elements);
    const char *text = itg_emit_channel(e, what, values, v->elements, "");
    if (strchr(text, '[') == NULL)
        return (parameter){text, "one", itg_emit_text(e, "int32_t %s", what),
                           itg_emit_text(e, "v%sq_n_s32(v, %s)", operation, what)};
    return (parameter){itg_emit_array(e, what, values, v->elements), itg_dtype_name(type),
                       itg_emit_text(e, "const %s *%s", itg_emit_ctype(type), what),
                       itg_emit_text(e, "v%sq_s32(v, %s)", operation,
                                     itg_emit_helium_four(e, what, type, "k", false))};
}

void itg_emit_helium_layer_norm(itg_emitter *e, const itg_emit_layer *l, const itg_emit_operand *x,
                                int64_t count)
{
    itg_emit_doubling by;
    const itg_step *s = l->step;
    if (count > 32768 || !has_form(e, l, x, &by)) return; /* products fit 32 bits */
    const parameter gain = parameter_of(e, l, 1, "gain", "mul"),
                    bias = parameter_of(e, l, 2, "bias", "add");
    const char *type = itg_dtype_name(x->type),
               *name = itg_emit_text(e, "helium_norm_%s_%s_%s", type, gain.type, bias.type);
    if (itg_emit_needs(e, "helium_divide_by_root")) itg_strbuf_add(&e->helpers, divide_text);
    if (itg_emit_needs(e, name))
        itg_emit_template(&e->helpers, norm_text, name, itg_emit_ctype(x->type), gain.declaration,
                          bias.declaration, x->type == ITG_U8 ? "uint8x16_t" : "int8x16_t", type,
                          itg_emit_helium_four(e, "x", x->type, "i + k", false),
                          itg_emit_text(e, "v = %s;\n            v = %s;", gain.term, bias.term),
                          x->type == ITG_U8 ? "uint32_t" : "int32_t", NULL);
    begin(e, l, &by);
    call_rows(e, l, x, name, count,
              itg_emit_text(e, "%s, %s, %d, %s, %s", itg_emit_number(e, x->zero),
                            itg_emit_number(e, s->epsilon), (int)s->fraction, gain.text,
                            bias.text));
    end(e);
}

/* ---- products of activations ---- */

static const char product_text[] = "#ifdef HELIUM\n"
                                   "typedef struct helium_product {\n"
                                   "    int32_t m, n, k, zero_a, zero_b;\n"
                                   "} helium_product;\n"
                                   "#endif\n\n";

/* Four rows at a time; what is beyond the last row is the last row again. */
static const char columns_text[] =
    "#ifdef HELIUM\n"
    "/* The product of the rows of a, [m, k], and the columns of b, [k, n]. */\n"
    "QUICK ONCE void $1(const helium_product *p, const $2 *a, const $3 *b, int8_t *y,\n"
    "    const helium_range *to)\n"
    "{\n"
    "    const int32_t n = p->n, zero = p->zero_b;\n"
    "    for (int32_t i = 0; i < p->m; i += 4) {\n"
    "        const int32_t last = p->m - 1 - i;\n"
    "        const $2 *const row = a + i * p->k;\n"
    "        const int32_t r1 = last < 1 ? last * p->k : p->k;\n"
    "        const int32_t r2 = last < 2 ? last * p->k : 2 * p->k;\n"
    "        const int32_t r3 = last < 3 ? last * p->k : 3 * p->k;\n"
    "        for (int32_t j = 0; j < n; j += 4) {\n"
    "            const mve_pred16_t some = vctp32q((uint32_t)(n - j));\n"
    "            const $3 *in = b + j;\n"
    "            int32x4_t s0 = vdupq_n_s32(0), s1 = s0, s2 = s0, s3 = s0, all = s0;\n"
    "            for (int32_t k = 0; k < p->k; k++, in += n) {\n"
    "                const int32x4_t v = vsubq_n_s32($4, zero);\n"
    "                s0 = vmlaq_n_s32(s0, v, row[k]);\n"
    "                s1 = vmlaq_n_s32(s1, v, row[k + r1]);\n"
    "                s2 = vmlaq_n_s32(s2, v, row[k + r2]);\n"
    "                s3 = vmlaq_n_s32(s3, v, row[k + r3]);\n"
    "                all = vaddq_s32(all, v);\n"
    "            }\n"
    "            all = vmulq_n_s32(all, p->zero_a);\n"
    "            int8_t *const out = y + i * n + j;\n"
    "            helium_store(to, vsubq_s32(s0, all), out, some);\n"
    "            if (last > 0) helium_store(to, vsubq_s32(s1, all), out + n, some);\n"
    "            if (last > 1) helium_store(to, vsubq_s32(s2, all), out + 2 * n, some);\n"
    "            if (last > 2) helium_store(to, vsubq_s32(s3, all), out + 3 * n, some);\n"
    "        }\n"
    "    }\n"
    "}\n"
    "#endif\n\n";

bool itg_emit_helium_product(itg_emitter *e, const itg_emit_mac_view *t, const char **function)
{
    itg_emit_doubling by;
    const itg_sharing sharing = e->flow.steps[e->layer - e->layers].sharing;
    if (sharing != ITG_SHARING_NONE) return false; /* rows of a are read after y was written */
    if (t->weights != NULL || t->transposed || t->split || t->s->input_count > 2 ||
        itg_dtype_size(t->w.type) != 1 || t->sum != ITG_S32 || t->l->inputs[0] == ITG_NONE ||
        !has_form(e, t->l, &t->x, &by))
        return false;
    *function = itg_emit_text(e, "helium_product_%s_%s", itg_dtype_name(t->x.type),
                              itg_dtype_name(t->w.type));
    if (itg_emit_needs(e, "helium_product")) itg_strbuf_add(&e->helpers, product_text);
    if (itg_emit_needs(e, *function))
        itg_emit_template(&e->helpers, columns_text, *function, itg_emit_ctype(t->x.type),
                          itg_emit_ctype(t->w.type),
                          itg_emit_helium_four(e, "in", t->w.type, "0", false), NULL);
    begin(e, t->l, &by);
    ITG_EMIT_FORMAT(e, "    static const helium_product shape = {%s, %s, %s, %s, %s};\n",
                    itg_emit_number(e, t->m.m), itg_emit_number(e, t->m.n),
                    itg_emit_number(e, t->m.k), itg_emit_number(e, t->x.zero),
                    itg_emit_number(e, t->w.zero));
    return true;
}
