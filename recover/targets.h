/* What the layers' outputs should be: the float network's, at the positions that are looked at.
 * Private to recover/. */
#ifndef ITG_RECOVER_TARGETS_H
#define ITG_RECOVER_TARGETS_H
#include "recover/layer.h"
#include "recover/recover.h"

/* Of the layers [first, end): [samples][taken][channels]; where the output goes into an Add alone,
 * what the Add makes of it. */
typedef struct itg_targets {
    int32_t first, end;
    float **values; /* [layers] */
} itg_targets;

/* Targets of as many layers from `first` on as memory allows, at least one; what *targets had is
 * freed. One run of the float network, by the reference kernels. */
itg_status itg_targets_fill(const itg_graph *g, const itg_layer *layers, int32_t layer_count,
                            int32_t first, const itg_calibration_samples *samples,
                            const itg_recover_options *options, itg_targets *targets,
                            itg_error *err);
void itg_targets_deinit(itg_targets *targets);
#endif
