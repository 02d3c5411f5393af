/* The number of elements of a mean. */
#ifndef ITG_VERIFY_WINDOWS_H
#define ITG_VERIFY_WINDOWS_H
#include "realize/verify/view.h"

/* The largest divisor of the IntAveragePool, IntGlobalAveragePool or IntReduceMean at v->node. 0: a
 * problem was recorded. */
int64_t itg_window_most_elements(itg_view *v);
#endif
