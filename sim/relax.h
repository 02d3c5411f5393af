/* Annotated graphs with effects of quantization taken away, to measure what each effect does.
 *
 * A relaxed graph is an annotated graph like others, but with wider integers than any hardware has:
 * it runs in the simulator alone. What is not taken away computes as in the program. A quantizer
 * without rounding has steps that are 2^k times finer, with codes of 20 bits; one without clipping
 * has more codes at both ends. Sums, biases and requantizations that follow from finer codes are
 * scaled by the same power of two, which is exact. One departure: sums that the hardware takes
 * apart (docs/arithmetic.md 3.3) are taken as a whole where their operands are relaxed. */
#ifndef ITG_RELAX_H
#define ITG_RELAX_H
#include "sim/sim.h"

/* The quantizers of an annotated graph. Encodings that must have the same one, because a node
 * passes codes on or adds them as they are, are one site. */
typedef struct itg_sites {
    int32_t count;
    int32_t *first; /* [values + 1]: the first encoding of each value among all encodings */
    int32_t *of;    /* [encodings]: number of the site; -1: float */
} itg_sites;
itg_status itg_sites_create(const itg_annotated *a, itg_sites *out, itg_error *err);
void itg_sites_deinit(itg_sites *sites);
/* Site of what an edge reads; -1: it is float, or fused. */
int32_t itg_site_of_edge(const itg_sites *sites, const itg_annotated *a, int32_t edge);

typedef struct itg_relaxation {
    bool *unrounded, *unclipped; /* [sites]; weights without rounding are the model's own, also
                                    where the strategy has codes and a bias of its own */
    bool *exact;                 /* [nodes]: real ratios in place of the constants of requantization
                                    and of operands; a bias that is not clamped */
    bool *unbounded;             /* [nodes]: an accumulator that never overflows */
    const double *reach;         /* [values]: the largest magnitude to be expected there */
} itg_relaxation;
/* a, sites, and the strategy that a was made of. a must outlive *out, which is freed with
 * itg_annotated_destroy. */
itg_status itg_relax(const itg_annotated *a, const itg_strategy *s, const itg_sites *sites,
                     const itg_relaxation *relaxation, itg_annotated **out, itg_error *err);
/* Whether `exact` changes anything about the node. */
bool itg_relax_is_arithmetic(const itg_annotated *a, itg_id node);
#endif
