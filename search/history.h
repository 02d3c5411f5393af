/* The outcomes that a searcher was told, and quality as a function of loss that follows from them.
 */
#ifndef ITG_HISTORY_H
#define ITG_HISTORY_H
#include "search/point_map.h"
#include "search/searcher.h"

/* Levels and outcomes, in the order of the tells; itg_history_of, then itg_point_map_*. */
typedef itg_point_map itg_history;

static inline itg_history itg_history_of(int32_t dim_count)
{
    return (itg_history){.dim_count = dim_count, .record_size = sizeof(itg_outcome)};
}
/* Of a point that is told again the first outcome is found, unless its quality was not told (NAN).
 */
itg_status itg_history_add(itg_history *history, const int32_t *levels, const itg_outcome *outcome);
/* Whether a point was told with its quality, or that it cannot be run. */
bool itg_history_tells(const itg_history *history, const int32_t *levels);
const itg_outcome *itg_history_at(const itg_history *history, int64_t index);
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
