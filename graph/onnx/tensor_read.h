/* TensorProto -> itg_tensor. */
#ifndef ITG_ONNX_TENSOR_READ_H
#define ITG_ONNX_TENSOR_READ_H
#include "graph/onnx/tensor_types.h"
#include "onnx.pb-c.h"

/* Whether its data lies in another file (external_data.h). */
static inline bool itg_onnx_tensor_is_external(const ItgOnnx__TensorProto *proto)
{
    return proto->data_location == 1; /* TensorProto.EXTERNAL */
}

/* Whether its elements are INT4 or UINT4. */
bool itg_onnx_tensor_has_four_bits(const ItgOnnx__TensorProto *proto);

/* Copies the elements in host byte order to the arena; data is not NULL even without elements.
 * FLOAT16 and BFLOAT16 become F32; BOOL becomes 0 or 1. Fails for other types, external data,
 * segments, negative or too large dimensions, a wrong number of elements, and values outside their
 * type. The message starts with the cause ("element type..."); the caller adds the place. */
itg_status itg_onnx_tensor_convert(const ItgOnnx__TensorProto *proto, itg_arena *arena,
                                   itg_tensor *out, itg_error *err);
/* The same; INT4 and UINT4 become S8 and U8, the caller remembers their range. raw_data lies in the
 * arena `holds` (NULL: elsewhere), and is shared instead of copied where its elements are already
 * what they should be. */
itg_status itg_onnx_tensor_take(const ItgOnnx__TensorProto *proto, const itg_arena *holds,
                                itg_arena *arena, itg_tensor *out, itg_error *err);
#endif
