/* Pools of codes. One output pixel of all channels is computed at a time, by adding or comparing
 * rows of channels. Only elements inside the image count. */
#include "kernels/block_ops.h"
#include "kernels/requant.h"
#include <string.h>

itg_taps itg_valid_taps(int64_t first, int64_t dilation, int64_t taps, int64_t size)
{
    itg_taps valid = {0, 0};
    if (first < 0) valid.begin = (-first + dilation - 1) / dilation;
    if (first < size) valid.end = (size - 1 - first) / dilation + 1;
    if (valid.end > taps) valid.end = taps;
    if (valid.begin > valid.end) valid.begin = valid.end;
    return valid;
}

/* The part of window (p, q) inside the image: y, x of its first element, and ranges of taps. */
typedef struct patch {
    int64_t y, x;
    itg_taps rows, columns;
    int64_t count;
} patch;

static patch window_patch(const itg_window *w, int64_t p, int64_t q)
{
    patch a;
    a.y = p * w->stride[0] - w->pad_top;
    a.x = q * w->stride[1] - w->pad_left;
    a.rows = itg_valid_taps(a.y, w->dilation[0], w->kernel[0], w->height);
    a.columns = itg_valid_taps(a.x, w->dilation[1], w->kernel[1], w->width);
    a.count = (a.rows.end - a.rows.begin) * (a.columns.end - a.columns.begin);
    return a;
}

/* Runs the body for every valid element; `at` is the flat index of its channel 0. */
#define FOR_PATCH(w, a, at)                                                                        \
    for (int64_t r_ = (a)->rows.begin; r_ < (a)->rows.end; r_++)                                   \
        for (int64_t s_ = (a)->columns.begin,                                                      \
                     at = (((a)->y + r_ * (w)->dilation[0]) * (w)->width + (a)->x +                \
                           s_ * (w)->dilation[1]) *                                                \
                          (w)->channels;                                                           \
             s_ < (a)->columns.end; s_++, at += (w)->dilation[1] * (w)->channels)

static const void *row_at(const itg_int_operand *x, int64_t at)
{
    return (const unsigned char *)x->data + (size_t)at * itg_dtype_size(x->storage);
}

void itg_int_pool_max(const itg_window *w, const itg_int_operand *x, int64_t p, int64_t q,
                      void *out)
{
    const patch a = window_patch(w, p, q);
    const int64_t taps = a.columns.end - a.columns.begin, n = w->channels;
    for (int64_t r = a.rows.begin; a.count > 0 && r < a.rows.end; r++) {
        const int64_t y = a.y + r * w->dilation[0], left = a.x + a.columns.begin * w->dilation[1];
        const void *row = row_at(x, (y * w->width + left) * n);
        if (r == a.rows.begin) memcpy(out, row, (size_t)n * itg_dtype_size(x->storage));
        itg_block_max(x->storage, row, taps, w->dilation[1] * n, n, out);
    }
    for (int64_t c = 0; a.count == 0 && c < n; c++)
        itg_store(x->storage, out, c, x->qmin);
}

int64_t itg_int_pool_sum(const itg_window *w, const itg_int_operand *x, int64_t p, int64_t q,
                         int32_t *sum)
{
    const patch a = window_patch(w, p, q);
    memset(sum, 0, (size_t)w->channels * sizeof *sum);
    FOR_PATCH(w, &a, at)
    itg_block_add(x->storage, row_at(x, at), w->channels, sum);
    return a.count;
}

void itg_int_pool_sum_f32(const itg_window *w, const itg_int_operand *x, float scale, int64_t p,
                          int64_t q, float *sum)
{
    const patch a = window_patch(w, p, q);
    for (int64_t c = 0; c < w->channels; c++)
        sum[c] = 0;
    FOR_PATCH(w, &a, at)
    for (int64_t c = 0; c < w->channels; c++) {
        float term =
            itg_dequantize_f32(itg_load(x->storage, x->data, at + c), scale, x->zero_point);
        sum[c] += term;
    }
}
