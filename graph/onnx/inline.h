/* Functions of a model itself (FunctionProto; onnx.proto, IR version 8), and the branches of If. */
#ifndef ITG_ONNX_INLINE_H
#define ITG_ONNX_INLINE_H
#include "graph/onnx/onnx_write.h"

/* Puts the nodes of functions in place of the nodes that call them, until none calls one, and those
 * of both branches before an If, which becomes one node for each output: it chooses between two
 * values. Nodes and values of a call "block" are named "block/name"; those of a branch keep their
 * names where these are free. A function that calls itself, by others too, is an error, as are more
 * than ITG_MOST_NODES nodes. */
#define ITG_MOST_NODES (1 << 20)
itg_status itg_onnx_inline(itg_onnx_file *file, itg_error *err);
#endif
