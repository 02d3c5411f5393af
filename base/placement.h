/* Where things lie in one piece of memory when each is needed for a while only. */
#ifndef ITG_PLACEMENT_H
#define ITG_PLACEMENT_H
#include "base/base.h"

#define ITG_PLACEMENT_ALIGNMENT 64

/* Needed from time `first` to time `last`, both included. `index` is the caller's, and unique.
 * Bytes are 64 bits on every platform; all of them together stay below 2^63. */
typedef struct itg_placed {
    uint64_t bytes, offset;
    int32_t first, last, index;
    int32_t place; /* for the two: its place in the order of sizes */
} itg_placed;

/* Sets every offset so that no two things share a byte at one time, and *end to the bytes needed.
 * Sizes are rounded up to `alignment`, a power of two, so that offsets are multiples of it.
 * Reorders the items; depends on nothing but what they say.
 *
 * itg_place: greedy by size (Pisarchyk and Lee 2020, arXiv:2001.03288): the largest first, each at
 * the lowest gap that is free throughout its life.
 *
 * itg_place_well: the best of several orders, then of a bounded random walk over orders with a
 * fixed seed; ends early where the result equals itg_place_bound. Never worse than itg_place. */
itg_status itg_place(itg_placed *items, int32_t count, uint64_t alignment, uint64_t *end,
                     itg_error *err);
itg_status itg_place_well(itg_placed *items, int32_t count, uint64_t alignment, uint64_t *end,
                          itg_error *err);
/* Returns a lower bound of every placement: the most bytes, rounded up, needed at one time. */
itg_status itg_place_bound(const itg_placed *items, int32_t count, uint64_t alignment,
                           uint64_t *out, itg_error *err);

static inline uint64_t itg_place_rounded(uint64_t bytes, uint64_t alignment)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

/* ---- for the two (placement.c) ---- */
/* Of many items, most of which are needed at different times: which others each one meets. */
typedef struct itg_meetings {
    int32_t *first; /* [count + 1]: those of item `place` are others[first[place]] and behind */
    int32_t *others;
    const itg_placed **by_place; /* [count]: where the item was placed; NULL: it was not yet */
    const itg_placed **room;     /* [count] */
} itg_meetings;

/* Sorts by size, larger first; equal sizes in order of index, so that the order is one. */
void itg_place_sort(itg_placed *items, int32_t count);
/* Finds the meetings of sorted items; none of few items, or where nearly all meet: they are then
 * compared one by one, with the same result. */
itg_status itg_meetings_find(const itg_placed *items, int32_t count, itg_meetings *out,
                             itg_error *err);
void itg_meetings_free(itg_meetings *m);
/* Places the items in this order, into `placed` [count], sorted by offset; returns the end. */
uint64_t itg_place_in_order(const itg_placed *items, int32_t count, itg_meetings *m,
                            itg_placed *placed);
#endif
