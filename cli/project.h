/* intaglio.toml in the folder that a command is called in: defaults of its options. A subset of
 * TOML 1.0: tables [COMMAND], keys that are names of options, values that are strings, numbers or
 * booleans; docs/command-line.md. The command line wins. */
#ifndef ITG_CLI_PROJECT_H
#define ITG_CLI_PROJECT_H
#include "cli/options.h"

#define ITG_CLI_PROJECT "intaglio.toml"
/* Completes args, after the words of the command line were read. Values may point into
 * args->project, which main frees. Errors name the line. No such file: nothing happens. */
int itg_cli_project_apply(itg_cli_args *args);
#endif
