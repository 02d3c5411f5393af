/* Geometry of convolution and pooling. Private to kernels/. */
#ifndef ITG_F32_WINDOW_H
#define ITG_F32_WINDOW_H
#include "kernels/float_call.h"

/* The window of a call, from its attributes and the shapes of input 0 and output 0 ([N,C,W]: height
 * 1). Fails if a coordinate could overflow. group is copied from the attributes. */
itg_status itg_f32_window(const itg_call *call, itg_window *w, int64_t *batch);

#endif
