/* The nth allocation fails, ours or SQLite's, for every n: an error or success, and nothing leaks
 * (the sanitizer looks). */
#include "log_case.h"

static long countdown = -1; /* the allocation that fails; -1: none */

static bool fails(void)
{
    return countdown >= 0 && countdown-- == 0;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}
void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}
void *__wrap_realloc(void *memory, size_t bytes)
{
    return fails() ? NULL : __real_realloc(memory, bytes);
}
char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

/* SQLite's allocator, with a failure now and then. */
static sqlite3_mem_methods original;
static void *sqlite_malloc(int bytes)
{
    return fails() ? NULL : original.xMalloc(bytes);
}
static void *sqlite_realloc(void *memory, int bytes)
{
    return fails() ? NULL : original.xRealloc(memory, bytes);
}

static itg_status write_run(itg_run_log *log, int64_t *run, itg_error *err)
{
    itg_run_info info = an_info();
    itg_trial trial = a_trial(0);
    itg_run_end end = {.stop_reason = "trials",
                       .strategy_json = "{\"strategy\": {\"bits\": [8], \"thresholds\": [null]}, "
                                        "\"edges\": [{\"value\": \"x\", \"slot\": 0}]}",
                       .result[ITG_RESULT_BEST] = &trial.score};
    itg_status status = itg_run_log_begin_run(log, &info, run, err);
    if (status == ITG_OK) status = itg_run_log_trial(log, *run, &trial, 0, err);
    return status == ITG_OK ? itg_run_log_end_run(log, *run, &end, err) : status;
}

static itg_status read_run(itg_run_log *log, int64_t run, itg_error *err)
{
    itg_run_record *record = NULL;
    itg_run_edges *edges = NULL;
    itg_run_choices *choices = NULL;
    itg_trial *trials = NULL;
    int64_t *runs = NULL, count = 0;
    itg_status status = itg_run_log_runs(log, &runs, &count, err);
    free(runs);
    count = 0;
    if (status == ITG_OK) status = itg_run_log_read_run(log, run, &record, err);
    if (status == ITG_OK) status = itg_run_log_load_trials(log, run, &trials, &count, err);
    if (status == ITG_OK) status = itg_run_edges_read(record, &edges, err);
    if (status == ITG_OK) status = itg_run_choices_read(record, &trials[0], &choices, err);
    itg_run_edges_destroy(edges);
    itg_run_choices_destroy(choices);
    itg_run_log_free_trials(trials, count);
    itg_run_record_destroy(record);
    return status;
}

static itg_status write_life(itg_error *err)
{
    itg_run_log *log = NULL;
    int64_t run = 0;
    itg_status status = itg_run_log_open(LOG, &log, err);
    if (status != ITG_OK) return status;
    status = write_run(log, &run, err);
    itg_status closed = itg_run_log_close(log, status == ITG_OK ? err : NULL);
    return status == ITG_OK ? closed : status;
}

static itg_status read_life(itg_error *err)
{
    itg_run_log *log = NULL;
    itg_status status = itg_run_log_open_reader(LOG, &log, err);
    if (status != ITG_OK) return status;
    status = read_run(log, 1, err);
    if (status == ITG_OK) status = itg_run_log_export(log, 1, "run.json", err);
    itg_run_log_close(log, NULL);
    return status;
}

/* The run that is there already is refused, after all else has been done. */
static itg_status import_life(itg_error *err)
{
    itg_run_log *log = NULL;
    int64_t run = 0;
    itg_status status = itg_run_log_open(LOG, &log, err);
    if (status != ITG_OK) return status;
    status = itg_run_log_import(log, "run.json", &run, err);
    itg_run_log_close(log, NULL);
    return status == ITG_BAD_ARGUMENT ? ITG_OK : status;
}

static int remove_all(void **state)
{
    unlink("run.json");
    return remove_log(state);
}

/* The number of failures that were seen. check_every: after so many of them, life must succeed. */
static long fail_each(itg_status (*life)(itg_error *), bool afresh, int check_every)
{
    long failures = 0;
    for (long n = 0;; n++) {
        itg_error err = {0};
        if (afresh) remove_log(NULL);
        countdown = n;
        itg_status status = life(&err);
        bool reached = countdown < 0;
        countdown = -1;
        if (!reached) {
            assert_int_equal(status, ITG_OK);
            return failures;
        }
        if (status == ITG_OK) continue; /* SQLite can do without some */
        assert_true(err.message[0] != '\0');
        failures++;
        if (failures % check_every == 0) assert_int_equal(life(&err), ITG_OK);
    }
}

/* What is left behind is a log, or nothing; each try waits for a disk. */
static void every_allocation_may_fail_while_a_run_is_written(void **state)
{
    (void)state;
    assert_true(fail_each(write_life, true, 32) > 50);
}

static void every_allocation_may_fail_while_a_run_is_read(void **state)
{
    (void)state;
    itg_error err = {0};
    assert_int_equal(write_life(&err), ITG_OK);
    assert_true(fail_each(read_life, false, 100) > 50);
}

static void every_allocation_may_fail_while_a_run_is_imported(void **state)
{
    (void)state;
    itg_error err = {0};
    assert_int_equal(write_life(&err), ITG_OK);
    assert_int_equal(read_life(&err), ITG_OK);
    assert_true(fail_each(import_life, false, 100) > 50);
    assert_sees("SELECT count(*) FROM runs", "1");
}

int main(void)
{
    sqlite3_mem_methods failing;
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &original) != SQLITE_OK) return 1;
    failing = original;
    failing.xMalloc = sqlite_malloc;
    failing.xRealloc = sqlite_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &failing) != SQLITE_OK) return 1;
    const struct CMUnitTest tests[] = {

        cmocka_unit_test_teardown(every_allocation_may_fail_while_a_run_is_written, remove_all),
        cmocka_unit_test_teardown(every_allocation_may_fail_while_a_run_is_read, remove_all),
        cmocka_unit_test_teardown(every_allocation_may_fail_while_a_run_is_imported, remove_all),
    };
    if (enter_folder("faults") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
