#include "search/objective.h"
#include "kernels/math.h"
#include <math.h>
#include <string.h>

/* Qualities are fractions of fewer than 2^31 samples: two that differ are further apart. */
#define FLOOR_SLACK 0x1p-40

const char *itg_quality_name(itg_quality_kind kind)
{
    return kind == ITG_QUALITY_SQNR ? "sqnr" : "classes";
}

/* In hundreds of dB: searchers weigh what quality falls short of, and a dB is to them what a point
 * of top-1 is. */
static double quality_of_sqnr(double db)
{
    if (isnan(db)) return -ITG_MOST_SQNR_DB / 100;
    return (db > ITG_MOST_SQNR_DB    ? ITG_MOST_SQNR_DB
            : db < -ITG_MOST_SQNR_DB ? -ITG_MOST_SQNR_DB
                                     : db) /
           100;
}

double itg_goal_quality(const itg_goal *goal, const itg_score *score)
{
    if (goal->quality == ITG_QUALITY_SQNR)
        return quality_of_sqnr(itg_score_get(score, ITG_METRIC_SQNR));
    double accuracy = itg_score_get(score, ITG_METRIC_ACCURACY);
    return isnan(accuracy) ? -2 : accuracy;
}

static double floor_of(const itg_goal *goal, const itg_score *floats)
{
    if (goal->quality == ITG_QUALITY_SQNR)
        return goal->min_sqnr_db > 0 ? goal->min_sqnr_db / 100 : -INFINITY;
    return goal->max_drop < 0 ? -INFINITY
                              : itg_goal_quality(goal, floats) - goal->max_drop - FLOOR_SLACK;
}

static itg_status check_floor(const itg_goal *goal, itg_error *err)
{
    bool sqnr = goal->quality == ITG_QUALITY_SQNR;
    if ((int)goal->quality < 0 || goal->quality >= ITG_QUALITY_KINDS)
        return itg_fail(err, ITG_BAD_ARGUMENT, "there is no quality of kind %d",
                        (int)goal->quality);
    if (isnan(goal->max_drop))
        return itg_fail(err, ITG_BAD_ARGUMENT, "the largest drop of quality is not a number");
    if (!(goal->min_sqnr_db >= 0 && goal->min_sqnr_db <= ITG_MOST_SQNR_DB))
        return itg_fail(err, ITG_BAD_ARGUMENT, "the least SQNR is not a number of dB from 0 to %g",
                        ITG_MOST_SQNR_DB);
    if (sqnr ? goal->max_drop >= 0 : goal->min_sqnr_db > 0)
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "a drop of quality is a floor of classes, and a least SQNR one of SQNR: "
                        "the goal has the other one");
    return ITG_OK;
}

itg_status itg_objective_make(const itg_goal *goal, const itg_score *floats,
                              const itg_search_space *space, itg_objective *out, itg_error *err)
{
    itg_status status = check_floor(goal, err);
    if (status != ITG_OK) return status;
    if (!goal->maximize_quality && ((int)goal->minimize < 0 || goal->minimize >= ITG_METRIC_COUNT ||
                                    !itg_metric_about(goal->minimize)->goal))
        return itg_fail(err, ITG_BAD_ARGUMENT, "there is no cost of kind %d", (int)goal->minimize);
    for (int k = 0; k < ITG_METRIC_COUNT; k++)
        if (!(goal->limits[k] >= 0) || isinf(goal->limits[k]))
            return itg_fail(err, ITG_BAD_ARGUMENT, "the limit of %s is not a positive number",
                            itg_metric_about((itg_metric)k)->words);
    *out = (itg_objective){.goal = *goal, .space = space};
    out->quality_floor = floor_of(goal, floats);
    return ITG_OK;
}

static double violation_of(const itg_goal *goal, const itg_score *score)
{
    double sum = 0;
    for (int k = 0; k < ITG_METRIC_COUNT; k++) {
        double limit = goal->limits[k], cost = score->value[k];
        if (limit > 0 && cost > limit) sum += (cost - limit) / limit;
    }
    return sum;
}

double itg_objective_violation(const itg_objective *objective, const itg_score *score)
{
    return violation_of(&objective->goal, score);
}

bool itg_goal_is_met(const itg_goal *goal, const itg_score *floats, const itg_score *score)
{
    return itg_goal_quality(goal, score) >= floor_of(goal, floats) &&
           violation_of(goal, score) <= 0;
}

double itg_objective_cost(const itg_objective *objective, const itg_score *score)
{
    const itg_goal *goal = &objective->goal;
    double largest = 0;
    if (!goal->maximize_quality) return score->value[goal->minimize];
    for (int k = 0; k < ITG_METRIC_COUNT; k++) {
        double share = goal->limits[k] > 0 ? score->value[k] / goal->limits[k] : 0;
        if (share > largest) largest = share;
    }
    return largest;
}

itg_searcher_options itg_objective_options(const itg_objective *objective, int64_t trials)
{
    bool maximize = objective->goal.maximize_quality;
    return (itg_searcher_options){maximize, objective->quality_floor, maximize ? 1 : 0, trials};
}

itg_outcome itg_objective_outcome(const itg_objective *objective, const itg_trial *trial)
{
    const itg_score *score = &trial->score;
    if (!trial->feasible) return (itg_outcome){.distortion = -1};
    return (itg_outcome){
        .feasible = true,
        .quality = itg_goal_quality(&objective->goal, score),
        .cost = itg_objective_cost(objective, score),
        .violation =
            objective->goal.maximize_quality ? 0 : itg_objective_violation(objective, score),
        .distortion = score->stopped_at > 0 || !itg_score_knows(score, ITG_METRIC_DISTORTION)
                          ? -1
                          : score->value[ITG_METRIC_DISTORTION]};
}

bool itg_objective_meets(const itg_objective *objective, const itg_trial *trial)
{
    return trial->index >= 0 && trial->feasible &&
           itg_goal_quality(&objective->goal, &trial->score) >= objective->quality_floor &&
           itg_objective_violation(objective, &trial->score) <= 0;
}

/* ---- the order ---- */

static int64_t total_bits(const itg_objective *objective, const itg_trial *t)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < t->dim_count; i++)
        if (objective->space->dims[i].ordered) sum += t->point[i];
    return sum;
}

static int smaller(double a, double b)
{
    return (a > b) - (a < b);
}

/* < 0: a stands before b. */
static int order(const itg_objective *objective, const itg_trial *a, const itg_trial *b)
{
    int cost = smaller(itg_objective_cost(objective, &a->score),
                       itg_objective_cost(objective, &b->score)),
        quality = smaller(itg_goal_quality(&objective->goal, &b->score),
                          itg_goal_quality(&objective->goal, &a->score));
    int first = objective->goal.maximize_quality ? quality : cost,
        second = objective->goal.maximize_quality ? cost : quality;
    if (first) return first;
    if (second) return second;
    int finer = smaller(a->score.value[ITG_METRIC_DISTORTION],
                        b->score.value[ITG_METRIC_DISTORTION]); /* 0 where one is NaN */
    if (finer) return finer;
    int64_t ta = total_bits(objective, a), tb = total_bits(objective, b);
    if (ta != tb) return ta < tb ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

bool itg_objective_better(const itg_objective *objective, const itg_trial *a, const itg_trial *b)
{
    if (a->index < 0 || !a->feasible) return false;
    if (b->index < 0 || !b->feasible) return true;
    bool meets = itg_objective_meets(objective, a);
    if (meets != itg_objective_meets(objective, b)) return meets;
    if (!meets) {
        int violation = smaller(itg_objective_violation(objective, &a->score),
                                itg_objective_violation(objective, &b->score));
        if (violation) return violation < 0;
        int quality = smaller(itg_goal_quality(&objective->goal, &b->score),
                              itg_goal_quality(&objective->goal, &a->score));
        if (quality) return quality < 0;
    }
    return order(objective, a, b) < 0;
}

/* ---- racing ---- */

/* The quality below which a point of these costs is not better than the best. */
static double floor_of_best(const itg_objective *objective, const itg_trial *best,
                            const itg_score *costs)
{
    if (best->index < 0 || !best->feasible) return -INFINITY;
    double quality = itg_goal_quality(&objective->goal, &best->score);
    double violation = itg_objective_violation(objective, costs);
    if (!itg_objective_meets(objective, best)) {
        int worse = smaller(violation, itg_objective_violation(objective, &best->score));
        return worse > 0 ? INFINITY : worse < 0 ? -INFINITY : quality;
    }
    if (violation > 0) return INFINITY;
    if (objective->goal.maximize_quality) return quality;
    int dearer =
        smaller(itg_objective_cost(objective, costs), itg_objective_cost(objective, &best->score));
    return dearer > 0 ? INFINITY : dearer < 0 ? objective->quality_floor : quality;
}

double itg_race_floor(const itg_race *race, const itg_score *costs)
{
    const itg_objective *o = race->objective;
    double floor = floor_of_best(o, race->best, costs);
    /* What is worse than the best may still meet the goal: no trial leaves that open. */
    if (o->quality_floor > -INFINITY && floor > o->quality_floor &&
        itg_objective_violation(o, costs) <= 0)
        floor = o->quality_floor;
    return race->floor < floor ? race->floor : floor;
}

/* The share grows with the count, and rounding keeps that order. */
int64_t itg_least_count(int64_t samples, double floor)
{
    int64_t below = -1, from = samples + 1;
    while (from - below > 1) {
        int64_t middle = below + (from - below) / 2;
        if ((double)middle / (double)samples >= floor)
            from = middle;
        else
            below = middle;
    }
    return from;
}

/* By more than what the logarithm behind a quality is wrong by. */
double itg_most_distortion(double floor)
{
    if (!(floor > -ITG_MOST_SQNR_DB / 100)) return INFINITY;
    if (floor > ITG_MOST_SQNR_DB / 100) return -1;
    return itg_exp(-floor * 10 * 2.302585092994046) * (1 + 1e-9);
}

bool itg_race_accepts(const itg_race *race, const itg_score *score)
{
    return score->stopped_at == 0 ||
           itg_goal_quality(&race->objective->goal, score) < itg_race_floor(race, score);
}

bool itg_objective_gains(const itg_objective *objective, const itg_trial *a, const itg_trial *b,
                         double tolerance)
{
    if (!itg_objective_meets(objective, b)) return true;
    if (objective->goal.maximize_quality) {
        double before = itg_goal_quality(&objective->goal, &b->score);
        return itg_goal_quality(&objective->goal, &a->score) - before >= tolerance * before;
    }
    double before = itg_objective_cost(objective, &b->score);
    return before - itg_objective_cost(objective, &a->score) >= tolerance * before;
}
