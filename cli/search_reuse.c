/* Finds a run of the log with the same inputs, so that its trials are not evaluated again. */
#include "cli/cmd_search.h"
#include "cli/holder.h"
#include "cli/runs.h"
#include <string.h>
#include <unistd.h>

/* Whether all inputs that trials depend on are the same. */
static bool same_inputs(const itg_run_info *a, const itg_run_info *b)
{
    return !itg_run_info_difference(a, b) && a->seed == b->seed &&
           strcmp(a->options_json, b->options_json) == 0 &&
           itg_run_data_equal(&a->holdout, &b->holdout) &&
           itg_run_data_equal(&a->holdout_labels, &b->holdout_labels);
}

/* Finds the run with the most trials among those. Leaves out runs that another process writes. */
static itg_status find_run(itg_run_log *log, const itg_run_info *wanted, itg_run_record **out,
                           itg_error *err)
{
    int64_t *runs = NULL, count = 0;
    itg_cli_holder self;
    const itg_run_claim *claim = itg_cli_claim(&self);
    itg_status status = itg_run_log_runs(log, &runs, &count, err);
    for (int64_t i = 0; status == ITG_OK && i < count; i++) {
        itg_run_record *record = NULL;
        status = itg_run_log_read_run(log, runs[i], &record, err);
        if (status == ITG_OK && same_inputs(&record->info, wanted) &&
            (!*out || record->trials > (*out)->trials) &&
            itg_run_log_check_free(log, runs[i], claim, NULL) == ITG_OK) {
            itg_run_record *less = *out;
            *out = record;
            record = less;
        }
        itg_run_record_destroy(record);
    }
    itg_free(runs);
    return status;
}

itg_status itg_cli_search_reuse(itg_cli_search_work *w, itg_error *err)
{
    const char *db = w->args->values[ITG_CLI_OPT_DB].text;
    itg_run_log *log = NULL;
    itg_run_info wanted;
    itg_run_record *found = NULL;
    itg_status status = itg_cli_search_info(w, &wanted, err);
    if (status != ITG_OK || !db || w->metric || access(db, F_OK) != 0) return status;
    if (status == ITG_OK) status = itg_run_log_open_reader(db, &log, err);
    if (status == ITG_OK) status = find_run(log, &wanted, &found, err);
    w->resumed = found;
    if (status == ITG_OK && found)
        status = itg_run_log_load_trials(log, found->run, &w->replay, &w->replay_count, err);
    itg_run_log_close(log, NULL);
    if (status != ITG_OK) return status;
    w->options.replay = w->replay;
    w->options.replay_count = w->replay_count;
    return ITG_OK;
}
