/* Points that were evaluated, for searchers that come back to one. */
#ifndef ITG_MEMORY_H
#define ITG_MEMORY_H
#include <intaglio/intaglio.h>
#include "search/point_map.h"

/* What is known of a point. */
typedef struct itg_finding {
    bool feasible;
    itg_score score; /* itg_score_unknown() where not feasible */
    char *why;       /* not feasible: malloc'd by whoever holds the finding; may be NULL */
} itg_finding;

typedef itg_point_map itg_memory;
static inline itg_memory itg_memory_of(int32_t dim_count)
{
    return (itg_memory){.dim_count = dim_count, .record_size = sizeof(itg_finding)};
}
void itg_memory_deinit(itg_memory *memory);
/* NULL: not seen. It stays where it is, and so does its `why`; itg_memory_keep may change its
 * score.
 */
const itg_finding *itg_memory_find(const itg_memory *memory, const int32_t *point);
/* Keeps copies of both. A known point stays as it is, unless its score was stopped earlier than
 * this one. */
itg_status itg_memory_keep(itg_memory *memory, const int32_t *point, const itg_finding *finding,
                           itg_error *err);
#endif
