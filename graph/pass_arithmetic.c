/* Exact replacements: x / 2^k = x * 2^-k, x - c = x + (-c), c + x = x + c. Later layers then have
 * fewer forms to handle. At last x / c = x * fl(1/c), because no target divides integers. */
#include "passes.h"

/* Whether c is a power of two (of either sign) whose reciprocal is a normal float32: both ways then
 * round the same real number once. */
static bool has_exact_reciprocal(float c)
{
    union {
        float f;
        uint32_t u;
    } bits = {.f = c};
    uint32_t exponent = bits.u >> 23 & 0xff;
    return (bits.u & 0x7fffff) == 0 && exponent >= 1 && exponent <= 253;
}

static bool divides_exactly(const itg_graph *g, itg_id constant)
{
    const float *c = itg_floats(g, constant);
    int64_t count = itg_value_elements(g, constant);
    for (int64_t i = 0; i < count; ++i)
        if (!has_exact_reciprocal(c[i])) return false;
    return true;
}

/* The constant operand of a sum or product stands second. */
static bool swap_operands(itg_graph *g, itg_node *n)
{
    if (n->op != ITG_OP_ADD && n->op != ITG_OP_MUL) return false;
    if (!itg_graph_is_constant(g, n->inputs[0]) || itg_graph_is_constant(g, n->inputs[1]))
        return false;
    itg_id first = n->inputs[0];
    n->inputs[0] = n->inputs[1];
    n->inputs[1] = first;
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

itg_status itg_pass_arithmetic(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    itg_op op = g->nodes[node].op;
    if (g->nodes[node].input_count != 2) return ITG_OK;
    *changed |= swap_operands(g, &g->nodes[node]);
    itg_id c = g->nodes[node].inputs[1];
    if ((op != ITG_OP_DIV && op != ITG_OP_SUB) || !itg_is_float_constant(g, c)) return ITG_OK;
    if (op == ITG_OP_DIV && !divides_exactly(g, c)) return ITG_OK;
    *changed = true;
    return replace(g, node, err);
}

/* Whether each element's reciprocal is a normal float32. */
static bool has_reciprocals(const itg_graph *g, itg_id constant)
{
    const float *c = itg_floats(g, constant);
    const int64_t count = itg_value_elements(g, constant);
    for (int64_t i = 0; i < count; ++i) {
        const float size = c[i] < 0 ? -c[i] : c[i];
        if (!(size >= 0x1p-126f && size <= 0x1p126f)) return false;
    }
    return true;
}

itg_status itg_pass_division(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    const itg_node *n = &g->nodes[node];
    if (n->op != ITG_OP_DIV || n->input_count != 2 || !itg_is_float_constant(g, n->inputs[1]) ||
        itg_is_float_constant(g, n->inputs[0]) || !has_reciprocals(g, n->inputs[1]))
        return ITG_OK;
    *changed = true;
    return replace(g, node, err);
}
