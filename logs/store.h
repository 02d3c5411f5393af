/* Inside logs: the open log, and what its files share. One connection; statements are prepared when
 * first used. */
#ifndef ITG_LOG_STORE_H
#define ITG_LOG_STORE_H
#include <intaglio/intaglio.h>
#include <sqlite3.h>
#include "base/base.h"

#define ITG_LOG_APPLICATION_ID 0x4954474C /* "ITGL" */
#define ITG_LOG_SCHEMA_VERSION 1
#define ITG_LOG_BUSY_TIMEOUT_MS 5000
#define ITG_LOG_COMMIT_INTERVAL_S 0.2

extern const unsigned char itg_log_schema[]; /* schema.sql, terminated */

struct itg_run_log {
    sqlite3 *db;
    char *path;
    sqlite3_stmt *insert_trial; /* NULL: not prepared yet */
    bool pending;               /* a transaction is open and holds what is not committed */
    bool committed_once;        /* last_commit has a meaning */
    double last_commit;         /* of the `now` that trials are handed in with */
};

/* "path: cannot <what>: <SQLite's words>", with the status that fits SQLite's code. */
itg_status itg_log_fail(const itg_run_log *log, itg_error *err, const char *what);
itg_status itg_log_execute(itg_run_log *log, const char *sql, const char *what, itg_error *err);
itg_status itg_log_prepare(itg_run_log *log, const char *sql, const char *what, sqlite3_stmt **out,
                           itg_error *err);
/* Runs a statement that gives no rows, and resets it. */
itg_status itg_log_step(itg_run_log *log, sqlite3_stmt *statement, const char *what,
                        itg_error *err);
/* Opens the transaction that later calls write into, where none is open. */
itg_status itg_log_begin(itg_run_log *log, itg_error *err);

/* A score in the columns of trials and results (score.c): bound from parameter `first` on, read
 * from column `first` on. */
#define ITG_LOG_SCORE_COLUMNS                                                                      \
    "samples, top1, agreement, weight_bytes, parameter_bytes, peak_activation_bytes, bops, "       \
    "cycles, average_weight_bits, digest"
#define ITG_LOG_SCORE_PARAMETERS "?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
/* score NULL: all of them NULL. False: no memory. */
bool itg_log_bind_score(sqlite3_stmt *statement, int first, const itg_score *score);
void itg_log_read_score(sqlite3_stmt *statement, int first, itg_score *out);
#endif
