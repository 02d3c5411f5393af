/* Reports of `realize` about a QDQ model. */
#ifndef ITG_CLI_REALIZE_QDQ_H
#define ITG_CLI_REALIZE_QDQ_H
#include "cli/json_out.h"
#include <intaglio/intaglio.h>

void itg_cli_json_qdq(itg_json_writer *json, const itg_qdq_report *report); /* members */
void itg_cli_print_qdq(const itg_qdq_report *report, const char *path);
#endif
