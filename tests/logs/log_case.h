/* What the tests of the log share: a folder of its own for each test, a run and trials to write,
 * and a look at the database through SQLite itself. */
#ifndef ITG_TEST_LOG_CASE_H
#define ITG_TEST_LOG_CASE_H
#include "tests/base/cmocka_base.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <math.h>
#include <sqlite3.h>
#include <intaglio/intaglio.h>

#define LOG "runs.db"
#define SPACE                                                                                      \
    "[{\"kind\": \"bits\", \"edges\": [\"w -> conv.1\"], \"values\": [4, 8]}, {\"kind\": "         \
    "\"bits\", "                                                                                   \
    "\"edges\": [\"x -> conv.0\", \"x -> add.0\"], \"values\": [4, 8]}, {\"kind\": "               \
    "\"threshold\", "                                                                              \
    "\"edges\": [\"w -> conv.1\"], \"values\": [\"max\", \"mse\", \"kl\"]}]"

static inline int remove_log(void **state)
{
    (void)state;
    static const char *const files[] = {LOG, LOG "-journal", LOG "-wal", LOG "-shm"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(files[i]);
    return 0;
}

/* Tests run in the source tree; databases belong into the build tree. */
static inline int enter_folder(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "itg-test-%s-XXXXXX", name);
    return chdir(TEST_FOLDER) == 0 && mkdtemp(path) && chdir(path) == 0 ? 0 : -1;
}

static inline int leave_folder(void)
{
    char path[4096];
    remove_log(NULL);
    return getcwd(path, sizeof path) && chdir("..") == 0 && rmdir(path) == 0 ? 0 : -1;
}

static inline itg_run_info an_info(void)
{
    itg_run_info info = {.model_name = "net.onnx",
                         .hardware_name = "some-chip",
                         .searcher = "random",
                         .options_json = "{\"max_drop\": 0.01}",
                         .hardware_json = "{\"name\": \"some-chip\"}",
                         .preprocess_json = "{}",
                         .engine_version = "0.1.0",
                         .started = "2024-05-06T07:08:09Z",
                         .space_json = SPACE,
                         .data = {.name = "x.npy", .samples = 100},
                         .labels = {.name = "y.npy", .samples = 100},
                         .seed = 18446744073709551615u};
    memset(info.model_hash, 0xA1, sizeof info.model_hash);
    memset(info.data.hash, 0x0F, sizeof info.data.hash);
    memset(info.labels.hash, 0x1F, sizeof info.labels.hash);
    return info;
}

static inline itg_trial a_trial(int64_t index)
{
    static const int32_t point[] = {8, 4, 2};
    itg_trial trial = {
        .index = index, .point = point, .dim_count = 3, .feasible = true, .seconds = 0.25};
    trial.score = itg_score_unknown();
    double *value = trial.score.value;
    trial.score.samples = 40;
    value[ITG_METRIC_TOP1] = 0.775;
    value[ITG_METRIC_WEIGHT_BYTES] = (double)(1000 + index);
    value[ITG_METRIC_PARAMETER_BYTES] = 2000;
    value[ITG_METRIC_PEAK_ACTIVATION_BYTES] = 300;
    value[ITG_METRIC_BOPS] = 1e6;
    value[ITG_METRIC_CYCLES] = 12.5;
    value[ITG_METRIC_AVERAGE_WEIGHT_BITS] = 4.5;
    value[ITG_METRIC_DISTORTION] = 0.001953125;
    memset(trial.score.digest, (int)(index & 0x7F), sizeof trial.score.digest);
    return trial;
}

static inline itg_run_log *open_log(void)
{
    itg_run_log *log = NULL;
    itg_error err = {0};
    if (itg_run_log_open(LOG, &log, &err) != ITG_OK) fail_msg("%s", err.message);
    return log;
}

static inline int64_t begin_run(itg_run_log *log)
{
    itg_run_info info = an_info();
    itg_error err = {0};
    int64_t run = -1;
    if (itg_run_log_begin_run(log, &info, &run, &err) != ITG_OK) fail_msg("%s", err.message);
    return run;
}

static inline void add_trial(itg_run_log *log, int64_t run, int64_t index, double now)
{
    itg_trial trial = a_trial(index);
    itg_error err = {0};
    if (itg_run_log_trial(log, run, &trial, now, &err) != ITG_OK) fail_msg("%s", err.message);
}

/* The first column of the first row, as another program sees it; "" for NULL. */
static inline void look(const char *sql, char *out, size_t size)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    assert_int_equal(sqlite3_open_v2(LOG, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    const unsigned char *text = sqlite3_column_text(s, 0);
    snprintf(out, size, "%s", text ? (const char *)text : "");
    sqlite3_finalize(s);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static inline void assert_sees(const char *sql, const char *expected)
{
    char got[256];
    look(sql, got, sizeof got);
    assert_string_equal(got, expected);
}
#endif
