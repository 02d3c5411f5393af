/* How far a search is, on stderr: one line that is drawn again on a terminal, a line now and then
 * elsewhere. */
#ifndef ITG_CLI_PROGRESS_H
#define ITG_CLI_PROGRESS_H
#include <intaglio/intaglio.h>

typedef struct itg_cli_progress {
    bool quiet, on_terminal, in_color;
    double start, last_shown; /* seconds; start: of the first trial shown */
    int64_t first;            /* trials done by then; 0: none shown yet */
    int64_t best;             /* number of the best trial shown; -1: none */
    int width;                /* of the line on the terminal */
} itg_cli_progress;

/* NO_COLOR and TERM are looked at here. */
void itg_cli_progress_begin(itg_cli_progress *progress, bool quiet, double now);
/* planned: how many trials there will be; INT64_MAX: not known. best NULL: none yet. */
void itg_cli_progress_show(itg_cli_progress *progress, const itg_trial *trial,
                           const itg_trial *best, int64_t planned, double now);
void itg_cli_progress_end(itg_cli_progress *progress);
#endif
