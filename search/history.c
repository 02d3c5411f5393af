#include "search/history.h"
#include <math.h>
#include <stdlib.h>

itg_status itg_history_add(itg_history *h, const int32_t *levels, const itg_outcome *outcome)
{
    itg_outcome kept = *outcome;
    const int64_t known = itg_point_map_find(h, levels);
    kept.conflicts = NULL;
    itg_outcome *before = known < 0 ? NULL : itg_point_map_record(h, known);
    if (!before || !isnan(before->quality)) return itg_point_map_add(h, levels, &kept);
    *before = kept;
    return ITG_OK;
}

bool itg_history_tells(const itg_history *h, const int32_t *levels)
{
    const int64_t known = itg_point_map_find(h, levels);
    return known >= 0 && !isnan(itg_history_at(h, known)->quality);
}

const itg_outcome *itg_history_at(const itg_history *h, int64_t index)
{
    return itg_point_map_record(h, index);
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

/* Joins neighbours where quality would rise with distortion. */
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
        const itg_outcome *o = itg_history_at(h, i);
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
