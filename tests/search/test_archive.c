/* The archive against brute force. */
#include "search/archive.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 60 };

static bool no_worse(const double *a, const double *b, int k)
{
    for (int i = 0; i < k; i++)
        if (a[i] > b[i]) return false;
    return true;
}

/* Point i is on the front of the first n: nothing dominates it, and nothing earlier equals it. */
static bool on_front(double points[][ITG_MOST_OBJECTIVES], int n, int k, int i)
{
    for (int j = 0; j < n; j++)
        if (j != i && no_worse(points[j], points[i], k) &&
            (!no_worse(points[i], points[j], k) || j < i))
            return false;
    return true;
}

static void it_keeps_what_brute_force_keeps(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 1);
    for (int round = 0; round < 400; round++) {
        double points[MOST][ITG_MOST_OBJECTIVES];
        int k = 1 + round % ITG_MOST_OBJECTIVES;
        itg_archive archive = {.objective_count = k};
        for (int n = 0; n < MOST; n++) {
            int32_t point[1] = {n};
            itg_trial trial = {.index = n, .point = point, .dim_count = 1};
            for (int i = 0; i < ITG_MOST_OBJECTIVES; i++)
                points[n][i] = (double)itg_rng_below(&rng, 7);
            double least = INFINITY;
            int which = n % k;
            bool covered = false;
            for (int j = 0; j < n; j++) {
                double others[ITG_MOST_OBJECTIVES];
                covered = covered || no_worse(points[j], points[n], k);
                memcpy(others, points[j], sizeof others);
                others[which] = points[n][which];
                if (no_worse(others, points[n], k) && points[j][which] < least)
                    least = points[j][which];
            }
            assert_int_equal(itg_archive_covers(&archive, points[n]), covered);
            assert_true(itg_archive_least(&archive, points[n], which) == least);
            assert_int_equal(itg_archive_add(&archive, points[n], &trial, NULL), ITG_OK);
            int found = 0;
            for (int i = 0; i <= n; i++) {
                if (!on_front(points, n + 1, k, i)) continue;
                assert_true(found < archive.count);
                assert_int_equal(archive.entries[found].trial.index, i);
                assert_int_equal(archive.entries[found].trial.point[0], i);
                found++;
            }
            assert_int_equal(found, archive.count);
        }
        itg_archive_deinit(&archive);
        assert_int_equal(archive.count, 0);
    }
}

static void what_is_not_known_covers_nothing(void **state)
{
    (void)state;
    itg_archive archive = {.objective_count = 2};
    const int32_t point[] = {0};
    const itg_trial trial = {.point = point, .dim_count = 1};
    const double unknown[] = {1, NAN}, known[] = {2, 2};
    assert_int_equal(itg_archive_add(&archive, known, &trial, NULL), ITG_OK);
    assert_false(itg_archive_covers(&archive, unknown));
    itg_archive_deinit(&archive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_keeps_what_brute_force_keeps),
        cmocka_unit_test(what_is_not_known_covers_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
