#include "cli/json_out.h"
#include "cli/options.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(itg_cli_json *json, const char *text, size_t bytes)
{
    if (json->failed) return;
    if (json->capacity - json->length <= bytes) {
        size_t capacity = (json->length + bytes + 256) * 2;
        char *grown = realloc(json->text, capacity);
        if (!grown) {
            json->failed = true;
            return;
        }
        json->text = grown;
        json->capacity = capacity;
    }
    memcpy(json->text + json->length, text, bytes);
    json->length += bytes;
    json->text[json->length] = '\0';
}

static void add_text(itg_cli_json *json, const char *text)
{
    add(json, text, strlen(text));
}

/* Bytes of the well-formed UTF-8 character at text; 0: none. */
static size_t utf8_length(const unsigned char *text)
{
    unsigned char c = text[0];
    size_t length = c < 0x80                 ? 1
                    : c >= 0xC2 && c <= 0xDF ? 2
                    : c >= 0xE0 && c <= 0xEF ? 3
                    : c >= 0xF0 && c <= 0xF4 ? 4
                                             : 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80) return 0; /* the terminator too */
    if ((c == 0xE0 && text[1] < 0xA0) || (c == 0xED && text[1] > 0x9F) ||
        (c == 0xF0 && text[1] < 0x90) || (c == 0xF4 && text[1] > 0x8F))
        return 0;
    return length;
}

/* What is not UTF-8 (a file's name may be anything) becomes U+FFFD. */
static void add_string(itg_cli_json *json, const char *text)
{
    char escape[8];
    add_text(json, "\"");
    while (*text) {
        unsigned char c = (unsigned char)*text;
        size_t length = utf8_length((const unsigned char *)text);
        if (length == 0) {
            add_text(json, "\xEF\xBF\xBD");
        } else if (c == '"' || c == '\\') {
            snprintf(escape, sizeof escape, "\\%c", c);
            add_text(json, escape);
        } else if (c < 0x20 || c == 0x7F) {
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)c);
            add_text(json, escape);
        } else {
            add(json, text, length);
        }
        text += length ? length : 1;
    }
    add_text(json, "\"");
}

static void add_key(itg_cli_json *json, const char *key)
{
    if (json->needs_comma) add_text(json, ", ");
    json->needs_comma = true;
    if (!key) return;
    add_string(json, key);
    add_text(json, ": ");
}

void itg_cli_json_begin(itg_cli_json *json, const char *key, char bracket)
{
    add_key(json, key);
    add(json, &bracket, 1);
    json->needs_comma = false;
}

void itg_cli_json_end(itg_cli_json *json, char bracket)
{
    add(json, &bracket, 1);
    json->needs_comma = true;
}

void itg_cli_json_text(itg_cli_json *json, const char *key, const char *value)
{
    add_key(json, key);
    if (value)
        add_string(json, value);
    else
        add_text(json, "null");
}

void itg_cli_json_null(itg_cli_json *json, const char *key)
{
    itg_cli_json_text(json, key, NULL);
}

void itg_cli_json_bool(itg_cli_json *json, const char *key, bool value)
{
    add_key(json, key);
    add_text(json, value ? "true" : "false");
}

void itg_cli_json_integer(itg_cli_json *json, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    add_key(json, key);
    add_text(json, text);
}

void itg_cli_json_unsigned(itg_cli_json *json, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    add_key(json, key);
    add_text(json, text);
}

/* The fewest digits that read back as the same number. */
void itg_cli_json_number(itg_cli_json *json, const char *key, double value)
{
    char text[40];
    if (!isfinite(value)) {
        itg_cli_json_null(json, key);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    add_key(json, key);
    add_text(json, text);
}

void itg_cli_json_known_integer(itg_cli_json *json, const char *key, int64_t value)
{
    if (value < 0)
        itg_cli_json_null(json, key);
    else
        itg_cli_json_integer(json, key, value);
}

void itg_cli_json_known_number(itg_cli_json *json, const char *key, double value)
{
    itg_cli_json_number(json, key, value < 0 ? (double)NAN : value);
}

int itg_cli_json_print(itg_cli_json *json)
{
    int status = json->failed ? itg_cli_fail("no memory for the JSON output") : ITG_CLI_OK;
    if (status == ITG_CLI_OK) {
        fwrite(json->text, 1, json->length, stdout);
        fputc('\n', stdout);
    }
    itg_cli_json_deinit(json);
    return status;
}

void itg_cli_json_deinit(itg_cli_json *json)
{
    free(json->text);
    *json = (itg_cli_json){0};
}
