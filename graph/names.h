/* A table from names to numbers, by open addressing. The names are borrowed. */
#ifndef ITG_NAMES_H
#define ITG_NAMES_H

#include "base/base.h"

typedef struct itg_names {
    itg_arena *arena; /* owns the table; everything else starts at zero */
    const char **keys;
    int32_t *numbers;
    uint32_t count, capacity; /* capacity: a power of two, or 0 */
} itg_names;

int32_t itg_names_find(const itg_names *names, const char *key); /* -1: absent */
/* Numbers are >= 0. false: no memory. A key that is there gets the new number. */
bool itg_names_put(itg_names *names, const char *key, int32_t number);
/* Forgets all names; as many as were there can be put without memory. */
void itg_names_clear(itg_names *names);
/* `wanted` or, where that is taken, wanted_2, wanted_3...; in the arena. NULL: no memory. */
const char *itg_names_free(const itg_names *names, const char *wanted);
/* The same, and put with the number. */
const char *itg_names_unique(itg_names *names, const char *wanted, int32_t number);

#endif
