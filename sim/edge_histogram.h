/* Histograms of the values of an edge, in floats and simulated (itg_edge_histogram). */
#ifndef ITG_SIM_EDGE_HISTOGRAM_H
#define ITG_SIM_EDGE_HISTOGRAM_H
#include "sim/sim.h"

/* The bins of a quantizer, all empty. */
itg_edge_histogram itg_edge_histogram_of(const itg_quantizer *q);
/* Counts `elements` values of a tensor of this shape, as they are and as they were simulated. */
void itg_edge_histogram_add(itg_edge_histogram *h, const itg_quantizer *q, const itg_shape *shape,
                            const float *real, const float *simulated, int64_t elements);
void itg_edge_histogram_merge(itg_edge_histogram *into, const itg_edge_histogram *from);
#endif
