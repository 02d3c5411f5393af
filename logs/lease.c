/* Leases: a run has one writer. The database names it. The writer takes the lease before the first
 * trial is written, renews it during the run, and returns it at the end. If a writer dies, the next
 * one takes over its lease. If it comes back after all, its next transaction detects that. */
#include "logs/store.h"
#include <stdlib.h>
#include <string.h>

enum { HOST, PLACE, PROCESS, STARTED, SINCE, RENEWED };

/* Reads the lease at which the statement stands. */
static void read_holder(sqlite3_stmt *s, itg_run_holder *out)
{
    *out = (itg_run_holder){.host = (const char *)sqlite3_column_text(s, HOST),
                            .place = (const char *)sqlite3_column_text(s, PLACE),
                            .process = sqlite3_column_int64(s, PROCESS),
                            .started = (const char *)sqlite3_column_text(s, STARTED),
                            .since = (const char *)sqlite3_column_text(s, SINCE)};
}

static bool is_whole(const itg_run_holder *h)
{
    return h->host && h->place && h->started && h->since;
}

static bool is_same(const itg_run_holder *a, const itg_run_holder *b)
{
    return a->process == b->process && strcmp(a->place, b->place) == 0 &&
           strcmp(a->started, b->started) == 0;
}

/* Whether a holder lives. If this cannot be found out here: whether its lease is recent. */
static bool holder_lives(const itg_run_holder *other, int64_t renewed, const itg_run_claim *claim)
{
    int64_t age = claim->now - renewed;
    switch (claim->state(other)) {
    case ITG_HOLDER_LIVES:
        return true;
    case ITG_HOLDER_GONE:
        return false;
    default:
        return age > -ITG_LOG_LEASE_S && age < ITG_LOG_LEASE_S;
    }
}

itg_status itg_run_log_check_free(itg_run_log *log, int64_t run, const itg_run_claim *claim,
                                  itg_error *err)
{
    sqlite3_stmt *s = NULL;
    itg_run_holder other;
    itg_status status = itg_log_prepare(
        log, "SELECT host, place, process, started, since, renewed FROM leases WHERE run = ?",
        "read", &s, err);
    if (status != ITG_OK) return status;
    sqlite3_bind_int64(s, 1, run);
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW) {
        read_holder(s, &other);
        if (is_whole(&other) && !is_same(&other, &claim->self) &&
            holder_lives(&other, sqlite3_column_int64(s, RENEWED), claim))
            status = itg_fail(
                err, ITG_BAD_ARGUMENT,
                "%s: run %lld is being written by process %lld on %.100s, since %.40s", log->path,
                (long long)run, (long long)other.process, other.host, other.since);
    } else if (rc != SQLITE_DONE) {
        status = itg_log_fail(log, err, "read");
    }
    sqlite3_finalize(s);
    return status;
}

static itg_status insert(itg_run_log *log, int64_t run, const itg_run_claim *claim, itg_error *err)
{
    static const char what[] = "take the run";
    const itg_run_holder *h = &claim->self;
    const char *const texts[] = {h->host, h->place, h->started, h->since};
    sqlite3_stmt *s = NULL;
    itg_status status = itg_log_prepare(
        log,
        "INSERT OR REPLACE INTO leases (run, process, renewed, host, place, started, since) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        what, &s, err);
    if (status != ITG_OK) return status;
    int rc = sqlite3_bind_int64(s, 1, run) | sqlite3_bind_int64(s, 2, h->process) |
             sqlite3_bind_int64(s, 3, claim->now);
    for (int i = 0; i < 4; i++)
        rc |= sqlite3_bind_text(s, 4 + i, texts[i], -1, SQLITE_STATIC);
    status = rc == SQLITE_OK ? itg_log_step(log, s, what, err) : itg_log_fail(log, err, what);
    sqlite3_finalize(s);
    return status;
}

static void forget(itg_run_log *log)
{
    free(log->place);
    free(log->started);
    log->place = log->started = NULL;
    log->held = 0;
}

static itg_status remember(itg_run_log *log, int64_t run, const itg_run_holder *self,
                           itg_error *err)
{
    forget(log);
    log->place = strdup(self->place);
    log->started = strdup(self->started);
    log->process = self->process;
    if (!log->place || !log->started) {
        forget(log);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory to take a run", log->path);
    }
    log->held = run;
    return ITG_OK;
}

itg_status itg_run_log_take(itg_run_log *log, int64_t run, const itg_run_claim *claim,
                            itg_error *err)
{
    itg_status status = itg_log_commit(log, err);
    if (status == ITG_OK) status = itg_log_begin(log, err);
    if (status != ITG_OK) return status;
    status = itg_run_log_check_free(log, run, claim, err);
    if (status == ITG_OK) status = insert(log, run, claim, err);
    if (status == ITG_OK) status = remember(log, run, &claim->self, err);
    if (status == ITG_OK) status = itg_log_commit(log, err);
    if (status != ITG_OK) {
        itg_log_abandon(log);
        forget(log);
    }
    return status;
}

/* Executes a statement on this log's own lease. Returns the number of changed rows, or -1. */
static int change_own(itg_run_log *log, const char *sql, int64_t now, itg_error *err)
{
    static const char what[] = "renew its lease";
    sqlite3_stmt *s = NULL;
    if (itg_log_prepare(log, sql, what, &s, err) != ITG_OK) return -1;
    int rc = sqlite3_bind_int64(s, 1, log->held) | sqlite3_bind_text(s, 2, log->place, -1, NULL) |
             sqlite3_bind_int64(s, 3, log->process) |
             sqlite3_bind_text(s, 4, log->started, -1, NULL);
    if (sqlite3_bind_parameter_count(s) == 5) rc |= sqlite3_bind_int64(s, 5, now);
    itg_status status =
        rc == SQLITE_OK ? itg_log_step(log, s, what, err) : itg_log_fail(log, err, what);
    sqlite3_finalize(s);
    return status == ITG_OK ? sqlite3_changes(log->db) : -1;
}

#define OWN " WHERE run = ?1 AND place = ?2 AND process = ?3 AND started = ?4"

static itg_status check_changed(itg_run_log *log, int changed, itg_error *err)
{
    if (changed == 1) return ITG_OK;
    if (changed < 0) return err ? err->code : ITG_IO;
    return itg_fail(err, ITG_BAD_ARGUMENT,
                    "%s: run %lld was taken over by another process; nothing more is written to it",
                    log->path, (long long)log->held);
}

itg_status itg_log_check_lease(itg_run_log *log, itg_error *err)
{
    if (log->held == 0) return ITG_OK;
    int changed = change_own(log, "UPDATE leases SET renewed = renewed" OWN, 0, err);
    return check_changed(log, changed, err);
}

void itg_log_release(itg_run_log *log)
{
    if (log->held != 0) change_own(log, "DELETE FROM leases" OWN, 0, NULL);
    forget(log);
}

itg_status itg_run_log_renew(itg_run_log *log, int64_t now, itg_error *err)
{
    if (log->held == 0) return ITG_OK;
    itg_error why = {0};
    itg_status status = itg_log_begin(log, &why);
    if (status == ITG_OK)
        status = check_changed(
            log, change_own(log, "UPDATE leases SET renewed = ?5" OWN, now, &why), &why);
    /* A busy database is tried again at the next renewal. */
    if (status == ITG_OK || (status == ITG_IO && (sqlite3_errcode(log->db) & 0xFF) == SQLITE_BUSY))
        return itg_run_log_commit(log, err);
    return itg_fail(err, status, "%s", why.message);
}
