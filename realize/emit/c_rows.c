/* The operands of sums as rows: patches of an image or rows of a matrix, and filters. */
#include "realize/emit/c_mac.h"

/* ---- helpers of the C source ---- */

static const char pairs_text[] =
    "/* WORDS: four bytes at a time, on a 32-bit machine. PAIRS: two products an instruction. */\n"
    "#if defined(__arm__) && defined(__ARM_FEATURE_UNALIGNED) && !defined(__ARM_BIG_ENDIAN)\n"
    "typedef struct __attribute__((packed, may_alias)) pair {\n"
    "    int32_t both;\n"
    "} pair;\n"
    "#define PAIR(p) (((const pair *)(const void *)(p))->both)\n"
    "#endif\n"
    "#if defined(PAIR)$1\n"
    "#define WORDS 1\n"
    "#endif\n"
    "#if defined(PAIR) && defined(__ARM_FEATURE_SIMD32)\n"
    "#include <arm_acle.h>\n"
    "#define PAIRS 1\n"
    "#define SET_PAIR(p, value) (((pair *)(void *)(p))->both = (int32_t)(value))\n"
    "#define TWICE(v) ((int32_t)((uint32_t)(v) << 16 | ((uint32_t)(v) & 0xFFFF)))\n"
    "/* Bytes 0 and 2 of x as two numbers, plus two others. */\n"
    "#define CENTER_S8(plus, x) ((int32_t)__sxtab16((plus), (int8x4_t)(x)))\n"
    "#define CENTER_U8(plus, x) ((int32_t)__uxtab16((uint16x2_t)(plus), (uint8x4_t)(x)))\n"
    "#endif\n"
    "/* UNUSED: some functions have a use on other processors alone. */\n"
    "#ifdef __GNUC__\n"
    "#define UNUSED __attribute__((unused))\n"
    "#else\n"
    "#define UNUSED\n"
    "#endif\n"
    "#if defined(WORDS) && !defined(__clang__)\n"
    "/* Copies cost more than they gain. */\n"
    "#define ONCE __attribute__((noinline, noclone, unused))\n"
    "#elif defined(WORDS) || (defined(__GNUC__) && defined(__OPTIMIZE_SIZE__))\n"
    "#define ONCE __attribute__((noinline, unused))\n"
    "#else\n"
    "#define ONCE inline UNUSED\n"
    "#endif\n"
    "#if defined(WORDS) && !defined(__OPTIMIZE_SIZE__)\n"
    "/* Callers have constant sizes. */\n"
    "#define WITHIN static inline __attribute__((always_inline, unused))\n"
    "#else\n"
    "#define WITHIN HOT SHARED UNUSED\n"
    "#endif\n\n";

static const char four_text[] =
    "#ifdef WORDS\n"
    "/* out[i] = byte i of x - zero. */\n"
    "static inline void four_$1(uint32_t x, int32_t zero, int16_t *out)\n"
    "{\n"
    "#ifdef PAIRS\n"
    "    const uint32_t even = (uint32_t)CENTER_$3(TWICE(-zero), x);\n"
    "    const uint32_t odd = (uint32_t)CENTER_$3(TWICE(-zero), x >> 8 | x << 24);\n"
    "    SET_PAIR(out, (even & 0xFFFF) | odd << 16);\n"
    "    SET_PAIR(out + 2, even >> 16 | (odd & UINT32_C(0xFFFF0000)));\n"
    "#else\n"
    "    out[0] = (int16_t)(($2)x - zero), out[1] = (int16_t)(($2)(x >> 8) - zero);\n"
    "    out[2] = (int16_t)(($2)(x >> 16) - zero), out[3] = (int16_t)(($2)(x >> 24) - zero);\n"
    "#endif\n"
    "}\n"
    "#endif\n\n";

static const char widen_text[] =
    "/* Rows of in[i] - zero, modulo 2^16, which begin `line` numbers apart. */\n"
    "static ONCE void widen_$1(const $2 *in, int32_t step, int32_t rows, int32_t count, int32_t "
    "zero,\n"
    "                     int16_t *out, int32_t line)\n"
    "{\n"
    "    for (step -= count, line -= count; rows > 0; rows--, in += step, out += line) {\n"
    "        int32_t left = count;\n"
    "$3"
    "        for (; left > 0; left--)\n"
    "            *out++ = (int16_t)(*in++ - zero);\n"
    "    }\n"
    "}\n\n";

static const char widen_four_text[] = "#ifdef WORDS\n"
                                      "        for (; left >= 4; left -= 4, in += 4, out += 4)\n"
                                      "            four_$1((uint32_t)PAIR(in), zero, out);\n"
                                      "#endif\n";

static const char gather_begin_text[] =
    "/* Patches of the window at positions first, first + 1...: code - zero, padding 0, each\n"
    " * `padded` numbers long. */\n"
    "HOT static ONCE void gather_$1(const window *g, const $2 *x, int32_t zero, int32_t first,\n"
    "                      int32_t count, int32_t padded, int16_t *out)\n"
    "{\n"
    "    const int32_t row = g->width * g->channels, line = g->columns * g->run;\n";

static const char gather_parts_text[] =
    "    const int32_t whole = g->run == g->channels && g->dilation_x == 1;\n"
    "    for (int32_t i = first; i < first + count; i++, out += padded) {\n"
    "        const int32_t top = i / g->out_width * g->stride_y - g->top;\n"
    "        const int32_t left = i % g->out_width * g->stride_x - g->left;\n"
    "        /* Rows and columns that are inside, and those before them. */\n"
    "        const int32_t above = top < 0 ? (g->dilation_y - 1 - top) / g->dilation_y : 0;\n"
    "        const int32_t before = left < 0 ? (g->dilation_x - 1 - left) / g->dilation_x : 0;\n"
    "        int32_t rows = (g->height - top + g->dilation_y - 1) / g->dilation_y;\n"
    "        int32_t columns = (g->width - left + g->dilation_x - 1) / g->dilation_x;\n"
    "        rows = (rows < g->rows ? rows : g->rows) - above;\n"
    "        columns = (columns < g->columns ? columns : g->columns) - before;\n"
    "        const int32_t n = whole ? columns : 1;\n"
    "        int32_t k = rows < g->rows || columns < g->columns ? 0 : g->rows * line;\n"
    "        for (; k < padded; k++)\n"
    "            out[k] = 0;\n"
    "        for (int32_t s = before; rows > 0 && s < before + columns; s += n)\n"
    "            widen_$1(x + (top + above * g->dilation_y) * row +\n"
    "                         (left + s * g->dilation_x) * g->channels,\n"
    "                     g->dilation_y * row, rows, n * g->run, zero,\n"
    "                     out + above * line + s * g->run, line);\n"
    "    }\n"
    "}\n\n";

/* The same where taps are neighbours and see all channels. */
static const char gather_text[] =
    "    for (int32_t i = first; i < first + count; i++, out += padded) {\n"
    "        const int32_t top = i / g->out_width * g->stride_y - g->top;\n"
    "        const int32_t left = i % g->out_width * g->stride_x - g->left;\n"
    "        /* Rows and columns that are inside, and those before them. */\n"
    "        const int32_t above = top < 0 ? -top : 0, before = left < 0 ? -left : 0;\n"
    "        int32_t rows = g->height - top, columns = g->width - left;\n"
    "        rows = (rows < g->rows ? rows : g->rows) - above;\n"
    "        columns = (columns < g->columns ? columns : g->columns) - before;\n"
    "        int32_t k = rows < g->rows || columns < g->columns ? 0 : g->rows * line;\n"
    "        for (; k < padded; k++)\n"
    "            out[k] = 0;\n"
    "        if (rows > 0 && columns > 0)\n"
    "            widen_$1(x + (top + above) * row + (left + before) * g->run, row, rows,\n"
    "                     columns * g->run, zero, out + above * line + before * g->run, line);\n"
    "    }\n"
    "}\n\n";

static const char gather_wide_text[] =
    "/* The same in 64 bits, channel by channel: the order in which the sum is defined. */\n"
    "static void gather_wide_$1(const window *g, const $2 *x, int64_t zero, int32_t first,\n"
    "                           int32_t count, int64_t *out)\n"
    "{\n"
    "    for (int32_t i = first; i < first + count; i++)\n"
    "        for (int32_t c = 0; c < g->run; c++)\n"
    "            for (int32_t r = 0; r < g->rows; r++)\n"
    "                for (int32_t s = 0; s < g->columns; s++) {\n"
    "                    const int32_t v = i / g->out_width * g->stride_y - g->top\n"
    "                                      + r * g->dilation_y;\n"
    "                    const int32_t h = i % g->out_width * g->stride_x - g->left\n"
    "                                      + s * g->dilation_x;\n"
    "                    const int32_t inside = v >= 0 && v < g->height && h >= 0 && h < "
    "g->width;\n"
    "                    *out++ = inside ? x[(v * g->width + h) * g->channels + c] - zero : 0;\n"
    "                }\n"
    "}\n\n";

static const char rows_text[] =
    "/* Rows of a matrix: code - zero, then zeros up to `padded`. */\n"
    "HOT static void rows_$1_$3(const $2 *x, int32_t row_step, int32_t step, $5 zero, int32_t "
    "count,\n"
    "                       int32_t depth, int32_t padded, $4 *out)\n"
    "{\n"
    "    for (int32_t i = 0; i < count; i++, x += row_step, out += padded) {\n"
    "        for (int32_t j = 0; j < depth; j++)\n"
    "            out[j] = ($4)(x[j * step] - zero);\n"
    "        for (int32_t j = depth; j < padded; j++)\n"
    "            out[j] = 0;\n"
    "    }\n"
    "}\n\n";

/* ---- weights ---- */

/* Order of convolution weights: filter, row, column, channel; one channel each: filter of a
 * channel, row, column, channel. */
static const int64_t *conv_order(itg_emitter *e, const itg_emit_mac_view *t, bool depthwise)
{
    const int64_t taps = t->v.w.kernel[0] * t->v.w.kernel[1], channels = t->depth / taps;
    int64_t *order = itg_emit_alloc(e, (size_t)(t->channels * t->depth), sizeof *order);
    if (order == NULL) return NULL;
    int64_t n = 0;
    if (depthwise) {
        for (int64_t k = 0; k < t->filters; k++)
            for (int64_t tap = 0; tap < taps; tap++)
                for (int64_t g = 0; g < t->groups; g++)
                    order[n++] = (g * t->filters + k) * taps + tap;
        return order;
    }
    for (int64_t k = 0; k < t->channels; k++)
        for (int64_t tap = 0; tap < taps; tap++)
            for (int64_t c = 0; c < channels; c++)
                order[n++] = k * t->depth + c * taps + tap;
    return order;
}

static const int64_t *matrix_order(itg_emitter *e, const itg_emit_mac_view *t, int64_t elements)
{
    int64_t *order = itg_emit_alloc(e, (size_t)elements, sizeof *order);
    const int64_t size = t->filters * t->depth;
    for (int64_t i = 0; order != NULL && i < elements; i++)
        order[i] = i / size * size + i % t->depth * t->filters + i % size / t->depth;
    return order;
}

/* ---- weights with zero points ---- */

static void set_zero_points(itg_emitter *e, itg_emit_mac_view *t)
{
    const itg_quantizer *q = &e->p->values[t->w_value].q;
    const int64_t *zero = itg_emit_zero_points(e, (int32_t)t->w_value);
    const int32_t rank = e->p->values[t->w_value].shape.rank;
    bool differ = false;
    if (zero == NULL) return;
    if (q->axis >= 0 && q->axis != (t->conv ? 0 : rank - (t->transposed ? 2 : 1)))
        itg_emit_fail(e, ITG_UNSUPPORTED, "node", t->s->name,
                      "C source for zero points of weights along another axis than the outputs'");
    for (int32_t i = 1; i < q->scale_count; i++)
        differ |= zero[i] != zero[0];
    if (differ)
        t->zero = zero;
    else
        t->w_zero = zero[0];
}

static const char less_zeros_text[] =
    "/* Takes its zero point off each of `rows` rows of unpacked weights. */\n"
    "HOT static void less_zeros_$1_$3(const $4 *zero, int32_t rows, int32_t depth, $2 *tile)\n"
    "{\n"
    "    for (int32_t r = 0; r < rows; r++, tile += depth)\n"
    "        for (int32_t j = 0; j < depth; j++)\n"
    "            tile[j] = ($2)(tile[j] - zero[r]);\n"
    "}\n\n";

/* From channel `from` on. */
static void less_zeros(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent, const char *from,
                       const char *rows)
{
    if (t->zero == NULL) return;
    const itg_dtype zero = itg_emit_smallest(t->zero, t->channels);
    const char *row_type = itg_dtype_name(t->row), *zero_type = itg_dtype_name(zero);
    const char *name = itg_emit_text(e, "less_zeros_%s_%s", row_type, zero_type);
    if (itg_emit_needs(e, name))
        itg_emit_template(&e->helpers, less_zeros_text, row_type, itg_emit_ctype(t->row), zero_type,
                          itg_emit_ctype(zero), NULL);
    ITG_EMIT_FORMAT(e, "%*s%s(%s + %s, %s, %s, tile);\n", (int)indent, "", name,
                    itg_emit_array(e, "zero", t->zero, t->channels), from, rows,
                    itg_emit_number(e, t->depth));
}

void itg_emit_tap_zeros(itg_emitter *e, const itg_emit_mac_view *t)
{
    const char *groups = itg_emit_number(e, t->groups), *depth = itg_emit_number(e, t->depth);
    const char *filters = itg_emit_number(e, t->filters);
    if (t->zero == NULL) return;
    ITG_EMIT_FORMAT(e,
                    "    for (int32_t k = 0; k < %s; k++)\n"
                    "        for (int32_t j = k * %s; j < (k + 1) * %s; j++)\n"
                    "            for (int32_t c = 0; c < %s; c++)\n"
                    "                taps[j * %s + c] = (int16_t)(taps[j * %s + c] - %s[c * %s + "
                    "k]);\n",
                    filters, depth, depth, groups, groups, groups,
                    itg_emit_array(e, "zero", t->zero, t->channels), filters);
}

/* ---- all weights ---- */

void itg_emit_weights(itg_emitter *e, itg_emit_mac_view *t, bool depthwise)
{
    t->w_value = t->s->inputs[1];
    const itg_pvalue *w = &e->p->values[t->w_value];
    t->w_zero = w->q.zero_point;
    set_zero_points(e, t);
    if (w->data == NULL) {
        t->w = itg_emit_read(e, t->l, 1, true);
        return;
    }
    t->tag = 'n';
    if (t->conv && t->row == ITG_S16 && (depthwise || t->v.w.kernel[0] * t->v.w.kernel[1] > 1)) {
        t->order = conv_order(e, t, depthwise);
        t->tag = depthwise ? 'd' : 'r';
    } else if (!t->conv && !t->transposed) {
        t->order = matrix_order(e, t, w->elements);
        t->tag = 't';
    }
    t->weights = t->dense   ? itg_emit_dense_weights(e, t)
                 : t->stays ? itg_emit_stays_weights(e, t)
                            : itg_emit_packed(e, (int32_t)t->w_value, t->order, t->tag);
}

/* ---- text ---- */

void itg_emit_pairs(itg_emitter *e)
{
    if (itg_emit_needs(e, "pairs"))
        itg_emit_template(&e->helpers, pairs_text,
                          e->codes < ITG_EMIT_SMALL ? " && !defined(__OPTIMIZE_SIZE__)"
                          : e->codes < ITG_EMIT_MEDIUM
                              ? " && (defined(__ARM_FEATURE_SIMD32) || !defined(__OPTIMIZE_SIZE__))"
                              : "",
                          NULL);
}

void itg_emit_four(itg_emitter *e, itg_dtype type)
{
    const char *name = itg_dtype_name(type);
    itg_emit_pairs(e);
    if (itg_emit_needs(e, itg_emit_text(e, "four_%s", name)))
        itg_emit_template(&e->helpers, four_text, name, itg_emit_ctype(type),
                          type == ITG_S8 ? "S8" : "U8", NULL);
}

void itg_emit_widen(itg_emitter *e, itg_dtype type)
{
    itg_strbuf four = {0};
    const char *name = itg_dtype_name(type);
    if (!itg_emit_needs(e, itg_emit_text(e, "widen_%s", name))) return;
    itg_emit_pairs(e);
    if (itg_dtype_size(type) == 1) {
        itg_emit_four(e, type);
        itg_emit_template(&four, widen_four_text, name, NULL);
    }
    e->failed |= four.failed;
    itg_emit_template(&e->helpers, widen_text, name, itg_emit_ctype(type),
                      four.text != NULL ? four.text : "", NULL);
    itg_strbuf_deinit(&four);
}

const char *itg_emit_patches_text(itg_emitter *e, const itg_emit_mac_view *t)
{
    return t->in_place ? itg_emit_text(e, "patches + %s", itg_emit_number(e, t->padded))
                       : "patches";
}

void itg_emit_patches(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent,
                      const char *window, const char *offset)
{
    const char *type = itg_dtype_name(t->x.type), *ctype = itg_emit_ctype(t->x.type);
    const char *to = itg_emit_patches_text(e, t);
    bool wide = t->row == ITG_S64;
    if (t->conv) {
        const char *name = itg_emit_text(e, "gather_%s%s", wide ? "wide_" : "", type);
        if (!wide) itg_emit_widen(e, t->x.type);
        if (itg_emit_needs(e, name)) {
            itg_emit_template(&e->helpers, wide ? gather_wide_text : gather_begin_text, type, ctype,
                              NULL);
            if (!wide)
                itg_emit_template(&e->helpers, e->spread ? gather_parts_text : gather_text, type,
                                  NULL);
        }
        const char *group = "";
        if (t->groups > 1)
            group = itg_emit_text(e, " + g * %s", itg_emit_number(e, t->v.w.channels / t->groups));
        ITG_EMIT_FORMAT(e, "%*s%s(&%s, %s%s%s, %s, first, count%s, %s);\n", (int)indent, "", name,
                        window, t->x.name, offset, group, itg_emit_number(e, t->x.zero),
                        wide ? "" : itg_emit_text(e, ", %s", itg_emit_number(e, t->padded)), to);
        return;
    }
    const char *row = itg_dtype_name(t->row);
    const char *name = itg_emit_text(e, "rows_%s_%s", type, row);
    if (itg_emit_needs(e, name))
        itg_emit_template(&e->helpers, rows_text, type, ctype, row, itg_emit_ctype(t->row),
                          wide ? "int64_t" : "int32_t", NULL);
    const char *depth = itg_emit_number(e, t->depth);
    ITG_EMIT_FORMAT(e, "%*s%s(%s%s + first * %s, %s, 1, %s, count, %s, %s, %s);\n", (int)indent, "",
                    name, t->x.name, offset, depth, depth, itg_emit_number(e, t->x.zero), depth,
                    itg_emit_number(e, t->padded), to);
}

void itg_emit_filters(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent,
                      const char *b_offset)
{
    const char *depth = itg_emit_number(e, t->depth);
    if (t->weights != NULL) {
        const bool all = t->held >= t->filters;
        const char *from = t->held == 0 ? "k" : all ? "0" : "held";
        if (t->stays && e->p->values[t->w_value].q.bits < 8) {
            itg_emit_stays_unpack(e, t, indent, from,
                                  t->held == 0 ? "rows"
                                  : all        ? itg_emit_number(e, t->filters)
                                               : "end - held");
            return;
        }
        const char *group =
            t->groups > 1 ? itg_emit_text(e, "(g * %s + %s)", itg_emit_number(e, t->filters), from)
                          : from;
        const char *first = itg_emit_text(e, "%s * %s%s", group, depth, b_offset);
        const char *count = t->row == ITG_S64 ? depth
                            : t->held == 0    ? itg_emit_text(e, "rows * %s", depth)
                            : all             ? itg_emit_number(e, t->filters * t->depth)
                                              : itg_emit_text(e, "(end - held) * %s", depth);
        itg_emit_unpack(e, indent, (int32_t)t->w_value, t->weights, first, count, t->w_zero, t->row,
                        "tile");
        less_zeros(e, t, indent, group,
                   t->row == ITG_S64 ? "1"
                   : t->held == 0    ? "rows"
                   : all             ? itg_emit_number(e, t->filters)
                                     : "end - held");
        return;
    }
    const char *type = itg_dtype_name(t->w.type), *row = itg_dtype_name(t->row);
    const char *name = itg_emit_text(e, "rows_%s_%s", type, row);
    if (itg_emit_needs(e, name))
        itg_emit_template(&e->helpers, rows_text, type, itg_emit_ctype(t->w.type), row,
                          itg_emit_ctype(t->row), t->row == ITG_S64 ? "int64_t" : "int32_t", NULL);
    const char *columns = itg_emit_number(e, t->filters);
    ITG_EMIT_FORMAT(e, "%*s%s(%s%s + k%s%s, %s, %s, %s, %s, %s, %s, tile);\n", (int)indent, "",
                    name, t->w.name, b_offset, t->transposed ? " * " : "",
                    t->transposed ? depth : "", t->transposed ? depth : "1",
                    t->transposed ? "1" : columns, itg_emit_number(e, t->w.zero),
                    t->row == ITG_S64 ? "1" : "rows", depth, depth);
}
