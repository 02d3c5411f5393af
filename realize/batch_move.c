/* Steps that call kernels/float_ops.h: data movement of codes, and float islands. Codes are moved
 * in blocks if the samples can replace a leading dimension of 1; with channels last, axes are
 * renumbered. A step that moves along the leading dimension, or has none, runs sample by sample, as
 * float islands do. */
#include "kernels/constants.h"
#include "kernels/float_ops.h"
#include "realize/batch_plan.h"

/* Whether every operand is computed and has a leading dimension of 1. */
static bool stacks(const itg_batch_plan *plan, const itg_step *s)
{
    const itg_pvalue *values = plan->program->values;
    for (int32_t i = 0; i < s->input_count; i++)
        if (s->inputs[i] == ITG_NONE || values[s->inputs[i]].data != NULL ||
            values[s->inputs[i]].shape.rank < 1 || values[s->inputs[i]].shape.dims[0] != 1)
            return false;
    for (int32_t i = 0; i < s->output_count; i++)
        if (values[s->outputs[i]].shape.rank < 1 || values[s->outputs[i]].shape.dims[0] != 1)
            return false;
    return true;
}

static bool takes_move(const itg_batch_plan *plan, const itg_step *s)
{
    const itg_attrs *a = &s->attrs;
    if (itg_op_is(s->op, ITG_IS_VIEW)) return plan->program->values[s->inputs[0]].data == NULL;
    if (!stacks(plan, s)) return false;
    switch (s->op) {
    case ITG_OP_CONCAT:
    case ITG_OP_SPLIT:
        return a->axis > 0;
    case ITG_OP_TRANSPOSE:
        return a->perm[0] == 0;
    case ITG_OP_PAD:
        return a->pads_begin[0] == 0;
    case ITG_OP_SLICE:
        for (int32_t i = 0; i < a->axes_count; i++)
            if (a->axes[i] == 0) return false;
        return true;
    default:
        return false;
    }
}

/* Whether the operands have one rank and their axes can be renumbered. */
static bool lasts_move(const itg_batch_plan *plan, const itg_step *s)
{
    const itg_pvalue *values = plan->program->values, *y = &values[s->outputs[0]];
    if (s->op == ITG_OP_IDENTITY || s->op == ITG_OP_DROPOUT) return true;
    if (s->op != ITG_OP_CONCAT && s->op != ITG_OP_SPLIT && s->op != ITG_OP_PAD &&
        s->op != ITG_OP_SLICE)
        return false;
    for (int32_t i = 0; i < s->input_count; i++)
        if (!itg_value_has_layouts(&values[s->inputs[i]]) ||
            values[s->inputs[i]].shape.rank != y->shape.rank)
            return false;
    for (int32_t i = 0; i < s->output_count; i++)
        if (!itg_value_has_layouts(&values[s->outputs[i]])) return false;
    return true;
}

static itg_status run_copy(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    memcpy(itg_batch_data(b, o->outputs[0]), itg_batch_data(b, o->inputs[0]),
           itg_place_value(b->plan, o->inputs[0])->bytes * (size_t)count);
    return ITG_OK;
}

/* Returns the position of a logical axis with channels last. */
static int64_t renamed(int64_t axis, int32_t rank)
{
    return axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1;
}

static itg_attrs renamed_attrs(const itg_attrs *from, int32_t rank)
{
    itg_attrs a = *from;
    a.axis = renamed(from->axis, rank);
    for (int32_t i = 0; i < a.axes_count; i++)
        a.axes[i] = renamed(from->axes[i], rank);
    for (int32_t i = 0; i < rank; i++)
        a.pads_begin[renamed(i, rank)] = from->pads_begin[i];
    return a;
}

static itg_tensor tensor_of(const itg_batch *b, int32_t value, int32_t place, int64_t count)
{
    if (value == ITG_NONE) return (itg_tensor){ITG_F32, {0, {0}}, NULL};
    itg_tensor t = itg_pvalue_tensor(&b->plan->program->values[value]);
    if (place == ITG_NONE) return t;
    t.shape = itg_place_shape(b->plan, place);
    if (count > 1) t.shape.dims[0] = count;
    t.data = itg_batch_data(b, place);
    return t;
}

static void gather_operands(const itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    for (int32_t i = 0; i < o->input_count; i++)
        b->inputs[i] = tensor_of(b, o->step->inputs[i], o->inputs[i], count);
    for (int32_t i = 0; i < o->output_count; i++)
        b->outputs[i] = tensor_of(b, o->step->outputs[i], o->outputs[i], count);
}

static itg_status run_move(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    const itg_step *s = o->step;
    if (itg_op_is(s->op, ITG_IS_VIEW) && o->inputs[0] != ITG_NONE) return run_copy(b, o, count);
    const itg_pvalue *y = itg_place_value(b->plan, o->outputs[0]);
    itg_attrs attrs = s->attrs;
    int64_t fill = 0; /* room for one code of any storage; zero */
    itg_store(y->dtype, &fill, 0, y->q.zero_point);
    gather_operands(b, o, count);
    if (itg_place_is_last(o->outputs[0])) attrs = renamed_attrs(&s->attrs, y->shape.rank);
    return itg_move_eval(s->op, &attrs, b->inputs, o->input_count, b->outputs, o->output_count,
                         &fill, b->err);
}

const itg_batch_kernel itg_batch_move = {.name = "move",
                                         .wish = ITG_WISH_SAME,
                                         .takes = takes_move,
                                         .lasts = lasts_move,
                                         .run = run_move};
const itg_batch_kernel itg_batch_move_single = {.name = "move", .single = true, .run = run_move};

/* Computes the numbers of constants that are codes. */
static itg_status prepare_float(itg_batch_plan *plan, itg_batch_operation *o)
{
    o->numbers = itg_arena_array(plan->arena, (size_t)o->input_count + 1, sizeof *o->numbers);
    bool ok = o->numbers != NULL;
    for (int32_t i = 0; ok && i < o->input_count; i++) {
        const int32_t value = o->step->inputs[i];
        const itg_pvalue *v = value == ITG_NONE ? NULL : &plan->program->values[value];
        if (v == NULL || v->data == NULL || !v->quantized) continue;
        float *out = itg_arena_array(plan->arena, (size_t)v->elements, sizeof *out);
        if (out != NULL) itg_dequantize_constant(&v->q, &v->shape, v->data, out);
        o->numbers[i] = out;
        ok = out != NULL;
    }
    return ok ? ITG_OK
              : itg_fail(plan->err, ITG_NO_MEMORY, "%s: no memory for weights",
                         plan->program->name);
}

static itg_status run_float(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    gather_operands(b, o, count);
    for (int32_t i = 0; i < o->input_count; i++)
        if (o->numbers[i] != NULL) {
            b->inputs[i].dtype = ITG_F32;
            b->inputs[i].data = (void *)(uintptr_t)o->numbers[i];
        }
    return itg_float_eval(o->step->op, &o->step->attrs, b->inputs, o->input_count, b->outputs,
                          o->output_count, b->err);
}

const itg_batch_kernel itg_batch_float = {
    .name = "float", .single = true, .prepare = prepare_float, .run = run_float};
