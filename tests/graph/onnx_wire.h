/* Protobuf wire format by hand, independent of the library under test: files that no writer would
 * make. Fields of ONNX's messages by their public numbers. */
#ifndef ITG_TEST_ONNX_WIRE_H
#define ITG_TEST_ONNX_WIRE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "graph/onnx/budget.h"
#include "graph/onnx/file_read.h"

enum { MODEL_IR = 1, MODEL_GRAPH = 7, MODEL_OPSET = 8, OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum {
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_SPARSE = 15
};
enum {
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7
};
enum {
    ATTR_NAME = 1,
    ATTR_I = 3,
    ATTR_S = 4,
    ATTR_T = 5,
    ATTR_G = 6,
    ATTR_INTS = 8,
    ATTR_TYPE = 20
};
enum {
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_SEGMENT = 3,
    TENSOR_FLOATS = 4,
    TENSOR_INT32S = 5,
    TENSOR_INT64S = 7,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_DOUBLES = 10,
    TENSOR_UINT64S = 11,
    TENSOR_EXTERNAL = 13,
    TENSOR_LOCATION = 14
};
enum {
    TYPE_FLOAT = 1,
    TYPE_UINT8,
    TYPE_INT8,
    TYPE_UINT16,
    TYPE_INT16,
    TYPE_INT32,
    TYPE_INT64,
    TYPE_STRING,
    TYPE_BOOL,
    TYPE_FLOAT16,
    TYPE_DOUBLE,
    TYPE_UINT32,
    TYPE_UINT64,
    TYPE_BFLOAT16 = 16,
    TYPE_UINT4 = 21,
    TYPE_INT4
};

typedef itg_strbuf wire;

static inline void wire_varint(wire *w, uint64_t value)
{
    do {
        unsigned char byte = (unsigned char)(value & 0x7f);
        value >>= 7;
        if (value) byte |= 0x80;
        itg_strbuf_bytes(w, &byte, 1);
    } while (value);
}

static inline void wire_int(wire *w, uint32_t field, int64_t value)
{
    wire_varint(w, (uint64_t)field << 3);
    wire_varint(w, (uint64_t)value);
}

static inline void wire_bytes(wire *w, uint32_t field, const void *data, size_t bytes)
{
    wire_varint(w, (uint64_t)field << 3 | 2);
    wire_varint(w, bytes);
    itg_strbuf_bytes(w, data, bytes);
}

static inline void wire_text(wire *w, uint32_t field, const char *text)
{
    wire_bytes(w, field, text, strlen(text));
}

/* Puts a message into another one and empties it. */
static inline void wire_message(wire *w, uint32_t field, wire *inner)
{
    wire_bytes(w, field, inner->text, inner->length);
    itg_strbuf_deinit(inner);
    *inner = (wire){0};
}

/* ValueInfo of a float tensor of rank 1. */
static inline void wire_value(wire *graph, uint32_t field, const char *name, int32_t type,
                              int64_t dim)
{
    wire d = {0}, shape = {0}, tensor = {0}, outer = {0}, info = {0};
    wire_int(&d, 1, dim);
    wire_message(&shape, 1, &d);
    wire_int(&tensor, 1, type);
    wire_message(&tensor, 2, &shape);
    wire_message(&outer, 1, &tensor);
    wire_text(&info, 1, name);
    wire_message(&info, 2, &outer);
    wire_message(graph, field, &info);
}

static inline void wire_node(wire *graph, const char *op, const char *input, const char *output)
{
    wire node = {0};
    if (*input) wire_text(&node, NODE_INPUT, input);
    wire_text(&node, NODE_OUTPUT, output);
    wire_text(&node, NODE_OP, op);
    wire_message(graph, GRAPH_NODE, &node);
}

/* x -> Relu -> y, without its end: more can follow. */
static inline void wire_relu_graph(wire *graph)
{
    wire_value(graph, GRAPH_INPUT, "x", TYPE_FLOAT, 4);
    wire_value(graph, GRAPH_OUTPUT, "y", TYPE_FLOAT, 4);
    wire_node(graph, "Relu", "x", "y");
}

static inline void wire_model(wire *model, wire *graph, int64_t opset)
{
    wire version = {0};
    wire_int(model, MODEL_IR, 7);
    wire_message(model, MODEL_GRAPH, graph);
    wire_int(&version, OPSET_VERSION, opset);
    wire_message(model, MODEL_OPSET, &version);
}

/* Reads and imports; *out only on success. */
static inline itg_status import_bytes(const void *data, size_t bytes, itg_graph **out,
                                      itg_error *err)
{
    itg_onnx_file *file = NULL;
    itg_status status =
        itg_onnx_file_parse(data, bytes, "test.onnx", itg_budget_of(bytes), &file, err);
    if (status != ITG_OK) return status;
    status = itg_onnx_import_file(file, "", out, err);
    itg_onnx_file_destroy(file);
    return status;
}

/* The model must be refused with this status, and the message must hold each part. */
static inline void assert_refused(wire *model, itg_status wanted, const char *part,
                                  const char *other)
{
    itg_graph *graph = NULL;
    itg_error err = {0};
    assert_true(itg_strbuf_ok(model));
    itg_status status = import_bytes(model->text, model->length, &graph, &err);
    itg_strbuf_deinit(model);
    *model = (wire){0};
    if (status != wanted || !strstr(err.message, "test.onnx") || !strstr(err.message, part) ||
        !strstr(err.message, other))
        fail_msg("status %s, message \"%s\"; expected %s and \"%s\" and \"%s\"",
                 itg_status_name(status), err.message, itg_status_name(wanted), part, other);
    assert_int_equal(err.code, wanted);
    assert_null(graph);
}

/* An initializer "w" of the given type and single dimension with raw data, in a graph that can
 * stand alone. */
static inline void wire_raw_tensor(wire *tensor, int32_t type, int64_t dim, const void *raw,
                                   size_t bytes)
{
    wire_int(tensor, TENSOR_DIMS, dim);
    wire_int(tensor, TENSOR_TYPE, type);
    wire_text(tensor, TENSOR_NAME, "w");
    wire_bytes(tensor, TENSOR_RAW, raw, bytes);
}

static inline void wire_model_with_tensor(wire *model, wire *tensor)
{
    wire graph = {0};
    wire_relu_graph(&graph);
    wire_message(&graph, GRAPH_INITIALIZER, tensor);
    wire_model(model, &graph, 13);
}
#endif
