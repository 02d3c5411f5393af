/* Pools of codes over one sample, NCHW. A window's valid elements are those inside the input. */
#include "kernels/int_ops.h"
#include "kernels/requant.h"

typedef struct extent {
    int64_t begin, end; /* kernel steps whose element lies inside */
} extent;

static extent valid_steps(int64_t start, int64_t dilation, int64_t kernel, int64_t size)
{
    extent e = {start >= 0 ? 0 : (-start + dilation - 1) / dilation,
                start >= size ? 0 : (size - 1 - start) / dilation + 1};
    if (e.end > kernel) e.end = kernel;
    if (e.begin > e.end) e.begin = e.end;
    return e;
}

/* The valid part of window (p, q): y, x of the first kernel element and the ranges of steps. */
typedef struct patch {
    int64_t y, x;
    extent rows, columns;
    int64_t count;
} patch;

static patch window_patch(const itg_window *w, int64_t p, int64_t q)
{
    patch a;
    a.y = p * w->stride[0] - w->pad_top;
    a.x = q * w->stride[1] - w->pad_left;
    a.rows = valid_steps(a.y, w->dilation[0], w->kernel[0], w->height);
    a.columns = valid_steps(a.x, w->dilation[1], w->kernel[1], w->width);
    a.count = (a.rows.end - a.rows.begin) * (a.columns.end - a.columns.begin);
    return a;
}

/* Calls body for the flat index `at` of every valid element of channel c. */
#define FOR_PATCH(w, a, c, at)                                                                     \
    for (int64_t r_ = (a)->rows.begin; r_ < (a)->rows.end; r_++)                                   \
        for (int64_t s_ = (a)->columns.begin,                                                      \
                     at = ((c) * (w)->height + (a)->y + r_ * (w)->dilation[0]) * (w)->width +      \
                          (a)->x + s_ * (w)->dilation[1];                                          \
             s_ < (a)->columns.end; s_++, at += (w)->dilation[1])

static int64_t patch_max(const itg_window *w, const itg_int_operand *x, const patch *a, int64_t c)
{
    int64_t most = a->count > 0 ? INT64_MIN : x->qmin;
    switch (x->storage) {
#define MAX(ID, type)                                                                              \
    case ID:                                                                                       \
        FOR_PATCH(w, a, c, at)                                                                     \
        if (((const type *)x->data)[at] > most) most = ((const type *)x->data)[at];                \
        break;
        MAX(ITG_S8, int8_t)
        MAX(ITG_U8, uint8_t)
        MAX(ITG_S16, int16_t)
        MAX(ITG_U16, uint16_t)
#undef MAX
    default:
        FOR_PATCH(w, a, c, at)
        {
            int64_t v = itg_load(x->storage, x->data, at);
            most = v > most ? v : most;
        }
    }
    return most;
}

static int64_t patch_sum(const itg_window *w, const itg_int_operand *x, const patch *a, int64_t c)
{
    int64_t sum = 0;
    switch (x->storage) {
#define SUM(ID, type)                                                                              \
    case ID:                                                                                       \
        FOR_PATCH(w, a, c, at)                                                                     \
        sum += ((const type *)x->data)[at];                                                        \
        break;
        SUM(ITG_S8, int8_t)
        SUM(ITG_U8, uint8_t)
        SUM(ITG_S16, int16_t)
        SUM(ITG_U16, uint16_t)
#undef SUM
    default:
        FOR_PATCH(w, a, c, at)
        sum += itg_load(x->storage, x->data, at);
    }
    return sum;
}

void itg_int_max_pool(const itg_window *w, const itg_int_operand *x, void *out)
{
    for (int64_t p = 0; p < w->out_height; p++)
        for (int64_t q = 0; q < w->out_width; q++) {
            patch a = window_patch(w, p, q);
            for (int64_t c = 0; c < w->channels; c++)
                itg_store(x->storage, out, (c * w->out_height + p) * w->out_width + q,
                          patch_max(w, x, &a, c));
        }
}

void itg_int_average_pool_keep(const itg_window *w, const itg_int_operand *x,
                               bool count_include_pad, itg_rounding rounding, int64_t lo,
                               int64_t hi, void *out)
{
    const int64_t area = w->kernel[0] * w->kernel[1];
    for (int64_t p = 0; p < w->out_height; p++)
        for (int64_t q = 0; q < w->out_width; q++) {
            patch a = window_patch(w, p, q);
            int64_t count = count_include_pad ? area : a.count > 0 ? a.count : 1;
            int64_t padding = count_include_pad || a.count == 0 ? count - a.count : 0;
            for (int64_t c = 0; c < w->channels; c++) {
                int64_t sum = patch_sum(w, x, &a, c) + padding * x->zero_point;
                itg_store(x->storage, out, (c * w->out_height + p) * w->out_width + q,
                          itg_clamp(itg_round_divide(sum, count, rounding), lo, hi));
            }
        }
}

void itg_int_pool_sum(const itg_window *w, const itg_int_operand *x, int64_t *acc, int32_t *count)
{
    for (int64_t p = 0; p < w->out_height; p++)
        for (int64_t q = 0; q < w->out_width; q++) {
            patch a = window_patch(w, p, q);
            for (int64_t c = 0; c < w->channels; c++) {
                int64_t at = (c * w->out_height + p) * w->out_width + q;
                acc[at] = patch_sum(w, x, &a, c) - a.count * x->zero_point;
                count[at] = (int32_t)a.count;
            }
        }
}

/* The sum of fl(scale * (q - zp)) over a window in row-major order, each addition rounded. */
static float patch_sum_f32(const itg_window *w, const itg_int_operand *x, float scale,
                           const patch *a, int64_t c)
{
    float sum = 0;
    FOR_PATCH(w, a, c, at)
    {
        float term = itg_dequantize_f32(itg_load(x->storage, x->data, at), scale, x->zero_point);
        sum += term;
    }
    return sum;
}

void itg_int_average_pool_f32(const itg_window *w, const itg_int_operand *x, float scale,
                              const int32_t *count, float *mean)
{
    for (int64_t p = 0; p < w->out_height; p++)
        for (int64_t q = 0; q < w->out_width; q++) {
            patch a = window_patch(w, p, q);
            for (int64_t c = 0; c < w->channels; c++) {
                float sum = patch_sum_f32(w, x, scale, &a, c);
                mean[(c * w->out_height + p) * w->out_width + q] =
                    sum / (float)count[p * w->out_width + q];
            }
        }
}
