/* Requantization constants of integer nodes without weights (docs/arithmetic.md 3, 4). */
#include "sim/annotate.h"
#include "kernels/math.h"

static const itg_quantizer *input_quantizer(annotate *x, itg_id node, int32_t slot)
{
    return &itg_annotated_encoding(x->a, node, slot)->q;
}

int64_t annotate_code_bound(const itg_quantizer *q)
{
    int64_t up = q->qmax - q->zero_point, down = q->zero_point - q->qmin;
    return up > down ? up : down;
}

int64_t annotate_saturating_product(int64_t a, int64_t b)
{
    return a != 0 && b > INT64_MAX / a ? INT64_MAX : a * b;
}

static itg_status derive(annotate *x, itg_id node, const annotate_native *from,
                         const itg_encoding *encoding, itg_requant *out)
{
    const itg_hw_spec *spec = x->spec[node];
    itg_requant_spec f32 = {.form = ITG_REQUANT_F32};
    const itg_requant_spec *form = spec->requant >= 0 && spec->form != ITG_FORM_F32
                                       ? &x->hw->requants[spec->requant].spec
                                       : &f32;
    double ratio = from->scale / (double)encoding->q.scale[0];
    float ratio_f32 = from->is_product ? from->float_scale / encoding->q.scale[0] : (float)ratio;
    if (from->divisor > 0) {
        float divided = encoding->q.scale[0] * from->divisor;
        ratio_f32 = input_quantizer(x, node, 0)->scale[0] / divided;
    }
    if (itg_requant_derive(form, ratio, ratio_f32, from->bound, out) == ITG_OK) return ITG_OK;
    return annotate_fail(x, node, ITG_INFEASIBLE,
                         "requantization cannot hold the ratio of its scales");
}

/* Fills an encoding from `count` native results (pools: one for each window count). */
static itg_status set_encoding(annotate *x, itg_id node, itg_encoding *encoding,
                               const annotate_native *from, int32_t count)
{
    if (encoding->is_float) {
        float *dequant = itg_arena_array(x->a->arena, (size_t)count, sizeof *dequant);
        if (!dequant) return itg_no_memory(x->err);
        for (int32_t i = 0; i < count; i++)
            dequant[i] = from[i].float_scale;
        encoding->dequant = dequant;
        encoding->dequant_count = count;
        return ITG_OK;
    }
    itg_requant *requant = itg_arena_array(x->a->arena, (size_t)count, sizeof *requant);
    if (!requant) return itg_no_memory(x->err);
    for (int32_t i = 0; i < count; i++) {
        itg_status status = derive(x, node, &from[i], encoding, &requant[i]);
        if (status != ITG_OK) return status;
    }
    encoding->requant = requant;
    encoding->requant_count = count;
    itg_op op = x->g->nodes[node].op;
    annotate_clamp(x->g, itg_op_is(op, ITG_IS_CLAMP) ? node : x->a->nodes[node].activation,
                   encoding);
    return ITG_OK;
}

itg_status annotate_outputs(annotate *x, itg_id node, const annotate_native *from, int32_t count)
{
    itg_value_note *outputs = &x->a->values[x->a->nodes[node].out_value];
    itg_status status = ITG_OK;
    for (int32_t v = 0; v < outputs->encoding_count && status == ITG_OK; v++)
        status = set_encoding(x, node, &outputs->encodings[v], from, count);
    return status;
}

/* Bounds a matrix product of two activations, and splits sums that might not fit. */
static itg_status set_terms(annotate *x, itg_id node, const itg_quantizer *a,
                            const itg_quantizer *b, annotate_native *from)
{
    const itg_value *left = &x->g->values[x->g->nodes[node].inputs[0]];
    const itg_hw_spec *spec = x->spec[node];
    int64_t terms = left->shape.dims[left->shape.rank - 1], most = itg_accumulator_max(spec->acc);
    int64_t corner[4] = {(a->qmin - a->zero_point) * (b->qmin - b->zero_point),
                         (a->qmin - a->zero_point) * (b->qmax - b->zero_point),
                         (a->qmax - a->zero_point) * (b->qmin - b->zero_point),
                         (a->qmax - a->zero_point) * (b->qmax - b->zero_point)};
    annotate_sum sum = {.channels = 1, .terms = terms};
    for (int i = 0; i < 4; i++) {
        if (corner[i] < sum.lo) sum.lo = corner[i];
        if (corner[i] > sum.hi) sum.hi = corner[i];
    }
    from->bound = annotate_saturating_product(from->bound, terms);
    if (!spec->split.allowed || (annotate_saturating_product(sum.hi, terms) <= most &&
                                 annotate_saturating_product(-sum.lo, terms) - 1 <= most))
        return ITG_OK;
    itg_status status = annotate_split(x, node, &sum, &from->bound);
    if (status != ITG_OK) return status;
    int shift = (int)x->a->nodes[node].split.shift[0];
    from->scale = itg_ldexp(from->scale, shift);
    from->float_scale = (float)itg_ldexp((double)from->float_scale, shift);
    return ITG_OK;
}

static itg_status annotate_product(annotate *x, itg_id node)
{
    const itg_quantizer *a = input_quantizer(x, node, 0), *b = input_quantizer(x, node, 1);
    annotate_native from = {
        (double)a->scale[0] * (double)b->scale[0], a->scale[0] * b->scale[0], true,
        annotate_saturating_product(annotate_code_bound(a), annotate_code_bound(b)), 0};
    if (from.bound > INT64_MAX / 2)
        return annotate_fail(x, node, ITG_INFEASIBLE,
                             "a product of its operands' codes exceeds 63 bits");
    itg_status status = ITG_OK;
    if (x->spec[node]->form == ITG_FORM_MAC) status = set_terms(x, node, a, b, &from);
    return status == ITG_OK ? annotate_outputs(x, node, &from, 1) : status;
}

static itg_status annotate_rescale_add(annotate *x, itg_id node)
{
    const itg_quantizer *q[2] = {input_quantizer(x, node, 0), input_quantizer(x, node, 1)};
    itg_node_note *note = &x->a->nodes[node];
    double sa = (double)q[0]->scale[0], sb = (double)q[1]->scale[0];
    double twice_max = 2 * (sa > sb ? sa : sb);
    int64_t bound = 0;
    for (int i = 0; i < 2; i++) {
        double ratio = (double)q[i]->scale[0] / twice_max;
        int64_t operand_bound =
            annotate_saturating_product(annotate_code_bound(q[i]), (int64_t)1 << note->left_shift);
        /* Keeps the sum of two rescaled operands from overflowing; each is at most about half of
         * this. */
        if (operand_bound > INT64_MAX / 2)
            return annotate_fail(x, node, ITG_INFEASIBLE,
                                 "its operands shifted left exceed 63 bits");
        if (itg_requant_derive(&x->hw->requants[x->spec[node]->requant].spec, ratio, (float)ratio,
                               operand_bound, &note->operand[i]) != ITG_OK)
            return annotate_fail(x, node, ITG_INFEASIBLE,
                                 "requantization cannot hold the ratio of its operands' scales");
        bound += itg_requant_apply(&note->operand[i], operand_bound) + 1;
    }
    double scale = itg_ldexp(twice_max, -note->left_shift);
    annotate_native from = {scale, (float)scale, false, bound, 0};
    return annotate_outputs(x, node, &from, 1);
}

static itg_status annotate_one_scale(annotate *x, itg_id node, int64_t terms)
{
    const itg_quantizer *q = input_quantizer(x, node, 0);
    annotate_native from = {(double)q->scale[0], q->scale[0], false,
                            annotate_saturating_product(annotate_code_bound(q), terms), 0};
    return annotate_outputs(x, node, &from, 1);
}

/* Sets the clamps of form F32, which has no other constants. */
static itg_status annotate_f32(annotate *x, itg_id node)
{
    itg_value_note *outputs = &x->a->values[x->a->nodes[node].out_value];
    if (x->g->nodes[node].op == ITG_OP_MUL &&
        annotate_saturating_product(annotate_code_bound(input_quantizer(x, node, 0)),
                                    annotate_code_bound(input_quantizer(x, node, 1))) >
            INT64_MAX / 2)
        return annotate_fail(x, node, ITG_INFEASIBLE,
                             "a product of its operands' codes exceeds 63 bits");
    for (int32_t v = 0; v < outputs->encoding_count; v++)
        if (!outputs->encodings[v].is_float)
            annotate_clamp(x->g, x->a->nodes[node].activation, &outputs->encodings[v]);
    return ITG_OK;
}

/* ---- pools ---- */

/* Finds the largest count of a window, and whether counts differ between windows. */
static void pool_counts(const itg_graph *g, const itg_node *node, int64_t *largest, bool *differ)
{
    const itg_value *in = &g->values[node->inputs[0]], *out = &g->values[node->outputs[0]];
    int64_t all = 0, left = 0;
    *differ = false;
    if (node->op == ITG_OP_AVERAGE_POOL) {
        const itg_attrs *p = &node->attrs;
        *largest = p->kernel[0] * p->kernel[1];
        *differ = p->pad[0] || p->pad[1] || p->pad[2] || p->pad[3] || p->ceil_mode;
    } else {
        itg_shape_elements(&in->shape, &all);
        itg_shape_elements(&out->shape, &left);
        *largest = left > 0 ? all / left : 1;
    }
}

static itg_status annotate_pool(annotate *x, itg_id node)
{
    const itg_quantizer *q = input_quantizer(x, node, 0);
    int64_t largest = 1;
    bool differ = false;
    pool_counts(x->g, &x->g->nodes[node], &largest, &differ);
    int32_t count = differ ? (int32_t)largest : 1;
    annotate_native *from = itg_arena_array(x->a->arena, (size_t)count, sizeof *from);
    if (!from) return itg_no_memory(x->err);
    for (int32_t i = 0; i < count; i++) {
        int64_t elements = differ ? i + 1 : largest;
        double scale = (double)q->scale[0] / (double)elements;
        from[i] = (annotate_native){scale, (float)scale, false,
                                    annotate_saturating_product(annotate_code_bound(q), elements),
                                    x->spec[node]->form == ITG_FORM_F32 ? (float)elements : 0};
    }
    return annotate_outputs(x, node, from, count);
}

/* Sets the scale of float encodings. Codes are kept or looked up, so nothing else is needed. */
static itg_status annotate_codes(annotate *x, itg_id node)
{
    const itg_node *n = &x->g->nodes[node];
    const float *scale = input_quantizer(x, node, 0)->scale;
    for (int32_t i = 0; i < n->output_count; i++) {
        if (n->outputs[i] == ITG_NONE) continue;
        itg_value_note *outputs = &x->a->values[n->outputs[i]];
        for (int32_t v = 0; v < outputs->encoding_count; v++) {
            if (!outputs->encodings[v].is_float) continue;
            outputs->encodings[v].dequant = scale;
            outputs->encodings[v].dequant_count = 1;
        }
    }
    return ITG_OK;
}

itg_status annotate_epilogue(annotate *x, itg_id node)
{
    itg_op op = x->g->nodes[node].op;
    switch (x->a->nodes[node].form) {
    case ITG_FORM_MAC:
    case ITG_FORM_PRODUCT:
        return annotate_product(x, node);
    case ITG_FORM_EQUAL:
        return annotate_one_scale(x, node, 2);
    case ITG_FORM_F32:
        return annotate_f32(x, node);
    case ITG_FORM_SOFTMAX:
    case ITG_FORM_TFLITE_SOFTMAX:
        return annotate_softmax(x, node);
    case ITG_FORM_LAYER_NORM:
        return annotate_layer_norm(x, node);
    case ITG_FORM_RESCALE:
        if (op == ITG_OP_ADD || op == ITG_OP_SUB) return annotate_rescale_add(x, node);
        if (itg_op_is(op, ITG_IS_CLAMP)) return annotate_one_scale(x, node, 1);
        return annotate_pool(x, node);
    default:
        return annotate_codes(x, node);
    }
}
