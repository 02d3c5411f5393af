/* The multiple-choice knapsack under several limits at once: one item of each group, the least sum
 * of values, with sums of uses that keep their limits. (knapsack.h solves it for one limit,
 * whatever that limit is.)
 *
 * Lagrange multipliers by subgradients give a bound of what any choice has (Fisher 1981, The
 * Lagrangian Relaxation Method for Solving Integer Programming Problems); branch and bound with it,
 * depth first, in the order of the items' reduced values, finds the choice and proves that it is
 * the best, or stops after a number of nodes with the gap between the two. */
#ifndef ITG_CHOICES_H
#define ITG_CHOICES_H
#include "base/base.h"

#define ITG_MOST_LIMITS 16

typedef struct itg_choices {
    int32_t groups;
    const int32_t *first;               /* [groups + 1]: the first item of each group */
    const double *value;                /* [items]; INFINITY: not to be chosen */
    int32_t limits;                     /* at most ITG_MOST_LIMITS */
    const double *use[ITG_MOST_LIMITS]; /* [items] each; finite */
    double most[ITG_MOST_LIMITS];       /* of the sums of uses, with a slack of a billionth of the
                                           limit's range; INFINITY: no limit */
} itg_choices;

typedef struct itg_choices_answer {
    bool found;   /* false: none keeps the limits; items is then one that exceeds them by little */
    double value; /* of items; its place in sums is the order of the groups */
    double gap;   /* found: value less this much is below what any choice has; 0: it is the best */
} itg_choices_answer;

/* items [groups]: the item of each group, counted from its first. Equal arguments give equal
 * answers on every platform. ITG_BAD_ARGUMENT: a group has no item that may be chosen. */
itg_status itg_choices_solve(const itg_choices *choices, int64_t most_nodes, int32_t *items,
                             itg_choices_answer *out, itg_error *err);
#endif
