/* Reads a log. Every read is one statement, finished before the function returns (for trials: when
 * the last one was delivered), so that a reader never blocks the writer for long. */
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

/* A record and the arena that owns its strings. */
typedef struct owned_record {
    itg_run_record record; /* must be first: the caller has a pointer to it */
    itg_arena *arena;
} owned_record;

bool itg_run_record_is_complete(const itg_run_record *record)
{
    return record->ended && record->stop_reason &&
           (strcmp(record->stop_reason, "exhausted") == 0 ||
            strcmp(record->stop_reason, "patience") == 0);
}

void itg_run_record_destroy(itg_run_record *record)
{
    owned_record *owned = (owned_record *)record;
    if (!owned) return;
    itg_arena_destroy(owned->arena);
    free(owned);
}

/* Reads a text column; NULL stays NULL. False: no memory. */
static bool read_text(owned_record *owned, sqlite3_stmt *s, int column, const char **out)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    if (!text) return sqlite3_column_type(s, column) == SQLITE_NULL;
    *out = itg_arena_strdup(owned->arena, text);
    return *out != NULL;
}

/* Reads the columns hash, name, samples. No hash: no data. */
static bool read_data(owned_record *owned, sqlite3_stmt *s, int first, itg_run_data *out)
{
    itg_sha256_parse((const char *)sqlite3_column_text(s, first), out->hash);
    out->samples = sqlite3_column_int64(s, first + 2);
    return read_text(owned, s, first + 1, &out->name);
}

/* The columns of run_sql: texts, then data, then the rest. */
static const char run_sql[] =
    "SELECT r.model_name, h.name, r.searcher, r.options, h.description, r.preprocess, "
    "r.engine_version, r.started, r.space, r.stop_reason, r.best_strategy, r.best_codes, "
    "r.seed, "
    "r.data, r.data_name, d.samples, r.labels, r.labels_name, l.samples, "
    "r.holdout, r.holdout_name, o.samples, r.holdout_labels, r.holdout_labels_name, p.samples, "
    "r.model, r.best_trial, r.goal_met, (SELECT count(*) FROM trials t WHERE t.run = r.run), "
    "(SELECT count(*) - count(DISTINCT round || ':' || point) FROM trials t WHERE t.run = r.run), "
    /* points whose first trial was stopped: min() chooses the row of the other columns */
    "(SELECT count(*) FROM (SELECT stopped_at, min(number) FROM trials t WHERE t.run = r.run "
    "GROUP BY round, point) WHERE stopped_at > 0) "
    "FROM runs r JOIN hardware h ON h.hash = r.hardware JOIN data d ON d.hash = r.data "
    "LEFT JOIN data l ON l.hash = r.labels LEFT JOIN data o ON o.hash = r.holdout "
    "LEFT JOIN data p ON p.hash = r.holdout_labels WHERE r.run = ?";
enum { DATA_AT = 13, MODEL_AT = 25 };

/* Returns what is invalid in the record; NULL: nothing. */
static const char *find_damage(const itg_run_record *r, sqlite3_stmt *s, const char *seed)
{
    static const char *const sets[] = {"data", "labels", "hold-out", "labels of the hold-out"};
    unsigned char hash[32];
    char canonical[24];
    for (int i = 0; i < 4; i++) {
        const char *text = (const char *)sqlite3_column_text(s, DATA_AT + 3 * i);
        if (text && !itg_sha256_parse(text, hash)) return sets[i];
        if (text && sqlite3_column_int64(s, DATA_AT + 3 * i + 2) < 1) return sets[i];
    }
    snprintf(canonical, sizeof canonical, "%llu", (unsigned long long)r->info.seed);
    if (!seed || strcmp(canonical, seed) != 0) return "seed";
    if (!itg_sha256_parse((const char *)sqlite3_column_text(s, MODEL_AT), hash)) return "model";
    if (r->best_trial >= r->trials || r->best_trial < -1) return "best trial";
    return r->best_trial == -1 && sqlite3_column_type(s, MODEL_AT + 1) != SQLITE_NULL ? "best trial"
                                                                                      : NULL;
}

static itg_status read_row(itg_run_log *log, owned_record *owned, sqlite3_stmt *s, itg_error *err)
{
    itg_run_record *r = &owned->record;
    itg_run_info *i = &r->info;
    const char *seed = NULL;
    const char **const texts[DATA_AT] = {
        &i->model_name,      &i->hardware_name,  &i->searcher, &i->options_json, &i->hardware_json,
        &i->preprocess_json, &i->engine_version, &i->started,  &i->space_json,   &r->stop_reason,
        &r->strategy_json,   &r->codes,          &seed};
    itg_run_data *const sets[] = {&i->data, &i->labels, &i->holdout, &i->holdout_labels};
    bool ok = true;
    for (int c = 0; c < DATA_AT && ok; c++)
        ok = read_text(owned, s, c, texts[c]);
    for (int d = 0; d < 4 && ok; d++)
        ok = read_data(owned, s, DATA_AT + 3 * d, sets[d]);
    if (!ok) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for a run", log->path);
    i->seed = seed ? strtoull(seed, NULL, 10) : 0;
    itg_sha256_parse((const char *)sqlite3_column_text(s, MODEL_AT), i->model_hash);
    bool best = sqlite3_column_type(s, MODEL_AT + 1) != SQLITE_NULL;
    r->best_trial = best ? sqlite3_column_int64(s, MODEL_AT + 1) : -1;
    r->goal_met = sqlite3_column_int(s, MODEL_AT + 2) != 0;
    r->trials = sqlite3_column_int64(s, MODEL_AT + 3);
    r->duplicates = sqlite3_column_int64(s, MODEL_AT + 4);
    r->raced = sqlite3_column_int64(s, MODEL_AT + 5);
    r->ended = r->stop_reason != NULL;
    const char *damage = find_damage(r, s, seed);
    return damage ? itg_fail(err, ITG_BAD_FILE, "%s: run %lld: its %s is damaged", log->path,
                             (long long)r->run, damage)
                  : ITG_OK;
}

static itg_status read_run(itg_run_log *log, owned_record *owned, itg_error *err)
{
    sqlite3_stmt *s = NULL;
    itg_status status = itg_log_prepare_kept(log, ITG_LOG_SELECT_RUN, run_sql, what, &s, err);
    if (status != ITG_OK) return status;
    sqlite3_bind_int64(s, 1, owned->record.run);
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        status = read_row(log, owned, s, err);
    else if (rc == SQLITE_DONE)
        status = itg_log_no_run(log, owned->record.run, err);
    else
        status = itg_log_fail_run(log, owned->record.run, err);
    sqlite3_reset(s);
    return status;
}

static itg_status place_result(itg_run_log *log, itg_run_record *r, const char *name,
                               sqlite3_stmt *s, itg_error *err)
{
    const itg_log_subject subject = {.run = r->run, .result = name};
    itg_status status = ITG_OK;
    for (int i = 0; name && i < ITG_RESULT_COUNT && status == ITG_OK; i++) {
        if (strcmp(name, itg_log_result_names[i]) != 0) continue;
        status = itg_log_read_score(log, s, 1, &subject, &r->result[i], err);
        r->known[i] = true;
    }
    return status;
}

static itg_status read_results(itg_run_log *log, itg_run_record *r, itg_error *err)
{
    sqlite3_stmt *s = NULL;
    int rc = SQLITE_DONE;
    for (int i = 0; i < ITG_RESULT_COUNT; i++)
        r->result[i] = itg_score_unknown();
    itg_status status = itg_log_prepare_kept(
        log, ITG_LOG_SELECT_RESULTS, "SELECT what, samples, digest FROM results WHERE run = ?",
        what, &s, err);
    if (status != ITG_OK) return status;
    sqlite3_bind_int64(s, 1, r->run);
    while (status == ITG_OK && (rc = sqlite3_step(s)) == SQLITE_ROW)
        status = place_result(log, r, (const char *)sqlite3_column_text(s, 0), s, err);
    if (status == ITG_OK && rc != SQLITE_DONE) status = itg_log_fail_run(log, r->run, err);
    sqlite3_reset(s);
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
    owned->record.log = itg_arena_strdup(owned->arena, log->path);
    itg_status status = owned->record.log
                            ? read_run(log, owned, err)
                            : itg_fail(err, ITG_NO_MEMORY, "%s: no memory for a run", log->path);
    if (status == ITG_OK) status = read_results(log, &owned->record, err);
    if (status == ITG_OK) status = itg_log_read_selection(log, run, &owned->record.selection, err);
    if (status == ITG_OK)
        *out = &owned->record;
    else
        itg_run_record_destroy(&owned->record);
    return status;
}
