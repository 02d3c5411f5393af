/* The fields of a step in files and in print. docs/artefact.md explains them. */
#include "base/packed.h"
#include "realize/artefact.h"
#include "realize/fields.h"
#include "kernels/requant.h"
#include <string.h>

#define MOST INT32_MAX /* entries of a list; the file's size limits them */

static const char *form_name(int form)
{
    return itg_form_name((itg_form)form);
}
static const char *dtype_name(int dtype)
{
    return itg_dtype_name((itg_dtype)dtype);
}
static const char *rounding_name(int rounding)
{
    return itg_rounding_name((itg_rounding)rounding);
}
static const char *overflow_name(int overflow)
{
    return overflow == ITG_OVERFLOW_WRAP ? "wrap" : "saturate";
}

/* "y3" + "_scale" */
typedef struct field_name {
    char text[64];
} field_name;
static field_name named(char side, int32_t index, const char *what)
{
    field_name name;
    snprintf(name.text, sizeof name.text, "%c%d_%s", side, (int)index, what);
    return name;
}

static void visit_enum(itg_fields *f, const char *name, int *value, const char *(*name_of)(int),
                       int count)
{
    itg_field_name(f, name, value, name_of, count);
}

/* ---- operands ---- */

static void visit_quantizer(itg_fields *f, char side, int32_t index, itg_quantizer *q)
{
    itg_field_int32(f, named(side, index, "bits").text, &q->bits, 1, 32);
    itg_field_int(f, named(side, index, "qmin").text, &q->qmin, INT32_MIN, INT32_MAX);
    itg_field_int(f, named(side, index, "qmax").text, &q->qmax, INT32_MIN, INT32_MAX);
    itg_field_int32(f, named(side, index, "zero_point").text, &q->zero_point, INT32_MIN, INT32_MAX);
    itg_field_int32(f, named(side, index, "axis").text, &q->axis, -1, ITG_MAX_RANK - 1);
    itg_field_floats(f, named(side, index, "scale").text, &q->scale, &q->scale_count, MOST);
}

/* READ: reads the quantizer, if the file states one; it must equal one stated before. */
static void read_quantizer(itg_fields *f, itg_program *p, char side, int32_t index, int32_t value)
{
    if (itg_onnx_attr_find(f->node, named(side, index, "scale").text) == NULL) return;
    itg_pvalue *v = &p->values[value];
    itg_quantizer q;
    memset(&q, 0, sizeof q);
    visit_quantizer(f, side, index, &q);
    if (f->status != ITG_OK) return;
    q.storage = v->dtype;
    q.is_signed = itg_dtype_is_integer(v->dtype) && itg_dtype_min(v->dtype) < 0;
    if (v->quantized && !itg_quantizer_equal(&v->q, &q))
        itg_fields_fail(f, ITG_BAD_FILE, named(side, index, "scale").text,
                        "another node states another quantizer");
    v->quantized = true;
    v->q = q;
}

static void visit_operand_quantizer(itg_fields *f, itg_program *p, char side, int32_t index,
                                    int32_t value)
{
    if (f->status != ITG_OK) return;
    if (f->mode == ITG_FIELDS_READ)
        read_quantizer(f, p, side, index, value);
    else if (p->values[value].quantized)
        visit_quantizer(f, side, index, &p->values[value].q);
}

static void visit_type(itg_fields *f, char side, int32_t index, itg_pvalue *v)
{
    int dtype = (int)v->dtype;
    int64_t count = v->shape.rank;
    const int64_t *dims = v->shape.dims;
    visit_enum(f, named(side, index, "dtype").text, &dtype, dtype_name, ITG_DTYPE_COUNT);
    itg_field_ints(f, named(side, index, "shape").text, &dims, &count, ITG_MAX_RANK);
    if (f->mode != ITG_FIELDS_READ || f->status != ITG_OK) return;
    v->dtype = (itg_dtype)dtype;
    v->shape.rank = (int32_t)count;
    if (count > 0) memcpy(v->shape.dims, dims, (size_t)count * sizeof *dims);
}

static void visit_epilogue(itg_fields *f, int32_t index, const itg_step *s, const itg_pvalue *v,
                           itg_step_out *o)
{
    bool from_ratio = !itg_step_is_f32(s);
    if (v->quantized) {
        itg_field_int(f, named('y', index, "clamp_lo").text, &o->lo, INT64_MIN, INT64_MAX);
        itg_field_int(f, named('y', index, "clamp_hi").text, &o->hi, INT64_MIN, INT64_MAX);
        if (from_ratio)
            itg_field_requants(f, named('y', index, "requant").text, &o->requant, &o->requant_count,
                               MOST);
    } else if (from_ratio) {
        itg_field_floats(f, named('y', index, "dequant").text, &o->dequant, &o->dequant_count,
                         MOST);
    }
}

static void visit_outputs(itg_fields *f, itg_program *p, itg_step *s)
{
    for (int32_t i = 0; i < s->output_count && f->status == ITG_OK; i++) {
        itg_pvalue *v = &p->values[s->outputs[i]];
        visit_type(f, 'y', i, v);
        visit_operand_quantizer(f, p, 'y', i, s->outputs[i]);
        if (itg_step_has_epilogue(s)) visit_epilogue(f, i, s, v, &s->outs[i]);
    }
}

/* Activations state their quantizer at their producer, constants at their reader. */
static void visit_constants(itg_fields *f, itg_program *p, itg_step *s)
{
    for (int32_t i = 0; i < s->input_count && f->status == ITG_OK; i++)
        if (s->inputs[i] != ITG_NONE && p->values[s->inputs[i]].data != NULL)
            visit_operand_quantizer(f, p, 'x', i, s->inputs[i]);
}

/* ---- packed constants ---- */

/* Unpacks the bytes of v to constants of this type. */
static const void *unpacked(itg_fields *f, const itg_pvalue *v, const itg_pvalue *type,
                            int32_t bits)
{
    int64_t elements = 0;
    bool good = itg_dtype_is_integer(type->dtype) && itg_dtype_size(type->dtype) <= 4 &&
                bits >= 1 && bits < (int32_t)(8 * itg_dtype_size(type->dtype)) &&
                itg_shape_elements(&type->shape, &elements) && elements >= 1 &&
                v->dtype == ITG_U8 && v->shape.rank == 1 &&
                v->shape.dims[0] == itg_packed_bytes(elements, bits) &&
                itg_packed_ends(v->data, bits, elements);
    if (!good) {
        itg_fields_fail(f, ITG_BAD_FILE, v->name, "no packed codes of this type, shape and width");
        return NULL;
    }
    void *codes = itg_arena_array(f->arena, (size_t)elements, itg_dtype_size(type->dtype));
    if (codes == NULL) itg_fields_fail(f, ITG_NO_MEMORY, v->name, "no memory for its codes");
    if (codes != NULL)
        itg_packed_unpack(v->data, bits, itg_dtype_min(type->dtype) < 0, elements,
                          itg_dtype_size(type->dtype), codes);
    return codes;
}

static void read_packed(itg_fields *f, int32_t index, itg_pvalue *v)
{
    itg_pvalue type = {.dtype = ITG_F32};
    int32_t bits = 0;
    if (itg_onnx_attr_find(f->node, named('x', index, "dtype").text) == NULL) return;
    visit_type(f, 'x', index, &type);
    itg_field_int32(f, named('x', index, "bits").text, &bits, 1, 32);
    if (f->status != ITG_OK) return;
    if (v->quantized) { /* another node has stated it */
        if (v->dtype != type.dtype || !itg_shape_equal(&v->shape, &type.shape))
            itg_fields_fail(f, ITG_BAD_FILE, v->name, "another node states another type");
        return;
    }
    const void *codes = unpacked(f, v, &type, bits);
    if (codes == NULL) return;
    v->data = codes;
    v->dtype = type.dtype;
    v->shape = type.shape;
}

void itg_visit_packed(itg_fields *f, itg_program *p, itg_step *s)
{
    for (int32_t i = 0; i < s->input_count && f->status == ITG_OK; i++) {
        itg_pvalue *v = s->inputs[i] == ITG_NONE ? NULL : &p->values[s->inputs[i]];
        if (v == NULL || v->data == NULL) continue;
        if (f->mode == ITG_FIELDS_READ)
            read_packed(f, i, v);
        else if (itg_value_is_packed(p, s->inputs[i]))
            visit_type(f, 'x', i, v);
    }
}

/* ---- the step ---- */

static void visit_accumulator(itg_fields *f, itg_step *s)
{
    int overflow = (int)s->acc.overflow;
    itg_field_int32(f, "acc_bits", &s->acc.bits, 8, 64);
    visit_enum(f, "acc_overflow", &overflow, overflow_name, 2);
    itg_field_int(f, "acc_lo", &s->acc_lo, INT64_MIN, INT64_MAX);
    itg_field_int(f, "acc_hi", &s->acc_hi, INT64_MIN, INT64_MAX);
    if (f->status == ITG_OK) s->acc.overflow = (itg_overflow)overflow;
}

/* Without split_end a node has one sum and none of the other fields. */
static void visit_split(itg_fields *f, itg_step *s)
{
    itg_sum_split *split = &s->split;
    int64_t parts = split->part_count, shifts = split->shift_count;
    int rounding = (int)split->rounding;
    itg_field_ints(f, "split_end", &split->end, &parts, MOST);
    if (f->status != ITG_OK || parts == 0) return;
    itg_field_ints(f, "split_shift", &split->shift, &shifts, MOST);
    visit_enum(f, "split_rounding", &rounding, rounding_name, ITG_ROUNDING_COUNT);
    itg_field_int32(f, "join_bits", &split->join_bits, 8, 62);
    itg_field_int(f, "join_lo", &s->join_lo, INT64_MIN, INT64_MAX);
    itg_field_int(f, "join_hi", &s->join_hi, INT64_MIN, INT64_MAX);
    if (f->status != ITG_OK) return;
    split->part_count = (int32_t)parts;
    split->shift_count = (int32_t)shifts;
    split->rounding = (itg_rounding)rounding;
}

static void visit_rescale(itg_fields *f, itg_step *s)
{
    static const char *const prefix[2] = {"operand0", "operand1"};
    itg_field_int32(f, "left_shift", &s->left_shift, 0, 62);
    for (int i = 0; i < 2; i++) {
        const itg_requant *r = &s->operand[i];
        int32_t count = 1;
        itg_field_requants(f, prefix[i], &r, &count, 1);
        if (f->status != ITG_OK || f->mode != ITG_FIELDS_READ) continue;
        if (count != 1)
            itg_fields_fail(f, ITG_BAD_FILE, prefix[i],
                            "one set of requantization constants is expected");
        else
            s->operand[i] = *r;
    }
}

static void visit_form(itg_fields *f, itg_step *s)
{
    int form = (int)s->form, rounding = (int)s->rounding;
    visit_enum(f, "form", &form, form_name, ITG_FORM_COUNT);
    if (f->status == ITG_OK) s->form = (itg_form)form;
    if (s->kind == ITG_STEP_BINARY && s->form == ITG_FORM_RESCALE) visit_rescale(f, s);
    if (s->kind != ITG_STEP_MEAN || s->form != ITG_FORM_KEEP) return;
    visit_enum(f, "rounding", &rounding, rounding_name, ITG_ROUNDING_COUNT);
    if (f->status == ITG_OK) s->rounding = (itg_rounding)rounding;
}

static void visit_norm(itg_fields *f, itg_step *s)
{
    itg_field_int32(f, "fraction", &s->fraction, 0, ITG_PROBABILITY_BITS);
    if (s->kind == ITG_STEP_LAYER_NORM) itg_field_int(f, "epsilon_code", &s->epsilon, 1, INT64_MAX);
}

static bool writes_float(const itg_program *p, const itg_step *s)
{
    for (int32_t i = 0; i < s->output_count; i++)
        if (!p->values[s->outputs[i]].quantized) return true;
    return false;
}

void itg_visit_step(itg_fields *f, itg_program *p, itg_step *s)
{
    bool has_op = s->kind != ITG_STEP_QUANTIZE && s->kind != ITG_STEP_DEQUANTIZE;
    int32_t rank = itg_step_has_operand(s, 0) ? p->values[s->inputs[0]].shape.rank : 0;
    itg_field_int32(f, "node", &s->node, ITG_NONE, INT32_MAX);
    if (has_op) itg_visit_attrs(f, s->op, &s->attrs, rank);
    if (s->kind == ITG_STEP_BINARY || s->kind == ITG_STEP_MEAN) visit_form(f, s);
    if (s->kind == ITG_STEP_LUT) itg_field_int32(f, "table_shift", &s->table_shift, 0, 14);
    if (itg_step_normalizes(s)) visit_norm(f, s);
    if (itg_step_has_accumulator(s)) visit_accumulator(f, s);
    if (s->kind == ITG_STEP_CONV || s->kind == ITG_STEP_MATMUL) visit_split(f, s);
    visit_constants(f, p, s);
    visit_outputs(f, p, s);
    if (itg_step_has_epilogue(s) && writes_float(p, s)) {
        itg_field_float(f, "float_lo", &s->float_lo);
        itg_field_float(f, "float_hi", &s->float_hi);
    }
    if (s->kind == ITG_STEP_FLOAT) itg_field_string(f, "reason", &s->reason);
}
