/* Makes the nth allocation of a test program fail, from the heap or from an arena: give the program
 * to itg_add_faults() in its CMakeLists.txt, include this once, and set calls_left.
 *
 * The linker puts these functions in front of the library's own (-Wl,--wrap), so the library knows
 * nothing of it. An arena's allocation counts by itself although its block has room: each caller
 * must bear it. */
#ifndef ITG_TEST_FAULTS_H
#define ITG_TEST_FAULTS_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
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
void *__wrap_itg_arena_alloc(itg_arena *arena, size_t bytes);
void *__wrap_itg_arena_array(itg_arena *arena, size_t count, size_t size);
void *__wrap_itg_arena_copy(itg_arena *arena, const void *data, size_t bytes);
char *__wrap_itg_arena_strdup(itg_arena *arena, const char *text);
char *__wrap_itg_arena_format(itg_arena *arena, const char *format, ...) ITG_PRINTF(2, 3);

void *__wrap_itg_arena_alloc(itg_arena *arena, size_t bytes)
{
    return fails_now() ? NULL : __real_itg_arena_alloc(arena, bytes);
}
void *__wrap_itg_arena_array(itg_arena *arena, size_t count, size_t size)
{
    return fails_now() ? NULL : __real_itg_arena_array(arena, count, size);
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
