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
    int threads; /* so many have room for gradients, too */
    int64_t classes, known;
    double *of; /* [known][classes]: probabilities of the first samples */
} itg_tune_odds;

/* False: the network is no classifier, or its gradients need too much memory. */
bool itg_tune_odds_init(const itg_graph *g, const itg_calibration_samples *samples,
                        const itg_recover_options *options, itg_tune_odds *out);
/* Finds those of the first `count` samples. */
itg_status itg_tune_odds_reach(itg_tune_odds *odds, int64_t count, itg_error *err);
/* The parts of it, for who runs the float network anyway: makes room; sets those of a sample. The
 * caller then sets `known`. */
itg_status itg_tune_odds_reserve(itg_tune_odds *odds, int64_t count, itg_error *err);
void itg_tune_odds_set(const itg_tune_odds *odds, int64_t sample, const float *outputs);
void itg_tune_odds_deinit(itg_tune_odds *odds);
/* Returns how many of `samples` samples can have gradients in the time that the network needs for
 * `macs` multiply-accumulates. */
int64_t itg_tune_samples(const itg_graph *g, int64_t samples, double macs);

/* Sets *out to the mean Kullback-Leibler divergence of the probabilities by the integer program, of
 * samples [first, end); INFINITY: the hardware cannot run it. */
itg_status itg_tune_measure(itg_tune_odds *odds, int64_t first, int64_t end,
                            const itg_annotated *annotated, itg_cache *weights, double *out,
                            itg_error *err);
#endif
