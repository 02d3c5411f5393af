/* Pools with channels last: a window is a sum, or a maximum, of rows of channels. batch_reduce.c
 * handles accumulators that saturate and reductions over other axes. */
#include "kernels/requant.h"
#include "realize/batch_plan.h"

static itg_window_view window_of(const itg_batch_plan *plan, const itg_step *s)
{
    const itg_pvalue *values = plan->program->values;
    return itg_window_of(s->op, &s->attrs, &values[s->inputs[0]].shape,
                         &values[s->outputs[0]].shape);
}

static itg_status run_max(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    const itg_window_view v = window_of(b->plan, o->step);
    const itg_window w = v.w;
    itg_int_operand x = itg_batch_operand(b, o, 0);
    unsigned char *out = itg_batch_data(b, o->outputs[0]);
    const size_t pixel = (size_t)w.channels * itg_dtype_size(x.storage);
    for (int64_t k = 0; k < count * v.batch; k++) {
        for (int64_t p = 0; p < w.out_height; p++, out += pixel * (size_t)w.out_width)
            itg_int_pool_max(&w, &x, p, itg_batch_scratch(b, o), out);
        x.data = (const unsigned char *)x.data + pixel * (size_t)(w.height * w.width);
    }
    return ITG_OK;
}

static itg_status prepare_max(itg_batch_plan *plan, itg_batch_operation *o)
{
    const itg_window w = window_of(plan, o->step).w;
    o->scratch_bytes = (size_t)(w.width * w.channels) *
                       itg_dtype_size(plan->program->values[o->step->inputs[0]].dtype);
    return ITG_OK;
}

static bool takes_max(const itg_batch_plan *plan, const itg_step *s)
{
    (void)plan;
    return s->op != ITG_OP_REDUCE_MAX;
}

const itg_batch_kernel itg_batch_max = {.name = "max",
                                        .wish = ITG_WISH_LAST,
                                        .loads = true,
                                        .takes = takes_max,
                                        .prepare = prepare_max,
                                        .run = run_max};

/* ---- means ---- */

/* Sums of 2^15 taps of 16-bit codes fit 32 bits. */
static bool sums_fit(const itg_window *w, itg_dtype d)
{
    return itg_dtype_size(d) <= 2 && w->kernel[0] * w->kernel[1] <= 32768;
}

static bool takes_mean(const itg_batch_plan *plan, const itg_step *s)
{
    if (itg_mean_is_reduction(s)) return false;
    if (s->form == ITG_FORM_F32) return true;
    itg_window w = window_of(plan, s).w;
    bool exact =
        s->form != ITG_FORM_RESCALE || itg_step_fits(s) || s->acc.overflow == ITG_OVERFLOW_WRAP;
    return exact && sums_fit(&w, plan->program->values[s->inputs[0]].dtype);
}

static itg_status prepare_mean(itg_batch_plan *plan, itg_batch_operation *o)
{
    /* Sums in 32 bits (or floats), then in 64. */
    o->scratch_bytes =
        (size_t)window_of(plan, o->step).w.channels * (sizeof(int32_t) + sizeof(int64_t));
    return ITG_OK;
}

/* One output pixel of all channels. */
typedef struct pixel {
    const itg_step *s;
    const itg_pvalue *x;
    itg_epilogue *out; /* [outputs], at this pixel */
    const float *scale_out;
    int64_t channels, valid;
    int32_t count; /* divisor of the sum */
} pixel;

static void finish_keep(const pixel *p, const int32_t *sum)
{
    const itg_quantizer *q = &p->x->q; /* equal to the output's */
    /* The sums are of raw codes; counted padding holds the zero point. */
    int64_t padding = (p->count - p->valid) * (int64_t)q->zero_point;
    for (int64_t c = 0; c < p->channels; c++)
        itg_store(p->out->storage, p->out->out, c,
                  itg_clamp(itg_round_divide(sum[c] + padding, p->count, p->s->rounding), q->qmin,
                            q->qmax));
}

static void finish_rescale(const pixel *p, const int32_t *sum, int64_t *acc)
{
    const int64_t zero = p->valid * (int64_t)p->x->q.zero_point;
    for (int64_t c = 0; c < p->channels; c++)
        acc[c] = itg_accumulator_fit(p->s->acc, sum[c] - zero);
    for (int32_t k = 0; k < p->s->output_count; k++) {
        const itg_epilogue e = itg_batch_mean_epilogue(p->out[k], p->count);
        itg_int_epilogue(acc, p->channels, 0, &e);
    }
}

static void finish_f32(const pixel *p, float *sum)
{
    for (int64_t c = 0; c < p->channels; c++)
        sum[c] = sum[c] / (float)p->count;
    for (int32_t k = 0; k < p->s->output_count; k++)
        itg_mean_epilogue(sum, p->channels, p->scale_out[k], &p->out[k]);
}

/* Computes the mean of a window; an empty one is divided by 1. */
static void mean_pixel(const itg_window *w, const itg_int_operand *x, int64_t row, int64_t column,
                       pixel *p, void *scratch)
{
    int64_t *acc = scratch;
    int32_t *sum = (int32_t *)(void *)(acc + w->channels);
    const int64_t taps = itg_mean_count(p->s, w, row, column);
    p->count = taps < 1 ? 1 : (int32_t)taps;
    if (p->s->form == ITG_FORM_F32) {
        itg_int_pool_sum_f32(w, x, p->x->q.scale[0], row, column, (float *)(void *)sum);
        finish_f32(p, (float *)(void *)sum);
        return;
    }
    p->valid = itg_int_pool_sum(w, x, row, column, sum);
    if (p->s->form == ITG_FORM_KEEP)
        finish_keep(p, sum);
    else
        finish_rescale(p, sum, acc);
}

static itg_status run_mean(itg_batch *b, const itg_batch_operation *o, int64_t count)
{
    const itg_step *s = o->step;
    const itg_window_view v = window_of(b->plan, s);
    const itg_window w = v.w;
    itg_int_operand x = itg_batch_operand(b, o, 0);
    pixel p = {s, itg_place_value(b->plan, o->inputs[0]), b->epilogues, b->scales, w.channels, 0,
               1};
    for (int32_t i = 0; i < o->output_count; i++) {
        const itg_pvalue *y = itg_place_value(b->plan, o->outputs[i]);
        p.out[i] = itg_batch_epilogue(b, o, i);
        b->scales[i] = y->quantized ? y->q.scale[0] : 1.0f;
    }
    for (int64_t k = 0; k < count * v.batch; k++) {
        for (int64_t i = 0; i < w.out_height * w.out_width; i++) {
            mean_pixel(&w, &x, i / w.out_width, i % w.out_width, &p, itg_batch_scratch(b, o));
            for (int32_t j = 0; j < o->output_count; j++)
                p.out[j].out = (unsigned char *)p.out[j].out +
                               (size_t)w.channels * itg_dtype_size(p.out[j].storage);
        }
        x.data = (const unsigned char *)x.data +
                 (size_t)(w.channels * w.height * w.width) * itg_dtype_size(x.storage);
    }
    return ITG_OK;
}

const itg_batch_kernel itg_batch_mean = {.name = "mean",
                                         .wish = ITG_WISH_LAST,
                                         .loads = true,
                                         .takes = takes_mean,
                                         .prepare = prepare_mean,
                                         .run = run_mean};
