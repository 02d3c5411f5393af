/* Layers of one position: each weight is used once, so its code is multiplied where it lies. The
 * zero point comes in at the end, by the sum of the inputs.
 *
 * The codes of a channel, b bits each, lie in 32-bit words. A half of a word (16 bits) holds
 * f = 16 / b whole codes; code i of the lower half and code i of the upper one are a pair, which
 * one instruction multiplies. The 16 - f * b bits above them hold more codes, each in the bits of
 * several words, so that b words hold a group of 16 pairs. What a channel has beyond whole groups
 * follows in words of whole codes alone, as do all codes of a width of which there are too few to
 * be worth the loop over groups. Pair p of a channel is its codes 4 * (p / 2) + p % 2 and the
 * second one after it, in which order codes of 8 bits lie one after another. The words of two
 * channels that are computed together alternate; those of 8 bits, which Helium reads too, lie one
 * channel behind the other. */
#include "realize/emit/c_mac.h"

enum { GROUP = 16 /* pairs */, LARGE = 4096 /* codes */, WASTE = 32, FEW = 64 /* bytes */ };

static const char start_text[] =
    "/* The compiler does not use what it knows of v, which would take longer. */\n"
    "#if defined(__arm__) && defined(__GNUC__)\n"
    "#define DENSE_KEEP(v) __asm__(\"\" : \"+r\"(v))\n"
    "#else\n"
    "#define DENSE_KEEP(v)\n"
    "#endif\n\n"
    "/* Returns -zero times the sum of x. Puts each four of x in the order in which pairs of "
    "codes\n"
    " * are taken. */\n"
    "static ONCE int32_t dense_start(int16_t *x, int32_t depth, int32_t zero)\n"
    "{\n"
    "#ifdef PAIRS\n"
    "    int32_t sum = 0, ones = 0x10001;\n"
    "    DENSE_KEEP(ones);\n"
    "    for (; depth >= 4; depth -= 4, x += 4) {\n"
    "        const uint32_t low = (uint32_t)PAIR(x), high = (uint32_t)PAIR(x + 2);\n"
    "        sum = __smlad((int32_t)low, ones, sum);\n"
    "        sum = __smlad((int32_t)high, ones, sum);\n"
    "        SET_PAIR(x, (low & 0xFFFF) | high << 16);\n"
    "        SET_PAIR(x + 2, low >> 16 | (high & UINT32_C(0xFFFF0000)));\n"
    "    }\n"
    "    for (; depth > 0; depth--)\n"
    "        sum = (int32_t)((uint32_t)sum + (uint32_t)*x++);\n"
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
    "#define DENSE_ONE(w, at, p) \\\n"
    "    one = PAIR(x + 2 * (p)); \\\n"
    "    DENSE_ADD(sum, w, at, one) DENSE_ADD(sum_too, w##_too, at, one)\n"
    "#define DENSE_TWO(w, at, v, then, p) \\\n"
    "    one = PAIR(x + 2 * (p)), other = PAIR(x + 2 * (p) + 2); \\\n"
    "    DENSE_ADD(sum, w, at, one) DENSE_ADD(sum_too, w##_too, at, one) \\\n"
    "    DENSE_ADD(sum, v, then, other) DENSE_ADD(sum_too, v##_too, then, other)\n"
    "#else\n"
    "#define DENSE_ADD(sum, w, at, i) \\\n"
    "    sum = (int32_t)((uint32_t)sum + (uint32_t)((int32_t)((w) >> (at) & one) * x[i]));\n"
    "#define DENSE_BOTH(w, at, i) \\\n"
    "    DENSE_ADD(sum, w, at, i) DENSE_ADD(sum_too, w##_too, at, i) \\\n"
    "    DENSE_ADD(sum, w, (at) + 16, (i) + 2) DENSE_ADD(sum_too, w##_too, (at) + 16, (i) + 2) \\\n"
    "    DENSE_KEEP(sum); \\\n"
    "    DENSE_KEEP(sum_too);\n"
    "#define DENSE_ONE(w, at, p) DENSE_BOTH(w, at, (p) / 2 * 4 + (p) % 2)\n"
    "#define DENSE_TWO(w, at, v, then, p) DENSE_ONE(w, at, p) DENSE_ONE(v, then, (p) + 1)\n"
    "#endif\n"
    "#ifdef WORDS\n"
    "#define DENSE_WORD(p) ((uint32_t)PAIR(p))\n"
    "#else\n"
    "#define DENSE_WORD(p) \\\n"
    "    ((uint32_t)(p)[0] | (uint32_t)(p)[1] << 8 | (uint32_t)(p)[2] << 16 | (uint32_t)(p)[3] << "
    "24)\n"
    "#endif\n"
    "#if defined(WORDS) && !defined(__clang__) && __GNUC__ >= 8\n"
    "/* Loads and sums that move would need more registers. */\n"
    "#define IN_ORDER __attribute__((noipa, optimize(\"no-schedule-insns\")))\n"
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

/* ---- where codes lie ---- */

typedef struct layout {
    int64_t bits, fields, spare; /* of half a word */
    int64_t words, pieces;       /* words whose spare bits are whole codes, and how many */
    int64_t groups, rest;        /* of a channel; the rest in words */
} layout;

static layout layout_of(const itg_emitter *e, const itg_emit_mac_view *t, int64_t bits)
{
    layout l = {.bits = bits, .fields = 16 / bits, .words = 1};
    l.spare = 16 - l.fields * bits;
    while (l.words * l.spare % bits != 0)
        l.words++;
    l.pieces = l.words * l.spare / bits;
    l.groups = e->dense_codes[bits] >= LARGE ? t->depth / 2 / GROUP : 0;
    l.rest = (t->depth / 2 - l.groups * GROUP + l.fields - 1) / l.fields;
    if (l.groups > 0 && l.rest >= bits) l.groups++, l.rest = 0;
    return l;
}

/* Returns the bit, of a channel's words, where bit b of the first code of pair p is. */
static int64_t bit_at(const layout *l, int64_t p, int64_t b)
{
    const bool within = p < l->groups * GROUP;
    const int64_t whole = l->words * l->fields, unit = whole + l->pieces;
    const int64_t first = within ? p / unit * l->words : l->groups * l->bits;
    const int64_t i = within ? p % unit : p - l->groups * GROUP;
    const int64_t piece = (i - whole) * l->bits + b;
    if (within && piece >= 0)
        return (first + piece / l->spare) * 32 + l->fields * l->bits + piece % l->spare;
    return (first + i / l->fields) * 32 + i % l->fields * l->bits + b;
}

/* Whether the words of two channels alternate. */
static bool alternates(const layout *l)
{
    return l->bits < 8;
}

/* Returns the channels of a group in the array: an odd one has another of zeros beside it. */
static int64_t rows_of(const layout *l, const itg_emit_mac_view *t)
{
    return alternates(l) ? (t->filters + 1) / 2 * 2 : t->filters;
}

/* Returns the bytes of a channel. */
static int64_t row_bytes(const layout *l)
{
    return 4 * (l->groups * l->bits + l->rest);
}

static int64_t array_bytes(const layout *l, const itg_emit_mac_view *t)
{
    return row_bytes(l) * rows_of(l, t) * t->groups;
}

/* Whether each weight is used once, and codes can lie as described. */
static bool has_form(const itg_emit_mac_view *t, const itg_pvalue *w)
{
    return w->data != NULL && t->row == ITG_S16 && t->sum == ITG_S32 && t->patches == 1 &&
           t->depth % 4 == 0 && !itg_emit_is_depthwise(t) && w->q.bits > 1 && w->q.bits <= 8 &&
           w->elements == t->channels * t->depth;
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
    if (!has_form(t, w)) return;
    const layout l = layout_of(e, t, w->q.bits);
    const int64_t bytes = w->elements * l.bits / 8;
    const int64_t length = 2 * (l.groups * GROUP + l.rest * l.fields);
    if (array_bytes(&l, t) > bytes + bytes / WASTE + FEW) return;
    t->dense = true;
    if (length > t->padded) t->padded = length;
}

/* Returns the byte, in an array of alternating or consecutive channels, of a channel's byte. */
static int64_t byte_at(const itg_emit_mac_view *t, const layout *l, int64_t channel, int64_t byte)
{
    const int64_t k = channel % t->filters, row = channel / t->filters * rows_of(l, t) + k;
    if (!alternates(l)) return row * row_bytes(l) + byte;
    return row / 2 * 2 * row_bytes(l) + byte / 4 * 8 + k % 2 * 4 + byte % 4;
}

const char *itg_emit_dense_weights(itg_emitter *e, const itg_emit_mac_view *t)
{
    const itg_pvalue *w = &e->p->values[t->w_value];
    const layout l = layout_of(e, t, w->q.bits);
    const int64_t all = array_bytes(&l, t);
    /* Groups of an odd number of channels lie in another way. */
    const char *how = t->groups > 1 && t->filters % 2 != 0
                          ? itg_emit_text(e, "w%s", itg_emit_number(e, t->groups))
                          : "w";
    const char *name = itg_emit_constant_name(e, (int32_t)t->w_value, t->tag, how);
    if (!itg_emit_needs(e, name)) return name;
    unsigned char *bytes = itg_emit_alloc(e, (size_t)all, 1);
    for (int64_t i = 0; i < w->elements && bytes != NULL; i++) {
        const int64_t k = i % t->depth, p = k / 4 * 2 + k % 2, upper = k % 4 / 2;
        const uint64_t code = itg_emit_raw_code(w, t->order, i);
        for (int64_t b = 0; b < l.bits; b++) {
            const int64_t at = bit_at(&l, p, b) + 16 * upper;
            unsigned char *byte = bytes + byte_at(t, &l, i / t->depth, at / 8);
            *byte = (unsigned char)(*byte | (code >> b & 1) << at % 8);
        }
    }
    if (bytes != NULL) itg_emit_bytes(e, (int32_t)t->w_value, name, " ALIGNED", bytes, all);
    return name;
}

/* ---- text ---- */

/* Pairs of codes, in the order of their products. */
typedef struct pairs {
    char word[32]; /* 'w', 'r' */
    int at[32], count;
} pairs;

static void add_pairs(pairs *list, char word, int64_t at, int64_t bits, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        list->word[list->count] = word;
        list->at[list->count++] = (int)(at + i * bits);
    }
}

/* Writes their products with x from 2 * (p + first) on, two pairs at a time. */
static void write_pairs(itg_strbuf *out, const pairs *list, const char *p, int first)
{
    int i = 0;
    for (; i + 2 <= list->count; i += 2)
        itg_strbuf_format(out, "        DENSE_TWO(%c, %d, %c, %d, %s%d)\n", list->word[i],
                          list->at[i], list->word[i + 1], list->at[i + 1], p, first + i);
    if (i < list->count)
        itg_strbuf_format(out, "        DENSE_ONE(%c, %d, %s%d)\n", list->word[i], list->at[i], p,
                          first + i);
}

static void write_take(itg_strbuf *out, const layout *l, int word)
{
    if (alternates(l))
        itg_strbuf_format(out, "        w = DENSE_WORD(in + %d), w_too = DENSE_WORD(in + %d);\n",
                          8 * word, 8 * word + 4);
    else
        itg_strbuf_format(out,
                          "        w = DENSE_WORD(in + %d), w_too = DENSE_WORD(in_too + %d);\n",
                          4 * word, 4 * word);
}

static void write_group(itg_strbuf *out, const layout *l)
{
    const unsigned top = (0xFFFFu << (l->fields * l->bits) & 0xFFFFu) * 0x10001u;
    for (int j = 0, p = 0; j < l->bits; j++) {
        pairs list = {.count = 0};
        write_take(out, l, j);
        if (l->spare > 0 && j % l->words == 0)
            itg_strbuf_format(out,
                              "        r = w & 0x%X, r_too = w_too & 0x%X;\n"
                              "        DENSE_KEEP(r);\n        DENSE_KEEP(r_too);\n",
                              top, top);
        else if (l->spare > 0)
            itg_strbuf_format(out,
                              "        r = r >> %d | (w & 0x%X), r_too = r_too >> %d | (w_too & "
                              "0x%X);\n",
                              (int)l->spare, top, (int)l->spare, top);
        add_pairs(&list, 'w', 0, l->bits, l->fields);
        if ((j + 1) % l->words == 0)
            add_pairs(&list, 'r', 16 - l->pieces * l->bits, l->bits, l->pieces);
        write_pairs(out, &list, "", p);
        p += list.count;
    }
}

static void write_groups(itg_strbuf *out, const layout *l)
{
    const int step = (int)l->bits * (alternates(l) ? 8 : 4);
    if (l->spare == 0) itg_strbuf_add(out, "#ifndef __OPTIMIZE_SIZE__\n");
    itg_strbuf_format(out,
                      "    for (const uint8_t *const end = in + groups * %d; in != end; in += %d, "
                      "x += %d) {\n",
                      step, step, 2 * GROUP);
    if (l->spare > 0)
        itg_strbuf_add(out, "        uint32_t r, r_too; /* codes of the bits above */\n");
    write_group(out, l);
    if (!alternates(l)) itg_strbuf_format(out, "        in_too += %d;\n", step);
    itg_strbuf_add(out, "    }\n");
    if (l->spare == 0)
        itg_strbuf_format(out, "#else\n    rest += groups * %d;\n#endif\n", (int)l->bits);
}

static void write_function(itg_emitter *e, const layout *l)
{
    const char *bits = itg_emit_number(e, l->bits);
    itg_strbuf *out = &e->helpers;
    pairs list = {.count = 0};
    const bool odd = l->fields % 2 != 0; /* each second word begins with an odd pair */
    const int code = (1 << l->bits) - 1;
    itg_emit_template(out, begin_text, bits, alternates(l) ? "" : "const uint8_t *in_too, ",
                      alternates(l) ? "" : "    in_too = __builtin_assume_aligned(in_too, 4);\n",
                      itg_emit_text(e, "0x%X", code * 0x10001), itg_emit_text(e, "0x%X", code),
                      alternates(l) ? "" : bytes_text, NULL);
    if (e->dense_codes[l->bits] >= LARGE)
        write_groups(out, l);
    else
        itg_strbuf_add(out, "    (void)groups;\n");
    if (odd)
        itg_strbuf_format(out, "    for (int32_t p = 0; rest > 0; rest--, in += 8, p += %d) {\n",
                          (int)l->fields);
    else
        itg_strbuf_format(out, "    for (; rest > 0; rest--, in += %d, x += %d) {\n",
                          alternates(l) ? 8 : 4, 2 * (int)l->fields);
    write_take(out, l, 0);
    add_pairs(&list, 'w', 0, l->bits, l->fields);
    write_pairs(out, &list, odd ? "p + " : "", 0);
    if (!alternates(l)) itg_strbuf_add(out, "        in_too += 4;\n");
    itg_strbuf_add(out, "    }\n");
    itg_strbuf_add(out, end_text);
    itg_strbuf_add(out, alternates(l) ? "}\n\n" : "#endif\n}\n\n");
}

void itg_emit_dense_helpers(itg_emitter *e)
{
    itg_emit_pairs(e);
    if (itg_emit_needs(e, "dense_start")) itg_strbuf_add(&e->helpers, start_text);
}

void itg_emit_dense_start(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent)
{
    const itg_pvalue *w = &e->p->values[t->w_value];
    const layout l = layout_of(e, t, w->q.bits);
    itg_emit_dense_helpers(e);
    if (itg_emit_needs(e, itg_emit_text(e, "dense_%d", (int)l.bits))) write_function(e, &l);
    ITG_EMIT_FORMAT(e, "%*sconst int32_t start = dense_start(patches, %s, %s);\n", (int)indent, "",
                    itg_emit_number(e, t->depth),
                    itg_emit_number(e, t->w_zero - itg_emit_least_code(w)));
}

void itg_emit_dense_sums(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent)
{
    const layout l = layout_of(e, t, e->p->values[t->w_value].q.bits);
    const char *bytes = itg_emit_number(e, row_bytes(&l)), *in = t->weights;
    const char *group =
        t->groups > 1 ? itg_emit_text(e, "g * %s + ", itg_emit_number(e, rows_of(&l, t))) : "";
    const char *too =
        alternates(&l) ? "" : itg_emit_text(e, "%s + (%sk + rows - 1) * %s, ", in, group, bytes);
    ITG_EMIT_FORMAT(e,
                    "%*sint32_t sums[2] = {start, start};\n"
                    "%*sdense_%d(%s + (%sk) * %s, %spatches, %s, %s, sums);\n",
                    (int)indent, "", (int)indent, "", (int)l.bits, in, group, bytes, too,
                    itg_emit_number(e, l.groups), itg_emit_number(e, l.rest));
}
