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

itg_status itg_split_repeat(const itg_split_info *info, itg_split *out, itg_error *err)
{
    int64_t samples = info->samples;
    itg_split s = {info->count[ITG_SPLIT_CALIBRATION],
                   info->count[ITG_SPLIT_SEARCH],
                   info->count[ITG_SPLIT_HOLDOUT],
                   NULL,
                   NULL,
                   NULL};
    int64_t *all = malloc(sizeof *all * (size_t)samples);
    uint32_t *order = malloc(sizeof *order * (size_t)samples);
    if (!all || !order) {
        free(all);
        free(order);
        return itg_fail(err, ITG_NO_MEMORY, "no memory to split %lld samples", (long long)samples);
    }
    itg_rng rng;
    itg_rng_init(&rng, info->seed);
    for (int64_t i = 0; i < samples; i++)
        order[i] = (uint32_t)i;
    itg_rng_shuffle(&rng, order, (size_t)samples);
    for (int64_t i = 0; i < samples; i++)
        all[i] = order[i];
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

itg_status itg_split_make(int64_t samples, uint64_t seed, int64_t calibration, int64_t search,
                          bool with_holdout, itg_split *out, itg_error *err)
{
    if (samples < 4 || samples > UINT32_MAX)
        return itg_fail(err, ITG_BAD_ARGUMENT, "a search needs at least 4 samples, not %lld",
                        (long long)samples);
    itg_split_info info = {.samples = samples, .seed = seed};
    int64_t *count = info.count;
    count[ITG_SPLIT_HOLDOUT] = with_holdout ? samples / 4 : 0;
    int64_t left = samples - count[ITG_SPLIT_HOLDOUT];
    count[ITG_SPLIT_CALIBRATION] = calibration > 0 ? calibration : DEFAULT_CALIBRATION;
    if (count[ITG_SPLIT_CALIBRATION] > left / 3) count[ITG_SPLIT_CALIBRATION] = left / 3;
    left -= count[ITG_SPLIT_CALIBRATION];
    count[ITG_SPLIT_SEARCH] = search > 0 ? search : DEFAULT_SEARCH;
    if (count[ITG_SPLIT_SEARCH] > left) count[ITG_SPLIT_SEARCH] = left;
    return itg_split_repeat(&info, out, err);
}

itg_status itg_data_part(const itg_dataset *data, const itg_split_info *info, itg_split_part part,
                         itg_dataset **out, itg_error *err)
{
    itg_split split = {0};
    if (info->samples == 0)
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "it records no split: it does not come from a search");
    if (data->shape.dims[0] != info->samples)
        return itg_fail(err, ITG_MISMATCH, "the search split %lld sample%s, the data has %lld",
                        (long long)info->samples, itg_plural(info->samples),
                        (long long)data->shape.dims[0]);
    itg_status status = itg_split_repeat(info, &split, err);
    if (status != ITG_OK) return status;
    const int64_t *samples = part == ITG_SPLIT_CALIBRATION ? split.calibration
                             : part == ITG_SPLIT_SEARCH    ? split.search
                                                           : split.holdout;
    int64_t count = info->count[part];
    if (count == 0)
        status = itg_fail(err, ITG_BAD_ARGUMENT, "the search set no samples aside for that part");
    if (status == ITG_OK) status = itg_dataset_select(data, samples, count, out, err);
    itg_split_deinit(&split);
    return status;
}
