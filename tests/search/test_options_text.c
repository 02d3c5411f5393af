/* Search options as text and back: nothing is lost, and no other text is taken for options. */
#include "wanted.h"
#include "tests/base/cmocka_base.h"
#include "search/searcher.h"
#include <intaglio/intaglio.h>
#include <stdlib.h>
#include <string.h>

static void assert_same_range(itg_bits_range a, itg_bits_range b)
{
    assert_true(a.min == b.min && a.max == b.max);
}

static void assert_same(const itg_search_options *a, const itg_search_options *b)
{
    assert_string_equal(a->searcher, b->searcher);
    assert_int_equal(a->goal.objective_count, b->goal.objective_count);
    for (int32_t i = 0; i < a->goal.objective_count; i++)
        assert_int_equal(a->goal.objectives[i], b->goal.objectives[i]);
    assert_int_equal(a->goal.constraint_count, b->goal.constraint_count);
    for (int32_t i = 0; i < a->goal.constraint_count; i++) {
        const itg_constraint *x = &a->goal.constraints[i],
                             *y = itg_goal_constraint(&b->goal, x->metric);
        assert_true(y && x->bound == y->bound && x->below_float == y->below_float);
    }
    assert_true(a->trials == b->trials && a->seconds == b->seconds && a->seed == b->seed);
    assert_true(a->patience == b->patience && a->tolerance == b->tolerance);
    assert_same_range(a->weight_bits, b->weight_bits);
    assert_same_range(a->activation_bits, b->activation_bits);
    assert_same_range(a->input_bits, b->input_bits);
    assert_same_range(a->output_bits, b->output_bits);
    assert_int_equal(a->weight_methods.count, b->weight_methods.count);
    assert_int_equal(a->activation_methods.count, b->activation_methods.count);
    for (int32_t i = 0; i < a->weight_methods.count; i++)
        assert_true(a->weight_methods.values[i] == b->weight_methods.values[i]);
    for (int32_t i = 0; i < a->activation_methods.count; i++)
        assert_true(a->activation_methods.values[i] == b->activation_methods.values[i]);
    assert_true(a->calibration_samples == b->calibration_samples);
    assert_true(a->search_samples == b->search_samples && a->hago_baseline == b->hago_baseline);
    assert_string_equal(a->only, b->only);
    assert_string_equal(a->skip, b->skip);
    assert_string_equal(a->fix, b->fix);
    assert_true(a->no_racing == b->no_racing && a->float_kernels == b->float_kernels);
}

static void there_and_back(const itg_search_options *options)
{
    itg_search_options again = ITG_SEARCH_OPTIONS_INIT;
    itg_error err = {0};
    char *text = NULL, *second = NULL;
    assert_int_equal(itg_search_options_text(options, &text, &err), ITG_OK);
    if (itg_search_options_from_text(text, "text", &again, &err) != ITG_OK)
        fail_msg("%s: %s", err.message, text);
    assert_same(options, &again);
    assert_null(again.replay);
    assert_int_equal(itg_search_options_text(&again, &second, &err), ITG_OK);
    assert_string_equal(text, second);
    free(text);
    free(second);
}

static void every_option_comes_back(void **state)
{
    (void)state;
    const itg_search_options all = {ITG_SEARCH_OPTIONS_VERSION,
                                    .searcher = "anneal:t0=0.25,levels=1",
                                    .goal = goal_of((aim){.minimize = ITG_METRIC_CYCLES,
                                                          .max_drop = 0.1 + 0.2,
                                                          .limits = {1, 2.5, 1e15, 4}}),
                                    .trials = 5,
                                    .seconds = 0.1,
                                    .patience = 7,
                                    .tolerance = 1.0 / 3,
                                    .seed = UINT64_MAX,
                                    .threads = 3,
                                    .weight_bits = {2, 8},
                                    .activation_bits = {4, 16},
                                    .input_bits = {8, 8},
                                    .output_bits = {3, 32},
                                    .weight_methods.values = {ITG_THRESHOLD_KL, ITG_THRESHOLD_MAX},
                                    .weight_methods.count = 2,
                                    .only = "conv*,* -> fc.1",
                                    .skip = "\"a\"",
                                    .fix = "conv1=4",
                                    .activation_methods.values = {ITG_THRESHOLD_MSE},
                                    .activation_methods.count = 1,
                                    .calibration_samples = 9,
                                    .search_samples = 10,
                                    .float_kernels = ITG_FLOAT_ONEDNN,
                                    .hago_baseline = true,
                                    .no_racing = true};
    itg_search_options sqnr = {
        ITG_SEARCH_OPTIONS_VERSION, .searcher = "random",
        .goal = goal_of((aim){.sqnr = true, .max_drop = -1, .min_sqnr_db = 10.1 + 20.2})};
    there_and_back(&sqnr);
    sqnr.goal = goal_of((aim){.sqnr = true, .max_drop = -1});
    there_and_back(&sqnr);
    itg_search_options none = {ITG_SEARCH_OPTIONS_VERSION, .searcher = "random",
                               .goal = goal_of((aim){.max_drop = -1})};
    there_and_back(&all);
    there_and_back(&none);
    none.goal.objectives[0] = ITG_METRIC_ACCURACY;
    there_and_back(&none);
    none.goal =
        (itg_goal){.objectives = {ITG_METRIC_BOPS, ITG_METRIC_CYCLES, ITG_METRIC_WEIGHT_BYTES},
                   .objective_count = 3};
    (void)itg_goal_constrain(&none.goal, ITG_METRIC_TOP5, 0.9, false);
    there_and_back(&none);
    for (int i = 0; i < itg_searcher_count(); i++) {
        snprintf(none.searcher, sizeof none.searcher, "%s", itg_searcher_name(i));
        there_and_back(&none);
    }
}

static void no_searcher_is_the_default_one(void **state)
{
    (void)state;
    itg_search_options options = ITG_SEARCH_OPTIONS_INIT, again = {0};
    char *text = NULL;
    assert_int_equal(itg_search_options_text(&options, &text, NULL), ITG_OK);
    assert_int_equal(itg_search_options_from_text(text, "text", &again, NULL), ITG_OK);
    assert_string_equal(again.searcher, "hybrid");
    free(text);
}

static void what_is_no_options_is_refused_and_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "source"},
        {"[]", "an object"},
        {"{}", "searcher"},
        {"{\"searcher\": 3}", "searcher"},
        {"{\"searcher\": \"zebra\"}", "begin with the name of a searcher"},
        {"{\"searcher\": \"anneal:heat=3\"}", "no parameter 'heat'"},
        {"{\"searcher\": \"random\", \"zebra\": 1}", "zebra"},
        {"{\"searcher\": \"random\", \"trials\": -1}", "trials"},
        {"{\"searcher\": \"random\", \"trials\": 1.5}", "trials"},
        {"{\"searcher\": \"random\", \"seconds\": -1}", "a number from 0 on"},
        {"{\"searcher\": \"random\", \"seed\": 5}", "seed"},
        {"{\"searcher\": \"random\", \"seed\": \"-5\"}", "18446744073709551615"},
        {"{\"searcher\": \"random\", \"seed\": \"18446744073709551616\"}", "18446744073709551615"},
        {"{\"searcher\": \"random\", \"seed\": \"\"}", "18446744073709551615"},
        {"{\"searcher\": \"random\", \"optimize\": \"speed\"}", "names of costs"},
        {"{\"searcher\": \"random\", \"quality\": \"beauty\"}", "the name of a quality"},
        {"{\"searcher\": \"random\", \"min_quality\": -3}", "a number from 0 on"},
        {"{\"searcher\": \"random\", \"weight_bits\": [8]}", "[MIN, MAX]"},
        {"{\"searcher\": \"random\", \"weight_bits\": [8, 4]}", "weight_bits"},
        {"{\"searcher\": \"random\", \"weight_bits\": [2, 33]}", "weight_bits"},
        {"{\"searcher\": \"random\", \"weight_methods\": [\"best\"]}", "threshold method"},
        {"{\"searcher\": \"random\", \"weight_methods\": [\"kl\", \"kl\", \"kl\", \"kl\", \"kl\", "
         "\"kl\", \"kl\", \"kl\", \"kl\"]}",
         "a list of threshold methods"},
        {"{\"searcher\": \"random\", \"float_kernels\": \"mkl\"}", "\"reference\" or \"onednn\""},
        {"{\"searcher\": \"random\", \"float_kernels\": 1}", "float_kernels"},
        {"{\"searcher\": \"random\", \"hago_baseline\": 1}", "hago_baseline"},
        {"{\"searcher\": \"random\", \"racing\": 1}", "racing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        itg_search_options options = {ITG_SEARCH_OPTIONS_VERSION, .trials = 77};
        itg_error err = {0};
        assert_true(itg_search_options_from_text(cases[i].text, "source", &options, &err) !=
                    ITG_OK);
        if (!strstr(err.message, cases[i].says) || !strstr(err.message, "source"))
            fail_msg("%s: '%s' is not in: %s", cases[i].text, cases[i].says, err.message);
        assert_true(options.trials == 77 && !*options.searcher);
    }
}

static void every_option_of_the_list_stands_in_the_text(void **state)
{
    (void)state;
    static const char *const keys[] = {
#define ITG_SEARCH_OPTION(id, member, ...) "\"" #member "\": ",
#include <intaglio/search_options.def>
    };
    const itg_search_options options = ITG_SEARCH_OPTIONS_INIT;
    char *text = NULL;
    assert_int_equal(itg_search_options_text(&options, &text, NULL), ITG_OK);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_non_null(strstr(text, keys[i]));
    free(text);
}

static void the_list_has_the_default_searcher_of_the_registry(void **state)
{
    (void)state;
    static const struct {
        const char *name, *preset;
    } options[] = {
#define ITG_SEARCH_OPTION(id, member, kind, resume, name, argument, preset, ...) {name, preset},
#include <intaglio/search_options.def>
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(options[i].name, "searcher") == 0)
            assert_string_equal(options[i].preset, itg_searcher_name(0));
}

/* ---- where a search begins ---- */

#define HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define START "\"start\": {\"hash\": \"" HASH "\", \"point\": [8, 4, 0]}"

static void a_start_and_earlier_trials_go_there_and_back(void **state)
{
    static const int32_t wanted[] = {8, 4, 0};
    const itg_search_past past = {.name = "3:120,7:85"};
    itg_search_options options = ITG_SEARCH_OPTIONS_INIT, again = ITG_SEARCH_OPTIONS_INIT;
    itg_search_start *start = NULL, *second = NULL;
    char *text = NULL, *name = NULL;
    int32_t count = 0;
    (void)state;
    assert_int_equal(itg_search_start_from_text("{" START "}", "text", &start, NULL), ITG_OK);
    options.start = start;
    options.past = &past;
    assert_int_equal(itg_search_options_text(&options, &text, NULL), ITG_OK);
    assert_non_null(strstr(text, START));
    assert_int_equal(itg_search_options_from_text(text, "text", &again, NULL), ITG_OK);
    assert_true(again.start == NULL && again.past == NULL);
    assert_int_equal(itg_search_start_from_text(text, "text", &second, NULL), ITG_OK);
    assert_int_equal(itg_search_past_from_text(text, "text", &name, NULL), ITG_OK);
    assert_string_equal(name, past.name);
    assert_memory_equal(itg_search_start_point(second, &count), wanted, sizeof wanted);
    assert_int_equal(count, 3);
    assert_memory_equal(itg_search_start_hash(second), itg_search_start_hash(start), 32);
    assert_string_equal(itg_search_start_misfits(second), "");
    itg_free(name);
    free(text);
    itg_search_start_destroy(second);
    itg_search_start_destroy(start);
    start = NULL;
    assert_int_equal(itg_search_start_from_text("{\"start\": null}", "text", &start, NULL), ITG_OK);
    assert_null(start);
}

static void a_start_that_is_none_is_refused(void **state)
{
    static const char *const texts[][2] = {
        {"{\"start\": 5}", "where the search begins"},
        {"{\"start\": {\"hash\": \"" HASH "\"}}", "\"point\""},
        {"{\"start\": {\"hash\": \"12\", \"point\": [8]}}", "hash"},
        {"{\"start\": {\"hash\": \"" HASH "\", \"point\": [8, -1]}}", "text"},
        {"{\"start\": {\"hash\": \"" HASH "\", \"point\": [8], \"more\": 1}}", "more"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        itg_search_start *start = NULL;
        itg_error err = {0};
        if (itg_search_start_from_text(texts[i][0], "text", &start, &err) == ITG_OK)
            fail_msg("%s was taken", texts[i][0]);
        assert_null(start);
        if (!strstr(err.message, texts[i][1])) fail_msg("%s: %s", texts[i][0], err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_comes_back),
        cmocka_unit_test(every_option_of_the_list_stands_in_the_text),
        cmocka_unit_test(the_list_has_the_default_searcher_of_the_registry),
        cmocka_unit_test(no_searcher_is_the_default_one),
        cmocka_unit_test(what_is_no_options_is_refused_and_named),
        cmocka_unit_test(a_start_and_earlier_trials_go_there_and_back),
        cmocka_unit_test(a_start_that_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
