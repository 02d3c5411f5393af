/* Sums, means and maxima over windows and over axes. */
#include "realize/exec.h"
#include "kernels/requant.h"

static const itg_pvalue *value(const itg_instance *instance, int32_t id)
{
    return &instance->program->values[id];
}

static itg_window_view window(const itg_program *p, const itg_step *s)
{
    return itg_window_of(s->op, &s->attrs, &p->values[s->inputs[0]].shape,
                         &p->values[s->outputs[0]].shape);
}

static itg_reduction reduction(const itg_program *p, const itg_step *s)
{
    itg_attrs attrs = s->attrs;
    if (s->op == ITG_OP_ARG_MAX) {
        attrs.axes_count = 1;
        attrs.axes[0] = attrs.axis;
    }
    itg_reduction r;
    itg_shape y;
    (void)itg_reduction_of(&attrs, &p->values[s->inputs[0]].shape, &r, &y, NULL);
    return r;
}

size_t itg_exec_mean_scratch(const itg_program *p, const itg_step *s)
{
    const itg_pvalue *y = &p->values[s->outputs[0]];
    if (itg_mean_is_reduction(s)) return (size_t)y->elements * sizeof(int64_t);
    return (size_t)(y->elements / y->shape.dims[0]) * (sizeof(int64_t) + sizeof(int32_t));
}

/* The keep form rounds means of raw codes: zero points come back, for padding that counts too.
 *
 * Writes n results of `counts` (one for all where stride is 0): runs of equal counts share their
 * constants. */
static void finish_mean(itg_instance *instance, const itg_step *s, int64_t *acc, int64_t n,
                        const int32_t *counts, int64_t stride)
{
    const itg_pvalue *y = value(instance, s->outputs[0]);
    for (int64_t first = 0, run; first < n; first += run) {
        int32_t count = counts[first * stride];
        run = 1;
        while (first + run < n && counts[(first + run) * stride] == count)
            run++;
        if (s->form == ITG_FORM_KEEP) {
            for (int64_t i = 0; i < run; i++)
                itg_store(
                    y->dtype, instance->epilogues[0].out, i,
                    itg_clamp(itg_round_divide(acc[first + i] + (int64_t)count * y->q.zero_point,
                                               count, s->rounding),
                              y->q.qmin, y->q.qmax));
        }
        for (int32_t k = 0; s->form != ITG_FORM_KEEP && k < s->output_count; k++) {
            itg_epilogue e = instance->epilogues[k];
            if (e.requant_count > 1) e.requant += count - 1;
            if (e.dequant_count > 1) e.dequant += count - 1;
            e.requant_count = e.requant_count > 0;
            e.dequant_count = e.dequant_count > 0;
            itg_int_epilogue(acc + first, run, 0, &e);
        }
        itg_exec_advance(instance, s, run);
    }
}

/* The sum of one window with the accumulator's width simulated after every addition. */
static int64_t saturating_sum(const itg_step *s, const itg_window *w, const itg_int_operand *x,
                              int64_t c, int64_t p, int64_t q)
{
    itg_taps rows =
        itg_window_taps(p, w->stride[0], w->dilation[0], w->pad_top, w->kernel[0], 0, w->height);
    itg_taps columns =
        itg_window_taps(q, w->stride[1], w->dilation[1], w->pad_left, w->kernel[1], 0, w->width);
    int64_t acc = 0;
    for (int64_t i = 0; i < rows.count; i++)
        for (int64_t j = 0; j < columns.count; j++) {
            int64_t h = p * w->stride[0] - w->pad_top + (rows.first + i) * w->dilation[0];
            int64_t v = q * w->stride[1] - w->pad_left + (columns.first + j) * w->dilation[1];
            acc +=
                itg_load(x->storage, x->data, (c * w->height + h) * w->width + v) - x->zero_point;
            acc = itg_accumulator_fit(s->acc, acc);
        }
    return acc;
}

/* A window that holds nothing is divided by 1. */
static int32_t window_count(const itg_step *s, const itg_window *w, int64_t row, int64_t column)
{
    int64_t count = itg_mean_count(s, w, row, column);
    return count < 1 ? 1 : (int32_t)count;
}

static void window_sums(const itg_step *s, const itg_window *w, const itg_int_operand *x,
                        int64_t *acc, int32_t *counts)
{
    int64_t plane = w->out_height * w->out_width;
    bool exact = s->form == ITG_FORM_KEEP || itg_step_fits(s);
    if (exact || s->acc.overflow == ITG_OVERFLOW_WRAP) itg_int_pool_sum(w, x, acc, counts);
    for (int64_t i = 0; !exact && i < plane * w->channels; i++)
        acc[i] =
            s->acc.overflow == ITG_OVERFLOW_WRAP
                ? itg_accumulator_fit(s->acc, acc[i])
                : saturating_sum(s, w, x, i / plane, i % plane / w->out_width, i % w->out_width);
    for (int64_t i = 0; i < plane; i++)
        counts[i] = window_count(s, w, i / w->out_width, i % w->out_width);
}

static void mean_of_windows(itg_instance *instance, const itg_step *s, itg_int_operand x)
{
    itg_window_view v = window(instance->program, s);
    int64_t plane = v.w.out_height * v.w.out_width, n = plane * v.w.channels;
    int64_t image = v.w.channels * v.w.height * v.w.width;
    int64_t *acc = itg_exec_scratch(instance, s);
    int32_t *counts = (int32_t *)(void *)(acc + n);
    for (int64_t b = 0; b < v.batch; b++) {
        window_sums(s, &v.w, &x, acc, counts);
        for (int64_t c = 0; c < v.w.channels; c++)
            finish_mean(instance, s, acc + c * plane, plane, counts, 1);
        x.data = (const unsigned char *)x.data + (size_t)image * itg_dtype_size(x.storage);
    }
}

/* AveragePool in float32: no sums of codes, but means at once. */
static void f32_means(itg_instance *instance, const itg_step *s, itg_int_operand x)
{
    itg_window_view v = window(instance->program, s);
    int64_t plane = v.w.out_height * v.w.out_width, n = plane * v.w.channels;
    int64_t image = v.w.channels * v.w.height * v.w.width;
    float *means = itg_exec_scratch(instance, s);
    int32_t *counts = (int32_t *)(void *)(means + n);
    float scale = value(instance, s->inputs[0])->q.scale[0];
    for (int64_t i = 0; i < plane; i++)
        counts[i] = window_count(s, &v.w, i / v.w.out_width, i % v.w.out_width);
    for (int64_t b = 0; b < v.batch; b++) {
        itg_int_average_pool_f32(&v.w, &x, scale, counts, means);
        for (int32_t k = 0; k < s->output_count; k++) {
            const itg_pvalue *y = value(instance, s->outputs[k]);
            itg_mean_epilogue(means, n, y->quantized ? y->q.scale[0] : 1.0f,
                              &instance->epilogues[k]);
        }
        itg_exec_advance(instance, s, n);
        x.data = (const unsigned char *)x.data + (size_t)image * itg_dtype_size(x.storage);
    }
}

/* Sum in row-major order of the reduced axes. */
static int64_t axes_sum(const itg_step *s, const itg_reduction *r, const itg_int_operand *x,
                        int64_t base)
{
    bool saturate =
        s->form != ITG_FORM_KEEP && !itg_step_fits(s) && s->acc.overflow == ITG_OVERFLOW_SATURATE;
    int32_t last = r->reduced_rank - 1;
    int64_t inner = last >= 0 ? r->reduced[last] : 1,
            step = last >= 0 ? r->reduced_stride[last] : 0, acc = 0;
    for (int64_t i = 0; i < r->count / inner; i++) {
        int64_t at =
            base + itg_strided_offset(last > 0 ? last : 0, r->reduced, r->reduced_stride, i);
        for (int64_t j = 0; j < inner; j++) {
            acc += itg_load(x->storage, x->data, at + j * step) - x->zero_point;
            if (saturate) acc = itg_accumulator_fit(s->acc, acc);
        }
    }
    return s->form == ITG_FORM_KEEP ? acc : itg_accumulator_fit(s->acc, acc);
}

static void mean_of_axes(itg_instance *instance, const itg_step *s, itg_int_operand x)
{
    itg_reduction r = reduction(instance->program, s);
    int64_t *acc = itg_exec_scratch(instance, s);
    int32_t count = (int32_t)r.count;
    for (int64_t i = 0; i < r.outer; i++)
        acc[i] = axes_sum(s, &r, &x, itg_strided_offset(r.kept_rank, r.kept, r.kept_stride, i));
    finish_mean(instance, s, acc, r.outer, &count, 0);
}

itg_status itg_exec_mean(itg_instance *instance, const itg_step *s, itg_error *err)
{
    (void)err;
    itg_int_operand x = itg_exec_operand(instance, s->inputs[0]);
    itg_exec_epilogues(instance, s);
    if (s->form == ITG_FORM_F32)
        f32_means(instance, s, x);
    else if (itg_mean_is_reduction(s))
        mean_of_axes(instance, s, x);
    else
        mean_of_windows(instance, s, x);
    return ITG_OK;
}

/* Position of the greatest code along the reduced axes, the first or the last of equals. */
static int64_t greatest(const itg_reduction *r, const itg_int_operand *x, int64_t base,
                        bool last_of_equals)
{
    int64_t best = 0, most = INT64_MIN;
    for (int64_t i = 0; i < r->count; i++) {
        int64_t at = base + itg_strided_offset(r->reduced_rank, r->reduced, r->reduced_stride, i);
        int64_t code = itg_load(x->storage, x->data, at);
        if (code < most || (code == most && !last_of_equals)) continue;
        most = code;
        best = i;
    }
    return best;
}

itg_status itg_exec_arg_max(itg_instance *instance, const itg_step *s, itg_error *err)
{
    (void)err;
    itg_int_operand x = itg_exec_operand(instance, s->inputs[0]);
    itg_reduction r = reduction(instance->program, s);
    int64_t *out = itg_exec_data(instance, s->outputs[0]);
    for (int64_t i = 0; i < r.outer; i++)
        out[i] = greatest(&r, &x, itg_strided_offset(r.kept_rank, r.kept, r.kept_stride, i),
                          s->attrs.select_last_index);
    return ITG_OK;
}

itg_status itg_exec_max(itg_instance *instance, const itg_step *s, itg_error *err)
{
    (void)err;
    itg_int_operand x = itg_exec_operand(instance, s->inputs[0]);
    unsigned char *out = itg_exec_data(instance, s->outputs[0]);
    if (s->op == ITG_OP_REDUCE_MAX) {
        itg_reduction r = reduction(instance->program, s);
        for (int64_t i = 0; i < r.outer; i++) {
            int64_t base = itg_strided_offset(r.kept_rank, r.kept, r.kept_stride, i);
            int64_t best = greatest(&r, &x, base, false);
            int64_t at =
                base + itg_strided_offset(r.reduced_rank, r.reduced, r.reduced_stride, best);
            itg_store(x.storage, out, i, itg_load(x.storage, x.data, at));
        }
        return ITG_OK;
    }
    itg_window_view v = window(instance->program, s);
    size_t size = itg_dtype_size(x.storage);
    for (int64_t b = 0; b < v.batch; b++) {
        itg_int_max_pool(&v.w, &x, out);
        x.data =
            (const unsigned char *)x.data + (size_t)(v.w.channels * v.w.height * v.w.width) * size;
        out += (size_t)(v.w.channels * v.w.out_height * v.w.out_width) * size;
    }
    return ITG_OK;
}
