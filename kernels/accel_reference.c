/* The reference set. It computes sums one by one in the order of itg_mac_options, on codes widened
 * to 64 bits, and shares only the epilogues with the other sets. The others are compared with it.
 * It also runs what they do not support: accumulators that saturate, sums in parts, wide codes. */
#include "kernels/accel_parts.h"
#include "kernels/clones.h"
#include "kernels/int_parts.h"
#include "kernels/requant.h"

__extension__ typedef __int128 wide;

enum { BLOCK = 8 }; /* pixels for each widening of a filter */

/* ---- one sum ---- */

/* Whether no step leaves 64 bits: |a[i] * b[i]| is below 2^62 and the width is at most 62 bits. */
static bool steps_fit(const int64_t *a, const int64_t *b, int64_t n, int32_t bits)
{
    const int64_t limit = (int64_t)1 << 31;
    bool fit = bits <= 62;
    for (int64_t i = 0; i < n && fit; i++)
        fit = a[i] > -limit && a[i] < limit && b[i] > -limit && b[i] < limit;
    return fit;
}

static int64_t saturating(const int64_t *a, const int64_t *b, int64_t n, int64_t bias,
                          itg_accumulator width)
{
    const int64_t lo = itg_accumulator_min(width), hi = itg_accumulator_max(width);
    int64_t acc = itg_clamp(bias, lo, hi);
    if (steps_fit(a, b, n, width.bits)) {
        for (int64_t i = 0; i < n; i++)
            acc = itg_clamp(acc + a[i] * b[i], lo, hi);
        return acc;
    }
    for (int64_t i = 0; i < n; i++) {
        wide v = (wide)a[i] * b[i] + acc;
        acc = v > hi ? hi : v < lo ? lo : (int64_t)v;
    }
    return acc;
}

ITG_CLONES
static uint64_t products(const int64_t *a, const int64_t *b, int64_t n)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (uint64_t)a[i] * (uint64_t)b[i];
    return sum;
}

/* The sum of all products. If it wraps, the sum modulo 2^64 holds the low bits of the exact one. */
static int64_t dot_whole(const int64_t *a, const int64_t *b, int64_t n, int64_t bias,
                         const itg_mac_options *mac)
{
    if (mac->may_overflow && mac->acc.overflow == ITG_OVERFLOW_SATURATE)
        return saturating(a, b, n, bias, mac->acc);
    const uint64_t sum = (uint64_t)bias + products(a, b, n);
    return mac->may_overflow ? itg_accumulator_fit(mac->acc, (int64_t)sum) : (int64_t)sum;
}

static int64_t dot_parts(const int64_t *a, const int64_t *b, int64_t bias, int64_t channel,
                         const itg_sum_split *split)
{
    int32_t shift = (int32_t)split->shift[split->shift_count == 1 ? 0 : channel];
    int64_t joined = itg_round_shift_product(bias, 1, shift, split->rounding);
    for (int64_t p = 0, i = 0; p < split->part_count; p++) {
        int64_t part = 0;
        for (; i < split->end[p]; i++)
            part += a[i] * b[i];
        joined += itg_round_shift_product(part, 1, shift, split->rounding);
    }
    return joined;
}

/* ---- layers ---- */

/* Inputs of all filters at one pixel. */
static int64_t patch_size(const itg_window *w)
{
    return w->channels * w->kernel[0] * w->kernel[1];
}

size_t itg_accel_reference_scratch(const itg_accel_layer *layer)
{
    const itg_window *w = &layer->problem.window;
    return itg_scratch_bytes(((BLOCK + 1) * patch_size(w) + BLOCK * w->out_channels) *
                             (int64_t)sizeof(int64_t));
}

/* Gathers the inputs of all filters at one pixel: channel, row, column. row: room for the channels
 * of one tap. */
static void gather(const itg_accel_problem *p, const void *x, int64_t pixel, int64_t *row,
                   int64_t *patch)
{
    const itg_window *w = &p->window;
    const int64_t pixels = w->out_height * w->out_width, channels = w->channels;
    const int64_t taps = w->kernel[0] * w->kernel[1];
    const int64_t top = pixel % pixels / w->out_width * w->stride[0] - w->pad_top;
    const int64_t left = pixel % w->out_width * w->stride[1] - w->pad_left;
    itg_int_operand codes = p->x;
    codes.data = x;
    for (int64_t t = 0; t < taps; t++) {
        const int64_t i = top + t / w->kernel[1] * w->dilation[0];
        const int64_t j = left + t % w->kernel[1] * w->dilation[1];
        const bool inside = i >= 0 && i < w->height && j >= 0 && j < w->width;
        const int64_t at = (pixel / pixels * w->height + i) * w->width + j;
        if (inside) itg_widen_row(&codes, at * channels, channels, 1, row);
        for (int64_t c = 0; c < channels; c++)
            patch[c * taps + t] = inside ? row[c] : 0;
    }
}

static void widen_filter(const itg_accel_problem *p, int64_t k, int64_t *filter)
{
    const int64_t size = patch_size(&p->window) / p->window.group;
    if (p->w_rows)
        itg_widen_row(&p->w, k, size, p->window.out_channels, filter);
    else
        itg_widen_row(&p->w, k * size, size, 1, filter);
}

/* Sums channel k of `count` pixels into sums [count][out_channels]. */
static void sum_channel(const itg_accel_problem *p, const int64_t *patches, int64_t k,
                        int64_t count, const int64_t *filter, int64_t *sums)
{
    const itg_window *w = &p->window;
    const int64_t whole = patch_size(w), size = whole / w->group;
    const int64_t group = k / (w->out_channels / w->group), bias = p->mac.bias ? p->mac.bias[k] : 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t *patch = patches + i * whole + group * size;
        sums[i * p->window.out_channels + k] = p->mac.split
                                                   ? dot_parts(patch, filter, bias, k, p->mac.split)
                                                   : dot_whole(patch, filter, size, bias, &p->mac);
    }
}

/* Computes pixels [first, first + count) of all samples. */
static void run_pixels(const itg_accel_problem *p, const void *x, void *const *y, int64_t first,
                       int64_t count, int64_t *scratch)
{
    const itg_window *w = &p->window;
    const int64_t size = patch_size(w);
    int64_t *filter = scratch, *patches = filter + size, *sums = patches + BLOCK * size;
    for (int64_t i = 0; i < count; i++)
        gather(p, x, first + i, filter, patches + i * size);
    for (int64_t k = 0; k < w->out_channels; k++) {
        widen_filter(p, k, filter);
        sum_channel(p, patches, k, count, filter, sums);
    }
    for (int32_t o = 0; o < p->out_count; o++) {
        itg_epilogue e = p->out[o];
        e.out = y[o];
        for (int64_t i = 0; i < count; i++)
            itg_epilogue_row64(sums + i * w->out_channels, w->out_channels,
                               (first + i) * w->out_channels, 0, 1, &e);
    }
}

void itg_accel_reference_run(const itg_accel_layer *layer, const void *x, void *const *y,
                             int64_t samples, void *scratch)
{
    const itg_accel_problem *p = &layer->problem;
    const int64_t pixels = samples * p->window.out_height * p->window.out_width;
    for (int64_t first = 0; first < pixels; first += BLOCK)
        run_pixels(p, x, y, first, pixels - first < BLOCK ? pixels - first : BLOCK, scratch);
}

const itg_accel_kernels itg_accel_reference = {.name = "reference", .granule = ITG_STEP_DEPTH};
