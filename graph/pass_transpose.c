/* Moves each Transpose down through elementwise nodes until it meets its inverse; exporters wrap
 * convolutions in such pairs. With y = transpose(x, p): y.dims[i] = x.dims[p[i]], and
 * f(transpose(x, p)) = transpose(f'(x), p), where f' has its constant and its channel axis moved
 * back by p. This ends because every step brings a Transpose nearer to the outputs. */
#include "passes.h"
#include <string.h>

static bool is_transpose(const itg_graph *g, itg_id node)
{
    return node != ITG_NONE && g->nodes[node].op == ITG_OP_TRANSPOSE &&
           g->nodes[node].input_count == 1;
}

/* ---- merging and removing ---- */

static bool compose(itg_graph *g, itg_id node)
{
    itg_id before = g->values[g->nodes[node].inputs[0]].producer;
    if (!is_transpose(g, before)) return false;
    itg_attrs *a = &g->nodes[node].attrs;
    const itg_attrs *b = &g->nodes[before].attrs;
    for (int32_t i = 0; i < g->values[g->nodes[node].inputs[0]].shape.rank; ++i)
        a->perm[i] = b->perm[a->perm[i]];
    itg_graph_set_input(g, node, 0, g->nodes[before].inputs[0]);
    return true;
}

/* Whether the dimensions larger than 1 keep their order, so that no element moves. */
static bool keeps_order(const itg_graph *g, itg_id node)
{
    const itg_shape *x = &g->values[g->nodes[node].inputs[0]].shape;
    int64_t last = -1;
    for (int32_t i = 0; i < x->rank; ++i) {
        int64_t from = g->nodes[node].attrs.perm[i];
        if (x->dims[from] == 1) continue;
        if (from < last) return false;
        last = from;
    }
    return true;
}

static bool is_identity(const itg_graph *g, itg_id node)
{
    for (int32_t i = 0; i < g->values[g->nodes[node].inputs[0]].shape.rank; ++i)
        if (g->nodes[node].attrs.perm[i] != i) return false;
    return true;
}

static bool simplify(itg_graph *g, itg_id node)
{
    bool changed = compose(g, node);
    if (is_identity(g, node)) return itg_bypass_node(g, node) || changed;
    if (!keeps_order(g, node)) return changed;
    itg_become(g, node, ITG_OP_RESHAPE);
    return true;
}

/* ---- moving down ---- */

static bool is_binary(itg_op op)
{
    switch (op) {
    case ITG_OP_ADD:
    case ITG_OP_SUB:
    case ITG_OP_MUL:
    case ITG_OP_DIV:
    case ITG_OP_POW:
    case ITG_OP_PRELU:
        return true;
    default:
        return false;
    }
}

/* Computes the shape of a constant that broadcasts to y, with its dimensions moved back by perm.
 * False: several of them are larger than 1, so its elements would move. */
static bool moved_shape(const itg_shape *c, const itg_shape *y, const int64_t *perm, itg_shape *out)
{
    itg_shape aligned = itg_align_shape(c, y->rank);
    int large = 0;
    out->rank = y->rank;
    for (int32_t i = 0; i < y->rank; ++i) {
        out->dims[perm[i]] = aligned.dims[i];
        large += aligned.dims[i] > 1;
    }
    return large <= 1;
}

typedef enum move_kind {
    MOVE_NONE,
    MOVE_UNIVARIATE,
    MOVE_CONSTANT,
    MOVE_PAIR,
    MOVE_NORM
} move_kind;

/* Tells how a Transpose can move below the user of its output. */
static move_kind classify(const itg_graph *g, itg_id transpose, itg_id user)
{
    const itg_node *n = &g->nodes[user];
    itg_id y = g->nodes[transpose].outputs[0];
    itg_shape moved;
    if (itg_op_is(n->op, ITG_IS_UNIVARIATE)) return MOVE_UNIVARIATE;
    if (n->op == ITG_OP_BATCH_NORMALIZATION) return n->inputs[0] == y ? MOVE_NORM : MOVE_NONE;
    if (!is_binary(n->op) || n->input_count != 2 || g->values[n->outputs[0]].dtype != ITG_F32)
        return MOVE_NONE;
    int32_t slot = itg_slot_of(g, user, y);
    itg_id other = n->inputs[1 - slot];
    if (n->op == ITG_OP_PRELU && slot != 0) return MOVE_NONE;
    if (!itg_shape_equal(&g->values[y].shape, &g->values[n->outputs[0]].shape)) return MOVE_NONE;
    if (itg_is_float_constant(g, other))
        return moved_shape(&g->values[other].shape, &g->values[y].shape,
                           g->nodes[transpose].attrs.perm, &moved)
                   ? MOVE_CONSTANT
                   : MOVE_NONE;
    itg_id second = g->values[other].producer;
    if (n->op == ITG_OP_PRELU || !is_transpose(g, second) ||
        itg_graph_only_reader(g, other) != user)
        return MOVE_NONE;
    int32_t rank = g->values[y].shape.rank;
    if (!itg_shape_equal(&g->values[other].shape, &g->values[y].shape) ||
        memcmp(g->nodes[second].attrs.perm, g->nodes[transpose].attrs.perm,
               (size_t)rank * sizeof g->nodes[second].attrs.perm[0]) != 0)
        return MOVE_NONE;
    return MOVE_PAIR;
}

static itg_status move_constant(itg_graph *g, itg_id transpose, itg_id user, int32_t slot,
                                itg_error *err)
{
    itg_id y = g->nodes[transpose].outputs[0], c = g->nodes[user].inputs[slot];
    itg_shape shape = {0};
    const float *from = itg_floats(g, c);
    int64_t count = itg_value_elements(g, c);
    float *to;
    moved_shape(&g->values[c].shape, &g->values[y].shape, g->nodes[transpose].attrs.perm, &shape);
    itg_status status = itg_own_floats(g, user, slot, &shape, &to, err);
    if (status == ITG_OK && count > 0) memcpy(to, from, (size_t)count * sizeof *to);
    return status;
}

/* x -> Transpose -> y -> user -> z becomes x -> user -> new -> Transpose -> z. */
static itg_status move_down(itg_graph *g, itg_id transpose, itg_id user, move_kind kind,
                            itg_error *err)
{
    itg_id x = g->nodes[transpose].inputs[0], y = g->nodes[transpose].outputs[0];
    itg_id z = g->nodes[user].outputs[0], value;
    int32_t slot = itg_slot_of(g, user, y);
    itg_status status = ITG_OK;
    if (kind == MOVE_CONSTANT) status = move_constant(g, transpose, user, 1 - slot, err);
    if (status != ITG_OK) return status;
    const char *name = itg_fresh_value_name(g, g->values[z].name, "before_transpose");
    if (!name) return itg_graph_no_memory(g, err);
    itg_shape shape = g->values[x].shape;
    status = itg_graph_add_value(g, name, g->values[z].dtype, &shape, NULL, &value, err);
    if (status != ITG_OK) return status;
    if (kind == MOVE_PAIR) {
        itg_id second = g->values[g->nodes[user].inputs[1 - slot]].producer;
        itg_graph_set_input(g, user, 1 - slot, g->nodes[second].inputs[0]);
        itg_kill_node(g, second);
    }
    if (kind == MOVE_NORM) {
        itg_attrs *a = &g->nodes[user].attrs;
        a->axis = g->nodes[transpose].attrs.perm[a->axis];
    }
    itg_graph_set_input(g, user, slot, x);
    itg_take_output(g, user, value);
    itg_graph_set_input(g, transpose, 0, value);
    itg_take_output(g, transpose, z);
    return ITG_OK;
}

itg_status itg_pass_transpose(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    while (is_transpose(g, node)) {
        *changed |= simplify(g, node);
        if (!is_transpose(g, node)) break;
        itg_id user = itg_graph_only_reader(g, g->nodes[node].outputs[0]);
        move_kind kind = user == ITG_NONE ? MOVE_NONE : classify(g, node, user);
        if (kind == MOVE_NONE) break;
        itg_status status = move_down(g, node, user, kind, err);
        if (status != ITG_OK) return status;
        *changed = true;
    }
    return ITG_OK;
}
