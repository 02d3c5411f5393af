/* x / c = x * (1 / c), x - c = x + (-c), c + x = x + c, x^2 = x * x: fewer forms for later layers.
 * The reciprocal is exact where c is a power of two. itg_pass_division handles other c, after
 * pass_affine.c has divided weights by what it can. */
#include <math.h>
#include "written_out.h"

/* Whether c is a power of two (of either sign) whose reciprocal is a normal float32. x / c and x *
 * (1 / c) are then equal. */
static bool has_exact_reciprocal(float c)
{
    union {
        float f;
        uint32_t u;
    } bits = {.f = c};
    uint32_t exponent = bits.u >> 23 & 0xff;
    return (bits.u & 0x7fffff) == 0 && exponent >= 1 && exponent <= 253;
}

static bool has_reciprocal(float c)
{
    return isnormal(c) && isnormal(1.0f / c);
}

/* Whether the node divides by a constant whose elements all satisfy is_so. */
static bool divides_by(const itg_graph *g, const itg_node *n, bool (*is_so)(float c))
{
    if (n->op != ITG_OP_DIV || n->input_count != 2 || !itg_is_float_constant(g, n->inputs[1]))
        return false;
    const itg_id constant = n->inputs[1];
    const float *c = itg_floats(g, constant);
    int64_t count = itg_value_elements(g, constant);
    for (int64_t i = 0; i < count; ++i)
        if (!is_so(c[i])) return false;
    return true;
}

/* Moves the constant operand of a sum or product to slot 1. */
static bool swap_operands(itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    if (n->op != ITG_OP_ADD && n->op != ITG_OP_MUL) return false;
    if (!itg_graph_is_constant(g, n->inputs[0]) || itg_graph_is_constant(g, n->inputs[1]))
        return false;
    itg_id first = n->inputs[0];
    itg_graph_set_input(g, node, 0, n->inputs[1]);
    itg_graph_set_input(g, node, 1, first);
    return true;
}

static itg_status replace(itg_graph *g, itg_id node, itg_error *err)
{
    bool divides = g->nodes[node].op == ITG_OP_DIV;
    itg_id c = g->nodes[node].inputs[1];
    const float *from = itg_floats(g, c);
    itg_shape shape = g->values[c].shape;
    int64_t count = itg_value_elements(g, c);
    float *to;
    itg_status status = itg_own_floats(g, node, 1, &shape, &to, err);
    if (status != ITG_OK) return status;
    for (int64_t i = 0; i < count; ++i)
        to[i] = divides ? 1.0f / from[i] : -from[i];
    g->nodes[node].op = divides ? ITG_OP_MUL : ITG_OP_ADD;
    return ITG_OK;
}

/* x^2 = x * x, x^0.5 = sqrt(x), x^-1 = 1 / x */
static bool simplify_power(itg_graph *g, itg_id node)
{
    itg_node *n = &g->nodes[node];
    double exponent;
    if (n->op != ITG_OP_POW || g->values[n->inputs[0]].dtype != ITG_F32 ||
        !itg_has_scalar(g, n, &exponent) ||
        g->values[n->outputs[0]].shape.rank != g->values[n->inputs[0]].shape.rank)
        return false;
    if (exponent == 2.0) {
        itg_become(g, node, ITG_OP_MUL);
        itg_graph_set_input(g, node, 1, n->inputs[0]);
        return true;
    }
    if (exponent != 0.5 && exponent != -1.0) return false;
    itg_become(g, node, exponent == 0.5 ? ITG_OP_SQRT : ITG_OP_RECIPROCAL);
    itg_graph_drop_inputs(g, node, 1);
    return true;
}

itg_status itg_pass_arithmetic(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    itg_op op = g->nodes[node].op;
    if (g->nodes[node].input_count != 2) return ITG_OK;
    if (simplify_power(g, node)) {
        *changed = true;
        return ITG_OK;
    }
    *changed |= swap_operands(g, node);
    const itg_node *n = &g->nodes[node];
    const bool subtracts = op == ITG_OP_SUB && itg_is_float_constant(g, n->inputs[1]);
    if (!subtracts && !divides_by(g, n, has_exact_reciprocal)) return ITG_OK;
    *changed = true;
    return replace(g, node, err);
}

itg_status itg_pass_division(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    if (!divides_by(g, &g->nodes[node], has_reciprocal)) return ITG_OK;
    *changed = true;
    return replace(g, node, err);
}
