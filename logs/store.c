/* Writes a log. Rows that are not committed are in one open transaction (`pending`). If a commit
 * finds the database busy, the transaction stays open and the next commit tries again. Only a kill
 * loses rows. */
#include "logs/store.h"
#include <stdlib.h>
#include <string.h>

/* ---- status of SQLite's codes ---- */

static itg_status status_of(int code)
{
    switch (code & 0xFF) {
    case SQLITE_NOMEM:
        return ITG_NO_MEMORY;
    case SQLITE_ERROR: /* a missing table or column */
        return ITG_BAD_FILE;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISUSE:
        return ITG_BAD_ARGUMENT;
    case SQLITE_TOOBIG:
        return ITG_LIMIT;
    default:
        return ITG_IO;
    }
}

itg_status itg_log_damaged(const itg_run_log *log, const char *finding, itg_error *err)
{
    char cut[96];
    return itg_fail(err, ITG_BAD_FILE,
                    "%s: is damaged: %s; it was left as it is. Restore a copy, or save what can "
                    "still be read: sqlite3 OLD .recover | sqlite3 NEW",
                    log->path, itg_log_is_cut(log, cut, sizeof cut) ? cut : finding);
}

itg_status itg_log_fail(const itg_run_log *log, itg_error *err, const char *what)
{
    if (!log->db) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for SQLite", log->path);
    int code = sqlite3_extended_errcode(log->db);
    if ((code & 0xFF) == SQLITE_CORRUPT || (code & 0xFF) == SQLITE_NOTADB)
        return itg_log_damaged(log, sqlite3_errmsg(log->db), err);
    bool busy = (code & 0xFF) == SQLITE_BUSY || (code & 0xFF) == SQLITE_LOCKED;
    return itg_fail(err, status_of(code), "%s: cannot %s: %s%s", log->path, what,
                    sqlite3_errmsg(log->db), busy ? " by another program" : "");
}

itg_status itg_log_fail_run(const itg_run_log *log, int64_t run, itg_error *err)
{
    char doing[48];
    snprintf(doing, sizeof doing, "read run %lld", (long long)run);
    return itg_log_fail(log, err, doing);
}

itg_status itg_log_execute(itg_run_log *log, const char *sql, const char *what, itg_error *err)
{
    return sqlite3_exec(log->db, sql, NULL, NULL, NULL) == SQLITE_OK ? ITG_OK
                                                                     : itg_log_fail(log, err, what);
}

itg_status itg_log_prepare(itg_run_log *log, const char *sql, const char *what, sqlite3_stmt **out,
                           itg_error *err)
{
    return sqlite3_prepare_v2(log->db, sql, -1, out, NULL) == SQLITE_OK
               ? ITG_OK
               : itg_log_fail(log, err, what);
}

itg_status itg_log_prepare_kept(itg_run_log *log, itg_log_kept which, const char *sql,
                                const char *what, sqlite3_stmt **out, itg_error *err)
{
    itg_status status =
        log->kept[which] ? ITG_OK : itg_log_prepare(log, sql, what, &log->kept[which], err);
    *out = log->kept[which];
    return status;
}

itg_status itg_log_step(itg_run_log *log, sqlite3_stmt *statement, const char *what, itg_error *err)
{
    itg_status status =
        sqlite3_step(statement) == SQLITE_DONE ? ITG_OK : itg_log_fail(log, err, what);
    sqlite3_reset(statement);
    return status;
}

itg_status itg_log_no_run(itg_run_log *log, int64_t run, itg_error *err)
{
    static const char sql[] = "SELECT count(*), min(run), max(run) FROM runs";
    sqlite3_stmt *s = NULL;
    char held[96] = "";
    if (itg_log_prepare(log, sql, "read", &s, NULL) == ITG_OK && sqlite3_step(s) == SQLITE_ROW) {
        long long count = sqlite3_column_int64(s, 0), first = sqlite3_column_int64(s, 1);
        if (count == 0)
            snprintf(held, sizeof held, "; it holds none");
        else if (count == 1)
            snprintf(held, sizeof held, "; it holds 1 run, number %lld", first);
        else
            snprintf(held, sizeof held, "; it holds %lld runs, from %lld to %lld", count, first,
                     (long long)sqlite3_column_int64(s, 2));
    }
    sqlite3_finalize(s);
    return itg_fail(err, ITG_BAD_ARGUMENT, "%s: holds no run %lld%s", log->path, (long long)run,
                    held);
}

/* ---- transactions ---- */

/* Some failures (a full disk, no memory) end the transaction. Its rows are lost, and later rows
 * must not be written behind the gap. */
static void notice_rollback(itg_run_log *log)
{
    if (!log->pending || sqlite3_get_autocommit(log->db) == 0) return;
    log->pending = false;
    log->lost = true;
}

itg_status itg_log_begin(itg_run_log *log, itg_error *err)
{
    if (log->lost)
        return itg_fail(err, ITG_IO,
                        "%s: trials could not be written, so nothing may follow them; what was "
                        "committed before is safe",
                        log->path);
    if (log->pending) return ITG_OK;
    itg_status status = itg_log_execute(log, "BEGIN IMMEDIATE", "write", err);
    log->pending = status == ITG_OK;
    return status;
}

itg_status itg_log_commit(itg_run_log *log, itg_error *err)
{
    if (!log->pending) return ITG_OK;
    itg_status status = itg_log_execute(log, "COMMIT", "commit", err);
    if (status == ITG_OK)
        log->pending = false;
    else
        notice_rollback(log);
    return status;
}

void itg_log_abandon(itg_run_log *log)
{
    if (log->pending) itg_log_execute(log, "ROLLBACK", "undo", NULL);
    log->pending = false;
}

/* If another program delays the commit, the next one tries again, and the search continues. */
itg_status itg_run_log_commit(itg_run_log *log, itg_error *err)
{
    itg_error why = {0};
    itg_status status = itg_log_commit(log, &why);
    if (status == ITG_OK || (sqlite3_errcode(log->db) & 0xFF) == SQLITE_BUSY) return ITG_OK;
    return itg_fail(err, status, "%s", why.message);
}

itg_status itg_run_log_close(itg_run_log *log, itg_error *err)
{
    if (!log) return ITG_OK;
    if (log->held != 0 && !log->lost && itg_log_begin(log, NULL) == ITG_OK) itg_log_release(log);
    itg_status status = itg_log_commit(log, err);
    free(log->place);
    free(log->started);
    for (int i = 0; i < ITG_LOG_KEPT_COUNT; i++)
        sqlite3_finalize(log->kept[i]);
    sqlite3_close(log->db);
    free(log->path);
    free(log);
    return status;
}

/* ---- trials ---- */

static void write_point(const itg_trial *trial, itg_strbuf *out)
{
    itg_strbuf_add(out, "[");
    for (int32_t i = 0; i < trial->dim_count; i++)
        itg_strbuf_format(out, "%s%d", i > 0 ? ", " : "", (int)trial->point[i]);
    itg_strbuf_add(out, "]");
}

static itg_status insert_row_of(itg_run_log *log, int64_t run, const itg_trial *trial,
                                const char *point, itg_error *err)
{
    static const char what[] = "write a trial";
    sqlite3_stmt *s = NULL;
    itg_status status = itg_log_prepare_kept(
        log, ITG_LOG_INSERT_TRIAL,
        "INSERT INTO trials (run, number, point, feasible, error, seconds, "
        "stopped_at, round, samples, digest, worker) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        what, &s, err);
    if (status != ITG_OK) return status;
    int rc = sqlite3_bind_int64(s, 1, run) | sqlite3_bind_int64(s, 2, trial->index) |
             sqlite3_bind_text(s, 3, point, -1, SQLITE_STATIC) |
             sqlite3_bind_int(s, 4, trial->feasible) |
             sqlite3_bind_text(s, 5, trial->error, -1, SQLITE_STATIC) |
             sqlite3_bind_double(s, 6, trial->seconds) | sqlite3_bind_int(s, 8, trial->round);
    if (trial->feasible && trial->score.stopped_at > 0)
        rc |= sqlite3_bind_int64(s, 7, trial->score.stopped_at);
    if (*trial->worker) rc |= sqlite3_bind_text(s, 11, trial->worker, -1, SQLITE_STATIC);
    bool bound =
        rc == SQLITE_OK && itg_log_bind_score(s, 9, trial->feasible ? &trial->score : NULL);
    status = bound ? itg_log_step(log, s, what, err)
                   : itg_fail(err, ITG_NO_MEMORY, "%s: no memory to %s", log->path, what);
    sqlite3_clear_bindings(s);
    if (status != ITG_OK || !trial->feasible) return status;
    return itg_log_insert_metrics(log, &(itg_log_subject){.run = run, .trial = trial->index},
                                  &trial->score, err);
}

itg_status itg_log_insert_trial(itg_run_log *log, int64_t run, const itg_trial *trial,
                                itg_error *err)
{
    itg_strbuf point = {0};
    write_point(trial, &point);
    itg_status status =
        itg_strbuf_ok(&point)
            ? insert_row_of(log, run, trial, point.text, err)
            : itg_fail(err, ITG_NO_MEMORY, "%s: no memory to write a trial", log->path);
    itg_strbuf_deinit(&point);
    return status;
}

static itg_status commit_if_due(itg_run_log *log, double now, itg_error *err)
{
    double age = now - log->last_commit;
    if (log->committed_once && age >= 0 && age < ITG_LOG_COMMIT_INTERVAL_S) return ITG_OK;
    log->committed_once = true;
    log->last_commit = now;
    return itg_run_log_commit(log, err);
}

itg_status itg_run_log_trial(itg_run_log *log, int64_t run, const itg_trial *trial, double now,
                             itg_error *err)
{
    bool begins = !log->pending;
    itg_status status = itg_log_begin(log, err);
    if (status == ITG_OK && begins) status = itg_log_check_lease(log, err);
    if (status != ITG_OK) {
        if (begins) itg_log_abandon(log);
        return status;
    }
    status = itg_log_insert_trial(log, run, trial, err);
    if (status == ITG_OK) return commit_if_due(log, now, err);
    notice_rollback(log);
    return status;
}
