/* Functions that the files of `intaglio report` share. */
#ifndef ITG_CLI_REPORT_H
#define ITG_CLI_REPORT_H
#include "cli/runs.h"
#include "report/plot.h"

/* Adds a table to the page and frees it. */
void itg_report_table(itg_page *page, itg_cli_table *table, const char *label, bool titled);
/* Returns an axis for numbers of a unit up to about `largest`. Writes its title ("weight bytes,
 * kB") to `title`, which must outlive the axis. */
itg_axis itg_report_axis(const char *words, itg_unit unit, double largest, char title[96]);

/* Adds a figure at the top of a page (in a list of class "figures"); below may be "". */
void itg_report_figure(itg_page *page, const char *name, const char *value, const char *below);
/* Adds JSON to the page and frees it. */
void itg_report_block(itg_page *page, const char *id, itg_json_writer *json);

/* The RAM layout at each step (report_memory.c): as a section, and as the member "memory". */
void itg_report_memory(itg_page *page, const itg_memory_plan *plan);
void itg_report_memory_json(itg_json_writer *json, const itg_memory_plan *plan);
/* Fills the page of PROGRAM, or of MODEL STRATEGY (report_network.c). */
itg_status itg_report_network(const itg_cli_args *args, itg_page *page, itg_error *err);
/* Fills the page of a run of --db (report_run.c). */
itg_status itg_report_run(const itg_cli_args *args, int64_t run, itg_page *page, itg_error *err);
#endif
