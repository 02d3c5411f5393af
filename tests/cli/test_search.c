/* Searches from the command line: what they write, that they repeat, and how they end. */
#include "driver.h"
#include <intaglio/intaglio.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define DATA " --data digits_search_images.npy --labels digits_search_labels.npy --scale 1/255"
#define HOLDOUT " --holdout digits_test_images.npy --holdout-labels digits_test_labels.npy"
#define SEARCH                                                                                     \
    "search digits.onnx --hw cortex-m --search-samples 100 --calibration-samples 50 --quiet" DATA  \
        HOLDOUT
#define ENDLESS                                                                                    \
    "search digits.onnx --hw cortex-m --searcher random --trials 1000000 --search-samples 500 "    \
    "--threads 1 --json" DATA HOLDOUT

/* ---- the log, as another program sees it ---- */

typedef struct seen {
    int64_t trials, runs;
    bool in_order;
    itg_run_record *last;
} seen;

static itg_status see_trial(void *context, const itg_trial *trial, itg_error *err)
{
    (void)err;
    seen *s = context;
    s->in_order &= trial->index == s->trials;
    s->trials++;
    return ITG_OK;
}

/* The last run; false while there is no log or no run. */
static bool look(const char *path, seen *out)
{
    itg_run_log *log = NULL;
    int64_t *runs = NULL;
    *out = (seen){.in_order = true};
    if (itg_run_log_open_reader(path, &log, NULL) != ITG_OK) return false;
    assert_int_equal(itg_run_log_runs(log, &runs, &out->runs, NULL), ITG_OK);
    if (out->runs > 0) {
        assert_int_equal(itg_run_log_read_run(log, runs[out->runs - 1], &out->last, NULL), ITG_OK);
        assert_int_equal(itg_run_log_read_trials(log, runs[out->runs - 1], see_trial, out, NULL),
                         ITG_OK);
    }
    free(runs);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    return out->runs > 0;
}

/* Waits until the log shows so many trials of its last run. */
static void wait_for_trials(const char *path, int64_t wanted)
{
    for (;;) {
        seen s = {0};
        bool there = look(path, &s);
        int64_t trials = there ? s.trials : 0;
        itg_run_record_destroy(s.last);
        if (trials >= wanted) return;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
}

/* ---- results ---- */

static void a_search_writes_a_strategy_whose_program_scores_as_told(void **state)
{
    (void)state;
    itg_json *found =
        run_json(SEARCH " --trials 40 --max-drop 2% --seed 5 --json -o best.json --db runs.db");
    itg_json *simulated = run_json("simulate digits.onnx best.json --json --data "
                                   "digits_test_images.npy --labels digits_test_labels.npy");
    itg_json *realized = run_json("realize digits.onnx best.json -o best.itg --json");
    itg_json *ran = run_json(
        "run best.itg --json --data digits_test_images.npy --labels digits_test_labels.npy");
    assert_string_equal(string(found, "best.holdout_digest"), string(simulated, "digest"));
    assert_string_equal(string(found, "best.holdout_digest"), string(ran, "digest"));
    assert_true(number(found, "best.top1") == number(ran, "top1"));
    assert_true(number(found, "best.weight_bytes") == number(simulated, "weight_bytes"));
    assert_true(number(found, "best.weight_bytes") < number(found, "uniform8.weight_bytes"));
    assert_true(number(found, "best.search_top1") >= number(found, "float.search_top1") - 0.02);
    assert_true(is_null(found, "float.weight_bytes"));
    assert_true(number(found, "seed") == 5 && number(found, "trials") >= 2);

    seen log;
    assert_true(look("runs.db", &log));
    assert_true(log.trials == (int64_t)number(found, "trials") && log.in_order);
    assert_true((double)log.last->run == number(found, "run"));
    assert_true((double)log.last->best_trial == number(found, "best.trial"));
    assert_true(log.last->has_best && log.last->holdout_best.top1 == number(found, "best.top1"));
    assert_string_equal(log.last->stop_reason, string(found, "stop_reason"));
    assert_true(log.last->seed == 5);
    char *strategy = text_of("best.json");
    assert_string_equal(log.last->strategy_json, strategy);
    itg_json_destroy(parse(log.last->options_json));
    free(strategy);
    itg_run_record_destroy(log.last);
    itg_json_destroy(found);
    itg_json_destroy(simulated);
    itg_json_destroy(realized);
    itg_json_destroy(ran);
}

static void the_same_seed_finds_the_same_whatever_the_threads(void **state)
{
    (void)state;
    static const char *const searchers[] = {"hago-greedy", "random"};
    for (int i = 0; i < 2; i++) {
        char line[1024];
        snprintf(line, sizeof line,
                 SEARCH " --searcher %s --trials 20 --seed 3 --json -o a.json --threads 1",
                 searchers[i]);
        itg_json *a = run_json(line);
        snprintf(line, sizeof line,
                 SEARCH " --searcher %s --trials 20 --seed 3 --json -o b.json --threads 3",
                 searchers[i]);
        itg_json *b = run_json(line);
        char *first = text_of("a.json"), *second = text_of("b.json");
        assert_true(strlen(first) > 100);
        assert_string_equal(first, second);
        assert_string_equal(string(a, "best.digest"), string(b, "best.digest"));
        assert_true(number(a, "trials") == number(b, "trials") &&
                    number(a, "best.trial") == number(b, "best.trial"));
        free(first);
        free(second);
        itg_json_destroy(a);
        itg_json_destroy(b);
    }
}

static void text_names_float_uniform_and_best(void **state)
{
    (void)state;
    outcome o = run(SEARCH " --trials 4");
    assert_int_equal(o.status, 0);
    assert_string_equal(o.err, ""); /* --quiet */
    assert_contains(o.out, "float");
    assert_contains(o.out, "uniform 8");
    assert_contains(o.out, "best");
    assert_contains(o.out, "95 % interval");
    done(&o);
}

static void progress_goes_to_stderr_in_plain_lines(void **state)
{
    (void)state;
    outcome o = run("search digits.onnx --hw cortex-m --search-samples 100 --calibration-samples "
                    "50 --trials 4 --json" DATA);
    assert_int_equal(o.status, 0);
    assert_contains(o.err, "trial 1 of 4");
    assert_null(strchr(o.err, '\x1b'));
    assert_null(strchr(o.err, '\r'));
    itg_json_destroy(parse(o.out));
    done(&o);
}

static void a_floor_that_nothing_meets_is_a_failure_that_says_so(void **state)
{
    (void)state;
    outcome o = run(
        SEARCH
        " --weight-bits 2:2 --activation-bits 2:2 --max-drop 0 --json --db none.db -o none.json");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "no trial came within");
    assert_false(exists("none.json"));
    itg_json *json = parse(o.out);
    assert_true(is_null(json, "best"));
    assert_true(number(json, "uniform8.weight_bytes") > 0);
    seen log;
    assert_true(look("none.db", &log));
    assert_int_equal(log.last->best_trial, -1);
    assert_null(log.last->strategy_json);
    assert_non_null(log.last->stop_reason);
    itg_run_record_destroy(log.last);
    itg_json_destroy(json);
    done(&o);
}

static void a_database_of_another_kind_is_refused_before_anything_is_done(void **state)
{
    (void)state;
    put("noise.db", "this is no database", 19);
    outcome o = run(SEARCH " --db noise.db -o noise.json --trials 2");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "noise.db");
    assert_false(exists("noise.json"));
    char *text = text_of("noise.db");
    assert_string_equal(text, "this is no database");
    free(text);
    done(&o);
}

/* ---- how a search ends ---- */

static void an_interrupted_search_keeps_the_best_and_writes_everything(void **state)
{
    (void)state;
    pid_t child = start(ENDLESS " --db int.db -o int.json");
    wait_for_trials("int.db", 2);
    assert_int_equal(kill(child, SIGINT), 0);
    assert_int_equal(wait_for(child), 0);
    char *out = text_of("background.out"), *err = text_of("background.err");
    itg_json *json = parse(out);
    seen log;
    assert_string_equal(string(json, "stop_reason"), "cancelled");
    assert_true(number(json, "trials") >= 2 && number(json, "trials") < 1000000);
    assert_contains(err, "interrupted; the best so far was kept");
    assert_true(exists("int.json"));
    assert_true(look("int.db", &log));
    assert_string_equal(log.last->stop_reason, "cancelled");
    assert_true((double)log.trials == number(json, "trials"));
    itg_run_record_destroy(log.last);
    itg_json_destroy(json);
    free(out);
    free(err);
}

static void a_killed_search_leaves_its_trials_and_a_log_that_goes_on(void **state)
{
    (void)state;
    pid_t child = start(ENDLESS " --db kill.db -o kill.json");
    wait_for_trials("kill.db", 3);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(wait_for(child), 1000 + SIGKILL);
    seen log;
    assert_true(look("kill.db", &log));
    assert_true(log.trials >= 3 && log.in_order);
    assert_null(log.last->stop_reason);
    itg_run_record_destroy(log.last);
    assert_false(exists("kill.json"));
    itg_json *json = run_json(SEARCH " --trials 2 --json --db kill.db");
    assert_true(number(json, "run") == 2);
    itg_json_destroy(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_writes_a_strategy_whose_program_scores_as_told),
        cmocka_unit_test(the_same_seed_finds_the_same_whatever_the_threads),
        cmocka_unit_test(text_names_float_uniform_and_best),
        cmocka_unit_test(progress_goes_to_stderr_in_plain_lines),
        cmocka_unit_test(a_floor_that_nothing_meets_is_a_failure_that_says_so),
        cmocka_unit_test(a_database_of_another_kind_is_refused_before_anything_is_done),
        cmocka_unit_test(an_interrupted_search_keeps_the_best_and_writes_everything),
        cmocka_unit_test(a_killed_search_leaves_its_trials_and_a_log_that_goes_on),
    };
    if (enter_folder("search") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
