/* Which operators only rename their input, and which may overwrite it. */
#ifndef ITG_SHARING_H
#define ITG_SHARING_H
#include "base/flow.h"
#include "graph/graph.h"

/* How a node that computes `op` on row-major tensors of any dtype may share memory. x, y: shapes of
 * its first input and first output. *shift: for ITG_SHARING_OUTPUTS, the elements of x in front of
 * the outputs; else 0. ITG_SHARING_NONE if it depends on data (Gather). */
itg_sharing itg_op_sharing(itg_op op, const itg_attrs *attrs, const itg_shape *x,
                           const itg_shape *y, int64_t *shift);
#endif
