/* Statistics of float32 tensors, quickly: range, sums and a histogram in two passes. What sim's
 * definitions give, bit for bit: every sum in order of the elements, one at a time. */
#ifndef ITG_F32_MEASURE_H
#define ITG_F32_MEASURE_H
#include "base/base.h"

/* True, and the range (either zero may stand for zero), if count > 0 and all are finite. */
bool itg_f32_range(const float *data, int64_t count, float *min, float *max);

#define ITG_F32_SPARE_BINS 8 /* equal neighbours cost less where they are counted apart */
typedef struct itg_f32_counts {
    double scale; /* bins a unit; |x| * scale is exact and below `bins` for every x */
    int32_t bins;
    /* [2 * bins + ITG_F32_SPARE_BINS], counts added to: of positive elements, of negative ones by
     * magnitude, and of zeros: the sum of the spare bins. */
    uint32_t *counts;
    double sum, squares; /* added to, in order of the elements */
} itg_f32_counts;
/* All data finite, count below 2^31. */
void itg_f32_count(const float *data, int64_t count, itg_f32_counts *out);
#endif
