#include <stdlib.h>
#include <string.h>
#include "graph/onnx/file_nodes.h"
#include "graph/onnx/tensor_read.h"

/* AttributeProto.AttributeType */
static const char *const attribute_types[] = {
    "of no stated type",
    "FLOAT",
    "INT",
    "STRING",
    "TENSOR",
    "GRAPH",
    "FLOATS",
    "INTS",
    "STRINGS",
    "TENSORS",
    "GRAPHS",
    "SPARSE_TENSOR",
    "SPARSE_TENSORS",
    "TYPE_PROTO",
    "TYPE_PROTOS",
};
enum {
    TYPE_FLOAT = 1,
    TYPE_INT,
    TYPE_STRING,
    TYPE_TENSOR,
    TYPE_GRAPH,
    TYPE_FLOATS,
    TYPE_INTS,
    TYPE_STRINGS
};

const char *itg_onnx_copy_text(itg_arena *arena, const char *text)
{
    return !text || !*text ? "" : itg_arena_strdup(arena, text);
}

/* Before IR version 2 an attribute states no type; the field that is set tells it. */
static int32_t attribute_type(const ItgOnnx__AttributeProto *a)
{
    if (a->has_type && a->type != 0) return a->type;
    return a->has_f       ? TYPE_FLOAT
           : a->has_i     ? TYPE_INT
           : a->has_s     ? TYPE_STRING
           : a->t         ? TYPE_TENSOR
           : a->g         ? TYPE_GRAPH
           : a->n_floats  ? TYPE_FLOATS
           : a->n_ints    ? TYPE_INTS
           : a->n_strings ? TYPE_STRINGS
                          : 0;
}

/* Copies an attribute's string. In the format it is bytes; a NUL in it is an error. */
static itg_status copy_bytes(const ProtobufCBinaryData *bytes, itg_arena *arena, const char **out,
                             itg_error *err)
{
    if (bytes->len > 0 && memchr(bytes->data, 0, bytes->len))
        return itg_fail(err, ITG_BAD_FILE, "a text with a zero byte");
    char *text = itg_arena_alloc(arena, bytes->len + 1);
    if (!text) return itg_no_memory(err);
    if (bytes->len > 0) memcpy(text, bytes->data, bytes->len);
    text[bytes->len] = 0;
    *out = text;
    return ITG_OK;
}

static const void *copy_list(const void *items, size_t count, size_t size, itg_arena *arena,
                             itg_onnx_attr *out)
{
    out->count = (int64_t)count;
    return itg_arena_copy(arena, items, count * size);
}

/* ---- graphs ---- */

static itg_status constant_node(const ItgOnnx__TensorProto *proto, itg_arena *arena,
                                itg_onnx_node *out, itg_error *err)
{
    const char **name = itg_arena_array(arena, 1, sizeof *name);
    itg_onnx_attr *value = itg_arena_array(arena, 1, sizeof *value);
    if (!name || !value || !(*name = itg_onnx_copy_text(arena, proto->name)))
        return itg_no_memory(err);
    *value = (itg_onnx_attr){.name = "value", .type = ITG_ATTR_TENSOR};
    *out = (itg_onnx_node){.domain = "",
                           .op_type = "Constant",
                           .overload = "",
                           .name = *name,
                           .output_count = 1,
                           .attr_count = 1,
                           .outputs = name,
                           .attrs = value};
    itg_status status = itg_onnx_tensor_convert(proto, arena, &value->tensor, err);
    return status == ITG_OK ? itg_onnx_index_attributes(arena, out, err) : status;
}

/* The wire scan has limited the depth of recursion (ITG_WIRE_MAX_DEPTH). */
static itg_status convert_graph(const ItgOnnx__GraphProto *proto, itg_arena *arena,
                                const itg_onnx_branch **out, itg_error *err)
{
    const size_t constants = proto->n_initializer;
    itg_onnx_branch *branch = itg_arena_array(arena, 1, sizeof *branch);
    itg_onnx_node *nodes = itg_arena_array(arena, constants + proto->n_node, sizeof *nodes);
    const char **outputs = itg_arena_array(arena, proto->n_output, sizeof *outputs);
    itg_status status = branch && nodes && outputs ? ITG_OK : itg_no_memory(err);
    for (size_t i = 0; i < constants && status == ITG_OK; i++)
        status = constant_node(proto->initializer[i], arena, &nodes[i], err);
    for (size_t i = 0; i < proto->n_node && status == ITG_OK; i++)
        status = itg_onnx_convert_node(proto->node[i], (int32_t)i, "branch", arena,
                                       &nodes[constants + i], err);
    for (size_t i = 0; i < proto->n_output && status == ITG_OK; i++)
        if (!(outputs[i] = itg_onnx_copy_text(arena, proto->output[i]->name)))
            status = itg_no_memory(err);
    if (status != ITG_OK) return status;
    *branch = (itg_onnx_branch){.input_count = (int32_t)proto->n_input,
                                .output_count = (int32_t)proto->n_output,
                                .node_count = (int32_t)(constants + proto->n_node),
                                .outputs = outputs,
                                .nodes = nodes};
    *out = branch;
    return ITG_OK;
}

static itg_status copy_texts(const ItgOnnx__AttributeProto *a, itg_arena *arena, itg_onnx_attr *out,
                             itg_error *err)
{
    const char **texts = itg_arena_array(arena, a->n_strings + 1, sizeof *texts);
    itg_status status = texts ? ITG_OK : itg_no_memory(err);
    for (size_t i = 0; i < a->n_strings && status == ITG_OK; i++)
        status = copy_bytes(&a->strings[i], arena, &texts[i], err);
    out->strings = texts;
    out->count = (int64_t)a->n_strings;
    return status;
}

static itg_status convert_value(const ItgOnnx__AttributeProto *a, itg_arena *arena,
                                itg_onnx_attr *out, itg_error *err)
{
    int32_t type = attribute_type(a);
    if (a->ref_attr_name && *a->ref_attr_name) {
        out->type = ITG_ATTR_REFERENCE;
        out->s = itg_onnx_copy_text(arena, a->ref_attr_name);
        return out->s ? ITG_OK : itg_no_memory(err);
    }
    switch (type) {
    case TYPE_FLOAT:
        out->type = ITG_ATTR_FLOAT;
        out->f = a->f;
        return ITG_OK;
    case TYPE_INT:
        out->type = ITG_ATTR_INT;
        out->i = a->i;
        return ITG_OK;
    case TYPE_STRING:
        out->type = ITG_ATTR_STRING;
        return copy_bytes(&a->s, arena, &out->s, err);
    case TYPE_FLOATS:
        out->type = ITG_ATTR_FLOATS;
        out->floats = copy_list(a->floats, a->n_floats, sizeof *a->floats, arena, out);
        return out->floats ? ITG_OK : itg_no_memory(err);
    case TYPE_INTS:
        out->type = ITG_ATTR_INTS;
        out->ints = copy_list(a->ints, a->n_ints, sizeof *a->ints, arena, out);
        return out->ints ? ITG_OK : itg_no_memory(err);
    case TYPE_STRINGS:
        out->type = ITG_ATTR_STRINGS;
        return copy_texts(a, arena, out, err);
    case TYPE_TENSOR:
        out->type = ITG_ATTR_TENSOR;
        if (!a->t) return itg_fail(err, ITG_BAD_FILE, "a tensor is expected and absent");
        return itg_onnx_tensor_convert(a->t, arena, &out->tensor, err);
    case TYPE_GRAPH:
        out->type = ITG_ATTR_GRAPH;
        if (!a->g) return itg_fail(err, ITG_BAD_FILE, "a graph is expected and absent");
        return convert_graph(a->g, arena, &out->graph, err);
    default:
        out->type = ITG_ATTR_OTHER;
        out->s = type > 0 && type < (int32_t)(sizeof attribute_types / sizeof *attribute_types)
                     ? attribute_types[type]
                     : attribute_types[0];
        return ITG_OK;
    }
}

static int by_name(const void *a, const void *b)
{
    const itg_onnx_attr *const *first = a, *const *second = b;
    return strcmp((*first)->name, (*second)->name);
}

itg_status itg_onnx_index_attributes(itg_arena *arena, itg_onnx_node *node, itg_error *err)
{
    size_t count = (size_t)node->attr_count;
    const itg_onnx_attr **sorted = itg_arena_array(arena, count + 1, sizeof *sorted);
    if (!sorted) return itg_no_memory(err);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &node->attrs[i];
    qsort(sorted, count, sizeof *sorted, by_name);
    for (size_t i = 1; i < count; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            return itg_fail(err, ITG_BAD_FILE, "attribute '%.100s' is there twice",
                            sorted[i]->name);
    node->sorted = sorted;
    return ITG_OK;
}

const itg_onnx_attr *itg_onnx_attr_find(const itg_onnx_node *node, const char *name)
{
    const itg_onnx_attr wanted = {.name = name}, *key = &wanted;
    if (node->attr_count == 0) return NULL;
    const itg_onnx_attr *const *found =
        bsearch(&key, node->sorted, (size_t)node->attr_count, sizeof *node->sorted, by_name);
    return found ? *found : NULL;
}

itg_status itg_onnx_convert_attributes(ItgOnnx__AttributeProto *const *protos, size_t count,
                                       itg_arena *arena, itg_onnx_node *node, itg_error *err)
{
    itg_onnx_attr *attrs = itg_arena_array(arena, count, sizeof *attrs);
    if (!attrs) return itg_no_memory(err);
    node->attrs = attrs;
    for (size_t i = 0; i < count; i++) {
        itg_onnx_attr *attr = &attrs[i];
        attr->name = itg_onnx_copy_text(arena, protos[i]->name);
        if (!attr->name) return itg_no_memory(err);
        itg_status status = convert_value(protos[i], arena, attr, err);
        if (status != ITG_OK)
            return itg_prefix_error(err, status, "attribute '%.100s'", attr->name);
        node->attr_count++;
    }
    return itg_onnx_index_attributes(arena, node, err);
}

const char *const *itg_onnx_copy_names(char **names, size_t count, itg_arena *arena)
{
    const char **copy = itg_arena_array(arena, count, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = itg_onnx_copy_text(arena, names[i]);
        if (!copy[i]) return NULL;
    }
    return copy;
}

itg_status itg_onnx_convert_node(const ItgOnnx__NodeProto *proto, int32_t index, const char *where,
                                 itg_arena *arena, itg_onnx_node *out, itg_error *err)
{
    itg_onnx_node node = {.input_count = (int32_t)proto->n_input,
                          .output_count = (int32_t)proto->n_output};
    node.domain = itg_onnx_copy_text(arena, proto->domain);
    node.op_type = itg_onnx_copy_text(arena, proto->op_type);
    node.overload = itg_onnx_copy_text(arena, proto->overload);
    node.name = itg_onnx_copy_text(arena, proto->name);
    node.inputs = itg_onnx_copy_names(proto->input, proto->n_input, arena);
    node.outputs = itg_onnx_copy_names(proto->output, proto->n_output, arena);
    if (!node.domain || !node.op_type || !node.overload || !node.name || !node.inputs ||
        !node.outputs)
        return itg_fail(err, ITG_NO_MEMORY, "%s: node %d: out of memory", where, (int)index);
    itg_status status = ITG_OK;
    if (!*node.op_type)
        status = itg_fail(err, ITG_BAD_FILE, "no operator is named");
    else
        status =
            itg_onnx_convert_attributes(proto->attribute, proto->n_attribute, arena, &node, err);
    *out = node;
    if (status != ITG_OK)
        return itg_prefix_error(err, status, "%s: node %d '%.100s' (%.60s)", where, (int)index,
                                node.name, node.op_type);
    return ITG_OK;
}
