/* Thresholds of activations by what they do to the outputs. Private to recover/.
 *
 * A threshold method chooses a range by the values in it: mostly, so that their errors are small.
 * But an error matters as the outputs depend on it. With g the gradient of the likelihood of a
 * classifier's outputs, drawn as the float network says they are distributed, errors e of a value
 * make their distribution diverge by about (g'e)^2 / 2 on average (the Fisher information along e:
 * Amari 1998). So other ranges are tried, those first that promise most by that; one stays where
 * the exact integer program comes nearer to the float network with it. */
#ifndef ITG_RECOVER_RANGES_H
#define ITG_RECOVER_RANGES_H
#include "recover/tune.h"

/* A divergence that is worth an effort: a tenth of a point of accuracy, about. */
#define ITG_LEAST_DIVERGENCE 0.002

typedef struct itg_ranges_chosen {
    bool changed;
    bool is_lossy; /* with these weights, ITG_LEAST_DIVERGENCE or more is left */
} itg_ranges_chosen;

/* Changes thresholds of activations, before weights are reconstructed: the programs that are
 * compared have weights of 8 bits if the hardware can, or the strategy's. The strategy stays as it
 * is if the network is no classifier, if it is too large for some gradients, if next to nothing is
 * lost, or if nothing better is found. */
itg_status itg_choose_ranges(const itg_tuning *tuning, itg_strategy *s, itg_ranges_chosen *out,
                             itg_error *err);
#endif
