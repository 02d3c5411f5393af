/* Helium: layers of one position whose codes have less than 8 bits. Codes are multiplied in
 * vectors, as they are taken from their words (c_words.h): four groups, or words of the rest, are
 * the lanes of a vector, and each byte of them has a code. The layer's input is put in the order of
 * these vectors once. */
#include "realize/emit/c_helium.h"
#include "realize/emit/c_words.h"

enum { VECTOR = 16, ROUND = 4 };

static const char order_text[] =
    "#ifdef HELIUM\n"
    "/* Puts x into `vectors` vectors for each four lanes of so many fours of codes: vector p has "
    "four p\n"
    " * of each lane. Returns the sum. */\n"
    "QUICK_IN_ORDER uint32_t helium_order(const uint8_t *x, int32_t depth, uint8_t flip, int32_t "
    "lanes,\n"
    "                                 int32_t vectors, uint8_t *out)\n"
    "{\n"
    "    const uint8x16_t change = vdupq_n_u8(flip), index = vidupq_n_u8(0, 1);\n"
    "    const uint8x16_t place =\n"
    "        vaddq_u8(vmulq_n_u8(vshrq_n_u8(index, 2), (uint8_t)(4 * vectors)),\n"
    "                 vandq_u8(index, vdupq_n_u8(3)));\n"
    "    uint32_t sum = 0;\n"
    "    for (; lanes > 0; lanes -= 4, x += 16 * vectors, depth -= 16 * vectors)\n"
    "        for (int32_t at = 0; at < 4 * vectors; at += 4, out += 16) {\n"
    "            const int32_t left = depth < at ? 0 : depth - at > 255 ? 255 : depth - at;\n"
    "            const mve_pred16_t some = vcmphiq_u8(vdupq_n_u8((uint8_t)left), place);\n"
    "            uint8x16_t v = vldrbq_gather_offset_z_u8(x + at, place, some);\n"
    "            v = veorq_m_u8(v, v, change, some);\n"
    "            sum = vaddvaq_u8(sum, v);\n"
    "            vstrbq_u8(out, v);\n"
    "        }\n"
    "    return sum;\n"
    "}\n\n"
    "/* Lanes 0 to n - 1, so many bytes apart; further ones are the last, whose x are 0. */\n"
    "#define SUMS_LANES(n, bytes, codes) \\\n"
    "    apart = vmulq_n_u32(vminq_u32(lane, vdupq_n_u32((uint32_t)((n) - 1))), bytes);\n"
    "#define SUMS_FEWER(n, bytes, codes) \\\n"
    "    if ((n) < 4) SUMS_LANES(n, bytes, codes) \\\n"
    "    from = vaddq_n_u32(apart, (uint32_t)(uintptr_t)in);\n"
    "#define SUMS_WORD(in, at) LANES_WORD(at)\n"
    "#define SUMS_JOIN(r, w, by) LANES_JOIN(r, w, by)\n"
    "#define SUMS_ONE(w, at, p) \\\n"
    "    input = vldrbq_u8(x + 16 * (p)); \\\n"
    "    s = vmladavaq_u8(s, input, LANES_CODE(w, at)); \\\n"
    "    t = vmladavaq_u8(t, input, LANES_CODE(w##_too, at));\n"
    "#define SUMS_TWO(w, at, v, then, p) SUMS_ONE(w, at, p) SUMS_ONE(v, then, (p) + 1)\n"
    "#endif\n\n";

static const char begin_text[] =
    "#ifdef HELIUM\n"
    "/* Adds the products of x, in order, and of two channels' codes of $1 bits to two sums: "
    "`groups`\n"
    " * times $1 words, then `rest` words of whole codes. */\n"
    "QUICK_IN_ORDER void helium_dense_$1(const uint8_t *in, int32_t groups, int32_t rest,\n"
    "                                const uint8_t *x, uint32_t *sums)\n"
    "{\n"
    "    enum { upper = $3 };\n"
    "    const uint32x4_t lane = vidupq_n_u32(0, 1);\n"
    "    const uint8x16_t codes = vdupq_n_u8($2);\n"
    "    uint32_t s = sums[0], t = sums[1];\n"
    "    uint32x4_t apart, from;\n"
    "    uint8x16_t w, w_too, input;\n";

typedef struct part {
    int64_t lanes, vectors; /* of a lane */
} part;

/* Lists the groups and the rest. Groups of codes of 2 and 4 bits are like the rest: what does not
 * fill four lanes goes with it. */
static void parts_of(const itg_emit_words *l, part out[2])
{
    const int64_t left = l->spare == 0 ? l->groups % ROUND : 0;
    out[0] = (part){l->groups - left, ITG_EMIT_GROUP / 2};
    out[1] = (part){left * l->bits + l->rest, l->fields / 2};
}

/* Returns the bytes of a part of the input in order. */
static int64_t order_bytes(part p)
{
    return (p.lanes + ROUND - 1) / ROUND * p.vectors * VECTOR;
}

bool itg_emit_helium_dense_fits(const itg_emitter *e, const itg_emit_helium_sums *h)
{
    const itg_emit_mac_view *t = h->t;
    const int64_t bits = e->p->values[t->s->inputs[1]].q.bits;
    if (!t->dense || t->groups > 1 || bits == 8 || !itg_emit_are_many(bits, e->dense_codes[bits]))
        return false;
    const itg_emit_words l = itg_emit_words_for(e, t);
    part parts[2];
    parts_of(&l, parts);
    return order_bytes(parts[0]) + order_bytes(parts[1]) <= (int64_t)h->room;
}

static void write_function(itg_emitter *e, const itg_emit_words *l)
{
    const itg_emit_words_loop loop = {
        .name = "SUMS", .rest = "SUMS", .type = "uint8x16_t", .bytes = true};
    itg_strbuf *out = &e->helpers;
    itg_emit_template(out, begin_text, itg_emit_number(e, l->bits),
                      itg_emit_number(e, (1 << (int)l->bits) - 1), itg_emit_number(e, 8 - l->bits),
                      NULL);
    itg_emit_words_lanes(out, l, &loop, true);
    itg_emit_words_lanes(out, l, &loop, false);
    itg_strbuf_add(out, "    sums[0] = s, sums[1] = t;\n}\n#endif\n\n");
}

void itg_emit_helium_dense(itg_emitter *e, const itg_emit_helium_sums *h)
{
    const itg_emit_mac_view *t = h->t;
    const itg_emit_words l = itg_emit_words_for(e, t);
    const char *filters = itg_emit_number(e, t->filters), *w = t->weights;
    const char *row = itg_emit_number(e, itg_emit_words_row(&l));
    part parts[2];
    itg_emit_words_lanes_helpers(e);
    if (itg_emit_needs(e, "helium_order")) itg_strbuf_add(&e->helpers, order_text);
    if (itg_emit_needs(e, itg_emit_text(e, "helium_dense_%d", (int)l.bits))) write_function(e, &l);
    ITG_EMIT_FORMAT(e,
                    "        uint8_t *const order = arena.u8 + %zu;\n"
                    "        uint32_t sum = 0;\n",
                    h->at);
    parts_of(&l, parts);
    const char *groups = itg_emit_number(e, parts[0].lanes);
    const char *rest = itg_emit_number(e, parts[1].lanes);
    for (int64_t i = 0, from = 0, at = 0; i < 2; i++) {
        const int64_t whole = 4 * parts[i].lanes * parts[i].vectors; /* codes, with zeros behind */
        const int64_t end = from + whole < t->depth ? from + whole : t->depth;
        if (parts[i].lanes > 0)
            ITG_EMIT_FORMAT(e,
                            "        sum += helium_order(in + %s, %s, %d, %s, %s, order + %s);\n",
                            itg_emit_number(e, from), itg_emit_number(e, end - from),
                            h->flip ? 128 : 0, itg_emit_number(e, parts[i].lanes),
                            itg_emit_number(e, parts[i].vectors), itg_emit_number(e, at));
        from = end;
        at += order_bytes(parts[i]);
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
