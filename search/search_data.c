/* Search samples and hold-out of a search. Calibration reads its samples where they lie. */
#include "search/search.h"
#include <stdlib.h>

/* samples NULL: all. */
static itg_status pick(const itg_dataset *data, const itg_dataset *labels, const int64_t *samples,
                       int64_t count, itg_sample_set *out, itg_error *err)
{
    itg_status status = labels ? itg_labels_check(labels, itg_data_samples(data), err) : ITG_OK;
    if (status == ITG_OK) status = itg_dataset_select(data, samples, count, &out->data, err);
    if (status == ITG_OK && labels)
        status = itg_dataset_select(labels, samples, count, &out->labels, err);
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
               ? pick(d->holdout, d->holdout_labels, NULL, itg_data_samples(d->holdout),
                      &s->sets[1], err)
               : pick(d->data, d->labels, split->holdout, split->holdout_count, &s->sets[1], err);
}

void itg_search_drop_samples(itg_searching *s)
{
    for (int i = 0; i < 2; i++) {
        itg_data_close(s->sets[i].data);
        itg_data_close(s->sets[i].labels);
        free(s->sets[i].classes);
        free(s->sets[i].order);
        itg_expectation_deinit(&s->sets[i].expected);
        itg_reference_deinit(&s->sets[i].outputs);
    }
    itg_data_close(s->calibration);
    itg_split_deinit(&s->split);
}
