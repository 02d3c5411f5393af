/* The steps of itg_onnx_file_read, for its own files, tests and fuzzers. */
#ifndef ITG_ONNX_FILE_READ_H
#define ITG_ONNX_FILE_READ_H
#include "graph/onnx/onnx_write.h"

/* As itg_onnx_file_read, from memory. source names the bytes in errors. protobuf-c gets
 * memory_limit bytes, and the result twice as many (itg_budget_of(bytes) is what itg_onnx_file_read
 * gives). */
itg_status itg_onnx_file_parse(const unsigned char *data, size_t bytes, const char *source,
                               size_t memory_limit, itg_onnx_file **out, itg_error *err);
/* itg_onnx_import of a file that was read already. The graph's name is the last part of
 * file->source. */
itg_status itg_onnx_import_file(const itg_onnx_file *file, itg_graph **out, itg_error *err);
#endif
