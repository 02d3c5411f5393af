/* Points with a record each, in the order of their addition, found again by hash. */
#ifndef ITG_POINT_MAP_H
#define ITG_POINT_MAP_H
#include "base/base.h"

typedef struct itg_point_map {
    int32_t dim_count;
    size_t record_size; /* a multiple of 8 */
    int64_t count;
    void **entries;    /* [count]: the record, then the point */
    int64_t *slots;    /* 1 + index of an entry, 0: empty; open addressing */
    size_t slot_count; /* 0, or a power of two and at least twice count */
} itg_point_map;       /* zero-initialize, and set the first two */

void itg_point_map_deinit(itg_point_map *map);
/* Adds copies of both. If a point is added again, it is found as it was added first. Entries do not
 * move. ITG_NO_MEMORY: nothing was added. */
itg_status itg_point_map_add(itg_point_map *map, const int32_t *point, const void *record);
int64_t itg_point_map_find(const itg_point_map *map, const int32_t *point); /* -1: not there */
const int32_t *itg_point_map_point(const itg_point_map *map, int64_t index);
void *itg_point_map_record(const itg_point_map *map, int64_t index);
#endif
