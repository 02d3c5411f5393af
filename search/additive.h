/* A model of a number that every point has (its loss, its saving): a sum with one term for each
 * dimension's level. A searcher uses it to predict points that it has not asked for yet. Terms are
 * relative to a reference point, whose terms are 0, and rise as widths fall. They are learned from
 * pairs of points whose outcomes are known. */
#ifndef ITG_ADDITIVE_H
#define ITG_ADDITIVE_H
#include "search/searcher.h"

typedef struct itg_additive {
    const itg_search_space *space;
    int32_t *first;           /* [dim_count + 1]: where a dimension's terms begin */
    double *term;             /* INFINITY: the level cannot be run */
    double *prior;            /* the shape of a dimension's terms, up to a factor */
    unsigned char *learned;   /* 0: derived from the nearest known term; 1: learned together with
                                 others; 2: learned alone */
    const int32_t *reference; /* borrowed */
} itg_additive;

/* Sets every term to its prior. */
itg_status itg_additive_init(itg_additive *model, const itg_search_space *space,
                             const int32_t *reference, itg_error *err);
void itg_additive_deinit(itg_additive *model);
double *itg_additive_prior(itg_additive *model, int32_t dim, int32_t level);
/* Sets the terms of a dimension to their prior. Call it before anything is learned. */
void itg_additive_reset(itg_additive *model, int32_t dim);
/* Copies `from` to `to`; both have the same space. */
void itg_additive_copy(itg_additive *to, const itg_additive *from);
/* Whether a term was learned, not derived from another. */
bool itg_additive_knows(const itg_additive *model, int32_t dim, int32_t level);
/* The predicted change when a dimension goes from one level to another. */
double itg_additive_step(const itg_additive *model, int32_t dim, int32_t from, int32_t to);
/* The predicted change between two points. */
double itg_additive_change(const itg_additive *model, const int32_t *from, const int32_t *to);
/* Learns that the number changed by `change` between two points (INFINITY: `to` cannot be run). The
 * part that the terms do not explain is shared among the dimensions that differ, in proportion to
 * their steps. Only the least well learned of them take part, so that guesses do not spoil what was
 * measured alone. */
void itg_additive_learn(itg_additive *model, const int32_t *from, const int32_t *to, double change);
#endif
