/* Builds ONNX's messages in one arena and packs them with protobuf-c. The first failure is kept,
 * and ends the building. */
#include <stdlib.h>
#include <string.h>
#include "base/packed.h"
#include "graph/onnx/onnx_write.h"
#include "graph/onnx/tensor_types.h"
#include "graph/onnx/wire_scan.h"
#include "onnx.pb-c.h"

enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_STRING = 3, TYPE_FLOATS = 6, TYPE_INTS = 7 };

enum { TENSOR_INT4 = 22 }; /* TensorProto.DataType; no dtype here */

/* A growing array of messages; the arena keeps what it outgrew. */
typedef struct list {
    void **items;
    size_t count, capacity;
} list;

struct itg_onnx_writer {
    itg_arena *arena;
    ItgOnnx__ModelProto model;
    ItgOnnx__GraphProto graph;
    list opsets, inputs, outputs, initializers, metadata, nodes, attributes;
    itg_error error; /* code ITG_OK: none so far */
};

static itg_status broken(itg_onnx_writer *w, itg_status code, const char *what)
{
    return itg_fail(&w->error, code, "%s: %s", w->graph.name, what);
}

static itg_status no_memory(itg_onnx_writer *w)
{
    return broken(w, ITG_NO_MEMORY, "out of memory");
}

static itg_status append(itg_onnx_writer *w, list *to, void *item)
{
    if (to->count == to->capacity) {
        size_t capacity = to->capacity ? 2 * to->capacity : 8;
        void **items = itg_arena_array(w->arena, capacity, sizeof *items);
        if (!items) return no_memory(w);
        if (to->count > 0) memcpy(items, to->items, to->count * sizeof *items);
        to->items = items;
        to->capacity = capacity;
    }
    to->items[to->count++] = item;
    return ITG_OK;
}

static char *copy_text(itg_onnx_writer *w, const char *text)
{
    char *copy = itg_arena_strdup(w->arena, text ? text : "");
    if (!copy) no_memory(w);
    return copy;
}

static void *new_message(itg_onnx_writer *w, size_t bytes)
{
    void *message = itg_arena_alloc(w->arena, bytes);
    if (!message) no_memory(w);
    return message;
}

itg_status itg_onnx_writer_create(const char *graph_name, const char *producer_version,
                                  itg_onnx_writer **out, itg_error *err)
{
    itg_arena *arena = itg_arena_create(0);
    itg_onnx_writer *w = arena ? itg_arena_alloc(arena, sizeof *w) : NULL;
    if (w) {
        w->arena = arena;
        itg_onnx__model_proto__init(&w->model);
        itg_onnx__graph_proto__init(&w->graph);
        w->model.graph = &w->graph;
        w->model.producer_name = copy_text(w, "intaglio");
        w->model.producer_version = copy_text(w, producer_version);
        w->graph.name = copy_text(w, graph_name);
    }
    if (!w || !w->model.producer_name || !w->model.producer_version || !w->graph.name) {
        itg_arena_destroy(arena);
        return itg_fail(err, ITG_NO_MEMORY, "%s: out of memory", graph_name);
    }
    *out = w;
    return ITG_OK;
}

void itg_onnx_writer_destroy(itg_onnx_writer *w)
{
    if (w) itg_arena_destroy(w->arena);
}

itg_status itg_onnx_writer_opset(itg_onnx_writer *w, const char *domain, int64_t version)
{
    if (w->error.code != ITG_OK) return w->error.code;
    ItgOnnx__OperatorSetIdProto *opset = new_message(w, sizeof *opset);
    if (!opset) return w->error.code;
    itg_onnx__operator_set_id_proto__init(opset);
    opset->domain = copy_text(w, domain);
    opset->has_version = 1;
    opset->version = version;
    return opset->domain ? append(w, &w->opsets, opset) : w->error.code;
}

itg_status itg_onnx_writer_metadata(itg_onnx_writer *w, const char *key, const char *value)
{
    if (w->error.code != ITG_OK) return w->error.code;
    ItgOnnx__StringStringEntryProto *entry = new_message(w, sizeof *entry);
    if (!entry) return w->error.code;
    itg_onnx__string_string_entry_proto__init(entry);
    entry->key = copy_text(w, key);
    entry->value = copy_text(w, value);
    return entry->key && entry->value ? append(w, &w->metadata, entry) : w->error.code;
}

/* ---- inputs and outputs ---- */
static ItgOnnx__TensorShapeProto *make_shape(itg_onnx_writer *w, const itg_shape *shape)
{
    ItgOnnx__TensorShapeProto *proto = new_message(w, sizeof *proto);
    list dims = {0};
    if (!proto) return NULL;
    itg_onnx__tensor_shape_proto__init(proto);
    for (int32_t i = 0; i < shape->rank; i++) {
        ItgOnnx__TensorShapeProto__Dimension *dim = new_message(w, sizeof *dim);
        if (!dim || append(w, &dims, dim) != ITG_OK) return NULL;
        itg_onnx__tensor_shape_proto__dimension__init(dim);
        dim->has_dim_value = shape->dims[i] >= 0;
        dim->dim_value = shape->dims[i];
        if (!dim->has_dim_value) {
            dim->dim_param = copy_text(w, "N");
            if (!dim->dim_param) return NULL;
        }
    }
    proto->dim = (ItgOnnx__TensorShapeProto__Dimension **)dims.items;
    proto->n_dim = dims.count;
    return proto;
}

static itg_status add_value_info(itg_onnx_writer *w, list *to, const char *name, itg_dtype dtype,
                                 const itg_shape *shape)
{
    if (w->error.code != ITG_OK) return w->error.code;
    ItgOnnx__ValueInfoProto *info = new_message(w, sizeof *info);
    ItgOnnx__TypeProto *type = new_message(w, sizeof *type);
    ItgOnnx__TypeProto__Tensor *tensor = new_message(w, sizeof *tensor);
    if (!info || !type || !tensor) return w->error.code;
    itg_onnx__value_info_proto__init(info);
    itg_onnx__type_proto__init(type);
    itg_onnx__type_proto__tensor__init(tensor);
    info->name = copy_text(w, name);
    info->type = type;
    type->tensor_type = tensor;
    tensor->has_elem_type = 1;
    tensor->elem_type = itg_onnx_type_of(dtype);
    if (shape && shape->rank >= 0) tensor->shape = make_shape(w, shape);
    return w->error.code == ITG_OK ? append(w, to, info) : w->error.code;
}

itg_status itg_onnx_writer_input(itg_onnx_writer *w, const char *name, itg_dtype dtype,
                                 const itg_shape *shape)
{
    return add_value_info(w, &w->inputs, name, dtype, shape);
}

itg_status itg_onnx_writer_output(itg_onnx_writer *w, const char *name, itg_dtype dtype,
                                  const itg_shape *shape)
{
    return add_value_info(w, &w->outputs, name, dtype, shape);
}

/* ---- initializers ---- */
/* raw: of the writer's arena. */
static itg_status add_initializer(itg_onnx_writer *w, const char *name, int32_t type,
                                  const itg_shape *shape, void *raw, size_t bytes)
{
    ItgOnnx__TensorProto *proto = new_message(w, sizeof *proto);
    int64_t *dims = itg_arena_copy(w->arena, shape->dims, sizeof shape->dims);
    if (!proto || !raw || !dims) return no_memory(w);
    itg_onnx__tensor_proto__init(proto);
    proto->name = copy_text(w, name);
    proto->has_data_type = 1;
    proto->data_type = type;
    proto->n_dims = (size_t)shape->rank;
    proto->dims = dims;
    proto->has_raw_data = 1;
    proto->raw_data = (ProtobufCBinaryData){.len = bytes, .data = raw};
    return proto->name ? append(w, &w->initializers, proto) : w->error.code;
}

itg_status itg_onnx_writer_initializer(itg_onnx_writer *w, const char *name,
                                       const itg_tensor *tensor)
{
    if (w->error.code != ITG_OK) return w->error.code;
    int64_t elements = 0;
    size_t size = itg_dtype_size(tensor->dtype);
    if (!itg_shape_elements(&tensor->shape, &elements))
        return broken(w, ITG_BAD_ARGUMENT, "an initializer of unknown or too large shape");
    void *raw = new_message(w, (size_t)elements * size);
    if (raw) itg_copy_little_endian(raw, tensor->data, (size_t)elements, size);
    return add_initializer(w, name, itg_onnx_type_of(tensor->dtype), &tensor->shape, raw,
                           (size_t)elements * size);
}

/* The element of even index lies in the low half of its byte. */
itg_status itg_onnx_writer_int4(itg_onnx_writer *w, const char *name, const itg_shape *shape,
                                const int8_t *codes)
{
    if (w->error.code != ITG_OK) return w->error.code;
    int64_t elements = 0;
    if (!itg_shape_elements(shape, &elements))
        return broken(w, ITG_BAD_ARGUMENT, "an initializer of unknown or too large shape");
    size_t bytes = ((size_t)elements + 1) / 2;
    unsigned char *raw = new_message(w, bytes + 1);
    for (int64_t i = 0; raw && i < elements; i++)
        itg_packed_put(raw, 4, i, codes[i]);
    return add_initializer(w, name, TENSOR_INT4, shape, raw, bytes);
}

/* ---- nodes ---- */
static char **copy_names(itg_onnx_writer *w, const char *const *names, int32_t count)
{
    char **copy = itg_arena_array(w->arena, (size_t)count, sizeof *copy);
    if (!copy) no_memory(w);
    for (int32_t i = 0; copy && i < count; i++) {
        copy[i] = copy_text(w, names[i]);
        if (!copy[i]) return NULL;
    }
    return copy;
}

/* The attributes collected so far belong to the last node. */
static void close_node(itg_onnx_writer *w)
{
    if (w->nodes.count == 0) return;
    ItgOnnx__NodeProto *node = w->nodes.items[w->nodes.count - 1];
    node->attribute = (ItgOnnx__AttributeProto **)w->attributes.items;
    node->n_attribute = w->attributes.count;
    w->attributes = (list){0};
}

itg_status itg_onnx_writer_node(itg_onnx_writer *w, const char *domain, const char *op_type,
                                const char *name, const char *const *inputs, int32_t input_count,
                                const char *const *outputs, int32_t output_count)
{
    if (w->error.code != ITG_OK) return w->error.code;
    ItgOnnx__NodeProto *node = new_message(w, sizeof *node);
    if (!node) return w->error.code;
    itg_onnx__node_proto__init(node);
    if (domain && *domain) node->domain = copy_text(w, domain);
    node->op_type = copy_text(w, op_type);
    node->name = copy_text(w, name);
    node->input = copy_names(w, inputs, input_count);
    node->n_input = (size_t)input_count;
    node->output = copy_names(w, outputs, output_count);
    node->n_output = (size_t)output_count;
    if (w->error.code != ITG_OK) return w->error.code;
    close_node(w);
    return append(w, &w->nodes, node);
}

/* An attribute of the last node; NULL: failed, the writer keeps why. */
static ItgOnnx__AttributeProto *new_attribute(itg_onnx_writer *w, const char *name, int32_t type)
{
    if (w->error.code != ITG_OK) return NULL;
    if (w->nodes.count == 0) {
        broken(w, ITG_BAD_ARGUMENT, "an attribute before any node");
        return NULL;
    }
    ItgOnnx__AttributeProto *attribute = new_message(w, sizeof *attribute);
    if (!attribute) return NULL;
    itg_onnx__attribute_proto__init(attribute);
    attribute->name = copy_text(w, name);
    attribute->has_type = 1;
    attribute->type = type;
    if (!attribute->name || append(w, &w->attributes, attribute) != ITG_OK) return NULL;
    return attribute;
}

itg_status itg_onnx_writer_int(itg_onnx_writer *w, const char *name, int64_t value)
{
    ItgOnnx__AttributeProto *a = new_attribute(w, name, TYPE_INT);
    if (!a) return w->error.code;
    a->has_i = 1;
    a->i = value;
    return ITG_OK;
}

itg_status itg_onnx_writer_float(itg_onnx_writer *w, const char *name, float value)
{
    ItgOnnx__AttributeProto *a = new_attribute(w, name, TYPE_FLOAT);
    if (!a) return w->error.code;
    a->has_f = 1;
    a->f = value;
    return ITG_OK;
}

/* A copy of a list attribute's elements; NULL: failed. */
static void *copy_list(itg_onnx_writer *w, const void *values, int64_t count, size_t size)
{
    size_t bytes = 0;
    void *copy = NULL;
    if (count >= 0 && itg_mul_size((size_t)count, size, &bytes))
        copy = itg_arena_copy(w->arena, values, bytes);
    if (!copy) no_memory(w);
    return copy;
}

itg_status itg_onnx_writer_ints(itg_onnx_writer *w, const char *name, const int64_t *values,
                                int64_t count)
{
    ItgOnnx__AttributeProto *a = new_attribute(w, name, TYPE_INTS);
    if (!a) return w->error.code;
    a->ints = copy_list(w, values, count, sizeof *values);
    a->n_ints = a->ints ? (size_t)count : 0;
    return w->error.code;
}

itg_status itg_onnx_writer_floats(itg_onnx_writer *w, const char *name, const float *values,
                                  int64_t count)
{
    ItgOnnx__AttributeProto *a = new_attribute(w, name, TYPE_FLOATS);
    if (!a) return w->error.code;
    a->floats = copy_list(w, values, count, sizeof *values);
    a->n_floats = a->floats ? (size_t)count : 0;
    return w->error.code;
}

itg_status itg_onnx_writer_string(itg_onnx_writer *w, const char *name, const char *value)
{
    ItgOnnx__AttributeProto *a = new_attribute(w, name, TYPE_STRING);
    if (!a) return w->error.code;
    char *copy = copy_text(w, value);
    if (!copy) return w->error.code;
    a->has_s = 1;
    a->s = (ProtobufCBinaryData){.len = strlen(copy), .data = (unsigned char *)copy};
    return ITG_OK;
}

/* ---- the file ---- */
/* The IR version that came with an opset (ONNX's docs/Versioning.md): the lowest that readers of
 * the opset accept. */
static int64_t ir_version(const itg_onnx_writer *w)
{
    static const struct {
        int64_t opset, ir;
    } steps[] = {{21, 10}, {19, 9}, {15, 8}, {12, 7}, {11, 6}, {10, 5}, {9, 4}};
    int64_t version = 0;
    for (size_t i = 0; i < w->opsets.count; i++) {
        const ItgOnnx__OperatorSetIdProto *opset = w->opsets.items[i];
        if (!*opset->domain) version = opset->version;
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (version >= steps[i].opset) return steps[i].ir;
    return 4; /* 3 wants every initializer among the inputs */
}

static void close_model(itg_onnx_writer *w)
{
    ItgOnnx__GraphProto *g = &w->graph;
    ItgOnnx__NodeProto *last = w->nodes.count ? w->nodes.items[w->nodes.count - 1] : NULL;
    if (last && last->n_attribute == 0) close_node(w);
    w->model.has_ir_version = 1;
    w->model.ir_version = ir_version(w);
    w->model.opset_import = (ItgOnnx__OperatorSetIdProto **)w->opsets.items;
    w->model.n_opset_import = w->opsets.count;
    w->model.metadata_props = (ItgOnnx__StringStringEntryProto **)w->metadata.items;
    w->model.n_metadata_props = w->metadata.count;
    g->node = (ItgOnnx__NodeProto **)w->nodes.items;
    g->n_node = w->nodes.count;
    g->initializer = (ItgOnnx__TensorProto **)w->initializers.items;
    g->n_initializer = w->initializers.count;
    g->input = (ItgOnnx__ValueInfoProto **)w->inputs.items;
    g->n_input = w->inputs.count;
    g->output = (ItgOnnx__ValueInfoProto **)w->outputs.items;
    g->n_output = w->outputs.count;
}

itg_status itg_onnx_writer_pack(itg_onnx_writer *w, const char *name, itg_buffer *out,
                                itg_error *err)
{
    if (w->error.code != ITG_OK)
        return itg_fail(err, w->error.code, "%s: %s", name, w->error.message);
    close_model(w);
    size_t bytes = itg_onnx__model_proto__get_packed_size(&w->model);
    if (bytes > ITG_WIRE_MAX_BYTES)
        return itg_fail(err, ITG_LIMIT,
                        "%s: the model has %zu bytes; ONNX files have at most 2 GiB", name, bytes);
    unsigned char *packed = malloc(bytes > 0 ? bytes : 1);
    if (!packed) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for %zu bytes", name, bytes);
    itg_onnx__model_proto__pack(&w->model, packed);
    /* The reader's limits are the writer's. */
    itg_status status = itg_wire_scan(packed, bytes, ITG_WIRE_MODEL, name, err);
    if (status != ITG_OK) {
        free(packed);
        return itg_prefix_error(err, status, "what is written cannot be read");
    }
    *out = (itg_buffer){packed, bytes};
    return ITG_OK;
}

itg_status itg_onnx_writer_save(itg_onnx_writer *w, const char *path, itg_error *err)
{
    itg_buffer packed = {0};
    itg_status status = itg_onnx_writer_pack(w, path, &packed, err);
    if (status == ITG_OK) status = itg_file_write(path, packed.data, packed.bytes, err);
    free(packed.data);
    return status;
}
