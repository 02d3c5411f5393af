/* Fronts of a log's trials, and their hypervolume (intaglio.h). */
#include "search/objective.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void itg_goal_set_front(itg_goal *goal, const itg_metric *costs, int32_t count)
{
    const itg_metric quality = itg_goal_quality_metric(goal);
    count = count < ITG_MOST_OBJECTIVES ? count : ITG_MOST_OBJECTIVES - 1;
    memcpy(goal->objectives, costs, sizeof *costs * (size_t)count);
    goal->objectives[count] = quality;
    goal->objective_count = count + 1;
}

/* ---- the trials ---- */

static int by_cost(const void *a, const void *b)
{
    const itg_archive_entry *x = a, *y = b;
    if (x->objectives[0] < y->objectives[0] || x->objectives[0] > y->objectives[0])
        return x->objectives[0] < y->objectives[0] ? -1 : 1;
    return (x->trial.index > y->trial.index) - (x->trial.index < y->trial.index);
}

static itg_status collect(const itg_objective *o, const itg_trial *trials, int64_t count,
                          itg_archive *front, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int64_t i = 0; i < count && status == ITG_OK; i++) {
        double values[ITG_MOST_OBJECTIVES];
        bool known = trials[i].feasible;
        if (!known || !itg_objective_suits_front(o, &trials[i])) continue;
        itg_objective_values(o, &trials[i].score, values);
        for (int32_t k = 0; k < front->objective_count; k++)
            known = known && !isnan(values[k]);
        itg_trial numbered = trials[i];
        numbered.index = i;
        if (known) status = itg_archive_add(front, values, &numbered, err);
    }
    return status;
}

itg_status itg_trials_front(const itg_goal *goal, const itg_trial *trials, int64_t count,
                            int64_t **out, int32_t *front_count, itg_error *err)
{
    const itg_objective o = {.goal = *goal, .quality_floor = -INFINITY};
    itg_archive front = {.objective_count = goal->objective_count};
    if (!itg_goal_has_quality_front(goal))
        return itg_fail(err, ITG_BAD_ARGUMENT, "a front is of costs and one quality");
    itg_status status = collect(&o, trials, count, &front, err);
    int64_t *places = malloc(sizeof *places * ((size_t)front.count + 1));
    if (status == ITG_OK && !places)
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for the front");
    if (status == ITG_OK && front.count > 0)
        qsort(front.entries, (size_t)front.count, sizeof *front.entries, by_cost);
    for (int32_t i = 0; status == ITG_OK && i < front.count; i++)
        places[i] = front.entries[i].trial.index;
    *front_count = front.count;
    itg_archive_deinit(&front);
    if (status == ITG_OK)
        *out = places;
    else
        free(places);
    return status;
}

/* ---- hypervolume ---- */

typedef double corner[ITG_MOST_OBJECTIVES];

static int compare_at(const double *a, const double *b, int32_t axis)
{
    return (a[axis] > b[axis]) - (a[axis] < b[axis]);
}

static void sort_by(corner *points, int32_t count, int32_t axis)
{
    for (int32_t i = 1; i < count; i++) {
        corner moved;
        int32_t k = i;
        memcpy(moved, points[i], sizeof moved);
        for (; k > 0 && compare_at(points[k - 1], moved, axis) > 0; k--)
            memcpy(points[k], points[k - 1], sizeof moved);
        memcpy(points[k], moved, sizeof moved);
    }
}

/* The share of the unit cube that the points dominate, summed over slices along the last axis.
 * Sorts points; scratch: [dims * count]. */
static double volume(corner *points, int32_t count, int32_t dims, corner *scratch)
{
    double sum = 0;
    if (count > 0) sort_by(points, count, dims - 1);
    if (dims == 1) return count > 0 ? 1 - points[0][0] : 0;
    for (int32_t i = 0; i < count; i++) {
        double from = points[i][dims - 1], to = i + 1 < count ? points[i + 1][dims - 1] : 1;
        if (to <= from) continue;
        memcpy(scratch, points, sizeof *points * ((size_t)i + 1));
        sum += (to - from) * volume(scratch, i + 1, dims - 1, scratch + count);
    }
    return sum;
}

#define MOST_DROP 0.1 /* of shares: ten points */
#define MOST_COST 1.1 /* of what uniform 8 bits cost */

/* Maps each objective to [0, 1]: 0 is ideal (no cost, the float network's quality, an SQNR of 60
 * dB), 1 is the reference point. */
static bool normalize(const itg_goal *goal, const itg_score *score, const itg_score *floats,
                      const itg_score *uniform8, double *out)
{
    const bool sqnr = itg_goal_quality_metric(goal) == ITG_METRIC_SQNR;
    const double best = sqnr ? 0.6 : itg_goal_quality(goal, floats), span = sqnr ? 0.6 : MOST_DROP;
    bool known = true;
    for (int32_t i = 0; i < goal->objective_count; i++) {
        const itg_metric m = goal->objectives[i];
        double share = itg_metric_is_cost(m) ? score->value[m] / (MOST_COST * uniform8->value[m])
                                             : (best - itg_goal_quality(goal, score)) / span;
        known = known && share == share;
        out[i] = share < 0 ? 0 : share > 1 ? 1 : share;
    }
    return known;
}

double itg_front_hypervolume(const itg_goal *goal, const itg_trial *trials, const int64_t *front,
                             int32_t count, const itg_score *floats, const itg_score *uniform8)
{
    const int32_t dims = goal->objective_count;
    const itg_metric_info about = itg_goal_about(goal, itg_goal_quality_metric(goal));
    if (about.unit != ITG_UNIT_SHARE && about.unit != ITG_UNIT_DECIBELS) return NAN;
    corner *points = calloc((size_t)(1 + dims) * ((size_t)count + 1), sizeof *points);
    bool known = points != NULL;
    for (int32_t i = 0; i < count && known; i++)
        known = normalize(goal, &trials[front[i]].score, floats, uniform8, points[i]);
    double found = known ? volume(points, count, dims, points + count) : (double)NAN;
    free(points);
    return found;
}
