/* What levels are worth in random networks: widths that are moved together are worth what each is
 * worth alone. */
#include "random_network.h"
#include "search/measure.h"
#include "search/nearby.h"
#include "wanted.h"
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

enum { SEEDS = 40 };

typedef struct measured {
    itg_graph *g;
    itg_stats *stats;
    itg_evaluator evaluator;
    int32_t dims, groups; /* totals of all networks */
    int compared;
} measured;

static bool cost_at(const itg_evaluator *e, bool narrowest, int32_t d, int32_t levels,
                    itg_score *out)
{
    int32_t *point = malloc(((size_t)e->points->space.dim_count + 1) * sizeof *point);
    itg_point_space_corner(e->points, narrowest, point);
    if (d >= 0) {
        const itg_dim *dim = &e->points->dims[d];
        point[d] = dim->values[narrowest ? levels : dim->count - 1 - levels];
    }
    itg_error err = {0};
    itg_status status = itg_evaluator_cost(e, point, false, out, NULL, &err);
    free(point);
    if (status != ITG_OK && status != ITG_INFEASIBLE && status != ITG_UNBOUNDED)
        fail_msg("%s", err.message);
    return status == ITG_OK;
}

/* What a level saves from this corner; -1: the hardware can run none of its levels. */
static double saved_from(const itg_evaluator *e, bool narrowest, int32_t d, itg_metric metric)
{
    itg_score corner, moved;
    int32_t levels = e->points->dims[d].count - 1;
    assert_true(cost_at(e, narrowest, -1, 0, &corner));
    if (!cost_at(e, narrowest, d, levels, &moved)) {
        levels = 1;
        if (!cost_at(e, narrowest, d, levels, &moved)) return -1;
    }
    const double change = corner.value[metric] - moved.value[metric];
    return (narrowest ? -change : change) / levels;
}

static void compare(measured *m, itg_metric metric, uint64_t seed)
{
    const itg_goal goal = goal_of((aim){.minimize = metric});
    const itg_score floats = {
        .value = {
            [ITG_METRIC_TOP1] = 1, [ITG_METRIC_EXPECTED_TOP1] = 1, [ITG_METRIC_TOP1_BOUND] = 1}};
    const itg_point_space *points = m->evaluator.points;
    itg_objective o;
    bool varies;
    assert_int_equal(itg_objective_make(&goal, &floats, &points->space, &o, NULL), ITG_OK);
    assert_int_equal(itg_measure_levels(&m->evaluator, &o, 1 + (int)(seed % 2), &varies, NULL),
                     ITG_OK);
    for (int32_t d = 0; d < points->space.dim_count; d++) {
        const double down = saved_from(&m->evaluator, false, d, metric),
                     up = saved_from(&m->evaluator, true, d, metric);
        double wanted = up > down ? up : down;
        if (wanted < 0) wanted = 0;
        if (down == -1 && up == -1) continue;
        if (fabs(points->dims[d].cost_per_level - wanted) > 1e-9 * wanted)
            fail_msg("seed %llu, dimension %d: %g, alone %g", (unsigned long long)seed, (int)d,
                     points->dims[d].cost_per_level, wanted);
        m->compared++;
    }
}

/* Each width stands in one group, and no two of a group are near to the same node. */
static void check_groups(measured *m)
{
    const itg_point_space *points = m->evaluator.points;
    itg_nearby *near = NULL;
    assert_int_equal(itg_nearby_create(points, &near, NULL), ITG_OK);
    int32_t *group_of = calloc((size_t)near->node_count + 1, sizeof *group_of);
    int32_t widths = 0;
    for (int32_t k = 0; k < near->group_count; k++)
        for (int32_t i = near->group_first[k]; i < near->group_first[k + 1]; i++) {
            const int32_t d = near->dims[i];
            assert_true(near->first[d + 1] > near->first[d]);
            for (int32_t j = near->first[d]; j < near->first[d + 1]; j++) {
                assert_int_not_equal(group_of[near->nodes[j]], k + 1);
                group_of[near->nodes[j]] = k + 1;
            }
        }
    for (int32_t d = 0; d < points->space.dim_count; d++)
        widths += points->dims[d].ordered;
    assert_int_equal(near->group_first[near->group_count], widths);
    m->dims += widths;
    m->groups += near->group_count;
    free(group_of);
    itg_nearby_destroy(near);
}

static void run_case(const itg_hardware *hw, itg_bits_range activation, uint64_t seed, measured *m)
{
    const itg_search_options options = {ITG_SEARCH_OPTIONS_VERSION, .activation_bits = activation};
    itg_score score;
    itg_error err = {0};
    m->g = random_network(seed, hw, seed % 2 != 0);
    m->stats = itg_stats_made_up(m->g);
    m->evaluator = (itg_evaluator){.model = m->g, .hw = hw};
    itg_status status = itg_point_space_create(hw, m->g, &options, &m->evaluator.points, &err);
    if (status == ITG_OK)
        status = itg_threshold_cache_create(m->g, hw, m->evaluator.points->groups, m->stats,
                                            &m->evaluator.cache, &err);
    if (status == ITG_OK) {
        check_groups(m);
        if (cost_at(&m->evaluator, false, -1, 0, &score) &&
            cost_at(&m->evaluator, true, -1, 0, &score))
            for (int k = 0; k < 4; k++)
                compare(m,
                        (itg_metric[]){ITG_METRIC_WEIGHT_BYTES, ITG_METRIC_PARAMETER_BYTES,
                                       ITG_METRIC_BOPS, ITG_METRIC_CYCLES}[k],
                        seed);
    } else if (status != ITG_INFEASIBLE)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    itg_threshold_cache_destroy(m->evaluator.cache);
    itg_point_space_destroy(m->evaluator.points);
    itg_stats_destroy(m->stats);
    itg_graph_destroy(m->g);
}

static void widths_together_are_worth_what_each_is_alone(void **state)
{
    const struct {
        const char *target;
        itg_bits_range activation;
    } cases[] = {
        {"cortex-m", {0, 0}}, {"x86-vnni", {0, 0}}, {"cvm", {0, 0}}, {"cortex-m", {4, 16}}};
    measured m = {0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        itg_hardware *hw = NULL;
        assert_int_equal(itg_hardware_load(cases[i].target, &hw, NULL), ITG_OK);
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            run_case(hw, cases[i].activation, seed, &m);
        itg_hardware_destroy(hw);
    }
    print_message("%d levels compared; %d widths in %d groups\n", m.compared, (int)m.dims,
                  (int)m.groups);
    assert_true(m.compared > 1000);
    assert_true(m.groups * 3 < m.dims * 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_together_are_worth_what_each_is_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
