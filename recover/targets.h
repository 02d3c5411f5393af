/* The target outputs of layers: the float network's, at the observed positions. Private to
 * recover/. */
#ifndef ITG_RECOVER_TARGETS_H
#define ITG_RECOVER_TARGETS_H
#include "recover/layer.h"
#include "recover/recover.h"
#include "recover/tune_check.h"

/* Targets of layers [first, end): [samples][taken][channels]. If only an Add reads the output, they
 * are the Add's result. */
typedef struct itg_targets {
    int32_t first, end;
    size_t bytes;
    float **values; /* [layers] */
} itg_targets;

/* Fills the targets of as many layers from `first` on as memory allows, at least one, and frees the
 * previous ones. Runs the float network once, with the reference kernels. odds: of these samples;
 * known afterwards, too; NULL: not wanted. */
itg_status itg_targets_fill(const itg_graph *g, const itg_layer *layers, int32_t layer_count,
                            int32_t first, const itg_calibration_samples *samples,
                            const itg_recover_options *options, itg_targets *targets,
                            itg_tune_odds *odds, itg_error *err);
void itg_targets_deinit(itg_targets *targets);
#endif
