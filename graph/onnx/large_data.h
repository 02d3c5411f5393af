/* Reads a model's file so that the large elements of its initializers lie in memory once: they go
 * into arrays of their own, and the rest, a model without them, is what protobuf-c parses. */
#ifndef ITG_ONNX_LARGE_DATA_H
#define ITG_ONNX_LARGE_DATA_H
#include "base/base.h"

#define ITG_LARGE_BYTES ((size_t)1 << 16) /* from which on elements are large */

typedef struct itg_large_part {
    int32_t initializer; /* its place in the model's graph */
    unsigned char *data; /* its raw_data, in the arena */
    size_t bytes;
} itg_large_part;
typedef struct itg_large_data {
    unsigned char *rest; /* a ModelProto without them, malloc'd */
    size_t rest_bytes, file_bytes;
    itg_large_part *parts; /* by initializer */
    int32_t count;
    itg_arena *arena;
    itg_sha256 hash; /* of the file's bytes so far */
} itg_large_data;

/* Sets *done. Not done: there is nothing large, or the file is not what this reader expects; then
 * it is to be read as any other, which has the errors. least: ITG_LARGE_BYTES, or less in tests.
 * The caller zero-initializes *out, and frees it in any case. Fails without memory. */
itg_status itg_large_data_read(const char *path, size_t least, itg_large_data *out, bool *done,
                               itg_error *err);
void itg_large_data_deinit(itg_large_data *large);
/* The part of an initializer; NULL: its elements are in the rest. */
const itg_large_part *itg_large_data_of(const itg_large_data *large, size_t initializer);
#endif
