/* intaglio runs: what it says of a log that is known, and that it reads while a search writes. */
#include "driver.h"
#include <intaglio/intaglio.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* ---- a log with known runs ---- */

#define OPTIONS(optimize)                                                                          \
    "{\"searcher\": \"greedy\", \"optimize\": \"" optimize                                         \
    "\", \"max_drop\": 0.01, \"confidence\": 0.95}"
#define SPACE                                                                                      \
    "[{\"kind\": \"bits\", \"edges\": [\"w -> conv.1\"], \"values\": [4, 8]}, {\"kind\": "         \
    "\"threshold\", \"edges\": [\"x -> conv.0\", \"x -> add.0\"], \"values\": [\"mse\", \"kl\"]}]"
#define STRATEGY(bits, method)                                                                     \
    "{\"version\": 1, \"strategy\": {\"bits\": [" bits ", 8], \"thresholds\": [{\"method\": "      \
    "\"mse\"}, {\"method\": \"" method "\"}]}, \"edges\": [{\"value\": \"w\", \"node\": "          \
    "\"conv\", \"slot\": 1}, {\"value\": \"x\", \"node\": \"conv\", \"slot\": 0}]}\n"

typedef struct known_run {
    const char *model, *hardware, *options, *strategy, *stop_reason;
    unsigned char model_byte;
    int64_t bytes; /* of the best */
    double top1;   /* of the best on the hold-out */
    bool goal_met;
} known_run;

/* bytes -1: the float network's, which has no costs. */
static itg_score score_of(int64_t bytes, double top1)
{
    itg_score score = itg_score_unknown();
    score.samples = 1000;
    score.value[ITG_METRIC_TOP1] = top1;
    score.value[ITG_METRIC_AGREEMENT] = 0.99;
    score.value[ITG_METRIC_DISTORTION] = 0.001;
    if (bytes < 0) return score;
    score.value[ITG_METRIC_WEIGHT_BYTES] = (double)bytes;
    score.value[ITG_METRIC_PARAMETER_BYTES] = (double)(bytes + 100);
    score.value[ITG_METRIC_PEAK_ACTIVATION_BYTES] = 64;
    score.value[ITG_METRIC_BOPS] = 1e6;
    score.value[ITG_METRIC_CYCLES] = 5000;
    score.value[ITG_METRIC_AVERAGE_WEIGHT_BITS] = 6;
    return score;
}

static itg_run_info info_of(const known_run *k)
{
    itg_run_info info = {.model_name = k->model,
                         .hardware_name = k->hardware,
                         .searcher = "greedy",
                         .options_json = k->options,
                         .hardware_json = k->hardware[0] == 'c' ? "{\"c\": 1}" : "{\"x\": 1}",
                         .preprocess_json = "{}",
                         .engine_version = "0.2.0",
                         .started = "2024-05-06T07:08:09Z",
                         .space_json = SPACE,
                         .data = {.name = "x.npy", .samples = 4000, .hash = {1}},
                         .labels = {.name = "y.npy", .samples = 4000, .hash = {2}},
                         .seed = 7};
    memset(info.model_hash, k->model_byte, sizeof info.model_hash);
    return info;
}

/* Trials: 8 bits; too few, stopped early; one that cannot be; the best; one that is worse. */
static void add_trials(itg_run_log *log, int64_t run, const known_run *k)
{
    static const int32_t points[][2] = {{8, 0}, {4, 0}, {4, 1}, {8, 1}, {8, 0}};
    const itg_score scores[] = {score_of(2000, 0.905),
                                score_of(900, 0.5),
                                {0},
                                score_of(k->bytes, 0.899),
                                score_of(k->bytes, 0.898)};
    for (int i = 0; i < 5; i++) {
        itg_trial t = {.index = i,
                       .point = points[i],
                       .dim_count = 2,
                       .feasible = i != 2,
                       .score = scores[i],
                       .seconds = 0.5,
                       .error = i == 2 ? "conv: no such width" : NULL};
        if (i == 1) t.score.stopped_at = 321;
        assert_int_equal(itg_run_log_trial(log, run, &t, i, NULL), ITG_OK);
    }
}

static void add_run(itg_run_log *log, const known_run *k)
{
    itg_run_info info = info_of(k);
    int64_t run = 0;
    assert_int_equal(itg_run_log_begin_run(log, &info, &run, NULL), ITG_OK);
    add_trials(log, run, k);
    if (!k->stop_reason) return;
    itg_score floats = score_of(-1, 0.9), uniform = score_of(2000, 0.9),
              best = score_of(k->bytes, k->top1);
    const itg_selection chosen = {500,  2,   k->goal_met,           k->goal_met,
                                  0.88, 0.9, k->goal_met ? 0 : 2000};
    itg_run_end end = {.stop_reason = k->stop_reason,
                       .strategy_json = k->strategy,
                       .best_trial = 3,
                       .goal_met = k->goal_met,
                       .result[ITG_RESULT_FLOAT] = &floats,
                       .result[ITG_RESULT_UNIFORM8] = &uniform,
                       .result[ITG_RESULT_BEST] = &best,
                       .result[ITG_RESULT_SEARCH_FLOAT] = &floats,
                       .selection = &chosen};
    assert_int_equal(itg_run_log_end_run(log, run, &end, NULL), ITG_OK);
}

static const known_run known[] = {
    {"models/net.onnx", "x86", OPTIONS("size"), STRATEGY("4", "mse"), "exhausted", 0xAB, 1000,
     0.895, true},
    {"net.onnx", "x86", OPTIONS("size"), STRATEGY("6", "kl"), "trials", 0xAB, 1200, 0.9, true},
    {"net.onnx", "x86", OPTIONS("size"), STRATEGY("4", "mse"), "exhausted", 0xAB, 990, 0.8, true},
    {"net.onnx", "cortex", OPTIONS("size"), STRATEGY("4", "mse"), "exhausted", 0xAB, 1500, 0.9,
     true},
    {"other.onnx", "x86", OPTIONS("size"), STRATEGY("4", "mse"), "exhausted", 0xCD, 3000, 0.9,
     false},
    {"net.onnx", "x86", OPTIONS("quality"), STRATEGY("4", "mse"), NULL, 0xAB, 1000, 0.9, true},
};

static int make_log(void **state)
{
    (void)state;
    itg_run_log *log = NULL;
    unlink("runs.db");
    assert_int_equal(itg_run_log_open("runs.db", &log, NULL), ITG_OK);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        add_run(log, &known[i]);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    return 0;
}

/* "runs.2.best.top1": elements of lists by their number. */
static const itg_json_value *find(const itg_json *json, const char *path)
{
    const itg_json_value *v = itg_json_root(json);
    char key[64];
    while (*path) {
        size_t length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        v = itg_json_typeof(v) == ITG_JSON_ARRAY ? itg_json_at(v, (size_t)atoi(key))
                                                 : itg_json_find(v, key);
        if (!v) fail_msg("there is no member '%s'", path);
        path += length + (path[length] == '.');
    }
    return v;
}

static double number_at(const itg_json *json, const char *path)
{
    double value = 0;
    assert_int_equal(itg_json_get_number(json, find(json, path), &value, NULL), ITG_OK);
    return value;
}

static const char *text_at(const itg_json *json, const char *path)
{
    const char *value = NULL;
    assert_int_equal(itg_json_get_string(json, find(json, path), &value, NULL), ITG_OK);
    return value;
}

static bool truth_at(const itg_json *json, const char *path)
{
    bool value = false;
    assert_int_equal(itg_json_get_bool(json, find(json, path), &value, NULL), ITG_OK);
    return value;
}

static bool null_at(const itg_json *json, const char *path)
{
    return itg_json_typeof(find(json, path)) == ITG_JSON_NULL;
}

static void assert_outcome(const char *line, int status, const char *out, const char *err)
{
    outcome o = run(line);
    if (o.status != status) fail_msg("%s: status %d: %s", line, o.status, o.err);
    assert_contains(o.out, out);
    assert_contains(o.err, err);
    done(&o);
}

/* ---- list ---- */

static size_t listed(const char *line)
{
    itg_json *json = run_json(line);
    size_t count = itg_json_length(find(json, "runs"));
    itg_json_destroy(json);
    return count;
}

static void list_tells_figures_and_state_of_every_run(void **state)
{
    (void)state;
    itg_json *json = run_json("runs list --json");
    assert_int_equal(itg_json_length(find(json, "runs")), 6);
    assert_string_equal(text_at(json, "runs.0.model"), "models/net.onnx");
    assert_string_equal(text_at(json, "runs.0.stop_reason"), "exhausted");
    assert_string_equal(text_at(json, "runs.0.goal.optimize"), "size");
    assert_string_equal(text_at(json, "runs.0.started"), "2024-05-06T07:08:09Z");
    assert_true(number_at(json, "runs.0.best.top1") == 0.895);
    assert_true(number_at(json, "runs.0.float.top1") == 0.9);
    assert_true(number_at(json, "runs.0.best.weight_bytes") == 1000);
    assert_true(number_at(json, "runs.0.weight_bytes_of_uniform8") == 0.5);
    assert_true(number_at(json, "runs.0.trials") == 5);
    assert_true(null_at(json, "runs.5.best") && null_at(json, "runs.5.stop_reason"));
    itg_json_destroy(json);
    outcome o = run("runs list");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "2024-05-06 07:08  net.onnx");
    assert_contains(o.out, "size, drop <= 1 %");
    assert_contains(o.out, "unfinished");
    assert_contains(o.out, "done, goal missed");
    assert_contains(o.out, "1,000");
    done(&o);
}

static void list_marks_what_is_worse_than_an_earlier_run(void **state)
{
    (void)state;
    itg_json *json = run_json("runs list --json");
    assert_true(null_at(json, "runs.0.regression"));
    assert_true(number_at(json, "runs.1.regression.worse_than_run") == 1);
    assert_string_equal(text_at(json, "runs.1.regression.what"), "cost");
    assert_float_equal(number_at(json, "runs.1.regression.increase"), 0.2, 1e-12);
    /* 0.8 is below the interval of run 2, the surest so far, though its bytes are fewer */
    assert_true(number_at(json, "runs.2.regression.worse_than_run") == 2);
    assert_string_equal(text_at(json, "runs.2.regression.what"), "quality");
    assert_true(null_at(json, "runs.3.regression")); /* other hardware */
    assert_true(null_at(json, "runs.4.regression")); /* another model */
    assert_true(null_at(json, "runs.5.regression")); /* another goal, and no result */
    itg_json_destroy(json);
    assert_outcome("runs list", 0, "WORSE than run 1: +20.0 %", "");
    assert_outcome("runs list", 0, "WORSE than run 2: quality", "");
}

static void list_filters_by_model_and_hardware(void **state)
{
    (void)state;
    assert_int_equal(listed("runs list --json --model net.onnx"), 5);
    assert_int_equal(listed("runs list --json --model net"), 5);
    assert_int_equal(listed("runs list --json --model models/net.onnx"), 1);
    assert_int_equal(listed("runs list --json --model cdcd"), 1);
    assert_int_equal(listed("runs list --json --model cd"), 0);
    assert_int_equal(listed("runs list --json --model n"), 0);
    assert_int_equal(listed("runs list --json --hw cortex"), 1);
    assert_int_equal(listed("runs list --json --hw x86 --model other"), 1);
    assert_outcome("runs list --hw none", 0, "no run fits", "");
}

static void a_log_without_runs_and_no_log_are_told_apart(void **state)
{
    (void)state;
    itg_run_log *log = NULL;
    assert_int_equal(itg_run_log_open("empty.db", &log, NULL), ITG_OK);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    assert_outcome("runs list --db empty.db", 0, "no runs yet", "");
    assert_int_equal(listed("runs list --db empty.db --json"), 0);
    assert_outcome("runs list --db absent.db", 1, "", "absent.db: there is no log");
    assert_false(exists("absent.db"));
    assert_outcome("runs show 1 --db empty.db", 1, "", "empty.db: holds no run 1; it holds none");
}

/* ---- show ---- */

static void show_tells_everything_of_a_run(void **state)
{
    (void)state;
    outcome o = run("runs show 1");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "abababababababababababababababab");
    assert_contains(o.out, "fewest weight bytes, top-1 at most 1 point below float");
    assert_contains(o.out, "set aside from the data");
    assert_contains(o.out, "done, goal met");
    assert_contains(o.out,
                    "5 trials, 1 duplicate, 1 stopped early; 4 of them could be realized; 2.5 s");
    assert_contains(o.out, "87.45 to 91.25"); /* Wilson's interval of 895 of 1000 */
    assert_contains(o.out, "x -> conv.0 and 1 more");
    assert_null(strstr(o.out, "no such width"));
    done(&o);
    assert_outcome("runs show 1 --trials", 0, "conv: no such width", "");
    assert_outcome("runs show 1 --trials", 0, "<= 50.00 %", "");
    assert_outcome("runs show 1 --trials", 0, "stopped after 321 samples", "");
    assert_outcome("runs compare 1 2", 0, "stopped early", "");
    assert_outcome("runs show 6", 0, "unfinished: running, or killed", "");
    assert_outcome("runs show 1", 0,
                   "of 2 candidates on 500 selection samples: a drop of at most 2.00 points with "
                   "95 % confidence",
                   "");
    assert_outcome("runs show 5", 0, "confidence takes about 2000 of them", "");
}

static void show_tells_how_the_best_came_about(void **state)
{
    (void)state;
    itg_json *json = run_json("runs show 1 --json --trials");
    assert_int_equal(itg_json_length(find(json, "improvements")), 2);
    assert_true(number_at(json, "improvements.0.number") == 0);
    assert_true(number_at(json, "improvements.1.number") == 3);
    assert_int_equal(itg_json_length(find(json, "trial_list")), 5);
    assert_string_equal(text_at(json, "trial_list.2.error"), "conv: no such width");
    assert_true(null_at(json, "trial_list.0.stopped_at"));
    assert_true(number_at(json, "trial_list.0.top1") == 0.905);
    assert_true(number_at(json, "trial_list.1.stopped_at") == 321);
    assert_true(number_at(json, "trial_list.1.quality_at_most") == 0.5);
    assert_true(null_at(json, "trial_list.1.top1") && null_at(json, "trial_list.1.digest"));
    assert_true(number_at(json, "duplicate_trials") == 1 && number_at(json, "raced_trials") == 1);
    assert_true(number_at(json, "feasible_trials") == 4);
    assert_string_equal(text_at(json, "choices.0.value"), "8");
    assert_string_equal(text_at(json, "choices.1.kind"), "threshold");
    assert_string_equal(text_at(json, "choices.1.value"), "kl");
    assert_string_equal(text_at(json, "options"), OPTIONS("size"));
    assert_string_equal(text_at(json, "strategy"), STRATEGY("4", "mse"));
    itg_json_destroy(json);
    json = run_json("runs show 6 --json"); /* has not ended: the floor is not known */
    assert_int_equal(itg_json_length(find(json, "improvements")), 0);
    itg_json_destroy(json);
}

/* ---- best ---- */

static void best_is_the_smallest_that_met_its_goal(void **state)
{
    (void)state;
    itg_json *json = run_json("runs best --json");
    assert_int_equal(itg_json_length(find(json, "runs")), 2);
    /* Run 3 is smaller, but only on the search samples good enough. */
    assert_true(number_at(json, "runs.0.run") == 1);
    assert_true(number_at(json, "runs.1.run") == 4);
    itg_json_destroy(json);
    json = run_json("runs list --json");
    for (int i = 0; i < 5; i++) {
        char path[64];
        snprintf(path, sizeof path, "runs.%d.goal_met_on_holdout", i);
        assert_true(truth_at(json, path) == (i != 2));
    }
    assert_true(null_at(json, "runs.5.goal_met_on_holdout"));
    itg_json_destroy(json);
    assert_outcome("runs list", 0, "done, missed on hold-out", "");
    assert_outcome("runs show 3", 0, "done, missed on hold-out", "");
    assert_outcome("runs show 1", 0, "goal met on the search samples and on the hold-out", "");
    assert_outcome("runs compare 1 3", 0, "done, missed on hold-out", "");
    assert_outcome("runs best --model other", 1, "", "no run of this model and hardware");
    assert_outcome("runs best", 0, "1,000", "");
}

static void best_writes_the_strategy_of_one_run(void **state)
{
    (void)state;
    assert_outcome("runs best -o best.json", 1, "", "choose one with --model and --hw");
    assert_false(exists("best.json"));
    assert_outcome("runs best --hw cortex -o best.json", 0, "best.json", "");
    char *text = text_of("best.json");
    assert_string_equal(text, STRATEGY("4", "mse"));
    free(text);
    assert_outcome("runs best --hw cortex -o runs.db", 2, "", "would overwrite");
    assert_outcome("runs best --hw cortex -o no/such/folder/s.json", 1, "", "no/such/folder");
}

/* ---- compare ---- */

static void compare_tells_quality_costs_and_edges(void **state)
{
    (void)state;
    itg_json *json = run_json("runs compare 1 2 --json");
    assert_float_equal(number_at(json, "difference.drop_from_a_to_b"), -0.005, 1e-12);
    assert_int_equal(itg_json_typeof(find(json, "difference.beyond_chance")), ITG_JSON_BOOL);
    assert_true(number_at(json, "difference.interval.0") < -0.005);
    assert_true(number_at(json, "difference.interval.1") > 0);
    assert_int_equal(itg_json_length(find(json, "edges")), 2);
    assert_true(number_at(json, "edges.0.a.bits") == 4);
    assert_true(number_at(json, "edges.0.b.bits") == 6);
    assert_string_equal(text_at(json, "edges.1.b.method"), "kl");
    itg_json_destroy(json);
    outcome o = run("runs compare 1 2");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "within the interval");
    assert_contains(o.out, "+20.0 %");
    assert_contains(o.out, "+0.50 points");
    assert_contains(o.out, "2 of 2 edges differ");
    assert_contains(o.out, "w -> conv.1         4 bits, mse  6 bits, mse");
    assert_null(strstr(o.out, "ATTENTION"));
    done(&o);
}

static void compare_tells_a_difference_that_is_real(void **state)
{
    (void)state;
    assert_outcome("runs compare 1 3", 0, "more than chance explains", "");
    assert_outcome("runs compare 1 1", 0, "0 of 2 edges differ", "");
}

static void compare_says_loudly_what_does_not_compare(void **state)
{
    (void)state;
    assert_outcome("runs compare 1 5", 0, "ATTENTION: these are runs of two different models", "");
    assert_outcome("runs compare 1 4", 0, "ATTENTION: the hardware descriptions differ", "");
    assert_outcome("runs compare 1 6", 0, "cannot be compared", "");
}

/* ---- export and import ---- */

static void a_run_goes_to_another_log(void **state)
{
    (void)state;
    assert_outcome("runs export 2 -o run.json", 0, "run.json", "");
    assert_outcome("runs import run.json --db other.db", 0, "run 1 of other.db", "");
    assert_outcome("runs import run.json --db other.db", 1, "", "is in other.db already: run 1");
    assert_outcome("runs export 1 -o again.json --db other.db", 0, "again.json", "");
    assert_int_equal(listed("runs list --json --db other.db"), 1);
    char *a = text_of("run.json"), *b = text_of("again.json");
    char *from_a = strstr(a, "  \"run\": 2,\n"), *from_b = strstr(b, "  \"run\": 1,\n");
    assert_true(from_a && from_b);
    assert_string_equal(strchr(from_a, '\n'), strchr(from_b, '\n'));
    free(a);
    free(b);
}

static void a_file_that_is_no_run_is_refused(void **state)
{
    (void)state;
    put("bad.json", "{\"kind\": \"intaglio-run\", \"version\": 1}", 38);
    assert_outcome("runs import bad.json", 1, "", "bad.json");
    assert_outcome("runs import absent.json", 1, "", "absent.json");
    assert_outcome("runs import runs.db", 2, "", "would overwrite RUN or FILE");
    assert_int_equal(listed("runs list --json"), 6);
    assert_outcome("runs export 2 -o runs.db", 2, "", "would overwrite");
    assert_outcome("runs export 2", 2, "", "-o FILE is missing");
    assert_int_equal(listed("runs list --json"), 6);
}

/* ---- words ---- */

static void wrong_words_are_usage_errors(void **state)
{
    (void)state;
    assert_outcome("runs", 2, "", "is missing");
    assert_outcome("runs lst", 2, "", "did you mean 'list'?");
    assert_outcome("runs show", 2, "", "RUN is missing");
    assert_outcome("runs compare 1", 2, "", "B is missing");
    assert_outcome("runs list 1", 2, "", "unexpected argument '1'");
    assert_outcome("runs show x", 2, "", "'x' is no number of a run");
    assert_outcome("runs show 0", 2, "", "is no number of a run");
    assert_outcome("runs show 99999999999999999999", 2, "", "is no number of a run");
    assert_outcome("runs list --trials", 2, "", "does not take --trials");
    assert_outcome("runs compare 1 2 --model x", 2, "", "does not take --model");
    assert_outcome("runs show 9", 1, "", "runs.db: holds no run 9; it holds 6 runs, from 1 to 6");
}

/* ---- beside a search ---- */

static void runs_are_read_while_a_search_writes(void **state)
{
    (void)state;
    enum { READS = 12 };
    const struct timespec moment = {0, 20000000};
    pid_t child = start("search digits.onnx --hw x86-vnni --data digits_search_images.npy --labels "
                        "digits_search_labels.npy --searcher random --trials 1000000 --db live.db "
                        "--calibration-samples 64 --search-samples 64 --threads 1 -q");
    for (int i = 0; i < 1000 && !exists("live.db"); i++)
        nanosleep(&moment, NULL);
    double last = 0;
    int reads = 0;
    for (int i = 0; i < 2000 && reads < READS; i++) {
        outcome o = run("runs list --db live.db --json");
        if (o.status == 0) {
            itg_json *json = parse(o.out);
            bool begun = itg_json_length(find(json, "runs")) == 1;
            double now = begun ? number_at(json, "runs.0.trials") : 0;
            assert_true(now >= last);
            assert_true(!begun || null_at(json, "runs.0.stop_reason"));
            reads += now > last;
            last = now;
            itg_json_destroy(json);
        } else {
            assert_contains(o.err, "no log"); /* not there, or empty yet */
        }
        done(&o);
        if (last > 0) assert_outcome("runs show 1 --db live.db --trials", 0, "unfinished", "");
    }
    assert_int_equal(reads, READS);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(wait_for(child), 1000 + SIGKILL);
    itg_json *json = run_json("runs list --db live.db --json");
    assert_true(number_at(json, "runs.0.trials") >= last);
    itg_json_destroy(json);
}

static void a_search_is_told_with_its_own_space_and_strategy(void **state)
{
    (void)state;
    outcome o = run("search digits.onnx --hw x86-vnni --data digits_search_images.npy --labels "
                    "digits_search_labels.npy --searcher random --trials 6 --db own.db "
                    "--calibration-samples 64 --search-samples 64 --max-drop 100% -q -o own.json");
    if (o.status != 0) fail_msg("%s", o.err);
    done(&o);
    itg_json *json = run_json("runs show 1 --db own.db --json");
    size_t count = itg_json_length(find(json, "improvements"));
    assert_true(count > 0 && itg_json_length(find(json, "choices")) > 5);
    char last[64];
    snprintf(last, sizeof last, "improvements.%zu.number", count - 1);
    assert_true(number_at(json, last) == number_at(json, "best_trial"));
    assert_true(number_at(json, "best.weight_bytes") > 0);
    itg_json_destroy(json);
    assert_outcome("runs best --db own.db -o best.json", 0, "", "");
    char *a = text_of("own.json"), *b = text_of("best.json");
    assert_string_equal(a, b);
    free(a);
    free(b);
    assert_outcome("runs compare 1 1 --db own.db", 0, "edges differ", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_tells_figures_and_state_of_every_run),
        cmocka_unit_test(list_marks_what_is_worse_than_an_earlier_run),
        cmocka_unit_test(list_filters_by_model_and_hardware),
        cmocka_unit_test(a_log_without_runs_and_no_log_are_told_apart),
        cmocka_unit_test(show_tells_everything_of_a_run),
        cmocka_unit_test(show_tells_how_the_best_came_about),
        cmocka_unit_test(best_is_the_smallest_that_met_its_goal),
        cmocka_unit_test(best_writes_the_strategy_of_one_run),
        cmocka_unit_test(compare_tells_quality_costs_and_edges),
        cmocka_unit_test(compare_tells_a_difference_that_is_real),
        cmocka_unit_test(compare_says_loudly_what_does_not_compare),
        cmocka_unit_test(a_run_goes_to_another_log),
        cmocka_unit_test(a_file_that_is_no_run_is_refused),
        cmocka_unit_test(wrong_words_are_usage_errors),
        cmocka_unit_test(runs_are_read_while_a_search_writes),
        cmocka_unit_test(a_search_is_told_with_its_own_space_and_strategy),
    };
    if (enter_folder("runs") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, make_log, NULL);
    return leave_folder() != 0 || failed;
}
