/* Makes the nth allocation of a test program fail: link it with -Wl,--wrap=malloc, calloc and
 * realloc, include this once, and set calls_left. */
#ifndef ITG_TEST_FAULTS_H
#define ITG_TEST_FAULTS_H
#include <stdbool.h>
#include <stddef.h>

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

#endif
