/* A walk over protobuf wire format before any parser sees it. It allocates nothing and keeps an
 * explicit stack, so that no file can make it recurse or grow. What it accepts is well nested,
 * bounded in every count below, has every known field in its declared wire type, no second copy of
 * a single embedded message, and strings that are UTF-8 without NUL. */
#ifndef ITG_WIRE_SCAN_H
#define ITG_WIRE_SCAN_H
#include "base/base.h"

#define ITG_WIRE_MAX_BYTES ((size_t)0x7fffffff) /* protobuf's own limit of a message */
#define ITG_WIRE_MAX_DEPTH 16
#define ITG_WIRE_MAX_MESSAGES ((int64_t)1 << 22)
#define ITG_WIRE_MAX_FIELDS ((int64_t)1 << 24)
/* What a program's file says of its edges and layers is one string: some 500 bytes a node of short
 * names, of which preparation takes up to 16384. */
#define ITG_WIRE_MAX_STRING ((size_t)1 << 28)

typedef enum itg_wire_root { ITG_WIRE_MODEL, ITG_WIRE_TENSOR } itg_wire_root;

/* source names the bytes in errors: "net.onnx: byte 1234: field 5 of GraphProto ends after its
 * message". */
itg_status itg_wire_scan(const unsigned char *data, size_t bytes, itg_wire_root root,
                         const char *source, itg_error *err);
#endif
