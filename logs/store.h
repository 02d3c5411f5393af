/* Private to logs: the open log, and what its files share. There is one connection; statements are
 * prepared when first used. */
#ifndef ITG_LOG_STORE_H
#define ITG_LOG_STORE_H
#include <intaglio/intaglio.h>
#include <sqlite3.h>
#include "base/base.h"

#define ITG_LOG_APPLICATION_ID 0x4954474C /* "ITGL" */
#define ITG_LOG_SCHEMA_VERSION 9
#define ITG_LOG_BUSY_TIMEOUT_MS 5000
#define ITG_LOG_COMMIT_INTERVAL_S 0.2
#define ITG_LOG_MAX_CHOICE 64 /* the largest number in a point */

extern const unsigned char itg_log_schema[]; /* schema.sql, terminated */

/* Statements that are used again and again. */
typedef enum itg_log_kept {
    ITG_LOG_INSERT_TRIAL,
    ITG_LOG_INSERT_METRIC,
    ITG_LOG_SELECT_METRICS,
    ITG_LOG_SELECT_RUN,
    ITG_LOG_SELECT_RESULTS,
    ITG_LOG_SELECT_SELECTION,
    ITG_LOG_KEPT_COUNT
} itg_log_kept;

struct itg_run_log {
    sqlite3 *db;
    char *path;
    sqlite3_stmt *kept[ITG_LOG_KEPT_COUNT]; /* NULL: not prepared yet */
    bool pending;                           /* a transaction with uncommitted rows is open */
    bool lost;             /* SQLite rolled back a transaction with trials; no more may follow */
    bool committed_once;   /* last_commit is valid */
    double last_commit;    /* in the time of the trials' `now` */
    int64_t held;          /* the run of which this log holds the lease; 0: none */
    char *place, *started; /* of the holder */
    int64_t process;
};

/* Whether the file (open.c) has fewer bytes than its pages; out: "it ends after 8192 of its 20480
 * bytes". */
bool itg_log_is_cut(const itg_run_log *log, char *out, size_t size);
/* "path: is damaged: <finding>", or that the file is cut, and what to do. */
itg_status itg_log_damaged(const itg_run_log *log, const char *finding, itg_error *err);
/* The above where SQLite found damage, or "path: cannot <what>: <SQLite's words>", with the status
 * that fits SQLite's code. */
itg_status itg_log_fail(const itg_run_log *log, itg_error *err, const char *what);
/* "path: cannot read run 7: <SQLite's words>". */
itg_status itg_log_fail_run(const itg_run_log *log, int64_t run, itg_error *err);
itg_status itg_log_execute(itg_run_log *log, const char *sql, const char *what, itg_error *err);
itg_status itg_log_prepare(itg_run_log *log, const char *sql, const char *what, sqlite3_stmt **out,
                           itg_error *err);
/* Prepares a kept statement when it is first used. The caller resets it behind its last row. */
itg_status itg_log_prepare_kept(itg_run_log *log, itg_log_kept which, const char *sql,
                                const char *what, sqlite3_stmt **out, itg_error *err);
/* Runs a statement that gives no rows, and resets it. */
itg_status itg_log_step(itg_run_log *log, sqlite3_stmt *statement, const char *what,
                        itg_error *err);
/* "path: holds no run 7; it holds 3 runs, 1 to 5". */
itg_status itg_log_no_run(itg_run_log *log, int64_t run, itg_error *err);

/* ---- writing (store.c): all in the open transaction; rows are not committed by these ---- */
/* Opens the transaction that later calls write into, unless one is open. */
itg_status itg_log_begin(itg_run_log *log, itg_error *err);
/* Fails also if another program delays it; `pending` then stays true. */
itg_status itg_log_commit(itg_run_log *log, itg_error *err);
/* Rolls back what is not committed. */
void itg_log_abandon(itg_run_log *log);
itg_status itg_log_insert_run(itg_run_log *log, const itg_run_info *info, int64_t *run,
                              itg_error *err);
itg_status itg_log_insert_trial(itg_run_log *log, int64_t run, const itg_trial *trial,
                                itg_error *err);
itg_status itg_log_update_end(itg_run_log *log, int64_t run, const itg_run_end *end,
                              itg_error *err);

/* ---- a run's results by name (score.c) ---- */
extern const char *const itg_log_result_names[ITG_RESULT_COUNT]; /* as in results.what */

/* ---- the final choice (selection.c); samples 0: none, and no row ---- */
itg_status itg_log_insert_selection(itg_run_log *log, int64_t run, const itg_selection *selection,
                                    itg_error *err);
itg_status itg_log_read_selection(itg_run_log *log, int64_t run, itg_selection *out,
                                  itg_error *err);

/* ---- leases (lease.c) ---- */
/* Whether the lease that this log took is still its own; ITG_OK if it took none. Call it in a
 * transaction. */
itg_status itg_log_check_lease(itg_run_log *log, itg_error *err);
/* Returns the lease, in the open transaction. */
void itg_log_release(itg_run_log *log);

/* ---- scores (score.c): columns samples and digest of trials or results, and rows of metrics ----
 */
/* Whose score it is. */
typedef struct itg_log_subject {
    int64_t run, trial;
    const char *result; /* one of itg_log_result_names; NULL: the trial's */
} itg_log_subject;
/* Binds samples and digest, from parameter `first` on; score NULL: both NULL. False: no memory. */
bool itg_log_bind_score(sqlite3_stmt *statement, int first, const itg_score *score);
itg_status itg_log_insert_metrics(itg_run_log *log, const itg_log_subject *subject,
                                  const itg_score *score, itg_error *err);
/* Reads samples and digest from column `first` on, and the metrics. out->stopped_at must be set; if
 * it is not 0, there is no digest. ITG_BAD_FILE: the log holds an invalid score. */
itg_status itg_log_read_score(itg_run_log *log, sqlite3_stmt *statement, int first,
                              const itg_log_subject *subject, itg_score *out, itg_error *err);
#endif
