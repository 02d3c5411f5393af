/* Many machines: a search whose trials are evaluated by workers elsewhere, through Redis Streams
 * (Redis 7, Valkey). docs/scale.md has keys, messages and limits.
 *
 * The coordinator is an evaluator of the public interface (itg_search_evaluator); a worker is a
 * scorer of share.h. Both keep going when the server is lost, and do again what was lost with it.
 * Nothing that the server sends is executed or trusted.
 *
 * Without libhiredis at build time both fail with ITG_UNSUPPORTED. */
#ifndef INTAGLIO_REMOTE_H
#define INTAGLIO_REMOTE_H
#include <intaglio/share.h>
#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define ITG_REMOTE_NAME 64

typedef struct itg_remote_address {
    char host[256], port[8];
    char name[ITG_REMOTE_NAME];    /* what every key begins with: letters, digits, '-', '_', '.' */
    char user[128], password[256]; /* "": none */
    bool tls;
} itg_remote_address;
/* redis://[[USER]:PASSWORD@]HOST[:PORT]/NAME, or rediss:// for TLS; %XX in user and password. A
 * HOST with colons stands in brackets. password (may be NULL): where the text has none. */
itg_status itg_remote_parse(const char *text, const char *password, itg_remote_address *out,
                            itg_error *err);

typedef struct itg_remote_hooks {
    void *context;
    double (*clock)(void *context);                /* seconds; called by any thread */
    bool (*stops)(void *context);                  /* the user ends the work */
    void (*note)(void *context, const char *text); /* a sentence for people */
} itg_remote_hooks;

/* ---- the side of the search ---- */
typedef struct itg_coordinator_options {
    itg_remote_address address;
    itg_remote_hooks hooks;
    const itg_model *model;
    const char *model_path; /* the model's file; it and its data files are sent */
    double recheck;         /* the share of trials that two workers compute, 0 to 1 */
    int threads; /* threads for computations of this process: probes, and checks without a second
                    worker */
} itg_coordinator_options;
typedef struct itg_coordinator itg_coordinator;
/* Connects; the model is borrowed. */
itg_status itg_coordinator_open(const itg_coordinator_options *options, itg_coordinator **out,
                                itg_error *err);
const itg_search_evaluator *itg_coordinator_evaluator(itg_coordinator *coordinator);
/* Removes the keys that only this search needs from the server. NULL is allowed. */
void itg_coordinator_close(itg_coordinator *coordinator);

/* ---- the side of the workers ---- */
typedef struct itg_worker_options {
    itg_remote_address address;
    itg_remote_hooks hooks;
    char name[ITG_WORKER_NAME]; /* of its own: letters, digits, '-', '_', '.' */
    const char *cache_folder;   /* which is there */
    int64_t cache_bytes;        /* the most that is kept there */
    int64_t activation_bytes;   /* as itg_search_options.cache_bytes */
    int threads;
    double lease; /* seconds without a sign of life after which a worker's trial is anybody's */
    double idle;  /* end after so many seconds without work; 0: never */
} itg_worker_options;
/* Evaluates trials until hooks.stops, or it was idle for too long: ITG_OK. ITG_MISMATCH: a search
 * refuses this worker, or it fails the proof; the error says why. */
itg_status itg_worker_run(const itg_worker_options *options, itg_error *err);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
