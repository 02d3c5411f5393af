/* Measures the saving of each width, in the cost that a goal counts, on the annotated graph. */
#ifndef ITG_MEASURE_H
#define ITG_MEASURE_H
#include "search/evaluator.h"

/* Fills cost_per_level of evaluator->points: what one level of a dimension saves on average, alone
 * from its top to its bottom (one level, where the hardware cannot run that); measured with all
 * others at their widest and at their narrowest, the larger counts: a peak of memory does not fall
 * with one tensor of two that are at it. A level counts in the cost that is minimized, and in
 * limits that the widest point exceeds: the cost that is minimized (maximizing quality: 1) times
 * the share of the limit. Where the hardware can run none of these points: the bytes of weights a
 * bit, or 1. *varies: false where all these points cost the same of what is minimized. */
itg_status itg_measure_levels(const itg_evaluator *evaluator, const itg_objective *objective,
                              int threads, bool *varies, itg_error *err);
#endif
