/* An arena is a list of zeroed blocks. New allocations use the first block of the list; one that is
 * too large to share a block gets its own, second in the list, and several arenas can hold it.
 * Every allocation is rounded up to ALIGNMENT. */
#include "base/base.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, FIRST_BLOCK = 4096, LARGEST_SHARED_BLOCK = 1 << 20 };

/* The bytes of a block, behind this. */
typedef struct storage {
    atomic_int arenas; /* that hold it */
} storage;

typedef struct block {
    struct block *next;
    storage *storage;
    unsigned char *data; /* aligned, within the storage */
    size_t capacity, used;
    bool is_one; /* it holds one large allocation */
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

static void release(storage *s)
{
    if (atomic_fetch_sub(&s->arenas, 1) == 1) free(s);
}

void itg_arena_destroy(itg_arena *arena)
{
    if (!arena) return;
    while (arena->blocks) {
        block *next = arena->blocks->next;
        release(arena->blocks->storage);
        free(arena->blocks);
        arena->blocks = next;
    }
    free(arena);
}

static storage *create_storage(size_t capacity)
{
    size_t bytes;
    if (!itg_add_size(capacity, sizeof(storage) + ALIGNMENT, &bytes)) return NULL;
    if (bytes > PTRDIFF_MAX)
        return NULL; /* no object is that large; sanitizers abort on such a request */
    storage *made = calloc(1, bytes);
    if (made) atomic_init(&made->arenas, 1);
    return made;
}

static block *create_block(size_t capacity)
{
    block *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->storage = create_storage(capacity);
    if (!made->storage) {
        free(made);
        return NULL;
    }
    unsigned char *start = (unsigned char *)(made->storage + 1);
    made->data = start + (ALIGNMENT - (uintptr_t)start % ALIGNMENT) % ALIGNMENT;
    made->capacity = capacity;
    return made;
}

/* Adds a block of one allocation second in the list, so that the first one is filled on. */
static void add_large(itg_arena *arena, block *made)
{
    block **place = arena->blocks ? &arena->blocks->next : &arena->blocks;
    made->is_one = true;
    made->next = *place;
    *place = made;
}

static block *block_with_room(itg_arena *arena, size_t bytes)
{
    block *first = arena->blocks;
    if (first && first->capacity - first->used >= bytes) return first;
    bool is_shared = bytes <= arena->next_capacity / 4;
    block *made = create_block(is_shared ? arena->next_capacity : bytes);
    if (!made) return NULL;
    if (!is_shared) {
        add_large(arena, made);
        return made;
    }
    if (arena->next_capacity < LARGEST_SHARED_BLOCK) arena->next_capacity *= 2;
    made->next = first;
    arena->blocks = made;
    return made;
}

/* Rounds bytes up and counts them. Returns false beyond the limit. */
static bool count_bytes(itg_arena *arena, size_t bytes, size_t *rounded)
{
    size_t total;
    if (!itg_add_size(bytes > 0 ? bytes : 1, ALIGNMENT - 1, rounded)) return false;
    *rounded -= *rounded % ALIGNMENT;
    if (!itg_add_size(arena->used, *rounded, &total)) return false;
    if (arena->limit != 0 && total > arena->limit) return false;
    arena->used = total;
    return true;
}

void *itg_arena_alloc(itg_arena *arena, size_t bytes)
{
    size_t rounded;
    if (!count_bytes(arena, bytes, &rounded)) return NULL;
    block *in = block_with_room(arena, rounded);
    if (!in) {
        arena->used -= rounded;
        return NULL;
    }
    void *out = in->data + in->used;
    in->used += rounded;
    return out;
}

/* The block that holds this array and no other; NULL: there is none. */
static const block *find_large(const itg_arena *arena, const void *data)
{
    const block *at = arena->blocks;
    while (at && !(at->is_one && at->data == data))
        at = at->next;
    return at;
}

void *itg_arena_share(itg_arena *arena, const itg_arena *from, const void *data, size_t bytes)
{
    const block *large = find_large(from, data);
    size_t rounded;
    if (!large) return itg_arena_copy(arena, data, bytes);
    block *made = malloc(sizeof *made);
    if (!made || !count_bytes(arena, bytes, &rounded)) {
        free(made);
        return NULL;
    }
    *made = *large;
    atomic_fetch_add(&made->storage->arenas, 1);
    add_large(arena, made);
    return made->data;
}

void *itg_arena_writable(const itg_arena *arena, const void *data)
{
    const block *large = find_large(arena, data);
    return large && atomic_load(&large->storage->arenas) == 1 ? large->data : NULL;
}

void itg_arena_release(itg_arena *arena, const void *data)
{
    block **place = &arena->blocks;
    while (*place && !((*place)->is_one && (*place)->data == data))
        place = &(*place)->next;
    block *large = *place;
    if (!large) return;
    *place = large->next;
    arena->used -= large->used;
    release(large->storage);
    free(large);
}

size_t itg_arena_used(const itg_arena *arena)
{
    return arena->used;
}
