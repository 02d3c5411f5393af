/* The nth allocation of a whole search fails: the status says so, nothing is handed out, and what
 * is left behind is the sanitizer's business. */
#include "wanted.h"
#include "network.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "search/search.h"
#include "tests/faults.h"

/* What a search gives, as text. */
static char *text_of_result(const small_network *n, itg_search_result *r)
{
    const itg_trial *best = itg_search_best(r);
    char *strategy = NULL;
    itg_strbuf text = {0};
    itg_strbuf_format(&text, "trials %d duplicates %d raced %d met %d stop %s limited %s\n",
                      (int)r->run.trial_count, (int)r->run.duplicates, (int)r->run.raced,
                      (int)r->run.goal_met, r->run.stop_reason, r->limited_by);
    if (best)
        itg_strbuf_format(
            &text,
            "best %d of %d bytes, top1 %a, holdout %a, float %a, uniform8 %a, "
            "hago %a\n",
            (int)best->index, (int)best->score.value[ITG_METRIC_WEIGHT_BYTES],
            best->score.value[ITG_METRIC_TOP1], itg_search_best_holdout(r)->value[ITG_METRIC_TOP1],
            r->floats.at[1].value[ITG_METRIC_TOP1], r->uniform8.at[1].value[ITG_METRIC_TOP1],
            r->hago.known ? r->hago.at[1].value[ITG_METRIC_TOP1] : -1);
    if (r->strategy) {
        assert_int_equal(itg_strategy_text(r->strategy, n->model, &strategy, NULL), ITG_OK);
        itg_strbuf_add(&text, strategy);
        itg_free(strategy);
    }
    assert_true(itg_strbuf_ok(&text));
    return text.text;
}

static char *expected; /* of a search that was spared */

/* A search that is done gives what it would have given, whatever failed on the way. */
static void assert_same_result(const small_network *n, itg_search_result *result)
{
    char *text = text_of_result(n, result);
    if (expected) assert_string_equal(text, expected);
    free(expected);
    expected = text;
}

/* True: it was done before the nth allocation. */
static bool searches(const small_network *n, const itg_search_options *o, int nth)
{
    itg_search_data data = small_network_data(n);
    itg_search_result *result = NULL;
    itg_error err = {0};
    calls_left = nth;
    itg_status status = itg_search(n->model, n->hw, &n->preprocess, &data, o, NULL, &result, &err);
    bool failed = calls_left < 0 && nth >= 0;
    calls_left = -1;
    if (status == ITG_OK) { /* a failure in a cache costs time, nothing else */
        assert_same_result(n, result);
        itg_search_result_destroy(result);
        return !failed;
    }
    assert_int_equal(status, ITG_NO_MEMORY);
    assert_null(result);
    assert_true(failed);
    return false;
}

/* All allocations of the beginning fail, then ever fewer: the fewer, the smaller `step` is. */
static void search_survives_with(const char *target, const itg_search_options *o, int64_t samples,
                                 int step)
{
    small_network n;
    int nth = 0;
    small_network_make(21, target, samples, &n);
    assert_true(searches(&n, o, -1));
    while (!searches(&n, o, nth))
        nth += 1 + nth / step;
    assert_true(nth > 500);
    free(expected);
    expected = NULL;
    small_network_end(&n);
}

static void search_survives(const char *target, const itg_search_options *o)
{
    search_survives_with(target, o, 16, 100);
}

static void a_search_that_chooses_thresholds(void **state)
{
    (void)state;
    search_survives_with(
        "tests/independent/hardware/choices.json",
        &(itg_search_options){
            ITG_SEARCH_OPTIONS_VERSION, .recover = ITG_RECOVER_ROUND, .searcher = "random",
            .goal = goal_of((aim){.max_drop = 0.5, .minimize = ITG_METRIC_BOPS}), .trials = 2,
            .threads = 1, .activation_bits = {3, 4}, .weight_bits = {8, 8}, .search_samples = 10,
            .calibration_samples = 192},
        600, 10);
}

static void a_search_whose_goal_is_met(void **state)
{
    (void)state;
    /* On cvm, annotation looks at the weights, too. */
    static const char *const targets[] = {"cortex-m", "cvm",
                                          "tests/independent/hardware/choices.json"};
    for (int i = 0; i < 3; i++)
        search_survives(targets[i],
                        &(itg_search_options){
                            ITG_SEARCH_OPTIONS_VERSION, .allow_float = {i == 2 ? '*' : '\0'},
                            .recover = ITG_RECOVER_NONE, .searcher = "greedy",
                            .goal = goal_of((aim){.max_drop = 0.5}), .trials = 6, .threads = 1,
                            .weight_methods.values = {ITG_THRESHOLD_MAX, ITG_THRESHOLD_AVG},
                            .weight_methods.count = 2});
}

static void a_search_whose_goal_is_not_met(void **state)
{
    (void)state;
    search_survives(
        "cortex-m",
        &(itg_search_options){
            ITG_SEARCH_OPTIONS_VERSION, .recover = ITG_RECOVER_NONE, .searcher = "random",
            .goal =
                goal_of((aim){.maximize_quality = true, .max_drop = -1, .limits = {1, 0, 0, 0}}),
            .trials = 6, .threads = 1, .hago_baseline = true, .weight_bits = {2, 3}});
}

static void a_search_that_is_replayed(void **state)
{
    small_network n;
    (void)state;
    itg_search_options o = {ITG_SEARCH_OPTIONS_VERSION,
                            .recover = ITG_RECOVER_NONE,
                            .searcher = "random",
                            .trials = 4,
                            .threads = 1,
                            .weight_bits = {6, 8},
                            .replay_count = 1};
    small_network_make(22, "cortex-m", 16, &n);
    /* The first point of random: everything at its widest; but this log's trial failed. */
    itg_point_space *points = NULL;
    assert_int_equal(itg_point_space_create(n.hw, n.model, &o, &points, NULL), ITG_OK);
    int32_t widest[64];
    assert_true(points->space.dim_count <= 64);
    itg_point_space_corner(points, false, widest);
    const itg_trial failed = {
        .point = widest, .dim_count = points->space.dim_count, .error = "it does not fit"};
    o.replay = &failed;
    int nth = 0;
    assert_true(searches(&n, &o, -1));
    while (!searches(&n, &o, nth))
        nth += 1 + nth / 50;
    assert_true(nth > 500);
    free(expected);
    expected = NULL;
    itg_point_space_destroy(points);
    small_network_end(&n);
}

static itg_status space_text(const small_network *n, char **out)
{
    itg_search_options o = {ITG_SEARCH_OPTIONS_VERSION, .recover = ITG_RECOVER_NONE,
                            .weight_methods.values = {ITG_THRESHOLD_MAX, ITG_THRESHOLD_AVG},
                            .weight_methods.count = 2};
    return itg_search_space_text(n->model, n->hw, &o, out, NULL);
}

static void the_text_of_a_space(void **state)
{
    small_network n;
    (void)state;
    small_network_make(23, "cortex-m", 16, &n);
    itg_status status = ITG_NO_MEMORY;
    for (int nth = 0; status != ITG_OK; nth++) {
        char *text = NULL;
        calls_left = nth;
        status = space_text(&n, &text);
        calls_left = -1;
        assert_true(status == ITG_OK || (status == ITG_NO_MEMORY && !text));
        itg_free(text);
    }
    small_network_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_that_chooses_thresholds),
        cmocka_unit_test(a_search_whose_goal_is_met),
        cmocka_unit_test(a_search_whose_goal_is_not_met),
        cmocka_unit_test(a_search_that_is_replayed),
        cmocka_unit_test(the_text_of_a_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
