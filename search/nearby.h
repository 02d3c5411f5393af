/* Which nodes a width is near to, and sets of widths that are near to no node in common. */
#ifndef ITG_NEARBY_H
#define ITG_NEARBY_H
#include "search/point_space.h"

typedef struct itg_nearby {
    itg_arena *arena;
    int32_t node_count, dim_count;
    int32_t *first; /* [dim_count + 1] */
    int32_t *nodes; /* first[d] to first[d + 1] - 1: the nodes that compute or read the values of
                       the dimension's group, and those that compute what these read or read what
                       these compute; each once. None, if the dimension is not a width */
    int32_t group_count;
    int32_t *group_first; /* [group_count + 1] */
    int32_t *dims;        /* group_first[k] to group_first[k + 1] - 1: widths that share no node */
} itg_nearby;

itg_status itg_nearby_create(const itg_point_space *points, itg_nearby **out, itg_error *err);
void itg_nearby_destroy(itg_nearby *nearby);
#endif
