/* The expected top-1 of a network that differs slightly from the float network.
 *
 * Counting correct classes is coarse: with 1,000 samples, a drop of one point is known to about 0.6
 * points, because a few samples turn wrong and about as many turn right by chance. The float
 * network says more: a sample for which another class is chosen is right with the probability of
 * that class instead of its own. So a sample costs the difference of the two, and the sum is known
 * four times as well. Probabilities are the softmax of the outputs over a temperature that is
 * fitted to the labels by maximum likelihood (Guo et al. 2017, On Calibration of Modern Neural
 * Networks). The bound lies a multiple of the standard error away, as for a normal distribution. */
#ifndef ITG_EXPECTED_H
#define ITG_EXPECTED_H
#include "sim/distance.h"

#define ITG_LOSS_ONE ((double)(1 << 20))

typedef struct itg_expectation {
    int64_t samples, classes; /* samples 0: nothing can be expected */
    uint32_t *loss;    /* [samples][classes]: cost of choosing the class, in 1/ITG_LOSS_ONE */
    double top1;       /* the float network's own, by the labels */
    double deviations; /* standard errors between what is expected and the bound */
    bool bounded;      /* the bound is wanted */
} itg_expectation;

/* classes: the float network's choices; labels: the true ones; [reference->samples], each below the
 * reference's elements. The expectation is empty if the labels do not fit the outputs: the
 * likelihood has no maximum, or the probabilities of the network's classes are far from its top-1.
 * confidence: of the bound, from 0.5 to less than 1. */
itg_status itg_expectation_make(const itg_reference *reference, const int64_t *classes,
                                const int64_t *labels, double confidence, itg_expectation *out,
                                itg_error *err);
void itg_expectation_deinit(itg_expectation *expectation);
/* Returns the expected top-1 after losses of `lost` in 1/ITG_LOSS_ONE: never rising, at least 0. */
double itg_expected_top1(const itg_expectation *expectation, uint64_t lost);
/* Returns the standard errors of a normal distribution for a confidence: 0.95 gives 1.645. */
double itg_deviations_of(double confidence);
/* Returns the lower bound of top-1 by the sums of losses and of their squares. */
double itg_expected_bound(const itg_expectation *expectation, uint64_t lost, uint64_t squares);
/* Whether the samples are enough to show that top-1 drops by no more than `drop`, if it does not
 * drop at all. */
bool itg_expectation_supports(const itg_expectation *expectation, double drop);
#endif
