/* Memory that is kept as long as it is worth it: pieces of bytes by key, within a budget, shared
 * between threads. Uses: quantized and packed weights (which programs and plans must have) and
 * activations (which may be computed again).
 *
 * A piece is held by whoever fetched or reserved it until release; what is held is never taken
 * away. What is not held goes when room is needed, the least worth first: worth = age + uses * cost
 * / bytes (GreedyDual-Size with frequency, Cherkasova 1998), where age grows with every piece that
 * went, so that what is not used any more gets old. A newcomer worth less than what would have to
 * go for it is not kept; that makes the others older, too. */
#ifndef ITG_CACHE_H
#define ITG_CACHE_H
#include "base/base.h"
#include "base/key.h"

typedef struct itg_cache itg_cache;
typedef struct itg_cache_stats {
    size_t bytes, most_bytes; /* kept now; at most at any time */
    int64_t entries, hits, misses, refused, evicted;
} itg_cache_stats;

/* max_bytes 0: nothing is kept beyond its use. */
itg_status itg_cache_create(size_t max_bytes, itg_cache **out, itg_error *err);
/* Another owner: the cache lives until each owner has destroyed it. Returns cache. */
itg_cache *itg_cache_share(itg_cache *cache);
/* Ends one ownership; NULL: nothing happens. With the last one nothing may be held any more. */
void itg_cache_destroy(itg_cache *cache);
itg_cache_stats itg_cache_statistics(itg_cache *cache);

/* The piece of this key and size, held; NULL: not there. */
const void *itg_cache_fetch(itg_cache *cache, const itg_key *key, size_t bytes);
/* New memory (64-byte aligned, 64 bytes of slack behind it), held, to be written and committed.
 * cost: of making the contents again, in any unit. NULL: not worth it, somebody else is just making
 * it, or no memory. must: beyond the budget if need be; NULL means no memory then. */
void *itg_cache_reserve(itg_cache *cache, const itg_key *key, size_t bytes, double cost, bool must);
/* Another hold of a piece that the caller holds. Returns data. */
const void *itg_cache_hold(itg_cache *cache, const void *data);
/* The contents are complete: others may fetch them. */
void itg_cache_commit(itg_cache *cache, const void *data);
/* Ends one hold. What was never committed disappears. NULL: nothing happens. */
void itg_cache_release(itg_cache *cache, const void *data);
#endif
