#include "search/objective.h"
#include "kernels/math.h"
#include <math.h>
#include <string.h>

enum { LEAST_SAMPLES = 16 }; /* whose distortion says something of all */

static double floor_of(const itg_goal *goal, const itg_score *floats)
{
    itg_metric metric = itg_goal_quality_metric(goal);
    const itg_constraint *c = itg_goal_constraint(goal, metric);
    if (!c || isinf(c->bound)) return -INFINITY;
    if (c->below_float) return itg_goal_quality(goal, floats) - c->bound - ITG_FLOOR_SLACK;
    return itg_goal_quality_of(goal, c->bound);
}

itg_status itg_objective_make(const itg_goal *goal, const itg_score *floats,
                              const itg_search_space *space, itg_objective *out, itg_error *err)
{
    itg_status status = itg_goal_check(goal, err);
    if (status != ITG_OK) return status;
    *out = (itg_objective){.goal = *goal, .samples = floats->samples, .space = space};
    out->quality_floor = floor_of(goal, floats);
    return ITG_OK;
}

double itg_goal_violation(const itg_goal *goal, const itg_score *score)
{
    double sum = 0;
    for (int k = 0; k < ITG_METRIC_COUNT; k++) { /* the order of sums is that of the metrics */
        double limit = itg_goal_limit(goal, (itg_metric)k), cost = score->value[k];
        if (limit > 0 && cost > limit) sum += (cost - limit) / limit;
    }
    return sum;
}

bool itg_goal_is_met(const itg_goal *goal, const itg_score *floats, const itg_score *score)
{
    return itg_goal_quality(goal, score) >= floor_of(goal, floats) &&
           itg_goal_violation(goal, score) <= 0;
}

double itg_objective_cost(const itg_objective *objective, const itg_score *score)
{
    const itg_goal *goal = &objective->goal;
    double largest = 0;
    if (!itg_goal_maximizes_quality(goal)) return score->value[itg_goal_objective(goal)];
    for (int k = 0; k < ITG_METRIC_COUNT; k++) {
        double limit = itg_goal_limit(goal, (itg_metric)k);
        double share = limit > 0 ? score->value[k] / limit : 0;
        if (share > largest) largest = share;
    }
    return largest;
}

/* For a score that stopped early only the costs are exact: its quality is a bound. */
int32_t itg_objective_values(const itg_objective *objective, const itg_score *score, double *out)
{
    const itg_goal *goal = &objective->goal;
    int32_t count = goal->objective_count > 0 ? goal->objective_count : 1;
    out[0] = score->value[ITG_METRIC_WEIGHT_BYTES];
    for (int32_t i = 0; i < goal->objective_count; i++)
        out[i] = itg_metric_is_cost(goal->objectives[i]) ? score->value[goal->objectives[i]]
                                                         : -itg_goal_quality(goal, score);
    return count;
}

itg_searcher_options itg_objective_options(const itg_objective *objective, int64_t trials)
{
    bool maximize = itg_goal_maximizes_quality(&objective->goal);
    return (itg_searcher_options){.maximize_quality = maximize,
                                  .front = itg_goal_has_quality_front(&objective->goal),
                                  .shares = objective->samples > LEAST_SAMPLES &&
                                            itg_goal_counts_classes(&objective->goal),
                                  .quality_floor = objective->quality_floor,
                                  .cost_limit = maximize ? 1 : 0,
                                  .trials = trials};
}

itg_outcome itg_objective_outcome(const itg_objective *objective, const itg_trial *trial)
{
    const itg_score *score = &trial->score;
    if (!trial->feasible) return (itg_outcome){.distortion = -1};
    itg_outcome outcome = {.feasible = true,
                           .quality = itg_goal_quality(&objective->goal, score),
                           .cost = itg_objective_cost(objective, score),
                           .violation = itg_goal_maximizes_quality(&objective->goal)
                                            ? 0
                                            : itg_goal_violation(&objective->goal, score),
                           .distortion = score->stopped_at > 0 ||
                                                 !itg_score_knows(score, ITG_METRIC_DISTORTION)
                                             ? -1
                                             : score->value[ITG_METRIC_DISTORTION]};
    outcome.objective_count = itg_objective_values(objective, score, outcome.objectives);
    for (int k = 0; k < ITG_METRIC_COUNT; k++) {
        double limit = itg_goal_limit(&objective->goal, (itg_metric)k);
        if (limit > 0) outcome.limits[outcome.limit_count++] = fmax(0, score->value[k] / limit);
    }
    return outcome;
}

bool itg_objective_meets(const itg_objective *objective, const itg_trial *trial)
{
    return trial->index >= 0 && trial->feasible &&
           itg_goal_quality(&objective->goal, &trial->score) >= objective->quality_floor &&
           itg_goal_violation(&objective->goal, &trial->score) <= 0;
}

bool itg_goal_has_quality_front(const itg_goal *goal)
{
    bool found = false;
    for (int32_t i = 0; i < goal->objective_count; i++)
        found = found || !itg_metric_is_cost(goal->objectives[i]);
    return found && goal->objective_count > 1;
}

bool itg_objective_suits_front(const itg_objective *objective, const itg_trial *trial)
{
    if (!trial->feasible || trial->score.stopped_at > 0) return false;
    if (!itg_goal_has_quality_front(&objective->goal)) return itg_objective_meets(objective, trial);
    return itg_goal_violation(&objective->goal, &trial->score) <= 0;
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
    int first = itg_goal_maximizes_quality(&objective->goal) ? quality : cost,
        second = itg_goal_maximizes_quality(&objective->goal) ? cost : quality;
    if (first) return first;
    double va[ITG_MOST_OBJECTIVES], vb[ITG_MOST_OBJECTIVES];
    int32_t count = itg_objective_values(objective, &a->score, va);
    itg_objective_values(objective, &b->score, vb);
    for (int32_t i = 1; i < count; i++)
        if (smaller(va[i], vb[i])) return smaller(va[i], vb[i]);
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
        int violation = smaller(itg_goal_violation(&objective->goal, &a->score),
                                itg_goal_violation(&objective->goal, &b->score));
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
    double violation = itg_goal_violation(&objective->goal, costs);
    if (!itg_objective_meets(objective, best)) {
        int worse = smaller(violation, itg_goal_violation(&objective->goal, &best->score));
        return worse > 0 ? INFINITY : worse < 0 ? -INFINITY : quality;
    }
    if (violation > 0) return INFINITY;
    if (itg_goal_maximizes_quality(&objective->goal)) return quality;
    int dearer =
        smaller(itg_objective_cost(objective, costs), itg_objective_cost(objective, &best->score));
    return dearer > 0 ? INFINITY : dearer < 0 ? objective->quality_floor : quality;
}

/* The quality below which a point of these costs certainly does not enter the front. */
static double floor_of_front(const itg_race *race, const itg_score *costs)
{
    const itg_objective *o = race->objective;
    double values[ITG_MOST_OBJECTIVES];
    if (!race->front || itg_goal_violation(&o->goal, costs) > 0) return INFINITY;
    int32_t count = itg_objective_values(o, costs, values);
    for (int32_t i = 0; i < count; i++)
        if (o->goal.objectives[i] == itg_goal_quality_metric(&o->goal))
            return -itg_archive_least(race->front, values, i);
    return itg_archive_covers(race->front, values) ? INFINITY : o->quality_floor;
}

double itg_race_floor(const itg_race *race, const itg_score *costs)
{
    const itg_objective *o = race->objective;
    if (race->interest.share < 1) return -INFINITY; /* it ends by itg_race_enough alone */
    double floor = floor_of_best(o, race->best, costs);
    /* A trial that is worse than the best may still meet the goal, which decides how the search
     * ends: the floor is therefore at most the goal's. */
    if (o->quality_floor > -INFINITY && floor > o->quality_floor &&
        itg_goal_violation(&o->goal, costs) <= 0)
        floor = o->quality_floor;
    floor = fmin(floor, floor_of_front(race, costs));
    return race->interest.floor < floor ? race->interest.floor : floor;
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

int64_t itg_race_enough(const itg_race *race)
{
    const int64_t samples = race->objective->samples;
    const double wanted = ceil(race->interest.share * (double)samples);
    const int64_t enough = wanted > LEAST_SAMPLES ? (int64_t)wanted : LEAST_SAMPLES;
    return race->interest.share < 1 && enough < samples ? enough : 0;
}

bool itg_race_accepts(const itg_race *race, const itg_score *score)
{
    const int64_t enough = itg_race_enough(race);
    if (score->stopped_at == 0) return true;
    return enough > 0
               ? score->stopped_at == enough
               : itg_goal_quality(&race->objective->goal, score) < itg_race_floor(race, score);
}

bool itg_objective_gains(const itg_objective *objective, const itg_trial *a, const itg_trial *b,
                         double tolerance)
{
    if (!itg_objective_meets(objective, b)) return true;
    if (itg_goal_maximizes_quality(&objective->goal)) {
        double before = itg_goal_quality(&objective->goal, &b->score);
        return itg_goal_quality(&objective->goal, &a->score) - before >= tolerance * before;
    }
    double before = itg_objective_cost(objective, &b->score);
    return before - itg_objective_cost(objective, &a->score) >= tolerance * before;
}
