/* SHA-256 of a graph. Every number goes in as little-endian bytes and every name with its length,
 * so that different graphs never feed the same bytes. The file's name, opset numbers and
 * source_hash stay out: they are not the function. */
#include "attr_list.h"
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

static void add_attr(itg_sha256 *hash, const itg_attr_view *attr)
{
    add_text(hash, attr->name);
    switch (attr->type) {
    case ITG_FIELD_INTS:
        add_int(hash, attr->count);
        for (int32_t i = 0; i < attr->count; ++i)
            add_int(hash, attr->ints[i]);
        break;
    case ITG_FIELD_BOOL:
        add_int(hash, attr->flag);
        break;
    case ITG_FIELD_FLOAT:
        add_float(hash, attr->number);
        break;
    case ITG_FIELD_NAME:
        add_text(hash, attr->text);
        break;
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
    itg_attr_view attr;
    int32_t count = 0;
    add_text(hash, n->name);
    add_text(hash, itg_op_name(n->op));
    add_ids(hash, n->inputs, n->input_count);
    add_ids(hash, n->outputs, n->output_count);
    while (itg_attr_at(g, id, count, &attr)) {
        add_attr(hash, &attr);
        count++;
    }
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
