/* An arena is a list of zeroed blocks. New allocations use the first block of the list; one that is
 * too large to share a block gets its own, second in the list. Every allocation is rounded up to
 * ALIGNMENT. */
#include "base/base.h"
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, FIRST_BLOCK = 4096, LARGEST_SHARED_BLOCK = 1 << 20 };

typedef struct block {
    struct block *next;
    unsigned char *data; /* aligned, within the block's own allocation */
    size_t capacity, used;
} block;

struct itg_arena {
    block *blocks;
    size_t used, limit; /* bytes handed out, rounded up; limit 0: none */
    size_t next_capacity;
};

itg_arena *itg_arena_create(size_t max_bytes)
{
    itg_arena *arena = calloc(1, sizeof *arena);
    if (!arena) return NULL;
    arena->limit = max_bytes;
    arena->next_capacity = FIRST_BLOCK;
    return arena;
}

void itg_arena_destroy(itg_arena *arena)
{
    if (!arena) return;
    while (arena->blocks) {
        block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    free(arena);
}

static block *create_block(size_t capacity)
{
    size_t bytes;
    if (!itg_add_size(capacity, sizeof(block) + ALIGNMENT, &bytes)) return NULL;
    if (bytes > PTRDIFF_MAX)
        return NULL; /* no object is that large; sanitizers abort on such a request */
    block *made = calloc(1, bytes);
    if (!made) return NULL;
    unsigned char *start = (unsigned char *)(made + 1);
    made->data = start + (ALIGNMENT - (uintptr_t)start % ALIGNMENT) % ALIGNMENT;
    made->capacity = capacity;
    return made;
}

static block *block_with_room(itg_arena *arena, size_t bytes)
{
    block *first = arena->blocks;
    if (first && first->capacity - first->used >= bytes) return first;
    bool is_shared = bytes <= arena->next_capacity / 4;
    block *made = create_block(is_shared ? arena->next_capacity : bytes);
    if (!made) return NULL;
    if (is_shared && arena->next_capacity < LARGEST_SHARED_BLOCK) arena->next_capacity *= 2;
    if (is_shared || !first) {
        made->next = first;
        arena->blocks = made;
    } else {
        made->next = first->next;
        first->next = made;
    }
    return made;
}

void *itg_arena_alloc(itg_arena *arena, size_t bytes)
{
    size_t rounded, total;
    if (!itg_add_size(bytes > 0 ? bytes : 1, ALIGNMENT - 1, &rounded)) return NULL;
    rounded -= rounded % ALIGNMENT;
    if (!itg_add_size(arena->used, rounded, &total)) return NULL;
    if (arena->limit != 0 && total > arena->limit) return NULL;
    block *in = block_with_room(arena, rounded);
    if (!in) return NULL;
    void *out = in->data + in->used;
    in->used += rounded;
    arena->used = total;
    return out;
}

size_t itg_arena_used(const itg_arena *arena)
{
    return arena->used;
}
