/* Ctrl-C, for commands that keep what they have found by then. */
#ifndef ITG_CLI_INTERRUPT_H
#define ITG_CLI_INTERRUPT_H
#include <stdbool.h>

/* From here on the first SIGINT or SIGTERM is noted, and said on stderr; the second one kills. */
void itg_cli_catch_interrupts(void);
bool itg_cli_is_interrupted(void);
int itg_cli_interrupted_for(void); /* seconds since; 0: it is not */
#endif
