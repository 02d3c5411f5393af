/* What a searcher has been told, and what it says of quality as a function of loss. */
#ifndef ITG_HISTORY_H
#define ITG_HISTORY_H
#include "search/searcher.h"

typedef struct itg_history {
    int32_t dim_count;
    int64_t count, capacity;
    int32_t *levels; /* [count][dim_count] */
    itg_outcome *outcomes;
} itg_history; /* zero-initialize and set dim_count */

itg_status itg_history_add(itg_history *history, const int32_t *levels, const itg_outcome *outcome);
void itg_history_deinit(itg_history *history);
const itg_outcome *itg_history_find(const itg_history *history,
                                    const int32_t *levels); /* NULL: not told */
/* The largest distortion at which a point may be expected to reach the floor: where isotonic
 * regression of quality on distortion over all that was told (pool adjacent violators: Ayer et al.
 * 1955) stays above the floor by `margin` times the standard deviation of what it leaves
 * unexplained, and half of the way to the next point beyond (at most half as much again), where
 * nothing is known yet. So neither one lucky point nor one unlucky one decides. -1: nowhere;
 * INFINITY: nothing told fell below the floor. Points without a distortion, or below `hopeless`,
 * are left out.
 * *unexplained: that standard deviation. */
itg_status itg_history_distortion_cap(const itg_history *history, double floor, double hopeless,
                                      double margin, double *cap, double *unexplained);
#endif
