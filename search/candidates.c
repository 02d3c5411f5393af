/* See candidates.h. */
#include "search/candidates.h"
#include <stdlib.h>

#define MOST_CANDIDATES 64
#define STEP 0.005 /* the least difference of cost to the next candidate, as a share */
#define GAP 0.05   /* a larger one may be filled with what is hardly less safe */
#define HARDLY 0.1 /* of what may be lost */

static int by_cost(const void *a, const void *b)
{
    const itg_candidate *x = a, *y = b;
    if (x->cost < y->cost || y->cost < x->cost) return x->cost < y->cost ? -1 : 1;
    if (x->quality < y->quality || y->quality < x->quality) return x->quality > y->quality ? -1 : 1;
    return (x->trial->index > y->trial->index) - (x->trial->index < y->trial->index);
}

static bool is_nearer(const itg_candidate *a, const itg_candidate *b)
{
    return a->trial->score.value[ITG_METRIC_DISTORTION] <
           b->trial->score.value[ITG_METRIC_DISTORTION];
}

/* On few samples many strategies may lose nothing: the one nearer to the float network is then
 * safer. */
static bool is_safer(const itg_candidate *a, const itg_candidate *b)
{
    if (a->quality > b->quality || a->quality < b->quality) return a->quality > b->quality;
    return is_nearer(a, b);
}

int32_t itg_candidates_thin_out(itg_candidate *c, int64_t count, double drop)
{
    const double next_to_nothing = HARDLY * drop;
    int32_t kept = 1;
    if (count == 0) return 0;
    qsort(c, (size_t)count, sizeof *c, by_cost);
    const itg_candidate *last = &c[0];
    itg_candidate best = c[0];
    for (int64_t i = 1; i < count; i++) {
        const bool safer = is_safer(&c[i], &best);
        const bool fills = c[i].cost >= last->cost * (1 + GAP) && is_nearer(&c[i], &best) &&
                           c[i].quality >= best.quality - next_to_nothing;
        if (safer) best = c[i];
        if (!(safer || fills) || kept + 1 == MOST_CANDIDATES || c[i].cost < last->cost * (1 + STEP))
            continue;
        c[kept] = c[i];
        last = &c[kept++];
    }
    while (c[kept - 1].cost > best.cost) /* the safest is cheaper */
        kept--;
    if (c[kept - 1].trial != best.trial) c[kept++] = best;
    return kept;
}
