/* Whether a prepared graph, which has batch 1, can run on batches: finds the dimension of the
 * samples in each activation, from the inputs to the outputs. */
#include "realize/emit/qdq.h"

typedef struct walk {
    const itg_graph *g;
    const int32_t *axis; /* [value]: the batch's dimension; ITG_NONE: none */
    const itg_node *n;
} walk;

static bool has(const walk *w, int32_t slot)
{
    return slot < w->n->input_count && w->n->inputs[slot] != ITG_NONE;
}

static int32_t axis_of(const walk *w, int32_t slot)
{
    return has(w, slot) ? w->axis[w->n->inputs[slot]] : ITG_NONE;
}

static const itg_shape *shape_of(const walk *w, int32_t slot)
{
    return &w->g->values[w->n->inputs[slot]].shape;
}

static const itg_shape *out_shape(const walk *w)
{
    return &w->g->values[w->n->outputs[0]].shape;
}

/* Returns the batch axis of input 0 if no other input has one; else ITG_NONE. */
static int32_t first_alone(const walk *w)
{
    for (int32_t i = 1; i < w->n->input_count; i++)
        if (axis_of(w, i) != ITG_NONE) return ITG_NONE;
    return axis_of(w, 0);
}

/* Returns the batch's dimension of a broadcast. Dimensions are aligned at the last one. An operand
 * with that dimension has the batch there or is broadcast along it. */
static int32_t broadcast(const walk *w, int32_t slots)
{
    int32_t behind = 0;
    for (int32_t i = 0; i < slots; i++)
        if (axis_of(w, i) != ITG_NONE) behind = shape_of(w, i)->rank - axis_of(w, i);
    for (int32_t i = 0; i < slots; i++) {
        if (!has(w, i)) continue;
        const itg_shape *s = shape_of(w, i);
        if (axis_of(w, i) != ITG_NONE && s->rank - axis_of(w, i) != behind) return ITG_NONE;
        if (s->rank >= behind && s->dims[s->rank - behind] != 1) return ITG_NONE;
    }
    return out_shape(w)->rank - behind;
}

/* The batch among the matrices, or as rows of the first operand under one matrix for all. */
static int32_t matmul(const walk *w)
{
    const itg_shape *a = shape_of(w, 0), *b = shape_of(w, 1);
    if (a->rank < 2 || b->rank < 2 || axis_of(w, 2) != ITG_NONE) return ITG_NONE;
    bool rows = axis_of(w, 0) == a->rank - 2 && axis_of(w, 1) == ITG_NONE && b->rank == 2;
    if (rows) return out_shape(w)->rank - 2;
    if (axis_of(w, 0) >= a->rank - 2 || axis_of(w, 1) >= b->rank - 2) return ITG_NONE;
    return broadcast(w, 2);
}

/* Returns the dimension of size 1 with as many elements before it as the batch's. */
static int32_t reshaped(const walk *w)
{
    const itg_shape *x = shape_of(w, 0), *y = out_shape(w);
    int64_t before = 1, passed = 1;
    for (int32_t i = 0; i < axis_of(w, 0); i++)
        before *= x->dims[i];
    for (int32_t i = 0; i < y->rank && passed <= before; passed *= y->dims[i++])
        if (passed == before && y->dims[i] == 1) return i;
    return ITG_NONE;
}

static int32_t transposed(const walk *w)
{
    for (int32_t i = 0; i < out_shape(w)->rank; i++)
        if (w->n->attrs.perm[i] == axis_of(w, 0)) return i;
    return ITG_NONE;
}

static int32_t concatenated(const walk *w)
{
    for (int32_t i = 0; i < w->n->input_count; i++)
        if (axis_of(w, i) != axis_of(w, 0)) return ITG_NONE;
    return axis_of(w, 0) == w->n->attrs.axis ? ITG_NONE : axis_of(w, 0);
}

/* Dimensions that go before the batch's count down. */
static int32_t reduced(const walk *w, const int64_t *axes, int32_t count)
{
    int32_t axis = first_alone(w), left = axis;
    for (int32_t i = 0; i < count; i++) {
        if (axes[i] == axis) return ITG_NONE;
        if (axes[i] < axis && !w->n->attrs.keepdims) left--;
    }
    return left;
}

static int32_t sliced(const walk *w)
{
    for (int32_t i = 0; i < w->n->attrs.axes_count; i++)
        if (w->n->attrs.axes[i] == axis_of(w, 0)) return ITG_NONE;
    return axis_of(w, 0);
}

static int32_t gathered(const walk *w)
{
    int32_t axis = first_alone(w);
    if (axis == w->n->attrs.axis) return ITG_NONE;
    return axis < w->n->attrs.axis ? axis : axis + shape_of(w, 1)->rank - 1;
}

static int32_t padded(const walk *w)
{
    int32_t axis = first_alone(w);
    bool same = axis != ITG_NONE && w->n->attrs.pads_begin[axis] == 0 &&
                out_shape(w)->dims[axis] == shape_of(w, 0)->dims[axis];
    return same ? axis : ITG_NONE;
}

/* Returns the batch's dimension in the outputs of a node; ITG_NONE if it mixes samples. */
static int32_t passes(const walk *w)
{
    const itg_attrs *a = &w->n->attrs;
    itg_op op = w->n->op;
    if (itg_op_is(op, ITG_IS_BROADCAST)) return broadcast(w, w->n->input_count);
    if (itg_op_is(op, ITG_IS_VIEW)) return reshaped(w);
    if (op == ITG_OP_CONV || itg_op_is(op, ITG_IS_POOL)) return first_alone(w) == 0 ? 0 : ITG_NONE;
    if (itg_op_is(op, ITG_IS_REDUCE)) {
        if (a->axes_count == 0) return a->noop_with_empty_axes ? first_alone(w) : ITG_NONE;
        return reduced(w, a->axes, a->axes_count);
    }
    if (itg_op_is(op, ITG_IS_UNIVARIATE)) return first_alone(w);
    switch (op) {
    case ITG_OP_MATMUL:
        return matmul(w);
    case ITG_OP_GEMM:
        if (has(w, 2) && shape_of(w, 2)->rank == 2 && shape_of(w, 2)->dims[0] != 1) return ITG_NONE;
        return first_alone(w) == 0 && !a->trans_a ? 0 : ITG_NONE;
    case ITG_OP_EXPAND:
        return out_shape(w)->dims[out_shape(w)->rank - shape_of(w, 0)->rank + axis_of(w, 0)] == 1
                   ? broadcast(w, 1)
                   : ITG_NONE;
    case ITG_OP_TRANSPOSE:
        return transposed(w);
    case ITG_OP_CONCAT:
        return concatenated(w);
    case ITG_OP_SPLIT:
    case ITG_OP_SOFTMAX:
    case ITG_OP_LOG_SOFTMAX:
    case ITG_OP_HARDMAX:
    case ITG_OP_LP_NORMALIZATION:
    case ITG_OP_TOP_K:
        return a->axis == axis_of(w, 0) ? ITG_NONE : first_alone(w);
    case ITG_OP_LAYER_NORMALIZATION:
        return a->axis <= axis_of(w, 0) ? ITG_NONE : first_alone(w);
    case ITG_OP_GATHER:
        return gathered(w);
    case ITG_OP_ARG_MAX:
    case ITG_OP_ARG_MIN:
        return reduced(w, &a->axis, 1);
    case ITG_OP_SLICE:
        return sliced(w);
    case ITG_OP_PAD:
        return padded(w);
    case ITG_OP_BATCH_NORMALIZATION:
    case ITG_OP_CAST:
    case ITG_OP_NOT:
    case ITG_OP_BITWISE_NOT:
    case ITG_OP_IS_NAN:
    case ITG_OP_IS_INF:
        return first_alone(w);
    default: /* not known to keep samples apart */
        return ITG_NONE;
    }
}

bool itg_qdq_find_batch(const itg_graph *g, int32_t *axis)
{
    for (itg_id v = 0; v < g->value_count; v++)
        axis[v] = ITG_NONE;
    for (int32_t i = 0; i < g->input_count; i++) {
        const itg_shape *s = &g->values[g->inputs[i]].shape;
        if (s->rank < 1 || s->dims[0] != 1) return false;
        axis[g->inputs[i]] = 0;
    }
    for (itg_id n = 0; n < g->node_count; n++) {
        walk w = {g, axis, &g->nodes[n]};
        bool any = false;
        for (int32_t i = 0; i < w.n->input_count; i++)
            any = any || axis_of(&w, i) != ITG_NONE;
        if (!any) continue;
        int32_t out = passes(&w);
        if (out == ITG_NONE) return false;
        for (int32_t i = 0; i < w.n->output_count; i++)
            if (w.n->outputs[i] != ITG_NONE) axis[w.n->outputs[i]] = out;
    }
    for (int32_t i = 0; i < g->output_count; i++)
        if (axis[g->outputs[i]] != 0) return false;
    return true;
}
