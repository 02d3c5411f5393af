/* Kernel sets, and memory that ends where the operating system's protection starts: vector and tile
 * instructions escape sanitizers, but not that. */
#ifndef ITG_ACCEL_CASES_H
#define ITG_ACCEL_CASES_H
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS; this header stands first */
#include "int_cases.h"
#include <sys/mman.h>
#include <unistd.h>
#include "kernels/accel.h"

/* The set, or NULL (and a message once) where this machine has none of that name. */
static inline const itg_accel_kernels *set_or_skip(const char *name)
{
    const itg_accel_kernels *kernels = NULL;
    itg_error err;
    itg_status status = itg_accel_choose(name, &kernels, &err);
    if (status == ITG_OK) return kernels;
    assert_int_equal(status, ITG_UNSUPPORTED);
    print_message("%s\n", err.message);
    return NULL;
}

typedef struct guarded {
    unsigned char *data; /* aligned as asked; ends at a page that may not be touched */
    unsigned char *map;
    size_t bytes, map_bytes, page;
} guarded;

enum { UNTOUCHED = 0xa5 }; /* what memory holds at first, also around the bytes */

/* `bytes` rounded up to the alignment. */
static inline guarded guard(size_t bytes, size_t alignment)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t padded = (bytes + alignment - 1) / alignment * alignment;
    const size_t pages = (padded + page - 1) / page * page;
    guarded g = {.bytes = bytes, .map_bytes = pages + page, .page = page};
    g.map = mmap(NULL, g.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(g.map != MAP_FAILED);
    assert_int_equal(mprotect(g.map + pages, page, PROT_NONE), 0);
    g.data = g.map + pages - padded;
    memset(g.map, UNTOUCHED, pages);
    return g;
}

/* From here on who writes to it dies. */
static inline void make_read_only(guarded *g)
{
    const size_t bytes = g->map_bytes - g->page;
    if (bytes > 0) assert_int_equal(mprotect(g->map, bytes, PROT_READ), 0);
}

/* Nothing before the bytes nor between them and the end was written. */
static inline void unguard(guarded *g)
{
    for (const unsigned char *at = g->map; at < g->data; at++)
        assert_int_equal(*at, UNTOUCHED);
    for (const unsigned char *at = g->data + g->bytes; at < g->map + g->map_bytes - g->page; at++)
        assert_int_equal(*at, UNTOUCHED);
    assert_int_equal(munmap(g->map, g->map_bytes), 0);
}
#endif
