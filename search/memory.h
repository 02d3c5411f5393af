/* Points that were evaluated, for searchers that come back to one. */
#ifndef ITG_MEMORY_H
#define ITG_MEMORY_H
#include <intaglio/intaglio.h>
#include "base/base.h"

/* What is known of a point. */
typedef struct itg_finding {
    bool feasible;
    itg_score score; /* itg_score_unknown() where not feasible */
    char *why;       /* not feasible: malloc'd by whoever holds the finding; may be NULL */
} itg_finding;

typedef struct itg_memory itg_memory;
itg_status itg_memory_create(int32_t dim_count, itg_memory **out, itg_error *err);
void itg_memory_destroy(itg_memory *memory);
/* NULL: not seen. Valid until the next itg_memory_keep. */
const itg_finding *itg_memory_find(const itg_memory *memory, const int32_t *point);
/* The memory's own copy of a point that was kept; stays where it is. So does a finding's `why`. */
const int32_t *itg_memory_point(const itg_memory *memory, const int32_t *point);
/* Copies both; a point that is known already stays as it is, unless its score was stopped earlier.
 */
itg_status itg_memory_keep(itg_memory *memory, const int32_t *point, const itg_finding *finding,
                           itg_error *err);
#endif
