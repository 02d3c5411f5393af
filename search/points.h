/* What searchers share about points and outcomes. */
#ifndef ITG_POINTS_H
#define ITG_POINTS_H
#include "search/searcher.h"

/* The point where searchers begin: every width at its largest, every method the first of its list.
 */
void itg_point_widest(const itg_search_space *space, int32_t *levels);
/* The level of a value; -1: the dimension does not have the value. */
int32_t itg_dim_level(const itg_dim *dim, int32_t value);
/* Good as searcher.h defines it. */
bool itg_outcome_is_good(const itg_outcome *outcome, const itg_searcher_options *options);
/* Whether a cost limit and all other limits are met; always so where a cost is minimized and no
 * other limit is given. */
bool itg_outcome_is_within(const itg_outcome *outcome, const itg_searcher_options *options);
#endif
