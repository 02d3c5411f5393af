/* Layers of one position: each weight is used once, so its code is multiplied where it lies
 * (c_words.h). The zero point comes in at the end, by the sum of the inputs. */
#include "realize/emit/c_words.h"

static const char start_text[] =
    "/* The compiler does not use what it knows of v, which would take longer. */\n"
    "#if defined(__arm__) && defined(__GNUC__)\n"
    "#define DENSE_KEEP(v) __asm__(\"\" : \"+r\"(v))\n"
    "#else\n"
    "#define DENSE_KEEP(v)\n"
    "#endif\n"
    "#define DENSE_SUM(sum, more) \\\n"
    "    sum = (int32_t)((uint32_t)sum + (uint32_t)(more)); \\\n"
    "    DENSE_KEEP(sum);\n\n"
    "/* Returns -zero times the sum of x, of whole fours. Puts each four in the order in which "
    "pairs of\n"
    " * codes are taken. */\n"
    "static ONCE int32_t dense_start(int16_t *x, int32_t depth, int32_t zero)\n"
    "{\n"
    "#ifdef PAIRS\n"
    "    int32_t sum = 0, ones = 0x10001;\n"
    "    DENSE_KEEP(ones);\n"
    "    DENSE_KEEP(depth);\n"
    "    for (; depth > 0; depth -= 4, x += 4) {\n"
    "        const uint32_t low = (uint32_t)PAIR(x), high = (uint32_t)PAIR(x + 2);\n"
    "        sum = __smlad((int32_t)low, ones, sum);\n"
    "        sum = __smlad((int32_t)high, ones, sum);\n"
    "        SET_PAIR(x, (low & 0xFFFF) | high << 16);\n"
    "        SET_PAIR(x + 2, low >> 16 | (high & UINT32_C(0xFFFF0000)));\n"
    "    }\n"
    "    return (int32_t)(0 - (uint32_t)sum * (uint32_t)zero);\n"
    "#else\n"
    "    uint32_t sum = 0;\n"
    "    for (int32_t i = 0; i < depth; i++) {\n"
    "        const int32_t one = x[i];\n"
    "        sum += (uint32_t)one;\n"
    "    }\n"
    "    return (int32_t)(0 - sum * (uint32_t)zero);\n"
    "#endif\n"
    "}\n\n"
    "/* Pairs p and p + 1 of codes, the lower ones at bits of w and v: their products. */\n"
    "#ifdef PAIRS\n"
    "#define DENSE_ADD(sum, w, at, both) \\\n"
    "    sum = __smlad((int32_t)((w) >> (at) & codes), both, sum);\n"
    "#define DENSE_NEXT(n) x += 2 * (n);\n"
    "#define DENSE_ONE(w, at, p) \\\n"
    "    one = PAIR(x + 2 * (p)); \\\n"
    "    DENSE_ADD(sum, w, at, one) DENSE_ADD(sum_too, w##_too, at, one)\n"
    "#define DENSE_TWO(w, at, v, then, p) \\\n"
    "    one = PAIR(x + 2 * (p)), other = PAIR(x + 2 * (p) + 2); \\\n"
    "    DENSE_ADD(sum, w, at, one) DENSE_ADD(sum_too, w##_too, at, one) \\\n"
    "    DENSE_ADD(sum, v, then, other) DENSE_ADD(sum_too, v##_too, then, other)\n"
    "#else\n"
    "#define DENSE_NEXT(n) p += n;\n"
    "#define DENSE_ADD(sum, w, at, i) \\\n"
    "    sum = (int32_t)((uint32_t)sum + (uint32_t)((int32_t)((w) >> (at) & one) * x[i]));\n"
    "#define DENSE_BOTH(w, at, i) \\\n"
    "    DENSE_ADD(sum, w, at, i) DENSE_ADD(sum_too, w##_too, at, i) \\\n"
    "    DENSE_ADD(sum, w, (at) + 16, (i) + 2) DENSE_ADD(sum_too, w##_too, (at) + 16, (i) + 2) \\\n"
    "    DENSE_KEEP(sum); \\\n"
    "    DENSE_KEEP(sum_too);\n"
    "#define DENSE_ONE(w, at, p) DENSE_BOTH(w, at, 2 * (p) - ((p) & 1))\n"
    "#define DENSE_TWO(w, at, v, then, p) DENSE_ONE(w, at, p) DENSE_ONE(v, then, (p) + 1)\n"
    "#endif\n"
    "#define DENSE_JOIN(r, w, by) r = w ^ r >> by;\n"
    "#ifdef PAIR\n"
    "#define DENSE_WORD(in, at) ((uint32_t)PAIR((in) + (at)))\n"
    "#else\n"
    "#define DENSE_WORD(in, at) \\\n"
    "    ((uint32_t)(in)[at] | (uint32_t)(in)[(at) + 1] << 8 | (uint32_t)(in)[(at) + 2] << 16 | "
    "\\\n"
    "     (uint32_t)(in)[(at) + 3] << 24)\n"
    "#endif\n"
    "#if defined(WORDS) && !defined(__clang__) && __GNUC__ >= 8\n"
    "/* Loads and sums that move would need more registers. */\n"
    "#define IN_ORDER __attribute__((noipa, unused, optimize(\"no-schedule-insns\")))\n"
    "#else\n"
    "#define IN_ORDER ONCE\n"
    "#endif\n"
    "\n";

static const char begin_text[] =
    "/* Adds the products of x and of two channels' codes of $1 bits to two sums: `groups` times\n"
    " * $1 words a channel, then `rest` words of whole codes. */\n"
    "HOT static IN_ORDER void dense_$1(const uint8_t *in, $2const int16_t *x,\n"
    "                              int32_t groups, int32_t rest, int32_t *sums)\n"
    "{\n"
    "$6"
    "    int32_t sum = sums[0], sum_too = sums[1];\n"
    "    uint32_t w, w_too;\n"
    "#ifdef WORDS\n"
    "    in = __builtin_assume_aligned(in, 4);\n"
    "$3"
    "    x = __builtin_assume_aligned(x, 4);\n"
    "#endif\n"
    "#ifdef PAIRS\n"
    "    int32_t one, other;\n"
    "    uint32_t codes = $4;\n"
    "    DENSE_KEEP(codes);\n"
    "#else\n"
    "    const uint32_t one = $5;\n"
    "#endif\n";

static const char bytes_text[] =
    "#if !defined(__arm__) || !defined(__ARM_FEATURE_UNALIGNED) /* the compiler makes vectors */\n"
    "    uint32_t first = (uint32_t)sums[0], second = (uint32_t)sums[1];\n"
    "    for (int32_t i = 0; i < 32 * groups + 4 * rest; i++) {\n"
    "        first += (uint32_t)(in[i] * x[i]);\n"
    "        second += (uint32_t)(in_too[i] * x[i]);\n"
    "    }\n"
    "    sums[0] = (int32_t)first, sums[1] = (int32_t)second;\n"
    "#else\n";

static const char end_text[] = "    sums[0] = sum, sums[1] = sum_too;\n";

/* Whether each weight is used once, and codes can lie as described. */
static bool has_form(const itg_emit_mac_view *t, const itg_pvalue *w)
{
    return w->data != NULL && t->row == ITG_S16 && t->sum == ITG_S32 && t->patches == 1 &&
           !itg_emit_is_depthwise(t) && !itg_has_zero_points(&w->q) && w->q.bits > 1 &&
           w->q.bits <= 8 && w->elements == t->channels * t->depth;
}

void itg_emit_dense_count(itg_emitter *e)
{
    for (int32_t i = 0; i < e->layer_count; i++) {
        itg_emit_mac_view t;
        if (!itg_emit_is_mac(&e->layers[i])) continue;
        itg_emit_mac_describe(e, &e->layers[i], &t);
        const itg_pvalue *w = &e->p->values[t.s->inputs[1]];
        if (has_form(&t, w)) e->dense_codes[w->q.bits] += w->elements;
    }
}

void itg_emit_dense_describe(const itg_emitter *e, itg_emit_mac_view *t, const itg_pvalue *w)
{
    t->dense = has_form(t, w);
    if (!t->dense) return;
    const itg_emit_words l = itg_emit_words_for(e, t);
    const int64_t length = 2 * (l.groups * ITG_EMIT_GROUP + l.rest * l.fields);
    t->dense = itg_emit_words_fit(&l, t);
    if (t->dense && length > t->padded) t->padded = length;
}

const char *itg_emit_dense_weights(itg_emitter *e, const itg_emit_mac_view *t)
{
    const itg_emit_words l = itg_emit_words_for(e, t);
    return itg_emit_words_array(e, t, &l);
}

/* ---- text ---- */

static void write_function(itg_emitter *e, const itg_emit_words *l)
{
    const char *bits = itg_emit_number(e, l->bits);
    itg_strbuf *out = &e->helpers;
    const itg_emit_words_loop loop = {
        .name = "DENSE",
        .rest = "DENSE",
        .type = "uint32_t",
        .step = "x += 32",
        .rest_step = itg_emit_text(e, "x += %d", 2 * (int)l->fields),
        .counted = l->fields % 2 != 0, /* each second word begins with an odd pair */
        .small = e->codes < ITG_EMIT_MEDIUM,
    };
    const int code = (1 << l->bits) - 1;
    itg_emit_template(
        out, begin_text, bits, itg_emit_words_alternate(l) ? "" : "const uint8_t *in_too, ",
        itg_emit_words_alternate(l) ? "" : "    in_too = __builtin_assume_aligned(in_too, 4);\n",
        itg_emit_text(e, "0x%X", code * 0x10001), itg_emit_text(e, "0x%X", code),
        itg_emit_words_alternate(l) ? "" : bytes_text, NULL);
    itg_emit_words_loops(out, l, &loop, itg_emit_are_many(l->bits, e->dense_codes[l->bits]));
    itg_strbuf_add(out, end_text);
    itg_strbuf_add(out, itg_emit_words_alternate(l) ? "}\n\n" : "#endif\n}\n\n");
}

void itg_emit_dense_helpers(itg_emitter *e)
{
    itg_emit_pairs(e);
    if (itg_emit_needs(e, "dense_start")) itg_strbuf_add(&e->helpers, start_text);
}

void itg_emit_dense_start(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent)
{
    const itg_pvalue *w = &e->p->values[t->w_value];
    const itg_emit_words l = itg_emit_words_for(e, t);
    itg_emit_dense_helpers(e);
    if (itg_emit_needs(e, itg_emit_text(e, "dense_%d", (int)l.bits))) write_function(e, &l);
    ITG_EMIT_FORMAT(e, "%*sconst int32_t start = dense_start(patches, %s, %s);\n", (int)indent, "",
                    itg_emit_number(e, (t->depth + 3) / 4 * 4),
                    itg_emit_number(e, t->w_zero - itg_emit_least_code(w)));
}

void itg_emit_dense_sums(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent)
{
    const itg_emit_words l = itg_emit_words_for(e, t);
    const char *bytes = itg_emit_number(e, itg_emit_words_row(&l)), *in = t->weights;
    const char *group =
        t->groups > 1
            ? itg_emit_text(e, "g * %s + ", itg_emit_number(e, itg_emit_words_rows(&l, t)))
            : "";
    const char *too = itg_emit_words_alternate(&l)
                          ? ""
                          : itg_emit_text(e, "%s + (%sk + rows - 1) * %s, ", in, group, bytes);
    ITG_EMIT_FORMAT(e,
                    "%*sint32_t sums[2] = {start, start};\n"
                    "%*sdense_%d(%s + (%sk) * %s, %spatches, %s, %s, sums);\n",
                    (int)indent, "", (int)indent, "", (int)l.bits, in, group, bytes, too,
                    itg_emit_number(e, l.groups), itg_emit_number(e, l.rest));
}
