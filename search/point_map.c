#include "search/point_map.h"
#include <stdlib.h>
#include <string.h>

static size_t point_bytes(const itg_point_map *map)
{
    return sizeof(int32_t) * (size_t)map->dim_count;
}

static size_t hash_point(const int32_t *point, int32_t count)
{
    uint64_t h = 1469598103934665603u;
    for (int32_t i = 0; i < count; i++)
        h = (h ^ (uint64_t)(uint32_t)point[i]) * 1099511628211u;
    return (size_t)(h ^ (h >> 32));
}

/* The point's slot, or the empty one where it belongs. */
static int64_t *slot_of(const itg_point_map *map, const int32_t *point)
{
    for (size_t i = hash_point(point, map->dim_count);; i++) {
        int64_t *slot = &map->slots[i & (map->slot_count - 1)];
        if (*slot == 0 || memcmp(itg_point_map_point(map, *slot - 1), point, point_bytes(map)) == 0)
            return slot;
    }
}

static itg_status grow(itg_point_map *map)
{
    size_t slots = map->slot_count ? map->slot_count * 2 : 256;
    if ((size_t)map->count * 2 < map->slot_count) return ITG_OK;
    void **entries = realloc((void *)map->entries, slots / 2 * sizeof *entries);
    if (entries) map->entries = entries;
    int64_t *table = entries ? calloc(slots, sizeof *table) : NULL;
    if (!table) return ITG_NO_MEMORY;
    free(map->slots);
    map->slots = table;
    map->slot_count = slots;
    for (int64_t i = 0; i < map->count; i++) {
        int64_t *slot = slot_of(map, itg_point_map_point(map, i));
        if (*slot == 0) *slot = i + 1;
    }
    return ITG_OK;
}

void itg_point_map_deinit(itg_point_map *map)
{
    for (int64_t i = 0; i < map->count; i++)
        free(map->entries[i]);
    free((void *)map->entries);
    free(map->slots);
    *map = (itg_point_map){0};
}

itg_status itg_point_map_add(itg_point_map *map, const int32_t *point, const void *record)
{
    itg_status status = grow(map);
    char *entry = status == ITG_OK ? malloc(map->record_size + point_bytes(map)) : NULL;
    if (!entry) return ITG_NO_MEMORY;
    memcpy(entry, record, map->record_size);
    memcpy(entry + map->record_size, point, point_bytes(map));
    map->entries[map->count++] = entry;
    int64_t *slot = slot_of(map, point);
    if (*slot == 0) *slot = map->count;
    return ITG_OK;
}

int64_t itg_point_map_find(const itg_point_map *map, const int32_t *point)
{
    return map->slot_count ? *slot_of(map, point) - 1 : -1;
}

const int32_t *itg_point_map_point(const itg_point_map *map, int64_t index)
{
    return (const void *)((const char *)map->entries[index] + map->record_size);
}

void *itg_point_map_record(const itg_point_map *map, int64_t index)
{
    return map->entries[index];
}
