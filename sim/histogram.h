/* Private to sim: builds itg_value_stats. Counts are integers and bins align at zero, so every
 * order of adding and merging gives the same histogram: its exponent is the smallest e with max|x|
 * < ITG_HISTOGRAM_BINS * 2^e. */
#ifndef ITG_HISTOGRAM_H
#define ITG_HISTOGRAM_H
#include "kernels/f32_measure.h"
#include "sim/sim.h"

/* The sums of one sample (or one constant) of a value. NaN and infinities count only in
 * nan_count. */
typedef struct itg_sums {
    int64_t count, nan_count; /* finite elements; the others */
    float min, max;           /* of finite elements; 0 where there are none */
    int64_t counted;          /* finite elements of the part */
    double sum, sum_squares;  /* of these: eight sums, element i in sum i mod 8 */
} itg_sums;
void itg_sums_of(const float *data, int64_t count, itg_f32_part part, itg_sums *out);

/* Sets the statistics of no element. */
void itg_histogram_init(itg_value_stats *stats);
/* Returns as many of them, for free(); NULL: no memory. Pages of bins that stay empty are never
 * written: a network of many layers has most of its memory there. */
itg_value_stats *itg_histograms_create(size_t count);
/* Counts the finite elements of the part; sums must be those of data. It changes only exponent,
 * bins and zeros. */
void itg_histogram_add(itg_value_stats *stats, const float *data, int64_t count, itg_f32_part part,
                       const itg_sums *sums);
/* Does itg_sums_of and itg_histogram_add in one pass, with the same bits, but faster. */
void itg_histogram_measure(itg_value_stats *stats, const float *data, int64_t count,
                           itg_f32_part part, itg_sums *sums);
void itg_histogram_merge(itg_value_stats *into, const itg_value_stats *from);

/* The scalar statistics: the sums of samples, added in sample order. */
typedef struct itg_sums_fold {
    int64_t samples; /* with at least one finite element */
    double sum, sum_squares, sum_min, sum_max;
} itg_sums_fold;
void itg_sums_add(itg_value_stats *stats, itg_sums_fold *fold, const itg_sums *sums);
void itg_sums_finish(itg_value_stats *stats, const itg_sums_fold *fold);
#endif
