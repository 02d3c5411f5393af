/* Searchers that are told where to begin, on spaces whose optimum is known. */
#include "toys.h"
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#define NO_LIMIT 1000000
#define SEED 0

static void a_start_is_asked_for_first_or_behind_the_widest(void **state)
{
    static const int32_t start[TOY_DIMS] = {3, 1, 4, 2};
    int taken = 0;
    (void)state;
    for (int k = 0; itg_searcher_at(k); k++) {
        const itg_searcher_def *def = itg_searcher_at(k);
        toy t = toys[TOY_CONVEX];
        t.options.start = start;
        toy_result without = toy_search(&toys[TOY_CONVEX], def, 0, 100, TOY_TELL_ALL);
        toy_result with = toy_search(&t, def, 0, 100, TOY_TELL_ALL);
        toy_result again = toy_search(&t, def, 0, 100, TOY_TELL_ALL);
        assert_true(with.trace == again.trace);
        taken += def->takes_start;
        if (!def->takes_start) continue;
        if (with.trace == without.trace) fail_msg("%s: the start makes no difference", def->name);
        toy any = t; /* all points are good: the best of the first ones is the start */
        any.options.quality_floor = -100;
        static const int32_t values[TOY_DIMS] = {5, 3, 6, 4};
        toy_result one = toy_search(&any, def, 0, 1, TOY_TELL_ALL);
        toy_result two = toy_search(&any, def, 0, 2, TOY_TELL_ALL);
        if (memcmp(one.best, values, sizeof values) != 0 &&
            memcmp(two.best, values, sizeof values) != 0)
            fail_msg("%s", def->name);
    }
    assert_int_equal(taken, 9);
}

/* Near the optimum, the searches that go on from a point need fewer evaluations than from the
 * widest. */
static void a_start_near_the_optimum_is_a_short_way(void **state)
{
    static const char *const names[] = {"greedy", "hago-greedy", "anneal"};
    toy_result optimum = toy_optimum(&toys[TOY_CONVEX]);
    int32_t start[TOY_DIMS];
    (void)state;
    for (int d = 0; d < TOY_DIMS; d++)
        start[d] = optimum.best[d] - 2 + (d == 1);
    for (int k = 0; k < 3; k++) {
        toy t = toys[TOY_CONVEX];
        t.options.start = start;
        toy_result without = toy_search(&toys[TOY_CONVEX], itg_searcher_find(names[k]), SEED,
                                        NO_LIMIT, TOY_TELL_ALL);
        toy_result with = toy_search(&t, itg_searcher_find(names[k]), SEED, NO_LIMIT, TOY_TELL_ALL);
        assert_memory_equal(with.best, optimum.best, sizeof optimum.best);
        if (with.found_at >= without.found_at)
            fail_msg("%s: %d, without %d", names[k], (int)with.found_at, (int)without.found_at);
    }
}

/* A start below the floor: the way from it is up, half of what is left each time. */
static void a_start_that_is_not_good_enough_is_raised(void **state)
{
    static const int32_t start[TOY_DIMS] = {0, 0, 0, 0};
    (void)state;
    for (int i = 0; i < TOY_COUNT; i++) {
        toy t = toys[i];
        t.options.start = start;
        toy_result r = toy_search(&t, itg_searcher_find("greedy"), SEED, NO_LIMIT, TOY_TELL_ALL);
        assert_int_equal(r.status, ITG_OK);
        if (i == TOY_CONVEX || i == TOY_COARSE || i == TOY_PAIRED)
            assert_memory_equal(r.best, toy_optimum(&t).best, sizeof r.best);
        assert_int_equal(r.found_at > 0, toy_optimum(&t).found_at > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_is_asked_for_first_or_behind_the_widest),
        cmocka_unit_test(a_start_near_the_optimum_is_a_short_way),
        cmocka_unit_test(a_start_that_is_not_good_enough_is_raised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
