/* Writes several files so that they appear together: they are written to a temporary folder beside
 * their final places and moved when all are complete. */
#ifndef ITG_CLI_STAGING_H
#define ITG_CLI_STAGING_H
#include <intaglio/intaglio.h>

typedef struct itg_cli_staging {
    char *place;  /* the folder where the files belong; "" or with a '/' at its end */
    char *folder; /* where they are made; the same */
} itg_cli_staging;

/* Creates the temporary folder in the folder of `path`, or in `path` itself if it ends in '/'.
 * Close *out also after a failure. */
itg_status itg_cli_staging_open(const char *path, itg_cli_staging *out, itg_error *err);
/* Returns the temporary path of a file, malloc'd; NULL without memory. */
char *itg_cli_staged(const itg_cli_staging *staging, const char *name);
/* Moves the files in this order. If one cannot be moved, those before it are removed. */
itg_status itg_cli_staging_finish(const itg_cli_staging *staging, const char *const *names,
                                  int count, itg_error *err);
/* Removes files that were not moved. Replaces temporary paths in the error by the final ones. */
void itg_cli_staging_close(itg_cli_staging *staging, itg_error *err);

/* Writes a program and its certificate, after reading the program back. If either fails, neither
 * file appears. */
itg_status itg_cli_write_program(const itg_program *program, const itg_model *model,
                                 const itg_strategy_file *file, const char *path, itg_error *err);
#endif
