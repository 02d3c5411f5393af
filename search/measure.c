/* Costs other than RAM are sums over nodes, and a width changes the costs of the nodes beside it
 * alone. So many dimensions that share no node are moved at once, and each takes the differences of
 * its nodes. */
#include "search/measure.h"
#include "search/nearby.h"
#include <stdlib.h>
#include <string.h>

typedef struct measure {
    const itg_evaluator *evaluator;
    const itg_objective *objective;
    int32_t dim_count;
    bool with_ram;             /* it counts */
    itg_cost *corner_nodes[2]; /* [nodes + 1] of the widest and the narrowest point */
    itg_nearby *nearby;
    itg_score *scores; /* [2 + 2 * dim_count]: widest, narrowest, then for each dimension: these two
                          with that dimension alone at its other end, or one level towards it */
    int32_t *levels;   /* how many levels it went; 0: infeasible */
} measure;

/* Moves dimension d of a corner by `levels`. */
static void move(const measure *m, bool narrowest, int32_t d, int32_t levels, int32_t *point)
{
    const itg_dim *dim = &m->evaluator->points->dims[d];
    point[d] = dim->values[narrowest ? levels : dim->count - 1 - levels];
}

/* Whether the hardware cannot run the point; other failures are the caller's. */
static bool is_infeasible(itg_status status)
{
    return status == ITG_INFEASIBLE || status == ITG_UNBOUNDED;
}

/* Computes the costs of corner item % 2 with dimension d moved by `levels` (-1: none). */
static itg_status cost_moved(measure *m, int64_t item, int32_t d, int32_t levels, itg_error *err)
{
    const int corner = (int)(item % 2);
    itg_error why = {0};
    int32_t *point = malloc(sizeof *point * (size_t)(m->dim_count + 1));
    if (!point) return itg_fail(err, ITG_NO_MEMORY, "no memory for the choice space");
    itg_point_space_corner(m->evaluator->points, corner == 1, point);
    if (d >= 0) move(m, corner == 1, d, levels, point);
    itg_status status = itg_evaluator_cost(m->evaluator, point, m->with_ram, &m->scores[item],
                                           d < 0 ? m->corner_nodes[corner] : NULL, &why);
    free(point);
    m->levels[item] = status == ITG_OK ? levels : 0;
    if (status == ITG_OK || is_infeasible(status)) return ITG_OK;
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
static itg_status cost_alone(measure *m, bool narrowest, int32_t d, itg_error *err)
{
    const int64_t item = 2 + 2 * (int64_t)d + narrowest;
    itg_status status = cost_moved(m, item, d, m->evaluator->points->dims[d].count - 1, err);
    if (status == ITG_OK && m->levels[item] == 0) status = cost_moved(m, item, d, 1, err);
    return status;
}

static void add_difference(const itg_cost *now, const itg_cost *before, itg_score *score)
{
    double *value = score->value;
    value[ITG_METRIC_WEIGHT_BYTES] += (double)(now->weight_bytes - before->weight_bytes);
    value[ITG_METRIC_PARAMETER_BYTES] += (double)(now->parameter_bytes - before->parameter_bytes);
    value[ITG_METRIC_BOPS] += (double)(now->bops - before->bops);
    value[ITG_METRIC_CYCLES] += now->cycles - before->cycles;
}

/* Whether a node that is near to none of the dimensions changed its cost. */
static bool changed_elsewhere(const itg_nearby *near, const int32_t *dims, int32_t count,
                              const itg_cost *now, const itg_cost *before, bool *owned)
{
    bool changed = false;
    memset(owned, 0, ((size_t)near->node_count + 1) * sizeof *owned);
    for (int32_t i = 0; i < count; i++)
        for (int32_t k = near->first[dims[i]]; k < near->first[dims[i] + 1]; k++)
            owned[near->nodes[k]] = true;
    for (int32_t n = 0; n <= near->node_count && !changed; n++)
        changed = !owned[n] && memcmp(&now[n], &before[n], sizeof *now) != 0;
    return changed;
}

/* Gives each dimension the differences of the nodes near to it. *done false: they are not all. */
static itg_status share_out(measure *m, bool narrowest, const int32_t *dims, int32_t count,
                            const itg_cost *now, bool *done, itg_error *err)
{
    const itg_cost *before = m->corner_nodes[narrowest];
    const itg_nearby *near = m->nearby;
    bool *owned = malloc(((size_t)near->node_count + 1) * sizeof *owned);
    if (!owned) return itg_fail(err, ITG_NO_MEMORY, "no memory for the choice space");
    *done = !changed_elsewhere(near, dims, count, now, before, owned);
    free(owned);
    for (int32_t i = 0; i < count && *done; i++) {
        const int64_t item = 2 + 2 * (int64_t)dims[i] + narrowest;
        m->scores[item] = m->scores[narrowest];
        m->levels[item] = m->evaluator->points->dims[dims[i]].count - 1;
        for (int32_t k = near->first[dims[i]]; k < near->first[dims[i] + 1]; k++)
            add_difference(&now[near->nodes[k]], &before[near->nodes[k]], &m->scores[item]);
    }
    return ITG_OK;
}

/* Moves all these dimensions at once. *done false: the hardware cannot run that, or the costs of
 * other nodes changed. */
static itg_status cost_together(measure *m, bool narrowest, const int32_t *dims, int32_t count,
                                bool *done, itg_error *err)
{
    itg_error why = {0};
    itg_score score;
    int32_t *point = malloc(sizeof *point * (size_t)(m->dim_count + 1));
    itg_cost *nodes = malloc(((size_t)m->nearby->node_count + 1) * sizeof *nodes);
    itg_status status =
        point && nodes ? ITG_OK : itg_fail(&why, ITG_NO_MEMORY, "no memory for the choice space");
    *done = false;
    if (status == ITG_OK) {
        itg_point_space_corner(m->evaluator->points, narrowest, point);
        for (int32_t i = 0; i < count; i++)
            move(m, narrowest, dims[i], m->evaluator->points->dims[dims[i]].count - 1, point);
        status = itg_evaluator_cost(m->evaluator, point, false, &score, nodes, &why);
    }
    if (status == ITG_OK) status = share_out(m, narrowest, dims, count, nodes, done, &why);
    free(point);
    free(nodes);
    if (status == ITG_OK || is_infeasible(status)) return ITG_OK;
    return itg_fail(err, status, "%s", why.message);
}

/* Measures dimensions that share no node: together where that can be, else each half by itself. */
static itg_status cost_group(measure *m, bool narrowest, const int32_t *dims, int32_t count,
                             itg_error *err)
{
    bool done = false;
    itg_status status = ITG_OK;
    if (count == 1) return cost_alone(m, narrowest, dims[0], err);
    if (m->levels[narrowest] && !m->with_ram)
        status = cost_together(m, narrowest, dims, count, &done, err);
    if (status == ITG_OK && !done) status = cost_group(m, narrowest, dims, count / 2, err);
    if (status == ITG_OK && !done)
        status = cost_group(m, narrowest, dims + count / 2, count - count / 2, err);
    return status;
}

static itg_status cost_item(void *context, int worker, int64_t index, itg_error *err)
{
    measure *m = context;
    const int32_t group = (int32_t)(index / 2), first = m->nearby->group_first[group];
    (void)worker;
    return cost_group(m, index % 2 != 0, m->nearby->dims + first,
                      m->nearby->group_first[group + 1] - first, err);
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

static itg_status create_memory(measure *m, itg_error *err)
{
    const size_t count = 2 + 2 * (size_t)m->dim_count,
                 nodes = (size_t)m->evaluator->model->node_count + 1;
    m->scores = calloc(count, sizeof *m->scores);
    m->levels = calloc(count, sizeof *m->levels);
    for (int i = 0; i < 2; i++)
        m->corner_nodes[i] = calloc(nodes, sizeof *m->corner_nodes[i]);
    if (m->scores && m->levels && m->corner_nodes[0] && m->corner_nodes[1])
        return itg_nearby_create(m->evaluator->points, &m->nearby, err);
    return itg_fail(err, ITG_NO_MEMORY, "no memory for the choice space");
}

itg_status itg_measure_levels(const itg_evaluator *evaluator, const itg_objective *objective,
                              int threads, bool *varies, itg_error *err)
{
    itg_point_space *points = evaluator->points;
    measure m = {.evaluator = evaluator,
                 .objective = objective,
                 .dim_count = points->space.dim_count,
                 .with_ram = true};
    itg_status status = create_memory(&m, err);
    if (status == ITG_OK) status = cost_corners(&m, err);
    if (status == ITG_OK)
        status = itg_parallel_for(itg_thread_count(threads), 2 * (int64_t)m.nearby->group_count,
                                  cost_item, &m, err);
    *varies = status != ITG_OK || has_different_costs(&m, 2 + 2 * (int64_t)m.dim_count);
    for (int32_t d = 0; status == ITG_OK && d < m.dim_count; d++)
        points->dims[d].cost_per_level = points->dims[d].ordered ? level_of(&m, d) : 0;
    itg_nearby_destroy(m.nearby);
    free(m.corner_nodes[0]);
    free(m.corner_nodes[1]);
    free(m.scores);
    free(m.levels);
    return status;
}
