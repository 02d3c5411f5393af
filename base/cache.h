/* A cache with a budget of bytes: pieces of memory by key, shared between threads. It holds
 * quantized and packed weights (which programs and plans require) and activations (which can be
 * computed again).
 *
 * A piece is held by whoever fetched or reserved it, until release. Held pieces are never evicted.
 * Others are evicted when room is needed, the least worth first: worth = age + uses * cost / bytes
 * (GreedyDual-Size with frequency, Cherkasova 1998). age grows with every eviction, so that unused
 * pieces become worth less in comparison. A new piece is refused if pieces of more worth would have
 * to go; this also raises age. */
#ifndef ITG_CACHE_H
#define ITG_CACHE_H
#include "base/base.h"
#include "base/key.h"

typedef struct itg_cache itg_cache;
typedef struct itg_cache_stats {
    size_t bytes, most_bytes; /* bytes: kept now; most_bytes: the maximum so far */
    int64_t entries, hits, misses, refused, evicted;
} itg_cache_stats;

/* max_bytes 0: pieces are kept only while they are held. */
itg_status itg_cache_create(size_t max_bytes, itg_cache **out, itg_error *err);
/* Adds an owner: the cache lives until each owner has destroyed it. Returns cache. */
itg_cache *itg_cache_share(itg_cache *cache);
/* Ends one ownership (NULL: none). When the last one ends, no piece may be held. */
void itg_cache_destroy(itg_cache *cache);
itg_cache_stats itg_cache_statistics(itg_cache *cache);

/* Returns the piece of this key and size, held; NULL: absent. */
const void *itg_cache_fetch(itg_cache *cache, const itg_key *key, size_t bytes);
/* Returns new memory (64-byte aligned, followed by 64 bytes of slack), held, to be written and
 * committed. cost: of making the contents again, in any unit. NULL: not worth keeping, under
 * construction by another thread, or no memory. must: the budget may be exceeded; NULL then means
 * no memory. */
void *itg_cache_reserve(itg_cache *cache, const itg_key *key, size_t bytes, double cost, bool must);
/* Adds a hold to a piece that the caller holds. Returns data. */
const void *itg_cache_hold(itg_cache *cache, const void *data);
/* Marks the contents as complete: others may fetch them. */
void itg_cache_commit(itg_cache *cache, const void *data);
/* Ends one hold (NULL: none). A piece that was not committed is removed. */
void itg_cache_release(itg_cache *cache, const void *data);
#endif
