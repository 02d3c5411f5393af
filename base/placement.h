/* Where things lie in one piece of memory when each is needed for a while only. */
#ifndef ITG_PLACEMENT_H
#define ITG_PLACEMENT_H
#include "base/base.h"

#define ITG_PLACEMENT_ALIGNMENT 64

/* Needed from time `first` to time `last`, both included. `index` is the caller's, and unique. */
typedef struct itg_placed {
    size_t bytes, offset;
    int32_t first, last, index;
} itg_placed;

/* Sets every offset so that no two things share a byte at one time, and *end to the bytes needed.
 * Greedy by size (Pisarchyk and Lee 2020, arXiv:2001.03288): the largest first, each at the lowest
 * gap that is free throughout its life. Reorders the items; depends on nothing but what they say.
 */
itg_status itg_place(itg_placed *items, int32_t count, size_t *end, itg_error *err);
#endif
