/* Folds affine nodes behind a Conv, Gemm or MatMul with constant weights into weights and bias:
 * BatchNormalization, and Mul, Add, Sub and Div by constants with one number an output channel;
 * also Gemm's alpha and beta. The whole chain is composed in double, y = s * (w x) + t, and each
 * new weight and bias is rounded to float32 once. BatchNormalization: k = gamma / sqrt(variance +
 * epsilon), s = s * k, t = (t - mean) * k + beta. */
#include "channels.h"
#include "passes.h"
#include <math.h>
#include <string.h>

typedef struct chain {
    itg_graph *g;
    itg_id node; /* Conv, Gemm or MatMul */
    itg_id last; /* the output of the last node of the chain */
    int64_t channels;
    double *s, *t; /* [channels] */
    bool scaled, shifted;
} chain;

/* ---- the start of a chain ---- */

/* The axis of the weights along which the output channels run. */
static int32_t channel_axis(const itg_node *n)
{
    if (n->op == ITG_OP_CONV) return 0;
    return n->op == ITG_OP_GEMM && n->attrs.trans_b ? 0 : 1;
}

static bool has_channel_weights(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    if (!itg_op_is(n->op, ITG_IS_MAC)) return false;
    if (n->input_count < 2 || !itg_is_float_constant(g, n->inputs[1]) || n->outputs[0] == ITG_NONE)
        return false;
    return n->op == ITG_OP_CONV || g->values[n->inputs[1]].shape.rank == 2;
}

/* Whether a constant broadcasts to a value with one number a channel, or one number in all. */
static bool is_per_channel(const itg_graph *g, itg_id constant, const itg_shape *y, int32_t axis)
{
    const itg_shape *c = &g->values[constant].shape;
    if (!itg_is_float_constant(g, constant) || c->rank > y->rank) return false;
    itg_shape aligned = itg_align_shape(c, y->rank);
    for (int32_t i = 0; i < y->rank; ++i)
        if (aligned.dims[i] != 1 && (i != axis || aligned.dims[i] != y->dims[i])) return false;
    return true;
}

static float at_channel(const itg_graph *g, itg_id constant, int64_t channel)
{
    return itg_floats(g, constant)[itg_value_elements(g, constant) == 1 ? 0 : channel];
}

/* Starts with y = alpha * (w x) + beta * bias. False: the bias is not one number per channel. */
static bool start(chain *c)
{
    const itg_graph *g = c->g;
    const itg_node *n = &g->nodes[c->node];
    double alpha = n->op == ITG_OP_GEMM ? (double)n->attrs.alpha : 1.0;
    double beta = n->op == ITG_OP_GEMM ? (double)n->attrs.beta : 1.0;
    itg_id bias = n->input_count > 2 ? n->inputs[2] : ITG_NONE;
    itg_shape y = g->values[n->outputs[0]].shape, flat = {.rank = 1, .dims = {c->channels}};
    if (bias != ITG_NONE) {
        bool fits = n->op == ITG_OP_GEMM ? is_per_channel(g, bias, &y, 1)
                                         : is_per_channel(g, bias, &flat, 0);
        if (!fits) return false;
        c->shifted = beta != 1.0 || g->values[bias].shape.rank != 1 ||
                     itg_value_elements(g, bias) != c->channels;
    }
    c->scaled = alpha != 1.0;
    c->last = n->outputs[0];
    for (int64_t i = 0; i < c->channels; ++i) {
        c->s[i] = alpha;
        c->t[i] = bias == ITG_NONE ? 0.0 : beta * (double)at_channel(g, bias, i);
    }
    return true;
}

/* ---- the affine nodes behind it ---- */

static void add_norm(chain *c, const itg_node *n)
{
    const itg_graph *g = c->g;
    for (int64_t i = 0; i < c->channels; ++i) {
        double variance = (double)itg_floats(g, n->inputs[4])[i];
        double k =
            (double)itg_floats(g, n->inputs[1])[i] / sqrt(variance + (double)n->attrs.epsilon);
        double mean = (double)itg_floats(g, n->inputs[3])[i];
        c->s[i] *= k;
        c->t[i] = (c->t[i] - mean) * k + (double)itg_floats(g, n->inputs[2])[i];
    }
    c->scaled = c->shifted = true;
}

static void add_binary(chain *c, const itg_node *n, int32_t slot)
{
    itg_id constant = n->inputs[1 - slot];
    for (int64_t i = 0; i < c->channels; ++i) {
        double k = (double)at_channel(c->g, constant, i);
        switch (n->op) {
        case ITG_OP_MUL:
            c->s[i] *= k, c->t[i] *= k;
            break;
        case ITG_OP_DIV:
            c->s[i] /= k, c->t[i] /= k;
            break;
        case ITG_OP_ADD:
            c->t[i] += k;
            break;
        default: /* Sub: x - k, or k - x */
            c->s[i] = slot == 0 ? c->s[i] : -c->s[i];
            c->t[i] = slot == 0 ? c->t[i] - k : k - c->t[i];
            break;
        }
    }
    c->scaled |= n->op == ITG_OP_MUL || n->op == ITG_OP_DIV || slot == 1;
    c->shifted = true;
}

/* Adds the only consumer of the chain's end to the chain. False: it is not an affine map per
 * channel. */
static bool extend(chain *c)
{
    const itg_graph *g = c->g;
    itg_id user = itg_graph_only_reader(g, c->last);
    if (user == ITG_NONE) return false;
    const itg_node *n = &g->nodes[user];
    const itg_shape *y = &g->values[c->last].shape;
    int32_t axis = g->nodes[c->node].op == ITG_OP_CONV ? 1 : y->rank - 1;
    int32_t slot = itg_slot_of(g, user, c->last);
    if (n->op == ITG_OP_BATCH_NORMALIZATION) {
        if (slot != 0 || n->attrs.axis != axis) return false;
        for (int32_t i = 1; i < 5; ++i)
            if (!itg_is_float_constant(g, n->inputs[i])) return false;
        add_norm(c, n);
    } else if (n->op == ITG_OP_ADD || n->op == ITG_OP_SUB || n->op == ITG_OP_MUL ||
               n->op == ITG_OP_DIV) {
        if (n->op == ITG_OP_DIV && slot != 0) return false;
        if (!is_per_channel(g, n->inputs[1 - slot], y, axis)) return false;
        add_binary(c, n, slot);
    } else {
        return false;
    }
    c->last = n->outputs[0];
    return true;
}

/* ---- folding the chain ---- */

/* Returns the channel of element i of the weights. */
static int64_t channel_of(const chain *c, const itg_shape *w, int32_t axis, int64_t i)
{
    int64_t inner = 1;
    for (int32_t d = axis + 1; d < w->rank; ++d)
        inner *= w->dims[d];
    return i / inner % c->channels;
}

/* Whether all new numbers are finite; else the model itself shall show the overflow. */
static bool is_finite_result(const chain *c)
{
    const itg_graph *g = c->g;
    const itg_node *n = &g->nodes[c->node];
    const float *w = itg_floats(g, n->inputs[1]);
    const itg_shape *shape = &g->values[n->inputs[1]].shape;
    int64_t count = itg_value_elements(g, n->inputs[1]);
    for (int64_t i = 0; i < c->channels; ++i)
        if (!isfinite((float)c->t[i]) || !isfinite(c->s[i])) return false;
    for (int64_t i = 0; i < count; ++i)
        if (!isfinite((float)((double)w[i] * c->s[channel_of(c, shape, channel_axis(n), i)])))
            return false;
    return true;
}

static itg_status write_weights(chain *c, itg_error *err)
{
    itg_graph *g = c->g;
    itg_id weights = g->nodes[c->node].inputs[1];
    itg_shape shape = g->values[weights].shape;
    int64_t count = itg_value_elements(g, weights);
    int32_t axis = channel_axis(&g->nodes[c->node]);
    float *numbers;
    itg_status status = itg_change_floats(g, c->node, 1, &numbers, err);
    if (status != ITG_OK) return status;
    for (int64_t i = 0; i < count; ++i)
        numbers[i] = (float)((double)numbers[i] * c->s[channel_of(c, &shape, axis, i)]);
    return ITG_OK;
}

static itg_status write_bias(chain *c, itg_error *err)
{
    float *to;
    itg_status status = itg_own_bias(c->g, c->node, c->channels, &to, err);
    for (int64_t i = 0; i < c->channels && status == ITG_OK; ++i)
        to[i] = (float)c->t[i];
    return status;
}

static itg_status apply(chain *c, itg_error *err)
{
    itg_graph *g = c->g;
    itg_status status = c->scaled ? write_weights(c, err) : ITG_OK;
    if (status == ITG_OK && (c->shifted || (c->scaled && g->nodes[c->node].input_count > 2)))
        status = write_bias(c, err);
    if (status != ITG_OK) return status;
    if (g->nodes[c->node].op == ITG_OP_GEMM)
        g->nodes[c->node].attrs.alpha = g->nodes[c->node].attrs.beta = 1.0f;
    while (g->nodes[c->node].outputs[0] != c->last) { /* the folded nodes, first to last */
        itg_id link = itg_graph_only_reader(g, g->nodes[c->node].outputs[0]);
        itg_id out = g->nodes[link].outputs[0];
        itg_kill_node(g, link);
        itg_take_output(g, c->node, out);
    }
    return ITG_OK;
}

static itg_status fold_into(itg_graph *g, itg_id node, itg_arena *arena, bool *changed,
                            itg_error *err)
{
    const itg_node *n = &g->nodes[node];
    chain c = {.g = g, .node = node};
    c.channels = g->values[n->inputs[1]].shape.dims[channel_axis(n)];
    c.s = itg_arena_array(arena, (size_t)c.channels + 1, sizeof *c.s);
    c.t = itg_arena_array(arena, (size_t)c.channels + 1, sizeof *c.t);
    if (!c.s || !c.t) return itg_graph_no_memory(g, err);
    if (!start(&c)) return ITG_OK;
    while (extend(&c)) {
    }
    if ((!c.scaled && !c.shifted) || !is_finite_result(&c)) return ITG_OK;
    *changed = true;
    return apply(&c, err);
}

itg_status itg_pass_affine(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    if (!has_channel_weights(g, node)) return ITG_OK;
    itg_arena *arena = itg_arena_create(0);
    itg_status status =
        arena ? fold_into(g, node, arena, changed, err) : itg_graph_no_memory(g, err);
    itg_arena_destroy(arena);
    return status;
}
