#include "base/placement.h"
#include <stdlib.h>

static size_t aligned(size_t bytes)
{
    return (bytes + ITG_PLACEMENT_ALIGNMENT - 1) / ITG_PLACEMENT_ALIGNMENT *
           ITG_PLACEMENT_ALIGNMENT;
}

/* Larger first; equal sizes in order of index, so that the plan is one. */
static int by_size(const void *a, const void *b)
{
    const itg_placed *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->index < y->index ? -1 : 1;
}

/* Lowest offset where `x` fits beside the placed items, which are sorted by offset; inserts x
 * there. */
static void place(itg_placed *placed, int32_t count, itg_placed x)
{
    size_t offset = 0;
    for (int32_t i = 0; i < count; i++) {
        if (placed[i].last < x.first || placed[i].first > x.last) continue;
        if (placed[i].offset >= offset + x.bytes) break;
        size_t end = placed[i].offset + placed[i].bytes;
        if (end > offset) offset = end;
    }
    x.offset = offset;
    int32_t at = count;
    for (; at > 0 && placed[at - 1].offset > offset; at--)
        placed[at] = placed[at - 1];
    placed[at] = x;
}

itg_status itg_place(itg_placed *items, int32_t count, size_t *end, itg_error *err)
{
    itg_placed *placed = calloc((size_t)count + 1, sizeof *placed);
    if (placed == NULL) return itg_fail(err, ITG_NO_MEMORY, "no memory to plan memory");
    for (int32_t i = 0; i < count; i++)
        items[i].bytes = aligned(items[i].bytes);
    qsort(items, (size_t)count, sizeof *items, by_size);
    size_t most = 0;
    for (int32_t i = 0; i < count; i++)
        place(placed, i, items[i]);
    for (int32_t i = 0; i < count; i++) {
        items[i] = placed[i];
        if (items[i].offset + items[i].bytes > most) most = items[i].offset + items[i].bytes;
    }
    *end = most;
    free(placed);
    return ITG_OK;
}
