/* Constant masks. Where(mask, 0, x) becomes Mul by ones and zeros, unless x may be NaN, as behind a
 * Softmax of a row that a mask of -inf hides completely. In front of a Softmax, Where(mask, scores,
 * -inf) becomes Add of ITG_MASKED = -128, and constants that are added there are limited to -128.
 * Behind the Softmax a masked score is 0 in float32 if the scores of its row differ by less than
 * 24, and almost 0 if they differ by less than 100. A larger number would leave no codes for the
 * scores where the sum is quantized. */
#include <math.h>
#include "written_out.h"

/* Whether the only reader of a value is a Softmax along the last axis. */
static bool is_softmaxed(const itg_graph *g, itg_id value)
{
    const itg_id reader = itg_graph_only_reader(g, value);
    if (reader == ITG_NONE) return false;
    const itg_node *n = &g->nodes[reader];
    return n->op == ITG_OP_SOFTMAX && n->opset == 0 &&
           n->attrs.axis == g->values[value].shape.rank - 1;
}

/* Whether the mask shows an element of each row: -128 in a whole row would not hide it. */
static bool hides_no_row(const float *mask, int64_t count, int64_t row)
{
    for (int64_t i = 0; i < count; i += row) {
        int64_t hidden = 0;
        for (int64_t j = i; j < i + row; ++j)
            hidden += mask[j] <= ITG_MASKED;
        if (hidden == row) return false;
    }
    return true;
}

static int64_t row_of(const itg_shape *shape)
{
    return shape->rank > 0 && shape->dims[shape->rank - 1] > 0 ? shape->dims[shape->rank - 1] : 1;
}

static itg_status limit_mask(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    const itg_id mask = g->nodes[node].inputs[1];
    const float *from = itg_floats(g, mask);
    const itg_shape shape = g->values[mask].shape;
    const int64_t count = itg_value_elements(g, mask);
    bool deep = false;
    for (int64_t i = 0; i < count; ++i)
        deep |= from[i] < ITG_MASKED;
    if (!deep || !hides_no_row(from, count, row_of(&shape))) return ITG_OK;
    float *to;
    itg_status status = itg_own_floats(g, node, 1, &shape, &to, err);
    for (int64_t i = 0; i < count && status == ITG_OK; ++i)
        to[i] = from[i] < ITG_MASKED ? ITG_MASKED : from[i];
    *changed = true;
    return status;
}

/* Finds the operand (1 or 2) of a Where with constant condition that is a scalar, while the other
 * one varies and has the result's shape. Returns 0 if there is none. */
static int number_operand(const itg_graph *g, const itg_node *n, double *number)
{
    if (!itg_graph_is_constant(g, n->inputs[0])) return 0;
    for (int i = 1; i < 3; ++i) {
        const itg_id other = n->inputs[3 - i];
        if (itg_is_scalar(g, n->inputs[i], number) && !itg_graph_is_constant(g, other) &&
            itg_shape_equal(&g->values[other].shape, &g->values[n->outputs[0]].shape))
            return i;
    }
    return 0;
}

/* Makes the node op(what varies, a constant of `hidden` and `shown`). */
static itg_status combine(itg_graph *g, itg_id node, itg_op op, int hides, float hidden,
                          float shown, bool *changed, itg_error *err)
{
    const itg_node *n = &g->nodes[node];
    const itg_id varies = n->inputs[3 - hides], condition = n->inputs[0];
    const itg_shape shape = g->values[condition].shape;
    const unsigned char *is = g->values[condition].data;
    float *mask;
    itg_id added;
    itg_status status = itg_new_floats(g, n->name, "mask", &shape, &added, &mask, err);
    if (status != ITG_OK) return status;
    const int64_t count = itg_value_elements(g, condition);
    for (int64_t i = 0; i < count; ++i)
        mask[i] = (is[i] != 0) == (hides == 1) ? hidden : shown;
    if (op == ITG_OP_ADD && !hides_no_row(mask, count, row_of(&shape)))
        return ITG_OK; /* sort drops the constant */
    itg_become(g, node, op);
    *changed = true;
    return itg_graph_set_node_inputs(g, node, (const itg_id[]){varies, added}, 2, err);
}

static bool has_infinity(const itg_graph *g, itg_id value)
{
    if (!itg_is_float_constant(g, value)) return false;
    const float *numbers = itg_floats(g, value);
    const int64_t count = itg_value_elements(g, value);
    for (int64_t i = 0; i < count; ++i)
        if (isinf(numbers[i])) return true;
    return false;
}

/* Whether a value is a Softmax, perhaps after views and casts, of a sum with an infinite constant.
 * limit_mask has already limited the masks that hide no whole row. */
static bool may_be_nan(const itg_graph *g, itg_id value)
{
    bool softmax = false;
    while (value != ITG_NONE && g->values[value].producer != ITG_NONE) {
        const itg_node *n = &g->nodes[g->values[value].producer];
        if (softmax && n->op == ITG_OP_ADD)
            return has_infinity(g, n->inputs[0]) || has_infinity(g, n->inputs[1]);
        if (n->op == ITG_OP_SOFTMAX)
            softmax = true;
        else if (n->op != ITG_OP_CAST && !itg_op_is(n->op, ITG_IS_VIEW))
            return false;
        value = n->inputs[0];
    }
    return false;
}

static itg_status replace_where(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    double number;
    const int hides = number_operand(g, &g->nodes[node], &number);
    if (hides == 0) return ITG_OK;
    if (number == 0.0 && may_be_nan(g, g->nodes[node].inputs[3 - hides])) return ITG_OK;
    if (number == 0.0) return combine(g, node, ITG_OP_MUL, hides, 0.0f, 1.0f, changed, err);
    if (number > (double)ITG_MASKED || !is_softmaxed(g, g->nodes[node].outputs[0])) return ITG_OK;
    return combine(g, node, ITG_OP_ADD, hides, ITG_MASKED, 0.0f, changed, err);
}

itg_status itg_pass_mask(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    const itg_node *n = &g->nodes[node];
    if (n->output_count < 1 || n->outputs[0] == ITG_NONE ||
        g->values[n->outputs[0]].dtype != ITG_F32)
        return ITG_OK;
    if (n->op == ITG_OP_WHERE) return replace_where(g, node, changed, err);
    const bool masks = n->op == ITG_OP_ADD && n->input_count == 2 &&
                       itg_is_float_constant(g, n->inputs[1]) && is_softmaxed(g, n->outputs[0]);
    return masks ? limit_mask(g, node, changed, err) : ITG_OK;
}
