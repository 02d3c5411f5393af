/* Weights as words: where codes lie, and the text that takes them. */
#include "realize/emit/c_words.h"

enum { WASTE = 32, FEW = 512 /* bytes */ };

/* ---- where codes lie ---- */

/* loop: whether there are groups. */
static itg_emit_words words_of(int64_t bits, int64_t depth, bool loop)
{
    const int64_t pairs = (depth + 3) / 4 * 2;
    itg_emit_words l = {.bits = bits, .fields = 16 / bits, .words = 1};
    l.spare = 16 - l.fields * bits;
    while (l.words * l.spare % bits != 0)
        l.words++;
    l.pieces = l.words * l.spare / bits;
    l.groups = loop ? pairs / ITG_EMIT_GROUP : 0;
    l.rest = (pairs - l.groups * ITG_EMIT_GROUP + l.fields - 1) / l.fields;
    return l;
}

itg_emit_words itg_emit_words_for(const itg_emitter *e, const itg_emit_mac_view *t)
{
    const int64_t bits = e->p->values[t->s->inputs[1]].q.bits;
    const int64_t codes = t->dense ? e->dense_codes[bits] : e->stay_codes[bits];
    return words_of(bits, t->depth, codes >= ITG_EMIT_LARGE);
}

/* Returns the bit, of a channel's words, where bit b of the first code of pair p is. */
static int64_t bit_at(const itg_emit_words *l, int64_t p, int64_t b)
{
    const bool within = p < l->groups * ITG_EMIT_GROUP;
    const int64_t whole = l->words * l->fields, unit = whole + l->pieces;
    const int64_t first = within ? p / unit * l->words : l->groups * l->bits;
    const int64_t i = within ? p % unit : p - l->groups * ITG_EMIT_GROUP;
    const int64_t piece = (i - whole) * l->bits + b;
    if (within && piece >= 0)
        return (first + piece / l->spare) * 32 + l->fields * l->bits + piece % l->spare;
    return (first + i / l->fields) * 32 + i % l->fields * l->bits + b;
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

/* Returns the byte, in an array of alternating or consecutive channels, of a channel's byte. */
static int64_t byte_at(const itg_emit_mac_view *t, const itg_emit_words *l, int64_t channel,
                       int64_t byte)
{
    const int64_t k = channel % t->filters;
    const int64_t row = channel / t->filters * itg_emit_words_rows(l, t) + k;
    if (!itg_emit_words_alternate(l)) return row * itg_emit_words_row(l) + byte;
    return row / 2 * 2 * itg_emit_words_row(l) + byte / 4 * 8 + k % 2 * 4 + byte % 4;
}

const char *itg_emit_words_array(itg_emitter *e, const itg_emit_mac_view *t,
                                 const itg_emit_words *l)
{
    const itg_pvalue *w = &e->p->values[t->w_value];
    const int64_t all = array_bytes(l, t);
    /* Groups of an odd number of channels lie in another way, and so do layers with groups. */
    const char *how = itg_emit_text(
        e, "w%s%s", t->groups > 1 && t->filters % 2 != 0 ? itg_emit_number(e, t->groups) : "",
        l->groups > 0 ? "" : "s");
    const char *name = itg_emit_constant_name(e, (int32_t)t->w_value, t->tag, how);
    if (!itg_emit_needs(e, name)) return name;
    unsigned char *bytes = itg_emit_alloc(e, (size_t)all, 1);
    for (int64_t i = 0; i < w->elements && bytes != NULL; i++) {
        const int64_t k = i % t->depth, p = k / 4 * 2 + k % 2, upper = k % 4 / 2;
        const uint64_t code = itg_emit_raw_code(w, t->order, i);
        for (int64_t b = 0; b < l->bits; b++) {
            const int64_t at = bit_at(l, p, b) + 16 * upper;
            unsigned char *byte = bytes + byte_at(t, l, i / t->depth, at / 8);
            *byte = (unsigned char)(*byte | (code >> b & 1) << at % 8);
        }
    }
    if (bytes != NULL) itg_emit_bytes(e, (int32_t)t->w_value, name, " ALIGNED", bytes, all);
    return name;
}

/* ---- text ---- */

/* Pairs of codes, in their order. */
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
    itg_strbuf_format(out, "        w = %s_WORD(in + %d)", loop->name, (alternate ? 8 : 4) * word);
    if (!loop->one)
        itg_strbuf_format(out, ", w_too = %s_WORD(in%s + %d)", loop->name, alternate ? "" : "_too",
                          alternate ? 8 * word + 4 : 4 * word);
    itg_strbuf_add(out, ";\n");
}

/* Collects a word's spare bits. */
static void write_join(itg_strbuf *out, const itg_emit_words *l, const itg_emit_words_loop *loop,
                       bool first)
{
    const unsigned top = (0xFFFFu << (l->fields * l->bits) & 0xFFFFu) * 0x10001u;
    for (int i = 0; i < (loop->one ? 1 : 2); i++) {
        const char *too = i > 0 ? "_too" : "";
        if (first)
            itg_strbuf_format(out, "        %s_FIRST(r%s, w%s, 0x%X)\n", loop->name, too, too, top);
        else
            itg_strbuf_format(out, "        %s_JOIN(r%s, w%s, 0x%X, %d)\n", loop->name, too, too,
                              top, (int)l->spare);
    }
}

static void write_group(itg_strbuf *out, const itg_emit_words *l, const itg_emit_words_loop *loop)
{
    for (int j = 0, p = 0; j < l->bits; j++) {
        pairs list = {.count = 0};
        write_words(out, l, loop, j);
        if (l->spare > 0) write_join(out, l, loop, j % l->words == 0);
        add_pairs(&list, 'w', 0, l->bits, l->fields);
        if ((j + 1) % l->words == 0)
            add_pairs(&list, 'r', 16 - l->pieces * l->bits, l->bits, l->pieces);
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
    add_pairs(&list, 'w', 0, l->bits, l->fields);
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
    pairs list = {.count = 0};
    if (l->bits != l->words)
        itg_strbuf_format(out, "    groups *= %d;\n", (int)(l->bits / l->words));
    itg_strbuf_format(out,
                      "    %s r = 0%s; /* codes of the bits above, of %d words */\n"
                      "    for (int32_t p = 0, left = %d; rest > 0; rest--, in += 8) {\n",
                      loop->type, loop->one ? "" : ", r_too = 0", (int)l->words, (int)l->words);
    write_word(out, l, loop, true);
    write_join(out, l, loop, false);
    itg_strbuf_format(out,
                      "        %s_NEXT(%d)\n"
                      "        if (--left > 0 || groups == 0) continue;\n",
                      loop->name, (int)l->fields);
    add_pairs(&list, 'r', 16 - l->pieces * l->bits, l->bits, l->pieces);
    write_pairs(out, &list, loop->rest, "p + ", 0);
    itg_strbuf_format(out,
                      "        %s_NEXT(%d)\n"
                      "        r = %s0, left = %d, groups--;\n    }\n",
                      loop->name, (int)l->pieces, loop->one ? "" : "r_too = ", (int)l->words);
}

void itg_emit_words_loops(itg_strbuf *out, const itg_emit_words *l, const itg_emit_words_loop *loop,
                          bool groups)
{
    const bool small = groups && (l->spare == 0 || loop->small);
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
        itg_strbuf_format(out, "        %s_FEWER(groups, %d, %d)\n        %s r%s;\n", loop->name,
                          bytes, codes, loop->type, loop->one ? "" : ", r_too");
        write_group(out, l, loop);
    }
    for (int j = 0; j < unit && !groups; j++) {
        pairs list = {.count = 0};
        if (j > 0) itg_strbuf_add(out, "        if (rest == 1) break;\n");
        itg_strbuf_format(out, "        %s_FEWER((rest + %d) / %d, %d, %d)\n", loop->name,
                          unit - 1 - j, unit, bytes, codes);
        write_words(out, l, loop, j);
        add_pairs(&list, 'w', 0, l->bits, loop->bytes ? l->fields / 2 : l->fields);
        write_pairs(out, &list, loop->name, "", j * (int)l->fields);
    }
    itg_strbuf_add(out, "    }\n");
    if (groups) itg_strbuf_format(out, "    in += groups * %d;\n", bytes);
    if (groups && loop->one) itg_strbuf_format(out, "    x += groups * %d;\n", codes);
}
