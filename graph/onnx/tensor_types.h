/* Element types of ONNX (TensorProto.DataType). */
#ifndef ITG_ONNX_TENSOR_TYPES_H
#define ITG_ONNX_TENSOR_TYPES_H
#include "base/base.h"

const char *
itg_onnx_type_name(int32_t type); /* "FLOAT16"; "unknown" for a number that has no name */
/* The dtype that elements of a type become: FLOAT16, BFLOAT16 and DOUBLE become float32. false:
 * there is none. */
bool itg_onnx_type_to_dtype(int32_t type, itg_dtype *out);
int32_t itg_onnx_type_of(itg_dtype dtype);
#endif
