/* The arena of test programs, in place of base/arena.c: every allocation lies by itself between
 * bytes that nobody may write, which are looked at when the arena goes. What is written beside an
 * array ends the program; what is read there, or after the arena's end, is no zero. Limits and what
 * was used count as in base/arena.c. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/base.h"

enum { ALIGNMENT = 64, UNTOUCHED = 0xa5, GONE = 0xdd, MOST_GONE = 4096 };

typedef struct piece {
    unsigned char *data; /* ALIGNMENT bytes on both sides are UNTOUCHED */
    size_t bytes;
    atomic_int arenas; /* that hold it */
} piece;

typedef struct held {
    struct held *next;
    piece *piece;
} held;

struct itg_arena {
    held *pieces;
    size_t used, limit;
};

itg_arena *itg_arena_create(size_t max_bytes)
{
    itg_arena *arena = calloc(1, sizeof *arena);
    if (arena) arena->limit = max_bytes;
    return arena;
}

static void check(const piece *p)
{
    for (int i = 0; i < ALIGNMENT; i++)
        if (p->data[p->bytes + (size_t)i] != UNTOUCHED || p->data[i - ALIGNMENT] != UNTOUCHED) {
            fprintf(stderr, "an arena's array of %zu bytes was written beyond its ends\n",
                    p->bytes);
            abort();
        }
}

static void release(piece *p)
{
    check(p);
    if (atomic_fetch_sub(&p->arenas, 1) > 1) return;
    memset(p->data, GONE, p->bytes < MOST_GONE ? p->bytes : MOST_GONE);
    free(p);
}

void itg_arena_destroy(itg_arena *arena)
{
    while (arena && arena->pieces) {
        held *h = arena->pieces;
        arena->pieces = h->next;
        release(h->piece);
        free(h);
    }
    free(arena);
}

static piece *create_piece(size_t bytes)
{
    if (bytes > PTRDIFF_MAX / 2) return NULL;
    piece *p = calloc(1, sizeof *p + bytes + (size_t)3 * ALIGNMENT);
    if (!p) return NULL;
    unsigned char *start = (unsigned char *)(p + 1) + ALIGNMENT;
    p->data = start + (ALIGNMENT - (uintptr_t)start % ALIGNMENT) % ALIGNMENT;
    p->bytes = bytes;
    atomic_init(&p->arenas, 1);
    memset(p->data - ALIGNMENT, UNTOUCHED, ALIGNMENT);
    memset(p->data + bytes, UNTOUCHED, ALIGNMENT);
    return p;
}

/* Whether the arena's limit allows so many bytes more; *total: what is used then. */
static bool allows(const itg_arena *arena, size_t bytes, size_t *total)
{
    size_t rounded;
    if (!itg_add_size(bytes > 0 ? bytes : 1, ALIGNMENT - 1, &rounded)) return false;
    rounded -= rounded % ALIGNMENT;
    return itg_add_size(arena->used, rounded, total) &&
           (arena->limit == 0 || *total <= arena->limit);
}

static void *hold(itg_arena *arena, piece *p, size_t total)
{
    held *h = malloc(sizeof *h);
    if (!h) return NULL;
    *h = (held){arena->pieces, p};
    arena->pieces = h;
    arena->used = total;
    return p->data;
}

void *itg_arena_alloc(itg_arena *arena, size_t bytes)
{
    size_t total;
    piece *p = allows(arena, bytes, &total) ? create_piece(bytes) : NULL;
    void *out = p ? hold(arena, p, total) : NULL;
    if (!out) free(p);
    return out;
}

/* Everything but a few bytes is shared, so that tests see what is written behind an arena's back.
 */
static piece *find(const itg_arena *arena, const void *data)
{
    enum { LARGE = 256 };
    const held *at = arena->pieces;
    while (at && at->piece->data != data)
        at = at->next;
    return at && at->piece->bytes > LARGE ? at->piece : NULL;
}

void *itg_arena_share(itg_arena *arena, const itg_arena *from, const void *data, size_t bytes)
{
    piece *p = find(from, data);
    size_t total;
    if (!p) return itg_arena_copy(arena, data, bytes);
    void *out = allows(arena, bytes, &total) ? hold(arena, p, total) : NULL;
    if (out) atomic_fetch_add(&p->arenas, 1);
    return out;
}

void *itg_arena_writable(const itg_arena *arena, const void *data)
{
    piece *p = find(arena, data);
    return p && atomic_load(&p->arenas) == 1 ? p->data : NULL;
}

void itg_arena_release(itg_arena *arena, const void *data)
{
    const piece *p = find(arena, data);
    held **place = &arena->pieces;
    while (p && (*place)->piece != p)
        place = &(*place)->next;
    if (!p) return;
    held *h = *place;
    *place = h->next;
    arena->used -= (p->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    release(h->piece);
    free(h);
}

size_t itg_arena_used(const itg_arena *arena)
{
    return arena->used;
}
