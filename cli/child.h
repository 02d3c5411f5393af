/* A command of the user's, run by the shell: its time and its output are limited. */
#ifndef ITG_CLI_CHILD_H
#define ITG_CLI_CHILD_H
#include <intaglio/intaglio.h>

/* Runs `/bin/sh -c text` and waits for it. Standard input is empty; what it prints is kept in files
 * of `folder`. *out is all of its standard output, terminated; freed with itg_free, NULL on
 * failure. Fails where it ends with another status than 0, takes more than `seconds`, or prints
 * more than a MiB; the message ends with the last that it said on standard error. ITG_CANCELLED:
 * the user stopped this program (itg_cli_is_interrupted). Nothing of its process group is left
 * running. Errors call it `name`. */
itg_status itg_cli_child_run(const char *name, const char *text, const char *folder, double seconds,
                             char **out, itg_error *err);
#endif
