/* Shape inference: the table of rules and the helpers that they share. */
#include "shape.h"
#include <stdlib.h>
#include <string.h>

/* Rules that do not follow from the operator's class. Import turns Constant nodes into
 * constants. */
static const itg_infer_fn infer[ITG_OP_COUNT] = {
    [ITG_OP_CONV] = itg_infer_conv,
    [ITG_OP_GEMM] = itg_infer_gemm,
    [ITG_OP_EINSUM] = itg_infer_einsum,
    [ITG_OP_MATMUL] = itg_infer_matmul,
    [ITG_OP_PRELU] = itg_infer_prelu,
    [ITG_OP_CLIP] = itg_infer_clip,
    [ITG_OP_MAX_POOL] = itg_infer_pool,
    [ITG_OP_AVERAGE_POOL] = itg_infer_pool,
    [ITG_OP_GLOBAL_AVERAGE_POOL] = itg_infer_global_pool,
    [ITG_OP_GLOBAL_MAX_POOL] = itg_infer_global_pool,
    [ITG_OP_BATCH_NORMALIZATION] = itg_infer_batch_normalization,
    [ITG_OP_LAYER_NORMALIZATION] = itg_infer_layer_normalization,
    [ITG_OP_SOFTMAX] = itg_infer_softmax,
    [ITG_OP_LOG_SOFTMAX] = itg_infer_softmax,
    [ITG_OP_ARG_MAX] = itg_infer_arg_max,
    [ITG_OP_CONCAT] = itg_infer_concat,
    [ITG_OP_SPLIT] = itg_infer_split,
    [ITG_OP_RESHAPE] = itg_infer_reshape,
    [ITG_OP_FLATTEN] = itg_infer_flatten,
    [ITG_OP_TRANSPOSE] = itg_infer_transpose,
    [ITG_OP_SLICE] = itg_infer_slice,
    [ITG_OP_GATHER] = itg_infer_gather,
    [ITG_OP_SQUEEZE] = itg_infer_squeeze,
    [ITG_OP_UNSQUEEZE] = itg_infer_unsqueeze,
    [ITG_OP_EXPAND] = itg_infer_expand,
    [ITG_OP_PAD] = itg_infer_pad,
    [ITG_OP_CONSTANT_OF_SHAPE] = itg_infer_constant_of_shape,
    [ITG_OP_SHAPE] = itg_infer_shape,
    [ITG_OP_CAST] = itg_infer_cast,
    [ITG_OP_QUANTIZE_LINEAR] = itg_infer_quantize,
    [ITG_OP_DEQUANTIZE_LINEAR] = itg_infer_quantize,
    [ITG_OP_ARG_MIN] = itg_infer_arg_max,
    [ITG_OP_HARDMAX] = itg_infer_softmax,
    [ITG_OP_LP_NORMALIZATION] = itg_infer_lp_normalization,
    [ITG_OP_MEAN_VARIANCE_NORMALIZATION] = itg_infer_mean_variance,
    [ITG_OP_DET] = itg_infer_det,
    [ITG_OP_GATHER_ELEMENTS] = itg_infer_elements,
    [ITG_OP_SCATTER_ELEMENTS] = itg_infer_elements,
    [ITG_OP_GATHER_ND] = itg_infer_rows,
    [ITG_OP_SCATTER_ND] = itg_infer_rows,
    [ITG_OP_TILE] = itg_infer_tile,
    [ITG_OP_TRILU] = itg_infer_trilu,
    [ITG_OP_REVERSE_SEQUENCE] = itg_infer_reverse_sequence,
    [ITG_OP_CUM_SUM] = itg_infer_cumulative,
    [ITG_OP_CUM_PROD] = itg_infer_cumulative,
    [ITG_OP_TOP_K] = itg_infer_top_k,
    [ITG_OP_COMPRESS] = itg_infer_compress,
    [ITG_OP_UNIQUE] = itg_infer_unique,
    [ITG_OP_NON_ZERO] = itg_infer_non_zero,
    [ITG_OP_ONE_HOT] = itg_infer_one_hot,
    [ITG_OP_RANGE] = itg_infer_range,
    [ITG_OP_SIZE] = itg_infer_size,
    [ITG_OP_EYE_LIKE] = itg_infer_eye_like,
    [ITG_OP_CAST_LIKE] = itg_infer_cast_like,
    [ITG_OP_NOT] = itg_infer_not,
    [ITG_OP_BITWISE_NOT] = itg_infer_not,
    [ITG_OP_IS_NAN] = itg_infer_test,
    [ITG_OP_IS_INF] = itg_infer_test,
    [ITG_OP_IDENTITY] = itg_infer_same,
    [ITG_OP_DROPOUT] = itg_infer_dropout,
    [ITG_OP_RESIZE] = itg_infer_resize,
    [ITG_OP_CONV_TRANSPOSE] = itg_infer_conv_transpose,
    [ITG_OP_CONV_3D] = itg_infer_conv_3d,
    [ITG_OP_MAX_POOL_3D] = itg_infer_pool_3d,
    [ITG_OP_AVERAGE_POOL_3D] = itg_infer_pool_3d,
    [ITG_OP_DEPTH_TO_SPACE] = itg_infer_blocks,
    [ITG_OP_SPACE_TO_DEPTH] = itg_infer_blocks,
    [ITG_OP_INSTANCE_NORMALIZATION] = itg_infer_group_normalization,
    [ITG_OP_GROUP_NORMALIZATION] = itg_infer_group_normalization,
    [ITG_OP_RMS_NORMALIZATION] = itg_infer_rms_normalization,
    [ITG_OP_LRN] = itg_infer_lrn,
    [ITG_OP_RNN] = itg_infer_recurrent,
    [ITG_OP_GRU] = itg_infer_recurrent,
    [ITG_OP_LSTM] = itg_infer_recurrent,
    [ITG_OP_ATTENTION] = itg_infer_attention,
};

static itg_infer_fn rule_of(itg_op op)
{
    if (infer[op]) return infer[op];
    if (itg_op_is(op, ITG_IS_BROADCAST)) return itg_infer_broadcast;
    if (itg_op_is(op, ITG_IS_REDUCE)) return itg_infer_reduce;
    return itg_op_is(op, ITG_IS_UNIVARIATE) ? itg_infer_same : NULL;
}

bool itg_has_input(const itg_graph *g, itg_id node, int32_t slot)
{
    return slot < g->nodes[node].input_count && g->nodes[node].inputs[slot] != ITG_NONE;
}

int32_t itg_input_rank(const itg_graph *g, itg_id node)
{
    const itg_shape *shape = itg_input_shape(g, node, 0);
    return shape && shape->rank > 0 ? shape->rank : 0;
}

bool itg_has_output(const itg_graph *g, itg_id node, int32_t slot)
{
    return slot < g->nodes[node].output_count && g->nodes[node].outputs[slot] != ITG_NONE;
}

const itg_shape *itg_input_shape(const itg_graph *g, itg_id node, int32_t slot)
{
    return itg_has_input(g, node, slot) ? &g->values[g->nodes[node].inputs[slot]].shape : NULL;
}

itg_dtype itg_input_dtype(const itg_graph *g, itg_id node, int32_t slot)
{
    return g->values[g->nodes[node].inputs[slot]].dtype;
}

itg_status itg_set_output(itg_graph *g, itg_id node, int32_t slot, itg_dtype dtype,
                          const itg_shape *shape, itg_error *err)
{
    int64_t elements = 0;
    char text[96];
    if (!itg_has_output(g, node, slot)) return ITG_OK;
    if (shape->rank > ITG_MAX_RANK)
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED, "its output has rank %d; at most %d",
                             (int)shape->rank, ITG_MAX_RANK);
    if (!itg_shape_elements(shape, &elements))
        return itg_node_fail(g, node, err, ITG_LIMIT, "its output %s has too many elements",
                             itg_shape_text(shape, text, sizeof text));
    itg_value *value = &g->values[g->nodes[node].outputs[slot]];
    value->dtype = dtype;
    value->shape = *shape;
    return ITG_OK;
}

itg_status itg_read_ints(const itg_graph *g, itg_id node, int32_t slot, const char *what,
                         itg_ints *out, itg_error *err)
{
    const itg_value *v = &g->values[g->nodes[node].inputs[slot]];
    if (!v->data)
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED, "its %s '%s' is not a constant", what,
                             v->name);
    if (v->dtype != ITG_S64 && v->dtype != ITG_S32)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its %s '%s' is %s; expected s64", what,
                             v->name, itg_dtype_name(v->dtype));
    if (v->shape.rank > 1 || (v->shape.rank == 1 && v->shape.dims[0] > ITG_MAX_INTS))
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED,
                             "its %s '%s' is no list of at most %d numbers", what, v->name,
                             ITG_MAX_INTS);
    out->count = v->shape.rank == 0 ? 1 : (int32_t)v->shape.dims[0];
    for (int32_t i = 0; i < out->count; ++i)
        out->v[i] = itg_load(v->dtype, v->data, i);
    return ITG_OK;
}

itg_status itg_take_axes(itg_graph *g, itg_id node, int32_t slot, itg_error *err)
{
    itg_attrs *a = &g->nodes[node].attrs;
    itg_ints axes;
    if (!itg_has_input(g, node, slot)) return ITG_OK;
    itg_status status = itg_read_ints(g, node, slot, "axes", &axes, err);
    if (status != ITG_OK) return status;
    if (axes.count > ITG_MAX_RANK)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "%d axes; at most %d", (int)axes.count,
                             ITG_MAX_RANK);
    a->axes_count = axes.count;
    for (int32_t i = 0; i < axes.count; ++i)
        a->axes[i] = axes.v[i];
    return ITG_OK;
}

itg_status itg_read_float(const itg_graph *g, itg_id node, int32_t slot, const char *what,
                          float *out, itg_error *err)
{
    const itg_value *v = &g->values[g->nodes[node].inputs[slot]];
    int64_t elements = 0;
    if (!v->data)
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED, "its %s '%s' is not a constant", what,
                             v->name);
    if (!itg_shape_elements(&v->shape, &elements) || elements != 1)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its %s '%s' is not one number", what,
                             v->name);
    switch (v->dtype) {
    case ITG_F32:
        *out = *(const float *)v->data;
        return ITG_OK;
    case ITG_F64:
        *out = (float)*(const double *)v->data;
        return ITG_OK;
    default:
        if (itg_dtype_is_integer(v->dtype)) {
            *out = (float)itg_load(v->dtype, v->data, 0);
            return ITG_OK;
        }
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED, "its %s '%s' is %s; expected f32", what,
                             v->name, itg_dtype_name(v->dtype));
    }
}

itg_status itg_resolve_axis(const itg_graph *g, itg_id node, int32_t rank, int64_t *axis,
                            itg_error *err)
{
    int64_t a = *axis;
    if (a < -rank || a >= rank)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "axis %lld is outside rank %d",
                             (long long)a, (int)rank);
    *axis = a < 0 ? a + rank : a;
    return ITG_OK;
}

itg_status itg_resolve_axes(const itg_graph *g, itg_id node, int32_t rank, int64_t *axes,
                            int32_t count, itg_error *err)
{
    for (int32_t i = 0; i < count; ++i) {
        itg_status status = itg_resolve_axis(g, node, rank, &axes[i], err);
        if (status != ITG_OK) return status;
        for (int32_t j = i; j > 0 && axes[j] < axes[j - 1]; --j) {
            int64_t swap = axes[j];
            axes[j] = axes[j - 1];
            axes[j - 1] = swap;
        }
    }
    for (int32_t i = 1; i < count; ++i)
        if (axes[i] == axes[i - 1])
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "axis %lld is listed twice",
                                 (long long)axes[i]);
    return ITG_OK;
}

bool itg_broadcast_shapes(const itg_shape *a, const itg_shape *b, itg_shape *out)
{
    itg_shape result = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int32_t i = 1; i <= result.rank; ++i) {
        int64_t da = i <= a->rank ? a->dims[a->rank - i] : 1;
        int64_t db = i <= b->rank ? b->dims[b->rank - i] : 1;
        if (da != db && da != 1 && db != 1) return false;
        result.dims[result.rank - i] = da == 1 ? db : da;
    }
    *out = result;
    return true;
}

itg_status itg_infer_same(itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape shape = *itg_input_shape(g, node, 0);
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &shape, err);
}

itg_status itg_check_arity(const itg_graph *g, itg_id node, itg_error *err)
{
    const itg_node *n = &g->nodes[node];
    const itg_op_info *info = itg_op_info_of(n->op);
    int32_t needed = itg_op_is(n->op, ITG_IS_SHAPED) ? 1 : info->min_inputs;
    if (n->input_count < needed || (info->max_inputs >= 0 && n->input_count > info->max_inputs))
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "%d inputs; expected %d to %d",
                             (int)n->input_count, (int)needed, (int)info->max_inputs);
    for (int32_t i = 0; i < needed; ++i)
        if (n->inputs[i] == ITG_NONE)
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "input %d must not be left out",
                                 (int)i);
    if (n->output_count < 1 || (info->max_outputs >= 0 && n->output_count > info->max_outputs))
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "%d outputs; expected 1 to %d",
                             (int)n->output_count, (int)info->max_outputs);
    return ITG_OK;
}

itg_status itg_infer_node(itg_graph *g, itg_id node, itg_error *err)
{
    itg_status status = itg_check_arity(g, node, err);
    if (status != ITG_OK) return status;
    itg_node *n = &g->nodes[node];
    for (int32_t i = 0; i < n->input_count; ++i) {
        if (n->inputs[i] == ITG_NONE) continue;
        const itg_value *v = &g->values[n->inputs[i]];
        int64_t elements = 0;
        if (v->shape.rank < 0 || !itg_shape_elements(&v->shape, &elements))
            return itg_node_fail(g, node, err, ITG_UNSUPPORTED,
                                 "the shape of its input '%s' is not known", v->name);
    }
    itg_infer_fn rule = rule_of(n->op);
    if (!rule)
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED, "this operator has no shape rule");
    status = rule(g, node, err);
    /* The attributes no longer depend on the opset. pass_softmax.c still has to rewrite an old
     * Softmax. */
    if (status == ITG_OK && !itg_is_old_softmax(g, node)) n->opset = 0;
    return status;
}

/* ---- one operator outside of a graph ---- */

/* Whether inference would leave these attributes as they are. */
static bool are_resolved(itg_op op, const itg_attrs *before, const itg_attrs *after)
{
    int32_t count;
    const itg_attr *attr = itg_op_attrs(op, &count);
    for (int32_t i = 0; i < count; ++i)
        if (memcmp(itg_attr_value(&attr[i], before), itg_attr_value(&attr[i], after),
                   attr[i].field->size) != 0)
            return false;
    return before->axes_count == after->axes_count;
}

/* Adds the tensors to the graph as values and lists their ids. */
static void fill_values(const itg_tensor *tensors, int32_t count, itg_graph *g, itg_id *ids)
{
    for (int32_t i = 0; i < count; ++i) {
        ids[i] = tensors[i].shape.rank < 0 ? ITG_NONE : g->value_count;
        g->values[g->value_count++] = (itg_value){.name = "?",
                                                  .dtype = tensors[i].dtype,
                                                  .shape = tensors[i].shape,
                                                  .producer = ITG_NONE,
                                                  .data = tensors[i].data};
    }
}

static itg_status check_outputs(const itg_graph *g, const itg_attrs *stated,
                                const itg_tensor *outputs, itg_error *err)
{
    const itg_node *n = &g->nodes[0];
    char a[96], b[96];
    if (!are_resolved(n->op, stated, &n->attrs))
        return itg_node_fail(g, 0, err, ITG_MISMATCH, "its attributes are not resolved");
    for (int32_t i = 0; i < n->output_count; ++i) {
        const itg_value *v = &g->values[n->outputs[i]];
        if (v->dtype != outputs[i].dtype || !itg_shape_equal(&v->shape, &outputs[i].shape))
            return itg_node_fail(
                g, 0, err, ITG_MISMATCH, "output %d is %s%s, the operator gives %s%s", (int)i,
                itg_dtype_name(outputs[i].dtype), itg_shape_text(&outputs[i].shape, a, sizeof a),
                itg_dtype_name(v->dtype), itg_shape_text(&v->shape, b, sizeof b));
    }
    return ITG_OK;
}

itg_status itg_infer_check(itg_op op, const itg_attrs *attrs, const itg_tensor *inputs,
                           int32_t input_count, const itg_tensor *outputs, int32_t output_count,
                           itg_error *err)
{
    const size_t count = (size_t)input_count + (size_t)output_count;
    itg_id *ids = malloc((count + 1) * sizeof *ids);
    itg_value *values = malloc((count + 1) * sizeof *values);
    itg_node node = {.op = op,
                     .input_count = input_count,
                     .output_count = output_count,
                     .inputs = ids,
                     .attrs = *attrs};
    itg_graph g = {.values = values, .nodes = &node, .node_count = 1};
    itg_status status = ITG_OK;
    if (!ids || !values) {
        status = itg_no_memory(err);
    } else {
        node.outputs = ids + input_count;
        fill_values(inputs, input_count, &g, ids);
        fill_values(outputs, output_count, &g, node.outputs);
        status = itg_infer_node(&g, 0, err);
    }
    if (status == ITG_OK) status = check_outputs(&g, attrs, outputs, err);
    free(values);
    free(ids);
    return status;
}
