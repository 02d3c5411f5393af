#ifndef ITG_CLI_HELP_H
#define ITG_CLI_HELP_H
#include "cli/options.h"

/* Print help on stdout for all commands, or for one. */
void itg_cli_help(const itg_cli_command *const *commands, int count);
void itg_cli_help_command(const itg_cli_command *command);
#endif
