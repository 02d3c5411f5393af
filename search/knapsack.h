/* The multiple-choice knapsack: one item of each group, so that the sum of costs is least within a
 * bound of the sum of losses, for all bounds at once: the choices than which none has less of
 * both. Exact, by lists of undominated partial choices (Nemhauser, Ullmann 1969, Discrete Dynamic
 * Programming and Capital Allocation), unless these lists grow too long. */
#ifndef ITG_KNAPSACK_H
#define ITG_KNAPSACK_H
#include "base/base.h"

typedef struct itg_knapsack_item {
    double cost, loss; /* loss INFINITY: it cannot be chosen */
} itg_knapsack_item;

typedef struct itg_knapsack_choice {
    double cost, loss; /* sums */
    int32_t item;      /* of the last group */
    int32_t before;    /* the choice of the groups before it; 0: none */
} itg_knapsack_choice;

typedef struct itg_knapsack {
    int32_t groups;
    int32_t *first; /* [groups + 2]: where the lists begin in `choices`; the first list is empty */
    itg_knapsack_choice *choices;
    double gap; /* a choice may cost so much more than the best of no more loss; 0: exact */
} itg_knapsack;

/* items: of group g those from first[g] to before first[g + 1]; at least one of each group can be
 * chosen. longest: of a list, at least 2; of longer ones a part is kept that is spread evenly over
 * the costs. ITG_NO_MEMORY, ITG_BAD_ARGUMENT: a group has no item. */
itg_status itg_knapsack_solve(const itg_knapsack_item *items, const int32_t *first, int32_t groups,
                              int32_t longest, itg_knapsack *out, itg_error *err);
void itg_knapsack_deinit(itg_knapsack *knapsack);
/* The undominated choices, by rising loss and falling cost. */
int32_t itg_knapsack_count(const itg_knapsack *knapsack);
const itg_knapsack_choice *itg_knapsack_at(const itg_knapsack *knapsack, int32_t index);
/* items[groups]: of each group, counted from its first. */
void itg_knapsack_items(const itg_knapsack *knapsack, int32_t index, int32_t *items);
#endif
