/* The strict check of a JSON text, before cJSON reads it: RFC 8259 grammar, UTF-8, limits. Private
 * to base/json*.c. */
#ifndef ITG_JSON_SCAN_H
#define ITG_JSON_SCAN_H
#include "base/base.h"

enum {
    ITG_JSON_MAX_DEPTH = 64,
    ITG_JSON_MAX_NUMBER = 63, /* characters: cJSON reads no more of a number */
    ITG_JSON_MAX_VALUES =
        1 << 22, /* bounds the tree, which takes about 60 times the shortest text */
};

/* Checks the text and counts its values. Errors name source, line and column (in characters, from
 * 1). */
itg_status itg_json_scan(const char *text, size_t bytes, const char *source, size_t *values,
                         itg_error *err);
/* A failure at the rank-th key (from 0, in the order of the text) of a text that passed
 * itg_json_scan. */
itg_status itg_json_fail_at_key(const char *text, size_t bytes, const char *source, size_t rank,
                                itg_error *err, const char *message);

#endif
