/* Thresholds of activations by what they do to the outputs, before a search's trials. */
#include "network.h"
#include "wanted.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SAMPLES = 800, CALIBRATION_SAMPLES = 256, TRIALS = 12 };

typedef struct searched {
    itg_search_result *result;
    itg_strategy_file *widest, *last; /* of trial 0, and of the last one */
} searched;

static void make_network(small_network *n)
{
    small_network_make(7, "tests/independent/hardware/choices.json", SAMPLES, n);
}

static itg_strategy_file *strategy_at(const small_network *n, const itg_search_options *o,
                                      const itg_search_result *result, int64_t index)
{
    const itg_search_data data = small_network_data(n);
    itg_strategy_file *file = NULL;
    itg_error err = {.message = ""};
    if (itg_search_strategy_at(n->model, n->hw, &n->preprocess, &data, o,
                               itg_search_trial_at(result, 0), index, &file, &err) != ITG_OK)
        fail_msg("%s", err.message);
    return file;
}

/* The points are random, and so the same whatever their scores are. */
static searched run(const small_network *n, itg_recover_mode mode, int threads)
{
    searched out = {0};
    const itg_search_data data = small_network_data(n);
    itg_search_options o = ITG_SEARCH_OPTIONS_INIT;
    itg_error err = {.message = ""};
    snprintf(o.searcher, sizeof o.searcher, "random");
    o.trials = TRIALS;
    o.search_samples = 60;
    o.calibration_samples = CALIBRATION_SAMPLES;
    o.weight_bits = (itg_bits_range){8, 8};
    o.activation_bits = (itg_bits_range){3, 4};
    o.recover = mode;
    o.threads = threads;
    o.no_racing = true;
    o.goal = goal_of((aim){.max_drop = 0.5, .minimize = ITG_METRIC_BOPS});
    if (itg_search(n->model, n->hw, &n->preprocess, &data, &o, NULL, &out.result, &err) != ITG_OK)
        fail_msg("%s", err.message);
    out.widest = strategy_at(n, &o, out.result, 0);
    out.last = strategy_at(n, &o, out.result, TRIALS - 1);
    return out;
}

static void end(searched *s)
{
    itg_strategy_close(s->widest);
    itg_strategy_close(s->last);
    itg_search_result_destroy(s->result);
}

/* bits: of the edges that count. */
static int32_t count_other_ranges(const itg_strategy_file *a, const itg_strategy_file *b,
                                  int32_t bits)
{
    const itg_strategy *s = a->strategy, *t = b->strategy;
    int32_t count = 0;
    for (int32_t e = 0; e < s->edge_count; e++)
        count += s->edges[e].bits == bits &&
                 (s->edges[e].lo != t->edges[e].lo || s->edges[e].hi != t->edges[e].hi);
    return count;
}

/* Where edges have their widest width. */
static void trials_have_chosen_thresholds(void **state)
{
    small_network n;
    (void)state;
    make_network(&n);
    searched chosen = run(&n, ITG_RECOVER_ROUND, 1), by_method = run(&n, ITG_RECOVER_SCALES, 1);
    assert_true(count_other_ranges(chosen.widest, by_method.widest, 4) > 0);
    assert_int_equal(count_other_ranges(chosen.last, by_method.last, 3), 0);
    end(&chosen);
    end(&by_method);
    small_network_end(&n);
}

static void threads_change_nothing(void **state)
{
    small_network n;
    (void)state;
    make_network(&n);
    searched one = run(&n, ITG_RECOVER_AUTO, 1), three = run(&n, ITG_RECOVER_AUTO, 3);
    const int64_t count = itg_search_trial_count(one.result);
    assert_int_equal(itg_search_trial_count(three.result), count);
    for (int64_t i = 0; i < count; i++)
        assert_memory_equal(itg_search_trial_at(one.result, i)->score.digest,
                            itg_search_trial_at(three.result, i)->score.digest, 32);
    for (int32_t bits = 3; bits <= 4; bits++) {
        assert_int_equal(count_other_ranges(one.widest, three.widest, bits), 0);
        assert_int_equal(count_other_ranges(one.last, three.last, bits), 0);
    }
    end(&one);
    end(&three);
    small_network_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(trials_have_chosen_thresholds),
                                       cmocka_unit_test(threads_change_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
