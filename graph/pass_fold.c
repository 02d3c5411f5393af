/* Shape inference and constant folding in one topological walk. Folding the chains of shape
 * operators that exporters write (Shape, Gather, Concat...) needs known shapes, and later shapes
 * need the folded chains. The caller's function evaluates each node with constant inputs, and each
 * node that reads only the shape of its input (Shape, Size, EyeLike). */
#include "passes.h"
#include "stated.h"
#include <string.h>

#define FOLD_VALUE_BYTES ((size_t)64 << 20) /* the largest constant that folding makes */
#define FOLD_TOTAL_BYTES                                                                           \
    ((size_t)512 << 20) /* of all constants: bounds the growth of a small file */

typedef struct folder {
    itg_graph *g;
    itg_eval_fn eval;
    int64_t old_batch;
    size_t bytes_left;
} folder;

/* ---- a fixed batch in constant targets ---- */

/* The input that may state the batch: Reshape's target, Resize's sizes of all axes; -1: none. */
static int32_t target_slot(const itg_node *n)
{
    if (n->op == ITG_OP_RESIZE && n->input_count > 3 && n->attrs.axes_count == 0) return 3;
    return n->op == ITG_OP_RESHAPE && n->input_count > 1 ? 1 : -1;
}

/* Makes a copy of a target that begins with the old batch; the copy begins with 1. *out: the copy,
 * or ITG_NONE if there is nothing to rewrite. */
static itg_status rebatched_target(folder *f, itg_id node, itg_id *out, itg_error *err)
{
    itg_graph *g = f->g;
    const itg_node *n = &g->nodes[node];
    *out = ITG_NONE;
    int32_t slot = target_slot(n);
    if (f->old_batch == 1 || slot < 0) return ITG_OK;
    if (itg_graph_is_constant(g, n->inputs[0]) || !itg_graph_is_constant(g, n->inputs[slot]))
        return ITG_OK;
    itg_tensor target = itg_graph_tensor(g, n->inputs[slot]);
    if (target.dtype != ITG_S64 || target.shape.rank != 1 || target.shape.dims[0] < 1)
        return ITG_OK;
    if (((const int64_t *)target.data)[0] != f->old_batch) return ITG_OK;
    const char *name = itg_fresh_value_name(g, g->values[n->inputs[slot]].name, n->name);
    if (!name) return itg_graph_no_memory(g, err);
    itg_status status = itg_graph_add_value(g, name, ITG_S64, &target.shape, target.data, out, err);
    if (status != ITG_OK) return status;
    *(int64_t *)(uintptr_t)g->values[*out].data = 1; /* this copy may be written */
    return ITG_OK;
}

/* Refuses a constant that spans the old batch, because broadcasting would restore it. */
static itg_status check_batch(const folder *f, itg_id node, itg_error *err)
{
    const itg_graph *g = f->g;
    const itg_node *n = &g->nodes[node];
    if (f->old_batch == 1 || n->outputs[0] == ITG_NONE) return ITG_OK;
    const itg_shape *y = &g->values[n->outputs[0]].shape;
    bool varies = false;
    for (int32_t i = 0; i < n->input_count; ++i)
        varies |= n->inputs[i] != ITG_NONE && !itg_graph_is_constant(g, n->inputs[i]);
    if (!varies || !itg_op_is(n->op, ITG_IS_BROADCAST) || y->rank < 1 || y->dims[0] != f->old_batch)
        return ITG_OK;
    for (int32_t i = 0; i < n->input_count; ++i) {
        const itg_value *v = &g->values[n->inputs[i]];
        if (v->data && v->shape.rank == y->rank && v->shape.dims[0] == f->old_batch)
            return itg_node_fail(
                g, node, err, ITG_UNSUPPORTED,
                "its constant '%s' fixes the batch to %lld; a batch of 1 is expected", v->name,
                (long long)f->old_batch);
    }
    return ITG_OK;
}

/* Replaces an If by the Identity of the value that its constant condition chooses. */
static itg_status choose(itg_graph *g, itg_id node, itg_error *err)
{
    const itg_node *n = &g->nodes[node];
    const itg_value *condition = &g->values[n->inputs[0]];
    if (!condition->data || condition->dtype != ITG_BOOL ||
        itg_value_elements(g, n->inputs[0]) != 1)
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED,
                             "its condition '%s' is not a constant bool", condition->name);
    const itg_id value = n->inputs[*(const unsigned char *)condition->data ? 1 : 2];
    itg_become(g, node, ITG_OP_IDENTITY);
    itg_set_only_input(g, node, value);
    return ITG_OK;
}

static itg_status infer(folder *f, itg_id node, itg_error *err)
{
    itg_graph *g = f->g;
    itg_id target, original = ITG_NONE;
    int32_t slot = target_slot(&g->nodes[node]);
    itg_status status = g->nodes[node].op == ITG_OP_IF ? choose(g, node, err) : ITG_OK;
    if (status == ITG_OK) status = rebatched_target(f, node, &target, err);
    if (status != ITG_OK) return status;
    if (target != ITG_NONE) {
        original = g->nodes[node].inputs[slot];
        itg_graph_set_input(g, node, slot, target);
    }
    status = itg_infer_node(g, node, err);
    if (status != ITG_OK && original != ITG_NONE) { /* its first number may not be the batch */
        itg_graph_set_input(g, node, slot, original);
        status = itg_infer_node(g, node, NULL);
        if (status != ITG_OK)
            return itg_node_fail(g, node, err, ITG_UNSUPPORTED,
                                 "its target '%s' fits neither batch 1 nor the file's batch %lld",
                                 g->values[original].name, (long long)f->old_batch);
    }
    return status == ITG_OK ? check_batch(f, node, err) : status;
}

/* ---- folding ---- */

static void make_constant(itg_graph *g, itg_id value, const void *data)
{
    g->values[value].data = data;
    g->values[value].producer = ITG_NONE;
}

/* Sums the bytes of all outputs; false: too many. */
static bool fits_budget(const folder *f, itg_id node, size_t *total)
{
    const itg_graph *g = f->g;
    const itg_node *n = &g->nodes[node];
    *total = 0;
    for (int32_t i = 0; i < n->output_count; ++i) {
        int64_t elements = 0;
        size_t bytes = 0;
        if (n->outputs[i] == ITG_NONE) continue;
        const itg_value *v = &g->values[n->outputs[i]];
        if (v->shape.rank < 0 || !itg_shape_elements(&v->shape, &elements) ||
            !itg_mul_size((size_t)elements, itg_dtype_size(v->dtype), &bytes) ||
            bytes > FOLD_VALUE_BYTES || !itg_add_size(*total, bytes, total))
            return false;
    }
    return *total <= f->bytes_left;
}

static bool all_constant(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    if (itg_op_is(n->op, ITG_READS_SHAPE)) return true;
    for (int32_t i = 0; i < n->input_count; ++i)
        if (n->inputs[i] != ITG_NONE && !itg_graph_is_constant(g, n->inputs[i])) return false;
    return n->input_count > 0;
}

/* Makes tensors of a node's inputs and outputs; the data of the outputs is new, in `arena`. */
static bool bind(const itg_graph *g, const itg_node *n, itg_arena *arena, itg_tensor *inputs,
                 itg_tensor *outputs)
{
    for (int32_t i = 0; i < n->input_count; ++i)
        if (n->inputs[i] != ITG_NONE) inputs[i] = itg_graph_tensor(g, n->inputs[i]);
    for (int32_t i = 0; i < n->output_count; ++i) {
        if (n->outputs[i] == ITG_NONE) continue;
        outputs[i] = itg_graph_tensor(g, n->outputs[i]);
        size_t bytes = itg_tensor_bytes(&outputs[i]);
        outputs[i].data = itg_arena_alloc(arena, bytes ? bytes : 1);
        if (!outputs[i].data) return false;
    }
    return true;
}

/* Gives the data of constants that nothing reads any more back, where it is large. */
static void drop_unread(itg_graph *g, const itg_id *values, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        if (values[i] == ITG_NONE || itg_graph_use_count(g, values[i]) > 0) continue;
        itg_value *v = &g->values[values[i]];
        if (!v->data || !itg_arena_writable(g->arena, v->data)) continue;
        itg_arena_release(g->arena, v->data);
        v->data = NULL;
    }
}

/* Takes the results from the arena that they were computed in. */
static itg_status keep_results(itg_graph *g, itg_id node, const itg_arena *temporary,
                               const itg_tensor *outputs, itg_error *err)
{
    const itg_node *n = &g->nodes[node];
    const itg_id *inputs = n->inputs;
    const int32_t count = n->input_count;
    for (int32_t i = 0; i < n->output_count; ++i) {
        if (n->outputs[i] == ITG_NONE) continue;
        size_t bytes = itg_tensor_bytes(&outputs[i]);
        const void *data = itg_arena_share(g->arena, temporary, outputs[i].data, bytes ? bytes : 1);
        if (!data) return itg_graph_no_memory(g, err);
        make_constant(g, n->outputs[i], data);
    }
    itg_kill_node(g, node);
    drop_unread(g, inputs, count);
    return ITG_OK;
}

static itg_status evaluate(folder *f, itg_id node, itg_arena *temporary, itg_error *err)
{
    itg_graph *g = f->g;
    const itg_node *n = &g->nodes[node];
    itg_error local = {0};
    itg_tensor *inputs = itg_arena_array(temporary, (size_t)n->input_count, sizeof *inputs);
    itg_tensor *outputs = itg_arena_array(temporary, (size_t)n->output_count, sizeof *outputs);
    if (!inputs || !outputs || !bind(g, n, temporary, inputs, outputs))
        return itg_graph_no_memory(g, err);
    itg_status status =
        f->eval(n->op, &n->attrs, inputs, n->input_count, outputs, n->output_count, &local);
    if (status == ITG_UNSUPPORTED) return ITG_OK; /* the node stays */
    if (status != ITG_OK) return itg_node_fail(g, node, err, status, "%s", local.message);
    if (n->op == ITG_OP_DEQUANTIZE_LINEAR) status = itg_state_weights(g, node, err);
    if (status != ITG_OK) return status;
    return keep_results(g, node, temporary, outputs, err);
}

/* Whether no output of a node has an element. */
static bool outputs_are_empty(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    for (int32_t i = 0; i < n->output_count; ++i) {
        int64_t elements = 0;
        if (n->outputs[i] == ITG_NONE ||
            !itg_shape_elements(&g->values[n->outputs[i]].shape, &elements) || elements > 0)
            return false;
    }
    return n->output_count > 0;
}

/* Whether a node multiplies integers by constant zeros, as exporters write it to keep an input that
 * nothing needs. Floats do not count: infinity times zero is NaN. */
static bool gives_zeros(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    if (n->op != ITG_OP_MUL || g->values[n->outputs[0]].dtype == ITG_F32) return false;
    for (int32_t i = 0; i < 2; ++i) {
        const itg_value *v = &g->values[n->inputs[i]];
        int64_t elements = v->data ? itg_value_elements(g, n->inputs[i]) : 0, zeros = 0;
        while (zeros < elements && itg_load(v->dtype, v->data, zeros) == 0)
            zeros++;
        if (elements > 0 && zeros == elements) return true;
    }
    return false;
}

/* Makes the outputs constants of zeros, which may have no elements. */
static itg_status fold_zeros(itg_graph *g, itg_id node, itg_error *err)
{
    const itg_node *n = &g->nodes[node];
    for (int32_t i = 0; i < n->output_count; ++i) {
        const itg_tensor y = itg_graph_tensor(g, n->outputs[i]);
        const void *data = itg_arena_alloc(g->arena, itg_tensor_bytes(&y) + 1);
        if (!data) return itg_graph_no_memory(g, err);
        make_constant(g, n->outputs[i], data);
    }
    itg_kill_node(g, node);
    return ITG_OK;
}

static itg_status fold_node(folder *f, itg_id node, itg_error *err)
{
    size_t bytes = 0;
    if (outputs_are_empty(f->g, node)) return fold_zeros(f->g, node, err);
    if (gives_zeros(f->g, node) && fits_budget(f, node, &bytes)) {
        f->bytes_left -= bytes;
        return fold_zeros(f->g, node, err);
    }
    if (!f->eval || !all_constant(f->g, node) || itg_is_old_softmax(f->g, node) ||
        !fits_budget(f, node, &bytes))
        return ITG_OK;
    itg_arena *temporary = itg_arena_create(0);
    itg_status status =
        temporary ? evaluate(f, node, temporary, err) : itg_graph_no_memory(f->g, err);
    if (status == ITG_OK) f->bytes_left -= bytes;
    itg_arena_destroy(temporary);
    return status;
}

itg_status itg_pass_fold(itg_graph *g, itg_eval_fn eval, int64_t old_batch, itg_error *err)
{
    folder f = {.g = g, .eval = eval, .old_batch = old_batch, .bytes_left = FOLD_TOTAL_BYTES};
    itg_status status = itg_graph_sort(g, err);
    for (int32_t n = 0; n < g->node_count && status == ITG_OK; ++n) {
        const bool in_branch = g->nodes[n].in_branch;
        status = infer(&f, n, in_branch ? NULL : err);
        if (status != ITG_OK && status != ITG_NO_MEMORY && in_branch) {
            itg_kill_node(g, n); /* a node of the other branch; whoever reads it fails later */
            status = ITG_OK;
            continue;
        }
        if (status != ITG_OK) break;
        g->nodes[n].in_branch = false;
        status = fold_node(&f, n, err);
    }
    return status == ITG_OK ? itg_graph_sort(g, err) : status;
}
