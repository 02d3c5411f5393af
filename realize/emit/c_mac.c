/* Convolutions and matrix products: rows of the first operand (patches) against rows of the second
 * (filters), unpacked four at a time; convolutions of one channel each by their own loop. */
#include "realize/emit/emit.h"
#include <string.h>

enum { FILTERS = 4, MOST_PATCHES = 64, PATCH_BYTES = 8192 };

typedef struct mac {
    const itg_emit_layer *l;
    const itg_step *s;
    bool conv, saturates, split;
    itg_window_view v;
    itg_matmul_view m;
    bool transposed;
    int64_t groups, patches, filters, depth, padded, block, rows, channels;
    itg_dtype row, sum;
    itg_emit_operand x, w; /* w: of activations */
    const char *weights;   /* packed; NULL: activations */
    int64_t w_value, w_zero;
    const int64_t *bias;
} mac;

/* ---- helpers of the C source ---- */

static const char gather_text[] =
    "/* Patches of the window at positions first, first + 1...: code - zero, padding 0, each\n"
    " * `padded` numbers long. */\n"
    "HOT static void gather_$1(const window *g, const $2 *x, int32_t zero, int32_t first,\n"
    "                      int32_t count, int32_t padded, int16_t *out)\n"
    "{\n"
    "    const int32_t whole = g->run == g->channels && g->dilation_x == 1;\n"
    "    for (int32_t i = first; i < first + count; i++) {\n"
    "        const int32_t top = i / g->out_width * g->stride_y - g->top;\n"
    "        const int32_t left = i % g->out_width * g->stride_x - g->left;\n"
    "        int16_t *const end = out + padded;\n"
    "        for (int32_t r = 0; r < g->rows; r++) {\n"
    "            const int32_t v = top + r * g->dilation_y;\n"
    "            const int32_t inside = v >= 0 && v < g->height;\n"
    "            for (int32_t s = 0, n; s < g->columns; s += n) {\n"
    "                const int32_t h = left + s * g->dilation_x;\n"
    "                const int32_t rest = g->columns - s;\n"
    "                n = !inside || (whole && h >= 0 && h + rest <= g->width) ? rest : 1;\n"
    "                const int32_t length = n * g->run;\n"
    "                if (inside && h >= 0 && h < g->width) {\n"
    "                    const $2 *in = x + (v * g->width + h) * g->channels;\n"
    "                    for (int32_t c = 0; c < length; c++)\n"
    "                        out[c] = (int16_t)(in[c] - zero);\n"
    "                } else {\n"
    "                    for (int32_t c = 0; c < length; c++)\n"
    "                        out[c] = 0;\n"
    "                }\n"
    "                out += length;\n"
    "            }\n"
    "        }\n"
    "        while (out < end)\n"
    "            *out++ = 0;\n"
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

static const char dot_text[] =
    "static inline $1 dot_$2_one(const int16_t *a, const int16_t *b, int32_t depth)\n"
    "{\n"
    "    $3 sum = 0;\n"
    "    for (int32_t i = 0; i < depth; i++)\n"
    "        sum += ($3)((int32_t)a[i] * b[i]);\n"
    "    return ($1)sum;\n"
    "}\n\n"
    "/* acc[r * stride + p] = sum of a[r * depth_a + i] * b[p * depth + i], i < depth; rows <= 4. "
    "What\n"
    " * a has beyond a row's end meets zeros of b. */\n"
    "HOT SHARED void dot_$2(const int16_t *a, int32_t rows, int32_t depth_a, const int16_t *b,\n"
    "                    int32_t count, int32_t depth, $1 *acc, int32_t stride)\n"
    "{\n"
    "    int32_t p = 0;\n"
    "#ifndef __OPTIMIZE_SIZE__\n"
    "    if (rows == 4) {\n"
    "        const int16_t *a1 = a + depth_a, *a2 = a1 + depth_a, *a3 = a2 + depth_a;\n"
    "        for (; p + 2 <= count; p += 2) {\n"
    "            const int16_t *b0 = b + p * depth, *b1 = b0 + depth;\n"
    "            $3 s00 = 0, s01 = 0, s10 = 0, s11 = 0, s20 = 0, s21 = 0, s30 = 0, s31 = 0;\n"
    "            for (int32_t i = 0; i < depth; i++) {\n"
    "                s00 += ($3)((int32_t)a[i] * b0[i]);\n"
    "                s01 += ($3)((int32_t)a[i] * b1[i]);\n"
    "                s10 += ($3)((int32_t)a1[i] * b0[i]);\n"
    "                s11 += ($3)((int32_t)a1[i] * b1[i]);\n"
    "                s20 += ($3)((int32_t)a2[i] * b0[i]);\n"
    "                s21 += ($3)((int32_t)a2[i] * b1[i]);\n"
    "                s30 += ($3)((int32_t)a3[i] * b0[i]);\n"
    "                s31 += ($3)((int32_t)a3[i] * b1[i]);\n"
    "            }\n"
    "            acc[p] = ($1)s00;\n"
    "            acc[p + 1] = ($1)s01;\n"
    "            acc[stride + p] = ($1)s10;\n"
    "            acc[stride + p + 1] = ($1)s11;\n"
    "            acc[2 * stride + p] = ($1)s20;\n"
    "            acc[2 * stride + p + 1] = ($1)s21;\n"
    "            acc[3 * stride + p] = ($1)s30;\n"
    "            acc[3 * stride + p + 1] = ($1)s31;\n"
    "        }\n"
    "    }\n"
    "#endif\n"
    "    for (; p < count; p++)\n"
    "        for (int32_t r = 0; r < rows; r++)\n"
    "            acc[r * stride + p] = dot_$2_one(a + r * depth_a, b + p * depth, depth);\n"
    "}\n\n";

static const char dot_wide_text[] =
    "/* Sums of 64-bit rows, modulo 2^64. */\n"
    "static void dot_wide(const int64_t *a, const int64_t *b, int32_t count, int32_t depth,\n"
    "                     int64_t *acc)\n"
    "{\n"
    "    for (int32_t p = 0; p < count; p++, b += depth) {\n"
    "        uint64_t sum = 0;\n"
    "        for (int32_t i = 0; i < depth; i++)\n"
    "            sum += (uint64_t)a[i] * (uint64_t)b[i];\n"
    "        acc[p] = (int64_t)sum;\n"
    "    }\n"
    "}\n\n";

static const char dot_saturate_text[] =
    "/* Sums from the bias on, limited after every addition. */\n"
    "static void dot_saturate(const int64_t *a, const int64_t *b, int32_t count, int32_t depth,\n"
    "                         int64_t bias, int64_t lo, int64_t hi, int64_t *acc)\n"
    "{\n"
    "    for (int32_t p = 0; p < count; p++, b += depth) {\n"
    "        int64_t sum = bias < lo ? lo : bias > hi ? hi : bias;\n"
    "        for (int32_t i = 0; i < depth; i++) {\n"
    "            sum += a[i] * b[i];\n"
    "            sum = sum < lo ? lo : sum > hi ? hi : sum;\n"
    "        }\n"
    "        acc[p] = sum;\n"
    "    }\n"
    "}\n\n";

static const char dot_split_text[] =
    "/* Sums in parts that end before the terms `end`: bias and parts are divided by 2^shift each. "
    "*/\n"
    "static void dot_split_$1(const int64_t *a, const int64_t *b, int32_t count, int32_t depth,\n"
    "                      int64_t bias, int32_t shift, const int32_t *end, int64_t *acc)\n"
    "{\n"
    "    for (int32_t p = 0; p < count; p++, b += depth) {\n"
    "        int64_t sum = $1(bias, shift);\n"
    "        for (int32_t i = 0, k = 0; i < depth; k++) {\n"
    "            int64_t part = 0;\n"
    "            for (; i < end[k]; i++)\n"
    "                part += a[i] * b[i];\n"
    "            sum += $1(part, shift);\n"
    "        }\n"
    "        acc[p] = sum;\n"
    "    }\n"
    "}\n\n";

static const char depthwise_text[] =
    "/* Sums of one position, a channel each, from 0 on. */\n"
    "HOT static void depthwise_$1_$3(const window *g, const $2 *x, int32_t zero, const int16_t "
    "*taps,\n"
    "                            int32_t position, $4 *acc)\n"
    "{\n"
    "    const int32_t top = position / g->out_width * g->stride_y - g->top;\n"
    "    const int32_t left = position % g->out_width * g->stride_x - g->left;\n"
    "    const int32_t channels = g->channels;\n"
    "    for (int32_t c = 0; c < channels; c++)\n"
    "        acc[c] = 0;\n"
    "    for (int32_t r = 0; r < g->rows; r++)\n"
    "        for (int32_t s = 0; s < g->columns; s++) {\n"
    "            const int32_t v = top + r * g->dilation_y, h = left + s * g->dilation_x;\n"
    "            if (v < 0 || v >= g->height || h < 0 || h >= g->width) continue;\n"
    "            const $2 *in = x + (v * g->width + h) * channels;\n"
    "            const int16_t *w = taps + (r * g->columns + s) * channels;\n"
    "            for (int32_t c = 0; c < channels; c++)\n"
    "                acc[c] = ($4)(($5)acc[c] + ($5)((int32_t)(int16_t)(in[c] - zero) * w[c]));\n"
    "        }\n"
    "}\n\n";

/* ---- what is to be computed, and in which types ---- */

static bool fits16(int64_t lo, int64_t hi)
{
    return lo >= INT16_MIN && hi <= INT16_MAX;
}

static void choose_types(mac *t, const itg_quantizer *x, const itg_quantizer *w)
{
    const itg_step *s = t->s;
    bool over = !itg_step_fits(s), wrap = s->acc.overflow == ITG_OVERFLOW_WRAP;
    t->saturates = over && !wrap;
    t->split = s->split.part_count > 0;
    bool narrow = fits16(x->qmin - x->zero_point, x->qmax - x->zero_point) &&
                  fits16(w->qmin - w->zero_point, w->qmax - w->zero_point);
    t->row = narrow && !t->saturates && !t->split ? ITG_S16 : ITG_S64;
    bool fits32 = over ? s->acc.bits <= 32 : s->acc_lo >= INT32_MIN && s->acc_hi <= INT32_MAX;
    t->sum = t->row == ITG_S16 && fits32 ? ITG_S32 : ITG_S64;
}

static itg_status describe(itg_emitter *e, const itg_emit_layer *l, mac *t)
{
    const itg_program *p = e->p;
    memset(t, 0, sizeof *t);
    t->l = l;
    t->s = l->step;
    t->conv = t->s->kind == ITG_STEP_CONV;
    const itg_pvalue *x = &p->values[t->s->inputs[0]], *w = &p->values[t->s->inputs[1]];
    const itg_pvalue *y = &p->values[t->s->outputs[0]];
    t->groups = 1;
    if (t->conv) {
        t->v = itg_window_of(ITG_OP_CONV, &t->s->attrs, &x->shape, &y->shape);
        t->groups = t->v.w.group;
        t->patches = t->v.w.out_height * t->v.w.out_width;
        t->channels = t->v.w.out_channels;
        t->filters = t->channels / t->groups;
        t->depth = w->elements / t->channels;
    } else {
        itg_shape ignored;
        itg_status status =
            itg_matmul_of(&x->shape, &w->shape, t->s->attrs.trans_b, &t->m, &ignored, e->err);
        if (status != ITG_OK) return status;
        t->transposed = t->s->attrs.trans_b || w->shape.rank == 1;
        t->patches = t->m.m;
        t->filters = t->channels = t->m.n;
        t->depth = t->m.k;
    }
    choose_types(t, &x->q, &w->q);
    if (t->conv && w->data == NULL)
        return itg_fail(e->err, ITG_UNSUPPORTED,
                        "%s: node '%s': C source for a convolution whose weights are computed",
                        p->name, t->s->name);
    if (t->saturates) {
        int64_t a = x->q.qmax - x->q.qmin, b = w->q.qmax - w->q.qmin;
        if (t->s->acc.bits > 62 || (b > 0 && a > ((int64_t)1 << 62) / b))
            return itg_fail(e->err, ITG_UNSUPPORTED,
                            "%s: node '%s': C source saturates sums of at most 62 bits", p->name,
                            t->s->name);
    }
    int64_t unit = t->row == ITG_S64 || t->depth < 16 ? 1 : t->depth < 96 ? 8 : 16;
    t->padded = (t->depth + unit - 1) / unit * unit;
    t->rows = t->row == ITG_S64 ? 1 : FILTERS;
    t->block = PATCH_BYTES / (t->padded * (int64_t)itg_dtype_size(t->row));
    t->block = t->block < 4 ? 4 : t->block > MOST_PATCHES ? MOST_PATCHES : t->block;
    if (t->block > t->patches) t->block = t->patches;
    if (t->s->input_count > 2) t->bias = p->values[t->s->inputs[2]].data;
    return ITG_OK;
}

static bool is_depthwise(const mac *t)
{
    return t->conv && t->groups > 1 && t->filters == 1 && t->v.w.channels == t->groups &&
           t->row == ITG_S16;
}

/* ---- weights ---- */

/* Order of convolution weights: filter, row, column, channel; one channel each: row, column,
 * filter. */
static const int64_t *conv_order(itg_emitter *e, const mac *t, bool depthwise)
{
    const int64_t taps = t->v.w.kernel[0] * t->v.w.kernel[1], channels = t->depth / taps;
    int64_t *order = itg_emit_alloc(e, (size_t)(t->channels * t->depth), sizeof *order);
    if (order == NULL) return NULL;
    int64_t n = 0;
    if (depthwise) {
        for (int64_t tap = 0; tap < taps; tap++)
            for (int64_t k = 0; k < t->channels; k++)
                order[n++] = k * taps + tap;
        return order;
    }
    for (int64_t k = 0; k < t->channels; k++)
        for (int64_t tap = 0; tap < taps; tap++)
            for (int64_t c = 0; c < channels; c++)
                order[n++] = k * t->depth + c * taps + tap;
    return order;
}

static const int64_t *matrix_order(itg_emitter *e, const mac *t, int64_t elements)
{
    int64_t *order = itg_emit_alloc(e, (size_t)elements, sizeof *order);
    const int64_t size = t->filters * t->depth;
    for (int64_t i = 0; order != NULL && i < elements; i++)
        order[i] = i / size * size + i % t->depth * t->filters + i % size / t->depth;
    return order;
}

static void set_weights(itg_emitter *e, mac *t, bool depthwise)
{
    t->w_value = t->s->inputs[1];
    const itg_pvalue *w = &e->p->values[t->w_value];
    t->w_zero = w->q.zero_point;
    if (w->data == NULL) {
        t->w = itg_emit_read(e, t->l, 1, true);
        return;
    }
    const int64_t *order = NULL;
    char tag = 'n';
    if (t->conv && t->row == ITG_S16 && (depthwise || t->v.w.kernel[0] * t->v.w.kernel[1] > 1)) {
        order = conv_order(e, t, depthwise);
        tag = depthwise ? 'd' : 'r';
    } else if (!t->conv && !t->transposed) {
        order = matrix_order(e, t, w->elements);
        tag = 't';
    }
    t->weights = itg_emit_packed(e, (int32_t)t->w_value, order, tag);
}

/* ---- text ---- */

static const char *bias_text(itg_emitter *e, const mac *t, const char *index)
{
    if (t->bias == NULL) return "0";
    return itg_emit_channel(e, "bias", t->bias, t->channels, index);
}

/* The finished sum: acc[...] and the bias. */
static const char *sum_text(itg_emitter *e, const mac *t, const char *acc, const char *index)
{
    const char *bias = t->saturates || t->split ? "0" : bias_text(e, t, index);
    const char *v = acc;
    if (strcmp(bias, "0") != 0)
        v = t->sum == ITG_S32
                ? itg_emit_text(e, "(int32_t)((uint32_t)%s + (uint32_t)%s)", acc, bias)
                : itg_emit_text(e, "(int64_t)((uint64_t)%s + (uint64_t)%s)", acc, bias);
    return t->saturates || t->split ? v : itg_emit_fit(e, t->s, t->sum, v);
}

/* From acc to every output, `at` being the index of the first code and each further one a step of
 * all channels away. */
static itg_status write_outputs(itg_emitter *e, const mac *t, int32_t indent, const char *acc,
                                const char *index, const char *at, const char *offset)
{
    for (int32_t o = 0; o < t->s->output_count; o++) {
        const itg_pvalue *y = &e->p->values[t->s->outputs[o]];
        itg_emit_requant q;
        itg_status status = itg_emit_requantize(e, t->s, o, 0, t->channels, t->sum, index, &q);
        if (status != ITG_OK) return status;
        const char *name = itg_emit_output(e, t->l, o), *type = itg_emit_ctype(y->dtype);
        if (t->block == 1) {
            ITG_EMIT_FORMAT(e, "%*s%s[%s%s] = (%s)%s(%s%s);\n", (int)indent, "", name, at, offset,
                            type, q.function, sum_text(e, t, itg_emit_text(e, "%s[0]", acc), index),
                            q.constants);
            continue;
        }
        const char *codes = t->s->output_count == 1 && t->sum == ITG_S32 ? acc : "codes";
        ITG_EMIT_FORMAT(e,
                        "%*sfor (int32_t i = 0; i < count; i++)\n"
                        "%*s%s[i] = %s(%s%s);\n"
                        "%*sfor (int32_t i = 0; i < count; i++)\n"
                        "%*s%s[%s + i * %s%s] = (%s)%s[i];\n",
                        (int)indent, "", (int)indent + 4, "", codes, q.function,
                        sum_text(e, t, itg_emit_text(e, "%s[i]", acc), index), q.constants,
                        (int)indent, "", (int)indent + 4, "", name, at,
                        itg_emit_number(e, t->channels), offset, type, codes);
    }
    return ITG_OK;
}

static void write_patches(itg_emitter *e, const mac *t, int32_t indent, const char *window,
                          const char *offset)
{
    const char *type = itg_emit_short(t->x.type), *ctype = itg_emit_ctype(t->x.type);
    bool wide = t->row == ITG_S64;
    if (t->conv) {
        const char *name = itg_emit_text(e, "gather_%s%s", wide ? "wide_" : "", type);
        if (itg_emit_needs(e, name))
            itg_emit_template(&e->helpers, wide ? gather_wide_text : gather_text, type, ctype,
                              NULL);
        const char *group = "";
        if (t->groups > 1)
            group = itg_emit_text(e, " + g * %s", itg_emit_number(e, t->v.w.channels / t->groups));
        ITG_EMIT_FORMAT(e, "%*s%s(&%s, %s%s%s, %s, first, count%s, patches);\n", (int)indent, "",
                        name, window, t->x.name, offset, group, itg_emit_number(e, t->x.zero),
                        wide ? "" : itg_emit_text(e, ", %s", itg_emit_number(e, t->padded)));
        return;
    }
    const char *row = itg_emit_short(t->row);
    const char *name = itg_emit_text(e, "rows_%s_%s", type, row);
    if (itg_emit_needs(e, name))
        itg_emit_template(&e->helpers, rows_text, type, ctype, row, itg_emit_ctype(t->row),
                          wide ? "int64_t" : "int32_t", NULL);
    const char *depth = itg_emit_number(e, t->depth);
    ITG_EMIT_FORMAT(e, "%*s%s(%s%s + first * %s, %s, 1, %s, count, %s, %s, patches);\n",
                    (int)indent, "", name, t->x.name, offset, depth, depth,
                    itg_emit_number(e, t->x.zero), depth, itg_emit_number(e, t->padded));
}

static void write_filters(itg_emitter *e, const mac *t, int32_t indent, const char *b_offset)
{
    const char *depth = itg_emit_number(e, t->depth);
    if (t->weights != NULL) {
        const char *group =
            t->groups > 1 ? itg_emit_text(e, "g * %s + ", itg_emit_number(e, t->filters)) : "";
        const char *first = itg_emit_text(e, "(%sk) * %s%s", group, depth, b_offset);
        const char *count = t->rows == 1 ? depth : itg_emit_text(e, "rows * %s", depth);
        itg_emit_unpack(e, indent, (int32_t)t->w_value, t->weights, first, count, t->w_zero, t->row,
                        "tile");
        return;
    }
    const char *type = itg_emit_short(t->w.type), *row = itg_emit_short(t->row);
    const char *name = itg_emit_text(e, "rows_%s_%s", type, row);
    if (itg_emit_needs(e, name))
        itg_emit_template(&e->helpers, rows_text, type, itg_emit_ctype(t->w.type), row,
                          itg_emit_ctype(t->row), t->row == ITG_S64 ? "int64_t" : "int32_t", NULL);
    const char *columns = itg_emit_number(e, t->filters);
    ITG_EMIT_FORMAT(e, "%*s%s(%s%s + k%s%s, %s, %s, %s, %s, %s, %s, tile);\n", (int)indent, "",
                    name, t->w.name, b_offset, t->transposed ? " * " : "",
                    t->transposed ? depth : "", t->transposed ? depth : "1",
                    t->transposed ? "1" : columns, itg_emit_number(e, t->w.zero),
                    t->rows == 1 ? "1" : "rows", depth, depth);
}

static void write_split_ends(itg_emitter *e, const mac *t)
{
    const itg_sum_split *split = &t->s->split;
    ITG_EMIT_FORMAT(e, "    static const int32_t part_end[%d] = {", (int)split->part_count);
    for (int32_t i = 0; i < split->part_count; i++)
        ITG_EMIT_FORMAT(e, "%s%lld", i > 0 ? ", " : "", (long long)split->end[i]);
    itg_strbuf_add(&e->body, "};\n");
    e->layer->constant_bytes += split->part_count * 4;
}

static void write_sums(itg_emitter *e, const mac *t, int32_t indent, const char *index)
{
    const char *depth = itg_emit_number(e, t->depth);
    if (t->row == ITG_S16) {
        const char *sum = itg_emit_short(t->sum);
        if (itg_emit_needs(e, itg_emit_text(e, "dot_%s", sum)))
            itg_emit_template(&e->helpers, dot_text, itg_emit_ctype(t->sum), sum,
                              t->sum == ITG_S32 ? "uint32_t" : "uint64_t", NULL);
        ITG_EMIT_FORMAT(e, "%*sdot_%s(tile, rows, %s, patches, %s, %s, acc, %s);\n", (int)indent,
                        "", sum, depth, t->block == 1 ? "1" : "count",
                        itg_emit_number(e, t->padded), itg_emit_number(e, t->block));
    } else if (t->split) {
        const char *rounding = itg_emit_rounding(e, t->s->split.rounding, true);
        const itg_sum_split *split = &t->s->split;
        if (itg_emit_needs(e, itg_emit_text(e, "dot_split_%s", rounding)))
            itg_emit_template(&e->helpers, dot_split_text, rounding, NULL);
        ITG_EMIT_FORMAT(e, "%*sdot_split_%s(tile, patches, count, %s, %s, %s, part_end, acc);\n",
                        (int)indent, "", rounding, depth, bias_text(e, t, index),
                        itg_emit_channel(e, "part_shift", split->shift, split->shift_count, index));
    } else if (t->saturates) {
        if (itg_emit_needs(e, "dot_saturate")) itg_strbuf_add(&e->helpers, dot_saturate_text);
        int64_t lo, hi;
        itg_emit_native_range(t->s, &lo, &hi);
        ITG_EMIT_FORMAT(e, "%*sdot_saturate(tile, patches, count, %s, %s, %s, %s, acc);\n",
                        (int)indent, "", depth, bias_text(e, t, index), itg_emit_number(e, lo),
                        itg_emit_number(e, hi));
    } else {
        if (itg_emit_needs(e, "dot_wide")) itg_strbuf_add(&e->helpers, dot_wide_text);
        ITG_EMIT_FORMAT(e, "%*sdot_wide(tile, patches, count, %s, acc);\n", (int)indent, "", depth);
    }
}

/* One group: blocks of patches, tiles of filters. */
static itg_status write_block(itg_emitter *e, const mac *t, int32_t indent, const char *window,
                              const char *in, const char *b, const char *out)
{
    const char *patches = itg_emit_number(e, t->patches), *block = itg_emit_number(e, t->block);
    const char *filters = itg_emit_number(e, t->filters);
    int32_t inner = indent + 4;
    if (t->block == t->patches)
        ITG_EMIT_FORMAT(e, "%*s{\n%*sconst int32_t first = 0, count = %s;\n", (int)indent, "",
                        (int)inner, "", patches);
    else
        ITG_EMIT_FORMAT(e,
                        "%*sfor (int32_t first = 0; first < %s; first += %s) {\n"
                        "%*sconst int32_t count = %s - first < %s ? %s - first : %s;\n",
                        (int)indent, "", patches, block, (int)inner, "", patches, block, patches,
                        block);
    write_patches(e, t, inner, window, in);
    ITG_EMIT_FORMAT(e, "%*sfor (int32_t k = 0; k < %s; k += %d) {\n", (int)inner, "", filters,
                    (int)t->rows);
    const char *group = t->groups > 1 ? itg_emit_text(e, "g * %s + ", filters) : "";
    bool tile = t->rows > 1;
    if (tile)
        ITG_EMIT_FORMAT(e, "%*sconst int32_t rows = %s - k < %d ? %s - k : %d;\n", (int)inner + 4,
                        "", filters, FILTERS, filters, FILTERS);
    write_filters(e, t, inner + 4, b);
    if (!tile) ITG_EMIT_FORMAT(e, "%*sconst int32_t c = %sk;\n", (int)inner + 4, "", group);
    write_sums(e, t, inner + 4, "c");
    if (tile)
        ITG_EMIT_FORMAT(e,
                        "%*sfor (int32_t r = 0; r < rows; r++) {\n"
                        "%*sconst int32_t c = %sk + r;\n"
                        "%*s%s *const sum = acc + r * %s;\n",
                        (int)inner + 4, "", (int)inner + 8, "", group, (int)inner + 8, "",
                        itg_emit_ctype(t->sum), block);
    const char *at = itg_emit_text(e, "c + first * %s", itg_emit_number(e, t->channels));
    itg_status status =
        write_outputs(e, t, inner + (tile ? 8 : 4), tile ? "sum" : "acc", "c", at, out);
    if (tile) ITG_EMIT_FORMAT(e, "%*s}\n", (int)inner + 4, "");
    ITG_EMIT_FORMAT(e, "%*s}\n%*s}\n", (int)inner, "", (int)indent, "");
    return status;
}

static void declare(itg_emitter *e, itg_dtype type, const char *name, int64_t count)
{
    ITG_EMIT_FORMAT(e, "    %s *const %s = %s;\n", itg_emit_ctype(type), name,
                    itg_emit_scratch(e, type, count));
}

static itg_status write_depthwise(itg_emitter *e, const mac *t)
{
    const char *type = itg_emit_short(t->x.type), *sum = itg_emit_short(t->sum);
    const char *name = itg_emit_text(e, "depthwise_%s_%s", type, sum);
    const char *in, *out, *window = itg_emit_window(e, &t->v.w);
    declare(e, ITG_S16, "taps", t->channels * t->depth);
    declare(e, t->sum, "acc", t->channels);
    if (itg_emit_needs(e, name))
        itg_emit_template(&e->helpers, depthwise_text, type, itg_emit_ctype(t->x.type), sum,
                          itg_emit_ctype(t->sum), t->sum == ITG_S32 ? "uint32_t" : "uint64_t",
                          NULL);
    itg_emit_unpack(e, 4, (int32_t)t->w_value, t->weights, "0",
                    itg_emit_number(e, t->channels * t->depth), t->w_zero, ITG_S16, "taps");
    int32_t braces = itg_emit_images(e, &t->v, &in, &out);
    const char *channels = itg_emit_number(e, t->channels);
    ITG_EMIT_FORMAT(e,
                    "    for (int32_t i = 0; i < %s; i++) {\n"
                    "        %s(&%s, %s%s, %s, taps, i, acc);\n",
                    itg_emit_number(e, t->patches), name, window, t->x.name, in,
                    itg_emit_number(e, t->x.zero));
    for (int32_t o = 0; o < t->s->output_count; o++) {
        itg_emit_requant q;
        itg_status status = itg_emit_requantize(e, t->s, o, 0, t->channels, t->sum, "c", &q);
        if (status != ITG_OK) return status;
        ITG_EMIT_FORMAT(e,
                        "        for (int32_t c = 0; c < %s; c++)\n"
                        "            %s[c + i * %s%s] = (%s)%s(%s%s);\n",
                        channels, itg_emit_output(e, t->l, o), channels, out,
                        itg_emit_ctype(e->p->values[t->s->outputs[o]].dtype), q.function,
                        sum_text(e, t, "acc[c]", "c"), q.constants);
    }
    itg_strbuf_add(&e->body, "    }\n");
    itg_emit_close(e, braces, 4);
    return ITG_OK;
}

static itg_status write_conv(itg_emitter *e, const mac *t)
{
    const char *in, *out, *window = itg_emit_window(e, &t->v.w);
    int32_t images = itg_emit_images(e, &t->v, &in, &out);
    if (t->groups > 1)
        ITG_EMIT_FORMAT(e, "    for (int32_t g = 0; g < %s; g++) {\n",
                        itg_emit_number(e, t->groups));
    itg_status status = write_block(e, t, t->groups > 1 ? 8 : 4, window, in, "", out);
    if (t->groups > 1) itg_strbuf_add(&e->body, "    }\n");
    itg_emit_close(e, images, 4);
    return status;
}

static itg_status write_matrix(itg_emitter *e, const mac *t)
{
    itg_emit_loops loops;
    const char *index[3], *offset[3];
    memset(&loops, 0, sizeof loops);
    loops.rank = t->m.batch.rank;
    int64_t step = t->m.m * t->m.n;
    for (int32_t d = loops.rank - 1; d >= 0; d--) {
        loops.dims[d] = t->m.batch.dims[d];
        loops.stride[0][d] = t->m.stride_a[d];
        loops.stride[1][d] = t->m.stride_b[d];
        loops.stride[2][d] = step;
        step *= t->m.batch.dims[d];
    }
    int32_t braces = itg_emit_open(e, &loops, 3, 'b', 4, index);
    for (int i = 0; i < 3; i++)
        offset[i] = strcmp(index[i], "0") == 0 ? "" : itg_emit_text(e, " + %s", index[i]);
    itg_status status = write_block(e, t, 4 + 4 * braces, "", offset[0], offset[1], offset[2]);
    itg_emit_close(e, braces, 4);
    return status;
}

itg_status itg_emit_mac(itg_emitter *e, const itg_emit_layer *l)
{
    mac t;
    itg_status status = describe(e, l, &t);
    if (status != ITG_OK) return status;
    bool depthwise = is_depthwise(&t);
    t.x = itg_emit_read(e, l, 0, true);
    set_weights(e, &t, depthwise);
    if (depthwise && t.weights != NULL) return write_depthwise(e, &t);
    declare(e, t.row, "patches", t.block * t.padded);
    declare(e, t.row, "tile", t.rows * t.depth + t.padded - t.depth);
    declare(e, t.sum, "acc", t.rows * t.block);
    if (t.block > 1 && !(t.s->output_count == 1 && t.sum == ITG_S32))
        declare(e, ITG_S32, "codes", t.block);
    if (t.split) write_split_ends(e, &t);
    return t.conv ? write_conv(e, &t) : write_matrix(e, &t);
}
