/* A goal as numbers: what searchers are told, whether a trial meets it, and which of two trials is
 * better. */
#ifndef ITG_OBJECTIVE_H
#define ITG_OBJECTIVE_H
#include "search/archive.h"
#include "search/searcher.h"
#include <intaglio/intaglio.h>

/* Qualities are fractions of fewer than 2^31 samples: two that differ are further apart. */
#define ITG_FLOOR_SLACK 0x1p-40

typedef struct itg_objective {
    itg_goal goal;
    double quality_floor;          /* -INFINITY: none */
    int64_t samples;               /* of a score */
    const itg_search_space *space; /* which dimensions of a point are widths */
} itg_objective;

/* ITG_BAD_ARGUMENT: a number of the goal that is not one, a limit that is not positive, a metric
 * twice, or two qualities. */
itg_status itg_goal_check(const itg_goal *goal, itg_error *err);
/* A value of the goal's quality as itg_goal_quality has it. */
double itg_goal_quality_of(const itg_goal *goal, double value);
/* floats: the float network's score on the same samples. The floor of classes lies below
 * its quality less the drop by less than one sample of 2^31 makes: a drop of exactly that much is
 * allowed, however the subtraction rounds. Fails as itg_goal_check. */
itg_status itg_objective_make(const itg_goal *goal, const itg_score *floats,
                              const itg_search_space *space, itg_objective *out, itg_error *err);

/* Sum over the limits of the share by which each is exceeded; what is not known exceeds none. */
double itg_goal_violation(const itg_goal *goal, const itg_score *score);
/* The cost that searchers are told: the minimized cost, or the largest used share of a limit. */
double itg_objective_cost(const itg_objective *objective, const itg_score *score);
/* The goal's objectives as numbers of which less is better, out[ITG_MOST_OBJECTIVES]; returns how
 * many. */
int32_t itg_objective_values(const itg_objective *objective, const itg_score *score, double *out);
itg_outcome itg_objective_outcome(const itg_objective *objective, const itg_trial *trial);
/* What searchers are told of the goal. */
itg_searcher_options itg_objective_options(const itg_objective *objective, int64_t trials);

bool itg_objective_meets(const itg_objective *objective, const itg_trial *trial);
/* Whether quality is one of several objectives: the front then has all of it, and the floor is of
 * the best alone. */
bool itg_goal_has_quality_front(const itg_goal *goal);
/* Whether a trial may be on the front: it keeps the limits and, where quality is no objective, the
 * floor. */
bool itg_objective_suits_front(const itg_objective *objective, const itg_trial *trial);
/* The order of results. Trials that meet the goal come first: minimizing, the cheaper one, then the
 * one of higher quality; maximizing, the one of higher quality, then the cheaper one. Then: the
 * smaller distortion where both are known, fewer bits in all, the earlier one. Of trials that do
 * not meet it: the smaller violation of limits, then the higher quality, then as above. What is not
 * feasible, or has index -1, is never better. */
bool itg_objective_better(const itg_objective *objective, const itg_trial *a, const itg_trial *b);
/* Decides whether an evaluation may stop early. */
typedef struct itg_race {
    const itg_objective *objective;
    const itg_trial *best;    /* so far, not raced; index -1: none */
    itg_interest interest;    /* the searcher's */
    const itg_archive *front; /* the front, for several objectives: a point that may enter it is
                                 evaluated in full; or NULL */
} itg_race;
/* The quality below which a point of these costs is all the same to the searcher and to the result:
 * it does not meet the goal, as its costs or a quality below say for certain, and is not better
 * than the best. INFINITY: whatever its quality is. */
double itg_race_floor(const itg_race *race, const itg_score *costs);
/* How many of the samples the searcher's interest needs; 0: all. */
int64_t itg_race_enough(const itg_race *race);
/* The least number of `samples` whose share, computed as itg_score does, is at least floor; samples
 * + 1: not even all of them. */
int64_t itg_least_count(int64_t samples, double floor);
/* A distortion above which an SQNR, as itg_goal_quality has it, is certainly below floor; below
 * zero: whatever it is. */
double itg_most_distortion(double floor);
/* Whether a score has all that may matter of its point: it saw all samples, or it stopped where the
 * race may stop it. */
bool itg_race_accepts(const itg_race *race, const itg_score *score);

/* Whether a, which is better than b, is so by at least the share `tolerance` of what is optimized;
 * true where b does not meet the goal. */
bool itg_objective_gains(const itg_objective *objective, const itg_trial *a, const itg_trial *b,
                         double tolerance);
#endif
