/* Writing a log. What is not committed yet lies in one open transaction (`pending`); a commit that
 * finds the database busy leaves it open, and the next one tries again: nothing that was handed in
 * is lost but by a kill. */
#include "logs/store.h"
#include <stdlib.h>
#include <string.h>

/* ---- SQLite's words as ours ---- */

static itg_status status_of(int code)
{
    switch (code & 0xFF) {
    case SQLITE_NOMEM:
        return ITG_NO_MEMORY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* a table or column that is not there */
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

itg_status itg_log_fail(const itg_run_log *log, itg_error *err, const char *what)
{
    if (!log->db) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for SQLite", log->path);
    int code = sqlite3_extended_errcode(log->db);
    bool busy = (code & 0xFF) == SQLITE_BUSY || (code & 0xFF) == SQLITE_LOCKED;
    return itg_fail(err, status_of(code), "%s: cannot %s: %s%s", log->path, what,
                    sqlite3_errmsg(log->db), busy ? " by another program" : "");
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

itg_status itg_log_step(itg_run_log *log, sqlite3_stmt *statement, const char *what, itg_error *err)
{
    itg_status status =
        sqlite3_step(statement) == SQLITE_DONE ? ITG_OK : itg_log_fail(log, err, what);
    sqlite3_reset(statement);
    return status;
}

/* ---- transactions ---- */

itg_status itg_log_begin(itg_run_log *log, itg_error *err)
{
    if (log->pending) return ITG_OK;
    itg_status status = itg_log_execute(log, "BEGIN IMMEDIATE", "write", err);
    log->pending = status == ITG_OK;
    return status;
}

/* Fails also where another program holds it up; `pending` tells that what was handed in is still
 * there. */
static itg_status commit(itg_run_log *log, itg_error *err)
{
    if (!log->pending) return ITG_OK;
    itg_status status = itg_log_execute(log, "COMMIT", "commit", err);
    /* Some failures (a full disk) end the transaction by themselves. */
    log->pending = status != ITG_OK && sqlite3_get_autocommit(log->db) == 0;
    return status;
}

/* A commit that another program holds up is for the next one: the search goes on. */
itg_status itg_run_log_commit(itg_run_log *log, itg_error *err)
{
    itg_error why = {0};
    itg_status status = commit(log, &why);
    if (status == ITG_OK || (sqlite3_errcode(log->db) & 0xFF) == SQLITE_BUSY) return ITG_OK;
    return itg_fail(err, status, "%s", why.message);
}

itg_status itg_run_log_close(itg_run_log *log, itg_error *err)
{
    if (!log) return ITG_OK;
    itg_status status = commit(log, err);
    sqlite3_finalize(log->insert_trial);
    sqlite3_close(log->db);
    free(log->path);
    free(log);
    return status;
}

/* ---- runs ---- */

static bool bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    return sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC) == SQLITE_OK;
}

/* One row of texts (NULL: NULL) and, behind them, an integer for tables whose last column is one.
 */
static itg_status insert_row(itg_run_log *log, const char *sql, const char *const *texts, int count,
                             const int64_t *last, itg_error *err)
{
    sqlite3_stmt *statement = NULL;
    itg_status status = itg_log_prepare(log, sql, "begin a run", &statement, err);
    bool bound = status == ITG_OK;
    for (int i = 0; i < count && bound; i++)
        bound = bind_text(statement, i + 1, texts[i]);
    if (bound && last) bound = sqlite3_bind_int64(statement, count + 1, *last) == SQLITE_OK;
    if (status == ITG_OK)
        status = bound ? itg_log_step(log, statement, "begin a run", err)
                       : itg_log_fail(log, err, "begin a run");
    sqlite3_finalize(statement);
    return status;
}

static void hash_text(const char *text, char hex[65])
{
    itg_sha256 hash;
    unsigned char digest[32];
    itg_sha256_init(&hash);
    itg_sha256_update(&hash, text, strlen(text));
    itg_sha256_final(&hash, digest);
    itg_sha256_hex(digest, hex);
}

static itg_status insert_data(itg_run_log *log, const itg_run_data *data, char hex[65],
                              itg_error *err)
{
    itg_sha256_hex(data->hash, hex);
    return insert_row(log, "INSERT OR IGNORE INTO data VALUES (?, ?, ?)",
                      (const char *[]){hex, data->name}, 2, &data->samples, err);
}

static itg_status insert_run(itg_run_log *log, const itg_run_info *info, itg_error *err)
{
    char model[65], hardware[65], data[65], holdout[65], seed[24];
    itg_sha256_hex(info->model_hash, model);
    hash_text(info->hardware_json, hardware);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)info->seed);
    itg_status status = insert_row(log, "INSERT OR IGNORE INTO models VALUES (?, ?)",
                                   (const char *[]){model, info->model_name}, 2, NULL, err);
    if (status == ITG_OK)
        status = insert_row(log, "INSERT OR IGNORE INTO hardware VALUES (?, ?, ?)",
                            (const char *[]){hardware, info->hardware_name, info->hardware_json}, 3,
                            NULL, err);
    if (status == ITG_OK) status = insert_data(log, &info->data, data, err);
    if (status == ITG_OK && info->holdout.name)
        status = insert_data(log, &info->holdout, holdout, err);
    const char *run[] = {model,
                         hardware,
                         data,
                         info->holdout.name ? holdout : NULL,
                         info->searcher,
                         info->options_json,
                         info->preprocess_json,
                         seed,
                         info->engine_version,
                         info->started};
    if (status == ITG_OK)
        status = insert_row(log,
                            "INSERT INTO runs (model, hardware, data, holdout, searcher, options, "
                            "preprocess, seed, engine_version, started) "
                            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                            run, 10, NULL, err);
    return status;
}

/* Rows of a run that could not be begun must not be committed with later ones. */
static void abandon(itg_run_log *log)
{
    itg_log_execute(log, "ROLLBACK", "undo", NULL);
    log->pending = false;
}

itg_status itg_run_log_begin_run(itg_run_log *log, const itg_run_info *info, int64_t *run,
                                 itg_error *err)
{
    itg_status status = commit(log, err);
    if (status == ITG_OK) status = itg_log_begin(log, err);
    if (status != ITG_OK) return status;
    status = insert_run(log, info, err);
    int64_t number = sqlite3_last_insert_rowid(log->db);
    if (status == ITG_OK) status = commit(log, err);
    if (status == ITG_OK)
        *run = number;
    else
        abandon(log);
    return status;
}

/* ---- trials ---- */

static void write_bits(const itg_trial *trial, itg_strbuf *out)
{
    itg_strbuf_add(out, "[");
    for (int32_t i = 0; i < trial->group_count; i++)
        itg_strbuf_format(out, "%s%d", i > 0 ? ", " : "", (int)trial->bits[i]);
    itg_strbuf_add(out, "]");
}

static itg_status insert_trial(itg_run_log *log, int64_t run, const itg_trial *trial,
                               const char *bits, itg_error *err)
{
    static const char what[] = "write a trial";
    if (!log->insert_trial) {
        itg_status status =
            itg_log_prepare(log,
                            "INSERT INTO trials (run, number, bits, feasible, error, "
                            "seconds, " ITG_LOG_SCORE_COLUMNS ") "
                            "VALUES (?, ?, ?, ?, ?, ?, " ITG_LOG_SCORE_PARAMETERS ")",
                            what, &log->insert_trial, err);
        if (status != ITG_OK) return status;
    }
    sqlite3_stmt *s = log->insert_trial;
    int rc = sqlite3_bind_int64(s, 1, run) | sqlite3_bind_int64(s, 2, trial->index) |
             sqlite3_bind_text(s, 3, bits, -1, SQLITE_STATIC) |
             sqlite3_bind_int(s, 4, trial->feasible) |
             sqlite3_bind_text(s, 5, trial->error, -1, SQLITE_STATIC) |
             sqlite3_bind_double(s, 6, trial->seconds);
    bool bound =
        rc == SQLITE_OK && itg_log_bind_score(s, 7, trial->feasible ? &trial->score : NULL);
    itg_status status = bound
                            ? itg_log_step(log, s, what, err)
                            : itg_fail(err, ITG_NO_MEMORY, "%s: no memory to %s", log->path, what);
    sqlite3_clear_bindings(s);
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
    itg_strbuf bits = {0};
    write_bits(trial, &bits);
    itg_status status =
        itg_strbuf_ok(&bits)
            ? itg_log_begin(log, err)
            : itg_fail(err, ITG_NO_MEMORY, "%s: no memory to write a trial", log->path);
    if (status == ITG_OK) status = insert_trial(log, run, trial, bits.text, err);
    itg_strbuf_deinit(&bits);
    return status == ITG_OK ? commit_if_due(log, now, err) : status;
}

/* ---- the end of a run ---- */

static itg_status insert_result(itg_run_log *log, int64_t run, const char *what,
                                const itg_score *score, itg_error *err)
{
    if (!score) return ITG_OK;
    sqlite3_stmt *s = NULL;
    itg_status status =
        itg_log_prepare(log,
                        "INSERT OR REPLACE INTO results (run, what, " ITG_LOG_SCORE_COLUMNS ") "
                        "VALUES (?, ?, " ITG_LOG_SCORE_PARAMETERS ")",
                        "end a run", &s, err);
    if (status != ITG_OK) return status;
    bool bound = sqlite3_bind_int64(s, 1, run) == SQLITE_OK && bind_text(s, 2, what) &&
                 itg_log_bind_score(s, 3, score);
    status = bound ? itg_log_step(log, s, "end a run", err) : itg_log_fail(log, err, "end a run");
    sqlite3_finalize(s);
    return status;
}

static itg_status update_run(itg_run_log *log, int64_t run, const itg_run_end *end, itg_error *err)
{
    sqlite3_stmt *s = NULL;
    itg_status status = itg_log_prepare(
        log, "UPDATE runs SET stop_reason = ?, best_trial = ?, best_strategy = ? WHERE run = ?",
        "end a run", &s, err);
    if (status != ITG_OK) return status;
    int rc =
        end->best_trial < 0 ? sqlite3_bind_null(s, 2) : sqlite3_bind_int64(s, 2, end->best_trial);
    bool bound = rc == SQLITE_OK && bind_text(s, 1, end->stop_reason) &&
                 bind_text(s, 3, end->strategy_json) && sqlite3_bind_int64(s, 4, run) == SQLITE_OK;
    status = bound ? itg_log_step(log, s, "end a run", err) : itg_log_fail(log, err, "end a run");
    sqlite3_finalize(s);
    if (status == ITG_OK && sqlite3_changes(log->db) != 1)
        status =
            itg_fail(err, ITG_BAD_ARGUMENT, "%s: holds no run %lld", log->path, (long long)run);
    return status;
}

/* Trials that wait are committed first: a result that cannot be written must not take them along.
 */
itg_status itg_run_log_end_run(itg_run_log *log, int64_t run, const itg_run_end *end,
                               itg_error *err)
{
    itg_status status = commit(log, err);
    if (status == ITG_OK) status = itg_log_begin(log, err);
    if (status != ITG_OK) return status;
    status = update_run(log, run, end, err);
    if (status == ITG_OK) status = insert_result(log, run, "float", end->holdout_float, err);
    if (status == ITG_OK) status = insert_result(log, run, "uniform8", end->holdout_uniform8, err);
    if (status == ITG_OK) status = insert_result(log, run, "best", end->holdout_best, err);
    if (status == ITG_OK) status = commit(log, err);
    if (status != ITG_OK) abandon(log);
    return status;
}
