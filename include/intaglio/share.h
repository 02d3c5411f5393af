/* Trials in other processes: what they need as bytes, and their results as bytes. An evaluator of
 * the calling program (itg_search_evaluator) sends both by any way it likes; `intaglio search
 * --workers` sends them through a Redis server (docs/scale.md).
 *
 * A trial's request is small: its point, and what decides whether it may stop early. What all
 * trials of a round share is made once: options, hardware, statistics, thresholds, samples, the
 * float network's outputs, codes of weights. Besides these a scorer needs the model, as a file.
 *
 * Nothing that is read is trusted: every size, range and name is checked, and a refusal names its
 * place. A scorer gives the same bits as the search itself. */
#ifndef INTAGLIO_SHARE_H
#define INTAGLIO_SHARE_H
#include <intaglio/intaglio.h>
#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef struct itg_share_part {
    const char *name; /* a-z only */
    const void *data;
    size_t bytes;
} itg_share_part;
#define ITG_SHARE_PARTS 6
typedef struct itg_share {
    itg_share_part parts[ITG_SHARE_PARTS]; /* of which `count` are there; owned */
    int32_t count;
} itg_share;

/* ---- on the side of the search ---- */
/* Which trials share: those of the same round. */
int32_t itg_work_round(const itg_work *work);
/* False: the trial's codes of weights are its own (itg_trial.round 2), and are made in the search's
 * process: itg_work_evaluate finishes it. Such trials are few, and out one at a time. */
bool itg_work_is_shared(const itg_work *work);
/* What the trials of the work's round share. ITG_UNSUPPORTED: the goal's quality is a metric of the
 * calling program, which no other process has; or the float network's outputs are too large to be
 * kept (64 MiB) and come from kernels that other machines do not have; or it is not shared. */
itg_status itg_work_share(const itg_work *work, itg_share **out, itg_error *err);
void itg_share_destroy(itg_share *share);
/* A request that every scorer of this share must answer in the same way, and the answer, which this
 * process computes: free both with itg_free. */
itg_status itg_work_probe(const itg_work *work, int threads, char **request, char **reply,
                          itg_error *err);
/* The work as text; free with itg_free. */
itg_status itg_work_request(const itg_work *work, char **out, itg_error *err);
/* Finishes the work by a scorer's reply. ITG_BAD_FILE: it is none, and the work is as it was.
 * worker: who computed it, for itg_trial.worker; copied. */
itg_status itg_work_accept(itg_work *work, const char *reply, size_t bytes, const char *worker,
                           double seconds, itg_error *err);
/* The reply that a scorer gives to the same request, of work that is finished. */
itg_status itg_work_reply(const itg_work *work, char **out, itg_error *err);
/* Finishes the work with an error that ends the search. */
void itg_work_fail(itg_work *work, const itg_error *err);

/* ---- on the side of the workers ---- */
typedef struct itg_scorer itg_scorer;
/* How the model must be opened, and which it is. */
typedef struct itg_share_model {
    itg_model_options options;
    unsigned char hash[32];
    char name[256]; /* of the file, without folders: messages have it */
} itg_share_model;
/* Reads the head of a share. ITG_MISMATCH: another version of the library made it. */
itg_status itg_share_model_of(const itg_share_part *parts, int32_t count, itg_share_model *out,
                              itg_error *err);
/* model: opened as itg_share_model says, and borrowed. cache_bytes: as in itg_search_options. */
itg_status itg_scorer_open(const itg_model *model, const itg_share_part *parts, int32_t count,
                           int64_t cache_bytes, itg_scorer **out, itg_error *err);
void itg_scorer_close(itg_scorer *scorer);
/* Answers a request; *reply is freed with itg_free. That the hardware cannot run the point is an
 * answer. ITG_BAD_FILE: it is no request of this share. Others (no memory) say nothing about the
 * point. */
itg_status itg_scorer_score(itg_scorer *scorer, const char *request, size_t bytes, int threads,
                            char **reply, itg_error *err);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
