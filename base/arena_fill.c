/* Allocations of an arena that are counted, or filled at once; all use itg_arena_alloc. */
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

const char **itg_arena_texts(itg_arena *arena, const char *const *texts, size_t count)
{
    const char **copies = itg_arena_array(arena, count, sizeof *copies);
    for (size_t i = 0; copies && i < count; i++)
        if (!(copies[i] = itg_arena_strdup(arena, texts[i]))) return NULL;
    return copies;
}

char *itg_arena_vformat(itg_arena *arena, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *out = length < 0 ? NULL : itg_arena_alloc(arena, (size_t)length + 1);
    if (out) vsnprintf(out, (size_t)length + 1, format, again);
    va_end(again);
    return out;
}

char *itg_arena_format(itg_arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *out = itg_arena_vformat(arena, format, arguments);
    va_end(arguments);
    return out;
}
