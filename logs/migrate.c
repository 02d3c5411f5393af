/* Older schemas. A writer brings the database to the current version, in the transaction in which
 * it opens it: all or nothing. A reader must not write, and sees the same through views of its own.
 *
 * Version 1 (Intaglio 0.1): trials.bits is what is called point since; distortion, the labels'
 * hashes, the space and what the user called the files in each run were not known; a best was
 * recorded only where it met the goal. */
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

/* Version 1's rows in the columns of version 2, from tables called <prefix>NAME<suffix>. */
#define RUNS_1(prefix, suffix)                                                                     \
    "SELECT run, model, (SELECT name FROM " prefix "models" suffix                                 \
    " m WHERE m.hash = r.model) AS model_name, hardware, data, (SELECT name FROM " prefix          \
    "data" suffix " d WHERE d.hash = r.data) AS data_name, NULL AS labels, NULL AS labels_name, "  \
    "holdout, (SELECT name FROM " prefix "data" suffix                                             \
    " d WHERE d.hash = r.holdout) AS holdout_name, NULL AS holdout_labels, "                       \
    "NULL AS holdout_labels_name, searcher, options, preprocess, NULL AS space, seed, "            \
    "engine_version, started, stop_reason, CASE WHEN stop_reason IS NOT NULL "                     \
    "THEN best_trial IS NOT NULL END AS goal_met, best_trial, best_strategy "                      \
    "FROM " prefix "runs" suffix " r"
#define SCORE_1                                                                                    \
    "samples, top1, agreement, weight_bytes, parameter_bytes, peak_activation_bytes, bops, "       \
    "cycles, average_weight_bits, NULL AS distortion, digest "
#define TRIALS_1(prefix, suffix)                                                                   \
    "SELECT run, number, bits AS point, feasible, error, seconds, " SCORE_1 "FROM " prefix         \
    "trials" suffix
#define RESULTS_1(prefix, suffix) "SELECT run, what, " SCORE_1 "FROM " prefix "results" suffix

/* The old tables step aside, the current schema is made as it is for a new log, rows are copied:
 * both ways to a log of this version lead to the same tables. */
static const char set_aside_1[] =
    "ALTER TABLE trials RENAME TO trials_1; ALTER TABLE results RENAME TO results_1; "
    "ALTER TABLE runs RENAME TO runs_1; ALTER TABLE data RENAME TO data_1; "
    "ALTER TABLE hardware RENAME TO hardware_1; ALTER TABLE models RENAME TO models_1; "
    "DROP TABLE meta";
static const char copy_1[] =
    "INSERT INTO models SELECT hash, name FROM models_1; "
    "INSERT INTO hardware SELECT hash, name, description FROM hardware_1; "
    "INSERT INTO data SELECT hash, name, samples FROM data_1; "
    "INSERT INTO runs " RUNS_1(
        "", "_1") "; "
                  "INSERT INTO trials " TRIALS_1(
                      "", "_1") "; "
                                "INSERT INTO results " RESULTS_1(
                                    "", "_1") "; "
                                              /* numbers of runs are never used again */
                                              "DELETE FROM sqlite_sequence WHERE name = 'runs'; "
                                              "INSERT INTO sqlite_sequence SELECT 'runs', seq FROM "
                                              "sqlite_sequence WHERE name = 'runs_1'; "
                                              "DROP TABLE trials_1; DROP TABLE results_1; DROP "
                                              "TABLE runs_1; DROP TABLE data_1; "
                                              "DROP TABLE hardware_1; DROP TABLE models_1";
static const char view_1[] = "CREATE TEMP VIEW runs AS " RUNS_1(
    "main.", "") "; "
                 "CREATE TEMP VIEW trials AS " TRIALS_1(
                     "main.", "") "; "
                                  "CREATE TEMP VIEW results AS " RESULTS_1("main.", "");

itg_status itg_log_migrate(itg_run_log *log, int64_t version, itg_error *err)
{
    if (version == ITG_LOG_SCHEMA_VERSION) return ITG_OK;
    itg_status status = itg_log_execute(log, set_aside_1, what, err);
    if (status == ITG_OK) status = itg_log_create(log, err);
    return status == ITG_OK ? itg_log_execute(log, copy_1, what, err) : status;
}

itg_status itg_log_view(itg_run_log *log, int64_t version, itg_error *err)
{
    return version == ITG_LOG_SCHEMA_VERSION ? ITG_OK : itg_log_execute(log, view_1, "read", err);
}
