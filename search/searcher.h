/* A searcher: ask and tell over a discrete space. It never evaluates, logs, reads clocks or sees a
 * graph; the engine owns loop, budget, duplicates, incumbent and log. One file and one line in
 * registry.c each. docs/adding-a-searcher.md. */
#ifndef ITG_SEARCHER_H
#define ITG_SEARCHER_H
#include "base/base.h"

/* One choice: `count` levels, level i = bits[i], ascending. bytes_per_bit: what one bit of it costs
 * (0: nothing that counts). */
typedef struct itg_dim {
    int32_t count;
    const int32_t *bits;
    double bytes_per_bit;
} itg_dim;

typedef struct itg_search_space {
    int32_t dim_count;
    const itg_dim *dims;
} itg_search_space;

/* What is told of a point. quality: larger is better; cost: smaller is better. */
typedef struct itg_outcome {
    bool feasible; /* the hardware can run it */
    double quality, cost;
} itg_outcome;

typedef struct itg_searcher_options {
    double quality_floor; /* points below it are of no use as results */
    int64_t trials;       /* at most, for searchers without an end of their own */
} itg_searcher_options;

typedef struct itg_searcher_def {
    const char *name, *help;
    size_t state_size; /* the engine allocates it, zeroed */
    int32_t
        outstanding; /* points it may have asked and not been told of; never depends on threads */
    int64_t default_trials; /* 0: it ends by itself */
    itg_status (*init)(void *state, const itg_search_space *, const itg_searcher_options *,
                       itg_error *);
    /* ITG_OK: levels[dim_count] is a point; ITG_WAIT: tell me first; ITG_END: exhausted. */
    itg_status (*ask)(void *state, itg_rng *, int32_t *levels);
    /* In the order of the asks. */
    itg_status (*tell)(void *state, const int32_t *levels, const itg_outcome *);
    void (*deinit)(void *state);
} itg_searcher_def;

const itg_searcher_def *itg_searcher_find(const char *name); /* NULL: unknown */
const itg_searcher_def *itg_searcher_at(int index);          /* NULL: past the end */

extern const itg_searcher_def itg_searcher_random, itg_searcher_hago_greedy;
#endif
