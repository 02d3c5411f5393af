/* Private to worker*.c: the search that a worker has in hand. */
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
/* Fetches what the document with this hash names, opens it, and proves itself. ITG_IO: not now.
 * ITG_MISMATCH: this worker cannot work for the search: another version, or another result of the
 * probe. Others: what was sent is no search. */
itg_status itg_session_open(const itg_worker_options *o, itg_link *link,
                            const unsigned char hash[32], int64_t bytes, itg_session *out,
                            itg_error *err);
void itg_session_close(itg_session *session);
/* Removes what earlier workers left behind that were killed while they opened a model. */
void itg_session_clean(const char *cache_folder);
#endif
