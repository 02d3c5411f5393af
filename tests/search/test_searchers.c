/* Every searcher on every toy: the optimum that trying all points gives, within a stated number of
 * evaluations, or, where a searcher cannot find it by design, what it finds instead.
 * docs/adding-a-searcher.md has the table. */
#include "toys.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define NO_LIMIT 1000000
#define SEED 0

/* Evaluations until the optimum was asked for, and until the searcher ended by itself. */
typedef struct bound {
    int64_t found_by, ended_by;
} bound;

static toy_result search(int toy_id, const char *searcher, int64_t budget)
{
    const itg_searcher_def *def = itg_searcher_find(searcher);
    assert_non_null(def);
    toy_result r = toy_search(&toys[toy_id], def, SEED, budget, TOY_TELL_ALL);
    assert_int_equal(r.status, ITG_OK);
    return r;
}

static void finds_the_optimum(int toy_id, const char *searcher, bound within)
{
    toy_result optimum = toy_optimum(&toys[toy_id]);
    toy_result r = search(toy_id, searcher, within.ended_by);
    if (optimum.found_at == 0) {
        assert_int_equal(r.found_at, 0);
    } else {
        assert_in_range(r.found_at, 1, within.found_by);
        assert_memory_equal(r.best, optimum.best, sizeof r.best);
    }
    /* It has ended: with more to spend, it asks for no more. */
    if (strcmp(searcher, "random") != 0)
        assert_int_equal(search(toy_id, searcher, NO_LIMIT).asked, r.asked);
}

/* What it finds instead, costing `cost`, which the optimum does not. */
static void finds_instead(int toy_id, const char *searcher, int64_t ended_by, double cost)
{
    toy_result optimum = toy_optimum(&toys[toy_id]);
    toy_result r = search(toy_id, searcher, NO_LIMIT);
    assert_in_range(r.asked, 1, ended_by);
    assert_true(r.found_at > 0);
    assert_true(r.outcome.cost > cost - 1e-9 && r.outcome.cost < cost + 1e-9);
    assert_true(memcmp(r.best, optimum.best, sizeof r.best) != 0);
}

/* ---- greedy ---- */

static void greedy_convex(void **state)
{
    (void)state;
    finds_the_optimum(TOY_CONVEX, "greedy", (bound){70, 110});
}
static void greedy_coarse_stays_a_margin_above_the_floor(void **state)
{
    (void)state;
    finds_instead(TOY_COARSE, "greedy", 90, 2590); /* 2570 is the optimum, on the floor itself */
}
static void greedy_deceptive(void **state)
{
    (void)state;
    finds_the_optimum(TOY_DECEPTIVE, "greedy", (bound){130, 170});
}
static void greedy_infeasible(void **state)
{
    (void)state;
    finds_the_optimum(TOY_INFEASIBLE, "greedy", (bound){60, 90});
}
static void greedy_unordered(void **state)
{
    (void)state;
    finds_the_optimum(TOY_UNORDERED, "greedy", (bound){60, 80});
}
static void greedy_one_dimension(void **state)
{
    (void)state;
    finds_the_optimum(TOY_ONE_DIMENSION, "greedy", (bound){4, 10});
}
static void greedy_only_widest(void **state)
{
    (void)state;
    finds_the_optimum(TOY_ONLY_WIDEST, "greedy", (bound){1, 40});
}
static void greedy_nothing(void **state)
{
    (void)state;
    finds_the_optimum(TOY_NOTHING, "greedy", (bound){0, 8});
}
static void greedy_maximize(void **state)
{
    (void)state;
    finds_the_optimum(TOY_MAXIMIZE, "greedy", (bound){40, 70});
}

/* Distortions of a share of the samples, of another size than those of all, lead to as good a
 * point, and fewer points are asked for by all. */
static void greedy_finds_as_much_by_a_share_of_the_samples(void **state)
{
    const itg_searcher_def *def = itg_searcher_find("greedy");
    int64_t fine = 0, asked = 0, asked_all = 0;
    (void)state;
    for (int i = 0; i < TOY_COUNT; i++) {
        const toy *t = &toys[i];
        const toy_result all = toy_search(t, def, SEED, NO_LIMIT, TOY_TELL_ALL),
                         r = toy_search(t, def, SEED, NO_LIMIT, TOY_TELL_SHARES);
        assert_int_equal(r.status, ITG_OK);
        assert_int_equal(r.found_at > 0, all.found_at > 0);
        assert_true(r.outcome.cost <= all.outcome.cost);
        assert_int_equal(all.asked_all, all.asked);
        if (r.asked_all == r.asked) continue; /* its distortion is not known */
        fine++;
        asked += all.asked;
        asked_all += r.asked_all;
    }
    assert_true(fine >= 4 && 4 * asked_all < 3 * asked);
}

/* Told what does not fit together, it finds what does. */
static void greedy_paired(void **state)
{
    (void)state;
    finds_the_optimum(TOY_PAIRED, "greedy", (bound){40, 50});
}
static void greedy_unexplained(void **state)
{
    (void)state;
    finds_the_optimum(TOY_UNEXPLAINED, "greedy", (bound){40, 60});
}
static void greedy_wrapped(void **state)
{
    (void)state;
    finds_instead(TOY_WRAPPED, "greedy", 80, 2200); /* the optimum: 2000 */
}

/* ---- hago-greedy: one pass, group by group ---- */

static void hago_greedy_convex(void **state)
{
    (void)state;
    finds_the_optimum(TOY_CONVEX, "hago-greedy", (bound){20, 24});
}
static void hago_greedy_coarse(void **state)
{
    (void)state;
    finds_the_optimum(TOY_COARSE, "hago-greedy", (bound){20, 24});
}
static void hago_greedy_deceptive_ends_in_the_trap(void **state)
{
    (void)state;
    finds_instead(TOY_DECEPTIVE, "hago-greedy", 12, 148); /* the optimum: 112 */
}
static void hago_greedy_infeasible_begins_where_it_can(void **state)
{
    (void)state;
    finds_instead(TOY_INFEASIBLE, "hago-greedy", 15, 3100); /* the optimum: 2570 */
}
static void hago_greedy_unordered_leaves_methods_alone(void **state)
{
    (void)state;
    finds_instead(TOY_UNORDERED, "hago-greedy", 6, 980); /* the optimum: 540 */
}
static void hago_greedy_one_dimension(void **state)
{
    (void)state;
    finds_the_optimum(TOY_ONE_DIMENSION, "hago-greedy", (bound){4, 6});
}
static void hago_greedy_only_widest(void **state)
{
    (void)state;
    finds_the_optimum(TOY_ONLY_WIDEST, "hago-greedy", (bound){1, 10});
}
static void hago_greedy_nothing(void **state)
{
    (void)state;
    finds_the_optimum(TOY_NOTHING, "hago-greedy", (bound){0, 12});
}
static void hago_greedy_maximize_stops_where_the_limit_is_met(void **state)
{
    (void)state;
    finds_instead(TOY_MAXIMIZE, "hago-greedy", 12, 0.944); /* the optimum uses all of the limit */
    assert_true(search(TOY_MAXIMIZE, "hago-greedy", NO_LIMIT).outcome.quality <
                toy_optimum(&toys[TOY_MAXIMIZE]).outcome.quality);
}

static void hago_greedy_paired(void **state)
{
    (void)state;
    finds_the_optimum(TOY_PAIRED, "hago-greedy", (bound){26, 30});
}
static void hago_greedy_unexplained(void **state)
{
    (void)state;
    finds_instead(TOY_UNEXPLAINED, "hago-greedy", 15, 2400); /* the optimum: 2000 */
}
static void hago_greedy_wrapped(void **state)
{
    (void)state;
    finds_instead(TOY_WRAPPED, "hago-greedy", 25, 2400); /* the optimum: 2000 */
}

/* ---- allocate ---- */

static void allocate_is_quick_where_losses_add_up(void **state)
{
    (void)state;
    finds_the_optimum(TOY_CONVEX, "allocate", (bound){30, 45});
    finds_the_optimum(TOY_COARSE, "allocate", (bound){30, 45});
    finds_the_optimum(TOY_ONE_DIMENSION, "allocate", (bound){7, 10});
    finds_the_optimum(TOY_ONLY_WIDEST, "allocate", (bound){1, 40});
    finds_the_optimum(TOY_NOTHING, "allocate", (bound){0, 40});
    finds_the_optimum(TOY_MAXIMIZE, "allocate", (bound){30, 45});
    finds_the_optimum(TOY_PAIRED, "allocate", (bound){40, 45});
}

static void allocate_misses_what_no_sum_of_terms_says(void **state)
{
    (void)state;
    finds_instead(TOY_DECEPTIVE, "allocate", 60, 148);    /* the optimum: 112 */
    finds_instead(TOY_INFEASIBLE, "allocate", 50, 2620);  /* the optimum: 2570 */
    finds_instead(TOY_UNORDERED, "allocate", 30, 980);    /* the optimum: 540 */
    finds_instead(TOY_UNEXPLAINED, "allocate", 20, 2400); /* the optimum: 2000 */
    finds_instead(TOY_WRAPPED, "allocate", 30, 2400);     /* the optimum: 2000 */
}

/* ---- hybrid ---- */

static void hybrid_finds_what_its_parts_find_alone(void **state)
{
    (void)state;
    static const bound within[TOY_COUNT] = {
        [TOY_CONVEX] = {50, 85},      [TOY_COARSE] = {35, 75},    [TOY_DECEPTIVE] = {55, 90},
        [TOY_INFEASIBLE] = {45, 80},  [TOY_UNORDERED] = {80, 90}, [TOY_ONE_DIMENSION] = {4, 12},
        [TOY_ONLY_WIDEST] = {1, 50},  [TOY_NOTHING] = {0, 26},    [TOY_PAIRED] = {25, 55},
        [TOY_UNEXPLAINED] = {40, 55}, [TOY_WRAPPED] = {50, 80}};
    for (int i = 0; i < TOY_COUNT; i++)
        if (i != TOY_MAXIMIZE) finds_the_optimum(i, "hybrid", within[i]);
}

static void hybrid_ends_early_within_a_limit(void **state)
{
    (void)state;
    toy_result optimum = toy_optimum(&toys[TOY_MAXIMIZE]);
    toy_result r = search(TOY_MAXIMIZE, "hybrid", NO_LIMIT);
    assert_in_range(r.asked, 1, 30);
    assert_true(r.outcome.cost <= 1);
    assert_true(r.outcome.quality > optimum.outcome.quality - 0.003);
}

/* ---- surrogate ---- */

static void surrogate_learns_from_points_of_any_kind(void **state)
{
    (void)state;
    finds_the_optimum(TOY_CONVEX, "surrogate", (bound){80, 130});
    finds_the_optimum(TOY_COARSE, "surrogate", (bound){40, 95});
    finds_the_optimum(TOY_ONE_DIMENSION, "surrogate", (bound){4, 10});
    finds_the_optimum(TOY_ONLY_WIDEST, "surrogate", (bound){1, 60});
    finds_the_optimum(TOY_NOTHING, "surrogate", (bound){0, 60});
    finds_the_optimum(TOY_MAXIMIZE, "surrogate", (bound){45, 100});
    finds_the_optimum(TOY_PAIRED, "surrogate", (bound){25, 50});
}

static void surrogate_misses_what_no_sum_of_terms_says(void **state)
{
    (void)state;
    finds_instead(TOY_DECEPTIVE, "surrogate", 100, 152);   /* the optimum: 112 */
    finds_instead(TOY_INFEASIBLE, "surrogate", 100, 2620); /* the optimum: 2570 */
    finds_instead(TOY_UNORDERED, "surrogate", 40, 980);    /* the optimum: 540 */
    finds_instead(TOY_UNEXPLAINED, "surrogate", 25, 2400); /* the optimum: 2000 */
    finds_instead(TOY_WRAPPED, "surrogate", 35, 2400);     /* the optimum: 2000 */
}

/* ---- anneal, random, exhaustive: a bound for all toys ---- */

static void anneal_finds_all_within_its_schedule(void **state)
{
    (void)state;
    for (int i = 0; i < TOY_COUNT; i++)
        finds_the_optimum(i, "anneal", (bound){400, 689});
}

static void random_finds_all_within_four_times_the_points(void **state)
{
    (void)state;
    for (int i = 0; i < TOY_COUNT; i++) {
        int64_t points = toy_optimum(&toys[i]).asked;
        finds_the_optimum(i, "random", (bound){4 * points, 4 * points});
    }
}

static void exhaustive_finds_all_with_each_point_once(void **state)
{
    (void)state;
    for (int i = 0; i < TOY_COUNT; i++) {
        int64_t points = toy_optimum(&toys[i]).asked;
        finds_the_optimum(i, "exhaustive", (bound){points, points});
        assert_int_equal(search(i, "exhaustive", NO_LIMIT).asked, points);
    }
}

/* ---- sensitivity ---- */

enum { ALONE_MOST = 32 };

/* All points that sensitivity asks for; returns how many. */
static int ask_all(const itg_search_space *space, int32_t points[ALONE_MOST][TOY_DIMS])
{
    const itg_searcher_def *def = itg_searcher_find("sensitivity");
    const itg_searcher_options options = {.quality_floor = 0};
    void *memory = calloc(1, def->state_size);
    int count = 0;
    itg_interest interest = ITG_INTEREST_ALL;
    assert_non_null(memory);
    assert_int_equal(def->init(memory, space, &options, NULL), ITG_OK);
    while (def->ask(memory, NULL, points[count], &interest) == ITG_OK) {
        assert_true(interest.floor == -INFINITY &&
                    interest.share == 1); /* nothing is all the same to it */
        assert_in_range(++count, 1, ALONE_MOST - 1);
    }
    def->deinit(memory);
    free(memory);
    return count;
}

static void sensitivity_tries_each_width_alone_and_methods_with_their_width(void **state)
{
    static const int32_t widths[] = {2, 4, 8}, methods[] = {0, 1};
    static const itg_dim dims[] = {{3, widths, true, 1, 3}, /* its method is dimension 2 */
                                   {2, widths, true, 1, 0},
                                   {2, methods, false, 0, 0},
                                   {2, methods, false, 0, 0}}; /* of a group of one width */
    static const int32_t expected[][TOY_DIMS] = {{2, 1, 0, 0}, {2, 1, 1, 0}, {1, 1, 0, 0},
                                                 {1, 1, 1, 0}, {0, 1, 0, 0}, {0, 1, 1, 0},
                                                 {2, 0, 0, 0}, {2, 1, 0, 1}};
    const itg_search_space space = {4, dims};
    int32_t points[ALONE_MOST][TOY_DIMS];
    (void)state;
    assert_int_equal(ask_all(&space, points), sizeof expected / sizeof *expected);
    assert_memory_equal(points, expected, sizeof expected);
}

/* ---- all searchers ---- */

static void what_lies_below_the_racing_floor_changes_nothing(void **state)
{
    (void)state;
    for (int k = 0; itg_searcher_at(k); k++)
        for (int i = 0; i < TOY_COUNT; i++)
            for (uint64_t seed = 0; seed < 12; seed++) {
                const itg_searcher_def *def = itg_searcher_at(k);
                toy_racing lies = (toy_racing)(TOY_TELL_RACED + (int)seed);
                toy_result all = toy_search(&toys[i], def, seed / 4, 3000, TOY_TELL_ALL),
                           raced = toy_search(&toys[i], def, seed / 4, 3000, lies);
                if (all.asked != raced.asked || all.trace != raced.trace)
                    fail_msg("%s on %s", def->name, toys[i].name);
            }
}

static void a_smaller_budget_asks_for_a_prefix(void **state)
{
    (void)state;
    for (int k = 0; itg_searcher_at(k); k++)
        for (int64_t budget = 1; budget < 40; budget++) {
            toy_result some =
                toy_search(&toys[TOY_CONVEX], itg_searcher_at(k), 5, budget, TOY_TELL_ALL);
            toy_result all = toy_search(&toys[TOY_CONVEX], itg_searcher_at(k), 5, 40, TOY_TELL_ALL);
            assert_true(some.asked <= budget);
            assert_true(all.found_at > some.asked || some.found_at == all.found_at);
        }
}

static void the_first_point_is_the_widest(void **state)
{
    (void)state;
    const int32_t widest[TOY_DIMS] = {8, 8, 8, 8};
    for (int k = 0; itg_searcher_at(k); k++) {
        toy_result r = toy_search(&toys[TOY_CONVEX], itg_searcher_at(k), 9, 1, TOY_TELL_ALL);
        assert_int_equal(r.asked, 1);
        assert_memory_equal(r.best, widest, sizeof widest);
    }
}

static void exhaustive_refuses_a_large_space_and_says_its_size(void **state)
{
    (void)state;
    static const int32_t values[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    itg_dim dims[7];
    for (int d = 0; d < 7; d++)
        dims[d] = (itg_dim){10, values, true, 1, 0};
    itg_search_space fits = {6, dims}, large = {7, dims};
    const itg_searcher_def *def = itg_searcher_find("exhaustive");
    itg_searcher_options options = {.quality_floor = 0};
    itg_error err = {0};
    void *memory = calloc(1, def->state_size);
    itg_searcher_defaults(def, options.parameters);
    assert_int_equal(def->init(memory, &fits, &options, NULL), ITG_OK);
    def->deinit(memory);
    memset(memory, 0, def->state_size);
    assert_int_equal(def->init(memory, &large, &options, &err), ITG_LIMIT);
    def->deinit(memory);
    assert_non_null(strstr(err.message, "at most 1000000 points"));
    assert_non_null(strstr(err.message, "10000000"));
    free(memory);
}

static void hybrid_is_the_default_and_all_are_found_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {"hybrid", "greedy",      "surrogate",  "allocate",
                                        "anneal", "hago-greedy", "random",     "exhaustive",
                                        "sweep",  "evolve",      "sensitivity"};
    assert_string_equal(itg_searcher_at(0)->name, "hybrid");
    for (int i = 0; i < 11; i++) {
        assert_string_equal(itg_searcher_at(i)->name, names[i]);
        assert_ptr_equal(itg_searcher_find(names[i]), itg_searcher_at(i));
    }
    assert_null(itg_searcher_at(11));
    assert_null(itg_searcher_at(-1));
    assert_null(itg_searcher_find("nonsense"));
}

static void a_space_without_dimensions_has_one_point(void **state)
{
    (void)state;
    toy none = toys[TOY_NOTHING];
    none.dim_count = 0;
    for (int k = 0; itg_searcher_at(k); k++) {
        if (strcmp(itg_searcher_at(k)->name, "random") == 0) continue; /* asks again and again */
        toy_result r = toy_search(&none, itg_searcher_at(k), 0, 100, TOY_TELL_ALL);
        assert_int_equal(r.status, ITG_OK);
        assert_int_equal(r.asked, 1);
    }
}

/* ---- parameters ---- */

static void a_text_chooses_a_searcher_and_its_parameters(void **state)
{
    const itg_searcher_def *def = NULL;
    double p[ITG_MOST_PARAMETERS] = {0};
    itg_error err = {0};
    (void)state;
    assert_int_equal(itg_searcher_parse("", &def, p, &err), ITG_OK);
    assert_ptr_equal(def, itg_searcher_at(0));
    assert_int_equal(itg_searcher_parse("anneal:levels=3,t0=.25", &def, p, &err), ITG_OK);
    assert_string_equal(def->name, "anneal");
    for (int i = 0; def->parameters[i].name; i++) {
        const itg_searcher_parameter *q = &def->parameters[i];
        bool t0 = strcmp(q->name, "t0") == 0, levels = strcmp(q->name, "levels") == 0;
        assert_true(p[i] == (t0 ? 0.25 : levels ? 3 : q->value));
    }
}

static void bad_parameters_are_refused_with_what_is_expected(void **state)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"zebra", "'zebra'"},
        {"anneal:", "no parameter ''; it has t0, t1, cooling"},
        {"anneal:heat=1", "no parameter 'heat'; it has t0, t1, cooling"},
        {"random:t0=1", "random has no parameter 't0'; it has none"},
        {"anneal:t0", "t0: expected t0=a number"},
        {"anneal:t0=", "expected t0=a number from 1e-09 to 1000000000"},
        {"anneal:t0=1x", "expected t0=a number"},
        {"anneal:t0=-1", "expected t0=a number"},
        {"anneal:t0=nan", "expected t0=a number"},
        {"anneal:cooling=1", "expected cooling=a number from 0.001 to 0.999999"},
        {"anneal:levels=1.5", "expected levels=an integer from 1 to 32"},
        {"anneal:t0=1,", "no parameter ''"},
        {"anneal:t0=1.00000000000000000000000000000000000000000000000000000000000000000000000000"
         "0000000000000000000000000000000000000000000000000",
         "more than 127 characters"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        itg_error err = {0};
        assert_int_not_equal(itg_searcher_check(cases[i].text, &err), ITG_OK);
        if (!strstr(err.message, cases[i].said)) fail_msg("%s: %s", cases[i].text, err.message);
    }
}

/* 0.5 * 0.5^n falls below 0.0005 after 10 proposals; greedy's and others' defaults are valid. */
static void parameters_change_the_search(void **state)
{
    const itg_searcher_def *def = NULL;
    toy t = toys[TOY_CONVEX];
    (void)state;
    assert_int_equal(itg_searcher_parse("anneal:cooling=0.5", &def, t.options.parameters, NULL),
                     ITG_OK);
    assert_int_equal(toy_search(&t, def, 0, 1000, TOY_TELL_ALL).asked, 11);
    assert_int_equal(itg_searcher_parse("exhaustive:points=2400", &def, t.options.parameters, NULL),
                     ITG_OK);
    assert_int_equal(toy_search(&t, def, 0, 10000, TOY_TELL_ALL).status, ITG_LIMIT);
    for (int i = 0; i < itg_searcher_count(); i++) {
        const itg_searcher_parameter *p = itg_searcher_at(i)->parameters;
        for (int k = 0; p && p[k].name; k++) {
            assert_true(k < ITG_MOST_PARAMETERS && p[k].min <= p[k].value);
            assert_true(p[k].value <= p[k].max && itg_searcher_parameter_at(i, k) == &p[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greedy_convex),
        cmocka_unit_test(greedy_coarse_stays_a_margin_above_the_floor),
        cmocka_unit_test(greedy_deceptive),
        cmocka_unit_test(greedy_infeasible),
        cmocka_unit_test(greedy_unordered),
        cmocka_unit_test(greedy_one_dimension),
        cmocka_unit_test(greedy_only_widest),
        cmocka_unit_test(greedy_nothing),
        cmocka_unit_test(greedy_maximize),
        cmocka_unit_test(greedy_finds_as_much_by_a_share_of_the_samples),
        cmocka_unit_test(greedy_paired),
        cmocka_unit_test(greedy_unexplained),
        cmocka_unit_test(greedy_wrapped),
        cmocka_unit_test(hago_greedy_paired),
        cmocka_unit_test(hago_greedy_unexplained),
        cmocka_unit_test(hago_greedy_wrapped),
        cmocka_unit_test(hago_greedy_convex),
        cmocka_unit_test(hago_greedy_coarse),
        cmocka_unit_test(hago_greedy_deceptive_ends_in_the_trap),
        cmocka_unit_test(hago_greedy_infeasible_begins_where_it_can),
        cmocka_unit_test(hago_greedy_unordered_leaves_methods_alone),
        cmocka_unit_test(hago_greedy_one_dimension),
        cmocka_unit_test(hago_greedy_only_widest),
        cmocka_unit_test(hago_greedy_nothing),
        cmocka_unit_test(hago_greedy_maximize_stops_where_the_limit_is_met),
        cmocka_unit_test(allocate_is_quick_where_losses_add_up),
        cmocka_unit_test(allocate_misses_what_no_sum_of_terms_says),
        cmocka_unit_test(hybrid_finds_what_its_parts_find_alone),
        cmocka_unit_test(hybrid_ends_early_within_a_limit),
        cmocka_unit_test(surrogate_learns_from_points_of_any_kind),
        cmocka_unit_test(surrogate_misses_what_no_sum_of_terms_says),
        cmocka_unit_test(a_text_chooses_a_searcher_and_its_parameters),
        cmocka_unit_test(bad_parameters_are_refused_with_what_is_expected),
        cmocka_unit_test(parameters_change_the_search),
        cmocka_unit_test(anneal_finds_all_within_its_schedule),
        cmocka_unit_test(random_finds_all_within_four_times_the_points),
        cmocka_unit_test(exhaustive_finds_all_with_each_point_once),
        cmocka_unit_test(sensitivity_tries_each_width_alone_and_methods_with_their_width),
        cmocka_unit_test(what_lies_below_the_racing_floor_changes_nothing),
        cmocka_unit_test(a_smaller_budget_asks_for_a_prefix),
        cmocka_unit_test(the_first_point_is_the_widest),
        cmocka_unit_test(exhaustive_refuses_a_large_space_and_says_its_size),
        cmocka_unit_test(hybrid_is_the_default_and_all_are_found_by_name),
        cmocka_unit_test(a_space_without_dimensions_has_one_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
