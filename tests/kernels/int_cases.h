/* Random operands, outputs and accumulators for the integer kernels, and what they must give. */
#ifndef ITG_INT_CASES_H
#define ITG_INT_CASES_H
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "kernels/accel.h"
#include "kernels/requant.h"
#include "tests/guarded_heap.h"

__extension__ typedef __int128 wide;

static inline int64_t between(itg_rng *rng, int64_t lo, int64_t hi)
{
    return lo + (int64_t)itg_rng_below(rng, (uint64_t)(hi - lo) + 1);
}

static inline void *buffer(int64_t bytes) /* freed by guarded_free() */
{
    return guarded_alloc((size_t)bytes);
}

/* ---- random operands ---- */

typedef struct operand {
    itg_int_operand view;
    int64_t *codes; /* the same codes, plainly */
} operand;

static inline operand make_operand(itg_rng *rng, itg_dtype storage, int64_t n, bool symmetric)
{
    operand o;
    int64_t lo = itg_dtype_min(storage), hi = itg_dtype_max(storage);
    if (storage == ITG_S32) lo = -100000, hi = 100000;
    if (itg_rng_below(rng, 2)) { /* fewer bits than the storage */
        hi = between(rng, 1, hi);
        lo = lo < 0 ? -hi : 0;
    }
    o.view.storage = storage;
    o.view.qmin = lo;
    o.view.qmax = hi;
    o.view.zero_point = symmetric ? 0 : between(rng, lo, hi);
    o.codes = buffer(n * (int64_t)sizeof *o.codes);
    void *data = buffer(n * (int64_t)itg_dtype_size(storage));
    bool extremes = itg_rng_below(rng, 4) == 0;
    for (int64_t i = 0; i < n; i++) {
        o.codes[i] = extremes ? (itg_rng_below(rng, 8) ? lo : hi) : between(rng, lo, hi);
        switch (storage) {
        case ITG_S8:
            ((int8_t *)data)[i] = (int8_t)o.codes[i];
            break;
        case ITG_U8:
            ((uint8_t *)data)[i] = (uint8_t)o.codes[i];
            break;
        case ITG_S16:
            ((int16_t *)data)[i] = (int16_t)o.codes[i];
            break;
        case ITG_U16:
            ((uint16_t *)data)[i] = (uint16_t)o.codes[i];
            break;
        default:
            ((int32_t *)data)[i] = (int32_t)o.codes[i];
            break;
        }
    }
    o.view.data = data;
    return o;
}

static inline void free_operand(operand *o)
{
    guarded_free(o->codes);
    guarded_free((void *)(uintptr_t)o->view.data);
}

static inline itg_dtype random_storage(itg_rng *rng)
{
    static const itg_dtype all[] = {ITG_S8, ITG_S8, ITG_U8, ITG_U8, ITG_S16, ITG_U16, ITG_S32};
    return all[itg_rng_below(rng, sizeof all / sizeof *all)];
}

/* ---- random outputs: 8-bit codes per channel, 16-bit codes of one requantization, 64-bit
 * identity, floats ---- */

enum { OUTPUTS = 4 };
typedef struct outputs {
    itg_epilogue e[OUTPUTS];
    itg_requant *requants;
    float *dequant;
    int64_t n;
} outputs;

static inline itg_requant random_requant(itg_rng *rng)
{
    static const itg_requant_form forms[] = {ITG_REQUANT_TFLITE_DOUBLE, ITG_REQUANT_S64_REDUCED,
                                             ITG_REQUANT_F32};
    itg_requant_spec spec = {.form = forms[itg_rng_below(rng, 3)]};
    double ratio = ldexp(0.5 + itg_rng_unit(rng) / 2, (int)between(rng, -18, 2));
    itg_requant r;
    assert_int_equal(itg_requant_derive(&spec, ratio, (float)ratio, 0, &r), ITG_OK);
    return r;
}

static inline outputs make_outputs(itg_rng *rng, int64_t n, int64_t channels)
{
    outputs o;
    o.n = n;
    o.requants = buffer((channels + 1) * (int64_t)sizeof *o.requants);
    o.dequant = buffer(channels * (int64_t)sizeof *o.dequant);
    for (int64_t c = 0; c <= channels; c++)
        o.requants[c] = random_requant(rng);
    for (int64_t c = 0; c < channels; c++)
        o.dequant[c] = (float)itg_rng_unit(rng);
    bool is_signed = itg_rng_below(rng, 2);
    o.e[0] = (itg_epilogue){.storage = is_signed ? ITG_S8 : ITG_U8,
                            .out = buffer(n),
                            .requant = o.requants,
                            .requant_count = (int32_t)channels,
                            .zero_point = between(rng, 0, 100),
                            .lo = is_signed ? -100 : 3,
                            .hi = is_signed ? 127 : 250};
    o.e[1] = (itg_epilogue){.storage = ITG_S16,
                            .out = buffer(2 * n),
                            .requant = o.requants + channels,
                            .requant_count = 1,
                            .zero_point = 0,
                            .lo = -32767,
                            .hi = 32767};
    o.e[2] = (itg_epilogue){.storage = ITG_S64,
                            .out = buffer(8 * n),
                            .zero_point = 1,
                            .lo = INT64_MIN / 2,
                            .hi = INT64_MAX / 2};
    o.e[3] = (itg_epilogue){.storage = ITG_F32,
                            .out = buffer(4 * n),
                            .dequant = o.dequant,
                            .dequant_count = (int32_t)channels,
                            .float_lo = -1e4F,
                            .float_hi = INFINITY};
    return o;
}

static inline void free_outputs(outputs *o)
{
    for (int i = 0; i < OUTPUTS; i++)
        guarded_free(o->e[i].out);
    guarded_free(o->requants);
    guarded_free(o->dequant);
}

static inline void expect_outputs(const outputs *o, int64_t i, int64_t channel, int64_t acc)
{
    const itg_epilogue *e = o->e;
    int64_t q = itg_clamp(itg_requant_apply(&e[0].requant[channel], acc), -100000, 100000);
    q = itg_clamp(q + e[0].zero_point, e[0].lo, e[0].hi);
    assert_int_equal(e[0].storage == ITG_S8 ? ((int8_t *)e[0].out)[i] : ((uint8_t *)e[0].out)[i],
                     q);
    q = itg_clamp(itg_requant_apply(&e[1].requant[0], acc), e[1].lo, e[1].hi);
    assert_int_equal(((int16_t *)e[1].out)[i], q);
    if (acc < INT64_MAX)
        q = itg_clamp(acc + 1, e[2].lo, e[2].hi);
    else
        q = e[2].hi;
    assert_true(((int64_t *)e[2].out)[i] == q);
    volatile float f = (float)acc * o->dequant[channel];
    assert_true(((float *)e[3].out)[i] == (f < -1e4F ? -1e4F : f));
}

/* ---- accumulators ---- */

typedef struct running {
    wide v;
    const itg_mac_options *mac;
} running;

static inline void sum_add(running *s, wide term)
{
    s->v += term;
    if (!s->mac->may_overflow || s->mac->acc.overflow != ITG_OVERFLOW_SATURATE) return;
    wide lo = itg_accumulator_min(s->mac->acc), hi = itg_accumulator_max(s->mac->acc);
    s->v = s->v < lo ? lo : s->v > hi ? hi : s->v;
}

static inline int64_t sum_result(const running *s)
{
    wide v = s->v;
    if (s->mac->may_overflow && s->mac->acc.overflow == ITG_OVERFLOW_WRAP) {
        wide half = -(wide)itg_accumulator_min(s->mac->acc), size = 2 * half;
        v = ((v + half) % size + size) % size - half;
    }
    assert_true(v >= INT64_MIN && v <= INT64_MAX);
    return (int64_t)v;
}

/* ---- one layer by the reference kernels, channels first ---- */

/* Samples of x to e, which are transposed around the layer; a matrix product lies as it is. Returns
 * the bytes of scratch. */
static inline size_t run_reference(itg_accel_problem p, const itg_int_operand *x, int64_t samples,
                                   bool matrix, const itg_epilogue *e, int32_t out_count)
{
    const itg_window *w = &p.window;
    const int64_t area = matrix ? 1 : w->height * w->width;
    const int64_t pixels = matrix ? 1 : w->out_height * w->out_width;
    const int64_t in = w->channels * w->height * w->width;
    const int64_t out = w->out_channels * w->out_height * w->out_width;
    const itg_accel_kernels *kernels = NULL;
    itg_accel_layer *layer = NULL;
    itg_arena *arena = itg_arena_create(0);
    void *y[ITG_ACCEL_OUTPUTS];
    p.x = *x;
    p.out = e;
    p.out_count = out_count;
    assert_int_equal(itg_accel_choose("reference", &kernels, NULL), ITG_OK);
    assert_int_equal(itg_accel_layer_create(kernels, &p, NULL, arena, &layer, NULL), ITG_OK);
    const size_t bytes = itg_accel_scratch(layer, samples);
    void *scratch = buffer((int64_t)bytes);
    void *last = buffer(samples * in * (int64_t)itg_dtype_size(x->storage));
    itg_to_channels_last(x->storage, samples, in / area, area, x->data, last);
    for (int32_t i = 0; i < out_count; i++)
        y[i] = buffer(samples * out * (int64_t)itg_dtype_size(e[i].storage));
    itg_accel_run(layer, last, y, samples, scratch);
    for (int32_t i = 0; i < out_count; i++) {
        itg_to_channels_first(e[i].storage, samples, out / pixels, pixels, y[i], e[i].out);
        guarded_free(y[i]);
    }
    guarded_free(last);
    guarded_free(scratch);
    itg_arena_destroy(arena);
    return bytes;
}

static inline int64_t reach(const operand *o)
{
    int64_t below = o->view.zero_point - o->view.qmin, above = o->view.qmax - o->view.zero_point;
    return below > above ? below : above;
}

/* A true bound, sometimes a generous one; an overflowing accumulator in half of the cases. */
static inline itg_mac_options make_mac(itg_rng *rng, const operand *a, const operand *b,
                                       int64_t depth, int64_t channels, int64_t **bias)
{
    itg_mac_options mac = {{32, ITG_OVERFLOW_WRAP}, false, 0, NULL, NULL};
    int64_t most = 0;
    *bias = NULL;
    if (itg_rng_below(rng, 4)) {
        *bias = buffer(channels * (int64_t)sizeof **bias);
        for (int64_t c = 0; c < channels; c++)
            (*bias)[c] = between(rng, -5000, 5000);
        most = 5000;
    }
    mac.bias = *bias;
    mac.acc_bound = most + depth * reach(a) * reach(b);
    if (itg_rng_below(rng, 4) == 0) mac.acc_bound += (int64_t)1 << 40;
    mac.may_overflow = itg_rng_below(rng, 2);
    mac.acc.bits = (int32_t)between(rng, 8, 64);
    mac.acc.overflow = itg_rng_below(rng, 2) ? ITG_OVERFLOW_SATURATE : ITG_OVERFLOW_WRAP;
    return mac;
}

static inline itg_window random_window(itg_rng *rng)
{
    itg_window w;
    static const int64_t groups[] = {1, 1, 1, 2, 3};
    w.group = groups[itg_rng_below(rng, 5)];
    bool depthwise = itg_rng_below(rng, 4) == 0;
    if (depthwise) w.group = between(rng, 2, 5);
    w.channels = w.group * (depthwise ? 1 : between(rng, 1, 9));
    w.out_channels = w.group * between(rng, 1, 6);
    for (int d = 0; d < 2; d++) {
        w.kernel[d] = between(rng, 1, 4);
        w.stride[d] = between(rng, 1, 3);
        w.dilation[d] = between(rng, 1, 3);
    }
    w.height = between(rng, 1, 12);
    w.width = between(rng, 1, 12);
    w.pad_top = between(rng, 0, 4);
    w.pad_left = between(rng, 0, 4);
    int64_t rows =
        w.height + w.pad_top + between(rng, 0, 4) - (w.kernel[0] - 1) * w.dilation[0] - 1;
    int64_t columns =
        w.width + w.pad_left + between(rng, 0, 4) - (w.kernel[1] - 1) * w.dilation[1] - 1;
    w.out_height = rows < 0 ? 1 : rows / w.stride[0] + 1;
    w.out_width = columns < 0 ? 1 : columns / w.stride[1] + 1;
    return w;
}
#endif
