/* Reads the trials of a run with one statement, which ends when the last one was delivered. */
#include "logs/store.h"
#include "base/json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char what[] = "read";

/* Parses a JSON list of small numbers; *out is malloc'd. */
static itg_status read_point(const itg_run_log *log, const char *where, const char *text,
                             int32_t **out, int32_t *count, itg_error *err)
{
    itg_json *json = NULL;
    char source[512];
    snprintf(source, sizeof source, "%.400s: %s: point", log->path, where);
    itg_status status = itg_json_parse(text, strlen(text), source, &json, err);
    if (status != ITG_OK) return status;
    const itg_json_value *list = itg_json_root(json);
    size_t length = itg_json_length(list);
    int32_t *point = NULL;
    if (itg_json_typeof(list) != ITG_JSON_ARRAY)
        status = itg_json_fail(json, list, err, ITG_BAD_FILE, "expected the list of a point");
    else if (!(point = malloc(sizeof *point * (length + 1))))
        status = itg_fail(err, ITG_NO_MEMORY, "%s: no memory for a trial", log->path);
    for (size_t i = 0; i < length && status == ITG_OK; i++) {
        int64_t value = 0;
        status = itg_json_get_int(json, itg_json_at(list, i), 0, ITG_LOG_MAX_CHOICE, &value, err);
        if (status == ITG_OK) point[i] = (int32_t)value;
    }
    itg_json_destroy(json);
    if (status != ITG_OK) {
        free(point);
        return status;
    }
    *out = point;
    *count = (int32_t)length;
    return ITG_OK;
}

/* Reads an integer column and checks its range. */
static itg_status read_integer(const itg_run_log *log, sqlite3_stmt *s, int at, int64_t max,
                               const char *where, int64_t *out, itg_error *err)
{
    *out = sqlite3_column_int64(s, at);
    if (sqlite3_column_type(s, at) == SQLITE_INTEGER && *out >= 0 && *out <= max) return ITG_OK;
    const unsigned char *text = sqlite3_column_text(s, at);
    return itg_fail(err, ITG_BAD_FILE, "%s: %s: %s is %.40s, expected an integer from 0 to %lld",
                    log->path, where, sqlite3_column_name(s, at),
                    text ? (const char *)text : "nothing", (long long)max);
}

/* Reads a trial. The file may be damaged or edited, so every column is checked. */
static itg_status read_trial(itg_run_log *log, int64_t run, sqlite3_stmt *s, itg_trial *trial,
                             int32_t **point, itg_error *err)
{
    char where[64];
    int64_t feasible = 0, stopped_at = 0, round = 0;
    const char *text = (const char *)sqlite3_column_text(s, 1);
    *trial = (itg_trial){.index = sqlite3_column_int64(s, 0)};
    snprintf(where, sizeof where, "run %lld: trial %lld", (long long)run, (long long)trial->index);
    itg_status status = read_point(log, where, text ? text : "", point, &trial->dim_count, err);
    trial->point = status == ITG_OK ? *point : NULL;
    if (status == ITG_OK) status = read_integer(log, s, 2, 1, where, &feasible, err);
    if (status == ITG_OK) status = read_integer(log, s, 6, ITG_LOG_MAX_CHOICE, where, &round, err);
    if (status == ITG_OK && sqlite3_column_type(s, 5) != SQLITE_NULL)
        status = read_integer(log, s, 5, INT64_MAX, where, &stopped_at, err);
    if (status != ITG_OK) return status;
    trial->feasible = feasible != 0;
    trial->round = (int32_t)round;
    trial->error = (const char *)sqlite3_column_text(s, 3);
    trial->seconds = sqlite3_column_double(s, 4);
    if (!(trial->seconds >= 0) || isinf(trial->seconds))
        return itg_fail(err, ITG_BAD_FILE, "%s: %s: seconds is %g, expected a number from 0",
                        log->path, where, trial->seconds);
    trial->score = itg_score_unknown();
    trial->score.stopped_at = stopped_at;
    const itg_log_subject subject = {.run = run, .trial = trial->index};
    return feasible ? itg_log_read_score(log, s, 7, &subject, &trial->score, err) : ITG_OK;
}

itg_status itg_run_log_read_trials(itg_run_log *log, int64_t run,
                                   itg_status (*fn)(void *context, const itg_trial *trial,
                                                    itg_error *err),
                                   void *context, itg_error *err)
{
    sqlite3_stmt *s = NULL;
    int rc = SQLITE_DONE;
    itg_status status = itg_log_prepare(
        log,
        "SELECT number, point, feasible, error, seconds, stopped_at, round, samples, digest FROM "
        "trials WHERE run = ? ORDER BY number",
        what, &s, err);
    if (status == ITG_OK) sqlite3_bind_int64(s, 1, run);
    while (status == ITG_OK && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        itg_trial trial;
        int32_t *point = NULL;
        status = read_trial(log, run, s, &trial, &point, err);
        if (status == ITG_OK) status = fn(context, &trial, err);
        free(point);
    }
    if (status == ITG_OK && rc != SQLITE_DONE) status = itg_log_fail_run(log, run, err);
    sqlite3_finalize(s);
    return status;
}

/* ---- all at once ---- */

typedef struct list {
    const itg_run_log *log;
    int64_t run, count, capacity;
    itg_trial *trials;
} list;

void itg_run_log_free_trials(itg_trial *trials, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        free((void *)(uintptr_t)trials[i].point);
        free((void *)(uintptr_t)trials[i].error);
    }
    free(trials);
}

static bool reserve(list *l)
{
    if (l->count < l->capacity) return true;
    int64_t capacity = l->capacity ? l->capacity * 2 : 256;
    itg_trial *grown = realloc(l->trials, sizeof *grown * (size_t)capacity);
    if (!grown) return false;
    l->trials = grown;
    l->capacity = capacity;
    return true;
}

static itg_status keep(void *context, const itg_trial *trial, itg_error *err)
{
    list *l = context;
    if (trial->index != l->count)
        return itg_fail(err, ITG_BAD_FILE, "%s: run %lld: trial %lld is missing", l->log->path,
                        (long long)l->run, (long long)l->count);
    size_t bytes = sizeof *trial->point * (size_t)trial->dim_count;
    int32_t *point = reserve(l) ? malloc(bytes + 1) : NULL;
    char *error = point && trial->error ? strdup(trial->error) : NULL;
    if (!point || (trial->error && !error)) {
        free(point);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for its trials", l->log->path);
    }
    memcpy(point, trial->point, bytes);
    l->trials[l->count] = *trial;
    l->trials[l->count].point = point;
    l->trials[l->count].error = error;
    l->count++;
    return ITG_OK;
}

itg_status itg_run_log_load_trials(itg_run_log *log, int64_t run, itg_trial **out, int64_t *count,
                                   itg_error *err)
{
    list l = {.log = log, .run = run};
    itg_status status = itg_run_log_read_trials(log, run, keep, &l, err);
    if (status != ITG_OK) {
        itg_run_log_free_trials(l.trials, l.count);
        return status;
    }
    *out = l.trials;
    *count = l.count;
    return ITG_OK;
}
