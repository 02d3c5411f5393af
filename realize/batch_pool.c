/* Pools with channels last: a window is a sum, or a maximum, of rows of channels. Whatever is rare
 * (accumulators that saturate, reductions over other axes) is left to the plain executor. */
#include "kernels/requant.h"
#include "realize/batch_plan.h"

static bool is_window(const itg_batch_plan *plan, const itg_step *s)
{
    const itg_pvalue *x = &plan->program->values[s->inputs[0]];
    return x->data == NULL && x->shape.rank >= 3 && x->shape.dims[0] == 1 &&
           itg_op_is(s->op, ITG_IS_POOL);
}

static itg_window window_of(const itg_batch_plan *plan, const itg_step *s)
{
    const itg_pvalue *values = plan->program->values;
    return itg_window_of(s->op, &s->attrs, &values[s->inputs[0]].shape,
                         &values[s->outputs[0]].shape)
        .w;
}

/* The taps of an output pixel that lie in the input. */
typedef struct patch {
    itg_taps rows, columns;
    int64_t top, left; /* of the first of them */
} patch;

static patch patch_of(const itg_window *w, int64_t p, int64_t q)
{
    patch a = {
        itg_window_taps(p, w->stride[0], w->dilation[0], w->pad_top, w->kernel[0], 0, w->height),
        itg_window_taps(q, w->stride[1], w->dilation[1], w->pad_left, w->kernel[1], 0, w->width), 0,
        0};
    a.top = p * w->stride[0] - w->pad_top + a.rows.first * w->dilation[0];
    a.left = q * w->stride[1] - w->pad_left + a.columns.first * w->dilation[1];
    return a;
}

#define FOR_TAPS(w, a, at)                                                                         \
    for (int64_t r_ = 0; r_ < (a)->rows.count; r_++)                                               \
        for (int64_t c_ = 0, at = (((a)->top + r_ * (w)->dilation[0]) * (w)->width + (a)->left) *  \
                                  (w)->channels;                                                   \
             c_ < (a)->columns.count; c_++, at += (w)->dilation[1] * (w)->channels)

/* ---- maxima ---- */

/* Without a valid element, the least code. */
static void patch_max(const itg_window *w, const itg_int_operand *x, const patch *a, void *out)
{
    const size_t size = itg_dtype_size(x->storage);
    bool first = true;
    FOR_TAPS(w, a, at)
    {
        const unsigned char *row = (const unsigned char *)x->data + (size_t)at * size;
        if (first)
            memcpy(out, row, (size_t)w->channels * size);
        else
            itg_block_max(x->storage, row, w->channels, out);
        first = false;
    }
    for (int64_t c = 0; first && c < w->channels; c++)
        itg_store(x->storage, out, c, x->qmin);
}

static itg_status run_max(itg_batch *b, const itg_batch_operation *o, int64_t count, itg_error *err)
{
    (void)err;
    itg_window w = window_of(b->plan, o->step);
    itg_int_operand x = itg_batch_operand(b, o, 0);
    unsigned char *out = itg_batch_data(b, o->outputs[0]);
    size_t size = itg_dtype_size(x.storage), row = (size_t)w.channels * size;
    for (int64_t k = 0; k < count; k++) {
        for (int64_t p = 0; p < w.out_height; p++)
            for (int64_t q = 0; q < w.out_width; q++, out += row) {
                patch a = patch_of(&w, p, q);
                patch_max(&w, &x, &a, out);
            }
        x.data = (const unsigned char *)x.data + row * (size_t)(w.height * w.width);
    }
    return ITG_OK;
}

static bool is_code(itg_dtype d)
{
    return d == ITG_S8 || d == ITG_U8 || d == ITG_S16 || d == ITG_U16 || d == ITG_S32;
}

static bool takes_max(const itg_batch_plan *plan, const itg_step *s)
{
    return is_window(plan, s) && is_code(plan->program->values[s->inputs[0]].dtype);
}

const itg_batch_kernel itg_batch_max = {"max", ITG_WISH_LAST, takes_max, NULL, NULL, run_max};

/* ---- means ---- */

/* Sums of 2^15 taps of 16-bit codes fit 32 bits. */
static bool sums_fit(const itg_window *w, itg_dtype d)
{
    return itg_dtype_size(d) <= 2 && w->kernel[0] * w->kernel[1] <= 32768;
}

static bool takes_mean(const itg_batch_plan *plan, const itg_step *s)
{
    if (!is_window(plan, s)) return false;
    itg_window w = window_of(plan, s);
    bool exact =
        s->form != ITG_FORM_RESCALE || itg_step_fits(s) || s->acc.overflow == ITG_OVERFLOW_WRAP;
    return exact && sums_fit(&w, plan->program->values[s->inputs[0]].dtype);
}

static itg_status prepare_mean(itg_batch_plan *plan, itg_batch_operation *o, itg_error *err)
{
    (void)err;
    /* Sums in 32 bits (or floats), then in 64. */
    o->scratch_bytes =
        (size_t)window_of(plan, o->step).channels * (sizeof(int32_t) + sizeof(int64_t));
    return ITG_OK;
}

static void patch_sum(const itg_window *w, const itg_int_operand *x, const patch *a, int32_t *sum)
{
    memset(sum, 0, (size_t)w->channels * sizeof *sum);
    FOR_TAPS(w, a, at)
    itg_block_add(x->storage,
                  (const unsigned char *)x->data + (size_t)at * itg_dtype_size(x->storage),
                  w->channels, sum);
}

/* Each addition rounded, in the order of the taps. */
static void patch_sum_f32(const itg_window *w, const itg_int_operand *x, float scale,
                          const patch *a, float *sum)
{
    for (int64_t c = 0; c < w->channels; c++)
        sum[c] = 0;
    FOR_TAPS(w, a, at)
    for (int64_t c = 0; c < w->channels; c++) {
        float term =
            itg_dequantize_f32(itg_load(x->storage, x->data, at + c), scale, x->zero_point);
        sum[c] += term;
    }
}

/* One output pixel of all channels. */
typedef struct pixel {
    const itg_step *s;
    const itg_pvalue *x;
    itg_epilogue *out; /* [outputs], at this pixel */
    const float *scale_out;
    int64_t channels, valid;
    int32_t count; /* that the sum is divided by */
} pixel;

static void finish_keep(const pixel *p, const int32_t *sum)
{
    const itg_quantizer *q = &p->x->q; /* equal to the output's */
    /* Sums of raw codes; padding that counts holds the zero point. */
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
        itg_epilogue e = p->out[k];
        if (e.requant_count > 1) e.requant += p->count - 1;
        if (e.dequant_count > 1) e.dequant += p->count - 1;
        e.requant_count = e.requant_count > 0;
        e.dequant_count = e.dequant_count > 0;
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

static void mean_pixel(const itg_window *w, const itg_int_operand *x, const patch *a, pixel *p,
                       void *scratch)
{
    int64_t *acc = scratch;
    int32_t *sum = (int32_t *)(void *)(acc + w->channels);
    if (p->s->form == ITG_FORM_F32) {
        patch_sum_f32(w, x, p->x->q.scale[0], a, (float *)(void *)sum);
        finish_f32(p, (float *)(void *)sum);
        return;
    }
    patch_sum(w, x, a, sum);
    if (p->s->form == ITG_FORM_KEEP)
        finish_keep(p, sum);
    else
        finish_rescale(p, sum, acc);
}

static itg_status run_mean(itg_batch *b, const itg_batch_operation *o, int64_t count,
                           itg_error *err)
{
    (void)err;
    const itg_step *s = o->step;
    itg_window w = window_of(b->plan, s);
    itg_int_operand x = itg_batch_operand(b, o, 0);
    pixel p = {s,
               itg_place_value(b->plan, o->inputs[0]),
               b->plain.epilogues,
               b->plain.scales,
               w.channels,
               0,
               1};
    for (int32_t i = 0; i < o->output_count; i++) {
        const itg_pvalue *y = itg_place_value(b->plan, o->outputs[i]);
        p.out[i] = itg_batch_epilogue(b, o, i);
        b->plain.scales[i] = y->quantized ? y->q.scale[0] : 1.0f;
    }
    for (int64_t k = 0; k < count; k++) {
        for (int64_t i = 0; i < w.out_height * w.out_width; i++) {
            patch a = patch_of(&w, i / w.out_width, i % w.out_width);
            int64_t taps = itg_mean_count(s, &w, i / w.out_width, i % w.out_width);
            p.valid = a.rows.count * a.columns.count;
            p.count = taps < 1 ? 1 : (int32_t)taps;
            mean_pixel(&w, &x, &a, &p, itg_batch_scratch(b, o));
            for (int32_t j = 0; j < o->output_count; j++)
                p.out[j].out = (unsigned char *)p.out[j].out +
                               (size_t)w.channels * itg_dtype_size(p.out[j].storage);
        }
        x.data = (const unsigned char *)x.data +
                 (size_t)(w.channels * w.height * w.width) * itg_dtype_size(x.storage);
    }
    return ITG_OK;
}

const itg_batch_kernel itg_batch_mean = {"mean", ITG_WISH_LAST, takes_mean,
                                         NULL,   prepare_mean,  run_mean};
