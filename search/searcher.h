/* A searcher: ask and tell over a discrete space. It never evaluates, logs, reads clocks or sees a
 * graph; the engine owns loop, budget, duplicates, incumbent and log. One file and one line in
 * registry.c each. docs/adding-a-searcher.md. */
#ifndef ITG_SEARCHER_H
#define ITG_SEARCHER_H
#include "base/base.h"
#include <intaglio/intaglio.h>
#include <math.h>

/* One choice of `count` values. Ordered dimensions are widths, ascending: a lower level never costs
 * more. Others are threshold methods, dtypes and specs for the same widths: any may be better. */
typedef struct itg_dim {
    int32_t count;
    const int32_t *values; /* widths, or 0, 1, ... */
    bool ordered;
    double cost_per_level; /* what a level down saves on average of the cost that counts
                              (measure.h); 0: nothing */
    int32_t method; /* of a width: 1 + the dimension of its group's threshold method; 0: none */
} itg_dim;

typedef struct itg_search_space {
    int32_t dim_count;
    const itg_dim *dims;
} itg_search_space;

/* Two widths whose products no accumulator holds: dimensions; -1: nothing to choose there. Narrower
 * ones never are in conflict where wider ones are not. */
typedef struct itg_conflict {
    int32_t activation, weight;
} itg_conflict;

/* What is told of a point. quality: larger is better; cost, violation: smaller is better.
 * The engine makes them from the goal:
 * minimizing a cost: cost is that cost, cost_limit 0 (there is never little enough);
 * maximizing quality: cost is the largest share of a limit that is used, cost_limit 1;
 * violation: by how much other limits are exceeded (a share), 0: met.
 * A point is good where it is feasible, quality >= quality_floor, violation 0 and, maximizing
 * quality, cost <= cost_limit. */
typedef struct itg_outcome {
    bool feasible; /* the hardware can run it; if not, nothing else is known */
    double objectives[ITG_MOST_OBJECTIVES]; /* all of the goal's, less is better; for searchers of
                                               fronts: others read quality and cost */
    int32_t objective_count;
    double limits[ITG_MOST_CONSTRAINTS]; /* of each limit of a cost the share that is used, in the
                                            order of the metrics */
    int32_t limit_count;
    double quality, cost, violation;
    double distortion; /* of the outputs; finer than quality; negative: not known */
    /* Not feasible, where accumulators are why, and the searcher wants to know: all conflicts.
     * Valid during tell. */
    const itg_conflict *conflicts;
    int32_t conflict_count;
} itg_outcome;

#define ITG_MOST_PARAMETERS 8
typedef struct itg_searcher_options {
    bool maximize_quality;
    double quality_floor; /* -INFINITY: none */
    double cost_limit;
    int64_t trials;                         /* at most, for searchers without an end of their own */
    double parameters[ITG_MOST_PARAMETERS]; /* in the order of itg_searcher_def.parameters */
    const int32_t *start; /* levels to begin with (takes_start), until the search ends; NULL: the
                             searcher's own beginning */
    const struct itg_told *past; /* [past_count] of earlier searches (takes_past); during init */
    int64_t past_count;
    bool shares; /* an interest in a share of the samples is served: quality counts classes, and
                    there are enough samples */
    bool front;  /* quality is one of several objectives: the floor does not bound the front */
    const itg_user_searcher *user; /* for itg_searcher_user; NULL: there is none */
} itg_searcher_options;

/* A point that was evaluated. */
typedef struct itg_told {
    const int32_t *levels;
    itg_outcome outcome;
} itg_told;

/* What a searcher wants to know of a point. */
typedef struct itg_interest {
    double floor; /* a quality below it is all the same to this searcher, which may then be told any
                     other below it and no distortion; -INFINITY: none is */
    double share; /* 1. Less, only where options.shares: costs are wanted, and what the distortion
                     is by this share of the samples, those that run first, but 16 at least. The
                     quality is told as NAN, and the point is no result of the search */
} itg_interest;
#define ITG_INTEREST_ALL ((itg_interest){-INFINITY, 1}) /* in everything, by all samples */

typedef struct itg_searcher_def {
    const char *name, *help;
    const itg_searcher_parameter *parameters; /* at most ITG_MOST_PARAMETERS, then one without a
                                                 name; NULL: none */
    size_t state_size;                        /* the engine allocates it, zeroed */
    int32_t outstanding; /* the most points that are asked and not told; never depends on threads.
                            After each tell it is asked again until there are so many, or it waits:
                            a searcher that wants its answers together waits for them. */
    int64_t default_trials; /* 0: it ends by itself */
    bool wants_conflicts;
    bool takes_start;  /* it uses options.start */
    bool takes_past;   /* it uses options.past */
    bool single_round; /* all its trials are its result: no later round begins at its best */
    itg_status (*init)(void *state, const itg_search_space *, const itg_searcher_options *,
                       itg_error *);
    /* ITG_OK: levels[dim_count] is a point; ITG_WAIT: tell me first; ITG_END: exhausted.
     * *interest is ITG_INTEREST_ALL when called. */
    itg_status (*ask)(void *state, itg_rng *, int32_t *levels, itg_interest *interest);
    /* In the order of the asks. */
    itg_status (*tell)(void *state, const int32_t *levels, const itg_outcome *);
    void (*deinit)(void *state);
    /* The correlation of its predictions with the outcomes; NULL: it has no model. */
    void (*forecast)(const void *state, itg_forecast *out);
} itg_searcher_def;

const itg_searcher_def *itg_searcher_find(const char *name); /* NULL: unknown */
const itg_searcher_def *itg_searcher_at(int index);          /* NULL: past the end */
void itg_searcher_defaults(const itg_searcher_def *def, double parameters[ITG_MOST_PARAMETERS]);
/* Parses a text in the form of itg_search_options.searcher. */
itg_status itg_searcher_parse(const char *text, const itg_searcher_def **def,
                              double parameters[ITG_MOST_PARAMETERS], itg_error *err);

/* The calling program's (itg_search_hooks.searcher); found by its name "user", and not in the list.
 */
extern const itg_searcher_def itg_searcher_user;
/* Of a search's last round (search_rounds.c); not in the list, and no name finds it. */
extern const itg_searcher_def itg_searcher_cheaper;
extern const itg_searcher_def itg_searcher_greedy, itg_searcher_anneal, itg_searcher_hago_greedy,
    itg_searcher_random, itg_searcher_exhaustive, itg_searcher_sweep, itg_searcher_evolve,
    itg_searcher_sensitivity, itg_searcher_allocate, itg_searcher_surrogate, itg_searcher_hybrid;
#endif
