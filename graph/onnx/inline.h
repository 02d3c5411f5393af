/* Writes out functions of a model (FunctionProto; onnx.proto, IR version 8) and branches of If. */
#ifndef ITG_ONNX_INLINE_H
#define ITG_ONNX_INLINE_H
#include "graph/onnx/onnx_write.h"

/* Replaces nodes that call functions by the functions' nodes, until no call is left. The nodes of
 * both branches of an If are put before it, and it becomes one node for each output, which chooses
 * between two values. Nodes and values of a call "block" are named "block/name"; those of a branch
 * keep their names if these are free. It is an error if a function calls itself, directly or not,
 * or if there are more than ITG_MOST_NODES nodes. */
#define ITG_MOST_NODES (1 << 20)
itg_status itg_onnx_inline(itg_onnx_file *file, itg_error *err);
#endif
