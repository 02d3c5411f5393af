/* Checks protobuf wire format before it is parsed. It allocates nothing and does not recurse. An
 * accepted message is well nested and within the limits below; known fields have their declared
 * wire type; single embedded messages occur once; strings are UTF-8 without NUL. */
#ifndef ITG_WIRE_SCAN_H
#define ITG_WIRE_SCAN_H
#include "base/base.h"

#define ITG_WIRE_MAX_BYTES ((size_t)0x7fffffff) /* protobuf's own limit of a message */
#define ITG_WIRE_MAX_DEPTH 64
#define ITG_WIRE_MAX_MESSAGES ((int64_t)1 << 22)
#define ITG_WIRE_MAX_FIELDS ((int64_t)1 << 24)
/* A program's file describes its edges and layers in one string, about 500 bytes a node with short
 * names; preparation accepts up to 16384 nodes. */
#define ITG_WIRE_MAX_STRING ((size_t)1 << 28)

typedef enum itg_wire_root { ITG_WIRE_MODEL, ITG_WIRE_TENSOR } itg_wire_root;

/* source names the bytes in errors: "net.onnx: byte 1234: field 5 of GraphProto ends after its
 * message". */
itg_status itg_wire_scan(const unsigned char *data, size_t bytes, itg_wire_root root,
                         const char *source, itg_error *err);
#endif
