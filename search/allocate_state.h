/* allocate's memory, and what its files and surrogate share. */
#ifndef ITG_ALLOCATE_STATE_H
#define ITG_ALLOCATE_STATE_H
#include "search/additive.h"
#include "search/forecast.h"
#include "search/history.h"
#include "search/start.h"

/* Parameters, in the order of their table (allocate.c). */
enum { ITG_ALLOCATE_LEVELS, ITG_ALLOCATE_PATIENCE, ITG_ALLOCATE_MARGIN };

#define ITG_ALLOCATE_BATCH 8

typedef enum itg_allocate_stage {
    ITG_ALLOCATE_START,
    ITG_ALLOCATE_PROBES,
    ITG_ALLOCATE_FRONT,
    ITG_ALLOCATE_SOLUTION,
    ITG_ALLOCATE_END
} itg_allocate_stage;

typedef struct itg_allocate_state {
    const itg_search_space *space;
    itg_searcher_options options;
    itg_allocate_stage stage;
    itg_start beginning;
    itg_outcome start; /* of beginning.best */
    bool fine;         /* distortion is known */
    bool is_limited;   /* limits constrain the choice; `use` has their terms */
    itg_additive loss, saved;
    itg_additive use[ITG_MOST_CONSTRAINTS]; /* the reduction of each limit's use, as its share */
    int32_t use_count;
    itg_history history;
    int32_t *batch;                       /* [BATCH][dims]: points asked and not told */
    double predicted[ITG_ALLOCATE_BATCH]; /* their predicted losses; NAN: a probe's */
    int32_t batch_count, asked, told;
    int32_t probe_dim, probe; /* the next probe */
    double best; /* the cost of the best good point; if quality is maximized, its loss */
    int64_t stalled;
    itg_forecasts forecasts;
    double gap;  /* of the last choice, as a share */
    double hint; /* the loss allowed beyond the start's, where no point fell below the floor yet */
} itg_allocate_state;

/* ---- the state; begins as zeros, and is to be deinited in any case (allocate_state.c) ---- */
itg_status itg_allocate_init(itg_allocate_state *s, const itg_search_space *space,
                             const itg_searcher_options *options, itg_error *err);
void itg_allocate_deinit(itg_allocate_state *s);
/* Adds the next start point to the batch, or goes to the next stage once the start is settled. */
itg_status itg_allocate_plan_start(itg_allocate_state *s);
/* The next point of the batch, which is not empty. */
void itg_allocate_next(itg_allocate_state *s, int32_t *levels);
/* losses: the terms of the loss learn from this outcome, too. */
itg_status itg_allocate_tell(itg_allocate_state *s, const itg_outcome *outcome, bool losses);
void itg_allocate_learn(itg_allocate_state *s, const int32_t *levels, const itg_outcome *o,
                        bool losses);
void itg_allocate_count_gain(itg_allocate_state *s, const itg_outcome *o);
void itg_allocate_forecast(const void *state, itg_forecast *out); /* as itg_searcher_def.forecast */

/* The cost as a share of the start's. Where limits do not constrain the choice, it is higher for a
 * point that exceeds them. */
double itg_allocate_cost(const itg_allocate_state *s, const itg_outcome *o);
/* The distortion or, if it is unknown, the loss of quality. INFINITY: neither is known. */
double itg_allocate_loss(const itg_allocate_state *s, const itg_outcome *o);
/* Whether a width may change, and the highest of its levels. */
bool itg_allocate_moves(const itg_allocate_state *s, int32_t d);
int32_t itg_allocate_highest(const itg_allocate_state *s, int32_t d);
/* Adds a point to the batch: a copy of the start, which the caller changes. */
int32_t *itg_allocate_add_point(itg_allocate_state *s);

/* ---- proposals (allocate_solve.c) ---- */
/* Fills the batch with proposals and chooses the next stage. */
itg_status itg_allocate_propose(itg_allocate_state *s);
/* Adds the point that is best according to the terms if the share `aim` of the allowed loss and the
 * share `used` of the limits are used. If it was asked for before, a choice near it is added; none
 * if there is none near. */
itg_status itg_allocate_propose_one(itg_allocate_state *s, double aim, double used);
#endif
