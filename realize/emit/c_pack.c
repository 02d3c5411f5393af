/* Constants at their bit width. A tensor of n codes of b bits takes ceil(n * b / 8) bytes:
 *
 *   codes are stored as code - least, least = -2^(b-1) if signed, else 0, so b bits each;
 *   the first n / 8 * 8 of them in slices of 8, 4, 2 and 1 bits, the low bits first, as b is made
 * of them (3 = 2 + 1); a slice of w bits has n / 8 * w bytes, and code i stands in byte i % bytes,
 * at bit i / bytes * w: runs of codes lie in runs of bytes, so that loops over them vectorize; the
 * last n % 8 codes follow as one string of bits. */
#include "base/packed.h"
#include "kernels/int_ops.h"
#include "realize/emit/emit.h"
#include <string.h>

static const char unpack_text[] =
    "/* out[i] = code[first + i] - zero for i < count, of a tensor of total codes, bits wide "
    "each.\n"
    " * Eight of them take `bits` bytes, in slices of 8, 4, 2 and 1 bits; what is left over "
    "follows.\n"
    " */\n"
    "HOT static void unpack_$1(const uint8_t *p, int32_t total, int32_t bits, int32_t first,\n"
    "                          int32_t count, $2 zero, $2 *out)\n"
    "{\n"
    "    const int32_t whole = total / 8;\n"
    "    int32_t shift = 0;\n"
    "$5$6"
    "    while (shift < bits) {\n"
    "        const int32_t rest = bits - shift;\n"
    "        const int32_t width = rest >= 8 ? 8 : rest >= 4 ? 4 : rest >= 2 ? 2 : 1;\n"
    "        const int32_t bytes = whole * width;\n"
    "        const uint16_t mask = (uint16_t)((UINT32_C(1) << width) - 1);\n"
    "        const $3 up = ($3)(($4)1 << shift);\n"
    "        for (int32_t i = 0, n; i < count; i += n) {\n"
    "            const uint8_t *in = p + (first + i) % bytes;\n"
    "            const uint16_t down = (uint16_t)(256 >> ((first + i) / bytes * width));\n"
    "            $2 *y = out + i;\n"
    "            n = bytes - (first + i) % bytes;\n"
    "            n = n < count - i ? n : count - i;\n"
    "            for (int32_t j = 0; j < n; j++) { /* by products: shifts by a variable are slow "
    "*/\n"
    "                const uint16_t part = (uint16_t)((uint16_t)(in[j] * down) >> 8 & mask);\n"
    "                y[j] = ($2)((shift == 0 ? ($2)-zero : y[j]) + ($2)(($4)part * up));\n"
    "            }\n"
    "        }\n"
    "        p += bytes;\n"
    "        shift += width;\n"
    "    }\n"
    "}\n\n";

static const char bytes_text[] = "    if (bits == 8) {\n"
                                 "        widen_u8(p + first, count, zero, out);\n"
                                 "        return;\n"
                                 "    }\n";

static const char inside_text[] =
    "    const int32_t inside = whole * 8 > first ? whole * 8 - first : 0;\n"
    "    if (inside < count) {\n"
    "        unpack_rest_$1(p + whole * bits, bits, first + inside - whole * 8, count - inside, "
    "zero,\n"
    "                       out + inside);\n"
    "        count = inside;\n"
    "    }\n";

static const char rest_text[] =
    "/* The last codes of a tensor, bit after bit. */\n"
    "static void unpack_rest_$1(const uint8_t *p, int32_t bits, int32_t first, int32_t count,\n"
    "                           $2 zero, $2 *out)\n"
    "{\n"
    "    for (int32_t i = 0, at = first * bits; i < count; i++) {\n"
    "        out[i] = ($2)-zero;\n"
    "        for (int32_t b = 0; b < bits; b++, at++)\n"
    "            out[i] = ($2)(out[i] + ($2)(($4)(p[at >> 3] >> (at & 7) & 1) << b));\n"
    "    }\n"
    "}\n\n";

static int64_t packed_bytes(const itg_pvalue *v)
{
    return itg_packed_bytes(v->elements, v->q.bits);
}

static int64_t least_code(const itg_pvalue *v)
{
    return v->q.is_signed ? -((int64_t)1 << (v->q.bits - 1)) : 0;
}

static uint64_t raw_code(const itg_pvalue *v, const int64_t *order, int64_t i)
{
    int64_t code = itg_load(v->dtype, v->data, order != NULL ? order[i] : i);
    return (uint64_t)(code - least_code(v));
}

static void pack(const itg_pvalue *v, const int64_t *order, unsigned char *out)
{
    const int64_t whole = v->elements / 8, bits = v->q.bits;
    for (int64_t shift = 0, width; shift < bits; shift += width) {
        int64_t rest = bits - shift;
        width = rest >= 8 ? 8 : rest >= 4 ? 4 : rest >= 2 ? 2 : 1;
        const int64_t bytes = whole * width;
        for (int64_t i = 0; i < whole * 8; i++) {
            uint64_t part = (raw_code(v, order, i) >> shift) & (((uint64_t)1 << width) - 1);
            out[i % bytes] = (unsigned char)(out[i % bytes] | (part << (i / bytes * width)));
        }
        out += bytes;
    }
    for (int64_t i = whole * 8, at = 0; i < v->elements; i++)
        for (int64_t b = 0; b < bits; b++, at++)
            if ((raw_code(v, order, i) >> b & 1) != 0)
                out[at / 8] = (unsigned char)(out[at / 8] | (1u << (at % 8)));
}

static void write_bytes(itg_strbuf *out, const char *name, const unsigned char *bytes,
                        int64_t count)
{
    itg_strbuf_format(out, "static const uint8_t %s[%lld] = {", name, (long long)count);
    for (int64_t i = 0; i < count; i++) {
        char text[8];
        int n = snprintf(text, sizeof text, "%s%d", i == 0 ? "" : ",", (int)bytes[i]);
        if (i % 20 == 0) itg_strbuf_bytes(out, i == 0 ? "\n    " : ",\n    ", i == 0 ? 5 : 6);
        if (i % 20 == 0 && i > 0)
            itg_strbuf_bytes(out, text + 1, (size_t)n - 1);
        else
            itg_strbuf_bytes(out, text, (size_t)n);
    }
    itg_strbuf_add(out, "};\n");
}

/* By the order of use, which the artefact keeps. */
static int32_t number_of(itg_emitter *e, int32_t value)
{
    const char *key = itg_emit_text(e, "%d", (int)value);
    int32_t number = itg_names_find(&e->constants, key);
    if (number >= 0) return number;
    if (!itg_names_put(&e->constants, key, e->constant_count)) e->failed = true;
    return e->constant_count++;
}

const char *itg_emit_packed(itg_emitter *e, int32_t value, const int64_t *order, char tag)
{
    const itg_pvalue *v = &e->p->values[value];
    char ident[ITG_EMIT_NAME];
    itg_emit_identifier(v->name, ident);
    const char *name = itg_emit_text(e, "w%d%c_%s", (int)number_of(e, value), tag, ident);
    if (!itg_emit_needs(e, name)) return name;
    int64_t bytes = packed_bytes(v);
    unsigned char *packed = itg_emit_alloc(e, (size_t)bytes, 1);
    if (packed == NULL) return name;
    pack(v, order, packed);
    itg_strbuf_format(&e->data, "/* %s: %lld codes of %d bits */\n", ident, (long long)v->elements,
                      (int)v->q.bits);
    write_bytes(&e->data, name, packed, bytes);
    e->layer->weight_bytes += bytes;
    return name;
}

/* Some constant has codes of eight bits. */
static bool has_bytes(const itg_program *p)
{
    for (int32_t i = 0; i < p->value_count; i++)
        if (p->values[i].data != NULL && p->values[i].quantized && p->values[i].q.bits == 8)
            return true;
    return false;
}

/* Some constant's codes are not a multiple of eight. */
static bool has_rests(const itg_program *p)
{
    for (int32_t i = 0; i < p->value_count; i++)
        if (p->values[i].data != NULL && p->values[i].quantized && p->values[i].elements % 8 != 0)
            return true;
    return false;
}

void itg_emit_unpack(itg_emitter *e, int32_t indent, int32_t value, const char *name,
                     const char *first, const char *count, int64_t subtract, itg_dtype type,
                     const char *out)
{
    const itg_pvalue *v = &e->p->values[value];
    const char *wide = type == ITG_S64 ? "uint64_t" : "uint32_t";
    const char *up = type == ITG_S64 ? "uint64_t" : "uint16_t";
    int64_t zero = subtract - least_code(v);
    /* 16-bit codes are computed modulo 2^16, and 2^15 is no int16_t. */
    if (type == ITG_S16 && zero > INT16_MAX) zero -= (int64_t)1 << 16;
    if (itg_emit_needs(e, itg_emit_text(e, "unpack_%s", itg_dtype_name(type)))) {
        itg_strbuf inside = {0};
        if (has_rests(e->p)) {
            itg_emit_template(&e->helpers, rest_text, itg_dtype_name(type), itg_emit_ctype(type),
                              up, wide, NULL);
            itg_emit_template(&inside, inside_text, itg_dtype_name(type), NULL);
        }
        e->failed |= inside.failed;
        const bool bytes = type == ITG_S16 && has_bytes(e->p);
        if (bytes) itg_emit_widen(e, ITG_U8);
        itg_emit_template(&e->helpers, unpack_text, itg_dtype_name(type), itg_emit_ctype(type), up,
                          wide, inside.text != NULL ? inside.text : "", bytes ? bytes_text : "",
                          NULL);
        itg_strbuf_deinit(&inside);
    }
    ITG_EMIT_FORMAT(e, "%*sunpack_%s(%s, %s, %d, %s, %s, %s, %s);\n", (int)indent, "",
                    itg_dtype_name(type), name, itg_emit_number(e, v->elements), (int)v->q.bits,
                    first, count, itg_emit_number(e, zero), out);
}
