/* Preparation: from a file's graph to one that the layers behind can quantize. The passes, in
 * order:
 *   1. clone, input shapes (pass_input_shapes.c) where the caller states them
 *      batch               (pass_batch.c)      static inputs, batch 1
 *   2. infer and fold      (pass_fold.c)       every shape known, constants evaluated, attributes
 *                                              version-free
 *   3. quantized           (pass_quantized.c)  what the file quantizes and dequantizes
 *      expand              (expand.c)          composite operators become others
 *      identity            (pass_identity.c)   Identity, Dropout... go
 *      softmax             (pass_softmax.c)    the trailing one left off; the old meaning rewritten
 *   4. until nothing changes:
 *      arithmetic          (pass_arithmetic.c) Div by 2^k to Mul, Sub of constants to Add
 *      written out         (pass_written_out.c, pass_written_norm.c) Gelu, HardSwish, Swish
 *                          and LayerNormalization of their parts
 *      reduce max          (pass_reduce.c)     to GlobalMaxPool
 *      mask                (pass_mask.c)       Where in front of a Softmax to Add
 *      pad gather          (pass_pad_gather.c) Pad that repeats or mirrors to Gather
 *      gather nd           (pass_gather_nd.c)  by constants to Gather
 *      reshape             (pass_reshape.c)    Flatten, Squeeze, Unsqueeze, Reshape: one Reshape
 *      transpose           (pass_transpose.c)  Transposes cancel through elementwise nodes
 *      affine              (pass_affine.c)     BatchNormalization, Mul, Add... into weights
 *      gemm                (pass_gemm.c)       MatMul to Gemm, weights [N,K]
 *      pad                 (pass_pad.c)        Pad into Conv
 *   5. batch norm          (pass_batch_norm.c) what is left of it: Mul and Add
 *      division            (pass_arithmetic.c) by constants that are left: Mul
 *      reduce mean         (pass_reduce.c)     over height and width to GlobalAveragePool; 4 again
 *   6. constant channels   (pass_constant_channels.c) into the bias of the next layer
 *      unread channels     (pass_unread_channels.c)   go
 *   7. equalize            (pass_equalize.c)   by powers of two, once
 *   8. infer and fold again, verify.
 * Affine runs after transpose, so that a BatchNormalization between two Transposes still reaches
 * the weights before them. It folds all nodes of a chain at once: each weight is rounded once. */
#include "passes.h"
#include <string.h>

#define MAX_ROUNDS 64
/* Memory of the working copy: weights are copied at most once by each of five passes, and folding
 * makes 512 MiB. */
#define WORK_FACTOR 8
#define WORK_BYTES ((size_t)1 << 30)

itg_status itg_pass_nodes(itg_graph *g, itg_pass_fn *pass, bool *changed, itg_error *err)
{
    itg_status status = itg_graph_sort(g, err);
    for (itg_id n = 0, count = g->node_count; n < count && status == ITG_OK; ++n)
        status = pass(g, n, changed, err);
    return status;
}

static itg_status simplify(itg_graph *g, itg_error *err)
{
    static itg_pass_fn *const passes[] = {
        itg_pass_identity,   itg_pass_arithmetic, itg_pass_written_out, itg_pass_written_norm,
        itg_pass_reduce_max, itg_pass_pad_gather, itg_pass_mask,        itg_pass_gather_nd,
        itg_pass_reshape,    itg_pass_transpose,  itg_pass_affine,      itg_pass_gemm,
        itg_pass_pad};
    bool changed = true;
    for (int round = 0; round < MAX_ROUNDS && changed; ++round) {
        changed = false;
        for (size_t i = 0; i < sizeof passes / sizeof passes[0]; ++i) {
            itg_status status = itg_pass_nodes(g, passes[i], &changed, err);
            if (status != ITG_OK) return status;
        }
    }
    return ITG_OK;
}

/* Removes unused last outputs (masks, indices). Split keeps its outputs, because they say how it
 * splits. */
static void drop_unused_outputs(itg_graph *g)
{
    for (int32_t i = 0; i < g->node_count; ++i) {
        itg_node *n = &g->nodes[i];
        if (n->op == ITG_OP_SPLIT) continue;
        while (n->output_count > 1) {
            itg_id last = n->outputs[n->output_count - 1];
            if (last != ITG_NONE && itg_graph_use_count(g, last) > 0) break;
            if (last != ITG_NONE) g->values[last].producer = ITG_NONE;
            n->output_count--;
        }
    }
}

static itg_status check_size(const itg_graph *g, itg_error *err)
{
    if (g->node_count <= ITG_MAX_PREPARED_NODES) return ITG_OK;
    return itg_fail(err, ITG_LIMIT, "%s: %d nodes; at most %d are prepared", g->name,
                    (int)g->node_count, ITG_MAX_PREPARED_NODES);
}

static itg_status prepare(itg_graph *g, const itg_prepare_options *options, itg_error *err)
{
    int64_t old_batch = 1;
    bool changed = false;
    itg_status status = itg_graph_sort(g, err);
    if (status != ITG_OK) return status;
    status = check_size(g, err);
    if (status != ITG_OK) return status;
    g->options = options->model;
    status = itg_pass_input_shapes(g, options->model.input_shapes, err);
    if (status == ITG_OK) status = itg_pass_batch(g, options->keep_batch, &old_batch, err);
    if (status == ITG_OK) status = itg_pass_fold(g, options->eval, old_batch, err);
    if (status != ITG_OK) return status;
    drop_unused_outputs(g);
    status = itg_pass_nodes(g, itg_pass_quantized, &changed, err);
    if (status == ITG_OK) status = itg_pass_nodes(g, itg_pass_expand, &changed, err);
    if (status == ITG_OK) status = check_size(g, err);
    if (status == ITG_OK) status = itg_pass_nodes(g, itg_pass_identity, &changed, err);
    if (status == ITG_OK && !options->model.keep_softmax) itg_drop_softmax(g);
    if (status == ITG_OK) status = itg_pass_nodes(g, itg_pass_old_softmax, &changed, err);
    if (status == ITG_OK) status = simplify(g, err);
    if (status == ITG_OK) status = itg_pass_nodes(g, itg_pass_batch_norm, &changed, err);
    if (status == ITG_OK) status = itg_pass_nodes(g, itg_pass_division, &changed, err);
    if (status == ITG_OK) status = itg_pass_nodes(g, itg_pass_write_out, &changed, err);
    if (status == ITG_OK) status = itg_pass_nodes(g, itg_pass_reduce_mean, &changed, err);
    if (status == ITG_OK) status = simplify(g, err);
    if (status == ITG_OK) status = itg_graph_sort(g, err);
    if (status == ITG_OK) status = itg_pass_constant_channels(g, options->eval, &changed, err);
    if (status == ITG_OK) status = itg_graph_sort(g, err);
    if (status == ITG_OK) status = itg_pass_unread_channels(g, &changed, err);
    if (status == ITG_OK && !options->model.no_equalize && !g->quantized)
        status = itg_pass_nodes(g, itg_pass_equalize, &changed, err);
    if (status == ITG_OK) status = itg_pass_fold(g, options->eval, 1, err);
    return status == ITG_OK ? itg_graph_verify(g, err) : status;
}

/* Clones the graph to work on, within a budget that keeps a constant that thousands of nodes share
 * from becoming thousands of constants. */
static itg_status begin(const itg_graph *graph, itg_graph **work, itg_error *err)
{
    size_t budget = 0;
    if (!itg_mul_size(itg_arena_used(graph->arena), WORK_FACTOR, &budget) ||
        !itg_add_size(budget, WORK_BYTES, &budget))
        return itg_graph_no_memory(graph, err);
    return itg_graph_clone_within(graph, budget, work, err);
}

static itg_status finish(itg_graph *work, const itg_prepare_options *options, itg_graph **out,
                         itg_error *err)
{
    itg_status status = prepare(work, options, err);
    if (status == ITG_OK)
        status = itg_graph_clone(work, out, err); /* drops what passes left in the arena */
    itg_graph_destroy(work);
    return status;
}

itg_status itg_graph_prepare(const itg_graph *graph, const itg_prepare_options *options,
                             itg_graph **out, itg_error *err)
{
    itg_graph *work = NULL;
    itg_status status = begin(graph, &work, err);
    return status == ITG_OK ? finish(work, options, out, err) : status;
}

itg_status itg_graph_prepare_last(itg_graph *graph, const itg_prepare_options *options,
                                  itg_graph **out, itg_error *err)
{
    itg_graph *work = NULL;
    itg_status status = begin(graph, &work, err);
    itg_graph_destroy(graph);
    return status == ITG_OK ? finish(work, options, out, err) : status;
}
