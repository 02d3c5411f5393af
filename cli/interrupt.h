/* Handles Ctrl-C for commands that keep the results found so far. */
#ifndef ITG_CLI_INTERRUPT_H
#define ITG_CLI_INTERRUPT_H
#include <stdbool.h>

/* Installs handlers: the first SIGINT or SIGTERM is recorded and reported on stderr, the second one
 * ends the process. */
void itg_cli_catch_interrupts(void);
bool itg_cli_is_interrupted(void);
int itg_cli_interrupted_for(void); /* seconds since; 0: it is not */
#endif
