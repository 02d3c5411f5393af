/* Writes the log of one search. A trial is committed within 200 ms, also while the next one takes
 * minutes. Only one thread at a time may call these functions. */
#ifndef ITG_CLI_RECORDER_H
#define ITG_CLI_RECORDER_H
#include <intaglio/intaglio.h>

typedef struct itg_cli_recorder itg_cli_recorder;

/* Opens the log and begins a run. */
itg_status itg_cli_recorder_open(const char *path, const itg_run_info *info, itg_cli_recorder **out,
                                 itg_error *err);
/* Opens the log to continue an existing run. */
itg_status itg_cli_recorder_resume(const char *path, int64_t run, itg_cli_recorder **out,
                                   itg_error *err);
int64_t itg_cli_recorder_run(const itg_cli_recorder *recorder);
itg_status itg_cli_recorder_trial(itg_cli_recorder *recorder, const itg_trial *trial, double now,
                                  itg_error *err);
itg_status itg_cli_recorder_end(itg_cli_recorder *recorder, const itg_run_end *end, itg_error *err);
/* Commits what is pending and frees the recorder, also on failure. NULL is allowed. */
itg_status itg_cli_recorder_close(itg_cli_recorder *recorder, itg_error *err);
#endif
