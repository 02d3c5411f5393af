/* State and functions that the files of `intaglio search` share: search_inputs.c (options, files),
 * search_start.c (--start, --past), search_resume.c (--resume), search_reuse.c (trials of a run
 * with the same inputs), search_worse.c, search_log.c, search_report.c. */
#ifndef ITG_CLI_CMD_SEARCH_H
#define ITG_CLI_CMD_SEARCH_H
#include "cli/common.h"
#include "cli/metric_command.h"
#include "cli/progress.h"
#include "cli/recorder.h"
#include "cli/runs.h"
#include <intaglio/remote.h>

/* Files to open; NULL means none. Borrowed from the command line or from the log. */
typedef struct itg_cli_search_files {
    const char *model, *data, *labels, *holdout, *holdout_labels;
    int64_t data_limit, holdout_limit; /* 0: all samples */
} itg_cli_search_files;

typedef struct itg_cli_search_work {
    const itg_cli_args *args;
    itg_cli_search_files files;
    itg_model *model;
    itg_hardware *hw;
    itg_cli_data data, holdout; /* holdout.samples NULL: none was given */
    itg_run_data labels, holdout_labels;
    itg_preprocess preprocess;
    itg_cli_metric *metric; /* goal.user[0] of options; NULL: there is none */
    itg_search_options options;
    itg_search_start *start; /* options.start; NULL: none */
    itg_run_past *past;      /* of options.past; NULL: none */
    itg_cli_logged mark;     /* the run of --fail-if-worse; record NULL: not given */
    bool is_survey;          /* measures each choice alone; writes no strategy */
    itg_run_record *resumed; /* NULL: a new run */
    itg_trial *replay;       /* of the resumed run */
    int64_t replay_count;
    char *options_json, *preprocess_json, *strategy_json, *codes, *space_json;
    itg_cli_recorder *recorder;   /* NULL: nothing is logged */
    itg_coordinator *coordinator; /* NULL: trials are evaluated here */
    itg_cli_progress progress;
    itg_search_result *result;
    double seconds;
    itg_error log_failure; /* code ITG_OK: none */
} itg_cli_search_work;

/* ---- the search as a whole (cmd_search.c) ---- */
/* Searches and writes the strategy and the log. If the log fails, its error is in log_failure and
 * the rest is intact. If a metric command fails, results found before it are kept. The caller
 * closes *work also after a failure. */
itg_status itg_cli_search_perform(const itg_cli_args *args, itg_cli_search_work *work,
                                  itg_error *err);
/* Runs the trials of the searcher sensitivity, without a goal or a best. If the log has a run with
 * the same inputs, continues that run and takes its trials. */
itg_status itg_cli_search_survey(const itg_cli_args *args, itg_cli_search_work *work,
                                 itg_error *err);
/* For a goal that is met: returns ITG_CLI_OK, or prints a note on stderr and returns
 * ITG_CLI_NOT_HELD if it does not hold on the hold-out. */
int itg_cli_search_held(const itg_search_result *result);
itg_status itg_cli_search_close(itg_cli_search_work *work, itg_error *err);

/* ---- inputs (search_inputs.c) ---- */
/* Sets *out to the given options, and the defaults that help states for all others. */
void itg_cli_search_options(const itg_cli_args *args, itg_search_options *out);
/* The same for a survey. Its quality is the one that a search with the same options would hold. */
void itg_cli_search_survey_options(const itg_cli_args *args, itg_search_options *out);
/* Whether a floor, a limit or a cost to minimize is given. */
bool itg_cli_search_has_goal(const itg_cli_args *args);
/* Replaces those members of *options for which an option is given. */
void itg_cli_search_apply(const itg_cli_args *args, itg_search_options *options);
#define ITG_CLI_OPTION_TEXT (ITG_MODEL_TEXT + 8)
/* Whether a resumed run keeps this option. Writes its value as text; equal texts mean equal
 * values. */
bool itg_cli_search_option_text(const itg_search_options *options, itg_cli_option option,
                                char out[ITG_CLI_OPTION_TEXT]);
void itg_cli_search_files_of(const itg_cli_args *args, itg_cli_search_files *out);
itg_status itg_cli_search_open(itg_cli_search_work *work, itg_error *err);
/* Sets the quality and the floor of a network that is not a classifier. The model must be open. */
itg_status itg_cli_search_settle(itg_cli_search_work *work, itg_error *err);

/* ---- what it begins with (search_start.c) ---- */
/* Sets options.start and options.past. All other options must be known and the model must be open.
 * For a resumed run they come from the options in the log. */
itg_status itg_cli_search_take_start(itg_cli_search_work *work, itg_error *err);
void itg_cli_search_drop_start(itg_cli_search_work *work);

/* ---- resuming (search_resume.c) ---- */
/* Fills resumed, replay, files, options, preprocess and hw from the log. Options that are given as
 * well must agree; otherwise the error names both values. */
itg_status itg_cli_search_resume(itg_cli_search_work *work, itg_error *err);
/* Fails unless the opened files are those of the run. */
itg_status itg_cli_search_agree(const itg_cli_search_work *work, itg_error *err);

/* Fills resumed and replay with the run of --db that had the same inputs, if there is one: model,
 * hardware, data and options by hash or text, and the engine's version. Finds none with
 * --metric-command, because no hash covers the number that a command prints. */
itg_status itg_cli_search_reuse(itg_cli_search_work *work, itg_error *err);

/* ---- --fail-if-worse (search_worse.c) ---- */
/* Reads the run. Returns ITG_BAD_ARGUMENT if it has another goal or did not meet its goal. */
itg_status itg_cli_search_read_mark(itg_cli_search_work *work, itg_error *err);
/* Returns ITG_CLI_WORSE, with a note on stderr, if the best is worse than the run on the hold-out;
 * ITG_CLI_FAILURE if that is not known; else `status`. */
int itg_cli_search_judge(const itg_cli_search_work *work, int status);

/* ---- the log (search_log.c) ---- */
/* Fills *out with what a log keeps of the inputs, except the time. Texts belong to work. */
itg_status itg_cli_search_info(itg_cli_search_work *work, itg_run_info *out, itg_error *err);
itg_status itg_cli_search_begin_log(itg_cli_search_work *work, itg_error *err);
itg_status itg_cli_search_end_log(itg_cli_search_work *work, itg_error *err);
/* Marks the run in the log as failed; its trials stay. */
void itg_cli_search_fail_log(itg_cli_search_work *work, const itg_error *why);

/* ---- results (search_report.c) ---- */
/* Returns the number of the run in the log; -1 if nothing is logged. */
int64_t itg_cli_search_run(const itg_cli_search_work *work);
int itg_cli_search_json(const itg_cli_search_work *work);
int itg_cli_search_text(const itg_cli_search_work *work);
#endif
