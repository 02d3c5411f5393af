/* Finds a LayerNormalization that is written out,
 *   d = x - mean(x);  d / sqrt(mean(d^2) + epsilon)
 * with means over the last dimensions. A scale and a bias behind it become its parameters. Likewise
 * an RMSNormalization over the last dimension, with the scale behind it:
 *   x / sqrt(mean(x^2) + epsilon) * scale */
#include "expand.h"
#include "written_out.h"

/* Whether value is x - mean(x) over the last dimensions, from *axis on. */
static bool is_centred(const itg_graph *g, itg_id value, itg_id *x, int64_t *axis)
{
    const itg_node *sub = itg_made_by(g, value, ITG_OP_SUB);
    const itg_node *mean = sub ? itg_made_by(g, sub->inputs[1], ITG_OP_REDUCE_MEAN) : NULL;
    if (!mean || mean->inputs[0] != sub->inputs[0] || !mean->attrs.keepdims) return false;
    const itg_attrs *a = &mean->attrs;
    const int32_t rank = g->values[sub->inputs[0]].shape.rank;
    if (a->axes_count < 1 || mean->opset != 0) return false;
    for (int32_t i = 0; i < a->axes_count; ++i) /* inference has sorted them */
        if (a->axes[i] != rank - a->axes_count + i) return false;
    *x = sub->inputs[0];
    *axis = rank - a->axes_count;
    return true;
}

/* Returns d if value is d^2; else ITG_NONE. */
static itg_id root_of_square(const itg_graph *g, itg_id value)
{
    double two;
    const itg_node *power = itg_made_by(g, value, ITG_OP_POW);
    const itg_node *product = itg_made_by(g, value, ITG_OP_MUL);
    if (itg_has_scalar(g, power, &two) && two == 2.0) return power->inputs[0];
    return product && product->input_count == 2 && product->inputs[0] == product->inputs[1]
               ? product->inputs[0]
               : ITG_NONE;
}

/* Whether value is mean(d^2) + epsilon, d = x - mean(x). */
static bool is_variance(const itg_graph *g, itg_id value, itg_id x, int64_t axis, double *epsilon)
{
    itg_id same = ITG_NONE;
    int64_t same_axis = -1;
    const itg_node *sum = itg_made_by(g, value, ITG_OP_ADD);
    if (!itg_has_scalar(g, sum, epsilon) || !(*epsilon >= 0.0)) return false;
    const itg_node *mean = itg_made_by(g, sum->inputs[0], ITG_OP_REDUCE_MEAN);
    if (!mean || !mean->attrs.keepdims || mean->opset != 0) return false;
    const itg_id d = root_of_square(g, mean->inputs[0]);
    return d != ITG_NONE && is_centred(g, d, &same, &same_axis) && same == x && same_axis == axis &&
           mean->attrs.axes_count == g->values[x].shape.rank - axis && mean->attrs.axes[0] == axis;
}

/* Returns v if value is 1 / sqrt(v); else ITG_NONE. */
static itg_id inverse_root_of(const itg_graph *g, itg_id value)
{
    double half, one;
    const itg_node *power = itg_made_by(g, value, ITG_OP_POW);
    if (itg_has_scalar(g, power, &half) && half == -0.5) return power->inputs[0];
    const itg_node *reciprocal = itg_made_by(g, value, ITG_OP_RECIPROCAL);
    const itg_node *quotient = itg_made_by(g, value, ITG_OP_DIV);
    itg_id root = reciprocal ? reciprocal->inputs[0] : ITG_NONE;
    if (quotient && itg_is_scalar(g, quotient->inputs[0], &one) && one == 1.0)
        root = quotient->inputs[1];
    const itg_node *n = itg_made_by(g, root, ITG_OP_SQRT);
    return n ? n->inputs[0] : ITG_NONE;
}

static bool is_normalized(const itg_graph *g, const itg_node *n, itg_id *x, int64_t *axis,
                          double *epsilon)
{
    if (n->input_count != 2) return false;
    if (n->op == ITG_OP_DIV) {
        const itg_node *root = itg_made_by(g, n->inputs[1], ITG_OP_SQRT);
        return root && is_centred(g, n->inputs[0], x, axis) &&
               is_variance(g, root->inputs[0], *x, *axis, epsilon);
    }
    for (int i = 0; i < 2 && n->op == ITG_OP_MUL; ++i) {
        const itg_id variance = inverse_root_of(g, n->inputs[i]);
        if (variance != ITG_NONE && is_centred(g, n->inputs[1 - i], x, axis) &&
            is_variance(g, variance, *x, *axis, epsilon))
            return true;
    }
    return false;
}

static itg_status normalize(itg_graph *g, itg_id node, itg_id x, int64_t axis, double epsilon,
                            itg_error *err)
{
    itg_id scale;
    float *one;
    const itg_shape shape = {.rank = 1, .dims = {1}};
    itg_status status = itg_new_floats(g, g->nodes[node].name, "scale", &shape, &scale, &one, err);
    if (status != ITG_OK) return status;
    *one = 1.0f;
    itg_node *n = itg_become_function(g, node, ITG_OP_LAYER_NORMALIZATION, x);
    n->attrs.axis = axis;
    n->attrs.epsilon = (float)epsilon;
    return itg_graph_set_node_inputs(g, node, (const itg_id[]){x, scale}, 2, err);
}

/* ---- a scale and a bias behind it ---- */

/* Whether a constant broadcasts to the normalized dimensions without more dimensions. */
static bool fits_rows(const itg_graph *g, const itg_node *norm, itg_id constant)
{
    const itg_shape *x = &g->values[norm->inputs[0]].shape, *c = &g->values[constant].shape;
    if (c->rank > x->rank - norm->attrs.axis) return false;
    for (int32_t d = 1; d <= c->rank; ++d)
        if (c->dims[c->rank - d] != 1 && c->dims[c->rank - d] != x->dims[x->rank - d]) return false;
    return true;
}

/* Returns the LayerNormalization that only this Mul or Add reads and whose parameter the constant
 * operand can become; else NULL. */
static const itg_node *norm_before(const itg_graph *g, const itg_node *n)
{
    double scale;
    if (n->input_count != 2 || !itg_is_float_constant(g, n->inputs[1])) return NULL;
    const itg_node *norm = itg_made_by(g, n->inputs[0], ITG_OP_LAYER_NORMALIZATION);
    if (!norm || norm->output_count != 1 || itg_graph_use_count(g, n->inputs[0]) != 1 ||
        !fits_rows(g, norm, n->inputs[1]) || (norm->input_count > 2 && norm->inputs[2] != ITG_NONE))
        return NULL;
    const bool is_plain = itg_is_scalar(g, norm->inputs[1], &scale) && scale == 1.0;
    return n->op == ITG_OP_ADD || is_plain ? norm : NULL;
}

/* Makes the node the LayerNormalization, with the constant as its scale or bias. */
static itg_status take_over(itg_graph *g, itg_id node, const itg_node *norm, itg_error *err)
{
    const bool is_scale = g->nodes[node].op == ITG_OP_MUL;
    const itg_id c = g->nodes[node].inputs[1];
    const itg_id inputs[3] = {norm->inputs[0], is_scale ? c : norm->inputs[1], c};
    const itg_attrs attrs = norm->attrs;
    itg_become(g, node, ITG_OP_LAYER_NORMALIZATION)->attrs = attrs;
    return itg_graph_set_node_inputs(g, node, inputs, is_scale ? 2 : 3, err);
}

/* ---- without a mean ---- */

/* Whether value is mean(x^2) + epsilon over the last dimension. */
static bool is_mean_square(const itg_graph *g, itg_id value, itg_id x, double *epsilon)
{
    const itg_node *sum = itg_made_by(g, value, ITG_OP_ADD);
    if (!itg_has_scalar(g, sum, epsilon) || !(*epsilon >= 0.0)) return false;
    const itg_node *mean = itg_made_by(g, sum->inputs[0], ITG_OP_REDUCE_MEAN);
    return mean && mean->attrs.keepdims && mean->opset == 0 && mean->attrs.axes_count == 1 &&
           mean->attrs.axes[0] == g->values[x].shape.rank - 1 &&
           root_of_square(g, mean->inputs[0]) == x;
}

static bool is_rms(const itg_graph *g, const itg_node *n, itg_id *x, double *epsilon)
{
    const itg_node *root = n->op == ITG_OP_DIV ? itg_made_by(g, n->inputs[1], ITG_OP_SQRT) : NULL;
    *x = n->inputs[0];
    if (root) return is_mean_square(g, root->inputs[0], *x, epsilon);
    for (int i = 0; i < 2 && n->op == ITG_OP_MUL && n->input_count == 2; ++i) {
        const itg_id square = inverse_root_of(g, n->inputs[i]);
        *x = n->inputs[1 - i];
        if (square != ITG_NONE && is_mean_square(g, square, *x, epsilon)) return true;
    }
    return false;
}

/* Whether a node multiplies by constants of one number for each element of the last dimension. */
static bool scales_rows(const itg_graph *g, const itg_node *n)
{
    if (n->op != ITG_OP_MUL || n->input_count != 2 || !itg_is_float_constant(g, n->inputs[1]))
        return false;
    const itg_shape *x = &g->values[n->inputs[0]].shape, *c = &g->values[n->inputs[1]].shape;
    return c->rank >= 1 && c->rank <= x->rank && c->dims[c->rank - 1] == x->dims[x->rank - 1] &&
           itg_value_elements(g, n->inputs[1]) == c->dims[c->rank - 1];
}

static itg_status become_rms(itg_graph *g, itg_id node, itg_id x, itg_id scale, double epsilon,
                             itg_error *err)
{
    itg_status status = ITG_OK;
    if (scale == ITG_NONE) {
        float *one;
        const itg_shape shape = {.rank = 1, .dims = {1}};
        status = itg_new_floats(g, g->nodes[node].name, "scale", &shape, &scale, &one, err);
        if (status == ITG_OK) *one = 1.0f;
    }
    if (status != ITG_OK) return status;
    itg_node *n = itg_become_function(g, node, ITG_OP_RMS_NORMALIZATION, x);
    n->attrs.axis = g->values[x].shape.rank - 1;
    n->attrs.epsilon = (float)epsilon;
    status = itg_graph_set_node_inputs(g, node, (const itg_id[]){x, scale}, 2, err);
    return status == ITG_OK ? itg_expand_node(g, node, itg_expand_rms_normalization, err) : status;
}

/* A scale behind the norm is taken with it: the norm waits for its turn. */
static itg_status find_rms(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    itg_id x, scale = ITG_NONE;
    double epsilon = 0.0;
    const itg_node *n = &g->nodes[node], *norm = n;
    const itg_id user = itg_graph_only_reader(g, n->outputs[0]);
    if (scales_rows(g, n) && g->values[n->inputs[0]].producer != ITG_NONE) {
        norm = &g->nodes[g->values[n->inputs[0]].producer];
        scale = n->inputs[1];
        if (itg_graph_use_count(g, n->inputs[0]) != 1) return ITG_OK;
    } else if (user != ITG_NONE && scales_rows(g, &g->nodes[user])) {
        return ITG_OK;
    }
    if ((norm->op != ITG_OP_MUL && norm->op != ITG_OP_DIV) || !is_rms(g, norm, &x, &epsilon))
        return ITG_OK;
    *changed = true;
    return become_rms(g, node, x, scale, epsilon, err);
}

itg_status itg_pass_written_norm(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    const itg_node *n = &g->nodes[node], *norm = NULL;
    itg_id x = ITG_NONE;
    int64_t axis = 0;
    double epsilon = 0.0;
    if (n->op != ITG_OP_MUL && n->op != ITG_OP_DIV && n->op != ITG_OP_ADD) return ITG_OK;
    if (is_normalized(g, n, &x, &axis, &epsilon)) {
        *changed = true;
        return normalize(g, node, x, axis, epsilon, err);
    }
    if (n->op != ITG_OP_DIV) norm = norm_before(g, n);
    if (!norm) return n->op == ITG_OP_ADD ? ITG_OK : find_rms(g, node, changed, err);
    *changed = true;
    return take_over(g, node, norm, err);
}
