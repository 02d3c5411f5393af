/* Helium: convolutions by channels, sixteen of them at a time.
 *
 * Products of two taps have a sum of 16 bits, for a weight is at most 127; only such sums are
 * widened. Widening takes every second element, so that the four vectors of sums of the channels
 * c... hold c + 0, 4, 8, 12; c + 1, 5, 9, 13; and so on. Their terms stand in this order. */
#include "realize/emit/c_helium.h"

enum { LANES = 16, QUADS = 4 };

static const char codes_text[] =
    "#ifdef HELIUM\n"
    "/* Four sums as codes, not limited; terms: multipliers and shifts. */\n"
    "static inline int32x4_t helium_channel_codes$1(int32x4_t v, const int32_t *terms, int32_t "
    "zero)\n"
    "{\n"
    "    const int32x4_t shift = vldrbq_s32((const int8_t *)(terms + 4));\n"
    "    return vqaddq_n_s32(helium_scale$1(v, vldrwq_s32(terms), shift), zero);\n"
    "}\n"
    "#endif\n\n";

/* $2: how 16 channels of x are read. */
static const char depthwise_text[] =
    "#ifdef HELIUM\n"
    "/* Codes of one position: taps of `in`, a step or the rest of a row apart, against those of "
    "w, which\n"
    " * are blocks of 16 channels. */\n"
    "QUICK ONCE void helium_channels$1$3(const helium_layer *l, const int8_t *in, int32_t rows,\n"
    "                                     int32_t columns, int32_t step, int32_t row_rest,\n"
    "                                     const int8_t *w, const int32_t *terms, int8_t *y)\n"
    "{\n"
    "    for (int32_t left = l->step; left > 0; left -= 16, in += 16, y += 16, terms += 36) {\n"
    "        const mve_pred16_t some = vctp8q((uint32_t)left);\n"
    "        int32x4_t s0 = vldrwq_s32(terms), s1 = vldrwq_s32(terms + 9);\n"
    "        int32x4_t s2 = vldrwq_s32(terms + 18), s3 = vldrwq_s32(terms + 27);\n"
    "        const int8_t *x = in;\n"
    "        for (int32_t r = rows; r > 0; r--, x += row_rest)\n"
    "            for (int32_t s = columns; s > 0; s -= 2) {\n"
    "                int8x16_t v = $2, u = vldrbq_s8(w);\n"
    "                int16x8_t even = vmullbq_int_s8(v, u), odd = vmulltq_int_s8(v, u);\n"
    "                x += step, w += 16;\n"
    "                if (s > 1) {\n"
    "                    v = $2, u = vldrbq_s8(w);\n"
    "                    even = vaddq_s16(even, vmullbq_int_s8(v, u));\n"
    "                    odd = vaddq_s16(odd, vmulltq_int_s8(v, u));\n"
    "                    x += step, w += 16;\n"
    "                }\n"
    "                s0 = vaddq_s32(s0, vmovlbq_s16(even));\n"
    "                s1 = vaddq_s32(s1, vmovlbq_s16(odd));\n"
    "                s2 = vaddq_s32(s2, vmovltq_s16(even));\n"
    "                s3 = vaddq_s32(s3, vmovltq_s16(odd));\n"
    "            }\n"
    "        s0 = helium_channel_codes$1(s0, terms + 4, l->zero);\n"
    "        s2 = helium_channel_codes$1(s2, terms + 22, l->zero);\n"
    "        s1 = helium_channel_codes$1(s1, terms + 13, l->zero);\n"
    "        s3 = helium_channel_codes$1(s3, terms + 31, l->zero);\n"
    "        const int16x8_t even = vqmovntq_s32(vqmovnbq_s32(vreinterpretq_s16_s32(s0), s0), "
    "s2);\n"
    "        const int16x8_t odd = vqmovntq_s32(vqmovnbq_s32(vreinterpretq_s16_s32(s1), s1), s3);\n"
    "        int8x16_t v = vqmovnbq_s16(vreinterpretq_s8_s16(even), even);\n"
    "        v = vqmovntq_s16(v, odd);\n"
    "        v = vmaxq_s8(v, vdupq_n_s8((int8_t)l->lo));\n"
    "        vstrbq_p_s8(y, vminq_s8(v, vdupq_n_s8((int8_t)l->hi)), some);\n"
    "    }\n"
    "}\n"
    "#endif\n\n";

/* $1: left; $2: tail. */
static const char positions_text[] =
    "#ifdef HELIUM\n"
    "/* All positions; patch: of those at the border. */\n"
    "static ONCE void helium_depthwise$1$2(const helium_layer *l, const window *g, const uint8_t "
    "*in,\n"
    "                                      uint8_t pad, int32_t positions, uint8_t *patch,\n"
    "                                      const int8_t *w, const int32_t *terms, uint8_t *out)\n"
    "{\n"
    "    const int32_t channels = g->channels;\n"
    "    const int32_t step = g->dilation_x * channels;\n"
    "    const int32_t row = g->dilation_y * g->width * channels - g->columns * step;\n"
    "    const int32_t bottom = g->height - (g->rows - 1) * g->dilation_y;\n"
    "    const int32_t right = g->width - (g->columns - 1) * g->dilation_x;\n"
    "    for (int32_t i = 0; i < positions; i++, out += channels) {\n"
    "        const int32_t v = i / g->out_width * g->stride_y - g->top;\n"
    "        const int32_t h = i % g->out_width * g->stride_x - g->left;\n"
    "        if (v >= 0 && h >= 0 && v < bottom && h < right) {\n"
    "            helium_channels$1$2(l, (const int8_t *)in + (v * g->width + h) * channels, "
    "g->rows,\n"
    "                                g->columns, step, row, w, terms, (int8_t *)out);\n"
    "            continue;\n"
    "        }\n"
    "        uint32_t none;\n"
    "        helium_gather(g, channels, in, 0, pad, 0, i, 1, patch, &none);\n"
    "        helium_channels$1$2(l, (const int8_t *)patch, g->rows, g->columns, channels, 0, w, "
    "terms,\n"
    "                            (int8_t *)out);\n"
    "    }\n"
    "}\n"
    "#endif\n\n";

/* Returns the order of channels: for each block of 16 those of the four vectors in turn. */
static const int32_t *order_of(itg_emitter *e, int64_t channels, int64_t *count)
{
    *count = (channels + LANES - 1) / LANES * LANES;
    int32_t *order = itg_emit_alloc(e, (size_t)*count, sizeof *order);
    for (int64_t i = 0; i < *count && order != NULL; i++) {
        const int64_t c = i / LANES * LANES + i % QUADS * QUADS + i % LANES / QUADS;
        order[i] = c < channels ? (int32_t)c : ITG_NONE;
    }
    return order;
}

/* Whether the sum of two products of codes fits 16 bits. */
static bool pairs_fit(const itg_emitter *e, const itg_emit_mac_view *t)
{
    const itg_quantizer *w = &e->p->values[t->s->inputs[1]].q;
    return w->qmin - w->zero_point >= -INT8_MAX && w->qmax - w->zero_point <= INT8_MAX;
}

static void write_helpers(itg_emitter *e, const char *left, const char *tail)
{
    const char *name = itg_emit_text(e, "%s%s", left, tail);
    itg_emit_helium_copies(e, true);
    itg_emit_helium_unpack(e);
    if (itg_emit_needs(e, itg_emit_text(e, "helium_channel_codes%s", left)))
        itg_emit_template(&e->helpers, codes_text, left, NULL);
    if (!itg_emit_needs(e, itg_emit_text(e, "helium_depthwise%s", name))) return;
    itg_emit_template(&e->helpers, depthwise_text, left,
                      tail[0] != '\0' ? "vldrbq_z_s8(x, some)" : "vldrbq_s8(x)", tail, NULL);
    itg_emit_template(&e->helpers, positions_text, left, tail, NULL);
}

/* Writes statements for the weights as blocks of 16 channels. */
static void write_weights(itg_emitter *e, const itg_emit_helium_sums *h)
{
    const itg_emit_mac_view *t = h->t;
    const itg_pvalue *w = &e->p->values[t->s->inputs[1]];
    const char *channels = itg_emit_number(e, t->channels), *depth = itg_emit_number(e, t->depth);
    ITG_EMIT_FORMAT(
        e,
        "        for (int32_t c = 0; c < %s; c += 16)\n"
        "            for (int32_t i = 0; i < %s; i++)\n"
        "                helium_unpack(%s, %s, %d, i * %s + c, %s - c < 16 ? %s - c : 16, "
        "%s,\n"
        "                              taps + c * %s + i * 16);\n",
        channels, depth, t->weights, itg_emit_number(e, w->elements), (int)w->q.bits, channels,
        channels, channels, t->zero != NULL ? "0" : itg_emit_number(e, h->minus), depth);
    if (t->zero == NULL) return;
    ITG_EMIT_FORMAT(
        e,
        "        for (int32_t c = 0; c < %s; c += 16) {\n"
        "            const uint8x16_t zero = vldrbq_z_u8((const uint8_t *)%s + c, "
        "vctp8q((uint32_t)(%s - c)));\n"
        "            for (uint8_t *at = taps + c * %s; at < taps + (c + 16) * %s; at += "
        "16)\n"
        "                vstrbq_u8(at, vsubq_u8(vldrbq_u8(at), zero));\n"
        "        }\n",
        channels, itg_emit_array(e, "zero", t->zero, t->channels), channels, depth, depth);
}

void itg_emit_helium_depthwise(itg_emitter *e, const itg_emit_helium_sums *h)
{
    const itg_emit_mac_view *t = h->t;
    int64_t count;
    const int32_t *order = order_of(e, t->channels, &count);
    const size_t taps = (size_t)(count * t->depth),
                 patch = (size_t)(t->channels * t->depth + LANES - 1) / LANES * LANES;
    const bool is_signed = t->x.type == ITG_S8 && e->p->values[t->s->outputs[0]].dtype == ITG_S8;
    if (order == NULL || t->filters > 1 || !is_signed || !pairs_fit(e, t) || taps + patch > h->room)
        return;
    itg_emit_helium_begin(e, h, order, count, t->x.zero);
    const char *window = itg_emit_window(e, 8, &t->v.w), *tail = t->channels % LANES ? "_tail" : "";
    write_helpers(e, h->left, tail);
    ITG_EMIT_FORMAT(
        e, "        uint8_t *const taps = arena.u8 + %zu, *const patch = arena.u8 + %zu;\n", h->at,
        h->at + taps);
    write_weights(e, h);
    ITG_EMIT_FORMAT(e,
                    "        helium_depthwise%s%s(&layer, &%s, in, %d, %s, patch, (const int8_t "
                    "*)taps, terms, out);\n",
                    h->left, tail, window, (int)(uint8_t)t->x.zero, itg_emit_number(e, t->patches));
    itg_emit_helium_end(e);
}
