/* Pools of codes. Rows of channels are added or compared, for one output pixel at a time or, by
 * maxima, one row of pixels. Only elements inside the image count. */
#include "kernels/block_ops.h"
#include "kernels/clones.h"
#include "kernels/int_parts.h"
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

/* The greatest of `rows` rows of n elements, `step` elements apart, in x's storage. */
static void greatest(const itg_int_operand *x, const unsigned char *first, int64_t rows,
                     int64_t step, int64_t n, void *out)
{
    const size_t size = itg_dtype_size(x->storage);
    memcpy(out, first, (size_t)n * size);
    if (rows > 1) itg_block_max(x->storage, first + (size_t)step * size, rows - 1, step, n, out);
}

/* The greatest of each column first, which neighbouring windows share. */
void itg_int_pool_max(const itg_window *w, const itg_int_operand *x, int64_t p, void *column,
                      void *out)
{
    const int64_t n = w->channels, line = w->width * n, y = p * w->stride[0] - w->pad_top;
    const itg_taps rows = itg_valid_taps(y, w->dilation[0], w->kernel[0], w->height);
    const size_t size = itg_dtype_size(x->storage);
    unsigned char *to = out;
    if (rows.begin < rows.end)
        greatest(x, row_at(x, (y + rows.begin * w->dilation[0]) * line), rows.end - rows.begin,
                 w->dilation[0] * line, line, column);
    for (int64_t q = 0; q < w->out_width; q++, to += (size_t)n * size) {
        const int64_t left = q * w->stride[1] - w->pad_left;
        const itg_taps taps = itg_valid_taps(left, w->dilation[1], w->kernel[1], w->width);
        const size_t at = (size_t)((left + taps.begin * w->dilation[1]) * n) * size;
        if (rows.begin < rows.end && taps.begin < taps.end)
            greatest(x, (const unsigned char *)column + at, taps.end - taps.begin,
                     w->dilation[1] * n, n, to);
        else
            for (int64_t c = 0; c < n; c++)
                itg_store(x->storage, to, c, x->qmin);
    }
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

/* sum[c] += itg_dequantize_f32(x[c]) of bytes; flip: 0x80 if they are signed, which zero includes.
 */
ITG_CLONES static void add_bytes_f32(const uint8_t *x, int64_t n, uint8_t flip, int32_t zero,
                                     float scale, float *sum)
{
    for (int64_t c = 0; c < n; c++) {
        const float term = (float)((int32_t)(uint8_t)(x[c] ^ flip) - zero) * scale;
        sum[c] += term;
    }
}

/* sum[c] += the number of channel c of the element at `at`. */
static void add_row_f32(const itg_int_operand *x, int64_t at, int64_t channels, float scale,
                        float *sum)
{
    const int64_t limit = (int64_t)1 << 30;
    if (itg_is_byte(x->storage) && x->zero_point >= -limit && x->zero_point <= limit) {
        const uint8_t flip = x->storage == ITG_S8 ? 0x80 : 0;
        add_bytes_f32((const uint8_t *)x->data + at, channels, flip, (int32_t)x->zero_point + flip,
                      scale, sum);
        return;
    }
    for (int64_t c = 0; c < channels; c++) {
        float term =
            itg_dequantize_f32(itg_load(x->storage, x->data, at + c), scale, x->zero_point);
        sum[c] += term;
    }
}

void itg_int_pool_sum_f32(const itg_window *w, const itg_int_operand *x, float scale, int64_t p,
                          int64_t q, float *sum)
{
    const patch a = window_patch(w, p, q);
    for (int64_t c = 0; c < w->channels; c++)
        sum[c] = 0;
    FOR_PATCH(w, &a, at)
    add_row_f32(x, at, w->channels, scale, sum);
}
