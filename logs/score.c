/* Scores in the log, and the results of a run by their names. */
#include "base/user_metric.h"
#include "logs/store.h"
#include <math.h>
#include <string.h>

const char *const itg_log_result_names[ITG_RESULT_COUNT] = {"float", "uniform8", "hago-greedy",
                                                            "best", "float-search"};

/* ---- writing ---- */

bool itg_log_bind_score(sqlite3_stmt *statement, int first, const itg_score *score)
{
    char digest[65];
    if (!score)
        return sqlite3_bind_null(statement, first) == SQLITE_OK &&
               sqlite3_bind_null(statement, first + 1) == SQLITE_OK;
    itg_sha256_hex(score->digest, digest);
    int rc = sqlite3_bind_int64(statement, first, score->samples);
    rc |= score->stopped_at > 0
              ? sqlite3_bind_null(statement, first + 1)
              : sqlite3_bind_text(statement, first + 1, digest, 64, SQLITE_TRANSIENT);
    return rc == SQLITE_OK;
}

/* Binds the first two parameters: run and subject. */
static int bind_subject(sqlite3_stmt *s, const itg_log_subject *subject)
{
    return sqlite3_bind_int64(s, 1, subject->run) |
           (subject->result ? sqlite3_bind_text(s, 2, subject->result, -1, SQLITE_STATIC)
                            : sqlite3_bind_int64(s, 2, subject->trial));
}

/* Binds place, unit and better; NULL for a metric of the list (place < 0). */
static void bind_user(sqlite3_stmt *s, int place, const itg_metric_info *about)
{
    for (int i = 5; i <= 7; i++)
        sqlite3_bind_null(s, i);
    if (place < 0) return;
    sqlite3_bind_int(s, 5, place);
    sqlite3_bind_text(s, 6, itg_unit_name(about->unit), -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 7, about->up ? "up" : "down", -1, SQLITE_STATIC);
}

itg_status itg_log_insert_metrics(itg_run_log *log, const itg_log_subject *subject,
                                  const itg_score *score, itg_error *err)
{
    static const char doing[] = "write a score";
    sqlite3_stmt *s = NULL;
    itg_status status = itg_log_prepare_kept(
        log, ITG_LOG_INSERT_METRIC, "INSERT OR REPLACE INTO metrics VALUES (?, ?, ?, ?, ?, ?, ?)",
        doing, &s, err);
    if (status == ITG_OK && bind_subject(s, subject) != SQLITE_OK)
        status = itg_log_fail(log, err, doing);
    for (int m = 0; m < ITG_METRIC_COUNT && status == ITG_OK; m++) {
        const itg_metric_info about = itg_score_about(score, (itg_metric)m);
        if (isnan(score->value[m])) continue;
        sqlite3_bind_text(s, 3, about.name, -1, SQLITE_STATIC);
        sqlite3_bind_double(s, 4, score->value[m]);
        bind_user(s, m - ITG_METRIC_USER1, &about);
        status = itg_log_step(log, s, doing, err);
    }
    return status;
}

/* ---- reading ---- */

static itg_status fail(const itg_run_log *log, const itg_log_subject *subject, itg_error *err,
                       const char *what, const char *found, const char *expected)
{
    char where[48];
    snprintf(where, sizeof where, "trial %lld", (long long)subject->trial);
    if (subject->result) snprintf(where, sizeof where, "result %.20s", subject->result);
    return itg_fail(err, ITG_BAD_FILE, "%s: run %lld: %s: %.40s is %.70s, expected %s", log->path,
                    (long long)subject->run, where, what, found ? found : "nothing", expected);
}

/* Finds the row's metric: one of the list, or a metric of the user that the row describes. */
static bool find_metric(sqlite3_stmt *s, const char *name, itg_score *out, itg_metric *metric)
{
    const char *unit = (const char *)sqlite3_column_text(s, 3),
               *better = (const char *)sqlite3_column_text(s, 4);
    int place = sqlite3_column_int(s, 2);
    if (sqlite3_column_type(s, 2) == SQLITE_NULL)
        return itg_metric_from_name(name, metric) && *metric < ITG_METRIC_USER1;
    itg_user_info user = {.up = better && strcmp(better, "up") == 0};
    snprintf(user.name, sizeof user.name, "%s", name);
    if (place < 0 || place >= ITG_USER_METRICS || strlen(name) >= sizeof user.name || !unit ||
        !itg_unit_from_name(unit, &user.unit) || itg_user_check(&user, NULL) != ITG_OK)
        return false;
    out->user[place] = user;
    *metric = (itg_metric)(ITG_METRIC_USER1 + place);
    return true;
}

/* Reads the row's metric, and checks its name and value. */
static itg_status read_metric(const itg_run_log *log, sqlite3_stmt *s,
                              const itg_log_subject *subject, itg_score *out, itg_error *err)
{
    const char *name = (const char *)sqlite3_column_text(s, 0);
    itg_metric metric = ITG_METRIC_COUNT;
    int type = sqlite3_column_type(s, 1);
    if (!name || !find_metric(s, name, out, &metric))
        return fail(log, subject, err, "a metric", name, "the name of one that this program knows");
    out->value[metric] = sqlite3_column_double(s, 1);
    if ((type == SQLITE_INTEGER || type == SQLITE_FLOAT) &&
        itg_unit_allows(itg_score_about(out, metric).unit, out->value[metric]))
        return ITG_OK;
    return fail(log, subject, err, name, (const char *)sqlite3_column_text(s, 1),
                itg_unit_range(itg_score_about(out, metric).unit));
}

static itg_status read_metrics(itg_run_log *log, const itg_log_subject *subject, itg_score *out,
                               itg_error *err)
{
    int rc = SQLITE_DONE;
    sqlite3_stmt *s = NULL;
    itg_status status = itg_log_prepare_kept(
        log, ITG_LOG_SELECT_METRICS,
        "SELECT metric, value, place, unit, better FROM metrics WHERE run = ? AND subject = ?",
        "read", &s, err);
    if (status == ITG_OK && bind_subject(s, subject) != SQLITE_OK)
        status = itg_log_fail_run(log, subject->run, err);
    while (status == ITG_OK && (rc = sqlite3_step(s)) == SQLITE_ROW)
        status = read_metric(log, s, subject, out, err);
    if (status == ITG_OK && rc != SQLITE_DONE) status = itg_log_fail_run(log, subject->run, err);
    sqlite3_reset(s);
    return status;
}

itg_status itg_log_read_score(itg_run_log *log, sqlite3_stmt *statement, int first,
                              const itg_log_subject *subject, itg_score *out, itg_error *err)
{
    const char *digest = (const char *)sqlite3_column_text(statement, first + 1);
    itg_score score = itg_score_unknown();
    score.stopped_at = out->stopped_at;
    score.samples = sqlite3_column_int64(statement, first);
    if (sqlite3_column_type(statement, first) != SQLITE_INTEGER || score.samples < 0 ||
        score.samples > INT64_C(1) << 53)
        return fail(log, subject, err, "samples",
                    (const char *)sqlite3_column_text(statement, first), "an integer from 0");
    if (score.stopped_at > 0 && score.stopped_at >= score.samples)
        return fail(log, subject, err, "stopped_at", "not below samples", "fewer");
    bool known = itg_sha256_parse(digest, score.digest);
    if (score.stopped_at > 0 ? digest != NULL : !known)
        return fail(log, subject, err, "digest", digest,
                    score.stopped_at > 0 ? "none" : "64 hexadecimal digits");
    itg_status status = read_metrics(log, subject, &score, err);
    if (status == ITG_OK) *out = score;
    return status;
}
