/* Checks the operands of each kind of step. */
#include "realize/check_step.h"
#include "realize/geometry.h"
#include "realize/shapes.h"
#include <math.h>
#include <stdlib.h>

#define MAX_OUTPUTS 256 /* encodings of one result */
#define MAX_TABLE_SHIFT 14

typedef itg_status (*check_fn)(const itg_program *p, const itg_step *s, itg_error *err);

static const itg_pvalue *input(const itg_program *p, const itg_step *s, int32_t i)
{
    return &p->values[s->inputs[i]];
}
static const itg_pvalue *output(const itg_program *p, const itg_step *s, int32_t i)
{
    return &p->values[s->outputs[i]];
}

static itg_status bad(itg_error *err, const char *what)
{
    return itg_fail(err, ITG_MISMATCH, "%s", what);
}

/* Checks that all outputs are encodings of one native result. */
static itg_status check_versions(const itg_program *p, const itg_step *s, itg_error *err)
{
    for (int32_t i = 1; i < s->output_count; i++)
        if (!itg_shape_equal(&output(p, s, 0)->shape, &output(p, s, i)->shape))
            return bad(err, "encodings of one result differ in shape");
    return ITG_OK;
}

static itg_status check_arity(const itg_step *s, int32_t min_inputs, int32_t max_inputs,
                              int32_t max_outputs, itg_error *err)
{
    if (s->input_count < min_inputs || s->input_count > max_inputs || s->output_count < 1 ||
        s->output_count > max_outputs)
        return itg_fail(err, ITG_MISMATCH, "%d inputs and %d outputs", (int)s->input_count,
                        (int)s->output_count);
    for (int32_t i = 0; i < s->input_count; i++)
        if (s->inputs[i] == ITG_NONE)
            return itg_fail(err, ITG_MISMATCH, "input %d is missing", (int)i);
    return ITG_OK;
}

static itg_status check_codes_in(const itg_program *p, const itg_step *s, int32_t count,
                                 itg_error *err)
{
    for (int32_t i = 0; i < count; i++)
        if (!input(p, s, i)->quantized)
            return itg_fail(err, ITG_MISMATCH, "input %d has no quantizer", (int)i);
    return ITG_OK;
}

/* ---- requantization and epilogues ---- */

static itg_status check_requant(const itg_requant *r, itg_error *err)
{
    if (r->is_f32)
        return r->ratio > 0 && isfinite(r->ratio) ? ITG_OK : bad(err, "requantization ratio");
    if (r->stage_count < 0 || r->stage_count > 3) return bad(err, "0 to 3 requantization stages");
    for (int32_t i = 0; i < r->stage_count; i++) {
        const itg_requant_stage *stage = &r->stage[i];
        if (stage->shift < -62 || stage->shift > 62 || stage->multiplier < 0 ||
            stage->multiplier > INT32_MAX || (unsigned)stage->rounding >= ITG_ROUNDING_COUNT)
            return bad(err,
                       "requantization stage out of range (shift -62..62, multiplier below 2^31)");
    }
    return ITG_OK;
}

/* channels: how many sets of constants a kernel may index. */
static itg_status check_out(const itg_step *s, const itg_pvalue *v, const itg_step_out *o,
                            int64_t channels, itg_error *err)
{
    if (!v->quantized) {
        if (v->dtype != ITG_F32) return bad(err, "an output is neither codes nor float32");
        if (itg_step_is_f32(s)) return ITG_OK;
        if (o->dequant_count != 1 && o->dequant_count != channels)
            return bad(err, "number of dequantization factors");
        for (int32_t i = 0; i < o->dequant_count; i++)
            if (!isfinite(o->dequant[i])) return bad(err, "dequantization factor is not finite");
        return ITG_OK;
    }
    if (o->lo > o->hi || o->lo < v->q.qmin || o->hi > v->q.qmax)
        return bad(err, "clamp leaves the quantizer's range");
    if (itg_step_is_f32(s)) return ITG_OK;
    if (o->requant_count != 1 && o->requant_count != channels)
        return bad(err, "number of requantization constants");
    for (int32_t i = 0; i < o->requant_count; i++) {
        itg_status status = check_requant(&o->requant[i], err);
        if (status != ITG_OK) return status;
        if (o->requant[i].is_f32 != o->requant[0].is_f32)
            return bad(err, "f32 and integer requantization are mixed");
    }
    return ITG_OK;
}

static itg_status check_outs(const itg_program *p, const itg_step *s, int64_t channels,
                             itg_error *err)
{
    if (isnan(s->float_lo) || isnan(s->float_hi)) return bad(err, "activation bound is NaN");
    itg_status status = check_versions(p, s, err);
    for (int32_t i = 0; i < s->output_count && status == ITG_OK; i++) {
        status = check_out(s, output(p, s, i), &s->outs[i], channels, err);
        if (status != ITG_OK) status = itg_prefix_error(err, status, "output %d", (int)i);
    }
    return status;
}

static itg_status check_accumulator(const itg_step *s, itg_error *err)
{
    if (s->acc.bits < 8 || s->acc.bits > 64) return bad(err, "accumulators are 8 to 64 bits wide");
    if ((unsigned)s->acc.overflow > ITG_OVERFLOW_SATURATE)
        return bad(err, "unknown overflow behaviour");
    return ITG_OK;
}

/* ---- kinds ---- */

static itg_status check_quantize(const itg_program *p, const itg_step *s, itg_error *err)
{
    itg_status status = check_arity(s, 1, 1, 1, err);
    if (status != ITG_OK) return status;
    bool quantize = s->kind == ITG_STEP_QUANTIZE;
    const itg_pvalue *real = quantize ? input(p, s, 0) : output(p, s, 0);
    const itg_pvalue *codes = quantize ? output(p, s, 0) : input(p, s, 0);
    if (real->dtype != ITG_F32 || real->quantized || !codes->quantized || codes->q.scale_count != 1)
        return bad(err, "needs float32 on one side and codes of one scale on the other");
    return itg_shape_equal(&real->shape, &codes->shape) ? ITG_OK : bad(err, "shapes differ");
}

static itg_status check_float(const itg_program *p, const itg_step *s, itg_error *err)
{
    const bool integers = itg_op_is(s->op, ITG_TAKES_INTEGERS | ITG_IS_MOVE);
    for (int32_t i = 0; i < s->input_count; i++) {
        if (s->inputs[i] == ITG_NONE) continue;
        const bool weights = i == 1 && itg_op_is(s->op, ITG_IS_MAC) && input(p, s, i)->data != NULL;
        if (input(p, s, i)->quantized && weights) continue; /* it computes with their numbers */
        if (input(p, s, i)->quantized) return bad(err, "a float node reads codes");
        if (input(p, s, i)->dtype != ITG_F32 && !integers)
            return bad(err, "element types do not fit the operator");
    }
    for (int32_t i = 0; i < s->output_count; i++)
        if (output(p, s, i)->quantized) return bad(err, "a float node writes codes");
    return itg_check_shapes(p, s, s->input_count, s->output_count, err);
}

static itg_status check_split(const itg_step *s, int64_t terms, int64_t channels, itg_error *err)
{
    const itg_sum_split *split = &s->split;
    int64_t last = 0;
    if (split->part_count == 0) return ITG_OK;
    if (s->acc.bits > ITG_HW_MAX_SPLIT_BITS || split->join_bits < s->acc.bits ||
        split->join_bits > 62 || (unsigned)split->rounding >= ITG_ROUNDING_COUNT)
        return bad(err, "widths or rounding of a split sum");
    for (int32_t i = 0; i < split->part_count; last = split->end[i++])
        if (split->end[i] <= last || split->end[i] > terms)
            return bad(err, "parts of a split sum are out of order");
    if (last != terms) return bad(err, "parts of a split sum leave out terms");
    if (split->shift_count != 1 && split->shift_count != channels)
        return bad(err, "number of shifts of a split sum");
    for (int32_t i = 0; i < split->shift_count; i++)
        if (split->shift[i] < 0 || split->shift[i] > 62)
            return bad(err, "shift of a split sum out of range (0..62)");
    return ITG_OK;
}

static itg_status check_mac(const itg_program *p, const itg_step *s, itg_error *err)
{
    itg_status status = check_arity(s, 2, 3, MAX_OUTPUTS, err);
    if (status == ITG_OK) status = check_accumulator(s, err);
    if (status == ITG_OK) status = check_codes_in(p, s, 2, err);
    if (status != ITG_OK) return status;
    if (s->input_count == 3) {
        const itg_pvalue *bias = input(p, s, 2);
        if (bias->dtype != ITG_S64 || bias->data == NULL)
            return bad(err, "bias is no s64 constant");
    }
    status = itg_check_shapes(p, s, s->input_count, 1, err);
    if (status != ITG_OK) return status;
    const itg_shape *y = &output(p, s, 0)->shape, *b = &input(p, s, 1)->shape;
    int64_t channels = s->kind == ITG_STEP_CONV ? y->dims[1]
                       : b->rank > 1            ? y->dims[y->rank - 1]
                                                : 1;
    status = check_split(s, itg_mac_terms(p, s), channels, err);
    return status == ITG_OK ? check_outs(p, s, channels, err) : status;
}

int64_t itg_most_of(const itg_quantizer *q)
{
    int64_t down = q->zero_point - q->qmin, up = q->qmax - q->zero_point;
    return down > up ? down : up;
}

/* Checks that products of codes without accumulator fit 64 bits. */
static itg_status check_product(const itg_program *p, const itg_step *s, itg_error *err)
{
    int64_t a = itg_most_of(&input(p, s, 0)->q), b = itg_most_of(&input(p, s, 1)->q);
    return a > 0 && b > INT64_MAX / a ? bad(err, "a product leaves 64 bits") : ITG_OK;
}

static itg_status check_left_shift(const itg_program *p, const itg_step *s, itg_error *err)
{
    for (int i = 0; i < 2; i++) {
        int64_t most = itg_most_of(&input(p, s, i)->q);
        if (s->left_shift < 0 || s->left_shift > 62 || most > (INT64_MAX >> s->left_shift))
            return bad(err, "left shift leaves 64 bits");
        itg_status status = check_requant(&s->operand[i], err);
        if (status != ITG_OK) return status;
    }
    return ITG_OK;
}

static bool has_legal_form(const itg_step *s)
{
    return (unsigned)s->form < ITG_FORM_COUNT && (itg_step_forms(s->kind, s->op) >> s->form & 1u);
}

static itg_status check_binary(const itg_program *p, const itg_step *s, itg_error *err)
{
    itg_status status = check_arity(s, 2, 2, MAX_OUTPUTS, err);
    if (status == ITG_OK) status = check_codes_in(p, s, 2, err);
    if (status != ITG_OK) return status;
    bool product = s->op == ITG_OP_MUL, f32 = s->form == ITG_FORM_F32;
    if (!has_legal_form(s)) return bad(err, "form does not belong to the operator");
    if (input(p, s, 0)->q.scale_count != 1 || input(p, s, 1)->q.scale_count != 1)
        return bad(err, "operands have one scale each");
    if (product && f32) status = check_product(p, s, err);
    if (!f32) status = check_accumulator(s, err);
    if (status == ITG_OK && s->form == ITG_FORM_RESCALE) status = check_left_shift(p, s, err);
    if (status == ITG_OK) status = itg_check_shapes(p, s, 2, 1, err);
    return status == ITG_OK ? check_outs(p, s, 1, err) : status;
}

static itg_status check_clip(const itg_program *p, const itg_step *s, itg_error *err)
{
    itg_status status = check_arity(s, 1, 1, MAX_OUTPUTS, err);
    if (status == ITG_OK) status = check_codes_in(p, s, 1, err);
    if (status == ITG_OK) status = check_accumulator(s, err);
    if (status == ITG_OK) status = itg_check_shapes(p, s, 1, 1, err);
    return status == ITG_OK ? check_outs(p, s, 1, err) : status;
}

/* Checks KEEP: output codes are input codes that are moved, selected or averaged. */
static itg_status check_same_quantizer(const itg_program *p, const itg_step *s, int32_t inputs,
                                       itg_error *err)
{
    const itg_pvalue *y = output(p, s, 0);
    for (int32_t i = 0; i < inputs; i++)
        if (!y->quantized || !itg_quantizer_equal(&input(p, s, i)->q, &y->q))
            return itg_fail(err, ITG_MISMATCH, "quantizer of input %d differs from the output's",
                            (int)i);
    for (int32_t i = 1; i < s->output_count; i++)
        if (!output(p, s, i)->quantized || !itg_quantizer_equal(&output(p, s, i)->q, &y->q))
            return itg_fail(err, ITG_MISMATCH, "quantizer of output %d differs from output 0's",
                            (int)i);
    return ITG_OK;
}

static itg_status check_mean(const itg_program *p, const itg_step *s, itg_error *err)
{
    bool keep = s->form == ITG_FORM_KEEP;
    itg_status status = check_arity(s, 1, 1, keep ? 1 : MAX_OUTPUTS, err);
    if (status == ITG_OK) status = check_codes_in(p, s, 1, err);
    if (status != ITG_OK) return status;
    bool f32 = s->form == ITG_FORM_F32;
    if (!has_legal_form(s)) return bad(err, "form does not belong to the operator");
    if ((unsigned)s->rounding >= ITG_ROUNDING_COUNT) return bad(err, "unknown rounding");
    if (!keep && !f32) status = check_accumulator(s, err);
    if (status == ITG_OK) status = itg_check_shapes(p, s, 1, 1, err);
    if (status != ITG_OK) return status;
    int64_t counts = itg_mean_max_count(p, s);
    if (keep) status = check_same_quantizer(p, s, 1, err);
    if (status != ITG_OK) return status;
    status = counts < 1 || counts > INT32_MAX ? bad(err, "too little or too much to average")
                                              : check_versions(p, s, err);
    for (int32_t i = 0; !keep && i < s->output_count && status == ITG_OK; i++) {
        /* A list may be longer, with an entry for every possible count. */
        const itg_step_out *o = &s->outs[i];
        int64_t sets = output(p, s, i)->quantized ? o->requant_count : o->dequant_count;
        status = check_out(s, output(p, s, i), o, sets > counts ? sets : counts, err);
    }
    return status;
}

static itg_status check_keep(const itg_program *p, const itg_step *s, itg_error *err)
{
    int32_t codes = s->kind == ITG_STEP_MOVE && s->op == ITG_OP_GATHER ? 1 : s->input_count;
    itg_status status = check_arity(s, 1, ITG_PROGRAM_MAX_VALUES, ITG_PROGRAM_MAX_VALUES, err);
    if (status == ITG_OK) status = check_codes_in(p, s, codes, err);
    if (status == ITG_OK) status = itg_check_shapes(p, s, s->input_count, s->output_count, err);
    if (status != ITG_OK) return status;
    return check_same_quantizer(p, s, codes, err);
}

static itg_status check_arg_max(const itg_program *p, const itg_step *s, itg_error *err)
{
    itg_status status = check_arity(s, 1, 1, 1, err);
    if (status == ITG_OK) status = check_codes_in(p, s, 1, err);
    return status == ITG_OK ? itg_check_shapes(p, s, 1, 1, err) : status;
}

static itg_status check_table(const itg_pvalue *x, const itg_pvalue *table, const itg_pvalue *y,
                              int32_t shift, itg_error *err)
{
    int64_t entries = itg_table_entries(&x->q, y->quantized ? shift : 0);
    itg_dtype type = y->quantized ? ITG_S32 : ITG_F32;
    if (table->data == NULL || table->quantized || table->dtype != type ||
        table->elements != entries || entries > ITG_PROGRAM_MAX_TABLE ||
        (!y->quantized && y->dtype != ITG_F32))
        return itg_fail(err, ITG_MISMATCH, "table '%s' needs %lld entries of %s", table->name,
                        (long long)entries, itg_dtype_name(type));
    for (int64_t i = 0; y->quantized && table->known == NULL && i < entries; i++) {
        int64_t code = itg_load(ITG_S32, table->data, i);
        if (code < y->q.qmin || code > y->q.qmax)
            return itg_fail(err, ITG_MISMATCH, "table '%s': entry %lld is out of range",
                            table->name, (long long)i);
    }
    return ITG_OK;
}

static itg_status check_lut(const itg_program *p, const itg_step *s, itg_error *err)
{
    itg_status status = check_arity(s, 2, MAX_OUTPUTS + 1, MAX_OUTPUTS, err);
    if (status == ITG_OK && s->input_count != s->output_count + 1)
        return bad(err, "one table an output");
    if (status == ITG_OK) status = check_codes_in(p, s, 1, err);
    if (status == ITG_OK) status = itg_check_shapes(p, s, 1, 1, err);
    if (status == ITG_OK) status = check_versions(p, s, err);
    if (status == ITG_OK && (s->table_shift < 0 || s->table_shift > MAX_TABLE_SHIFT))
        return bad(err, "a table_shift of 0 to 14");
    for (int32_t i = 0; i < s->output_count && status == ITG_OK; i++)
        status =
            check_table(input(p, s, 0), input(p, s, i + 1), output(p, s, i), s->table_shift, err);
    return status;
}

/* Checks x and two constants, or x and one table. */
static itg_status check_norm(const itg_program *p, const itg_step *s, itg_error *err)
{
    const bool softmax = s->kind != ITG_STEP_LAYER_NORM;
    const int32_t count = s->kind == ITG_STEP_TFLITE_SOFTMAX ? 2 : 3;
    itg_status status = check_arity(s, count, count, MAX_OUTPUTS, err);
    if (status == ITG_OK) status = check_codes_in(p, s, 1, err);
    if (status == ITG_OK) status = check_accumulator(s, err);
    if (status == ITG_OK) status = itg_check_shapes(p, s, softmax ? 1 : 3, 1, err);
    if (status == ITG_OK)
        status = softmax ? itg_check_softmax(p, s, err) : itg_check_layer_norm(p, s, err);
    return status == ITG_OK ? check_outs(p, s, 1, err) : status;
}

static const check_fn checks[ITG_STEP_KIND_COUNT] = {
    [ITG_STEP_QUANTIZE] = check_quantize,
    [ITG_STEP_DEQUANTIZE] = check_quantize,
    [ITG_STEP_FLOAT] = check_float,
    [ITG_STEP_CONV] = check_mac,
    [ITG_STEP_MATMUL] = check_mac,
    [ITG_STEP_BINARY] = check_binary,
    [ITG_STEP_CLIP] = check_clip,
    [ITG_STEP_MEAN] = check_mean,
    [ITG_STEP_MAX] = check_keep,
    [ITG_STEP_MOVE] = check_keep,
    [ITG_STEP_ARG_MAX] = check_arg_max,
    [ITG_STEP_LUT] = check_lut,
    [ITG_STEP_SOFTMAX] = check_norm,
    [ITG_STEP_LAYER_NORM] = check_norm,
    [ITG_STEP_TFLITE_SOFTMAX] = check_norm,
};

/* Only weights have zero points of scales. */
static itg_status check_zero_points(const itg_program *p, const itg_step *s, itg_error *err)
{
    const bool weights =
        s->kind == ITG_STEP_CONV || s->kind == ITG_STEP_MATMUL || s->kind == ITG_STEP_FLOAT;
    for (int32_t i = 0; i < s->input_count; i++)
        if (s->inputs[i] != ITG_NONE && !(weights && i == 1) && input(p, s, i)->quantized &&
            itg_has_zero_points(&input(p, s, i)->q))
            return bad(err, "an operand that is no weight has zero points of scales");
    return ITG_OK;
}

itg_status itg_step_check(const itg_program *p, const itg_step *s, itg_error *err)
{
    char type[48];
    itg_status status = checks[s->kind](p, s, err);
    if (status == ITG_OK) status = check_zero_points(p, s, err);
    if (status == ITG_OK) return ITG_OK;
    return itg_prefix_error(err, status, "%s node '%s'", itg_step_type(s, type, sizeof type),
                            s->name);
}
