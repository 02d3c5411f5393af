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

static itg_status ignore(void *context, const itg_trial *trial, itg_error *err)
{
    (void)context;
    (void)trial;
    (void)err;
    return ITG_OK;
}

static itg_status write_and_read(itg_run_log *log, itg_error *err)
{
    itg_run_info info = an_info();
    itg_trial trial = a_trial(0);
    itg_run_end end = {
        .stop_reason = "trials", .strategy_json = "{}", .holdout_best = &trial.score};
    itg_run_record *record = NULL;
    int64_t run = 0, *runs = NULL, count = 0;
    itg_status status = itg_run_log_begin_run(log, &info, &run, err);
    if (status == ITG_OK) status = itg_run_log_trial(log, run, &trial, 0, err);
    if (status == ITG_OK) status = itg_run_log_end_run(log, run, &end, err);
    if (status == ITG_OK) status = itg_run_log_runs(log, &runs, &count, err);
    if (status == ITG_OK) status = itg_run_log_read_run(log, run, &record, err);
    if (status == ITG_OK) status = itg_run_log_read_trials(log, run, ignore, NULL, err);
    itg_run_record_destroy(record);
    free(runs);
    return status;
}

static itg_status whole_life(itg_error *err)
{
    itg_run_log *log = NULL;
    itg_status status = itg_run_log_open(LOG, &log, err);
    if (status != ITG_OK) return status;
    status = write_and_read(log, err);
    itg_status closed = itg_run_log_close(log, status == ITG_OK ? err : NULL);
    return status == ITG_OK ? closed : status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    long failures = 0, n = 0;
    for (;; n++) {
        itg_error err = {0};
        remove_log(NULL);
        countdown = n;
        itg_status status = whole_life(&err);
        bool reached = countdown < 0;
        countdown = -1;
        if (!reached) {
            assert_int_equal(status, ITG_OK);
            break;
        }
        if (status == ITG_OK) continue; /* SQLite can do without some */
        assert_true(err.message[0] != '\0');
        failures++;
        if (failures % 8 ==
            0) /* what is left behind is a log, or nothing; each try waits for a disk */
            assert_int_equal(whole_life(&err), ITG_OK);
    }
    assert_true(failures > 50);
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
        cmocka_unit_test_teardown(every_allocation_may_fail, remove_log)};
    if (enter_folder("faults") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
