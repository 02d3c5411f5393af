/* Convolutions and products whose codes of 8 bits are multiplied where they lie, two positions and
 * two channels at a time: quickest where memory holds few positions, for weights are unpacked for
 * each block of them. The zero point comes in by the sum of each patch, as in c_dense.c. */
#include "realize/emit/c_mac.h"

enum { LEAST = 16 /* of a depth: patches are aligned to words */ };

static const char text[] =
    "#ifdef WORDS\n"
    "/* Adds the products of two channels' codes and of two patches: the sums of the first "
    "channel,\n"
    " * then those of the second. */\n"
    "static IN_ORDER void dot_bytes(const uint8_t *in, const uint8_t *in_too, const int16_t "
    "*x,\n"
    "                               const int16_t *y, int32_t depth, int32_t *sums)\n"
    "{\n"
    "    int32_t s = sums[0], t = sums[1], s_too = sums[2], t_too = sums[3];\n"
    "    x = __builtin_assume_aligned(x, 4);\n"
    "    y = __builtin_assume_aligned(y, 4);\n"
    "#define BYTES_ADD(sum, more) sum = (int32_t)((uint32_t)sum + (uint32_t)(more));\n"
    "#ifdef PAIRS\n"
    "#define BYTES_PAIRS(w, s, t) \\\n"
    "    __asm__(\"uxtb16 %0, %1\" : \"=r\"(factor) : \"r\"(w)); \\\n"
    "    s = __smlad(factor, one, s), t = __smlad(factor, other, t); \\\n"
    "    __asm__(\"uxtb16 %0, %1, ror #8\" : \"=r\"(factor) : \"r\"(w)); \\\n"
    "    s = __smlad(factor, more, s), t = __smlad(factor, another, t);\n"
    "#define BYTES_FOUR \\\n"
    "    one = PAIR(x), more = PAIR(x + 2), other = PAIR(y), another = PAIR(y + 2); \\\n"
    "    w = (uint32_t)PAIR(in); \\\n"
    "    BYTES_PAIRS(w, s, t) \\\n"
    "    w = (uint32_t)PAIR(in_too); \\\n"
    "    BYTES_PAIRS(w, s_too, t_too) \\\n"
    "    in += 4, in_too += 4, x += 4, y += 4;\n"
    "    int32_t one, more, other, another, factor;\n"
    "    uint32_t w;\n"
    "#else\n"
    "#define BYTES_ONE(at, i) \\\n"
    "    one = x[i], other = y[i]; \\\n"
    "    factor = (int32_t)(w >> (at) & 255); \\\n"
    "    BYTES_ADD(s, factor * one) BYTES_ADD(t, factor * other) \\\n"
    "    factor = (int32_t)(v >> (at) & 255); \\\n"
    "    BYTES_ADD(s_too, factor * one) BYTES_ADD(t_too, factor * other)\n"
    "#define BYTES_FOUR \\\n"
    "    w = (uint32_t)PAIR(in), v = (uint32_t)PAIR(in_too); \\\n"
    "    BYTES_ONE(0, 0) BYTES_ONE(8, 1) BYTES_ONE(16, 2) BYTES_ONE(24, 3) \\\n"
    "    in += 4, in_too += 4, x += 4, y += 4;\n"
    "    int32_t one, other, factor;\n"
    "    uint32_t w, v;\n"
    "#endif\n"
    "    for (const uint8_t *const end = in + (depth & ~15); in != end;) {\n"
    "        BYTES_FOUR BYTES_FOUR BYTES_FOUR BYTES_FOUR\n"
    "    }\n"
    "    depth &= 15;\n"
    "    for (const uint8_t *const end = in + (depth & ~3); in != end;) {\n"
    "        BYTES_FOUR\n"
    "    }\n"
    "    for (depth &= 3; depth > 0; depth--, x++, y++) {\n"
    "        const int32_t first = *in++, second = *in_too++;\n"
    "        BYTES_ADD(s, first * *x) BYTES_ADD(t, first * *y)\n"
    "        BYTES_ADD(s_too, second * *x) BYTES_ADD(t_too, second * *y)\n"
    "    }\n"
    "    sums[0] = s, sums[1] = t, sums[2] = s_too, sums[3] = t_too;\n"
    "}\n"
    "#endif\n\n";

bool itg_emit_can_stay(const itg_emitter *e, const itg_emit_mac_view *t)
{
    const itg_pvalue *w = &e->p->values[t->s->inputs[1]];
    return w->data != NULL && t->row == ITG_S16 && t->sum == ITG_S32 && t->block > 1 &&
           w->q.bits == 8 && t->depth >= LEAST && !itg_emit_is_depthwise(t) &&
           w->elements == t->channels * t->depth;
}

void itg_emit_in_place_start(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent)
{
    const char *depth = itg_emit_number(e, t->depth), *padded = itg_emit_number(e, t->padded);
    const char *zero =
        itg_emit_number(e, t->w_zero - itg_emit_least_code(&e->p->values[t->w_value]));
    itg_emit_dense_helpers(e);
    if (itg_emit_needs(e, "dot_bytes")) itg_strbuf_add(&e->helpers, text);
    ITG_EMIT_FORMAT(e,
                    "%*sconst int32_t one = dense_start(patches, %s, %s);\n"
                    "%*sconst int32_t two = dense_start(patches + %s, %s, %s);\n",
                    (int)indent, "", depth, zero, (int)indent, "", padded, depth, zero);
}

void itg_emit_in_place_sums(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent)
{
    const char *depth = itg_emit_number(e, t->depth);
    const char *group =
        t->groups > 1 ? itg_emit_text(e, "g * %s + ", itg_emit_number(e, t->filters)) : "";
    ITG_EMIT_FORMAT(e,
                    "%*sint32_t acc[4] = {one, two, one, two};\n"
                    "%*sdot_bytes(%s + (%sk) * %s, %s + (%sk + rows - 1) * %s, patches,\n"
                    "%*spatches + %s, %s, acc);\n",
                    (int)indent, "", (int)indent, "", t->weights, group, depth, t->weights, group,
                    depth, (int)indent + 10, "", itg_emit_number(e, t->padded), depth);
}
