/* Search samples and hold-out of a search. Calibration reads its samples where they lie. */
#include "search/search.h"
#include <stdlib.h>

static itg_status pick_labels(const int64_t *labels, const int64_t *samples, int64_t count,
                              int64_t **out, itg_error *err)
{
    if (!labels) return ITG_OK;
    int64_t *picked = malloc(sizeof *picked * (size_t)(count + 1));
    if (!picked) return itg_fail(err, ITG_NO_MEMORY, "no memory for labels");
    for (int64_t i = 0; i < count; i++)
        picked[i] = labels[samples[i]];
    *out = picked;
    return ITG_OK;
}

static itg_status pick(const itg_dataset *data, const int64_t *labels, const int64_t *samples,
                       int64_t count, itg_sample_set *out, itg_error *err)
{
    itg_status status = itg_dataset_select(data, samples, count, &out->data, err);
    return status == ITG_OK ? pick_labels(labels, samples, count, &out->labels, err) : status;
}

static itg_status pick_all(const itg_dataset *data, const int64_t *labels, itg_sample_set *out,
                           itg_error *err)
{
    int64_t count = itg_data_samples(data), *all = malloc(sizeof *all * (size_t)(count + 1));
    if (!all) return itg_fail(err, ITG_NO_MEMORY, "no memory for the hold-out");
    for (int64_t i = 0; i < count; i++)
        all[i] = i;
    itg_status status = pick(data, labels, all, count, out, err);
    free(all);
    return status;
}

itg_status itg_search_pick_samples(itg_searching *s, const itg_search_data *d, itg_error *err)
{
    const itg_search_options *o = s->options;
    const itg_split *split = &s->split;
    s->samples = itg_data_samples(d->data);
    itg_status status = itg_split_make(s->samples, o->seed, o->calibration_samples,
                                       o->search_samples, !d->holdout, &s->split, err);
    if (status == ITG_OK)
        status = pick(d->data, d->labels, split->search, split->search_count, &s->sets[0], err);
    if (status != ITG_OK) return status;
    return d->holdout
               ? pick_all(d->holdout, d->holdout_labels, &s->sets[1], err)
               : pick(d->data, d->labels, split->holdout, split->holdout_count, &s->sets[1], err);
}

void itg_search_drop_samples(itg_searching *s)
{
    for (int i = 0; i < 2; i++) {
        itg_dataset_destroy(s->sets[i].data);
        free(s->sets[i].labels);
        free(s->sets[i].classes);
        free(s->sets[i].order);
        itg_reference_deinit(&s->sets[i].outputs);
    }
    itg_dataset_destroy(s->calibration);
    itg_split_deinit(&s->split);
}
