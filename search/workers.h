/* The interface of evaluation: work is submitted and comes back in any order. The engine knows this
 * interface alone. Implementations: the threads of this process (local_workers.c), and an evaluator
 * of the calling program (host_workers.c). */
#ifndef ITG_WORKERS_H
#define ITG_WORKERS_H
#include "search/objective.h"

/* A point to evaluate. It does not move until it comes back. */
struct itg_work {
    const int32_t *point; /* the values of its dimensions, not their levels */
    const itg_race *race; /* it may stop where itg_race_floor says that the point does not matter,
                             and stops after itg_race_enough (itg_score.stopped_at) */
    void *owner;          /* the submitter's */
    /* Filled by the workers. ITG_OK: score is known. ITG_INFEASIBLE, ITG_UNBOUNDED: the hardware
     * cannot run the point, error says why. ITG_CANCELLED: as if it had never been submitted.
     * Others end the search. */
    itg_status status;
    itg_error error;
    itg_score score;
    double seconds;                  /* by the hooks' clock */
    char worker[ITG_WORKER_NAME];    /* as in itg_trial */
    struct itg_work *next;           /* the workers' own */
    struct itg_searching *searching; /* host_workers.c */
};

/* Called by one thread. The scores of a point are the same whoever evaluates it, and when. */
typedef struct itg_workers {
    void *context;
    void (*submit)(void *context, itg_work *work);
    itg_work *(*wait)(void *context); /* some work is out: returns one that is finished */
    void (*drop)(void *context);      /* what has not begun comes back as ITG_CANCELLED */
    void (*destroy)(void *context);   /* nothing is out; NULL: the workers stay */
} itg_workers;

/* Scores a point; called by several threads at once, each with `threads` of its own. Statuses as in
 * itg_work. */
typedef itg_status (*itg_score_fn)(void *context, const int32_t *point, const itg_race *race,
                                   int threads, itg_score *out, itg_error *err);

typedef struct itg_local_options {
    int threads; /* 0: the machine's */
    itg_score_fn score;
    void *context;
    const itg_search_hooks *hooks; /* clock and cancelled; may be NULL */
} itg_local_options;
/* Threads of this process, the caller's among them, which works where it waits. With as much work
 * as threads each point has one thread; with less, the points share them. */
itg_status itg_local_workers(const itg_local_options *options, itg_workers *out, itg_error *err);
#endif
