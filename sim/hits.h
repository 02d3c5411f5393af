/* Classes, and the metrics that are a share of the samples. */
#ifndef ITG_HITS_H
#define ITG_HITS_H
#include "base/base.h"

/* Whether a tensor is a list of classes: only one axis is longer than 1, or it is one int64
 * element, the class itself. */
bool itg_has_classes(itg_dtype dtype, const itg_shape *shape);
/* Returns the argmax over a flattened tensor, the lowest index of equal ones; an int64 tensor of
 * one element is the class itself. */
int64_t itg_class_of(const itg_tensor *output);

typedef struct itg_sample {
    const itg_tensor *output;           /* the first; NULL: there is none */
    int64_t class_id;                   /* itg_class_of(output); -1: none */
    const int64_t *label, *float_class; /* NULL: not given */
    const int64_t *binary;              /* 0 or 1, of one logit or probability; NULL: it is none */
    double logit;                       /* minus the threshold: class 1 if above 0 */
} itg_sample;
/* Returns 1 if the sample counts, 0 if not, -1 if the metric does not apply. */
typedef int (*itg_hit_fn)(const itg_sample *sample);
/* [itg_metric]; NULL: the metric is no share of the samples. */
extern const itg_hit_fn itg_hit_of[ITG_METRIC_COUNT];
#endif
