/* capacity counts the terminator: length < capacity whenever text is not NULL. */
#include "base/base.h"
#include "base/utf8.h"
#include <stdlib.h>
#include <string.h>

/* Ensures room for `more` bytes and the terminator; false (and failed) without memory. */
static bool reserve(itg_strbuf *buffer, size_t more)
{
    if (buffer->failed) return false;
    size_t needed;
    if (!itg_add_size(buffer->length, more, &needed) || !itg_add_size(needed, 1, &needed)) {
        buffer->failed = true;
        return false;
    }
    if (needed <= buffer->capacity) return true;
    size_t capacity = buffer->capacity < 64 ? 64 : buffer->capacity;
    while (capacity < needed)
        capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
    char *grown = realloc(buffer->text, capacity);
    if (!grown) {
        buffer->failed = true;
        return false;
    }
    buffer->text = grown;
    buffer->capacity = capacity;
    return true;
}

void itg_strbuf_bytes(itg_strbuf *buffer, const void *data, size_t bytes)
{
    if (!reserve(buffer, bytes)) return;
    if (bytes > 0) memcpy(buffer->text + buffer->length, data, bytes);
    buffer->length += bytes;
    buffer->text[buffer->length] = '\0';
}

void itg_strbuf_add(itg_strbuf *buffer, const char *text)
{
    itg_strbuf_bytes(buffer, text, strlen(text));
}

void itg_strbuf_vformat(itg_strbuf *buffer, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0) buffer->failed = true;
    if (length >= 0 && reserve(buffer, (size_t)length)) {
        vsnprintf(buffer->text + buffer->length, (size_t)length + 1, format, again);
        buffer->length += (size_t)length;
    }
    va_end(again);
}

void itg_strbuf_format(itg_strbuf *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    itg_strbuf_vformat(buffer, format, arguments);
    va_end(arguments);
}

static void add_escaped(itg_strbuf *buffer, char c)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *found = strchr(plain, c);
    if (found) {
        char pair[2] = {'\\', letters[found - plain]};
        itg_strbuf_bytes(buffer, pair, 2);
    } else {
        itg_strbuf_format(buffer, "\\u%04x", (unsigned)(unsigned char)c);
    }
}

/* Invalid UTF-8 becomes U+FFFD, so that the output is always JSON. */
void itg_strbuf_json_string(itg_strbuf *buffer, const char *text)
{
    size_t length = strlen(text), at = 0;
    itg_strbuf_add(buffer, "\"");
    while (at < length) {
        char c = text[at];
        size_t step = itg_utf8_length((const unsigned char *)text + at, length - at);
        if (step == 0)
            itg_strbuf_add(buffer, "\xEF\xBF\xBD");
        else if (step == 1 && ((unsigned char)c < 0x20 || c == '"' || c == '\\'))
            add_escaped(buffer, c);
        else
            itg_strbuf_bytes(buffer, text + at, step);
        at += step ? step : 1;
    }
    itg_strbuf_add(buffer, "\"");
}

bool itg_strbuf_ok(const itg_strbuf *buffer)
{
    return !buffer->failed;
}

void itg_strbuf_deinit(itg_strbuf *buffer)
{
    free(buffer->text);
    memset(buffer, 0, sizeof *buffer);
}

itg_status itg_take_text(itg_strbuf *buffer, char **out, itg_error *err)
{
    if (!itg_strbuf_ok(buffer) || !buffer->text) {
        itg_strbuf_deinit(buffer);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for text");
    }
    *out = buffer->text;
    return ITG_OK;
}
