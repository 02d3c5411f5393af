#include "base/json_take.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void itg_json_refuse(itg_json_taker *t, const itg_json_value *v, itg_status code,
                     const char *format, ...)
{
    char message[400];
    va_list arguments;
    if (t->status != ITG_OK) return;
    va_start(arguments, format);
    if (vsnprintf(message, sizeof message, format, arguments) < 0) message[0] = '\0';
    va_end(arguments);
    t->status = itg_json_fail(t->json, v, t->err, code, "%s", message);
}

void itg_json_take_keys(itg_json_taker *t, const itg_json_value *object, const char *const *keys)
{
    if (t->status == ITG_OK) t->status = itg_json_allow_keys(t->json, object, keys, t->err);
}

/* ---- values ---- */

const char *itg_json_text_of(itg_json_taker *t, const itg_json_value *v)
{
    const char *text = NULL;
    if (t->status == ITG_OK) t->status = itg_json_get_string(t->json, v, &text, t->err);
    return text;
}

int64_t itg_json_int_of(itg_json_taker *t, const itg_json_value *v, int64_t min, int64_t max)
{
    int64_t value = 0;
    if (t->status == ITG_OK) t->status = itg_json_get_int(t->json, v, min, max, &value, t->err);
    return value;
}

double itg_json_number_of(itg_json_taker *t, const itg_json_value *v)
{
    double value = 0;
    if (t->status == ITG_OK) t->status = itg_json_get_number(t->json, v, &value, t->err);
    return value;
}

bool itg_json_bool_of(itg_json_taker *t, const itg_json_value *v)
{
    bool value = false;
    if (t->status == ITG_OK) t->status = itg_json_get_bool(t->json, v, &value, t->err);
    return value;
}

uint64_t itg_json_seed_of(itg_json_taker *t, const itg_json_value *v)
{
    char canonical[24];
    const char *text = itg_json_text_of(t, v);
    if (!text) return 0;
    uint64_t value = strtoull(text, NULL, 10);
    snprintf(canonical, sizeof canonical, "%" PRIu64, value);
    if (strcmp(canonical, text) == 0) return value;
    itg_json_refuse(t, v, ITG_BAD_FILE,
                    "expected a decimal number below 2^64 in a string, at most "
                    "18446744073709551615");
    return 0;
}

/* ---- members ---- */

const itg_json_value *itg_json_take(itg_json_taker *t, const itg_json_value *object,
                                    const char *key, itg_json_type type)
{
    const itg_json_value *v = NULL;
    if (t->status == ITG_OK) t->status = itg_json_need(t->json, object, key, type, &v, t->err);
    return v;
}

const char *itg_json_take_text(itg_json_taker *t, const itg_json_value *object, const char *key)
{
    return itg_json_text_of(t, itg_json_take(t, object, key, ITG_JSON_STRING));
}

const char *itg_json_take_optional(itg_json_taker *t, const itg_json_value *object, const char *key)
{
    const itg_json_value *v = t->status == ITG_OK ? itg_json_find(object, key) : NULL;
    return v && itg_json_typeof(v) != ITG_JSON_NULL ? itg_json_text_of(t, v) : NULL;
}

int64_t itg_json_take_int(itg_json_taker *t, const itg_json_value *object, const char *key,
                          int64_t min, int64_t max)
{
    return itg_json_int_of(t, itg_json_take(t, object, key, ITG_JSON_NUMBER), min, max);
}

bool itg_json_take_bool(itg_json_taker *t, const itg_json_value *object, const char *key)
{
    return itg_json_bool_of(t, itg_json_take(t, object, key, ITG_JSON_BOOL));
}

void itg_json_take_hash(itg_json_taker *t, const itg_json_value *object, const char *key,
                        unsigned char out[32])
{
    unsigned char hash[32];
    const itg_json_value *v = itg_json_take(t, object, key, ITG_JSON_STRING);
    const char *text = itg_json_text_of(t, v);
    if (!text) return;
    if (itg_sha256_parse(text, hash))
        memcpy(out, hash, sizeof hash);
    else
        itg_json_refuse(t, v, ITG_BAD_FILE, "expected 64 lower-case hexadecimal digits");
}

uint64_t itg_json_take_seed(itg_json_taker *t, const itg_json_value *object, const char *key)
{
    return itg_json_seed_of(t, itg_json_take(t, object, key, ITG_JSON_STRING));
}
