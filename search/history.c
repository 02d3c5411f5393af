#include "search/history.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static itg_status grow(itg_history *h)
{
    if (h->count < h->capacity) return ITG_OK;
    int64_t capacity = h->capacity ? 2 * h->capacity : 64;
    size_t bytes = 0;
    if (!itg_mul_size((size_t)capacity, sizeof *h->levels * ((size_t)h->dim_count + 1), &bytes))
        return ITG_NO_MEMORY;
    int32_t *levels = realloc(h->levels, bytes);
    if (levels) h->levels = levels;
    itg_outcome *outcomes = realloc(h->outcomes, (size_t)capacity * sizeof *outcomes);
    if (outcomes) h->outcomes = outcomes;
    if (!levels || !outcomes) return ITG_NO_MEMORY;
    h->capacity = capacity;
    return ITG_OK;
}

itg_status itg_history_add(itg_history *h, const int32_t *levels, const itg_outcome *outcome)
{
    itg_status status = grow(h);
    if (status != ITG_OK) return status;
    size_t dims = (size_t)h->dim_count;
    memcpy(h->levels + (size_t)h->count * dims, levels, dims * sizeof *levels);
    h->outcomes[h->count] = *outcome;
    h->outcomes[h->count++].conflicts = NULL;
    return ITG_OK;
}

void itg_history_deinit(itg_history *h)
{
    free(h->levels);
    free(h->outcomes);
    *h = (itg_history){0};
}

const itg_outcome *itg_history_find(const itg_history *h, const int32_t *levels)
{
    size_t dims = (size_t)h->dim_count;
    for (int64_t i = 0; i < h->count; i++)
        if (memcmp(h->levels + (size_t)i * dims, levels, dims * sizeof *levels) == 0)
            return &h->outcomes[i];
    return NULL;
}

/* A run of points of rising distortion whose qualities have been pooled. */
typedef struct pool {
    double quality, squares; /* sums */
    int64_t count;
    double least, distortion; /* of the distortions; distortion: the largest */
} pool;

static int by_distortion(const void *a, const void *b)
{
    const pool *x = a, *y = b;
    if (x->distortion != y->distortion) return x->distortion < y->distortion ? -1 : 1;
    return x->quality < y->quality ? -1 : x->quality > y->quality;
}

/* Quality may not rise with distortion: a run that would rise joins the one before. */
static int64_t pool_violators(pool *pools, int64_t count)
{
    int64_t used = 0;
    for (int64_t i = 0; i < count; i++) {
        pool p = pools[i];
        while (used > 0 && pools[used - 1].quality * (double)p.count <=
                               p.quality * (double)pools[used - 1].count) {
            used--;
            p.quality += pools[used].quality;
            p.squares += pools[used].squares;
            p.count += pools[used].count;
            p.least = pools[used].least;
        }
        pools[used++] = p;
    }
    return used;
}

/* Standard deviation of quality about the pools' means. */
static double deviation(const pool *pools, int64_t count, int64_t points)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += pools[i].squares - pools[i].quality * pools[i].quality / (double)pools[i].count;
    return points > count && sum > 0 ? sqrt(sum / (double)(points - count)) : 0;
}

itg_status itg_history_distortion_cap(const itg_history *h, double floor, double hopeless,
                                      double margin, double *out, double *unexplained)
{
    pool *pools = malloc(((size_t)h->count + 1) * sizeof *pools);
    int64_t points = 0;
    bool fell = false;
    if (!pools) return ITG_NO_MEMORY;
    for (int64_t i = 0; i < h->count; i++) {
        const itg_outcome *o = &h->outcomes[i];
        if (!o->feasible) continue;
        fell |= o->quality < floor;
        if (o->distortion >= 0 && o->quality >= hopeless)
            pools[points++] =
                (pool){o->quality, o->quality * o->quality, 1, o->distortion, o->distortion};
    }
    qsort(pools, (size_t)points, sizeof *pools, by_distortion);
    int64_t count = pool_violators(pools, points);
    double spread = deviation(pools, count, points);
    double wanted = floor + margin * spread, cap = -1;
    for (int64_t i = 0; i < count; i++) {
        if (pools[i].quality < wanted * (double)pools[i].count) continue;
        double next = 2 * pools[i].distortion;
        if (i + 1 < count && pools[i + 1].least < next) next = pools[i + 1].least;
        cap = 0.5 * (pools[i].distortion + next);
    }
    free(pools);
    *out = fell ? cap : INFINITY;
    *unexplained = spread;
    return ITG_OK;
}
