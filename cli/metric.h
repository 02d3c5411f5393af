/* --metric: the metric by which networks are judged. */
#ifndef ITG_CLI_METRIC_H
#define ITG_CLI_METRIC_H
#include "cli/options.h"

/* Checks that --metric names a quality that can be chosen and agrees with the other options. Prints
 * errors on stderr and returns an exit status. */
int itg_cli_metric_name_check(const itg_cli_args *args);
/* Fails unless the score has the metric of --metric. `name` is what errors call the network or
 * file. */
itg_status itg_cli_metric_known(const itg_cli_args *args, const itg_score *score, const char *name,
                                bool has_labels, itg_error *err);
/* Returns a name that --metric takes, by index; NULL past the end. */
const char *itg_cli_metric_choice(int index);
/* Fills *out with a user metric for "topK", if K is not in the list of metrics. Returns false for
 * any other name. (metric_top.c) */
bool itg_cli_top_metric(const char *name, itg_user_metric *out);
bool itg_cli_names_top_metric(const itg_cli_args *args); /* whether --metric does */
/* Returns the metric that --metric names (ITG_METRIC_USER1 for topK); ITG_METRIC_ACCURACY without
 * --metric. */
itg_metric itg_cli_metric_named(const itg_cli_args *args);
/* Prints the line "metric": the metric by which networks are judged, and why it is chosen. */
void itg_cli_print_metric(const itg_cli_args *args, const itg_score *score);
itg_metric itg_cli_metric_judging(const itg_cli_args *args, const itg_score *score);
#endif
