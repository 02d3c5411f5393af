/* A floor of top-1 is held by what is expected, with a confidence; few samples cannot do so. */
#include "wanted.h"
#include <intaglio/intaglio.h>
#include "cli/passive.h"
#include "tests/base/cmocka_base.h"
#include <math.h>
#include <stdio.h>

typedef struct subject {
    itg_model *model;
    itg_hardware *hw;
    itg_dataset *data, *labels;
    itg_preprocess preprocess;
    char note[1024]; /* the last of the search */
} subject;

static void take_note(void *context, const char *text)
{
    subject *s = context;
    snprintf(s->note, sizeof s->note, "%s", text);
}

static int begin(void **state)
{
    static subject s;
    s = (subject){.preprocess = itg_preprocess_default()};
    s.preprocess.scale = 1.0f / 255;
    assert_int_equal(itg_hardware_load("cortex-m", &s.hw, NULL), ITG_OK);
    assert_int_equal(itg_model_open("examples/digits.onnx", NULL, &s.model, NULL), ITG_OK);
    assert_int_equal(itg_data_open("examples/digits_search_images.npy", 400, &s.data, NULL),
                     ITG_OK);
    assert_int_equal(itg_data_open("examples/digits_search_labels.npy", 400, &s.labels, NULL),
                     ITG_OK);
    *state = &s;
    return 0;
}

static int end(void **state)
{
    subject *s = *state;
    itg_data_close(s->labels);
    itg_data_close(s->data);
    itg_hardware_destroy(s->hw);
    itg_model_close(s->model);
    return 0;
}

static itg_search_options options(double drop, double confidence, int64_t samples)
{
    return (itg_search_options){
        ITG_SEARCH_OPTIONS_VERSION,  .searcher = "greedy",
        .recover = ITG_RECOVER_NONE, .goal = goal_of((aim){.max_drop = drop}),
        .confidence = confidence,    .calibration_samples = 50,
        .search_samples = samples,   .threads = 2};
}

static itg_search_result *search(subject *s, const itg_search_options *o, const itg_dataset *labels)
{
    const itg_search_data data = {s->data, labels, NULL, NULL};
    const itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .context = s, .note = take_note};
    itg_search_result *result = NULL;
    itg_error err = {0};
    *s->note = '\0';
    if (itg_search(s->model, s->hw, &s->preprocess, &data, o, &hooks, &result, &err) != ITG_OK)
        fail_msg("%s", err.message);
    return result;
}

static double least(const itg_trial *t)
{
    return t->score.value[ITG_METRIC_TOP1_BOUND];
}

static void trials_meet_the_goal_by_their_bound(void **state)
{
    static const double confidences[] = {0.5, 0, 0.999}; /* 0: 0.95 */
    static const double deviations[] = {0, 1.6448536, 3.0902323};
    subject *s = *state;
    for (size_t c = 0; c < sizeof confidences / sizeof *confidences; c++) {
        itg_search_options o = options(0.02, confidences[c], 250);
        itg_search_result *r = search(s, &o, s->labels);
        const itg_score *floats = itg_search_float(r, false);
        const double top1 = floats->value[ITG_METRIC_TOP1];
        int64_t met = 0, missed = 0;
        assert_string_equal(s->note, "");
        assert_true(least(&(itg_trial){.score = *floats}) == top1);
        for (int64_t i = 0; i < itg_search_trial_count(r); i++) {
            const itg_trial *t = itg_search_trial_at(r, i);
            const double expected = t->score.value[ITG_METRIC_EXPECTED_TOP1];
            if (!t->feasible || t->score.stopped_at > 0) continue;
            assert_true(least(t) < expected && expected <= top1);
            if (expected > top1 - 1e-12) /* half a sample, and its deviation */
                assert_true(fabs(top1 - least(t) - 0.5 * (1 + deviations[c]) / 250) < 1e-4);
            assert_int_equal(t->meets_goal, least(t) >= top1 - 0.02 - 1e-9);
            met += t->meets_goal;
            missed += !t->meets_goal;
        }
        assert_true(met > 3 && missed > 1 && itg_search_goal_met(r));
        assert_true(isnan(itg_search_best_holdout(r)->value[ITG_METRIC_TOP1_BOUND]));
        itg_search_result_destroy(r);
    }
}

static void few_samples_hold_no_floor_with_confidence(void **state)
{
    subject *s = *state;
    itg_search_options o = options(0.01, 0.95, 100);
    itg_search_result *r = search(s, &o, s->labels);
    assert_string_equal(
        s->note, "100 search samples are too few to say that top-1 drops by at most 1 points "
                 "(95 % confidence takes 132): trials are judged by what is to be expected");
    const itg_trial *best = itg_search_best(r);
    const double top1 = itg_search_float(r, false)->value[ITG_METRIC_TOP1];
    assert_true(itg_search_goal_met(r) && isnan(least(best)));
    assert_true(best->score.value[ITG_METRIC_EXPECTED_TOP1] >= top1 - 0.01 - 1e-9);
    itg_search_result_destroy(r);
    o = options(0.01, 0.95, 133);
    r = search(s, &o, s->labels);
    assert_string_equal(s->note, "");
    itg_search_result_destroy(r);
}

static void without_labels_agreement_is_counted(void **state)
{
    subject *s = *state;
    itg_search_options o = options(0.01, 0.95, 100);
    itg_search_result *r = search(s, &o, NULL);
    assert_string_equal(s->note, "");
    assert_true(isnan(itg_search_best(r)->score.value[ITG_METRIC_EXPECTED_TOP1]));
    assert_true(itg_search_best(r)->score.value[ITG_METRIC_AGREEMENT] >= 0.99);
    itg_search_result_destroy(r);
}

static void a_confidence_is_no_certainty(void **state)
{
    subject *s = *state;
    const itg_search_data data = {s->data, s->labels, NULL, NULL};
    static const double wrong[] = {0.4, 1, -1, (double)NAN};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        itg_search_options o = options(0.01, wrong[i], 100);
        itg_search_result *r = NULL;
        itg_error err = {0};
        assert_int_equal(itg_search(s->model, s->hw, &s->preprocess, &data, &o, NULL, &r, &err),
                         ITG_BAD_ARGUMENT);
        assert_non_null(strstr(err.message, "expected 0.5 to 0.9999"));
    }
}

int main(int argc, char **argv)
{
    itg_be_passive(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_meet_the_goal_by_their_bound),
        cmocka_unit_test(few_samples_hold_no_floor_with_confidence),
        cmocka_unit_test(without_labels_agreement_is_counted),
        cmocka_unit_test(a_confidence_is_no_certainty),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
