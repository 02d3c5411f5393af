/* The loop: asks, submits, tells in ask order, keeps the incumbent. */
#ifndef ITG_ENGINE_H
#define ITG_ENGINE_H
#include "search/memory.h"
#include "search/workers.h"

/* Finds the conflicts of accumulators that make a point infeasible; *out is malloc'd. They follow
 * from the point alone, so a replayed trial has the same ones. */
typedef itg_status (*itg_engine_conflicts_fn)(void *context, const int32_t *point,
                                              itg_conflict **out, int32_t *count, itg_error *err);

typedef struct itg_engine_options {
    const itg_searcher_def *searcher;
    const double *parameters; /* as in itg_searcher_options; NULL: the defaults */
    const int32_t *start;     /* as in itg_searcher_options */
    const itg_told *past;     /* the same, [past_count] */
    int64_t past_count;
    const itg_objective *objective; /* and the space */
    int64_t trials;                 /* at most; 0: the searcher's default */
    double seconds;                 /* as in itg_search_options; needs hooks->clock; 0: no limit */
    double begun;                   /* the clock when seconds began to count */
    int64_t patience;               /* 0: none */
    double tolerance;
    uint64_t seed;
    const itg_workers *workers; /* NULL: local ones, of the next three */
    int threads;
    itg_score_fn score;
    void *score_context;
    itg_engine_conflicts_fn conflicts; /* NULL: none are known; the context is score's */
    const itg_search_hooks *hooks; /* may be NULL; clock and cancelled are called by any worker */
    itg_memory *memory;            /* what is known already; grows. NULL: the engine's own */
    bool no_racing;
    const itg_trial *replay; /* as in itg_search_options */
    int64_t replay_count;
    int32_t round; /* of the trials */
} itg_engine_options;

typedef struct itg_engine_result {
    int64_t trial_count, duplicates, raced; /* raced: of those that are no duplicates */
    itg_trial *trials;                      /* points and errors: in the memory */
    itg_memory memory;                      /* empty: the caller's */
    itg_trial best;                         /* index -1: none was feasible */
    itg_archive front;                      /* of trials that meet a goal of several objectives */
    bool goal_met;
    itg_forecast forecast;   /* of the first round */
    const char *stop_reason; /* "exhausted", "trials", "seconds", "patience", "cancelled" */
} itg_engine_result;

/* *result begins as ITG_ENGINE_RESULT_INIT, or holds the trials of earlier rounds, whose best
 * counts on. Empty after an error. */
#define ITG_ENGINE_RESULT_INIT                                                                     \
    {                                                                                              \
        .best.index = -1                                                                           \
    }
itg_status itg_engine_run(const itg_engine_options *options, itg_engine_result *result,
                          itg_error *err);
/* ITG_MISMATCH where the log has trials that the search, at its end, did not ask for. */
itg_status itg_engine_check_replay(const itg_engine_options *options,
                                   const itg_engine_result *result, itg_error *err);
void itg_engine_result_deinit(itg_engine_result *result);
#endif
