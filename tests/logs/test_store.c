/* What is written is there, when it has to be there, for whoever looks. */
#include "log_case.h"
#include <sys/wait.h>

/* ---- what is written ---- */

static void a_run_is_written_in_full(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    int64_t run = begin_run(log);
    assert_int_equal(run, 1);
    assert_sees("SELECT name FROM models WHERE hash = (SELECT model FROM runs)", "net.onnx");
    assert_sees("SELECT model FROM runs",
                "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1");
    /* sha256sum of the description's text */
    assert_sees("SELECT hardware FROM runs",
                "56b54ee582451796450176b4ffef094d17fd05579fdf6c737ff48df2a82d9831");
    assert_sees("SELECT description FROM hardware", "{\"name\": \"some-chip\"}");
    assert_sees("SELECT name || ' ' || samples FROM data WHERE hash = (SELECT data FROM runs)",
                "x.npy 100");
    assert_sees("SELECT holdout IS NULL FROM runs", "1");
    assert_sees("SELECT seed FROM runs", "18446744073709551615");
    assert_sees("SELECT searcher || options || preprocess || engine_version || started FROM runs",
                "random{\"max_drop\": 0.01}{}0.1.02024-05-06T07:08:09Z");
    assert_sees(
        "SELECT stop_reason IS NULL AND best_trial IS NULL AND best_strategy IS NULL FROM runs",
        "1");
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

static void a_holdout_of_its_own_is_written(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    itg_run_info info = an_info();
    int64_t run = 0;
    info.holdout = (itg_run_data){.name = "h.npy", .samples = 7, .hash = {1}};
    assert_int_equal(itg_run_log_begin_run(log, &info, &run, NULL), ITG_OK);
    assert_sees("SELECT d.name || d.samples FROM runs r JOIN data d ON d.hash = r.holdout",
                "h.npy7");
    assert_sees("SELECT holdout_name FROM runs", "h.npy");
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

static void a_trial_is_written_in_full(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    int64_t run = begin_run(log);
    add_trial(log, run, 3, 0);
    assert_sees("SELECT run || ' ' || number || ' ' || point || ' ' || feasible || ' ' || seconds "
                "FROM trials",
                "1 3 [8, 4, 2] 1 0.25");
    assert_sees("SELECT samples FROM trials", "40");
    assert_sees("SELECT group_concat(metric || ' ' || value) FROM (SELECT * FROM metrics "
                "WHERE run = 1 AND subject = 3 ORDER BY metric)",
                "average_weight_bits 4.5,bops 1000000,cycles 12.5,distortion 0.001953125,"
                "parameter_bytes 2000,peak_activation_bytes 300,top1 0.775,weight_bytes 1003");
    assert_sees("SELECT digest FROM trials",
                "0303030303030303030303030303030303030303030303030303030303030303");
    assert_sees("SELECT error IS NULL FROM trials", "1");
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

static void a_trial_that_was_stopped_has_its_sample_and_no_digest(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    int64_t run = begin_run(log), count = 0;
    itg_trial trial = a_trial(0), *trials = NULL;
    itg_run_record *r = NULL;
    const unsigned char none[32] = {0};
    add_trial(log, run, 0, 0);
    for (int64_t i = 1; i < 5; i++) { /* the same point again, then another one, then the first */
        const int32_t another[] = {8, 4, 1};
        trial.index = i;
        trial.point = i == 2 || i == 3 ? another : a_trial(0).point;
        trial.score.stopped_at = i > 1 ? 11 : 0;
        trial.score.value[ITG_METRIC_DISTORTION] = i > 1 ? (double)NAN : 0.5;
        assert_int_equal(itg_run_log_trial(log, run, &trial, 0, NULL), ITG_OK);
    }
    assert_int_equal(itg_run_log_commit(log, NULL), ITG_OK);
    assert_sees("SELECT group_concat(coalesce(stopped_at, '-') || (digest IS NULL) || (SELECT "
                "count(*) = 0 FROM metrics WHERE subject = number AND metric = 'distortion')) "
                "FROM trials",
                "-00,-00,1111,1111,1111");
    assert_int_equal(itg_run_log_read_run(log, run, &r, NULL), ITG_OK);
    assert_true(r->trials == 5 && r->duplicates == 3 && r->raced == 1);
    itg_run_record_destroy(r);
    assert_int_equal(itg_run_log_load_trials(log, run, &trials, &count, NULL), ITG_OK);
    assert_int_equal(trials[1].score.stopped_at, 0);
    assert_int_equal(trials[2].score.stopped_at, 11);
    assert_true(trials[2].score.value[ITG_METRIC_TOP1] == 0.775 &&
                isnan(trials[2].score.value[ITG_METRIC_DISTORTION]));
    assert_memory_equal(trials[2].score.digest, none, sizeof none);
    itg_run_log_free_trials(trials, count);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

static void a_trial_that_cannot_be_realized_has_an_error_and_no_score(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    int64_t run = begin_run(log);
    itg_trial trial = a_trial(0);
    trial.feasible = false;
    trial.error = "conv1: 33 bits";
    assert_int_equal(itg_run_log_trial(log, run, &trial, 0, NULL), ITG_OK);
    assert_sees("SELECT error FROM trials", "conv1: 33 bits");
    assert_sees("SELECT feasible = 0 AND samples IS NULL AND digest IS NULL AND (SELECT count(*) "
                "FROM metrics) = 0 FROM trials",
                "1");
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

static void a_trial_twice_or_of_no_run_is_an_error_and_the_log_goes_on(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    int64_t run = begin_run(log);
    itg_trial trial = a_trial(0);
    itg_error err = {0};
    add_trial(log, run, 0, 0);
    assert_int_equal(itg_run_log_trial(log, run, &trial, 0, &err), ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err.message, LOG));
    assert_int_equal(itg_run_log_trial(log, run + 1, &trial, 0, &err), ITG_BAD_ARGUMENT);
    add_trial(log, run, 1, 1);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    assert_sees("SELECT count(*) FROM trials", "2");
}

/* ---- when ---- */

static void trials_are_committed_every_200_ms_of_the_clock_given(void **state)
{
    (void)state;
    const struct {
        double now;
        const char *seen;
    } steps[] = {{10.0, "1"},   {10.05, "1"}, {10.19, "1"}, {10.201, "4"}, {10.3, "4"}, {10.4, "4"},
                 {10.402, "7"}, {50.0, "8"},  {50.1, "8"},  {3.0, "10"} /* a clock set back */};
    itg_run_log *log = open_log();
    int64_t run = begin_run(log);
    for (int i = 0; i < (int)(sizeof steps / sizeof *steps); i++) {
        add_trial(log, run, i, steps[i].now);
        assert_sees("SELECT count(*) FROM trials", steps[i].seen);
    }
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

static void what_waits_is_committed_by_commit_by_the_end_and_at_close(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    int64_t run = begin_run(log);
    add_trial(log, run, 0, 0);
    add_trial(log, run, 1, 0.1);
    assert_sees("SELECT count(*) FROM trials", "1");
    assert_int_equal(itg_run_log_commit(log, NULL), ITG_OK);
    assert_int_equal(itg_run_log_commit(log, NULL), ITG_OK);
    assert_sees("SELECT count(*) FROM trials", "2");
    add_trial(log, run, 2, 0.15);
    itg_run_end end = {.stop_reason = "trials", .best_trial = -1};
    assert_int_equal(itg_run_log_end_run(log, run, &end, NULL), ITG_OK);
    assert_sees("SELECT count(*) FROM trials", "3");
    add_trial(log, run, 3, 0.16);
    assert_sees("SELECT count(*) FROM trials", "3");
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    assert_sees("SELECT count(*) FROM trials", "4");
}

static void a_killed_writer_loses_only_the_last_interval(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        itg_run_log *log = NULL;
        itg_run_info info = an_info();
        int64_t run = 0;
        bool ok = itg_run_log_open(LOG, &log, NULL) == ITG_OK &&
                  itg_run_log_begin_run(log, &info, &run, NULL) == ITG_OK;
        for (int i = 0; i < 1000 && ok; i++) { /* 10 ms each */
            itg_trial trial = a_trial(i);
            ok = itg_run_log_trial(log, run, &trial, 0.01 * i, NULL) == ITG_OK;
        }
        _exit(ok ? 0 : 1);
    }
    int how = 0;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    itg_run_log *log = NULL;
    int64_t *runs = NULL, count = 0;
    itg_run_record *record = NULL;
    assert_int_equal(itg_run_log_open_reader(LOG, &log, NULL), ITG_OK);
    assert_int_equal(itg_run_log_runs(log, &runs, &count, NULL), ITG_OK);
    assert_int_equal(count, 1);
    assert_int_equal(itg_run_log_read_run(log, runs[0], &record, NULL), ITG_OK);
    assert_in_range(record->trials, 1000 - 21, 999);
    assert_null(record->stop_reason);
    itg_run_record_destroy(record);
    free(runs);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    log = open_log(); /* and the next writer goes on */
    assert_int_equal(begin_run(log), 2);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

/* ---- for whom ---- */

static itg_status count_trials(void *context, const itg_trial *trial, itg_error *err)
{
    (void)err;
    int64_t *count = context;
    itg_trial expected = a_trial(*count);
    assert_int_equal(trial->index, *count);
    assert_int_equal(trial->dim_count, 3);
    assert_memory_equal(trial->point, expected.point, sizeof(int32_t[3]));
    assert_memory_equal(trial->score.digest, expected.score.digest, 32);
    assert_int_equal(trial->score.value[ITG_METRIC_WEIGHT_BYTES],
                     expected.score.value[ITG_METRIC_WEIGHT_BYTES]);
    assert_true(trial->score.value[ITG_METRIC_TOP1] == expected.score.value[ITG_METRIC_TOP1] &&
                isnan(trial->score.value[ITG_METRIC_AGREEMENT]));
    assert_true(trial->feasible && !trial->error && trial->seconds == 0.25);
    (*count)++;
    return ITG_OK;
}

static void a_reader_beside_the_writer_sees_what_is_committed(void **state)
{
    (void)state;
    itg_run_log *writer = open_log(), *reader = NULL;
    int64_t run = begin_run(writer), count = 0;
    assert_int_equal(itg_run_log_open_reader(LOG, &reader, NULL), ITG_OK);
    add_trial(writer, run, 0, 0);
    add_trial(writer, run, 1, 0.1); /* not committed: a transaction is open */
    assert_int_equal(itg_run_log_read_trials(reader, run, count_trials, &count, NULL), ITG_OK);
    assert_int_equal(count, 1);
    add_trial(writer, run, 2, 0.3);
    count = 0;
    assert_int_equal(itg_run_log_read_trials(reader, run, count_trials, &count, NULL), ITG_OK);
    assert_int_equal(count, 3);
    assert_int_equal(itg_run_log_close(reader, NULL), ITG_OK);
    assert_int_equal(itg_run_log_close(writer, NULL), ITG_OK);
}

static void a_reader_cannot_write(void **state)
{
    (void)state;
    itg_run_log *log = open_log(), *reader = NULL;
    itg_run_info info = an_info();
    int64_t run = 0;
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    assert_int_equal(itg_run_log_open_reader(LOG, &reader, NULL), ITG_OK);
    assert_int_not_equal(itg_run_log_begin_run(reader, &info, &run, NULL), ITG_OK);
    assert_int_equal(itg_run_log_close(reader, NULL), ITG_OK);
    assert_sees("SELECT count(*) FROM runs", "0");
}

static itg_status stop_at_one(void *context, const itg_trial *trial, itg_error *err)
{
    (void)err;
    *(int64_t *)context = trial->index;
    return trial->index == 1 ? ITG_CANCELLED : ITG_OK;
}

static void reading_ends_where_the_caller_says_so(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    int64_t run = begin_run(log), last = -1;
    for (int i = 0; i < 4; i++)
        add_trial(log, run, i, i);
    assert_int_equal(itg_run_log_read_trials(log, run, stop_at_one, &last, NULL), ITG_CANCELLED);
    assert_int_equal(last, 1);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

static void the_end_of_a_run_is_read_back(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    int64_t run = begin_run(log);
    for (int i = 0; i < 10; i++)
        add_trial(log, run, i, i);
    itg_score floats = itg_score_unknown();
    floats.samples = 50;
    floats.value[ITG_METRIC_TOP1] = 0.8;
    floats.value[ITG_METRIC_AGREEMENT] = 1;
    itg_score best = a_trial(9).score;
    itg_selection chosen = {4096, 3, true, true, 0.7, 0.75, 5000};
    itg_run_end end = {.stop_reason = "exhausted",
                       .strategy_json = "{}",
                       .best_trial = 9,
                       .result[ITG_RESULT_FLOAT] = &floats,
                       .result[ITG_RESULT_BEST] = &best,
                       .selection = &chosen};
    assert_int_equal(itg_run_log_end_run(log, run, &end, NULL), ITG_OK);
    itg_run_record *r = NULL;
    assert_int_equal(itg_run_log_read_run(log, run, &r, NULL), ITG_OK);
    assert_string_equal(r->info.model_name, "net.onnx");
    assert_string_equal(r->info.hardware_name, "some-chip");
    assert_string_equal(r->info.searcher, "random");
    assert_string_equal(r->info.options_json, "{\"max_drop\": 0.01}");
    assert_string_equal(r->info.started, "2024-05-06T07:08:09Z");
    assert_string_equal(r->stop_reason, "exhausted");
    assert_string_equal(r->strategy_json, "{}");
    assert_true(r->info.seed == 18446744073709551615u);
    assert_int_equal(r->best_trial, 9);
    assert_int_equal(r->trials, 10);
    assert_true(r->known[ITG_RESULT_FLOAT] && r->known[ITG_RESULT_BEST] &&
                !r->known[ITG_RESULT_UNIFORM8]);
    assert_true(isnan(r->result[ITG_RESULT_FLOAT].value[ITG_METRIC_WEIGHT_BYTES]));
    assert_true(r->result[ITG_RESULT_FLOAT].value[ITG_METRIC_TOP1] == 0.8);
    assert_memory_equal(&r->result[ITG_RESULT_BEST].digest, best.digest, 32);
    assert_int_equal(r->result[ITG_RESULT_BEST].value[ITG_METRIC_WEIGHT_BYTES], 1009);
    assert_int_equal(r->selection.samples, 4096);
    assert_int_equal(r->selection.tested, 3);
    assert_true(r->selection.certified && r->selection.passed);
    assert_true(r->selection.bound == 0.7 && r->selection.floats == 0.75);
    assert_int_equal(r->selection.wanted, 5000);
    itg_run_record_destroy(r);
    itg_error err = {0};
    assert_int_equal(itg_run_log_read_run(log, run + 1, &r, &err), ITG_BAD_ARGUMENT);
    assert_int_equal(itg_run_log_end_run(log, run + 1, &end, &err), ITG_BAD_ARGUMENT);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

static void no_log_is_closed_without_an_error(void **state)
{
    (void)state;
    itg_error err = {0};
    assert_int_equal(itg_run_log_close(NULL, &err), ITG_OK);
    assert_int_equal(err.code, ITG_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_log_is_closed_without_an_error),
        cmocka_unit_test_teardown(a_run_is_written_in_full, remove_log),
        cmocka_unit_test_teardown(a_holdout_of_its_own_is_written, remove_log),
        cmocka_unit_test_teardown(a_trial_is_written_in_full, remove_log),
        cmocka_unit_test_teardown(a_trial_that_was_stopped_has_its_sample_and_no_digest,
                                  remove_log),
        cmocka_unit_test_teardown(a_trial_that_cannot_be_realized_has_an_error_and_no_score,
                                  remove_log),
        cmocka_unit_test_teardown(a_trial_twice_or_of_no_run_is_an_error_and_the_log_goes_on,
                                  remove_log),
        cmocka_unit_test_teardown(trials_are_committed_every_200_ms_of_the_clock_given, remove_log),
        cmocka_unit_test_teardown(what_waits_is_committed_by_commit_by_the_end_and_at_close,
                                  remove_log),
        cmocka_unit_test_teardown(a_killed_writer_loses_only_the_last_interval, remove_log),
        cmocka_unit_test_teardown(a_reader_beside_the_writer_sees_what_is_committed, remove_log),
        cmocka_unit_test_teardown(a_reader_cannot_write, remove_log),
        cmocka_unit_test_teardown(reading_ends_where_the_caller_says_so, remove_log),
        cmocka_unit_test_teardown(the_end_of_a_run_is_read_back, remove_log),
    };
    if (enter_folder("store") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
