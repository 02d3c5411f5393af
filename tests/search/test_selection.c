/* The final choice: on samples of its own, from the safest candidate on, with bounds that are as
 * they say. */
#include "wanted.h"
#include "cli/passive.h"
#include "tests/base/cmocka_base.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct subject {
    itg_model *model;
    itg_hardware *hw;
    itg_dataset *data, *labels;
    itg_preprocess preprocess;
} subject;

static int begin(void **state)
{
    static subject s;
    s = (subject){.preprocess = itg_preprocess_default()};
    s.preprocess.scale = 1.0f / 255;
    assert_int_equal(itg_hardware_load("cortex-m", &s.hw, NULL), ITG_OK);
    assert_int_equal(itg_model_open("examples/digits.onnx", NULL, &s.model, NULL), ITG_OK);
    assert_int_equal(itg_data_open("examples/digits_search_images.npy", 0, &s.data, NULL), ITG_OK);
    assert_int_equal(itg_data_open("examples/digits_search_labels.npy", 0, &s.labels, NULL),
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

static itg_search_options options(aim wanted)
{
    return (itg_search_options){ITG_SEARCH_OPTIONS_VERSION,
                                .searcher = "greedy",
                                .recover = ITG_RECOVER_NONE,
                                .goal = goal_of(wanted),
                                .calibration_samples = 50,
                                .search_samples = 150,
                                .seed = 3,
                                .threads = 2};
}

static itg_search_result *search(subject *s, const itg_search_options *o, const itg_dataset *labels)
{
    const itg_search_data data = {s->data, labels, NULL, NULL};
    itg_search_result *result = NULL;
    itg_error err = {0};
    if (itg_search(s->model, s->hw, &s->preprocess, &data, o, NULL, &result, &err) != ITG_OK)
        fail_msg("%s", err.message);
    return result;
}

/* The best once more, on the selection samples. */
static itg_score score_again(subject *s, itg_search_result *r, bool labelled)
{
    itg_strategy_file *file = itg_search_strategy(r);
    const itg_split_info split = itg_strategy_split(file);
    itg_dataset *data = NULL, *labels = NULL;
    itg_simulate_options o = ITG_SIMULATE_OPTIONS_INIT;
    itg_score score;
    assert_int_equal(itg_data_part(s->data, &split, ITG_SPLIT_SELECTION, &data, NULL), ITG_OK);
    assert_int_equal(itg_data_part(s->labels, &split, ITG_SPLIT_SELECTION, &labels, NULL), ITG_OK);
    o.labels = labelled ? labels : NULL;
    o.with_agreement = true;
    assert_int_equal(itg_simulate(s->model, file, data, &o, &score, NULL), ITG_OK);
    itg_data_close(labels);
    itg_data_close(data);
    return score;
}

static void parts_are_apart(void **state)
{
    subject *s = *state;
    itg_search_options o = options((aim){.max_drop = 0.02});
    itg_search_result *r = search(s, &o, s->labels);
    const itg_split_info split = itg_strategy_split(itg_search_strategy(r));
    assert_int_equal(split.count[ITG_SPLIT_HOLDOUT], 375);
    assert_int_equal(split.count[ITG_SPLIT_CALIBRATION], 50);
    assert_int_equal(split.count[ITG_SPLIT_SEARCH], 150);
    assert_int_equal(split.count[ITG_SPLIT_SELECTION], 925);
    assert_int_equal(itg_search_selection(r)->samples, 925);
    itg_search_result_destroy(r);
    o.selection_samples = 30; /* asked for: however few */
    r = search(s, &o, s->labels);
    assert_int_equal(itg_search_selection(r)->samples, 30);
    itg_search_result_destroy(r);
    o.selection_samples = 0;
    o.search_samples = 0; /* 1,075 are left for 1,024 */
    r = search(s, &o, s->labels);
    assert_int_equal(itg_search_selection(r)->samples, 0);
    assert_int_equal(itg_search_best(r)->score.samples, 1024);
    itg_search_result_destroy(r);
}

static void a_drop_holds_with_its_confidence(void **state)
{
    subject *s = *state;
    const double confidences[] = {0.5, 0.95, 0.999};
    double last = 0;
    for (size_t i = 0; i < sizeof confidences / sizeof *confidences; i++) {
        itg_search_options o = options((aim){.max_drop = 0.02});
        o.confidence = confidences[i];
        itg_search_result *r = search(s, &o, s->labels);
        const itg_selection *selection = itg_search_selection(r);
        itg_score score = score_again(s, r, true);
        assert_true(itg_search_goal_met(r) && selection->certified && selection->tested > 1);
        assert_true(selection->bound >= selection->floats - 0.02 - 1e-9);
        assert_true(selection->bound < score.value[ITG_METRIC_TOP1] + 0.01);
        assert_int_equal(selection->wanted, 0);
        assert_true(itg_search_best(r)->score.value[ITG_METRIC_WEIGHT_BYTES] >= last);
        last = itg_search_best(r)->score.value[ITG_METRIC_WEIGHT_BYTES];
        itg_search_result_destroy(r);
    }
}

/* The chance to see so few samples disagree, were the share that does `q`: exactly. */
static double chance(int64_t samples, int64_t disagree, double q)
{
    double sum = 0;
    for (int64_t k = 0; k <= disagree; k++)
        sum += exp(lgamma((double)samples + 1) - lgamma((double)k + 1) -
                   lgamma((double)(samples - k) + 1) + (double)k * log(q) +
                   (double)(samples - k) * log1p(-q));
    return sum;
}

static void agreement_holds_without_labels(void **state)
{
    subject *s = *state;
    const double drops[] = {0.02, 0.05};
    for (size_t i = 0; i < 2; i++) {
        itg_search_options o = options((aim){.max_drop = drops[i]});
        itg_search_result *r = search(s, &o, NULL);
        const itg_selection *selection = itg_search_selection(r);
        const double agreement = score_again(s, r, false).value[ITG_METRIC_AGREEMENT];
        const int64_t disagree = llround((1 - agreement) * 925);
        assert_true(itg_search_goal_met(r) && selection->certified);
        assert_true(selection->bound >= 1 - drops[i]);
        double exact = chance(925, disagree, 1 - selection->bound);
        assert_true(exact <= 0.05 + 1e-9 && exact > 0.005);
        itg_search_result_destroy(r);
    }
}

static void an_sqnr_holds(void **state)
{
    subject *s = *state;
    itg_search_options o = options((aim){.sqnr = true, .max_drop = -1, .min_sqnr_db = 20});
    itg_search_result *r = search(s, &o, NULL);
    const itg_selection *selection = itg_search_selection(r);
    const double sqnr = itg_sqnr_of(score_again(s, r, false).value[ITG_METRIC_DISTORTION]);
    assert_true(itg_search_goal_met(r) && selection->certified && selection->samples == 925);
    assert_true(selection->bound >= 20 && selection->bound < sqnr && selection->bound > sqnr - 1);
    itg_search_result_destroy(r);
}

static void it_is_the_same_on_any_number_of_threads(void **state)
{
    subject *s = *state;
    itg_search_options o = options((aim){.max_drop = 0.02});
    itg_search_result *one, *two = search(s, &o, s->labels);
    char *a = NULL, *b = NULL;
    o.threads = 1;
    one = search(s, &o, s->labels);
    assert_int_equal(itg_strategy_text(itg_search_strategy(one), s->model, &a, NULL), ITG_OK);
    assert_int_equal(itg_strategy_text(itg_search_strategy(two), s->model, &b, NULL), ITG_OK);
    assert_string_equal(a, b);
    assert_memory_equal(itg_search_selection(one), itg_search_selection(two),
                        sizeof(itg_selection));
    itg_free(a);
    itg_free(b);
    itg_search_result_destroy(one);
    itg_search_result_destroy(two);
}

/* Samples that cannot show a floor, whatever agrees: how many would do is said. */
static void too_few_samples_have_no_bound(void **state)
{
    subject *s = *state;
    itg_search_options o = options((aim){.max_drop = 0.004});
    o.search_samples = 600;
    o.selection_samples = 330;
    itg_search_result *r = search(s, &o, NULL);
    const itg_selection *selection = itg_search_selection(r);
    assert_true(selection->samples == 330 && isnan(selection->bound) && !selection->certified);
    assert_int_equal(selection->wanted, (int64_t)ceil(log(0.05) / log(1 - 0.004)));
    itg_search_result_destroy(r);
}

int main(int argc, char **argv)
{
    itg_be_passive(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_apart),
        cmocka_unit_test(a_drop_holds_with_its_confidence),
        cmocka_unit_test(agreement_holds_without_labels),
        cmocka_unit_test(an_sqnr_holds),
        cmocka_unit_test(it_is_the_same_on_any_number_of_threads),
        cmocka_unit_test(too_few_samples_have_no_bound),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
