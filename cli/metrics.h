/* Metrics as text and as JSON. All reports iterate over the list of metrics. */
#ifndef ITG_CLI_METRICS_H
#define ITG_CLI_METRICS_H
#include "cli/json_out.h"
#include "cli/table.h"

enum { ITG_CLI_QUALITIES = 1, ITG_CLI_COSTS = 2, ITG_CLI_METRICS = 3 };

/* "98.90 %", "12,345", "4.21", "31.25 dB"; "-": not known. */
const char *itg_cli_unit_text(itg_unit unit, double value, char buffer[32]);
const char *itg_cli_share(double share, char *buffer, size_t size); /* "98.90 %", or "-" */
const char *itg_cli_amount(double value, char *buffer);             /* "12,345", or "-" */
/* Add a cell for each of the metrics: its words, or its value. */
void itg_cli_metric_titles(itg_cli_table *table, const itg_metric *metrics, int count);
void itg_cli_metric_cells(itg_cli_table *table, const itg_metric *metrics, int count,
                          const itg_score *score);
/* Adds a cell with the change from a to b: "+1.20 points", "-3.1 %", "same"; "-" if either is not
 * known. */
void itg_cli_change_cell(itg_cli_table *table, itg_unit unit, double a, double b);
/* Adds four cells: the metric's words, its value in A and in B, and the change. */
void itg_cli_metric_row(itg_cli_table *table, itg_metric metric, const itg_score *a,
                        const itg_score *b);

/* Writes a member for each metric of the kinds, with a prefix; null: not known. Qualities of a
 * score that was stopped early are null, because they are bounds. Metrics that need labels or a
 * user's function are left out if they are not known. */
void itg_cli_json_metrics(itg_json_writer *json, const char *prefix, const itg_score *score,
                          int kinds);
#endif
