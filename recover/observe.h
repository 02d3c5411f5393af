/* What a layer meets on the calibration samples: its inputs as the integer program computes them,
 * and the outputs it should have. Private to recover/. */
#ifndef ITG_RECOVER_OBSERVE_H
#define ITG_RECOVER_OBSERVE_H
#include "base/cache.h"
#include "recover/layer.h"
#include "recover/recover.h"

/* Samples that are run at once; all runs have equal blocks, so that what was computed is reused. */
#define ITG_RECOVER_BLOCK 8

/* Sums over all positions that were looked at. x: input codes less their zero point; t: wished
 * outputs in units of `step`. */
typedef struct itg_moments {
    int64_t count;
    double step; /* a power of two */
    int64_t *xx; /* [groups][depth][depth]; where the column is at least the row */
    int64_t *tx; /* [channels][depth] */
    int64_t *x;  /* [groups][depth] */
    int64_t *t;  /* [channels] */
} itg_moments;

typedef struct itg_observation {
    const itg_annotated *annotated; /* weights of earlier layers are final */
    const itg_layer *layer;
    const float *targets; /* [samples][taken][channels] (targets.h) */
    itg_calibration_samples samples;
    const itg_recover_options *options;
    itg_cache *weights, *activations;
} itg_observation;

/* The caller deinits *out, also where it fails. */
itg_status itg_observe(const itg_observation *observation, itg_moments *out, itg_error *err);
void itg_moments_deinit(itg_moments *moments);
#endif
