/* Finds the points that greedy asks for next: those that its model predicts to be better than the
 * current point. */
#ifndef ITG_GREEDY_MOVES_H
#define ITG_GREEDY_MOVES_H
#include "search/additive.h"
#include "search/history.h"

#define ITG_GREEDY_BATCH 8
#define ITG_GREEDY_SMALLEST 1e-9 /* losses and cost ratios below it count as this much */

/* A point and its predicted loss and saving. */
typedef struct itg_guess {
    int32_t *levels;
    double loss, cost_ratio;
} itg_guess;

typedef struct itg_greedy_moves {
    const itg_search_space *space;
    const bool *movable;              /* widths that the cost depends on */
    const int32_t *top;               /* no width is raised above */
    const itg_additive *loss, *saved; /* saved: the reduction of the cost ratio */
    const itg_additive *probed; /* loss as the probes alone show it, from `start`; NULL: not used */
    const itg_guess *start;
    const itg_history *history; /* what was told is not proposed again */
    bool maximize_quality;
    double loss_cap;       /* minimizing: what may be lost; */
    double doubt;          /* guesses up to this much beyond it are tried after the others */
    bool doubt_all;        /* where one of their terms is unknown; doubt_all: always */
    double cost_ratio_cap; /* maximizing quality: what may be used */
} itg_greedy_moves;

/* Takes one step of the steepest path down: applies to guess the move with the largest saving of
 * the cost ratio per loss whose expected loss is within cap. *dim is the moved dimension, never
 * `frozen`. Returns false if there is none. */
bool itg_greedy_lower(const itg_greedy_moves *moves, itg_guess *guess, double cap, int32_t frozen,
                      int32_t *dim);
/* The most promising points beside `current`, best first: single moves, exchanges (one width up,
 * another down), and both filled up until nothing more is expected to fit; where there are few
 * combinations of widths, also all that fit; and descents from the start with one width held,
 * should the first one have begun with the wrong width. out[k].levels are the caller's. Returns how
 * many. */
int32_t itg_greedy_propose(const itg_greedy_moves *moves, const itg_guess *current,
                           itg_guess out[ITG_GREEDY_BATCH], itg_guess *scratch);
#endif
