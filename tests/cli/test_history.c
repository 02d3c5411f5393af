/* Runs over time: runs history, runs compare of more than two, search --fail-if-worse. */
#include "driver.h"
#include <stdio.h>
#include <string.h>

#define DATA                                                                                       \
    " --data digits_search_images.npy --labels digits_search_labels.npy --scale 1/255 --quiet"
#define SEARCH "search digits.onnx --search-samples 100 --calibration-samples 50 --hw "
#define M4 SEARCH "cortex-m" DATA " --db trend.db "

static void searched(const char *line)
{
    outcome o = run(line);
    assert_true(o.status == 0 || o.status == 3);
    done(&o);
}

/* Run 1 is a whole search, run 2 a short and worse one, run 3 has other hardware, run 4 another
 * goal, run 5 is as run 1. */
static int make_runs(void **state)
{
    (void)state;
    searched(M4);
    searched(M4 "--trials 2");
    searched(SEARCH "esp32" DATA " --db trend.db");
    searched(M4 "--max-drop 10%");
    searched(M4);
    return 0;
}

static double number_of(const itg_json *json, size_t line, const char *key, bool *is_null)
{
    double number = 0;
    const itg_json_value *v = itg_json_find(itg_json_at(member(json, "runs"), line), key);
    assert_non_null(v);
    *is_null = itg_json_typeof(v) == ITG_JSON_NULL;
    if (!*is_null) assert_int_equal(itg_json_get_number(json, v, &number, NULL), ITG_OK);
    return number;
}

static bool truth_of(const itg_json *json, size_t line, const char *key)
{
    bool is = false;
    const itg_json_value *v = itg_json_find(itg_json_at(member(json, "runs"), line), key);
    assert_int_equal(itg_json_get_bool(json, v, &is, NULL), ITG_OK);
    return is;
}

static void history_compares_each_run_with_the_one_before_that_it_can(void **state)
{
    static const double against[] = {0, 1, 0, 0, 2};             /* 0: none */
    static const bool best[] = {true, false, true, true, false}; /* 5 is equal to 1, not better */
    (void)state;
    itg_json *json = run_json("runs history digits --db trend.db --json");
    assert_int_equal(itg_json_length(member(json, "runs")), 5);
    for (size_t i = 0; i < 5; i++) {
        bool none = false;
        double than = number_of(json, i, "against_run", &none);
        assert_true(none == (against[i] == 0) && (none || than == against[i]));
        double change = number_of(json, i, "weight_bytes_change", &none);
        assert_true(none == (against[i] == 0));
        if (i == 1) assert_true(change > 0);
        if (i == 4) assert_true(change < 0);
        assert_int_equal(truth_of(json, i, "best_so_far"), best[i]);
    }
    itg_json_destroy(json);
    outcome o = run("runs history digits.onnx --hw esp32 --db trend.db");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "esp32");
    assert_null(strstr(o.out, "cortex-m"));
    done(&o);
}

static void compare_takes_many_runs_against_the_first(void **state)
{
    (void)state;
    itg_json *json = run_json("runs compare 2 1 5 --db trend.db --json");
    bool none = false;
    (void)number_of(json, 0, "against_run", &none);
    assert_true(none);
    for (size_t i = 1; i < 3; i++) {
        assert_true(number_of(json, i, "against_run", &none) == 2);
        assert_true(number_of(json, i, "weight_bytes_change", &none) < 0);
        assert_true(number_of(json, i, "quality_change", &none) <= 1);
    }
    itg_json_destroy(json);
    outcome o = run("runs compare 1 3 4 --db trend.db");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "ATTENTION: run 3 has another hardware description than run 1.");
    assert_contains(o.out, "ATTENTION: run 4 has another goal than run 1.");
    done(&o);
}

static void a_worse_search_fails(void **state)
{
    (void)state;
    outcome o = run(M4 "--trials 2 --fail-if-worse 1");
    assert_int_equal(o.status, 4);
    assert_contains(o.err, "worse than run 1 in what is minimized: ");
    done(&o);
    o = run(M4 "--fail-if-worse 1");
    assert_true(o.status == 0 || o.status == 3);
    done(&o);
    o = run(M4 "--fail-if-worse 2"); /* better */
    assert_true(o.status == 0 || o.status == 3);
    done(&o);
}

/* The member "selection" of a command's JSON, as text. */
static void selection_of(const char *line, char *text, size_t size)
{
    outcome o = run(line);
    const char *at = strstr(o.out, "\"selection\": {"), *end = at ? strchr(at, '}') : NULL;
    if (!end || (size_t)(end - at) >= size) fail_msg("%s: has no selection", line);
    snprintf(text, size, "%.*s", (int)(end - at), at);
    done(&o);
}

static void the_log_knows_how_the_best_was_chosen(void **state)
{
    char found[256], shown[256], moved[256], again[256];
    (void)state;
    selection_of(SEARCH "cortex-m" DATA
                        " --selection-samples 300 --trials 20 --db chosen.db --json",
                 found, sizeof found);
    assert_contains(found, "\"samples\": 300, \"tested\": ");
    selection_of("runs show 1 --db chosen.db --json", shown, sizeof shown);
    assert_string_equal(shown, found);
    searched("runs export 1 --db chosen.db -o chosen.json");
    searched("runs import chosen.json --db moved.db");
    selection_of("runs show 1 --db moved.db --json", moved, sizeof moved);
    assert_string_equal(moved, found);
    selection_of("search --resume 1 --db chosen.db --quiet --json", again, sizeof again);
    assert_string_equal(again, found);
    selection_of("runs show 1 --db chosen.db --json", again, sizeof again);
    assert_string_equal(again, found);
    outcome o = run("runs show 1 --db chosen.db");
    assert_contains(o.out, " on 300 selection samples");
    done(&o);
}

static void what_does_not_compare_is_refused(void **state)
{
    static const struct {
        const char *line, *said;
        int status;
    } cases[] = {
        {M4 "--fail-if-worse 4", "that run has another goal", 1},
        {M4 "--fail-if-worse 99", "holds no run 99", 1},
        {SEARCH "cortex-m" DATA " --fail-if-worse 1", "--fail-if-worse goes with --db", 2},
        {"runs history nonesuch --db trend.db", "no run of a model 'nonesuch'", 1},
        {"runs history --db trend.db", "MODEL is missing", 2},
        {"runs history digits --trials --db trend.db", "'runs history' does not take --trials", 2},
        {"runs compare 1 2 99 --db trend.db", "holds no run 99", 1},
        {"runs compare 1 2 x --db trend.db", "x", 2},
        {"runs show 1 2 --db trend.db", "unexpected argument '2'", 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        outcome o = run(cases[i].line);
        assert_int_equal(o.status, cases[i].status);
        assert_string_equal(o.out, "");
        assert_contains(o.err, cases[i].said);
        done(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(history_compares_each_run_with_the_one_before_that_it_can),
        cmocka_unit_test(compare_takes_many_runs_against_the_first),
        cmocka_unit_test(a_worse_search_fails),
        cmocka_unit_test(the_log_knows_how_the_best_was_chosen),
        cmocka_unit_test(what_does_not_compare_is_refused),
    };
    if (enter_folder("history") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, make_runs, NULL);
    return leave_folder() != 0 || failed ? 1 : 0;
}
