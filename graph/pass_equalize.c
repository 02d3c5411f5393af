/* Cross-layer equalization (Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization
 * and Bias Correction"), departing from it in that scales are powers of two: the float function
 * stays the same in every bit.
 *
 * For a pair A -> B, where only activations and pools that commute with a positive factor stand
 * between: channel i of A's output is divided by 2^e and B's weights for it multiplied by 2^e. With
 * r1 = max |w| of A's output channel i, r2 = max |w| of B's input channel i, and x = r1 / r2 in
 * double, e is the integer with 2^(2e-1) <= x < 2^(2e+1): the two maxima come within a factor of
 * two of each other. A channel is left alone where r1 or r2 is 0, or where a weight or bias would
 * become subnormal or overflow. Pairs are taken once, in graph order. */
#include "passes.h"
#include <float.h>
#include <math.h>
#include <string.h>

typedef struct pair {
    itg_graph *g;
    itg_id a, b;
    int64_t channels;
    int64_t block;     /* B's inputs a channel: more than 1 behind a flattening */
    double *r1, *r2;   /* [channels] */
    int32_t *exponent; /* [channels]; 0: leave alone */
} pair;

/* ---- finding B ---- */

static bool has_constant_weights(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    if (n->input_count < 2 || !itg_is_float_constant(g, n->inputs[1])) return false;
    int32_t rank = g->values[n->inputs[1]].shape.rank;
    switch (n->op) {
    case ITG_OP_CONV:
        return true;
    case ITG_OP_GEMM:
        return rank == 2 && n->attrs.trans_b && !n->attrs.trans_a;
    case ITG_OP_MATMUL:
        return rank == 2;
    default:
        return false;
    }
}

static bool is_front(const itg_graph *g, itg_id node, int64_t *channels)
{
    const itg_node *n = &g->nodes[node];
    if (!has_constant_weights(g, node)) return false;
    *channels = g->values[n->inputs[1]].shape.dims[n->op == ITG_OP_MATMUL ? 1 : 0];
    if (n->input_count < 3 || n->inputs[2] == ITG_NONE) return true;
    return itg_is_float_constant(g, n->inputs[2]) && g->values[n->inputs[2]].shape.rank == 1 &&
           itg_value_elements(g, n->inputs[2]) == *channels;
}

/* [N,C,...] to [N,C*...]: the channels stay together. */
static bool is_flattening(const itg_shape *x, const itg_shape *y)
{
    return x->rank >= 3 && y->rank == 2 && x->dims[0] == y->dims[0];
}

/* Whether a node hands a positive factor of a channel on; *block follows. */
static bool passes_factor(const itg_graph *g, itg_id node, bool is_image, int64_t *block)
{
    const itg_node *n = &g->nodes[node];
    const itg_shape *x = &g->values[n->inputs[0]].shape, *y = &g->values[n->outputs[0]].shape;
    switch (n->op) {
    case ITG_OP_RELU:
    case ITG_OP_LEAKY_RELU:
        return true;
    case ITG_OP_MAX_POOL:
    case ITG_OP_AVERAGE_POOL:
    case ITG_OP_GLOBAL_AVERAGE_POOL:
    case ITG_OP_GLOBAL_MAX_POOL:
        return is_image && n->output_count == 1;
    case ITG_OP_RESHAPE:
        if (!is_image || !is_flattening(x, y)) return false;
        *block = y->dims[1] / x->dims[1];
        return true;
    default:
        return false;
    }
}

/* Whether node is a B for a value with these channels. */
static bool is_back(const pair *p, itg_id node, itg_id value, bool is_image)
{
    const itg_node *n = &p->g->nodes[node];
    if (!has_constant_weights(p->g, node) || n->inputs[0] != value) return false;
    const itg_shape *w = &p->g->values[n->inputs[1]].shape;
    switch (n->op) {
    case ITG_OP_CONV:
        return is_image && (n->attrs.group == 1 || n->attrs.group == p->channels);
    case ITG_OP_GEMM:
        return !is_image && w->dims[1] == p->channels * p->block;
    default:
        return !is_image && p->block == 1 && w->dims[0] == p->channels;
    }
}

/* Follows the only consumers of A's output; false: they lead to no B. */
static bool find_back(pair *p)
{
    const itg_graph *g = p->g;
    itg_id value = g->nodes[p->a].outputs[0];
    bool is_image = g->nodes[p->a].op == ITG_OP_CONV;
    p->block = 1;
    for (;;) {
        itg_id user = itg_only_consumer(g, value);
        if (user == ITG_NONE) return false;
        p->b = user;
        if (is_back(p, user, value, is_image)) return true;
        if (!passes_factor(g, user, is_image, &p->block)) return false;
        if (g->nodes[user].op == ITG_OP_RESHAPE) is_image = false;
        value = g->nodes[user].outputs[0];
    }
}

/* ---- channels of weights ---- */

/* Output channel of A's i-th weight. */
static int64_t front_channel(const pair *p, int64_t i)
{
    int64_t count = itg_value_elements(p->g, p->g->nodes[p->a].inputs[1]);
    return p->g->nodes[p->a].op == ITG_OP_MATMUL ? i % p->channels : i / (count / p->channels);
}

/* Input channel, as A numbers it, of B's i-th weight. */
static int64_t back_channel(const pair *p, int64_t i)
{
    const itg_node *n = &p->g->nodes[p->b];
    const itg_shape *w = &p->g->values[n->inputs[1]].shape;
    int64_t count = itg_value_elements(p->g, n->inputs[1]);
    if (n->op == ITG_OP_GEMM) return i % w->dims[1] / p->block;
    if (n->op == ITG_OP_MATMUL) return i / w->dims[1];
    int64_t outer = n->attrs.group == 1 ? w->dims[0] : 1;
    return i / (count / outer / p->channels) % p->channels;
}

/* ---- exponents ---- */

static void find_maxima(pair *p)
{
    const itg_graph *g = p->g;
    itg_id wa = g->nodes[p->a].inputs[1], wb = g->nodes[p->b].inputs[1];
    int64_t count = itg_value_elements(g, wa);
    for (int64_t i = 0; i < count; ++i) {
        double w = fabs((double)itg_floats(g, wa)[i]), *r = &p->r1[front_channel(p, i)];
        if (!(w <= *r)) *r = w; /* a NaN stays */
    }
    count = itg_value_elements(g, wb);
    for (int64_t i = 0; i < count; ++i) {
        double w = fabs((double)itg_floats(g, wb)[i]), *r = &p->r2[back_channel(p, i)];
        if (!(w <= *r)) *r = w;
    }
}

static int32_t exponent_of(double r1, double r2)
{
    int k;
    if (!(r1 > 0) || !(r2 > 0) || !isfinite(r1) || !isfinite(r2)) return 0;
    frexp(r1 / r2, &k);                     /* 2^(k-1) <= r1/r2 < 2^k */
    return k >= 0 ? k / 2 : -((1 - k) / 2); /* floor(k / 2) */
}

static bool scales_exactly(float w, int32_t exponent)
{
    double scaled = fabs(ldexp((double)w, exponent));
    return w == 0 || (scaled >= (double)FLT_MIN && scaled <= (double)FLT_MAX);
}

/* Gives up the channels in which a number would not stay normal. */
static void check_exact(pair *p)
{
    const itg_graph *g = p->g;
    const itg_node *a = &g->nodes[p->a];
    itg_id wb = g->nodes[p->b].inputs[1];
    int64_t count = itg_value_elements(g, a->inputs[1]);
    for (int64_t i = 0; i < count; ++i) {
        int32_t *e = &p->exponent[front_channel(p, i)];
        if (!scales_exactly(itg_floats(g, a->inputs[1])[i], -*e)) *e = 0;
    }
    if (a->input_count > 2 && a->inputs[2] != ITG_NONE)
        for (int64_t c = 0; c < p->channels; ++c)
            if (!scales_exactly(itg_floats(g, a->inputs[2])[c], -p->exponent[c]))
                p->exponent[c] = 0;
    count = itg_value_elements(g, wb);
    for (int64_t i = 0; i < count; ++i) {
        int32_t *e = &p->exponent[back_channel(p, i)];
        if (!scales_exactly(itg_floats(g, wb)[i], *e)) *e = 0;
    }
}

/* ---- scaling ---- */

typedef int64_t (*channel_fn)(const pair *p, int64_t i);

static int64_t bias_channel(const pair *p, int64_t i)
{
    (void)p;
    return i;
}

static itg_status scale_input(pair *p, itg_id node, int32_t slot, channel_fn channel, int sign,
                              itg_error *err)
{
    itg_id id = p->g->nodes[node].inputs[slot];
    itg_shape shape = p->g->values[id].shape;
    const float *from = itg_floats(p->g, id);
    int64_t count = itg_value_elements(p->g, id);
    float *to;
    itg_status status = itg_own_floats(p->g, node, slot, &shape, &to, err);
    if (status != ITG_OK) return status;
    for (int64_t i = 0; i < count; ++i)
        to[i] = (float)ldexp((double)from[i], sign * p->exponent[channel(p, i)]);
    return ITG_OK;
}

static itg_status equalize(pair *p, bool *changed, itg_error *err)
{
    bool any = false;
    find_maxima(p);
    for (int64_t c = 0; c < p->channels; ++c)
        p->exponent[c] = exponent_of(p->r1[c], p->r2[c]);
    check_exact(p);
    for (int64_t c = 0; c < p->channels; ++c)
        any |= p->exponent[c] != 0;
    if (!any) return ITG_OK;
    *changed = true;
    itg_status status = scale_input(p, p->a, 1, front_channel, -1, err);
    const itg_node *a = &p->g->nodes[p->a];
    if (status == ITG_OK && a->input_count > 2 && a->inputs[2] != ITG_NONE)
        status = scale_input(p, p->a, 2, bias_channel, -1, err);
    if (status == ITG_OK) status = scale_input(p, p->b, 1, back_channel, 1, err);
    return status;
}

itg_status itg_pass_equalize(itg_graph *g, bool *changed, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < g->node_count && status == ITG_OK; ++i) {
        pair p = {.g = g, .a = i};
        if (!is_front(g, i, &p.channels) || !find_back(&p)) continue;
        itg_arena *arena = itg_arena_create(0);
        size_t count = (size_t)p.channels + 1;
        p.r1 = arena ? itg_arena_array(arena, count, sizeof *p.r1) : NULL;
        p.r2 = arena ? itg_arena_array(arena, count, sizeof *p.r2) : NULL;
        p.exponent = arena ? itg_arena_array(arena, count, sizeof *p.exponent) : NULL;
        status =
            p.r1 && p.r2 && p.exponent ? equalize(&p, changed, err) : itg_graph_no_memory(g, err);
        itg_arena_destroy(arena);
    }
    return status;
}
