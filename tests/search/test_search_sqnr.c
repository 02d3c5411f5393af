/* Searches by the SQNR of all outputs: of networks that are no classifiers, and of one that is. */
#include "wanted.h"
#include "network.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 64, DIMS = 32, SAMPLES = 60 };

typedef struct record {
    int64_t count, raced, best;
    int32_t points[MOST][DIMS];
    itg_trial trials[MOST];
    bool goal_met, holds;
    itg_score score, holdout, floats, uniform8;
    char limited_by[512], *strategy;
} record;

static itg_status keep(void *context, const itg_trial *trial, itg_error *err)
{
    record *r = context;
    (void)err;
    assert_true(trial->index < MOST && trial->dim_count <= DIMS);
    itg_trial *kept = &r->trials[trial->index];
    *kept = *trial;
    kept->point = memcpy(r->points[trial->index], trial->point,
                         sizeof *trial->point * (size_t)trial->dim_count);
    kept->error = trial->error ? "not possible" : NULL;
    r->count++;
    return ITG_OK;
}

static void search(const small_network *n, const itg_search_options *o, record *r)
{
    itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .context = r, .trial = keep};
    itg_search_data data = small_network_data(n);
    itg_search_result *result = NULL;
    itg_error err = {0};
    free(r->strategy);
    memset(r, 0, sizeof *r);
    if (itg_search(n->model, n->hw, &n->preprocess, &data, o, &hooks, &result, &err) != ITG_OK)
        fail_msg("%s: %s", o->searcher, err.message);
    const itg_trial *best = itg_search_best(result);
    assert_non_null(best);
    r->best = best->index;
    r->score = best->score;
    r->raced = itg_search_raced_count(result);
    r->goal_met = itg_search_goal_met(result);
    r->holds = itg_search_goal_holds(result);
    r->holdout = *itg_search_best_holdout(result);
    r->floats = *itg_search_float(result, true);
    r->uniform8 = *itg_search_uniform8(result, false);
    snprintf(r->limited_by, sizeof r->limited_by, "%s", itg_search_limited_by(result));
    assert_int_equal(itg_strategy_text(itg_search_strategy(result), n->model, &r->strategy, NULL),
                     ITG_OK);
    itg_search_result_destroy(result);
}

static itg_search_options options(const char *searcher, double least)
{
    itg_search_options o = {ITG_SEARCH_OPTIONS_VERSION,
                            .recover = ITG_RECOVER_NONE,
                            .goal =
                                goal_of((aim){.sqnr = true, .max_drop = -1, .min_sqnr_db = least}),
                            .trials = 40,
                            .calibration_samples = 20,
                            .search_samples = 30,
                            .seed = 5,
                            .threads = 2};
    snprintf(o.searcher, sizeof o.searcher, "%s", searcher);
    return o;
}

/* exhaustive needs a small space. */
static void narrow(itg_search_options *o)
{
    if (strcmp(o->searcher, "exhaustive") != 0) return;
    o->weight_bits = (itg_bits_range){7, 8};
    o->activation_bits = (itg_bits_range){8, 8};
}

/* Everything but what a stopped trial cannot know. */
static void check_same(const record *a, const record *b)
{
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->points, b->points, sizeof a->points);
    assert_int_equal(a->best, b->best);
    assert_true(a->goal_met == b->goal_met && a->holds == b->holds);
    assert_memory_equal(&a->score, &b->score, sizeof a->score);
    assert_memory_equal(&a->holdout, &b->holdout, sizeof a->holdout);
    assert_string_equal(a->strategy, b->strategy);
    for (int64_t i = 0; i < a->count; i++)
        if (a->trials[i].feasible && a->trials[i].score.stopped_at > 0)
            assert_true(a->trials[i].score.value[ITG_METRIC_DISTORTION] <=
                            b->trials[i].score.value[ITG_METRIC_DISTORTION] &&
                        a->trials[i].score.value[ITG_METRIC_DISTORTION] >= 0);
}

/* ---- networks that are no classifiers ---- */

static const small_outputs shapes[] = {SMALL_SPATIAL, SMALL_SCALAR, SMALL_TWO};

static void every_searcher_keeps_the_floor(void **state)
{
    static record r;
    (void)state;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int i = 0; i < itg_searcher_count(); i++) {
            small_network n;
            small_network_make_with(3 + k, "cortex-m", SAMPLES, shapes[k], &n);
            itg_search_options o = options(itg_searcher_name(i), 22);
            narrow(&o);
            search(&n, &o, &r);
            assert_true(isnan(r.score.value[ITG_METRIC_TOP1]) &&
                        isnan(r.score.value[ITG_METRIC_AGREEMENT]));
            assert_true(isnan(r.floats.value[ITG_METRIC_AGREEMENT]) &&
                        r.floats.value[ITG_METRIC_DISTORTION] == 0);
            assert_true(r.goal_met == (itg_score_get(&r.score, ITG_METRIC_SQNR) >= 22));
            assert_true(r.holds == (itg_score_get(&r.holdout, ITG_METRIC_SQNR) >= 22));
            assert_true((*r.limited_by == '\0') == (r.goal_met && r.holds));
            assert_true(r.uniform8.value[ITG_METRIC_DISTORTION] > 0);
            if (itg_score_get(&r.uniform8, ITG_METRIC_SQNR) > 25) assert_true(r.goal_met);
            assert_true(r.score.value[ITG_METRIC_AVERAGE_WEIGHT_BITS] >
                        2.5); /* 22 dB are not to be had at 2 bits */
            small_network_end(&n);
        }
    free(r.strategy);
    r.strategy = NULL;
}

static void threads_and_racing_change_nothing(void **state)
{
    static record all, raced, alone;
    int64_t races = 0;
    (void)state;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int i = 0; i < itg_searcher_count(); i++)
            for (int maximize = 0; maximize < 2; maximize++) {
                small_network n;
                small_network_make_with(7 + k, "cortex-m", SAMPLES, shapes[k], &n);
                itg_search_options o = options(itg_searcher_name(i), 25);
                narrow(&o);
                if (maximize) {
                    o.goal = goal_of((aim){.sqnr = true, .maximize_quality = true, .max_drop = -1});
                    limit(&o.goal, ITG_METRIC_WEIGHT_BYTES, 200);
                }
                o.threads = 3;
                search(&n, &o, &raced);
                o.threads = 1;
                search(&n, &o, &alone);
                check_same(&raced, &alone);
                assert_memory_equal(raced.trials[raced.best].score.digest, raced.score.digest, 32);
                for (int64_t t = 0; t < raced.count; t++)
                    assert_int_equal(raced.trials[t].score.stopped_at,
                                     alone.trials[t].score.stopped_at);
                o.no_racing = true;
                search(&n, &o, &all);
                assert_int_equal(all.raced, 0);
                check_same(&raced, &all);
                races += raced.raced;
                small_network_end(&n);
            }
    assert_true(races > 50);
    free(all.strategy);
    free(raced.strategy);
    free(alone.strategy);
    all.strategy = raced.strategy = alone.strategy = NULL;
}

static void a_run_goes_on_where_it_stopped(void **state)
{
    static record whole, rest;
    (void)state;
    for (int i = 0; i < itg_searcher_count(); i++) {
        small_network n;
        small_network_make_with(4, "cortex-m", SAMPLES, SMALL_TWO, &n);
        itg_search_options o = options(itg_searcher_name(i), 25);
        narrow(&o);
        search(&n, &o, &whole);
        o.replay = whole.trials;
        o.replay_count = whole.count / 2;
        search(&n, &o, &rest);
        assert_int_equal(rest.count + o.replay_count, whole.count);
        assert_int_equal(rest.best, whole.best);
        assert_memory_equal(&rest.score, &whole.score, sizeof rest.score);
        assert_string_equal(rest.strategy, whole.strategy);
        small_network_end(&n);
    }
    free(whole.strategy);
    free(rest.strategy);
    whole.strategy = rest.strategy = NULL;
}

/* More SQNR within more bytes; the second head is not forgotten. */
static void the_best_quality_within_a_limit_is_an_sqnr(void **state)
{
    static record r;
    double last = -100;
    small_network n;
    (void)state;
    small_network_make_with(9, "cortex-m", SAMPLES, SMALL_TWO, &n);
    for (int bytes = 100; bytes <= 300; bytes += 100) {
        itg_search_options o = options("greedy", 0);
        o.trials = MOST;
        o.goal = goal_of((aim){.sqnr = true, .maximize_quality = true, .max_drop = -1});
        limit(&o.goal, ITG_METRIC_WEIGHT_BYTES, bytes);
        search(&n, &o, &r);
        assert_true(r.goal_met && r.holds && r.score.value[ITG_METRIC_WEIGHT_BYTES] <= bytes);
        assert_true(itg_score_get(&r.score, ITG_METRIC_SQNR) > last + 1);
        last = itg_score_get(&r.score, ITG_METRIC_SQNR);
    }
    assert_true(last > 20);
    free(r.strategy);
    r.strategy = NULL;
    small_network_end(&n);
}

static void a_drop_in_points_is_refused(void **state)
{
    itg_search_result *result = NULL;
    (void)state;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        small_network n;
        itg_error err = {0};
        small_network_make_with(3, "cortex-m", SAMPLES, shapes[k], &n);
        assert_false(itg_model_is_classifier(n.model));
        itg_search_data data = small_network_data(&n);
        itg_search_options o = options("greedy", 0);
        o.goal = goal_of((aim){.max_drop = 0.01});
        assert_int_equal(itg_search(n.model, n.hw, &n.preprocess, &data, &o, NULL, &result, &err),
                         ITG_BAD_ARGUMENT);
        assert_non_null(strstr(err.message, "is no classifier"));
        o.goal = goal_of((aim){.sqnr = true, .max_drop = 0.01});
        assert_int_equal(itg_search(n.model, n.hw, &n.preprocess, &data, &o, NULL, &result, &err),
                         ITG_BAD_ARGUMENT);
        assert_null(result);
        small_network_end(&n);
    }
}

static void floors_that_cannot_be_reached_are_explained(void **state)
{
    static record r;
    small_network n;
    (void)state;
    small_network_make_with(3, "cortex-m", SAMPLES, SMALL_SPATIAL, &n);
    itg_search_options o = options("hago-greedy", 90);
    search(&n, &o, &r);
    assert_false(r.goal_met);
    assert_non_null(strstr(r.limited_by, "the widest widths that cortex-m allows here have an SQNR "
                                         "of "));
    assert_non_null(strstr(r.limited_by, ", at least 90 dB are wanted"));
    free(r.strategy);
    r.strategy = NULL;
    small_network_end(&n);
}

/* ---- a classifier ---- */

static void a_classifier_may_be_judged_by_its_sqnr(void **state)
{
    static record r;
    small_network n;
    (void)state;
    small_network_make(3, "cortex-m", SAMPLES, &n);
    assert_true(itg_model_is_classifier(n.model));
    itg_search_options o = options("greedy", 20);
    search(&n, &o, &r);
    assert_true(r.score.value[ITG_METRIC_TOP1] >= 0 && r.score.value[ITG_METRIC_AGREEMENT] >= 0);
    assert_true(r.goal_met && itg_score_get(&r.score, ITG_METRIC_SQNR) >= 20);
    free(r.strategy);
    r.strategy = NULL;
    small_network_end(&n);
}

/* ---- the hold-out ---- */

/* Goals at the edge of what can be had: some hold there, some do not. */
static void a_goal_that_is_met_may_not_hold_on_the_hold_out(void **state)
{
    static record r;
    int held = 0, lost = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        small_network n;
        small_network_make(seed, "cortex-m", SAMPLES, &n);
        for (int drop = 0; drop < 3; drop++) {
            itg_search_options o = options("random", 0);
            o.goal = goal_of((aim){.max_drop = 0.04 * drop});
            search(&n, &o, &r);
            bool holds = r.floats.value[ITG_METRIC_TOP1] - r.holdout.value[ITG_METRIC_TOP1] <=
                         itg_goal_drop(&o.goal) + 1e-9;
            assert_true(r.holds == holds);
            if (!r.goal_met) continue;
            held += holds;
            lost += !holds;
            assert_true(holds == (*r.limited_by == '\0'));
            if (!holds) assert_non_null(strstr(r.limited_by, "on the hold-out it loses "));
        }
        small_network_end(&n);
    }
    assert_true(held > 0 && lost > 0);
    free(r.strategy);
    r.strategy = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_searcher_keeps_the_floor),
        cmocka_unit_test(threads_and_racing_change_nothing),
        cmocka_unit_test(a_run_goes_on_where_it_stopped),
        cmocka_unit_test(the_best_quality_within_a_limit_is_an_sqnr),
        cmocka_unit_test(a_drop_in_points_is_refused),
        cmocka_unit_test(floors_that_cannot_be_reached_are_explained),
        cmocka_unit_test(a_classifier_may_be_judged_by_its_sqnr),
        cmocka_unit_test(a_goal_that_is_met_may_not_hold_on_the_hold_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
