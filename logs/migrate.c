/* Older schemas. A writer brings the database to the current version, in the transaction in which
 * it opens it: all or nothing. A reader must not write, and sees the same through views of its own.
 *
 * Version 1 (Intaglio 0.1): trials.bits is what is called point since; distortion, the labels'
 * hashes, the space and what the user called the files in each run were not known; a best was
 * recorded only where it met the goal.
 * Version 2: trials were never stopped early. */
#include "logs/store.h"
#include <stdio.h>

static const char what[] = "bring it to the current schema";

itg_status itg_log_create(itg_run_log *log, itg_error *err)
{
    char identity[256];
    snprintf(identity, sizeof identity,
             "PRAGMA application_id = %d; PRAGMA user_version = %d; "
             "INSERT INTO meta VALUES ('schema_version', '%d')",
             ITG_LOG_APPLICATION_ID, ITG_LOG_SCHEMA_VERSION, ITG_LOG_SCHEMA_VERSION);
    itg_status status =
        itg_log_execute(log, (const char *)itg_log_schema, "create its tables", err);
    return status == ITG_OK ? itg_log_execute(log, identity, "create its tables", err) : status;
}

/* Older rows in the columns of the current version, from tables called <prefix>NAME<suffix>. */
#define RUNS_1(prefix)                                                                             \
    "SELECT run, model, (SELECT name FROM " prefix "models"                                        \
    " m WHERE m.hash = r.model) AS model_name, hardware, data, (SELECT name FROM " prefix "data"   \
    " d WHERE d.hash = r.data) AS data_name, NULL AS labels, NULL AS labels_name, "                \
    "holdout, (SELECT name FROM " prefix "data"                                                    \
    " d WHERE d.hash = r.holdout) AS holdout_name, NULL AS holdout_labels, "                       \
    "NULL AS holdout_labels_name, searcher, options, preprocess, NULL AS space, seed, "            \
    "engine_version, started, stop_reason, CASE WHEN stop_reason IS NOT NULL "                     \
    "THEN best_trial IS NOT NULL END AS goal_met, best_trial, best_strategy "                      \
    "FROM " prefix "runs"                                                                          \
    " r"
#define SCORE_1                                                                                    \
    "samples, top1, agreement, weight_bytes, parameter_bytes, peak_activation_bytes, bops, "       \
    "cycles, average_weight_bits, NULL AS distortion, digest "
#define TRIALS_1(prefix)                                                                           \
    "SELECT run, number, bits AS point, feasible, error, seconds, NULL AS stopped_at, " SCORE_1    \
    "FROM " prefix "trials"
#define RESULTS_1(prefix) "SELECT run, what, " SCORE_1 "FROM " prefix "results"

#define RUNS_2(prefix)                                                                             \
    "SELECT run, model, model_name, hardware, data, data_name, labels, labels_name, holdout, "     \
    "holdout_name, holdout_labels, holdout_labels_name, searcher, options, preprocess, space, "    \
    "seed, engine_version, started, stop_reason, goal_met, best_trial, best_strategy "             \
    "FROM " prefix "runs"
#define TRIALS_2(prefix)                                                                           \
    "SELECT run, number, point, feasible, error, seconds, NULL AS "                                \
    "stopped_at, " ITG_LOG_SCORE_COLUMNS " FROM " prefix "trials"
#define RESULTS_2(prefix) "SELECT run, what, " ITG_LOG_SCORE_COLUMNS " FROM " prefix "results"

/* The old tables step aside, the current schema is made as it is for a new log, rows are copied:
 * both ways to a log of this version lead to the same tables. */
static const char set_aside[] =
    "ALTER TABLE trials RENAME TO old_trials; ALTER TABLE results RENAME TO old_results; "
    "ALTER TABLE runs RENAME TO old_runs; ALTER TABLE data RENAME TO old_data; "
    "ALTER TABLE hardware RENAME TO old_hardware; ALTER TABLE models RENAME TO old_models; "
    "DROP TABLE meta";
static const char copy_inputs[] =
    "INSERT INTO models SELECT hash, name FROM old_models; "
    "INSERT INTO hardware SELECT hash, name, description FROM old_hardware; "
    "INSERT INTO data SELECT hash, name, samples FROM old_data";
static const char drop_old[] =
    /* numbers of runs are never used again */
    "DELETE FROM sqlite_sequence WHERE name = 'runs'; "
    "INSERT INTO sqlite_sequence SELECT 'runs', seq FROM sqlite_sequence WHERE name = 'old_runs'; "
    "DROP TABLE old_trials; DROP TABLE old_results; DROP TABLE old_runs; DROP TABLE old_data; "
    "DROP TABLE old_hardware; DROP TABLE old_models";

/* What differs from version to version: rows as they are copied, views as a reader needs them. */
#define COPY(runs, trials, results)                                                                \
    "INSERT INTO runs " runs "; INSERT INTO trials " trials "; INSERT INTO results " results
#define VIEW(runs, trials, results)                                                                \
    "CREATE TEMP VIEW runs AS " runs "; CREATE TEMP VIEW trials AS " trials                        \
    "; CREATE TEMP VIEW results AS " results
static const struct {
    const char *copy, *view;
} older[ITG_LOG_SCHEMA_VERSION] = {
    [1] = {COPY(RUNS_1("old_"), TRIALS_1("old_"), RESULTS_1("old_")),
           VIEW(RUNS_1("main."), TRIALS_1("main."), RESULTS_1("main."))},
    [2] = {COPY(RUNS_2("old_"), TRIALS_2("old_"), RESULTS_2("old_")),
           VIEW(RUNS_2("main."), TRIALS_2("main."), RESULTS_2("main."))},
};

itg_status itg_log_migrate(itg_run_log *log, int64_t version, itg_error *err)
{
    if (version == ITG_LOG_SCHEMA_VERSION) return ITG_OK;
    itg_status status = itg_log_execute(log, set_aside, what, err);
    if (status == ITG_OK) status = itg_log_create(log, err);
    if (status == ITG_OK) status = itg_log_execute(log, copy_inputs, what, err);
    if (status == ITG_OK) status = itg_log_execute(log, older[version].copy, what, err);
    return status == ITG_OK ? itg_log_execute(log, drop_old, what, err) : status;
}

itg_status itg_log_view(itg_run_log *log, int64_t version, itg_error *err)
{
    if (version == ITG_LOG_SCHEMA_VERSION) return ITG_OK;
    return itg_log_execute(log, older[version].view, "read", err);
}
