/* Reading a log. Every read is one statement, finished before it returns (trials: when the last one
 * has been handed on), so that a reader never holds up the writer for long. */
#include "logs/store.h"
#include "base/json.h"
#include <stdlib.h>
#include <string.h>

static const char what[] = "read";

/* ---- the list of runs ---- */

static itg_status collect(itg_run_log *log, sqlite3_stmt *s, int64_t **list, int64_t *count,
                          itg_error *err)
{
    int64_t capacity = 0;
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        if (*count == capacity) {
            capacity = capacity ? capacity * 2 : 64;
            int64_t *grown = realloc(*list, sizeof **list * (size_t)capacity);
            if (!grown)
                return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for its runs", log->path);
            *list = grown;
        }
        (*list)[(*count)++] = sqlite3_column_int64(s, 0);
    }
    return rc == SQLITE_DONE ? ITG_OK : itg_log_fail(log, err, what);
}

itg_status itg_run_log_runs(itg_run_log *log, int64_t **runs, int64_t *count, itg_error *err)
{
    sqlite3_stmt *s = NULL;
    int64_t *list = NULL, found = 0;
    itg_status status = itg_log_prepare(log, "SELECT run FROM runs ORDER BY run", what, &s, err);
    if (status == ITG_OK) status = collect(log, s, &list, &found, err);
    sqlite3_finalize(s);
    if (status != ITG_OK) {
        free(list);
        return status;
    }
    *runs = list;
    *count = found;
    return ITG_OK;
}

/* ---- one run ---- */

/* The record's strings live in one arena, whose address the record's owner keeps behind it. */
typedef struct owned_record {
    itg_run_record record; /* first: the caller's pointer is this struct's */
    itg_arena *arena;
} owned_record;

void itg_run_record_destroy(itg_run_record *record)
{
    owned_record *owned = (owned_record *)record;
    if (!owned) return;
    itg_arena_destroy(owned->arena);
    free(owned);
}

/* NULL stays NULL; false: no memory. */
static bool read_text(owned_record *owned, sqlite3_stmt *s, int column, const char **out)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    if (!text) return sqlite3_column_type(s, column) == SQLITE_NULL;
    *out = itg_arena_strdup(owned->arena, text);
    return *out != NULL;
}

static itg_status read_row(itg_run_log *log, owned_record *owned, sqlite3_stmt *s, itg_error *err)
{
    itg_run_record *r = &owned->record;
    const char **const texts[] = {&r->model_name,   &r->hardware_name,  &r->searcher,
                                  &r->options_json, &r->engine_version, &r->started,
                                  &r->stop_reason,  &r->strategy_json};
    const char *seed = NULL;
    enum { TEXTS = sizeof texts / sizeof *texts };
    bool ok = true;
    for (int i = 0; i < TEXTS && ok; i++)
        ok = read_text(owned, s, i, texts[i]);
    if (ok) ok = read_text(owned, s, TEXTS, &seed);
    if (!ok) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for a run", log->path);
    r->seed = seed ? strtoull(seed, NULL, 10) : 0;
    r->best_trial =
        sqlite3_column_type(s, TEXTS + 1) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, TEXTS + 1);
    r->trials = sqlite3_column_int64(s, TEXTS + 2);
    return ITG_OK;
}

static itg_status read_run(itg_run_log *log, owned_record *owned, itg_error *err)
{
    sqlite3_stmt *s = NULL;
    itg_status status = itg_log_prepare(
        log,
        "SELECT m.name, h.name, r.searcher, r.options, r.engine_version, r.started, r.stop_reason, "
        "r.best_strategy, r.seed, r.best_trial, (SELECT count(*) FROM trials t WHERE t.run = "
        "r.run) "
        "FROM runs r JOIN models m ON m.hash = r.model JOIN hardware h ON h.hash = r.hardware "
        "WHERE r.run = ?",
        what, &s, err);
    if (status != ITG_OK) return status;
    sqlite3_bind_int64(s, 1, owned->record.run);
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        status = read_row(log, owned, s, err);
    else if (rc == SQLITE_DONE)
        status = itg_fail(err, ITG_BAD_ARGUMENT, "%s: holds no run %lld", log->path,
                          (long long)owned->record.run);
    else
        status = itg_log_fail(log, err, what);
    sqlite3_finalize(s);
    return status;
}

static void place_result(itg_run_record *r, const char *name, sqlite3_stmt *s)
{
    const struct {
        const char *name;
        bool *has;
        itg_score *score;
    } places[] = {{"float", &r->has_float, &r->holdout_float},
                  {"uniform8", &r->has_uniform8, &r->holdout_uniform8},
                  {"best", &r->has_best, &r->holdout_best}};
    for (size_t i = 0; name && i < sizeof places / sizeof *places; i++)
        if (strcmp(name, places[i].name) == 0) {
            *places[i].has = true;
            itg_log_read_score(s, 1, places[i].score);
        }
}

static itg_status read_results(itg_run_log *log, itg_run_record *r, itg_error *err)
{
    sqlite3_stmt *s = NULL;
    int rc;
    itg_status status = itg_log_prepare(
        log, "SELECT what, " ITG_LOG_SCORE_COLUMNS " FROM results WHERE run = ?", what, &s, err);
    if (status != ITG_OK) return status;
    sqlite3_bind_int64(s, 1, r->run);
    while ((rc = sqlite3_step(s)) == SQLITE_ROW)
        place_result(r, (const char *)sqlite3_column_text(s, 0), s);
    if (rc != SQLITE_DONE) status = itg_log_fail(log, err, what);
    sqlite3_finalize(s);
    return status;
}

itg_status itg_run_log_read_run(itg_run_log *log, int64_t run, itg_run_record **out, itg_error *err)
{
    owned_record *owned = calloc(1, sizeof *owned);
    if (owned) owned->arena = itg_arena_create(0);
    if (!owned || !owned->arena) {
        free(owned);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for a run", log->path);
    }
    owned->record.run = run;
    itg_status status = read_run(log, owned, err);
    if (status == ITG_OK) status = read_results(log, &owned->record, err);
    if (status == ITG_OK)
        *out = &owned->record;
    else
        itg_run_record_destroy(&owned->record);
    return status;
}

/* ---- trials ---- */

/* The text of a JSON list of widths; *out is malloc'd. */
static itg_status read_bits(const itg_run_log *log, const char *text, int32_t **out, int32_t *count,
                            itg_error *err)
{
    itg_json *json = NULL;
    itg_status status = itg_json_parse(text, strlen(text), log->path, &json, err);
    if (status != ITG_OK) return status;
    const itg_json_value *list = itg_json_root(json);
    size_t length = itg_json_length(list);
    int32_t *bits = malloc(sizeof *bits * (length + 1));
    if (!bits) status = itg_fail(err, ITG_NO_MEMORY, "%s: no memory for a trial", log->path);
    for (size_t i = 0; i < length && status == ITG_OK; i++) {
        int64_t value = 0;
        status = itg_json_get_int(json, itg_json_at(list, i), 0, 64, &value, err);
        if (status == ITG_OK) bits[i] = (int32_t)value;
    }
    itg_json_destroy(json);
    if (status != ITG_OK) {
        free(bits);
        return status;
    }
    *out = bits;
    *count = (int32_t)length;
    return ITG_OK;
}

static itg_status read_trial(itg_run_log *log, sqlite3_stmt *s, itg_trial *trial, int32_t **bits,
                             itg_error *err)
{
    const char *text = (const char *)sqlite3_column_text(s, 1);
    *trial = (itg_trial){.index = sqlite3_column_int64(s, 0)};
    itg_status status = read_bits(log, text ? text : "", bits, &trial->group_count, err);
    if (status != ITG_OK) return status;
    trial->bits = *bits;
    trial->feasible = sqlite3_column_int(s, 2) != 0;
    trial->error = (const char *)sqlite3_column_text(s, 3);
    trial->seconds = sqlite3_column_double(s, 4);
    itg_log_read_score(s, 5, &trial->score);
    return ITG_OK;
}

itg_status itg_run_log_read_trials(itg_run_log *log, int64_t run,
                                   itg_status (*fn)(void *context, const itg_trial *trial,
                                                    itg_error *err),
                                   void *context, itg_error *err)
{
    sqlite3_stmt *s = NULL;
    int rc = SQLITE_DONE;
    itg_status status =
        itg_log_prepare(log,
                        "SELECT number, bits, feasible, error, seconds, " ITG_LOG_SCORE_COLUMNS
                        " FROM trials WHERE run = ? ORDER BY number",
                        what, &s, err);
    if (status == ITG_OK) sqlite3_bind_int64(s, 1, run);
    while (status == ITG_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        itg_trial trial;
        int32_t *bits = NULL;
        status = read_trial(log, s, &trial, &bits, err);
        if (status == ITG_OK) status = fn(context, &trial, err);
        free(bits);
    }
    if (status == ITG_OK && rc != SQLITE_DONE) status = itg_log_fail(log, err, what);
    sqlite3_finalize(s);
    return status;
}
