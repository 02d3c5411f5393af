/* intaglio report: what its files share. */
#ifndef ITG_CLI_REPORT_H
#define ITG_CLI_REPORT_H
#include "cli/runs.h"
#include "report/plot.h"

/* Puts a table into the page and frees it. */
void itg_report_table(itg_page *page, itg_cli_table *table, const char *label, bool titled);
/* An axis for numbers of a unit up to about `largest`: "weight bytes, kB"; title has room for 96
 * bytes and outlives the axis. */
itg_axis itg_report_axis(const char *words, itg_unit unit, double largest, char title[96]);

/* One of the figures at the top of a page (in a list of class "figures"); below may be "". */
void itg_report_figure(itg_page *page, const char *name, const char *value, const char *below);
/* Puts JSON into the page and frees it. */
void itg_report_block(itg_page *page, const char *id, itg_json_writer *json);

/* What lies where in RAM, step by step (report_memory.c): a section, and the member "memory". */
void itg_report_memory(itg_page *page, const itg_memory_plan *plan);
void itg_report_memory_json(itg_json_writer *json, const itg_memory_plan *plan);
/* The page of PROGRAM, or of MODEL STRATEGY (report_network.c). */
itg_status itg_report_network(const itg_cli_args *args, itg_page *page, itg_error *err);
/* The page of a run of --db (report_run.c). */
itg_status itg_report_run(const itg_cli_args *args, int64_t run, itg_page *page, itg_error *err);
#endif
