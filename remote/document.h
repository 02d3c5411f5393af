/* The description of a search for its workers: its files, and the proof that a worker must pass.
 * JSON, named by its SHA-256 like every file. */
#ifndef ITG_REMOTE_DOCUMENT_H
#define ITG_REMOTE_DOCUMENT_H
#include "remote/files.h"

#define ITG_MOST_DOCUMENT ((int64_t)16 << 20)

typedef struct itg_document {
    itg_remote_file *files; /* owned, and their sources */
    int32_t count;
    char *probe;             /* a request; owned */
    unsigned char proof[32]; /* SHA-256 of the reply that every worker must give */
} itg_document;
void itg_document_deinit(itg_document *d);
/* Free *out with itg_free. */
itg_status itg_document_write(const itg_document *d, char **out, itg_error *err);
/* Refuses documents that no search writes: with paths that leave their folder, or unknown kinds. */
itg_status itg_document_read(const char *text, size_t bytes, itg_document *out, itg_error *err);
#endif
