/* Accumulators that hold the sums. */
#ifndef ITG_SUMS_H
#define ITG_SUMS_H
#include "realize/realize.h"
#include "sim/sim.h"

/* Gives each node with weights whose sums may leave its accumulator the next spec that fits its
 * widths, until one holds them, or none is left. So the first spec that holds them is taken: where
 * specs differ in the accumulator alone, all that hold them give the same bits. A strategy that
 * cannot be annotated stays as it is: who uses it says why. constants: as in itg_annotate_with. */
itg_status itg_fit_sums(const itg_graph *g, const itg_hardware *hw, const itg_constants *constants,
                        itg_strategy *s, itg_error *err);
#endif
