/* Creating a log, and everything that is refused; what is refused must not change by a byte. */
#include "log_case.h"
#include "base/base.h"
#include <sys/stat.h>

static unsigned char *bytes_of(const char *path, size_t *count)
{
    unsigned char *data = NULL;
    assert_int_equal(itg_file_read(path, 1 << 24, &data, count, NULL), ITG_OK);
    return data;
}

static void put(const char *path, const void *data, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* Both ways of opening refuse, say why, and leave the file and its folder as they were. */
static void assert_refused(itg_status expected, const char *why)
{
    size_t before = 0, after = 0;
    unsigned char *old = bytes_of(LOG, &before);
    for (int writer = 0; writer < 2; writer++) {
        itg_run_log *log = NULL;
        itg_error err = {0};
        itg_status status =
            writer ? itg_run_log_open(LOG, &log, &err) : itg_run_log_open_reader(LOG, &log, &err);
        assert_int_equal(status, expected);
        assert_null(log);
        if (!strstr(err.message, why) || !strstr(err.message, LOG))
            fail_msg("'%s' lacks '%s'", err.message, why);
    }
    unsigned char *now = bytes_of(LOG, &after);
    assert_int_equal(before, after);
    assert_memory_equal(old, now, before);
    assert_int_not_equal(access(LOG "-journal", F_OK), 0);
    assert_int_not_equal(access(LOG "-wal", F_OK), 0);
    free(old);
    free(now);
}

static void make_log(int trials)
{
    itg_run_log *log = open_log();
    int64_t run = begin_run(log);
    for (int i = 0; i < trials; i++)
        add_trial(log, run, i, 0);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

static void execute(const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(LOG, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_new_log_names_its_application_and_version(void **state)
{
    (void)state;
    make_log(0);
    assert_sees("PRAGMA application_id", "1230260044");
    assert_sees("PRAGMA user_version", "9");
    assert_sees("SELECT value FROM meta WHERE key = 'schema_version'", "9");
    assert_sees("PRAGMA journal_mode", "delete");
}

static void an_empty_file_becomes_a_log(void **state)
{
    (void)state;
    put(LOG, "", 0);
    make_log(1);
    assert_sees("SELECT count(*) FROM trials", "1");
}

static void a_log_is_opened_again_and_grows(void **state)
{
    (void)state;
    make_log(2);
    make_log(3);
    assert_sees("SELECT count(*) FROM runs", "2");
    assert_sees("SELECT count(*) FROM trials", "5");
    assert_sees("SELECT count(*) FROM models", "1");
}

static void names_that_sqlite_reads_otherwise_are_files(void **state)
{
    (void)state;
    static const char *const names[] = {":memory:", "file:x.db?mode=memory"};
    for (int i = 0; i < 2; i++) {
        itg_run_log *log = NULL;
        assert_int_equal(itg_run_log_open(names[i], &log, NULL), ITG_OK);
        assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
        assert_int_equal(unlink(names[i]), 0);
    }
    itg_run_log *log = NULL;
    assert_int_equal(itg_run_log_open("", &log, NULL), ITG_BAD_ARGUMENT);
}

static void another_version_of_the_schema_is_refused(void **state)
{
    (void)state;
    make_log(1);
    execute("PRAGMA user_version = 10");
    assert_refused(ITG_UNSUPPORTED, "schema version 10, this program knows version 9");
    execute("PRAGMA user_version = 3");
    assert_refused(ITG_UNSUPPORTED, "schema version 3, this program knows version 9");
}

static void version_zero_is_refused(void **state)
{
    (void)state;
    make_log(1);
    execute("PRAGMA user_version = 0");
    assert_refused(ITG_BAD_FILE, "damaged");
}

static void another_applications_database_is_refused(void **state)
{
    (void)state;
    execute("CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('x')");
    assert_refused(ITG_BAD_FILE, "another application");
    execute("PRAGMA application_id = 77; PRAGMA journal_mode = WAL");
    unlink(LOG "-wal");
    unlink(LOG "-shm");
    assert_refused(ITG_BAD_FILE, "another application");
}

static void what_is_no_database_is_refused(void **state)
{
    (void)state;
    unsigned char noise[5000];
    itg_rng rng;
    itg_rng_init(&rng, 3);
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (unsigned char)itg_rng_next(&rng);
    put(LOG, noise, sizeof noise);
    assert_refused(ITG_BAD_FILE, "no SQLite database");
    put(LOG, "x", 1);
    assert_refused(ITG_BAD_FILE, "no SQLite database");
    put(LOG, "SQLite format 3", 16);
    assert_refused(ITG_BAD_FILE, "another application");
}

static void a_truncated_log_is_refused_wherever_it_is_cut(void **state)
{
    (void)state;
    make_log(300);
    size_t size = 0;
    unsigned char *whole = bytes_of(LOG, &size);
    assert_true(size > 4 * 4096);
    for (size_t cut = 100; cut < size; cut += cut < 4096 ? 1332 : 4096) {
        put(LOG, whole, cut);
        assert_refused(ITG_BAD_FILE, "");
    }
    free(whole);
}

/* A writer refuses the log. A reader reads up to the damage, and then fails with the same words. */
static void a_damaged_page_is_refused(void **state)
{
    (void)state;
    make_log(300);
    size_t size = 0;
    unsigned char *data = bytes_of(LOG, &size);
    memset(data + size - 4096, 0x5A, 4096);
    put(LOG, data, size);
    itg_run_log *log = NULL;
    itg_error err = {0};
    assert_int_equal(itg_run_log_open(LOG, &log, &err), ITG_BAD_FILE);
    assert_non_null(strstr(err.message, LOG ": is damaged: "));
    assert_int_equal(itg_run_log_open_reader(LOG, &log, &err), ITG_OK);
    err.message[0] = '\0';
    itg_trial *trials = NULL;
    int64_t count = 0;
    assert_int_equal(itg_run_log_load_trials(log, 1, &trials, &count, &err), ITG_BAD_FILE);
    assert_non_null(strstr(err.message, LOG ": is damaged: "));
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    size_t now = 0;
    unsigned char *after = bytes_of(LOG, &now);
    assert_int_equal(now, size);
    assert_memory_equal(after, data, size);
    free(after);
    free(data);
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    itg_run_log *log = NULL;
    itg_error err = {0};
    assert_int_equal(itg_run_log_open(".", &log, &err), ITG_IO);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(itg_run_log_open("pipe", &log, &err), ITG_IO);
    assert_int_equal(unlink("pipe"), 0);
    assert_int_equal(itg_run_log_open("no/such/folder/x.db", &log, &err), ITG_IO);
    assert_int_equal(itg_run_log_open_reader(LOG, &log, &err), ITG_IO);
    assert_int_not_equal(access(LOG, F_OK), 0);
}

static void a_log_in_wal_mode_is_taken_out_of_it(void **state)
{
    (void)state;
    make_log(1);
    execute("PRAGMA journal_mode = WAL");
    make_log(1);
    assert_sees("PRAGMA journal_mode", "delete");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_new_log_names_its_application_and_version, remove_log),
        cmocka_unit_test_teardown(an_empty_file_becomes_a_log, remove_log),
        cmocka_unit_test_teardown(a_log_is_opened_again_and_grows, remove_log),
        cmocka_unit_test_teardown(names_that_sqlite_reads_otherwise_are_files, remove_log),
        cmocka_unit_test_teardown(another_version_of_the_schema_is_refused, remove_log),
        cmocka_unit_test_teardown(version_zero_is_refused, remove_log),
        cmocka_unit_test_teardown(another_applications_database_is_refused, remove_log),
        cmocka_unit_test_teardown(what_is_no_database_is_refused, remove_log),
        cmocka_unit_test_teardown(a_truncated_log_is_refused_wherever_it_is_cut, remove_log),
        cmocka_unit_test_teardown(a_damaged_page_is_refused, remove_log),
        cmocka_unit_test_teardown(what_is_no_file_is_refused, remove_log),
        cmocka_unit_test_teardown(a_log_in_wal_mode_is_taken_out_of_it, remove_log),
    };
    if (enter_folder("open") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
