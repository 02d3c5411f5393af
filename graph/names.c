#include "names.h"
#include <string.h>

/* FNV-1a */
static uint32_t hash_of(const char *key)
{
    uint32_t hash = 2166136261u;
    for (; *key != '\0'; key++)
        hash = (hash ^ (unsigned char)*key) * 16777619u;
    return hash;
}

/* Returns the place of a key, or the empty place where it belongs. */
static uint32_t place_of(const itg_names *names, const char *key)
{
    uint32_t i = hash_of(key) & (names->capacity - 1);
    while (names->keys[i] != NULL && strcmp(names->keys[i], key) != 0)
        i = (i + 1) & (names->capacity - 1);
    return i;
}

static bool grow(itg_names *names)
{
    itg_names larger = {names->arena, NULL, NULL, names->count,
                        names->capacity == 0 ? 64 : names->capacity * 2};
    larger.keys = itg_arena_array(names->arena, larger.capacity, sizeof *larger.keys);
    larger.numbers = itg_arena_array(names->arena, larger.capacity, sizeof *larger.numbers);
    if (larger.keys == NULL || larger.numbers == NULL) return false;
    for (uint32_t i = 0; i < names->capacity; i++) {
        if (names->keys[i] == NULL) continue;
        uint32_t at = place_of(&larger, names->keys[i]);
        larger.keys[at] = names->keys[i];
        larger.numbers[at] = names->numbers[i];
    }
    *names = larger;
    return true;
}

int32_t itg_names_find(const itg_names *names, const char *key)
{
    if (names->capacity == 0) return -1;
    uint32_t at = place_of(names, key);
    return names->keys[at] == NULL ? -1 : names->numbers[at];
}

bool itg_names_put(itg_names *names, const char *key, int32_t number)
{
    if (names->count * 2 >= names->capacity && !grow(names)) return false;
    uint32_t at = place_of(names, key);
    if (names->keys[at] == NULL) names->count++;
    names->keys[at] = key;
    names->numbers[at] = number;
    return true;
}

void itg_names_clear(itg_names *names)
{
    if (names->capacity > 0) memset(names->keys, 0, names->capacity * sizeof *names->keys);
    names->count = 0;
}

const char *itg_names_free(const itg_names *names, const char *wanted)
{
    const char *name = itg_arena_strdup(names->arena, wanted);
    for (int i = 2; name != NULL && itg_names_find(names, name) >= 0; i++)
        name = itg_arena_format(names->arena, "%s_%d", wanted, i);
    return name;
}

const char *itg_names_unique(itg_names *names, const char *wanted, int32_t number)
{
    const char *name = itg_names_free(names, wanted);
    return name != NULL && itg_names_put(names, name, number) ? name : NULL;
}
