/* The metrics that are a mean of distances from targets, over all samples and elements of the first
 * output. */
#ifndef ITG_ERRORS_H
#define ITG_ERRORS_H
#include "sim/sim.h"

typedef double (*itg_error_fn)(double distance);
/* [itg_metric]: the term of one distance. NULL: the metric is no such mean. */
extern const itg_error_fn itg_error_of[ITG_METRIC_COUNT];

/* Adds the terms of one sample to sums[ITG_METRIC_COUNT]. The output counts as float32. quantizer:
 * of one scale; NULL: not quantized. targets: as many elements a sample as the output has. */
void itg_errors_add(const itg_tensor *output, const itg_quantizer *quantizer,
                    const itg_dataset *targets, int64_t sample, double *sums);
#endif
