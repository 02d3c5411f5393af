#include "bench/bench.h"
#include "base/base.h"
#include "kernels/float_ops.h"
#include "kernels/int_ops.h"
#include "kernels/requant.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { X_ZERO = 121, Y_ZERO = 117 };

/* One convolution in both worlds. All memory is the arena's. */
typedef struct work {
    itg_arena *arena;
    itg_window w;
    int64_t inputs, weights, outputs;
    float *x, *weight, *bias, *y, *expected;
    uint8_t *qx, *qy, *qexpected;
    int8_t *qw;
    int64_t *qb;
    itg_requant *requant;
    void *scratch;
} work;

static void set_window(itg_window *w, const bench_geometry *g)
{
    int64_t pad = g->kernel / 2, out = (g->size + 2 * pad - g->kernel) / g->stride + 1;
    *w = (itg_window){.channels = g->channels,
                      .height = g->size,
                      .width = g->size,
                      .out_channels = g->filters,
                      .out_height = out,
                      .out_width = out,
                      .kernel = {g->kernel, g->kernel},
                      .stride = {g->stride, g->stride},
                      .dilation = {1, 1},
                      .pad_top = pad,
                      .pad_left = pad,
                      .group = g->group};
}

static bool allocate(work *t)
{
    const itg_window *w = &t->w;
    size_t filters = (size_t)w->out_channels, outputs;
    t->inputs = w->channels * w->height * w->width;
    t->weights = w->out_channels * (w->channels / w->group) * w->kernel[0] * w->kernel[1];
    t->outputs = w->out_channels * w->out_height * w->out_width;
    outputs = (size_t)t->outputs;
    t->arena = itg_arena_create(0);
    if (!t->arena) return false;
    t->x = itg_arena_array(t->arena, (size_t)t->inputs, sizeof *t->x);
    t->qx = itg_arena_array(t->arena, (size_t)t->inputs, sizeof *t->qx);
    t->weight = itg_arena_array(t->arena, (size_t)t->weights, sizeof *t->weight);
    t->qw = itg_arena_array(t->arena, (size_t)t->weights, sizeof *t->qw);
    t->bias = itg_arena_array(t->arena, filters, sizeof *t->bias);
    t->qb = itg_arena_array(t->arena, filters, sizeof *t->qb);
    t->requant = itg_arena_array(t->arena, filters, sizeof *t->requant);
    t->y = itg_arena_array(t->arena, outputs, sizeof *t->y);
    t->expected = itg_arena_array(t->arena, outputs, sizeof *t->expected);
    t->qy = itg_arena_array(t->arena, outputs, sizeof *t->qy);
    t->qexpected = itg_arena_array(t->arena, outputs, sizeof *t->qexpected);
    t->scratch = itg_arena_alloc(t->arena, itg_int_conv_scratch(w));
    return t->x && t->qx && t->weight && t->qw && t->bias && t->qb && t->requant && t->y &&
           t->expected && t->qy && t->qexpected && t->scratch;
}

static void fill(work *t)
{
    itg_rng rng;
    itg_rng_init(&rng, 1);
    for (int64_t i = 0; i < t->inputs; i++) {
        t->qx[i] = (uint8_t)itg_rng_below(&rng, 256);
        t->x[i] = (float)itg_rng_unit(&rng) - 0.5f;
    }
    for (int64_t i = 0; i < t->weights; i++) {
        t->qw[i] = (int8_t)((int)itg_rng_below(&rng, 255) - 127);
        t->weight[i] = (float)itg_rng_unit(&rng) - 0.5f;
    }
    /* A sum's standard deviation is about 5400 * sqrt(depth); these ratios make it 32 to 96 codes,
     * so that the check sees the sums and not the clamp. */
    const float unit = 64.0f / (5400.0f * sqrtf((float)(t->weights / t->w.out_channels)));
    for (int64_t k = 0; k < t->w.out_channels; k++) {
        t->qb[k] = (int64_t)itg_rng_below(&rng, 2001) - 1000;
        t->bias[k] = (float)itg_rng_unit(&rng) - 0.5f;
        t->requant[k] =
            (itg_requant){.is_f32 = true, .ratio = unit * (0.5f + (float)itg_rng_unit(&rng))};
    }
}

/* ---- naive loops: one output after the other, straight from the definition ---- */
typedef struct tap {
    int64_t x, w;
} tap;

/* The taps of one output that lie inside the input, in order; returns how many. */
static int64_t taps_of(const itg_window *w, int64_t k, int64_t p, int64_t q, tap *taps)
{
    int64_t depth = w->channels / w->group, first = k / (w->out_channels / w->group) * depth,
            count = 0;
    for (int64_t c = 0; c < depth; c++)
        for (int64_t r = 0; r < w->kernel[0]; r++)
            for (int64_t s = 0; s < w->kernel[1]; s++) {
                int64_t row = p * w->stride[0] - w->pad_top + r,
                        column = q * w->stride[1] - w->pad_left + s;
                if (row < 0 || row >= w->height || column < 0 || column >= w->width) continue;
                taps[count++] = (tap){((first + c) * w->height + row) * w->width + column,
                                      ((k * depth + c) * w->kernel[0] + r) * w->kernel[1] + s};
            }
    return count;
}

static itg_status run_naive(void *context, itg_error *err)
{
    work *t = context;
    const itg_window *w = &t->w;
    tap *taps = malloc((size_t)(t->weights / w->out_channels) * sizeof *taps);
    if (!taps) return itg_fail(err, ITG_NO_MEMORY, "no memory");
    int64_t i = 0;
    for (int64_t k = 0; k < w->out_channels; k++)
        for (int64_t p = 0; p < w->out_height; p++)
            for (int64_t q = 0; q < w->out_width; q++, i++) {
                int64_t count = taps_of(w, k, p, q, taps), acc = t->qb[k];
                float sum = t->bias[k];
                for (int64_t j = 0; j < count; j++) {
                    float product = t->weight[taps[j].w] * t->x[taps[j].x];
                    sum = sum + product;
                    acc += (t->qx[taps[j].x] - X_ZERO) * (int64_t)t->qw[taps[j].w];
                }
                t->expected[i] = sum;
                t->qexpected[i] =
                    (uint8_t)itg_clamp(itg_requant_apply(&t->requant[k], acc) + Y_ZERO, 0, 255);
            }
    free(taps);
    return ITG_OK;
}

/* ---- kernels ---- */
static itg_status run_int(void *context, itg_error *err)
{
    work *t = context;
    (void)err;
    itg_int_operand x = {
        .storage = ITG_U8, .data = t->qx, .zero_point = X_ZERO, .qmin = 0, .qmax = 255};
    itg_int_operand w = {.storage = ITG_S8, .data = t->qw, .qmin = -127, .qmax = 127};
    itg_mac_options mac = {.acc = {32, ITG_OVERFLOW_WRAP},
                           .acc_bound = t->weights / t->w.out_channels * 255 * 127 + 10000,
                           .bias = t->qb};
    itg_epilogue out = {.storage = ITG_U8,
                        .out = t->qy,
                        .requant = t->requant,
                        .requant_count = (int32_t)t->w.out_channels,
                        .zero_point = Y_ZERO,
                        .lo = 0,
                        .hi = 255};
    itg_int_conv(&t->w, &x, &w, &mac, &out, 1, t->scratch);
    return ITG_OK;
}

static itg_status run_float(void *context, itg_error *err)
{
    work *t = context;
    const itg_window *w = &t->w;
    itg_attrs attrs = {.spatial_rank = 2,
                       .kernel = {w->kernel[0], w->kernel[1]},
                       .stride = {w->stride[0], w->stride[1]},
                       .dilation = {1, 1},
                       .pad = {w->pad_top, w->pad_left, w->pad_top, w->pad_left},
                       .group = w->group};
    itg_tensor inputs[] = {
        {ITG_F32, {4, {1, w->channels, w->height, w->width}}, t->x},
        {ITG_F32,
         {4, {w->out_channels, w->channels / w->group, w->kernel[0], w->kernel[1]}},
         t->weight},
        {ITG_F32, {1, {w->out_channels}}, t->bias}};
    itg_tensor output = {ITG_F32, {4, {1, w->out_channels, w->out_height, w->out_width}}, t->y};
    return itg_float_eval(ITG_OP_CONV, &attrs, inputs, 3, &output, 1, err);
}

static itg_status verify(work *t, itg_error *err)
{
    itg_status status = run_naive(t, err);
    if (status == ITG_OK) status = run_int(t, err);
    if (status == ITG_OK) status = run_float(t, err);
    if (status != ITG_OK) return status;
    if (memcmp(t->qy, t->qexpected, (size_t)t->outputs) != 0)
        return itg_fail(err, ITG_FAILURE, "the integer kernel differs from the naive loop");
    if (memcmp(t->y, t->expected, (size_t)t->outputs * sizeof(float)) != 0)
        return itg_fail(err, ITG_FAILURE, "the float kernel differs from the naive loop");
    printf("  verified: %lld codes and %lld floats equal a naive loop's\n", (long long)t->outputs,
           (long long)t->outputs);
    return ITG_OK;
}

itg_status bench_conv(const bench_geometry *g, int repeats, itg_error *err)
{
    work t = {0};
    set_window(&t.w, g);
    printf("\nconvolution %s: [%lld,%lld,%lld], %lld filters %lldx%lld, stride %lld, group %lld\n",
           g->name, (long long)g->channels, (long long)g->size, (long long)g->size,
           (long long)g->filters, (long long)g->kernel, (long long)g->kernel, (long long)g->stride,
           (long long)g->group);
    itg_status status = allocate(&t) ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory");
    if (status == ITG_OK) {
        fill(&t);
        status = verify(&t, err);
    }
    if (status == ITG_OK) {
        bench_contender contenders[] = {{"integer kernel", run_int, &t},
                                        {"float kernel", run_float, &t},
                                        {"naive, both", run_naive, &t}};
        double macs = (double)t.outputs * (double)(t.weights / t.w.out_channels);
        bench_contest contest = {.contenders = contenders,
                                 .count = 3,
                                 .repeats = repeats,
                                 .work = 1e-9 * macs,
                                 .unit = "GMAC"};
        status = bench_run(&contest, err);
    }
    itg_arena_destroy(t.arena);
    return status;
}
