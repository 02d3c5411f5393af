/* Makes the nth allocation of a test program fail, from the heap or from an arena: give the program
 * to itg_add_faults() in its CMakeLists.txt, include this once, and set calls_left.
 *
 * The linker puts these functions in front of the library's own (-Wl,--wrap), so the library knows
 * nothing of it. An arena's allocation counts by itself although its block has room: each caller
 * must bear it. */
#ifndef ITG_TEST_FAULTS_H
#define ITG_TEST_FAULTS_H
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/base.h"

static int calls_left = -1; /* until the failure; negative: none */

static bool fails_now(void)
{
    if (calls_left < 0) return false;
    return calls_left-- == 0;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return fails_now() ? NULL : __real_malloc(bytes);
}
void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}
void *__wrap_realloc(void *old, size_t bytes)
{
    return fails_now() ? NULL : __real_realloc(old, bytes);
}

void *__real_itg_arena_alloc(itg_arena *arena, size_t bytes);
void *__real_itg_arena_array(itg_arena *arena, size_t count, size_t size);
void *__real_itg_arena_copy(itg_arena *arena, const void *data, size_t bytes);
void __real_itg_arena_destroy(itg_arena *arena);
void *__wrap_itg_arena_alloc(itg_arena *arena, size_t bytes);
void *__wrap_itg_arena_array(itg_arena *arena, size_t count, size_t size);
void *__wrap_itg_arena_copy(itg_arena *arena, const void *data, size_t bytes);
void __wrap_itg_arena_destroy(itg_arena *arena);
char *__wrap_itg_arena_strdup(itg_arena *arena, const char *text);
char *__wrap_itg_arena_format(itg_arena *arena, const char *format, ...) ITG_PRINTF(2, 3);

/* Behind what an arena gives out stands a guard, which must be whole when the arena goes: nothing
 * else notices who writes beyond his own part of a block. Where all places for guards are taken (or
 * several threads allocate), there is none. */
enum { GUARD_BYTES = 8, MOST_GUARDS = 4096, GUARD = 0xA5 };

typedef struct arena_guard {
    const itg_arena *arena;
    const unsigned char *at;
} arena_guard;

static arena_guard guards[MOST_GUARDS];
static int guard_count;
static atomic_flag guards_are_taken = ATOMIC_FLAG_INIT;

static void set_guard(const itg_arena *arena, void *memory, size_t bytes)
{
    unsigned char *at = (unsigned char *)memory + bytes;
    memset(at, GUARD, GUARD_BYTES);
    if (atomic_flag_test_and_set(&guards_are_taken)) return;
    if (guard_count < MOST_GUARDS) guards[guard_count++] = (arena_guard){arena, at};
    atomic_flag_clear(&guards_are_taken);
}

static void check_guard(const arena_guard *guard)
{
    for (int i = 0; i < GUARD_BYTES; i++)
        if (guard->at[i] != GUARD) {
            fputs("something was written beyond the end of an arena's memory\n", stderr);
            abort();
        }
}

void __wrap_itg_arena_destroy(itg_arena *arena)
{
    int kept = 0;
    while (atomic_flag_test_and_set(&guards_are_taken))
        ;
    for (int i = 0; i < guard_count; i++)
        if (guards[i].arena == arena)
            check_guard(&guards[i]);
        else
            guards[kept++] = guards[i];
    guard_count = kept;
    atomic_flag_clear(&guards_are_taken);
    __real_itg_arena_destroy(arena);
}

void *__wrap_itg_arena_alloc(itg_arena *arena, size_t bytes)
{
    if (fails_now()) return NULL;
    if (bytes > SIZE_MAX - GUARD_BYTES) return __real_itg_arena_alloc(arena, bytes);
    void *memory = __real_itg_arena_alloc(arena, bytes + GUARD_BYTES);
    if (memory) set_guard(arena, memory, bytes);
    return memory;
}
void *__wrap_itg_arena_array(itg_arena *arena, size_t count, size_t size)
{
    size_t bytes = 0;
    if (!itg_mul_size(count, size, &bytes) || bytes > SIZE_MAX - GUARD_BYTES)
        return fails_now() ? NULL : __real_itg_arena_array(arena, count, size);
    return __wrap_itg_arena_alloc(arena, bytes);
}
void *__wrap_itg_arena_copy(itg_arena *arena, const void *data, size_t bytes)
{
    return fails_now() ? NULL : __real_itg_arena_copy(arena, data, bytes);
}
char *__wrap_itg_arena_strdup(itg_arena *arena, const char *text)
{
    return fails_now() ? NULL : __real_itg_arena_copy(arena, text, strlen(text) + 1);
}
char *__wrap_itg_arena_format(itg_arena *arena, const char *format, ...)
{
    va_list arguments;
    if (fails_now()) return NULL;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *out = length < 0 ? NULL : __real_itg_arena_alloc(arena, (size_t)length + 1);
    if (!out) return NULL;
    va_start(arguments, format);
    vsnprintf(out, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return out;
}

#endif
