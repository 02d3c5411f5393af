#include "search/split.h"
#include <stdlib.h>

#define DEFAULT_CALIBRATION 512
#define DEFAULT_SEARCH 1024

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void itg_split_deinit(itg_split *split)
{
    free(split->calibration);
    *split = (itg_split){0};
}

itg_status itg_split_make(int64_t samples, uint64_t seed, int64_t calibration, int64_t search, bool with_holdout, itg_split *out, itg_error *err)
{
    if (samples < 4 || samples > UINT32_MAX) return itg_fail(err, ITG_BAD_ARGUMENT, "a search needs at least 4 samples, not %lld", (long long)samples);
    itg_split s = {.holdout_count = with_holdout ? samples / 4 : 0};
    int64_t left = samples - s.holdout_count;
    s.calibration_count = calibration > 0 ? calibration : DEFAULT_CALIBRATION;
    if (s.calibration_count > left / 3) s.calibration_count = left / 3;
    left -= s.calibration_count;
    s.search_count = search > 0 ? search : DEFAULT_SEARCH;
    if (s.search_count > left) s.search_count = left;
    int64_t *all = malloc(sizeof *all * (size_t)samples);
    uint32_t *order = malloc(sizeof *order * (size_t)samples);
    if (!all || !order) {
        free(all);
        free(order);
        return itg_fail(err, ITG_NO_MEMORY, "no memory to split %lld samples", (long long)samples);
    }
    itg_rng rng;
    itg_rng_init(&rng, seed);
    for (int64_t i = 0; i < samples; i++) order[i] = (uint32_t)i;
    itg_rng_shuffle(&rng, order, (size_t)samples);
    for (int64_t i = 0; i < samples; i++) all[i] = order[i];
    free(order);
    s.calibration = all;
    s.search = all + s.calibration_count;
    s.holdout = s.search + s.search_count;
    qsort(s.calibration, (size_t)s.calibration_count, sizeof *all, compare);
    qsort(s.search, (size_t)s.search_count, sizeof *all, compare);
    qsort(s.holdout, (size_t)s.holdout_count, sizeof *all, compare);
    *out = s;
    return ITG_OK;
}
