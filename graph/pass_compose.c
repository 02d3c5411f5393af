/* LayerNormalization and Gelu, which exporters write as several nodes, become one node again:
 *   d = x - mean(x);  d / sqrt(mean(d^2) + epsilon) [* scale] [+ bias]
 *   x * 0.5 * (1 + erf(x / sqrt(2))), in any order of the factors
 * Integers compute each as a whole, and more exactly than its parts. */
#include "passes.h"
#include <math.h>

/* The node that makes a value, if it is of this operator; else NULL. */
static const itg_node *made_by(const itg_graph *g, itg_id value, itg_op op)
{
    const itg_id n = value == ITG_NONE ? ITG_NONE : g->values[value].producer;
    return n != ITG_NONE && g->nodes[n].op == op ? &g->nodes[n] : NULL;
}

static bool is_scalar(const itg_graph *g, itg_id value, double *out)
{
    if (value == ITG_NONE || !itg_is_float_constant(g, value) || itg_value_elements(g, value) != 1)
        return false;
    *out = (double)itg_floats(g, value)[0];
    return true;
}

/* The operand of `n` that is no scalar constant, and that constant; ITG_NONE: none is. */
static itg_id beside_scalar(const itg_graph *g, const itg_node *n, double *scalar)
{
    for (int32_t i = 0; i < 2; ++i)
        if (is_scalar(g, n->inputs[i], scalar)) return n->inputs[1 - i];
    return ITG_NONE;
}

/* ---- LayerNormalization ---- */

typedef struct layer_norm {
    itg_id x, scale, bias;
    int64_t axis;
    double epsilon;
} layer_norm;

/* A mean over the last dimensions, which stay as 1; the first of them, or -1. */
static int64_t mean_axis(const itg_graph *g, const itg_node *n)
{
    const int32_t rank = g->values[n->inputs[0]].shape.rank;
    int64_t first = rank;
    bool reduced[ITG_MAX_RANK] = {false};
    for (int32_t i = 0; i < n->attrs.axes_count; ++i)
        reduced[n->attrs.axes[i]] = true;
    while (first > 0 && reduced[first - 1])
        first--;
    return n->attrs.keepdims && rank - first == n->attrs.axes_count && first < rank ? first : -1;
}

static bool is_square_of(const itg_graph *g, itg_id value, itg_id d)
{
    double exponent = 0;
    const itg_node *power = made_by(g, value, ITG_OP_POW), *product = made_by(g, value, ITG_OP_MUL);
    if (product) return product->inputs[0] == d && product->inputs[1] == d;
    return power && power->inputs[0] == d && is_scalar(g, power->inputs[1], &exponent) &&
           exponent == 2;
}

/* The value is sqrt(mean(d^2) + epsilon). */
static bool is_deviation(const itg_graph *g, itg_id value, itg_id d, layer_norm *out)
{
    const itg_node *root = made_by(g, value, ITG_OP_SQRT);
    const itg_node *sum = root ? made_by(g, root->inputs[0], ITG_OP_ADD) : NULL;
    const itg_id variance = sum ? beside_scalar(g, sum, &out->epsilon) : ITG_NONE;
    const itg_node *mean = made_by(g, variance, ITG_OP_REDUCE_MEAN);
    return mean && mean_axis(g, mean) == out->axis && is_square_of(g, mean->inputs[0], d);
}

static bool find_layer_norm(const itg_graph *g, const itg_node *n, layer_norm *out)
{
    const itg_node *d = n->op == ITG_OP_DIV ? made_by(g, n->inputs[0], ITG_OP_SUB) : NULL;
    const itg_node *mean = d ? made_by(g, d->inputs[1], ITG_OP_REDUCE_MEAN) : NULL;
    if (!mean || mean->inputs[0] != d->inputs[0]) return false;
    *out = (layer_norm){.x = d->inputs[0], .scale = ITG_NONE, .bias = ITG_NONE};
    out->axis = mean_axis(g, mean);
    return out->axis >= 0 && is_deviation(g, n->inputs[1], n->inputs[0], out);
}

/* The constant that the only consumer of the node's output multiplies or adds, if it broadcasts to
 * a row; the node becomes that consumer. */
static itg_id take_parameter(const itg_graph *g, itg_op op, const layer_norm *m, itg_id *node)
{
    const itg_id y = g->nodes[*node].outputs[0], next = itg_only_consumer(g, y);
    if (next == ITG_NONE || g->nodes[next].op != op) return ITG_NONE;
    const itg_id *in = g->nodes[next].inputs, parameter = in[0] == y ? in[1] : in[0];
    if (!itg_is_float_constant(g, parameter)) return ITG_NONE;
    const itg_shape *x = &g->values[m->x].shape, *p = &g->values[parameter].shape;
    if (p->rank > x->rank - m->axis) return ITG_NONE;
    for (int32_t i = 1; i <= p->rank; ++i)
        if (p->dims[p->rank - i] != 1 && p->dims[p->rank - i] != x->dims[x->rank - i])
            return ITG_NONE;
    *node = next;
    return parameter;
}

static itg_status write_layer_norm(itg_graph *g, itg_id node, layer_norm m, itg_error *err)
{
    m.scale = take_parameter(g, ITG_OP_MUL, &m, &node);
    m.bias = take_parameter(g, ITG_OP_ADD, &m, &node);
    if (m.scale == ITG_NONE) {
        const itg_shape one = {.rank = 1, .dims = {1}};
        float *data;
        itg_status status =
            itg_new_floats(g, g->nodes[node].name, "scale", &one, &m.scale, &data, err);
        if (status != ITG_OK) return status;
        data[0] = 1;
    }
    itg_id *inputs = itg_arena_array(g->arena, 3, sizeof *inputs);
    if (!inputs) return itg_graph_no_memory(g, err);
    itg_node *n = itg_become(g, node, ITG_OP_LAYER_NORMALIZATION);
    n->attrs.axis = m.axis;
    n->attrs.epsilon = (float)m.epsilon;
    n->inputs = inputs;
    n->input_count = m.bias == ITG_NONE ? 2 : 3;
    inputs[0] = m.x;
    inputs[1] = m.scale;
    inputs[2] = m.bias;
    return ITG_OK;
}

/* ---- Gelu ---- */

static bool is_near(double value, double expected)
{
    return fabs(value - expected) <= 1e-5 * expected;
}

/* u = x / sqrt(2), with an x that is `x`. */
static bool is_over_root_two(const itg_graph *g, itg_id u, itg_id x)
{
    const itg_node *quotient = made_by(g, u, ITG_OP_DIV), *product = made_by(g, u, ITG_OP_MUL);
    double c = 0;
    if (quotient)
        return quotient->inputs[0] == x && is_scalar(g, quotient->inputs[1], &c) &&
               is_near(c, 0x1.6a09e667f3bcdp+0);
    return product && beside_scalar(g, product, &c) == x && is_near(c, 0x1.6a09e667f3bcdp-1);
}

/* 1 + erf(x / sqrt(2)) */
static bool is_share(const itg_graph *g, itg_id value, itg_id x)
{
    const itg_node *sum = made_by(g, value, ITG_OP_ADD);
    double one = 0;
    const itg_id term = sum ? beside_scalar(g, sum, &one) : ITG_NONE;
    const itg_node *erf = made_by(g, term, ITG_OP_ERF);
    return erf && one == 1 && is_over_root_two(g, erf->inputs[0], x);
}

/* x of x * 0.5 * (1 + erf(x / sqrt(2))); ITG_NONE: it is none. */
static itg_id find_gelu(const itg_graph *g, const itg_node *n)
{
    for (int32_t side = 0; side < 2 && n->op == ITG_OP_MUL; ++side) {
        const itg_node *inner = made_by(g, n->inputs[side], ITG_OP_MUL);
        if (!inner) continue;
        const itg_id factors[3] = {n->inputs[1 - side], inner->inputs[0], inner->inputs[1]};
        for (int32_t i = 0; i < 9; ++i) {
            const int32_t x = i / 3, half = i % 3;
            double c = 0;
            if (x != half && is_scalar(g, factors[half], &c) && c == 0.5 &&
                is_share(g, factors[3 - x - half], factors[x]))
                return factors[x];
        }
    }
    return ITG_NONE;
}

static bool has_shape_of(const itg_graph *g, itg_id a, itg_id b)
{
    return itg_shape_equal(&g->values[a].shape, &g->values[b].shape);
}

itg_status itg_pass_compose(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    itg_node *n = &g->nodes[node];
    layer_norm found;
    if (n->input_count != 2) return ITG_OK;
    if (find_layer_norm(g, n, &found)) {
        *changed = true;
        return write_layer_norm(g, node, found, err);
    }
    const itg_id x = find_gelu(g, n);
    if (x == ITG_NONE || !has_shape_of(g, x, n->outputs[0])) return ITG_OK;
    *changed = true;
    n = itg_become(g, node, ITG_OP_GELU);
    n->inputs[0] = x;
    n->input_count = 1;
    return ITG_OK;
}
