/* Builds ONNX's messages in one arena and packs them with protobuf-c. The writer keeps the first
 * failure; after it nothing is added, and saving fails. */
#include <stdlib.h>
#include <string.h>
#include "base/packed.h"
#include "graph/onnx/onnx_write.h"
#include "graph/onnx/tensor_types.h"
#include "graph/onnx/wire_scan.h"
#include "onnx.pb-c.h"

enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_STRING = 3, TYPE_FLOATS = 6, TYPE_INTS = 7 };

enum { TENSOR_INT4 = 22 }; /* TensorProto.DataType; itg_dtype has no such type */

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

static void fail(itg_onnx_writer *w, itg_status code, const char *what)
{
    if (w->error.code == ITG_OK) itg_fail(&w->error, code, "%s: %s", w->graph.name, what);
}

/* Returns `memory`; NULL makes the writer fail. */
static void *checked(itg_onnx_writer *w, void *memory)
{
    if (!memory) fail(w, ITG_NO_MEMORY, "out of memory");
    return memory;
}

static void append(itg_onnx_writer *w, list *to, void *item)
{
    if (to->count == to->capacity) {
        size_t capacity = to->capacity ? 2 * to->capacity : 8;
        void **items = checked(w, itg_arena_array(w->arena, capacity, sizeof *items));
        if (!items) return;
        if (to->count > 0) memcpy(items, to->items, to->count * sizeof *items);
        to->items = items;
        to->capacity = capacity;
    }
    to->items[to->count++] = item;
}

static char *copy_text(itg_onnx_writer *w, const char *text)
{
    return checked(w, itg_arena_strdup(w->arena, text ? text : ""));
}

/* Makes a message of a kind; NULL: the writer has failed. */
static void *new_message(itg_onnx_writer *w, const ProtobufCMessageDescriptor *kind)
{
    if (w->error.code != ITG_OK) return NULL;
    void *message = checked(w, itg_arena_alloc(w->arena, kind->sizeof_message));
    if (message) protobuf_c_message_init(kind, message);
    return message;
}

static void *add_message(itg_onnx_writer *w, list *to, const ProtobufCMessageDescriptor *kind)
{
    void *message = new_message(w, kind);
    if (message) append(w, to, message);
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
    if (!w || w->error.code != ITG_OK) {
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

void itg_onnx_writer_opset(itg_onnx_writer *w, const char *domain, int64_t version)
{
    ItgOnnx__OperatorSetIdProto *opset =
        add_message(w, &w->opsets, &itg_onnx__operator_set_id_proto__descriptor);
    if (!opset) return;
    opset->domain = copy_text(w, domain);
    opset->has_version = 1;
    opset->version = version;
}

void itg_onnx_writer_metadata(itg_onnx_writer *w, const char *key, const char *value)
{
    ItgOnnx__StringStringEntryProto *entry =
        add_message(w, &w->metadata, &itg_onnx__string_string_entry_proto__descriptor);
    if (!entry) return;
    entry->key = copy_text(w, key);
    entry->value = copy_text(w, value);
}

/* ---- inputs and outputs ---- */
static ItgOnnx__TensorShapeProto *make_shape(itg_onnx_writer *w, const itg_shape *shape)
{
    ItgOnnx__TensorShapeProto *proto = new_message(w, &itg_onnx__tensor_shape_proto__descriptor);
    list dims = {0};
    for (int32_t i = 0; i < shape->rank; i++) {
        ItgOnnx__TensorShapeProto__Dimension *dim =
            add_message(w, &dims, &itg_onnx__tensor_shape_proto__dimension__descriptor);
        if (!dim) return NULL;
        dim->has_dim_value = shape->dims[i] >= 0;
        dim->dim_value = shape->dims[i];
        if (!dim->has_dim_value) dim->dim_param = copy_text(w, "N");
    }
    if (!proto) return NULL;
    proto->dim = (ItgOnnx__TensorShapeProto__Dimension **)dims.items;
    proto->n_dim = dims.count;
    return proto;
}

static void add_value_info(itg_onnx_writer *w, list *to, const char *name, itg_dtype dtype,
                           const itg_shape *shape)
{
    ItgOnnx__ValueInfoProto *info = add_message(w, to, &itg_onnx__value_info_proto__descriptor);
    ItgOnnx__TypeProto *type = new_message(w, &itg_onnx__type_proto__descriptor);
    ItgOnnx__TypeProto__Tensor *tensor = new_message(w, &itg_onnx__type_proto__tensor__descriptor);
    if (!info || !type || !tensor) return;
    info->name = copy_text(w, name);
    info->type = type;
    type->tensor_type = tensor;
    tensor->has_elem_type = 1;
    tensor->elem_type = itg_onnx_type_of(dtype);
    if (shape && shape->rank >= 0) tensor->shape = make_shape(w, shape);
}

void itg_onnx_writer_input(itg_onnx_writer *w, const char *name, itg_dtype dtype,
                           const itg_shape *shape)
{
    add_value_info(w, &w->inputs, name, dtype, shape);
}

void itg_onnx_writer_output(itg_onnx_writer *w, const char *name, itg_dtype dtype,
                            const itg_shape *shape)
{
    add_value_info(w, &w->outputs, name, dtype, shape);
}

/* ---- initializers ---- */
/* Room for `bytes` of raw data, zeroed; NULL: failed. */
static void *add_initializer(itg_onnx_writer *w, const char *name, int32_t type,
                             const itg_shape *shape, size_t bytes)
{
    ItgOnnx__TensorProto *proto =
        add_message(w, &w->initializers, &itg_onnx__tensor_proto__descriptor);
    if (!proto) return NULL;
    proto->name = copy_text(w, name);
    proto->has_data_type = 1;
    proto->data_type = type;
    proto->n_dims = (size_t)shape->rank;
    proto->dims = checked(w, itg_arena_copy(w->arena, shape->dims, sizeof shape->dims));
    proto->has_raw_data = 1;
    proto->raw_data.len = bytes;
    proto->raw_data.data = checked(w, itg_arena_alloc(w->arena, bytes));
    return proto->raw_data.data;
}

static bool has_elements(itg_onnx_writer *w, const itg_shape *shape, int64_t *elements)
{
    if (itg_shape_elements(shape, elements)) return true;
    fail(w, ITG_BAD_ARGUMENT, "an initializer of unknown or too large shape");
    return false;
}

void itg_onnx_writer_initializer(itg_onnx_writer *w, const char *name, const itg_tensor *tensor)
{
    int64_t elements;
    size_t size = itg_dtype_size(tensor->dtype);
    if (!has_elements(w, &tensor->shape, &elements)) return;
    void *raw = add_initializer(w, name, itg_onnx_type_of(tensor->dtype), &tensor->shape,
                                (size_t)elements * size);
    if (raw) itg_copy_little_endian(raw, tensor->data, (size_t)elements, size);
}

/* The element of even index lies in the low half of its byte. */
void itg_onnx_writer_int4(itg_onnx_writer *w, const char *name, const itg_shape *shape,
                          const int8_t *codes)
{
    int64_t elements;
    if (!has_elements(w, shape, &elements)) return;
    unsigned char *raw = add_initializer(w, name, TENSOR_INT4, shape, ((size_t)elements + 1) / 2);
    for (int64_t i = 0; raw && i < elements; i++)
        itg_packed_put(raw, 4, true, i, codes[i]);
}

/* ---- nodes ---- */
static char **copy_names(itg_onnx_writer *w, const char *const *names, int32_t count)
{
    char **copy = checked(w, itg_arena_array(w->arena, (size_t)count, sizeof *copy));
    for (int32_t i = 0; copy && i < count; i++)
        copy[i] = copy_text(w, names[i]);
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

void itg_onnx_writer_node(itg_onnx_writer *w, const char *domain, const char *op_type,
                          const char *name, const char *const *inputs, int32_t input_count,
                          const char *const *outputs, int32_t output_count)
{
    close_node(w);
    ItgOnnx__NodeProto *node = add_message(w, &w->nodes, &itg_onnx__node_proto__descriptor);
    if (!node) return;
    if (domain && *domain) node->domain = copy_text(w, domain);
    node->op_type = copy_text(w, op_type);
    node->name = copy_text(w, name);
    node->input = copy_names(w, inputs, input_count);
    node->n_input = (size_t)input_count;
    node->output = copy_names(w, outputs, output_count);
    node->n_output = (size_t)output_count;
}

/* An attribute of the last node; NULL: failed. */
static ItgOnnx__AttributeProto *new_attribute(itg_onnx_writer *w, const char *name, int32_t type)
{
    if (w->nodes.count == 0) fail(w, ITG_BAD_ARGUMENT, "an attribute before any node");
    ItgOnnx__AttributeProto *attribute =
        add_message(w, &w->attributes, &itg_onnx__attribute_proto__descriptor);
    if (!attribute) return NULL;
    attribute->name = copy_text(w, name);
    attribute->has_type = 1;
    attribute->type = type;
    return attribute;
}

void itg_onnx_writer_int(itg_onnx_writer *w, const char *name, int64_t value)
{
    ItgOnnx__AttributeProto *a = new_attribute(w, name, TYPE_INT);
    if (!a) return;
    a->has_i = 1;
    a->i = value;
}

void itg_onnx_writer_float(itg_onnx_writer *w, const char *name, float value)
{
    ItgOnnx__AttributeProto *a = new_attribute(w, name, TYPE_FLOAT);
    if (!a) return;
    a->has_f = 1;
    a->f = value;
}

/* Copies the elements of a list attribute; NULL: failed. */
static void *copy_list(itg_onnx_writer *w, const void *values, int64_t count, size_t size)
{
    size_t bytes = 0;
    bool fits = count >= 0 && itg_mul_size((size_t)count, size, &bytes);
    return checked(w, fits ? itg_arena_copy(w->arena, values, bytes) : NULL);
}

void itg_onnx_writer_ints(itg_onnx_writer *w, const char *name, const int64_t *values,
                          int64_t count)
{
    ItgOnnx__AttributeProto *a = new_attribute(w, name, TYPE_INTS);
    if (!a) return;
    a->ints = copy_list(w, values, count, sizeof *values);
    a->n_ints = (size_t)count;
}

void itg_onnx_writer_floats(itg_onnx_writer *w, const char *name, const float *values,
                            int64_t count)
{
    ItgOnnx__AttributeProto *a = new_attribute(w, name, TYPE_FLOATS);
    if (!a) return;
    a->floats = copy_list(w, values, count, sizeof *values);
    a->n_floats = (size_t)count;
}

void itg_onnx_writer_string(itg_onnx_writer *w, const char *name, const char *value)
{
    ItgOnnx__AttributeProto *a = new_attribute(w, name, TYPE_STRING);
    if (!a) return;
    a->has_s = 1;
    a->s.data = (unsigned char *)copy_text(w, value);
    a->s.len = value ? strlen(value) : 0;
}

/* ---- the file ---- */
/* Returns the IR version that came with an opset (ONNX's docs/Versioning.md): the lowest that
 * readers of the opset accept. */
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
    return 4; /* version 3 requires initializers to be inputs */
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
    /* The writer respects the reader's limits. */
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
