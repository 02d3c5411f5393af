/* Recursive descent with limited depth. Functions start at `at` and move it behind what they
 * accept. */
#include "base/json_scan.h"
#include "base/json.h"
#include "base/utf8.h"
#include <string.h>

typedef struct scanner {
    const unsigned char *text;
    size_t bytes, at;
    const char *source;
    itg_error *err;
    size_t values, keys;
    int depth;
    size_t wanted_key, wanted_at; /* wanted_at: position of the key with this rank */
} scanner;

static itg_status fail_at(const scanner *s, size_t at, itg_status code, const char *message)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at && i < s->bytes; i++) {
        if (s->text[i] == '\n') {
            line++;
            column = 1;
        } else if ((s->text[i] & 0xC0) != 0x80) {
            column++;
        }
    }
    return itg_fail(s->err, code, "%s: line %zu, column %zu: %s", s->source, line, column, message);
}

static itg_status refuse(const scanner *s, const char *message)
{
    return fail_at(s, s->at, ITG_BAD_FILE, message);
}

/* Returns the next character; -1 at the end. */
static int peek(const scanner *s)
{
    return s->at < s->bytes ? s->text[s->at] : -1;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static void skip_blanks(scanner *s)
{
    int c = peek(s);
    while (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        s->at++;
        c = peek(s);
    }
}

static bool scan_hex4(scanner *s, unsigned *out)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++, s->at++) {
        int c = peek(s);
        unsigned digit;
        if (is_digit(c))
            digit = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (unsigned)(c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            digit = (unsigned)(c - 'A' + 10);
        else
            return false;
        value = value << 4 | digit;
    }
    *out = value;
    return true;
}

/* Starts at the 'u' of an escape. */
static itg_status scan_unicode_escape(scanner *s)
{
    size_t start = s->at - 1;
    unsigned unit, second = 0;
    s->at++;
    if (!scan_hex4(s, &unit)) return refuse(s, "expected four hexadecimal digits after \\u");
    if (unit == 0) return fail_at(s, start, ITG_BAD_FILE, "\\u0000 is not supported in strings");
    if (unit < 0xD800 || unit > 0xDFFF) return ITG_OK;
    bool is_pair =
        unit <= 0xDBFF && peek(s) == '\\' && s->at + 1 < s->bytes && s->text[s->at + 1] == 'u';
    if (is_pair) {
        s->at += 2;
        is_pair = scan_hex4(s, &second) && second >= 0xDC00 && second <= 0xDFFF;
    }
    if (is_pair) return ITG_OK;
    return fail_at(s, start, ITG_BAD_FILE, "\\u escape is half of a surrogate pair");
}

static itg_status scan_escape(scanner *s)
{
    s->at++;
    int c = peek(s);
    if (c == 'u') return scan_unicode_escape(s);
    if (c <= 0 || !strchr("\"\\/bfnrt", c)) return refuse(s, "unknown escape in string");
    s->at++;
    return ITG_OK;
}

/* Starts at the opening quote. */
static itg_status scan_string(scanner *s)
{
    size_t start = s->at++;
    for (;;) {
        int c = peek(s);
        if (c < 0) return fail_at(s, start, ITG_BAD_FILE, "string without an end");
        if (c == '"') break;
        if (c == '\\') {
            itg_status status = scan_escape(s);
            if (status != ITG_OK) return status;
            continue;
        }
        if (c < 0x20) return refuse(s, "control character in string");
        size_t length = itg_utf8_length(s->text + s->at, s->bytes - s->at);
        if (length == 0) return refuse(s, "invalid UTF-8");
        s->at += length;
    }
    s->at++;
    return ITG_OK;
}

static size_t skip_digits(scanner *s)
{
    size_t start = s->at;
    while (is_digit(peek(s)))
        s->at++;
    return s->at - start;
}

/* Checks the value of a well-formed number: it must be finite, and an integer must be exact. */
static itg_status check_number(const scanner *s, size_t start, bool is_integer)
{
    char copy[ITG_JSON_MAX_NUMBER + 1];
    size_t length = s->at - start;
    double value;
    if (length >= sizeof copy)
        return fail_at(s, start, ITG_LIMIT, "number longer than 63 characters");
    memcpy(copy, s->text + start, length);
    copy[length] = '\0';
    if (!itg_parse_hex_double(copy, &value))
        return fail_at(s, start, ITG_BAD_FILE, "number too large for a double");
    /* Above 2^53 several integers round to one double. 2^53 + 1 rounds to 2^53, so that is compared
     * as text. */
    bool is_exact = value > -0x1p53 && value < 0x1p53;
    const char *digits = copy + (copy[0] == '-');
    if (is_integer && !is_exact && strcmp(digits, "9007199254740992") != 0)
        return fail_at(s, start, ITG_BAD_FILE,
                       "integer beyond 2^53 is not exact as a double; write it as a string");
    return ITG_OK;
}

static itg_status scan_number(scanner *s)
{
    size_t start = s->at;
    bool is_integer = true;
    if (peek(s) == '-') s->at++;
    if (peek(s) == '0') {
        s->at++;
        if (is_digit(peek(s))) return refuse(s, "number with a leading zero");
    } else if (skip_digits(s) == 0) {
        return refuse(s, "expected a digit");
    }
    if (peek(s) == '.') {
        is_integer = false;
        s->at++;
        if (skip_digits(s) == 0) return refuse(s, "expected a digit after the decimal point");
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        is_integer = false;
        s->at++;
        if (peek(s) == '+' || peek(s) == '-') s->at++;
        if (skip_digits(s) == 0) return refuse(s, "expected a digit in the exponent");
    }
    return check_number(s, start, is_integer);
}

static itg_status scan_word(scanner *s, const char *word)
{
    size_t length = strlen(word);
    if (s->bytes - s->at < length || memcmp(s->text + s->at, word, length) != 0)
        return refuse(s, "expected a value");
    s->at += length;
    return ITG_OK;
}

static itg_status scan_value(scanner *s);

/* Scans one "key": value. */
static itg_status scan_member(scanner *s)
{
    if (peek(s) != '"') return refuse(s, "expected a key in quotes");
    if (s->keys++ == s->wanted_key) s->wanted_at = s->at;
    itg_status status = scan_string(s);
    if (status != ITG_OK) return status;
    skip_blanks(s);
    if (peek(s) != ':') return refuse(s, "expected ':' after key");
    s->at++;
    return scan_value(s);
}

/* Starts at '[' or '{'. */
static itg_status scan_container(scanner *s, char close)
{
    if (s->depth == ITG_JSON_MAX_DEPTH)
        return fail_at(s, s->at, ITG_LIMIT, "nested deeper than 64 levels");
    s->depth++;
    s->at++;
    skip_blanks(s);
    bool is_empty = peek(s) == close;
    while (!is_empty) {
        itg_status status = close == '}' ? scan_member(s) : scan_value(s);
        if (status != ITG_OK) return status;
        if (peek(s) == close) break;
        if (peek(s) != ',')
            return refuse(s, close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
        s->at++;
        skip_blanks(s);
    }
    s->at++;
    s->depth--;
    return ITG_OK;
}

static itg_status scan_bare_value(scanner *s)
{
    int c = peek(s);
    switch (c) {
    case '{':
        return scan_container(s, '}');
    case '[':
        return scan_container(s, ']');
    case '"':
        return scan_string(s);
    case 't':
        return scan_word(s, "true");
    case 'f':
        return scan_word(s, "false");
    case 'n':
        return scan_word(s, "null");
    default:
        return c == '-' || is_digit(c) ? scan_number(s) : refuse(s, "expected a value");
    }
}

/* Scans a value and the blanks around it. */
static itg_status scan_value(scanner *s)
{
    skip_blanks(s);
    if (s->values++ == ITG_JSON_MAX_VALUES) return fail_at(s, s->at, ITG_LIMIT, "too many values");
    itg_status status = scan_bare_value(s);
    skip_blanks(s);
    return status;
}

itg_status itg_json_scan(const char *text, size_t bytes, const char *source, size_t *values,
                         itg_error *err)
{
    scanner s = {.text = (const unsigned char *)text,
                 .bytes = bytes,
                 .source = source,
                 .err = err,
                 .wanted_key = SIZE_MAX};
    itg_status status = scan_value(&s);
    if (status != ITG_OK) return status;
    if (s.at < bytes) return refuse(&s, "expected the end of the text");
    *values = s.values;
    return ITG_OK;
}

itg_status itg_json_fail_at_key(const char *text, size_t bytes, const char *source, size_t rank,
                                itg_error *err, const char *message)
{
    scanner s = {
        .text = (const unsigned char *)text, .bytes = bytes, .source = source, .wanted_key = rank};
    (void)scan_value(&s);
    s.err = err;
    return fail_at(&s, s.wanted_at, ITG_BAD_FILE, message);
}
