/* Fast statistics of float32 tensors: range, sums and a histogram in two passes. Results equal
 * sim's definitions in every bit. */
#ifndef ITG_F32_MEASURE_H
#define ITG_F32_MEASURE_H
#include "base/base.h"

/* The range; a zero may have either sign. False: count is 0 or an element is not finite. */
bool itg_f32_range(const float *data, int64_t count, float *min, float *max);

/* Every period-th block of so many elements, from block `first` on: a part of all of them. */
#define ITG_F32_BLOCK 256
typedef struct itg_f32_part {
    int64_t period, first;
} itg_f32_part;
#define ITG_F32_ALL ((itg_f32_part){1, 0})

#define ITG_F32_SPARE_BINS 8 /* equal neighbours cost less where they are counted apart */
#define ITG_F32_SUMS 8
typedef struct itg_f32_counts {
    float scale; /* bins a unit, a power of two: |x| * scale is below `bins` for every x, and exact
                  * where it is not below 1 */
    int32_t bins;
    /* [2 * bins + ITG_F32_SPARE_BINS], incremented: positive elements, negative elements by
     * magnitude, zeros (their count is the sum of the spare bins). */
    int64_t *counts;
    /* added to in order of the elements: element i to sum i mod ITG_F32_SUMS */
    double sum[ITG_F32_SUMS], squares[ITG_F32_SUMS];
} itg_f32_counts;
/* Returns how many elements the part has. All elements are finite and count is below 2^31. */
int64_t itg_f32_count(const float *data, int64_t count, itg_f32_part part, itg_f32_counts *out);
#endif
