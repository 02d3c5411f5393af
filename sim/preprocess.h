/* Private to preprocess*.c. */
#ifndef ITG_PREPROCESS_H
#define ITG_PREPROCESS_H
#include "sim/sim.h"

/* Channels of data [samples, ...], wherever the layout has them; 1 where samples are scalars. */
int64_t itg_preprocess_channels(const itg_preprocess *p, const itg_shape *data);
#endif
