#include "base/placement.h"
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b)
{
    const itg_placed *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->index < y->index ? -1 : 1;
}

void itg_place_sort(itg_placed *items, int32_t count)
{
    qsort(items, (size_t)count, sizeof *items, by_size);
}

/* Inserts x at the lowest offset where it fits beside the placed items, which are sorted by offset.
 * Returns its end. */
static uint64_t place(itg_placed *placed, int32_t count, itg_placed x)
{
    uint64_t offset = 0;
    for (int32_t i = 0; i < count; i++) {
        if (placed[i].last < x.first || placed[i].first > x.last) continue;
        if (placed[i].offset >= offset + x.bytes) break;
        uint64_t end = placed[i].offset + placed[i].bytes;
        if (end > offset) offset = end;
    }
    x.offset = offset;
    int32_t at = count;
    for (; at > 0 && placed[at - 1].offset > offset; at--)
        placed[at] = placed[at - 1];
    placed[at] = x;
    return offset + x.bytes;
}

uint64_t itg_place_in_order(const itg_placed *items, int32_t count, itg_placed *placed)
{
    uint64_t most = 0;
    for (int32_t i = 0; i < count; i++) {
        uint64_t end = place(placed, i, items[i]);
        if (end > most) most = end;
    }
    return most;
}

itg_status itg_place(itg_placed *items, int32_t count, uint64_t alignment, uint64_t *end,
                     itg_error *err)
{
    if (count == 0) {
        *end = 0;
        return ITG_OK;
    }
    itg_placed *placed = calloc((size_t)count, sizeof *placed);
    if (placed == NULL) return itg_fail(err, ITG_NO_MEMORY, "no memory to plan memory");
    for (int32_t i = 0; i < count; i++)
        items[i].bytes = itg_place_rounded(items[i].bytes, alignment);
    itg_place_sort(items, count);
    *end = itg_place_in_order(items, count, placed);
    memcpy(items, placed, (size_t)count * sizeof *items);
    free(placed);
    return ITG_OK;
}
