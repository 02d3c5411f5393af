/* Windows that slide over a padded plane: geometry of convolution and pooling. Private to kernels/.
 */
#ifndef ITG_F32_WINDOW_H
#define ITG_F32_WINDOW_H
#include "kernels/float_call.h"

/* Geometry from attributes and the shapes of input 0 and output 0 ([N,C,W] has a height of 1);
 * checked so that no coordinate overflows. group is as the attributes say. */
itg_status itg_f32_window(const itg_call *call, itg_window *w, int64_t *batch);

typedef struct itg_span {
    int64_t begin, end; /* [begin, end), 0 <= begin <= end */
} itg_span;
/* The taps i in [0, taps) with 0 <= first + i * dilation < size. */
itg_span itg_valid_taps(int64_t first, int64_t dilation, int64_t taps, int64_t size);
/* The outputs i in [0, outputs) with 0 <= shift + i * stride < size. */
itg_span itg_valid_outputs(int64_t shift, int64_t stride, int64_t outputs, int64_t size);
#endif
