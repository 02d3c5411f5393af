/* Private to preprocess*.c. */
#ifndef ITG_PREPROCESS_H
#define ITG_PREPROCESS_H
#include "sim/sim.h"

/* Returns the channels of data [samples, ...] by the layout; 1 if samples are scalars. */
int64_t itg_preprocess_channels(const itg_preprocess *p, const itg_shape *data);
#endif
