/* Float execution of a prepared graph. Every value has its own buffer for the whole run:
 * calibration looks at all of them. Everything lies in one arena, sized before anything runs. */
#include "kernels/float_ops.h"
#include "sim/sim.h"
#include <inttypes.h>

/* More is surely a mistake, or an attack: refused before allocating. */
#define MAX_VALUE_BYTES ((size_t)1 << 34)

typedef struct exec_node {
    itg_tensor *inputs, *outputs; /* left out: NULL data */
    int32_t output_count;         /* trailing left-out outputs are cut */
} exec_node;

struct itg_float_exec {
    itg_arena *arena;
    const itg_graph *graph;
    itg_tensor *values; /* [graph->value_count] */
    exec_node *nodes;   /* [graph->node_count] */
};

static itg_status check_sizes(const itg_graph *graph, itg_error *err)
{
    size_t total = 0;
    for (itg_id v = 0; v < graph->value_count; v++) {
        const itg_value *value = &graph->values[v];
        int64_t elements;
        size_t bytes;
        if (!itg_shape_elements(&value->shape, &elements))
            return itg_fail(err, ITG_BAD_ARGUMENT,
                            "%s: value '%s': shape unknown or too large to run", graph->name,
                            value->name);
        if (value->data) continue;
        if (!itg_mul_size((size_t)elements, itg_dtype_size(value->dtype), &bytes) ||
            !itg_add_size(total, bytes, &total) || total > MAX_VALUE_BYTES)
            return itg_fail(err, ITG_LIMIT, "%s: value '%s': activations of more than %zu bytes",
                            graph->name, value->name, MAX_VALUE_BYTES);
    }
    return ITG_OK;
}

static bool allocate_values(itg_float_exec *exec)
{
    const itg_graph *graph = exec->graph;
    exec->values = itg_arena_array(exec->arena, (size_t)graph->value_count, sizeof *exec->values);
    if (!exec->values && graph->value_count) return false;
    for (itg_id v = 0; v < graph->value_count; v++) {
        const itg_value *value = &graph->values[v];
        itg_tensor *tensor = &exec->values[v];
        tensor->dtype = value->dtype;
        tensor->shape = value->shape;
        tensor->data =
            (void *)(uintptr_t)value->data; /* constants are read only, by what kernels promise */
        size_t bytes = itg_tensor_bytes(tensor);
        if (!tensor->data) tensor->data = itg_arena_alloc(exec->arena, bytes ? bytes : 1);
        if (!tensor->data) return false;
    }
    return true;
}

static bool bind_list(itg_float_exec *exec, const itg_id *ids, int32_t count, itg_tensor **out)
{
    itg_tensor *list = itg_arena_array(exec->arena, (size_t)count + 1, sizeof *list);
    if (!list) return false;
    for (int32_t i = 0; i < count; i++)
        if (ids[i] != ITG_NONE) list[i] = exec->values[ids[i]];
    *out = list;
    return true;
}

static bool bind_nodes(itg_float_exec *exec)
{
    const itg_graph *graph = exec->graph;
    exec->nodes = itg_arena_array(exec->arena, (size_t)graph->node_count + 1, sizeof *exec->nodes);
    if (!exec->nodes) return false;
    for (itg_id n = 0; n < graph->node_count; n++) {
        const itg_node *node = &graph->nodes[n];
        exec_node *bound = &exec->nodes[n];
        bound->output_count = node->output_count;
        while (bound->output_count > 0 && node->outputs[bound->output_count - 1] == ITG_NONE)
            bound->output_count--;
        if (!bind_list(exec, node->inputs, node->input_count, &bound->inputs)) return false;
        if (!bind_list(exec, node->outputs, bound->output_count, &bound->outputs)) return false;
    }
    return true;
}

itg_status itg_float_exec_create(const itg_graph *graph, itg_float_exec **out, itg_error *err)
{
    itg_status status = check_sizes(graph, err);
    if (status != ITG_OK) return status;
    itg_arena *arena = itg_arena_create(0);
    itg_float_exec *exec = arena ? itg_arena_alloc(arena, sizeof *exec) : NULL;
    if (exec) {
        exec->arena = arena;
        exec->graph = graph;
        if (allocate_values(exec) && bind_nodes(exec)) {
            *out = exec;
            return ITG_OK;
        }
    }
    itg_arena_destroy(arena);
    return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for its activations", graph->name);
}

void itg_float_exec_destroy(itg_float_exec *exec)
{
    if (exec) itg_arena_destroy(exec->arena); /* exec lies in it */
}

float *itg_float_exec_input(itg_float_exec *exec, int32_t index)
{
    return exec->values[exec->graph->inputs[index]].data;
}

itg_status itg_float_exec_run(itg_float_exec *exec, itg_error *err)
{
    const itg_graph *graph = exec->graph;
    for (itg_id n = 0; n < graph->node_count; n++) {
        const itg_node *node = &graph->nodes[n];
        const exec_node *bound = &exec->nodes[n];
        itg_status status = itg_float_eval(node->op, &node->attrs, bound->inputs, node->input_count,
                                           bound->outputs, bound->output_count, err);
        if (status != ITG_OK)
            return itg_prefix_error(err, status, "%s: node %" PRId32 " '%s' (%s)", graph->name, n,
                                    node->name, itg_op_name(node->op));
    }
    return ITG_OK;
}

itg_tensor itg_float_exec_value(const itg_float_exec *exec, itg_id value)
{
    return exec->values[value];
}
