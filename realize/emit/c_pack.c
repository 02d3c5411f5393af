/* Constants at their bit width b. Codes are stored without sign, as code - least, where least is
 * -2^(b-1) for signed codes, else 0; the codes -1 and 1 of one bit as 0 and 1. Where weights have
 * zero points, least is their scale's least code or 0. A tensor of n codes takes ceil(n * b / 8)
 * bytes:
 *
 *   The first 8 m codes, m = floor(n / 8), are eight rows of m codes. They lie in b planes of m
 *   bytes. Byte k of each plane belongs to code k of the rows, so a run of codes is a run of bytes.
 *   A byte holds 8 / b whole codes: row r < 8 / b * b is in plane r % b, at bit r / b * b. The
 *   8 % b bits above them, taken through the planes in order, are one string of bits, which holds
 *   the remaining rows one after another.
 *   If b > 8, the low 8 bits of all codes come first, one byte each. The high bits follow as above.
 *   The last n % 8 codes follow as one string of bits. */
#include "base/packed.h"
#include "kernels/int_ops.h"
#include "realize/emit/emit.h"
#include <string.h>

static const char unpack_text[] =
    "/* out[i] = code[first + i] - zero for i < count, of a tensor of total codes, bits wide "
    "each:\n"
    " * eight rows of them in planes of bytes, whole codes below, parts of others above; what is "
    "left\n"
    " * over follows. */\n"
    "HOT static ONCE void unpack_$1(const uint8_t *p, int32_t total, int32_t bits, int32_t first,\n"
    "                          int32_t count, $2 zero, $2 *out)\n"
    "{\n"
    "    const int32_t whole = total / 8;\n"
    "$4"
    "    const int32_t field = 8 / bits * bits, spare = 8 - field;\n"
    "    const uint32_t codes = (UINT32_C(1) << bits) - 1;\n"
    "    for (int32_t n; count > 0; first += n, count -= n, out += n) {\n"
    "        const int32_t row = first / whole, at = first % whole, parts = row >= field;\n"
    "        const int32_t past = (row - field) * bits;\n"
    "        const uint8_t *in = p + at + (parts ? past / spare : row % bits) * whole;\n"
    "        const int32_t shift = parts ? field + past % spare : row / bits * bits;\n"
    "        const int32_t end = parts ? field - bits : 8;\n"
    "        const uint32_t mask = parts ? 256 - (UINT32_C(1) << field) : 255;\n"
    "        int32_t i = 0;\n"
    "        n = whole - at < count ? whole - at : count;\n"
    "$5"
    "        for (int32_t s = shift; s == shift || s > end; s -= spare, in += whole) {\n"
    "            const uint16_t down = (uint16_t)(256 >> s); /* shifts by a variable are slow */\n"
    "            for (int32_t j = i; j < n; j++) {\n"
    "                const uint16_t part =\n"
    "                    (uint16_t)((uint16_t)((in[j] & mask) * down) >> 8 & codes);\n"
    "                out[j] = ($2)((s == shift$6 ? ($2)-zero : out[j]) + ($2)(($3)part$7$8));\n"
    "            }\n"
    "            if (spare == 0) break;\n"
    "        }\n"
    "    }\n"
    "}\n\n";

static const char words_text[] =
    "#ifdef WORDS\n"
    "#ifndef __OPTIMIZE_SIZE__\n"
    "        const uint32_t every = codes * UINT32_C(0x01010101);\n"
    "        for (; !parts && i + 4 <= n$1; i += 4)\n"
    "            four_u8(((uint32_t)PAIR(in + i) >> shift & every)$2, zero, out + i);\n"
    "#endif\n"
    "        for (; i + 4 <= n$1; i += 4) {\n"
    "            const uint32_t masks = mask * UINT32_C(0x01010101);\n"
    "            const uint8_t *from = in + i;\n"
    "            uint32_t x = ((uint32_t)PAIR(from) & masks) >> shift;\n"
    "            for (int32_t s = shift - spare; s > end; s -= spare)\n"
    "                from += whole, x |= ((uint32_t)PAIR(from) & masks) >> s;\n"
    "            four_u8((x & codes * UINT32_C(0x01010101))$2, zero, out + i);\n"
    "        }\n"
    "#endif\n";

static const char wide_text[] =
    "    $2 up = 1;\n"
    "    for (; bits > 8; bits -= 8, p += 8 * whole, up = ($2)(up * 256))\n"
    "        for (int32_t i = 0; i < count; i++)\n"
    "            out[i] = ($1)((up == 1 ? ($1)-zero : out[i]) + ($1)(($3)p[first + i] * up));\n";

static const char bytes_text[] = "    if (bits == 8$1) {\n"
                                 "        widen_u8(p + first, 0, 1, count, zero, out, 0);\n"
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
    "            out[i] = ($2)(out[i] + ($2)(($4)(p[at >> 3] >> (at & 7) & 1) << b$5));\n"
    "    }\n"
    "}\n\n";

static int64_t packed_bytes(const itg_pvalue *v)
{
    return itg_packed_bytes(v->elements, v->q.bits);
}

int64_t itg_emit_least_code(const itg_pvalue *v)
{
    if (itg_has_zero_points(&v->q)) return 0;
    return v->q.is_signed ? -((int64_t)1 << (v->q.bits - 1)) : 0;
}

const int64_t *itg_emit_zero_points(itg_emitter *e, int32_t value)
{
    const itg_pvalue *v = &e->p->values[value];
    if (!v->quantized || v->data == NULL || !itg_has_zero_points(&v->q)) return NULL;
    int64_t *zero = itg_emit_alloc(e, (size_t)v->q.scale_count, sizeof *zero), most;
    for (int32_t i = 0; zero != NULL && i < v->q.scale_count; i++) {
        itg_code_range(&v->q, &v->shape, v->data, i, &zero[i], &most);
        zero[i] = -zero[i];
    }
    return zero;
}

uint64_t itg_emit_raw_code(const itg_pvalue *v, const int64_t *order, int64_t i)
{
    int64_t code = itg_load(v->dtype, v->data, order != NULL ? order[i] : i);
    const uint64_t raw = (uint64_t)(code - itg_emit_least_code(v));
    return v->q.bits == 1 ? raw / 2 : raw;
}

/* Code i of eight rows of codes below 2^bits, bits <= 8, into planes of `whole` bytes each. */
static void put_in_planes(int64_t whole, int64_t bits, int64_t i, uint64_t code, unsigned char *out)
{
    const int64_t field = 8 / bits * bits, spare = 8 - field, row = i / whole;
    unsigned char *const at = out + i % whole;
    for (int64_t b = 0; b < bits; b++) {
        const int64_t past = (row - field) * bits + b;
        const int64_t plane = row < field ? row % bits : past / spare;
        const int64_t bit = row < field ? row / bits * bits + b : field + past % spare;
        at[plane * whole] = (unsigned char)(at[plane * whole] | ((code >> b & 1) << bit));
    }
}

/* The codes of a constant in some order, with the zero points that they are stored plus. */
typedef struct codes {
    const itg_pvalue *v;
    const int64_t *order, *zero;
    int64_t run; /* of codes with one zero point */
} codes;

static uint64_t raw_code(const codes *c, int64_t i)
{
    const uint64_t raw = itg_emit_raw_code(c->v, c->order, i);
    if (c->zero == NULL) return raw;
    const int64_t element = c->order != NULL ? c->order[i] : i;
    return raw + (uint64_t)c->zero[element / c->run % c->v->q.scale_count];
}

static void pack(const codes *c, unsigned char *out)
{
    const int64_t elements = c->v->elements, whole = elements / 8;
    int64_t shift = 0;
    for (; c->v->q.bits - shift > 8; shift += 8, out += whole * 8)
        for (int64_t i = 0; i < whole * 8; i++)
            out[i] = (unsigned char)(raw_code(c, i) >> shift & 255);
    const int64_t bits = c->v->q.bits - shift;
    for (int64_t i = 0; i < whole * 8; i++)
        put_in_planes(whole, bits, i, raw_code(c, i) >> shift, out);
    out += whole * bits;
    for (int64_t i = whole * 8, at = 0; i < elements; i++)
        for (int64_t b = 0; b < c->v->q.bits; b++, at++)
            if ((raw_code(c, i) >> b & 1) != 0)
                out[at / 8] = (unsigned char)(out[at / 8] | (1u << (at % 8)));
}

/* Returns the number of a constant, by the order of use, which the artefact keeps. */
static int32_t number_of(itg_emitter *e, int32_t value)
{
    const char *key = itg_emit_text(e, "%d", (int)value);
    int32_t number = itg_names_find(&e->constants, key);
    if (number >= 0) return number;
    if (!itg_names_put(&e->constants, key, e->constant_count)) e->failed = true;
    return e->constant_count++;
}

const char *itg_emit_constant_name(itg_emitter *e, int32_t value, char tag, const char *how)
{
    char ident[ITG_EMIT_NAME];
    itg_emit_identifier(e->p->values[value].name, ident);
    return itg_emit_text(e, "w%d%c%s_%s", (int)number_of(e, value), tag, how, ident);
}

void itg_emit_bytes(itg_emitter *e, int32_t value, const char *name, const char *attribute,
                    const unsigned char *bytes, int64_t count)
{
    const itg_pvalue *v = &e->p->values[value];
    itg_strbuf *out = &e->data;
    char ident[ITG_EMIT_NAME];
    itg_emit_identifier(v->name, ident);
    itg_strbuf_format(out, "/* %s: %lld codes of %d bits */\n", ident, (long long)v->elements,
                      (int)v->q.bits);
    itg_strbuf_format(out, "static const uint8_t %s[%lld]%s = {", name, (long long)count,
                      attribute);
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
    e->layer->weight_bytes += count;
}

const char *itg_emit_packed(itg_emitter *e, int32_t value, const int64_t *order, char tag)
{
    const itg_pvalue *v = &e->p->values[value];
    const char *name = itg_emit_constant_name(e, value, tag, "");
    if (!itg_emit_needs(e, name)) return name;
    int64_t bytes = packed_bytes(v);
    unsigned char *packed = itg_emit_alloc(e, (size_t)bytes, 1);
    if (packed == NULL) return name;
    const codes all = {v, order, itg_emit_zero_points(e, value), itg_scale_run(&v->q, &v->shape)};
    pack(&all, packed);
    itg_emit_bytes(e, value, name, "", packed, bytes);
    return name;
}

bool itg_emit_has_bits(const itg_program *p, int32_t least, int32_t most)
{
    for (int32_t i = 0; i < p->value_count; i++) {
        const itg_pvalue *v = &p->values[i];
        if (v->data != NULL && v->quantized && v->q.bits >= least && v->q.bits <= most) return true;
    }
    return false;
}

/* Text that doubles codes of one bit, which are 0 and 1 less the least. */
static const char *doubled(const itg_program *p)
{
    return itg_emit_has_bits(p, 1, 1) ? " << (bits == 1)" : "";
}

/* Whether some constant's number of codes is not a multiple of eight. */
static bool has_rests(const itg_program *p)
{
    for (int32_t i = 0; i < p->value_count; i++)
        if (p->values[i].data != NULL && p->values[i].quantized && p->values[i].elements % 8 != 0)
            return true;
    return false;
}

/* Adds the steps before the rows: codes outside the rows, low bytes of wide codes, 8-bit codes. */
static void add_first_steps(itg_emitter *e, itg_dtype type, bool wide, itg_strbuf *out)
{
    const char *up = type == ITG_S64 ? "uint64_t" : "uint16_t";
    const char *sum = type == ITG_S64 ? "uint64_t" : "uint32_t";
    if (has_rests(e->p)) {
        itg_emit_template(&e->helpers, rest_text, itg_dtype_name(type), itg_emit_ctype(type), up,
                          sum, doubled(e->p), NULL);
        itg_emit_template(out, inside_text, itg_dtype_name(type), NULL);
    }
    if (wide) itg_emit_template(out, wide_text, itg_emit_ctype(type), up, sum, NULL);
    if (type != ITG_S16 || !itg_emit_has_bits(e->p, 8, 8)) return;
    itg_emit_widen(e, ITG_U8);
    itg_emit_template(out, bytes_text, wide ? " && up == 1" : "", NULL);
}

static void write_unpack(itg_emitter *e, itg_dtype type)
{
    const bool wide = itg_emit_has_bits(e->p, 9, 64);
    const char *alone = wide ? " && up == 1" : "";
    itg_strbuf first = {0}, four = {0};
    itg_emit_pairs(e);
    if (type == ITG_S16) {
        itg_emit_four(e, ITG_U8);
        itg_emit_template(&four, words_text, alone, doubled(e->p), NULL);
    }
    add_first_steps(e, type, wide, &first);
    e->failed |= first.failed || four.failed;
    itg_emit_template(&e->helpers, unpack_text, itg_dtype_name(type), itg_emit_ctype(type),
                      type == ITG_S64 ? "uint64_t" : "uint32_t",
                      first.text != NULL ? first.text : "", four.text != NULL ? four.text : "",
                      alone, wide ? " * up" : "", doubled(e->p), NULL);
    itg_strbuf_deinit(&first);
    itg_strbuf_deinit(&four);
}

void itg_emit_unpack(itg_emitter *e, int32_t indent, int32_t value, const char *name,
                     const char *first, const char *count, int64_t subtract, itg_dtype type,
                     const char *out)
{
    const itg_pvalue *v = &e->p->values[value];
    int64_t zero = subtract - itg_emit_least_code(v);
    /* 16-bit codes are computed modulo 2^16, and 2^15 is no int16_t. */
    if (type == ITG_S16 && zero > INT16_MAX) zero -= (int64_t)1 << 16;
    if (itg_emit_needs(e, itg_emit_text(e, "unpack_%s", itg_dtype_name(type))))
        write_unpack(e, type);
    ITG_EMIT_FORMAT(e, "%*sunpack_%s(%s, %s, %d, %s, %s, %s, %s);\n", (int)indent, "",
                    itg_dtype_name(type), name, itg_emit_number(e, v->elements), (int)v->q.bits,
                    first, count, itg_emit_number(e, zero), out);
}
