/* What greedy stands on: sums of terms that are learned, and the distortion that may be had; and
 * the searcher of the last round. */
#include "search/additive.h"
#include "search/candidates.h"
#include "search/history.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const int32_t widths[] = {2, 3, 4, 5, 6, 7, 8};
static const int32_t top[] = {6, 6, 6};
#define DIMS 3

static double truth(const int32_t *levels)
{
    double sum = 0;
    for (int d = 0; d < DIMS; d++)
        sum += (d + 1) * (6 - levels[d]) * (6 - levels[d]);
    return sum;
}

static itg_search_space make_space(itg_dim *dims)
{
    for (int d = 0; d < DIMS; d++)
        dims[d] = (itg_dim){7, widths, true, 1, 0};
    return (itg_search_space){DIMS, dims};
}

static void make_model(itg_additive *m, const itg_search_space *space)
{
    assert_int_equal(itg_additive_init(m, space, top, NULL), ITG_OK);
    for (int d = 0; d < DIMS; d++) {
        for (int l = 0; l < 7; l++)
            *itg_additive_prior(m, d, l) = (6 - l) * (6 - l);
        itg_additive_reset(m, d);
    }
}

static double predict(const itg_additive *m, const int32_t *levels)
{
    double sum = 0;
    for (int d = 0; d < DIMS; d++)
        sum += itg_additive_step(m, d, top[d], levels[d]);
    return sum;
}

static void one_probe_a_dimension_teaches_a_sum_whose_prior_is_right(void **state)
{
    (void)state;
    itg_dim dims[DIMS];
    itg_search_space space = make_space(dims);
    itg_additive m;
    make_model(&m, &space);
    for (int d = 0; d < DIMS; d++) {
        int32_t to[] = {6, 6, 6};
        to[d] = 3;
        assert_false(itg_additive_knows(&m, d, 3));
        itg_additive_learn(&m, top, to, truth(to));
        assert_true(itg_additive_knows(&m, d, 3));
        assert_false(itg_additive_knows(&m, d, 2));
    }
    for (int i = 0; i < 343; i++) {
        int32_t at[] = {i % 7, i / 7 % 7, i / 49};
        assert_true(fabs(predict(&m, at) - truth(at)) < 1e-9);
    }
    itg_additive_deinit(&m);
}

static void what_two_changes_do_together_is_put_on_the_one_that_is_not_known(void **state)
{
    (void)state;
    itg_dim dims[DIMS];
    itg_search_space space = make_space(dims);
    itg_additive m;
    make_model(&m, &space);
    const int32_t one[] = {3, 6, 6}, two[] = {3, 2, 6};
    itg_additive_learn(&m, top, one, 10);
    itg_additive_learn(&m, top, two, 70);
    assert_true(fabs(itg_additive_step(&m, 0, 6, 3) - 10) < 1e-12);
    assert_true(fabs(itg_additive_step(&m, 1, 6, 2) - 60) < 1e-12);
    /* Both known now: what is left over is shared by size. */
    itg_additive_learn(&m, top, two, 140);
    assert_true(fabs(itg_additive_step(&m, 0, 6, 3) - 20) < 1e-12);
    assert_true(fabs(itg_additive_step(&m, 1, 6, 2) - 120) < 1e-12);
    itg_additive_deinit(&m);
}

static void a_level_that_cannot_be_run_is_remembered_and_no_other_blamed(void **state)
{
    (void)state;
    itg_dim dims[DIMS];
    itg_search_space space = make_space(dims);
    itg_additive m;
    make_model(&m, &space);
    const int32_t alone[] = {0, 6, 6}, both[] = {6, 0, 0};
    itg_additive_learn(&m, top, alone, INFINITY);
    itg_additive_learn(&m, top, both, INFINITY);
    assert_true(itg_additive_step(&m, 0, 6, 0) == INFINITY);
    assert_true(itg_additive_step(&m, 1, 6, 0) < INFINITY);
    assert_true(itg_additive_step(&m, 2, 6, 0) < INFINITY);
    assert_true(itg_additive_step(&m, 0, 6, 1) < INFINITY);
    itg_additive_deinit(&m);
}

/* ---- history ---- */

static void tell(itg_history *h, int32_t number, double quality, double distortion)
{
    itg_outcome o = {.feasible = true, .quality = quality, .distortion = distortion};
    assert_int_equal(itg_history_add(h, &number, &o), ITG_OK);
}

static double cap_of(const itg_history *h, double margin, double *unexplained)
{
    double cap = 0;
    assert_int_equal(itg_history_distortion_cap(h, 0.8, 0.5, margin, &cap, unexplained), ITG_OK);
    return cap;
}

static void the_cap_lies_between_what_reaches_the_floor_and_what_does_not(void **state)
{
    (void)state;
    itg_history h = itg_history_of(1);
    double unexplained;
    tell(&h, 0, 0.9, 1);
    tell(&h, 1, 0.85, 2);
    assert_true(cap_of(&h, 0, &unexplained) == INFINITY);
    tell(&h, 2, 0.7, 3);
    assert_true(cap_of(&h, 0, &unexplained) == 2.5);
    assert_true(unexplained == 0);
    tell(&h, 3, 0.3, 2.2); /* hopeless: left out */
    tell(&h, 4, 0.3, -1);  /* no distortion */
    assert_true(cap_of(&h, 0, &unexplained) == 2.5);
    itg_point_map_deinit(&h);
}

static void a_lucky_point_does_not_move_the_cap(void **state)
{
    (void)state;
    itg_history h = itg_history_of(1);
    double unexplained;
    tell(&h, 0, 0.9, 1);
    tell(&h, 1, 0.7, 2);
    tell(&h, 2, 0.82, 3); /* pooled with the one before: 0.76 */
    tell(&h, 3, 0.6, 4);
    assert_true(cap_of(&h, 0, &unexplained) == 1.5);
    /* Four points, three pools, one of them spread by 0.06 about its mean. */
    assert_true(fabs(unexplained - sqrt(2 * 0.06 * 0.06)) < 1e-12);
    assert_true(cap_of(&h, 1.1, &unexplained) == 1.5);
    assert_true(cap_of(&h, 1.2, &unexplained) == -1); /* 0.8 + 1.2 * 0.0849 > 0.9 */
    itg_point_map_deinit(&h);
}

static void points_are_found_again(void **state)
{
    (void)state;
    itg_history h = itg_history_of(1);
    for (int32_t i = 0; i < 200; i++)
        tell(&h, i, i, 0);
    for (int32_t i = 0; i < 200; i++)
        assert_true(itg_history_at(&h, itg_point_map_find(&h, &i))->quality == i);
    int32_t absent = 200;
    assert_int_equal(itg_point_map_find(&h, &absent), -1);
    tell(&h, 7, 0.5, 0); /* again: both are kept, the first is found */
    assert_int_equal(h.count, 201);
    absent = 7;
    assert_int_equal(itg_point_map_find(&h, &absent), 7);
    assert_true(itg_history_at(&h, 200)->quality == 0.5);
    itg_point_map_deinit(&h);
}

/* ---- cheaper ---- */

#define EARLIER 48

/* Point i: level i of the only dimension, of cost i. Levels beyond `good` reached the floor. Told
 * in another order, with points that are no candidates among them. */
typedef struct earlier {
    int32_t levels[EARLIER];
    itg_told told[EARLIER];
    int64_t count;
} earlier;

static void tell_of(earlier *e, int32_t level, double distortion, double quality)
{
    e->levels[e->count] = level;
    e->told[e->count] =
        (itg_told){&e->levels[e->count],
                   {.feasible = true, .cost = level, .quality = quality, .distortion = distortion}};
    e->count++;
}

/* Bisects with own codes that reach the floor from level `reaches` on; returns the least level
 * that did, and checks that no other kind of point is asked for. */
static int32_t bisect(const earlier *e, int32_t reaches, int32_t *asks)
{
    const itg_searcher_def *def = &itg_searcher_cheaper;
    const itg_dim dim = {16, NULL, true, 1, 0};
    const itg_search_space space = {1, &dim};
    const itg_searcher_options options = {
        .quality_floor = 0.5, .past = e->told, .past_count = e->count};
    void *state = calloc(1, def->state_size);
    int32_t level = 0, least = 99;
    itg_interest interest = ITG_INTEREST_ALL;
    *asks = 0;
    assert_int_equal(def->init(state, &space, &options, NULL), ITG_OK);
    while (def->ask(state, NULL, &level, &interest) == ITG_OK) {
        int32_t ignored = 0;
        assert_true(level >= 1 && level <= 11);
        assert_int_equal(def->ask(state, NULL, &ignored, &interest), ITG_WAIT);
        const itg_outcome o = {.feasible = level != 3,
                               .quality = level >= reaches ? 0.6 : 0.4,
                               .violation = level == 4};
        if (level >= reaches && o.feasible && !(o.violation > 0) && level < least) least = level;
        assert_int_equal(def->tell(state, &level, &o), ITG_OK);
        assert_true(++*asks <= 4);
    }
    assert_int_equal(def->ask(state, NULL, &level, &interest), ITG_END);
    def->deinit(state);
    free(state);
    return least;
}

static void the_cheapest_that_reaches_the_floor_after_all_is_found_in_few_asks(void **state)
{
    earlier e = {.count = 0};
    int32_t asks = 0;
    (void)state;
    for (int32_t i = 0; i < 11; i++) {
        const int32_t level = 1 + i * 7 % 11;
        tell_of(&e, level, 1.0 / level, 0.4);
        tell_of(&e, level, 2.0 / level, 0.45); /* the same with worse codes */
    }
    tell_of(&e, 12, 0.01, 0.6); /* the best */
    tell_of(&e, 13, 0.001, 0.7);
    tell_of(&e, 14, 0.002, 0.4);
    tell_of(&e, 0, -1, 0.4); /* not known: it was stopped early */
    tell_of(&e, 0, 0.5, 0.4);
    e.told[e.count - 1].outcome.feasible = false;
    tell_of(&e, 0, 0.5, 0.4);
    e.told[e.count - 1].outcome.violation = 0.1;
    tell_of(&e, 11, 5.0, 0.4); /* farther than cheaper ones */
    for (int32_t reaches = 5; reaches <= 11; reaches++)
        assert_int_equal(bisect(&e, reaches, &asks), reaches);
    assert_int_equal(bisect(&e, 12, &asks), 99);
    assert_int_equal(bisect(&e, 1, &asks) >= 5, true); /* 3 cannot be run, 4 exceeds a limit */
    e.count = 0;
    assert_int_equal(bisect(&e, 1, &asks), 99);
    assert_int_equal(asks, 0);
    tell_of(&e, 12, 0.01, 0.6);
    assert_int_equal(bisect(&e, 1, &asks), 99);
    assert_int_equal(asks, 0);
}

/* A point of three dimensions: what the searcher widens, and in which order. */
static void what_failed_by_least_is_widened_the_cheapest_dimensions_first(void **state)
{
    const itg_dim dims[] = {{4, NULL, true, 10, 0},
                            {4, NULL, true, 1, 0},
                            {2, NULL, true, 0.5, 0}, /* as wide as it may be */
                            {4, NULL, true, 2, 0},
                            {4, NULL, true, 0, 0}, /* costs nothing: it is as wide as it helps */
                            {4, NULL, false, 1, 0}};
    const itg_search_space space = {6, dims};
    const int32_t best[] = {3, 3, 1, 3, 3, 0}, failed[] = {1, 1, 1, 1, 3, 2},
                  asked[][6] = {{1, 1, 1, 1, 3, 2}, {1, 2, 1, 2, 3, 2}, {1, 2, 1, 1, 3, 2}};
    const itg_told told[] = {
        {best, {.feasible = true, .cost = 100, .quality = 0.6, .distortion = 0.1}},
        {failed, {.feasible = true, .cost = 60, .quality = 0.3, .distortion = 0.2}}};
    const itg_searcher_options options = {.quality_floor = 0.5, .past = told, .past_count = 2};
    const itg_searcher_def *def = &itg_searcher_cheaper;
    (void)state;
    for (int cheap = 0; cheap < 2; cheap++) { /* of little to gain there is no use */
        void *s = calloc(1, def->state_size);
        int32_t levels[6], asks = 0;
        itg_interest interest = ITG_INTEREST_ALL;
        assert_int_equal(def->init(s, &space, &options, NULL), ITG_OK);
        while (def->ask(s, NULL, levels, &interest) == ITG_OK) {
            assert_true(asks < 3);
            assert_memory_equal(levels, asked[asks], sizeof levels);
            const itg_outcome o = {.feasible = true,
                                   .cost = asks == 0 && cheap ? 98.9 : 60 + 3 * asks,
                                   .quality = asks == 1 ? 0.5 : 0.4};
            assert_int_equal(def->tell(s, levels, &o), ITG_OK);
            asks++;
        }
        assert_int_equal(asks, cheap ? 1 : 3);
        assert_true(interest.floor < 0);
        def->deinit(s);
        free(s);
    }
}

/* Rungs lie 6 % apart, but for those where a point that keeps the floor is known. */
static void points_on_the_way_up_are_asked_for_last(void **state)
{
    const itg_dim dims[] = {{8, NULL, true, 9, 0}, {3, NULL, true, 1, 0}};
    const itg_search_space space = {2, dims};
    const int32_t best[] = {1, 1}, asked[][2] = {{2, 2}, {3, 2}, {4, 2}};
    const itg_told told[] = {
        {best, {.feasible = true, .cost = 100, .quality = 0.6, .distortion = 0.1}},
        {best, {.feasible = true, .cost = 108, .quality = 0.7, .distortion = 0.1}}};
    const itg_searcher_def *def = &itg_searcher_cheaper;
    (void)state;
    for (int known = 0; known < 2; known++) { /* costs 110, 119 and 128 */
        itg_searcher_options options = {
            .quality_floor = 0.5, .past = told, .past_count = 1 + known, .parameters = {4}};
        void *s = calloc(1, def->state_size);
        int32_t levels[2], asks = 0;
        itg_interest interest = ITG_INTEREST_ALL;
        assert_int_equal(def->init(s, &space, &options, NULL), ITG_OK);
        while (def->ask(s, NULL, levels, &interest) == ITG_OK) {
            assert_true(known + asks < 3);
            assert_memory_equal(levels, asked[known + asks], sizeof levels);
            const itg_outcome o = {.feasible = true, .cost = 110, .quality = asks ? 0.8 : 0.4};
            assert_int_equal(def->tell(s, levels, &o), ITG_OK);
            asks++;
        }
        assert_int_equal(known + asks, 3);
        def->deinit(s);
        free(s);
    }
}

/* ---- candidates ---- */

typedef struct offer {
    double cost, quality, distortion;
} offer;

/* The costs of those that are kept. */
static int32_t thin_out(const offer *offers, int32_t count, double drop, double *costs)
{
    itg_trial trials[16] = {{0}};
    itg_candidate c[16];
    for (int32_t i = 0; i < count; i++) {
        const offer *o = &offers[(i * 7 + 3) % count]; /* in another order */
        trials[i].index = i;
        trials[i].score.value[ITG_METRIC_DISTORTION] = o->distortion;
        c[i] = (itg_candidate){&trials[i], o->cost, o->quality};
    }
    const int32_t kept = itg_candidates_thin_out(c, count, drop);
    for (int32_t i = 0; i < kept; i++)
        costs[i] = c[i].cost;
    return kept;
}

static void a_gap_between_candidates_is_filled_by_what_is_hardly_less_safe(void **state)
{
    const offer offers[] = {
        {100, 0.900, 1.0},   {100.4, 0.901, 0.9}, /* the next is hardly dearer */
        {101, 0.902, 0.8},   {103, 0.9015, 0.7},  /* hardly dearer, either, and less safe */
        {110, 0.9009, 0.6},                       /* less safe by more than a tenth of 0.01 */
        {111, 0.9011, 0.7},                       /* fills the gap */
        {125, 0.9019, 0.81},                      /* farther from the float network */
        {150, 0.902, 0.5},   {200, 0.950, 0.4},   {300, 0.9495, 0.3}}; /* dearer than the safest */
    const double filled[] = {100, 101, 111, 150, 200}, bare[] = {100, 101, 150, 200};
    double costs[16];
    (void)state;
    assert_int_equal(thin_out(offers, 10, 0.01, costs), 5);
    assert_memory_equal(costs, filled, sizeof filled);
    assert_int_equal(thin_out(offers, 10, -1, costs), 4); /* no drop is allowed or forbidden */
    assert_memory_equal(costs, bare, sizeof bare);
    assert_int_equal(thin_out(offers, 1, 0.01, costs), 1);
    assert_int_equal(thin_out(offers, 0, 0.01, costs), 0);
}

/* The safest is kept in any case: here it costs hardly more than the one before. */
static void the_last_candidate_is_the_safest(void **state)
{
    const offer offers[] = {{100, 0.9, 1}, {100.1, 0.91, 1}, {120, 0.9099, 0.5}};
    double costs[16];
    (void)state;
    assert_int_equal(thin_out(offers, 3, 0.01, costs), 2);
    assert_true(costs[0] == 100 && costs[1] == 100.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_probe_a_dimension_teaches_a_sum_whose_prior_is_right),
        cmocka_unit_test(what_two_changes_do_together_is_put_on_the_one_that_is_not_known),
        cmocka_unit_test(a_level_that_cannot_be_run_is_remembered_and_no_other_blamed),
        cmocka_unit_test(the_cap_lies_between_what_reaches_the_floor_and_what_does_not),
        cmocka_unit_test(a_lucky_point_does_not_move_the_cap),
        cmocka_unit_test(points_are_found_again),
        cmocka_unit_test(the_cheapest_that_reaches_the_floor_after_all_is_found_in_few_asks),
        cmocka_unit_test(what_failed_by_least_is_widened_the_cheapest_dimensions_first),
        cmocka_unit_test(points_on_the_way_up_are_asked_for_last),
        cmocka_unit_test(a_gap_between_candidates_is_filled_by_what_is_hardly_less_safe),
        cmocka_unit_test(the_last_candidate_is_the_safest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
