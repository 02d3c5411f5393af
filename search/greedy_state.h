/* greedy's memory, and what its stages (greedy.c) share. */
#ifndef ITG_GREEDY_STATE_H
#define ITG_GREEDY_STATE_H
#include "search/greedy_moves.h"
#include "search/start.h"

typedef enum itg_greedy_stage {
    ITG_GREEDY_START,
    ITG_GREEDY_PROBES,
    ITG_GREEDY_PATH,
    ITG_GREEDY_IMPROVE,
    ITG_GREEDY_CONFIRM,
    ITG_GREEDY_STEPS,
    ITG_GREEDY_METHODS,
    ITG_GREEDY_COMBINE,
    ITG_GREEDY_END
} itg_greedy_stage;

/* Parameters, in the order of their table (greedy.c). */
enum {
    ITG_GREEDY_SECTIONS,
    ITG_GREEDY_GROWTH,
    ITG_GREEDY_HOPELESS,
    ITG_GREEDY_SLACK,
    ITG_GREEDY_MARGIN,
    ITG_GREEDY_PATIENCE,
    ITG_GREEDY_PATIENCE_PER_WIDTH,
    ITG_GREEDY_SHARE
};

typedef struct itg_greedy_asked {
    itg_guess guess;
    int32_t index; /* probes, methods: the dimension; path: steps down the path */
    itg_outcome outcome;
    double by_share; /* its distortion as the share says it, where that was asked for */
} itg_greedy_asked;

typedef struct itg_greedy_step {
    int32_t dim, level;
} itg_greedy_step;

typedef struct itg_greedy_state {
    const itg_search_space *space;
    itg_searcher_options options;
    itg_greedy_stage stage;
    itg_greedy_asked batch[ITG_GREEDY_BATCH];
    int32_t batch_count, asked, told;

    /* The start, and the widths that follow from others. Those keep their levels in all points here
     * and are set when a point is asked for. */
    itg_start beginning;
    int32_t *start, *current, *top; /* points; top: the highest levels */
    itg_outcome start_outcome, current_outcome;
    bool *movable; /* widths that change the cost or a limit that is not met, or that may be wider
                      than at the start */
    int32_t movable_count;
    bool fine;                        /* distortion is known */
    bool sharp;                       /* no noise of quality is known */
    itg_additive loss, saved, probed; /* probed: loss after the probes */
    itg_history history;
    double hopeless; /* the racing floor: lower qualities need not be exact */
    itg_guess scratch;

    int32_t *probe; /* level to probe next; -1: done */
    itg_greedy_step *path;
    int32_t path_count, before, after; /* the last good point lies between these two */
    int32_t sections_left;             /* points between them that are still to be asked */
    double trusted;                    /* the largest loss at a point with slack; -1: none */
    int32_t *refused;                  /* the highest level that a step was refused; -1: none */
    double *step_ratio;                /* the ratio of each width's allowed step; -1: not allowed */
    int32_t allowed_count;
    double by_share;         /* the current point's distortion as the share says it; 0: not asked */
    bool has_current;        /* the last of the batch is the current point */
    int32_t waiting;         /* the first so many of the batch may become the current point */
    bool sure;               /* steps are asked for by all samples */
    bool stepped, descended; /* since `steps` began; since it ended */
    itg_greedy_step path_end;         /* the step that ended it, where one alone did; else dim -1 */
    int64_t stalled;                  /* number of answers since the last sufficient improvement */
    int32_t method_dim, method_level; /* next to be tried */
    int32_t method_passes;
    bool improved; /* since the last pass over the methods */
    int32_t *kept; /* the best point of the path, or with methods changed */
    itg_outcome kept_outcome;
    bool has_kept;
} itg_greedy_state;

/* ---- outcomes (greedy_state.c) ---- */
double itg_greedy_parameter(const itg_greedy_state *s, int index); /* by the enum above */
/* Whether its quality is below the racing floor. Nothing else of such an outcome may be used. */
bool itg_greedy_is_hopeless(const itg_greedy_state *s, const itg_outcome *o);
/* The distortion or, if it is unknown, the loss of quality. INFINITY: neither is known, or the
 * hardware cannot run the point. */
double itg_greedy_loss(const itg_greedy_state *s, const itg_outcome *o);
/* The cost as a share of the widest point's, or of its limit; where other limits are exceeded, more
 * than any such share. */
double itg_greedy_cost_ratio(const itg_greedy_state *s, const itg_outcome *o);
/* Whether quality reaches the floor (minimizing), or the limits are kept (maximizing). */
bool itg_greedy_is_good_enough(const itg_greedy_state *s, const itg_outcome *o);
/* Minimizing: whether it is good enough and leaves the share `slack` of the allowed loss unused:
 * the quality of a single point may be high by chance. */
bool itg_greedy_is_safe(const itg_greedy_state *s, const itg_outcome *o);
/* Compares two outcomes that are good enough. */
bool itg_greedy_is_better(const itg_greedy_state *s, const itg_outcome *a, const itg_outcome *b);
/* The terms learn from the change between a point and one that was asked for. */
void itg_greedy_learn(itg_greedy_state *s, const int32_t *from, const itg_outcome *before,
                      const itg_greedy_asked *a);
void itg_greedy_keep(itg_greedy_state *s, const itg_greedy_asked *a);
void itg_greedy_move_to(itg_greedy_state *s, const int32_t *levels, const itg_outcome *outcome);

/* ---- a share of the samples (greedy_share.c) ----
 * A point's loss is taken to be the current point's, times what the share makes of the two: as the
 * samples are the same, little of their choice is left in it. */
bool itg_greedy_shares(const itg_greedy_state *s); /* false: all samples are asked for anything */
double itg_greedy_asked_share(const itg_greedy_state *s); /* for the batch */
/* How many points a batch may have besides the current one, which itg_greedy_add_current adds
 * behind them where the share was not asked about it. */
int32_t itg_greedy_room(const itg_greedy_state *s);
void itg_greedy_add_current(itg_greedy_state *s);
/* Takes the current point off the batch, and sets the losses of the others. */
void itg_greedy_take_share(itg_greedy_state *s);

/* ---- asking ---- */
/* Adds a point to the batch: a copy of levels, which the caller changes. */
itg_greedy_asked *itg_greedy_add_point(itg_greedy_state *s, const int32_t *levels, int32_t index);
itg_greedy_moves itg_greedy_moves_of(const itg_greedy_state *s);

/* ---- stages: plan fills the batch, or goes on to another stage; absorb takes what was told ----
 */
itg_status itg_greedy_plan_improve(itg_greedy_state *s); /* greedy_improve.c */
void itg_greedy_absorb_improve(itg_greedy_state *s);
itg_status itg_greedy_plan_confirm(itg_greedy_state *s);
void itg_greedy_absorb_confirm(itg_greedy_state *s);
void itg_greedy_begin_steps(itg_greedy_state *s);
void itg_greedy_plan_steps(itg_greedy_state *s); /* greedy_steps.c */
void itg_greedy_absorb_steps(itg_greedy_state *s);
void itg_greedy_plan_methods(itg_greedy_state *s); /* greedy_methods.c */
void itg_greedy_absorb_methods(itg_greedy_state *s);
void itg_greedy_plan_combine(itg_greedy_state *s);
void itg_greedy_absorb_combine(itg_greedy_state *s);
#endif
