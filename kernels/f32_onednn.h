/* Conv, Gemm and MatMul in float32 with oneDNN. It is faster than the reference kernels, but
 * results differ in the last bits and depend on the machine and on oneDNN's version. Each context
 * uses one thread. Without oneDNN in the build, itg_onednn_create fails. */
#ifndef ITG_F32_ONEDNN_H
#define ITG_F32_ONEDNN_H
#include <intaglio/intaglio.h>
#include "base/base.h"

#define ITG_ONEDNN_INPUTS 3

typedef struct itg_onednn itg_onednn;           /* one worker's */
typedef struct itg_onednn_node itg_onednn_node; /* one node, bound to its buffers */

/* ITG_UNSUPPORTED in a build without oneDNN. */
itg_status itg_onednn_create(itg_onednn **out, itg_error *err);
void itg_onednn_destroy(itg_onednn *context);

/* Prepares a node with the arguments of itg_float_eval, at most ITG_ONEDNN_INPUTS inputs and one
 * output. Constants are read and repacked now; runs read and write the other tensors at the
 * addresses given here. *out is NULL if oneDNN does not support the node; the caller then uses the
 * reference kernel, which also reports errors of the node. */
itg_status itg_onednn_prepare(itg_onednn *context, itg_op op, const itg_attrs *attrs,
                              const itg_tensor *inputs, const bool *is_constant,
                              int32_t input_count, const itg_tensor *output, itg_onednn_node **out,
                              itg_error *err);
itg_status itg_onednn_run(itg_onednn *context, itg_onednn_node *node, itg_error *err);
void itg_onednn_release(itg_onednn_node *node);
#endif
