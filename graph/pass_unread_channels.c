/* Removes channels that nothing reads. The channels of a Conv with group 1, a Gemm or a MatMul are
 * followed to all users, through nodes that pass them on and depthwise Convs, to the nodes whose
 * weights read them. A channel whose weights are 0 in all readers changes no result. It is removed
 * from the node that makes it, the depthwise Convs, the readers and all values between. At least
 * one channel stays. All channels stay if another kind of node uses a value (an Add, a Concat, a
 * graph output...). The last nodes are visited first, because removing a channel can leave earlier
 * channels unread. */
#include "channels.h"
#include "passes.h"

typedef enum touch_kind { HANDS_ON, DEPTHWISE, READER } touch_kind;

typedef struct touch {
    itg_id node;
    touch_kind kind;
    itg_channels channels, behind; /* of the values that the node reads and makes */
} touch;

typedef struct walk {
    itg_graph *g;
    itg_arena *arena;
    itg_id first;      /* the node that makes the channels */
    itg_channels made; /* by it */
    touch *touched;    /* a user before the users of its outputs */
    int32_t count;
    bool *is_read; /* [made.count] */
    itg_error *err;
} walk;

/* ---- who reads what ---- */

/* Tells what a node does with the channels of `value`. False: it may read all of them. */
static bool classify(const itg_graph *g, itg_id node, itg_id value, touch *t)
{
    itg_channels made;
    t->behind = t->channels;
    t->kind = HANDS_ON;
    if (itg_hands_channels_on(g, node, &t->behind)) return true;
    if (!itg_reads_channels(g, node, value, &t->channels) || !itg_makes_channels(g, node, &made))
        return false;
    t->kind = itg_is_depthwise(g, node, &t->channels) ? DEPTHWISE : READER;
    t->behind.block = made.count / t->behind.count;
    return true;
}

/* Adds the users of a value; false: one of them may read all channels. */
static bool add_users(walk *w, itg_id value, const itg_channels *channels)
{
    const itg_graph *g = w->g;
    if (itg_graph_is_output(g, value)) return false;
    for (itg_readers r = itg_readers_of(g, value); itg_next_reader(g, &r);) {
        touch t = {.node = r.node, .channels = *channels};
        if (!classify(g, r.node, value, &t)) return false;
        w->touched[w->count++] = t;
    }
    return true;
}

static bool find_users(walk *w)
{
    if (!add_users(w, w->g->nodes[w->first].outputs[0], &w->made)) return false;
    for (int32_t i = 0; i < w->count; ++i) {
        const touch *t = &w->touched[i];
        if (t->kind != READER && !add_users(w, w->g->nodes[t->node].outputs[0], &t->behind))
            return false;
    }
    return true;
}

static void mark_read(walk *w, const touch *t)
{
    const itg_graph *g = w->g;
    itg_id weights = g->nodes[t->node].inputs[1];
    const float *from = itg_floats(g, weights);
    itg_channel_walk read = itg_read_walk(g, t->node, &t->channels);
    int64_t count = itg_value_elements(g, weights);
    for (int64_t i = 0; i < count; ++i) {
        bool *is_read = &w->is_read[itg_next_channel(&read)];
        *is_read = *is_read || from[i] != 0;
    }
}

/* Marks the channels that a READER reads; false: these are all. */
static bool find_unread(walk *w)
{
    bool any = false;
    for (int32_t i = 0; i < w->count; ++i)
        if (w->touched[i].kind == READER) mark_read(w, &w->touched[i]);
    for (int64_t c = 0; c < w->made.count; ++c)
        any |= w->is_read[c];
    if (!any && w->made.count > 0) w->is_read[0] = true;
    for (int64_t c = 0; c < w->made.count; ++c)
        if (!w->is_read[c]) return true;
    return false;
}

/* ---- removing channels ---- */

/* Whether a node loses weights of its output channels or of its input channels. */
typedef enum channel_side { MADE, READ } channel_side;

static int64_t count_read(const walk *w)
{
    int64_t count = 0;
    for (int64_t c = 0; c < w->made.count; ++c)
        count += w->is_read[c];
    return count;
}

/* The axis of a node's weights along which the channels of a side run. */
static int32_t weight_axis(const itg_node *n, channel_side side)
{
    if (n->op == ITG_OP_MATMUL) return side == MADE ? 1 : 0;
    return side == MADE ? 0 : 1;
}

static itg_status shrink_weights(walk *w, const touch *t, channel_side side)
{
    itg_graph *g = w->g;
    const itg_node *n = &g->nodes[t->node];
    itg_shape shape = g->values[n->inputs[1]].shape;
    const float *from = itg_floats(g, n->inputs[1]);
    int64_t count = itg_value_elements(g, n->inputs[1]), at = 0;
    int32_t axis = weight_axis(n, side);
    bool *keep = itg_arena_array(w->arena, (size_t)count + 1, sizeof *keep);
    float *to;
    if (!keep) return itg_graph_no_memory(g, w->err);
    itg_channel_walk channels =
        side == MADE ? itg_made_walk(g, t->node) : itg_read_walk(g, t->node, &t->channels);
    const int64_t block = side == MADE ? t->behind.block : 1;
    for (int64_t i = 0; i < count; ++i)
        keep[i] = w->is_read[itg_next_channel(&channels) / block];
    shape.dims[axis] = shape.dims[axis] / w->made.count * count_read(w);
    itg_status status = itg_own_floats(g, t->node, 1, &shape, &to, w->err);
    for (int64_t i = 0; i < count && status == ITG_OK; ++i)
        if (keep[i]) to[at++] = from[i];
    return status;
}

/* Removes the unread channels from a node's bias, `block` numbers each. */
static itg_status shrink_bias(walk *w, itg_id node, int64_t block)
{
    const float *from = itg_bias_floats(w->g, node);
    float *to;
    if (!from) return ITG_OK;
    itg_status status = itg_own_bias(w->g, node, count_read(w) * block, &to, w->err);
    for (int64_t i = 0, at = 0; i < w->made.count * block && status == ITG_OK; ++i)
        if (w->is_read[i / block]) to[at++] = from[i];
    return status;
}

static void shrink_value(walk *w, itg_id value, const itg_channels *channels)
{
    itg_shape *shape = &w->g->values[value].shape;
    shape->dims[channels->is_image ? 1 : shape->rank - 1] = count_read(w) * channels->block;
}

static itg_status shrink_maker(walk *w, const touch *t)
{
    itg_status status = shrink_weights(w, t, MADE);
    return status == ITG_OK ? shrink_bias(w, t->node, t->behind.block) : status;
}

static itg_status shrink(walk *w, const touch *t)
{
    if (t->kind == READER) return shrink_weights(w, t, READ);
    itg_status status = t->kind == DEPTHWISE ? shrink_maker(w, t) : ITG_OK;
    itg_node *n = &w->g->nodes[t->node];
    if (t->kind == DEPTHWISE) n->attrs.group = count_read(w) * t->channels.block;
    shrink_value(w, n->outputs[0], &t->behind);
    return status;
}

static itg_status remove_unread(walk *w, bool *changed)
{
    const touch first = {.node = w->first, .channels = w->made, .behind = w->made};
    *changed = true;
    itg_status status = shrink_maker(w, &first);
    shrink_value(w, w->g->nodes[w->first].outputs[0], &w->made);
    for (int32_t i = 0; i < w->count && status == ITG_OK; ++i)
        status = shrink(w, &w->touched[i]);
    return status;
}

static itg_status visit(itg_graph *g, itg_id node, itg_arena *arena, bool *changed, itg_error *err)
{
    walk w = {.g = g, .arena = arena, .first = node, .err = err};
    const itg_node *n = &g->nodes[node];
    if (!itg_makes_channels(g, node, &w.made) || (n->op == ITG_OP_CONV && n->attrs.group != 1))
        return ITG_OK;
    w.touched = itg_arena_array(arena, (size_t)g->node_count + 1, sizeof *w.touched);
    w.is_read = itg_arena_array(arena, (size_t)w.made.count + 1, sizeof *w.is_read);
    if (!w.touched || !w.is_read) return itg_graph_no_memory(g, err);
    return find_users(&w) && find_unread(&w) ? remove_unread(&w, changed) : ITG_OK;
}

itg_status itg_pass_unread_channels(itg_graph *g, bool *changed, itg_error *err)
{
    itg_status status = ITG_OK;
    for (itg_id n = g->node_count; n-- > 0 && status == ITG_OK;) {
        itg_arena *arena = itg_arena_create(0);
        status = arena ? visit(g, n, arena, changed, err) : itg_graph_no_memory(g, err);
        itg_arena_destroy(arena);
    }
    return status;
}
