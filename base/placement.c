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
    for (int32_t i = 0; i < count; i++)
        items[i].place = i;
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

static uint64_t place_one_by_one(const itg_placed *items, int32_t count, itg_placed *placed)
{
    uint64_t most = 0;
    for (int32_t i = 0; i < count; i++) {
        uint64_t end = place(placed, i, items[i]);
        if (end > most) most = end;
    }
    return most;
}

/* ---- many items ---- */

enum { FEW = 1024, MOST_MEETINGS = 32 /* of an item, on average */ };

static int by_first(const void *a, const void *b)
{
    const itg_placed *const *x = a, *const *y = b;
    if ((*x)->first != (*y)->first) return (*x)->first < (*y)->first ? -1 : 1;
    return (*x)->place < (*y)->place ? -1 : 1;
}

/* Goes through the items by their first times, with those that are still needed then: count[place]
 * meetings of each item are counted or, if others is given, written to where count[place] says,
 * which moves on. False: there are too many. */
static bool sweep_times(const itg_placed *const *sorted, int32_t items, int32_t *count,
                        int32_t *others, const itg_placed **needed)
{
    int64_t left = (int64_t)items * MOST_MEETINGS;
    int32_t needed_count = 0;
    for (int32_t i = 0; i < items; i++) {
        const itg_placed *x = sorted[i];
        int32_t kept = 0;
        for (int32_t k = 0; k < needed_count; k++) {
            const itg_placed *y = needed[k];
            if (y->last < x->first) continue;
            needed[kept++] = y;
            if (left-- == 0) return false;
            if (others) others[count[x->place]] = y->place;
            if (others) others[count[y->place]] = x->place;
            count[x->place]++;
            count[y->place]++;
        }
        needed[kept++] = x;
        needed_count = kept;
    }
    return true;
}

/* Turns the counts of lists into where they begin. */
static void list_begins(int32_t *first, int32_t count)
{
    int32_t sum = 0;
    for (int32_t i = 0; i <= count; i++) {
        const int32_t here = first[i];
        first[i] = sum;
        sum += here;
    }
}

itg_status itg_meetings_find(const itg_placed *items, int32_t count, itg_meetings *out,
                             itg_error *err)
{
    const size_t n = (size_t)count + 1;
    *out = (itg_meetings){0};
    if (count <= FEW) return ITG_OK;
    itg_meetings m = {.first = calloc(n, sizeof *m.first),
                      .by_place = calloc(n, sizeof *m.by_place),
                      .room = calloc(n, sizeof *m.room)};
    const itg_placed **sorted = calloc(n, sizeof *sorted);
    bool few = false, ok = m.first && m.by_place && m.room && sorted;
    for (int32_t i = 0; ok && i < count; i++)
        sorted[i] = &items[i];
    if (ok) qsort(sorted, (size_t)count, sizeof *sorted, by_first);
    if (ok) few = sweep_times(sorted, count, m.first, NULL, m.room);
    if (few) {
        list_begins(m.first, count);
        m.others = calloc((size_t)m.first[count] + 1, sizeof *m.others);
        ok = m.others != NULL;
    }
    if (ok && few) {
        (void)sweep_times(sorted, count, m.first, m.others, m.room);
        memmove(m.first + 1, m.first, (size_t)count * sizeof *m.first); /* ends are next begins */
        m.first[0] = 0;
    }
    free(sorted);
    if (ok && few)
        *out = m;
    else
        itg_meetings_free(&m);
    return ok ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory to plan memory");
}

void itg_meetings_free(itg_meetings *m)
{
    free(m->first);
    free(m->others);
    free(m->by_place);
    free(m->room);
}

static int by_offset(const void *a, const void *b)
{
    const itg_placed *const *x = a, *const *y = b;
    if ((*x)->offset != (*y)->offset) return (*x)->offset < (*y)->offset ? -1 : 1;
    return (*x)->place < (*y)->place ? -1 : 1;
}

/* The lowest offset where x fits beside the placed items that it meets. */
static uint64_t lowest(itg_meetings *m, const itg_placed *x)
{
    uint64_t offset = 0;
    size_t count = 0;
    for (int32_t k = m->first[x->place]; k < m->first[x->place + 1]; k++)
        if (m->by_place[m->others[k]]) m->room[count++] = m->by_place[m->others[k]];
    qsort(m->room, count, sizeof *m->room, by_offset);
    for (size_t i = 0; i < count; i++) {
        if (m->room[i]->offset >= offset + x->bytes) break;
        const uint64_t end = m->room[i]->offset + m->room[i]->bytes;
        if (end > offset) offset = end;
    }
    return offset;
}

/* As placed[] of place_one_by_one: of equal offsets the one that was placed first. */
static int by_offset_and_turn(const void *a, const void *b)
{
    const itg_placed *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

uint64_t itg_place_in_order(const itg_placed *items, int32_t count, itg_meetings *m,
                            itg_placed *placed)
{
    uint64_t most = 0;
    if (!m->first) return place_one_by_one(items, count, placed);
    memset(m->by_place, 0, (size_t)count * sizeof *m->by_place);
    for (int32_t i = 0; i < count; i++) {
        placed[i] = items[i];
        placed[i].offset = lowest(m, &items[i]);
        m->by_place[items[i].place] = &placed[i];
        if (placed[i].offset + placed[i].bytes > most) most = placed[i].offset + placed[i].bytes;
    }
    for (int32_t i = 0; i < count; i++)
        placed[i].place = i;
    qsort(placed, (size_t)count, sizeof *placed, by_offset_and_turn);
    return most;
}

itg_status itg_place(itg_placed *items, int32_t count, uint64_t alignment, uint64_t *end,
                     itg_error *err)
{
    if (count == 0) {
        *end = 0;
        return ITG_OK;
    }
    itg_meetings meetings;
    itg_placed *placed = calloc((size_t)count, sizeof *placed);
    if (placed == NULL) return itg_fail(err, ITG_NO_MEMORY, "no memory to plan memory");
    for (int32_t i = 0; i < count; i++)
        items[i].bytes = itg_place_rounded(items[i].bytes, alignment);
    itg_place_sort(items, count);
    itg_status status = itg_meetings_find(items, count, &meetings, err);
    if (status == ITG_OK) {
        *end = itg_place_in_order(items, count, &meetings, placed);
        memcpy(items, placed, (size_t)count * sizeof *items);
        itg_meetings_free(&meetings);
    }
    free(placed);
    return status;
}
