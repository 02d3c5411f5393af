/* The final choice of a run in the log (itg_selection). A run without one has no row. */
#include "base/selection.h"
#include "logs/store.h"
#include <math.h>

static const char doing[] = "write a run's selection";

static int bind_known(sqlite3_stmt *s, int at, double value)
{
    return isnan(value) ? sqlite3_bind_null(s, at) : sqlite3_bind_double(s, at, value);
}

itg_status itg_log_insert_selection(itg_run_log *log, int64_t run, const itg_selection *selection,
                                    itg_error *err)
{
    sqlite3_stmt *s = NULL;
    if (selection->samples == 0) return ITG_OK;
    itg_status status = itg_log_prepare(
        log, "INSERT OR REPLACE INTO selections VALUES (?, ?, ?, ?, ?, ?, ?, ?)", doing, &s, err);
    if (status != ITG_OK) return status;
    int rc = sqlite3_bind_int64(s, 1, run) | sqlite3_bind_int64(s, 2, selection->samples) |
             sqlite3_bind_int(s, 3, selection->tested) |
             sqlite3_bind_int(s, 4, selection->certified) |
             sqlite3_bind_int(s, 5, selection->passed) | bind_known(s, 6, selection->bound) |
             bind_known(s, 7, selection->floats) | sqlite3_bind_int64(s, 8, selection->wanted);
    status = rc == SQLITE_OK ? itg_log_step(log, s, doing, err) : itg_log_fail(log, err, doing);
    sqlite3_finalize(s);
    return status;
}

static double real_at(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_NULL ? (double)NAN
                                                         : sqlite3_column_double(s, column);
}

itg_status itg_log_read_selection(itg_run_log *log, int64_t run, itg_selection *out, itg_error *err)
{
    sqlite3_stmt *s = NULL;
    *out = itg_selection_none();
    itg_status status = itg_log_prepare_kept(
        log, ITG_LOG_SELECT_SELECTION,
        "SELECT samples, tested, certified, passed, bound, float, samples_wanted "
        "FROM selections WHERE run = ?",
        "read", &s, err);
    if (status != ITG_OK) return status;
    sqlite3_bind_int64(s, 1, run);
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW) {
        *out = (itg_selection){.samples = sqlite3_column_int64(s, 0),
                               .tested = sqlite3_column_int(s, 1),
                               .certified = sqlite3_column_int(s, 2) != 0,
                               .passed = sqlite3_column_int(s, 3) != 0,
                               .bound = real_at(s, 4),
                               .floats = real_at(s, 5),
                               .wanted = sqlite3_column_int64(s, 6)};
        if (!itg_selection_fits(out))
            status = itg_fail(err, ITG_BAD_FILE, "%s: run %lld: its selection is damaged",
                              log->path, (long long)run);
    } else if (rc != SQLITE_DONE) {
        status = itg_log_fail_run(log, run, err);
    }
    sqlite3_reset(s);
    return status;
}
