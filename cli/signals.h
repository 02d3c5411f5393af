/* Ctrl-C, once: what a command has found is kept. */
#ifndef ITG_CLI_SIGNALS_H
#define ITG_CLI_SIGNALS_H
#include <stdbool.h>

/* From now on SIGINT and SIGTERM are noted, and `what` is told on stderr; the second one kills. */
void itg_cli_catch_signals(const char *what);
bool itg_cli_interrupted(void);
int itg_cli_interrupted_for(void); /* seconds, since then */
#endif
