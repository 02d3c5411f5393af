/* Convolutions and products whose codes are multiplied where they lie (c_words.h), two positions
 * and two channels at a time: quickest where memory holds few positions, for weights are unpacked
 * for each block of them. The zero point comes in by the sum of each patch, as in c_dense.c. */
#include "realize/emit/c_words.h"

/* Depths from which on patches are aligned to words, and from which on what is read beyond the
 * last, of codes below 8 bits, is still scratch. */
enum { LEAST = 16, LEAST_NARROW = 32 };

static const char start_text[] =
    "#ifdef WORDS\n"
    "/* out = x and y, `depth` codes each, a pair of x, then one of y; PAIRS: as pairs of codes "
    "of\n"
    " * weights are taken. start: -zero times the sum of each. out may end where y begins. */\n"
    "static ONCE void both_start(const int16_t *x, const int16_t *y, int32_t depth, int32_t zero,\n"
    "                            int16_t *out, int32_t *start)\n"
    "{\n"
    "    int32_t one = 0, two = 0;\n"
    "#ifdef PAIRS\n"
    "    int32_t ones = 0x10001;\n"
    "    DENSE_KEEP(ones);\n"
    "    for (; depth > 0; depth -= 4, x += 4, y += 4, out += 8) {\n"
    "        const uint32_t low = (uint32_t)PAIR(x), high = (uint32_t)PAIR(x + 2);\n"
    "        const uint32_t less = (uint32_t)PAIR(y), more = (uint32_t)PAIR(y + 2);\n"
    "        one = __smlad((int32_t)low, ones, one);\n"
    "        one = __smlad((int32_t)high, ones, one);\n"
    "        two = __smlad((int32_t)less, ones, two);\n"
    "        two = __smlad((int32_t)more, ones, two);\n"
    "        SET_PAIR(out, (low & 0xFFFF) | high << 16);\n"
    "        SET_PAIR(out + 2, (less & 0xFFFF) | more << 16);\n"
    "        SET_PAIR(out + 4, low >> 16 | (high & UINT32_C(0xFFFF0000)));\n"
    "        SET_PAIR(out + 6, less >> 16 | (more & UINT32_C(0xFFFF0000)));\n"
    "    }\n"
    "#else\n"
    "    for (; depth > 0; depth -= 2, x += 2, y += 2, out += 4) {\n"
    "        const int16_t low = x[0], high = x[1], less = y[0], more = y[1];\n"
    "        DENSE_SUM(one, low + high) DENSE_SUM(two, less + more)\n"
    "        out[0] = low, out[1] = high, out[2] = less, out[3] = more;\n"
    "    }\n"
    "#endif\n"
    "    start[0] = (int32_t)(0 - (uint32_t)one * (uint32_t)zero);\n"
    "    start[1] = (int32_t)(0 - (uint32_t)two * (uint32_t)zero);\n"
    "}\n"
    "#endif\n\n";

static const char text[] =
    "#ifdef WORDS\n"
    "/* Adds the products of two channels' codes and of two patches, which lie together: the sums "
    "of\n"
    " * the first channel, then those of the second. */\n"
    "static IN_ORDER void dot_bytes(const uint8_t *in, const uint8_t *in_too, const int16_t "
    "*x,\n"
    "                               int32_t depth, int32_t *sums)\n"
    "{\n"
    "    int32_t s = sums[0], t = sums[1], s_too = sums[2], t_too = sums[3];\n"
    "    x = __builtin_assume_aligned(x, 4);\n"
    "#ifdef PAIRS\n"
    "#ifdef __ARM_ARCH /* one instruction each */\n"
    "#define BYTES_EVEN(w) __asm__(\"uxtb16 %0, %1\" : \"=r\"(factor) : \"r\"(w));\n"
    "#define BYTES_ODD(w) __asm__(\"uxtb16 %0, %1, ror #8\" : \"=r\"(factor) : \"r\"(w));\n"
    "#else\n"
    "#define BYTES_EVEN(w) factor = (int32_t)((w) & 0xFF00FF);\n"
    "#define BYTES_ODD(w) factor = (int32_t)((w) >> 8 & 0xFF00FF);\n"
    "#endif\n"
    "#define BYTES_PAIRS(w, s, t) \\\n"
    "    BYTES_EVEN(w) \\\n"
    "    s = __smlad(factor, one, s), t = __smlad(factor, other, t); \\\n"
    "    BYTES_ODD(w) \\\n"
    "    s = __smlad(factor, more, s), t = __smlad(factor, another, t);\n"
    "#define BYTES_FOUR \\\n"
    "    one = PAIR(x), other = PAIR(x + 2), more = PAIR(x + 4), another = PAIR(x + 6); \\\n"
    "    w = (uint32_t)PAIR(in); \\\n"
    "    BYTES_PAIRS(w, s, t) \\\n"
    "    w = (uint32_t)PAIR(in_too); \\\n"
    "    BYTES_PAIRS(w, s_too, t_too) \\\n"
    "    in += 4, in_too += 4, x += 8;\n"
    "#define BYTES_AT(i) ((i) % 2 * 4 + (i) / 2)\n"
    "    int32_t one, more, other, another, factor;\n"
    "    uint32_t w;\n"
    "#else\n"
    "#define BYTES_ONE(at, i) \\\n"
    "    one = x[i], other = x[(i) + 2]; \\\n"
    "    factor = (int32_t)(w >> (at) & 255); \\\n"
    "    DENSE_SUM(s, factor * one) DENSE_SUM(t, factor * other) \\\n"
    "    factor = (int32_t)(v >> (at) & 255); \\\n"
    "    DENSE_SUM(s_too, factor * one) DENSE_SUM(t_too, factor * other)\n"
    "#define BYTES_FOUR \\\n"
    "    w = (uint32_t)PAIR(in), v = (uint32_t)PAIR(in_too); \\\n"
    "    BYTES_ONE(0, 0) BYTES_ONE(8, 1) BYTES_ONE(16, 4) BYTES_ONE(24, 5) \\\n"
    "    in += 4, in_too += 4, x += 8;\n"
    "#define BYTES_AT(i) ((i) / 2 * 4 + (i) % 2)\n"
    "    int32_t one, other, factor;\n"
    "    uint32_t w, v;\n"
    "#endif\n"
    "$1"
    "    for (const uint8_t *const end = in + (depth & ~15); in != end;) {\n"
    "        BYTES_FOUR BYTES_FOUR BYTES_FOUR BYTES_FOUR\n"
    "    }\n"
    "    depth &= 15;\n"
    "$2"
    "    for (const uint8_t *const end = in + (depth & ~3); in != end;) {\n"
    "        BYTES_FOUR\n"
    "    }\n"
    "    depth &= 3;\n"
    "    for (int32_t i = 0; i < depth; i++) {\n"
    "        const int32_t first = *in++, second = *in_too++;\n"
    "        const int32_t left = x[BYTES_AT(i)], right = x[BYTES_AT(i) + 2];\n"
    "        DENSE_SUM(s, first * left) DENSE_SUM(t, first * right)\n"
    "        DENSE_SUM(s_too, second * left) DENSE_SUM(t_too, second * right)\n"
    "    }\n"
    "    sums[0] = s, sums[1] = t, sums[2] = s_too, sums[3] = t_too;\n"
    "}\n"
    "#endif\n\n";

/* As c_dense.c's, of two patches. */
static const char both_macros[] =
    "#define BOTH_WORD(in, at) DENSE_WORD(in, at)\n"
    "#define BOTH_JOIN(r, w, by) DENSE_JOIN(r, w, by)\n"
    "#ifdef PAIRS\n"
    "#define BOTH_ADD(w, at, s, t) \\\n"
    "    factor = (int32_t)((w) >> (at) & codes); \\\n"
    "    s = __smlad(factor, one, s), t = __smlad(factor, other, t);\n"
    "#define BOTH_ONE(w, at, p) \\\n"
    "    one = PAIR(x + 4 * (p)), other = PAIR(x + 4 * (p) + 2); \\\n"
    "    BOTH_ADD(w, at, s, t) BOTH_ADD(w##_too, at, s_too, t_too)\n"
    "#define BOTH_NEXT(n) x += 4 * (n);\n"
    "#else\n"
    "#define BOTH_NEXT(n) p += n;\n"
    "#define BOTH_ADD(w, at, s, t) \\\n"
    "    factor = (int32_t)((w) >> (at) & codes); \\\n"
    "    DENSE_SUM(s, factor * one) DENSE_SUM(t, factor * other)\n"
    "#define BOTH_CODE(w, too, at, i) \\\n"
    "    one = x[i], other = x[(i) + 2]; \\\n"
    "    BOTH_ADD(w, at, s, t) BOTH_ADD(too, at, s_too, t_too)\n"
    "#define BOTH_ONE(w, at, p) \\\n"
    "    BOTH_CODE(w, w##_too, at, 4 * (p) - ((p) & 1) * 3) \\\n"
    "    BOTH_CODE(w, w##_too, (at) + 16, 4 * (p) - ((p) & 1) * 3 + 4)\n"
    "#endif\n"
    "#define BOTH_TWO(w, at, v, then, p) BOTH_ONE(w, at, p) BOTH_ONE(v, then, (p) + 1)\n";

static const char both_text[] =
    "/* The same of codes of $1 bits: `groups` times $1 words a channel, then `rest` words of "
    "whole\n"
    " * codes. */\n"
    "static IN_ORDER void both_$1(const uint8_t *in, const int16_t *x, int32_t groups, int32_t "
    "rest,\n"
    "                             int32_t *sums)\n"
    "{\n"
    "    int32_t s = sums[0], t = sums[1], s_too = sums[2], t_too = sums[3];\n"
    "    int32_t one, other, factor;\n"
    "    uint32_t w, w_too;\n"
    "    in = __builtin_assume_aligned(in, 4);\n"
    "    x = __builtin_assume_aligned(x, 4);\n"
    "#ifdef PAIRS\n"
    "    uint32_t codes = $2;\n"
    "    DENSE_KEEP(codes);\n"
    "#else\n"
    "    const uint32_t codes = $3;\n"
    "#endif\n";

static const char take_macros[] =
    "#define TAKE_WORD(in, at) DENSE_WORD(in, at)\n"
    "#define TAKE_JOIN(r, w, by) DENSE_JOIN(r, w, by)\n"
    "#define TAKE_CODE(w, at, i) x[i] = (int16_t)((int32_t)((w) >> (at) & one) - zero);\n"
    "#define TAKE_ONE(w, at, p) \\\n"
    "    TAKE_CODE(w, at, 2 * (p) - ((p) & 1)) TAKE_CODE(w, (at) + 16, 2 * (p) - ((p) & 1) + 2)\n"
    "#define TAKE_TWO(w, at, v, then, p) TAKE_ONE(w, at, p) TAKE_ONE(v, then, (p) + 1)\n"
    "#define SOME_ONE(w, at, p) \\\n"
    "    if ((p) < pairs) { \\\n"
    "        TAKE_ONE(w, at, p) \\\n"
    "    }\n"
    "#define TAKE_NEXT(n) p += n;\n"
    "#define SOME_TWO(w, at, v, then, p) SOME_ONE(w, at, p) SOME_ONE(v, then, (p) + 1)\n"
    "\n";

static const char take_text[] =
    "/* x[i] = code i of a channel of $1 bits - zero: `groups` times $1 words, then `rest` words "
    "of\n"
    " * `pairs` pairs of codes. */\n"
    "static ONCE void take_$3(const uint8_t *in, int32_t groups, int32_t rest, int32_t pairs,\n"
    "                         int32_t zero, int16_t *x)\n"
    "{\n"
    "    const uint32_t one = $2;\n"
    "    uint32_t w;\n";

static const char helium_macros[] =
    "#ifdef HELIUM\n"
    "/* Lanes 0 to n - 1, so many bytes and codes apart; further ones are the last. */\n"
    "#define HELIUM_LANES(n, bytes, codes) \\\n"
    "    { \\\n"
    "        const uint32x4_t at = vminq_u32(lane, vdupq_n_u32((uint32_t)((n) - 1))); \\\n"
    "        apart = vmulq_n_u32(at, bytes); \\\n"
    "        place = vreinterpretq_u8_u32( \\\n"
    "            vaddq_n_u32(vmulq_n_u32(at, (codes) * 0x1010101u), 0x3020100)); \\\n"
    "    }\n"
    "#define HELIUM_FEWER(n, bytes, codes) \\\n"
    "    if ((n) < 4) HELIUM_LANES(n, bytes, codes) \\\n"
    "    from = vaddq_n_u32(apart, (uint32_t)(uintptr_t)in);\n"
    "#define HELIUM_WORD(in, at) LANES_WORD(at)\n"
    "#define HELIUM_JOIN(r, w, by) LANES_JOIN(r, w, by)\n"
    "#define HELIUM_ONE(w, at, p) \\\n"
    "    vstrbq_scatter_offset_u8(x + 4 * (p), place, LANES_CODE(w, at));\n"
    "#define HELIUM_TWO(w, at, v, then, p) HELIUM_ONE(w, at, p) HELIUM_ONE(v, then, (p) + 1)\n"
    "/* A pair of codes in halves of each lane. */\n"
    "#define HALVES_CODE(w, at) ((at) == 0 ? (w) : LANES_SHIFT(w, at))\n"
    "#define HALVES_ONE(w, at, p) \\\n"
    "    vstrbq_scatter_offset_p_u8(x + (p) / 2 * 4 + (p) % 2, place, \\\n"
    "                               vandq_u8(HALVES_CODE(w, at), codes), 0x5555);\n"
    "#define HALVES_TWO(w, at, v, then, p) HALVES_ONE(w, at, p) HALVES_ONE(v, then, (p) + 1)\n"
    "#endif\n\n";

/* What is written behind the last code is less than a vector. */
static const char helium_text[] =
    "#ifdef HELIUM\n"
    "/* x[i] = code i of a channel of $1 bits: `groups` times $1 words, then `rest` words. */\n"
    "QUICK_IN_ORDER void helium_take_$4(const uint8_t *in, int32_t groups, int32_t rest, uint8_t "
    "*x)\n"
    "{\n"
    "$3"
    "    const uint32x4_t lane = vidupq_n_u32(0, 1);\n"
    "    const uint8x16_t codes = vdupq_n_u8($2);\n"
    "    uint32x4_t apart, from;\n"
    "    uint8x16_t place, w;\n";

static bool has_groups(const itg_emitter *e, int64_t bits)
{
    return itg_emit_are_many(bits, e->stay_codes[bits]);
}

/* Whether codes could be multiplied where they lie. */
static bool has_form(const itg_emitter *e, const itg_emit_mac_view *t)
{
    const itg_pvalue *w = &e->p->values[t->s->inputs[1]];
    return w->data != NULL && t->row == ITG_S16 && t->sum == ITG_S32 && t->block > 1 &&
           !itg_has_zero_points(&w->q) && w->q.bits > 1 && w->q.bits <= 8 &&
           t->depth >= (w->q.bits == 8 ? LEAST : LEAST_NARROW) && !itg_emit_is_depthwise(t) &&
           w->elements == t->channels * t->depth && itg_emit_stays_quicker(t, w->q.bits, true);
}

void itg_emit_stays_count(itg_emitter *e)
{
    e->unpacked = itg_emit_alloc(e, (size_t)e->p->value_count + 1, sizeof *e->unpacked);
    for (int32_t i = 0; i < e->layer_count && !e->failed; i++) {
        itg_emit_mac_view t;
        if (!itg_emit_is_mac(&e->layers[i])) continue;
        itg_emit_mac_describe(e, &e->layers[i], &t);
        const itg_pvalue *w = &e->p->values[t.s->inputs[1]];
        if (has_form(e, &t))
            e->stay_codes[w->q.bits] += w->elements;
        else
            e->unpacked[t.s->inputs[1]] = true;
    }
}

bool itg_emit_stays(const itg_emitter *e, const itg_emit_mac_view *t)
{
    if (!has_form(e, t)) return false;
    const itg_emit_words l = itg_emit_words_for(e, t);
    return !itg_emit_words_alternate(&l) ||
           (!e->unpacked[t->s->inputs[1]] && itg_emit_words_fit(&l, t));
}

const char *itg_emit_stays_weights(itg_emitter *e, const itg_emit_mac_view *t)
{
    const itg_emit_words l = itg_emit_words_for(e, t);
    return itg_emit_words_alternate(&l) ? itg_emit_words_array(e, t, &l)
                                        : itg_emit_packed(e, (int32_t)t->w_value, t->order, t->tag);
}

/* ---- two positions ---- */

/* Returns the text of a word that has a pair of the largest codes. */
static const char *pair_mask(itg_emitter *e, const itg_emit_words *l)
{
    return itg_emit_text(e, "0x%X", ((1 << (int)l->bits) - 1) * 0x10001);
}

static void write_both(itg_emitter *e, const itg_emit_words *l)
{
    const itg_emit_words_loop loop = {.name = "BOTH",
                                      .rest = "BOTH",
                                      .type = "uint32_t",
                                      .step = "x += 64",
                                      .rest_step = itg_emit_text(e, "x += %d", 4 * (int)l->fields),
                                      .counted = l->fields % 2 != 0,
                                      /* without joining it is hardly slower */
                                      .small = l->spare == 0 || e->codes < ITG_EMIT_MEDIUM};
    itg_strbuf_add(&e->helpers, "#ifdef WORDS\n");
    if (itg_emit_needs(e, "both")) itg_strbuf_add(&e->helpers, both_macros);
    itg_emit_template(&e->helpers, both_text, itg_emit_number(e, l->bits), pair_mask(e, l),
                      itg_emit_text(e, "0x%X", (1 << (int)l->bits) - 1), NULL);
    itg_emit_words_loops(&e->helpers, l, &loop, has_groups(e, l->bits));
    itg_strbuf_add(&e->helpers, "    sums[0] = s, sums[1] = t, sums[2] = s_too, sums[3] = t_too;\n"
                                "}\n#endif\n\n");
}

void itg_emit_in_place_begin(itg_emitter *e, const itg_emit_mac_view *t)
{
    const int64_t bits = e->p->values[t->w_value].q.bits;
    itg_strbuf_add(&e->body, itg_emit_stays_quicker(t, bits, false)
                                 ? "#ifdef WORDS\n"
                                 : "#if defined(WORDS) && defined(PAIRS)\n");
}

void itg_emit_in_place_start(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent)
{
    const itg_emit_words l = itg_emit_words_for(e, t);
    const int64_t depth = (t->depth + 3) / 4 * 4; /* zeros stand behind the codes */
    const itg_pvalue *w = &e->p->values[t->w_value];
    itg_emit_dense_helpers(e);
    if (itg_emit_needs(e, "both_start")) itg_strbuf_add(&e->helpers, start_text);
    if (!itg_emit_words_alternate(&l)) {
        const bool medium = e->codes < ITG_EMIT_MEDIUM;
        if (itg_emit_needs(e, "dot_bytes"))
            itg_emit_template(&e->helpers, text, medium ? "#ifndef __OPTIMIZE_SIZE__\n" : "",
                              medium ? "#endif\n" : "", NULL);
    } else if (itg_emit_needs(e, itg_emit_text(e, "both_%d", (int)l.bits))) {
        write_both(e, &l);
    }
    ITG_EMIT_FORMAT(e,
                    "%*sint32_t start[2];\n"
                    "%*sboth_start(%s, patches + %s, %s, %s, patches, start);\n",
                    (int)indent, "", (int)indent, "", itg_emit_patches_text(e, t),
                    itg_emit_number(e, 2 * t->padded), itg_emit_number(e, depth),
                    itg_emit_number(e, t->w_zero - itg_emit_least_code(w)));
}

void itg_emit_in_place_sums(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent)
{
    const itg_emit_words l = itg_emit_words_for(e, t);
    const char *depth = itg_emit_number(e, t->depth);
    const bool words = itg_emit_words_alternate(&l);
    const char *row = words ? itg_emit_number(e, itg_emit_words_row(&l)) : depth;
    const int64_t rows = words ? itg_emit_words_rows(&l, t) : t->filters;
    const char *group =
        t->groups > 1 ? itg_emit_text(e, "g * %s + ", itg_emit_number(e, rows)) : "";
    ITG_EMIT_FORMAT(e, "%*sint32_t acc[4] = {start[0], start[1], start[0], start[1]};\n",
                    (int)indent, "");
    if (words)
        ITG_EMIT_FORMAT(e, "%*sboth_%d(%s + (%sk) * %s, patches, %s, %s, acc);\n", (int)indent, "",
                        (int)l.bits, t->weights, group, row, itg_emit_number(e, l.groups),
                        itg_emit_number(e, l.rest));
    else
        ITG_EMIT_FORMAT(e,
                        "%*sdot_bytes(%s + (%sk) * %s, %s + (%sk + rows - 1) * %s, patches, %s, "
                        "acc);\n",
                        (int)indent, "", t->weights, group, row, t->weights, group, row, depth);
}

/* ---- a channel by itself ---- */

static bool any_groups(const itg_emitter *e, int64_t bits)
{
    return has_groups(e, bits) || itg_emit_are_many(bits, e->dense_codes[bits]);
}

/* Returns what the name of a function that unpacks such words ends with. */
static const char *ending(itg_emitter *e, const itg_emit_words *l)
{
    return itg_emit_text(e, l->unit == 8 ? "%d" : "%d_halves", (int)l->bits);
}

static void write_helium_take(itg_emitter *e, const itg_emit_words *l)
{
    const bool bytes = l->unit == 8;
    const itg_emit_words_loop loop = {.name = "HELIUM",
                                      .rest = bytes ? "HELIUM" : "HALVES",
                                      .type = "uint8x16_t",
                                      .one = true,
                                      .bytes = bytes};
    itg_emit_words_lanes_helpers(e);
    if (itg_emit_needs(e, "helium_take")) itg_strbuf_add(&e->helpers, helium_macros);
    itg_emit_template(&e->helpers, helium_text, itg_emit_number(e, l->bits),
                      itg_emit_number(e, (1 << (int)l->bits) - 1),
                      bytes ? itg_emit_text(e, "    enum { upper = %d };\n", 8 - (int)l->bits) : "",
                      ending(e, l), NULL);
    if (l->spare == 0) /* groups are like the rest */
        itg_strbuf_format(&e->helpers, "    rest += groups * %d;\n", (int)l->bits);
    else if (bytes && any_groups(e, l->bits))
        itg_emit_words_lanes(&e->helpers, l, &loop, true);
    else
        itg_strbuf_add(&e->helpers, "    (void)groups;\n");
    itg_emit_words_lanes(&e->helpers, l, &loop, false);
    itg_strbuf_add(&e->helpers, "}\n#endif\n\n");
}

static void write_take(itg_emitter *e, const itg_emit_words *l)
{
    static const itg_emit_words_loop loop = {.name = "TAKE",
                                             .rest = "SOME",
                                             .type = "uint32_t",
                                             .step = "x += 32",
                                             .counted = true,
                                             .small = true,
                                             .one = true};
    itg_emit_dense_helpers(e);
    if (itg_emit_needs(e, "take")) itg_strbuf_add(&e->helpers, take_macros);
    itg_emit_template(&e->helpers, take_text, itg_emit_number(e, l->bits),
                      itg_emit_text(e, "0x%X", (1 << (int)l->bits) - 1), ending(e, l), NULL);
    itg_emit_words_loops(&e->helpers, l, &loop, l->unit == 8 && any_groups(e, l->bits));
    itg_strbuf_add(&e->helpers, "}\n\n");
}

/* Writes statements that unpack channels first, first + 1... by a function, with its last
 * arguments before the place. */
static void write_channels(itg_emitter *e, const itg_emit_mac_view *t, const char *function,
                           int32_t indent, const char *first, const char *count, const char *last)
{
    const itg_emit_words l = itg_emit_words_for(e, t);
    const int64_t row = itg_emit_words_row(&l), group = itg_emit_words_rows(&l, t) * row;
    const char *from =
        t->groups > 1 ? itg_emit_text(e, " + g * %s", itg_emit_number(e, group)) : "";
    ITG_EMIT_FORMAT(e,
                    "%*sfor (int32_t i = 0; i < %s; i++)\n"
                    "%*s%s_%s(%s%s + (%s + i) / 2 * %s + (%s + i) %% 2 * 4, %s, %s%s,\n"
                    "%*stile + i * %s);\n",
                    (int)indent, "", count, (int)indent + 4, "", function, ending(e, &l),
                    t->weights, from, first, itg_emit_number(e, 2 * row), first,
                    itg_emit_number(e, l.groups), itg_emit_number(e, l.rest), last,
                    (int)indent + 12, "", itg_emit_number(e, t->depth));
}

void itg_emit_stays_unpack(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent,
                           const char *first, const char *count)
{
    const itg_emit_words l = itg_emit_words_for(e, t);
    const int64_t pairs = (t->depth + 3) / 4 * 2 - l.groups * ITG_EMIT_GROUP;
    const int64_t zero = t->w_zero - itg_emit_least_code(&e->p->values[t->w_value]);
    if (itg_emit_needs(e, itg_emit_text(e, "take_%s", ending(e, &l)))) write_take(e, &l);
    write_channels(
        e, t, "take", indent, first, count,
        itg_emit_text(e, ", %s, %s", itg_emit_number(e, pairs), itg_emit_number(e, zero)));
}

void itg_emit_stays_helium(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent,
                           const char *first, const char *count)
{
    const itg_emit_words l = itg_emit_words_for(e, t);
    if (itg_emit_needs(e, itg_emit_text(e, "helium_take_%s", ending(e, &l))))
        write_helium_take(e, &l);
    write_channels(e, t, "helium_take", indent, first, count, "");
}
