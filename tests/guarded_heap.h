/* Buffers of tests between bytes that nobody may write; looked at when they are freed. Under the
 * address sanitizer, which sees more, a buffer is of exactly its size. */
#ifndef ITG_TEST_GUARDED_HEAP_H
#define ITG_TEST_GUARDED_HEAP_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
enum { HEAP_GUARD = 0 };
#else
enum { HEAP_GUARD = 64 };
#endif
enum { HEAP_UNTOUCHED = 0xa5 };

/* Holds anything; never NULL. */
static inline void *guarded_alloc(size_t bytes)
{
    unsigned char *raw = malloc(bytes + 2 * HEAP_GUARD + (bytes == 0));
    assert_non_null(raw);
    if (HEAP_GUARD == 0) return raw;
    memset(raw, HEAP_UNTOUCHED, HEAP_GUARD);
    memset(raw + HEAP_GUARD + bytes, HEAP_UNTOUCHED, HEAP_GUARD);
    memcpy(raw, &bytes, sizeof bytes);
    return raw + HEAP_GUARD;
}

/* p: of guarded_alloc, or NULL. */
static inline void guarded_free(void *p)
{
    if (!p) return;
    const size_t guard = HEAP_GUARD; /* no constant in a comparison: it may be 0 */
    unsigned char *data = p, *raw = data - HEAP_GUARD;
    size_t bytes = 0;
    if (HEAP_GUARD > 0) memcpy(&bytes, raw, sizeof bytes);
    for (size_t i = sizeof bytes; i < guard; i++)
        assert_int_equal(raw[i], HEAP_UNTOUCHED);
    for (size_t i = 0; i < guard; i++)
        assert_int_equal(data[bytes + i], HEAP_UNTOUCHED);
    free(raw);
}
#endif
