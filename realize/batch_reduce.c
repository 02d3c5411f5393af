/* Means, maxima and their positions, one output element at a time: for reductions over any axes,
 * and for accumulators that saturate. batch_pool.c handles the other pools. */
#include "kernels/requant.h"
#include "realize/batch_plan.h"

/* The input elements of one output element: those in a window, or along the reduced axes. */
typedef struct box {
    int32_t rank;
    int64_t dims[ITG_MAX_RANK], stride[ITG_MAX_RANK];
    int64_t base, count; /* elements */
    int64_t divisor;
} box;

static box window_box(const itg_step *s, const itg_window *w, int64_t i)
{
    const int64_t plane = i / (w->out_height * w->out_width);
    const int64_t p = i / w->out_width % w->out_height, q = i % w->out_width;
    int64_t top = p * w->stride[0] - w->pad_top, left = q * w->stride[1] - w->pad_left;
    const itg_taps rows = itg_valid_taps(top, w->dilation[0], w->kernel[0], w->height);
    const itg_taps columns = itg_valid_taps(left, w->dilation[1], w->kernel[1], w->width);
    top += rows.begin * w->dilation[0];
    left += columns.begin * w->dilation[1];
    box b = {.rank = 2,
             .dims = {rows.end - rows.begin, columns.end - columns.begin},
             .stride = {w->dilation[0] * w->width, w->dilation[1]},
             .base = (plane * w->height + top) * w->width + left,
             .divisor = itg_mean_count(s, w, p, q)};
    b.count = b.dims[0] * b.dims[1];
    return b;
}

static box axes_box(const itg_reduction *r, int64_t i)
{
    box b = {.rank = r->reduced_rank,
             .base = itg_strided_offset(r->kept_rank, r->kept, r->kept_stride, i),
             .count = r->count,
             .divisor = r->count};
    memcpy(b.dims, r->reduced, sizeof b.dims);
    memcpy(b.stride, r->reduced_stride, sizeof b.stride);
    return b;
}

/* Sums in row-major order of the box. A saturating accumulator is simulated after every
 * addition. */
static int64_t sum_of(const itg_step *s, const itg_int_operand *x, const box *b)
{
    const bool saturates =
        s->form != ITG_FORM_KEEP && !itg_step_fits(s) && s->acc.overflow == ITG_OVERFLOW_SATURATE;
    const int32_t last = b->rank - 1;
    const int64_t inner = last >= 0 ? b->dims[last] : 1, step = last >= 0 ? b->stride[last] : 0;
    int64_t acc = 0;
    for (int64_t row = 0; row * inner < b->count; row++) {
        int64_t at = b->base + itg_strided_offset(last > 0 ? last : 0, b->dims, b->stride, row);
        for (int64_t i = 0; i < inner; i++) {
            acc += itg_load(x->storage, x->data, at + i * step) - x->zero_point;
            if (saturates) acc = itg_accumulator_fit(s->acc, acc);
        }
    }
    return s->form == ITG_FORM_KEEP ? acc : itg_accumulator_fit(s->acc, acc);
}

itg_epilogue itg_batch_mean_epilogue(itg_epilogue e, int64_t divisor)
{
    if (e.requant_count > 1) e.requant += divisor - 1;
    if (e.dequant_count > 1) e.dequant += divisor - 1;
    e.requant_count = e.requant_count > 0;
    e.dequant_count = e.dequant_count > 0;
    return e;
}

/* Writes the mean of a window; an empty one is divided by 1. KEEP rounds means of raw codes, so the
 * zero point is added back once for each element, counted padding included. */
static void put_mean(const itg_batch *b, const itg_batch_operation *o, int64_t at, int64_t divisor,
                     int64_t sum)
{
    const itg_step *s = o->step;
    const itg_quantizer *q = &itg_place_value(b->plan, o->outputs[0])->q;
    if (divisor < 1) divisor = 1;
    for (int32_t k = 0; k < o->output_count; k++) {
        itg_epilogue e = itg_batch_mean_epilogue(b->epilogues[k], divisor);
        e.out = (unsigned char *)e.out + (size_t)at * itg_dtype_size(e.storage);
        if (s->form != ITG_FORM_KEEP)
            itg_int_epilogue(&sum, 1, 0, &e);
        else
            itg_store(
                e.storage, e.out, 0,
                itg_clamp(itg_round_divide(sum + divisor * q->zero_point, divisor, s->rounding),
                          q->qmin, q->qmax));
    }
}

static itg_status run_reduce_mean(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    (void)count;
    const itg_step *s = o->step;
    const itg_pvalue *x = &b->plan->program->values[s->inputs[0]],
                     *y = itg_place_value(b->plan, o->outputs[0]);
    const bool axes = itg_mean_is_reduction(s);
    const itg_int_operand codes = itg_batch_operand(b, o, 0);
    itg_reduction r = {0};
    itg_window w = {0};
    if (axes)
        r = itg_reduction_of(s, &x->shape);
    else
        w = itg_window_of(s->op, &s->attrs, &x->shape, &y->shape).w;
    for (int32_t k = 0; k < o->output_count; k++)
        b->epilogues[k] = itg_batch_epilogue(b, o, k);
    for (int64_t i = 0; i < y->elements; i++) {
        const box a = axes ? axes_box(&r, i) : window_box(s, &w, i);
        put_mean(b, o, i, a.divisor, sum_of(s, &codes, &a));
    }
    return ITG_OK;
}

const itg_batch_kernel itg_batch_reduce_mean = {
    .name = "reduce mean", .single = true, .run = run_reduce_mean};

/* Returns the position in the box of the greatest code: the first or the last of equal ones. */
static int64_t greatest(const itg_int_operand *x, const box *b, bool last_of_equals, int64_t *most)
{
    int64_t best = 0;
    *most = INT64_MIN;
    for (int64_t i = 0; i < b->count; i++) {
        int64_t code = itg_load(x->storage, x->data,
                                b->base + itg_strided_offset(b->rank, b->dims, b->stride, i));
        if (code < *most || (code == *most && !last_of_equals)) continue;
        *most = code;
        best = i;
    }
    return best;
}

static itg_status run_reduce_max(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    (void)count;
    const itg_pvalue *y = itg_place_value(b->plan, o->outputs[0]);
    const itg_int_operand x = itg_batch_operand(b, o, 0);
    const itg_reduction r =
        itg_reduction_of(o->step, &b->plan->program->values[o->step->inputs[0]].shape);
    for (int64_t i = 0; i < r.outer; i++) {
        const box a = axes_box(&r, i);
        int64_t most;
        const int64_t at = greatest(&x, &a, o->step->attrs.select_last_index, &most);
        itg_store(y->dtype, itg_batch_data(b, o->outputs[0]), i,
                  o->step->op == ITG_OP_ARG_MAX ? at : most);
    }
    return ITG_OK;
}

const itg_batch_kernel itg_batch_reduce_max = {
    .name = "reduce max", .single = true, .run = run_reduce_max};
