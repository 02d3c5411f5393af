/* The steps of itg_onnx_file_read, for its own files, tests and fuzzers. */
#ifndef ITG_ONNX_FILE_READ_H
#define ITG_ONNX_FILE_READ_H
#include "graph/onnx/onnx_write.h"
#include "graph/onnx/refusals.h"

/* As itg_onnx_file_read, from memory. source names the bytes in errors. protobuf-c gets
 * memory_limit bytes, and the result twice as many (itg_budget_of(bytes) is what itg_onnx_file_read
 * gives). */
itg_status itg_onnx_file_parse(const unsigned char *data, size_t bytes, const char *source,
                               size_t memory_limit, itg_onnx_file **out, itg_error *err);
/* itg_onnx_file_read, but what is not supported is added to *refusals and read as far as possible:
 * values of other types as float32 of unknown shape, without data; nodes as refused. */
itg_status itg_onnx_file_collect(const char *path, itg_refusals *refusals, itg_onnx_file **out,
                                 itg_error *err);
/* itg_onnx_import of a path that collects; ITG_UNSUPPORTED with what it found in *refusals. */
itg_status itg_onnx_import_collect(const char *path, itg_refusals *refusals, itg_graph **out,
                                   itg_error *err);
/* itg_onnx_import of a file that was read already. The graph's name is the last part of
 * file->source. */
itg_status itg_onnx_import_file(const itg_onnx_file *file, itg_graph **out, itg_error *err);
#endif
