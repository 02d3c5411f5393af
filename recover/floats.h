/* What reconstruction asks of the float network: the outputs that layers should have, which of
 * their errors matter, and the probabilities of classes. It follows from the network and the
 * samples, so all strategies that are recovered with one itg_recovery share it. Private to
 * recover/. */
#ifndef ITG_RECOVER_FLOATS_H
#define ITG_RECOVER_FLOATS_H
#include "recover/metric.h"
#include "recover/targets.h"

struct itg_recover_floats {
    const itg_graph *g;
    itg_feed feed;
    int64_t samples; /* the first so many of it */
    itg_layer *layers;
    int32_t layer_count;
    itg_targets targets; /* of some of the layers */
    itg_metrics metrics; /* of NULL: not computed yet */
    itg_tune_odds odds;
    bool has_odds; /* the network is a classifier with gradients */
};
typedef struct itg_recover_floats itg_recover_floats;

/* The recovery's; made where it has none yet. options: for who runs the float network from now on,
 * until the next call. */
itg_status itg_recover_floats_begin(itg_recovery *recovery, const itg_recover_options *options,
                                    itg_recover_floats **out, itg_error *err);
/* Frees what would take too much memory until the next strategy. */
void itg_recover_floats_end(itg_recover_floats *floats);
/* Sets `layers` to those whose weights can be reconstructed in `a`. What is known of other layers
 * is forgotten. */
itg_status itg_recover_floats_take(itg_recover_floats *floats, const itg_annotated *a,
                                   itg_error *err);
static inline itg_calibration_samples itg_recover_floats_samples(const itg_recover_floats *floats)
{
    return (itg_calibration_samples){&floats->feed, floats->samples};
}
/* Runs the float network where the targets of layer `index` are not there. */
itg_status itg_recover_floats_reach(itg_recover_floats *floats, int32_t index,
                                    const itg_recover_options *options, itg_error *err);
/* Computes the metrics, once. */
itg_status itg_recover_floats_weigh(itg_recover_floats *floats, const itg_recover_options *options,
                                    itg_error *err);
#endif
