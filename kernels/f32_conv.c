/* Convolution. Definition of an output: the sum starts at bias + 0 (never -0). Then, for input
 * channel, kernel row and kernel column ascending, each tap inside the input adds its product,
 * rounded once (fusedMultiplyAdd of IEEE 754).
 *
 * The fast path gives the same bits. The input of one group is copied into planes padded with
 * zeros, one plane for each phase of the stride, so that a tap of neighbouring outputs reads
 * neighbouring floats. Outputs are computed as tiles over the flattened plane; the few positions
 * between two rows are computed and dropped. Adding zero times a finite weight changes no sum that
 * is not -0, and no sum is -0. Zero times another weight gives NaN, so where there is one among the
 * outputs, and such a weight, the definition runs; also where the planes would be much larger than
 * the tensors. */
#include "kernels/clones.h"
#include "kernels/f32_tile.h"
#include "kernels/f32_window.h"
#include "kernels/requant.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TAPS 1024 /* along one dimension, for planes */
#define CHUNK_WEIGHTS 131072
#define CHUNK_SUMS 1048576
#define LEAST_STEP 16 /* positions at a time; several tiles where these are narrow */

typedef struct conv {
    itg_window w;
    int64_t in_channels, out_channels; /* of one group */
    const float *x, *weights, *bias;
    float *y;
} conv;

static float start_of(const conv *c, int64_t channel)
{
    return (c->bias ? c->bias[channel] : 0.0f) + 0.0f;
}

static const float *weights_of(const conv *c, int64_t channel)
{
    return c->weights + channel * c->in_channels * c->w.kernel[0] * c->w.kernel[1];
}

/* ---- the definition ---- */
static float define_one(const conv *c, int64_t channel, int64_t p, int64_t q)
{
    const itg_window *w = &c->w;
    const float *weight = weights_of(c, channel);
    const int64_t first = channel / c->out_channels * c->in_channels;
    const int64_t top = p * w->stride[0] - w->pad_top, left = q * w->stride[1] - w->pad_left;
    const itg_taps rows = itg_valid_taps(top, w->dilation[0], w->kernel[0], w->height);
    const itg_taps columns = itg_valid_taps(left, w->dilation[1], w->kernel[1], w->width);
    float sum = start_of(c, channel);
    for (int64_t i = 0; i < c->in_channels; ++i)
        for (int64_t r = rows.begin; r < rows.end; ++r)
            for (int64_t s = columns.begin; s < columns.end; ++s) {
                const int64_t h = top + r * w->dilation[0], v = left + s * w->dilation[1];
                sum = itg_fma_f32(c->x[((first + i) * w->height + h) * w->width + v],
                                  weight[(i * w->kernel[0] + r) * w->kernel[1] + s], sum);
            }
    return sum;
}

static void define_all(const conv *c)
{
    const itg_window *w = &c->w;
    float *y = c->y;
    for (int64_t channel = 0; channel < w->out_channels; ++channel)
        for (int64_t p = 0; p < w->out_height; ++p)
            for (int64_t q = 0; q < w->out_width; ++q)
                *y++ = define_one(c, channel, p, q);
}

/* ---- planes ---- */
/* Along one dimension, tap r of output p lies at phase[r] of the stride, at index p + shift[r]. */
typedef struct axis {
    int64_t phases; /* number of distinct phases among the taps */
    int64_t size;   /* number of indices that are read in each phase */
    int64_t *phase,
        *residue;   /* [taps]: index of the phase; [phases]: its remainder by the stride */
    int64_t *shift; /* [taps] */
} axis;

/* Fills an axis. memory: 3 * taps numbers. */
static void make_axis(const itg_window *w, int d, int64_t outputs, int64_t *memory, axis *a)
{
    const int64_t taps = w->kernel[d];
    a->phase = memory;
    a->residue = memory + taps;
    a->shift = memory + 2 * taps;
    a->phases = 0;
    for (int64_t r = 0; r < taps; ++r) {
        const int64_t at = r * w->dilation[d], residue = at % w->stride[d];
        int64_t phase = 0;
        while (phase < a->phases && a->residue[phase] != residue)
            ++phase;
        if (phase == a->phases) a->residue[a->phases++] = residue;
        a->phase[r] = phase;
        a->shift[r] = at / w->stride[d];
    }
    a->size = outputs + a->shift[taps - 1];
}

/* Copies one row of one phase: out[j] = x[j * stride + shift] where that exists. */
static void copy_row(const float *x, itg_taps valid, int64_t shift, int64_t stride, float *out)
{
    if (stride == 1) {
        memcpy(out + valid.begin, x + valid.begin + shift,
               (size_t)(valid.end - valid.begin) * sizeof *out);
        return;
    }
    for (int64_t j = valid.begin; j < valid.end; ++j)
        out[j] = x[j * stride + shift];
}

/* Copies what lies inside the input; the rest of the plane is zero already. */
static void copy_plane(const itg_window *w, const axis *vertical, const axis *horizontal,
                       const float *x, float *out)
{
    for (int64_t a = 0; a < vertical->phases; ++a)
        for (int64_t b = 0; b < horizontal->phases; ++b) {
            const int64_t shift = horizontal->residue[b] - w->pad_left;
            const itg_taps valid = itg_valid_taps(shift, w->stride[1], horizontal->size, w->width);
            for (int64_t i = 0; i < vertical->size; ++i, out += horizontal->size) {
                const int64_t h = i * w->stride[0] + vertical->residue[a] - w->pad_top;
                if (h >= 0 && h < w->height)
                    copy_row(x + h * w->width, valid, shift, w->stride[1], out);
            }
        }
}

/* ---- tiles over the planes ---- */
typedef struct layout {
    axis vertical, horizontal;
    int64_t plane, positions,
        padded; /* floats of a plane; flattened outputs; these rounded up to whole tiles */
    int64_t taps, steps;
    int64_t channels; /* outputs that are computed together, a multiple of ITG_F32_MAX_ROWS */
    int64_t *offset;  /* [taps]: from a flattened output to its tap */
    float *planes, *rows, *sums;
    void *numbers, *floats; /* the allocated memory */
} layout;

static void fill_offsets(const itg_window *w, layout *l)
{
    const axis *v = &l->vertical, *h = &l->horizontal;
    for (int64_t r = 0; r < w->kernel[0]; ++r)
        for (int64_t s = 0; s < w->kernel[1]; ++s)
            l->offset[r * w->kernel[1] + s] =
                ((v->phase[r] * h->phases + h->phase[s]) * v->size + v->shift[r]) * h->size +
                h->shift[s];
}

/* Returns the floats of all planes, or -1 if they are too many for the tensors. The last tile reads
 * beyond the last plane. */
static int64_t plane_floats(const conv *c, layout *l)
{
    const axis *v = &l->vertical, *h = &l->horizontal;
    const itg_window *w = &c->w;
    const int64_t input = w->channels * w->height * w->width;
    const int64_t output = w->out_channels * w->out_height * w->out_width;
    const int64_t limit = 16 * (input + output) + 65536;
    int64_t plane = v->size;
    const int64_t factors[4] = {h->size, v->phases, h->phases, c->in_channels};
    for (int i = 0; i < 4; ++i) {
        if (plane > limit / factors[i]) return -1;
        plane *= factors[i];
    }
    l->plane = plane / c->in_channels;
    l->positions = (w->out_height - 1) * h->size + w->out_width;
    l->padded = itg_f32_tiles_padded(l->positions);
    return plane + l->padded;
}

/* A multiple of the rows of a tile, as the sums of all of its rows are written. */
static int64_t together(const conv *c, const layout *l)
{
    int64_t count = CHUNK_WEIGHTS / l->steps;
    if (count > CHUNK_SUMS / l->padded) count = CHUNK_SUMS / l->padded;
    if (count > c->out_channels) count = c->out_channels + ITG_F32_MAX_ROWS - 1;
    count -= count % ITG_F32_MAX_ROWS;
    return count > 0 ? count : ITG_F32_MAX_ROWS;
}

/* False: no memory. *define: the definition must run. The caller frees in either case. */
static bool make_layout(const conv *c, layout *l, bool *define)
{
    const itg_window *w = &c->w;
    *define = w->kernel[0] > MAX_TAPS || w->kernel[1] > MAX_TAPS;
    if (*define) return true;
    l->taps = w->kernel[0] * w->kernel[1];
    l->steps = l->taps * c->in_channels;
    l->numbers = itg_call_alloc(3 * (w->kernel[0] + w->kernel[1]) + l->taps, sizeof(int64_t));
    if (!l->numbers) return false;
    int64_t *numbers = l->numbers;
    make_axis(w, 0, w->out_height, numbers, &l->vertical);
    make_axis(w, 1, w->out_width, numbers + 3 * w->kernel[0], &l->horizontal);
    l->offset = numbers + 3 * (w->kernel[0] + w->kernel[1]);
    const int64_t floats = plane_floats(c, l);
    if (floats < 0) {
        *define = true;
        return true;
    }
    fill_offsets(w, l);
    l->channels = together(c, l);
    l->floats = itg_call_alloc(floats + l->steps * ITG_F32_MAX_ROWS + l->padded * l->channels,
                               sizeof(float));
    if (!l->floats) return false;
    l->planes = l->floats;
    l->rows = l->planes + floats;
    l->sums = l->rows + l->steps * ITG_F32_MAX_ROWS;
    memset(l->planes, 0, (size_t)floats * sizeof(float));
    return true;
}

/* Output channels that are computed together: the inputs of some positions stay in the first-level
 * cache meanwhile, the weights in the second. */
typedef struct chunk {
    const itg_f32_tiles *tiles;
    int64_t first, count;
    int64_t tiled; /* channels in tiles, the last one padded; others are computed one by one */
} chunk;

/* Copies the weights of the last tile's channels, and zeros behind them. */
static void copy_last(const conv *c, const layout *l, const chunk *k)
{
    const size_t row = (size_t)l->steps * sizeof *l->rows;
    const int64_t count = k->tiled % k->tiles->rows;
    if (count == 0) return;
    memcpy(l->rows, weights_of(c, k->first + k->tiled - count), (size_t)count * row);
    memset(l->rows + count * l->steps, 0, (size_t)(k->tiles->rows - count) * row);
}

/* Computes the sums of rows that begin with channel i, at positions [first, first + count). */
static void run_rows(const conv *c, const layout *l, const chunk *k, int64_t i, int64_t first,
                     int64_t count)
{
    const int64_t rows = i < k->tiled ? k->tiles->rows : 1;
    const bool is_padded = i < k->tiled && i + rows > k->tiled;
    float start[ITG_F32_MAX_ROWS];
    for (int64_t r = 0; r < rows; ++r)
        start[r] = i + r < k->count ? start_of(c, k->first + i + r) : 0.0f;
    const itg_f32_tile tile = {l->sums + i * l->padded + first,
                               l->padded,
                               start,
                               is_padded ? l->rows : weights_of(c, k->first + i),
                               l->steps,
                               l->planes + first,
                               c->in_channels,
                               l->plane,
                               l->taps,
                               l->offset};
    itg_f32_tiles_run(k->tiles, rows, count, tile);
}

/* Returns nonzero if one is NaN. */
ITG_CLONES static int copy_floats(const float *restrict from, int64_t count, float *restrict to)
{
    int found = 0;
    for (int64_t i = 0; i < count; ++i) {
        found |= from[i] != from[i];
        to[i] = from[i];
    }
    return found;
}

/* Copies the sums to the output. Returns whether one is NaN. */
static bool copy_sums(const conv *c, const layout *l, const chunk *k)
{
    const itg_window *w = &c->w;
    int found = 0;
    for (int64_t r = 0; r < k->count; ++r)
        for (int64_t p = 0; p < w->out_height; ++p)
            found |= copy_floats(l->sums + r * l->padded + p * l->horizontal.size, w->out_width,
                                 c->y + ((k->first + r) * w->out_height + p) * w->out_width);
    return found;
}

/* Returns whether an output is NaN. */
static bool run_chunk(const conv *c, const layout *l, chunk k)
{
    const int64_t rows = k.tiles->rows, lanes = k.tiles->wide_lanes, rest = k.count % rows;
    const int64_t step = (LEAST_STEP + lanes - 1) / lanes * lanes;
    k.tiled = 2 * rest >= rows ? k.count : k.count - rest;
    copy_last(c, l, &k);
    for (int64_t p = 0; p < l->positions; p += step)
        for (int64_t i = 0; i < k.tiled; i += rows)
            run_rows(c, l, &k, i, p, l->positions - p < step ? l->positions - p : step);
    for (int64_t i = k.tiled; i < k.count; ++i)
        run_rows(c, l, &k, i, 0, l->positions);
    return copy_sums(c, l, &k);
}

/* Returns whether an output is NaN. */
static bool run_groups(const conv *c, const layout *l)
{
    bool found = false;
    const itg_window *w = &c->w;
    chunk k = {itg_f32_tiles_best(), 0, 0, 0};
    for (int64_t group = 0; group < w->group; ++group) {
        for (int64_t i = 0; i < c->in_channels; ++i)
            copy_plane(w, &l->vertical, &l->horizontal,
                       c->x + (group * c->in_channels + i) * w->height * w->width,
                       l->planes + i * l->plane);
        for (int64_t i = 0; i < c->out_channels; i += k.count) {
            const int64_t left = c->out_channels - i;
            k.first = group * c->out_channels + i;
            k.count = left < l->channels ? left : l->channels;
            found = run_chunk(c, l, k) || found;
        }
    }
    return found;
}

/* ---- one node ---- */
static bool are_finite(const float *values, int64_t count)
{
    int found = 0;
    for (int64_t i = 0; i < count; ++i)
        found |= !(values[i] - values[i] == 0.0f);
    return !found;
}

static itg_status check_conv(const itg_call *call, const itg_window *w)
{
    const itg_shape *weights = &call->inputs[1].shape;
    const itg_tensor *bias = itg_call_input(call, 2);
    const bool flat = weights->rank == 3;
    if (weights->rank != call->inputs[0].shape.rank || w->group < 1 || w->channels % w->group ||
        w->out_channels % w->group || weights->dims[0] != w->out_channels ||
        weights->dims[1] != w->channels / w->group ||
        (flat ? 1 : weights->dims[2]) != w->kernel[0] ||
        weights->dims[flat ? 2 : 3] != w->kernel[1])
        return itg_call_fail(call, ITG_BAD_ARGUMENT,
                             "its weights do not fit input, output and group");
    if (bias && (bias->dtype != ITG_F32 || itg_elements(&bias->shape) != w->out_channels))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its bias is not f32[output channels]");
    return ITG_OK;
}

static itg_status run_batch(const itg_call *call, conv *c, int64_t batch)
{
    itg_status status = ITG_OK;
    layout l = {0};
    const int64_t outputs = c->w.out_channels * c->w.out_height * c->w.out_width;
    const int64_t weights = c->w.out_channels * c->in_channels * c->w.kernel[0] * c->w.kernel[1];
    bool define = c->in_channels == 0;
    if (!define && !make_layout(c, &l, &define)) {
        status = itg_call_no_memory(call);
        goto cleanup;
    }
    for (int64_t n = 0; n < batch; ++n) {
        const bool found = !define && run_groups(c, &l);
        if (define || (found && !are_finite(c->weights, weights))) define_all(c);
        c->x += c->w.channels * c->w.height * c->w.width;
        c->y += outputs;
    }
cleanup:
    free(l.floats);
    free(l.numbers);
    return status;
}

/* With one tap, no stride and no padding, all positions can be one row. */
static void flatten(itg_window *w)
{
    if (w->kernel[0] != 1 || w->kernel[1] != 1 || w->stride[0] != 1 || w->stride[1] != 1 ||
        w->pad_top != 0 || w->pad_left != 0 || w->out_height != w->height ||
        w->out_width != w->width)
        return;
    w->width = w->out_width = w->height * w->width;
    w->height = w->out_height = 1;
}

itg_status itg_f32_conv(const itg_call *call)
{
    conv c = {0};
    int64_t batch;
    itg_status status = itg_call_need_f32(call, 2);
    if (status == ITG_OK) status = itg_f32_window(call, &c.w, &batch);
    if (status == ITG_OK) status = check_conv(call, &c.w);
    if (status != ITG_OK) return status;
    const itg_tensor *bias = itg_call_input(call, 2);
    flatten(&c.w);
    c.in_channels = c.w.channels / c.w.group;
    c.out_channels = c.w.out_channels / c.w.group;
    c.x = call->inputs[0].data;
    c.weights = call->inputs[1].data;
    c.bias = bias ? bias->data : NULL;
    c.y = call->outputs[0].data;
    return run_batch(call, &c, batch);
}
