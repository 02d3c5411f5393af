/* Shapes of elementwise operators. */
#include "shape.h"

/* Returns the output's dtype: bool for comparisons, else that of Where's branches or operand 0. */
static itg_dtype result_dtype(const itg_graph *g, itg_id node)
{
    switch (g->nodes[node].op) {
    case ITG_OP_EQUAL:
    case ITG_OP_LESS:
    case ITG_OP_LESS_OR_EQUAL:
    case ITG_OP_GREATER:
    case ITG_OP_GREATER_OR_EQUAL:
        return ITG_BOOL;
    case ITG_OP_WHERE:
        return itg_input_dtype(g, node, 1);
    default:
        return itg_input_dtype(g, node, 0);
    }
}

/* Returns what the operands must be ("bool", "integers"...); NULL if dtype fits. */
static const char *wrong_dtype(const itg_node *n, itg_dtype dtype)
{
    switch (n->op) {
    case ITG_OP_AND:
    case ITG_OP_OR:
    case ITG_OP_XOR:
    case ITG_OP_NOT:
        return dtype == ITG_BOOL ? NULL : "bool";
    case ITG_OP_BITWISE_AND:
    case ITG_OP_BITWISE_OR:
    case ITG_OP_BITWISE_XOR:
    case ITG_OP_BITWISE_NOT:
    case ITG_OP_BIT_SHIFT:
        return itg_dtype_is_integer(dtype) ? NULL : "integers";
    case ITG_OP_IS_NAN:
    case ITG_OP_IS_INF:
        return dtype == ITG_F32 || dtype == ITG_F64 ? NULL : "f32";
    default:
        return NULL;
    }
}

static itg_status check_dtype(const itg_graph *g, itg_id node, itg_error *err)
{
    const itg_dtype dtype = itg_input_dtype(g, node, 0);
    const char *wanted = wrong_dtype(&g->nodes[node], dtype);
    if (!wanted) return ITG_OK;
    return itg_node_fail(g, node, err, ITG_BAD_FILE, "its input is %s; expected %s",
                         itg_dtype_name(dtype), wanted);
}

/* Checks that the operands have one dtype, except Where's condition and Pow's exponent. */
static itg_status check_operand_dtypes(const itg_graph *g, itg_id node, itg_error *err)
{
    const itg_node *n = &g->nodes[node];
    if (n->op == ITG_OP_POW) return ITG_OK;
    int32_t first = n->op == ITG_OP_WHERE ? 1 : 0;
    if (n->op == ITG_OP_WHERE && itg_input_dtype(g, node, 0) != ITG_BOOL)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its condition is %s; expected bool",
                             itg_dtype_name(itg_input_dtype(g, node, 0)));
    for (int32_t i = first + 1; i < n->input_count; ++i)
        if (itg_has_input(g, node, i) &&
            itg_input_dtype(g, node, i) != itg_input_dtype(g, node, first))
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "operands are %s and %s",
                                 itg_dtype_name(itg_input_dtype(g, node, first)),
                                 itg_dtype_name(itg_input_dtype(g, node, i)));
    return check_dtype(g, node, err);
}

itg_status itg_infer_broadcast(itg_graph *g, itg_id node, itg_error *err)
{
    itg_status status = check_operand_dtypes(g, node, err);
    if (status != ITG_OK) return status;
    itg_shape y = *itg_input_shape(g, node, 0);
    for (int32_t i = 1; i < g->nodes[node].input_count; ++i) {
        const itg_shape *x = itg_input_shape(g, node, i);
        char yt[96], xt[96];
        if (!x)
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "input %d must not be left out",
                                 (int)i);
        if (!itg_broadcast_shapes(&y, x, &y))
            return itg_node_fail(g, node, err, ITG_BAD_FILE, "shapes %s and %s do not broadcast",
                                 itg_shape_text(&y, yt, sizeof yt),
                                 itg_shape_text(x, xt, sizeof xt));
    }
    return itg_set_output(g, node, 0, result_dtype(g, node), &y, err);
}

itg_status itg_infer_prelu(itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape x = *itg_input_shape(g, node, 0), both;
    const itg_shape *slope = itg_input_shape(g, node, 1);
    char st[96], xt[96];
    if (!itg_broadcast_shapes(&x, slope, &both) || !itg_shape_equal(&both, &x))
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "slope %s does not broadcast to %s",
                             itg_shape_text(slope, st, sizeof st),
                             itg_shape_text(&x, xt, sizeof xt));
    return itg_set_output(g, node, 0, itg_input_dtype(g, node, 0), &x, err);
}

/* Whether float32 holds the bound exactly, or it is a bound that no code exceeds. */
static bool is_kept(const itg_graph *g, itg_id node, int32_t slot)
{
    if (!itg_has_input(g, node, slot)) return true;
    const itg_value *v = &g->values[g->nodes[node].inputs[slot]];
    if (!itg_dtype_is_integer(v->dtype)) return true;
    const int64_t whole = itg_load(v->dtype, v->data, 0);
    return whole == itg_dtype_min(v->dtype) || whole == itg_dtype_max(v->dtype) ||
           (whole >= -(1 << 24) && whole <= 1 << 24);
}

itg_status itg_infer_clip(itg_graph *g, itg_id node, itg_error *err)
{
    float min = g->nodes[node].attrs.min, max = g->nodes[node].attrs.max;
    itg_status status = ITG_OK;
    if (itg_has_input(g, node, 1)) status = itg_read_float(g, node, 1, "minimum", &min, err);
    if (status == ITG_OK && itg_has_input(g, node, 2))
        status = itg_read_float(g, node, 2, "maximum", &max, err);
    if (status != ITG_OK) return status;
    if (min != min || max != max)
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "its bounds must not be NaN");
    if (!is_kept(g, node, 1) || !is_kept(g, node, 2))
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED,
                             "its bounds are integers beyond 2^24, which float32 does not hold");
    g->nodes[node].attrs.min = max < min ? max : min; /* ONNX: the maximum wins */
    g->nodes[node].attrs.max = max;
    itg_graph_drop_inputs(g, node, 1);
    return itg_infer_same(g, node, err);
}

itg_status itg_infer_cast(itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape shape = *itg_input_shape(g, node, 0);
    return itg_set_output(g, node, 0, g->nodes[node].attrs.to, &shape, err);
}

/* Infers QuantizeLinear and DequantizeLinear with one scale, or one per element of an axis. */
itg_status itg_infer_quantize(itg_graph *g, itg_id node, itg_error *err)
{
    itg_node *n = &g->nodes[node];
    const bool quantizes = n->op == ITG_OP_QUANTIZE_LINEAR;
    const itg_shape shape = *itg_input_shape(g, node, 0), scale = *itg_input_shape(g, node, 1);
    const bool has_zero = itg_has_input(g, node, 2);
    int64_t scales = 0;
    (void)itg_shape_elements(&scale, &scales);
    if (scale.rank > 1)
        return itg_node_fail(g, node, err, ITG_UNSUPPORTED, "its scale has rank %d, as in blocks",
                             (int)scale.rank);
    itg_status status =
        scales == 1 ? ITG_OK : itg_resolve_axis(g, node, shape.rank, &n->attrs.axis, err);
    if (status != ITG_OK) return status;
    if (scales == 1) n->attrs.axis = 0;
    if (scales != 1 && scales != shape.dims[n->attrs.axis])
        return itg_node_fail(g, node, err, ITG_BAD_FILE, "it has %lld scales; expected 1 or %lld",
                             (long long)scales, (long long)shape.dims[n->attrs.axis]);
    int64_t zeros = scales;
    if (has_zero) (void)itg_shape_elements(itg_input_shape(g, node, 2), &zeros);
    if (zeros != scales)
        return itg_node_fail(g, node, err, ITG_BAD_FILE,
                             "its zero point has not its scale's shape");
    const itg_dtype dtype = !quantizes ? ITG_F32 : has_zero ? itg_input_dtype(g, node, 2) : ITG_U8;
    return itg_set_output(g, node, 0, dtype, &shape, err);
}

/* Makes the node a Cast to the type of its second input, which it drops. */
itg_status itg_infer_cast_like(itg_graph *g, itg_id node, itg_error *err)
{
    itg_node *n = &g->nodes[node];
    n->attrs = itg_attrs_default(ITG_OP_CAST);
    n->attrs.to = itg_input_dtype(g, node, 1);
    n->op = ITG_OP_CAST;
    itg_graph_drop_inputs(g, node, 1);
    return itg_infer_cast(g, node, err);
}

/* Infers IsNaN and IsInf. */
itg_status itg_infer_test(itg_graph *g, itg_id node, itg_error *err)
{
    itg_shape shape = *itg_input_shape(g, node, 0);
    itg_status status = check_dtype(g, node, err);
    return status == ITG_OK ? itg_set_output(g, node, 0, ITG_BOOL, &shape, err) : status;
}

itg_status itg_infer_not(itg_graph *g, itg_id node, itg_error *err)
{
    itg_status status = check_dtype(g, node, err);
    return status == ITG_OK ? itg_infer_same(g, node, err) : status;
}

/* Infers Dropout in inference. Training would make the output random and is refused. */
itg_status itg_infer_dropout(itg_graph *g, itg_id node, itg_error *err)
{
    if (itg_has_input(g, node, 2)) {
        const itg_value *mode = &g->values[g->nodes[node].inputs[2]];
        if (!mode->data || mode->dtype != ITG_BOOL || *(const unsigned char *)mode->data)
            return itg_node_fail(g, node, err, ITG_UNSUPPORTED,
                                 "its training_mode '%s' is not the constant false", mode->name);
    }
    itg_graph_drop_inputs(g, node, 1);
    itg_shape shape = *itg_input_shape(g, node, 0);
    itg_status status = itg_set_output(g, node, 1, ITG_BOOL, &shape, err);
    return status == ITG_OK ? itg_infer_same(g, node, err) : status;
}
