/* A hash table from names to numbers with open addressing. It borrows the names. */
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
/* Adds a key, or gives it a new number. number >= 0. false: no memory. */
bool itg_names_put(itg_names *names, const char *key, int32_t number);
/* Removes all names and keeps the capacity. */
void itg_names_clear(itg_names *names);
/* wanted, or wanted_2, wanted_3... if it is taken; in the arena. NULL: no memory. */
const char *itg_names_free(const itg_names *names, const char *wanted);
/* The same, and adds it with the number. */
const char *itg_names_unique(itg_names *names, const char *wanted, int32_t number);

#endif
