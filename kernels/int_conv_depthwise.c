/* Depthwise convolution. A channel is laid out with its padding, split into one plane for each
 * phase of the strides, so that every tap becomes one flat run over all rows: out[p][q] += tap *
 * plane[p + i][q + j], both as wide as the plane. What falls beyond the last column is computed and
 * left out. */
#include "kernels/clones.h"
#include "kernels/int_conv.h"
#include <string.h>

/* Padded extent and size of one phase's plane along one axis. */
typedef struct axis {
    int64_t stride, dilation, pad, size, outputs, kernel, length;
} axis;

static axis axis_of(const itg_window *w, int d)
{
    axis a = {w->stride[d],
              w->dilation[d],
              d == 0 ? w->pad_top : w->pad_left,
              d == 0 ? w->height : w->width,
              d == 0 ? w->out_height : w->out_width,
              w->kernel[d],
              0};
    a.length = a.outputs + (a.kernel - 1) * a.dilation / a.stride;
    return a;
}

typedef struct depthwise {
    axis rows, columns;
    int64_t plane;    /* elements of one phase's plane */
    void *acc;        /* [outputs of rows][columns.length], 32 or 64 bits */
    int16_t *phases;  /* [row stride][column stride][plane] */
    int16_t *channel; /* [H * W] */
    int16_t *taps;    /* [R * S] */
} depthwise;

static depthwise shape_of(const itg_window *w)
{
    depthwise t;
    memset(&t, 0, sizeof t);
    t.rows = axis_of(w, 0);
    t.columns = axis_of(w, 1);
    t.plane = t.rows.length * t.columns.length;
    return t;
}

/* Padding that dwarfs the image would make these planes large: such a layer takes the general
 * kernel. */
bool itg_conv_depthwise_fits(const itg_window *w)
{
    const int64_t longest = (int64_t)1 << 20;
    const int64_t bounded = 4 * w->height * w->width + 4096;
    for (int d = 0; d < 2; d++)
        if (w->stride[d] > longest || w->dilation[d] > longest || w->kernel[d] > longest)
            return false;
    depthwise t = shape_of(w);
    return t.rows.length <= bounded && t.columns.length <= bounded && t.rows.stride <= bounded &&
           t.columns.stride <= bounded && t.rows.length * t.rows.stride <= bounded &&
           t.columns.length * t.columns.stride <= bounded &&
           t.rows.length * t.rows.stride <= bounded / (t.columns.length * t.columns.stride);
}

int64_t itg_conv_depthwise_bytes(const itg_window *w)
{
    if (w->group == 1 || !itg_conv_depthwise_fits(w)) return 0;
    depthwise t = shape_of(w);
    return w->out_height * t.columns.length * (int64_t)sizeof(int64_t) +
           (t.rows.stride * t.columns.stride * t.plane + w->height * w->width +
            w->kernel[0] * w->kernel[1]) *
               (int64_t)sizeof(int16_t);
}

/* channel -> phases; padding and what no output reads stay zero. */
static void split(const depthwise *t)
{
    const axis *r = &t->rows, *c = &t->columns;
    memset(t->phases, 0, (size_t)(r->stride * c->stride * t->plane) * sizeof *t->phases);
    for (int64_t y = 0; y < r->size; y++) {
        int64_t row = (y + r->pad) / r->stride;
        if (row >= r->length) break;
        const int16_t *in = t->channel + y * c->size;
        int16_t *line =
            t->phases + (y + r->pad) % r->stride * c->stride * t->plane + row * c->length;
        for (int64_t phase = 0; phase < c->stride; phase++) {
            int64_t column =
                (c->pad + c->stride - 1 - phase) / c->stride; /* the first with x >= 0 */
            int16_t *out = line + phase * t->plane;
            int64_t x = column * c->stride + phase - c->pad;
            for (; x < c->size && column < c->length; x += c->stride)
                out[column++] = in[x];
        }
    }
}

ITG_CLONES
static void add_tap32(int32_t *restrict acc, const int16_t *restrict x, int64_t n, int16_t weight)
{
    for (int64_t i = 0; i < n; i++)
        acc[i] = (int32_t)((uint32_t)acc[i] + (uint32_t)(x[i] * weight));
}

ITG_CLONES
static void add_tap64(int64_t *restrict acc, const int16_t *restrict x, int64_t n, int16_t weight)
{
    for (int64_t i = 0; i < n; i++)
        acc[i] += x[i] * weight;
}

static void add_taps(const depthwise *t, bool narrow)
{
    const axis *r = &t->rows, *c = &t->columns;
    const int64_t run = (r->outputs - 1) * c->length + c->outputs;
    memset(t->acc, 0, (size_t)run * (narrow ? sizeof(int32_t) : sizeof(int64_t)));
    for (int64_t i = 0; i < r->kernel; i++)
        for (int64_t j = 0; j < c->kernel; j++) {
            int64_t y = i * r->dilation, x = j * c->dilation;
            int64_t phase = y % r->stride * c->stride + x % c->stride;
            const int16_t *in =
                t->phases + phase * t->plane + y / r->stride * c->length + x / c->stride;
            int16_t tap = t->taps[i * c->kernel + j];
            if (narrow)
                add_tap32(t->acc, in, run, tap);
            else
                add_tap64(t->acc, in, run, tap);
        }
}

/* Rows of columns.length sums become rows of columns.outputs. */
static void compact(const depthwise *t, size_t size)
{
    for (int64_t p = 1; p < t->rows.outputs; p++)
        memmove((char *)t->acc + (size_t)(p * t->columns.outputs) * size,
                (char *)t->acc + (size_t)(p * t->columns.length) * size,
                (size_t)t->columns.outputs * size);
}

void itg_conv_depthwise(const itg_conv_args *args, void *scratch)
{
    const itg_window *w = args->window;
    const int64_t area = w->height * w->width, pixels = w->out_height * w->out_width;
    const int64_t taps = w->kernel[0] * w->kernel[1], filters = w->out_channels / w->group;
    depthwise t = shape_of(w);
    t.acc = scratch;
    t.phases = (int16_t *)(void *)((int64_t *)scratch + w->out_height * t.columns.length);
    t.channel = t.phases + t.rows.stride * t.columns.stride * t.plane;
    t.taps = t.channel + area;
    for (int64_t k = 0; k < w->out_channels; k++) {
        if (k % filters == 0) {
            itg_pack_row(args->x, k / filters * area, area, args->px.subtract, t.channel);
            split(&t);
        }
        itg_pack_row(args->weights, k * taps, taps, args->pw.subtract, t.taps);
        add_taps(&t, args->narrow);
        compact(&t, args->narrow ? sizeof(int32_t) : sizeof(int64_t));
        if (args->narrow)
            itg_conv_emit32(args, k, 0, pixels, t.acc);
        else
            itg_conv_emit64(args, k, 0, pixels, t.acc);
    }
}
