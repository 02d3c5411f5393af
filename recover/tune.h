/* Scales and biases of all layers together, after their codes are chosen. Private to recover/.
 *
 * Layer by layer, each layer's outputs come as near to the float network's as its codes allow. What
 * is left adds up towards the outputs, and scales and biases cost nothing at run time. So they move
 * once more, together, by one step of Gauss-Newton: with J the derivatives of the outputs by them,
 * q the probabilities of the network with these weights and p those of the float network, the step
 * minimizes the second-order model of the Kullback-Leibler divergence of q from p, sum of
 * d' J' (diag q - q q') J d / 2 + (q - p)' J d (Schraudolph 2002, Martens 2014), plus ridge.
 *
 * Sources: bias correction end to end by Finkelstein 2019 (Fighting Quantization Bias With Bias),
 * scales, too, by Finkelstein 2022 (QFT). They train; here it is one linear system, and the step is
 * taken only if the exact integer program comes nearer to the float network with it, on samples
 * that did not decide about it. */
#ifndef ITG_RECOVER_TUNE_H
#define ITG_RECOVER_TUNE_H
#include "recover/tune_check.h"

typedef struct itg_tuning {
    const itg_graph *g;
    const itg_hardware *hw;
    const itg_layer *layers;
    int32_t layer_count;
    itg_calibration_samples samples; /* the first of them decide, the rest checks */
    itg_tune_odds *odds;             /* of these; NULL: no gradients */
    const itg_recover_options *options;
    const itg_constants *constants;
    itg_cache *weights;
} itg_tuning;

/* Changes scales and biases of the layers with codes of their own. The strategy stays as it is if
 * the network is no classifier, if it is too large for some hundred gradients, or if nothing better
 * is found. */
/* Whether the network is small enough for it, and the samples are enough. */
bool itg_tune_can(const itg_graph *g, int64_t samples);
itg_status itg_tune(const itg_tuning *tuning, itg_strategy *s, itg_error *err);
#endif
