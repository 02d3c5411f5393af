/* Writes layers of Softmax and LayerNormalization, which process rows of codes in turn. */
#include "realize/emit/emit.h"

static bool fits32(int64_t lo, int64_t hi)
{
    return lo >= INT32_MIN && hi <= INT32_MAX;
}

/* Returns the numbers of a constant of the program; NULL if the emitter has failed. */
static int64_t *numbers(itg_emitter *e, const itg_pvalue *v)
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
    const int64_t *values = numbers(e, v);
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

/* Writes the second loop over a row; `power` and `text` (the native result) use the difference d.
 */
static void put_row(itg_emitter *e, const itg_emit_layer *l, const char *inner, const char *power,
                    const char *text)
{
    const itg_emit_operand x = itg_emit_read(e, l, 0, false);
    ITG_EMIT_FORMAT(e,
                    "            for (int32_t k = 0; k < %s; k++) {\n"
                    "                const int32_t d = most - %s[first + k * %s];\n"
                    "                const int64_t power = %s;\n",
                    itg_emit_number(e, x.shape->dims[l->step->attrs.axis]), x.name, inner, power);
    put(e, l, 16, text, itg_emit_text(e, "first + k * %s", inner));
    itg_strbuf_add(&e->body, "            }\n        }\n");
}

void itg_emit_softmax(itg_emitter *e, const itg_emit_layer *l)
{
    const char *power = exponential(e, l), *inner = open_rows(e, l, "int64_t", power);
    put_row(e, l, inner, power,
            itg_emit_text(e, "(power * (INT64_C(1) << %d) + sum / 2) / sum", ITG_PROBABILITY_BITS));
}

/* ---- Softmax of TensorFlow Lite ---- */

static void need_reciprocal(itg_emitter *e)
{
    if (!itg_emit_needs(e, "reciprocal")) return;
    itg_strbuf_add(&e->helpers,
                   "/* a * b / 2^31, half up. */\n"
                   "static int32_t high_product(int32_t a, int32_t b)\n"
                   "{\n"
                   "    return (int32_t)(((int64_t)a * b + (1 << 30)) >> 31);\n"
                   "}\n\n"
                   "/* 2^62 / d by three steps of Newton, 2^30 <= d < 2^31; at most 2^31 - 1. */\n"
                   "static int32_t reciprocal(int32_t d)\n"
                   "{\n"
                   "    int32_t x = 1515870810 + high_product(d, -1010580540);\n"
                   "    for (int32_t i = 0; i < 3; i++)\n"
                   "        x += 4 * high_product(x, (1 << 29) - high_product(d, x));\n"
                   "    return x >= 1 << 30 ? INT32_MAX : 2 * x;\n"
                   "}\n\n");
}

void itg_emit_tflite_softmax(itg_emitter *e, const itg_emit_layer *l)
{
    const char *fine = table(e, l, 1, "fine");
    need_reciprocal(e);
    const char *inner = open_rows(
        e, l, "int32_t", itg_emit_text(e, "(int32_t)(((uint32_t)%s[d] + 2048) >> 12)", fine));
    ITG_EMIT_FORMAT(e,
                    "            int32_t shift = %d;\n"
                    "            uint32_t scaled = (uint32_t)sum;\n"
                    "            for (; scaled < UINT32_C(1) << 31; shift--)\n"
                    "                scaled *= 2;\n"
                    "            const int32_t inverse = reciprocal((int32_t)(scaled / 2));\n",
                    43 - (int)l->step->fraction);
    put_row(e, l, inner, itg_emit_text(e, "high_product(inverse, %s[d])", fine),
            "(power + (INT64_C(1) << (shift - 1))) >> shift");
}

/* ---- LayerNormalization ---- */

static void need_root(itg_emitter *e)
{
    if (itg_emit_needs(e, "floor_sqrt"))
        itg_strbuf_add(&e->helpers, "/* floor(sqrt(v)), 0 <= v < 2^62. */\n"
                                    "static int64_t floor_sqrt(int64_t v)\n"
                                    "{\n"
                                    "    int64_t root = 0;\n"
                                    "    for (int32_t bit = 30; bit >= 0; bit--) {\n"
                                    "        const int64_t next = root + (INT64_C(1) << bit);\n"
                                    "        root = next * next <= v ? next : root;\n"
                                    "    }\n"
                                    "    return root;\n"
                                    "}\n\n");
}

/* Returns the text of a parameter of element k of a row. */
static const char *parameter(itg_emitter *e, const itg_emit_layer *l, int32_t slot,
                             const char *what)
{
    const itg_pvalue *v = &e->p->values[l->step->inputs[slot]];
    const int64_t *values = numbers(e, v);
    return values != NULL ? itg_emit_channel(e, what, values, v->elements, "k") : "0";
}

void itg_emit_layer_norm(itg_emitter *e, const itg_emit_layer *l)
{
    const itg_step *s = l->step;
    const itg_emit_operand x = itg_emit_read(e, l, 0, false);
    const itg_pvalue *in = &e->p->values[s->inputs[0]];
    const char *n = itg_emit_number(e, e->p->values[s->inputs[1]].elements),
               *zero = itg_emit_number(e, in->q.zero_point);
    need_root(e);
    ITG_EMIT_FORMAT(e,
                    "    for (int32_t i = 0; i < %s; i += %s) {\n"
                    "        int64_t sum = 0, square = 0;\n"
                    "        for (int32_t k = 0; k < %s; k++) {\n"
                    "            const int64_t v = (int64_t)%s[i + k] - (%s);\n"
                    "            sum += v;\n"
                    "            square += v * v;\n"
                    "        }\n"
                    "        square = %s * square - sum * sum + %s;\n"
                    "        int32_t shift = %d;\n"
                    "        for (; square < INT64_C(1) << 60; shift++)\n"
                    "            square *= 4;\n"
                    "        const int64_t root = floor_sqrt(square), half = root / 2;\n"
                    "        for (int32_t k = 0; k < %s; k++) {\n"
                    "            const int64_t v = (int64_t)%s[i + k] - (%s);\n"
                    "            const int64_t d = (%s * v - sum) * (INT64_C(1) << shift);\n"
                    "            const int64_t unit = d < 0 ? -((half - d) / root) : (half + d) / "
                    "root;\n",
                    itg_emit_number(e, in->elements), n, n, x.name, zero, n,
                    itg_emit_number(e, s->epsilon), (int)s->fraction, n, x.name, zero, n);
    put(e, l, 12,
        itg_emit_text(e, "unit * %s + %s", parameter(e, l, 1, "gain"), parameter(e, l, 2, "bias")),
        "i + k");
    itg_strbuf_add(&e->body, "        }\n    }\n");
}
