/* Convolution. Definition of an output: the sum starts at bias + 0 (never -0). Then, for input
 * channel, kernel row and kernel column ascending, each tap inside the input adds its product,
 * rounded once (fusedMultiplyAdd of IEEE 754).
 *
 * The fast path gives the same bits. The input of one group is copied into planes padded with
 * zeros, one plane for each phase of the stride, so that a tap of neighbouring outputs reads
 * neighbouring floats; with one tap and no stride it is read where it lies. Vectors of outputs go
 * to where they belong, the last one of a row over the one before. Where a row is shorter than a
 * vector, vectors run over the flattened plane into memory of their own; the few positions between
 * two rows are computed and dropped. Adding zero times a finite weight changes no sum that is not
 * -0, and no sum is -0. Zero times another weight gives NaN, so with such a weight the definition
 * runs; also where the planes would be much larger than the tensors. */
#include "kernels/clones.h"
#include "kernels/f32_tile.h"
#include "kernels/f32_window.h"
#include "kernels/requant.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TAPS 1024 /* along one dimension, for planes */
#define CHUNK_WEIGHTS 131072
#define CHUNK_SUMS 1048576
#define CHUNK_INPUTS 4096 /* floats of input for the vectors that are computed together */

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
    int64_t phases;         /* number of distinct phases among the taps */
    int64_t size;           /* number of indices that are read in each phase */
    int64_t *phase, *shift; /* [taps] */
    int64_t *first;         /* [phases]: where index 0 lies in the input */
    itg_taps *inside;       /* [phases]: the indices that lie in the input */
} axis;

/* Fills an axis. memory: AXIS_NUMBERS * taps numbers. */
#define AXIS_NUMBERS 5
static void make_axis(const itg_window *w, int d, int64_t outputs, int64_t *memory, axis *a)
{
    const int64_t taps = w->kernel[d], pad = d ? w->pad_left : w->pad_top;
    a->phase = memory;
    a->shift = memory + taps;
    a->first = memory + 2 * taps;
    a->inside = (itg_taps *)(memory + 3 * taps);
    a->phases = 0;
    a->size = outputs + (taps - 1) * w->dilation[d] / w->stride[d];
    for (int64_t r = 0; r < taps; ++r) {
        const int64_t at = r * w->dilation[d], first = at % w->stride[d] - pad;
        int64_t phase = 0;
        while (phase < a->phases && a->first[phase] != first)
            ++phase;
        a->phase[r] = phase;
        a->shift[r] = at / w->stride[d];
        if (phase < a->phases) continue;
        a->first[a->phases] = first;
        a->inside[a->phases++] =
            itg_valid_taps(first, w->stride[d], a->size, d ? w->width : w->height);
    }
}

ITG_CLONES static void copy_every_second(const float *restrict x, int64_t count,
                                         float *restrict out)
{
    for (int64_t j = 0; j < count; ++j)
        out[j] = x[2 * j];
}

/* Copies one row of one phase: out[j] = x[j * stride + shift] where that exists. */
static void copy_row(const float *x, itg_taps valid, int64_t shift, int64_t stride, float *out)
{
    if (stride == 1) {
        memcpy(out + valid.begin, x + valid.begin + shift,
               (size_t)(valid.end - valid.begin) * sizeof *out);
    } else if (stride == 2) {
        copy_every_second(x + 2 * valid.begin + shift, valid.end - valid.begin, out + valid.begin);
    } else {
        for (int64_t j = valid.begin; j < valid.end; ++j)
            out[j] = x[j * stride + shift];
    }
}

/* Copies what lies inside the input; the rest of the plane is zero already. */
static void copy_plane(const itg_window *w, const axis *vertical, const axis *horizontal,
                       const float *x, float *out)
{
    for (int64_t a = 0; a < vertical->phases; ++a)
        for (int64_t b = 0; b < horizontal->phases; ++b) {
            const itg_taps rows = vertical->inside[a];
            for (int64_t i = rows.begin; i < rows.end; ++i)
                copy_row(x + (i * w->stride[0] + vertical->first[a]) * w->width,
                         horizontal->inside[b], horizontal->first[b], w->stride[1],
                         out + i * horizontal->size);
            out += vertical->size * horizontal->size;
        }
}

/* ---- tiles over the planes ---- */
typedef struct layout {
    const itg_f32_tiles *tiles;
    axis vertical, horizontal;
    int64_t plane; /* floats of a plane */
    int64_t taps, steps;
    int64_t channels;            /* outputs that are computed together */
    int64_t *offset;             /* [taps]: from a flattened output to its tap */
    int64_t vectors, *from, *to; /* of one channel's outputs; from[], to[]: in planes, in outputs */
    int64_t stride;              /* from a channel's outputs to the next one's */
    float *planes;               /* NULL: the input is read where it lies */
    float *sums;                 /* [channels][stride]; NULL: they are written where they belong */
    int64_t *numbers, *places;   /* the allocated memory */
    float *floats;
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

/* Returns the floats of all planes, or -1 if they are too many for the tensors. */
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
    return plane;
}

/* With one tap, no stride and no padding, all positions can be one row. */
static bool is_pointwise(const itg_window *w)
{
    return w->kernel[0] == 1 && w->kernel[1] == 1 && w->stride[0] == 1 && w->stride[1] == 1 &&
           w->pad_top == 0 && w->pad_left == 0 && w->out_height == w->height &&
           w->out_width == w->width;
}

/* Whether vectors go to where they belong. */
static bool is_direct(const conv *c, const layout *l)
{
    return c->w.out_width >= l->tiles->lanes;
}

static int64_t count_vectors(const conv *c, const layout *l)
{
    const itg_window *w = &c->w;
    const int64_t lanes = l->tiles->lanes;
    if (is_direct(c, l)) return w->out_height * ((w->out_width + lanes - 1) / lanes);
    return ((w->out_height - 1) * l->horizontal.size + w->out_width + lanes - 1) / lanes;
}

static void place_vectors(const conv *c, layout *l)
{
    const itg_window *w = &c->w;
    const int64_t lanes = l->tiles->lanes, last = w->out_width - lanes;
    const bool direct = is_direct(c, l);
    const int64_t rows = direct ? w->out_height : 1, in_row = l->vectors / rows;
    int64_t *from = l->from, *to = l->to;
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t i = 0; i < in_row; ++i) {
            const int64_t column = !direct || i * lanes < last ? i * lanes : last;
            *from++ = row * l->horizontal.size + column;
            *to++ = row * w->out_width + column;
        }
    l->stride = direct ? w->out_height * w->out_width : l->vectors * lanes;
}

static int64_t together(const conv *c, const layout *l)
{
    int64_t count = CHUNK_WEIGHTS / l->steps;
    if (count > CHUNK_SUMS / l->stride && !is_direct(c, l)) count = CHUNK_SUMS / l->stride;
    count -= count % l->tiles->rows;
    if (count < l->tiles->rows) count = l->tiles->rows;
    return count < c->out_channels ? count : c->out_channels;
}

/* Places the vectors, and allocates what they read and write. False: no memory. */
static bool make_buffers(const conv *c, layout *l, int64_t floats)
{
    const bool direct = is_direct(c, l);
    l->vectors = count_vectors(c, l);
    l->places = itg_call_alloc(2 * l->vectors, sizeof(int64_t));
    if (!l->places) return false;
    l->from = l->places;
    l->to = l->from + l->vectors;
    place_vectors(c, l);
    l->channels = together(c, l);
    if (direct && is_pointwise(&c->w)) return true;
    if (!direct) floats += l->tiles->lanes; /* the last vector reads beyond the last plane */
    l->floats = itg_call_alloc(floats + (direct ? 0 : l->channels * l->stride), sizeof(float));
    if (!l->floats) return false;
    l->planes = l->floats;
    l->sums = direct ? NULL : l->planes + floats;
    memset(l->planes, 0, (size_t)floats * sizeof(float));
    return true;
}

/* False: no memory. *define: the definition must run. The caller frees in either case. */
static bool make_layout(const conv *c, layout *l, bool *define)
{
    const itg_window *w = &c->w;
    *define = w->kernel[0] > MAX_TAPS || w->kernel[1] > MAX_TAPS;
    if (*define) return true;
    l->tiles = itg_f32_tiles_best();
    l->taps = w->kernel[0] * w->kernel[1];
    l->steps = l->taps * c->in_channels;
    l->numbers =
        itg_call_alloc(AXIS_NUMBERS * (w->kernel[0] + w->kernel[1]) + l->taps, sizeof(int64_t));
    if (!l->numbers) return false;
    make_axis(w, 0, w->out_height, l->numbers, &l->vertical);
    make_axis(w, 1, w->out_width, l->numbers + AXIS_NUMBERS * w->kernel[0], &l->horizontal);
    l->offset = l->numbers + AXIS_NUMBERS * (w->kernel[0] + w->kernel[1]);
    const int64_t floats = plane_floats(c, l);
    *define = floats < 0;
    if (*define) return true;
    fill_offsets(w, l);
    return make_buffers(c, l, floats);
}

/* Some output channels of a group; their weights stay in the second-level cache, the inputs of some
 * positions in the first meanwhile. */
typedef struct chunk {
    const conv *c;
    const layout *l;
    const float *planes;
    float *out;
    int64_t first, count;
} chunk;

/* Computes channel i, or a tile's rows that begin with it, for vectors [first, first + count). */
static void run_rows(const chunk *k, int64_t i, int64_t rows, int64_t first, int64_t count)
{
    const layout *l = k->l;
    float start[ITG_F32_MAX_ROWS];
    for (int64_t r = 0; r < rows; ++r)
        start[r] = start_of(k->c, k->first + i + r);
    const itg_f32_tile tile = {k->out + i * l->stride,
                               l->stride,
                               start,
                               weights_of(k->c, k->first + i),
                               l->steps,
                               k->planes,
                               k->c->in_channels,
                               l->plane,
                               l->taps,
                               l->offset};
    itg_f32_tiles_run(l->tiles, rows, &tile, count, l->from + first, l->to + first);
}

/* The last tile overlaps the one before where at least half of it is left; other channels are
 * computed one by one. */
static void run_chunk(const chunk *k)
{
    const layout *l = k->l;
    const int64_t rows = l->tiles->rows, rest = k->count % rows;
    const int64_t tiled = 2 * rest >= rows && k->count > rows ? k->count : k->count - rest;
    const int64_t wide = l->tiles->wide, fitting = CHUNK_INPUTS / (l->steps * l->tiles->lanes);
    const int64_t step = fitting < wide ? wide : fitting - fitting % wide;
    for (int64_t v = 0; v < l->vectors; v += step)
        for (int64_t i = 0; i < tiled; i += rows)
            run_rows(k, i + rows < tiled ? i : tiled - rows, rows, v,
                     l->vectors - v < step ? l->vectors - v : step);
    for (int64_t i = tiled; i < k->count; ++i)
        run_rows(k, i, 1, 0, l->vectors);
}

/* Copies the sums to the output. */
static void copy_sums(const chunk *k)
{
    const itg_window *w = &k->c->w;
    float *y = k->c->y + k->first * w->out_height * w->out_width;
    for (int64_t r = 0; r < k->count; ++r)
        for (int64_t p = 0; p < w->out_height; ++p, y += w->out_width)
            memcpy(y, k->l->sums + r * k->l->stride + p * k->l->horizontal.size,
                   (size_t)w->out_width * sizeof *y);
}

static void run_groups(const conv *c, const layout *l)
{
    const itg_window *w = &c->w;
    for (int64_t group = 0; group < w->group; ++group) {
        const float *x = c->x + group * c->in_channels * w->height * w->width;
        for (int64_t i = 0; i < c->in_channels && l->planes; ++i)
            copy_plane(w, &l->vertical, &l->horizontal, x + i * w->height * w->width,
                       l->planes + i * l->plane);
        chunk k = {c, l, l->planes ? l->planes : x, NULL, 0, 0};
        for (int64_t i = 0; i < c->out_channels; i += k.count) {
            const int64_t left = c->out_channels - i;
            k.first = group * c->out_channels + i;
            k.count = left < l->channels ? left : l->channels;
            k.out = l->sums ? l->sums : c->y + k.first * l->stride;
            run_chunk(&k);
            if (l->sums) copy_sums(&k);
        }
    }
}

/* ---- one node ---- */
ITG_CLONES static int has_other_than_finite(const float *values, int64_t count)
{
    int found = 0;
    for (int64_t i = 0; i < count; ++i)
        found |= !(values[i] - values[i] == 0.0f);
    return found;
}

/* Whether the fast path may have multiplied a weight that is not finite by zero. A smaller output
 * is looked at first, for it has NaN then. */
static bool may_differ(const conv *c)
{
    const itg_window *w = &c->w;
    const int64_t outputs = w->out_channels * w->out_height * w->out_width;
    const int64_t weights = w->out_channels * c->in_channels * w->kernel[0] * w->kernel[1];
    return (outputs > weights || has_other_than_finite(c->y, outputs)) &&
           has_other_than_finite(c->weights, weights);
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
    bool define = c->in_channels == 0 || outputs == 0;
    if (!define && !make_layout(c, &l, &define)) {
        status = itg_call_no_memory(call);
        goto cleanup;
    }
    for (int64_t n = 0; n < batch; ++n) {
        if (!define) run_groups(c, &l);
        if (define || may_differ(c)) define_all(c);
        c->x += c->w.channels * c->w.height * c->w.width;
        c->y += outputs;
    }
cleanup:
    free(l.floats);
    free(l.places);
    free(l.numbers);
    return status;
}

static void flatten(itg_window *w)
{
    if (!is_pointwise(w)) return;
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
