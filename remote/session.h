/* Private to worker*.c: the search that a worker works for. */
#ifndef ITG_REMOTE_SESSION_H
#define ITG_REMOTE_SESSION_H
#include "remote/document.h"

typedef struct itg_session {
    unsigned char hash[32]; /* of the document */
    itg_document document;
    itg_model *model;
    itg_scorer *scorer; /* NULL: none is open */
    char *proof;        /* the reply to the probe */
    char greeted[33];   /* the search that has it; "": none yet */
    int64_t used;       /* the count of trials when it was last needed */
} itg_session;
/* Fetches the files that the document with this hash names, opens the model and proves itself.
 * ITG_IO: not possible now. ITG_MISMATCH: this worker cannot work for the search: it has another
 * version, or another result of the probe. Other errors: the document is no search's. */
itg_status itg_session_open(const itg_worker_options *o, itg_link *link,
                            const unsigned char hash[32], int64_t bytes, itg_session *out,
                            itg_error *err);
void itg_session_close(itg_session *session);
/* Removes the files of earlier workers that were killed while they opened a model. */
void itg_session_clean(const char *cache_folder);
#endif
