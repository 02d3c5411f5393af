/* The order in which trials run their samples: the closer the float network's two highest outputs
 * are, the earlier; where correct classes are counted, first of all those that it gets wrong. A
 * trial errs there first, so that one whose quality is too low is known to be after a third of the
 * samples rather than after nearly all. */
#include <stdlib.h>
#include "search/search.h"

typedef struct place {
    int64_t sample;
    bool right;
    float margin;
} place;

static int by_margin(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->right != y->right) return x->right ? 1 : -1;
    if (x->margin < y->margin || y->margin < x->margin) return x->margin < y->margin ? -1 : 1;
    return (x->sample > y->sample) - (x->sample < y->sample);
}

static float margin_of(const float *outputs, int64_t count)
{
    float first = outputs[0], second = outputs[1];
    for (int64_t i = 1; i < count; i++) {
        if (outputs[i] > first) {
            second = first;
            first = outputs[i];
        } else if (i == 1 || outputs[i] > second) {
            second = outputs[i];
        }
    }
    return first - second;
}

itg_status itg_search_order_samples(const itg_model *model, itg_sample_set *set, itg_error *err)
{
    const itg_reference *r = &set->outputs;
    int64_t count = 0;
    if (!r->values || !itg_shape_elements(&model->values[model->outputs[0]].shape, &count) ||
        count < 2)
        return ITG_OK;
    size_t samples = (size_t)r->samples;
    place *places = calloc(samples + 1, sizeof *places);
    set->order = calloc(samples + 1, sizeof *set->order);
    if (!places || !set->order) {
        free(places);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the order of samples");
    }
    for (int64_t i = 0; i < r->samples; i++) {
        int64_t label = set->classes[i];
        if (set->has_classes && set->expected.samples == 0)
            (void)itg_dataset_integer(set->labels, i, &label);
        places[i] =
            (place){i, set->classes[i] == label, margin_of(r->values + i * r->elements, count)};
    }
    qsort(places, samples, sizeof *places, by_margin);
    for (size_t i = 0; i < samples; i++)
        set->order[i] = places[i].sample;
    free(places);
    return ITG_OK;
}
