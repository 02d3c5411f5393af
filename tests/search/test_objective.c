/* Goals: what searchers are told, what meets them, which of two trials is the better. */
#include "wanted.h"
#include "search/engine.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const int32_t widths[] = {2, 4, 8}, methods[] = {0, 1};
static const itg_dim dims[] = {{3, widths, true, 1, 0}, {2, methods, false, 0, 0}};
static const itg_search_space space = {2, dims};

static itg_score floats_of(double top1)
{
    itg_score floats = itg_score_unknown();
    floats.value[ITG_METRIC_TOP1] = top1;
    floats.value[ITG_METRIC_DISTORTION] = 0;
    return floats;
}

static itg_objective make(itg_goal goal)
{
    itg_objective o;
    itg_score floats = floats_of(0.9);
    assert_int_equal(itg_objective_make(&goal, &floats, &space, &o, NULL), ITG_OK);
    return o;
}

static itg_trial trial(int64_t index, double quality, int64_t bytes, const int32_t *point)
{
    itg_trial t = {.index = index, .point = point, .dim_count = 2, .feasible = true};
    t.score = itg_score_unknown();
    t.score.value[ITG_METRIC_TOP1] = quality;
    t.score.value[ITG_METRIC_WEIGHT_BYTES] = (double)bytes;
    t.score.value[ITG_METRIC_BOPS] = 10.0 * (double)bytes;
    return t;
}

static const int32_t p22[] = {2, 0}, p81[] = {8, 1}, p40[] = {4, 0};

/* a before b, and not the other way round. */
static void check_before(const itg_objective *o, const itg_trial *a, const itg_trial *b)
{
    assert_true(itg_objective_better(o, a, b));
    assert_false(itg_objective_better(o, b, a));
}

static void a_drop_of_exactly_what_is_allowed_is_allowed(void **state)
{
    (void)state;
    for (int n = 1; n < 400; n++)
        for (int right = 0; right <= n; right++)
            for (int lost = 0; lost <= right && lost < 5; lost++) {
                itg_goal goal = goal_of((aim){.max_drop = (double)lost / n});
                itg_objective o;
                itg_score floats = floats_of((double)right / n);
                assert_int_equal(itg_objective_make(&goal, &floats, &space, &o, NULL), ITG_OK);
                itg_trial t = trial(0, (double)(right - lost) / n, 1, p22);
                assert_true(itg_objective_meets(&o, &t));
                assert_true(itg_goal_is_met(&goal, &floats, &t.score));
                t.score.value[ITG_METRIC_TOP1] = (double)(right - lost - 1) / n;
                if (right > lost) assert_false(itg_objective_meets(&o, &t));
            }
}

static void searchers_are_told_costs_or_shares(void **state)
{
    (void)state;
    itg_trial t = trial(0, 0.8, 150, p22);
    itg_goal goal =
        goal_of((aim){.minimize = ITG_METRIC_BOPS, .max_drop = 0.2, .limits = {100, 0, 0, 0}});
    itg_objective o = make(goal);
    itg_outcome told = itg_objective_outcome(&o, &t);
    assert_true(told.feasible && told.quality == 0.8 && told.cost == 1500);
    assert_true(told.violation == 0.5 && told.distortion == -1);
    itg_searcher_options options = itg_objective_options(&o, 12);
    assert_true(!options.maximize_quality && options.cost_limit == 0 && options.trials == 12);
    assert_true(fabs(options.quality_floor - 0.7) < 1e-9 && options.quality_floor < 0.7);
    goal = goal_of((aim){.maximize_quality = true, .max_drop = -1, .limits = {100, 3000, 0, 0}});
    o = make(goal);
    told = itg_objective_outcome(&o, &t);
    assert_true(told.cost == 1.5 && told.violation == 0);
    options = itg_objective_options(&o, 12);
    assert_true(options.maximize_quality && options.cost_limit == 1);
    assert_true(options.quality_floor == -INFINITY);
    t.feasible = false;
    assert_false(itg_objective_outcome(&o, &t).feasible);
}

static void minimizing_takes_the_cheapest_above_the_floor(void **state)
{
    (void)state;
    itg_objective o = make(goal_of((aim){.max_drop = 0.1}));
    itg_trial none = {.index = -1}, cheap = trial(3, 0.79, 10, p22), good = trial(5, 0.8, 50, p22),
              better = trial(4, 0.85, 50, p81), smaller = trial(9, 0.8, 49, p81);
    check_before(&o, &cheap, &none); /* the nearest, where nothing meets the goal */
    check_before(&o, &good, &cheap);
    check_before(&o, &better, &good); /* equal cost: quality, whatever the bits */
    check_before(&o, &smaller, &better);
    cheap.feasible = false;
    assert_false(itg_objective_better(&o, &cheap, &none));
}

static void maximizing_takes_the_best_within_the_limits(void **state)
{
    (void)state;
    itg_objective o =
        make(goal_of((aim){.maximize_quality = true, .max_drop = -1, .limits = {100, 0, 0, 0}}));
    itg_trial over = trial(0, 0.9, 101, p81), at = trial(1, 0.6, 100, p40),
              best = trial(2, 0.7, 99, p81), cheaper = trial(3, 0.7, 98, p81);
    check_before(&o, &at, &over);
    check_before(&o, &best, &at);
    check_before(&o, &cheaper, &best);
    assert_true(itg_objective_meets(&o, &at) && !itg_objective_meets(&o, &over));
}

static void ties_go_to_distortion_then_bits_then_the_earlier(void **state)
{
    (void)state;
    itg_objective o = make(goal_of((aim){.max_drop = 0.1}));
    itg_trial a = trial(7, 0.85, 50, p81), b = trial(3, 0.85, 50, p22), c = trial(4, 0.85, 50, p22);
    a.score.value[ITG_METRIC_DISTORTION] = 0.1;
    b.score.value[ITG_METRIC_DISTORTION] = c.score.value[ITG_METRIC_DISTORTION] = 0.2;
    check_before(&o, &a, &b);
    a.score.value[ITG_METRIC_DISTORTION] = (double)NAN; /* not known: nothing to compare */
    check_before(&o, &b, &a);
    check_before(&o, &b, &c);
    /* Methods are no bits: 8 bits with method 0 or 1 are equal. */
    const int32_t p80[] = {8, 0};
    itg_trial d = trial(2, 0.85, 50, p81), e = trial(6, 0.85, 50, p80);
    check_before(&o, &d, &e);
}

static void the_nearest_exceeds_limits_least_then_loses_least(void **state)
{
    (void)state;
    itg_objective o = make(goal_of((aim){.max_drop = 0.01, .limits = {100, 500, 0, 0}}));
    /* 120 bytes: 0.2 over, and 1200 bops: 1.4 over */
    itg_trial far = trial(0, 0.9, 120, p81), near = trial(1, 0.3, 60, p22),
              nearer = trial(2, 0.4, 60, p81), within = trial(3, 0.1, 50, p22);
    assert_true(fabs(itg_goal_violation(&o.goal, &far.score) - 1.6) < 1e-12);
    check_before(&o, &near, &far);
    check_before(&o, &nearer, &near);
    check_before(&o, &within, &nearer);
    assert_false(itg_objective_meets(&o, &within));
}

static void gains_are_measured_in_what_is_optimized(void **state)
{
    (void)state;
    itg_objective o = make(goal_of((aim){.max_drop = 0.1}));
    itg_trial before = trial(0, 0.85, 100, p81), same = trial(1, 0.9, 100, p81),
              less = trial(2, 0.85, 96, p81), below = trial(3, 0.7, 100, p81);
    assert_true(itg_objective_gains(&o, &same, &before, 0));
    assert_false(itg_objective_gains(&o, &same, &before, 0.01));
    assert_true(itg_objective_gains(&o, &less, &before, 0.04));
    assert_false(itg_objective_gains(&o, &less, &before, 0.05));
    assert_true(itg_objective_gains(&o, &less, &below, 0.5)); /* the first that meets the goal */
    o = make(goal_of((aim){.maximize_quality = true, .max_drop = -1}));
    assert_true(itg_objective_gains(&o, &same, &before, 0.05));
    assert_false(itg_objective_gains(&o, &same, &before, 0.06));
}

static void goals_without_numbers_are_refused(void **state)
{
    (void)state;
    itg_objective o = {.quality_floor = 42};
    itg_score floats = floats_of(1);
    itg_goal goal = goal_of((aim){.max_drop = NAN});
    assert_int_equal(itg_objective_make(&goal, &floats, &space, &o, NULL), ITG_BAD_ARGUMENT);
    for (int k = 0; k < 5; k++) {
        const double bad[] = {NAN, -1, INFINITY};
        for (int i = 0; i < 3; i++) {
            goal = goal_of((aim){0});
            limit(&goal, (itg_metric)k, bad[i]);
            assert_int_equal(itg_objective_make(&goal, &floats, &space, &o, NULL),
                             ITG_BAD_ARGUMENT);
        }
    }
    itg_goal floors[] = {goal_of((aim){.min_sqnr_db = 20}),
                         goal_of((aim){.max_drop = -1, .min_sqnr_db = NAN}),
                         goal_of((aim){.sqnr = true, .max_drop = 0}),
                         goal_of((aim){.sqnr = true, .max_drop = -1, .min_sqnr_db = -1}),
                         goal_of((aim){.sqnr = true, .max_drop = -1, .min_sqnr_db = 201}),
                         {.objectives = {ITG_METRIC_ALL}, .objective_count = 1},
                         {.objectives = {ITG_METRIC_DISTORTION}, .objective_count = 1},
                         {.objectives = {ITG_METRIC_TOP1, ITG_METRIC_SQNR}, .objective_count = 2},
                         {.objective_count = ITG_MOST_OBJECTIVES + 1},
                         {.constraints = {{ITG_METRIC_BOPS, 1, false}, {ITG_METRIC_BOPS, 2, false}},
                          .constraint_count = 2},
                         {.constraint_count = ITG_MOST_CONSTRAINTS + 1}};
    for (size_t i = 0; i < sizeof floors / sizeof *floors; i++)
        assert_int_equal(itg_objective_make(&floors[i], &floats, &space, &o, NULL),
                         ITG_BAD_ARGUMENT);
    assert_true(o.quality_floor == 42);
}

/* ---- SQNR ---- */

static void a_ratio_is_in_decibels(void **state)
{
    (void)state;
    itg_goal goal = goal_of((aim){.sqnr = true, .max_drop = -1});
    itg_score s = itg_score_unknown();
    assert_true(isnan(itg_score_get(&s, ITG_METRIC_SQNR)));
    assert_true(itg_goal_quality(&goal, &s) < -1.999);
    const double cases[][2] = {{1, 0}, {0.1, 10}, {0.001, 30}, {4, -6.020599913}, {1e-19, 190}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s.value[ITG_METRIC_DISTORTION] = cases[i][0];
        assert_true(fabs(itg_score_get(&s, ITG_METRIC_SQNR) - cases[i][1]) < 1e-9);
        assert_true(itg_goal_quality(&goal, &s) == itg_score_get(&s, ITG_METRIC_SQNR) / 100);
    }
    s.value[ITG_METRIC_DISTORTION] = 0;
    assert_true(isinf(itg_score_get(&s, ITG_METRIC_SQNR)) && itg_goal_quality(&goal, &s) == 2);
    s.value[ITG_METRIC_DISTORTION] = 1e-30;
    assert_true(itg_goal_quality(&goal, &s) == 2);
    s.value[ITG_METRIC_DISTORTION] = INFINITY;
    assert_true(itg_goal_quality(&goal, &s) == -2);
}

static void a_floor_in_decibels_is_a_floor(void **state)
{
    (void)state;
    itg_goal goal =
        goal_of((aim){.sqnr = true, .max_drop = -1, .min_sqnr_db = 30, .limits = {100, 0, 0, 0}});
    itg_objective o = make(goal);
    itg_trial t = trial(0, 0, 100, p22);
    itg_score floats = floats_of(1);
    assert_true(o.quality_floor == 0.3);
    t.score.value[ITG_METRIC_DISTORTION] = 0.00099; /* whatever its top-1 is */
    assert_true(itg_objective_meets(&o, &t) && itg_goal_is_met(&goal, &floats, &t.score));
    t.score.value[ITG_METRIC_WEIGHT_BYTES] = 101;
    assert_false(itg_objective_meets(&o, &t) || itg_goal_is_met(&goal, &floats, &t.score));
    t.score.value[ITG_METRIC_WEIGHT_BYTES] = 100;
    t.score.value[ITG_METRIC_DISTORTION] = 0.00101;
    assert_false(itg_objective_meets(&o, &t) || itg_goal_is_met(&goal, &floats, &t.score));
    t.score.value[ITG_METRIC_DISTORTION] = (double)NAN;
    assert_false(itg_objective_meets(&o, &t));
    itg_goal_release(&goal, ITG_METRIC_SQNR);
    assert_true(make(goal).quality_floor == -INFINITY);
}

/* An evaluation that stops above it says for certain what the search needs to know. */
static void the_most_distortion_lies_safely_below_the_floor(void **state)
{
    (void)state;
    itg_goal goal = goal_of((aim){.sqnr = true, .max_drop = -1});
    itg_score s = itg_score_unknown();
    for (double floor = -1.99; floor <= 2; floor += 0.0007) {
        double most = itg_most_distortion(floor);
        s.value[ITG_METRIC_DISTORTION] = nextafter(most, INFINITY);
        assert_true(itg_goal_quality(&goal, &s) < floor);
        s.value[ITG_METRIC_DISTORTION] = most * (1 - 1e-8);
        assert_true(itg_goal_quality(&goal, &s) > floor || floor > 1.9999);
    }
    assert_true(itg_most_distortion(INFINITY) < 0);
    assert_true(itg_most_distortion(-INFINITY) == INFINITY);
}

/* What a stopped trial says of its distortion is a bound. */
static void the_bound_of_a_stopped_trial_is_told_to_nobody(void **state)
{
    (void)state;
    itg_objective o = make(goal_of((aim){.sqnr = true, .max_drop = -1, .min_sqnr_db = 30}));
    itg_trial t = trial(0, 0, 100, p22);
    t.score.value[ITG_METRIC_DISTORTION] = 0.01;
    assert_true(itg_objective_outcome(&o, &t).distortion == 0.01);
    t.score.stopped_at = 5;
    assert_true(itg_objective_outcome(&o, &t).distortion == -1);
    assert_true(fabs(itg_objective_outcome(&o, &t).quality - 0.2) < 1e-12);
}

static void costs_have_names_and_values(void **state)
{
    (void)state;
    itg_score s = {.value[ITG_METRIC_WEIGHT_BYTES] = 1,
                   .value[ITG_METRIC_BOPS] = 2,
                   .value[ITG_METRIC_CYCLES] = 3,
                   .value[ITG_METRIC_PEAK_ACTIVATION_BYTES] = 4,
                   .value[ITG_METRIC_PARAMETER_BYTES] = 5};
    const char *const names[] = {"size", "bops", "cycles", "ram", "flash"};
    for (int k = 0; k < 5; k++) {
        assert_string_equal(itg_metric_about((itg_metric)k)->goal, names[k]);
        assert_true(s.value[k] == k + 1);
    }
}

static void the_least_count_is_the_first_that_is_enough(void **state)
{
    (void)state;
    for (int64_t n = 1; n < 120; n++)
        for (int64_t right = 0; right <= n; right++) {
            double share = (double)right / (double)n;
            assert_int_equal(itg_least_count(n, share), right);
            assert_int_equal(itg_least_count(n, nextafter(share, 2)), right + 1);
            assert_int_equal(itg_least_count(n, nextafter(share, -1)), right);
        }
    assert_int_equal(itg_least_count(1000, INFINITY), 1001);
    assert_int_equal(itg_least_count(1000, -INFINITY), 0);
}

/* Over small numbers, so that ties abound. */
static void a_quality_below_the_racing_floor_changes_no_result(void **state)
{
    (void)state;
    itg_rng rng;
    int raced = 0, matters = 0;
    itg_rng_init(&rng, 1);
    for (int i = 0; i < 200000; i++) {
        itg_goal goal = goal_of((aim){.maximize_quality = itg_rng_below(&rng, 2) == 0,
                                      .max_drop = itg_rng_below(&rng, 3) == 0 ? -1 : 0.4});
        if (itg_rng_below(&rng, 2)) limit(&goal, ITG_METRIC_WEIGHT_BYTES, 5);
        if (itg_rng_below(&rng, 3) == 0) limit(&goal, ITG_METRIC_BOPS, 30);
        itg_objective o = make(goal);
        itg_trial best = trial((int64_t)itg_rng_below(&rng, 4) - 1,
                               (double)itg_rng_below(&rng, 11) / 10,
                               1 + (int64_t)itg_rng_below(&rng, 8), p40),
                  t = trial(9, 0, 1 + (int64_t)itg_rng_below(&rng, 8), p22);
        itg_race race = {&o, &best, {INFINITY, 1}, NULL};
        double floor = itg_race_floor(&race, &t.score);
        for (int q = 0; q <= 10; q++) {
            t.score.value[ITG_METRIC_TOP1] = (double)q / 10;
            bool counts = itg_objective_meets(&o, &t) || itg_objective_better(&o, &t, &best);
            if (t.score.value[ITG_METRIC_TOP1] >= floor) {
                matters += counts;
                continue;
            }
            raced++;
            assert_false(itg_objective_better(&o, &t, &best));
            if (itg_goal_drop(&goal) >= 0) assert_false(itg_objective_meets(&o, &t));
        }
        race.interest.floor = 0.25;
        assert_true(itg_race_floor(&race, &t.score) == (floor < 0.25 ? floor : 0.25));
    }
    assert_true(raced > 100000 && matters > 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drop_of_exactly_what_is_allowed_is_allowed),
        cmocka_unit_test(searchers_are_told_costs_or_shares),
        cmocka_unit_test(minimizing_takes_the_cheapest_above_the_floor),
        cmocka_unit_test(maximizing_takes_the_best_within_the_limits),
        cmocka_unit_test(ties_go_to_distortion_then_bits_then_the_earlier),
        cmocka_unit_test(the_nearest_exceeds_limits_least_then_loses_least),
        cmocka_unit_test(gains_are_measured_in_what_is_optimized),
        cmocka_unit_test(goals_without_numbers_are_refused),
        cmocka_unit_test(costs_have_names_and_values),
        cmocka_unit_test(a_ratio_is_in_decibels),
        cmocka_unit_test(a_floor_in_decibels_is_a_floor),
        cmocka_unit_test(the_most_distortion_lies_safely_below_the_floor),
        cmocka_unit_test(the_bound_of_a_stopped_trial_is_told_to_nobody),
        cmocka_unit_test(the_least_count_is_the_first_that_is_enough),
        cmocka_unit_test(a_quality_below_the_racing_floor_changes_no_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
