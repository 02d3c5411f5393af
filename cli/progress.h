/* Progress of a search on stderr: one line that is redrawn on a terminal, occasional lines
 * elsewhere. Counts are numbers of trials done; a trial is named by its number, from 0, as in
 * reports and logs. */
#ifndef ITG_CLI_PROGRESS_H
#define ITG_CLI_PROGRESS_H
#include <intaglio/intaglio.h>

#define ITG_CLI_PROGRESS_LINE 256

typedef struct itg_cli_progress {
    bool quiet, on_terminal, in_color;
    const itg_search_options *options;
    double start;      /* of the search, seconds */
    double last_shown; /* when */
    double timed;      /* when the trials began that the rate is taken of */
    int64_t first;     /* trials done by then; 0: not yet */
    int64_t raced;     /* trials that were stopped early, the log's included */
    int64_t best;      /* number of the best trial shown; -1: none */
    int width;         /* of the line on the terminal */
    bool is_behind;    /* latest was not shown: it came too soon behind another */
    char latest[ITG_CLI_PROGRESS_LINE];
} itg_cli_progress;

/* Starts the progress. Reads NO_COLOR and TERM. options must outlive *progress. */
void itg_cli_progress_begin(itg_cli_progress *progress, bool quiet,
                            const itg_search_options *options, double now);
/* Shows a trial. planned: total number of trials; INT64_MAX: not known. best NULL: none yet. */
void itg_cli_progress_show(itg_cli_progress *progress, const itg_trial *trial,
                           const itg_trial *best, int64_t planned, double now);
/* Shows on a terminal, before each layer, that its codes of weights are being made. */
void itg_cli_progress_codes(itg_cli_progress *progress, int32_t layer, int32_t layers);
void itg_cli_progress_end(itg_cli_progress *progress);
#endif
