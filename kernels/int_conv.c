/* Convolution of codes as dot products: the input of one group becomes 16-bit NHWC, a patch is R
 * runs of S * C values of it, weights follow in the same order (row, column, channel). Depthwise
 * convolutions and the sequential accumulators have their own files. */
#include "kernels/int_conv.h"
#include <string.h>

enum { MAX_BLOCK = 64, BLOCK_BYTES = 256 * 1024 };

typedef struct conv {
    itg_conv_args args;
    int64_t channels, filters; /* of one group */
    int64_t taps, depth, padded, pixels, block;
    int64_t *acc;     /* [ITG_DOT_ROWS][block], 32-bit sums lie here too */
    int16_t *plane;   /* [H * W][channels] */
    int16_t *weights; /* [filters][padded] */
    int16_t *row;     /* [depth] one filter in its own order */
    int16_t *patches; /* [block][padded] */
} conv;

static conv conv_shape(const itg_window *w)
{
    conv t;
    memset(&t, 0, sizeof t);
    t.channels = w->channels / w->group;
    t.filters = w->out_channels / w->group;
    t.taps = w->kernel[0] * w->kernel[1];
    t.depth = t.channels * t.taps;
    t.padded = itg_dot_depth(t.depth);
    t.pixels = w->out_height * w->out_width;
    t.block = BLOCK_BYTES / (t.padded * (int64_t)sizeof(int16_t));
    t.block = t.block < 4 ? 4 : t.block > MAX_BLOCK ? MAX_BLOCK : t.block;
    return t;
}

static int64_t packed_bytes(const conv *t, const itg_window *w)
{
    int64_t halves = t->channels * w->height * w->width + t->filters * t->padded + t->padded +
                     t->block * t->padded;
    return ITG_DOT_ROWS * t->block * (int64_t)sizeof(int64_t) + halves * (int64_t)sizeof(int16_t);
}

size_t itg_int_conv_scratch(const itg_window *w)
{
    conv t = conv_shape(w);
    int64_t packed = packed_bytes(&t, w), depthwise = itg_conv_depthwise_bytes(w),
            sequential = itg_conv_sequential_bytes(w);
    int64_t most = packed > depthwise ? packed : depthwise;
    return itg_scratch_bytes(most > sequential ? most : sequential);
}

static void carve(conv *t, const itg_window *w, void *scratch)
{
    t->acc = scratch;
    t->plane = (int16_t *)(t->acc + ITG_DOT_ROWS * t->block);
    t->weights = t->plane + t->channels * w->height * w->width;
    t->row = t->weights + t->filters * t->padded;
    t->patches = t->row + t->padded;
}

static void pack_weights(const conv *t, int64_t group)
{
    for (int64_t k = 0; k < t->filters; k++) {
        int16_t *out = t->weights + k * t->padded;
        itg_pack_row(t->args.weights, (group * t->filters + k) * t->depth, t->depth,
                     t->args.pw.subtract, t->row);
        for (int64_t tap = 0; tap < t->taps; tap++)
            for (int64_t c = 0; c < t->channels; c++)
                out[tap * t->channels + c] = t->row[c * t->taps + tap];
        memset(out + t->depth, 0, (size_t)(t->padded - t->depth) * sizeof *out);
    }
}

/* `count` values of padding: they stand for code = zero_point. */
static int16_t *pad(int16_t *out, int64_t count, int16_t value)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = value;
    return out + count;
}

/* One kernel row of a patch: S pixels of input row `line` (NULL: outside), from column x on. */
static int16_t *patch_row(const conv *t, const int16_t *line, int64_t x, int16_t *out)
{
    const itg_window *w = t->args.window;
    const int64_t columns = w->kernel[1], step = w->dilation[1], c = t->channels;
    const int16_t padding = (int16_t)t->args.px.residue;
    if (!line) return pad(out, columns * c, padding);
    if (step == 1 && x >= 0 && x + columns <= w->width) {
        memcpy(out, line + x * c, (size_t)(columns * c) * sizeof *out);
        return out + columns * c;
    }
    for (int64_t s = 0; s < columns; s++, x += step) {
        if (x < 0 || x >= w->width) {
            out = pad(out, c, padding);
        } else {
            memcpy(out, line + x * c, (size_t)c * sizeof *out);
            out += c;
        }
    }
    return out;
}

static void gather(const conv *t, int64_t first, int64_t count)
{
    const itg_window *w = t->args.window;
    for (int64_t i = 0; i < count; i++) {
        int64_t p = (first + i) / w->out_width, q = (first + i) % w->out_width;
        int64_t y = p * w->stride[0] - w->pad_top, x = q * w->stride[1] - w->pad_left;
        int16_t *out = t->patches + i * t->padded;
        for (int64_t r = 0; r < w->kernel[0]; r++, y += w->dilation[0]) {
            bool inside = y >= 0 && y < w->height;
            const int16_t *line = inside ? t->plane + y * w->width * t->channels : NULL;
            out = patch_row(t, line, x, out);
        }
        memset(out, 0, (size_t)(t->padded - t->depth) * sizeof *out);
    }
}

static void tile32(const conv *t, int64_t group, int64_t k0, int64_t rows, int64_t first,
                   int64_t count)
{
    int32_t *acc = (int32_t *)(void *)t->acc;
    itg_dot_tile32(t->weights + k0 * t->padded, rows, t->patches, count, t->padded, acc, t->block);
    for (int64_t r = 0; r < rows; r++)
        itg_conv_emit32(&t->args, group * t->filters + k0 + r, first, count, acc + r * t->block);
}

/* acc -= residue of the input * sum of weights + residue of the weights * sum of the patch - their
 * product. */
static void correct(const conv *t, int64_t k, int64_t count, int64_t *acc)
{
    int64_t rx = t->args.px.residue, rw = t->args.pw.residue;
    if (rx == 0 && rw == 0) return;
    int64_t fixed = rx * rw * t->depth - rx * itg_sum_row(t->weights + k * t->padded, t->depth);
    for (int64_t i = 0; i < count; i++) {
        acc[i] += fixed;
        if (rw != 0) acc[i] -= rw * itg_sum_row(t->patches + i * t->padded, t->depth);
    }
}

static void tile64(const conv *t, int64_t group, int64_t k0, int64_t rows, int64_t first,
                   int64_t count)
{
    itg_dot_tile64(t->weights + k0 * t->padded, rows, t->patches, count, t->padded,
                   t->args.pw.magnitude, t->args.px.magnitude, t->acc, t->block);
    for (int64_t r = 0; r < rows; r++) {
        int64_t *acc = t->acc + r * t->block;
        correct(t, k0 + r, count, acc);
        itg_conv_emit64(&t->args, group * t->filters + k0 + r, first, count, acc);
    }
}

static void packed(const itg_conv_args *args, void *scratch)
{
    const itg_window *w = args->window;
    const int64_t area = w->height * w->width;
    conv t = conv_shape(w);
    t.args = *args;
    carve(&t, w, scratch);
    for (int64_t g = 0; g < w->group; g++) {
        itg_pack_transposed(args->x, g * t.channels * area, t.channels, area, area,
                            args->px.subtract, t.plane, t.channels);
        pack_weights(&t, g);
        for (int64_t first = 0; first < t.pixels; first += t.block) {
            int64_t count = t.pixels - first < t.block ? t.pixels - first : t.block;
            gather(&t, first, count);
            for (int64_t k = 0; k < t.filters; k += ITG_DOT_ROWS) {
                int64_t rows = t.filters - k < ITG_DOT_ROWS ? t.filters - k : ITG_DOT_ROWS;
                if (args->narrow)
                    tile32(&t, g, k, rows, first, count);
                else
                    tile64(&t, g, k, rows, first, count);
            }
        }
    }
}

void itg_conv_emit32(const itg_conv_args *args, int64_t k, int64_t first, int64_t count,
                     int32_t *acc)
{
    uint32_t bias = args->mac->bias ? (uint32_t)args->mac->bias[k] : 0;
    int64_t start = k * args->window->out_height * args->window->out_width + first;
    for (int64_t i = 0; i < count; i++)
        acc[i] = (int32_t)((uint32_t)acc[i] + bias);
    for (int32_t o = 0; o < args->out_count; o++)
        itg_epilogue_row32(acc, count, start, k, 0, &args->out[o]);
}

void itg_conv_emit64(const itg_conv_args *args, int64_t k, int64_t first, int64_t count,
                     int64_t *acc)
{
    uint64_t bias = args->mac->bias ? (uint64_t)args->mac->bias[k] : 0;
    int64_t start = k * args->window->out_height * args->window->out_width + first;
    for (int64_t i = 0; i < count; i++) {
        acc[i] = (int64_t)((uint64_t)acc[i] + bias);
        if (args->mac->may_overflow) acc[i] = itg_accumulator_fit(args->mac->acc, acc[i]);
    }
    for (int32_t o = 0; o < args->out_count; o++)
        itg_epilogue_row64(acc, count, start, k, 0, &args->out[o]);
}

void itg_int_conv(const itg_window *w, const itg_int_operand *x, const itg_int_operand *weights,
                  const itg_mac_options *mac, const itg_epilogue *out, int32_t out_count,
                  void *scratch)
{
    itg_conv_args args = {w,   x,         weights, itg_packing_of(x), itg_packing_of(weights), mac,
                          out, out_count, false};
    const bool exact = args.px.residue == 0 && args.pw.residue == 0;
    args.narrow = exact && !mac->may_overflow && mac->acc_bound <= INT32_MAX;
    bool saturates = mac->may_overflow && mac->acc.overflow == ITG_OVERFLOW_SATURATE;
    const bool depthwise = exact && w->group > 1 && w->channels == w->group;
    if (saturates || mac->split || !args.px.fits || !args.pw.fits)
        itg_conv_sequential(&args, scratch);
    else if (depthwise && itg_conv_depthwise_fits(w))
        itg_conv_depthwise(&args, scratch);
    else
        packed(&args, scratch);
}
