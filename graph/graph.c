/* The graph's container: values and nodes in growing arrays of one arena, named by index. */
#include "internal.h"
#include <string.h>

itg_status itg_graph_no_memory(const itg_graph *g, itg_error *err)
{
    return itg_fail(err, ITG_NO_MEMORY, "%s: out of memory", g->name);
}

itg_status itg_node_fail(const itg_graph *g, itg_id node, itg_error *err, itg_status code,
                         const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const itg_node *n = &g->nodes[node];
    if (!g->name) return itg_fail(err, code, "%s", text); /* a node of itg_infer_check */
    return itg_fail(err, code, "%s: node '%s' (%s): %s", g->name, n->name, itg_op_name(n->op),
                    text);
}

/* Creates a graph in an arena of at most max_bytes (0: no limit). */
static itg_status create_within(const char *name, size_t max_bytes, itg_graph **out, itg_error *err)
{
    itg_arena *arena = itg_arena_create(max_bytes);
    itg_graph *g = arena ? itg_arena_alloc(arena, sizeof *g) : NULL;
    if (!g) goto no_memory;
    g->arena = arena;
    g->name = itg_arena_strdup(arena, name);
    g->value_names.arena = g->node_names.arena = arena;
    if (!g->name) goto no_memory;
    *out = g;
    return ITG_OK;
no_memory:
    itg_arena_destroy(arena);
    return itg_fail(err, ITG_NO_MEMORY, "%s: out of memory", name);
}

itg_status itg_graph_create(const char *name, itg_graph **out, itg_error *err)
{
    return create_within(name, 0, out, err);
}

void itg_graph_destroy(itg_graph *graph)
{
    if (graph) itg_arena_destroy(graph->arena);
}

/* Makes room for one more element in a growing array. NULL: no memory. */
static void *grow(itg_graph *g, void *items, int32_t count, int32_t *capacity, size_t size)
{
    if (count < *capacity) return items;
    if (*capacity > INT32_MAX / 2) return NULL;
    int32_t larger = *capacity ? 2 * *capacity : 16;
    void *copy = itg_arena_array(g->arena, (size_t)larger, size);
    if (!copy) return NULL;
    if (count) memcpy(copy, items, (size_t)count * size);
    *capacity = larger;
    return copy;
}

/* Copies a constant's elements, or shares them with the arena `from`; *out stays NULL without data.
 */
static itg_status take_data(itg_graph *g, const itg_arena *from, const char *name, itg_dtype dtype,
                            const itg_shape *shape, const void *data, const void **out,
                            itg_error *err)
{
    int64_t elements = 0;
    size_t bytes = 0;
    if (!data) return ITG_OK;
    if (!shape || !itg_shape_elements(shape, &elements) ||
        !itg_mul_size((size_t)elements, itg_dtype_size(dtype), &bytes))
        return itg_fail(err, ITG_BAD_ARGUMENT, "%s: constant '%s' has no known size", g->name,
                        name);
    *out = bytes == 0 ? itg_arena_alloc(g->arena, 1)
           : from     ? itg_arena_share(g->arena, from, data, bytes)
                      : itg_arena_copy(g->arena, data, bytes);
    return *out ? ITG_OK : itg_graph_no_memory(g, err);
}

/* Copies the caller's name, or makes a free "prefix_index". NULL with err set on failure. */
static const char *take_name(itg_graph *g, const char *name, const char *prefix, int32_t index,
                             const itg_names *names, itg_error *err)
{
    const bool given = name && *name;
    if (given && itg_names_find(names, name) >= 0) {
        itg_fail(err, ITG_BAD_FILE, "%s: the name '%s' is used twice", g->name, name);
        return NULL;
    }
    if (!given) name = itg_arena_format(g->arena, "%s_%d", prefix, (int)index);
    name = name ? itg_names_free(names, name) : NULL;
    if (!name) itg_graph_no_memory(g, err);
    return name;
}

itg_status itg_graph_add_value(itg_graph *g, const char *name, itg_dtype dtype,
                               const itg_shape *shape, const void *data, itg_id *out,
                               itg_error *err)
{
    return itg_graph_share_value(g, NULL, name, dtype, shape, data, out, err);
}

itg_status itg_graph_share_value(itg_graph *g, const itg_arena *from, const char *name,
                                 itg_dtype dtype, const itg_shape *shape, const void *data,
                                 itg_id *out, itg_error *err)
{
    itg_error local = {0};
    itg_value value = {.dtype = dtype, .shape = {.rank = -1}, .producer = ITG_NONE};
    if (!err) err = &local;
    value.name = take_name(g, name, "value", g->value_count, &g->value_names, err);
    if (!value.name) return err->code;
    if (shape) value.shape = *shape;
    itg_status status = take_data(g, from, value.name, dtype, shape, data, &value.data, err);
    if (status != ITG_OK) return status;
    itg_value *values = grow(g, g->values, g->value_count, &g->value_capacity, sizeof *values);
    if (!values) return itg_graph_no_memory(g, err);
    g->values = values;
    if (!itg_names_put(&g->value_names, value.name, g->value_count))
        return itg_graph_no_memory(g, err);
    g->values[g->value_count] = value;
    *out = g->value_count++;
    return ITG_OK;
}

/* Checks that ids are in range and that no output has another definition. */
static itg_status check_ids(const itg_graph *g, const char *name, const itg_id *inputs,
                            int32_t input_count, const itg_id *outputs, int32_t output_count,
                            itg_error *err)
{
    for (int32_t i = 0; i < input_count; ++i)
        if (inputs[i] != ITG_NONE && (inputs[i] < 0 || inputs[i] >= g->value_count))
            return itg_fail(err, ITG_BAD_ARGUMENT, "%s: node '%s': input %d is no value", g->name,
                            name, (int)i);
    for (int32_t i = 0; i < output_count; ++i) {
        if (outputs[i] == ITG_NONE) continue;
        if (outputs[i] < 0 || outputs[i] >= g->value_count)
            return itg_fail(err, ITG_BAD_ARGUMENT, "%s: node '%s': output %d is no value", g->name,
                            name, (int)i);
        const itg_value *value = &g->values[outputs[i]];
        bool repeated = false;
        for (int32_t j = 0; j < i; ++j)
            repeated |= outputs[j] == outputs[i];
        if (repeated || value->producer != ITG_NONE || value->data || value->is_input)
            return itg_fail(err, ITG_BAD_FILE,
                            "%s: node '%s': its output '%s' is already defined elsewhere", g->name,
                            name, value->name);
    }
    return ITG_OK;
}

static itg_id *copy_ids(itg_graph *g, const itg_id *ids, int32_t count)
{
    itg_id *copy = itg_arena_array(g->arena, count > 0 ? (size_t)count : 1, sizeof *copy);
    if (copy && count > 0) memcpy(copy, ids, (size_t)count * sizeof *copy);
    return copy;
}

itg_status itg_graph_add_node(itg_graph *g, const char *name, itg_op op, const itg_id *inputs,
                              int32_t input_count, const itg_id *outputs, int32_t output_count,
                              const itg_attrs *attrs, itg_id *out, itg_error *err)
{
    itg_error local = {0};
    if (!err) err = &local;
    itg_node node = {.op = op, .input_count = input_count, .output_count = output_count};
    node.attrs = attrs ? *attrs : itg_attrs_default(op);
    node.name = take_name(g, name, itg_op_name(op), g->node_count, &g->node_names, err);
    if (!node.name) return err->code;
    itg_status status = check_ids(g, node.name, inputs, input_count, outputs, output_count, err);
    if (status != ITG_OK) return status;
    node.inputs = copy_ids(g, inputs, input_count);
    node.outputs = copy_ids(g, outputs, output_count);
    itg_node *nodes = grow(g, g->nodes, g->node_count, &g->node_capacity, sizeof *nodes);
    if (!node.inputs || !node.outputs || !nodes) return itg_graph_no_memory(g, err);
    g->nodes = nodes;
    if (!itg_names_put(&g->node_names, node.name, g->node_count))
        return itg_graph_no_memory(g, err);
    g->nodes[g->node_count] = node;
    for (int32_t i = 0; i < input_count; ++i)
        itg_graph_count_read(g, g->node_count, inputs[i], 1);
    for (int32_t i = 0; i < output_count; ++i)
        if (outputs[i] != ITG_NONE) {
            g->values[outputs[i]].producer = g->node_count;
            g->values[outputs[i]].producer_slot = i;
        }
    if (out) *out = g->node_count;
    g->node_count++;
    return ITG_OK;
}

static itg_status take_ids(itg_graph *g, const itg_id *values, int32_t count, const char *what,
                           itg_id **out, itg_error *err)
{
    for (int32_t i = 0; i < count; ++i)
        if (values[i] < 0 || values[i] >= g->value_count)
            return itg_fail(err, ITG_BAD_ARGUMENT, "%s: graph %s %d is no value", g->name, what,
                            (int)i);
    itg_id *copy = copy_ids(g, values, count);
    if (!copy) return itg_graph_no_memory(g, err);
    *out = copy;
    return ITG_OK;
}

itg_status itg_graph_set_inputs(itg_graph *g, const itg_id *values, int32_t count, itg_error *err)
{
    itg_id *copy = NULL;
    for (int32_t i = 0; i < count; ++i)
        if (values[i] >= 0 && values[i] < g->value_count &&
            (g->values[values[i]].producer != ITG_NONE || g->values[values[i]].data))
            return itg_fail(err, ITG_BAD_FILE, "%s: graph input '%s' is already defined elsewhere",
                            g->name, g->values[values[i]].name);
    itg_status status = take_ids(g, values, count, "input", &copy, err);
    if (status != ITG_OK) return status;
    for (int32_t i = 0; i < g->input_count; ++i)
        g->values[g->inputs[i]].is_input = false;
    for (int32_t i = 0; i < count; ++i)
        g->values[copy[i]].is_input = true;
    g->inputs = copy;
    g->input_count = count;
    return ITG_OK;
}

itg_status itg_graph_set_outputs(itg_graph *g, const itg_id *values, int32_t count, itg_error *err)
{
    itg_id *copy = NULL;
    itg_status status = take_ids(g, values, count, "output", &copy, err);
    if (status != ITG_OK) return status;
    g->outputs = copy;
    g->output_count = count;
    return ITG_OK;
}

/* ---- who reads what ---- */

void itg_graph_count_read(itg_graph *g, itg_id node, itg_id value, int32_t times)
{
    if (value == ITG_NONE) return;
    g->values[value].reads += times;
    g->values[value].readers += (int64_t)node * times;
}

void itg_graph_set_input(itg_graph *g, itg_id node, int32_t slot, itg_id value)
{
    itg_graph_count_read(g, node, g->nodes[node].inputs[slot], -1);
    itg_graph_count_read(g, node, value, 1);
    g->nodes[node].inputs[slot] = value;
}

void itg_graph_drop_inputs(itg_graph *g, itg_id node, int32_t keep)
{
    itg_node *n = &g->nodes[node];
    while (n->input_count > keep)
        itg_graph_count_read(g, node, n->inputs[--n->input_count], -1);
}

itg_status itg_graph_set_node_inputs(itg_graph *g, itg_id node, const itg_id *values, int32_t count,
                                     itg_error *err)
{
    itg_id *copy = copy_ids(g, values, count);
    if (!copy) return itg_graph_no_memory(g, err);
    itg_graph_drop_inputs(g, node, 0);
    g->nodes[node].inputs = copy;
    g->nodes[node].input_count = count;
    for (int32_t i = 0; i < count; ++i)
        itg_graph_count_read(g, node, copy[i], 1);
    return ITG_OK;
}

int32_t itg_graph_use_count(const itg_graph *g, itg_id value)
{
    int32_t count = g->values[value].reads;
    for (int32_t i = 0; i < g->output_count; ++i)
        count += g->outputs[i] == value;
    return count;
}

bool itg_graph_is_output(const itg_graph *g, itg_id value)
{
    for (int32_t i = 0; i < g->output_count; ++i)
        if (g->outputs[i] == value) return true;
    return false;
}

itg_id itg_graph_only_reader(const itg_graph *g, itg_id value)
{
    const itg_value *v = &g->values[value];
    return v->reads == 1 && !itg_graph_is_output(g, value) ? (itg_id)v->readers : ITG_NONE;
}

static void replace_reads(itg_graph *g, itg_id node, itg_id from, itg_id to)
{
    for (int32_t i = 0; i < g->nodes[node].input_count; ++i)
        if (g->nodes[node].inputs[i] == from) itg_graph_set_input(g, node, i, to);
}

void itg_graph_replace_uses(itg_graph *g, itg_id from, itg_id to)
{
    if (g->values[from].reads == 1) replace_reads(g, (itg_id)g->values[from].readers, from, to);
    for (int32_t n = 0; n < g->node_count && g->values[from].reads > 0; ++n)
        replace_reads(g, n, from, to);
    for (int32_t i = 0; i < g->output_count; ++i)
        if (g->outputs[i] == from) g->outputs[i] = to;
}

bool itg_graph_is_constant(const itg_graph *g, itg_id value)
{
    return value != ITG_NONE && g->values[value].data != NULL;
}

itg_tensor itg_graph_tensor(const itg_graph *g, itg_id value)
{
    const itg_value *v = &g->values[value];
    /* The tensor struct is shared with writers; a constant's data is only ever read through it. */
    itg_tensor tensor = {.dtype = v->dtype, .shape = v->shape, .data = (void *)(uintptr_t)v->data};
    return tensor;
}

static itg_status copy_stated(itg_graph *g, itg_id value, const itg_stated *from, itg_error *err)
{
    itg_stated *copy = itg_arena_copy(g->arena, from, sizeof *copy);
    const size_t bytes = (size_t)from->count * sizeof *from->lo;
    if (!copy || !(copy->lo = itg_arena_copy(g->arena, from->lo, bytes)) ||
        !(copy->hi = itg_arena_copy(g->arena, from->hi, bytes)))
        return itg_graph_no_memory(g, err);
    g->values[value].stated = copy;
    return ITG_OK;
}

static itg_status clone_contents(const itg_graph *from, itg_graph *to, itg_error *err)
{
    itg_status status = ITG_OK;
    itg_id id;
    for (int32_t i = 0; i < from->value_count && status == ITG_OK; ++i) {
        const itg_value *v = &from->values[i];
        status =
            itg_graph_share_value(to, from->arena, v->name, v->dtype, &v->shape, v->data, &id, err);
        if (status == ITG_OK && v->stated) status = copy_stated(to, id, v->stated, err);
        if (status == ITG_OK) to->values[id].repeat = v->repeat;
    }
    for (int32_t i = 0; i < from->node_count && status == ITG_OK; ++i) {
        const itg_node *n = &from->nodes[i];
        status = itg_graph_add_node(to, n->name, n->op, n->inputs, n->input_count, n->outputs,
                                    n->output_count, &n->attrs, &id, err);
        if (status != ITG_OK) break;
        to->nodes[id].opset = n->opset;
        to->nodes[id].in_branch = n->in_branch;
    }
    if (status == ITG_OK) status = itg_graph_set_inputs(to, from->inputs, from->input_count, err);
    if (status == ITG_OK)
        status = itg_graph_set_outputs(to, from->outputs, from->output_count, err);
    return status;
}

itg_status itg_graph_set_data_files(itg_graph *g, const char *const *paths, int32_t count,
                                    itg_error *err)
{
    const char **copies = itg_arena_texts(g->arena, paths, (size_t)count);
    if (!copies) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for names of files", g->name);
    g->data_files = copies;
    g->data_file_count = count;
    return ITG_OK;
}

itg_status itg_graph_set_metadata(itg_graph *g, const char *const *keys, const char *const *values,
                                  int32_t count, itg_error *err)
{
    g->metadata_keys = itg_arena_texts(g->arena, keys, (size_t)count);
    g->metadata_values = itg_arena_texts(g->arena, values, (size_t)count);
    if (!g->metadata_keys || !g->metadata_values)
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for its metadata", g->name);
    g->metadata_count = count;
    return ITG_OK;
}

itg_status itg_graph_clone_within(const itg_graph *graph, size_t max_bytes, itg_graph **out,
                                  itg_error *err)
{
    itg_graph *copy = NULL;
    itg_status status = create_within(graph->name, max_bytes, &copy, err);
    if (status != ITG_OK) return status;
    status = clone_contents(graph, copy, err);
    if (status != ITG_OK) {
        itg_graph_destroy(copy);
        return status;
    }
    copy->repeat_count = graph->repeat_count;
    copy->dropped_softmax = graph->dropped_softmax;
    copy->options = graph->options;
    copy->rebatched = graph->rebatched;
    copy->narrowed = graph->narrowed;
    copy->left_labels_out = graph->left_labels_out;
    copy->quantized = graph->quantized;
    memcpy(copy->source_hash, graph->source_hash, sizeof copy->source_hash);
    status = itg_graph_set_data_files(copy, graph->data_files, graph->data_file_count, err);
    if (status == ITG_OK)
        status = itg_graph_set_metadata(copy, graph->metadata_keys, graph->metadata_values,
                                        graph->metadata_count, err);
    if (status != ITG_OK) {
        itg_graph_destroy(copy);
        return status;
    }
    *out = copy;
    return ITG_OK;
}

itg_status itg_graph_clone(const itg_graph *graph, itg_graph **out, itg_error *err)
{
    return itg_graph_clone_within(graph, 0, out, err);
}

void itg_graph_rename(itg_graph *g)
{
    itg_names_clear(&g->value_names);
    itg_names_clear(&g->node_names);
    for (itg_id v = 0; v < g->value_count; ++v)
        (void)itg_names_put(&g->value_names, g->values[v].name, v);
    for (itg_id n = 0; n < g->node_count; ++n)
        (void)itg_names_put(&g->node_names, g->nodes[n].name, n);
}

static const char *fresh_name(itg_graph *g, const itg_names *names, const char *base,
                              const char *suffix)
{
    const char *name = itg_arena_format(g->arena, "%s/%s", base, suffix);
    return name ? itg_names_free(names, name) : NULL;
}

const char *itg_fresh_value_name(itg_graph *g, const char *base, const char *suffix)
{
    return fresh_name(g, &g->value_names, base, suffix);
}

const char *itg_fresh_node_name(itg_graph *g, const char *base, const char *suffix)
{
    return fresh_name(g, &g->node_names, base, suffix);
}

itg_id itg_graph_find_value(const itg_graph *g, const char *name)
{
    return itg_names_find(&g->value_names, name);
}

itg_id itg_graph_find_node(const itg_graph *g, const char *name)
{
    return itg_names_find(&g->node_names, name);
}
