/* Every SQL block of docs/log-schema.md runs on a log, and has something to say. */
#include "log_case.h"
#include "base/base.h"

static char *page;

/* A run with results and trials, and one that was interrupted. */
static void make_log(void)
{
    itg_run_log *log = open_log();
    int64_t run = begin_run(log);
    itg_trial failed = a_trial(3);
    itg_score score = a_trial(0).score;
    itg_run_end end = {.stop_reason = "trials",
                       .strategy_json = "{}",
                       .best_trial = 1,
                       .goal_met = true,
                       .result[ITG_RESULT_FLOAT] = &score,
                       .result[ITG_RESULT_UNIFORM8] = &score,
                       .result[ITG_RESULT_BEST] = &score,
                       .result[ITG_RESULT_SEARCH_FLOAT] = &score};
    for (int i = 0; i < 3; i++)
        add_trial(log, run, i, i);
    failed.feasible = false;
    failed.error = "conv1: 33 bits";
    assert_int_equal(itg_run_log_trial(log, run, &failed, 9, NULL), ITG_OK);
    assert_int_equal(itg_run_log_end_run(log, run, &end, NULL), ITG_OK);
    begin_run(log);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

static void run_block(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
        fail_msg("%s in: %s", sqlite3_errmsg(db), sql);
    if (sqlite3_step(s) != SQLITE_ROW) fail_msg("no row: %s", sql);
    sqlite3_finalize(s);
}

static void every_block_of_the_page_answers(void **state)
{
    (void)state;
    static const char fence[] = "```sql\n";
    sqlite3 *db = NULL;
    int blocks = 0;
    make_log();
    assert_int_equal(sqlite3_open_v2(LOG, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    for (char *at = strstr(page, fence); at; at = strstr(at, fence)) {
        at += strlen(fence);
        char *end = strstr(at, "```");
        assert_non_null(end);
        *end = '\0';
        run_block(db, at);
        at = end + 1;
        blocks++;
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_true(blocks >= 7);
}

static void the_page_names_every_column_and_the_version(void **state)
{
    (void)state;
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    char quoted[64];
    make_log();
    assert_sees("PRAGMA user_version", "9");
    assert_non_null(strstr(page, "the version of the schema: 9."));
    assert_int_equal(sqlite3_open_v2(LOG, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db,
                           "SELECT DISTINCT c.name FROM sqlite_master m JOIN "
                           "pragma_table_info(m.name) c WHERE m.type = 'table' AND "
                           "m.name IN ('runs', 'trials', 'results', 'selections', 'metrics')",
                           -1, &s, NULL),
        SQLITE_OK);
    int columns = 0;
    for (; sqlite3_step(s) == SQLITE_ROW; columns++) {
        snprintf(quoted, sizeof quoted, "`%s`", (const char *)sqlite3_column_text(s, 0));
        if (!strstr(page, quoted)) fail_msg("the page does not name %s", quoted);
    }
    assert_true(columns > 30);
    sqlite3_finalize(s);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_page_names_every_column_and_the_version, remove_log),
        cmocka_unit_test_teardown(every_block_of_the_page_answers, remove_log),
    };
    unsigned char *data = NULL;
    size_t bytes = 0;
    if (itg_file_read("docs/log-schema.md", 1 << 20, &data, &bytes, NULL) != ITG_OK) return 1;
    page = (char *)data;
    if (enter_folder("page") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(data);
    return leave_folder() != 0 || failed;
}
