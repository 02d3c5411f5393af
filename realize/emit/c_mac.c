/* Convolutions and matrix products: rows of the first operand (patches) against rows of the second
 * (filters), unpacked four at a time; convolutions of one channel each by their own loop, once for
 * each filter of a channel. */
#include "realize/emit/c_helium.h"
#include <string.h>

enum { MOST_PATCHES = 64, FEW_PATCHES = 4, LEAST_PATCHES = 2, PATCH_BYTES = 8192 };

/* ---- helpers of the C source ---- */

static const char depthwise_text[] =
    "/* Sums of one position, a channel each, from 0 on. */\n"
    "HOT static ONCE void depthwise_$1_$3(const window *g, const $2 *x, int32_t zero, const "
    "int16_t "
    "*taps,\n"
    "                            int32_t position, $4 *acc)\n"
    "{\n"
    "    const int32_t top = position / g->out_width * g->stride_y - g->top;\n"
    "    const int32_t left = position % g->out_width * g->stride_x - g->left;\n"
    "    const int32_t channels = g->channels;\n"
    "    int32_t done = 0;\n"
    "$6"
    "    for (int32_t c = done; c < channels; c++)\n"
    "        acc[c] = 0;\n"
    "    for (int32_t r = 0; r < g->rows; r++)\n"
    "        for (int32_t s = 0; s < g->columns; s++) {\n"
    "            const int32_t v = top + r * g->dilation_y, h = left + s * g->dilation_x;\n"
    "            if (v < 0 || v >= g->height || h < 0 || h >= g->width) continue;\n"
    "            const $2 *in = x + (v * g->width + h) * channels;\n"
    "            const int16_t *w = taps + (r * g->columns + s) * channels;\n"
    "            for (int32_t c = done; c < channels; c++)\n"
    "                acc[c] = ($4)(($5)acc[c] + ($5)((int32_t)(int16_t)(in[c] - zero) * w[c]));\n"
    "        }\n"
    "}\n\n";

/* Keeps sums in registers. The loop over taps computes four channels of each tap. */
static const char depthwise_four_text[] =
    "#ifdef WORDS\n"
    "/* Four channels from `in` on at `rows` times `columns` taps; steps from a tap to the next, "
    "and\n"
    " * from a row of them to the next. */\n"
    "static ONCE void depthwise_four_$1(const $2 *in, const int16_t *taps, int32_t rows,\n"
    "                                   int32_t columns, int32_t minus, int32_t step,\n"
    "                                   int32_t row_step, int32_t tap_step, int32_t tap_row_step,\n"
    "                                   int32_t *acc)\n"
    "{\n"
    "#ifdef PAIRS\n"
    "    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;\n"
    "    for (; rows > 0; rows--, in += row_step, taps += tap_row_step) {\n"
    "        const $2 *x = in;\n"
    "        const int16_t *w = taps;\n"
    "        for (int32_t s = columns; s > 0; s--, x += step, w += tap_step) {\n"
    "            const uint32_t four = (uint32_t)PAIR(x);\n"
    "            const int32_t even = CENTER_$3(minus, four);\n"
    "            const int32_t odd = CENTER_$3(minus, four >> 8 | four << 24);\n"
    "            const int32_t low = PAIR(w), high = PAIR(w + 2);\n"
    "            s0 = __smlabb(even, low, s0);\n"
    "            s1 = __smlabt(odd, low, s1);\n"
    "            s2 = __smlatb(even, high, s2);\n"
    "            s3 = __smlatt(odd, high, s3);\n"
    "        }\n"
    "    }\n"
    "    acc[0] = s0, acc[1] = s1, acc[2] = s2, acc[3] = s3;\n"
    "#else\n"
    "    uint32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;\n"
    "    for (; rows > 0; rows--, in += row_step, taps += tap_row_step) {\n"
    "        const $2 *x = in;\n"
    "        const int16_t *w = taps;\n"
    "        for (int32_t s = columns; s > 0; s--, x += step, w += tap_step) {\n"
    "            s0 += (uint32_t)((x[0] + minus) * w[0]);\n"
    "            s1 += (uint32_t)((x[1] + minus) * w[1]);\n"
    "            s2 += (uint32_t)((x[2] + minus) * w[2]);\n"
    "            s3 += (uint32_t)((x[3] + minus) * w[3]);\n"
    "        }\n"
    "    }\n"
    "    acc[0] = (int32_t)s0, acc[1] = (int32_t)s1, acc[2] = (int32_t)s2, acc[3] = (int32_t)s3;\n"
    "#endif\n"
    "}\n"
    "#endif\n\n";

static const char depthwise_blocks_text[] =
    "#ifdef WORDS\n"
    "    int32_t r0 = 0, r1 = g->rows, s0 = 0, s1 = g->columns; /* the taps inside the image */\n"
    "    while (r0 < r1 && top + r0 * g->dilation_y < 0)\n"
    "        r0++;\n"
    "    while (r1 > r0 && top + (r1 - 1) * g->dilation_y >= g->height)\n"
    "        r1--;\n"
    "    while (s0 < s1 && left + s0 * g->dilation_x < 0)\n"
    "        s0++;\n"
    "    while (s1 > s0 && left + (s1 - 1) * g->dilation_x >= g->width)\n"
    "        s1--;\n"
    "    if (channels >= 4) {\n"
    "        const int32_t v = top + r0 * g->dilation_y, h = left + s0 * g->dilation_x;\n"
    "        const $2 *in = x + (v * g->width + h) * channels;\n"
    "        const int16_t *w = taps + (r0 * g->columns + s0) * channels;\n"
    "#ifdef PAIRS\n"
    "        const int32_t minus = TWICE(-zero);\n"
    "#else\n"
    "        const int32_t minus = -zero;\n"
    "#endif\n"
    "        const int32_t step = g->dilation_x * channels, tap_row = g->columns * channels;\n"
    "        const int32_t row = g->dilation_y * g->width * channels;\n"
    "        for (; channels - done >= 4; done += 4)\n"
    "            depthwise_four_$1(in + done, w + done, r1 - r0, s1 - s0, minus, step, row,\n"
    "                              channels, tap_row, acc + done);\n"
    "    }\n"
    "    if (done == channels)\n"
    "        return;\n"
    "#endif\n";

/* ---- what is to be computed, and in which types ---- */

static bool fits16(int64_t lo, int64_t hi)
{
    return lo >= INT16_MIN && hi <= INT16_MAX;
}

static void choose_types(itg_emit_mac_view *t, const itg_quantizer *x, const itg_quantizer *w)
{
    const itg_step *s = t->s;
    bool over = !itg_step_fits(s), wrap = s->acc.overflow == ITG_OVERFLOW_WRAP;
    t->saturates = over && !wrap;
    t->split = !itg_step_sum_is_whole(s);
    bool narrow = fits16(x->qmin - x->zero_point, x->qmax - x->zero_point) &&
                  fits16(w->qmin - w->zero_point, w->qmax - w->zero_point);
    t->row = narrow && !t->saturates && !t->split ? ITG_S16 : ITG_S64;
    int64_t lo, hi;
    itg_emit_native_range(s, &lo, &hi);
    bool fits32 = over ? s->acc.bits <= 32 : lo >= INT32_MIN && hi <= INT32_MAX;
    t->sum = t->row == ITG_S16 && fits32 ? ITG_S32 : ITG_S64;
}

void itg_emit_mac_describe(itg_emitter *e, const itg_emit_layer *l, itg_emit_mac_view *t)
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
        t->m = itg_matmul_of(p, t->s);
        t->transposed = t->s->attrs.trans_b || w->shape.rank == 1;
        t->patches = t->m.m;
        t->filters = t->channels = t->m.n;
        t->depth = t->m.k;
    }
    choose_types(t, &x->q, &w->q);
    if (t->conv && w->data == NULL)
        itg_emit_fail(e, ITG_UNSUPPORTED, "node", t->s->name,
                      "C source for a convolution whose weights are computed");
    if (t->saturates) {
        int64_t a = x->q.qmax - x->q.qmin, b = w->q.qmax - w->q.qmin;
        if (t->s->acc.bits > 62 || (b > 0 && a > ((int64_t)1 << 62) / b))
            itg_emit_fail(e, ITG_UNSUPPORTED, "node", t->s->name,
                          "C source saturates sums of at most 62 bits");
    }
    int64_t unit = t->row == ITG_S64 ? 1 : t->depth < 16 ? 4 : t->depth < 96 ? 8 : 16;
    t->padded = (t->depth + unit - 1) / unit * unit;
    t->rows = t->row == ITG_S64 ? 1 : ITG_EMIT_FILTERS;
    t->block = PATCH_BYTES / (t->padded * (int64_t)itg_dtype_size(t->row));
    t->block = t->block < FEW_PATCHES ? FEW_PATCHES : t->block;
    t->block = t->block > MOST_PATCHES ? MOST_PATCHES : t->block;
    if (l->block > 0) t->block = l->block;
    if (l->rows > 0) t->rows = l->rows;
    t->held = l->held;
    if (t->block > t->patches) t->block = t->patches;
    itg_emit_dense_describe(e, t, w);
    if (t->s->input_count > 2) t->bias = p->values[t->s->inputs[2]].data;
}

bool itg_emit_is_depthwise(const itg_emit_mac_view *t)
{
    const bool few = t->filters == 1 || (t->groups >= 4 && t->filters <= 4) || t->groups % 4 == 0;
    return t->conv && t->groups > 1 && t->v.w.channels == t->groups && few && t->row == ITG_S16;
}

/* ---- all layers ---- */

void itg_emit_mac_survey(itg_emitter *e)
{
    for (int32_t i = 0; i < e->layer_count && !e->failed; i++) {
        itg_emit_mac_view t;
        if (!itg_emit_is_mac(&e->layers[i])) continue;
        itg_emit_mac_describe(e, &e->layers[i], &t);
        const itg_pvalue *w = &e->p->values[t.s->inputs[1]];
        if (w->data != NULL) e->codes += w->elements;
        e->spread |= t.conv && (t.v.w.dilation[0] > 1 || t.v.w.dilation[1] > 1 ||
                                (t.groups > 1 && !itg_emit_is_depthwise(&t)));
    }
    itg_emit_dense_count(e);
}

/* ---- scratch ---- */

typedef struct room {
    itg_dtype type;
    const char *name;
    int64_t count;
} room;

/* Lists the scratch that the layer needs besides its operands. Returns the number of entries. */
static int rooms_of(const itg_emit_mac_view *t, room out[4])
{
    int n = 0;
    if (itg_emit_is_depthwise(t)) {
        out[n++] = (room){ITG_S16, "taps", t->channels * t->depth};
        out[n++] = (room){t->sum, "acc", t->channels};
        return n;
    }
    /* Two patches are gathered behind the place where they lie together. */
    out[n++] = (room){t->row, "patches", (t->block + t->in_place) * t->padded};
    const int64_t filters = t->held > 0 ? t->held : t->rows;
    if (!t->in_place) {
        out[n++] = (room){t->row, "tile", filters * t->depth + t->padded - t->depth};
        out[n++] = (room){t->sum, "acc", t->rows * t->block};
    }
    if (t->block > 1 && !(t->s->output_count == 1 && t->sum == ITG_S32))
        out[n++] = (room){ITG_S32, "codes", t->block};
    return n;
}

size_t itg_emit_view_scratch(const itg_emit_mac_view *t)
{
    room rooms[4];
    size_t bytes = 0;
    for (int i = 0, count = rooms_of(t, rooms); i < count; i++)
        bytes += itg_emit_room(rooms[i].type, rooms[i].count);
    return bytes;
}

size_t itg_emit_mac_scratch(itg_emitter *e, const itg_emit_layer *l)
{
    itg_emit_mac_view t;
    itg_emit_mac_describe(e, l, &t);
    return itg_emit_view_scratch(&t);
}

/* ---- memory ---- */

bool itg_emit_is_mac(const itg_emit_layer *l)
{
    return l->step != NULL && (l->step->kind == ITG_STEP_CONV || l->step->kind == ITG_STEP_MATMUL);
}

void itg_emit_mac_fit(itg_emitter *e, itg_emit_layer *l, uint64_t most)
{
    itg_emit_mac_view t;
    if (!itg_emit_is_mac(l)) return;
    itg_emit_mac_describe(e, l, &t);
    if (itg_emit_is_depthwise(&t)) return;
    const size_t others = l->scratch_bytes - itg_emit_view_scratch(&t);
    while (others + itg_emit_view_scratch(&t) > most && t.block > LEAST_PATCHES)
        t.block = (t.block - 1) & ~INT64_C(1);
    while (others + itg_emit_view_scratch(&t) > most && t.rows > 1)
        t.rows /= 2;
    l->block = t.block;
    l->rows = t.rows;
    l->scratch_bytes = others + itg_emit_view_scratch(&t);
}

/* Returns the index of the first element that a position, or a row of a matrix, reads. */
static int64_t first_read(const itg_emit_mac_view *t, int64_t position)
{
    if (!t->conv) return position * t->depth;
    const itg_window *w = &t->v.w;
    int64_t top = position / w->out_width * w->stride[0] - w->pad_top;
    int64_t left = position % w->out_width * w->stride[1] - w->pad_left;
    return ((top > 0 ? top : 0) * w->width + (left > 0 ? left : 0)) * w->channels;
}

/* Returns the bytes by which y must begin before x, so that what is written up to a position does
 * not reach what is read from it on. A depthwise position may be read until it is written. */
static int64_t bytes_behind(const itg_emit_mac_view *t, int64_t x_size, int64_t y_size)
{
    const int64_t written = itg_emit_is_depthwise(t) ? 1 : 0;
    int64_t most = 0, least = INT64_MAX;
    for (int64_t i = t->patches - 1; i >= 0; i--) {
        const int64_t read = first_read(t, i) * x_size;
        least = read < least ? read : least;
        const int64_t behind = (i + written) * t->channels * y_size - least;
        most = behind > most ? behind : most;
    }
    return most;
}

bool itg_emit_mac_behind(itg_emitter *e, const itg_emit_layer *l, int64_t *bytes)
{
    itg_emit_mac_view t;
    if (!itg_emit_is_mac(l) || l->inputs[0] == ITG_NONE) return false;
    itg_emit_mac_describe(e, l, &t);
    const int64_t x = (int64_t)itg_dtype_size(e->p->values[t.s->inputs[0]].dtype);
    const int64_t y = (int64_t)itg_dtype_size(e->p->values[t.s->outputs[0]].dtype);
    const bool once = t.conv ? t.v.batch == 1 && (t.groups == 1 || itg_emit_is_depthwise(&t))
                             : itg_dims_product(&t.m.batch, 0, t.m.batch.rank) == 1;
    if (!once || (x != y && x != 1 && y != 1)) return false;
    *bytes = bytes_behind(&t, x, y);
    return true;
}

static void declare(itg_emitter *e, const itg_emit_mac_view *t)
{
    room rooms[4];
    int count = rooms_of(t, rooms);
    for (int i = 0; i < count; i++) {
        const char *place = itg_emit_scratch(e, rooms[i].type, rooms[i].count);
        if (t->dense && i > 0) continue; /* the Helium form's alone */
        ITG_EMIT_FORMAT(e, "    %s *const %s = %s;\n", itg_emit_ctype(rooms[i].type), rooms[i].name,
                        place);
    }
}

/* ---- text ---- */

/* Returns the text of the finished sum of channel c: acc[...] plus the bias. */
static const char *sum_text(itg_emitter *e, const itg_emit_mac_view *t, const char *acc)
{
    const char *bias = t->saturates || t->split ? "0" : itg_emit_bias(e, t, "c");
    const char *v = acc;
    if (strcmp(bias, "0") != 0)
        v = t->sum == ITG_S32
                ? itg_emit_text(e, "(int32_t)((uint32_t)%s + (uint32_t)%s)", acc, bias)
                : itg_emit_text(e, "(int64_t)((uint64_t)%s + (uint64_t)%s)", acc, bias);
    return t->saturates || t->split ? v : itg_emit_fit(e, t->s, t->sum, v);
}

/* Returns the text of channel c's code of an output, from the text of its sum. */
static const char *code_text(itg_emitter *e, const itg_emit_mac_view *t, int32_t output,
                             const char *sum)
{
    return itg_emit_requantize(e, t->s, output, 0, t->channels, t->sum, "c", sum, NULL);
}

/* Whether one call turns the sums of a row into codes in place. */
static bool has_rows(const itg_emit_mac_view *t)
{
    bool narrow = t->s->acc.bits > 0 && !itg_step_fits(t->s) && t->s->acc.bits < 32;
    return t->block > 1 && t->s->output_count == 1 && t->sum == ITG_S32 && !t->saturates &&
           !t->split && !narrow;
}

/* Writes the codes of acc to every output. `at` is the index of the first code; consecutive codes
 * are one step of all channels apart. */
static void write_outputs(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent,
                          const char *acc, const char *at, const char *offset)
{
    for (int32_t o = 0; o < t->s->output_count; o++) {
        const itg_pvalue *y = &e->p->values[t->s->outputs[o]];
        const char *name = itg_emit_output(e, t->l, o), *type = itg_emit_ctype(y->dtype);
        bool one = t->block == 1;
        const char *sum = sum_text(e, t, itg_emit_text(e, "%s[%s]", acc, one ? "0" : "i"));
        if (one) {
            ITG_EMIT_FORMAT(e, "%*s%s[%s%s] = (%s)%s;\n", (int)indent, "", name, at, offset, type,
                            code_text(e, t, o, sum));
            continue;
        }
        const char *codes = t->s->output_count == 1 && t->sum == ITG_S32 ? acc : "codes";
        if (has_rows(t))
            ITG_EMIT_FORMAT(e, "%*s%s;\n", (int)indent, "",
                            itg_emit_requantize(e, t->s, o, 0, t->channels, t->sum, "c", acc,
                                                itg_emit_bias(e, t, "c")));
        else
            ITG_EMIT_FORMAT(e,
                            "%*sfor (int32_t i = 0; i < count; i++) {\n"
                            "%*sconst %s v = %s;\n%*s%s[i] = %s;\n%*s}\n",
                            (int)indent, "", (int)indent + 4, "", itg_emit_ctype(t->sum), sum,
                            (int)indent + 4, "", codes, code_text(e, t, o, "v"), (int)indent, "");
        ITG_EMIT_FORMAT(e,
                        "%*sfor (int32_t i = 0; i < count; i++)\n"
                        "%*s%s[%s + i * %s%s] = (%s)%s[i];\n",
                        (int)indent, "", (int)indent + 4, "", name, at,
                        itg_emit_number(e, t->channels), offset, type, codes);
    }
}

/* Opens the loop over blocks of patches. */
static void open_positions(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent)
{
    const char *patches = itg_emit_number(e, t->patches), *block = itg_emit_number(e, t->block);
    const int inner = (int)indent + 4;
    if (t->block == t->patches)
        ITG_EMIT_FORMAT(e, "%*s{\n%*sconst int32_t first = 0, count = %s;\n", (int)indent, "",
                        inner, "", patches);
    else
        ITG_EMIT_FORMAT(e,
                        "%*sfor (int32_t first = 0; first < %s; first += %s) {\n"
                        "%*sconst int32_t count = %s - first < %s ? %s - first : %s;\n",
                        (int)indent, "", patches, block, inner, "", patches, block, patches, block);
}

/* Writes the sums, then the codes, of a tile of filters from k on with a block of patches. */
static void write_tile(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent, const char *end,
                       const char *b, const char *out)
{
    const char *filters = itg_emit_number(e, t->filters);
    const char *group = t->groups > 1 ? itg_emit_text(e, "g * %s + ", filters) : "";
    const bool tile = t->row == ITG_S16;
    if (tile)
        ITG_EMIT_FORMAT(e, "%*sconst int32_t rows = %s - k < %d ? %s - k : %d;\n", (int)indent, "",
                        end, (int)t->rows, end, (int)t->rows);
    if (t->held == 0 && !t->in_place) itg_emit_filters(e, t, indent, b);
    if (!tile) ITG_EMIT_FORMAT(e, "%*sconst int32_t c = %sk;\n", (int)indent, "", group);
    if (t->in_place)
        itg_emit_in_place_sums(e, t, indent);
    else
        itg_emit_sums(e, t, indent, "c");
    if (tile)
        ITG_EMIT_FORMAT(e,
                        "%*sfor (int32_t r = 0; r < rows; r++) {\n"
                        "%*sconst int32_t c = %sk + r;\n"
                        "%*s%s *const sum = acc + r * %s;\n",
                        (int)indent, "", (int)indent + 4, "", group, (int)indent + 4, "",
                        itg_emit_ctype(t->sum), itg_emit_number(e, t->block));
    const char *at = itg_emit_text(e, "c + first * %s", itg_emit_number(e, t->channels));
    write_outputs(e, t, indent + (tile ? 4 : 0), tile ? "sum" : "acc", at, out);
    if (tile) ITG_EMIT_FORMAT(e, "%*s}\n", (int)indent, "");
}

const char itg_emit_not_unrolled[] = "#if defined(WORDS) && !defined(__clang__) && __GNUC__ >= 8\n"
                                     "#pragma GCC unroll 1\n"
                                     "#endif\n";

/* Writes the sums and codes of one position, two channels at a time. */
static void write_dense(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent,
                        const char *window, const char *in, const char *out)
{
    const char *filters = itg_emit_number(e, t->filters);
    const char *group = t->groups > 1 ? itg_emit_text(e, "g * %s + ", filters) : "";
    const char *rows =
        t->filters % 2 == 0 ? "2" : itg_emit_text(e, "(%s - k < 2 ? %s - k : 2)", filters, filters);
    open_positions(e, t, indent);
    itg_emit_patches(e, t, indent + 4, window, in);
    itg_emit_dense_start(e, t, indent + 4);
    ITG_EMIT_FORMAT(e, "%*sfor (int32_t k = 0; k < %s; k += 2) {\n%*sconst int32_t rows = %s;\n",
                    (int)indent + 4, "", filters, (int)indent + 8, "", rows);
    itg_emit_dense_sums(e, t, indent + 8);
    itg_strbuf_add(&e->body, itg_emit_not_unrolled);
    ITG_EMIT_FORMAT(e,
                    "%*sfor (int32_t i = 0; i < rows; i++) {\n"
                    "%*sconst int32_t c = %sk + i;\n%*sconst int32_t *const sum = sums + i;\n",
                    (int)indent + 8, "", (int)indent + 12, "", group, (int)indent + 12, "");
    write_outputs(e, t, indent + 12, "sum",
                  itg_emit_text(e, "c + first * %s", itg_emit_number(e, t->channels)), out);
    ITG_EMIT_FORMAT(e, "%*s}\n%*s}\n%*s}\n", (int)indent + 8, "", (int)indent + 4, "", (int)indent,
                    "");
}

/* Writes the loops of one group: held filters, blocks of patches, tiles of filters. */
static void write_block(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent,
                        const char *window, const char *in, const char *b, const char *out)
{
    if (t->dense) {
        write_dense(e, t, indent, window, in, out);
        return;
    }
    const char *filters = itg_emit_number(e, t->filters);
    const bool passes = t->held > 0 && t->held < t->filters;
    const char *end = passes ? "end" : filters;
    if (passes) {
        const char *held = itg_emit_number(e, t->held);
        ITG_EMIT_FORMAT(e,
                        "%*sfor (int32_t held = 0; held < %s; held += %s) {\n"
                        "%*sconst int32_t end = %s - held < %s ? %s : held + %s;\n",
                        (int)indent, "", filters, held, (int)indent + 4, "", filters, held, filters,
                        held);
        indent += 4;
    }
    if (t->held > 0) itg_emit_filters(e, t, indent, b);
    open_positions(e, t, indent);
    itg_emit_patches(e, t, indent + 4, window, in);
    if (t->in_place) itg_emit_in_place_start(e, t, indent + 4);
    ITG_EMIT_FORMAT(e, "%*sfor (int32_t k = %s; k < %s; k += %d) {\n", (int)indent + 4, "",
                    passes ? "held" : "0", end, (int)t->rows);
    write_tile(e, t, indent + 8, end, b, out);
    ITG_EMIT_FORMAT(e, "%*s}\n%*s}\n", (int)indent + 4, "", (int)indent, "");
    if (passes) ITG_EMIT_FORMAT(e, "%*s}\n", (int)indent - 4, "");
}

static void write_depthwise_helper(itg_emitter *e, const itg_emit_mac_view *t)
{
    const bool pairs = itg_dtype_size(t->x.type) == 1 && t->sum == ITG_S32;
    const char *type = itg_dtype_name(t->x.type), *ctype = itg_emit_ctype(t->x.type);
    itg_strbuf blocks = {0};
    itg_emit_pairs(e);
    if (pairs) {
        itg_emit_template(&e->helpers, depthwise_four_text, type, ctype,
                          t->x.type == ITG_S8 ? "S8" : "U8", NULL);
        itg_emit_template(&blocks, depthwise_blocks_text, type, ctype, NULL);
    }
    e->failed |= blocks.failed;
    itg_emit_template(&e->helpers, depthwise_text, type, ctype, itg_dtype_name(t->sum),
                      itg_emit_ctype(t->sum), t->sum == ITG_S32 ? "uint32_t" : "uint64_t",
                      blocks.text != NULL ? blocks.text : "", NULL);
    itg_strbuf_deinit(&blocks);
}

static void write_depthwise(itg_emitter *e, const itg_emit_mac_view *t)
{
    const char *type = itg_dtype_name(t->x.type), *sum = itg_dtype_name(t->sum);
    const char *name = itg_emit_text(e, "depthwise_%s_%s", type, sum);
    const char *in, *out, *window = itg_emit_window(e, 4, &t->v.w);
    declare(e, t);
    if (itg_emit_needs(e, name)) write_depthwise_helper(e, t);
    itg_emit_unpack(e, 4, (int32_t)t->w_value, t->weights, "0",
                    itg_emit_number(e, t->channels * t->depth), t->w_zero, ITG_S16, "taps");
    itg_emit_tap_zeros(e, t);
    int32_t braces = itg_emit_images(e, &t->v, &in, &out);
    const char *channels = itg_emit_number(e, t->channels);
    const char *groups = itg_emit_number(e, t->groups), *filters = itg_emit_number(e, t->filters);
    const bool one = t->filters == 1;
    const char *filter =
        one ? "" : itg_emit_text(e, " + k * %s", itg_emit_number(e, t->groups * t->depth));
    ITG_EMIT_FORMAT(e, "    for (int32_t i = 0; i < %s; i++) {\n", itg_emit_number(e, t->patches));
    if (!one) ITG_EMIT_FORMAT(e, "        for (int32_t k = 0; k < %s; k++)\n    ", filters);
    ITG_EMIT_FORMAT(e, "        %s(&%s, %s%s, %s, taps%s, i, acc%s);\n", name, window, t->x.name,
                    in, itg_emit_number(e, t->x.zero), filter,
                    one ? "" : itg_emit_text(e, " + k * %s", groups));
    for (int32_t o = 0; o < t->s->output_count; o++) {
        const char *acc =
            one ? "acc[c]"
                : itg_emit_text(e, "acc[c %% %s * %s + c / %s]", filters, groups, filters);
        ITG_EMIT_FORMAT(e,
                        "        for (int32_t c = 0; c < %s; c++)\n"
                        "            %s[c + i * %s%s] = (%s)%s;\n",
                        channels, itg_emit_output(e, t->l, o), channels, out,
                        itg_emit_ctype(e->p->values[t->s->outputs[o]].dtype),
                        code_text(e, t, o, sum_text(e, t, acc)));
    }
    itg_strbuf_add(&e->body, "    }\n");
    itg_emit_close(e, braces, 4);
}

static void write_conv(itg_emitter *e, const itg_emit_mac_view *t)
{
    const char *in, *out;
    int32_t images = itg_emit_images(e, &t->v, &in, &out);
    if (t->groups > 1)
        ITG_EMIT_FORMAT(e, "    for (int32_t g = 0; g < %s; g++) {\n",
                        itg_emit_number(e, t->groups));
    write_block(e, t, t->groups > 1 ? 8 : 4, t->window, in, "", out);
    if (t->groups > 1) itg_strbuf_add(&e->body, "    }\n");
    itg_emit_close(e, images, 4);
}

static void write_matrix(itg_emitter *e, const itg_emit_mac_view *t)
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
    const char *function;
    if (itg_emit_helium_product(e, t, &function)) {
        const int32_t braces = itg_emit_open(e, &loops, 3, 'b', 4, index);
        ITG_EMIT_FORMAT(e, "%*s%s(&shape, %s + %s, %s + %s, (int8_t *)%s + %s, &to);\n",
                        (int)(4 + 4 * braces), "", function, t->x.name, index[0], t->w.name,
                        index[1], itg_emit_output(e, t->l, 0), index[2]);
        itg_emit_close(e, braces, 4);
        itg_strbuf_add(&e->body, "    FENCE;\n    return;\n#endif\n");
    }
    const int32_t braces = itg_emit_open(e, &loops, 3, 'b', 4, index);
    for (int i = 0; i < 3; i++)
        offset[i] = strcmp(index[i], "0") == 0 ? "" : itg_emit_text(e, " + %s", index[i]);
    write_block(e, t, 4 + 4 * braces, "", offset[0], offset[1], offset[2]);
    itg_emit_close(e, braces, 4);
}

/* Writes the layer for processors that read unaligned words, up to "#else". */
static void write_in_place(itg_emitter *e, const itg_emit_mac_view *t)
{
    itg_emit_mac_view two = *t;
    const size_t taken = e->scratch_taken;
    two.in_place = true;
    two.block = two.rows = 2;
    two.held = 0;
    itg_emit_in_place_begin(e, t);
    declare(e, &two);
    (t->conv ? write_conv : write_matrix)(e, &two);
    itg_strbuf_add(&e->body, "#else\n");
    e->scratch_taken = taken;
}

void itg_emit_mac(itg_emitter *e, const itg_emit_layer *l)
{
    itg_emit_mac_view t;
    itg_emit_mac_describe(e, l, &t);
    bool depthwise = itg_emit_is_depthwise(&t);
    t.stays = itg_emit_stays(e, &t);
    t.x = itg_emit_read(e, l, 0, true);
    itg_emit_weights(e, &t, depthwise);
    itg_emit_helium_mac(e, &t, depthwise, itg_emit_view_scratch(&t));
    if (depthwise) {
        write_depthwise(e, &t);
        return;
    }
    if (t.conv) t.window = itg_emit_window(e, 4, &t.v.w);
    if (t.stays) write_in_place(e, &t);
    declare(e, &t);
    if (t.split) itg_emit_split_ends(e, &t);
    (t.conv ? write_conv : write_matrix)(e, &t);
    if (t.stays) itg_strbuf_add(&e->body, "#endif\n");
}
