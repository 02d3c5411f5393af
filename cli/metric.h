/* --metric: which metric of the list judges. */
#ifndef ITG_CLI_METRIC_H
#define ITG_CLI_METRIC_H
#include "cli/options.h"

/* Whether the name is one of a quality that can be chosen, and other options go with it; an exit
 * status, said on stderr. */
int itg_cli_metric_name_check(const itg_cli_args *args);
/* Whether the score has it, of what is called name, with labels or without. */
itg_status itg_cli_metric_known(const itg_cli_args *args, const itg_score *score, const char *name,
                                bool has_labels, itg_error *err);
/* The names that --metric takes, by index; NULL past the end. */
const char *itg_cli_metric_choice(int index);
/* metric_top.c: "topK" of a K that the list does not have, as a metric that the program brings;
 * false: the name is another. */
bool itg_cli_top_metric(const char *name, itg_user_metric *out);
bool itg_cli_names_top_metric(const itg_cli_args *args); /* whether --metric does */
/* The metric that --metric names (ITG_METRIC_USER1: topK); ITG_METRIC_ACCURACY: it is not given. */
itg_metric itg_cli_metric_named(const itg_cli_args *args);
/* Line "metric": what judged, and why; its value where no other line has it. */
void itg_cli_print_metric(const itg_cli_args *args, const itg_score *score);
itg_metric itg_cli_metric_judging(const itg_cli_args *args, const itg_score *score);
#endif
