/* Conv, Gemm and MatMul in float32 by oneDNN: quicker than the reference kernels and equal to them
 * only nearly; the bits depend on the machine and on oneDNN's version. One thread each. Built where
 * the build found oneDNN; elsewhere itg_onednn_create refuses. */
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

/* Makes a node ready, as itg_float_eval takes it (at most ITG_ONEDNN_INPUTS inputs, one output).
 * What is constant is read and repacked now; the other tensors' data is read and written by every
 * run, at the addresses given here. *out stays NULL where oneDNN has nothing for this node: the
 * reference kernel is there for it, and says what is wrong with it, if anything. */
itg_status itg_onednn_prepare(itg_onednn *context, itg_op op, const itg_attrs *attrs,
                              const itg_tensor *inputs, const bool *is_constant,
                              int32_t input_count, const itg_tensor *output, itg_onednn_node **out,
                              itg_error *err);
itg_status itg_onednn_run(itg_onednn *context, itg_onednn_node *node, itg_error *err);
void itg_onednn_release(itg_onednn_node *node);
#endif
