/* search --start and --past: where a search begins, what its log keeps of it, and that it resumes.
 */
#include "driver.h"
#include <intaglio/intaglio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA " --data digits_search_images.npy --labels digits_search_labels.npy --scale 1/255"
#define SEARCH                                                                                     \
    "search digits.onnx --search-samples 100 --calibration-samples 50 --recover none --hw "
#define M4 SEARCH "cortex-m" DATA " --db start.db "

typedef struct logged {
    itg_run_record *record;
    itg_trial *trials;
    int64_t count;
} logged;

static logged read_run_of(const char *db, int64_t run)
{
    itg_run_log *log = NULL;
    logged l = {0};
    assert_int_equal(itg_run_log_open_reader(db, &log, NULL), ITG_OK);
    assert_int_equal(itg_run_log_read_run(log, run, &l.record, NULL), ITG_OK);
    assert_int_equal(itg_run_log_load_trials(log, run, &l.trials, &l.count, NULL), ITG_OK);
    itg_run_log_close(log, NULL);
    return l;
}

static logged read_run(int64_t run)
{
    return read_run_of("start.db", run);
}

static void forget(logged *l)
{
    itg_run_log_free_trials(l->trials, l->count);
    itg_run_record_destroy(l->record);
}

static const int32_t *best_of(const logged *l)
{
    assert_true(l->record->best_trial >= 0);
    return l->trials[l->record->best_trial].point;
}

static bool same_point(const logged *a, const int32_t *point, const logged *b, int64_t trial)
{
    assert_true(trial < b->count && a->trials[0].dim_count == b->trials[0].dim_count);
    return memcmp(point, b->trials[trial].point, sizeof *point * (size_t)a->trials[0].dim_count) ==
           0;
}

static void searched(const char *line)
{
    outcome o = run(line);
    if (o.status != 0 && o.status != 3) fail_msg("%s: %s", line, o.err);
    done(&o);
}

/* Run 1: a whole search, whose strategy is in first.json. */
static int make_run(void **state)
{
    (void)state;
    searched(M4 "--quiet --trials 40 -o first.json");
    return 0;
}

/* Numbers of runs follow each other: tests run in order. */
static void every_searcher_begins_at_the_strategy_or_behind_the_widest(void **state)
{
    static const char *const searchers[] = {"greedy", "hago-greedy", "anneal",   "random",
                                            "evolve", "allocate",    "surrogate"};
    static const char *const starts[] = {"first.json", "1", "best"};
    logged first = read_run(1);
    (void)state;
    for (int i = 0; i < 7; i++) {
        char line[1024];
        snprintf(line, sizeof line, M4 "--quiet --trials 2 --searcher %s --start %s", searchers[i],
                 starts[i % 3]);
        searched(line);
        logged l = read_run(2 + i);
        if (!same_point(&first, best_of(&first), &l, 0) &&
            !same_point(&first, best_of(&first), &l, 1))
            fail_msg("%s", searchers[i]);
        assert_contains(l.record->info.options_json, "\"start\":");
        forget(&l);
    }
    forget(&first);
}

static void searchers_without_a_use_for_a_start_refuse_it(void **state)
{
    (void)state;
    outcome o = run(M4 "--quiet --searcher exhaustive --start first.json");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "a start is of no use to it");
    done(&o);
    o = run(M4 "--quiet --searcher anneal --past 1");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "learns nothing from earlier searches");
    done(&o);
}

/* Interrupted after 3 trials, it goes on as it would have; another start is refused. */
static void a_run_with_a_start_resumes(void **state)
{
    (void)state;
    searched(
        SEARCH
        "cortex-m" DATA
        " --db whole.db --quiet --trials 9 --start first.json --searcher anneal -o whole.json");
    searched(SEARCH "cortex-m" DATA
                    " --db half.db --quiet --trials 3 --start first.json --searcher anneal");
    outcome o = run("search --db half.db --resume 1 --trials 9 --start first.json --quiet -o "
                    "resumed.json");
    assert_true(o.status == 0 || o.status == 3);
    done(&o);
    char *whole = text_of("whole.json"), *resumed = text_of("resumed.json");
    assert_string_equal(whole, resumed);
    free(whole);
    free(resumed);
    searched(SEARCH "cortex-m" DATA " --quiet --trials 1 -o other.json");
    o = run("search --db half.db --resume 1 --trials 12 --start other.json --quiet");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "began elsewhere");
    done(&o);
}

/* Widths that the hardware does not have become the next wider ones, which is said. */
static void what_does_not_fit_is_said(void **state)
{
    (void)state;
    outcome o = run(SEARCH "cortex-m" DATA " --weight-bits 8 --trials 2 --start first.json --json");
    assert_contains(o.err, "the start: ");
    assert_contains(o.err, "choices do not fit");
    itg_json *json = parse(o.out);
    assert_contains(string(json, "start.misfits"), "here 8");
    assert_int_equal(strlen(string(json, "start.hash")), 64);
    itg_json_destroy(json);
    done(&o);
}

/* Weights of at most 4 bits are int4 in such a file. */
static void a_model_that_is_quantized_gives_its_widths(void **state)
{
    static const char *const lines[][2] = {
        {SEARCH "cortex-m" DATA " --db wide.db --quiet --trials 30 --weight-bits 5:8 -o wide.json",
         SEARCH "cortex-m" DATA
                " --db wide.db --quiet --trials 1 --weight-bits 5:8 --start digits.qdq.onnx"},
        {SEARCH "cortex-m" DATA
                " --db thin.db --quiet --max-drop 20% --trials 40 --weight-bits 2:8 -o wide.json",
         SEARCH "cortex-m" DATA " --db thin.db --quiet --max-drop 20% --trials 1 --weight-bits 2:8 "
                "--start digits.qdq.onnx"}};
    (void)state;
    outcome o;
    for (int k = 0; k < 2; k++) {
        searched(lines[k][0]);
        o = run("realize digits.onnx wide.json --emit qdq -o digits.qdq.onnx");
        assert_int_equal(o.status, 0);
        done(&o);
        searched(lines[k][1]);
        const char *db = k == 0 ? "wide.db" : "thin.db";
        logged found = read_run_of(db, 1), l = read_run_of(db, 2);
        const itg_score *start = &l.trials[0].score;
        assert_true(found.record->best_trial > 0 && same_point(&found, best_of(&found), &l, 0));
        assert_true(k == 0 || start->value[ITG_METRIC_AVERAGE_WEIGHT_BITS] < 4);
        forget(&l);
        forget(&found);
    }
    o = run(M4 "--quiet --start digits.onnx");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "quantizes none of the inputs");
    done(&o);
}

/* What was exported and is imported again is the same network: with its own widths, with the
 * widest, whatever was rounded to them. */
static void a_model_that_is_quantized_keeps_its_codes(void **state)
{
    static const char *const targets[] = {"x86-vnni", "cortex-m", "esp32"}, *const widths[] = {
                                                                                "8", "4", "3"};
    (void)state;
    for (int t = 0; t < 3; t++)
        for (int b = 0; b < 3; b++) {
            char line[3][400];
            static const char rest[] = " --calib digits_search_images.npy --calib-limit 64 --scale "
                                       "1/255 --data digits_test_images.npy --limit 100 --json";
            snprintf(line[0], sizeof line[0],
                     "simulate digits.onnx --uniform 8 --weight-bits %s --hw %s -o own.json%s",
                     widths[b], targets[t], rest);
            snprintf(line[1], sizeof line[1],
                     "simulate own.qdq.onnx --uniform 8 --weight-bits %s --recover none --hw %s%s",
                     widths[b], targets[t], rest);
            snprintf(line[2], sizeof line[2],
                     "simulate own.qdq.onnx --uniform 8 --recover none --hw %s%s", targets[t],
                     rest);
            itg_json *own = run_json(line[0]);
            outcome o = run("realize digits.onnx own.json --emit qdq -o own.qdq.onnx");
            assert_int_equal(o.status, 0);
            done(&o);
            itg_json *again = run_json(line[1]), *widest = run_json(line[2]);
            assert_string_equal(string(own, "digest"), string(again, "digest"));
            assert_string_equal(string(own, "digest"), string(widest, "digest"));
            itg_json_destroy(own);
            itg_json_destroy(again);
            itg_json_destroy(widest);
        }
}

static void starts_that_are_none_are_refused(void **state)
{
    static const char *const lines[][2] = {
        {M4 "--quiet --start 99", "run 99"},
        {SEARCH "cortex-m" DATA " --quiet --start 1", "--start 1 goes with --db"},
        {SEARCH "vta" DATA " --db start.db --quiet --start best", "no run of this model on vta"},
        {M4 "--quiet --start nowhere.json", "nowhere.json"},
        {M4 "--quiet --searcher surrogate --past 1,x", "'x': expected numbers of runs"},
        {SEARCH "vta" DATA " --db start.db --quiet --searcher surrogate --past 1",
         "run 1 of start.db has another hardware"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        outcome o = run(lines[i][0]);
        assert_int_equal(o.status, 1);
        if (!strstr(o.err, lines[i][1])) fail_msg("%s: %s", lines[i][0], o.err);
        done(&o);
    }
    outcome o = run(SEARCH "cortex-m" DATA " --quiet --past all");
    assert_int_equal(o.status, 2);
    assert_contains(o.err, "--past goes with --db");
    done(&o);
}

/* A model of earlier trials proposes other points from the beginning, the same ones each time, and
 * when it goes on. */
static void surrogate_learns_from_the_log_and_resumes(void **state)
{
    (void)state;
    searched(
        "sensitivity digits.onnx --search-samples 100 --calibration-samples 50 --recover none --hw "
        "cortex-m" DATA " --db past.db --quiet");
    searched(SEARCH "cortex-m" DATA " --db past.db --quiet --trials 12 --searcher surrogate");
    searched(
        SEARCH
        "cortex-m" DATA
        " --db past.db --quiet --trials 12 --searcher surrogate --past 1,2 -o a.json --threads 1");
    searched(SEARCH "cortex-m" DATA
                    " --db past.db --quiet --trials 5 --searcher surrogate --past 1,2");
    searched("search --db past.db --resume 4 --trials 12 --quiet -o b.json --threads 4");
    char *a = text_of("a.json"), *b = text_of("b.json");
    assert_string_equal(a, b);
    free(a);
    free(b);
    logged l[2] = {read_run_of("past.db", 2), read_run_of("past.db", 3)};
    assert_contains(l[1].record->info.options_json, "\"past\": \"1:");
    bool same = true;
    for (int64_t i = 0; i < 12; i++)
        same &= same_point(&l[0], l[0].trials[i].point, &l[1], i);
    assert_false(same);
    forget(&l[0]);
    forget(&l[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_searcher_begins_at_the_strategy_or_behind_the_widest),
        cmocka_unit_test(searchers_without_a_use_for_a_start_refuse_it),
        cmocka_unit_test(a_run_with_a_start_resumes),
        cmocka_unit_test(what_does_not_fit_is_said),
        cmocka_unit_test(a_model_that_is_quantized_gives_its_widths),
        cmocka_unit_test(a_model_that_is_quantized_keeps_its_codes),
        cmocka_unit_test(starts_that_are_none_are_refused),
        cmocka_unit_test(surrogate_learns_from_the_log_and_resumes),
    };
    if (enter_folder("start") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, make_run, NULL);
    return leave_folder() != 0 || failed ? 1 : 0;
}
