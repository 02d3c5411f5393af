/* Private to cli/report_network*.c: the page of a strategy or a program under way. */
#ifndef ITG_CLI_REPORT_NETWORK_H
#define ITG_CLI_REPORT_NETWORK_H
#include "cli/inspect.h"
#include "cli/report.h"

enum { NETWORK_REPORT_WORDS = 320 };
enum { NETWORK_REPORT_LAYERS = 2000 }; /* of more layers nothing is drawn */

typedef struct network_report {
    itg_page *page;
    const itg_cli_args *args;
    const char *path; /* of the strategy, or of the program */
    itg_cli_inspected inspected;
    itg_summary *summary;
    const itg_summary_info *info;
    itg_explanation *explanation;    /* NULL: not asked for */
    itg_memory_plan *memory;         /* NULL: it cannot be an integer program */
    const itg_edge_report **reports; /* by edge; NULL: not inspected */
    const itg_edge_report *worst;    /* of the quantized edges between nodes; NULL: none */
} network_report;

const itg_summary_edge *network_report_edge(const network_report *n, int32_t i);
const itg_summary_layer *network_report_layer(const network_report *n, int32_t i);

/* ---- report_network_drawing.c ---- */
void network_report_drawing(const network_report *n);
#endif
