/* Files that belong together appear together: they are written to a folder of their own beside
 * their places, and moved when all of them are whole. */
#ifndef ITG_CLI_STAGING_H
#define ITG_CLI_STAGING_H
#include <intaglio/intaglio.h>

typedef struct itg_cli_staging {
    char *place;  /* the folder where the files belong; "" or with a '/' at its end */
    char *folder; /* where they are made; the same */
} itg_cli_staging;

/* In the folder of `path`, or in `path` itself where it ends in '/'. To be closed in any case. */
itg_status itg_cli_staging_open(const char *path, itg_cli_staging *out, itg_error *err);
/* The path of a file in the making; malloc'd, NULL without memory. */
char *itg_cli_staged(const itg_cli_staging *staging, const char *name);
/* Moves the files, in this order. Where one cannot be moved, those before it are removed. */
itg_status itg_cli_staging_finish(const itg_cli_staging *staging, const char *const *names,
                                  int count, itg_error *err);
/* Removes what was not moved. Errors that tell of files in the making tell of their places then. */
void itg_cli_staging_close(itg_cli_staging *staging, itg_error *err);

/* Writes a program and its certificate; reads the program back before. Neither appears where one
 * of them fails. */
itg_status itg_cli_write_program(const itg_program *program, const itg_model *model,
                                 const itg_strategy_file *file, const char *path, itg_error *err);
#endif
