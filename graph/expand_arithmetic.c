/* Replaces operators of float32 that have no integer form by operators that have one. The passes
 * that search for patterns of the original operators (LayerNormalization...) must run before. */
#include "expand.h"
#include "written_out.h"
#include <float.h>
#include <math.h>

enum {
    MOST_COPIES = 64,     /* the largest repeat of a Tile along one axis */
    MOST_BORDER = 1 << 20 /* elements of a Pad's output, for borders that become constants */
};

/* ---- reductions ---- */

/* How many elements are reduced to one result. */
static double reduced_count(const itg_expansion *e)
{
    const int64_t results = itg_value_elements(e->g, e->node.outputs[0]);
    return (double)itg_value_elements(e->g, e->node.inputs[0]) / (double)results;
}

static itg_id put_reduction(itg_expansion *e, const char *suffix, itg_op op, itg_id x)
{
    return itg_put(e, &(itg_put_op){.suffix = suffix, .op = op, .attrs = &e->node.attrs}, 1, &x);
}

static itg_id put_sum(itg_expansion *e, itg_id x)
{
    itg_id mean = put_reduction(e, "mean", ITG_OP_REDUCE_MEAN, x);
    itg_id count = itg_put_number(e, "count", reduced_count(e));
    return itg_put_simple(e, "sum", ITG_OP_MUL, mean, count);
}

static void expand_sum(itg_expansion *e)
{
    itg_expanded_output(e, 0, put_sum(e, itg_expanded_input(e, 0)));
}

static void expand_l1(itg_expansion *e)
{
    itg_id x = itg_put_simple(e, "abs", ITG_OP_ABS, itg_expanded_input(e, 0), ITG_NONE);
    itg_expanded_output(e, 0, put_sum(e, x));
}

static itg_id put_square(itg_expansion *e)
{
    itg_id x = itg_expanded_input(e, 0);
    return itg_put_simple(e, "square", ITG_OP_MUL, x, x);
}

static itg_id put_sum_square(itg_expansion *e)
{
    return put_sum(e, put_square(e));
}

static void expand_sum_square(itg_expansion *e)
{
    itg_expanded_output(e, 0, put_sum_square(e));
}

static void expand_l2(itg_expansion *e)
{
    itg_expanded_output(e, 0, itg_put_simple(e, "root", ITG_OP_SQRT, put_sum_square(e), ITG_NONE));
}

static void expand_min(itg_expansion *e)
{
    itg_id x = itg_put_simple(e, "negative", ITG_OP_NEG, itg_expanded_input(e, 0), ITG_NONE);
    x = put_reduction(e, "max", ITG_OP_REDUCE_MAX, x);
    itg_expanded_output(e, 0, itg_put_simple(e, "min", ITG_OP_NEG, x, ITG_NONE));
}

/* Normalizes along an axis of n elements by the mean: x / mean(|x|) / n, or x / sqrt(mean(x^2)) /
 * sqrt(n). */
static void expand_lp_normalization(itg_expansion *e)
{
    const bool squares = e->node.attrs.p == 2;
    const itg_id in = itg_expanded_input(e, 0);
    const itg_shape shape = itg_shape_at(e, in);
    const int64_t axis = e->node.attrs.axis + (e->node.attrs.axis < 0 ? shape.rank : 0);
    itg_attrs attrs = itg_attrs_default(ITG_OP_REDUCE_MEAN);
    attrs.axes_count = 1;
    attrs.axes[0] = axis;
    itg_id x = squares ? put_square(e) : itg_put_simple(e, "abs", ITG_OP_ABS, in, ITG_NONE);
    x = itg_put(e, &(itg_put_op){.suffix = "mean", .op = ITG_OP_REDUCE_MEAN, .attrs = &attrs}, 1,
                &x);
    if (squares) x = itg_put_simple(e, "root", ITG_OP_SQRT, x, ITG_NONE);
    itg_attrs clip = itg_attrs_default(ITG_OP_CLIP);
    clip.min = FLT_MIN; /* a row of zeros stays zero */
    x = itg_put(e, &(itg_put_op){.suffix = "above", .op = ITG_OP_CLIP, .attrs = &clip}, 1, &x);
    x = itg_put_simple(e, "reciprocal", ITG_OP_RECIPROCAL, x, ITG_NONE);
    x = itg_put_simple(e, "scaled", ITG_OP_MUL, in, x);
    const double count = (double)shape.dims[axis];
    itg_id share = itg_put_number(e, "share", 1 / (squares ? sqrt(count) : count));
    itg_expanded_output(e, 0, itg_put_simple(e, "norm", ITG_OP_MUL, x, share));
}

/* ---- others ---- */

/* Relu(x) + slope * min(x, 0). */
static void expand_prelu(itg_expansion *e)
{
    itg_id x = itg_expanded_input(e, 0);
    itg_id above = itg_put_simple(e, "above", ITG_OP_RELU, x, ITG_NONE);
    x = itg_put_simple(e, "negative", ITG_OP_NEG, x, ITG_NONE);
    x = itg_put_simple(e, "magnitude", ITG_OP_RELU, x, ITG_NONE);
    x = itg_put_simple(e, "below", ITG_OP_NEG, x, ITG_NONE);
    x = itg_put_simple(e, "slope", ITG_OP_MUL, x, itg_expanded_input(e, 1));
    itg_expanded_output(e, 0, itg_put_simple(e, "prelu", ITG_OP_ADD, above, x));
}

static void expand_div(itg_expansion *e)
{
    itg_id r =
        itg_put_simple(e, "reciprocal", ITG_OP_RECIPROCAL, itg_expanded_input(e, 1), ITG_NONE);
    itg_id a = itg_expanded_input(e, 0);
    const bool constant = e->g->values[a].data != NULL; /* constants stand second */
    itg_expanded_output(
        e, 0, itg_put_simple(e, "quotient", ITG_OP_MUL, constant ? r : a, constant ? a : r));
}

/* 1 / x. */
static void expand_inverse(itg_expansion *e)
{
    itg_expanded_output(
        e, 0,
        itg_put_simple(e, "reciprocal", ITG_OP_RECIPROCAL, itg_expanded_input(e, 1), ITG_NONE));
}

static itg_expand_fn *find_div(const itg_graph *g, const itg_node *n)
{
    double one;
    if (!itg_is_float_activation(g, n->inputs[1])) return NULL;
    return itg_is_scalar(g, n->inputs[0], &one) && one == 1.0 ? expand_inverse : expand_div;
}

static void expand_tile(itg_expansion *e)
{
    itg_id x = itg_expanded_input(e, 0), copies[MOST_COPIES];
    const itg_shape from = itg_shape_at(e, x), to = itg_shape_at(e, e->node.outputs[0]);
    for (int32_t d = 0; d < from.rank; d++) {
        const int32_t count = (int32_t)(to.dims[d] / from.dims[d]);
        for (int32_t i = 0; i < count; i++)
            copies[i] = x;
        x = itg_put_concat(e, "tiled", d, count, copies);
    }
    itg_expanded_output(e, 0, x);
}

static bool can_tile(const itg_graph *g, const itg_node *n)
{
    const itg_shape *from = &g->values[n->inputs[0]].shape, *to = &g->values[n->outputs[0]].shape;
    bool can = g->values[n->inputs[1]].data != NULL;
    for (int32_t d = 0; d < from->rank && can; d++)
        can = from->dims[d] > 0 && to->dims[d] > 0 && to->dims[d] / from->dims[d] <= MOST_COPIES;
    return can;
}

/* The border of Pad along one axis, behind or before x. */
static itg_id put_border(itg_expansion *e, itg_id x, int32_t axis, int64_t width)
{
    itg_shape shape = itg_shape_at(e, x);
    itg_id out;
    shape.dims[axis] = width;
    float *data = itg_put_floats(e, "border", shape, &out);
    const int64_t count = data ? itg_value_elements(e->g, out) : 0;
    for (int64_t i = 0; i < count; i++)
        data[i] = e->node.attrs.pad_value;
    return out;
}

/* A Pad by a number that is not 0: the border is a constant operand of Concat. */
static void expand_pad(itg_expansion *e)
{
    itg_id x = itg_expanded_input(e, 0);
    const itg_shape from = itg_shape_at(e, x), to = itg_shape_at(e, e->node.outputs[0]);
    for (int32_t d = 0; d < from.rank && e->status == ITG_OK; d++) {
        const int64_t begin = e->node.attrs.pads_begin[d], end = to.dims[d] - from.dims[d] - begin;
        itg_id parts[3];
        int32_t count = 0;
        if (begin > 0) parts[count++] = put_border(e, x, d, begin);
        parts[count++] = x;
        if (end > 0) parts[count++] = put_border(e, x, d, end);
        x = itg_put_concat(e, "padded", d, count, parts);
    }
    itg_expanded_output(e, 0, x);
}

static bool can_pad(const itg_graph *g, const itg_node *n)
{
    const itg_shape *from = &g->values[n->inputs[0]].shape, *to = &g->values[n->outputs[0]].shape;
    const int64_t elements = itg_value_elements(g, n->outputs[0]);
    bool can = n->attrs.pad_mode == ITG_PAD_CONSTANT && n->attrs.pad_value != 0.0f &&
               isfinite(n->attrs.pad_value) && n->opset == 0 && n->input_count == 1 &&
               elements > 0 && elements <= MOST_BORDER;
    for (int32_t d = 0; d < from->rank && can; d++)
        can = n->attrs.pads_begin[d] >= 0 && from->dims[d] > 0 &&
              to->dims[d] - from->dims[d] >= n->attrs.pads_begin[d];
    return can;
}

/* ---- which ---- */

/* Whether a node is discontinuous in its input: replaced operators round differently (1 may become
 * 0.99999994), which it would turn into another result. */
static bool is_step(const itg_graph *g, const itg_node *n)
{
    if (n->input_count < 1 || !itg_is_float_activation(g, n->inputs[0])) return false;
    switch (n->op) {
    case ITG_OP_CAST:
    case ITG_OP_FLOOR:
    case ITG_OP_CEIL:
    case ITG_OP_ROUND:
    case ITG_OP_SIGN:
    case ITG_OP_MOD:
    case ITG_OP_EQUAL:
    case ITG_OP_LESS:
    case ITG_OP_LESS_OR_EQUAL:
    case ITG_OP_GREATER:
    case ITG_OP_GREATER_OR_EQUAL:
        return true;
    default:
        return false;
    }
}

static bool has_steps(const itg_graph *g)
{
    for (itg_id n = 0; n < g->node_count; n++)
        if (is_step(g, &g->nodes[n])) return true;
    return false;
}

static itg_expand_fn *find(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    itg_expand_fn *choice = itg_find_choice(g, node);
    if (choice) return choice;
    if (n->op == ITG_OP_DIV) return find_div(g, n);
    if (n->input_count < 1 || !itg_is_float_activation(g, n->inputs[0])) return NULL;
    const bool sums = n->input_count == 1 && n->opset == 0 &&
                      itg_value_elements(g, n->inputs[0]) > 0 &&
                      itg_value_elements(g, n->outputs[0]) > 0;
    switch (n->op) {
    case ITG_OP_REDUCE_SUM:
        return sums ? expand_sum : NULL;
    case ITG_OP_REDUCE_L1:
        return sums ? expand_l1 : NULL;
    case ITG_OP_REDUCE_L2:
        return sums ? expand_l2 : NULL;
    case ITG_OP_REDUCE_SUM_SQUARE:
        return sums ? expand_sum_square : NULL;
    case ITG_OP_REDUCE_MIN:
        return sums ? expand_min : NULL;
    case ITG_OP_LP_NORMALIZATION:
        return expand_lp_normalization;
    case ITG_OP_PRELU:
        return expand_prelu;
    case ITG_OP_MATMUL:
        return itg_is_batched_product(g, node) ? itg_expand_batched_product : NULL;
    case ITG_OP_TILE:
        return can_tile(g, n) ? expand_tile : NULL;
    case ITG_OP_PAD:
        return can_pad(g, n) ? expand_pad : NULL;
    default:
        return NULL;
    }
}

static bool changes_roundings(itg_op op)
{
    switch (op) {
    case ITG_OP_REDUCE_SUM:
    case ITG_OP_REDUCE_L1:
    case ITG_OP_REDUCE_L2:
    case ITG_OP_REDUCE_SUM_SQUARE:
    case ITG_OP_LP_NORMALIZATION:
    case ITG_OP_PRELU:
    case ITG_OP_DIV:
    case ITG_OP_CUM_SUM:
    case ITG_OP_MEAN_VARIANCE_NORMALIZATION:
        return true;
    default:
        return false;
    }
}

itg_status itg_pass_write_out(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    itg_expand_fn *expand = find(g, node);
    if (!expand || (changes_roundings(g->nodes[node].op) && has_steps(g))) return ITG_OK;
    *changed = true;
    return itg_expand_node(g, node, expand, err);
}
