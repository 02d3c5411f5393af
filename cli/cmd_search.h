/* What cmd_search.c hands to search_report.c. */
#ifndef ITG_CLI_CMD_SEARCH_H
#define ITG_CLI_CMD_SEARCH_H
#include "cli/common.h"
#include "cli/progress.h"
#include "cli/recorder.h"

typedef struct itg_cli_search_work {
    const itg_cli_args *args;
    itg_model *model;
    itg_hardware *hw;
    itg_cli_data data, holdout; /* holdout.samples NULL: none was given */
    itg_preprocess preprocess;
    itg_search_options options;
    char *options_json, *preprocess_json, *strategy_json;
    itg_cli_recorder *recorder; /* NULL: no --db */
    itg_cli_progress progress;
    itg_search_result *result;
    double seconds;
    itg_error log_failure; /* code ITG_OK: none */
} itg_cli_search_work;

int itg_cli_search_json(const itg_cli_search_work *work);
int itg_cli_search_text(const itg_cli_search_work *work);
#endif
