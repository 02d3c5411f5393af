/* Private to search*.c: one call of itg_search, and what it leaves. */
#ifndef ITG_SEARCH_H
#define ITG_SEARCH_H
#include "search/engine.h"
#include "search/evaluator.h"

/* The sample sets of a search. */
enum { ITG_SET_SEARCH, ITG_SET_HOLDOUT, ITG_SET_SELECTION, ITG_SETS };

/* A score on the search samples and the hold-out; the float network's on the selection samples too.
 */
typedef struct itg_score_pair {
    bool known;
    itg_score at[ITG_SETS];
} itg_score_pair;

/* Rounds (search_rounds.c): of codes for uniform widths, of codes for those of the best, and of
 * codes that each trial has for itself. */
enum { ITG_ROUND_UNIFORM, ITG_ROUND_BEST, ITG_ROUND_OWN, ITG_SEARCH_ROUNDS };

struct itg_search_result {
    itg_engine_result run;
    itg_memory memory[ITG_SEARCH_ROUNDS]; /* of every point that was scored on the search samples */
    itg_goal goal;
    bool cost_varies;
    itg_score_pair floats, uniform8, hago;
    bool holdout_known;
    itg_score best_holdout;
    itg_selection selection;
    itg_strategy_file *strategy; /* of the best; NULL: none */
    char limited_by[512];
};

/* Everything that lives as long as one call. */
typedef struct itg_searching {
    const itg_model *model;
    const itg_hardware *hw;
    const itg_search_options *options;
    const itg_searcher_def *searcher; /* and its parameters: of options->searcher */
    double parameters[ITG_MOST_PARAMETERS];
    int32_t *start; /* levels of options->start; NULL: none */
    itg_told *past; /* of options->past, what can be told of it */
    int64_t past_count;
    const itg_search_hooks *hooks; /* may be NULL */
    int64_t samples;               /* of the data that is split */
    itg_split split;
    itg_sample_set sets[ITG_SETS]; /* selection: data NULL where there are none */
    itg_stats *stats;
    itg_dataset *calibration;  /* with options->recover: its samples */
    pthread_mutex_t user_lock; /* of calls to the user's metrics */
    itg_evaluator evaluator;
    itg_objective objective;
    itg_search_result *result;
    itg_recovered *codes[ITG_SEARCH_ROUNDS]; /* of weights; NULL: the nearest */
    struct itg_code_maker *maker;            /* of codes (search_codes.c); NULL: none are made */
    bool no_codes;                           /* the nearest ones are better */
    int32_t round;                           /* of the trials now */
    const itg_trial *repeated, *base; /* by itg_search_strategy_at; base: first of its round */
} itg_searching;

/* search.c; scorer.c prepares a search's evaluation in another process. */
/* What can be known before anything is computed. */
itg_status itg_search_check(itg_searching *s, itg_error *err);
itg_status itg_search_begin_evaluator(itg_searching *s, int64_t cache_bytes, itg_error *err);
itg_status itg_search_make_space(itg_searching *s, itg_error *err); /* needs stats */
void itg_search_deinit(itg_searching *s);                           /* all but the result */

/* search_data.c */
itg_status itg_search_pick_samples(itg_searching *s, const itg_search_data *data, itg_error *err);
void itg_search_drop_samples(itg_searching *s);

/* sample_order.c: fills set->order, where the float network's outputs are known. */
itg_status itg_search_order_samples(const itg_model *model, itg_sample_set *set, itg_error *err);

static inline double itg_search_confidence(const itg_search_options *o)
{
    return o->confidence > 0 ? o->confidence : 0.95;
}

/* search_baselines.c: each fills its pair of s->result */
itg_status itg_search_score_float(itg_searching *s, itg_error *err);
itg_status itg_search_score_uniform8(itg_searching *s, itg_error *err);
itg_status itg_search_run_hago(itg_searching *s, itg_error *err);
/* What follows from the float network's outputs on the search samples. */
itg_status itg_search_expect(itg_searching *s, itg_error *err);
/* As itg_score_fn; context: itg_searching. */
itg_status itg_search_score_point(void *context, const int32_t *point, const itg_race *race,
                                  int threads, itg_score *out, itg_error *err);

/* search.c: the strategy of a point, as the search would return it as the best. Thread-safe. */
itg_status itg_search_make_file(const itg_searching *s, int32_t round, const int32_t *point,
                                itg_strategy_file **out, itg_error *err);
/* host_workers.c: hooks->evaluator, which is there. */
itg_workers itg_search_host_workers(itg_searching *s);

/* As itg_engine_conflicts_fn; context: itg_searching. */
itg_status itg_search_find_conflicts(void *context, const int32_t *point, itg_conflict **out,
                                     int32_t *count, itg_error *err);

/* Whether codes of weights are made: options->recover, unless they were found to be worse. */
static inline bool itg_search_recovers(const itg_searching *s)
{
    return s->options->recover != ITG_RECOVER_NONE && !s->no_codes;
}

/* search_codes.c: whether own codes of a strategy are more than its round's: whether scales and
 * biases are tuned in all layers together. */
bool itg_search_tunes(const itg_searching *s);
/* search_rounds.c: the engine, until no further round is of use. */
itg_status itg_search_run_rounds(itg_searching *s, double begun, itg_error *err);
/* Whether the codes of a trial's weights were made for all of its own widths, scales and biases
 * tuned where that can be. */
bool itg_search_has_own_codes(const itg_searching *s, const itg_trial *trial);

/* search_codes.c, where the search recovers: the beginning, with thresholds of activations by what
 * they do to the outputs, at their widest widths. */
itg_status itg_search_begin_codes(itg_searching *s, itg_error *err);
void itg_search_end_codes(itg_searching *s);
/* There, too: codes of narrow widths for the evaluator and this round. point: made for its widths,
 * and no wider ones; NULL, in round 0: for uniform widths. Where the hardware cannot run what they
 * are made for, s->codes stays NULL. */
itg_status itg_search_make_codes(itg_searching *s, int32_t round, const int32_t *point,
                                 itg_error *err);
/* The strategy of a point, with its round's codes. Thread-safe but in the round of own codes, where
 * points are scored one at a time. ITG_INFEASIBLE, ITG_UNBOUNDED: the hardware cannot run it. */
itg_status itg_search_resolve(const itg_searching *s, int32_t round, const int32_t *point,
                              itg_strategy **out, itg_error *err);
/* Makes the strategy's codes once more, for the inputs that its own layers give; where they are
 * better on the search samples and pass on the selection samples, they and their score replace the
 * strategy's and the trial's. */
itg_status itg_search_refine_codes(const itg_searching *s, itg_strategy **strategy, itg_trial *best,
                                   itg_error *err);

/* selection.c: chooses the best on the selection samples, where there are any. */
itg_status itg_search_select(itg_searching *s, itg_error *err);
/* The floor of quality that trials must reach on the search samples, so that they may pass the
 * test: more than the goal's, where agreement is bounded. */
double itg_search_aim(const itg_searching *s, double floor);
/* Whether the strategy meets the goal on them, and if so, or if none was tested before,
 * s->result->selection says how well; true where there are none. */
itg_status itg_search_try_selected(const itg_searching *s, const itg_strategy *strategy,
                                   bool *passed, itg_error *err);

/* search_limits.c: what keeps the goal from being met, or from holding on the hold-out, into
 * s->result->limited_by. */
itg_status itg_search_explain(itg_searching *s, itg_error *err);
#endif
