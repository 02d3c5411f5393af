/* The trials among which the best is chosen on samples of its own (selection.c). */
#ifndef ITG_CANDIDATES_H
#define ITG_CANDIDATES_H
#include "search/objective.h"

typedef struct itg_candidate {
    const itg_trial *trial;
    double cost, quality; /* as the objective and itg_goal_quality have them */
} itg_candidate;

/* Sorts trials that meet the goal, the cheapest first, and keeps those to which no other is both
 * cheaper and as safe, some distance apart. The last one is the safest of all. Where they would lie
 * far apart, one that is nearer to the float network than a cheaper one, and less safe by next to
 * nothing (a share of `drop`, what may be lost; negative: there is no such limit), is kept, too:
 * the cheaper one may have been lucky, and the next that is safer costs much more. Returns how many
 * are kept. */
int32_t itg_candidates_thin_out(itg_candidate *c, int64_t count, double drop);
#endif
