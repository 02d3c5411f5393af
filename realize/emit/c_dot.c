/* Writes sums of products of rows. */
#include "realize/emit/c_mac.h"

/* ---- helpers of the C source ---- */

static const char dot_pairs_text[] =
    "#if defined(PAIRS) || (defined(__OPTIMIZE_SIZE__) && defined(__GNUC__))\n"
    "static inline int32_t dot_s32_one(const int16_t *a, const int16_t *b, int32_t depth)\n"
    "{\n"
    "    int32_t sum = 0;\n"
    "#ifdef PAIRS\n"
    "#ifndef __OPTIMIZE_SIZE__\n"
    "    for (; depth >= 8; depth -= 8, a += 8, b += 8) {\n"
    "        sum = __smlad(PAIR(a), PAIR(b), sum);\n"
    "        sum = __smlad(PAIR(a + 2), PAIR(b + 2), sum);\n"
    "        sum = __smlad(PAIR(a + 4), PAIR(b + 4), sum);\n"
    "        sum = __smlad(PAIR(a + 6), PAIR(b + 6), sum);\n"
    "    }\n"
    "#endif\n"
    "    for (; depth >= 2; depth -= 2, a += 2, b += 2)\n"
    "        sum = __smlad(PAIR(a), PAIR(b), sum);\n"
    "#endif\n"
    "    for (; depth > 0; depth--, a++, b++)\n"
    "        sum = (int32_t)((uint32_t)sum + (uint32_t)(*a * *b));\n"
    "    return sum;\n"
    "}\n\n"
    "/* TALL rows of a against two of b; the order of products changes no sum modulo 2^32. */\n"
    "#ifdef __OPTIMIZE_SIZE__\n"
    "#define TALL 2\n"
    "static ONCE void dot_s32_block(const int16_t *a, int32_t depth_a, const int16_t *b,\n"
    "                               int32_t depth, int32_t *acc, int32_t stride)\n"
    "{\n"
    "    const int16_t *d = a + depth_a, *c = b + depth;\n"
    "    int32_t s0 = 0, s1 = 0, t0 = 0, t1 = 0;\n"
    "#ifdef PAIRS\n"
    "    for (const int16_t *const end = c; b < end;) {\n"
    "        for (int32_t i = 0; i < 2; i++) { /* unrolled by the compiler, by hand it is slower "
    "*/\n"
    "            const int32_t x = PAIR(a), w = PAIR(d), y = PAIR(b), z = PAIR(c);\n"
    "            a += 2, d += 2, b += 2, c += 2;\n"
    "            s0 = __smlad(x, y, s0);\n"
    "            t0 = __smlad(x, z, t0);\n"
    "            s1 = __smlad(w, y, s1);\n"
    "            t1 = __smlad(w, z, t1);\n"
    "        }\n"
    "    }\n"
    "#else\n"
    "    for (; depth > 0; depth--, a++, b++, c++, d++) {\n"
    "        s0 = (int32_t)((uint32_t)s0 + (uint32_t)(*a * *b));\n"
    "        t0 = (int32_t)((uint32_t)t0 + (uint32_t)(*a * *c));\n"
    "        s1 = (int32_t)((uint32_t)s1 + (uint32_t)(*d * *b));\n"
    "        t1 = (int32_t)((uint32_t)t1 + (uint32_t)(*d * *c));\n"
    "    }\n"
    "#endif\n"
    "    acc[0] = s0, acc[1] = t0, acc[stride] = s1, acc[stride + 1] = t1;\n"
    "}\n"
    "#else\n"
    "#define TALL 4\n"
    "#define TALL_ROWS(f, i) f(0, i) f(1, i) f(2, i) f(3, i)\n"
    "#define ONE_BEGIN(r, i) int32_t s##r = 0;\n"
    "#define ONE_PAIR(r, i) s##r = __smlad(PAIR(a + r * depth_a + i), y, s##r);\n"
    "#define ONE_END(r, i) acc[r * stride] = s##r;\n"
    "/* TALL rows of a against one of b. */\n"
    "static inline void dot_s32_tall(const int16_t *a, int32_t depth_a, const int16_t *b,\n"
    "                                int32_t depth, int32_t *acc, int32_t stride)\n"
    "{\n"
    "    int32_t y;\n"
    "    TALL_ROWS(ONE_BEGIN, 0)\n"
    "$1"
    "    for (; depth >= 4; depth -= 4, a += 4, b += 4) {\n"
    "        y = PAIR(b);\n"
    "        TALL_ROWS(ONE_PAIR, 0)\n"
    "        y = PAIR(b + 2);\n"
    "        TALL_ROWS(ONE_PAIR, 2)\n"
    "    }\n"
    "    TALL_ROWS(ONE_END, 0)\n"
    "}\n"
    "#define ROW_BEGIN(r, i) int32_t s##r = 0, t##r = 0;\n"
    "#define ROW_PAIR(r, i) \\\n"
    "    x = PAIR(a + r * depth_a + i); \\\n"
    "    s##r = __smlad(x, y, s##r); \\\n"
    "    t##r = __smlad(x, z, t##r);\n"
    "#define ROW_END(r, i) \\\n"
    "    acc[r * stride] = s##r; \\\n"
    "    acc[r * stride + 1] = t##r;\n"
    "static inline void dot_s32_block(const int16_t *a, int32_t depth_a, const int16_t *b,\n"
    "                                 int32_t depth, int32_t *acc, int32_t stride)\n"
    "{\n"
    "    const int16_t *c = b + depth;\n"
    "    int32_t x, y, z;\n"
    "    TALL_ROWS(ROW_BEGIN, 0)\n"
    "$1"
    "    for (; depth >= 4; depth -= 4, a += 4, b += 4, c += 4) {\n"
    "        y = PAIR(b), z = PAIR(c);\n"
    "        TALL_ROWS(ROW_PAIR, 0)\n"
    "        y = PAIR(b + 2), z = PAIR(c + 2);\n"
    "        TALL_ROWS(ROW_PAIR, 2)\n"
    "    }\n"
    "    TALL_ROWS(ROW_END, 0)\n"
    "}\n"
    "#endif\n\n"
    "/* acc[r * stride + p] = sum of a[r * depth_a + i] * b[p * depth + i], i < depth. What a has\n"
    " * beyond a row's end meets zeros of b. */\n"
    "WITHIN void dot_s32(const int16_t *a, int32_t rows, int32_t depth_a, const int16_t *b,\n"
    "                    int32_t count, int32_t depth, int32_t *acc, int32_t stride)\n"
    "{\n"
    "    const int32_t blocks = rows & ~(TALL - 1), whole = count & ~1;\n"
    "    for (int32_t r = 0; r < rows; r++, a += depth_a, acc += stride) {\n"
    "        const int32_t done = r < blocks ? whole : 0;\n"
    "        for (int32_t p = 0; p < done && (r & (TALL - 1)) == 0; p += 2)\n"
    "            dot_s32_block(a, depth_a, b + p * depth, depth, acc + p, stride);\n"
    "#ifdef TALL_ROWS\n"
    "        if (whole < count && r < blocks) {\n"
    "            if ((r & (TALL - 1)) == 0)\n"
    "                dot_s32_tall(a, depth_a, b + whole * depth, depth, acc + whole, stride);\n"
    "            continue;\n"
    "        }\n"
    "#endif\n"
    "        for (int32_t p = done; p < count; p++)\n"
    "            acc[p] = dot_s32_one(a, b + p * depth, depth);\n"
    "    }\n"
    "}\n"
    "#else\n";

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
    "WITHIN void dot_$2(const int16_t *a, int32_t rows, int32_t depth_a, const int16_t *b,\n"
    "                    int32_t count, int32_t depth, $1 *acc, int32_t stride)\n"
    "{\n"
    "    int32_t p = 0;\n"
    "#ifndef __OPTIMIZE_SIZE__\n"
    "    if (rows == 4) {\n"
    "        const int16_t *a1 = a + depth_a, *a2 = a1 + depth_a, *a3 = a2 + depth_a;\n"
    "        for (; p + 2 <= count; p += 2) {\n"
    "            const int16_t *b0 = b + p * depth, *b1 = b0 + depth;\n"
    "            $3 s00 = 0, s01 = 0, s10 = 0, s11 = 0, s20 = 0, s21 = 0, s30 = 0, s31 = 0;\n"
    "#if defined(WORDS) && !defined(__clang__) && __GNUC__ >= 8\n"
    "#pragma GCC unroll 4\n"
    "#endif\n"
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

/* ---- text ---- */

const char *itg_emit_bias(itg_emitter *e, const itg_emit_mac_view *t, const char *index)
{
    bool zero = true;
    for (int64_t i = 0; i < t->channels && t->bias != NULL; i++)
        zero = zero && t->bias[i] == 0;
    if (zero) return "0";
    return itg_emit_channel(e, "bias", t->bias, t->channels, index);
}

void itg_emit_split_ends(itg_emitter *e, const itg_emit_mac_view *t)
{
    const itg_sum_split *split = &t->s->split;
    ITG_EMIT_FORMAT(e, "    static const int32_t part_end[%d] = {", (int)split->part_count);
    for (int32_t i = 0; i < split->part_count; i++)
        ITG_EMIT_FORMAT(e, "%s%lld", i > 0 ? ", " : "", (long long)split->end[i]);
    itg_strbuf_add(&e->body, "};\n");
    e->layer->constant_bytes += split->part_count * 4;
}

static void write_dot(itg_emitter *e, itg_dtype sum)
{
    const bool pairs = sum == ITG_S32;
    itg_emit_pairs(e);
    if (pairs)
        itg_emit_template(&e->helpers, dot_pairs_text,
                          e->codes < ITG_EMIT_MEDIUM ? itg_emit_not_unrolled : "", NULL);
    itg_emit_template(&e->helpers, dot_text, itg_emit_ctype(sum), itg_dtype_name(sum),
                      pairs ? "uint32_t" : "uint64_t", NULL);
    if (pairs) itg_strbuf_add(&e->helpers, "#endif\n\n");
}

void itg_emit_sums(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent, const char *index)
{
    const char *depth = itg_emit_number(e, t->depth);
    if (t->row == ITG_S16) {
        const char *sum = itg_dtype_name(t->sum);
        if (itg_emit_needs(e, itg_emit_text(e, "dot_%s", sum))) write_dot(e, t->sum);
        const char *from = t->held == 0            ? ""
                           : t->held >= t->filters ? " + k * "
                                                   : " + (k - held) * ";
        ITG_EMIT_FORMAT(e, "%*sdot_%s(tile%s%s, rows, %s, patches, %s, %s, acc, %s);\n",
                        (int)indent, "", sum, from, t->held == 0 ? "" : depth, depth,
                        t->block == 1 ? "1" : "count", itg_emit_number(e, t->padded),
                        itg_emit_number(e, t->block));
    } else if (t->split) {
        const char *rounding = itg_emit_rounding(e, t->s->split.rounding, true);
        const itg_sum_split *split = &t->s->split;
        if (itg_emit_needs(e, itg_emit_text(e, "dot_split_%s", rounding)))
            itg_emit_template(&e->helpers, dot_split_text, rounding, NULL);
        const char *shift =
            itg_emit_channel(e, "part_shift", split->shift, split->shift_count, index);
        ITG_EMIT_FORMAT(e, "%*sdot_split_%s(tile, patches, count, %s, %s, %s, part_end, acc);\n",
                        (int)indent, "", rounding, depth, itg_emit_bias(e, t, index), shift);
    } else if (t->saturates) {
        if (itg_emit_needs(e, "dot_saturate")) itg_strbuf_add(&e->helpers, dot_saturate_text);
        int64_t lo, hi;
        itg_emit_native_range(t->s, &lo, &hi);
        ITG_EMIT_FORMAT(e, "%*sdot_saturate(tile, patches, count, %s, %s, %s, %s, acc);\n",
                        (int)indent, "", depth, itg_emit_bias(e, t, index), itg_emit_number(e, lo),
                        itg_emit_number(e, hi));
    } else {
        if (itg_emit_needs(e, "dot_wide")) itg_strbuf_add(&e->helpers, dot_wide_text);
        ITG_EMIT_FORMAT(e, "%*sdot_wide(tile, patches, count, %s, acc);\n", (int)indent, "", depth);
    }
}
