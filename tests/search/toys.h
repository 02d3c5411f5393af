/* Spaces whose optimum is known, and the ask and tell loop over them. */
#ifndef ITG_TEST_TOYS_H
#define ITG_TEST_TOYS_H
#include "search/searcher.h"

#define TOY_DIMS 4

typedef struct toy {
    const char *name;
    int32_t dim_count;
    itg_dim dims[TOY_DIMS];
    itg_outcome (*outcome)(const int32_t *values);
    itg_searcher_options options;
} toy;

enum {
    TOY_CONVEX,     /* every width loses by the square of the bits that it lacks */
    TOY_COARSE,     /* the same, quality in hundredths, distortion fine */
    TOY_DECEPTIVE,  /* the best single moves end in a corner that is not the best */
    TOY_INFEASIBLE, /* the widest points and two slabs cannot be run */
    TOY_UNORDERED,  /* two widths, two methods whose first values are bad */
    TOY_ONE_DIMENSION,
    TOY_ONLY_WIDEST, /* every other point loses too much */
    TOY_NOTHING,     /* all points lose too much */
    TOY_MAXIMIZE,    /* the best quality within a limit of cost */
    TOY_PAIRED, /* two accumulators too narrow for the widest, which is said; half of the widths
                   cost nothing */
    TOY_UNEXPLAINED, /* the same, and it is not said why */
    TOY_WRAPPED,     /* the same, but what does not fit can be run, and is worth nothing */
    TOY_COUNT
};
extern const toy toys[TOY_COUNT];

typedef struct toy_result {
    int64_t asked;          /* until the searcher ended, or the budget was used */
    int64_t asked_all;      /* of these, by all samples */
    int64_t found_at;       /* evaluations until the best good point, it included; 0: none */
    int32_t best[TOY_DIMS]; /* values */
    itg_outcome outcome;
    uint64_t trace;    /* hash of all points asked for */
    itg_status status; /* of the searcher; the search ends where it is not ITG_OK */
} toy_result;

/* How points that lie below the racing floor are told: TOY_TELL_RACED + i: i chooses among lies.
 * TOY_TELL_SHARES: all, and a share of the samples may be asked for. */
typedef enum toy_racing { TOY_TELL_ALL, TOY_TELL_SHARES, TOY_TELL_RACED } toy_racing;

toy_result toy_search(const toy *t, const itg_searcher_def *searcher, uint64_t seed, int64_t budget,
                      toy_racing racing);
/* By trying all points, without any searcher. */
toy_result toy_optimum(const toy *t);
#endif
