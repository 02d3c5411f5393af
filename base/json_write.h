/* Writes JSON text with commas, keys and escapes. The text remembers a failed allocation
 * (itg_strbuf_ok). */
#ifndef ITG_JSON_WRITE_H
#define ITG_JSON_WRITE_H
#include "base/base.h"

typedef enum itg_json_style {
    ITG_JSON_INLINE, /* [1, 2] */
    ITG_JSON_TIGHT,  /* [1,2] */
    ITG_JSON_LINES   /* a line each, two blanks deeper than the container around it */
} itg_json_style;

#define ITG_JSON_WRITE_DEPTH 15
typedef struct itg_json_writer {
    itg_strbuf text;
    bool comma; /* a comma precedes the next member or element */
    int depth;
    itg_json_style styles[ITG_JSON_WRITE_DEPTH + 1]; /* of open containers, from 1 on */
} itg_json_writer; /* zero-initialize; itg_strbuf_deinit frees its text */

/* key NULL: an element of an array, or the root. bracket: '{' or '[', '}' or ']'. At most
 * ITG_JSON_WRITE_DEPTH containers may be open. */
void itg_json_begin(itg_json_writer *w, const char *key, char bracket);
void itg_json_begin_as(itg_json_writer *w, const char *key, char bracket, itg_json_style style);
void itg_json_end(itg_json_writer *w, char bracket);
/* Writes what precedes a value, which the caller then adds to the text. */
void itg_json_key(itg_json_writer *w, const char *key);

void itg_json_put_null(itg_json_writer *w, const char *key);
void itg_json_put_text(itg_json_writer *w, const char *key, const char *value); /* NULL: null */
void itg_json_put_bool(itg_json_writer *w, const char *key, bool value);
void itg_json_put_int(itg_json_writer *w, const char *key, int64_t value);
void itg_json_put_number(itg_json_writer *w, const char *key, double value); /* not finite: null */
/* Writes a string, because 64 bits do not fit a JSON number. */
void itg_json_put_seed(itg_json_writer *w, const char *key, uint64_t value);
/* Writes 32 bytes as 64 hexadecimal digits. */
void itg_json_put_hash(itg_json_writer *w, const char *key, const unsigned char hash[32]);
/* Writes an exact double: itg_hex_double as a string. */
void itg_json_put_hex(itg_json_writer *w, const char *key, double value);
/* Writes the formatted text, which must be JSON. */
void itg_json_put(itg_json_writer *w, const char *key, const char *format, ...) ITG_PRINTF(3, 4);

/* The fewest digits that read back as the same finite number; never in the form of an integer above
 * 2^53, which readers would round. Returns buffer, of at least 40 bytes. */
const char *itg_json_digits(double value, char *buffer);
#endif
