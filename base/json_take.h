/* Reads a document value by value. The first failure stays in `status`; later reads return nothing
 * (NULL, 0, false) and leave *out unchanged. Values may then be NULL. */
#ifndef ITG_JSON_TAKE_H
#define ITG_JSON_TAKE_H
#include "base/json.h"

typedef struct itg_json_taker {
    const itg_json *json;
    itg_error *err;
    itg_status status;
} itg_json_taker;

/* Records the first failure, at v: "source: path: message". */
void itg_json_refuse(itg_json_taker *t, const itg_json_value *v, itg_status code,
                     const char *format, ...) ITG_PRINTF(4, 5);
/* As itg_json_allow_keys. */
void itg_json_take_keys(itg_json_taker *t, const itg_json_value *object, const char *const *keys);

/* Reads a required member of a type. */
const itg_json_value *itg_json_take(itg_json_taker *t, const itg_json_value *object,
                                    const char *key, itg_json_type type);
const char *itg_json_take_text(itg_json_taker *t, const itg_json_value *object, const char *key);
int64_t itg_json_take_int(itg_json_taker *t, const itg_json_value *object, const char *key,
                          int64_t min, int64_t max);
bool itg_json_take_bool(itg_json_taker *t, const itg_json_value *object, const char *key);
/* Reads 64 hexadecimal digits in lower case. */
void itg_json_take_hash(itg_json_taker *t, const itg_json_value *object, const char *key,
                        unsigned char out[32]);
uint64_t itg_json_take_seed(itg_json_taker *t, const itg_json_value *object, const char *key);
/* Reads a text. NULL: absent, or null. */
const char *itg_json_take_optional(itg_json_taker *t, const itg_json_value *object,
                                   const char *key);

/* Reads a value itself. */
const char *itg_json_text_of(itg_json_taker *t, const itg_json_value *v);
int64_t itg_json_int_of(itg_json_taker *t, const itg_json_value *v, int64_t min, int64_t max);
double itg_json_number_of(itg_json_taker *t, const itg_json_value *v);
/* Reads a decimal number below 2^64 in a string, without leading zeros or signs. */
uint64_t itg_json_seed_of(itg_json_taker *t, const itg_json_value *v);
bool itg_json_bool_of(itg_json_taker *t, const itg_json_value *v);
#endif
