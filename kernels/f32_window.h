/* Windows that slide over a padded plane: geometry of convolution and pooling. Private to kernels/.
 */
#ifndef ITG_F32_WINDOW_H
#define ITG_F32_WINDOW_H
#include "kernels/float_call.h"

/* Geometry from attributes and the shapes of input 0 and output 0 ([N,C,W] has a height of 1);
 * checked so that no coordinate overflows. group is as the attributes say. */
itg_status itg_f32_window(const itg_call *call, itg_window *w, int64_t *batch);

#endif
