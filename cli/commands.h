/* The commands, one file each: cmd_NAME.c. */
#ifndef ITG_CLI_COMMANDS_H
#define ITG_CLI_COMMANDS_H
#include "cli/options.h"

extern const itg_cli_command itg_cli_check, itg_cli_simulate, itg_cli_realize, itg_cli_run,
    itg_cli_inspect, itg_cli_explain, itg_cli_search, itg_cli_sensitivity, itg_cli_demo,
    itg_cli_verify, itg_cli_diff, itg_cli_runs, itg_cli_hw, itg_cli_report, itg_cli_doctor,
    itg_cli_init, itg_cli_worker;
/* Returns a command by index, in the order of help; NULL past the last one (main.c). */
const itg_cli_command *itg_cli_command_at(int index);

/* Options of user metrics, for commands that compute scores (cli/metric_command.h). */
#define ITG_CLI_METRIC                                                                             \
    ITG_CLI_OPT_METRIC_COMMAND, ITG_CLI_OPT_METRIC_NAME, ITG_CLI_OPT_METRIC_DOWN,                  \
        ITG_CLI_OPT_METRIC_TIMEOUT
/* Options of preprocessing. */
#define ITG_CLI_PREPROCESS                                                                         \
    ITG_CLI_OPT_BGR, ITG_CLI_OPT_SCALE, ITG_CLI_OPT_MEAN, ITG_CLI_OPT_STD, ITG_CLI_OPT_LAYOUT,     \
        ITG_CLI_OPT_NHWC, ITG_CLI_OPT_PREPROCESS, ITG_CLI_OPT_ALLOW_NONFINITE
#endif
