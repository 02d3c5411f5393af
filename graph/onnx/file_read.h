/* Private to graph/onnx, tests and fuzzers: reading and importing step by step. */
#ifndef ITG_ONNX_FILE_READ_H
#define ITG_ONNX_FILE_READ_H
#include "graph/onnx/onnx_write.h"
#include "graph/onnx/refusals.h"

/* Fails with ITG_NO_MEMORY: there is not enough, or the file's budget (budget.h) is spent. */
itg_status itg_onnx_file_no_memory(const itg_onnx_file *file, itg_error *err);
/* itg_onnx_file_read from memory. source names the bytes in errors. protobuf-c may use memory_limit
 * bytes, and the result twice as many; itg_onnx_file_read passes itg_budget_of(bytes). */
itg_status itg_onnx_file_parse(const unsigned char *data, size_t bytes, const char *source,
                               size_t memory_limit, itg_onnx_file **out, itg_error *err);
/* itg_onnx_file_read that adds what is not supported to *refusals and goes on: a value of another
 * type becomes float32 of unknown shape without data, a node is marked refused. */
itg_status itg_onnx_file_collect(const char *path, itg_refusals *refusals, itg_onnx_file **out,
                                 itg_error *err);
/* The same; elements of at least so many bytes are read apart (large_data.h). */
itg_status itg_onnx_file_read_apart(const char *path, size_t least, itg_refusals *refusals,
                                    itg_onnx_file **out, itg_error *err);
/* itg_onnx_import that collects *refusals; ITG_UNSUPPORTED if there are any. */
itg_status itg_onnx_import_collect(const char *path, const char *outputs, itg_refusals *refusals,
                                   itg_graph **out, itg_error *err);
/* itg_onnx_import of a file in memory. The graph's name is the last part of file->source. */
itg_status itg_onnx_import_file(const itg_onnx_file *file, const char *outputs, itg_graph **out,
                                itg_error *err);
#endif
