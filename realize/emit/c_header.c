/* Writes the header file: inputs and outputs of the network, helpers for its user, and a table with
 * the cost of each layer. */
#include "realize/emit/emit.h"
#include <math.h>
#include <string.h>

static const char quantize_text[] =
    "/* The code of the real number value / 2^fraction (fraction -64..64), as the network's\n"
    " * quantizer gives it: in IEEE single precision, without floating point. A value of more "
    "than\n"
    " * 24 significant bits is first rounded to 24, as a float would hold it. */\n"
    "static inline $2 $1_quantize_q(int32_t value, int fraction)\n"
    "{\n"
    "    const uint32_t scale = UINT32_C($4); /* scale = this * 2^($5) */\n"
    "    uint64_t v = value < 0 ? (uint64_t)(-(int64_t)value) : (uint64_t)value, q, rest;\n"
    "    int32_t exponent = -fraction - ($5), shift = 0;\n"
    "    int64_t code = 0;\n"
    "    if (v >= UINT32_C(1) << 24) { /* to 24 bits, half to even */\n"
    "        while (v >> shift >= UINT32_C(1) << 24)\n"
    "            shift++;\n"
    "        q = v >> shift;\n"
    "        rest = (v & ((UINT64_C(1) << shift) - 1)) * 2;\n"
    "        q += rest > UINT64_C(1) << shift || (rest == UINT64_C(1) << shift && (q & 1) != 0);\n"
    "        v = q << shift;\n"
    "    }\n"
    "    if (v != 0) {\n"
    "        while (v < UINT64_C(1) << 62) {\n"
    "            v *= 2;\n"
    "            exponent--;\n"
    "        }\n"
    "        q = v / scale; /* at least 38 bits */\n"
    "        rest = v % scale != 0;\n"
    "        shift = 0;\n"
    "        while (q >> shift >= UINT32_C(1) << 24)\n"
    "            shift++;\n"
    "        rest |= (q & ((UINT64_C(1) << shift) - 1)) * 2;\n"
    "        q >>= shift;\n"
    "        q += rest > UINT64_C(1) << shift || (rest == UINT64_C(1) << shift && (q & 1) != 0);\n"
    "        exponent += shift; /* the quotient as a float: q * 2^exponent */\n"
    "        if (exponent >= 32)\n"
    "            code = INT64_C(1) << 56;\n"
    "        else if (exponent >= 0)\n"
    "            code = (int64_t)(q << exponent);\n"
    "        else if (exponent >= -25) { /* to an integer, half to even */\n"
    "            rest = (q & ((UINT64_C(1) << -exponent) - 1)) * 2;\n"
    "            q >>= -exponent;\n"
    "            q += rest > UINT64_C(1) << -exponent ||\n"
    "                 (rest == UINT64_C(1) << -exponent && (q & 1) != 0);\n"
    "            code = (int64_t)q;\n"
    "        }\n"
    "    }\n"
    "    code = (value < 0 ? -code : code) + ($3_ZERO_POINT);\n"
    "    return ($2)(code < ($3_MIN) ? ($3_MIN) : code > ($3_MAX) ? ($3_MAX) : code);\n"
    "}\n\n";

static const char argmax_text[] =
    "/* The class: the greatest code's index, the first of equals. */\n"
    "static inline int32_t $1_argmax(const $2 *codes)\n"
    "{\n"
    "    int32_t best = 0;\n"
    "    for (int32_t i = 1; i < $3_SIZE; i++)\n"
    "        if (codes[i] > codes[best]) best = i;\n"
    "    return best;\n"
    "}\n\n";

static void add_argument(itg_emitter *e, const itg_emit_argument *a, const char *what,
                         itg_strbuf *out)
{
    const itg_pvalue *v = &e->p->values[a->value];
    char shape[128];
    itg_strbuf_format(out, "/* %s %s: %s %s", what, a->name, itg_emit_ctype(v->dtype),
                      itg_shape_text(&v->shape, shape, sizeof shape));
    if (v->quantized)
        itg_strbuf_format(out, ", %d bits; real = scale * (code - zero point), scale = %a (%.9g)",
                          (int)v->q.bits, (double)v->q.scale[0], (double)v->q.scale[0]);
    else
        itg_strbuf_add(out, ", indices");
    itg_strbuf_format(out, " */\n#define %s_SIZE INT32_C(%lld)\n", a->upper,
                      (long long)v->elements);
    if (v->quantized)
        itg_strbuf_format(out,
                          "#define %s_ZERO_POINT (%s)\n#define %s_MIN (%s)\n#define %s_MAX (%s)\n"
                          "#define %s_SCALE %a\n",
                          a->upper, itg_emit_number(e, v->q.zero_point), a->upper,
                          itg_emit_number(e, v->q.qmin), a->upper, itg_emit_number(e, v->q.qmax),
                          a->upper, (double)v->q.scale[0]);
    itg_strbuf_add(out, "\n");
}

static void add_quantize(itg_emitter *e, const itg_emit_argument *a, itg_strbuf *out)
{
    const itg_pvalue *v = &e->p->values[a->value];
    int exponent;
    double fraction = frexp((double)v->q.scale[0], &exponent);
    long long mantissa = (long long)ldexp(fraction, 24);
    const char *name = e->input_count == 1 ? e->name : itg_emit_text(e, "%s_%s", e->name, a->name);
    itg_emit_template(out, quantize_text, name, itg_emit_ctype(v->dtype), a->upper,
                      itg_emit_text(e, "%lld", mantissa), itg_emit_text(e, "%d", exponent - 24),
                      NULL);
}

void itg_emit_prototype(itg_emitter *e, itg_strbuf *out)
{
    itg_strbuf_format(out, "void %s_run(", e->name);
    for (int32_t i = 0; i < e->input_count; i++)
        itg_strbuf_format(out, "%sconst %s *%s", i > 0 ? ", " : "",
                          itg_emit_ctype(e->p->values[e->inputs[i].value].dtype),
                          e->inputs[i].name);
    for (int32_t i = 0; i < e->output_count; i++)
        itg_strbuf_format(out, "%s%s *%s", i + e->input_count > 0 ? ", " : "",
                          itg_emit_ctype(e->p->values[e->outputs[i].value].dtype),
                          e->outputs[i].name);
    itg_strbuf_add(out, ")");
}

void itg_emit_header(itg_emitter *e, itg_strbuf *out)
{
    const itg_pvalue *first = e->output_count > 0 ? &e->p->values[e->outputs[0].value] : NULL;
    itg_strbuf_format(
        out,
        "/* %s as C, made by intaglio " ITG_VERSION ".\n"
        " * Codes in, codes out; freestanding, no floating point, no heap. Memory: one "
        "static arena of\n * %zu bytes, so one run at a time. */\n"
        "#ifndef %s_H\n#define %s_H\n#include <stdint.h>\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
        e->name, e->arena_bytes, e->upper, e->upper);
    itg_strbuf_format(out, "#define %s_ARENA_BYTES INT32_C(%zu)\n\n", e->upper, e->arena_bytes);
    for (int32_t i = 0; i < e->input_count; i++)
        add_argument(e, &e->inputs[i], "Input", out);
    for (int32_t i = 0; i < e->output_count; i++)
        add_argument(e, &e->outputs[i], "Output", out);
    itg_strbuf_add(out, "/* Row-major codes; outputs may not overlap inputs. */\n");
    itg_emit_prototype(e, out);
    itg_strbuf_add(out, ";\n\n");
    for (int32_t i = 0; i < e->input_count; i++)
        if (e->p->values[e->inputs[i].value].quantized) add_quantize(e, &e->inputs[i], out);
    if (first != NULL && first->quantized)
        itg_emit_template(out, argmax_text, e->name, itg_emit_ctype(first->dtype),
                          e->outputs[0].upper, NULL);
    itg_strbuf_add(out, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

/* ---- the table ---- */

static size_t buffer_bytes(const itg_emitter *e, int32_t buffer)
{
    if (buffer == ITG_NONE) return 0;
    const itg_emit_buffer *b = &e->buffers[e->buffers[buffer].root];
    return b->place == ITG_EMIT_ARENA ? e->p->values[b->value].bytes : 0;
}

static size_t layer_ram(const itg_emitter *e, const itg_emit_layer *l)
{
    size_t ram = l->scratch_bytes;
    for (int32_t k = 0; k < l->input_count; k++)
        ram += buffer_bytes(e, l->inputs[k]);
    for (int32_t k = 0; k < l->output_count; k++)
        ram += buffer_bytes(e, l->outputs[k]);
    return ram;
}

/* What the layers of one function cost together; RAM: the most. */
typedef struct row {
    int64_t layers, macs;
    size_t ram;
} row;

void itg_emit_report(itg_emitter *e, itg_strbuf *out)
{
    int64_t macs = 0, weights = 0, constants = 0;
    row *rows = itg_emit_alloc(e, (size_t)e->layer_count, sizeof *rows);
    for (int32_t i = 0; i < e->layer_count && rows != NULL; i++) {
        const itg_emit_layer *l = &e->layers[i];
        row *r = &rows[l->first];
        if (l->free) continue;
        r->layers++;
        r->macs += l->macs;
        r->ram = layer_ram(e, l) > r->ram ? layer_ram(e, l) : r->ram;
    }
    itg_strbuf_format(out, " * %-40s %12s %10s %10s %10s\n", "layer", "MACs", "weights",
                      "constants", "RAM");
    for (int32_t i = 0; i < e->layer_count && rows != NULL; i++) {
        const itg_emit_layer *l = &e->layers[i];
        const row *r = &rows[i];
        const char *name =
            r->layers > 1 ? itg_emit_text(e, "%s*%lld", l->name, (long long)r->layers) : l->name;
        if (r->layers == 0) continue;
        itg_strbuf_format(out, " * %-40s %12lld %10lld %10lld %10zu\n", name, (long long)r->macs,
                          (long long)l->weight_bytes, (long long)l->constant_bytes, r->ram);
        macs += r->macs;
        weights += l->weight_bytes;
        constants += l->constant_bytes;
    }
    itg_strbuf_format(out, " * %-40s %12lld %10lld %10lld %10zu\n", "all", (long long)macs,
                      (long long)weights, (long long)constants, e->arena_bytes);
}
