/* --metric-command: a quality that a command of the user's computes from a network's outputs. */
#ifndef ITG_CLI_METRIC_COMMAND_H
#define ITG_CLI_METRIC_COMMAND_H
#include "cli/options.h"

/* Which of the options go together; an exit status, said on stderr. */
int itg_cli_metric_check(const itg_cli_args *args);

/* What the options call the metric, a command's or topK; *out stays where there is none. */
void itg_cli_metric_info(const itg_cli_args *args, itg_user_info *out);

typedef struct itg_cli_metric itg_cli_metric;
/* *out NULL: there is neither the option nor --metric topK. What is judged are the outputs of
 * model, or of program where model is NULL; it must outlive *out. Signals that interrupt are noted
 * from here on (cli/interrupt.h). */
itg_status itg_cli_metric_open(const itg_cli_args *args, const itg_model *model,
                               const itg_program *program, itg_cli_metric **out, itg_error *err);
/* For the member `user` of options and goals, [ITG_USER_METRICS]: the command is the first. */
const itg_user_metric *itg_cli_metric_users(const itg_cli_metric *metric); /* NULL: of NULL */
/* Why the command gave no number, the first time; it is not run again then. From any thread. */
itg_status itg_cli_metric_failure(itg_cli_metric *metric, itg_error *err);
void itg_cli_metric_close(itg_cli_metric *metric); /* NULL: nothing happens */
#endif
