/* How far an integer program is from the float network. Private to recover/. */
#ifndef ITG_RECOVER_TUNE_CHECK_H
#define ITG_RECOVER_TUNE_CHECK_H
#include "base/cache.h"
#include "recover/layer.h"
#include "recover/recover.h"

/* A classifier, and what its float network says of the samples. */
typedef struct itg_tune_odds {
    const itg_graph *g;
    itg_calibration_samples samples;
    const itg_recover_options *options;
    int threads;
    int64_t classes;
    double *of; /* [samples][classes]: probabilities */
} itg_tune_odds;

/* Fills `classes` and `of`, which the caller frees in any case. */
itg_status itg_tune_odds_find(itg_tune_odds *odds, itg_error *err);
/* Sets *out to the mean Kullback-Leibler divergence of the probabilities by the integer program, of
 * samples from `first` on; INFINITY: the hardware cannot run it. */
itg_status itg_tune_measure(const itg_tune_odds *odds, int64_t first,
                            const itg_annotated *annotated, itg_cache *weights, double *out,
                            itg_error *err);
#endif
