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
    bool is_limited;   /* the choice keeps limits, of which `use` tells */
    itg_additive loss, saved;
    itg_additive use[ITG_MOST_CONSTRAINTS]; /* what less is used of each limit, a share of it */
    int32_t use_count;
    itg_history history;
    int32_t *batch;                       /* [BATCH][dims]: points asked and not told */
    double predicted[ITG_ALLOCATE_BATCH]; /* their losses by the terms; NAN: of a probe */
    int32_t batch_count, asked, told;
    int32_t probe_dim, probe; /* the next probe */
    double best;              /* the cost of the best good point; maximizing, its loss */
    int64_t stalled;
    itg_forecasts forecasts;
    double gap; /* of the last choice, as a share */
    double
        hint; /* what may be lost beyond the start's loss, where nothing fell below the floor yet */
} itg_allocate_state;

/* ---- the state; begins as zeros, and is to be deinited in any case (allocate_state.c) ---- */
itg_status itg_allocate_init(itg_allocate_state *s, const itg_search_space *space,
                             const itg_searcher_options *options, itg_error *err);
void itg_allocate_deinit(itg_allocate_state *s);
/* Adds the next start point to the batch, or goes to the next stage once the start is settled. */
itg_status itg_allocate_plan_start(itg_allocate_state *s);
/* The next point of the batch, which is not empty. */
void itg_allocate_next(itg_allocate_state *s, int32_t *levels);
/* losses: whether the terms of the loss also learn from this outcome. */
itg_status itg_allocate_tell(itg_allocate_state *s, const itg_outcome *outcome, bool losses);
void itg_allocate_learn(itg_allocate_state *s, const int32_t *levels, const itg_outcome *o,
                        bool losses);
void itg_allocate_count_gain(itg_allocate_state *s, const itg_outcome *o);
void itg_allocate_forecast(const void *state, itg_forecast *out); /* as itg_searcher_def.forecast */

/* The cost as a share of the start's, and where limits are no constraints of the choice, more where
 * they are exceeded. */
double itg_allocate_cost(const itg_allocate_state *s, const itg_outcome *o);
/* The distortion, or what is lost of quality; INFINITY: it is not known. */
double itg_allocate_loss(const itg_allocate_state *s, const itg_outcome *o);
/* Whether a width is chosen, and the highest of its levels. */
bool itg_allocate_moves(const itg_allocate_state *s, int32_t d);
int32_t itg_allocate_highest(const itg_allocate_state *s, int32_t d);
/* One more point of the batch, a copy of where it began, to be changed. */
int32_t *itg_allocate_add_point(itg_allocate_state *s);

/* ---- proposals (allocate_solve.c) ---- */
/* Fills the batch with what the terms propose, and chooses the next stage. */
itg_status itg_allocate_propose(itg_allocate_state *s);
/* Adds one point: what the terms say is the best where the share `aim` of what may be lost is lost,
 * and the share `used` of limits is used, or a choice near it that was not asked for yet; none
 * where there is none near. */
itg_status itg_allocate_propose_one(itg_allocate_state *s, double aim, double used);
#endif
