/* Identifies this process as the writer of a run. */
#ifndef ITG_CLI_HOLDER_H
#define ITG_CLI_HOLDER_H
#include <intaglio/intaglio.h>

typedef struct itg_cli_holder {
    itg_run_claim claim; /* borrows the texts below: do not copy */
    char host[256], place[160], started[32], since[32];
} itg_cli_holder;
const itg_run_claim *itg_cli_claim(itg_cli_holder *out); /* at this moment */

const char *itg_cli_utc(char *buffer, size_t size); /* "2024-05-06T07:08:09Z" */
#endif
