/* NodeProto -> itg_onnx_node. */
#ifndef ITG_ONNX_FILE_NODES_H
#define ITG_ONNX_FILE_NODES_H
#include "graph/onnx/onnx_write.h"
#include "onnx.pb-c.h"

/* "" for an absent string, else a copy; NULL: no memory. */
const char *itg_onnx_copy_text(itg_arena *arena, const char *text);
/* `where` starts messages: "net.onnx". */
itg_status itg_onnx_convert_node(const ItgOnnx__NodeProto *proto, int32_t index, const char *where,
                                 itg_arena *arena, itg_onnx_node *out, itg_error *err);
#endif
