#include "base/json_write.h"
#include "base/json.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void begin_line(itg_json_writer *w, int levels)
{
    itg_strbuf_format(&w->text, "\n%*s", 2 * levels, "");
}

static int lines_around(const itg_json_writer *w)
{
    int levels = 0;
    for (int i = 1; i <= w->depth; i++)
        levels += w->styles[i] == ITG_JSON_LINES;
    return levels;
}

void itg_json_key(itg_json_writer *w, const char *key)
{
    itg_json_style style = w->styles[w->depth];
    if (w->comma) itg_strbuf_add(&w->text, style == ITG_JSON_INLINE ? ", " : ",");
    if (style == ITG_JSON_LINES) begin_line(w, lines_around(w));
    w->comma = true;
    if (!key) return;
    itg_strbuf_json_string(&w->text, key);
    itg_strbuf_add(&w->text, ": ");
}

void itg_json_begin_as(itg_json_writer *w, const char *key, char bracket, itg_json_style style)
{
    itg_json_key(w, key);
    itg_strbuf_bytes(&w->text, &bracket, 1);
    w->comma = false;
    if (w->depth == ITG_JSON_WRITE_DEPTH)
        w->text.failed = true;
    else
        w->styles[++w->depth] = style;
}

void itg_json_begin(itg_json_writer *w, const char *key, char bracket)
{
    itg_json_begin_as(w, key, bracket, ITG_JSON_INLINE);
}

void itg_json_end(itg_json_writer *w, char bracket)
{
    bool lines = w->styles[w->depth] == ITG_JSON_LINES && w->comma;
    w->depth -= w->depth > 0;
    if (lines) begin_line(w, lines_around(w));
    itg_strbuf_bytes(&w->text, &bracket, 1);
    w->comma = true;
}

void itg_json_put(itg_json_writer *w, const char *key, const char *format, ...)
{
    va_list arguments;
    itg_json_key(w, key);
    va_start(arguments, format);
    itg_strbuf_vformat(&w->text, format, arguments);
    va_end(arguments);
}

void itg_json_put_null(itg_json_writer *w, const char *key)
{
    itg_json_put(w, key, "null");
}

void itg_json_put_text(itg_json_writer *w, const char *key, const char *value)
{
    itg_json_key(w, key);
    if (value)
        itg_strbuf_json_string(&w->text, value);
    else
        itg_strbuf_add(&w->text, "null");
}

void itg_json_put_bool(itg_json_writer *w, const char *key, bool value)
{
    itg_json_put(w, key, "%s", value ? "true" : "false");
}

void itg_json_put_int(itg_json_writer *w, const char *key, int64_t value)
{
    itg_json_put(w, key, "%" PRId64, value);
}

void itg_json_put_number(itg_json_writer *w, const char *key, double value)
{
    char digits[40];
    itg_json_put(w, key, "%s", isfinite(value) ? itg_json_digits(value, digits) : "null");
}

void itg_json_put_seed(itg_json_writer *w, const char *key, uint64_t value)
{
    itg_json_put(w, key, "\"%" PRIu64 "\"", value);
}

void itg_json_put_hash(itg_json_writer *w, const char *key, const unsigned char hash[32])
{
    char hex[65];
    itg_sha256_hex(hash, hex);
    itg_json_put(w, key, "\"%s\"", hex);
}

void itg_json_put_hex(itg_json_writer *w, const char *key, double value)
{
    char hex[48];
    itg_json_put(w, key, "\"%s\"", itg_hex_double(value, hex));
}

const char *itg_json_digits(double value, char *buffer)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, 40, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value) break;
    }
    if (fabs(value) > 0x1p53 && !strpbrk(buffer, ".e")) strcat(buffer, ".0");
    return buffer;
}
