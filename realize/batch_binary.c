/* Add, Sub and Mul of blocks. Samples are one more leading dimension, with stride 0 for constants.
 * A layout is an order of the other dimensions. */
#include "kernels/requant.h"
#include "realize/batch_plan.h"

/* Form F32: the operand that varies along the innermost axis determines the order of the fused sums
 * (kernels/int_binary.c). With channels last another axis is the innermost. */
static bool is_swapped(const itg_broadcast *s)
{
    for (int32_t d = s->out.rank - 1; d >= 0; d--)
        if (s->out.dims[d] > 1) return s->stride_a[d] == 0 && s->stride_b[d] != 0;
    return false;
}

static itg_broadcast exchanged(itg_broadcast s)
{
    itg_broadcast out = s;
    memcpy(out.stride_a, s.stride_b, sizeof out.stride_a);
    memcpy(out.stride_b, s.stride_a, sizeof out.stride_b);
    return out;
}

/* Returns the logical axis at position i of the layout. */
static int32_t axis_at(int32_t i, int32_t rank, bool last)
{
    return !last || i == 0 ? i : i + 1 < rank ? i + 1 : 1;
}

/* Computes operand x's strides along the output's logical axes. Channels last: of y's rank. */
static void strides_of(const itg_pvalue *x, const itg_shape *y, bool last,
                       int64_t strides[ITG_MAX_RANK])
{
    int64_t step = 1;
    if (!last || x->data != NULL || !itg_value_has_layouts(x)) {
        itg_broadcast_strides(&x->shape, y, strides);
        return;
    }
    for (int32_t i = y->rank - 1; i >= 0; i--) {
        int32_t axis = axis_at(i, y->rank, last);
        strides[axis] = x->shape.dims[axis] == 1 ? 0 : step;
        step *= x->shape.dims[axis];
    }
}

/* The broadcast of a block: the output's dims in memory order, after a dim for several samples. */
static itg_broadcast broadcast_of(const itg_batch_plan *plan, const itg_step *s, bool last,
                                  int64_t count)
{
    const itg_pvalue *values = plan->program->values, *a = &values[s->inputs[0]],
                     *b = &values[s->inputs[1]];
    const itg_shape *y = &values[s->outputs[0]].shape;
    itg_broadcast out;
    memset(&out, 0, sizeof out);
    int64_t sa[ITG_MAX_RANK], sb[ITG_MAX_RANK];
    strides_of(a, y, last, sa);
    strides_of(b, y, last, sb);
    if (count > 1) {
        out.out.dims[out.out.rank++] = count;
        out.stride_a[0] = a->data == NULL ? a->elements : 0;
        out.stride_b[0] = b->data == NULL ? b->elements : 0;
    }
    for (int32_t i = 0; i < y->rank; i++) {
        int32_t axis = axis_at(i, y->rank, last), at = out.out.rank++;
        out.out.dims[at] = y->dims[axis];
        out.stride_a[at] = sa[axis];
        out.stride_b[at] = sb[axis];
    }
    return out;
}

/* Whether the block, with operands exchanged or not, adds in the same order as a single sample. */
static bool adds_as_one(const itg_batch_plan *plan, const itg_step *s, bool last, bool exchange)
{
    const itg_pvalue *values = plan->program->values;
    itg_broadcast one = itg_broadcast_of(&values[s->inputs[0]].shape, &values[s->inputs[1]].shape,
                                         &values[s->outputs[0]].shape);
    /* Several samples add a dimension. */
    for (int64_t count = 1; count <= 2; count++) {
        itg_broadcast block = broadcast_of(plan, s, last, count);
        if (exchange) block = exchanged(block);
        if ((is_swapped(&block) != exchange) != is_swapped(&one)) return false;
    }
    return true;
}

/* Whether the order of sums can be kept; *exchange: by exchanging the operands. */
static bool keeps_order(const itg_batch_plan *plan, const itg_step *s, bool last, bool *exchange)
{
    *exchange = false;
    if (s->form != ITG_FORM_F32 || s->op != ITG_OP_ADD) return true;
    if (adds_as_one(plan, s, last, false)) return true;
    *exchange = true;
    return adds_as_one(plan, s, last, true);
}

static bool takes_binary(const itg_batch_plan *plan, const itg_step *s)
{
    const itg_pvalue *values = plan->program->values;
    bool exchange;
    return (values[s->inputs[0]].data == NULL || values[s->inputs[1]].data == NULL) &&
           values[s->outputs[0]].shape.rank < ITG_MAX_RANK &&
           keeps_order(plan, s, false, &exchange);
}

static bool lasts_binary(const itg_batch_plan *plan, const itg_step *s)
{
    const itg_pvalue *values = plan->program->values, *y = &values[s->outputs[0]];
    bool exchange;
    if (!itg_value_has_layouts(y)) return false;
    for (int32_t i = 0; i < 2; i++)
        if (values[s->inputs[i]].data == NULL && itg_value_has_layouts(&values[s->inputs[i]]) &&
            values[s->inputs[i]].shape.rank != y->shape.rank)
            return false;
    return keeps_order(plan, s, true, &exchange);
}

static itg_binary_form form_of(const itg_step *s)
{
    switch (s->form) {
    case ITG_FORM_PRODUCT:
        return ITG_BINARY_PRODUCT;
    case ITG_FORM_EQUAL:
        return ITG_BINARY_EQUAL;
    case ITG_FORM_F32:
        return s->op == ITG_OP_MUL ? ITG_BINARY_F32_PRODUCT : ITG_BINARY_F32;
    default:
        return ITG_BINARY_RESCALE;
    }
}

/* Describes the operation except for the operands' data. scales: [outputs]. */
static itg_int_binary binary_of(const itg_batch_plan *plan, const itg_batch_operation *o,
                                float *scales)
{
    const itg_step *s = o->step;
    const itg_pvalue *values = plan->program->values;
    int32_t first = o->exchanged ? 1 : 0, second = 1 - first;
    for (int32_t i = 0; i < o->output_count; i++) {
        const itg_pvalue *out = itg_place_value(plan, o->outputs[i]);
        scales[i] = out->quantized ? out->q.scale[0] : 1.0f;
    }
    return (itg_int_binary){.form = form_of(s),
                            .sign = s->op == ITG_OP_SUB ? -1 : 1,
                            .left_shift = s->left_shift,
                            .ra = s->operand[first],
                            .rb = s->operand[second],
                            .scale_a = values[s->inputs[first]].q.scale[0],
                            .scale_b = values[s->inputs[second]].q.scale[0],
                            .scale_out = scales,
                            .acc = s->acc};
}

/* ---- element by element ---- */

enum { MOST_CONSTANT = 1 << 18 }; /* elements of a constant that is expanded to a sample's size */

static bool is_contiguous(const int64_t *dims, const int64_t *strides, int32_t rank)
{
    int64_t step = 1;
    for (int32_t i = rank - 1; i >= 0; step *= dims[i--])
        if (dims[i] > 1 && strides[i] != step) return false;
    return true;
}

/* Writes x, expanded to dims by its strides, and returns the number of bytes. */
static size_t expand(const int64_t *dims, const int64_t *strides, int32_t rank, size_t size,
                     const unsigned char *x, unsigned char *out)
{
    if (is_contiguous(dims, strides, rank)) {
        for (int32_t i = 0; i < rank; i++)
            size *= (size_t)dims[i];
        memcpy(out, x, size);
        return size;
    }
    size_t done = expand(dims + 1, strides + 1, rank - 1, size, x, out);
    if (strides[0] != 0) {
        for (int64_t i = 1; i < dims[0]; i++)
            done += expand(dims + 1, strides + 1, rank - 1, size,
                           x + (size_t)(i * strides[0]) * size, out + done);
        return done;
    }
    const size_t all = done * (size_t)dims[0];
    while (done < all) {
        const size_t part = done < all - done ? done : all - done;
        memcpy(out + done, out, part);
        done += part;
    }
    return all;
}

/* Expands operand `slot` of one sample, which lies at x, to the output's size. */
static void expand_operand(const itg_batch_plan *plan, const itg_batch_operation *o, int32_t slot,
                           const void *x, void *out)
{
    const itg_broadcast s = broadcast_of(plan, o->step, itg_place_is_last(o->outputs[0]), 1);
    const itg_dtype dtype = plan->program->values[o->step->inputs[slot]].dtype;
    (void)expand(s.out.dims, slot == 0 ? s.stride_a : s.stride_b, s.out.rank, itg_dtype_size(dtype),
                 x, out);
}

/* The bytes of operand `slot` when it is expanded; what follows it in scratch is aligned. */
static size_t expanded_bytes(const itg_batch_plan *plan, const itg_batch_operation *o, int32_t slot)
{
    const itg_pvalue *values = plan->program->values;
    const size_t bytes = (size_t)values[o->step->outputs[0]].elements *
                         itg_dtype_size(values[o->step->inputs[slot]].dtype);
    return (bytes + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t);
}

/* Whether the second operand is the first in the fused sums of form F32. */
static bool starts_with_second(const itg_batch_plan *plan, const itg_batch_operation *o)
{
    const itg_step *s = o->step;
    if (s->form != ITG_FORM_F32 || s->op != ITG_OP_ADD) return false;
    itg_broadcast shape = broadcast_of(plan, s, itg_place_is_last(o->outputs[0]), 2);
    if (o->exchanged) shape = exchanged(shape);
    return is_swapped(&shape) != o->exchanged;
}

/* Says which operands are expanded to the output's size: constants at once, others in each run. */
static itg_status prepare_operands(itg_batch_plan *plan, itg_batch_operation *o)
{
    const itg_pvalue *values = plan->program->values, *y = &values[o->step->outputs[0]];
    for (int32_t i = 0; i < 2; i++) {
        const itg_pvalue *x = &values[o->step->inputs[i]];
        if (x->data == NULL) {
            o->expands[i] = !itg_shape_equal(&x->shape, &y->shape);
            if (o->expands[i]) o->scratch_bytes += expanded_bytes(plan, o, i);
            continue;
        }
        void *constant = itg_arena_alloc(plan->arena, expanded_bytes(plan, o, i));
        if (constant == NULL) return itg_fail(plan->err, ITG_NO_MEMORY, "no memory for a sum");
        expand_operand(plan, o, i, x->data, constant);
        o->constant[i] = constant;
    }
    return ITG_OK;
}

/* Prepares the elementwise kernel, if no constant is too large. */
static itg_status prepare_fast(itg_batch_plan *plan, itg_batch_operation *o)
{
    const itg_step *s = o->step;
    const itg_pvalue *values = plan->program->values, *x[2], *y = &values[s->outputs[0]];
    const bool constant = values[s->inputs[0]].data != NULL || values[s->inputs[1]].data != NULL;
    if ((constant && y->elements > MOST_CONSTANT) || o->output_count > ITG_ACCEL_OUTPUTS)
        return ITG_OK;
    itg_epilogue out[ITG_ACCEL_OUTPUTS];
    float scales[ITG_ACCEL_OUTPUTS];
    itg_int_operand codes[2];
    itg_batch_operation ordered = *o;
    ordered.exchanged = starts_with_second(plan, o);
    const int32_t first = ordered.exchanged ? 1 : 0;
    for (int32_t i = 0; i < 2; i++) {
        x[i] = &values[s->inputs[i == 0 ? first : 1 - first]];
        codes[i] =
            (itg_int_operand){x[i]->dtype, NULL, x[i]->q.zero_point, x[i]->q.qmin, x[i]->q.qmax};
    }
    for (int32_t i = 0; i < o->output_count; i++)
        out[i] = itg_batch_epilogue_of(plan, o, i);
    itg_int_binary k = binary_of(plan, &ordered, scales);
    itg_block_element *fast;
    itg_status status = itg_block_binary_create(plan->kernels, &k, &codes[0], &codes[1], out,
                                                o->output_count, plan->arena, &fast, plan->err);
    if (status != ITG_OK || fast == NULL) return status;
    o->exchanged = ordered.exchanged;
    o->fast = fast;
    return prepare_operands(plan, o);
}

static itg_status prepare_binary(itg_batch_plan *plan, itg_batch_operation *o)
{
    (void)keeps_order(plan, o->step, itg_place_is_last(o->outputs[0]), &o->exchanged);
    return prepare_fast(plan, o);
}

/* Operand `slot` of sample k, of the output's size. */
static const void *operand_at(const itg_batch *b, const itg_batch_operation *o, int32_t slot,
                              int64_t k)
{
    if (o->constant[slot] != NULL) return o->constant[slot];
    const size_t bytes = b->plan->program->values[o->step->inputs[slot]].bytes;
    const unsigned char *x =
        (const unsigned char *)itg_batch_data(b, o->inputs[slot]) + (size_t)k * bytes;
    if (!o->expands[slot]) return x;
    unsigned char *out = itg_batch_scratch(b, o);
    if (slot == 1 && o->expands[0]) out += expanded_bytes(b->plan, o, 0);
    expand_operand(b->plan, o, slot, x, out);
    return out;
}

static void run_fast(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    void *y[ITG_ACCEL_OUTPUTS];
    const int32_t first = o->exchanged ? 1 : 0;
    const int64_t elements = itg_place_value(b->plan, o->outputs[0])->elements;
    bool whole = true;
    for (int32_t i = 0; i < 2; i++)
        whole = whole && o->constant[i] == NULL && !o->expands[i];
    const int64_t runs = whole ? 1 : count;
    for (int64_t k = 0; k < runs; k++) {
        for (int32_t i = 0; i < o->output_count; i++)
            y[i] = (unsigned char *)itg_batch_data(b, o->outputs[i]) +
                   (size_t)k * itg_place_value(b->plan, o->outputs[i])->bytes;
        itg_block_element_run(o->fast, operand_at(b, o, first, k), operand_at(b, o, 1 - first, k),
                              y, whole ? elements * count : elements);
    }
}

static itg_status run_binary(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    if (o->fast != NULL) {
        run_fast(b, o, count);
        return ITG_OK;
    }
    int32_t first = o->exchanged ? 1 : 0;
    itg_broadcast shape = broadcast_of(b->plan, o->step, itg_place_is_last(o->outputs[0]), count);
    if (o->exchanged) shape = exchanged(shape);
    itg_int_operand x = itg_batch_operand(b, o, first), y = itg_batch_operand(b, o, 1 - first);
    for (int32_t i = 0; i < o->output_count; i++)
        b->epilogues[i] = itg_batch_epilogue(b, o, i);
    itg_int_binary k = binary_of(b->plan, o, b->scales);
    itg_int_binary_run(&k, &shape, &x, &y, b->epilogues, o->output_count);
    return ITG_OK;
}

const itg_batch_kernel itg_batch_binary = {.name = "binary",
                                           .wish = ITG_WISH_SAME,
                                           .takes = takes_binary,
                                           .lasts = lasts_binary,
                                           .prepare = prepare_binary,
                                           .run = run_binary};
const itg_batch_kernel itg_batch_binary_single = {
    .name = "binary", .single = true, .run = run_binary};
