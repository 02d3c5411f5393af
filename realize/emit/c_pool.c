/* Writes sums, means and maxima over windows and over axes. */
#include "kernels/requant.h"
#include "realize/emit/c_helium.h"
#include <string.h>

/* ---- helpers of the C source ---- */

static const char each_text[] =
    "    const int32_t top = position / g->out_width * g->stride_y - g->top;\n"
    "    const int32_t left = position % g->out_width * g->stride_x - g->left;\n"
    "    const int32_t channels = g->channels;\n";

static const char inside_text[] =
    "    for (int32_t r = 0; r < g->rows; r++)\n"
    "        for (int32_t s = 0; s < g->columns; s++) {\n"
    "            const int32_t v = top + r * g->dilation_y, h = left + s * g->dilation_x;\n"
    "            if (v < 0 || v >= g->height || h < 0 || h >= g->width) continue;\n"
    "            const $1 *in = x + (v * g->width + h) * channels;\n";

static const char max_text[] =
    "/* The greatest code of each channel at one position; none: the least. */\n"
    "HOT static void window_max_$1(const window *g, const $2 *x, $2 least, int32_t position,\n"
    "                          $2 *y)\n"
    "{\n"
    "$3    for (int32_t c = 0; c < channels; c++)\n"
    "        y[c] = least;\n"
    "$4            for (int32_t c = 0; c < channels; c++)\n"
    "                y[c] = in[c] > y[c] ? in[c] : y[c];\n"
    "        }\n"
    "}\n\n";

static const char sum_text[] =
    "/* The sum of code - zero of each channel at one position$7. */\n"
    "HOT static void window_$8_$1_$3(const window *g, const $2 *x, $4 zero, int32_t position,\n"
    "                           $4 *acc$9)\n"
    "{\n"
    "$5    for (int32_t c = 0; c < channels; c++)\n"
    "        acc[c] = 0;\n"
    "$6";

/* The same for bytes. */
static const char helium_sum_text[] =
    "#ifdef HELIUM\n"
    "QUICK ONCE void window_sum_$1_s32(const window *g, const $2 *x, int32_t zero, int32_t "
    "position,\n"
    "                               int32_t *acc)\n"
    "{\n"
    "$3    for (int32_t c = 0; c < channels; c += 4) {\n"
    "        const mve_pred16_t some = vctp32q((uint32_t)(channels - c));\n"
    "        int32x4_t sum = vdupq_n_s32(0);\n"
    "        for (int32_t r = 0; r < g->rows; r++) {\n"
    "            const int32_t v = top + r * g->dilation_y;\n"
    "            if (v < 0 || v >= g->height) continue;\n"
    "            const $2 *const in = x + v * g->width * channels + c;\n"
    "            for (int32_t s = 0, h = left; s < g->columns; s++, h += g->dilation_x) {\n"
    "                if (h < 0 || h >= g->width) continue;\n"
    "                sum = vaddq_s32(sum, $4);\n"
    "                sum = vsubq_n_s32(sum, zero);\n"
    "            }\n"
    "        }\n"
    "        vstrwq_p_s32(acc + c, sum, some);\n"
    "    }\n"
    "}\n"
    "#else\n";

static const char count_text[] =
    "/* Elements of the window at one position that lie in [before, extent + after), at least 1. "
    "*/\n"
    "static int32_t taps_inside(int32_t start, int32_t step, int32_t taps, int32_t before,\n"
    "                           int32_t end)\n"
    "{\n"
    "    int32_t count = 0;\n"
    "    for (int32_t i = 0; i < taps; i++)\n"
    "        count += start + i * step >= before && start + i * step < end;\n"
    "    return count;\n"
    "}\n\n"
    "static int32_t window_count(const window *g, int32_t position, int32_t top, int32_t left,\n"
    "                            int32_t bottom, int32_t right)\n"
    "{\n"
    "    const int32_t rows = taps_inside(position / g->out_width * g->stride_y - g->top,\n"
    "                                     g->dilation_y, g->rows, -top, g->height + bottom);\n"
    "    const int32_t columns = taps_inside(position % g->out_width * g->stride_x - g->left,\n"
    "                                        g->dilation_x, g->columns, -left, g->width + right);\n"
    "    return rows * columns > 0 ? rows * columns : 1;\n"
    "}\n\n";

static const char divide_text[] = "/* v / d to an integer: $2. d > 0. */\n"
                                  "static inline int$1_t divide_$2_$1(int$1_t v, int$1_t d)\n"
                                  "{\n"
                                  "    int$1_t q = v / d, rest = v % d;\n"
                                  "    if (rest < 0) {\n"
                                  "        q--;\n"
                                  "        rest += d;\n"
                                  "    }\n"
                                  "    return q$3;\n"
                                  "}\n\n";

static const char *divide(itg_emitter *e, itg_rounding rounding, bool wide)
{
    const char *rule = itg_rounding_name(rounding);
    static const char *const terms[] = {" + (rest > d - rest || (rest == d - rest && q % 2 != 0))",
                                        " + (rest >= d - rest)",
                                        " + (rest > d - rest || (rest == d - rest && v > 0))", ""};
    const char *bits = wide ? "64" : "32";
    const char *name = itg_emit_text(e, "divide_%s_%s", rule, bits);
    if (itg_emit_needs(e, name))
        itg_emit_template(&e->helpers, divide_text, bits, rule, terms[rounding], NULL);
    return name;
}

static itg_window_view view_of(const itg_emitter *e, const itg_step *s)
{
    return itg_window_of(s->op, &s->attrs, &e->p->values[s->inputs[0]].shape,
                         &e->p->values[s->outputs[0]].shape);
}

/* Every channel moves alike: the struct says that all are seen. */
static const char *window_name(itg_emitter *e, const itg_window *w)
{
    itg_window all = *w;
    all.group = 1;
    return itg_emit_window(e, 4, &all);
}

/* ---- maxima ---- */

static void window_max(itg_emitter *e, const itg_emit_layer *l)
{
    const itg_step *s = l->step;
    itg_window_view v = view_of(e, s);
    const itg_emit_operand x = itg_emit_read(e, l, 0, false);
    const char *in, *out, *window = window_name(e, &v.w), *type = itg_dtype_name(x.type);
    if (itg_emit_needs(e, itg_emit_text(e, "window_max_%s", type))) {
        itg_strbuf inside = {0};
        itg_emit_template(&inside, inside_text, itg_emit_ctype(x.type), NULL);
        e->failed |= inside.failed;
        itg_emit_template(&e->helpers, max_text, type, itg_emit_ctype(x.type), each_text,
                          inside.text != NULL ? inside.text : "", NULL);
        itg_strbuf_deinit(&inside);
    }
    int32_t images = itg_emit_images(e, &v, &in, &out);
    ITG_EMIT_FORMAT(e,
                    "    for (int32_t i = 0; i < %s; i++)\n"
                    "        window_max_%s(&%s, %s%s, %s, i, %s + i * %s%s);\n",
                    itg_emit_number(e, v.w.out_height * v.w.out_width), type, window, x.name, in,
                    itg_emit_number(e, x.lo), itg_emit_output(e, l, 0),
                    itg_emit_number(e, v.w.channels), out);
    itg_emit_close(e, images, 4);
}

/* ---- means over windows ---- */

typedef struct mean {
    const itg_emit_layer *l;
    const itg_step *s;
    itg_emit_operand x;
    itg_dtype sum;
    bool saturates, varies; /* varies: the count is not the same everywhere */
    int64_t most;           /* count */
} mean;

static mean mean_of(itg_emitter *e, const itg_emit_layer *l)
{
    const itg_step *s = l->step;
    mean t = {.l = l, .s = s, .x = itg_emit_read(e, l, 0, true)};
    t.most = itg_mean_max_count(e->p, s);
    t.sum = itg_emit_mean_type(e->p, s);
    t.saturates = s->form == ITG_FORM_RESCALE && !itg_step_fits(s) &&
                  s->acc.overflow == ITG_OVERFLOW_SATURATE;
    return t;
}

/* Writes the outputs of one sum; `count` is text. */
static void write_mean(itg_emitter *e, const mean *t, int32_t indent, const char *acc,
                       const char *count, const char *at)
{
    const itg_step *s = t->s;
    if (s->form == ITG_FORM_KEEP) {
        const itg_pvalue *y = &e->p->values[s->outputs[0]];
        bool wide = t->sum == ITG_S64;
        int64_t zero = y->q.zero_point, span = zero < 0 ? -zero : zero;
        wide = wide || span > (INT32_MAX >> 2) / t->most;
        const char *type = wide ? "int64_t" : "int32_t";
        const char *back =
            zero == 0 ? ""
                      : itg_emit_text(e, " + (%s)%s * %s", type, count,
                                      zero < 0 ? itg_emit_text(e, "(%s)", itg_emit_number(e, zero))
                                               : itg_emit_number(e, zero));
        ITG_EMIT_FORMAT(e, "%*sconst %s q = %s(%s%s, %s);\n", (int)indent, "", type,
                        divide(e, s->rounding, wide), acc, back, count);
        ITG_EMIT_FORMAT(e, "%*s%s[%s] = (%s)(q < %s ? %s : q > %s ? %s : q);\n", (int)indent, "",
                        itg_emit_output(e, t->l, 0), at, itg_emit_ctype(y->dtype),
                        itg_emit_number(e, y->q.qmin), itg_emit_number(e, y->q.qmin),
                        itg_emit_number(e, y->q.qmax), itg_emit_number(e, y->q.qmax));
        return;
    }
    const char *sum = t->saturates ? acc : itg_emit_fit(e, s, t->sum, acc);
    for (int32_t o = 0; o < s->output_count; o++)
        ITG_EMIT_FORMAT(e, "%*s%s[%s] = (%s)%s;\n", (int)indent, "", itg_emit_output(e, t->l, o),
                        at, itg_emit_ctype(e->p->values[s->outputs[o]].dtype),
                        itg_emit_requantize(e, s, o, t->varies ? 0 : t->most - 1,
                                            t->varies ? s->outs[o].requant_count : 1, t->sum,
                                            itg_emit_text(e, "%s - 1", count), sum, NULL));
}

/* Whether windows have different divisors and the conversion to codes depends on the divisor. */
static bool count_varies(const itg_step *s, const itg_window *w, int64_t most)
{
    bool differ = s->form == ITG_FORM_KEEP;
    for (int32_t o = 0; o < s->output_count && !differ; o++)
        for (int32_t i = 1; i < s->outs[o].requant_count && !differ; i++)
            differ =
                memcmp(&s->outs[o].requant[i], &s->outs[o].requant[0], sizeof(itg_requant)) != 0;
    if (!differ) return false;
    for (int64_t i = 0; i < w->out_height; i++)
        for (int64_t j = 0; j < w->out_width; j++)
            if (itg_mean_count(s, w, i, j) != most) return true;
    return false;
}

static void need_sum(itg_emitter *e, const mean *t)
{
    const char *type = itg_dtype_name(t->x.type), *ctype = itg_emit_ctype(t->x.type);
    const char *sum = itg_dtype_name(t->sum), *csum = itg_emit_ctype(t->sum);
    const char *kind = t->saturates ? "saturate" : "sum";
    const bool helium = !t->saturates && t->sum == ITG_S32 && itg_dtype_size(t->x.type) == 1;
    if (helium) itg_emit_helium_needs(e);
    if (!itg_emit_needs(e, itg_emit_text(e, "window_%s_%s_%s", kind, type, sum))) return;
    itg_strbuf inside = {0};
    if (helium)
        itg_emit_template(&e->helpers, helium_sum_text, type, ctype, each_text,
                          itg_emit_helium_four(e, "in", t->x.type, "h * channels", false), NULL);
    itg_emit_template(&inside, inside_text, ctype, NULL);
    itg_strbuf_add(&inside, "            for (int32_t c = 0; c < channels; c++)");
    if (t->saturates)
        itg_emit_template(&inside,
                          " {\n                const $1 sum = acc[c] + in[c] - zero;\n"
                          "                acc[c] = sum < lo ? lo : sum > hi ? hi : sum;\n"
                          "            }\n        }\n}\n\n",
                          csum, NULL);
    else
        itg_strbuf_add(&inside, "\n                acc[c] += in[c] - zero;\n        }\n}\n\n");
    e->failed |= inside.failed;
    const char *more = t->saturates ? itg_emit_text(e, ", %s lo, %s hi", csum, csum) : "";
    itg_emit_template(&e->helpers, sum_text, type, ctype, sum, csum, each_text,
                      inside.text != NULL ? inside.text : "",
                      t->saturates ? ", limited after every addition" : "", kind, more, NULL);
    if (helium) itg_strbuf_add(&e->helpers, "#endif\n\n");
    itg_strbuf_deinit(&inside);
}

static void window_mean(itg_emitter *e, const itg_emit_layer *l)
{
    mean t = mean_of(e, l);
    const itg_step *s = t.s;
    itg_window_view v = view_of(e, s);
    const char *in, *out, *window = window_name(e, &v.w), *limits = "";
    const char *channels = itg_emit_number(e, v.w.channels), *count = itg_emit_number(e, t.most);
    t.varies = count_varies(s, &v.w, t.most);
    need_sum(e, &t);
    if (t.saturates) {
        int64_t lo, hi;
        itg_emit_native_range(s, &lo, &hi);
        if (t.sum == ITG_S32 && lo < -(INT32_MAX >> 1)) lo = -(INT32_MAX >> 1);
        if (t.sum == ITG_S32 && hi > INT32_MAX >> 1) hi = INT32_MAX >> 1;
        limits = itg_emit_text(e, ", %s, %s", itg_emit_number(e, lo), itg_emit_number(e, hi));
    }
    ITG_EMIT_FORMAT(e, "    %s *const acc = %s;\n", itg_emit_ctype(t.sum),
                    itg_emit_scratch(e, t.sum, v.w.channels));
    int32_t images = itg_emit_images(e, &v, &in, &out);
    ITG_EMIT_FORMAT(e, "    for (int32_t i = 0; i < %s; i++) {\n",
                    itg_emit_number(e, v.w.out_height * v.w.out_width));
    if (t.varies) {
        bool padded = s->op == ITG_OP_AVERAGE_POOL && s->attrs.count_include_pad;
        const int64_t none[4] = {0, 0, 0, 0}, *pad = padded ? s->attrs.pad : none;
        if (itg_emit_needs(e, "window_count")) itg_strbuf_add(&e->helpers, count_text);
        ITG_EMIT_FORMAT(
            e, "        const int32_t count = window_count(&%s, i, %lld, %lld, %lld, %lld);\n",
            window, (long long)pad[0], (long long)pad[1], (long long)pad[2], (long long)pad[3]);
        count = "count";
    }
    ITG_EMIT_FORMAT(e, "        window_%s_%s_%s(&%s, %s%s, %s, i, acc%s);\n",
                    t.saturates ? "saturate" : "sum", itg_dtype_name(t.x.type),
                    itg_dtype_name(t.sum), window, t.x.name, in, itg_emit_number(e, t.x.zero),
                    limits);
    ITG_EMIT_FORMAT(e, "        for (int32_t c = 0; c < %s; c++) {\n", channels);
    write_mean(e, &t, 12, "acc[c]", count, itg_emit_text(e, "c + i * %s%s", channels, out));
    itg_strbuf_add(&e->body, "        }\n    }\n");
    itg_emit_close(e, images, 4);
}

/* ---- over axes ---- */

typedef struct axes {
    itg_emit_loops kept, reduced; /* kept: strides of x and y; reduced: of x */
} axes;

static axes axes_of(const itg_step *s, const itg_emit_operand *x)
{
    axes a;
    memset(&a, 0, sizeof a);
    bool reduced[ITG_MAX_RANK] = {false};
    int64_t stride[ITG_MAX_RANK] = {0}, step = 1;
    bool arg = s->op == ITG_OP_ARG_MAX;
    bool all = !arg && s->attrs.axes_count == 0 && !s->attrs.noop_with_empty_axes;
    if (arg)
        reduced[s->attrs.axis] = true;
    else
        for (int32_t i = 0; i < s->attrs.axes_count; i++)
            reduced[s->attrs.axes[i]] = true;
    itg_emit_strides(x->shape, x->last, stride);
    for (int32_t d = 0; d < x->shape->rank; d++) {
        itg_emit_loops *l = all || reduced[d] ? &a.reduced : &a.kept;
        l->dims[l->rank] = x->shape->dims[d];
        l->stride[0][l->rank++] = stride[d];
    }
    for (int32_t d = a.kept.rank - 1; d >= 0; d--) {
        a.kept.stride[1][d] = step;
        step *= a.kept.dims[d];
    }
    return a;
}

static void axes_mean(itg_emitter *e, const itg_emit_layer *l)
{
    mean t = mean_of(e, l);
    axes a = axes_of(t.s, &t.x);
    const char *at[3], *in[3];
    int32_t outer = itg_emit_open(e, &a.kept, 2, 'i', 4, at), indent = 4 + 4 * outer;
    ITG_EMIT_FORMAT(e, "%*s{\n%*s%s acc = 0;\n", (int)indent, "", (int)indent + 4, "",
                    itg_emit_ctype(t.sum));
    int32_t inner = itg_emit_open(e, &a.reduced, 1, 'j', indent + 4, in);
    const char *term = itg_emit_text(e, "acc + (%s[%s + %s] - (%s))", t.x.name, at[0], in[0],
                                     itg_emit_number(e, t.x.zero));
    if (t.sum == ITG_S64)
        term = itg_emit_text(e, "acc + ((int64_t)%s[%s + %s] - (%s))", t.x.name, at[0], in[0],
                             itg_emit_number(e, t.x.zero));
    ITG_EMIT_FORMAT(e, "%*sacc = %s;\n", (int)(indent + 4 + 4 * inner), "",
                    t.saturates ? itg_emit_fit(e, t.s, t.sum, term) : term);
    itg_emit_close(e, inner, indent + 4);
    write_mean(e, &t, indent + 4, "acc", itg_emit_number(e, t.most), at[1]);
    ITG_EMIT_FORMAT(e, "%*s}\n", (int)indent, "");
    itg_emit_close(e, outer, 4);
}

static void axes_max(itg_emitter *e, const itg_emit_layer *l)
{
    const itg_step *s = l->step;
    const itg_emit_operand x = itg_emit_read(e, l, 0, false);
    axes a = axes_of(s, &x);
    bool arg = s->kind == ITG_STEP_ARG_MAX;
    const char *at[3], *in[3], *type = itg_emit_ctype(x.type);
    int32_t outer = itg_emit_open(e, &a.kept, 2, 'i', 4, at), indent = 4 + 4 * outer;
    ITG_EMIT_FORMAT(e, "%*s{\n%*s%s most = %s[%s];\n", (int)indent, "", (int)indent + 4, "", type,
                    x.name, at[0]);
    if (arg) ITG_EMIT_FORMAT(e, "%*sint32_t best = 0, n = 0;\n", (int)indent + 4, "");
    int32_t inner = itg_emit_open(e, &a.reduced, 1, 'j', indent + 4, in),
            deep = indent + 4 + 4 * inner;
    if (arg)
        ITG_EMIT_FORMAT(e,
                        "%*sif (%s[%s + %s] %s most) {\n%*smost = %s[%s + %s];\n%*sbest = n;\n"
                        "%*s}\n%*sn++;\n",
                        (int)deep, "", x.name, at[0], in[0],
                        s->attrs.select_last_index ? ">=" : ">", (int)deep + 4, "", x.name, at[0],
                        in[0], (int)deep + 4, "", (int)deep, "", (int)deep, "");
    else
        ITG_EMIT_FORMAT(e, "%*smost = %s[%s + %s] > most ? %s[%s + %s] : most;\n", (int)deep, "",
                        x.name, at[0], in[0], x.name, at[0], in[0]);
    itg_emit_close(e, inner, indent + 4);
    ITG_EMIT_FORMAT(e, "%*s%s[%s] = %s;\n%*s}\n", (int)indent + 4, "", itg_emit_output(e, l, 0),
                    at[1], arg ? "best" : "most", (int)indent, "");
    itg_emit_close(e, outer, 4);
}

void itg_emit_mean(itg_emitter *e, const itg_emit_layer *l)
{
    (itg_mean_is_reduction(l->step) ? axes_mean : window_mean)(e, l);
}

void itg_emit_max(itg_emitter *e, const itg_emit_layer *l)
{
    (itg_op_is(l->step->op, ITG_IS_POOL) ? window_max : axes_max)(e, l);
}
