/* Searches on hardware whose accumulators do not hold what the widest widths give: a built-in
 * target with sums of 16 bits, whole. */
#include "wanted.h"
#include <intaglio/intaglio.h>
#include "cli/passive.h"
#include "tests/base/cmocka_base.h"
#include "tests/slow.h"
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 800 };

typedef struct subject {
    itg_model *model;
    itg_hardware *hw;
    itg_dataset *data;
    itg_dataset *labels;
    itg_preprocess preprocess;
} subject;

/* Every accumulator of 32 bits that can overflow gets 16. */
static itg_hardware *narrowed(const char *name)
{
    itg_hardware *full = NULL, *hw = NULL;
    assert_int_equal(itg_hardware_load(name, &full, NULL), ITG_OK);
    char *text = strdup(itg_hardware_json(full)), *at = text;
    while ((at = strstr(at, "\"accumulator\": {\"bits\": 32, ")) != NULL) {
        memcpy(at + strlen("\"accumulator\": {\"bits\": "), "16", 2);
        at++;
    }
    assert_int_equal(itg_hardware_parse(text, strlen(text), "narrowed", &hw, NULL), ITG_OK);
    free(text);
    itg_hardware_destroy(full);
    return hw;
}

static void open_subject(const char *target, subject *s)
{
    *s = (subject){.preprocess = itg_preprocess_default()};
    s->preprocess.scale = 1.0f / 255;
    s->hw = narrowed(target);
    assert_int_equal(itg_model_open("examples/digits.onnx", NULL, &s->model, NULL), ITG_OK);
    assert_int_equal(itg_data_open("examples/digits_search_images.npy", SAMPLES, &s->data, NULL),
                     ITG_OK);
    assert_int_equal(itg_data_open("examples/digits_search_labels.npy", SAMPLES, &s->labels, NULL),
                     ITG_OK);
}

static void close_subject(subject *s)
{
    itg_data_close(s->labels);
    itg_data_close(s->data);
    itg_hardware_destroy(s->hw);
    itg_model_close(s->model);
}

typedef struct found {
    bool met;
    int64_t trials, bytes;
    char *strategy;
} found;

static found search(const subject *s, const itg_search_options *o)
{
    itg_search_data data = {s->data, s->labels, NULL, NULL};
    itg_search_result *result = NULL;
    itg_error err = {0};
    found f = {0};
    if (itg_search(s->model, s->hw, &s->preprocess, &data, o, NULL, &result, &err) != ITG_OK)
        fail_msg("%s: %s", o->searcher, err.message);
    f.met = itg_search_goal_met(result);
    f.trials = itg_search_trial_count(result);
    if (itg_search_best(result)) {
        f.bytes = (int64_t)itg_search_best(result)->score.value[ITG_METRIC_WEIGHT_BYTES];
        assert_int_equal(
            itg_strategy_text(itg_search_strategy(result), s->model, &f.strategy, NULL), ITG_OK);
    }
    itg_search_result_destroy(result);
    return f;
}

static itg_search_options options(const char *searcher)
{
    itg_search_options o = {ITG_SEARCH_OPTIONS_VERSION,
                            .recover = ITG_RECOVER_NONE,
                            .goal = goal_of((aim){.max_drop = 0.02}),
                            .calibration_samples = 100,
                            .search_samples = 500,
                            .threads = 2};
    snprintf(o.searcher, sizeof o.searcher, "%s", searcher);
    return o;
}

/* greedy comes within a fifth of what annealing finds in ten times its trials, hago-greedy, which
 * goes over the widths once, within a half. */
static void greedy_searchers_begin_where_accumulators_hold(void **state)
{
    static const char *const targets[] = {"cortex-m", "x86-vnni"}, *const searchers[] = {
                                                                       "greedy", "hago-greedy"};
    static const double most[] = {1.2, 1.5};
    (void)state;
    for (int t = 0; t < (ITG_IS_SLOW ? 1 : 2); t++) {
        subject s;
        open_subject(targets[t], &s);
        itg_search_options o = options("anneal");
        found anneal = search(&s, &o);
        assert_true(anneal.met);
        for (int i = 0; i < 2; i++) {
            o = options(searchers[i]);
            found f = search(&s, &o);
            assert_true(f.met);
            assert_true(f.trials < 200);
            if ((double)f.bytes > most[i] * (double)anneal.bytes)
                fail_msg("%s: %lld bytes, anneal has %lld", searchers[i], (long long)f.bytes,
                         (long long)anneal.bytes);
            itg_free(f.strategy);
        }
        itg_free(anneal.strategy);
        close_subject(&s);
    }
}

/* An end that another cost asks for: activations cost as well, and do not just follow. */
static void widths_that_cost_are_searched_too(void **state)
{
    subject s;
    (void)state;
    open_subject("cortex-m", &s);
    itg_search_options o = options("greedy");
    o.goal.objectives[0] = ITG_METRIC_BOPS;
    found f = search(&s, &o);
    assert_true(f.met);
    itg_free(f.strategy);
    o = options("greedy");
    o.goal = goal_of((aim){.maximize_quality = true, .max_drop = -1, .limits = {4000, 0, 0, 0}});
    f = search(&s, &o);
    assert_true(f.met && f.bytes <= 4000 && f.bytes > 3000);
    itg_free(f.strategy);
    close_subject(&s);
}

/* Named in another order, methods are the same methods. */
static void the_order_of_methods_changes_nothing(void **state)
{
    static const itg_threshold_method orders[][2] = {{ITG_THRESHOLD_MSE, ITG_THRESHOLD_MAX},
                                                     {ITG_THRESHOLD_MAX, ITG_THRESHOLD_MSE}};
    (void)state;
    subject s;
    found f[2];
    open_subject("cortex-m", &s);
    for (int i = 0; i < 2; i++) {
        itg_search_options o = options("greedy");
        memcpy(o.activation_methods.values, orders[i], sizeof orders[i]);
        memcpy(o.weight_methods.values, orders[i], sizeof orders[i]);
        o.activation_methods.count = o.weight_methods.count = 2;
        f[i] = search(&s, &o);
    }
    assert_true(f[0].met && f[1].met);
    assert_int_equal(f[0].trials, f[1].trials);
    assert_string_equal(f[0].strategy, f[1].strategy);
    itg_free(f[0].strategy);
    itg_free(f[1].strategy);
    close_subject(&s);
}

int main(int argc, char **argv)
{
    itg_be_passive(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greedy_searchers_begin_where_accumulators_hold),
        cmocka_unit_test(widths_that_cost_are_searched_too),
        cmocka_unit_test(the_order_of_methods_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
