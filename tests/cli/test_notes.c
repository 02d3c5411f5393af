/* What a user must be told, and which options do nothing together. */
#include "driver.h"

#define DATA " --data digits_search_images.npy --labels digits_search_labels.npy --scale 1/255"
#define SEARCH                                                                                     \
    "search digits.onnx --hw cortex-m --search-samples 100 --calibration-samples 50 --limit "      \
    "300" DATA

static void a_float_target_needs_no_uniform(void **state)
{
    (void)state;
    itg_json *alone = run_json("simulate digits.onnx --hw float --limit 50 --json" DATA);
    itg_json *uniform =
        run_json("simulate digits.onnx --hw float --uniform 8 --limit 50 --json" DATA);
    assert_string_equal(string(alone, "digest"), string(uniform, "digest"));
    assert_string_equal(string(alone, "hardware"), "float");
    itg_json_destroy(alone);
    itg_json_destroy(uniform);
    outcome o =
        run("simulate digits.onnx --hw float --calib digits_test_images.npy --limit 50" DATA);
    assert_int_equal(o.status, 0);
    assert_contains(o.err, "--calib has no effect on a float target");
    done(&o);
    o = run("simulate digits.onnx --hw cortex-m --limit 50" DATA);
    assert_int_equal(o.status, 2);
    assert_contains(o.err, "--uniform BITS (or --hw float)");
    done(&o);
}

static void a_strategy_that_will_be_lost_is_said_before(void **state)
{
    (void)state;
    static const char *const kept[] = {" -o kept.json", " --db kept.db"};
    outcome o = run(SEARCH " --trials 1");
    assert_contains(o.err, "warning: the strategy will be lost: neither -o nor --db");
    assert_true(strstr(o.err, "will be lost") < strstr(o.err, "calibrating"));
    done(&o);
    o = run(SEARCH " --trials 1 --quiet");
    assert_string_equal(o.err, "");
    done(&o);
    for (int i = 0; i < 2; i++) {
        char line[512];
        snprintf(line, sizeof line, SEARCH " --trials 1%s", kept[i]);
        o = run(line);
        assert_null(strstr(o.err, "will be lost"));
        done(&o);
    }
}

static void one_is_singular(void **state)
{
    (void)state;
    outcome o = run(SEARCH " --trials 1 --db one.db -o one.json");
    assert_contains(o.out, ": 1 trial in ");
    assert_null(strstr(o.err, "1 trials"));
    done(&o);
    o = run("runs show 1 --db one.db");
    assert_contains(o.out, "\n1 trial; 1 of them");
    done(&o);
    o = run("simulate digits.onnx one.json --limit 1" DATA);
    assert_contains(o.out, "digits.onnx on cortex-m, 1 sample, by the executor\n");
    done(&o);
}

static void a_limit_of_seconds_that_ended_it_is_said(void **state)
{
    (void)state;
    outcome o = run(SEARCH " --searcher random --trials 100000000 --seconds 0.3 --quiet");
    assert_contains(o.out, "--seconds 0.3 ended the search before the searcher was done\n");
    done(&o);
    o = run(SEARCH " --trials 2 --seconds 10000 --quiet");
    assert_null(strstr(o.out, "--seconds"));
    done(&o);
}

static void a_cost_that_no_width_changes_is_said_before_and_after(void **state)
{
    (void)state;
    outcome o = run(SEARCH " --minimize cycles --activation-bits 8:8 --trials 3 -o flat.json");
    assert_contains(o.err, "note: no width changes the cycles of this network on cortex-m");
    assert_contains(o.out, "no width changes the cycles: quality alone decided\n");
    done(&o);
    itg_json *flat = run_json(SEARCH " --minimize cycles --activation-bits 8:8 --trials 3 --quiet "
                                     "--json");
    itg_json *size = run_json(SEARCH " --trials 3 --quiet --json");
    itg_json *wide = run_json(SEARCH " --minimize cycles --activation-bits 8:16 --trials 3 --quiet "
                                     "--json");
    assert_false(truth(flat, "cost_varies"));
    assert_true(truth(size, "cost_varies"));
    assert_true(truth(wide, "cost_varies")); /* 16 bits take twice as long */
    itg_json_destroy(flat);
    itg_json_destroy(size);
    itg_json_destroy(wide);
}

static void options_without_effect_are_refused_or_said(void **state)
{
    (void)state;
    static const struct {
        const char *line, *said;
    } refused[] = {
        {SEARCH " --holdout digits_test_images.npy", "--holdout-labels Y2 is missing"},
        {SEARCH " --searcher hago-greedy --baseline hago-greedy", "compares nothing"},
        {"search digits.onnx --hw cortex-m --data digits_search_images.npy --holdout "
         "digits_test_images.npy --holdout-labels digits_test_labels.npy",
         "--holdout-labels goes with --labels"},
        {"realize digits.onnx s.json -o p.itg --name other", "--name goes with --emit c"},
        {"realize digits.onnx s.json -o p.itg --samples 3", "--samples goes with --emit c"},
        {"realize digits.onnx s.json -o p --emit qdq --data digits_test_images.npy",
         "--data goes with --emit c"},
        {"realize digits.onnx s.json -o p --emit c --limit 3", "--limit goes with --data"},
        {"realize p.itg -o p --emit c --allow-overflow", "--allow-overflow goes with STRATEGY"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        outcome o = run(refused[i].line);
        if (o.status != 2) fail_msg("%s: status %d", refused[i].line, o.status);
        assert_contains(o.err, refused[i].said);
        done(&o);
    }
    outcome o = run(SEARCH " --max-ram 1G --trials 1 -o ram.json");
    assert_contains(o.err, "--max-ram has no effect: cortex-m has 262,144 (memory.ram_bytes)");
    done(&o);
}

static int begin(void **state)
{
    (void)state;
    return enter_folder("notes");
}

static int end(void **state)
{
    (void)state;
    return leave_folder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_float_target_needs_no_uniform),
        cmocka_unit_test(a_strategy_that_will_be_lost_is_said_before),
        cmocka_unit_test(one_is_singular),
        cmocka_unit_test(a_limit_of_seconds_that_ended_it_is_said),
        cmocka_unit_test(a_cost_that_no_width_changes_is_said_before_and_after),
        cmocka_unit_test(options_without_effect_are_refused_or_said),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
