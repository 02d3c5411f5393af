#include "search/split.h"
#include <stdlib.h>

#define DEFAULT_CALIBRATION 512
#define DEFAULT_SEARCH 1024
#define DEFAULT_SELECTION 4096

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void itg_split_deinit(itg_split *split)
{
    free(split->all);
    *split = (itg_split){0};
}

/* The hold-out comes first: it is the same whatever the others are. */
static const itg_split_part places[ITG_SPLIT_PARTS] = {ITG_SPLIT_HOLDOUT, ITG_SPLIT_CALIBRATION,
                                                       ITG_SPLIT_SEARCH, ITG_SPLIT_SELECTION};

itg_status itg_split_repeat(const itg_split_info *info, itg_split *out, itg_error *err)
{
    int64_t samples = info->samples;
    itg_split s = {.info = *info};
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
    s.all = all;
    for (int i = 0; i < ITG_SPLIT_PARTS; i++) {
        itg_split_part part = places[i];
        s.part[part] = all;
        qsort(all, (size_t)info->count[part], sizeof *all, compare);
        all += info->count[part];
    }
    *out = s;
    return ITG_OK;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t wanted_or(int64_t wanted, int64_t by_default)
{
    return wanted < 0 ? 0 : wanted > 0 ? wanted : by_default;
}

itg_status itg_split_make(int64_t samples, uint64_t seed, const int64_t wanted[ITG_SPLIT_PARTS],
                          itg_split *out, itg_error *err)
{
    if (samples < 4 || samples > UINT32_MAX)
        return itg_fail(err, ITG_BAD_ARGUMENT, "a search needs at least 4 samples, not %lld",
                        (long long)samples);
    itg_split_info info = {.samples = samples, .seed = seed};
    int64_t *count = info.count, left = samples;
    int64_t search = wanted_or(wanted[ITG_SPLIT_SEARCH], DEFAULT_SEARCH);
    left -= count[ITG_SPLIT_HOLDOUT] = wanted_or(wanted[ITG_SPLIT_HOLDOUT], samples / 4);
    left -= count[ITG_SPLIT_CALIBRATION] =
        least(wanted_or(wanted[ITG_SPLIT_CALIBRATION], DEFAULT_CALIBRATION), left / 3);
    int64_t spare = least(DEFAULT_SELECTION, left - least(search, left));
    if (spare < ITG_LEAST_SELECTION) spare = 0;
    int64_t asked = wanted[ITG_SPLIT_SELECTION];
    left -= count[ITG_SPLIT_SELECTION] = asked > 0 ? least(asked, left / 2) : asked < 0 ? 0 : spare;
    count[ITG_SPLIT_SEARCH] = least(search, left);
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
    int64_t count = info->count[part];
    if (count == 0)
        status = itg_fail(err, ITG_BAD_ARGUMENT, "the search set no samples aside for that part");
    if (status == ITG_OK) status = itg_dataset_select(data, split.part[part], count, out, err);
    itg_split_deinit(&split);
    return status;
}
