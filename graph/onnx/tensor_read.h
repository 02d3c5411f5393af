/* TensorProto -> itg_tensor. */
#ifndef ITG_ONNX_TENSOR_READ_H
#define ITG_ONNX_TENSOR_READ_H
#include "graph/onnx/tensor_types.h"
#include "onnx.pb-c.h"

/* The elements in host byte order, in the arena; data is never NULL, also without elements. FLOAT16
 * and BFLOAT16 become F32, which holds each of their values; BOOL becomes 0 or 1. Refused: other
 * types, external data, segments, negative or too large dimensions, a number of elements that is
 * not the shape's, values outside their type. The message starts with what is wrong ("element
 * type..."); the caller prefixes the place. */
itg_status itg_onnx_tensor_convert(const ItgOnnx__TensorProto *proto, itg_arena *arena,
                                   itg_tensor *out, itg_error *err);
#endif
