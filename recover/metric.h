/* What errors of a layer's outputs matter to the network's. M is the sum of g g', g the gradient of
 * the likelihood of the float network's outputs at one position of the layer's output, over its
 * channels: the layer's factor of the Fisher information in K-FAC (Martens and Grosse 2015). An
 * error e of the channels there moves the distribution of the outputs in proportion to e' M e
 * (Kullback-Leibler). Private to recover/. */
#ifndef ITG_RECOVER_METRIC_H
#define ITG_RECOVER_METRIC_H
#include "recover/layer.h"
#include "recover/recover.h"

typedef struct itg_metrics {
    int32_t count;
    double **of; /* [layers]: [groups][rows][rows]; NULL: unknown */
} itg_metrics;

/* Runs the float network and its gradients on the first samples: few of a large network. What is
 * chance in M is taken out of it. No metric have layers of one row a group, of more rows than there
 * are samples, and behind which an operator has no gradient. */
itg_status itg_metrics_create(const itg_graph *g, const itg_layer *layers, int32_t layer_count,
                              const itg_calibration_samples *samples,
                              const itg_recover_options *options, itg_metrics *out, itg_error *err);
void itg_metrics_deinit(itg_metrics *metrics);

/* Takes out of a matrix [rows][rows], a sum over samples, what may be chance: all but the diagonal
 * is multiplied by the part of its squares that is not variance (Schaefer and Strimmer 2005, as
 * Ledoit and Wolf 2004, shrinking to the diagonal). squares: of each sample's elements above the
 * diagonal, summed. Only elements on and above the diagonal are read; the matrix becomes
 * symmetric. */
void itg_metric_shrink(double *m, int64_t rows, double squares, int64_t samples);
#endif
