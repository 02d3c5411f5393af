/* Helium: convolutions and products of bytes, sixteen terms of four sums at a time, and what the
 * layers share.
 *
 * Both operands are unsigned: x + 128 (or x) and the stored codes of weights, which are w + minus.
 * With z the zero point of the former,
 *
 *   sum of (x - z) * (w) = sum of x * (w + minus) - minus * sum of x - z * sum of w,
 *
 * modulo 2^32. The last sum is a constant and stands in the bias. Weights of 8 bits thus need no
 * unpacking, and padding is z. */
#include "realize/emit/c_helium.h"
#include <string.h>

enum {
    QUAD = 4,
    WORDS = 9 /* of terms, for four sums */,
    LANES = 16,
    MOST_ROWS = 64,
    WIDE_TILE = 8,
    MOST_PASSES = 8,
    DOT = 12,
    QUADS = 40,
    GATHER = 8,
    POSITION = 80
};
#define UNPACK 0.6

static const char begin_text[] = "/* HELIUM: vectors of 128 bits. */\n"
                                 "#if defined(__ARM_FEATURE_MVE) && !defined(__ARM_BIG_ENDIAN)\n"
                                 "#if __ARM_FEATURE_MVE & 1\n"
                                 "#include <arm_mve.h>\n"
                                 "#define HELIUM 1\n"
                                 "/* gcc 12 moves loads of the same memory across its vector "
                                 "stores: nothing moves over a FENCE. */\n"
                                 "#define FENCE __asm__ volatile(\"\" ::: \"memory\")\n"
                                 "#if defined(__OPTIMIZE_SIZE__) && !defined(__clang__) /* gcc's "
                                 "loops of vectors are poor then */\n"
                                 "#define QUICK static __attribute__((optimize(\"O2\")))\n"
                                 "#else\n"
                                 "#define QUICK static\n"
                                 "#endif\n"
                                 "#ifndef __clang__ /* loads that move need more registers */\n"
                                 "#define QUICK_IN_ORDER \\\n"
                                 "    static __attribute__((noipa, unused, optimize(\"O2\", "
                                 "\"no-schedule-insns\")))\n"
                                 "#else\n"
                                 "#define QUICK_IN_ORDER QUICK ONCE\n"
                                 "#endif\n"
                                 "#endif\n"
                                 "#endif\n\n";

static const char scale_text[] =
    "#ifdef HELIUM\n"
    "/* round(round(v$3 * multiplier / 2^31) / 2^down), half up, then half away from zero; $4. */\n"
    "static inline int32x4_t helium_scale$1(int32x4_t v, int32x4_t multiplier, int32x4_t shift)\n"
    "{\n"
    "$2"
    "    v = vqaddq_s32(v, vshrq_n_s32(vandq_s32(v, shift), 31));\n"
    "    return vrshlq_s32(v, shift);\n"
    "}\n"
    "#endif\n\n";

static const char sums_text[] =
    "#ifdef HELIUM\n"
    "/* Sums of `depth` terms; y of a position and of the next are `step` apart. */\n"
    "typedef struct helium_layer {\n"
    "    int32_t depth, step;\n"
    "    int16_t zero, lo, hi;\n"
    "} helium_layer;\n"
    "#endif\n\n";

static const char codes_text[] =
    "#ifdef HELIUM\n"
    "/* Codes of four channels, or the first few, from their sums. */\n"
    "static inline void helium_put$1(int32x4_t v, int32x4_t multiplier, int32x4_t shift, int32_t "
    "zero,\n"
    "                                int32x4_t lo, int32x4_t hi, int32_t filters, int8_t *y)\n"
    "{\n"
    "    v = helium_scale$1(v, multiplier, shift);\n"
    "    v = vminq_s32(vmaxq_s32(vqaddq_n_s32(v, zero), lo), hi);\n"
    "    if (filters > 3)\n"
    "        vstrbq_s32(y, v);\n"
    "    else\n"
    "        vstrbq_p_s32(y, v, vctp32q((uint32_t)filters));\n"
    "}\n"
    "#endif\n\n";

static const char dense_codes_text[] =
    "#ifdef HELIUM\n"
    "/* The same of sums in memory, with their terms. */\n"
    "static ONCE void helium_codes$1(const helium_layer *l, const uint32_t *sums, const int32_t "
    "*terms,\n"
    "                                int32_t filters, uint8_t *y)\n"
    "{\n"
    "    const int32x4_t bias = vldrwq_s32(terms), multiplier = vldrwq_s32(terms + 4);\n"
    "    const int32x4_t shift = vldrbq_s32((const int8_t *)(terms + 8));\n"
    "    const int32x4_t v = vaddq_s32(vldrwq_s32((const int32_t *)sums), bias);\n"
    "    helium_put$1(v, multiplier, shift, l->zero, vdupq_n_s32(l->lo), vdupq_n_s32(l->hi), "
    "filters,\n"
    "                 (int8_t *)y);\n"
    "}\n"
    "#endif\n\n";

static const char dot_text[] =
    "#ifdef HELIUM\n"
    "/* Codes of `count` positions: rows x of whole vectors, zeros behind their depth, whose sums "
    "begin\n"
    " * with start, against filters w, behind which 15 bytes may be read. */\n"
    "QUICK ONCE void helium_dot$1(const helium_layer *l, const uint8_t *x, const uint32_t "
    "*start,\n"
    "                              int32_t count, const uint8_t *w, int32_t filters,\n"
    "                              const int32_t *terms, uint8_t *y)\n"
    "{\n"
    "    const int32_t depth = l->depth, step = l->step, zero = l->zero, vectors = (depth + 15) >> "
    "4;\n"
    "    const int32x4_t lo = vdupq_n_s32(l->lo), hi = vdupq_n_s32(l->hi);\n"
    "    for (; filters > 0; filters -= 4, w += 4 * depth, terms += 9, y += 4) {\n"
    "        const int32_t second = filters > 1 ? depth : 0, third = filters > 2 ? depth : 0;\n"
    "        const int32_t fourth = filters > 3 ? depth : 0;\n"
    "        const int32x4_t bias = vldrwq_s32(terms), multiplier = vldrwq_s32(terms + 4);\n"
    "        const int32x4_t shift = vldrbq_s32((const int8_t *)(terms + 8));\n"
    "        const uint8_t *a = x;\n"
    "        int8_t *out = (int8_t *)y;\n"
    "        for (int32_t p = 0; p < count; p++, out += step) {\n"
    "            const uint8_t *w0 = w, *w1 = w0 + second, *w2 = w1 + third, *w3 = w2 + fourth;\n"
    "            uint32_t s0 = start[p], s1 = s0, s2 = s0, s3 = s0;\n"
    "            for (int32_t i = vectors; i > 0; i--) {\n"
    "                const uint8x16_t v = vldrbq_u8(a);\n"
    "                s0 = vmladavaq_u8(s0, v, vldrbq_u8(w0));\n"
    "                s1 = vmladavaq_u8(s1, v, vldrbq_u8(w1));\n"
    "                s2 = vmladavaq_u8(s2, v, vldrbq_u8(w2));\n"
    "                s3 = vmladavaq_u8(s3, v, vldrbq_u8(w3));\n"
    "                a += 16, w0 += 16, w1 += 16, w2 += 16, w3 += 16;\n"
    "            }\n"
    "            int32x4_t v = vdupq_n_s32((int32_t)s0);\n"
    "            v = vsetq_lane_s32((int32_t)s1, v, 1);\n"
    "            v = vsetq_lane_s32((int32_t)s2, v, 2);\n"
    "            v = vsetq_lane_s32((int32_t)s3, v, 3);\n"
    "            helium_put$1(vaddq_s32(v, bias), multiplier, shift, zero, lo, hi, filters, out);\n"
    "        }\n"
    "    }\n"
    "}\n"
    "#endif\n\n";

/* ---- requantization ---- */

static bool is_stage(const itg_requant_stage *s, int32_t shift, itg_rounding rounding)
{
    return s->shift == shift && (s->rounding == rounding || shift <= 0);
}

bool itg_emit_doubling_of(const itg_requant *r, int64_t magnitude, itg_emit_doubling *out)
{
    const itg_requant_stage *s = r->stage;
    if (r->is_f32) return false;
    int32_t left = 0, down = 0, main = 0;
    if (r->stage_count == 2 && s[0].multiplier == 1 && s[0].shift < 0) {
        left = -s[0].shift;
        main = 1;
    } else if (r->stage_count == 2 && s[1].multiplier == 1 && s[1].shift >= 0) {
        down = s[1].shift;
    } else if (r->stage_count != 1) {
        return false;
    }
    if (s[main].multiplier < 1 || s[main].multiplier > INT32_MAX) return false;
    if (!is_stage(&s[main], 31, ITG_ROUND_HALF_UP)) return false;
    if (main == 0 && r->stage_count == 2 && !is_stage(&s[1], down, ITG_ROUND_HALF_AWAY))
        return false;
    if (left > 30 || down > 31 || (left > 0 && magnitude > (INT32_MAX >> left))) return false;
    *out = (itg_emit_doubling){(int32_t)s[main].multiplier, (int8_t)left, (int8_t)down};
    return true;
}

void itg_emit_helium_needs(itg_emitter *e)
{
    itg_emit_pairs(e); /* ONCE */
    if (itg_emit_needs(e, "helium")) itg_strbuf_add(&e->helpers, begin_text);
}

/* Writes `helium_scale`, or `helium_scale_left` for sets that shift to the left. */
static void need_scale(itg_emitter *e, const char *name)
{
    const bool left = name[0] != '\0';
    if (itg_emit_needs(e, itg_emit_text(e, "helium_scale%s", name)))
        itg_emit_template(&e->helpers, scale_text, name,
                          left ? "    v = vshlq_s32(v, vmaxq_s32(shift, vdupq_n_s32(0)));\n"
                                 "    v = vqrdmulhq_s32(v, multiplier);\n"
                                 "    shift = vminq_s32(shift, vdupq_n_s32(0));\n"
                               : "    v = vqrdmulhq_s32(v, multiplier);\n",
                          left ? " * 2^left" : "", left ? "shift: left, or -down" : "shift: -down",
                          NULL);
}

/* ---- what sums have in common ---- */

static bool sets_of(itg_emitter *e, itg_emit_helium_sums *h)
{
    const itg_emit_mac_view *t = h->t;
    const itg_step_out *o = &t->s->outs[0];
    itg_emit_doubling *sets = itg_emit_alloc(e, (size_t)t->channels, sizeof *sets);
    int64_t lo, hi;
    bool left = false;
    itg_emit_native_range(t->s, &lo, &hi);
    for (int64_t i = 0; i < t->channels && sets != NULL; i++) {
        const itg_requant *r = &o->requant[o->requant_count == 1 ? 0 : i];
        if (!itg_emit_doubling_of(r, hi > -lo ? hi : -lo, &sets[i])) return false;
        left = left || sets[i].left > 0;
    }
    h->sets = sets;
    h->left = left ? "_left" : "";
    h->zero = e->p->values[t->s->outputs[0]].q.zero_point;
    h->lo = o->lo;
    h->hi = o->hi;
    return sets != NULL;
}

/* Whether the layer has the form: bytes in and out, weights of at most 8 bits, sums modulo 2^32,
 * one output. */
static bool has_form(const itg_emitter *e, const itg_emit_mac_view *t)
{
    const itg_step *s = t->s;
    const itg_pvalue *w = &e->p->values[s->inputs[1]], *y = &e->p->values[s->outputs[0]];
    const bool narrow = s->acc.bits > 0 && s->acc.bits < 32 && !itg_step_fits(s);
    const bool once =
        t->conv ? t->v.batch == 1 : itg_dims_product(&t->m.batch, 0, t->m.batch.rank) == 1;
    return t->row == ITG_S16 && t->sum == ITG_S32 && s->output_count == 1 && once && !narrow &&
           t->l->inputs[0] != ITG_NONE && itg_dtype_size(t->x.type) == 1 &&
           itg_dtype_size(y->dtype) == 1 && w->data != NULL && w->q.bits <= 8 &&
           (!itg_has_zero_points(&w->q) || w->q.bits < 8);
}

static int64_t weight_at(const itg_emit_mac_view *t, const itg_pvalue *w, int64_t c, int64_t i)
{
    const bool columns = !t->conv && !t->transposed;
    return itg_load(w->dtype, w->data, columns ? i * t->filters + c : c * t->depth + i) -
           w->q.zero_point;
}

/* Returns the bias of a channel minus zero times the sum of its weights, modulo 2^32. */
static int64_t bias_of(const itg_emitter *e, const itg_emit_mac_view *t, int64_t c, int64_t zero)
{
    const itg_pvalue *w = &e->p->values[t->s->inputs[1]];
    uint64_t sum = t->bias != NULL ? (uint64_t)t->bias[c] : 0;
    for (int64_t i = 0; i < t->depth; i++)
        sum -= (uint64_t)(zero * weight_at(t, w, c, i));
    return (int32_t)(uint32_t)sum;
}

/* Returns four shifts, -down or left, as the bytes of one word. */
static int64_t shift_word(const itg_emit_helium_sums *h, const int32_t *order)
{
    uint32_t word = 0;
    for (int i = 0; i < QUAD; i++)
        if (order[i] != ITG_NONE) {
            const itg_emit_doubling *set = &h->sets[order[i]];
            word |= (uint32_t)(uint8_t)(set->left > 0 ? set->left : -set->down) << (8 * i);
        }
    return (int32_t)word;
}

static void write_terms(itg_emitter *e, const itg_emit_helium_sums *h, const int32_t *order,
                        int64_t count, int64_t zero)
{
    ITG_EMIT_FORMAT(e, "        static const int32_t terms[%lld] = {\n",
                    (long long)(count / QUAD * WORDS));
    for (int64_t q = 0; q < count; q += QUAD) {
        int64_t words[WORDS] = {0};
        for (int i = 0; i < QUAD; i++)
            if (order[q + i] != ITG_NONE) {
                words[i] = bias_of(e, h->t, order[q + i], zero);
                words[QUAD + i] = h->sets[order[q + i]].multiplier;
            }
        words[WORDS - 1] = shift_word(h, order + q);
        itg_strbuf_add(&e->body, "            ");
        for (int i = 0; i < WORDS; i++)
            ITG_EMIT_FORMAT(e, "%s%s", itg_emit_number(e, words[i]), i + 1 < WORDS ? ", " : ",\n");
    }
    itg_strbuf_add(&e->body, "        };\n");
}

void itg_emit_helium_begin(itg_emitter *e, const itg_emit_helium_sums *h, const int32_t *order,
                           int64_t count, int64_t zero)
{
    const itg_emit_mac_view *t = h->t;
    itg_emit_helium_needs(e);
    need_scale(e, h->left);
    if (itg_emit_needs(e, "helium_layer")) itg_strbuf_add(&e->helpers, sums_text);
    itg_strbuf_add(&e->body, "#ifdef HELIUM\n    {\n");
    write_terms(e, h, order, count, zero);
    ITG_EMIT_FORMAT(e,
                    "        static const helium_layer layer = {%s, %s, %lld, %lld, %lld};\n"
                    "        const uint8_t *const in = (const uint8_t *)%s;\n"
                    "        uint8_t *const out = (uint8_t *)y;\n"
                    "        FENCE;\n",
                    itg_emit_number(e, t->depth), itg_emit_number(e, t->channels),
                    (long long)h->zero, (long long)h->lo, (long long)h->hi, t->x.name);
}

void itg_emit_helium_end(itg_emitter *e)
{
    itg_strbuf_add(&e->body, "        FENCE;\n        return;\n    }\n#endif\n");
}

/* ---- convolutions and products ---- */

typedef struct pieces {
    int64_t rows, row; /* positions at a time, and bytes of each */
    int64_t filters;   /* unpacked at a time; 0: read where they are */
    int64_t quad;      /* filters of one vector: 4, or a narrower tile */
    bool once;         /* unpacked once, and positions are gathered for each tile of filters */
} pieces;

/* Returns how many positions fit beside a tile of `filters` filters. */
static int64_t rows_beside(const itg_emit_helium_sums *h, int64_t filters, int64_t row)
{
    const int64_t tile = filters > 0 ? filters * h->t->depth + LANES : 0;
    const int64_t rows = ((int64_t)h->room - tile) / (row + 4);
    const int64_t most = h->t->patches < MOST_ROWS ? h->t->patches : MOST_ROWS;
    return rows < most ? rows : most;
}

/* Returns the approximate instructions of a group: UNPACK for each code that is unpacked, DOT for
 * each vector of terms and quad of filters, QUADS for each quad of a block, GATHER for each vector
 * of a patch, and POSITION. */
static double cost_of(const itg_emit_mac_view *t, const pieces *p)
{
    const double blocks = (double)((t->patches + p->rows - 1) / p->rows);
    const double passes = p->once ? (double)((t->filters + p->filters - 1) / p->filters) : 1;
    const double quads = (double)((t->filters + p->quad - 1) / p->quad);
    const double vectors = (double)(p->row / LANES), patches = (double)t->patches;
    return UNPACK * (double)(t->filters * t->depth) * (p->once ? 1 : blocks) +
           quads * (DOT * vectors * patches + QUADS * blocks) +
           passes * patches * (GATHER * vectors + POSITION);
}

static void keep_cheaper(const itg_emit_helium_sums *h, pieces p, pieces *best)
{
    p.quad = p.filters < QUAD ? p.filters : QUAD;
    p.rows = rows_beside(h, p.filters, p.row);
    if (p.rows >= 1 && (best->rows < 1 || cost_of(h->t, &p) < cost_of(h->t, best))) *best = p;
}

/* Finds the tile with the least cost. Returns false if none fits. */
static bool plan_of(const itg_emit_helium_sums *h, int64_t bits, pieces *out)
{
    const itg_emit_mac_view *t = h->t;
    pieces p = {.row = (t->depth + LANES - 1) / LANES * LANES, .quad = QUAD};
    p.rows = rows_beside(h, 0, p.row);
    *out = p;
    if (bits == 8 && p.row == t->depth) return p.rows >= 1;
    out->rows = 0;
    for (int64_t filters = WIDE_TILE; filters >= 1; filters /= 2) {
        p.filters = filters < t->filters ? filters : t->filters;
        keep_cheaper(h, p, out);
    }
    p.once = true;
    for (int64_t passes = 1; passes <= (h->again ? MOST_PASSES : 1); passes++) {
        p.filters = ((t->filters + passes - 1) / passes + QUAD - 1) / QUAD * QUAD;
        if (p.filters > t->filters) p.filters = t->filters;
        keep_cheaper(h, p, out);
    }
    return out->rows >= 1;
}

/* Writes the call that makes rows and the start values of their sums; in: its indentation. */
static void write_rows(itg_emitter *e, const itg_emit_helium_sums *h, const char *window,
                       const char *group, const char *in)
{
    const itg_emit_mac_view *t = h->t;
    const int flip = h->flip ? 128 : 0;
    const char *minus = itg_emit_number(e, h->minus), *depth = itg_emit_number(e, t->depth);
    if (window == NULL)
        ITG_EMIT_FORMAT(e,
                        "%s        helium_rows(in + first * %s, %s, count, %d, %s, rows, start);\n",
                        in, depth, depth, flip, minus);
    else
        ITG_EMIT_FORMAT(e,
                        "%s        helium_gather(&%s, %s, in%s, %d, %d, %s, first, count, rows, "
                        "start);\n",
                        in, window, itg_emit_number(e, t->v.w.channels / t->groups), group, flip,
                        (int)(t->x.zero + flip), minus);
}

/* Begins the loop over tiles of filters, and unpacks one. */
static void write_tile(itg_emitter *e, const itg_emit_helium_sums *h, const pieces *plan)
{
    const char *in = plan->once ? "" : "    ";
    const itg_emit_mac_view *t = h->t;
    const itg_pvalue *w = &e->p->values[t->s->inputs[1]];
    const char *depth = itg_emit_number(e, t->depth), *filters = itg_emit_number(e, t->filters);
    const char *c = t->groups > 1 ? itg_emit_text(e, " + g * %s", filters) : "";
    ITG_EMIT_FORMAT(e,
                    "%s        for (int32_t k = 0; k < %s; k += %d) {\n"
                    "%s            const int32_t some = %s - k < %d ? %s - k : %d;\n",
                    in, filters, (int)plan->filters, in, filters, (int)plan->filters, filters,
                    (int)plan->filters);
    if ((t->stays || t->dense) && w->q.bits < 8)
        itg_emit_stays_helium(e, t, plan->once ? 12 : 16, "k", "some");
    else if (t->dense) /* rows of whole words */
        ITG_EMIT_FORMAT(e,
                        "%s            for (int32_t i = 0; i < some; i++)\n"
                        "%s                helium_copy(%s + (k%s + i) * %s, %s, vdupq_n_u8(0), "
                        "tile + i * %s);\n",
                        in, in, t->weights, c, itg_emit_number(e, (t->depth + 3) / 4 * 4), depth,
                        depth);
    else if (t->zero != NULL) /* all become as far from their codes */
        ITG_EMIT_FORMAT(e,
                        "%s            for (int32_t i = 0; i < some; i++)\n"
                        "%s                helium_unpack(%s, %s, %d, (k%s + i) * %s, %s,\n"
                        "%s                              (uint32_t)(%s[k%s + i] - %d), "
                        "tile + i * %s);\n",
                        in, in, t->weights, itg_emit_number(e, w->elements), (int)w->q.bits, c,
                        depth, depth, in, itg_emit_array(e, "zero", t->zero, t->channels), c,
                        (int)h->minus, depth);
    else
        ITG_EMIT_FORMAT(
            e, "%s            helium_unpack(%s, %s, %d, (k%s) * %s, some * %s, 0, tile);\n", in,
            t->weights, itg_emit_number(e, w->elements), (int)w->q.bits, c, depth, depth);
}

static void write_codes(itg_emitter *e, const itg_emit_helium_sums *h, const pieces *plan)
{
    const itg_emit_mac_view *t = h->t;
    const bool grouped = t->groups > 1;
    const char *depth = itg_emit_number(e, t->depth), *filters = itg_emit_number(e, t->filters);
    const char *c = grouped ? itg_emit_text(e, " + g * %s", filters) : "";
    const char *terms =
        grouped
            ? itg_emit_text(e, " + g * %s",
                            itg_emit_number(e, (t->filters + plan->quad - 1) / plan->quad * WORDS))
            : "";
    const char *out = itg_emit_text(e, "out + first * %s%s", itg_emit_number(e, t->channels), c);
    if (plan->filters == 0) {
        const char *first = grouped ? itg_emit_text(e, " + g * %s * %s", filters, depth) : "";
        ITG_EMIT_FORMAT(e,
                        "            helium_dot%s(&layer, rows, start, count, %s%s, %s, terms%s,\n"
                        "                       %s);\n",
                        h->left, t->weights, first, filters, terms, out);
        return;
    }
    if (!plan->once) write_tile(e, h, plan);
    ITG_EMIT_FORMAT(e,
                    "                helium_dot%s(&layer, rows, start, count, tile, some,\n"
                    "                           terms%s + k / %d * %d, %s + k);\n"
                    "%s",
                    h->left, terms, (int)plan->quad, WORDS, out,
                    plan->once ? "" : "            }\n");
}

/* Whether the rows are those of x in memory, without gathering. */
static bool is_matrix(const itg_emit_mac_view *t)
{
    const itg_window *w = &t->v.w;
    return !t->conv || (t->groups == 1 && w->kernel[0] * w->kernel[1] == 1 && w->stride[0] == 1 &&
                        w->stride[1] == 1 && w->out_width == w->width && w->pad_left == 0 &&
                        w->out_height == w->height && w->pad_top == 0);
}

/* Returns the order of channels, with `quad` channels of a group in each vector. */
static const int32_t *order_of(itg_emitter *e, const itg_emit_mac_view *t, int64_t quad,
                               int64_t *count)
{
    const int64_t padded = (t->filters + quad - 1) / quad * QUAD;
    *count = padded * t->groups;
    int32_t *order = itg_emit_alloc(e, (size_t)*count, sizeof *order);
    for (int64_t i = 0; i < *count && order != NULL; i++) {
        const int64_t k = i % padded / QUAD * quad + i % QUAD;
        const bool is = i % QUAD < quad && k < t->filters;
        order[i] = is ? (int32_t)(i / padded * t->filters + k) : ITG_NONE;
    }
    return order;
}

static void need_codes(itg_emitter *e, const char *left)
{
    if (itg_emit_needs(e, itg_emit_text(e, "helium_put%s", left)))
        itg_emit_template(&e->helpers, codes_text, left, NULL);
}

/* A dense layer whose input is one row of bytes. */
static void write_dense(itg_emitter *e, const itg_emit_helium_sums *h)
{
    int64_t count;
    const int32_t *order = order_of(e, h->t, QUAD, &count);
    if (order == NULL) return;
    itg_emit_helium_begin(e, h, order, count, h->t->x.zero + (h->flip ? 128 : 0));
    need_codes(e, h->left);
    if (itg_emit_needs(e, itg_emit_text(e, "helium_codes%s", h->left)))
        itg_emit_template(&e->helpers, dense_codes_text, h->left, NULL);
    itg_emit_helium_dense(e, h);
    itg_emit_helium_end(e);
}

static void write_sums(itg_emitter *e, const itg_emit_helium_sums *h, const pieces *plan)
{
    const itg_emit_mac_view *t = h->t;
    const int64_t starts = plan->rows * 4;
    int64_t count;
    const int32_t *order = order_of(e, t, plan->quad, &count);
    const bool matrix = is_matrix(t);
    if (order == NULL) return;
    const char *window = matrix ? NULL : "";
    itg_emit_helium_begin(e, h, order, count, t->x.zero + (h->flip ? 128 : 0));
    if (!matrix) window = itg_emit_window(e, 8, &t->v.w);
    itg_emit_helium_copies(e, !matrix);
    if (plan->filters > 0) itg_emit_helium_unpack(e);
    need_codes(e, h->left);
    if (itg_emit_needs(e, itg_emit_text(e, "helium_dot%s", h->left)))
        itg_emit_template(&e->helpers, dot_text, h->left, NULL);
    ITG_EMIT_FORMAT(e,
                    "        uint32_t *const start = arena.u32 + %zu;\n"
                    "        uint8_t *const rows = arena.u8 + %zu;\n",
                    h->at / 4, h->at + (size_t)starts);
    if (plan->filters > 0)
        ITG_EMIT_FORMAT(e, "        uint8_t *const tile = arena.u8 + %zu;\n",
                        h->at + (size_t)(starts + plan->rows * plan->row));
    if (t->groups > 1)
        ITG_EMIT_FORMAT(e, "        for (int32_t g = 0; g < %s; g++)\n",
                        itg_emit_number(e, t->groups));
    if (plan->once) write_tile(e, h, plan);
    const char *patches = itg_emit_number(e, t->patches), *in = plan->once ? "        " : "    ";
    ITG_EMIT_FORMAT(e,
                    "%s    for (int32_t first = 0; first < %s; first += %lld) {\n"
                    "%s        const int32_t count = %s - first < %lld ? %s - first : %lld;\n",
                    in, patches, (long long)plan->rows, in, patches, (long long)plan->rows, patches,
                    (long long)plan->rows);
    write_rows(e, h, window,
               t->groups > 1
                   ? itg_emit_text(e, " + g * %s", itg_emit_number(e, t->v.w.channels / t->groups))
                   : "",
               in);
    write_codes(e, h, plan);
    itg_strbuf_add(&e->body, plan->once ? "            }\n        }\n" : "        }\n");
    itg_emit_helium_end(e);
}

void itg_emit_helium_mac(itg_emitter *e, const itg_emit_mac_view *t, bool channels, size_t room)
{
    if (!has_form(e, t)) return;
    const itg_pvalue *w = &e->p->values[t->s->inputs[1]];
    itg_emit_helium_sums h = {.t = t,
                              .flip = t->x.type == ITG_S8,
                              .at = t->l->scratch_offset + e->scratch_taken,
                              .room = room};
    h.again = e->flow.steps[e->layer - e->layers].sharing == ITG_SHARING_NONE;
    h.minus = t->zero != NULL ? w->q.qmax : t->w_zero - itg_emit_least_code(w);
    const int64_t constants = e->layer->constant_bytes; /* those of the plain form count */
    pieces plan;
    if (!sets_of(e, &h)) return;
    if (channels)
        itg_emit_helium_depthwise(e, &h);
    else if (is_matrix(t) && itg_emit_helium_dense_fits(e, &h))
        write_dense(e, &h);
    else if (plan_of(&h, w->q.bits, &plan))
        write_sums(e, &h, &plan);
    e->layer->constant_bytes = constants;
}
