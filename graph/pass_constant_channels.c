/* Folds constant channels. Trained and pruned networks have output channels whose weights are zero,
 * or too small to change the bias. Such a channel is a constant, which the bias of the next layer
 * can absorb.
 *
 *   1. Where the sum of |w| of a channel is below |bias| * 2^-57, no input below 2^32 moves the
 *      float32 result away from the bias: the weights become 0.
 *   2. A channel with zero weights equals its bias (or 0). The constant is followed to every user
 *      through univariate operators (evaluated by the float kernels), pools and flattenings.
 *   3. In a node that reads a constant channel, the channel's weights become 0 and the constant
 *      times their sum is added to the bias. Under padding this holds for the constant 0 only,
 *      because the border reads 0; other constants stay.
 *
 * Nodes are visited in graph order: a depthwise Conv that loses a channel's weights passes a
 * constant on in turn. Biases are summed in double and rounded once. pass_unread_channels.c removes
 * the channels that nothing reads any more. */
#include "channels.h"
#include "passes.h"
#include <math.h>
#include <string.h>

#define SWALLOWED 0x1p-57 /* half a unit in the last place of the bias, for inputs below 2^32 */

/* The constant channels of one value. */
typedef struct known {
    itg_id value;
    itg_channels channels;
    const bool *is_constant; /* [channels.count] */
    const float *constant;   /* [channels.count], where is_constant */
} known;

typedef struct follower {
    itg_graph *g;
    itg_eval_fn eval;
    itg_arena *arena;
    known *queue; /* values whose users have not been visited */
    int32_t first, count;
    bool *changed;
    itg_error *err;
} follower;

static itg_status no_memory(const follower *f)
{
    return itg_graph_no_memory(f->g, f->err);
}

/* ---- 1 and 2: a node's own channels ---- */

static void sum_weights(const itg_graph *g, itg_id node, double *sum)
{
    itg_id w = g->nodes[node].inputs[1];
    const float *weights = itg_floats(g, w);
    itg_channel_walk made = itg_made_walk(g, node);
    int64_t count = itg_value_elements(g, w);
    for (int64_t i = 0; i < count; ++i)
        sum[itg_next_channel(&made)] += fabs((double)weights[i]);
}

/* Sets the weights of channels to 0: output channels of the node if read is NULL, else the input
 * channels, which lie as *read tells. */
static itg_status clear_weights(follower *f, itg_id node, const bool *gone,
                                const itg_channels *read)
{
    itg_graph *g = f->g;
    itg_id w = g->nodes[node].inputs[1];
    const itg_shape shape = g->values[w].shape;
    const float *from = itg_floats(g, w);
    int64_t count = itg_value_elements(g, w);
    float *to;
    itg_status status = itg_own_floats(g, node, 1, &shape, &to, f->err);
    if (status != ITG_OK) return status;
    itg_channel_walk channels = read ? itg_read_walk(g, node, read) : itg_made_walk(g, node);
    for (int64_t i = 0; i < count; ++i)
        to[i] = gone[itg_next_channel(&channels)] ? 0.0f : from[i];
    *f->changed = true;
    return ITG_OK;
}

/* Finds the constant channels that a node makes; out->value is ITG_NONE if there are none. */
static itg_status find_constants(follower *f, itg_id node, known *out)
{
    itg_channels made;
    *out = (known){.value = ITG_NONE};
    if (!itg_makes_channels(f->g, node, &made)) return ITG_OK;
    size_t count = (size_t)made.count + 1;
    double *sum = itg_arena_array(f->arena, count, sizeof *sum);
    bool *is_constant = itg_arena_array(f->arena, count, sizeof *is_constant);
    bool *dead = itg_arena_array(f->arena, count, sizeof *dead);
    float *constant = itg_arena_array(f->arena, count, sizeof *constant);
    if (!sum || !is_constant || !dead || !constant) return no_memory(f);
    const float *bias = itg_bias_floats(f->g, node);
    bool any = false, any_dead = false;
    sum_weights(f->g, node, sum);
    for (int64_t c = 0; c < made.count; ++c) {
        constant[c] = bias ? bias[c] : 0.0f;
        dead[c] = sum[c] > 0 && sum[c] < fabs((double)constant[c]) * SWALLOWED;
        is_constant[c] = (sum[c] == 0 || dead[c]) && isfinite(constant[c]);
        any |= is_constant[c];
        any_dead |= dead[c];
    }
    if (any) *out = (known){f->g->nodes[node].outputs[0], made, is_constant, constant};
    return any_dead ? clear_weights(f, node, dead, NULL) : ITG_OK;
}

/* ---- 2: following a constant ---- */

/* Applies a univariate operator to the constants. *is_known is false if it cannot be evaluated. */
static itg_status apply_function(follower *f, itg_id node, known *k, bool *is_known)
{
    const itg_node *n = &f->g->nodes[node];
    float *to = itg_arena_array(f->arena, (size_t)k->channels.count + 1, sizeof *to);
    if (!to) return no_memory(f);
    itg_shape shape = {.rank = 1, .dims = {k->channels.count}};
    itg_tensor x = {ITG_F32, shape, (void *)(uintptr_t)k->constant}, y = {ITG_F32, shape, to};
    itg_error ignored = {0};
    itg_status status =
        f->eval ? f->eval(n->op, &n->attrs, &x, 1, &y, 1, &ignored) : ITG_UNSUPPORTED;
    *is_known = status == ITG_OK;
    k->constant = to;
    return status == ITG_NO_MEMORY ? no_memory(f) : ITG_OK;
}

static bool is_padded(const itg_node *n)
{
    return n->attrs.ceil_mode || n->attrs.pad[0] || n->attrs.pad[1] || n->attrs.pad[2] ||
           n->attrs.pad[3];
}

/* Forgets constants that are not finite and, where zero_only, those that are not 0. */
static itg_status narrow(follower *f, known *k, bool zero_only)
{
    bool *kept = itg_arena_array(f->arena, (size_t)k->channels.count + 1, sizeof *kept);
    if (!kept) return no_memory(f);
    for (int64_t c = 0; c < k->channels.count; ++c)
        kept[c] =
            k->is_constant[c] && isfinite(k->constant[c]) && (!zero_only || k->constant[c] == 0);
    k->is_constant = kept;
    return ITG_OK;
}

static itg_status propagate(follower *f, itg_id node, const known *before)
{
    const itg_node *n = &f->g->nodes[node];
    known k = *before;
    bool is_known = true;
    itg_status status = ITG_OK;
    if (!itg_hands_channels_on(f->g, node, &k.channels)) return ITG_OK;
    if (itg_op_is(n->op, ITG_IS_UNIVARIATE)) status = apply_function(f, node, &k, &is_known);
    bool counts_pads = n->op == ITG_OP_AVERAGE_POOL && n->attrs.count_include_pad && is_padded(n);
    if (status == ITG_OK) status = narrow(f, &k, counts_pads);
    if (status != ITG_OK || !is_known) return status;
    k.value = n->outputs[0];
    f->queue[f->count++] = k;
    return ITG_OK;
}

/* ---- 3: folding ---- */

/* Adds constants times weights to the bias of each output channel, in double. */
static void add_constants(const follower *f, itg_id node, const known *k, double *bias)
{
    const itg_graph *g = f->g;
    itg_id w = g->nodes[node].inputs[1];
    const float *weights = itg_floats(g, w);
    itg_channel_walk read = itg_read_walk(g, node, &k->channels), made = itg_made_walk(g, node);
    int64_t count = itg_value_elements(g, w);
    for (int64_t i = 0; i < count; ++i) {
        int64_t c = itg_next_channel(&read), to = itg_next_channel(&made);
        if (k->is_constant[c]) bias[to] += (double)k->constant[c] * (double)weights[i];
    }
}

static bool has_weights_to_clear(const follower *f, itg_id node, const known *k)
{
    const itg_graph *g = f->g;
    itg_id w = g->nodes[node].inputs[1];
    const float *weights = itg_floats(g, w);
    itg_channel_walk read = itg_read_walk(g, node, &k->channels);
    int64_t count = itg_value_elements(g, w);
    for (int64_t i = 0; i < count; ++i)
        if (k->is_constant[itg_next_channel(&read)] && weights[i] != 0) return true;
    return false;
}

/* Computes the new biases. *differ: one of them changed; *fit: all are finite. */
static itg_status make_bias(follower *f, itg_id node, const known *k, const itg_channels *made,
                            float **out, bool *differ, bool *fit)
{
    double *sum = itg_arena_array(f->arena, (size_t)made->count + 1, sizeof *sum);
    float *bias = itg_arena_array(f->arena, (size_t)made->count + 1, sizeof *bias);
    if (!sum || !bias) return no_memory(f);
    const float *old = itg_bias_floats(f->g, node);
    for (int64_t c = 0; c < made->count; ++c)
        sum[c] = old ? (double)old[c] : 0.0;
    add_constants(f, node, k, sum);
    *differ = false;
    *fit = true;
    for (int64_t c = 0; c < made->count; ++c) {
        bias[c] = (float)sum[c];
        *differ |= bias[c] != (old ? old[c] : 0.0f);
        *fit &= isfinite(bias[c]) != 0;
    }
    *out = bias;
    return ITG_OK;
}

static itg_status fold(follower *f, itg_id node, const known *before)
{
    const itg_node *n = &f->g->nodes[node];
    known k = *before;
    itg_channels made;
    float *bias = NULL, *to;
    bool differ = false, fit = false;
    if (!itg_reads_channels(f->g, node, k.value, &k.channels) ||
        !itg_makes_channels(f->g, node, &made))
        return ITG_OK;
    itg_status status = narrow(f, &k, n->op == ITG_OP_CONV && is_padded(n));
    if (status != ITG_OK || !has_weights_to_clear(f, node, &k)) return status;
    status = make_bias(f, node, &k, &made, &bias, &differ, &fit);
    if (status != ITG_OK || !fit) return status;
    status = clear_weights(f, node, k.is_constant, &k.channels);
    if (status != ITG_OK || !differ) return status;
    status = itg_own_bias(f->g, node, made.count, &to, f->err);
    if (status == ITG_OK) memcpy(to, bias, (size_t)made.count * sizeof *to);
    return status;
}

static itg_status visit_users(follower *f, const known *k)
{
    itg_status status = ITG_OK;
    itg_readers r = itg_readers_of(f->g, k->value);
    while (status == ITG_OK && itg_next_reader(f->g, &r)) {
        if (itg_slot_of(f->g, r.node, k->value) != 0) continue;
        status = fold(f, r.node, k);
        if (status == ITG_OK) status = propagate(f, r.node, k);
    }
    return status;
}

static itg_status follow(follower *f, itg_id node)
{
    known made;
    itg_status status = find_constants(f, node, &made);
    if (status != ITG_OK || made.value == ITG_NONE) return status;
    f->queue = itg_arena_array(f->arena, (size_t)f->g->node_count + 1, sizeof *f->queue);
    if (!f->queue) return no_memory(f);
    f->queue[f->count++] = made;
    while (status == ITG_OK && f->first < f->count)
        status = visit_users(f, &f->queue[f->first++]);
    return status;
}

itg_status itg_pass_constant_channels(itg_graph *g, itg_eval_fn eval, bool *changed, itg_error *err)
{
    itg_status status = ITG_OK;
    for (itg_id n = 0; n < g->node_count && status == ITG_OK; ++n) {
        follower f = {.g = g, .eval = eval, .changed = changed, .err = err};
        f.arena = itg_arena_create(0);
        status = f.arena ? follow(&f, n) : itg_graph_no_memory(g, err);
        itg_arena_destroy(f.arena);
    }
    return status;
}
