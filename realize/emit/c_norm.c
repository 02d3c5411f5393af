/* Writes layers of Softmax and LayerNormalization, which process rows of codes in turn. */
#include "realize/emit/c_helium.h"

static bool fits32(int64_t lo, int64_t hi)
{
    return lo >= INT32_MIN && hi <= INT32_MAX;
}

int64_t *itg_emit_numbers(itg_emitter *e, const itg_pvalue *v)
{
    int64_t *values = itg_emit_alloc(e, (size_t)v->elements, sizeof *values);
    for (int64_t i = 0; values != NULL && i < v->elements; i++)
        values[i] = itg_load(v->dtype, v->data, i);
    return values;
}

/* Writes a constant of the program as an array and returns its name. */
static const char *table(itg_emitter *e, const itg_emit_layer *l, int32_t slot, const char *what)
{
    const itg_pvalue *v = &e->p->values[l->step->inputs[slot]];
    const int64_t *values = itg_emit_numbers(e, v);
    return values != NULL ? itg_emit_array(e, what, values, v->elements) : "";
}

/* Writes the conversion of the native result `text` of element `index` to codes. */
static void put(itg_emitter *e, const itg_emit_layer *l, int32_t indent, const char *text,
                const char *index)
{
    const itg_dtype sum = fits32(l->step->acc_lo, l->step->acc_hi) ? ITG_S32 : ITG_S64;
    ITG_EMIT_FORMAT(e, "%*sconst %s acc = (%s)(%s);\n", (int)indent, "", itg_emit_ctype(sum),
                    itg_emit_ctype(sum), text);
    itg_emit_codes(e, l, indent, sum, "acc", index);
}

/* ---- Softmax ---- */

/* Returns the text of 2^bits * exp(-scale * d). With at most 256 codes the coarse factor is 1. */
static const char *exponential(itg_emitter *e, const itg_emit_layer *l)
{
    const itg_step *s = l->step;
    const char *fine = table(e, l, 1, "fine");
    if (e->p->values[s->inputs[2]].elements == 1) return itg_emit_text(e, "%s[d]", fine);
    return itg_emit_text(e, "((int64_t)%s[d & 255] * %s[d >> 8] + (INT64_C(1) << %d)) >> %d", fine,
                         table(e, l, 2, "coarse"), (int)s->fraction - 1, (int)s->fraction);
}

/* Opens the loops over rows and writes the sum of each row. `term` is the text of a term of the sum
 * for the difference d, `sum` the C type of the sum. Returns the text of the stride in a row. */
static const char *open_rows(itg_emitter *e, const itg_emit_layer *l, const char *sum,
                             const char *term)
{
    const itg_step *s = l->step;
    const itg_emit_operand x = itg_emit_read(e, l, 0, false);
    const int32_t axis = (int32_t)s->attrs.axis;
    const int64_t n = x.shape->dims[axis],
                  stride = itg_dims_product(x.shape, axis + 1, x.shape->rank);
    const char *rows = itg_emit_number(e, itg_dims_product(x.shape, 0, axis)),
               *inner = itg_emit_number(e, stride), *length = itg_emit_number(e, n),
               *block = itg_emit_number(e, n * stride);
    ITG_EMIT_FORMAT(e,
                    "    for (int32_t o = 0; o < %s; o++)\n"
                    "        for (int32_t i = 0; i < %s; i++) {\n"
                    "            const int32_t first = o * %s + i;\n"
                    "            int32_t most = %s[first];\n"
                    "            %s sum = 0;\n"
                    "            for (int32_t k = 1; k < %s; k++) {\n"
                    "                const int32_t v = %s[first + k * %s];\n"
                    "                most = v > most ? v : most;\n"
                    "            }\n"
                    "            for (int32_t k = 0; k < %s; k++) {\n"
                    "                const int32_t d = most - %s[first + k * %s];\n"
                    "                sum += %s;\n"
                    "            }\n",
                    rows, inner, block, x.name, sum, length, x.name, inner, length, x.name, inner,
                    term);
    return inner;
}

/* Writes the second loop over a row; `power`, of this type, uses the difference d, and `text` (the
 * native result) the power. */
static void put_row(itg_emitter *e, const itg_emit_layer *l, const char *inner, const char *type,
                    const char *power, const char *text)
{
    const itg_emit_operand x = itg_emit_read(e, l, 0, false);
    ITG_EMIT_FORMAT(e,
                    "            for (int32_t k = 0; k < %s; k++) {\n"
                    "                const int32_t d = most - %s[first + k * %s];\n"
                    "                const %s power = %s;\n",
                    itg_emit_number(e, x.shape->dims[l->step->attrs.axis]), x.name, inner, type,
                    power);
    put(e, l, 16, text, itg_emit_text(e, "first + k * %s", inner));
    itg_strbuf_add(&e->body, "            }\n        }\n");
}

void itg_emit_softmax(itg_emitter *e, const itg_emit_layer *l)
{
    const char *power = exponential(e, l), *inner = open_rows(e, l, "int64_t", power);
    put_row(e, l, inner, "int64_t", power,
            itg_emit_text(e, "(power * (INT64_C(1) << %d) + sum / 2) / sum", ITG_PROBABILITY_BITS));
}

/* ---- Softmax of TensorFlow Lite ---- */

static void need_reciprocal(itg_emitter *e)
{
    itg_emit_pairs(e); /* ONCE */
    if (!itg_emit_needs(e, "reciprocal")) return;
    itg_strbuf_add(
        &e->helpers,
        "/* a * b / 2^31, half up. */\n"
        "static int32_t high_product(int32_t a, int32_t b)\n"
        "{\n"
        "    return (int32_t)(((int64_t)a * b + (1 << 30)) >> 31);\n"
        "}\n\n"
        "/* 2^62 / d by three steps of Newton, where d = sum * 2^k is in [2^30, 2^31); at "
        "most 2^31 - 1. Subtracts k + 1 from the shift. 0 if nothing is left then. */\n"
        "static ONCE int32_t reciprocal(int32_t sum, int32_t *shift)\n"
        "{\n"
        "    for (--*shift; sum < 1 << 30; --*shift)\n"
        "        sum *= 2;\n"
        "    if (*shift > 31) {\n"
        "        *shift = 31;\n"
        "        return 0;\n"
        "    }\n"
        "    int32_t x = 1515870810 + high_product(sum, -1010580540);\n"
        "    for (int32_t i = 0; i < 3; i++)\n"
        "        x += 4 * high_product(x, (1 << 29) - high_product(sum, x));\n"
        "    return x >= 1 << 30 ? INT32_MAX : 2 * x;\n"
        "}\n\n");
}

void itg_emit_tflite_softmax(itg_emitter *e, const itg_emit_layer *l)
{
    const itg_emit_operand x = itg_emit_read(e, l, 0, false);
    const int32_t shift = 43 - l->step->fraction;
    const char *fine = table(e, l, 1, "fine");
    need_reciprocal(e);
    itg_emit_helium_softmax(e, l, &x, fine, shift);
    const char *inner = open_rows(
        e, l, "int32_t", itg_emit_text(e, "(int32_t)(((uint32_t)%s[d] + 2048) >> 12)", fine));
    ITG_EMIT_FORMAT(e,
                    "            int32_t shift = %d;\n"
                    "            const int32_t inverse = reciprocal(sum, &shift);\n",
                    (int)shift);
    put_row(e, l, inner, "uint32_t",
            itg_emit_text(e, "(uint32_t)high_product(inverse, %s[d])", fine),
            "(power + (UINT32_C(1) << (shift - 1))) >> shift");
}

/* ---- LayerNormalization ---- */

static const char root_text[] = "/* floor(sqrt(v)), 0 <= v < 2^62. */\n"
                                "static uint32_t floor_sqrt(uint64_t v)\n"
                                "{\n"
                                "    uint32_t root = 0;\n"
                                "    for (uint32_t bit = UINT32_C(1) << 30; bit > 0; bit /= 2) {\n"
                                "        const uint32_t next = root + bit;\n"
                                "        root = (uint64_t)next * next <= v ? next : root;\n"
                                "    }\n"
                                "    return root;\n"
                                "}\n\n";

/* The quotient by a product: with |d * 2^raise| < 2^30 and inverse = floor(2^(32 + shift) / root)
 * - 1, (size * inverse + 2^31) >> 32 is at most one less than the quotient. */
static const char ratio_text[] =
    "/* Divides by sqrt(square): round(d * 2^(raise + shift) / root), half away from zero. */\n"
    "typedef struct ratio {\n"
    "    uint32_t root, inverse;\n"
    "    int32_t raise, shift;\n"
    "} ratio;\n\n"
    "static ONCE ratio ratio_of(uint64_t square, int32_t shift)\n"
    "{\n"
    "    for (; square < UINT64_C(1) << 60; shift++)\n"
    "        square *= 4;\n"
    "    const int32_t raise = shift > 29 ? shift - 29 : 0;\n"
    "    const uint32_t root = floor_sqrt(square);\n"
    "    const uint64_t one = UINT64_C(1) << (32 + shift - raise);\n"
    "    return (ratio){root, (uint32_t)(one / root) - 1, raise, shift - raise};\n"
    "}\n\n"
    "/* |d * 2^raise| < 2^30. The product is the quotient or one less. */\n"
    "SHARED int32_t divide_by_root(const ratio *r, int32_t d)\n"
    "{\n"
    "    const uint32_t size = (uint32_t)(d < 0 ? -d : d) << r->raise;\n"
    "    uint32_t q = (uint32_t)(((uint64_t)size * r->inverse + (UINT32_C(1) << 31)) >> 32);\n"
    "    q += (size << r->shift) + r->root / 2 - q * r->root >= r->root;\n"
    "    return d < 0 ? -(int32_t)q : (int32_t)q;\n"
    "}\n\n";

static const char wide_ratio_text[] =
    "/* round(d * 2^shift / root), half away from zero; |d * 2^shift| < 2^62. */\n"
    "typedef struct wide_ratio {\n"
    "    int64_t root;\n"
    "    int32_t shift;\n"
    "} wide_ratio;\n\n"
    "static wide_ratio wide_ratio_of(uint64_t square, int32_t shift)\n"
    "{\n"
    "    for (; square < UINT64_C(1) << 60; shift++)\n"
    "        square *= 4;\n"
    "    return (wide_ratio){floor_sqrt(square), shift};\n"
    "}\n\n"
    "static int64_t wide_divide_by_root(const wide_ratio *r, int64_t d)\n"
    "{\n"
    "    const int64_t n = d * (INT64_C(1) << r->shift), half = r->root / 2;\n"
    "    return n < 0 ? -((half - n) / r->root) : (half + n) / r->root;\n"
    "}\n\n";

/* Returns the text of a parameter of element k of a row. */
static const char *parameter(itg_emitter *e, const itg_emit_layer *l, int32_t slot,
                             const char *what)
{
    const itg_pvalue *v = &e->p->values[l->step->inputs[slot]];
    const int64_t *values = itg_emit_numbers(e, v);
    return values != NULL ? itg_emit_channel(e, what, values, v->elements, "k") : "0";
}

/* Whether rows fit `ratio`. A difference times 2^shift is at most sqrt(count) * 2^(31 + fraction);
 * where the shift is above 29, that is 2^29 times what must be below 2^30. */
static bool ratio_fits(int64_t count, int64_t most, int32_t fraction)
{
    return 2 * count * most < (int64_t)1 << 30 && count < (int64_t)1 << (56 - 2 * fraction);
}

void itg_emit_layer_norm(itg_emitter *e, const itg_emit_layer *l)
{
    const itg_step *s = l->step;
    const itg_emit_operand x = itg_emit_read(e, l, 0, true);
    const itg_pvalue *in = &e->p->values[s->inputs[0]];
    const int64_t count = e->p->values[s->inputs[1]].elements, most = x.hi > -x.lo ? x.hi : -x.lo;
    const bool narrow = ratio_fits(count, most, s->fraction);
    const char *n = itg_emit_number(e, count), *zero = itg_emit_number(e, x.zero),
               *wide = narrow ? "" : "wide_", *type = narrow ? "int32_t" : "int64_t",
               *squares = narrow && most * most * count <= INT32_MAX ? "int32_t" : "int64_t";
    itg_emit_pairs(e); /* ONCE */
    if (itg_emit_needs(e, "floor_sqrt")) itg_strbuf_add(&e->helpers, root_text);
    if (itg_emit_needs(e, itg_emit_text(e, "%sratio", wide)))
        itg_strbuf_add(&e->helpers, narrow ? ratio_text : wide_ratio_text);
    if (narrow) itg_emit_helium_layer_norm(e, l, &x, count);
    ITG_EMIT_FORMAT(e,
                    "    for (int32_t i = 0; i < %s; i += %s) {\n"
                    "        %s sum = 0;\n"
                    "        %s squares = 0;\n"
                    "        for (int32_t k = 0; k < %s; k++) {\n"
                    "            const %s v = (%s)%s[i + k] - (%s);\n"
                    "            sum += v;\n"
                    "            squares += (%s)v * v;\n"
                    "        }\n"
                    "        const %sratio by = %sratio_of((uint64_t)(%s * (int64_t)squares - "
                    "(int64_t)sum * sum + %s), %d);\n"
                    "        for (int32_t k = 0; k < %s; k++) {\n"
                    "            const %s v = (%s)%s[i + k] - (%s);\n"
                    "            const int64_t unit = %sdivide_by_root(&by, %s * v - sum);\n",
                    itg_emit_number(e, in->elements), n, type, squares, n, type, type, x.name, zero,
                    squares, wide, wide, n, itg_emit_number(e, s->epsilon), (int)s->fraction, n,
                    type, type, x.name, zero, wide, n);
    put(e, l, 12,
        itg_emit_text(e, "unit * %s + %s", parameter(e, l, 1, "gain"), parameter(e, l, 2, "bias")),
        "i + k");
    itg_strbuf_add(&e->body, "        }\n    }\n");
}
