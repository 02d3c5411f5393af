/* How many elements a mean takes. */
#ifndef ITG_VERIFY_WINDOWS_H
#define ITG_VERIFY_WINDOWS_H
#include "realize/verify/view.h"

/* Of IntAveragePool, IntGlobalAveragePool and IntReduceMean at v->node: the most elements that one
 * output divides by. 0: a problem was noted. */
int64_t itg_window_most_elements(itg_view *v);
#endif
