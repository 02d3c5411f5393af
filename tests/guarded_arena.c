/* The arena of test programs, in place of base/arena.c: every allocation lies by itself between
 * bytes that nobody may write, which are looked at when the arena goes. What is written beside an
 * array ends the program; what is read there, or after the arena's end, is no zero. Limits and what
 * was used count as in base/arena.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/base.h"

enum { ALIGNMENT = 64, UNTOUCHED = 0xa5, GONE = 0xdd, MOST_GONE = 4096 };

typedef struct piece {
    struct piece *next;
    unsigned char *data; /* ALIGNMENT bytes on both sides are UNTOUCHED */
    size_t bytes;
} piece;

struct itg_arena {
    piece *pieces;
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

void itg_arena_destroy(itg_arena *arena)
{
    while (arena && arena->pieces) {
        piece *p = arena->pieces;
        arena->pieces = p->next;
        check(p);
        memset(p->data, GONE, p->bytes < MOST_GONE ? p->bytes : MOST_GONE);
        free(p);
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
    memset(p->data - ALIGNMENT, UNTOUCHED, ALIGNMENT);
    memset(p->data + bytes, UNTOUCHED, ALIGNMENT);
    return p;
}

void *itg_arena_alloc(itg_arena *arena, size_t bytes)
{
    size_t rounded, total;
    if (!itg_add_size(bytes > 0 ? bytes : 1, ALIGNMENT - 1, &rounded)) return NULL;
    rounded -= rounded % ALIGNMENT;
    if (!itg_add_size(arena->used, rounded, &total)) return NULL;
    if (arena->limit != 0 && total > arena->limit) return NULL;
    piece *p = create_piece(bytes);
    if (!p) return NULL;
    p->next = arena->pieces;
    arena->pieces = p;
    arena->used = total;
    return p->data;
}

size_t itg_arena_used(const itg_arena *arena)
{
    return arena->used;
}
