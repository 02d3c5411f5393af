/* Goals, written and read (intaglio.h). */
#include "base/user_metric.h"
#include "search/objective.h"
#include "sim/hits.h"
#include "sim/user_metrics.h"
#include <math.h>
#include <stdio.h>

const itg_constraint *itg_goal_constraint(const itg_goal *goal, itg_metric metric)
{
    for (int32_t i = 0; i < goal->constraint_count; i++)
        if (goal->constraints[i].metric == metric) return &goal->constraints[i];
    return NULL;
}

void itg_goal_release(itg_goal *goal, itg_metric metric)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < goal->constraint_count; i++)
        if (goal->constraints[i].metric != metric) goal->constraints[kept++] = goal->constraints[i];
    goal->constraint_count = kept;
}

bool itg_goal_constrain(itg_goal *goal, itg_metric metric, double bound, bool below_float)
{
    itg_goal_release(goal, metric);
    if (goal->constraint_count == ITG_MOST_CONSTRAINTS) return false;
    goal->constraints[goal->constraint_count++] = (itg_constraint){metric, bound, below_float};
    return true;
}

itg_metric itg_goal_objective(const itg_goal *goal)
{
    return goal->objective_count > 0 ? goal->objectives[0] : ITG_METRIC_WEIGHT_BYTES;
}

bool itg_goal_maximizes_quality(const itg_goal *goal)
{
    return !itg_metric_is_cost(itg_goal_objective(goal));
}

itg_metric itg_goal_quality_metric(const itg_goal *goal)
{
    for (int32_t i = 0; i < goal->objective_count; i++)
        if (!itg_metric_is_cost(goal->objectives[i])) return goal->objectives[i];
    for (int32_t i = 0; i < goal->constraint_count; i++)
        if (!itg_metric_is_cost(goal->constraints[i].metric)) return goal->constraints[i].metric;
    return ITG_METRIC_ACCURACY;
}

bool itg_goal_counts_classes(const itg_goal *goal)
{
    itg_metric metric = itg_goal_quality_metric(goal);
    return metric == ITG_METRIC_ACCURACY || (metric < ITG_METRIC_COUNT && itg_hit_of[metric] &&
                                             metric != ITG_METRIC_BINARY_ACCURACY);
}

double itg_goal_limit(const itg_goal *goal, itg_metric cost)
{
    const itg_constraint *c = itg_goal_constraint(goal, cost);
    return c && itg_metric_is_cost(cost) ? c->bound : 0;
}

double itg_goal_drop(const itg_goal *goal)
{
    for (int32_t i = 0; i < goal->constraint_count; i++)
        if (goal->constraints[i].below_float) return goal->constraints[i].bound;
    return -1;
}

double itg_goal_least_sqnr(const itg_goal *goal)
{
    const itg_constraint *c = itg_goal_constraint(goal, ITG_METRIC_SQNR);
    return c && !c->below_float && c->bound > 0 ? c->bound : 0;
}

const char *itg_goal_objectives_text(const itg_goal *goal, char *buffer, size_t size)
{
    itg_metric first = itg_goal_objective(goal);
    size_t used = (size_t)snprintf(
        buffer, size, "%s", itg_metric_is_cost(first) ? itg_metric_about(first)->goal : "quality");
    for (int32_t i = 1; i < goal->objective_count && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, ", %s",
                                 itg_metric_is_cost(goal->objectives[i])
                                     ? itg_metric_about(goal->objectives[i])->goal
                                     : "quality");
    return buffer;
}

#define UNKNOWN (-1e30) /* finite, as searchers reckon with it */

/* Quality of an SQNR, in hundreds of dB: a searcher that weighs shortfalls of quality then treats a
 * dB as it treats a point of top-1. */
static double quality_of_db(double db)
{
    if (isnan(db)) return -ITG_MOST_SQNR_DB / 100;
    return fmax(-ITG_MOST_SQNR_DB, fmin(ITG_MOST_SQNR_DB, db)) / 100;
}

itg_metric_info itg_goal_about(const itg_goal *goal, itg_metric metric)
{
    int place = (int)metric - ITG_METRIC_USER1;
    bool is_user = place >= 0 && place < ITG_USER_METRICS;
    return itg_metric_of(metric, is_user ? &goal->user[place].info : NULL);
}

double itg_goal_quality_of(const itg_goal *goal, double value)
{
    itg_metric metric = itg_goal_quality_metric(goal);
    if (metric == ITG_METRIC_SQNR) return quality_of_db(value);
    if (isnan(value)) return metric == ITG_METRIC_ACCURACY ? -2 : UNKNOWN;
    return itg_goal_about(goal, metric).up ? value : -value;
}

double itg_goal_quality(const itg_goal *goal, const itg_score *score)
{
    return itg_goal_quality_of(goal, itg_score_get(score, itg_goal_quality_metric(goal)));
}

/* ---- what no goal is ---- */

static bool has_metric(const itg_goal *goal, itg_metric metric)
{
    int place = (int)metric - ITG_METRIC_USER1;
    if (place >= 0 && place < ITG_USER_METRICS) return *goal->user[place].info.name != '\0';
    return (int)metric >= 0 && metric < ITG_METRIC_ALL;
}

/* An SQNR stands for distortion, which itself cannot be a quality. */
static bool can_be_quality(const itg_metric_info *about)
{
    return about->up || about->needs != ITG_NEEDS_OUTPUTS;
}

static itg_status check_constraint(const itg_goal *goal, const itg_constraint *c, itg_error *err)
{
    const itg_metric_info about = itg_goal_about(goal, c->metric);
    if (itg_goal_constraint(goal, c->metric) != c)
        return itg_fail(err, ITG_BAD_ARGUMENT, "there are two constraints of %s", about.name);
    if (itg_metric_is_cost(c->metric)) {
        if (c->bound > 0 && !isinf(c->bound) && !c->below_float) return ITG_OK;
        return itg_fail(err, ITG_BAD_ARGUMENT, "the limit of %s is not a positive number",
                        about.words);
    }
    if (c->metric != itg_goal_quality_metric(goal))
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "a goal is about one quality: this one names %s and %s",
                        itg_goal_about(goal, itg_goal_quality_metric(goal)).name, about.name);
    if (!can_be_quality(&about))
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "%s cannot be a goal's quality: less of it is better", about.name);
    if (c->below_float && (!(c->bound >= 0) || c->metric == ITG_METRIC_SQNR))
        return itg_fail(err, ITG_BAD_ARGUMENT, "the largest drop of %s is no %s from 0 on",
                        about.name, about.needs == ITG_NEEDS_USER ? "number" : "share");
    if (c->below_float || c->bound == -(double)INFINITY) return ITG_OK;
    if (!itg_unit_allows(about.unit, c->bound) ||
        (c->metric == ITG_METRIC_SQNR && !(c->bound >= 0 && c->bound <= ITG_MOST_SQNR_DB)))
        return itg_fail(err, ITG_BAD_ARGUMENT, "the least %s is %g, expected %s%s", about.words,
                        c->bound, itg_unit_range(about.unit),
                        c->metric == ITG_METRIC_SQNR ? " of dB from 0 to 200" : "");
    return ITG_OK;
}

/* Objectives are costs and at most one quality, which is maximized. */
static itg_status check_objectives(const itg_goal *goal, itg_error *err)
{
    for (int32_t i = 0; i < goal->objective_count; i++) {
        itg_metric m = goal->objectives[i];
        const itg_metric_info about = itg_goal_about(goal, m);
        if (itg_metric_is_cost(m) || (can_be_quality(&about) && m == itg_goal_quality_metric(goal)))
            continue;
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "%s is no objective here: costs, and one quality of which more is better",
                        about.name);
    }
    return ITG_OK;
}

/* Checks the lengths of the lists and that their metrics exist; all other checks rely on it. */
static itg_status check_lists(const itg_goal *goal, itg_error *err)
{
    bool known = true;
    if (goal->objective_count < 0 || goal->objective_count > ITG_MOST_OBJECTIVES ||
        goal->constraint_count < 0 || goal->constraint_count > ITG_MOST_CONSTRAINTS)
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "a goal has %d objectives and %d constraints, at most %d and %d",
                        (int)goal->objective_count, (int)goal->constraint_count,
                        ITG_MOST_OBJECTIVES, ITG_MOST_CONSTRAINTS);
    for (int32_t i = 0; i < goal->objective_count; i++)
        known = known && has_metric(goal, goal->objectives[i]);
    for (int32_t i = 0; i < goal->constraint_count; i++)
        known = known && has_metric(goal, goal->constraints[i].metric);
    return known ? ITG_OK
                 : itg_fail(err, ITG_BAD_ARGUMENT, "a goal names a metric that does not exist");
}

itg_status itg_goal_check(const itg_goal *goal, itg_error *err)
{
    itg_status status = check_lists(goal, err);
    if (status == ITG_OK) status = itg_users_check(goal->user, false, err);
    if (status == ITG_OK) status = check_objectives(goal, err);
    for (int32_t i = 0; status == ITG_OK && i < goal->constraint_count; i++)
        status = check_constraint(goal, &goal->constraints[i], err);
    return status;
}
