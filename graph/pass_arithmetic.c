/* Exact replacements: x / 2^k = x * 2^-k, x - c = x + (-c). They leave fewer operators to the layers behind. */
#include "passes.h"

/* Whether c is a power of two (of either sign) whose reciprocal is a normal float32: both ways then round the same real
 * number once. */
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

itg_status itg_pass_arithmetic(itg_graph *g, bool *changed, itg_error *err)
{
    for (int32_t n = 0; n < g->node_count; ++n) {
        itg_op op = g->nodes[n].op;
        if (op != ITG_OP_DIV && op != ITG_OP_SUB) continue;
        if (g->nodes[n].input_count != 2 || !itg_is_float_constant(g, g->nodes[n].inputs[1])) continue;
        itg_id c = g->nodes[n].inputs[1];
        if (op == ITG_OP_DIV && !divides_exactly(g, c)) continue;
        const float *from = itg_floats(g, c);
        itg_shape shape = g->values[c].shape;
        int64_t count = itg_value_elements(g, c);
        float *to;
        itg_status status = itg_own_floats(g, n, 1, &shape, &to, err);
        if (status != ITG_OK) return status;
        for (int64_t i = 0; i < count; ++i)
            to[i] = op == ITG_OP_DIV ? 1.0f / from[i] : -from[i];
        g->nodes[n].op = op == ITG_OP_DIV ? ITG_OP_MUL : ITG_OP_ADD;
        *changed = true;
    }
    return ITG_OK;
}
