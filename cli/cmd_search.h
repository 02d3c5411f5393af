/* One search from the command line, and what its files hand to each other: search_inputs.c
 * (options, files), search_start.c (what it begins with), search_resume.c (a run of the log
 * instead), search_reuse.c (its trials), search_log.c, search_report.c. */
#ifndef ITG_CLI_CMD_SEARCH_H
#define ITG_CLI_CMD_SEARCH_H
#include "cli/common.h"
#include "cli/metric_command.h"
#include "cli/progress.h"
#include "cli/recorder.h"
#include "cli/runs.h"

/* What to open; NULL: none. Borrowed from the words or from the log. */
typedef struct itg_cli_search_files {
    const char *model, *data, *labels, *holdout, *holdout_labels;
    int64_t data_limit, holdout_limit; /* 0: all samples */
} itg_cli_search_files;

/* Trials of one run of the log, and those of all runs of --past. */
typedef struct itg_cli_past_block {
    itg_trial *trials;
    int64_t count;
} itg_cli_past_block;
typedef struct itg_cli_past {
    itg_cli_past_block *blocks;
    int64_t block_count;
    itg_trial *trials; /* copies, whose points are in the blocks */
    char *name;
    itg_search_past given;
} itg_cli_past;

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
    itg_cli_past past;       /* options.past, where it has trials */
    itg_cli_logged mark;     /* of --fail-if-worse; record NULL: none is given */
    bool is_survey;          /* of each choice alone; no strategy is wanted */
    itg_run_record *resumed; /* NULL: a new run */
    itg_trial *replay;       /* of the resumed run */
    int64_t replay_count;
    char *options_json, *preprocess_json, *strategy_json, *codes, *space_json;
    itg_cli_recorder *recorder; /* NULL: nothing is logged */
    itg_cli_progress progress;
    itg_search_result *result;
    double seconds;
    itg_error log_failure; /* code ITG_OK: none */
} itg_cli_search_work;

/* ---- the search as a whole (cmd_search.c) ---- */
/* Searches, and writes strategy and log. A log that fails leaves its error in log_failure, and the
 * rest intact; a metric command that fails, what was found before. *work is to be closed whatever
 * happened. */
itg_status itg_cli_search_perform(const itg_cli_args *args, itg_cli_search_work *work,
                                  itg_error *err);
/* The same for the trials of the searcher sensitivity, without a goal or a best. They are taken
 * from the log where it has a run with the same inputs, and that run goes on. */
itg_status itg_cli_search_survey(const itg_cli_args *args, itg_cli_search_work *work,
                                 itg_error *err);
/* Of a goal that is met: ITG_CLI_OK, or ITG_CLI_NOT_HELD where it does not hold on the hold-out,
 * which is said on stderr. */
int itg_cli_search_held(const itg_search_result *result);
itg_status itg_cli_search_close(itg_cli_search_work *work, itg_error *err);

/* ---- inputs (search_inputs.c) ---- */
/* The options as given, the rest as stated in help. */
void itg_cli_search_options(const itg_cli_args *args, itg_search_options *out);
/* Of a survey: its quality is the one that a search with these words would hold. */
void itg_cli_search_survey_options(const itg_cli_args *args, itg_search_options *out);
/* Whether a floor, a limit or a cost to minimize is given. */
bool itg_cli_search_has_goal(const itg_cli_args *args);
/* Those that are given replace what is in *options. */
void itg_cli_search_apply(const itg_cli_args *args, itg_search_options *options);
#define ITG_CLI_OPTION_TEXT (ITG_MODEL_TEXT + 8)
/* Whether a run that is resumed keeps this option, and what it is as text; equal texts are equal
 * values. */
bool itg_cli_search_option_text(const itg_search_options *options, itg_cli_option option,
                                char out[ITG_CLI_OPTION_TEXT]);
void itg_cli_search_files_of(const itg_cli_args *args, itg_cli_search_files *out);
itg_status itg_cli_search_open(itg_cli_search_work *work, itg_error *err);
/* The quality and floor of a network that is no classifier, now that the model is open. */
itg_status itg_cli_search_settle(itg_cli_search_work *work, itg_error *err);

/* ---- what it begins with (search_start.c) ---- */
/* Sets options.start and .past, once all other options are known and the model is open; of a run
 * that goes on, as its options say. */
itg_status itg_cli_search_take_start(itg_cli_search_work *work, itg_error *err);
void itg_cli_search_drop_start(itg_cli_search_work *work);

/* ---- resuming (search_resume.c) ---- */
/* Fills resumed, replay, files, options, preprocess and hw from the log. What was given as well
 * must agree, or is refused with both values. */
itg_status itg_cli_search_resume(itg_cli_search_work *work, itg_error *err);
/* Whether the files that were opened are those of the run. */
itg_status itg_cli_search_agree(const itg_cli_search_work *work, itg_error *err);

/* Fills resumed and replay with the run of --db that had the same inputs, if there is one: model,
 * hardware, data and options by hash or text, and the engine's version. The number that a command
 * gives is in no hash: with --metric-command none is found. */
itg_status itg_cli_search_reuse(itg_cli_search_work *work, itg_error *err);

/* ---- --fail-if-worse (search_worse.c) ---- */
/* Reads the run; ITG_BAD_ARGUMENT if it has another goal, or did not meet it. */
itg_status itg_cli_search_read_mark(itg_cli_search_work *work, itg_error *err);
/* ITG_CLI_WORSE where the best is worse on the hold-out, which is said on stderr; ITG_CLI_FAILURE
 * where that is not known; else `status`. */
int itg_cli_search_judge(const itg_cli_search_work *work, int status);

/* ---- the log (search_log.c) ---- */
/* What a log keeps of the inputs; without the time. Texts belong to work. */
itg_status itg_cli_search_info(itg_cli_search_work *work, itg_run_info *out, itg_error *err);
itg_status itg_cli_search_begin_log(itg_cli_search_work *work, itg_error *err);
itg_status itg_cli_search_end_log(itg_cli_search_work *work, itg_error *err);
/* The run that failed says so; its trials stay. */
void itg_cli_search_fail_log(itg_cli_search_work *work, const itg_error *why);

/* ---- results (search_report.c) ---- */
/* The number of the run in the log; -1: nothing is logged. */
int64_t itg_cli_search_run(const itg_cli_search_work *work);
int itg_cli_search_json(const itg_cli_search_work *work);
int itg_cli_search_text(const itg_cli_search_work *work);
#endif
