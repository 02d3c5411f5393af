/* Where a search begins, if not at its searcher's own beginning. intaglio.h has what the calling
 * program sees (itg_search_start). */
#ifndef ITG_WARM_START_H
#define ITG_WARM_START_H
#include "base/json_write.h"
#include "search/objective.h"

#define ITG_WARM_START_KEY "start" /* of the options as text */

/* *out [dim_count], malloc'd. ITG_BAD_ARGUMENT: it is no point of this space. */
itg_status itg_warm_start_levels(const itg_search_start *start, const itg_search_space *space,
                                 int32_t **out, itg_error *err);
/* The earlier trials that can be compared (not stopped early, of a known quality), in order. *out
 * is one block that holds its points. Fails if a trial is no point of the space. */
itg_status itg_warm_start_past(const itg_search_past *past, const itg_objective *objective,
                               itg_told **out, int64_t *count, itg_error *err);
/* A member: the point, and the hash of what it came from; start NULL: null. */
void itg_warm_start_write(itg_json_writer *w, const itg_search_start *start);
#endif
