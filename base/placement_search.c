/* Searches for an order of placing that needs little memory. An order is evaluated by placing each
 * item in the lowest gap that is free during its life. First come orders that suit different shapes
 * of graphs. Then a walk from the best of them takes an item, mostly one that ends at the top,
 * moves it forward in the order, and keeps the change if it is no worse. */
#include "base/placement.h"
#include <stdlib.h>
#include <string.h>

/* Work is counted in comparisons of two items, so that it ends alike on every machine. */
enum { MOST_MOVES = 400 };
static const uint64_t MOST_WORK = (uint64_t)1 << 21;

typedef struct search {
    int32_t count;
    itg_placed *order, *trial, *placed, *best; /* [count] each */
    uint64_t *breadth;                         /* [count]: most bytes live during its life */
    uint64_t least, end, work;                 /* lower bound; end of `best`; work that is left */
    itg_meetings meetings;
} search;

/* ---- bytes needed over time ---- */

typedef struct event {
    int32_t time; /* birth: first; death: last + 1 */
    bool birth;
    int32_t item;
} event;

/* At equal times deaths come first. */
static int by_time(const void *a, const void *b)
{
    const event *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    if (x->birth != y->birth) return x->birth ? 1 : -1;
    return x->item < y->item ? -1 : 1;
}

static event *events_of(const itg_placed *items, int32_t count)
{
    event *events = calloc(2 * (size_t)count + 1, sizeof *events);
    for (int32_t i = 0; events != NULL && i < count; i++) {
        events[2 * i] = (event){items[i].first, true, i};
        events[2 * i + 1] = (event){items[i].last + 1, false, i};
    }
    if (events != NULL) qsort(events, 2 * (size_t)count, sizeof *events, by_time);
    return events;
}

itg_status itg_place_bound(const itg_placed *items, int32_t count, uint64_t alignment,
                           uint64_t *out, itg_error *err)
{
    event *events = events_of(items, count);
    if (events == NULL) return itg_fail(err, ITG_NO_MEMORY, "no memory to plan memory");
    uint64_t live = 0, most = 0;
    for (int32_t i = 0; i < 2 * count; i++) {
        uint64_t bytes = itg_place_rounded(items[events[i].item].bytes, alignment);
        live = events[i].birth ? live + bytes : live - bytes;
        if (live > most) most = live;
    }
    free(events);
    *out = most;
    return ITG_OK;
}

/* ---- orders ---- */

static double lifetime(const itg_placed *x)
{
    return (double)x->last - (double)x->first + 1;
}

static double of_area(const itg_placed *x)
{
    return (double)x->bytes * lifetime(x);
}

static double of_life(const itg_placed *x)
{
    return lifetime(x);
}

static double of_birth(const itg_placed *x)
{
    return -(double)x->first;
}

static double of_death(const itg_placed *x)
{
    return (double)x->last;
}

typedef struct keyed {
    double key;
    int32_t at;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? 1 : -1;
    return x->at < y->at ? -1 : 1;
}

/* Places the trial order, which becomes the order if it is no worse. */
static bool attempt(search *s)
{
    uint64_t end = itg_place_in_order(s->trial, s->count, &s->meetings, s->placed);
    uint64_t cost = (uint64_t)s->count * (uint64_t)s->count;
    s->work = s->work > cost ? s->work - cost : 0;
    if (end > s->end) return false;
    s->end = end;
    memcpy(s->order, s->trial, (size_t)s->count * sizeof *s->order);
    memcpy(s->best, s->placed, (size_t)s->count * sizeof *s->best);
    return true;
}

/* Tries the order of a key. `sorted` is in order of size, which decides between equal keys. key
 * NULL: breadth. */
static void attempt_order(search *s, const itg_placed *sorted, double (*key)(const itg_placed *),
                          keyed *room)
{
    if (s->end == s->least || s->work == 0) return;
    for (int32_t i = 0; i < s->count; i++)
        room[i] = (keyed){key != NULL ? key(&sorted[i]) : (double)s->breadth[i], i};
    qsort(room, (size_t)s->count, sizeof *room, by_key);
    for (int32_t i = 0; i < s->count; i++)
        s->trial[i] = sorted[room[i].at];
    (void)attempt(s);
}

typedef struct birth {
    int32_t time;
    uint64_t live; /* live bytes after it */
} birth;

/* Finds, for each item, the most bytes that are live at a birth during its life. */
static void find_breadths(search *s, const itg_placed *items, const event *events, birth *births)
{
    int32_t count = 0;
    uint64_t live = 0;
    for (int32_t i = 0; i < 2 * s->count; i++) {
        uint64_t bytes = items[events[i].item].bytes;
        live = events[i].birth ? live + bytes : live - bytes;
        if (events[i].birth) births[count++] = (birth){events[i].time, live};
    }
    for (int32_t i = 0; i < s->count; i++)
        for (int32_t k = 0; k < count; k++)
            if (births[k].time >= items[i].first && births[k].time <= items[i].last &&
                births[k].live > s->breadth[i])
                s->breadth[i] = births[k].live;
}

/* ---- the walk ---- */

/* Returns an item that ends at the top, at random if there are several; sometimes any item. */
static int32_t pick(const search *s, itg_rng *rng)
{
    int32_t chosen = -1, tops = 0;
    if (itg_rng_below(rng, 4) == 0) return (int32_t)itg_rng_below(rng, (uint64_t)s->count);
    for (int32_t i = 0; i < s->count; i++)
        if (s->best[i].offset + s->best[i].bytes == s->end &&
            itg_rng_below(rng, (uint64_t)++tops) == 0)
            chosen = s->best[i].index;
    for (int32_t i = 0; i < s->count; i++)
        if (s->order[i].index == chosen) return i;
    return 0;
}

static void walk(search *s)
{
    itg_rng rng;
    itg_rng_init(&rng, 1);
    for (int move = 0; move < MOST_MOVES && s->end > s->least && s->work > 0; move++) {
        int32_t from = pick(s, &rng), to = (int32_t)itg_rng_below(&rng, (uint64_t)s->count);
        if (from < to) {
            int32_t lower = from;
            from = to;
            to = lower;
        }
        memcpy(s->trial, s->order, (size_t)s->count * sizeof *s->trial);
        itg_placed x = s->trial[from];
        memmove(&s->trial[to + 1], &s->trial[to], (size_t)(from - to) * sizeof x);
        s->trial[to] = x;
        (void)attempt(s);
    }
}

static itg_status improve(search *s, const itg_placed *sorted, itg_error *err)
{
    static double (*const keys[])(const itg_placed *) = {of_area, of_life, of_birth, of_death};
    size_t count = (size_t)s->count;
    keyed *room = calloc(count + 1, sizeof *room);
    birth *births = calloc(count + 1, sizeof *births);
    event *events = events_of(sorted, s->count);
    itg_status status = ITG_OK;
    if (room == NULL || births == NULL || events == NULL) {
        status = itg_fail(err, ITG_NO_MEMORY, "no memory to plan memory");
    } else {
        if (s->work > 0) find_breadths(s, sorted, events, births);
        attempt_order(s, sorted, NULL, room);
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            attempt_order(s, sorted, keys[i], room);
        walk(s);
    }
    free(room);
    free(births);
    free(events);
    return status;
}

itg_status itg_place_well(itg_placed *items, int32_t count, uint64_t alignment, uint64_t *end,
                          itg_error *err)
{
    size_t n = (size_t)count;
    if (count == 0) {
        *end = 0;
        return ITG_OK;
    }
    search s = {.count = count, .end = UINT64_MAX, .work = MOST_WORK};
    itg_status status = itg_place_bound(items, count, alignment, &s.least, err);
    if (status != ITG_OK) return status;
    itg_placed *rooms = calloc(4 * n + 1, sizeof *rooms);
    s.breadth = calloc(n + 1, sizeof *s.breadth);
    if (rooms == NULL || s.breadth == NULL) {
        status = itg_fail(err, ITG_NO_MEMORY, "no memory to plan memory");
    } else {
        s.order = rooms, s.trial = rooms + n, s.placed = rooms + 2 * n, s.best = rooms + 3 * n;
        for (int32_t i = 0; i < count; i++)
            items[i].bytes = itg_place_rounded(items[i].bytes, alignment);
        itg_place_sort(items, count);
        memcpy(s.trial, items, n * sizeof *items);
        status = itg_meetings_find(items, count, &s.meetings, err);
        if (status == ITG_OK) (void)attempt(&s);
        if (status == ITG_OK && s.end > s.least && s.work > 0) status = improve(&s, items, err);
    }
    if (status == ITG_OK) {
        memcpy(items, s.best, n * sizeof *items);
        *end = s.end;
    }
    itg_meetings_free(&s.meetings);
    free(rooms);
    free(s.breadth);
    return status;
}
