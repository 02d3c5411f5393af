/* Converts NodeProto and its parts to itg_onnx_node. */
#ifndef ITG_ONNX_FILE_NODES_H
#define ITG_ONNX_FILE_NODES_H
#include "graph/onnx/onnx_write.h"
#include "onnx.pb-c.h"

/* Returns "" for an absent string, else a copy; NULL: no memory. */
const char *itg_onnx_copy_text(itg_arena *arena, const char *text);
/* Returns copies of the names; NULL: no memory. */
const char *const *itg_onnx_copy_names(char **names, size_t count, itg_arena *arena);
/* Sets attrs, attr_count and sorted of the node. */
itg_status itg_onnx_convert_attributes(ItgOnnx__AttributeProto *const *protos, size_t count,
                                       itg_arena *arena, itg_onnx_node *node, itg_error *err);
/* Sets `sorted` for a binary search: operators with many outputs have attributes for each. A
 * repeated attribute is an error. */
itg_status itg_onnx_index_attributes(itg_arena *arena, itg_onnx_node *node, itg_error *err);
/* `where` starts messages: "net.onnx". */
itg_status itg_onnx_convert_node(const ItgOnnx__NodeProto *proto, int32_t index, const char *where,
                                 itg_arena *arena, itg_onnx_node *out, itg_error *err);
#endif
