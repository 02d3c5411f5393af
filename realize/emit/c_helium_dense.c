/* Helium: layers of one position whose codes have less than 8 bits. Codes are multiplied in
 * vectors, as they are taken from their words (c_words.h): four groups, or words of the rest, are
 * the lanes of a vector, and each half of them has a code. Codes of 2 and 4 bits fill bytes, so
 * that each half has two. The layer's input is put in the order of these vectors once. */
#include "realize/emit/c_helium.h"
#include "realize/emit/c_words.h"

enum { VECTOR = 16, ROUND = 4 };

static const char order_text[] =
    "#ifdef HELIUM\n"
    "/* Puts x into `vectors` vectors of 8 for each four lanes of so many pairs of codes: vector "
    "p\n"
    " * has pair p of each lane. bytes: two vectors stand in the bytes of one. Returns the sum. "
    "*/\n"
    "QUICK_IN_ORDER uint32_t helium_order(const uint8_t *x, int32_t depth, uint8_t flip, int32_t "
    "lanes,\n"
    "                                 int32_t vectors, int32_t bytes, uint8_t *out)\n"
    "{\n"
    "    const uint16x8_t change = vdupq_n_u16(flip), index = vidupq_n_u16(0, 1);\n"
    "    const uint16x8_t place =\n"
    "        vaddq_u16(vmulq_n_u16(vshrq_n_u16(index, 1), (uint16_t)(2 * vectors)),\n"
    "                  vshlq_n_u16(vandq_u16(index, vdupq_n_u16(1)), 1));\n"
    "    const int32_t second = bytes ? vectors / 2 : 0;\n"
    "    uint32_t sum = 0;\n"
    "    for (; lanes > 0; lanes -= 4, x += 8 * vectors, depth -= 8 * vectors)\n"
    "        for (int32_t p = 0; p < vectors - second; p++, out += 16) {\n"
    "            uint16x8_t both = vdupq_n_u16(0);\n"
    "            for (int32_t i = bytes ? p + second : p; i >= 0; i = i > p ? p : -1) {\n"
    "                const int32_t at = i / 2 * 4 + i % 2;\n"
    "                const int32_t left = depth < at ? 0 : depth - at > 65535 ? 65535 : depth - "
    "at;\n"
    "                const mve_pred16_t some = vcmphiq_u16(vdupq_n_u16((uint16_t)left), place);\n"
    "                uint16x8_t v = vldrbq_gather_offset_z_u16(x + at, place, some);\n"
    "                v = veorq_m_u16(v, v, change, some);\n"
    "                sum = vaddvaq_u16(sum, v);\n"
    "                both = vsliq_n_u16(v, both, 8);\n"
    "            }\n"
    "            vstrbq_u8(out, vreinterpretq_u8_u16(both));\n"
    "        }\n"
    "    return sum;\n"
    "}\n\n"
    "/* Lanes 0 to n - 1, so many bytes apart; further ones are the last, whose x are 0. */\n"
    "#define SUMS_LANES(n, bytes, codes) \\\n"
    "    apart = vmulq_n_u32(vminq_u32(lane, vdupq_n_u32((uint32_t)((n) - 1))), bytes);\n"
    "#define SUMS_FEWER(n, bytes, codes) \\\n"
    "    if ((n) < 4) SUMS_LANES(n, bytes, codes)\n"
    "#define SUMS_WORD(p) \\\n"
    "    vreinterpretq_u16_u32(vldrwq_gather_offset_u32((const uint32_t *)(const void *)(p), "
    "apart))\n"
    "#define SUMS_FIRST(r, w, top) r = w;\n"
    "#define SUMS_JOIN(r, w, top, by) r = vsriq_n_u16(w, r, by);\n"
    "/* The code at a bit of each lane: the uppermost one needs no mask. */\n"
    "#define SUMS_CODE(w, at) \\\n"
    "    ((at) == 0 ? vandq_u16(w, codes) \\\n"
    "     : (at) == upper ? SUMS_UPPER(w) \\\n"
    "                     : vandq_u16(vshrq_n_u16(w, (at) == 0 ? 1 : (at)), codes))\n"
    "#define SUMS_ONE(w, at, p) \\\n"
    "    input = SUMS_INPUT(p); \\\n"
    "    s = SUMS_ADD(s, input, SUMS_CODE(w, at)); \\\n"
    "    t = SUMS_ADD(t, input, SUMS_CODE(w##_too, at));\n"
    "#define SUMS_TWO(w, at, v, then, p) SUMS_ONE(w, at, p) SUMS_ONE(v, then, (p) + 1)\n"
    "#endif\n\n";

static const char begin_text[] =
    "#ifdef HELIUM\n"
    "/* Adds the products of x, in order, and of two channels' codes of $1 bits to two sums: "
    "`groups`\n"
    " * times $1 words, then `rest` words of whole codes. */\n"
    "QUICK_IN_ORDER void helium_dense_$1(const uint8_t *in, int32_t groups, int32_t rest,\n"
    "                                const uint8_t *order, uint32_t *sums)\n"
    "{\n"
    "    enum { upper = $3 };\n"
    "    const uint32x4_t lane = vidupq_n_u32(0, 1);\n"
    "    const uint16x8_t codes = vdupq_n_u16($2);\n"
    "    uint32_t s = sums[0], t = sums[1];\n"
    "    uint32x4_t apart;\n"
    "    uint16x8_t w, w_too, input;\n";
static const char bytes_text[] =
    "    const uint8_t *x = order;\n"
    "#define SUMS_INPUT(p) vreinterpretq_u16_u8(vldrbq_u8(x + 16 * (p)))\n"
    "#define SUMS_ADD(s, x, y) \\\n"
    "    vmladavaq_u8(s, vreinterpretq_u8_u16(x), vreinterpretq_u8_u16(y))\n"
    "#define SUMS_UPPER(w) vreinterpretq_u16_u8(vshrq_n_u8(vreinterpretq_u8_u16(w), upper))\n";
static const char halves_text[] = "    const uint16_t *x = (const uint16_t *)(const void *)order;\n"
                                  "#define SUMS_INPUT(p) vldrhq_u16(x + 8 * (p))\n"
                                  "#define SUMS_ADD(s, x, y) vmladavaq_u16(s, x, y)\n"
                                  "#define SUMS_UPPER(w) vshrq_n_u16(w, upper)\n";

typedef struct part {
    int64_t lanes, vectors; /* of a lane */
} part;

/* Codes of 2 and 4 bits fill bytes, and groups of them are like the rest. */
static bool has_bytes(const itg_emit_words *l)
{
    return l->spare == 0;
}

/* Lists the groups and the rest. Words of the rest whose pairs have the same places in every lane
 * are one. */
static void parts_of(const itg_emit_words *l, part out[2])
{
    const int64_t unit = l->fields % 2 != 0 ? 2 : 1;
    const bool bytes = has_bytes(l);
    const int64_t rest = bytes ? l->groups * l->bits + l->rest : l->rest;
    out[0] = (part){bytes ? 0 : l->groups, ITG_EMIT_GROUP};
    out[1] = (part){(rest + unit - 1) / unit, unit * l->fields};
}

/* Returns the bytes of a part of the input in order. */
static int64_t order_bytes(const itg_emit_words *l, part p)
{
    return (p.lanes + ROUND - 1) / ROUND * p.vectors * VECTOR / (has_bytes(l) ? 2 : 1);
}

bool itg_emit_helium_dense_fits(const itg_emitter *e, const itg_emit_helium_sums *h)
{
    const itg_emit_mac_view *t = h->t;
    const int64_t bits = e->p->values[t->s->inputs[1]].q.bits;
    if (!t->dense || t->groups > 1 || bits == 8 || e->dense_codes[bits] < ITG_EMIT_LARGE)
        return false;
    const itg_emit_words l = itg_emit_words_for(e, t);
    part parts[2];
    parts_of(&l, parts);
    return order_bytes(&l, parts[0]) + order_bytes(&l, parts[1]) <= (int64_t)h->room;
}

static void write_function(itg_emitter *e, const itg_emit_words *l)
{
    const bool bytes = has_bytes(l);
    const int code = (1 << (int)l->bits) - 1;
    const itg_emit_words_loop loop = {.name = "SUMS", .type = "uint16x8_t", .bytes = bytes};
    itg_strbuf *out = &e->helpers;
    itg_emit_template(out, begin_text, itg_emit_number(e, l->bits),
                      itg_emit_text(e, "0x%X", bytes ? code * 0x101 : code),
                      itg_emit_number(e, (bytes ? 8 : 16) - l->bits), NULL);
    itg_strbuf_add(out, bytes ? bytes_text : halves_text);
    if (bytes)
        itg_strbuf_format(out, "    rest += groups * %d;\n", (int)l->bits);
    else
        itg_emit_words_lanes(out, l, &loop, true);
    itg_emit_words_lanes(out, l, &loop, false);
    itg_strbuf_add(out, "    sums[0] = s, sums[1] = t;\n"
                        "#undef SUMS_INPUT\n"
                        "#undef SUMS_ADD\n"
                        "#undef SUMS_UPPER\n"
                        "}\n#endif\n\n");
}

void itg_emit_helium_dense(itg_emitter *e, const itg_emit_helium_sums *h)
{
    const itg_emit_mac_view *t = h->t;
    const itg_emit_words l = itg_emit_words_for(e, t);
    const char *filters = itg_emit_number(e, t->filters), *w = t->weights;
    const char *groups = itg_emit_number(e, l.groups), *rest = itg_emit_number(e, l.rest);
    const char *row = itg_emit_number(e, itg_emit_words_row(&l));
    part parts[2];
    if (itg_emit_needs(e, "helium_order")) itg_strbuf_add(&e->helpers, order_text);
    if (itg_emit_needs(e, itg_emit_text(e, "helium_dense_%d", (int)l.bits))) write_function(e, &l);
    ITG_EMIT_FORMAT(e,
                    "        uint8_t *const order = arena.u8 + %zu;\n"
                    "        uint32_t sum = 0;\n",
                    h->at);
    parts_of(&l, parts);
    for (int64_t i = 0, from = 0, at = 0; i < 2; i++) {
        const int64_t whole = 2 * parts[i].lanes * parts[i].vectors; /* codes, with zeros behind */
        const int64_t end = from + whole < t->depth ? from + whole : t->depth;
        if (parts[i].lanes > 0)
            ITG_EMIT_FORMAT(
                e, "        sum += helium_order(in + %s, %s, %d, %s, %s, %d, order + %s);\n",
                itg_emit_number(e, from), itg_emit_number(e, end - from), h->flip ? 128 : 0,
                itg_emit_number(e, parts[i].lanes), itg_emit_number(e, parts[i].vectors),
                has_bytes(&l), itg_emit_number(e, at));
        from = end;
        at += order_bytes(&l, parts[i]);
    }
    ITG_EMIT_FORMAT(
        e,
        "        const uint32_t start = 0 - %su * sum;\n"
        "        for (int32_t k = 0; k < %s; k += 4) {\n"
        "            uint32_t sums[4] = {start, start, start, start};\n"
        "            helium_dense_%d(%s + k * %s, %s, %s, order, sums);\n"
        "            if (%s - k > 2)\n"
        "                helium_dense_%d(%s + (k + 2) * %s, %s, %s, order, sums + 2);\n"
        "            helium_codes%s(&layer, sums, terms + k / 4 * 9, %s - k, out + k);\n"
        "        }\n",
        itg_emit_number(e, h->minus), filters, (int)l.bits, w, row, groups, rest, filters,
        (int)l.bits, w, row, groups, rest, h->left, filters);
}
