/* Functions that the files of `intaglio report` share. */
#ifndef ITG_CLI_REPORT_H
#define ITG_CLI_REPORT_H
#include "cli/runs.h"
#include "report/plot.h"
#include <intaglio/explain.h>

/* Adds a table to the page and frees it. */
void itg_report_table(itg_page *page, itg_cli_table *table, const char *label, bool titled);
/* Returns an axis for numbers of a unit up to about `largest`. Writes its title ("weight bytes,
 * kB") to `title`, which must outlive the axis. */
itg_axis itg_report_axis(const char *words, itg_unit unit, double largest, char title[96]);

/* Adds JSON to the page and frees it. */
void itg_report_block(itg_page *page, const char *id, itg_json_writer *json);

/* The RAM layout at each step (report_memory.c): as a section, and as the member "memory". */
void itg_report_memory(itg_page *page, const itg_memory_plan *plan);
void itg_report_memory_json(itg_json_writer *json, const itg_memory_plan *plan);
/* Histograms of the edges, in floats and simulated (report_histograms.c). */
void itg_report_histograms(itg_page *page, const itg_inspection *inspection);
void itg_report_histograms_json(itg_json_writer *json, const itg_inspection *inspection);
void itg_report_explanation(itg_page *page, const itg_explanation *e); /* report_explanation.c */
/* What single choices lose: of this run if it is one of `intaglio sensitivity`, else of the newest
 * such run on its model and hardware; nothing if there is none (report_sensitivities.c). */
itg_status itg_report_sensitivities(itg_page *page, itg_run_log *log, const itg_run_record *of,
                                    itg_error *err);

/* Points of --peers (report_peers.c). */
typedef struct itg_peer {
    char *name;
    double cost, quality;
} itg_peer;
typedef struct itg_peers {
    itg_peer *list;
    int64_t count;
} itg_peers;
/* Reads a .csv file whose first line has "name" and the names of two metrics, in any order and
 * among others; a share may be "79.5%". The caller zero-initializes *out, and frees it in any
 * case. */
itg_status itg_peers_read(const char *path, const itg_metric_info *cost,
                          const itg_metric_info *quality, itg_peers *out, itg_error *err);
void itg_peers_free(itg_peers *peers);

/* Fills the page of PROGRAM, or of MODEL STRATEGY (report_network.c). */
itg_status itg_report_network(const itg_cli_args *args, itg_page *page, itg_error *err);
/* Fills the page of a run of --db (report_run.c). */
itg_status itg_report_run(const itg_cli_args *args, int64_t run, itg_page *page, itg_error *err);
#endif
