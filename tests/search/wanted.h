/* A goal in one literal: tests say what they want of it, and nothing else. */
#ifndef ITG_TESTS_WANTED_H
#define ITG_TESTS_WANTED_H
#include <intaglio/intaglio.h>
#include <math.h>

typedef struct aim {
    bool sqnr, maximize_quality; /* else minimize */
    itg_metric minimize;         /* zero: weight_bytes */
    double max_drop;             /* of accuracy; below zero: none */
    double min_sqnr_db;          /* 0: none */
    double limits[5];            /* of costs, by itg_metric; 0: none */
} aim;

static inline itg_goal goal_of(aim w)
{
    itg_goal goal = {.objective_count = 1};
    itg_metric quality = w.sqnr ? ITG_METRIC_SQNR : ITG_METRIC_ACCURACY;
    goal.objectives[0] = w.maximize_quality ? quality : w.minimize;
    if (w.sqnr && !w.maximize_quality && !(w.min_sqnr_db > 0) && !(w.max_drop >= 0))
        (void)itg_goal_constrain(&goal, quality, -(double)INFINITY, false);
    if (!(w.max_drop < 0)) (void)itg_goal_constrain(&goal, quality, w.max_drop, true);
    if (w.min_sqnr_db < 0 || w.min_sqnr_db > 0 || isnan(w.min_sqnr_db))
        (void)itg_goal_constrain(&goal, ITG_METRIC_SQNR, w.min_sqnr_db, false);
    for (int k = 0; k < 5; k++)
        if (!(w.limits[k] >= 0 && w.limits[k] <= 0))
            (void)itg_goal_constrain(&goal, (itg_metric)k, w.limits[k], false);
    return goal;
}

static inline void limit(itg_goal *goal, itg_metric cost, double most)
{
    (void)itg_goal_constrain(goal, cost, most, false);
}

static inline void drop(itg_goal *goal, double most)
{
    if (most < 0)
        itg_goal_release(goal, ITG_METRIC_ACCURACY);
    else
        (void)itg_goal_constrain(goal, ITG_METRIC_ACCURACY, most, true);
}
#endif
