/* The top-1 to be expected of a network that is not quite the float one.
 *
 * Counting correct classes is coarse: of 1,000 samples, a drop of one point is known to about 0.6
 * points, as a few samples turn wrong and about as many turn right by chance. The float network
 * says more: where another class is chosen than its own, the sample is right with the probability
 * of that class in place of its own's. So a sample costs the difference of the two; its sum is
 * known four times as well. Probabilities are the softmax of the outputs over a temperature, which
 * is fitted to the labels by maximum likelihood (Guo et al. 2017, On Calibration of Modern Neural
 * Networks). The bound is a multiple of the standard error away, as of a normal distribution. */
#ifndef ITG_EXPECTED_H
#define ITG_EXPECTED_H
#include "sim/distance.h"

#define ITG_LOSS_ONE ((double)(1 << 20))

typedef struct itg_expectation {
    int64_t samples, classes; /* samples 0: nothing can be expected */
    uint32_t *loss;    /* [samples][classes]: what choosing the class costs, of ITG_LOSS_ONE */
    double top1;       /* the float network's own, by the labels */
    double deviations; /* standard errors between what is expected and the bound */
    bool bounded;      /* the bound is wanted */
} itg_expectation;

/* classes: the float network's own, labels: the true ones; [reference->samples], each below the
 * reference's elements. No expectation where the labels do not fit the outputs: the likelihood has
 * no maximum, or the probabilities of the network's classes are far from its top-1. confidence: of
 * the bound, from 0.5 to less than 1. */
itg_status itg_expectation_make(const itg_reference *reference, const int64_t *classes,
                                const int64_t *labels, double confidence, itg_expectation *out,
                                itg_error *err);
void itg_expectation_deinit(itg_expectation *expectation);
/* After `lost` of all samples, of ITG_LOSS_ONE: never more for a larger loss, never below 0. */
double itg_expected_top1(const itg_expectation *expectation, uint64_t lost);
/* How many standard errors of a normal distribution the confidence is: 0.95 gives 1.645. */
double itg_deviations_of(double confidence);
/* What top-1 is at least, with the confidence: by the sums of losses and of their squares. */
double itg_expected_bound(const itg_expectation *expectation, uint64_t lost, uint64_t squares);
/* Whether the samples are enough to say that top-1 drops by no more than `drop`, if it does not at
 * all. */
bool itg_expectation_supports(const itg_expectation *expectation, double drop);
#endif
