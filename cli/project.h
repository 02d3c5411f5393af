/* Reads intaglio.toml in the current folder: defaults of a command's options. A subset of
 * TOML 1.0: tables [COMMAND], keys that are names of options, values that are strings, numbers or
 * booleans; docs/command-line.md. The command line wins. */
#ifndef ITG_CLI_PROJECT_H
#define ITG_CLI_PROJECT_H
#include "cli/options.h"

#define ITG_CLI_PROJECT "intaglio.toml"
/* Adds the file's values to args, after the command line was read. Values may point into
 * args->project, which main frees. Errors name the line. Does nothing if there is no file. */
int itg_cli_project_apply(itg_cli_args *args);
#endif
