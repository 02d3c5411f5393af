/* Layers of one position: each weight is used once, so its code is multiplied where it lies. The
 * zero point comes in at the end, by the sum of the inputs. */
#include "realize/emit/c_mac.h"

static const char dense_text[] =
    "/* Returns -zero times the sum of x. Puts each four of x in the order in which pairs of "
    "codes\n"
    " * are taken. */\n"
    "static ONCE int32_t dense_start(int16_t *x, int32_t depth, int32_t zero)\n"
    "{\n"
    "    uint32_t sum = 0;\n"
    "    for (int32_t i = 0; i < depth; i++) {\n"
    "        const int32_t one = x[i];\n"
    "        sum += (uint32_t)one;\n"
    "    }\n"
    "#ifdef PAIRS\n"
    "    for (int32_t i = 1; i < depth; i += 4) {\n"
    "        const int16_t other = x[i];\n"
    "        x[i] = x[i + 1], x[i + 1] = other;\n"
    "    }\n"
    "#endif\n"
    "    return (int32_t)(0 - sum * (uint32_t)zero);\n"
    "}\n\n"
    "#if defined(PAIRS)\n"
    "#define DENSE_WORD(i) \\\n"
    "    sum = __smlad((int32_t)(w & codes), PAIR(x + (i)), sum); \\\n"
    "    sum = __smlad((int32_t)(w >> 8 & codes), PAIR(x + (i) + 2), sum);\n"
    "#elif defined(WORDS)\n"
    "#define DENSE_ADD(i, at) \\\n"
    "    sum = (int32_t)((uint32_t)sum + (uint32_t)((int32_t)(w >> (at) & 255) * x[i]));\n"
    "#define DENSE_WORD(i) \\\n"
    "    w &= codes; \\\n"
    "    DENSE_ADD(i, 0) DENSE_ADD((i) + 1, 8) DENSE_ADD((i) + 2, 16) DENSE_ADD((i) + 3, 24)\n"
    "#endif\n"
    "#define DENSE_FOUR(i) \\\n"
    "    w = (uint32_t)PAIR(in + (i))$1; \\\n"
    "    DENSE_WORD(i)\n"
    "static inline int32_t dense_part(const uint8_t *in, int32_t count, int32_t shift,\n"
    "                                 uint32_t codes, const int16_t *x, int32_t sum)\n"
    "{\n"
    "    (void)shift;\n"
    "#ifdef WORDS\n"
    "    uint32_t w;\n"
    "#if defined(PAIRS) && !defined(__OPTIMIZE_SIZE__)\n"
    "    for (; count >= 12; count -= 12, in += 12, x += 12) {\n"
    "        DENSE_FOUR(0)\n"
    "        DENSE_FOUR(4)\n"
    "        DENSE_FOUR(8)\n"
    "    }\n"
    "#endif\n"
    "    for (; count > 0; count -= 4, in += 4, x += 4) {\n"
    "        DENSE_FOUR(0)\n"
    "    }\n"
    "    return sum;\n"
    "#else\n"
    "    uint32_t all = (uint32_t)sum;\n"
    "    for (int32_t i = 0; i < count; i++)\n"
    "        all += (uint32_t)((int32_t)(in[i]$1 & codes) * x[i]);\n"
    "    return (int32_t)all;\n"
    "#endif\n"
    "}\n\n"
    "$4"
    "/* Returns sum plus code[first + i] * x[i], i < count, a multiple of four; codes\n"
    " * as unpack_s16 has them. */\n"
    "HOT static ONCE int32_t dense(const uint8_t *p, int32_t total, int32_t bits, int32_t first,\n"
    "                              const int16_t *x, int32_t count, int32_t sum)\n"
    "{\n"
    "    const int32_t whole = bits == 8 ? total : total / 8;\n"
    "    const uint32_t one = (UINT32_C(1) << bits) - 1;\n"
    "#if defined(PAIRS)\n"
    "    const uint32_t codes = one * UINT32_C(0x00010001);\n"
    "#elif defined(WORDS)\n"
    "    const uint32_t codes = one * UINT32_C(0x01010101);\n"
    "#else\n"
    "    const uint32_t codes = one;\n"
    "#endif\n"
    "    for (int32_t n; count > 0; first += n, count -= n, x += n) {\n"
    "        const int32_t row = first / whole, at = first % whole, shift = row / bits * bits;\n"
    "        const uint8_t *in = p + at + row % bits * whole;\n"
    "        n = whole - at < count ? whole - at : count;\n"
    "$2$3"
    "        sum = dense_part(in, n, shift, codes, x, sum);\n"
    "    }\n"
    "    return sum;\n"
    "}\n\n";

static const char unshifted_text[] = "#ifdef PAIRS\n"
                                     "        if (shift == 0) {\n"
                                     "            sum = dense_part(in, n, 0, codes, x, sum);\n"
                                     "            continue;\n"
                                     "        }\n"
                                     "#endif\n";

static const char pieces_text[] =
    "#ifdef WORDS\n"
    "#define DENSE_PIECE(plane, s) (((uint32_t)PAIR(in + (plane) * whole) & masks) >> (s))\n"
    "#endif\n"
    "/* The same of codes that lie above others, in pieces: one in each of several planes. */\n"
    "static ONCE int32_t dense_pieces(const uint8_t *in, int32_t whole, int32_t count,\n"
    "                                 int32_t bits, int32_t shift, uint32_t codes,\n"
    "                                 const int16_t *x, int32_t sum)\n"
    "{\n"
    "    const int32_t field = 8 / bits * bits, spare = 8 - field, end = field - bits;\n"
    "    const uint32_t mask = 256 - (UINT32_C(1) << field);\n"
    "#ifdef WORDS\n"
    "    const uint32_t masks = mask * UINT32_C(0x01010101);\n"
    "    uint32_t w;\n"
    "#ifndef __OPTIMIZE_SIZE__\n"
    "    const int32_t s1 = shift - spare, s2 = s1 - spare, s3 = s2 - spare;\n"
    "    for (; s2 <= end && count > 0; count -= 4, in += 4, x += 4) { /* two */\n"
    "        w = DENSE_PIECE(0, shift) | DENSE_PIECE(1, s1);\n"
    "        DENSE_WORD(0)\n"
    "    }\n"
    "    for (; s3 <= end && count > 0; count -= 4, in += 4, x += 4) { /* three */\n"
    "        w = DENSE_PIECE(0, shift) | DENSE_PIECE(1, s1) | DENSE_PIECE(2, s2);\n"
    "        DENSE_WORD(0)\n"
    "    }\n"
    "    for (; bits == 7 && count > 0; count -= 4, in += 4, x += 4) { /* seven */\n"
    "        w = DENSE_PIECE(0, 7) | DENSE_PIECE(1, 6) | DENSE_PIECE(2, 5);\n"
    "        w |= DENSE_PIECE(3, 4) | DENSE_PIECE(4, 3) | DENSE_PIECE(5, 2) | DENSE_PIECE(6, 1);\n"
    "        DENSE_WORD(0)\n"
    "    }\n"
    "#endif\n"
    "    for (; count > 0; count -= 4, in += 4, x += 4) {\n"
    "        const uint8_t *from = in;\n"
    "        w = ((uint32_t)PAIR(from) & masks) >> shift;\n"
    "        for (int32_t s = shift - spare; s > end; s -= spare)\n"
    "            from += whole, w |= ((uint32_t)PAIR(from) & masks) >> s;\n"
    "        DENSE_WORD(0)\n"
    "    }\n"
    "    return sum;\n"
    "#else\n"
    "    uint32_t all = (uint32_t)sum;\n"
    "    for (int32_t i = 0; i < count; i++) {\n"
    "        const uint8_t *from = in + i;\n"
    "        uint32_t code = (*from & mask) >> shift;\n"
    "        for (int32_t s = shift - spare; s > end; s -= spare)\n"
    "            from += whole, code |= (*from & mask) >> s;\n"
    "        all += (uint32_t)((int32_t)(code & codes) * x[i]);\n"
    "    }\n"
    "    return (int32_t)all;\n"
    "#endif\n"
    "}\n\n";

static const char in_pieces_text[] =
    "        const int32_t past = (row - 8 / bits * bits) * bits;\n"
    "        if (past >= 0 && bits < 8) {\n"
    "            sum = dense_pieces(p + at + past / (8 % bits) * whole, whole, n, bits,\n"
    "                               8 / bits * bits + past % (8 % bits), codes, x, sum);\n"
    "            continue;\n"
    "        }\n";

bool itg_emit_is_dense(const itg_emit_mac_view *t, const itg_pvalue *w)
{
    const int32_t bits = w->q.bits;
    return w->data != NULL && t->row == ITG_S16 && t->sum == ITG_S32 && t->patches == 1 &&
           t->depth % 4 == 0 && !itg_emit_is_depthwise(t) &&
           (bits == 8 || (bits > 1 && bits < 8 && w->elements % 32 == 0));
}

void itg_emit_dense_start(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent)
{
    const itg_pvalue *w = &e->p->values[t->w_value];
    itg_emit_pairs(e);
    if (itg_emit_needs(e, "dense")) {
        const bool bytes = !itg_emit_has_bits(e->p, 2, 7);
        const bool pieces = itg_emit_has_bits(e->p, 3, 3) || itg_emit_has_bits(e->p, 5, 7);
        itg_emit_template(&e->helpers, dense_text, bytes ? "" : " >> shift",
                          pieces ? in_pieces_text : "", bytes ? "" : unshifted_text,
                          pieces ? pieces_text : "", NULL);
    }
    ITG_EMIT_FORMAT(e, "%*sconst int32_t start = dense_start(patches, %s, %s);\n", (int)indent, "",
                    itg_emit_number(e, t->depth),
                    itg_emit_number(e, t->w_zero - itg_emit_least_code(w)));
}

void itg_emit_dense_sum(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent,
                        const char *offset)
{
    const itg_pvalue *w = &e->p->values[t->w_value];
    const char *depth = itg_emit_number(e, t->depth);
    ITG_EMIT_FORMAT(
        e, "%*sconst int32_t sum[1] = {dense(%s, %s, %d, c * %s%s, patches, %s, start)};\n",
        (int)indent, "", t->weights, itg_emit_number(e, w->elements), (int)w->q.bits, depth, offset,
        depth);
}
