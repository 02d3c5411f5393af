#include "report/text.h"
#include "base/utf8.h"
#include <ctype.h>
#include <string.h>

/* Whether a character is a control or changes the direction of text: with it a name could pass for
 * another. */
static bool is_deceptive(const unsigned char *c, size_t bytes)
{
    if (bytes == 1) return *c < 0x20 || *c == 0x7F;
    if (bytes == 2) return c[0] == 0xC2 && c[1] < 0xA0;
    if (bytes != 3 || c[0] != 0xE2) return false;
    return (c[1] == 0x80 && ((c[2] >= 0xA8 && c[2] <= 0xAE) || c[2] == 0x8E || c[2] == 0x8F)) ||
           (c[1] == 0x81 && c[2] >= 0xA6 && c[2] <= 0xA9);
}

/* Adds the text; characters that `escaped` knows are written as it says. */
static void add(itg_strbuf *out, const char *text, const char *(*escaped)(unsigned char c))
{
    const unsigned char *at = (const unsigned char *)text, *end = at + strlen(text);
    while (at < end) {
        size_t step = itg_utf8_length(at, (size_t)(end - at));
        const char *other = escaped(*at);
        if (step == 0 || is_deceptive(at, step))
            itg_strbuf_add(out, "\xEF\xBF\xBD");
        else if (other)
            itg_strbuf_add(out, other);
        else
            itg_strbuf_bytes(out, at, step);
        at += step ? step : 1;
    }
}

static const char *none(unsigned char c)
{
    (void)c;
    return NULL;
}

void itg_text_plain(itg_strbuf *out, const char *text)
{
    add(out, text, none);
}

static const char *entity_of(unsigned char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void itg_text_markup(itg_strbuf *out, const char *text)
{
    add(out, text, entity_of);
}

static const char *behind_backslash(unsigned char c)
{
    static const char marks[] = "\\`*_[]<>|&~",
                      pairs[][3] = {"\\\\", "\\`", "\\*", "\\_", "\\[", "\\]",
                                    "\\<",  "\\>", "\\|", "\\&", "\\~"};
    const char *found = c ? strchr(marks, c) : NULL;
    return found ? pairs[found - marks] : NULL;
}

void itg_text_markdown(itg_strbuf *out, const char *text)
{
    add(out, text, behind_backslash);
}

static const char *quote_doubled(unsigned char c)
{
    return c == '"' ? "\"\"" : NULL;
}

/* Writes a number without the commas between its digits and without its unit: "-1,234.5 dB" as
 * "-1234.5". Returns false if the text is something else. */
static bool put_number(itg_strbuf *out, const char *text)
{
    const char *at = text + (*text == '-' || *text == '+'), *digits = at;
    at += strspn(at, "0123456789");
    if (at == digits) return false;
    while (*at == ',' && at - digits <= 3 && strspn(at + 1, "0123456789") >= 3)
        digits = at + 1, at += 4;
    if (*at == '.') at += 1 + strspn(at + 1, "0123456789");
    if (*at && strcmp(at, " %") != 0 && strcmp(at, " dB") != 0) return false;
    for (; text < at; text++)
        if (*text != ',') itg_strbuf_bytes(out, text, 1);
    return true;
}

void itg_text_csv(itg_strbuf *out, const char *text)
{
    if (put_number(out, text)) return;
    const bool quoted = text[strcspn(text, "\",")] != '\0' ||
                        (*text && (isspace((unsigned char)*text) ||
                                   isspace((unsigned char)text[strlen(text) - 1])));
    if (quoted) itg_strbuf_add(out, "\"");
    add(out, text, quote_doubled);
    if (quoted) itg_strbuf_add(out, "\"");
}
