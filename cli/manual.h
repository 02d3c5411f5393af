/* Manual pages and completions of shells, made from the tables that the parser reads. The build
 * writes them ('intaglio help --write FOLDER DATE'), and CMake installs them. */
#ifndef ITG_CLI_MANUAL_H
#define ITG_CLI_MANUAL_H
#include "cli/options.h"
#include <stdio.h>

/* Writes intaglio.1, intaglio-COMMAND.1 of every command, and the completions intaglio.bash,
 * _intaglio (zsh) and intaglio.fish into a folder that exists. `date` stands in the manual pages:
 * YYYY-MM-DD. Errors are printed; returns an exit status. */
int itg_cli_manual_write(const itg_cli_command *const *commands, int count, const char *folder,
                         const char *date);

/* ---- completion.c ---- */
typedef void (*itg_cli_completion)(FILE *out, const itg_cli_command *const *commands, int count);
void itg_cli_complete_bash(FILE *out, const itg_cli_command *const *commands, int count);
void itg_cli_complete_zsh(FILE *out, const itg_cli_command *const *commands, int count);
void itg_cli_complete_fish(FILE *out, const itg_cli_command *const *commands, int count);

/* Returns an option of a command by index in the order of help; ITG_CLI_OPTION_COUNT past the end.
 */
itg_cli_option itg_cli_shown_option(const itg_cli_command *command, int index);
/* Writes the help of an option with its default and, for a threshold method, all names. */
void itg_cli_option_help(itg_cli_option option, char *out, size_t size);
#endif
