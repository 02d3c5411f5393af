#include "search/measure.h"
#include <stdlib.h>

typedef struct measure {
    const itg_evaluator *evaluator;
    const itg_objective *objective;
    int32_t dim_count;
    bool with_ram;     /* it counts */
    itg_score *scores; /* [2 + 2 * dim_count]: widest, narrowest, then for each dimension: these two
                          with that dimension alone at its other end, or one level towards it */
    int32_t *levels;   /* how many levels it went; 0: infeasible */
} measure;

/* Computes the costs of corner item % 2 with dimension d moved by `levels` (-1: none). */
static itg_status cost_moved(measure *m, int64_t item, int32_t d, int32_t levels, itg_error *err)
{
    const itg_point_space *points = m->evaluator->points;
    bool narrowest = item % 2 != 0;
    itg_error why = {0};
    int32_t *point = malloc(sizeof *point * (size_t)(m->dim_count + 1));
    if (!point) return itg_fail(err, ITG_NO_MEMORY, "no memory for the choice space");
    itg_point_space_corner(points, narrowest, point);
    if (d >= 0) {
        const itg_dim *dim = &points->dims[d];
        point[d] = dim->values[narrowest ? levels : dim->count - 1 - levels];
    }
    itg_status status =
        itg_evaluator_cost(m->evaluator, point, m->with_ram, &m->scores[item], &why);
    free(point);
    m->levels[item] = status == ITG_OK ? levels : 0;
    if (status == ITG_OK || status == ITG_INFEASIBLE || status == ITG_UNBOUNDED) return ITG_OK;
    return itg_fail(err, status, "%s", why.message);
}

/* Whether a limit counts: the widest point exceeds it, or may. */
static bool counts(const measure *m, itg_metric kind)
{
    double limit = itg_goal_limit(&m->objective->goal, kind);
    return limit > 0 && (!m->levels[0] || m->scores[0].value[kind] > limit);
}

/* Computes the costs of both corners with their RAM, to decide whether RAM counts. */
static itg_status cost_corners(measure *m, itg_error *err)
{
    const itg_goal *goal = &m->objective->goal;
    m->with_ram = true;
    itg_status status = cost_moved(m, 0, -1, 1, err);
    if (status == ITG_OK) status = cost_moved(m, 1, -1, 1, err);
    m->with_ram = (!itg_goal_maximizes_quality(goal) &&
                   itg_goal_objective(goal) == ITG_METRIC_PEAK_ACTIVATION_BYTES) ||
                  counts(m, ITG_METRIC_PEAK_ACTIVATION_BYTES);
    return status;
}

/* If neighbours must have the same class of dtype, the other end of a width alone may be
 * infeasible. */
static itg_status cost_item(void *context, int worker, int64_t index, itg_error *err)
{
    measure *m = context;
    int64_t item = index + 2;
    int32_t d = (int32_t)(index / 2);
    (void)worker;
    const itg_dim *dim = &m->evaluator->points->dims[d];
    if (!dim->ordered) return ITG_OK;
    itg_status status = cost_moved(m, item, d, dim->count - 1, err);
    if (status == ITG_OK && m->levels[item] == 0) status = cost_moved(m, item, d, 1, err);
    return status;
}

/* Cost `a` less cost `b`, with the limits that count. */
static double difference(const measure *m, const itg_score *a, const itg_score *b)
{
    const itg_goal *goal = &m->objective->goal;
    const itg_score *widest = m->levels[0] ? &m->scores[0] : NULL;
    double unit = 1, sum = 0;
    if (!itg_goal_maximizes_quality(goal)) {
        sum = a->value[itg_goal_objective(goal)] - b->value[itg_goal_objective(goal)];
        if (widest) unit = widest->value[itg_goal_objective(goal)];
    }
    for (int k = 0; k < ITG_METRIC_COUNT; k++) {
        itg_metric kind = (itg_metric)k;
        if (counts(m, kind))
            sum += unit * (a->value[kind] - b->value[kind]) / itg_goal_limit(goal, (itg_metric)k);
    }
    return sum;
}

static double level_of(const measure *m, int32_t d)
{
    const itg_point_space *points = m->evaluator->points;
    const itg_choice_group *group = &points->groups->groups[points->dim_group[d]];
    int32_t down = 2 + 2 * d, up = down + 1;
    double saved = -1;
    if (m->levels[0] && m->levels[down])
        saved = difference(m, &m->scores[0], &m->scores[down]) / m->levels[down];
    else if (!m->levels[1] || !m->levels[up])
        return group->is_weight ? (double)group->weight_elements / 8 : 1;
    if (m->levels[1] && m->levels[up]) {
        double other = difference(m, &m->scores[up], &m->scores[1]) / m->levels[up];
        if (other > saved) saved = other;
    }
    return saved > 0 ? saved : 0;
}

/* Whether two measured points differ in the minimized cost. A corner that the hardware cannot run
 * leaves it open. */
static bool has_different_costs(const measure *m, int64_t count)
{
    const itg_goal *goal = &m->objective->goal;
    bool differ = itg_goal_maximizes_quality(goal) || !m->levels[0] || !m->levels[1];
    for (int64_t i = 1; i < count && !differ; i++)
        differ = m->levels[i] > 0 && m->scores[i].value[itg_goal_objective(goal)] !=
                                         m->scores[0].value[itg_goal_objective(goal)];
    return differ;
}

itg_status itg_measure_levels(const itg_evaluator *evaluator, const itg_objective *objective,
                              int threads, bool *varies, itg_error *err)
{
    itg_point_space *points = evaluator->points;
    measure m = {evaluator, objective, points->space.dim_count, true, NULL, NULL};
    size_t count = 2 + 2 * (size_t)m.dim_count;
    m.scores = calloc(count, sizeof *m.scores);
    m.levels = calloc(count, sizeof *m.levels);
    itg_status status = m.scores && m.levels
                            ? ITG_OK
                            : itg_fail(err, ITG_NO_MEMORY, "no memory for the choice space");
    if (status == ITG_OK) status = cost_corners(&m, err);
    if (status == ITG_OK)
        status =
            itg_parallel_for(itg_thread_count(threads), (int64_t)count - 2, cost_item, &m, err);
    *varies = status != ITG_OK || has_different_costs(&m, (int64_t)count);
    for (int32_t d = 0; status == ITG_OK && d < m.dim_count; d++)
        points->dims[d].cost_per_level = points->dims[d].ordered ? level_of(&m, d) : 0;
    free(m.scores);
    free(m.levels);
    return status;
}
