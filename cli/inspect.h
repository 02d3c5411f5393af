/* Comparison of a strategy with the float network, for the commands that print it. */
#ifndef ITG_CLI_INSPECT_H
#define ITG_CLI_INSPECT_H
#include "cli/common.h"

typedef struct itg_cli_inspected {
    const itg_cli_args *args; /* MODEL STRATEGY, --data */
    itg_model *model;
    itg_strategy_file *file;
    itg_annotated *annotated;
    itg_cli_data data;
    itg_inspection *inspection; /* NULL: no --data was given */
} itg_cli_inspected;

/* Opens the files of w->args, which the caller has set. Close *w also after a failure. */
itg_status itg_cli_inspect_open(itg_cli_inspected *w, itg_error *err);
void itg_cli_inspect_close(itg_cli_inspected *w);
void itg_cli_json_inspection(itg_json_writer *json, const char *key,
                             const itg_inspection *inspection);
void itg_cli_inspection_table(itg_cli_table *table, const itg_inspection *inspection);
#endif
