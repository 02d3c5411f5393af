/* Allocations of an arena that are filled at once, or counted; by itg_arena_alloc alone. */
#include "base/base.h"
#include <string.h>

void *itg_arena_array(itg_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    return itg_mul_size(count, size, &bytes) ? itg_arena_alloc(arena, bytes) : NULL;
}

void *itg_arena_copy(itg_arena *arena, const void *data, size_t bytes)
{
    void *out = itg_arena_alloc(arena, bytes);
    if (out && bytes > 0) memcpy(out, data, bytes);
    return out;
}

char *itg_arena_strdup(itg_arena *arena, const char *text)
{
    return itg_arena_copy(arena, text, strlen(text) + 1);
}

char *itg_arena_format(itg_arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) return NULL;
    char *out = itg_arena_alloc(arena, (size_t)length + 1);
    if (!out) return NULL;
    va_start(arguments, format);
    vsnprintf(out, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return out;
}
