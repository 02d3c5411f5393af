/* Annotated graphs without some effects of quantization, to measure each effect.
 *
 * A relaxed graph is an annotated graph with wider integers than hardware has; only the simulator
 * runs it. Effects that remain compute as in the program. A quantizer without rounding has steps
 * that are 2^k times finer, with codes of 20 bits; one without clipping has more codes at both
 * ends. Sums, biases and requantizations that depend on finer codes are scaled by the same power of
 * two, which is exact. One departure: sums that the hardware splits (docs/arithmetic.md 3.3) are
 * not split if their operands are relaxed. */
#ifndef ITG_RELAX_H
#define ITG_RELAX_H
#include "sim/sim.h"

/* The quantizers of an annotated graph. Encodings that must share a quantizer, because a node
 * passes codes on or adds them directly, are one site. */
typedef struct itg_sites {
    int32_t count;
    int32_t *first; /* [values + 1]: each value's first encoding among all */
    int32_t *of;    /* [encodings]: number of the site; -1: float */
} itg_sites;
itg_status itg_sites_create(const itg_annotated *a, itg_sites *out, itg_error *err);
void itg_sites_deinit(itg_sites *sites);
/* Returns the site of what an edge reads; -1: float or fused. */
int32_t itg_site_of_edge(const itg_sites *sites, const itg_annotated *a, int32_t edge);

typedef struct itg_relaxation {
    bool *unrounded, *unclipped; /* [sites]; weights without rounding are the model's own, also
                                    where the strategy has codes and a bias of its own */
    bool *exact;                 /* [nodes]: real ratios in place of the constants of requantization
                                    and of operands; a bias that is not clamped */
    bool *unbounded;             /* [nodes]: the accumulator never overflows */
    const double *reach;         /* [values]: the largest expected magnitude */
} itg_relaxation;
/* Relaxes a. s: the strategy from which a was made. a must outlive *out, which
 * itg_annotated_destroy frees. */
itg_status itg_relax(const itg_annotated *a, const itg_strategy *s, const itg_sites *sites,
                     const itg_relaxation *relaxation, itg_annotated **out, itg_error *err);
/* Whether `exact` changes the node. */
bool itg_relax_is_arithmetic(const itg_annotated *a, itg_id node);
#endif
