/* Private to threshold*.c and strategy.c. A grid is the set of multiples of `step` from -below*step
 * to above*step. Zero is always on it, so each side of zero has its own error, and the two add. */
#ifndef ITG_THRESHOLD_H
#define ITG_THRESHOLD_H
#include "sim/sim.h"

typedef struct itg_range {
    double lo, hi; /* lo <= 0 <= hi */
} itg_range;

typedef struct itg_grid {
    double step; /* 0: an empty range */
    int64_t below, above;
} itg_grid;

/* Relation of range and scale, as annotate has it:
 *   symmetric signed    step = t/(2^(b-1)-1), t = max(-lo, hi); codes -(2^(b-1)-1)..2^(b-1)-1
 *   symmetric unsigned  step = hi/(2^b-1); codes 0..2^b-1
 *   asymmetric          step = (hi-lo)/(2^b-1); zero point half-even(-lo/step)
 *   power of two        the smallest power of two not below that step (symmetric signed: not below
 * t/2^(b-1)) */
itg_grid itg_grid_of(const itg_threshold_target *target, itg_range range);
/* Returns the range that a grid covers, such that itg_grid_of gives the grid back. For power-of-two
 * targets. */
itg_range itg_grid_range(const itg_threshold_target *target, const itg_grid *grid);
/* Returns t on each side that has data: [-t, t], [0, t] or [-t, 0]. */
itg_range itg_range_both(itg_range full, double t);
/* Returns the smallest power of two >= x; x > 0. */
double itg_power_of_two_above(double x);

/* Sets useful[value] to the part of its range that its readers distinguish; infinite for the whole
 * range, without statistics, and for inputs, constants and outputs of the graph. quantized:
 * [node_count]. */
void itg_useful_ranges(const itg_graph *g, const bool *quantized, const itg_stats *stats,
                       itg_range *useful);

/* Returns the quantized node that alone reads a value and multiplies it by a share of itself
 * (HardSwish, Swish, Gelu, Mish); else NULL. */
const itg_node *itg_gate_of(const itg_graph *g, const bool *quantized, itg_id v);
/* Sets *out to stats with the elements of each bin counted by the square of the gate's slope there,
 * times 2^10: what an error in them becomes behind the gate. */
void itg_weigh_bins(const itg_node *gate, const itg_value_stats *stats, itg_value_stats *out);

/* Returns the range with the least error. `cost` returns the squared error under a grid; if that
 * exceeds `enough`, any value above it will do. full: the range that loses nothing. Of nearly equal
 * errors the wider range is taken; never one that costs more than full. */
typedef double (*itg_threshold_cost)(void *context, const itg_grid *grid, double enough);
itg_range itg_threshold_search(const itg_threshold_target *target, itg_range full, int stride,
                               itg_threshold_cost cost,
                               void *context); /* stride 1: 128 fractions; 2: 64... */

/* By method; stats have finite elements and full is not [0,0]. */
itg_range itg_threshold_average(const itg_value_stats *stats);
/* outside: the share of the elements beyond the range, on each side. */
itg_range itg_threshold_percentile(const itg_value_stats *stats, double outside);
itg_range itg_threshold_power2(const itg_threshold_target *target, itg_range full);
itg_status itg_threshold_mse(const itg_value_stats *stats, const itg_threshold_target *target,
                             itg_range full, itg_range *out, itg_error *err);
itg_status itg_threshold_kl(const itg_value_stats *stats, const itg_threshold_target *target,
                            itg_range full, itg_range *out, itg_error *err);
#endif
