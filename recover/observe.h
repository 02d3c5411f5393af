/* Observes a layer on the calibration samples: its inputs as the integer program computes them, and
 * its target outputs. Private to recover/. */
#ifndef ITG_RECOVER_OBSERVE_H
#define ITG_RECOVER_OBSERVE_H
#include "base/cache.h"
#include "recover/kept.h"
#include "recover/layer.h"
#include "recover/recover.h"

/* Number of samples of a run. */
#define ITG_RECOVER_BLOCK 8

/* Sums over all observed positions. x: input codes minus their zero point, or the inputs of a float
 * node in units of input_scale; t: target outputs in units of `step`. */
typedef struct itg_moments {
    int64_t count;
    double step; /* a power of two */
    double input_scale;
    int64_t *xx; /* [groups][depth][depth]; the upper triangle */
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
    itg_cache *weights;
    itg_kept *kept; /* of the layers before; gets this layer's inputs */
    int32_t most_kept;
} itg_observation;

/* The caller deinits *out, even after a failure. */
itg_status itg_observe(const itg_observation *observation, itg_moments *out, itg_error *err);
void itg_moments_deinit(itg_moments *moments);
#endif
