/* Cross-layer equalization (Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization
 * and Bias Correction"), departing from it in that scales are powers of two, so that the float
 * function stays the same in every bit, and in that a channel's range includes its bias.
 *
 * For a pair A -> B, where only activations and pools that commute with a positive factor stand
 * between: channel i of A's output is divided by 2^e and B's weights for it multiplied by 2^e. With
 * r1 = max |w| of A's output channel i, r2 = max |w| of B's input channel i, and x = r1 / r2 in
 * double, e is the integer with 2^(2e-1) <= x < 2^(2e+1): the two maxima come within a factor of
 * two of each other.
 *
 * Weights alone do not tell the range of a channel whose bias exceeds what its weights add: in
 * trained networks many channels have lost their weights and kept their bias. With
 *   u = |b| sum((r1 r2)^2) / sum(|b| r2 r1 r2), sums over the channels,
 * the bias in weights, at the layer's usual ratio of |b| to max |w|, r1 becomes u / 4 where u
 * exceeds 16 r1: then the bias is the range, where it usually is a fourth of it. The sums weigh a
 * channel by what it contributes after equalization: one without weights does not count, and
 * scaling a channel (A's by f, B's by 1/f) does not change its weight.
 *
 * A channel is left alone where r1 or r2 is 0 or not finite, or where a weight or bias would become
 * subnormal or overflow. Pairs are taken once, in graph order. */
#include "channels.h"
#include "passes.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define UNUSUAL_BIAS 16 /* times r1 */
#define BIASES_A_RANGE 4

typedef struct pair {
    itg_graph *g;
    itg_id a, b;
    itg_channels made, read; /* as A makes them; as B reads them */
    double *r1, *r2;         /* [made.count] */
    int32_t *exponent;       /* [made.count]; 0: leave alone */
    double *power;           /* [made.count]: 2^exponent, or 2^-exponent */
} pair;

/* ---- finding B ---- */

/* Whether f(c x) = c f(x) for c > 0, for a node that hands channels on. */
static bool is_homogeneous(const itg_node *n)
{
    return !itg_op_is(n->op, ITG_IS_UNIVARIATE) || n->op == ITG_OP_RELU ||
           n->op == ITG_OP_LEAKY_RELU;
}

/* Follows the only consumers of A's output to B; false: there is no B. */
static bool find_back(pair *p)
{
    const itg_graph *g = p->g;
    itg_id value = g->nodes[p->a].outputs[0];
    p->read = p->made;
    for (;;) {
        itg_id user = itg_graph_only_reader(g, value);
        if (user == ITG_NONE) return false;
        p->b = user;
        if (itg_reads_channels(g, user, value, &p->read)) return true;
        if (!itg_hands_channels_on(g, user, &p->read) || !is_homogeneous(&g->nodes[user]))
            return false;
        value = g->nodes[user].outputs[0];
    }
}

/* ---- exponents ---- */

static void find_maxima_of(const float *weights, int64_t count, itg_channel_walk walk, double *most)
{
    for (int64_t i = 0; i < count; ++i) {
        double w = fabs((double)weights[i]), *r = &most[itg_next_channel(&walk)];
        if (!(w <= *r)) *r = w; /* keeps a NaN */
    }
}

static void find_maxima(pair *p)
{
    const itg_graph *g = p->g;
    itg_id wa = g->nodes[p->a].inputs[1], wb = g->nodes[p->b].inputs[1];
    find_maxima_of(itg_floats(g, wa), itg_value_elements(g, wa), itg_made_walk(g, p->a), p->r1);
    find_maxima_of(itg_floats(g, wb), itg_value_elements(g, wb), itg_read_walk(g, p->b, &p->read),
                   p->r2);
}

/* Extends r1 by the channel's bias, in units of A's weights. */
static void add_biases(pair *p)
{
    const float *bias = itg_bias_floats(p->g, p->a);
    double above = 0, below = 0;
    for (int64_t c = 0; bias && c < p->made.count; ++c) {
        double energy = p->r1[c] * p->r2[c];
        if (!isfinite(energy) || !isfinite(bias[c])) continue;
        above += fabs((double)bias[c]) * p->r2[c] * energy;
        below += energy * energy;
    }
    for (int64_t c = 0; bias && c < p->made.count; ++c) {
        double b = bias[c] == 0 ? 0 : fabs((double)bias[c]) * below / above;
        if (!(b <= p->r1[c] * UNUSUAL_BIAS)) p->r1[c] = b / BIASES_A_RANGE;
    }
}

static int32_t exponent_of(double r1, double r2)
{
    int k;
    if (!(r1 > 0) || !(r2 > 0) || !isfinite(r1) || !isfinite(r2)) return 0;
    frexp(r1 / r2, &k);                     /* 2^(k-1) <= r1/r2 < 2^k */
    return k >= 0 ? k / 2 : -((1 - k) / 2); /* floor(k / 2) */
}

/* Computes the power of two of each channel. A product with it is exact in double. */
static void raise_powers(pair *p, int sign)
{
    for (int64_t c = 0; c < p->made.count; ++c)
        p->power[c] = ldexp(1, sign * p->exponent[c]);
}

/* Sets the exponent of a channel to 0 if a scaled number would not be normal. */
static void check_exact_of(pair *p, const float *numbers, int64_t count, itg_channel_walk walk,
                           int sign)
{
    raise_powers(p, sign);
    for (int64_t i = 0; i < count; ++i) {
        const int64_t c = itg_next_channel(&walk);
        const double scaled = fabs((double)numbers[i]) * p->power[c];
        if (numbers[i] != 0 && !(scaled >= (double)FLT_MIN && scaled <= (double)FLT_MAX))
            p->exponent[c] = 0;
    }
}

static void check_exact(pair *p)
{
    const itg_graph *g = p->g;
    const float *bias = itg_bias_floats(g, p->a);
    itg_id wa = g->nodes[p->a].inputs[1], wb = g->nodes[p->b].inputs[1];
    check_exact_of(p, itg_floats(g, wa), itg_value_elements(g, wa), itg_made_walk(g, p->a), -1);
    if (bias) check_exact_of(p, bias, p->made.count, itg_channel_walk_of(p->made.count, 1), -1);
    check_exact_of(p, itg_floats(g, wb), itg_value_elements(g, wb),
                   itg_read_walk(g, p->b, &p->read), 1);
}

/* ---- scaling ---- */

static itg_status scale_input(pair *p, itg_id node, int32_t slot, itg_channel_walk walk, int sign,
                              itg_error *err)
{
    itg_id id = p->g->nodes[node].inputs[slot];
    int64_t count = itg_value_elements(p->g, id);
    float *numbers;
    itg_status status = itg_change_floats(p->g, node, slot, &numbers, err);
    if (status != ITG_OK) return status;
    raise_powers(p, sign);
    for (int64_t i = 0; i < count; ++i)
        numbers[i] = (float)((double)numbers[i] * p->power[itg_next_channel(&walk)]);
    return ITG_OK;
}

static itg_status equalize(pair *p, bool *changed, itg_error *err)
{
    bool any = false;
    find_maxima(p);
    add_biases(p);
    for (int64_t c = 0; c < p->made.count; ++c)
        p->exponent[c] = exponent_of(p->r1[c], p->r2[c]);
    check_exact(p);
    for (int64_t c = 0; c < p->made.count; ++c)
        any |= p->exponent[c] != 0;
    if (!any) return ITG_OK;
    *changed = true;
    itg_status status = scale_input(p, p->a, 1, itg_made_walk(p->g, p->a), -1, err);
    if (status == ITG_OK && itg_bias_floats(p->g, p->a))
        status = scale_input(p, p->a, 2, itg_channel_walk_of(p->made.count, 1), -1, err);
    if (status == ITG_OK)
        status = scale_input(p, p->b, 1, itg_read_walk(p->g, p->b, &p->read), 1, err);
    return status;
}

itg_status itg_pass_equalize(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    pair p = {.g = g, .a = node};
    if (!itg_makes_channels(g, node, &p.made) || !find_back(&p)) return ITG_OK;
    itg_arena *arena = itg_arena_create(0);
    size_t count = (size_t)p.made.count + 1;
    p.r1 = arena ? itg_arena_array(arena, count, sizeof *p.r1) : NULL;
    p.r2 = arena ? itg_arena_array(arena, count, sizeof *p.r2) : NULL;
    p.exponent = arena ? itg_arena_array(arena, count, sizeof *p.exponent) : NULL;
    p.power = arena ? itg_arena_array(arena, count, sizeof *p.power) : NULL;
    itg_status status = p.r1 && p.r2 && p.exponent && p.power ? equalize(&p, changed, err)
                                                              : itg_graph_no_memory(g, err);
    itg_arena_destroy(arena);
    return status;
}
