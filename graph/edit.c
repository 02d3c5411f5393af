#include "edit.h"
#include <string.h>

itg_readers itg_readers_of(const itg_graph *g, itg_id value)
{
    const itg_value *v = &g->values[value];
    return (itg_readers){.value = value, .node = v->producer, .left = v->reads};
}

bool itg_next_reader(const itg_graph *g, itg_readers *readers)
{
    const int32_t before = readers->left;
    while (readers->left == before && readers->left > 0 && ++readers->node < g->node_count)
        for (int32_t i = 0; i < g->nodes[readers->node].input_count; ++i)
            readers->left -= g->nodes[readers->node].inputs[i] == readers->value;
    return readers->left < before;
}

void itg_kill_node(itg_graph *g, itg_id node)
{
    itg_node *n = &g->nodes[node];
    for (int32_t i = 0; i < n->output_count; ++i)
        if (n->outputs[i] != ITG_NONE && g->values[n->outputs[i]].producer == node)
            g->values[n->outputs[i]].producer = ITG_NONE;
    n->output_count = 0;
    itg_graph_drop_inputs(g, node, 0);
}

bool itg_bypass_node(itg_graph *g, itg_id node)
{
    itg_id in = g->nodes[node].inputs[0], out = g->nodes[node].outputs[0];
    if (itg_graph_is_output(g, out)) {
        if (g->values[in].producer == ITG_NONE || itg_graph_is_output(g, in)) return false;
        const char *name = g->values[in].name;
        g->values[in].name = g->values[out].name;
        g->values[out].name = name;
        itg_graph_rename(g);
    }
    itg_graph_replace_uses(g, out, in);
    itg_kill_node(g, node);
    return true;
}

itg_node *itg_become(itg_graph *g, itg_id node, itg_op op)
{
    g->nodes[node].op = op;
    g->nodes[node].attrs = itg_attrs_default(op);
    return &g->nodes[node];
}

void itg_set_only_input(itg_graph *g, itg_id node, itg_id value)
{
    itg_graph_set_input(g, node, 0, value);
    itg_graph_drop_inputs(g, node, 1);
}

void itg_take_output(itg_graph *g, itg_id node, itg_id value)
{
    itg_node *n = &g->nodes[node];
    if (n->outputs[0] != ITG_NONE) g->values[n->outputs[0]].producer = ITG_NONE;
    n->outputs[0] = value;
    g->values[value].producer = node;
    g->values[value].producer_slot = 0;
}

static float *new_data(itg_graph *g, const itg_shape *shape)
{
    int64_t elements = 0;
    if (!itg_shape_elements(shape, &elements)) return NULL;
    return itg_arena_array(g->arena, elements > 0 ? (size_t)elements : 1, sizeof(float));
}

itg_status itg_new_floats(itg_graph *g, const char *base, const char *suffix,
                          const itg_shape *shape, itg_id *out, float **data, itg_error *err)
{
    itg_id id;
    const char *name = itg_fresh_value_name(g, base, suffix);
    float *floats = new_data(g, shape);
    if (!name || !floats) return itg_graph_no_memory(g, err);
    itg_status status = itg_graph_add_value(g, name, ITG_F32, shape, NULL, &id, err);
    if (status != ITG_OK) return status;
    g->values[id].data = floats;
    *out = id;
    *data = floats;
    return ITG_OK;
}

itg_status itg_new_indices(itg_graph *g, const char *base, const char *suffix, int64_t count,
                           itg_id *out, int64_t **data, itg_error *err)
{
    const itg_shape shape = {.rank = 1, .dims = {count}};
    const char *name = itg_fresh_value_name(g, base, suffix);
    int64_t *indices = itg_arena_array(g->arena, count > 0 ? (size_t)count : 1, sizeof *indices);
    if (!name || !indices) return itg_graph_no_memory(g, err);
    itg_status status = itg_graph_add_value(g, name, ITG_S64, &shape, NULL, out, err);
    if (status != ITG_OK) return status;
    g->values[*out].data = indices;
    *data = indices;
    return ITG_OK;
}

itg_status itg_own_floats(itg_graph *g, itg_id node, int32_t slot, const itg_shape *shape,
                          float **data, itg_error *err)
{
    itg_id id = g->nodes[node].inputs[slot];
    if (itg_graph_use_count(g, id) == 1) {
        float *floats = new_data(g, shape);
        if (!floats) return itg_graph_no_memory(g, err);
        g->values[id].data = floats;
        g->values[id].stated = NULL;
        g->values[id].shape = *shape;
        *data = floats;
        return ITG_OK;
    }
    itg_status status =
        itg_new_floats(g, g->values[id].name, g->nodes[node].name, shape, &id, data, err);
    if (status == ITG_OK) itg_graph_set_input(g, node, slot, id);
    return status;
}

itg_status itg_change_floats(itg_graph *g, itg_id node, int32_t slot, float **data, itg_error *err)
{
    const itg_id id = g->nodes[node].inputs[slot];
    const itg_shape shape = g->values[id].shape;
    const void *before = g->values[id].data;
    if (itg_graph_use_count(g, id) == 1 && (*data = itg_arena_writable(g->arena, before)) != NULL) {
        g->values[id].stated = NULL;
        return ITG_OK;
    }
    itg_status status = itg_own_floats(g, node, slot, &shape, data, err);
    if (status == ITG_OK) memcpy(*data, before, sizeof **data * (size_t)itg_value_elements(g, id));
    return status;
}

itg_status itg_insert(itg_graph *g, const itg_new_op *op, itg_id *out_node, itg_id *out_value,
                      itg_error *err)
{
    itg_id value, node;
    const char *value_name = itg_fresh_value_name(g, op->base, op->suffix);
    const char *node_name = itg_fresh_node_name(g, op->base, op->suffix);
    if (!value_name || !node_name) return itg_graph_no_memory(g, err);
    itg_status status = itg_graph_add_value(g, value_name, ITG_F32, &op->shape, NULL, &value, err);
    if (status != ITG_OK) return status;
    status = itg_graph_add_node(g, node_name, op->op, op->inputs, op->inputs[1] == ITG_NONE ? 1 : 2,
                                &value, 1, op->attrs, &node, err);
    if (status != ITG_OK) return status;
    if (out_node) *out_node = node;
    *out_value = value;
    return ITG_OK;
}

itg_status itg_insert_reshape(itg_graph *g, const char *base, const char *suffix,
                              const itg_shape *shape, itg_id *value, itg_error *err)
{
    const itg_new_op reshape = {.base = base,
                                .suffix = suffix,
                                .op = ITG_OP_RESHAPE,
                                .inputs = {*value, ITG_NONE},
                                .shape = *shape};
    return itg_insert(g, &reshape, NULL, value, err);
}

int32_t itg_slot_of(const itg_graph *g, itg_id node, itg_id value)
{
    for (int32_t i = 0; i < g->nodes[node].input_count; ++i)
        if (g->nodes[node].inputs[i] == value) return i;
    return -1;
}

bool itg_is_float_constant(const itg_graph *g, itg_id value)
{
    return itg_graph_is_constant(g, value) && g->values[value].dtype == ITG_F32;
}

bool itg_is_float_activation(const itg_graph *g, itg_id value)
{
    return value != ITG_NONE && !g->values[value].data && g->values[value].dtype == ITG_F32;
}

const float *itg_floats(const itg_graph *g, itg_id value)
{
    return g->values[value].data;
}

int64_t itg_value_elements(const itg_graph *g, itg_id value)
{
    int64_t elements = 0;
    itg_shape_elements(&g->values[value].shape, &elements);
    return elements;
}

itg_shape itg_align_shape(const itg_shape *shape, int32_t rank)
{
    itg_shape out = {.rank = rank};
    for (int32_t i = 0; i < rank; ++i)
        out.dims[i] = i < rank - shape->rank ? 1 : shape->dims[i - (rank - shape->rank)];
    return out;
}
