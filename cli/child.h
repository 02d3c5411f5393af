/* Runs a user's command in the shell, with a limit on its time and its output. */
#ifndef ITG_CLI_CHILD_H
#define ITG_CLI_CHILD_H
#include <intaglio/intaglio.h>

/* Runs `/bin/sh -c text` and waits for it. Standard input is empty; its output is kept in files in
 * `folder`. Sets *out to its whole standard output, terminated; the caller frees it with itg_free.
 * Fails and sets *out to NULL if the exit status is not 0, if it takes more than `seconds`, or if
 * it prints more than a MiB; the message ends with the end of its standard error. Returns
 * ITG_CANCELLED if the user stopped this program (itg_cli_is_interrupted). No process of its group
 * is left running. Errors call it `name`. */
itg_status itg_cli_child_run(const char *name, const char *text, const char *folder, double seconds,
                             char **out, itg_error *err);
#endif
