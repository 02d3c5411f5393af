/* Constants of the forms softmax and layer_norm (docs/arithmetic.md 3.4, 3.5). They are chosen so
 * that no integer exceeds 62 bits and the native result fits the accumulator. */
#include "kernels/math.h"
#include "sim/annotate.h"

#define MOST_FRACTION 30     /* of exponentials and of probabilities */
#define LEAST_FRACTION 16    /* of exponentials */
#define TFLITE_FRACTION 16   /* of probabilities in gemmlowp's fixed point */
#define TFLITE_MOST_ROW 4095 /* terms of at most 2^19 have a sum below 2^31 */
#define TFLITE_LEAST_SCALE 0x1p-26f
#define NORM_FRACTION 20            /* of normalized elements, at most */
#define LEAST_NORM_FRACTION 8       /* at least */
#define MOST_ROW (INT64_C(1) << 20) /* elements of a normalized row */
#define LARGEST (INT64_C(1) << 61)
#define GAIN_BITS 16

int64_t annotate_row(const itg_graph *g, itg_id node)
{
    const itg_node *n = &g->nodes[node];
    const itg_shape *x = &g->values[n->inputs[0]].shape;
    const int32_t axis = (int32_t)n->attrs.axis;
    return n->op == ITG_OP_SOFTMAX ? x->dims[axis] : itg_dims_product(x, axis, x->rank);
}

/* 8 bits after the point where that is what every output wants, as TensorFlow Lite has it. */
static int32_t tflite_fraction(const annotate *x, itg_id node)
{
    const itg_value_note *outputs = &x->a->values[x->a->nodes[node].out_value];
    for (int32_t i = 0; i < outputs->encoding_count; i++)
        if (outputs->encodings[i].is_float || outputs->encodings[i].q.scale[0] != 0x1p-8f)
            return TFLITE_FRACTION;
    return TFLITE_FRACTION / 2;
}

static itg_status annotate_tflite_softmax(annotate *x, itg_id node)
{
    itg_node_note *note = &x->a->nodes[node];
    note->fraction = tflite_fraction(x, node);
    const double unit = itg_ldexp(1.0, -note->fraction);
    const annotate_native from = {unit, (float)unit, false, INT64_C(1) << note->fraction, 0};
    return annotate_outputs(x, node, &from, 1);
}

itg_status annotate_softmax(annotate *x, itg_id node)
{
    const itg_quantizer *q = &itg_annotated_encoding(x->a, node, 0)->q;
    itg_node_note *note = &x->a->nodes[node];
    const int64_t n = annotate_row(x->g, node), most = itg_accumulator_max(note->acc);
    if (note->form == ITG_FORM_TFLITE_SOFTMAX && n <= TFLITE_MOST_ROW &&
        q->scale[0] >= TFLITE_LEAST_SCALE)
        return annotate_tflite_softmax(x, node);
    note->form = ITG_FORM_SOFTMAX;
    if (q->qmax - q->qmin > UINT16_MAX)
        return annotate_fail(x, node, ITG_INFEASIBLE, "its input has more than 2^16 codes");
    note->fraction = MOST_FRACTION;
    while (note->fraction >= LEAST_FRACTION && n > most >> note->fraction)
        note->fraction--;
    if (note->fraction < LEAST_FRACTION)
        return annotate_fail(x, node, ITG_INFEASIBLE,
                             "its accumulator does not hold the sum of a row");
    const double unit = itg_ldexp(1.0, -MOST_FRACTION);
    const annotate_native from = {unit, (float)unit, false, INT64_C(1) << MOST_FRACTION, 0};
    return annotate_outputs(x, node, &from, 1);
}

/* ---- layer_norm ---- */

int64_t annotate_epsilon(const itg_graph *g, itg_id node, const itg_quantizer *q)
{
    const int64_t n = annotate_row(g, node), widest = annotate_code_bound(q);
    const double epsilon = (double)g->nodes[node].attrs.epsilon, scale = (double)q->scale[0];
    if (n > MOST_ROW || n * n > LARGEST / (widest * widest)) return 0;
    const double units = epsilon * (double)(n * n) / (scale * scale);
    if (!(units <= (double)LARGEST)) return 0;
    return units < 1 ? 1 : (int64_t)itg_round_half_even(units);
}

int64_t annotate_normalized_bound(int64_t n, int32_t fraction)
{
    return itg_floor_sqrt(n << 2 * fraction) + 4;
}

/* Returns parameter `slot`, broadcast to the normalized dimensions, at element i of a row. */
static double parameter(const itg_graph *g, itg_id node, int32_t slot, int64_t i)
{
    const itg_node *n = &g->nodes[node];
    const itg_shape *x = &g->values[n->inputs[0]].shape;
    const itg_value *p = &g->values[n->inputs[slot]];
    int64_t at = 0, step = 1;
    for (int32_t d = x->rank - 1, k = p->shape.rank - 1; d >= n->attrs.axis; d--, k--) {
        const int64_t here = i % x->dims[d], extent = k < 0 ? 1 : p->shape.dims[k];
        at += extent == 1 ? 0 : here * step;
        step *= extent;
        i /= x->dims[d];
    }
    return (double)((const float *)p->data)[at];
}

/* Computes the codes of Scale and their scale. */
static itg_status set_gain(annotate *x, itg_id node, int64_t n, float *scale)
{
    const itg_quantizer q = {.bits = GAIN_BITS, .is_signed = true};
    const int64_t top = INT16_MAX;
    int16_t *gain = itg_arena_array(x->a->arena, (size_t)n, sizeof *gain);
    double t = 0;
    if (!gain) return itg_no_memory(x->err);
    for (int64_t i = 0; i < n; i++) {
        const double g = parameter(x->g, node, 1, i);
        t = g > t ? g : -g > t ? -g : t;
    }
    if (t > LARGEST) return annotate_fail(x, node, ITG_INFEASIBLE, "its Scale is beyond 2^61");
    *scale = annotate_weight_scale(&q, t, x->hw->power_of_two_scales);
    if (*scale == 0) *scale = 1;
    for (int64_t i = 0; i < n; i++)
        gain[i] =
            (int16_t)itg_quantize_f32((float)parameter(x->g, node, 1, i), *scale, 0, -top, top);
    x->a->nodes[node].gain = gain;
    x->a->nodes[node].gain_count = (int32_t)n;
    return ITG_OK;
}

/* Computes the bias at the scale of the native result, and the bound. False: it does not fit. */
static bool set_bias(annotate *x, itg_id node, double unit, int64_t *bias, int64_t *bound)
{
    const itg_node_note *note = &x->a->nodes[node];
    const itg_node *op = &x->g->nodes[node];
    const bool has_bias = op->input_count > 2 && op->inputs[2] != ITG_NONE;
    const int64_t element = annotate_normalized_bound(note->gain_count, note->fraction);
    *bound = 0;
    for (int64_t i = 0; i < note->gain_count; i++) {
        const double exact = has_bias ? parameter(x->g, node, 2, i) / unit : 0;
        if (!(exact < LARGEST && exact > -LARGEST)) return false;
        bias[i] = (int64_t)itg_round_half_even(exact);
        const int64_t gain = note->gain[i], size = bias[i] < 0 ? -bias[i] : bias[i];
        const int64_t most = size + element * (gain < 0 ? -gain : gain);
        if (most > *bound) *bound = most;
    }
    return *bound <= itg_accumulator_max(note->acc);
}

/* Chooses the most fraction bits that the accumulator has room for. */
static itg_status set_fraction(annotate *x, itg_id node, float scale, annotate_native *from)
{
    itg_node_note *note = &x->a->nodes[node];
    int64_t *bias = itg_arena_array(x->a->arena, (size_t)note->gain_count, sizeof *bias);
    if (!bias) return itg_no_memory(x->err);
    note->bias = bias;
    note->bias_count = note->gain_count;
    for (note->fraction = NORM_FRACTION; note->fraction >= LEAST_NORM_FRACTION; note->fraction--) {
        from->scale = itg_ldexp((double)scale, -note->fraction);
        from->float_scale = (float)from->scale;
        if (set_bias(x, node, from->scale, bias, &from->bound)) return ITG_OK;
    }
    return annotate_fail(x, node, ITG_INFEASIBLE, "its accumulator does not hold a scaled element");
}

itg_status annotate_layer_norm(annotate *x, itg_id node)
{
    const itg_quantizer *q = &itg_annotated_encoding(x->a, node, 0)->q;
    float scale = 1;
    x->a->nodes[node].epsilon = annotate_epsilon(x->g, node, q);
    if (x->a->nodes[node].epsilon == 0)
        return annotate_fail(x, node, ITG_INFEASIBLE,
                             "its rows are too long, or its epsilon is too large beside its "
                             "input's scale, for 62 bits");
    annotate_native from = {0};
    itg_status status = set_gain(x, node, annotate_row(x->g, node), &scale);
    if (status == ITG_OK) status = set_fraction(x, node, scale, &from);
    return status == ITG_OK ? annotate_outputs(x, node, &from, 1) : status;
}
