/* Search samples, selection samples and hold-out of a search. Calibration reads its samples where
 * they lie. */
#include "search/search.h"
#include <math.h>
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

static itg_status pick_part(itg_searching *s, const itg_search_data *d, itg_split_part part,
                            int set, itg_error *err)
{
    return pick(d->data, d->labels, s->split.part[part], s->split.info.count[part], &s->sets[set],
                err);
}

static bool has_floor(const itg_goal *goal)
{
    const itg_constraint *c = itg_goal_constraint(goal, itg_goal_quality_metric(goal));
    return c && !isinf(c->bound) && !itg_goal_maximizes_quality(goal);
}

itg_status itg_search_pick_samples(itg_searching *s, const itg_search_data *d, itg_error *err)
{
    const itg_search_options *o = s->options;
    const int64_t wanted[ITG_SPLIT_PARTS] = {[ITG_SPLIT_CALIBRATION] = o->calibration_samples,
                                             [ITG_SPLIT_SEARCH] = o->search_samples,
                                             [ITG_SPLIT_SELECTION] =
                                                 has_floor(&o->goal) ? o->selection_samples : -1,
                                             [ITG_SPLIT_HOLDOUT] = d->holdout ? -1 : 0};
    s->samples = itg_data_samples(d->data);
    itg_status status = itg_split_make(s->samples, o->seed, wanted, &s->split, err);
    if (status == ITG_OK) status = pick_part(s, d, ITG_SPLIT_SEARCH, ITG_SET_SEARCH, err);
    if (status == ITG_OK && s->split.info.count[ITG_SPLIT_SELECTION] > 0)
        status = pick_part(s, d, ITG_SPLIT_SELECTION, ITG_SET_SELECTION, err);
    if (status != ITG_OK) return status;
    return d->holdout ? pick(d->holdout, d->holdout_labels, NULL, itg_data_samples(d->holdout),
                             &s->sets[ITG_SET_HOLDOUT], err)
                      : pick_part(s, d, ITG_SPLIT_HOLDOUT, ITG_SET_HOLDOUT, err);
}

void itg_search_drop_samples(itg_searching *s)
{
    for (int i = 0; i < ITG_SETS; i++) {
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
