/* Helium: makes the rows of bytes whose products are summed. Codes in rows are unsigned; the
 * highest bit of signed codes is flipped, which adds 128. */
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
    "/* Rows of a matrix, zeros behind them up to whole vectors; start: -minus times the sum of "
    "each. "
    "*/\n"
    "QUICK ONCE void helium_rows(const uint8_t *x, int32_t depth, int32_t count, uint8_t flip,\n"
    "                             uint32_t minus, uint8_t *out, uint32_t *start)\n"
    "{\n"
    "    const uint8x16_t change = vdupq_n_u8(flip);\n"
    "    const int32_t row = (depth + 15) & ~15;\n"
    "    for (; count > 0; count--, x += depth, out += row) {\n"
    "        vstrbq_u8(out + row - 16, vdupq_n_u8(0));\n"
    "        FENCE;\n"
    "        *start++ = 0 - minus * helium_copy(x, depth, change, out);\n"
    "    }\n"
    "}\n"
    "#endif\n\n";

static const char border_text[] =
    "#ifdef HELIUM\n"
    "/* The patch of a window that begins at row v and column h and leaves the image; its sum. */\n"
    "static ONCE uint32_t helium_border(const window *g, int32_t run, const uint8_t *x,\n"
    "                                   uint8x16_t change, uint8_t pad, int32_t v, int32_t left,\n"
    "                                   uint8_t *out)\n"
    "{\n"
    "    uint32_t sum = 0;\n"
    "    for (int32_t r = 0; r < g->rows; r++, v += g->dilation_y)\n"
    "        for (int32_t s = 0, h = left; s < g->columns; s++, h += g->dilation_x, out += run)\n"
    "            if (v >= 0 && v < g->height && h >= 0 && h < g->width) {\n"
    "                const uint8_t *in = x + (v * g->width + h) * g->channels;\n"
    "                sum += helium_copy(in, run, change, out);\n"
    "            } else {\n"
    "                for (int32_t c = 0; c < run; c += 16)\n"
    "                    vstrbq_p_u8(out + c, vdupq_n_u8(pad), vctp8q((uint32_t)(run - c)));\n"
    "                sum += (uint32_t)pad * (uint32_t)run;\n"
    "            }\n"
    "    return sum;\n"
    "}\n"
    "#endif\n\n";

static const char gather_begin_text[] =
    "#ifdef HELIUM\n"
    "/* Patches of the window, which sees `run` channels, at positions first, first + 1..., as "
    "rows\n"
    " * of whole vectors, zeros behind; start: -minus times the sum of each. pad: padding's byte. "
    "*/\n"
    "QUICK ONCE void helium_gather(const window *g, int32_t run, const uint8_t *x, uint8_t flip,\n"
    "                               uint8_t pad, uint32_t minus, int32_t first, int32_t count,\n"
    "                               uint8_t *out, uint32_t *start)\n"
    "{\n"
    "    const uint8x16_t change = vdupq_n_u8(flip);\n";

static const char gather_parts_text[] =
    "    const int32_t whole = run == g->channels && g->dilation_x == 1;\n"
    "    const int32_t length = whole ? g->columns * run : run, times = whole ? 1 : g->columns;\n"
    "    const int32_t row = (g->rows * g->columns * run + 15) & ~15;\n"
    "    const int32_t bottom = g->height - (g->rows - 1) * g->dilation_y;\n"
    "    const int32_t right = g->width - (g->columns - 1) * g->dilation_x;\n"
    "    for (int32_t i = first; i < first + count; i++, out += row) {\n"
    "        const int32_t v = i / g->out_width * g->stride_y - g->top;\n"
    "        const int32_t h = i % g->out_width * g->stride_x - g->left;\n"
    "        uint32_t sum = 0;\n"
    "        vstrbq_u8(out + row - 16, vdupq_n_u8(0));\n"
    "        FENCE;\n"
    "        if (v >= 0 && h >= 0 && v < bottom && h < right) {\n"
    "            const uint8_t *in = x + (v * g->width + h) * g->channels;\n"
    "            uint8_t *to = out;\n"
    "            for (int32_t r = g->rows; r > 0; r--, in += g->dilation_y * g->width * "
    "g->channels)\n"
    "                for (int32_t s = 0; s < times; s++, to += length)\n"
    "                    sum += helium_copy(in + s * g->dilation_x * g->channels, length, change, "
    "to);\n"
    "        } else {\n"
    "            sum = helium_border(g, run, x, change, pad, v, h, out);\n"
    "        }\n"
    "        *start++ = 0 - minus * sum;\n"
    "    }\n"
    "}\n"
    "#endif\n\n";

/* As c_rows.c's. */
static const char gather_text[] =
    "    const int32_t image = g->width * run, line = g->columns * run, patch = g->rows * line;\n"
    "    const int32_t row = (patch + 15) & ~15;\n"
    "    for (int32_t i = first; i < first + count; i++, out += row) {\n"
    "        const int32_t top = i / g->out_width * g->stride_y - g->top;\n"
    "        const int32_t left = i % g->out_width * g->stride_x - g->left;\n"
    "        const int32_t above = top < 0 ? -top : 0, before = left < 0 ? -left : 0;\n"
    "        int32_t rows = g->height - top, columns = g->width - left;\n"
    "        rows = (rows < g->rows ? rows : g->rows) - above;\n"
    "        columns = ((columns < g->columns ? columns : g->columns) - before) * run;\n"
    "        if (columns <= 0 || rows <= 0)\n"
    "            columns = rows = 0;\n"
    "        uint32_t sum = (uint32_t)pad * (uint32_t)(patch - rows * columns);\n"
    "        vstrbq_u8(out + row - 16, vdupq_n_u8(0));\n"
    "        FENCE;\n"
    "        for (int32_t k = rows * columns < patch ? 0 : patch; k < patch; k += 16)\n"
    "            vstrbq_p_u8(out + k, vdupq_n_u8(pad), vctp8q((uint32_t)(patch - k)));\n"
    "        FENCE;\n"
    "        const uint8_t *in = rows > 0 ? x + (top + above) * image + (left + before) * run : "
    "x;\n"
    "        uint8_t *to = out + above * line + before * run;\n"
    "        for (; rows > 0; rows--, in += image, to += line)\n"
    "            sum += helium_copy(in, columns, change, to);\n"
    "        *start++ = 0 - minus * sum;\n"
    "    }\n"
    "}\n"
    "#endif\n\n";

static const char unpack_text[] =
    "#ifdef HELIUM\n"
    "/* out[i] = code[first + i] - minus for i < count, of a tensor of total codes, bits wide "
    "each. */\n"
    "QUICK ONCE void helium_unpack(const uint8_t *p, int32_t total, int32_t bits, int32_t first,\n"
    "                               int32_t count, uint32_t minus, uint8_t *out)\n"
    "{\n"
    "    const int32_t whole = total / 8;\n"
    "    for (; first + count > whole * 8 && count > 0; count--) { /* bit after bit */\n"
    "        uint32_t code = 0 - minus;\n"
    "        for (int32_t b = 0, at = (first + count - 1 - whole * 8) * bits; b < bits; b++, "
    "at++)\n"
    "            code += ((uint32_t)p[whole * bits + (at >> 3)] >> (at & 7) & 1) << b$1;\n"
    "        out[count - 1] = (uint8_t)code;\n"
    "    }\n"
    "    const int32_t field = 8 / bits * bits, spare = 8 - field;\n"
    "    const uint8x16_t codes = vdupq_n_u8((uint8_t)((1u << bits) - 1));\n"
    "    const uint8x16_t least = vdupq_n_u8((uint8_t)(0 - minus));\n"
    "    for (int32_t n; count > 0; first += n, count -= n, out += n) {\n"
    "        const int32_t row = first / whole, at = first % whole, parts = row >= field;\n"
    "        const int32_t past = (row - field) * bits;\n"
    "        const uint8_t *in = p + at + (parts ? past / spare : row % bits) * whole;\n"
    "        const int32_t shift = parts ? field + past % spare : row / bits * bits;\n"
    "        const int32_t end = parts ? field - bits : 8;\n"
    "        const uint8x16_t mask = vdupq_n_u8((uint8_t)(parts ? 256 - (1u << field) : 255));\n"
    "        n = whole - at < count ? whole - at : count;\n"
    "        int32_t j = 0;\n"
    "        for (; j <= n - 16 && !parts; j += 16) {\n"
    "            const uint8x16_t v = vshlq_r_u8(vldrbq_u8(in + j), -shift);\n"
    "            vstrbq_u8(out + j, vaddq_u8($2, least));\n"
    "        }\n"
    "        for (; j < n; j += 16) {\n"
    "            const mve_pred16_t some = vctp8q((uint32_t)(n - j));\n"
    "            const uint8_t *from = in + j;\n"
    "            uint8x16_t v = vshlq_r_u8(vandq_u8(vldrbq_z_u8(from, some), mask), -shift);\n"
    "            for (int32_t s = shift - spare; s > end; s -= spare) {\n"
    "                from += whole;\n"
    "                v = vorrq_u8(v, vshlq_r_u8(vandq_u8(vldrbq_z_u8(from, some), mask), -s));\n"
    "            }\n"
    "            vstrbq_p_u8(out + j, vaddq_u8($2, least), some);\n"
    "        }\n"
    "    }\n"
    "}\n"
    "#endif\n\n";

void itg_emit_helium_copies(itg_emitter *e, bool window)
{
    if (itg_emit_needs(e, "helium_copy")) itg_strbuf_add(&e->helpers, copy_text);
    if (!itg_emit_needs(e, window ? "helium_gather" : "helium_rows")) return;
    if (window && e->spread) itg_strbuf_add(&e->helpers, border_text);
    itg_strbuf_add(&e->helpers, window ? gather_begin_text : rows_text);
    if (window) itg_strbuf_add(&e->helpers, e->spread ? gather_parts_text : gather_text);
}

void itg_emit_helium_unpack(itg_emitter *e)
{
    const bool signs = itg_emit_has_bits(e->p, 1, 1);
    if (itg_emit_needs(e, "helium_unpack"))
        itg_emit_template(
            &e->helpers, unpack_text, signs ? " << (bits == 1)" : "",
            signs ? "vshlq_r_u8(vandq_u8(v, codes), bits == 1)" : "vandq_u8(v, codes)", NULL);
}
