/* Logs of older schema versions: a reader sees them through and leaves every byte, a writer brings
 * them to the current schema, all or nothing. */
#include "log_case.h"
#include "base/base.h"

/* logs/schema.sql as Intaglio 0.1.0 had it, and what it wrote with it. */
static const char schema_1[] =
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE models (hash TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE hardware (hash TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL) "
    "WITHOUT ROWID;"
    "CREATE TABLE data (hash TEXT PRIMARY KEY, name TEXT NOT NULL, samples INTEGER NOT NULL) "
    "WITHOUT ROWID;"
    "CREATE TABLE runs (run INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL REFERENCES "
    "models (hash), hardware TEXT NOT NULL REFERENCES hardware (hash), data TEXT NOT NULL "
    "REFERENCES data (hash), holdout TEXT REFERENCES data (hash), searcher TEXT NOT NULL, options "
    "TEXT NOT NULL, preprocess TEXT NOT NULL, seed TEXT NOT NULL, engine_version TEXT NOT NULL, "
    "started TEXT NOT NULL, stop_reason TEXT, best_trial INTEGER, best_strategy TEXT);"
    "CREATE TABLE trials (run INTEGER NOT NULL REFERENCES runs (run), number INTEGER NOT NULL, "
    "bits TEXT NOT NULL, feasible INTEGER NOT NULL, error TEXT, seconds REAL NOT NULL, samples "
    "INTEGER, top1 REAL, agreement REAL, weight_bytes INTEGER, parameter_bytes INTEGER, "
    "peak_activation_bytes INTEGER, bops REAL, cycles REAL, average_weight_bits REAL, digest TEXT, "
    "PRIMARY KEY (run, number)) WITHOUT ROWID;"
    "CREATE TABLE results (run INTEGER NOT NULL REFERENCES runs (run), what TEXT NOT NULL CHECK "
    "(what IN ('float', 'uniform8', 'best')), samples INTEGER, top1 REAL, agreement REAL, "
    "weight_bytes INTEGER, parameter_bytes INTEGER, peak_activation_bytes INTEGER, bops REAL, "
    "cycles REAL, average_weight_bits REAL, digest TEXT, PRIMARY KEY (run, what)) WITHOUT ROWID;"
    "INSERT INTO meta VALUES ('schema_version', '1');"
    "PRAGMA application_id = 1230260044; PRAGMA user_version = 1;";

#define A32 "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"
static const char rows_1[] =
    "INSERT INTO models VALUES ('" A32 A32 "', 'net.onnx');"
    "INSERT INTO hardware VALUES ('h', 'some-chip', '{}');"
    "INSERT INTO data VALUES ('d', 'x.npy', 100); INSERT INTO data VALUES ('e', 'h.npy', 20);"
    "INSERT INTO runs VALUES (1, '" A32 A32 "', 'h', 'd', 'e', 'hago-greedy', "
    "'{\"max_drop\": 0.01}', '{}', '18446744073709551615', '0.1.0', '2024-05-06T07:08:09Z', "
    "'exhausted', 1, '{\"version\": 1}');"
    "INSERT INTO runs VALUES (2, '" A32 A32 "', 'h', 'd', NULL, 'random', '{}', '{}', '7', "
    "'0.1.0', '2024-05-07T07:08:09Z', NULL, NULL, NULL);"
    "INSERT INTO runs VALUES (5, '" A32 A32 "', 'h', 'd', NULL, 'random', '{}', '{}', '7', "
    "'0.1.0', '2024-05-08T07:08:09Z', 'trials', NULL, NULL); DELETE FROM runs WHERE run = 5;"
    "INSERT INTO trials VALUES (1, 0, '[8, 8]', 1, NULL, 0.5, 40, 0.9, NULL, 1000, 1100, 64, 1e6, "
    "5e3, 8.0, '" A32 A32 "');"
    "INSERT INTO trials VALUES (1, 1, '[8, 4]', 0, 'no such width', 0.1, NULL, NULL, NULL, NULL, "
    "NULL, NULL, NULL, NULL, NULL, NULL);"
    "INSERT INTO results VALUES (1, 'best', 20, 0.875, 0.95, 1000, 1100, 64, 1e6, 5e3, 8.0, '" A32
        A32 "');";

/* logs/schema.sql as it was before trials could be stopped early. */
static const char schema_2[] =
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE models (hash TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE hardware (hash TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL) "
    "WITHOUT ROWID;"
    "CREATE TABLE data (hash TEXT PRIMARY KEY, name TEXT NOT NULL, samples INTEGER NOT NULL) "
    "WITHOUT ROWID;"
    "CREATE TABLE runs (run INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL REFERENCES "
    "models (hash), model_name TEXT NOT NULL, hardware TEXT NOT NULL REFERENCES hardware (hash), "
    "data TEXT NOT NULL REFERENCES data (hash), data_name TEXT NOT NULL, labels TEXT REFERENCES "
    "data (hash), labels_name TEXT, holdout TEXT REFERENCES data (hash), holdout_name TEXT, "
    "holdout_labels TEXT REFERENCES data (hash), holdout_labels_name TEXT, searcher TEXT NOT NULL, "
    "options TEXT NOT NULL, preprocess TEXT NOT NULL, space TEXT, seed TEXT NOT NULL, "
    "engine_version TEXT NOT NULL, started TEXT NOT NULL, stop_reason TEXT, goal_met INTEGER, "
    "best_trial INTEGER, best_strategy TEXT);"
    "CREATE TABLE trials (run INTEGER NOT NULL REFERENCES runs (run), number INTEGER NOT NULL, "
    "point TEXT NOT NULL, feasible INTEGER NOT NULL, error TEXT, seconds REAL NOT NULL, samples "
    "INTEGER, top1 REAL, agreement REAL, weight_bytes INTEGER, parameter_bytes INTEGER, "
    "peak_activation_bytes INTEGER, bops REAL, cycles REAL, average_weight_bits REAL, distortion "
    "REAL, digest TEXT, PRIMARY KEY (run, number)) WITHOUT ROWID;"
    "CREATE TABLE results (run INTEGER NOT NULL REFERENCES runs (run), what TEXT NOT NULL CHECK "
    "(what IN ('float', 'uniform8', 'hago-greedy', 'best', 'float-search')), samples INTEGER, "
    "top1 REAL, agreement REAL, weight_bytes INTEGER, parameter_bytes INTEGER, "
    "peak_activation_bytes INTEGER, bops REAL, cycles REAL, average_weight_bits REAL, distortion "
    "REAL, digest TEXT, PRIMARY KEY (run, what)) WITHOUT ROWID;"
    "INSERT INTO meta VALUES ('schema_version', '2');"
    "PRAGMA application_id = 1230260044; PRAGMA user_version = 2;";

static const char rows_2[] =
    "INSERT INTO models VALUES ('" A32 A32 "', 'net.onnx');"
    "INSERT INTO hardware VALUES ('h', 'some-chip', '{}');"
    "INSERT INTO data VALUES ('d', 'x.npy', 100); INSERT INTO data VALUES ('l', 'y.npy', 100);"
    "INSERT INTO runs VALUES (1, '" A32 A32 "', 'renamed.onnx', 'h', 'd', 'z.npy', 'l', 'y.npy', "
    "NULL, NULL, NULL, NULL, 'greedy', '{}', '{}', '[]', '7', '0.1.0', '2024-05-06T07:08:09Z', "
    "'exhausted', 0, 0, '{\"version\": 1}');"
    "INSERT INTO runs VALUES (4, '" A32 A32 "', 'net.onnx', 'h', 'd', 'x.npy', NULL, NULL, NULL, "
    "NULL, NULL, NULL, 'random', '{}', '{}', NULL, '7', '0.1.0', '2024-05-07T07:08:09Z', NULL, "
    "NULL, NULL, NULL); DELETE FROM runs WHERE run = 4;"
    "INSERT INTO trials VALUES (1, 0, '[8, 8]', 1, NULL, 0.5, 40, 0.9, 0.8, 1000, 1100, 64, 1e6, "
    "5e3, 8.0, 0.25, '" A32 A32 "');"
    "INSERT INTO trials VALUES (1, 1, '[8, 8]', 1, NULL, 0, 40, 0.9, 0.8, 1000, 1100, 64, 1e6, "
    "5e3, 8.0, 0.25, '" A32 A32 "');"
    "INSERT INTO results VALUES (1, 'float-search', 40, 0.875, 0.95, NULL, NULL, NULL, NULL, NULL, "
    "NULL, 0.125, '" A32 A32 "');";

static void execute(const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(LOG, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail_msg("%s", sqlite3_errmsg(db));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void make_version_1(void)
{
    execute(schema_1);
    execute(rows_1);
}

static void make_version_2(void)
{
    execute(schema_2);
    execute(rows_2);
}

static unsigned char *bytes_of(size_t *count)
{
    unsigned char *data = NULL;
    assert_int_equal(itg_file_read(LOG, 1 << 24, &data, count, NULL), ITG_OK);
    return data;
}

static void assert_unchanged(const unsigned char *old, size_t before)
{
    size_t after = 0;
    unsigned char *now = bytes_of(&after);
    assert_int_equal(after, before);
    assert_memory_equal(now, old, before);
    free(now);
}

static void assert_run_1(itg_run_log *log)
{
    itg_run_record *r = NULL;
    itg_error err = {0};
    if (itg_run_log_read_run(log, 1, &r, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_string_equal(r->info.model_name, "net.onnx");
    assert_string_equal(r->info.hardware_name, "some-chip");
    assert_string_equal(r->info.data.name, "x.npy");
    assert_int_equal(r->info.data.samples, 100);
    assert_string_equal(r->info.holdout.name, "h.npy");
    assert_int_equal(r->info.holdout.samples, 20);
    assert_null(r->info.labels.name);
    assert_null(r->info.space_json);
    assert_int_equal(r->info.model_hash[31], 0xA1);
    assert_true(r->info.seed == UINT64_MAX);
    assert_true(r->ended && r->goal_met && r->has_best && !r->has_hago);
    assert_int_equal(r->best_trial, 1);
    assert_true(r->holdout_best.top1 == 0.875 && r->holdout_best.distortion == -1);
    itg_run_record_destroy(r);
}

static void assert_trials(itg_run_log *log)
{
    itg_trial *trials = NULL;
    int64_t count = 0;
    assert_int_equal(itg_run_log_load_trials(log, 1, &trials, &count, NULL), ITG_OK);
    assert_int_equal(count, 2);
    assert_int_equal(trials[1].dim_count, 2);
    assert_int_equal(trials[1].point[1], 4);
    assert_false(trials[1].feasible);
    assert_string_equal(trials[1].error, "no such width");
    assert_int_equal(trials[0].score.weight_bytes, 1000);
    assert_true(trials[0].score.distortion == -1 && trials[0].score.cycles == 5e3);
    itg_run_log_free_trials(trials, count);
}

static void assert_run_2_is_unfinished(itg_run_log *log)
{
    itg_run_record *r = NULL;
    assert_int_equal(itg_run_log_read_run(log, 2, &r, NULL), ITG_OK);
    assert_false(r->ended || r->goal_met || r->has_best);
    assert_int_equal(r->trials, 0);
    assert_null(r->info.holdout.name);
    itg_run_record_destroy(r);
}

static void a_reader_sees_version_1_through_and_leaves_it(void **state)
{
    (void)state;
    make_version_1();
    size_t before = 0;
    unsigned char *old = bytes_of(&before);
    itg_run_log *log = NULL;
    itg_run_info info = an_info();
    int64_t run = 0;
    assert_int_equal(itg_run_log_open_reader(LOG, &log, NULL), ITG_OK);
    assert_run_1(log);
    assert_trials(log);
    assert_run_2_is_unfinished(log);
    assert_int_not_equal(itg_run_log_begin_run(log, &info, &run, NULL), ITG_OK);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    assert_unchanged(old, before);
    free(old);
}

static void assert_is_current(void)
{
    assert_sees("PRAGMA user_version", "3");
    assert_sees("SELECT value FROM meta WHERE key = 'schema_version'", "3");
    assert_sees("SELECT count(*) FROM pragma_foreign_key_check", "0");
    assert_sees("SELECT group_concat(name) FROM sqlite_master WHERE name GLOB 'old_*'", "");
}

static void a_writer_brings_version_1_to_the_current_schema(void **state)
{
    (void)state;
    make_version_1();
    itg_run_log *log = open_log();
    assert_run_1(log);
    assert_trials(log);
    assert_run_2_is_unfinished(log);
    assert_int_equal(begin_run(log), 6); /* 5 was deleted; numbers are never used again */
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    assert_is_current();
    assert_sees("SELECT group_concat(run) FROM runs", "1,2,6");
}

static void assert_version_2(itg_run_log *log)
{
    itg_run_record *r = NULL;
    itg_trial *trials = NULL;
    int64_t count = 0;
    assert_int_equal(itg_run_log_read_run(log, 1, &r, NULL), ITG_OK);
    assert_string_equal(r->info.model_name, "renamed.onnx");
    assert_string_equal(r->info.data.name, "z.npy");
    assert_string_equal(r->info.labels.name, "y.npy");
    assert_string_equal(r->info.space_json, "[]");
    assert_true(r->ended && !r->goal_met && r->has_search_float && !r->has_best);
    assert_true(r->search_float.top1 == 0.875 && r->search_float.distortion == 0.125);
    assert_true(r->best_trial == 0 && r->trials == 2 && r->duplicates == 1 && r->raced == 0);
    itg_run_record_destroy(r);
    assert_int_equal(itg_run_log_load_trials(log, 1, &trials, &count, NULL), ITG_OK);
    assert_int_equal(count, 2);
    assert_true(trials[0].score.distortion == 0.25 && trials[0].score.stopped_at == 0);
    assert_int_equal(trials[0].score.digest[31], 0xA1);
    itg_run_log_free_trials(trials, count);
}

static void a_reader_sees_version_2_through_and_leaves_it(void **state)
{
    (void)state;
    make_version_2();
    size_t before = 0;
    unsigned char *old = bytes_of(&before);
    itg_run_log *log = NULL;
    assert_int_equal(itg_run_log_open_reader(LOG, &log, NULL), ITG_OK);
    assert_version_2(log);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    assert_unchanged(old, before);
    free(old);
}

static void a_writer_brings_version_2_to_the_current_schema(void **state)
{
    (void)state;
    make_version_2();
    itg_run_log *log = open_log();
    assert_version_2(log);
    assert_int_equal(begin_run(log), 5);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    assert_is_current();
    assert_sees("SELECT count(*) FROM trials WHERE stopped_at IS NULL", "2");
}

static void both_ways_lead_to_the_same_tables(void **state)
{
    (void)state;
    static const char tables[] = "SELECT group_concat(sql, ';') FROM (SELECT sql FROM "
                                 "sqlite_master WHERE sql IS NOT NULL ORDER BY name)";
    void (*const make[])(void) = {make_version_1, make_version_2};
    static char fresh[8192], migrated[8192];
    assert_int_equal(itg_run_log_close(open_log(), NULL), ITG_OK);
    look(tables, fresh, sizeof fresh);
    assert_non_null(strstr(fresh, "CREATE TABLE trials"));
    for (size_t i = 0; i < sizeof make / sizeof *make; i++) {
        remove_log(NULL);
        make[i]();
        assert_int_equal(itg_run_log_close(open_log(), NULL), ITG_OK);
        look(tables, migrated, sizeof migrated);
        assert_string_equal(migrated, fresh);
    }
}

static void an_unfinished_run_of_version_1_is_gone_on_with(void **state)
{
    (void)state;
    make_version_1();
    itg_run_log *log = open_log();
    add_trial(log, 2, 0, 0);
    itg_run_end end = {.stop_reason = "trials", .best_trial = 0, .goal_met = true};
    assert_int_equal(itg_run_log_end_run(log, 2, &end, NULL), ITG_OK);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    assert_sees("SELECT goal_met || stop_reason FROM runs WHERE run = 2", "1trials");
}

static void what_cannot_be_migrated_stays_as_it_is(void **state)
{
    (void)state;
    make_version_1();
    execute("ALTER TABLE results RENAME COLUMN cycles TO clocks");
    size_t before = 0;
    unsigned char *old = bytes_of(&before);
    itg_run_log *log = NULL;
    itg_error err = {0};
    assert_int_equal(itg_run_log_open(LOG, &log, &err), ITG_BAD_FILE);
    assert_non_null(strstr(err.message, LOG));
    assert_null(log);
    assert_unchanged(old, before);
    assert_sees("PRAGMA user_version", "1");
    free(old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_reader_sees_version_1_through_and_leaves_it, remove_log),
        cmocka_unit_test_teardown(a_writer_brings_version_1_to_the_current_schema, remove_log),
        cmocka_unit_test_teardown(a_reader_sees_version_2_through_and_leaves_it, remove_log),
        cmocka_unit_test_teardown(a_writer_brings_version_2_to_the_current_schema, remove_log),
        cmocka_unit_test_teardown(both_ways_lead_to_the_same_tables, remove_log),
        cmocka_unit_test_teardown(an_unfinished_run_of_version_1_is_gone_on_with, remove_log),
        cmocka_unit_test_teardown(what_cannot_be_migrated_stays_as_it_is, remove_log),
    };
    if (enter_folder("migrate") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
