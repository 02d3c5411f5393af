/* A number that points have (what is lost, what is saved) as a sum with one term for each
 * dimension's level: what a searcher expects of points that it has not asked for yet. Terms are
 * relative to a reference point, whose terms are 0, and rise as widths fall. They are learned from
 * pairs of points that were told. */
#ifndef ITG_ADDITIVE_H
#define ITG_ADDITIVE_H
#include "search/searcher.h"

typedef struct itg_additive {
    const itg_search_space *space;
    int32_t *first;           /* [dim_count + 1]: where a dimension's terms begin */
    double *term;             /* INFINITY: the level cannot be run */
    double *prior;            /* how terms of a dimension grow with its level, up to a factor */
    unsigned char *learned;   /* 0: no, it follows the nearest that is; 1: with others; 2: alone */
    const int32_t *reference; /* borrowed */
} itg_additive;

/* Terms before anything is known: the prior. */
itg_status itg_additive_init(itg_additive *model, const itg_search_space *space,
                             const int32_t *reference, itg_error *err);
void itg_additive_deinit(itg_additive *model);
double *itg_additive_prior(itg_additive *model, int32_t dim, int32_t level);
/* Makes every term of a dimension what its prior says; before anything is learned. */
void itg_additive_reset(itg_additive *model, int32_t dim);
/* Makes `to`, of the same space, equal to `from`. */
void itg_additive_copy(itg_additive *to, const itg_additive *from);
/* Whether a term was learned, and does not just follow another. */
bool itg_additive_knows(const itg_additive *model, int32_t dim, int32_t level);
/* What changes when a dimension goes from one level to another. */
double itg_additive_step(const itg_additive *model, int32_t dim, int32_t from, int32_t to);
/* The number changed by `change` (INFINITY: `to` cannot be run) between two points. What the terms
 * do not explain is shared out among the dimensions that differ, by the size of their steps: only
 * among those learned worst, so that what was measured alone is not spoilt by guesses. */
void itg_additive_learn(itg_additive *model, const int32_t *from, const int32_t *to, double change);
#endif
