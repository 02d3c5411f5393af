#include "recover/table.h"
#include "base/packed.h"
#include <math.h>
#include <stdlib.h>

#define MOST_CODES (INT64_C(1) << 40)

void itg_recovered_destroy(itg_recovered *table)
{
    if (!table) return;
    itg_strategy_destroy(table->s);
    free(table->choices);
    free(table);
}

itg_status itg_recovered_apply(const itg_recovered *table, itg_strategy *s, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int32_t e = 0; e < s->edge_count && status == ITG_OK; e++) {
        const itg_edge_choice *made = itg_recovered_entry(table, e, s->edges[e].bits);
        const int32_t passed_over = s->edges[e].passed_over;
        if (!made->codes || made->channel_count != s->edges[e].channel_count ||
            (made->zero != NULL) != (s->edges[e].zero != NULL))
            continue; /* made for another spec */
        status = itg_strategy_set_edge(s, e, made, err);
        s->edges[e].passed_over = passed_over;
    }
    return status;
}

/* ---- as bytes: edge, bits, the choice; edge -1 ends ---- */

static void pack_choice(const itg_edge_choice *c, itg_strbuf *out)
{
    const double range[] = {c->lo, c->hi};
    itg_pack_int(out, c->method);
    itg_pack(out, range, 2, sizeof *range);
    itg_pack_int(out, c->channel_count);
    itg_pack(out, c->channel, (size_t)c->channel_count, sizeof *c->channel);
    itg_pack_int(out, c->zero != NULL);
    itg_pack(out, c->zero, c->zero ? (size_t)c->channel_count : 0, 1);
    itg_pack_int(out, c->code_count);
    itg_pack(out, c->codes, (size_t)itg_packed_bytes(c->code_count, c->bits), 1);
    itg_pack_int(out, c->bias ? c->bias_count : 0);
    itg_pack(out, c->bias, c->bias ? (size_t)c->bias_count : 0, sizeof *c->bias);
}

void itg_recovered_pack(const itg_recovered *table, itg_strbuf *out)
{
    for (int32_t e = 0; e < table->s->edge_count; e++)
        for (int32_t bits = 1; bits < ITG_RECOVERED_WIDTHS; bits++) {
            const itg_edge_choice *c = itg_recovered_entry(table, e, bits);
            if (!c->codes) continue; /* itg_recovered_apply takes no notice of it */
            itg_pack_int(out, e);
            itg_pack_int(out, bits);
            pack_choice(c, out);
        }
    itg_pack_int(out, -1);
}

/* A copy of what follows, in the table's arena. */
static void *unpack_items(itg_unpacker *u, itg_arena *arena, int64_t count, size_t size)
{
    void *items = itg_unpack_array(u, count, size);
    void *kept = items ? itg_arena_copy(arena, items, (size_t)count * size + 1) : NULL;
    if (items && !kept) itg_unpack_no_memory(u);
    free(items);
    return kept;
}

static void unpack_choice(itg_unpacker *u, itg_arena *arena, int32_t bits, itg_edge_choice *out)
{
    itg_edge_choice c = {.bits = bits};
    double range[2] = {0};
    c.method = (itg_threshold_method)itg_unpack_int(u, 0, ITG_THRESHOLD_METHOD_COUNT - 1,
                                                    "a threshold method");
    (void)itg_unpack_finite(u, range, 2, "a threshold");
    c.lo = range[0];
    c.hi = range[1];
    c.channel_count = (int32_t)itg_unpack_int(u, 0, INT32_MAX, "a number of channels");
    c.channel = unpack_items(u, arena, c.channel_count, sizeof *c.channel);
    for (int32_t i = 0; u->status == ITG_OK && i < c.channel_count; i++)
        if (!(c.channel[i] >= 0) || isinf(c.channel[i]))
            itg_unpack_refuse(u, "the threshold of a channel is %g", c.channel[i]);
    const int64_t zeros = itg_unpack_int(u, 0, 1, "whether there are zero points");
    const uint8_t *zero = unpack_items(u, arena, zeros * c.channel_count, sizeof *zero);
    c.zero = zeros ? zero : NULL;
    c.code_count = itg_unpack_int(u, 1, MOST_CODES, "a number of codes");
    c.codes = unpack_items(u, arena, itg_packed_bytes(c.code_count, bits), 1);
    if (c.codes && !itg_packed_ends(c.codes, bits, c.code_count))
        itg_unpack_refuse(u, "bits behind the last code, expected 0");
    c.bias_count = (int32_t)itg_unpack_int(u, 0, INT32_MAX, "a number of biases");
    const float *bias = unpack_items(u, arena, c.bias_count, sizeof *bias);
    for (int32_t i = 0; u->status == ITG_OK && i < c.bias_count; i++)
        if (!isfinite(bias[i])) itg_unpack_refuse(u, "a bias is not finite");
    c.bias = c.bias_count > 0 ? bias : NULL;
    if (u->status == ITG_OK) *out = c;
}

void itg_recovered_unpack(itg_unpacker *u, const itg_graph *g, itg_recovered **out)
{
    itg_recovered *t = u->status == ITG_OK ? calloc(1, sizeof *t) : NULL;
    if (u->status == ITG_OK && !t) itg_unpack_no_memory(u);
    if (!t) return;
    u->status = itg_strategy_create(g, &t->s, u->err);
    int32_t edges = t->s ? t->s->edge_count : 0;
    t->choices = calloc((size_t)edges * ITG_RECOVERED_WIDTHS + 1, sizeof *t->choices);
    if (!t->choices) itg_unpack_no_memory(u);
    while (u->status == ITG_OK) {
        int64_t edge = itg_unpack_int(u, -1, edges - 1, "an edge");
        if (edge < 0 || u->status != ITG_OK) break;
        int32_t bits = (int32_t)itg_unpack_int(u, 1, ITG_RECOVERED_WIDTHS - 1, "a width");
        if (u->status == ITG_OK)
            unpack_choice(u, t->s->arena, bits, itg_recovered_entry(t, (int32_t)edge, bits));
    }
    if (u->status == ITG_OK)
        *out = t;
    else
        itg_recovered_destroy(t);
}
