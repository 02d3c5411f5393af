/* Writing a run: its inputs when it begins, its results when it ends. Each is one transaction. */
#include "logs/store.h"
#include <string.h>

/* ---- runs ---- */

static bool bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    return sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC) == SQLITE_OK;
}

/* Inserts a row of texts (NULL: NULL), and an integer as last column if `last` is not NULL. */
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
    unsigned char digest[32];
    itg_sha256_of(text, strlen(text), digest);
    itg_sha256_hex(digest, hex);
}

static itg_status insert_data(itg_run_log *log, const itg_run_data *data, char hex[65],
                              itg_error *err)
{
    if (!data->name) return ITG_OK;
    itg_sha256_hex(data->hash, hex);
    return insert_row(log, "INSERT OR IGNORE INTO data VALUES (?, ?, ?)",
                      (const char *[]){hex, data->name}, 2, &data->samples, err);
}

/* Inserts what the run refers to by hash, unless it exists. */
static itg_status insert_inputs(itg_run_log *log, const itg_run_info *info, char model[65],
                                char hardware[65], char data[4][65], itg_error *err)
{
    const itg_run_data *sets[] = {&info->data, &info->labels, &info->holdout,
                                  &info->holdout_labels};
    itg_sha256_hex(info->model_hash, model);
    hash_text(info->hardware_json, hardware);
    itg_status status = insert_row(log, "INSERT OR IGNORE INTO models VALUES (?, ?)",
                                   (const char *[]){model, info->model_name}, 2, NULL, err);
    if (status == ITG_OK)
        status = insert_row(log, "INSERT OR IGNORE INTO hardware VALUES (?, ?, ?)",
                            (const char *[]){hardware, info->hardware_name, info->hardware_json}, 3,
                            NULL, err);
    for (int i = 0; i < 4 && status == ITG_OK; i++)
        status = insert_data(log, sets[i], data[i], err);
    return status;
}

itg_status itg_log_insert_run(itg_run_log *log, const itg_run_info *info, int64_t *run,
                              itg_error *err)
{
    char model[65], hardware[65], data[4][65], seed[24];
    itg_status status = insert_inputs(log, info, model, hardware, data, err);
    if (status != ITG_OK) return status;
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)info->seed);
    const char *texts[] = {model,
                           info->model_name,
                           hardware,
                           data[0],
                           info->data.name,
                           info->labels.name ? data[1] : NULL,
                           info->labels.name,
                           info->holdout.name ? data[2] : NULL,
                           info->holdout.name,
                           info->holdout_labels.name ? data[3] : NULL,
                           info->holdout_labels.name,
                           info->searcher,
                           info->options_json,
                           info->preprocess_json,
                           info->space_json,
                           seed,
                           info->engine_version,
                           info->started};
    status = insert_row(log,
                        "INSERT INTO runs (model, model_name, hardware, data, data_name, labels, "
                        "labels_name, holdout, holdout_name, holdout_labels, holdout_labels_name, "
                        "searcher, options, preprocess, space, seed, engine_version, started) "
                        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        texts, sizeof texts / sizeof *texts, NULL, err);
    if (status == ITG_OK) *run = sqlite3_last_insert_rowid(log->db);
    return status;
}

/* Commits earlier rows first, and abandons the rows of a run that cannot begin. */
itg_status itg_run_log_begin_run(itg_run_log *log, const itg_run_info *info, int64_t *run,
                                 itg_error *err)
{
    int64_t number = 0;
    itg_status status = itg_log_commit(log, err);
    if (status == ITG_OK) status = itg_log_begin(log, err);
    if (status != ITG_OK) return status;
    status = itg_log_insert_run(log, info, &number, err);
    if (status == ITG_OK) status = itg_log_commit(log, err);
    if (status == ITG_OK)
        *run = number;
    else
        itg_log_abandon(log);
    return status;
}

/* ---- the end of a run ---- */

static itg_status insert_result(itg_run_log *log, int64_t run, const char *what,
                                const itg_score *score, itg_error *err)
{
    if (!score) return ITG_OK;
    sqlite3_stmt *s = NULL;
    itg_status status =
        itg_log_prepare(log,
                        "INSERT OR REPLACE INTO results (run, what, samples, digest) "
                        "VALUES (?, ?, ?, ?)",
                        "end a run", &s, err);
    if (status != ITG_OK) return status;
    bool bound = sqlite3_bind_int64(s, 1, run) == SQLITE_OK && bind_text(s, 2, what) &&
                 itg_log_bind_score(s, 3, score);
    status = bound ? itg_log_step(log, s, "end a run", err) : itg_log_fail(log, err, "end a run");
    sqlite3_finalize(s);
    if (status != ITG_OK) return status;
    return itg_log_insert_metrics(log, &(itg_log_subject){.run = run, .result = what}, score, err);
}

static itg_status update_run(itg_run_log *log, int64_t run, const itg_run_end *end, itg_error *err)
{
    sqlite3_stmt *s = NULL;
    itg_status status = itg_log_prepare(log,
                                        "UPDATE runs SET stop_reason = ?, goal_met = ?, "
                                        "best_trial = ?, best_strategy = ?, best_codes = ? "
                                        "WHERE run = ?",
                                        "end a run", &s, err);
    if (status != ITG_OK) return status;
    int rc =
        end->best_trial < 0 ? sqlite3_bind_null(s, 3) : sqlite3_bind_int64(s, 3, end->best_trial);
    bool bound = rc == SQLITE_OK && bind_text(s, 1, end->stop_reason) &&
                 sqlite3_bind_int(s, 2, end->goal_met) == SQLITE_OK &&
                 bind_text(s, 4, end->strategy_json) && bind_text(s, 5, end->codes) &&
                 sqlite3_bind_int64(s, 6, run) == SQLITE_OK;
    status = bound ? itg_log_step(log, s, "end a run", err) : itg_log_fail(log, err, "end a run");
    sqlite3_finalize(s);
    if (status == ITG_OK && sqlite3_changes(log->db) != 1) status = itg_log_no_run(log, run, err);
    return status;
}

itg_status itg_log_update_end(itg_run_log *log, int64_t run, const itg_run_end *end, itg_error *err)
{
    itg_status status = update_run(log, run, end, err);
    for (int i = 0; i < ITG_RESULT_COUNT && status == ITG_OK; i++)
        status = insert_result(log, run, itg_log_result_names[i], end->result[i], err);
    if (status == ITG_OK && end->selection)
        status = itg_log_insert_selection(log, run, end->selection, err);
    return status;
}

/* Commits waiting trials first, so that a result that cannot be written does not lose them. */
itg_status itg_run_log_end_run(itg_run_log *log, int64_t run, const itg_run_end *end,
                               itg_error *err)
{
    itg_status status = itg_log_commit(log, err);
    if (status == ITG_OK) status = itg_log_begin(log, err);
    if (status != ITG_OK) return status;
    status = itg_log_check_lease(log, err);
    if (status == ITG_OK) status = itg_log_update_end(log, run, end, err);
    if (status == ITG_OK) status = itg_log_commit(log, err);
    if (status != ITG_OK) itg_log_abandon(log);
    return status;
}

static itg_status clear_end(itg_run_log *log, int64_t run, itg_error *err)
{
    static const char *const sqls[] = {
        "DELETE FROM metrics WHERE run = ?1 AND subject IN (SELECT what FROM results WHERE run = "
        "?1)",
        "DELETE FROM results WHERE run = ?", "DELETE FROM selections WHERE run = ?",
        "UPDATE runs SET stop_reason = NULL, goal_met = NULL, best_trial = NULL, "
        "best_strategy = NULL, best_codes = NULL WHERE run = ?"};
    itg_status status = ITG_OK;
    for (size_t i = 0; i < sizeof sqls / sizeof *sqls && status == ITG_OK; i++) {
        sqlite3_stmt *s = NULL;
        status = itg_log_prepare(log, sqls[i], "reopen a run", &s, err);
        if (status == ITG_OK) {
            sqlite3_bind_int64(s, 1, run);
            status = itg_log_step(log, s, "reopen a run", err);
        }
        sqlite3_finalize(s);
    }
    if (status == ITG_OK && sqlite3_changes(log->db) != 1) status = itg_log_no_run(log, run, err);
    return status;
}

itg_status itg_run_log_reopen_run(itg_run_log *log, int64_t run, itg_error *err)
{
    itg_status status = itg_log_commit(log, err);
    if (status == ITG_OK) status = itg_log_begin(log, err);
    if (status != ITG_OK) return status;
    status = clear_end(log, run, err);
    if (status == ITG_OK) status = itg_log_commit(log, err);
    if (status != ITG_OK) itg_log_abandon(log);
    return status;
}
