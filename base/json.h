/* Strict JSON on cJSON. cJSON accepts duplicate keys, trailing garbage, 1e999, `[01]`; this does
 * not: the text is checked before (RFC 8259 grammar, UTF-8, depth <= 64, no duplicate keys, numbers
 * finite as doubles) and values when read. */
#ifndef ITG_JSON_H
#define ITG_JSON_H
#include "base.h"

typedef struct itg_json itg_json;             /* a parsed document; owns all its nodes */
typedef struct itg_json_value itg_json_value; /* a node, borrowed from its document */

/* source names the text in errors ("cortex-m.json"): "cortex-m.json: line 3, column 7: expected ':'
 * after key". */
itg_status itg_json_parse(const char *text, size_t bytes, const char *source, itg_json **out,
                          itg_error *err);
itg_status itg_json_read(const char *path, size_t max_bytes, itg_json **out, itg_error *err);
void itg_json_destroy(itg_json *json);
const itg_json_value *itg_json_root(const itg_json *json);

typedef enum itg_json_type {
    ITG_JSON_NULL,
    ITG_JSON_BOOL,
    ITG_JSON_NUMBER,
    ITG_JSON_STRING,
    ITG_JSON_ARRAY,
    ITG_JSON_OBJECT
} itg_json_type;
itg_json_type itg_json_typeof(const itg_json_value *value);
size_t itg_json_length(const itg_json_value *value); /* array or object; else 0 */
const itg_json_value *itg_json_at(const itg_json_value *array,
                                  size_t index); /* element, or member by position */
const char *itg_json_key_at(const itg_json_value *object, size_t index);
const itg_json_value *itg_json_find(const itg_json_value *object,
                                    const char *key); /* NULL: absent */
/* "operators.Conv[0].accumulator": the place of a node, for errors. Returns buffer. */
const char *itg_json_path(const itg_json *json, const itg_json_value *value, char *buffer,
                          size_t size);

/* Typed reads of a value; the error names source, path and what was expected. Integers must be
 * integral and within [min,max] and |x| <= 2^53. */
itg_status itg_json_get_int(const itg_json *json, const itg_json_value *v, int64_t min, int64_t max,
                            int64_t *out, itg_error *err);
itg_status itg_json_get_number(const itg_json *json, const itg_json_value *v, double *out,
                               itg_error *err);
itg_status itg_json_get_bool(const itg_json *json, const itg_json_value *v, bool *out,
                             itg_error *err);
itg_status itg_json_get_string(const itg_json *json, const itg_json_value *v, const char **out,
                               itg_error *err);
/* The member `key` of object, which must be there and of this type. */
itg_status itg_json_need(const itg_json *json, const itg_json_value *object, const char *key,
                         itg_json_type type, const itg_json_value **out, itg_error *err);
/* Fails on a member whose key is not in the NULL-terminated list: "unknown key 'x'; expected one of
 * ...". */
itg_status itg_json_allow_keys(const itg_json *json, const itg_json_value *object,
                               const char *const *keys, itg_error *err);
/* A failure at this value: "source: path: message". */
itg_status itg_json_fail(const itg_json *json, const itg_json_value *v, itg_error *err,
                         itg_status code, const char *format, ...) ITG_PRINTF(5, 6);

const char *itg_json_source(const itg_json *json); /* as given to itg_json_parse */
/* The value as compact JSON text. Numbers print shortest-round-trip; integers up to 2^53 exactly.
 */
void itg_json_print(const itg_json_value *value, itg_strbuf *out);

/* Hex floats as JSON strings ("0x1.8p+1"): exact, locale-free, without libm. Buffer of at least 40
 * bytes. */
const char *itg_hex_double(double value, char *buffer);
bool itg_parse_hex_double(const char *text, double *out); /* also plain decimals, "inf", "-inf" */
#endif
