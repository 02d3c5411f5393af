/* A hash table of entries (chains), and a heap of the entries without holders, least worth on top.
 * One lock protects everything except contents, which only holders read and write. */
#include "base/cache.h"
#include <pthread.h>
#include <stdlib.h>

enum { SLACK = 64, MOST_USES = 8, REFUSALS_TO_AGE = 8 };

typedef struct entry {
    struct entry *next; /* the next entry of the chain */
    itg_key key;
    size_t bytes;   /* as requested */
    double density; /* cost per byte */
    double worth;   /* of entries in the heap */
    int32_t holders, uses, heap_index;
    bool listed; /* in the table: others can find it once it is complete */
    bool complete;
    void *data;
} entry;

struct itg_cache {
    pthread_mutex_t lock;
    int32_t owners;
    size_t max_bytes;
    double age;
    entry **chains, **heap; /* both of `capacity` */
    size_t capacity;        /* a power of two, or 0 */
    int32_t heap_count;
    itg_cache_stats stats;
};

itg_status itg_cache_create(size_t max_bytes, itg_cache **out, itg_error *err)
{
    itg_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL) return itg_fail(err, ITG_NO_MEMORY, "no memory for a cache");
    if (pthread_mutex_init(&cache->lock, NULL) != 0) {
        free(cache);
        return itg_fail(err, ITG_NO_MEMORY, "no lock for a cache");
    }
    cache->max_bytes = max_bytes;
    cache->owners = 1;
    *out = cache;
    return ITG_OK;
}

itg_cache *itg_cache_share(itg_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    cache->owners++;
    pthread_mutex_unlock(&cache->lock);
    return cache;
}

static bool has_owner(itg_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    bool owned = --cache->owners > 0;
    pthread_mutex_unlock(&cache->lock);
    return owned;
}

void itg_cache_destroy(itg_cache *cache)
{
    if (cache == NULL || has_owner(cache)) return;
    for (size_t i = 0; i < cache->capacity; i++)
        for (entry *e = cache->chains[i], *next; e != NULL; e = next) {
            next = e->next;
            free(e);
        }
    free(cache->chains);
    free(cache->heap);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

itg_cache_stats itg_cache_statistics(itg_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    itg_cache_stats stats = cache->stats;
    pthread_mutex_unlock(&cache->lock);
    return stats;
}

/* ---- the heap ---- */

static void heap_put(itg_cache *c, int32_t at, entry *e)
{
    c->heap[at] = e;
    e->heap_index = at;
}

static void heap_up(itg_cache *c, int32_t at, entry *e)
{
    for (; at > 0 && c->heap[(at - 1) / 2]->worth > e->worth; at = (at - 1) / 2)
        heap_put(c, at, c->heap[(at - 1) / 2]);
    heap_put(c, at, e);
}

static void heap_down(itg_cache *c, int32_t at, entry *e)
{
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child >= c->heap_count) break;
        if (child + 1 < c->heap_count && c->heap[child + 1]->worth < c->heap[child]->worth) child++;
        if (c->heap[child]->worth >= e->worth) break;
        heap_put(c, at, c->heap[child]);
        at = child;
    }
    heap_put(c, at, e);
}

static void heap_add(itg_cache *c, entry *e)
{
    heap_up(c, c->heap_count++, e);
}

static void heap_remove(itg_cache *c, entry *e)
{
    int32_t at = e->heap_index;
    entry *last = c->heap[--c->heap_count];
    if (last == e) return;
    if (at > 0 && c->heap[(at - 1) / 2]->worth > last->worth)
        heap_up(c, at, last);
    else
        heap_down(c, at, last);
}

/* ---- the table ---- */

static entry **chain_of(const itg_cache *c, const itg_key *key)
{
    return &c->chains[key->word[0] & (c->capacity - 1)];
}

static entry *find(const itg_cache *c, const itg_key *key)
{
    if (c->capacity == 0) return NULL;
    for (entry *e = *chain_of(c, key); e != NULL; e = e->next)
        if (itg_key_equal(&e->key, key)) return e;
    return NULL;
}

/* Ensures room for one more entry. */
static bool grow(itg_cache *c)
{
    if ((size_t)c->stats.entries < c->capacity) return true;
    size_t capacity = c->capacity == 0 ? 64 : 2 * c->capacity;
    entry **chains = calloc(capacity, sizeof *chains);
    entry **heap = capacity <= INT32_MAX ? calloc(capacity, sizeof *heap) : NULL;
    if (chains == NULL || heap == NULL) {
        free(chains);
        free(heap);
        return false;
    }
    if (c->heap_count > 0) memcpy(heap, c->heap, (size_t)c->heap_count * sizeof *heap);
    for (size_t i = 0; i < c->capacity; i++)
        for (entry *e = c->chains[i], *next; e != NULL; e = next) {
            next = e->next;
            entry **chain = &chains[e->key.word[0] & (capacity - 1)];
            e->next = *chain;
            *chain = e;
        }
    free(c->chains);
    free(c->heap);
    c->chains = chains;
    c->heap = heap;
    c->capacity = capacity;
    return true;
}

static void unlist(itg_cache *c, entry *e)
{
    entry **at = chain_of(c, &e->key);
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    e->listed = false;
    c->stats.entries--;
    c->stats.bytes -= e->bytes;
}

static void evict(itg_cache *c, entry *e)
{
    if (e->worth > c->age) c->age = e->worth;
    heap_remove(c, e);
    unlist(c, e);
    c->stats.evicted++;
    free(e);
}

/* Evicts entries until `bytes` fit. False: an entry of more worth would have to go. */
static bool make_room(itg_cache *c, size_t bytes, double density, bool must)
{
    if (bytes > c->max_bytes && !must) return false;
    while (c->heap_count > 0 && (bytes > c->max_bytes || c->stats.bytes > c->max_bytes - bytes)) {
        if (!must && c->heap[0]->worth >= c->age + density) {
            c->age += density / REFUSALS_TO_AGE;
            return false;
        }
        evict(c, c->heap[0]);
    }
    return must || c->stats.bytes <= c->max_bytes - bytes;
}

/* ---- holding ---- */

const void *itg_cache_fetch(itg_cache *cache, const itg_key *key, size_t bytes)
{
    const void *data = NULL;
    pthread_mutex_lock(&cache->lock);
    entry *e = find(cache, key);
    if (e != NULL && e->complete && e->bytes == bytes) {
        if (e->holders++ == 0) heap_remove(cache, e);
        if (e->uses < MOST_USES) e->uses++;
        cache->stats.hits++;
        data = e->data;
    } else {
        cache->stats.misses++;
    }
    pthread_mutex_unlock(&cache->lock);
    return data;
}

/* Creates an entry with its data. The address of the entry precedes the data. */
static entry *entry_create(const itg_key *key, size_t bytes, double density)
{
    const size_t head = sizeof(entry) + sizeof(entry *) + 63;
    if (bytes > SIZE_MAX / 2) return NULL;
    entry *e = malloc(head + bytes + SLACK);
    if (e == NULL) return NULL;
    *e = (entry){.key = *key, .bytes = bytes, .density = density, .holders = 1, .uses = 1};
    unsigned char *data = (unsigned char *)(e + 1) + sizeof(entry *);
    data += (64 - (uintptr_t)data % 64) % 64;
    memcpy(data - sizeof e, &e, sizeof e);
    e->data = data;
    return e;
}

static entry *entry_of(const void *data)
{
    entry *e;
    memcpy(&e, (const unsigned char *)data - sizeof e, sizeof e);
    return e;
}

void *itg_cache_reserve(itg_cache *cache, const itg_key *key, size_t bytes, double cost, bool must)
{
    const double density = cost / ((double)bytes + 1);
    entry *e = NULL;
    pthread_mutex_lock(&cache->lock);
    bool taken = find(cache, key) != NULL;
    bool wanted = !taken && make_room(cache, bytes, density, must), kept = wanted && grow(cache);
    if (kept || (must && !wanted)) e = entry_create(key, bytes, density);
    if (e != NULL && kept) {
        entry **chain = chain_of(cache, key);
        e->listed = true;
        e->next = *chain;
        *chain = e;
        cache->stats.entries++;
        cache->stats.bytes += bytes;
        if (cache->stats.bytes > cache->stats.most_bytes)
            cache->stats.most_bytes = cache->stats.bytes;
    }
    if (!kept && !taken) cache->stats.refused++;
    pthread_mutex_unlock(&cache->lock);
    return e == NULL ? NULL : e->data;
}

const void *itg_cache_hold(itg_cache *cache, const void *data)
{
    pthread_mutex_lock(&cache->lock);
    entry_of(data)->holders++;
    pthread_mutex_unlock(&cache->lock);
    return data;
}

void itg_cache_commit(itg_cache *cache, const void *data)
{
    pthread_mutex_lock(&cache->lock);
    entry_of(data)->complete = true;
    pthread_mutex_unlock(&cache->lock);
}

void itg_cache_release(itg_cache *cache, const void *data)
{
    if (data == NULL) return;
    entry *e = entry_of(data);
    pthread_mutex_lock(&cache->lock);
    if (--e->holders > 0) {
        e = NULL;
    } else if (e->listed && e->complete && cache->stats.bytes <= cache->max_bytes) {
        e->worth = cache->age + e->uses * e->density;
        heap_add(cache, e);
        e = NULL;
    } else if (e->listed) {
        unlist(cache, e);
    }
    pthread_mutex_unlock(&cache->lock);
    free(e);
}
