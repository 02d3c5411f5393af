/* SHA-256 of a graph. Numbers are hashed as little-endian bytes and names with their length, so
 * that different graphs give different bytes. The file's name, opset numbers and source_hash do not
 * count, because they do not change the function. */
#include "internal.h"
#include <string.h>

static void add_int(itg_sha256 *hash, int64_t value)
{
    unsigned char bytes[8];
    itg_copy_little_endian(bytes, &value, 1, sizeof value);
    itg_sha256_update(hash, bytes, sizeof bytes);
}

static void add_float(itg_sha256 *hash, float value)
{
    unsigned char bytes[4];
    itg_copy_little_endian(bytes, &value, 1, sizeof value);
    itg_sha256_update(hash, bytes, sizeof bytes);
}

static void add_text(itg_sha256 *hash, const char *text)
{
    add_int(hash, (int64_t)strlen(text));
    itg_sha256_update(hash, text, strlen(text));
}

static void add_data(itg_sha256 *hash, const itg_tensor *tensor)
{
    unsigned char block[4096];
    size_t size = itg_dtype_size(tensor->dtype), left = itg_tensor_bytes(tensor) / size;
    const unsigned char *from = tensor->data;
    add_int(hash, (int64_t)left);
    while (left > 0) {
        size_t count = left < sizeof block / size ? left : sizeof block / size;
        itg_copy_little_endian(block, from, count, size);
        itg_sha256_update(hash, block, count * size);
        from += count * size;
        left -= count;
    }
}

static void add_value(itg_sha256 *hash, const itg_graph *g, itg_id id)
{
    const itg_value *v = &g->values[id];
    int64_t elements = 0;
    add_text(hash, v->name);
    add_text(hash, itg_dtype_name(v->dtype));
    add_int(hash, v->shape.rank);
    for (int32_t i = 0; i < v->shape.rank; ++i)
        add_int(hash, v->shape.dims[i]);
    add_int(hash, v->data != NULL);
    itg_tensor tensor = itg_graph_tensor(g, id);
    if (v->data && itg_shape_elements(&v->shape, &elements)) add_data(hash, &tensor);
}

static void add_numbers(itg_sha256 *hash, const int64_t *numbers, int32_t count)
{
    add_int(hash, count);
    for (int32_t i = 0; i < count; ++i)
        add_int(hash, numbers[i]);
}

static void add_attr(itg_sha256 *hash, const itg_attr *attr, const itg_attrs *attrs, int32_t rank)
{
    const void *value = itg_attr_value(attr, attrs);
    add_text(hash, attr->field->name);
    switch (attr->field->kind) {
    case ITG_KIND_BOOL:
        add_int(hash, *(const bool *)value);
        break;
    case ITG_KIND_FLOAT:
    case ITG_KIND_BOUND:
    case ITG_KIND_FLOATS:
        for (size_t i = 0; i < attr->field->size / sizeof(float); ++i)
            add_float(hash, ((const float *)value)[i]);
        break;
    case ITG_KIND_DTYPE:
    case ITG_KIND_NAME:
    case ITG_KIND_AUTO_PAD:
        add_text(hash, itg_attr_word(attr, attrs));
        break;
    default:
        add_numbers(hash, value, itg_attr_count(attr, attrs, rank));
    }
}

static void add_ids(itg_sha256 *hash, const itg_id *ids, int32_t count)
{
    add_int(hash, count);
    for (int32_t i = 0; i < count; ++i)
        add_int(hash, ids[i]);
}

static void add_node(itg_sha256 *hash, const itg_graph *g, itg_id id)
{
    const itg_node *n = &g->nodes[id];
    int32_t count;
    const itg_attr *attr = itg_op_attrs(n->op, &count);
    add_text(hash, n->name);
    add_text(hash, itg_op_name(n->op));
    add_ids(hash, n->inputs, n->input_count);
    add_ids(hash, n->outputs, n->output_count);
    for (int32_t i = 0; i < count; ++i)
        if (attr[i].in_graph) add_attr(hash, &attr[i], &n->attrs, itg_input_rank(g, id));
}

void itg_graph_hash(const itg_graph *g, unsigned char out[32])
{
    itg_sha256 hash;
    itg_sha256_init(&hash);
    add_text(&hash, "intaglio graph 1");
    add_int(&hash, g->value_count);
    for (itg_id v = 0; v < g->value_count; ++v)
        add_value(&hash, g, v);
    add_int(&hash, g->node_count);
    for (itg_id n = 0; n < g->node_count; ++n)
        add_node(&hash, g, n);
    add_ids(&hash, g->inputs, g->input_count);
    add_ids(&hash, g->outputs, g->output_count);
    add_int(&hash, g->dropped_softmax);
    itg_sha256_final(&hash, out);
}
