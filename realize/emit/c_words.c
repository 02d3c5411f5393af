/* Weights as words: where codes lie, and the text that takes them. */
#include "realize/emit/c_words.h"
#include <string.h>

enum { WASTE = 32, FEW = 512 /* bytes */ };

/* ---- where codes lie ---- */

/* loop: whether there are groups; padded: the last one may be of fewer codes. */
static itg_emit_words words_of(int64_t bits, int64_t depth, bool loop, bool padded)
{
    const int64_t pairs = (depth + 3) / 4 * 2, of_bytes = 8 / bits * 2, of_half = 16 / bits;
    const bool halves = !loop && of_half > of_bytes;
    itg_emit_words l = {.bits = bits, .unit = halves ? 16 : 8, .spare = 8 % bits};
    l.fields = halves ? of_half : of_bytes;
    l.groups = loop ? pairs / ITG_EMIT_GROUP : 0;
    l.rest = (pairs - l.groups * ITG_EMIT_GROUP + l.fields - 1) / l.fields;
    if (loop && padded && l.rest > bits) l.groups++, l.rest = 0;
    return l;
}

itg_emit_words itg_emit_words_for(const itg_emitter *e, const itg_emit_mac_view *t)
{
    const int64_t bits = e->p->values[t->s->inputs[1]].q.bits;
    const int64_t codes = t->dense ? e->dense_codes[bits] : e->stay_codes[bits];
    return words_of(bits, t->depth, itg_emit_are_many(bits, codes), t->dense);
}

/* Returns the lower bit of whole pair i of a word. */
static int64_t place_of(const itg_emit_words *l, int64_t i)
{
    return l->unit == 8 ? i / 2 * l->bits + i % 2 * 8 : i * l->bits;
}

int64_t itg_emit_words_rows(const itg_emit_words *l, const itg_emit_mac_view *t)
{
    return itg_emit_words_alternate(l) ? (t->filters + 1) / 2 * 2 : t->filters;
}

static int64_t array_bytes(const itg_emit_words *l, const itg_emit_mac_view *t)
{
    return itg_emit_words_row(l) * itg_emit_words_rows(l, t) * t->groups;
}

bool itg_emit_words_fit(const itg_emit_words *l, const itg_emit_mac_view *t)
{
    const int64_t bytes = t->channels * t->depth * l->bits / 8;
    return array_bytes(l, t) <= bytes + bytes / WASTE + FEW;
}

/* Returns where a channel's word lies, in an array of alternating or consecutive channels. */
static int64_t byte_at(const itg_emit_mac_view *t, const itg_emit_words *l, int64_t channel,
                       int64_t word)
{
    const int64_t k = channel % t->filters;
    const int64_t row = channel / t->filters * itg_emit_words_rows(l, t) + k;
    if (!itg_emit_words_alternate(l)) return row * itg_emit_words_row(l) + 4 * word;
    return row / 2 * 2 * itg_emit_words_row(l) + 8 * word + k % 2 * 4;
}

/* Puts pairs p, p + 1, ... into a word's whole codes; returns the pair behind them. */
static int64_t put_whole(const itg_emit_words *l, const unsigned char *codes, int64_t p,
                         uint32_t *word)
{
    for (int64_t i = 0; i < l->fields; i++, p++) {
        const unsigned char *code = codes + p / 2 * 4 + p % 2;
        *word |= (code[0] | (uint32_t)code[2] << 16) << place_of(l, i);
    }
    return p;
}

/* Sets the bits above whole codes of words up to `last` so that r, which has bits of theirs from
 * bit `at` of its bytes on, has four codes there. */
static void put_joined(const itg_emit_words *l, const unsigned char *codes, int64_t at,
                       uint32_t *last, uint32_t *r)
{
    for (int64_t i = 0; i < 4 * l->bits; i++) {
        const int64_t byte = i / l->bits, bit = at + i % l->bits, before = (7 - bit) / l->spare;
        const uint32_t wrong = (codes[byte] >> i % l->bits & 1U) ^ (*r >> (8 * byte + bit) & 1U);
        last[-before] ^= wrong << (8 * byte + bit + before * l->spare);
        *r ^= wrong << (8 * byte + bit);
    }
}

/* codes: a channel's, with zeros behind; words: zeros. */
static void pack_channel(const itg_emit_words *l, const unsigned char *codes, uint32_t *words)
{
    int64_t p = 0, joined = 0;
    uint32_t r = 0;
    for (int64_t i = 0; i < l->groups * l->bits + l->rest; i++) {
        p = put_whole(l, codes, p, &words[i]);
        if (i >= l->groups * l->bits || l->spare == 0) continue;
        r = words[i] ^ (joined > 0 ? r >> l->spare : 0);
        joined += l->spare;
        if (joined < l->bits) continue;
        put_joined(l, codes + 2 * p, 8 - joined, &words[i], &r);
        p += 2;
        joined -= l->bits;
    }
}

const char *itg_emit_words_array(itg_emitter *e, const itg_emit_mac_view *t,
                                 const itg_emit_words *l)
{
    const itg_pvalue *w = &e->p->values[t->w_value];
    const int64_t all = array_bytes(l, t), row = itg_emit_words_row(l) / 4;
    /* Layers that share weights may have them in different words. */
    const bool padded = l->groups * 2 * ITG_EMIT_GROUP >= t->depth + 4;
    const char *kind = padded ? "p" : l->groups > 0 ? "" : l->unit == 8 ? "s" : "h";
    const bool apart = t->groups > 1 && t->filters % 2 != 0;
    const char *how = itg_emit_text(e, "w%s%s", apart ? itg_emit_number(e, t->groups) : "", kind);
    const char *name = itg_emit_constant_name(e, (int32_t)t->w_value, t->tag, how);
    if (!itg_emit_needs(e, name)) return name;
    unsigned char *bytes = itg_emit_alloc(e, (size_t)all, 1);
    unsigned char *codes =
        itg_emit_alloc(e, (size_t)(2 * (l->groups * ITG_EMIT_GROUP + l->rest * l->fields) + 2), 1);
    uint32_t *words = itg_emit_alloc(e, (size_t)row, sizeof *words);
    for (int64_t c = 0; c < w->elements / t->depth && bytes && codes && words; c++) {
        for (int64_t k = 0; k < t->depth; k++)
            codes[k] = (unsigned char)itg_emit_raw_code(w, t->order, c * t->depth + k);
        memset(words, 0, (size_t)row * sizeof *words);
        pack_channel(l, codes, words);
        for (int64_t i = 0; i < 4 * row; i++)
            bytes[byte_at(t, l, c, i / 4) + i % 4] = (unsigned char)(words[i / 4] >> i % 4 * 8);
    }
    if (bytes && codes && words)
        itg_emit_bytes(e, (int32_t)t->w_value, name, " ALIGNED", bytes, all);
    return name;
}

/* ---- text ---- */

/* Pairs of codes, in their order. */
typedef struct pairs {
    char word[32]; /* 'w', 'r' */
    int at[32], count;
} pairs;

static void add_pair(pairs *list, char word, int64_t at)
{
    list->word[list->count] = word;
    list->at[list->count++] = (int)at;
}

/* Adds the pairs of a word's whole codes; bytes: each second one, which has the other with it. */
static void add_whole(pairs *list, const itg_emit_words *l, bool bytes)
{
    for (int64_t i = 0; i < l->fields; i += bytes ? 2 : 1)
        add_pair(list, 'w', place_of(l, i));
}

/* Adds the pairs at a bit of bytes that were joined. */
static void add_joined(pairs *list, int64_t at, bool bytes)
{
    add_pair(list, 'r', at);
    if (!bytes) add_pair(list, 'r', at + 8);
}

/* Writes pairs from p + first on, two at a time. */
static void write_pairs(itg_strbuf *out, const pairs *list, const char *name, const char *p,
                        int first)
{
    int i = 0;
    for (; i + 2 <= list->count; i += 2)
        itg_strbuf_format(out, "        %s_TWO(%c, %d, %c, %d, %s%d)\n", name, list->word[i],
                          list->at[i], list->word[i + 1], list->at[i + 1], p, first + i);
    if (i < list->count)
        itg_strbuf_format(out, "        %s_ONE(%c, %d, %s%d)\n", name, list->word[i], list->at[i],
                          p, first + i);
}

static void write_words(itg_strbuf *out, const itg_emit_words *l, const itg_emit_words_loop *loop,
                        int word)
{
    const bool alternate = itg_emit_words_alternate(l);
    itg_strbuf_format(out, "        w = %s_WORD(in, %d)", loop->name, (alternate ? 8 : 4) * word);
    if (!loop->one)
        itg_strbuf_format(out, ", w_too = %s_WORD(in%s, %d)", loop->name, alternate ? "" : "_too",
                          alternate ? 8 * word + 4 : 4 * word);
    itg_strbuf_add(out, ";\n");
}

/* Collects a word's spare bits. */
static void write_join(itg_strbuf *out, const itg_emit_words *l, const itg_emit_words_loop *loop,
                       bool first)
{
    for (int i = 0; i < (loop->one ? 1 : 2); i++) {
        const char *too = i > 0 ? "_too" : "";
        if (first)
            itg_strbuf_format(out, "        r%s = w%s;\n", too, too);
        else
            itg_strbuf_format(out, "        %s_JOIN(r%s, w%s, %d)\n", loop->name, too, too,
                              (int)l->spare);
    }
}

static void write_group(itg_strbuf *out, const itg_emit_words *l, const itg_emit_words_loop *loop)
{
    int64_t joined = 0;
    for (int j = 0, p = 0; j < l->bits; j++) {
        pairs list = {.count = 0};
        write_words(out, l, loop, j);
        if (l->spare > 0) write_join(out, l, loop, joined == 0);
        add_whole(&list, l, loop->bytes);
        joined += l->spare;
        if (joined >= l->bits) {
            add_joined(&list, 8 - joined, loop->bytes);
            joined -= l->bits;
        }
        write_pairs(out, &list, loop->name, "", p);
        p += list.count;
    }
}

static void write_groups(itg_strbuf *out, const itg_emit_words *l, const itg_emit_words_loop *loop)
{
    const bool alternate = itg_emit_words_alternate(l);
    const int step = (int)l->bits * (alternate ? 8 : 4);
    itg_strbuf_format(out,
                      "    for (const uint8_t *const end = in + groups * %d; in != end; in += %d, "
                      "%s) {\n",
                      step, step, loop->step);
    if (l->spare > 0)
        itg_strbuf_format(out, "        %s r%s; /* codes of the bits above */\n", loop->type,
                          loop->one ? "" : ", r_too");
    write_group(out, l, loop);
    if (!alternate) itg_strbuf_format(out, "        in_too += %d;\n", step);
    itg_strbuf_add(out, "    }\n");
}

/* Writes the pairs of a word's whole codes, from p on or from a constant place on. */
static void write_word(itg_strbuf *out, const itg_emit_words *l, const itg_emit_words_loop *loop,
                       bool counted)
{
    pairs list = {.count = 0};
    write_words(out, l, loop, 0);
    add_whole(&list, l, loop->bytes);
    write_pairs(out, &list, loop->rest, counted ? "p + " : "", 0);
}

static void write_rest(itg_strbuf *out, const itg_emit_words *l, const itg_emit_words_loop *loop)
{
    itg_strbuf_format(out, "    for (%s; rest > 0; rest--, in += %d, ",
                      loop->counted ? "int32_t p = 0" : "", itg_emit_words_alternate(l) ? 8 : 4);
    if (loop->counted)
        itg_strbuf_format(out, "p += %d) {\n", (int)l->fields);
    else
        itg_strbuf_format(out, "%s) {\n", loop->rest_step);
    write_word(out, l, loop, loop->counted);
    if (!itg_emit_words_alternate(l)) itg_strbuf_add(out, "        in_too += 4;\n");
    itg_strbuf_add(out, "    }\n");
}

/* Writes one loop over the words of groups and of the rest: less text, and slower. */
static void write_small(itg_strbuf *out, const itg_emit_words *l, const itg_emit_words_loop *loop)
{
    itg_strbuf_format(out, "    rest += groups * %d;\n%s", (int)l->bits,
                      loop->one ? "    pairs += groups * 16;\n" : "");
    if (l->spare == 0) {
        write_rest(out, l, loop);
        return;
    }
    itg_strbuf_format(out,
                      "    %s r = 0%s; /* codes of the bits above */\n"
                      "    groups *= %d;\n"
                      "    for (int32_t p = 0, joined = 0; rest > 0; rest--, in += 8) {\n",
                      loop->type, loop->one ? "" : ", r_too = 0", (int)l->bits);
    write_word(out, l, loop, true);
    write_join(out, l, loop, false);
    itg_strbuf_format(out,
                      "        %s_NEXT(%d)\n"
                      "        joined += %d;\n"
                      "        if (groups-- <= 0 || joined < %d) continue;\n"
                      "        %s_TWO(r, 8 - joined, r, 16 - joined, p + 0)\n"
                      "        %s_NEXT(2)\n"
                      "        joined -= %d;\n"
                      "        if (joined == 0) r = 0%s;\n    }\n",
                      loop->name, (int)l->fields, (int)l->spare, (int)l->bits, loop->rest,
                      loop->name, (int)l->bits, loop->one ? "" : ", r_too = 0");
}

void itg_emit_words_loops(itg_strbuf *out, const itg_emit_words *l, const itg_emit_words_loop *loop,
                          bool groups)
{
    const bool small = groups && loop->small;
    if (small) itg_strbuf_add(out, "#ifndef __OPTIMIZE_SIZE__\n");
    if (groups)
        write_groups(out, l, loop);
    else
        itg_strbuf_add(out, "    (void)groups;\n");
    write_rest(out, l, loop);
    if (!small) return;
    itg_strbuf_add(out, "#else\n");
    write_small(out, l, loop);
    itg_strbuf_add(out, "#endif\n");
}

static const char lanes_text[] =
    "#ifdef HELIUM\n"
    "/* Words in lanes, each so many bytes behind `from`. The code at a bit of each byte: the "
    "uppermost\n"
    " * one needs no mask. */\n"
    "#define LANES_WORD(at) vreinterpretq_u8_u32(vldrwq_gather_base_u32(from, at))\n"
    "#define LANES_SHIFT(w, by) \\\n"
    "    vreinterpretq_u8_u32(vshrq_n_u32(vreinterpretq_u32_u8(w), (by) == 0 ? 1 : (by)))\n"
    "#define LANES_JOIN(r, w, by) r = veorq_u8(w, LANES_SHIFT(r, by));\n"
    "#define LANES_CODE(w, at) \\\n"
    "    ((at) == 0 ? vandq_u8(w, codes) \\\n"
    "     : (at) == upper ? vshrq_n_u8(w, upper) \\\n"
    "                     : vandq_u8(vshrq_n_u8(w, (at) == 0 ? 1 : (at)), codes))\n"
    "#endif\n\n";

void itg_emit_words_lanes_helpers(itg_emitter *e)
{
    if (itg_emit_needs(e, "lanes")) itg_strbuf_add(&e->helpers, lanes_text);
}

void itg_emit_words_lanes(itg_strbuf *out, const itg_emit_words *l, const itg_emit_words_loop *loop,
                          bool groups)
{
    /* Words of the rest whose pairs have the same places in every unit. */
    const int unit = l->fields % 2 != 0 ? 2 : 1;
    const int bytes = groups ? 8 * (int)l->bits : 8 * unit;
    const int codes = groups ? 2 * ITG_EMIT_GROUP : 2 * unit * (int)l->fields;
    const char *count = groups ? "groups" : "rest";
    const int all = groups ? 4 : 4 * unit;
    itg_strbuf_format(out,
                      "    %s_LANES(4, %d, %d)\n"
                      "    for (; %s > 0; %s -= %d, in += %d, x += %d) {\n",
                      loop->name, bytes, codes, count, count, all, 4 * bytes, 4 * codes);
    if (groups) {
        itg_strbuf_format(out, "        %s_FEWER(groups, %d, %d)\n", loop->name, bytes, codes);
        if (l->spare > 0)
            itg_strbuf_format(out, "        %s r%s;\n", loop->type, loop->one ? "" : ", r_too");
        write_group(out, l, loop);
    }
    for (int j = 0; j < unit && !groups; j++) {
        pairs list = {.count = 0};
        if (j > 0) itg_strbuf_add(out, "        if (rest == 1) break;\n");
        itg_strbuf_format(out, "        %s_FEWER((rest + %d) / %d, %d, %d)\n", loop->name,
                          unit - 1 - j, unit, bytes, codes);
        write_words(out, l, loop, j);
        add_whole(&list, l, loop->bytes);
        write_pairs(out, &list, loop->rest, "", j * (int)l->fields);
    }
    itg_strbuf_add(out, "    }\n");
    if (groups) itg_strbuf_format(out, "    in += groups * %d;\n", bytes);
    if (groups && loop->one) itg_strbuf_format(out, "    x += groups * %d;\n", codes);
}
