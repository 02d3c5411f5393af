/* Choices between values, of float32, as operators that integers have. A truth is 1 or 0:
 *   Max of several        MaxPool over them, side by side; Min: of their negatives
 *   Max, Min with number  Clip
 *   a > b                 Relu(Sign(a - b));  a >= b: not b > a;  a == b: not |Sign(a - b)|
 *   not p, p and q        1 - p, p * q;  or: Relu(Sign(p + q));  xor: |Sign(p - q)|
 *   Where(p, x, y)        p * x + not p * y
 *   Hardmax               the row of the identity matrix that ArgMax names
 *   TopK of one           ReduceMax, ArgMax
 *   CumSum                a product with a triangle of ones
 *   Pow with number       Power, a function of one value
 *   MeanVarianceNorm.     LayerNormalization without parameters
 * A truth that is left as a bool is the Cast of one. */
#include <math.h>
#include "expand.h"
#include "written_out.h"

enum { MOST_ROW = 1024, MOST_DEPTH = 16 };

static bool is_float(const itg_graph *g, itg_id value)
{
    return value != ITG_NONE && g->values[value].dtype == ITG_F32;
}

static bool is_finite_constant(const itg_graph *g, itg_id value)
{
    const int64_t count = itg_value_elements(g, value);
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(itg_floats(g, value)[i])) return false;
    return true;
}

/* All inputs are float32 and at least one varies; constants have no infinities. */
static bool has_floats(const itg_graph *g, const itg_node *n)
{
    bool varies = false;
    for (int32_t i = 0; i < n->input_count; i++) {
        if (!is_float(g, n->inputs[i])) return false;
        if (itg_is_float_activation(g, n->inputs[i]))
            varies = true;
        else if (!is_finite_constant(g, n->inputs[i]))
            return false;
    }
    return varies && itg_value_elements(g, n->outputs[0]) > 0;
}

static itg_id one(itg_expansion *e, const char *suffix, itg_op op, itg_id x)
{
    return itg_put_simple(e, suffix, op, x, ITG_NONE);
}

/* ---- Max, Min ---- */

/* Which input is a number beside one of the result's shape; -1: none. */
static int32_t number_slot(const itg_graph *g, const itg_node *n, double *number)
{
    for (int32_t i = 0; i < 2 && n->input_count == 2; i++)
        if (itg_is_scalar(g, n->inputs[i], number) &&
            itg_shape_equal(&g->values[n->inputs[1 - i]].shape, &g->values[n->outputs[0]].shape))
            return i;
    return -1;
}

static void expand_bound(itg_expansion *e)
{
    double number = 0;
    const int32_t slot = number_slot(e->g, &e->node, &number);
    itg_attrs attrs = itg_attrs_default(ITG_OP_CLIP);
    *(e->node.op == ITG_OP_MAX ? &attrs.min : &attrs.max) = (float)number;
    const itg_id x = itg_expanded_input(e, 1 - slot);
    itg_expanded_output(
        e, 0,
        itg_put(e, &(itg_put_op){.suffix = "clip", .op = ITG_OP_CLIP, .attrs = &attrs}, 1, &x));
}

static void expand_extreme(itg_expansion *e)
{
    const bool least = e->node.op == ITG_OP_MIN;
    const itg_shape shape = itg_shape_at(e, e->node.outputs[0]);
    const int64_t elements = itg_value_elements(e->g, e->node.outputs[0]);
    const int32_t count = e->node.input_count;
    itg_id *rows = itg_arena_array(e->g->arena, (size_t)count, sizeof *rows);
    if (!rows) {
        itg_expansion_fail(e, ITG_NO_MEMORY, "no memory");
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        itg_id x = itg_expanded_input(e, i);
        if (least) x = one(e, "negative", ITG_OP_NEG, x);
        if (e->status == ITG_OK && !itg_shape_equal(&e->g->values[x].shape, &shape))
            x = itg_put(e, &(itg_put_op){.suffix = "whole", .op = ITG_OP_EXPAND, .shape = &shape},
                        1, &x);
        rows[i] = itg_put_reshape(e, "row", x, (itg_shape){4, {1, 1, 1, elements}});
    }
    itg_attrs attrs = itg_attrs_default(ITG_OP_MAX_POOL);
    attrs.spatial_rank = 2;
    attrs.kernel[0] = count;
    attrs.kernel[1] = 1;
    itg_id x = itg_put_concat(e, "rows", 2, count, rows);
    x = itg_put(e, &(itg_put_op){.suffix = "most", .op = ITG_OP_MAX_POOL, .attrs = &attrs}, 1, &x);
    x = itg_put_reshape(e, "shape", x, shape);
    itg_expanded_output(e, 0, least ? one(e, "least", ITG_OP_NEG, x) : x);
}

/* ---- truths ---- */

/* Whether a float32 value is a truth by how it is made. */
static bool is_truth(const itg_graph *g, itg_id value, int32_t depth)
{
    double number;
    if (g->values[value].producer == ITG_NONE || depth > MOST_DEPTH) return false;
    const itg_node *n = &g->nodes[g->values[value].producer];
    switch (n->op) {
    case ITG_OP_RELU:
    case ITG_OP_ABS:
        return itg_made_by(g, n->inputs[0], ITG_OP_SIGN) != NULL;
    case ITG_OP_MUL:
        return is_truth(g, n->inputs[0], depth + 1) && is_truth(g, n->inputs[1], depth + 1);
    case ITG_OP_ADD: {
        const itg_node *negative = itg_made_by(g, n->inputs[0], ITG_OP_NEG);
        return negative && itg_has_scalar(g, n, &number) && number == 1 &&
               is_truth(g, negative->inputs[0], depth + 1);
    }
    default:
        return false;
    }
}

/* The truth that a bool is the Cast of; a constant bool itself; ITG_NONE: neither. */
static itg_id truth_of(const itg_graph *g, itg_id value)
{
    if (value == ITG_NONE || g->values[value].dtype != ITG_BOOL) return ITG_NONE;
    if (g->values[value].data) return value;
    const itg_node *cast = itg_made_by(g, value, ITG_OP_CAST);
    return cast && is_float(g, cast->inputs[0]) && is_truth(g, cast->inputs[0], 0) ? cast->inputs[0]
                                                                                   : ITG_NONE;
}

static itg_id put_not(itg_expansion *e, itg_id p)
{
    itg_id x = one(e, "minus", ITG_OP_NEG, p);
    return itg_put_simple(e, "not", ITG_OP_ADD, x, itg_put_number(e, "one", 1));
}

static itg_id put_above(itg_expansion *e, itg_id a, itg_id b, itg_op combine)
{
    itg_id x = itg_put_simple(e, "difference", combine, a, b);
    return one(e, "above", ITG_OP_RELU, one(e, "sign", ITG_OP_SIGN, x));
}

static itg_id put_unequal(itg_expansion *e, itg_id a, itg_id b)
{
    itg_id x = itg_put_simple(e, "difference", ITG_OP_SUB, a, b);
    return one(e, "unequal", ITG_OP_ABS, one(e, "sign", ITG_OP_SIGN, x));
}

/* The input as a truth. */
static itg_id truth(itg_expansion *e, int32_t slot)
{
    const itg_id value = itg_expanded_input(e, slot), p = truth_of(e->g, value);
    itg_id out;
    if (p == ITG_NONE || !e->g->values[p].data) return p;
    float *to = itg_put_floats(e, "truth", itg_shape_at(e, p), &out);
    const unsigned char *from = e->g->values[p].data;
    for (int64_t i = 0; to && i < itg_value_elements(e->g, p); i++)
        to[i] = from[i] != 0;
    return out;
}

static void give(itg_expansion *e, itg_id p)
{
    itg_attrs attrs = itg_attrs_default(ITG_OP_CAST);
    attrs.to = ITG_BOOL;
    itg_expanded_output(
        e, 0,
        itg_put(e, &(itg_put_op){.suffix = "bool", .op = ITG_OP_CAST, .attrs = &attrs}, 1, &p));
}

static void expand_comparison(itg_expansion *e)
{
    const itg_id a = itg_expanded_input(e, 0), b = itg_expanded_input(e, 1);
    switch (e->node.op) {
    case ITG_OP_GREATER:
        give(e, put_above(e, a, b, ITG_OP_SUB));
        break;
    case ITG_OP_LESS:
        give(e, put_above(e, b, a, ITG_OP_SUB));
        break;
    case ITG_OP_GREATER_OR_EQUAL:
        give(e, put_not(e, put_above(e, b, a, ITG_OP_SUB)));
        break;
    case ITG_OP_LESS_OR_EQUAL:
        give(e, put_not(e, put_above(e, a, b, ITG_OP_SUB)));
        break;
    default:
        give(e, put_not(e, put_unequal(e, a, b)));
        break;
    }
}

static void expand_logic(itg_expansion *e)
{
    const itg_id p = truth(e, 0), q = e->node.op == ITG_OP_NOT ? ITG_NONE : truth(e, 1);
    switch (e->node.op) {
    case ITG_OP_NOT:
        give(e, put_not(e, p));
        break;
    case ITG_OP_AND:
        give(e, itg_put_simple(e, "and", ITG_OP_MUL, p, q));
        break;
    case ITG_OP_OR:
        give(e, put_above(e, p, q, ITG_OP_ADD));
        break;
    default:
        give(e, put_unequal(e, p, q));
        break;
    }
}

static void expand_cast(itg_expansion *e)
{
    itg_expanded_output(e, 0, truth(e, 0));
}

/* ---- Where ---- */

/* Whether a value is finite wherever its inputs are: no function on the way to it has a pole or
 * leaves float32 soon. What is not chosen is multiplied by 0. */
static bool is_finite(const itg_graph *g, itg_id value, int32_t *steps)
{
    if (g->values[value].data) return !is_float(g, value) || is_finite_constant(g, value);
    if (g->values[value].producer == ITG_NONE) return true;
    const itg_node *n = &g->nodes[g->values[value].producer];
    if (--*steps < 0) return false;
    switch (n->op) {
    case ITG_OP_DIV:
    case ITG_OP_MOD:
    case ITG_OP_POW:
    case ITG_OP_LOG:
    case ITG_OP_SQRT:
    case ITG_OP_RECIPROCAL:
    case ITG_OP_EXP:
    case ITG_OP_TAN:
    case ITG_OP_ASIN:
    case ITG_OP_ACOS:
    case ITG_OP_ATANH:
    case ITG_OP_ACOSH:
    case ITG_OP_SINH:
    case ITG_OP_COSH:
    case ITG_OP_LOG_SOFTMAX:
    case ITG_OP_REDUCE_LOG_SUM:
    case ITG_OP_REDUCE_LOG_SUM_EXP:
    case ITG_OP_LP_NORMALIZATION:
        return false;
    default:
        break;
    }
    for (int32_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] != ITG_NONE && !is_finite(g, n->inputs[i], steps)) return false;
    return true;
}

/* Whether the operand in this slot is a mask of a Softmax's scores. */
static bool masks(const itg_graph *g, const itg_node *n, int32_t slot)
{
    double number;
    const itg_id reader = itg_graph_only_reader(g, n->outputs[0]);
    return itg_is_scalar(g, n->inputs[slot], &number) && number <= (double)ITG_MASKED &&
           reader != ITG_NONE && g->nodes[reader].op == ITG_OP_SOFTMAX;
}

static bool can_choose(const itg_graph *g, const itg_node *n)
{
    int32_t steps = 1 << 14;
    if (n->input_count != 3 || truth_of(g, n->inputs[0]) == ITG_NONE ||
        g->values[n->inputs[0]].data || !is_float(g, n->inputs[1]) || !is_float(g, n->inputs[2]) ||
        itg_value_elements(g, n->outputs[0]) < 1)
        return false;
    for (int32_t i = 1; i < 3; i++)
        if (!masks(g, n, i) && !is_finite(g, n->inputs[i], &steps)) return false;
    return true;
}

/* p * x, or nothing where x is 0. */
static itg_id put_chosen(itg_expansion *e, const char *suffix, itg_id p, itg_id x)
{
    double number;
    if (e->status != ITG_OK || (itg_is_scalar(e->g, x, &number) && number == 0)) return ITG_NONE;
    return itg_put_simple(e, suffix, ITG_OP_MUL, p, x);
}

static void expand_where(itg_expansion *e)
{
    const itg_shape shape = itg_shape_at(e, e->node.outputs[0]);
    itg_id p = truth(e, 0), x = itg_expanded_input(e, 1), y = itg_expanded_input(e, 2);
    itg_id q = put_not(e, p);
    if (masks(e->g, &e->node, 1)) {
        x = itg_put_simple(e, "hidden", ITG_OP_MUL, p,
                           itg_put_number(e, "mask", (double)ITG_MASKED));
    } else if (masks(e->g, &e->node, 2)) {
        y = itg_put_simple(e, "hidden", ITG_OP_MUL, q,
                           itg_put_number(e, "mask", (double)ITG_MASKED));
    } else {
        x = put_chosen(e, "then", p, x);
        y = put_chosen(e, "else", q, y);
    }
    itg_id out = x == ITG_NONE   ? y
                 : y == ITG_NONE ? x
                                 : itg_put_simple(e, "where", ITG_OP_ADD, x, y);
    if (out == ITG_NONE)
        out = itg_put_simple(e, "zero", ITG_OP_MUL, p, itg_put_number(e, "none", 0));
    if (e->status == ITG_OK && !itg_shape_equal(&e->g->values[out].shape, &shape))
        out = itg_put(e, &(itg_put_op){.suffix = "whole", .op = ITG_OP_EXPAND, .shape = &shape}, 1,
                      &out);
    itg_expanded_output(e, 0, out);
}

/* ---- rows ---- */

/* A permutation that exchanges the axis and the last dimension. */
static itg_id exchanged(itg_expansion *e, const char *suffix, itg_id x, int64_t axis)
{
    int64_t perm[ITG_MAX_RANK];
    if (e->status != ITG_OK) return ITG_NONE;
    const int32_t last = e->g->values[x].shape.rank - 1;
    for (int32_t d = 0; d <= last; d++)
        perm[d] = d == axis ? last : d == last ? axis : d;
    return axis == last ? x : itg_put_transpose(e, suffix, x, perm);
}

/* [n,n] of ones where `is`(row - column), else zeros. */
static itg_id put_matrix(itg_expansion *e, int64_t n, int64_t least, int64_t most)
{
    itg_id out;
    float *m = itg_put_floats(e, "matrix", (itg_shape){2, {n, n}}, &out);
    for (int64_t i = 0; m && i < n * n; i++)
        m[i] = i % n - i / n >= least && i % n - i / n <= most;
    return out;
}

static int64_t axis_of(const itg_graph *g, const itg_node *n)
{
    const itg_value *at = n->op == ITG_OP_CUM_SUM ? &g->values[n->inputs[1]] : NULL;
    int64_t axis = n->attrs.axis;
    if (at) axis = at->dtype == ITG_S32 ? *(const int32_t *)at->data : *(const int64_t *)at->data;
    return axis < 0 ? axis + g->values[n->inputs[0]].shape.rank : axis;
}

static bool has_row(const itg_graph *g, const itg_node *n)
{
    if (n->op == ITG_OP_CUM_SUM && (!g->values[n->inputs[1]].data || n->opset != 0)) return false;
    const itg_shape *x = &g->values[n->inputs[0]].shape;
    const int64_t axis = axis_of(g, n);
    return axis >= 0 && axis < x->rank && x->dims[axis] <= MOST_ROW && n->opset == 0 &&
           itg_value_elements(g, n->inputs[0]) > 0;
}

/* y[j] is the sum of x[i] with j - i in [0 or 1, n], or with `reverse` of those behind it. */
static void expand_cumulative(itg_expansion *e)
{
    const itg_attrs *a = &e->node.attrs;
    const int64_t axis = axis_of(e->g, &e->node), first = a->exclusive ? 1 : 0;
    itg_id x = exchanged(e, "rows", itg_expanded_input(e, 0), axis);
    const int64_t n = itg_shape_at(e, itg_expanded_input(e, 0)).dims[axis];
    const itg_id m = a->reverse ? put_matrix(e, n, -n, -first) : put_matrix(e, n, first, n);
    if (e->status == ITG_OK && e->g->values[x].shape.rank == 1) {
        x = itg_put_reshape(e, "row", x, (itg_shape){2, {1, n}});
        x = itg_put_simple(e, "sums", ITG_OP_MATMUL, x, m);
        itg_expanded_output(e, 0, itg_put_reshape(e, "shape", x, (itg_shape){1, {n}}));
        return;
    }
    x = itg_put_simple(e, "sums", ITG_OP_MATMUL, x, m);
    itg_expanded_output(e, 0, exchanged(e, "order", x, axis));
}

static itg_id put_arg_max(itg_expansion *e, itg_id x, int64_t axis, bool keepdims)
{
    itg_attrs attrs = itg_attrs_default(ITG_OP_ARG_MAX);
    attrs.axis = axis;
    attrs.keepdims = keepdims;
    return itg_put(e, &(itg_put_op){.suffix = "place", .op = ITG_OP_ARG_MAX, .attrs = &attrs}, 1,
                   &x);
}

static void expand_hardmax(itg_expansion *e)
{
    const int64_t axis = axis_of(e->g, &e->node);
    const int64_t n = itg_shape_at(e, itg_expanded_input(e, 0)).dims[axis];
    itg_id x = exchanged(e, "rows", itg_expanded_input(e, 0), axis);
    if (e->status == ITG_OK) x = put_arg_max(e, x, e->g->values[x].shape.rank - 1, false);
    x = itg_put_simple(e, "row", ITG_OP_GATHER, put_matrix(e, n, 0, 0), x);
    itg_expanded_output(e, 0, exchanged(e, "order", x, axis));
}

/* Of one element: the greatest, or the least. */
static bool takes_one(const itg_graph *g, const itg_node *n)
{
    if (n->input_count != 2 || !g->values[n->inputs[1]].data || !has_row(g, n)) return false;
    return *(const int64_t *)g->values[n->inputs[1]].data == 1;
}

static void expand_top(itg_expansion *e)
{
    const bool least = !e->node.attrs.largest;
    const int64_t axis = axis_of(e->g, &e->node);
    itg_id x = itg_expanded_input(e, 0);
    if (least) x = one(e, "negative", ITG_OP_NEG, x);
    if (itg_wants_output(e, 0)) {
        itg_attrs attrs = itg_attrs_default(ITG_OP_REDUCE_MAX);
        attrs.axes_count = 1;
        attrs.axes[0] = axis;
        itg_id top = itg_put(
            e, &(itg_put_op){.suffix = "top", .op = ITG_OP_REDUCE_MAX, .attrs = &attrs}, 1, &x);
        itg_expanded_output(e, 0, least ? one(e, "least", ITG_OP_NEG, top) : top);
    }
    if (e->node.output_count > 1 && itg_wants_output(e, 1))
        itg_expanded_output(e, 1, put_arg_max(e, x, axis, true));
}

static void expand_mean_variance(itg_expansion *e)
{
    const itg_attrs *a = &e->node.attrs;
    const itg_shape x = itg_shape_at(e, itg_expanded_input(e, 0));
    int64_t perm[ITG_MAX_RANK], back[ITG_MAX_RANK], n = 1;
    int32_t at = 0;
    itg_shape moved = {x.rank, {0}};
    for (int pass = 0; pass < 2; pass++)
        for (int32_t d = 0; d < x.rank; d++) {
            bool reduced = false;
            for (int32_t i = 0; i < a->axes_count; i++)
                reduced |= a->axes[i] == d;
            if (reduced != (pass == 1)) continue;
            n *= reduced ? x.dims[d] : 1;
            back[d] = at;
            moved.dims[at] = x.dims[d];
            perm[at++] = d;
        }
    itg_attrs attrs = itg_attrs_default(ITG_OP_LAYER_NORMALIZATION);
    attrs.axis = 1;
    attrs.epsilon = 1e-18f; /* the square of ONNX's, which stands beside the root */
    itg_id y = itg_put_transpose(e, "last", itg_expanded_input(e, 0), perm);
    y = itg_put_reshape(e, "rows", y,
                        (itg_shape){2, {itg_value_elements(e->g, e->node.inputs[0]) / n, n}});
    y = itg_put(e,
                &(itg_put_op){.suffix = "norm", .op = ITG_OP_LAYER_NORMALIZATION, .attrs = &attrs},
                2, (itg_id[]){y, itg_put_ones(e, n)});
    y = itg_put_reshape(e, "moved", y, moved);
    itg_expanded_output(e, 0, itg_put_transpose(e, "order", y, back));
}

/* ---- Pow ---- */

static bool is_power(const itg_graph *g, const itg_node *n)
{
    double exponent;
    return itg_has_scalar(g, n, &exponent) && isfinite(exponent) &&
           itg_shape_equal(&g->values[n->inputs[0]].shape, &g->values[n->outputs[0]].shape);
}

static void expand_power(itg_expansion *e)
{
    itg_attrs attrs = itg_attrs_default(ITG_OP_POWER);
    attrs.alpha = itg_floats(e->g, e->node.inputs[1])[0];
    const itg_id x = itg_expanded_input(e, 0);
    itg_expanded_output(
        e, 0,
        itg_put(e, &(itg_put_op){.suffix = "power", .op = ITG_OP_POWER, .attrs = &attrs}, 1, &x));
}

/* ---- which ---- */

itg_expand_fn *itg_find_choice(const itg_graph *g, itg_id node)
{
    double number;
    const itg_node *n = &g->nodes[node];
    if (n->input_count < 1 || n->inputs[0] == ITG_NONE) return NULL;
    const bool varies = itg_is_float_activation(g, n->inputs[0]);
    switch (n->op) {
    case ITG_OP_MAX:
    case ITG_OP_MIN:
        if (n->input_count < 2 || !has_floats(g, n)) return NULL;
        return number_slot(g, n, &number) >= 0 ? expand_bound : expand_extreme;
    case ITG_OP_GREATER:
    case ITG_OP_GREATER_OR_EQUAL:
    case ITG_OP_LESS:
    case ITG_OP_LESS_OR_EQUAL:
    case ITG_OP_EQUAL:
        return has_floats(g, n) ? expand_comparison : NULL;
    case ITG_OP_NOT:
        return truth_of(g, n->inputs[0]) != ITG_NONE ? expand_logic : NULL;
    case ITG_OP_AND:
    case ITG_OP_OR:
    case ITG_OP_XOR:
        return truth_of(g, n->inputs[0]) != ITG_NONE && truth_of(g, n->inputs[1]) != ITG_NONE
                   ? expand_logic
                   : NULL;
    case ITG_OP_CAST:
        return n->attrs.to == ITG_F32 && truth_of(g, n->inputs[0]) != ITG_NONE ? expand_cast : NULL;
    case ITG_OP_WHERE:
        return can_choose(g, n) ? expand_where : NULL;
    case ITG_OP_CUM_SUM:
        return varies && has_row(g, n) ? expand_cumulative : NULL;
    case ITG_OP_HARDMAX:
        return varies && has_row(g, n) ? expand_hardmax : NULL;
    case ITG_OP_TOP_K:
        return varies && takes_one(g, n) ? expand_top : NULL;
    case ITG_OP_MEAN_VARIANCE_NORMALIZATION:
        return varies && n->attrs.axes_count > 0 ? expand_mean_variance : NULL;
    case ITG_OP_POW:
        return varies && is_power(g, n) ? expand_power : NULL;
    default:
        return NULL;
    }
}
