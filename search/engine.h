/* The loop: asks, evaluates in parallel, tells in ask order, keeps the incumbent. */
#ifndef ITG_ENGINE_H
#define ITG_ENGINE_H
#include "search/searcher.h"
#include <intaglio/intaglio.h>

/* Scores a point given as bits per dimension; called from several workers at once, each with
 * `threads` of its own. */
typedef itg_status (*itg_engine_score_fn)(void *context, const int32_t *bits, int threads,
                                          itg_score *out, itg_error *err);

typedef struct itg_engine_options {
    const itg_searcher_def *searcher;
    const itg_search_space *space;
    double quality_floor;
    int64_t trials; /* at most; 0: the searcher's default */
    uint64_t seed;
    int threads;
    itg_engine_score_fn score;
    void *score_context;
    const itg_search_hooks *hooks; /* may be NULL */
} itg_engine_options;

typedef struct itg_engine_result {
    int64_t trial_count;
    itg_trial best;          /* index -1: none met the floor; bits and error malloc'd */
    const char *stop_reason; /* "exhausted", "trials", "cancelled" */
} itg_engine_result;

itg_status itg_engine_run(const itg_engine_options *options, itg_engine_result *out,
                          itg_error *err);
void itg_engine_result_deinit(itg_engine_result *result);

/* objective.c: whether a is a better result than b: cheaper (weight_bytes) among those that meet
 * the floor; then higher quality; then fewer bits in all; then the earlier one. */
bool itg_trial_is_better(const itg_trial *a, const itg_trial *b, double quality_floor);
double itg_trial_quality(const itg_trial *trial);
#endif
