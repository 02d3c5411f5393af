/* Which operators only rename bytes, and which may write over what they read. */
#ifndef ITG_SHARING_H
#define ITG_SHARING_H
#include "base/flow.h"
#include "graph/graph.h"

/* Of a node that computes `op` from row-major tensors of these shapes, whatever their dtypes.
 * x: its first input; y: its first output. *shift: elements of x before the outputs, for
 * ITG_SHARING_OUTPUTS; else 0. Sure of nothing that data decides (Gather). */
itg_sharing itg_op_sharing(itg_op op, const itg_attrs *attrs, const itg_shape *x,
                           const itg_shape *y, int64_t *shift);
#endif
