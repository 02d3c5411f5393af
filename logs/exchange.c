/* Export and import of one run, each in one transaction. */
#include "logs/exchange.h"
#include <stdlib.h>
#include <string.h>

static itg_status no_memory(const itg_run_log *log, itg_error *err)
{
    return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for a run", log->path);
}

/* ---- from the log ---- */

static itg_status read_text(itg_run_log *log, int64_t run, bool numbered, itg_strbuf *out,
                            itg_error *err)
{
    itg_run_record *record = NULL;
    itg_trial *trials = NULL;
    int64_t count = 0;
    itg_status status = itg_run_log_read_run(log, run, &record, err);
    if (status == ITG_OK) status = itg_run_log_load_trials(log, run, &trials, &count, err);
    if (status == ITG_OK) {
        itg_log_write_run(&(itg_log_run){record, trials, count}, numbered, out);
        if (!itg_strbuf_ok(out)) status = no_memory(log, err);
    }
    itg_run_log_free_trials(trials, count);
    itg_run_record_destroy(record);
    return status;
}

/* Reads the run in one transaction, because another program may be writing it. */
static itg_status read_snapshot(itg_run_log *log, int64_t run, itg_strbuf *out, itg_error *err)
{
    bool own = sqlite3_get_autocommit(log->db) != 0;
    itg_status status = own ? itg_log_execute(log, "BEGIN", "read", err) : ITG_OK;
    if (status == ITG_OK) status = read_text(log, run, true, out, err);
    if (own) itg_log_execute(log, "ROLLBACK", "read", NULL);
    return status;
}

itg_status itg_run_log_export(itg_run_log *log, int64_t run, const char *path, itg_error *err)
{
    itg_strbuf text = {0};
    itg_status status = read_snapshot(log, run, &text, err);
    if (status == ITG_OK && text.length > ITG_LOG_EXCHANGE_MAX_BYTES)
        status =
            itg_fail(err, ITG_LIMIT, "%s: run %lld is too long for a file: %zu bytes, at most %zu",
                     log->path, (long long)run, text.length, ITG_LOG_EXCHANGE_MAX_BYTES);
    if (status == ITG_OK) status = itg_file_write(path, text.text, text.length, err);
    itg_strbuf_deinit(&text);
    return status;
}

/* ---- into the log ---- */

typedef struct import {
    itg_run_log *log;
    const char *path;
    const itg_log_run *from;
    int64_t run;
} import;

static itg_status insert(import *in, itg_error *err)
{
    const itg_run_record *r = in->from->record;
    itg_run_end end = {.stop_reason = r->stop_reason,
                       .strategy_json = r->strategy_json,
                       .codes = r->codes,
                       .best_trial = r->best_trial,
                       .goal_met = r->goal_met,
                       .selection = &r->selection};
    for (int i = 0; i < ITG_RESULT_COUNT; i++)
        end.result[i] = r->known[i] ? &r->result[i] : NULL;
    itg_status status = itg_log_insert_run(in->log, &r->info, &in->run, err);
    for (int64_t i = 0; i < in->from->count && status == ITG_OK; i++)
        status = itg_log_insert_trial(in->log, in->run, &in->from->trials[i], err);
    return status == ITG_OK && r->ended ? itg_log_update_end(in->log, in->run, &end, err) : status;
}

/* The log keeps one entry for equal hashes, so the file must agree with the existing entry. */
static itg_status check_agreement(const import *in, const char *text, itg_error *err)
{
    itg_strbuf wanted = {0};
    itg_log_write_run(in->from, false, &wanted);
    itg_status status = itg_strbuf_ok(&wanted) ? ITG_OK : no_memory(in->log, err);
    if (status == ITG_OK && strcmp(wanted.text, text) != 0)
        status = itg_fail(err, ITG_BAD_FILE,
                          "%s: contradicts %s: a hardware description or data set of this hash has "
                          "another name or number of samples there",
                          in->path, in->log->path);
    itg_strbuf_deinit(&wanted);
    return status;
}

static itg_status check_differs(const import *in, int64_t other, const char *text, itg_error *err)
{
    itg_strbuf theirs = {0};
    itg_status status = read_text(in->log, other, false, &theirs, err);
    if (status == ITG_OK && strcmp(theirs.text, text) == 0)
        status = itg_fail(err, ITG_BAD_ARGUMENT, "%s: is in %s already: run %lld", in->path,
                          in->log->path, (long long)other);
    itg_strbuf_deinit(&theirs);
    return status;
}

/* Checks that no other run equals the one that was just inserted. */
static itg_status check_new(const import *in, const char *text, itg_error *err)
{
    sqlite3_stmt *s = NULL;
    int rc = SQLITE_DONE;
    itg_status status =
        itg_log_prepare(in->log,
                        "SELECT b.run FROM runs a JOIN runs b ON b.model = a.model AND b.hardware "
                        "= a.hardware AND b.data = a.data AND b.seed = a.seed AND b.started = "
                        "a.started AND b.run <> a.run WHERE a.run = ? ORDER BY b.run",
                        "import a run", &s, err);
    if (status == ITG_OK) sqlite3_bind_int64(s, 1, in->run);
    while (status == ITG_OK && (rc = sqlite3_step(s)) == SQLITE_ROW)
        status = check_differs(in, sqlite3_column_int64(s, 0), text, err);
    if (status == ITG_OK && rc != SQLITE_DONE) status = itg_log_fail(in->log, err, "import a run");
    sqlite3_finalize(s);
    return status;
}

static itg_status insert_and_check(import *in, itg_error *err)
{
    itg_strbuf text = {0};
    itg_status status = insert(in, err);
    if (status == ITG_OK) status = read_text(in->log, in->run, false, &text, err);
    if (status == ITG_OK) status = check_agreement(in, text.text, err);
    if (status == ITG_OK) status = check_new(in, text.text, err);
    itg_strbuf_deinit(&text);
    return status;
}

static itg_status import_run(import *in, itg_error *err)
{
    itg_status status = itg_log_commit(in->log, err);
    if (status == ITG_OK) status = itg_log_begin(in->log, err);
    if (status != ITG_OK) return status;
    status = insert_and_check(in, err);
    if (status == ITG_OK) status = itg_log_commit(in->log, err);
    if (status != ITG_OK) itg_log_abandon(in->log);
    return status;
}

itg_status itg_run_log_import(itg_run_log *log, const char *path, int64_t *run, itg_error *err)
{
    itg_json *json = NULL;
    itg_log_run from = {0};
    unsigned char *text = NULL;
    size_t bytes = 0;
    struct import in = {.log = log, .path = path, .from = &from};
    itg_status status = itg_file_read(path, ITG_LOG_EXCHANGE_MAX_BYTES, &text, &bytes, err);
    if (status != ITG_OK) return status;
    itg_arena *arena = itg_arena_create(0);
    status = arena ? itg_log_parse_run((const char *)text, bytes, path, arena, &json, &from, err)
                   : no_memory(log, err);
    free(text);
    if (status == ITG_OK) status = import_run(&in, err);
    if (status == ITG_OK) *run = in.run;
    itg_arena_destroy(arena);
    itg_json_destroy(json);
    return status;
}
