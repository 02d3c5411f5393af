#include "recover/kept.h"
#include <stdlib.h>

typedef struct entry {
    unsigned char *codes; /* [samples][bytes]; NULL: gone */
    size_t bytes, all;    /* of a sample, of all */
    itg_id value;
} entry;

struct itg_kept {
    itg_tap *taps;
    entry *entries;
    int32_t *of; /* [values] */
    int32_t count, oldest, most;
    size_t bytes, limit;
};

itg_status itg_kept_create(const itg_graph *g, int32_t most, size_t bytes, itg_kept **out,
                           itg_error *err)
{
    itg_kept *k = calloc(1, sizeof *k);
    *out = k;
    if (k) {
        k->most = most;
        k->limit = bytes;
        k->taps = calloc((size_t)most + 1, sizeof *k->taps);
        k->entries = calloc((size_t)most + 1, sizeof *k->entries);
        k->of = calloc((size_t)g->value_count + 1, sizeof *k->of);
    }
    if (!k || !k->taps || !k->entries || !k->of)
        return itg_fail(err, ITG_NO_MEMORY, "no memory to keep what edges carry");
    for (itg_id v = 0; v < g->value_count; v++)
        k->of[v] = ITG_NONE;
    return ITG_OK;
}

void itg_kept_destroy(itg_kept *k)
{
    if (!k) return;
    for (int32_t i = 0; i < k->count; i++)
        free(k->entries[i].codes);
    free(k->taps);
    free(k->entries);
    free(k->of);
    free(k);
}

itg_known itg_kept_edges(const itg_kept *k)
{
    return (itg_known){k->taps, k->of};
}

static void drop_oldest(itg_kept *k)
{
    const int32_t i = k->oldest++;
    entry *e = &k->entries[i];
    if (k->of[e->value] == i) k->of[e->value] = ITG_NONE;
    free(e->codes);
    e->codes = NULL;
    k->bytes -= e->all;
}

void itg_kept_make_room(itg_kept *k, size_t bytes)
{
    while (bytes <= k->limit && k->bytes > k->limit - bytes)
        drop_oldest(k);
}

void itg_kept_drop_all(itg_kept *k)
{
    while (k->oldest < k->count)
        drop_oldest(k);
}

itg_status itg_kept_add(itg_kept *k, itg_tap tap, itg_id value, int64_t samples, size_t bytes,
                        unsigned char **out, itg_error *err)
{
    size_t all;
    *out = NULL;
    if (k->count == k->most || !itg_mul_size((size_t)samples, bytes, &all) || all > k->limit ||
        k->bytes > k->limit - all)
        return ITG_OK;
    *out = malloc(all + 1);
    if (!*out) return itg_fail(err, ITG_NO_MEMORY, "no memory to keep what an edge carries");
    const int32_t i = k->count++;
    k->taps[i] = tap;
    k->entries[i] = (entry){*out, bytes, all, value};
    k->of[value] = i;
    k->bytes += all;
    return ITG_OK;
}

const unsigned char *itg_kept_codes(const itg_kept *k, int32_t i, int64_t sample, size_t *bytes)
{
    *bytes = k->entries[i].bytes;
    return k->entries[i].codes + (size_t)sample * *bytes;
}
