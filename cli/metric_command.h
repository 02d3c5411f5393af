/* --metric-command: a quality that a user's command computes from a network's outputs. */
#ifndef ITG_CLI_METRIC_COMMAND_H
#define ITG_CLI_METRIC_COMMAND_H
#include "cli/options.h"

/* Checks which of the options go together. Prints errors on stderr and returns an exit status. */
int itg_cli_metric_check(const itg_cli_args *args);

/* Fills *out with the name and properties of the metric, a command's or topK. Leaves *out unchanged
 * if there is none. */
void itg_cli_metric_info(const itg_cli_args *args, itg_user_info *out);

typedef struct itg_cli_metric itg_cli_metric;
/* Opens the metric for the outputs of model, or of program if model is NULL; either must outlive
 * *out. Sets *out to NULL with neither the option nor --metric topK. Interrupts are recorded from
 * here on (cli/interrupt.h). */
itg_status itg_cli_metric_open(const itg_cli_args *args, const itg_model *model,
                               const itg_program *program, itg_cli_metric **out, itg_error *err);
/* Returns the array [ITG_USER_METRICS] for the member `user` of options and goals. The command is
 * its first element. */
const itg_user_metric *itg_cli_metric_users(const itg_cli_metric *metric); /* NULL: of NULL */
/* Returns the command's first failure to give a number; it is not run again after one. Any thread
 * may call this. */
itg_status itg_cli_metric_failure(itg_cli_metric *metric, itg_error *err);
void itg_cli_metric_close(itg_cli_metric *metric); /* NULL: nothing happens */
#endif
