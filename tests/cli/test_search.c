/* Searches from the command line: what they write, that they repeat, and how they end. */
#include "driver.h"
#include <intaglio/intaglio.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define DATA " --data digits_search_images.npy --labels digits_search_labels.npy --scale 1/255"
#define HOLDOUT " --holdout digits_test_images.npy --holdout-labels digits_test_labels.npy"
/* Without HOLDOUT, which is larger: a part of the first samples is set aside. */
#define SEARCH                                                                                     \
    "search digits.onnx --hw cortex-m --search-samples 100 --calibration-samples 50 --limit 300 "  \
    "--quiet" DATA
#define ENDLESS                                                                                    \
    "search digits.onnx --hw cortex-m --searcher random --trials 1000000 --search-samples 500 "    \
    "--threads 1 --json" DATA

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
static void wait_for_trials(pid_t child, const char *path, int64_t wanted)
{
    for (;;) {
        seen s = {0};
        bool there = look(path, &s);
        int64_t trials = there ? s.trials : 0;
        itg_run_record_destroy(s.last);
        if (trials >= wanted) return;
        wait_while_it_runs(child);
    }
}

/* ---- results ---- */

static void a_search_writes_a_strategy_whose_program_scores_as_told(void **state)
{
    (void)state;
    itg_json *found = run_json(
        SEARCH HOLDOUT " --trials 40 --max-drop 2% --seed 5 --json -o best.json --db runs.db");
    itg_json *simulated = run_json("simulate digits.onnx best.json --definition --json --data "
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
    assert_true(number(found, "float.weight_bytes") == 4 * 7224);
    assert_true(number(found, "float.average_weight_bits") == 32);
    assert_true(is_null(found, "float.bops") && is_null(found, "hago_greedy"));
    assert_true(number(found, "seed") == 5 && number(found, "trials") >= 2);

    seen log;
    assert_true(look("runs.db", &log));
    assert_true(log.trials == (int64_t)number(found, "trials") && log.in_order);
    assert_true((double)log.last->run == number(found, "run"));
    assert_true((double)log.last->best_trial == number(found, "best.trial"));
    assert_true(log.last->known[ITG_RESULT_BEST] &&
                log.last->result[ITG_RESULT_BEST].value[ITG_METRIC_TOP1] ==
                    number(found, "best.top1"));
    assert_string_equal(log.last->stop_reason, string(found, "stop_reason"));
    assert_true(log.last->info.seed == 5);
    char *strategy = text_of("best.json");
    assert_string_equal(log.last->strategy_json, strategy);
    itg_json_destroy(parse(log.last->info.options_json));
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
    static const char *const searchers[] = {"greedy", "hago-greedy", "random",   "anneal",
                                            "greedy", "allocate",    "surrogate"};
    static const int threads[] = {2, 3, 2, 4, 4, 2, 4};
    for (int i = 0; i < 7; i++) {
        char line[1024];
        snprintf(line, sizeof line,
                 SEARCH " --searcher %s --trials 20 --seed 3 --json -o a.json --threads 1",
                 searchers[i]);
        itg_json *a = run_json(line);
        snprintf(line, sizeof line,
                 SEARCH " --searcher %s --trials 20 --seed 3 --json -o b.json --threads %d",
                 searchers[i], threads[i]);
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
    assert_contains(o.err, "1 of 4 trials");
    assert_null(strchr(o.err, '\x1b'));
    assert_null(strchr(o.err, '\r'));
    itg_json_destroy(parse(o.out));
    done(&o);
}

static void a_goal_that_nothing_meets_is_a_failure_that_keeps_the_nearest(void **state)
{
    (void)state;
    outcome o =
        run(SEARCH " --weight-bits 2:3 --activation-bits 2:2 --max-drop 0 --trials 8 --json "
                   "--searcher random --db none.db -o none.json");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "the goal is not met: ");
    assert_contains(o.err, "comes nearest, and is in none.json");
    itg_json *json = parse(o.out);
    const char *why = string(json, "limited_by");
    assert_true(strlen(why) > 10);
    assert_contains(o.err, why);
    assert_false(truth(json, "goal_met"));
    assert_true(number(json, "uniform8.weight_bytes") > 0);
    seen log;
    assert_true(look("none.db", &log));
    assert_true((double)log.last->best_trial == number(json, "best.trial"));
    assert_false(log.last->goal_met);
    char *strategy = text_of("none.json");
    assert_string_equal(log.last->strategy_json, strategy);
    free(strategy);
    itg_run_record_destroy(log.last);
    itg_json_destroy(json);
    done(&o);
    o = run(SEARCH " --weight-bits 2:3 --activation-bits 2:2 --max-drop 0 --trials 8 --searcher "
                   "random");
    assert_int_equal(o.status, 1);
    assert_contains(o.out, "NOT met");
    assert_contains(o.out, "nearest");
    done(&o);
}

/* Which goal the words make; -1: null. */
static void limits_floors_and_costs_make_the_goal_that_help_states(void **state)
{
    (void)state;
    static const struct {
        const char *words, *optimize;
        double drop, size, bops, cycles, ram;
    } cases[] = {
        {"", "size", 0.01, -1, -1, -1, -1},
        {"--max-drop 2%", "size", 0.02, -1, -1, -1, -1},
        {"--minimize bops", "bops", 0.01, -1, -1, -1, -1},
        {"--minimize cycles --max-drop 0.03", "cycles", 0.03, -1, -1, -1, -1},
        {"--minimize ram", "ram", 0.01, -1, -1, -1, -1},
        {"--max-size 6k", "quality", -1, 6000, -1, -1, -1},
        {"--max-size 6KiB", "quality", -1, 6144, -1, -1, -1},
        {"--max-size 0.0059MiB", "quality", -1, 0.0059 * 1048576, -1, -1, -1},
        {"--max-bops 15M", "quality", -1, -1, 15e6, -1, -1},
        {"--max-cycles 1e9 --max-ram 1GB", "quality", -1, -1, -1, 1e9, 1e9},
        {"--max-size 7kB --max-drop 5%", "size", 0.05, 7000, -1, -1, -1},
        {"--max-size 7000 --minimize bops", "bops", 0.01, 7000, -1, -1, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[1024];
        snprintf(line, sizeof line, SEARCH " --searcher random --trials 1 --json %s",
                 cases[i].words);
        outcome o = run(line);
        if (o.status == 2) fail_msg("%s: %s", line, o.err);
        itg_json *json = parse(o.out);
        const char *const names[] = {"goal.max_drop", "goal.max_size", "goal.max_bops",
                                     "goal.max_cycles", "goal.max_ram"};
        const double wanted[] = {cases[i].drop, cases[i].size, cases[i].bops, cases[i].cycles,
                                 cases[i].ram};
        assert_string_equal(string(json, "goal.optimize"), cases[i].optimize);
        for (int k = 0; k < 5; k++) {
            if (wanted[k] < 0 ? is_null(json, names[k]) : number(json, names[k]) == wanted[k])
                continue;
            fail_msg("%s: %s is not %g", cases[i].words, names[k], wanted[k]);
        }
        assert_int_equal(o.status, !truth(json, "goal_met")             ? 1
                                   : truth(json, "goal_met_on_holdout") ? 0
                                                                        : 3);
        assert_string_equal(string(json, "goal.quality"), "accuracy");
        assert_true(is_null(json, "goal.min_sqnr"));
        itg_json_destroy(json);
        done(&o);
    }
}

static void the_best_keeps_within_its_limits(void **state)
{
    (void)state;
    itg_json *json =
        run_json(SEARCH " --max-size 5k --max-bops 12M --trials 120 --seed 2 --json -o limit.json");
    assert_true(truth(json, "goal_met") && is_null(json, "limited_by"));
    assert_true(number(json, "best.weight_bytes") <= 5000);
    assert_true(number(json, "best.bops") <= 12e6);
    itg_json_destroy(json);
}

static void hago_greedy_is_a_line_of_its_own_when_asked_for(void **state)
{
    (void)state;
    itg_json *asked = run_json(SEARCH " --max-drop 2% --trials 60 --baseline hago-greedy --json "
                                      "--recover none --db hago.db");
    itg_json *itself =
        run_json(SEARCH " --max-drop 2% --searcher hago-greedy --json --recover none");
    assert_string_equal(string(asked, "hago_greedy.holdout_digest"),
                        string(itself, "best.holdout_digest"));
    assert_true(number(asked, "hago_greedy.weight_bytes") == number(itself, "best.weight_bytes"));
    seen log;
    assert_true(look("hago.db", &log));
    assert_true(log.last->known[ITG_RESULT_HAGO]);
    assert_true((double)log.last->result[ITG_RESULT_HAGO].value[ITG_METRIC_WEIGHT_BYTES] ==
                number(itself, "best.weight_bytes"));
    itg_run_record_destroy(log.last);
    itg_json_destroy(asked);
    itg_json_destroy(itself);
    outcome o = run(SEARCH " --trials 2 --baseline hago-greedy");
    assert_contains(o.out, "hago-greedy");
    done(&o);
}

/* The formula once more, from its definition: half a pair added to each of the four kinds. */
static void the_drop_has_an_interval_that_holds_it(void **state)
{
    (void)state;
    itg_json *json = run_json(SEARCH " --trials 30 --max-drop 3% --seed 4 --json");
    double drop = number(json, "float.top1") - number(json, "best.top1");
    const itg_json_value *interval = member(json, "best.drop_interval");
    double lo, hi, n = number(json, "best.samples");
    assert_int_equal(itg_json_get_number(json, itg_json_at(interval, 0), &lo, NULL), ITG_OK);
    assert_int_equal(itg_json_get_number(json, itg_json_at(interval, 1), &hi, NULL), ITG_OK);
    assert_true(number(json, "best.drop") == drop);
    assert_true(lo < drop && drop < hi);
    double b = drop * n, pairs = (1 - number(json, "best.agreement")) * n + 1, m = n + 2;
    double half = (hi - lo) / 2, z = 1.959963984540054;
    double variance = (pairs - b * b / m) / m / m;
    assert_true(fabs(half * half - z * z * variance) < 1e-9);
    assert_true(fabs((hi + lo) / 2 - b / m) < 1e-12);
    itg_json_destroy(json);
}

static void data_that_other_labels_belong_to_changes_the_report_alone(void **state)
{
    (void)state;
    unsigned char *labels = NULL;
    size_t bytes = 0;
    assert_int_equal(itg_file_read("digits_test_labels.npy", 1 << 20, &labels, &bytes, NULL),
                     ITG_OK);
    unsigned char *half = labels + bytes - 1000, first = half[0]; /* one byte each, at the end */
    memmove(half, half + 1, 999);
    half[999] = first;
    put("shuffled.npy", labels, bytes);
    free(labels);
    const char *line =
        "search digits.onnx --hw cortex-m --search-samples 100 --quiet "
        "--calibration-samples 50 --trials 12 --json --holdout digits_test_images.npy "
        "--holdout-labels %s -o %s --db %s" DATA;
    char words[1024];
    snprintf(words, sizeof words, line, "digits_test_labels.npy", "true.json", "true.db");
    itg_json *a = run_json(words);
    snprintf(words, sizeof words, line, "shuffled.npy", "false.json", "false.db");
    itg_json *b = run_json(words);
    assert_true(number(a, "best.top1") != number(b, "best.top1"));
    assert_string_equal(string(a, "best.digest"), string(b, "best.digest"));
    assert_string_equal(string(a, "best.holdout_digest"), string(b, "best.holdout_digest"));
    assert_true(number(a, "best.trial") == number(b, "best.trial"));
    itg_json_destroy(a);
    itg_json_destroy(b);
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
    wait_for_trials(child, "int.db", 2);
    assert_int_equal(kill(child, SIGINT), 0);
    int status = wait_for(child);
    char *out = text_of("background.out"), *err = text_of("background.err");
    itg_json *json = parse(out);
    assert_int_equal(status, truth(json, "goal_met_on_holdout") ? 0 : 3);
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

/* No file may grow beyond 80 KiB: the log fills up, the strategy still fits. */
static void a_log_that_fills_up_ends_the_search_but_costs_no_strategy(void **state)
{
    (void)state;
    struct rlimit before, small = {80 * 1024, 80 * 1024};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN); /* the program inherits it, as it does from nohup */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    outcome o = run(SEARCH " --searcher random --max-drop 100% --trials 100000 --json --db full.db "
                           "-o full.json");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "full.db");
    itg_json *json = parse(o.out);
    assert_string_equal(string(json, "stop_reason"), "cancelled");
    assert_true(truth(json, "goal_met") && number(json, "trials") < 100000);
    char *strategy = text_of("full.json");
    itg_json_destroy(parse(strategy));
    free(strategy);
    seen log;
    assert_true(look("full.db", &log));
    assert_true(log.in_order && log.trials > 0);
    assert_false(log.last->ended);
    itg_run_record_destroy(log.last);
    itg_json_destroy(json);
    done(&o);
    /* With room again, it goes on. */
    char line[128];
    snprintf(line, sizeof line, "search --resume 1 --db full.db --quiet --json --trials %lld",
             (long long)log.trials + 3);
    json = run_json(line);
    assert_true(number(json, "trials") == (double)log.trials + 3);
    itg_json_destroy(json);
}

static void seconds_and_patience_give_a_prefix_of_the_same_trials(void **state)
{
    (void)state;
    static const char *const ends[] = {"--seconds 0.4", "--patience 9 --tolerance 2%"};
    static const char *const reasons[] = {"seconds", "patience"};
    for (int i = 0; i < 2; i++) {
        char line[1024];
        snprintf(line, sizeof line,
                 SEARCH " --searcher random --max-drop 100%% --trials 100000 --json --recover none "
                        "-o early.json "
                        "%s",
                 ends[i]);
        itg_json *early = run_json(line);
        assert_string_equal(string(early, "stop_reason"), reasons[i]);
        assert_true(number(early, "trials") < 100000);
        snprintf(
            line, sizeof line,
            SEARCH
            " --searcher random --max-drop 100%% --trials %d --json --recover none -o same.json",
            (int)number(early, "trials"));
        itg_json *same = run_json(line);
        char *a = text_of("early.json"), *b = text_of("same.json");
        assert_true(strlen(a) > 100);
        assert_string_equal(a, b);
        assert_true(number(early, "best.trial") == number(same, "best.trial"));
        free(a);
        free(b);
        itg_json_destroy(early);
        itg_json_destroy(same);
    }
}

static void a_killed_search_leaves_its_trials_and_a_log_that_goes_on(void **state)
{
    (void)state;
    pid_t child = start(ENDLESS " --db kill.db -o kill.json");
    wait_for_trials(child, "kill.db", 3);
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
        cmocka_unit_test(a_goal_that_nothing_meets_is_a_failure_that_keeps_the_nearest),
        cmocka_unit_test(limits_floors_and_costs_make_the_goal_that_help_states),
        cmocka_unit_test(the_best_keeps_within_its_limits),
        cmocka_unit_test(hago_greedy_is_a_line_of_its_own_when_asked_for),
        cmocka_unit_test(the_drop_has_an_interval_that_holds_it),
        cmocka_unit_test(data_that_other_labels_belong_to_changes_the_report_alone),
        cmocka_unit_test(a_database_of_another_kind_is_refused_before_anything_is_done),
        cmocka_unit_test(an_interrupted_search_keeps_the_best_and_writes_everything),
        cmocka_unit_test(a_log_that_fills_up_ends_the_search_but_costs_no_strategy),
        cmocka_unit_test(seconds_and_patience_give_a_prefix_of_the_same_trials),
        cmocka_unit_test(a_killed_search_leaves_its_trials_and_a_log_that_goes_on),
    };
    if (enter_folder("search") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
