/* What goes wrong outside: a disk that is full, a file that shrinks, readers beside the writer.
 * What was committed stays, and nothing is written behind a gap. */
#include "log_case.h"
#include "logs/store.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

/* ---- a full disk ---- */

/* The log holds exactly the trials 0..count-1 of its run 1. */
static int64_t assert_whole(void)
{
    itg_run_log *log = NULL;
    itg_trial *trials = NULL;
    int64_t count = 0;
    itg_error err = {0};
    if (itg_run_log_open_reader(LOG, &log, &err) != ITG_OK) fail_msg("%s", err.message);
    if (itg_run_log_load_trials(log, 1, &trials, &count, &err) != ITG_OK)
        fail_msg("%s", err.message);
    for (int64_t i = 0; i < count; i++)
        assert_int_equal(trials[i].score.value[ITG_METRIC_WEIGHT_BYTES], 1000 + i);
    itg_run_log_free_trials(trials, count);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    return count;
}

/* Writes until it cannot; every tenth trial is committed. Returns the trial that failed, or whose
 * commit did; -1: none. */
static int64_t fill(itg_run_log *log, int64_t run, int64_t *committed)
{
    for (int64_t i = 0; i < 5000; i++) {
        itg_trial trial = a_trial(i);
        itg_error err = {0};
        itg_status status = itg_run_log_trial(log, run, &trial, 0.001 * (double)i, &err);
        if (status == ITG_OK && i % 10 == 0) {
            status = itg_run_log_commit(log, &err);
            if (status == ITG_OK) *committed = i + 1;
        }
        if (status != ITG_OK) return status == ITG_IO && strstr(err.message, LOG) ? i : -1;
    }
    return -1;
}

static void assert_nothing_may_follow(itg_run_log *log, int64_t run, int64_t next)
{
    itg_trial trial = a_trial(next);
    itg_run_end end = {.stop_reason = "trials", .best_trial = -1};
    itg_error err = {0};
    assert_int_equal(itg_run_log_trial(log, run, &trial, 1e6, &err), ITG_IO);
    assert_non_null(strstr(err.message, "committed before is safe"));
    assert_int_equal(itg_run_log_end_run(log, run, &end, &err), ITG_IO);
}

static void what_was_committed_survives_a_full_disk(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    int64_t run = begin_run(log), committed = 0;
    assert_int_equal(sqlite3_exec(log->db, "PRAGMA max_page_count = 21", NULL, NULL, NULL),
                     SQLITE_OK);
    /* small transactions fail at their commit or before; both must leave no gap */
    int64_t failed = fill(log, run, &committed);
    assert_true(failed > 100);
    if (log->lost) assert_nothing_may_follow(log, run, failed + 1);
    itg_run_log_close(log, NULL);
    int64_t count = assert_whole();
    assert_in_range(count, committed, failed + 1);
    log = open_log(); /* there is room again */
    add_trial(log, run, count, 0);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    assert_int_equal(assert_whole(), count + 1);
}

/* The operating system refuses to let any file grow beyond 100 kB. */
static void write_under_a_limit(void)
{
    struct rlimit limit = {100000, 100000};
    signal(SIGXFSZ, SIG_IGN);
    itg_run_log *log = open_log();
    int64_t run = begin_run(log), committed = 0;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(3);
    int64_t failed = fill(log, run, &committed);
    itg_trial trial = a_trial(failed + 1);
    bool stays_shut =
        failed >= 0 && log->lost && itg_run_log_trial(log, run, &trial, 1e6, NULL) == ITG_IO;
    _exit(failed < 0 || committed < 100 ? 4 : stays_shut ? 0 : 5);
}

static void what_was_committed_survives_a_limit_of_the_system(void **state)
{
    (void)state;
    int how = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) write_under_a_limit();
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
    int64_t count = assert_whole();
    assert_true(count >= 100);
    itg_run_log *log = open_log();
    add_trial(log, 1, count, 0);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

/* ---- a file that is cut ---- */

static void a_cut_file_is_named_as_such_and_what_to_do_is_said(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    int64_t run = begin_run(log);
    for (int i = 0; i < 300; i++)
        add_trial(log, run, i, i);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    struct stat about;
    assert_int_equal(stat(LOG, &about), 0);
    for (int missing = 5; missing <= 5000; missing += 4995) {
        assert_int_equal(truncate(LOG, about.st_size - missing), 0);
        char ends[96];
        snprintf(ends, sizeof ends, "ends after %lld of its %lld bytes",
                 (long long)about.st_size - missing, (long long)about.st_size);
        for (int writer = 0; writer < 2; writer++) {
            itg_error err = {0};
            assert_int_equal(writer ? itg_run_log_open(LOG, &log, &err)
                                    : itg_run_log_open_reader(LOG, &log, &err),
                             ITG_BAD_FILE);
            assert_non_null(strstr(err.message, ends));
            assert_non_null(strstr(err.message, ".recover"));
        }
    }
}

static void a_missing_trial_is_noticed(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    int64_t run = begin_run(log), count = 7;
    itg_trial *trials = NULL;
    itg_error err = {0};
    add_trial(log, run, 0, 0);
    add_trial(log, run, 2, 0);
    assert_int_equal(itg_run_log_load_trials(log, run, &trials, &count, &err), ITG_BAD_FILE);
    assert_non_null(strstr(err.message, "trial 1 is missing"));
    assert_null(trials);
    assert_int_equal(count, 7);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

/* ---- readers ---- */

enum { WRITTEN = 60 };

/* A commit a trial; at half of them it says so, and waits to be told to go on. */
static void write_all(int said, int told)
{
    itg_run_log *log = open_log();
    char byte = 0;
    for (int i = 0; i < WRITTEN; i++) {
        itg_trial trial = a_trial(i);
        if (itg_run_log_trial(log, 1, &trial, i, NULL) != ITG_OK) _exit(1);
        if (i + 1 == WRITTEN / 2 && (write(said, &byte, 1) != 1 || read(told, &byte, 1) != 1))
            _exit(3);
    }
    itg_run_end end = {.stop_reason = "trials", .best_trial = -1};
    bool ok = itg_run_log_end_run(log, 1, &end, NULL) == ITG_OK;
    _exit(ok && itg_run_log_close(log, NULL) == ITG_OK ? 0 : 2);
}

static void another_process_reads_while_one_writes(void **state)
{
    (void)state;
    int said[2], told[2], how = 0;
    char byte = 0;
    itg_run_log *log = open_log();
    assert_int_equal(begin_run(log), 1);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    assert_int_equal(pipe(said), 0);
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) write_all(said[1], told[0]);
    close(said[1]);
    assert_int_equal(read(said[0], &byte, 1), 1);
    int64_t last = assert_whole();
    assert_int_equal(last, WRITTEN / 2);
    assert_int_equal(write(told[1], &byte, 1), 1);
    const struct timespec moment = {0, 500000};
    for (int reads = 0; last < WRITTEN && reads < 20000; reads++) {
        int64_t now = assert_whole();
        assert_true(now >= last);
        last = now;
        nanosleep(&moment, NULL);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
    assert_int_equal(assert_whole(), WRITTEN);
    close(said[0]);
    close(told[0]);
    close(told[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_was_committed_survives_a_full_disk, remove_log),
        cmocka_unit_test_teardown(what_was_committed_survives_a_limit_of_the_system, remove_log),
        cmocka_unit_test_teardown(a_cut_file_is_named_as_such_and_what_to_do_is_said, remove_log),
        cmocka_unit_test_teardown(a_missing_trial_is_noticed, remove_log),
        cmocka_unit_test_teardown(another_process_reads_while_one_writes, remove_log),
    };
    if (enter_folder("survival") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
