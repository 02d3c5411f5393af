/* Helium: rows of bytes that sums are made of. Codes are unsigned there: signed ones have their
 * highest bit changed, which adds 128. */
#include "realize/emit/c_helium.h"

static const char copy_text[] =
    "#ifdef HELIUM\n"
    "/* out[i] = in[i] ^ flip, i < n; the sum of out. */\n"
    "static inline uint32_t helium_copy(const uint8_t *in, int32_t n, uint8x16_t flip, uint8_t "
    "*out)\n"
    "{\n"
    "    uint32_t sum = 0;\n"
    "    for (; n >= 16; n -= 16, in += 16, out += 16) {\n"
    "        const uint8x16_t v = veorq_u8(vldrbq_u8(in), flip);\n"
    "        sum = vaddvaq_u8(sum, v);\n"
    "        vstrbq_u8(out, v);\n"
    "    }\n"
    "    if (n > 0) {\n"
    "        const mve_pred16_t some = vctp8q((uint32_t)n);\n"
    "        const uint8x16_t v = veorq_u8(vldrbq_z_u8(in, some), flip);\n"
    "        sum = vaddvaq_p_u8(sum, v, some);\n"
    "        vstrbq_p_u8(out, v, some);\n"
    "    }\n"
    "    return sum;\n"
    "}\n"
    "#endif\n\n";

static const char rows_text[] =
    "#ifdef HELIUM\n"
    "/* Rows of a matrix, depth long each; start: -minus times the sum of each. */\n"
    "static ONCE void helium_rows(const uint8_t *x, int32_t depth, int32_t count, uint8_t flip,\n"
    "                             uint32_t minus, uint8_t *out, uint32_t *start)\n"
    "{\n"
    "    const uint8x16_t change = vdupq_n_u8(flip);\n"
    "    for (; count > 0; count--, x += depth, out += depth)\n"
    "        *start++ = 0 - minus * helium_copy(x, depth, change, out);\n"
    "}\n"
    "#endif\n\n";

static const char gather_text[] =
    "#ifdef HELIUM\n"
    "/* Patches of the window, which sees `run` channels, at positions first, first + 1...; start: "
    "-minus\n"
    " * times the sum of each. pad: the byte of padding. */\n"
    "static ONCE void helium_gather(const window *g, int32_t run, const uint8_t *x, uint8_t flip,\n"
    "                               uint8_t pad, uint32_t minus, int32_t first, int32_t count,\n"
    "                               uint8_t *out, uint32_t *start)\n"
    "{\n"
    "    const int32_t whole = run == g->channels && g->dilation_x == 1;\n"
    "    const uint8x16_t change = vdupq_n_u8(flip), pads = vdupq_n_u8(pad);\n"
    "    for (int32_t i = first; i < first + count; i++) {\n"
    "        const int32_t top = i / g->out_width * g->stride_y - g->top;\n"
    "        const int32_t left = i % g->out_width * g->stride_x - g->left;\n"
    "        uint32_t sum = 0;\n"
    "        for (int32_t r = 0; r < g->rows; r++) {\n"
    "            const int32_t v = top + r * g->dilation_y;\n"
    "            const int32_t inside = v >= 0 && v < g->height;\n"
    "            for (int32_t s = 0, n; s < g->columns; s += n) {\n"
    "                const int32_t h = left + s * g->dilation_x, rest = g->columns - s;\n"
    "                n = !inside || (whole && h >= 0 && h + rest <= g->width) ? rest : 1;\n"
    "                const int32_t length = n * run;\n"
    "                if (inside && h >= 0 && h < g->width) {\n"
    "                    const uint8_t *in = x + (v * g->width + h) * g->channels;\n"
    "                    sum += helium_copy(in, length, change, out);\n"
    "                } else {\n"
    "                    for (int32_t c = 0; c < length; c += 16)\n"
    "                        vstrbq_p_u8(out + c, pads, vctp8q((uint32_t)(length - c)));\n"
    "                    sum += (uint32_t)pad * (uint32_t)length;\n"
    "                }\n"
    "                out += length;\n"
    "            }\n"
    "        }\n"
    "        *start++ = 0 - minus * sum;\n"
    "    }\n"
    "}\n"
    "#endif\n\n";

static const char unpack_text[] =
    "#ifdef HELIUM\n"
    "/* out[i] = code[first + i] - minus for i < count, of a tensor of total codes, bits wide "
    "each. */\n"
    "static ONCE void helium_unpack(const uint8_t *p, int32_t total, int32_t bits, int32_t first,\n"
    "                               int32_t count, uint32_t minus, uint8_t *out)\n"
    "{\n"
    "    const int32_t whole = total / 8;\n"
    "    for (; first + count > whole * 8 && count > 0; count--) { /* bit after bit */\n"
    "        uint32_t code = 0 - minus;\n"
    "        for (int32_t b = 0, at = (first + count - 1 - whole * 8) * bits; b < bits; b++, "
    "at++)\n"
    "            code += ((uint32_t)p[whole * bits + (at >> 3)] >> (at & 7) & 1) << b;\n"
    "        out[count - 1] = (uint8_t)code;\n"
    "    }\n"
    "    for (int32_t shift = 0, width; shift < bits; shift += width) {\n"
    "        const int32_t rest = bits - shift;\n"
    "        width = rest >= 8 ? 8 : rest >= 4 ? 4 : rest >= 2 ? 2 : 1;\n"
    "        const int32_t bytes = whole * width;\n"
    "        const uint8x16_t mask = vdupq_n_u8((uint8_t)((1u << width) - 1));\n"
    "        const uint8x16_t least = vdupq_n_u8((uint8_t)(0 - minus));\n"
    "        for (int32_t i = 0, n; i < count; i += n) {\n"
    "            const uint8_t *in = p + (first + i) % bytes;\n"
    "            const int32_t down = -((first + i) / bytes * width);\n"
    "            n = bytes - (first + i) % bytes;\n"
    "            n = n < count - i ? n : count - i;\n"
    "            for (int32_t j = 0; j < n; j += 16) {\n"
    "                const mve_pred16_t some = vctp8q((uint32_t)(n - j));\n"
    "                uint8x16_t v = vandq_u8(vshlq_r_u8(vldrbq_z_u8(in + j, some), down), mask);\n"
    "                uint8_t *y = out + i + j;\n"
    "                v = vshlq_r_u8(v, shift);\n"
    "                v = vaddq_u8(v, shift > 0 ? vldrbq_z_u8(y, some) : least);\n"
    "                vstrbq_p_u8(y, v, some);\n"
    "            }\n"
    "        }\n"
    "        p += bytes;\n"
    "    }\n"
    "}\n"
    "#endif\n\n";

void itg_emit_helium_copies(itg_emitter *e, bool window)
{
    if (itg_emit_needs(e, "helium_copy")) itg_strbuf_add(&e->helpers, copy_text);
    if (itg_emit_needs(e, window ? "helium_gather" : "helium_rows"))
        itg_strbuf_add(&e->helpers, window ? gather_text : rows_text);
}

void itg_emit_helium_unpack(itg_emitter *e)
{
    if (itg_emit_needs(e, "helium_unpack")) itg_strbuf_add(&e->helpers, unpack_text);
}
