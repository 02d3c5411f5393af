/* Names to numbers: an open-addressing table over strings that outlive it. Private to realize/. */
#ifndef ITG_REALIZE_NAMES_H
#define ITG_REALIZE_NAMES_H
#include "base/base.h"

typedef struct itg_names {
    itg_arena *arena;
    const char **keys;
    int32_t *numbers;
    uint32_t count, capacity; /* capacity: a power of two, or 0 */
} itg_names;                  /* zero-initialize but for the arena, which owns everything */

int32_t itg_names_find(const itg_names *names, const char *key); /* -1: absent */
/* Numbers are >= 0. false: no memory. A key that is there gets the new number. */
bool itg_names_put(itg_names *names, const char *key, int32_t number);
/* `wanted` or, where that is taken, wanted_2, wanted_3...; put with the number. NULL: no memory. */
const char *itg_names_unique(itg_names *names, const char *wanted, int32_t number);
#endif
