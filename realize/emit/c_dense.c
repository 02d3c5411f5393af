/* Layers of one position: each weight is used once, so its code is multiplied where it lies. The
 * zero point comes in at the end, by the sum of the inputs. */
#include "realize/emit/c_mac.h"

enum { LARGE = 8192 }; /* codes */

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
    "#define DENSE_WORD(sum, codes, i) \\\n"
    "    sum = __smlad((int32_t)(w & codes), PAIR(x + (i)), sum); \\\n"
    "    sum = __smlad((int32_t)(w >> 8 & codes), PAIR(x + (i) + 2), sum);\n"
    "#elif defined(WORDS)\n"
    "#define DENSE_ADD(sum, i, at) \\\n"
    "    sum = (int32_t)((uint32_t)sum + (uint32_t)((int32_t)(w >> (at) & 255) * x[i]));\n"
    "#define DENSE_WORD(sum, codes, i) \\\n"
    "    w &= codes; \\\n"
    "    DENSE_ADD(sum, i, 0) DENSE_ADD(sum, (i) + 1, 8) \\\n"
    "    DENSE_ADD(sum, (i) + 2, 16) DENSE_ADD(sum, (i) + 3, 24)\n"
    "#endif\n"
    "#define DENSE_FOUR(i) \\\n"
    "    w = (uint32_t)PAIR(in + (i)); \\\n"
    "    DENSE_WORD(sum, codes, i) \\\n"
    "    w = (uint32_t)PAIR(in_too + (i)); \\\n"
    "    DENSE_WORD(sum_too, codes_too, i)\n"
    "#if defined(PAIRS) && !defined(__clang__) && __GNUC__ >= 8\n"
    "#define UNKNOWN __attribute__((noipa)) /* known masks would need more instructions */\n"
    "#else\n"
    "#define UNKNOWN ONCE\n"
    "#endif\n"
    "/* Adds the products of x and of bytes to two sums. Of a byte only the bits of a mask count. "
    "*/\n"
    "HOT static UNKNOWN void dense_part(const uint8_t *in, const uint8_t *in_too, uint32_t mask,\n"
    "                                uint32_t mask_too, const int16_t *x, int32_t count,\n"
    "                                int32_t *sums)\n"
    "{\n"
    "#ifdef WORDS\n"
    "#ifdef PAIRS\n"
    "    in = __builtin_assume_aligned(in, 4);\n"
    "    in_too = __builtin_assume_aligned(in_too, 4);\n"
    "    x = __builtin_assume_aligned(x, 4);\n"
    "    const uint32_t each = UINT32_C(0x00010001);\n"
    "#else\n"
    "    const uint32_t each = UINT32_C(0x01010101);\n"
    "#endif\n"
    "    const uint32_t codes = mask * each, codes_too = mask_too * each;\n"
    "    int32_t sum = sums[0], sum_too = sums[1];\n"
    "    uint32_t w;\n"
    "$1"
    "#if !defined(__clang__) && __GNUC__ >= 8\n"
    "#pragma GCC unroll 1\n"
    "#endif\n"
    "    for (; count > 0; count -= 4, in += 4, in_too += 4, x += 4) {\n"
    "        DENSE_FOUR(0)\n"
    "    }\n"
    "    sums[0] = sum, sums[1] = sum_too;\n"
    "#else\n"
    "    uint32_t sum = (uint32_t)sums[0], sum_too = (uint32_t)sums[1];\n"
    "    for (int32_t i = 0; i < count; i++) {\n"
    "        sum += (uint32_t)((int32_t)(in[i] & mask) * x[i]);\n"
    "        sum_too += (uint32_t)((int32_t)(in_too[i] & mask_too) * x[i]);\n"
    "    }\n"
    "    sums[0] = (int32_t)sum, sums[1] = (int32_t)sum_too;\n"
    "#endif\n"
    "}\n\n";

static const char unrolled_text[] =
    "#if defined(PAIRS) && !defined(__OPTIMIZE_SIZE__)\n"
    "    for (; count >= 16; count -= 16, in += 16, in_too += 16, x += 16) {\n"
    "        DENSE_FOUR(0)\n"
    "        DENSE_FOUR(4)\n"
    "        DENSE_FOUR(8)\n"
    "        DENSE_FOUR(12)\n"
    "    }\n"
    "#endif\n";

static const char packed_text[] =
    "#define DENSE_TAKE(i) \\\n"
    "    sums[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)(part[i] / (1 << low[i])));\n"
    "/* The same of packed codes from first and from too on, as unpack_s16 has them; products of\n"
    " * `most` at a time do not overflow. A code multiplies where it lies in its byte, and sums "
    "are\n"
    " * divided by what that makes of 1$1. */\n"
    "static ONCE void dense(const uint8_t *p, int32_t total, int32_t bits, int32_t first,\n"
    "                       int32_t too, const int16_t *x, int32_t count, int32_t most,\n"
    "                       int32_t *sums)\n"
    "{\n"
    "    const int32_t whole = total / 8;\n"
    "    const uint32_t one = (UINT32_C(1) << bits) - 1;\n"
    "    for (int32_t n; count > 0; first += n, too += n, count -= n, x += n) {\n"
    "        const int32_t from[2] = {first, too};\n"
    "        const uint8_t *in[2];\n"
    "        int32_t low[2], part[2] = {0, 0};\n"
    "$2"
    "        n = count < most ? count : most;\n"
    "        for (int32_t i = 0; i < 2; i++) {\n"
    "            const int32_t row = from[i] / whole, at = from[i] % whole;\n"
    "            n = whole - at < n ? whole - at : n;\n"
    "            low[i] = row / bits * bits;\n"
    "            in[i] = p + at + row % bits * whole;\n"
    "$3"
    "        }\n"
    "$4"
    "    }\n"
    "}\n\n";

static const char whole_text[] =
    "        dense_part(in[0], in[1], one << low[0], one << low[1], x, n, part);\n"
    "        for (int32_t i = 0; i < 2; i++)\n"
    "            DENSE_TAKE(i)\n";

static const char find_pieces_text[] = "            within[i] = 255;\n"
                                       "            if (row < field) continue;\n"
                                       "            const int32_t past = (row - field) * bits;\n"
                                       "            low[i] = field + past % spare;\n"
                                       "            in[i] = p + at + past / spare * whole;\n"
                                       "            within[i] = 256 - (UINT32_C(1) << field);\n";

static const char pieces_text[] =
    "        for (int32_t more = 1; more;) {\n"
    "            more = part[0] = part[1] = 0;\n"
    "            dense_part(in[0], in[1], one << low[0] & within[0], one << low[1] & within[1], "
    "x,\n"
    "                       n, part);\n"
    "            for (int32_t i = 0; i < 2; i++) {\n"
    "                if (low[i] == 8) continue;\n"
    "                DENSE_TAKE(i)\n"
    "                low[i] = low[i] - spare > field - bits ? low[i] - spare : 8;\n"
    "                if (low[i] < 8) in[i] += whole, more = 1;\n"
    "            }\n"
    "        }\n";

bool itg_emit_is_dense(const itg_emit_mac_view *t, const itg_pvalue *w)
{
    const int32_t bits = w->q.bits;
    return w->data != NULL && t->row == ITG_S16 && t->sum == ITG_S32 && t->patches == 1 &&
           t->depth % 4 == 0 && !itg_emit_is_depthwise(t) &&
           (bits == 8 || (bits > 1 && bits < 8 && w->elements % 32 == 0));
}

/* Whether a layer is so large that a longer loop is worth its place. */
static bool has_large(itg_emitter *e)
{
    for (int32_t i = 0; i < e->layer_count; i++) {
        itg_emit_mac_view t;
        if (!itg_emit_is_mac(&e->layers[i])) continue;
        itg_emit_mac_describe(e, &e->layers[i], &t);
        if (t.dense && t.depth * t.filters >= LARGE) return true;
    }
    return false;
}

static void write_packed(itg_emitter *e)
{
    if (itg_emit_has_bits(e->p, 3, 3) || itg_emit_has_bits(e->p, 5, 7))
        itg_emit_template(&e->helpers, packed_text, "; so does each piece of one in pieces",
                          "        const int32_t field = 8 / bits * bits, spare = 8 - field;\n"
                          "        uint32_t within[2];\n",
                          find_pieces_text, pieces_text, NULL);
    else
        itg_emit_template(&e->helpers, packed_text, "", "", "", whole_text, NULL);
}

/* Products at a time: no more than 2^31 by a byte and the largest of the inputs. */
static int64_t most_products(const itg_emit_mac_view *t)
{
    return itg_dtype_size(t->x.type) == 1 ? 32768 : 128;
}

void itg_emit_dense_start(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent)
{
    const itg_pvalue *w = &e->p->values[t->w_value];
    itg_emit_pairs(e);
    if (itg_emit_needs(e, "dense_part"))
        itg_emit_template(&e->helpers, dense_text, has_large(e) ? unrolled_text : "", NULL);
    if (w->q.bits < 8 && itg_emit_needs(e, "dense")) write_packed(e);
    ITG_EMIT_FORMAT(e, "%*sconst int32_t start = dense_start(patches, %s, %s);\n", (int)indent, "",
                    itg_emit_number(e, t->depth),
                    itg_emit_number(e, t->w_zero - itg_emit_least_code(w)));
}

void itg_emit_dense_sums(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent, const char *c,
                         const char *too, const char *offset)
{
    const itg_pvalue *w = &e->p->values[t->w_value];
    const char *depth = itg_emit_number(e, t->depth);
    ITG_EMIT_FORMAT(e, "%*sint32_t sums[2] = {start, start};\n", (int)indent, "");
    if (w->q.bits == 8)
        ITG_EMIT_FORMAT(e,
                        "%*sdense_part(%s + (%s) * %s%s, %s + (%s) * %s%s, 255, 255, patches, %s, "
                        "sums);\n",
                        (int)indent, "", t->weights, c, depth, offset, t->weights, too, depth,
                        offset, depth);
    else
        ITG_EMIT_FORMAT(
            e, "%*sdense(%s, %s, %d, (%s) * %s%s, (%s) * %s%s, patches, %s, %s, sums);\n",
            (int)indent, "", t->weights, itg_emit_number(e, w->elements), (int)w->q.bits, c, depth,
            offset, too, depth, offset, depth, itg_emit_number(e, most_products(t)));
}
