/* Requantization. Brings the stages of each channel into one form, and writes one function for each
 * form that occurs:
 *
 * v * 2^left, round(v / 2^pre), v * multiplier, round(v / 2^shift), round(v / 2^post)
 *
 * All values fit 64 bits, which is checked here. Sums that are too wide are first limited to the
 * range in which results differ after the clamp; requantization is monotone. */
#include "kernels/requant.h"
#include "realize/emit/emit.h"
#include <stdlib.h>
#include <string.h>

#define MOST_SHORT ((int64_t)1 << 30) /* two of them have a sum of 32 bits */

enum { LEFT, PRE, MULTIPLIER, SHIFT, POST, PARTS };

typedef struct form {
    int64_t *part[PARTS]; /* [sets] */
    int rounding[PARTS];  /* -1: not known, for none has a shift there */
} form;

static void saturating_limits(int64_t *v)
{
    const int64_t most = (int64_t)1 << 62;
    *v = *v > most ? most : *v < -most ? -most : *v;
}

void itg_emit_native_range(const itg_step *s, int64_t *lo, int64_t *hi)
{
    *lo = s->split.part_count > 0 ? s->join_lo : s->acc_lo;
    *hi = s->split.part_count > 0 ? s->join_hi : s->acc_hi;
    if (!itg_step_fits(s)) {
        *lo = itg_accumulator_min(s->acc);
        *hi = itg_accumulator_max(s->acc);
    }
}

static bool set_rounding(form *f, int part, itg_rounding rounding)
{
    if (f->rounding[part] < 0) f->rounding[part] = (int)rounding;
    return f->rounding[part] == (int)rounding;
}

/* Places one channel's stages in the form. Returns false if they do not fit. */
static bool place_stages(form *f, int64_t i, const itg_requant *r)
{
    int32_t main = -1;
    for (int32_t k = 0; k < r->stage_count; k++)
        if (r->stage[k].multiplier != 1) {
            if (main >= 0) return false;
            main = k;
        }
    if (main < 0) main = r->stage_count > 1 && r->stage[0].shift < 0 ? 1 : 0;
    f->part[MULTIPLIER][i] = 1;
    for (int32_t k = 0; k < r->stage_count; k++) {
        const itg_requant_stage *stage = &r->stage[k];
        int part = k < main ? PRE : k == main ? SHIFT : POST;
        if (k == main) f->part[MULTIPLIER][i] = stage->multiplier;
        if (stage->shift < 0) {
            bool first = k == 0 || (k == main && f->part[PRE][i] == 0);
            if (!first || (k != main && k != 0)) return false;
            f->part[LEFT][i] -= stage->shift;
        } else if (stage->shift > 0) {
            if (f->part[part][i] != 0 || !set_rounding(f, part, stage->rounding)) return false;
            f->part[part][i] = stage->shift;
        }
    }
    return true;
}

/* ---- 64 bits suffice ---- */

static bool shift_fits(int64_t *v, int64_t shift)
{
    if (*v > (INT64_MAX >> shift)) return false;
    *v <<= shift;
    return true;
}

static bool round_fits(int64_t *v, int64_t shift)
{
    if (shift == 0) return true;
    int64_t half = (int64_t)1 << (shift - 1);
    if (*v > INT64_MAX - half) return false;
    *v = ((*v + half) >> shift) + 1;
    return true;
}

/* Whether 64 bits suffice for a channel. Raises *middle to its magnitude after the shift that
 * follows the multiplication. */
static bool channel_fits(const form *f, int64_t i, int64_t magnitude, int64_t *middle)
{
    int64_t v = magnitude, m = f->part[MULTIPLIER][i];
    if (!shift_fits(&v, f->part[LEFT][i]) || !round_fits(&v, f->part[PRE][i])) return false;
    if (m > 0 && v > INT64_MAX / m) return false;
    v *= m;
    if (!round_fits(&v, f->part[SHIFT][i])) return false;
    if (v > *middle) *middle = v;
    return round_fits(&v, f->part[POST][i]) && v < ((int64_t)1 << 62);
}

/* Returns the least magnitude beyond which, on either side, the clamp gives its bound; INT64_MAX if
 * there is none. */
static int64_t told_apart(const itg_requant *r, int64_t zero, int64_t lo, int64_t hi)
{
    int64_t known = INT64_MAX;
    for (int bit = 62; bit >= 0; bit--) {
        int64_t v = ((int64_t)1 << bit) - 1;
        int64_t up = itg_requant_apply(r, v), down = itg_requant_apply(r, -v);
        saturating_limits(&up);
        saturating_limits(&down);
        if (up + zero < hi || down + zero > lo) break;
        known = v;
    }
    return known;
}

static bool all_fit(const form *f, int64_t sets, int64_t magnitude, int64_t *middle)
{
    *middle = 0;
    for (int64_t i = 0; i < sets; i++)
        if (!channel_fits(f, i, magnitude, middle)) return false;
    return true;
}

/* ---- text ---- */

static const char *const rounding_names[] = {"half_even", "half_up", "half_away", "floor"};

const char *itg_emit_rounding(itg_emitter *e, itg_rounding rounding, bool wide)
{
    static const char *const terms[] = {"half - (s > 0 && (FLOOR(v, s) & 1) == 0)", "half", NULL,
                                        NULL};
    const char *bits = wide ? "64" : "32", *plain = rounding_names[rounding];
    const char *name = itg_emit_text(e, "%s_%s", plain, bits);
    if (itg_emit_needs(e, itg_emit_text(e, "floor_%s", bits)))
        itg_emit_template(&e->helpers,
                          "/* floor(v / 2^s); what >> makes of a negative number is the "
                          "compiler's choice. */\n"
                          "static inline int$1_t floor_$1(int$1_t v, int32_t s)\n"
                          "{\n"
                          "#if (-1 >> 1) == -1\n"
                          "    return v >> s;\n"
                          "#else\n"
                          "    const int$1_t m = (int$1_t) - (v < 0);\n"
                          "    return (int$1_t)((uint$1_t)(v ^ m) >> s) ^ m;\n"
                          "#endif\n"
                          "}\n\n",
                          bits, NULL);
    if (rounding == ITG_ROUND_FLOOR || !itg_emit_needs(e, name)) return name;
    const char *term = terms[rounding];
    if (rounding == ITG_ROUND_HALF_EVEN)
        term = itg_emit_text(e, "half - (s > 0 && (floor_%s(v, s) & 1) == 0)", bits);
    if (rounding ==
        ITG_ROUND_HALF_AWAY) /* one less where v and -half are negative, so not for s 0 */
        term = itg_emit_text(e, "half - (int%s_t)((uint%s_t)(v & -half) >> %s)", bits, bits,
                             wide ? "63" : "31");
    itg_emit_template(&e->helpers,
                      "/* v / 2^s, to the nearest integer: $3. */\n"
                      "static inline int$1_t $2(int$1_t v, int32_t s)\n"
                      "{\n"
                      "    const int$1_t half = (int$1_t)(INT$1_C(1) << s) >> 1;\n"
                      "    return floor_$1(v + $4, s);\n"
                      "}\n\n",
                      bits, name, plain, term, NULL);
    return name;
}

static bool varies(const int64_t *values, int64_t count)
{
    for (int64_t i = 1; i < count; i++)
        if (values[i] != values[0]) return true;
    return false;
}

static int64_t most_of(const int64_t *values, int64_t count)
{
    int64_t most = values[0];
    for (int64_t i = 1; i < count; i++)
        if (values[i] > most) most = values[i];
    return most;
}

/* Whether 32 bits suffice for a rounding shift of numbers up to this magnitude. */
static bool fits_narrow(int64_t magnitude, int64_t shift)
{
    return shift <= 30 &&
           magnitude < ((int64_t)1 << 31) - ((int64_t)1 << (shift > 0 ? shift - 1 : 0)) - 1;
}

/* Returns the number of the function with this signature. */
static int32_t core_number(itg_emitter *e, const char *signature, bool *is_new)
{
    int32_t known = itg_names_find(&e->cores, signature);
    *is_new = known < 0;
    if (known >= 0) return known;
    if (!itg_names_put(&e->cores, signature, e->core_count)) e->failed = true;
    return e->core_count++;
}

typedef struct core {
    bool used[PARTS], limited;
    bool row;                    /* all sums of a row in one call, with a bias */
    bool short_end;              /* what zero is added to, and the sum, have 32 bits */
    const char *bytes;           /* "S8", "U8": the codes' ends are those of a byte; else NULL */
    bool narrow[PARTS];          /* rounded in 32 bits */
    const char *constant[PARTS]; /* text inside the function; NULL: an argument */
    itg_dtype sum, code;
} core;

static const char *const part_names[PARTS] = {"left", "pre", "multiplier", "shift", "post"};

/* The arguments behind the sum; shown[k]: how a part is called inside. */
static void add_arguments(const core *c, const char *shown[PARTS], itg_strbuf *text)
{
    const char *code = itg_emit_ctype(c->code);
    if (c->limited) itg_strbuf_add(text, ", int64_t limit");
    for (int k = 0; k < PARTS; k++) {
        shown[k] = c->constant[k] != NULL ? c->constant[k] : part_names[k];
        if (c->used[k] && c->constant[k] == NULL)
            itg_strbuf_format(text, ", int32_t %s", part_names[k]);
    }
    itg_strbuf_format(text, ",\n    %s zero", code);
    if (c->bytes == NULL) itg_strbuf_format(text, ", %s lo, %s hi", code, code);
    itg_strbuf_add(text, ")\n{\n");
}

/* Adds the stages from v to the code before its clamp, which is called `end`. */
static void add_stages(itg_emitter *e, const form *f, const core *c, const char *const *shown,
                       const char *indent, itg_strbuf *text)
{
    if (c->limited)
        itg_strbuf_format(text, "%s    v = v < -limit ? -limit : v > limit ? limit : v;\n", indent);
    if (c->used[LEFT])
        itg_strbuf_format(text, "%s    v *= INT64_C(1) << %s;\n", indent, shown[LEFT]);
    for (int k = PRE; k < PARTS; k++) {
        if (!c->used[k]) continue;
        if (k == MULTIPLIER) {
            itg_strbuf_format(text, "%s    v *= %s;\n", indent, shown[k]);
            continue;
        }
        bool narrow = c->narrow[k];
        const char *rounding = itg_emit_rounding(e, (itg_rounding)f->rounding[k], !narrow);
        itg_strbuf_format(text, "%s    v = %s(%sv, %s);\n", indent, rounding,
                          narrow ? "(int32_t)" : "", shown[k]);
    }
    if (c->short_end) itg_strbuf_format(text, "%s    int32_t code = (int32_t)v;\n", indent);
    itg_strbuf_format(text, "%s    %s += zero;\n", indent, c->short_end ? "code" : "v");
}

static const char clamp_text[] = "/* Limits to the range of a byte. */\n"
                                 "#if defined(__ARM_FEATURE_SAT) && defined(__GNUC__)\n"
                                 "#define CLAMP_S8(v) ((int32_t)__builtin_arm_ssat((v), 8))\n"
                                 "#define CLAMP_U8(v) ((int32_t)__builtin_arm_usat((v), 8))\n"
                                 "#else\n"
                                 "#define CLAMP_S8(v) ((v) < -128 ? -128 : (v) > 127 ? 127 : (v))\n"
                                 "#define CLAMP_U8(v) ((v) < 0 ? 0 : (v) > 255 ? 255 : (v))\n"
                                 "#endif\n\n";

static void write_core(itg_emitter *e, const form *f, const core *c, const char *name)
{
    const char *end = c->short_end ? "code" : "v", *code = itg_emit_ctype(c->code);
    const char *indent = c->row ? "    " : "", *shown[PARTS];
    itg_strbuf text = {0};
    if (c->row) itg_emit_pairs(e);
    if (c->bytes != NULL && itg_emit_needs(e, "clamp")) itg_strbuf_add(&e->helpers, clamp_text);
    if (c->row)
        itg_strbuf_format(&text, "static ONCE void %s(int32_t *sum, int32_t count, int32_t bias",
                          name);
    else
        itg_strbuf_format(&text, "SHARED %s %s(%s sum", code, name, itg_emit_ctype(c->sum));
    add_arguments(c, shown, &text);
    itg_strbuf_add(&text, c->row
                              ? "    for (; count > 0; count--, sum++) {\n"
                                "        int64_t v = (int32_t)((uint32_t)*sum + (uint32_t)bias);\n"
                              : "    int64_t v = sum;\n");
    add_stages(e, f, c, shown, indent, &text);
    const char *clamp = c->bytes != NULL
                            ? itg_emit_text(e, "CLAMP_%s(%s)", c->bytes, end)
                            : itg_emit_text(e, "%s < lo ? lo : %s > hi ? hi : %s", end, end, end);
    itg_strbuf_format(&text, "%s    %s (%s)(%s);\n%s}\n\n", indent, c->row ? "*sum =" : "return",
                      code, clamp, c->row ? "    }\n" : "");
    e->failed |= text.failed;
    itg_strbuf_add(&e->helpers, c->row ? "/* Sums as codes. */\n" : "/* A sum as a code. */\n");
    if (text.text != NULL) itg_strbuf_add(&e->helpers, text.text);
    itg_strbuf_deinit(&text);
}

static const char *signature_of(itg_emitter *e, const form *f, const core *c)
{
    const char *text =
        itg_emit_text(e, "%s %s %d %d %d %d %d %s", itg_dtype_name(c->sum), itg_dtype_name(c->code),
                      c->row, c->narrow[PRE], c->narrow[POST], c->limited, c->short_end,
                      c->bytes != NULL ? c->bytes : "");
    for (int k = 0; k < PARTS; k++)
        if (c->used[k])
            text = itg_emit_text(e, "%s|%s %s %d", text, part_names[k],
                                 c->constant[k] != NULL ? c->constant[k] : "?",
                                 k == MULTIPLIER || k == LEFT ? 0 : f->rounding[k]);
    return text;
}

static bool refuse(itg_emitter *e, const itg_step *s, const char *why)
{
    itg_emit_fail(e, ITG_UNSUPPORTED, "node", s->name, why);
    return false;
}

/* Puts every channel's stages into the form. Returns whether 64 bits suffice. */
static bool derive(itg_emitter *e, const itg_emit_sets *t, form *f, core *c, int64_t *limit,
                   int64_t *middle)
{
    for (int64_t i = 0; i < t->count; i++) {
        if (t->requant[i].is_f32)
            return refuse(e, t->step,
                          "it requantizes in float32 (form f32); C source needs a target whose "
                          "requantization is integer, such as cortex-m, vta or cvm");
        if (!place_stages(f, i, &t->requant[i]))
            return refuse(e, t->step, "its requantization is no shift, multiplication, shift");
    }
    int64_t magnitude = t->most > -t->least ? t->most : -t->least;
    if (all_fit(f, t->count, magnitude, middle)) return true;
    for (int64_t i = 0; i < t->count; i++) {
        int64_t v = told_apart(&t->requant[i], t->zero, t->lo, t->hi);
        if (v > *limit) *limit = v;
    }
    c->limited = true;
    if (*limit > magnitude) *limit = magnitude;
    if (all_fit(f, t->count, *limit, middle)) return true;
    return refuse(e, t->step, "its requantization needs more than 64 bits");
}

const char *itg_emit_sets_text(itg_emitter *e, const itg_emit_sets *t, const char *v)
{
    form f;
    core c = {.sum = t->sum, .code = t->code, .row = t->bias != NULL};
    int64_t limit = 0, middle = 0;
    bool is_new;
    for (int k = 0; k < PARTS; k++) {
        f.part[k] = itg_emit_alloc(e, (size_t)t->count, sizeof(int64_t));
        f.rounding[k] = -1;
        if (f.part[k] == NULL) return "";
    }
    if (!derive(e, t, &f, &c, &limit, &middle)) return "";
    bool high =
        f.part[MULTIPLIER][0] != 1 && f.part[SHIFT][0] == 31 && !varies(f.part[SHIFT], t->count);
    const char *fixed = high ? "31" : "0"; /* in the function's own text */
    const char *arguments = c.limited ? itg_emit_text(e, ", %s", itg_emit_number(e, limit)) : "";
    for (int k = 0; k < PARTS; k++) {
        for (int64_t i = 0; i < t->count; i++) {
            if (f.part[k][i] != (k == MULTIPLIER)) c.used[k] = true;
        }
        if (!c.used[k]) continue;
        /* The shift of doubling high multiplications is part of the form. */
        if (k == SHIFT && high) {
            c.constant[k] = fixed;
            continue;
        }
        const char *what = itg_emit_text(e, "%s%s", part_names[k], t->suffix);
        arguments = itg_emit_text(e, "%s, %s", arguments,
                                  itg_emit_channel(e, what, f.part[k], t->count, t->index));
    }
    int64_t pre = most_of(f.part[PRE], t->count);
    int64_t magnitude = t->most > -t->least ? t->most : -t->least;
    c.narrow[POST] = c.used[POST] && fits_narrow(middle, most_of(f.part[POST], t->count));
    c.narrow[PRE] = c.used[PRE] && !c.used[LEFT] && !c.limited && t->sum == ITG_S32 &&
                    fits_narrow(magnitude, pre);
    c.short_end = c.code == ITG_S32 && middle < MOST_SHORT && llabs(t->zero) < MOST_SHORT;
    if (c.short_end && t->lo == INT8_MIN && t->hi == INT8_MAX) c.bytes = "S8";
    if (c.short_end && t->lo == 0 && t->hi == UINT8_MAX) c.bytes = "U8";
    int32_t number = core_number(e, signature_of(e, &f, &c), &is_new);
    const char *name = number == 0 ? "requantize" : itg_emit_text(e, "requantize_%d", (int)number);
    if (is_new) write_core(e, &f, &c, name);
    const char *ends = c.bytes != NULL ? ""
                                       : itg_emit_text(e, ", %s, %s", itg_emit_number(e, t->lo),
                                                       itg_emit_number(e, t->hi));
    return itg_emit_text(e, "%s(%s%s%s%s, %s%s)", name, v, c.row ? ", count, " : "",
                         c.row ? t->bias : "", arguments, itg_emit_number(e, t->zero), ends);
}

const char *itg_emit_requantize(itg_emitter *e, const itg_step *s, int32_t output, int64_t first,
                                int64_t sets, itg_dtype sum, const char *index, const char *v,
                                const char *bias)
{
    const itg_step_out *o = &s->outs[output];
    bool one = o->requant_count == 1;
    itg_emit_sets t = {.step = s,
                       .suffix = s->output_count > 1 ? itg_emit_text(e, "_%d", (int)output) : "",
                       .requant = one ? o->requant : o->requant + first,
                       .count = one ? 1 : sets,
                       .index = index,
                       .bias = bias,
                       .sum = sum,
                       .code = ITG_S32,
                       .zero = e->p->values[s->outputs[output]].q.zero_point,
                       .lo = o->lo,
                       .hi = o->hi};
    itg_emit_native_range(s, &t.least, &t.most);
    return itg_emit_sets_text(e, &t, v);
}

const char *itg_emit_fit(itg_emitter *e, const itg_step *s, itg_dtype sum, const char *v)
{
    int32_t bits = sum == ITG_S64 ? 64 : 32;
    if (s->acc.bits == 0 || itg_step_fits(s) || s->acc.bits >= bits) return v;
    bool wrap = s->acc.overflow == ITG_OVERFLOW_WRAP;
    const char *width = bits == 64 ? "64" : "32";
    const char *name = itg_emit_text(e, "%s_%s", wrap ? "wrap" : "saturate", width);
    if (itg_emit_needs(e, name))
        itg_emit_template(&e->helpers,
                          wrap ? "/* v in `bits` bits of two's complement. */\n"
                                 "static inline int$1_t wrap_$1(int$1_t v, int32_t bits)\n"
                                 "{\n"
                                 "    const uint$1_t sign = UINT$1_C(1) << (bits - 1);\n"
                                 "    const uint$1_t low = (uint$1_t)v & (sign | (sign - 1));\n"
                                 "    return (int$1_t)((int$1_t)(low & ~sign) - "
                                 "(int$1_t)(low & sign));\n"
                                 "}\n\n"
                               : "/* v limited to `bits` bits of two's complement. */\n"
                                 "static inline int$1_t saturate_$1(int$1_t v, int32_t bits)\n"
                                 "{\n"
                                 "    const int$1_t most = (int$1_t)((UINT$1_C(1) << (bits - 1)) - "
                                 "1);\n"
                                 "    return v > most ? most : v < -most - 1 ? -most - 1 : v;\n"
                                 "}\n\n",
                          width, NULL);
    return itg_emit_text(e, "%s(%s, %d)", name, v, (int)s->acc.bits);
}
