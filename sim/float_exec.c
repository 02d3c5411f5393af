/* Executes a prepared graph in floats. Values that live at the same time have separate places in
 * one piece of memory. A value takes the place of an operand that is read for the last time, if the
 * kernel permits. So a value exists only from its node to its last reader; use itg_float_exec_visit
 * (sim.h) to see all values. */
#include "base/placement.h"
#include "kernels/f32_onednn.h"
#include "kernels/float_ops.h"
#include "sim/sim.h"
#include <inttypes.h>
#include <stdlib.h>

/* Larger sizes are mistakes or attacks, and refused before allocating. */
#define MAX_BYTES ((int64_t)1 << 34)

typedef struct exec_node {
    itg_tensor *inputs, *outputs; /* left out: NULL data */
    int32_t output_count;         /* trailing left-out outputs are cut */
    itg_onednn_node *fast;        /* NULL: the reference kernel runs */
} exec_node;

struct itg_float_exec {
    itg_arena *arena;
    const itg_graph *graph;
    unsigned char *memory; /* shared by the values; as allocated, not aligned */
    itg_tensor *values;    /* [graph->value_count] */
    exec_node *nodes;      /* [graph->node_count] */
    itg_onednn *onednn;    /* NULL: only reference kernels */
};

/* ---- placement of values ---- */
typedef struct planning {
    const itg_graph *graph;
    itg_placed *items; /* [value_count]: item of the value that gave its place, once compacted */
    int32_t *last;     /* [value_count]: the last node that reads it; node_count: an output */
    itg_id *place;     /* [value_count]: the value whose place it takes, or itself */
    uint64_t *offset;  /* [value_count] */
} planning;

static itg_status check_sizes(const itg_graph *graph, itg_error *err)
{
    int64_t total = 0;
    for (itg_id v = 0; v < graph->value_count; v++) {
        const itg_value *value = &graph->values[v];
        int64_t elements;
        if (!itg_shape_elements(&value->shape, &elements))
            return itg_fail(err, ITG_BAD_ARGUMENT,
                            "%s: value '%s': shape unknown or too large to run", graph->name,
                            value->name);
        if (value->data) continue;
        total += elements * (int64_t)itg_dtype_size(value->dtype) + ITG_PLACEMENT_ALIGNMENT;
        if (total > MAX_BYTES || (uint64_t)total > SIZE_MAX / 2)
            return itg_fail(err, ITG_LIMIT,
                            "%s: value '%s': activations of more than %" PRId64 " bytes",
                            graph->name, value->name, MAX_BYTES);
    }
    return ITG_OK;
}

static void find_last_uses(planning *p)
{
    const itg_graph *g = p->graph;
    for (itg_id v = 0; v < g->value_count; v++)
        p->last[v] = -1;
    for (itg_id n = 0; n < g->node_count; n++)
        for (int32_t i = 0; i < g->nodes[n].input_count; i++)
            if (g->nodes[n].inputs[i] != ITG_NONE) p->last[g->nodes[n].inputs[i]] = n;
    for (int32_t i = 0; i < g->output_count; i++)
        p->last[g->outputs[i]] = g->node_count;
}

/* Whether the kernel reads each element of operand i before it writes that of the output. */
static bool may_overwrite(const itg_node *node, int32_t i)
{
    switch (node->op) {
    case ITG_OP_ADD:
    case ITG_OP_SUB:
    case ITG_OP_MUL:
    case ITG_OP_DIV:
        return true;
    default:
        return i == 0 && itg_op_is(node->op, ITG_IS_VIEW | ITG_IS_UNIVARIATE);
    }
}

/* Returns the operand whose place output 0 of node n takes, or ITG_NONE. */
static itg_id overwritten(const planning *p, itg_id n)
{
    const itg_graph *g = p->graph;
    const itg_node *node = &g->nodes[n];
    if (node->output_count < 1 || node->outputs[0] == ITG_NONE) return ITG_NONE;
    const itg_value *out = &g->values[node->outputs[0]];
    for (int32_t i = 0; i < node->input_count; i++) {
        const itg_id v = node->inputs[i];
        int64_t have = 0, want = 0;
        if (v == ITG_NONE || g->values[v].data || p->last[v] != n) continue;
        if (g->values[v].dtype != out->dtype || !may_overwrite(node, i)) continue;
        itg_shape_elements(&g->values[v].shape, &have);
        itg_shape_elements(&out->shape, &want); /* equal: not broadcast */
        if (have == want) return v;
    }
    return ITG_NONE;
}

static size_t bytes_of(const itg_value *value)
{
    const itg_tensor tensor = {value->dtype, value->shape, NULL};
    return itg_tensor_bytes(&tensor);
}

static void add_item(planning *p, itg_id v, int32_t first)
{
    p->place[v] = v;
    p->items[v] = (itg_placed){.bytes = bytes_of(&p->graph->values[v]),
                               .first = first,
                               .last = p->last[v] > first ? p->last[v] : first,
                               .index = v};
}

/* Makes items. Those of values that nothing makes stay empty. */
static void make_items(planning *p)
{
    const itg_graph *g = p->graph;
    for (itg_id v = 0; v < g->value_count; v++) {
        p->place[v] = v;
        p->items[v].index = v;
    }
    for (int32_t i = 0; i < g->input_count; i++)
        add_item(p, g->inputs[i], -1);
    for (itg_id n = 0; n < g->node_count; n++) {
        const itg_node *node = &g->nodes[n];
        const itg_id taken = overwritten(p, n);
        for (int32_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != ITG_NONE) add_item(p, node->outputs[i], n);
        if (taken == ITG_NONE) continue;
        const itg_id v = node->outputs[0];
        itg_placed *root = &p->items[p->place[taken]];
        if (p->items[v].last > root->last) root->last = p->items[v].last;
        p->place[v] = p->place[taken];
        p->items[v].bytes = 0;
    }
}

static itg_status place_values(planning *p, uint64_t *end, itg_error *err)
{
    int32_t count = 0;
    find_last_uses(p);
    make_items(p);
    for (itg_id v = 0; v < p->graph->value_count; v++)
        if (p->items[v].bytes) p->items[count++] = p->items[v];
    itg_status status = itg_place(p->items, count, ITG_PLACEMENT_ALIGNMENT, end, err);
    if (status != ITG_OK) return status;
    for (int32_t i = 0; i < count; i++)
        p->offset[p->items[i].index] = p->items[i].offset;
    return ITG_OK;
}

static itg_status plan_memory(itg_float_exec *exec, itg_error *err)
{
    const itg_graph *graph = exec->graph;
    const size_t values = (size_t)graph->value_count + 1;
    uint64_t end = 0;
    planning p = {graph, calloc(values, sizeof *p.items), calloc(values, sizeof *p.last),
                  calloc(values, sizeof *p.place), calloc(values, sizeof *p.offset)};
    itg_status status = p.items && p.last && p.place && p.offset
                            ? place_values(&p, &end, err)
                            : itg_fail(err, ITG_NO_MEMORY, "no memory to plan memory");
    exec->values = itg_arena_array(exec->arena, values, sizeof *exec->values);
    exec->memory = status == ITG_OK ? calloc(1, (size_t)end + ITG_PLACEMENT_ALIGNMENT) : NULL;
    if (status == ITG_OK && (!exec->values || !exec->memory))
        status =
            itg_fail(err, ITG_NO_MEMORY, "no memory for %" PRIu64 " bytes of activations", end);
    unsigned char *start = exec->memory;
    while ((uintptr_t)start % ITG_PLACEMENT_ALIGNMENT)
        start++;
    for (itg_id v = 0; v < graph->value_count && status == ITG_OK; v++) {
        const itg_value *value = &graph->values[v];
        exec->values[v] =
            (itg_tensor){value->dtype, value->shape,
                         value->data ? (void *)(uintptr_t)value->data /* kernels only read it */
                                     : start + p.offset[p.place[v]]};
    }
    free(p.items);
    free(p.last);
    free(p.place);
    free(p.offset);
    return status;
}

/* ---- nodes ---- */
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

static itg_status bind_onednn(itg_float_exec *exec, itg_error *err)
{
    const itg_graph *graph = exec->graph;
    itg_status status = itg_onednn_create(&exec->onednn, err);
    for (itg_id n = 0; n < graph->node_count && status == ITG_OK; n++) {
        const itg_node *node = &graph->nodes[n];
        exec_node *bound = &exec->nodes[n];
        bool is_constant[ITG_ONEDNN_INPUTS] = {false};
        if (node->input_count > ITG_ONEDNN_INPUTS || bound->output_count != 1) continue;
        for (int32_t i = 0; i < node->input_count; i++)
            is_constant[i] = node->inputs[i] != ITG_NONE && graph->values[node->inputs[i]].data;
        status =
            itg_onednn_prepare(exec->onednn, node->op, &node->attrs, bound->inputs, is_constant,
                               node->input_count, bound->outputs, &bound->fast, err);
        if (status != ITG_OK) itg_prefix_error(err, status, "node '%s'", node->name);
    }
    return status;
}

static itg_status open_exec(itg_float_exec *exec, itg_float_kernels kernels, itg_error *err)
{
    itg_status status = check_sizes(exec->graph, err);
    if (status != ITG_OK) return status;
    status = plan_memory(exec, err);
    if (status == ITG_OK && !bind_nodes(exec))
        status = itg_fail(err, ITG_NO_MEMORY, "no memory to run it");
    if (status == ITG_OK && kernels == ITG_FLOAT_ONEDNN) status = bind_onednn(exec, err);
    return status == ITG_OK ? status : itg_prefix_error(err, status, "%s", exec->graph->name);
}

itg_status itg_float_exec_create(const itg_graph *graph, itg_float_kernels kernels,
                                 itg_float_exec **out, itg_error *err)
{
    itg_arena *arena = itg_arena_create(0);
    itg_float_exec *exec = arena ? itg_arena_alloc(arena, sizeof *exec) : NULL;
    if (!exec) {
        itg_arena_destroy(arena);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory to run it", graph->name);
    }
    *exec = (itg_float_exec){.arena = arena, .graph = graph};
    itg_status status = open_exec(exec, kernels, err);
    if (status == ITG_OK)
        *out = exec;
    else
        itg_float_exec_destroy(exec);
    return status;
}

void itg_float_exec_destroy(itg_float_exec *exec)
{
    if (!exec) return;
    for (itg_id n = 0; exec->nodes && n < exec->graph->node_count; n++)
        itg_onednn_release(exec->nodes[n].fast);
    itg_onednn_destroy(exec->onednn);
    free(exec->memory);
    itg_arena_destroy(exec->arena); /* exec lies in it */
}

int32_t itg_float_exec_input_count(const itg_float_exec *exec)
{
    return exec->graph->input_count;
}

void *itg_float_exec_input(itg_float_exec *exec, int32_t index)
{
    return exec->values[exec->graph->inputs[index]].data;
}

static itg_status run_node(const itg_float_exec *exec, itg_id n, itg_error *err)
{
    const itg_node *node = &exec->graph->nodes[n];
    const exec_node *bound = &exec->nodes[n];
    itg_status status =
        bound->fast ? itg_onednn_run(exec->onednn, bound->fast, err)
                    : itg_float_eval(node->op, &node->attrs, bound->inputs, node->input_count,
                                     bound->outputs, bound->output_count, err);
    if (status != ITG_OK)
        itg_prefix_error(err, status, "%s: node %" PRId32 " '%s' (%s)", exec->graph->name, n,
                         node->name, itg_op_name(node->op));
    return status;
}

itg_status itg_float_exec_visit(itg_float_exec *exec, itg_float_visit visit, void *context,
                                itg_error *err)
{
    const itg_graph *graph = exec->graph;
    for (int32_t i = 0; i < graph->input_count; i++)
        visit(context, graph->inputs[i], &exec->values[graph->inputs[i]]);
    for (itg_id n = 0; n < graph->node_count; n++) {
        const itg_node *node = &graph->nodes[n];
        itg_status status = run_node(exec, n, err);
        if (status != ITG_OK) return status;
        for (int32_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != ITG_NONE)
                visit(context, node->outputs[i], &exec->values[node->outputs[i]]);
    }
    return ITG_OK;
}

static void visit_nothing(void *context, itg_id value, const itg_tensor *tensor)
{
    (void)context;
    (void)value;
    (void)tensor;
}

itg_status itg_float_exec_run(itg_float_exec *exec, itg_error *err)
{
    return itg_float_exec_visit(exec, visit_nothing, NULL, err);
}

itg_tensor itg_float_exec_output(const itg_float_exec *exec, int32_t index)
{
    return exec->values[exec->graph->outputs[index]];
}
