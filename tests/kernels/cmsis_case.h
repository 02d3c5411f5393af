/* One published test case of CMSIS-NN: NAME.json with the integers of its header file, NAME.npz
 * with its arrays. */
#ifndef ITG_CMSIS_CASE_H
#define ITG_CMSIS_CASE_H
#include "base/json.h"

enum { CASE_ARRAYS = 64, CASE_NAME = 96 };

typedef struct case_array {
    char name[CASE_NAME];
    itg_dtype dtype; /* S8 U8 S16 S32 S64 F32 */
    int64_t count;
    void *data;
} case_array;

typedef struct cmsis_case {
    itg_json *json;
    int32_t array_count;
    case_array arrays[CASE_ARRAYS];
    /* What the names of keys and arrays begin with, of one layer of a network; NULL: nothing. */
    const char *key_prefix, *array_prefix;
} cmsis_case;

/* stem: path without ".json". Zeroed on failure; case_close frees. */
itg_status case_open(const char *stem, cmsis_case *out, itg_error *err);
void case_close(cmsis_case *c);
/* NULL: absent. */
const case_array *case_find(const cmsis_case *c, const char *name);
bool case_has(const cmsis_case *c, const char *key);
int64_t case_int(const cmsis_case *c, const char *key, int64_t otherwise);
const char *case_text(const cmsis_case *c, const char *key); /* "": absent or no string */
#endif
