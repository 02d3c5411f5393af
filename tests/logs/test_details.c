/* What stands in a run's documents, told in plain structs; documents that are wrong are refused. */
#include "log_case.h"

static const char strategy[] =
    "{\"version\": 1, \"strategy\": {\"bits\": [8, 4, 0, 6], \"thresholds\": [{\"method\": "
    "\"mse\", "
    "\"lo\": \"0x0p+0\", \"hi\": \"0x1p+0\"}, {\"method\": \"max\", \"channels\": [\"0x1p+0\"]}, "
    "null, {\"method\": \"kl\", \"lo\": \"0x0p+0\", \"hi\": \"0x1p+0\"}]}, \"edges\": [{\"value\": "
    "\"x\", \"node\": \"conv\", \"slot\": 0}, {\"value\": \"w\", \"node\": \"conv\", \"slot\": 1}, "
    "{\"value\": \"b\", \"node\": \"conv\", \"slot\": 2}, {\"value\": \"y\", \"node\": null, "
    "\"slot\": 0}]}";

static void the_edges_of_a_strategy_are_told(void **state)
{
    (void)state;
    itg_run_record record = {.strategy_json = strategy};
    itg_run_edges *edges = NULL;
    assert_int_equal(itg_run_edges_read(&record, &edges, NULL), ITG_OK);
    assert_int_equal(itg_run_edges_count(edges), 4);
    const itg_run_edge *e = itg_run_edges_at(edges, 1);
    assert_string_equal(e->value, "w");
    assert_string_equal(e->node, "conv");
    assert_int_equal(e->slot, 1);
    assert_int_equal(e->bits, 4);
    assert_string_equal(e->method, "max");
    assert_null(itg_run_edges_at(edges, 2)->method);
    assert_int_equal(itg_run_edges_at(edges, 2)->bits, 0);
    assert_null(itg_run_edges_at(edges, 3)->node);
    assert_null(itg_run_edges_at(edges, 4));
    assert_null(itg_run_edges_at(edges, -1));
    itg_run_edges_destroy(edges);
    itg_run_edges_destroy(NULL);
}

static void a_run_without_strategy_or_space_has_no_details(void **state)
{
    (void)state;
    itg_run_record record = {0};
    itg_trial trial = a_trial(0);
    itg_run_edges *edges = NULL;
    itg_run_choices *choices = NULL;
    assert_int_equal(itg_run_edges_read(&record, &edges, NULL), ITG_OK);
    assert_int_equal(itg_run_edges_count(edges), 0);
    assert_int_equal(itg_run_choices_read(&record, &trial, &choices, NULL), ITG_OK);
    assert_int_equal(itg_run_choices_count(choices), 0);
    assert_null(itg_run_choices_at(choices, 0));
    itg_run_edges_destroy(edges);
    itg_run_choices_destroy(choices);
}

static void the_choices_of_a_trial_are_told(void **state)
{
    (void)state;
    itg_run_record record = {.info = an_info()};
    itg_trial trial = a_trial(0); /* 8, 4, the third method */
    itg_run_choices *choices = NULL;
    assert_int_equal(itg_run_choices_read(&record, &trial, &choices, NULL), ITG_OK);
    assert_int_equal(itg_run_choices_count(choices), 3);
    assert_string_equal(itg_run_choices_at(choices, 0)->kind, "bits");
    assert_string_equal(itg_run_choices_at(choices, 0)->value, "8");
    assert_int_equal(itg_run_choices_at(choices, 1)->edge_count, 2);
    assert_string_equal(itg_run_choices_at(choices, 1)->edges[1], "x -> add.0");
    assert_string_equal(itg_run_choices_at(choices, 2)->kind, "threshold");
    assert_string_equal(itg_run_choices_at(choices, 2)->value, "kl");
    itg_run_choices_destroy(choices);
    itg_run_choices_destroy(NULL);
}

static void a_wrong_strategy_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "[]",
        "{",
        "{}",
        "{\"strategy\": {\"bits\": [8], \"thresholds\": []}, \"edges\": []}",
        "{\"strategy\": {\"bits\": [8], \"thresholds\": [null]}, \"edges\": [7]}",
        "{\"strategy\": {\"bits\": [8], \"thresholds\": [null]}, \"edges\": [{\"value\": \"x\"}]}",
        "{\"strategy\": {\"bits\": [-8], \"thresholds\": [null]}, \"edges\": [{\"value\": \"x\", "
        "\"node\": null, \"slot\": 0}]}",
        "{\"strategy\": {\"bits\": [8], \"thresholds\": [{\"method\": 1}]}, \"edges\": "
        "[{\"value\": \"x\", \"node\": null, \"slot\": 0}]}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        itg_run_record record = {.run = 3, .strategy_json = wrong[i]};
        itg_run_edges *edges = NULL;
        itg_error err = {0};
        assert_int_equal(itg_run_edges_read(&record, &edges, &err), ITG_BAD_FILE);
        assert_non_null(strstr(err.message, ": run 3: its strategy"));
        assert_null(edges);
    }
}

#define NO_THIRD_METHOD                                                                            \
    "[{\"kind\": \"threshold\", \"edges\": [], \"values\": [\"mse\"]}, {\"kind\": \"bits\", "      \
    "\"edges\": [], \"values\": []}, {\"kind\": \"bits\", \"edges\": [], \"values\": []}]"

static void a_wrong_space_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"{}", "[]", "[1, 2, 3]", "[{}, {}, {}]", NO_THIRD_METHOD};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        itg_run_record record = {.run = 3, .info = {.space_json = wrong[i]}};
        itg_trial trial = a_trial(0);
        itg_run_choices *choices = NULL;
        itg_error err = {0};
        assert_int_equal(itg_run_choices_read(&record, &trial, &choices, &err), ITG_BAD_FILE);
        assert_non_null(strstr(err.message, ": run 3: its space"));
        assert_null(choices);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_edges_of_a_strategy_are_told),
        cmocka_unit_test(a_run_without_strategy_or_space_has_no_details),
        cmocka_unit_test(the_choices_of_a_trial_are_told),
        cmocka_unit_test(a_wrong_strategy_is_refused),
        cmocka_unit_test(a_wrong_space_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
