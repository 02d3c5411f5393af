/* Where a searcher begins: a point that the hardware can run and, where accumulators do not hold
 * the products of the widest widths, which widths go together.
 *
 * The widest point first. Where it cannot be run and the outcome names conflicts (an activation and
 * a weight whose products no accumulator holds), the weights of these go down level by level, each
 * time with the widest activations that can be run: the answers say, for each conflict, the most
 * that the activation may have at each width of the weight. Where no conflict is named, all widths
 * go down together. Where the widest point can be run but is not good enough (an accumulator that
 * wraps shows as low quality), so do all of them, those that cost and those that do not. Of all
 * that can be run, the best is where the searcher begins.
 *
 * With a start of the user's (itg_searcher_options.start) that point comes first. Where it is not
 * good enough, all widths go half of the way to their widest, again and again; the first point that
 * is good enough is where the searcher begins. Where there is none, or the hardware cannot run the
 * start, all is as without it. */
#ifndef ITG_START_H
#define ITG_START_H
#include "search/searcher.h"

typedef struct itg_pairing {
    itg_conflict between;
    int32_t *most; /* [levels of the weight]: the highest level of the activation that was run with
                      it, or with a wider weight; -1: none was */
} itg_pairing;

typedef struct itg_start {
    const itg_search_space *space;
    itg_searcher_options options;
    int32_t stage,
        lowered; /* the number of levels that the weights of conflicts are down, or the diagonal */
    int32_t stalled;        /* points of the diagonal since the last improvement */
    int32_t *levels, *best; /* asked last; the best point told */
    int32_t *room;          /* the highest levels of the dimensions of conflicts, as far as known */
    itg_outcome outcome;    /* of best */
    bool found;             /* there is a best */
    itg_pairing *pairings;
    int32_t pairing_count, pairing_capacity;
} itg_start;

itg_status itg_start_init(itg_start *start, const itg_search_space *space,
                          const itg_searcher_options *options, itg_error *err);
void itg_start_deinit(itg_start *start);
/* ITG_OK: the caller tells the outcome of start->levels before the next call. ITG_END: the start is
 * settled. */
itg_status itg_start_ask(itg_start *start);
itg_status itg_start_tell(itg_start *start, const itg_outcome *outcome);
/* Whether a width costs nothing and follows from the weights that it meets (itg_start_fit). */
bool itg_start_follows(const itg_start *start, int32_t dim);
/* Makes activations fit the weights that they meet: those that cost nothing become as wide as was
 * seen to run, others no wider than that. Without conflicts nothing changes. */
void itg_start_fit(const itg_start *start, int32_t *levels);
#endif
