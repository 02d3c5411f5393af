/* Integer kernels against naive loops with 128-bit sums, over random geometries, storages, zero points and outputs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "kernels/int_ops.h"
#include "kernels/requant.h"

__extension__ typedef __int128 wide;

static int64_t between(itg_rng *rng, int64_t lo, int64_t hi)
{
    return lo + (int64_t)itg_rng_below(rng, (uint64_t)(hi - lo) + 1);
}

static void *buffer(int64_t bytes) /* exact size, so that sanitizers see any step outside */
{
    void *p = malloc(bytes > 0 ? (size_t)bytes : 1);
    assert_non_null(p);
    return p;
}

/* ---- random operands ---- */

typedef struct operand {
    itg_int_operand view;
    int64_t *codes; /* the same codes, plainly */
} operand;

static operand make_operand(itg_rng *rng, itg_dtype storage, int64_t n, bool symmetric)
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
        case ITG_S8: ((int8_t *)data)[i] = (int8_t)o.codes[i]; break;
        case ITG_U8: ((uint8_t *)data)[i] = (uint8_t)o.codes[i]; break;
        case ITG_S16: ((int16_t *)data)[i] = (int16_t)o.codes[i]; break;
        case ITG_U16: ((uint16_t *)data)[i] = (uint16_t)o.codes[i]; break;
        default: ((int32_t *)data)[i] = (int32_t)o.codes[i]; break;
        }
    }
    o.view.data = data;
    return o;
}

static void free_operand(operand *o)
{
    free(o->codes);
    free((void *)(uintptr_t)o->view.data);
}

static itg_dtype random_storage(itg_rng *rng)
{
    static const itg_dtype all[] = {ITG_S8, ITG_S8, ITG_U8, ITG_U8, ITG_S16, ITG_U16, ITG_S32};
    return all[itg_rng_below(rng, sizeof all / sizeof *all)];
}

/* ---- random outputs: 8-bit codes per channel, 16-bit codes of one requantization, 64-bit identity, floats ---- */

enum { OUTPUTS = 4 };
typedef struct outputs {
    itg_epilogue e[OUTPUTS];
    itg_requant *requants;
    float *dequant;
    int64_t n;
} outputs;

static itg_requant random_requant(itg_rng *rng)
{
    static const itg_requant_form forms[] = {ITG_REQUANT_TFLITE_DOUBLE, ITG_REQUANT_S64_REDUCED,
                                             ITG_REQUANT_F32};
    itg_requant_spec spec = {.form = forms[itg_rng_below(rng, 3)]};
    double ratio = ldexp(0.5 + itg_rng_unit(rng) / 2, (int)between(rng, -18, 2));
    itg_requant r;
    assert_int_equal(itg_requant_derive(&spec, ratio, (float)ratio, 0, &r), ITG_OK);
    return r;
}

static outputs make_outputs(itg_rng *rng, int64_t n, int64_t channels)
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
    o.e[0] = (itg_epilogue){.storage = is_signed ? ITG_S8 : ITG_U8, .out = buffer(n),
                            .requant = o.requants, .requant_count = (int32_t)channels,
                            .zero_point = between(rng, 0, 100), .lo = is_signed ? -100 : 3,
                            .hi = is_signed ? 127 : 250};
    o.e[1] = (itg_epilogue){.storage = ITG_S16, .out = buffer(2 * n),
                            .requant = o.requants + channels, .requant_count = 1,
                            .zero_point = 0, .lo = -32767, .hi = 32767};
    o.e[2] = (itg_epilogue){.storage = ITG_S64, .out = buffer(8 * n), .zero_point = 1,
                            .lo = INT64_MIN / 2, .hi = INT64_MAX / 2};
    o.e[3] = (itg_epilogue){.storage = ITG_F32, .out = buffer(4 * n), .dequant = o.dequant,
                            .dequant_count = (int32_t)channels, .float_lo = -1e4F,
                            .float_hi = INFINITY};
    return o;
}

static void free_outputs(outputs *o)
{
    for (int i = 0; i < OUTPUTS; i++)
        free(o->e[i].out);
    free(o->requants);
    free(o->dequant);
}

static void expect_outputs(const outputs *o, int64_t i, int64_t channel, int64_t acc)
{
    const itg_epilogue *e = o->e;
    int64_t q = itg_clamp(itg_requant_apply(&e[0].requant[channel], acc), -100000, 100000);
    q = itg_clamp(q + e[0].zero_point, e[0].lo, e[0].hi);
    assert_int_equal(e[0].storage == ITG_S8 ? ((int8_t *)e[0].out)[i] : ((uint8_t *)e[0].out)[i], q);
    q = itg_clamp(itg_requant_apply(&e[1].requant[0], acc), e[1].lo, e[1].hi);
    assert_int_equal(((int16_t *)e[1].out)[i], q);
    if (acc < INT64_MAX) q = itg_clamp(acc + 1, e[2].lo, e[2].hi);
    else q = e[2].hi;
    assert_true(((int64_t *)e[2].out)[i] == q);
    volatile float f = (float)acc * o->dequant[channel];
    assert_true(((float *)e[3].out)[i] == (f < -1e4F ? -1e4F : f));
}

/* ---- accumulators ---- */

typedef struct running {
    wide v;
    const itg_mac_options *mac;
} running;

static void sum_add(running *s, wide term)
{
    s->v += term;
    if (!s->mac->may_overflow || s->mac->acc.overflow != ITG_OVERFLOW_SATURATE) return;
    wide lo = itg_accumulator_min(s->mac->acc), hi = itg_accumulator_max(s->mac->acc);
    s->v = s->v < lo ? lo : s->v > hi ? hi : s->v;
}

static int64_t sum_result(const running *s)
{
    wide v = s->v;
    if (s->mac->may_overflow && s->mac->acc.overflow == ITG_OVERFLOW_WRAP) {
        wide half = -(wide)itg_accumulator_min(s->mac->acc), size = 2 * half;
        v = ((v + half) % size + size) % size - half;
    }
    assert_true(v >= INT64_MIN && v <= INT64_MAX);
    return (int64_t)v;
}

static int64_t reach(const operand *o)
{
    int64_t below = o->view.zero_point - o->view.qmin, above = o->view.qmax - o->view.zero_point;
    return below > above ? below : above;
}

/* A true bound, sometimes a generous one; an overflowing accumulator in half of the cases. */
static itg_mac_options make_mac(itg_rng *rng, const operand *a, const operand *b, int64_t depth,
                                int64_t channels, int64_t **bias)
{
    itg_mac_options mac = {{32, ITG_OVERFLOW_WRAP}, false, 0, NULL};
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

/* ---- convolution ---- */

static void check_conv(const itg_window *w, const operand *x, const operand *k,
                       const itg_mac_options *mac, const outputs *o)
{
    int64_t cg = w->channels / w->group, kg = w->out_channels / w->group, at = 0;
    for (int64_t n = 0; n < w->out_channels; n++)
        for (int64_t p = 0; p < w->out_height; p++)
            for (int64_t q = 0; q < w->out_width; q++, at++) {
                running s = {0, mac};
                sum_add(&s, mac->bias ? mac->bias[n] : 0);
                for (int64_t c = 0; c < cg; c++)
                    for (int64_t r = 0; r < w->kernel[0]; r++)
                        for (int64_t t = 0; t < w->kernel[1]; t++) {
                            int64_t y = p * w->stride[0] - w->pad_top + r * w->dilation[0];
                            int64_t z = q * w->stride[1] - w->pad_left + t * w->dilation[1];
                            if (y < 0 || y >= w->height || z < 0 || z >= w->width) continue;
                            int64_t channel = n / kg * cg + c;
                            wide a = x->codes[(channel * w->height + y) * w->width + z];
                            wide b = k->codes[((n * cg + c) * w->kernel[0] + r) * w->kernel[1] + t];
                            sum_add(&s, (a - x->view.zero_point) * (b - k->view.zero_point));
                        }
                expect_outputs(o, at, n, sum_result(&s));
            }
}

static itg_window random_window(itg_rng *rng)
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
    int64_t rows = w.height + w.pad_top + between(rng, 0, 4) - (w.kernel[0] - 1) * w.dilation[0] - 1;
    int64_t columns =
        w.width + w.pad_left + between(rng, 0, 4) - (w.kernel[1] - 1) * w.dilation[1] - 1;
    w.out_height = rows < 0 ? 1 : rows / w.stride[0] + 1;
    w.out_width = columns < 0 ? 1 : columns / w.stride[1] + 1;
    return w;
}

static void convolutions_equal_naive_sums(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 21);
    for (int i = 0; i < 1500; i++) {
        itg_window w = random_window(&rng);
        int64_t depth = w.channels / w.group * w.kernel[0] * w.kernel[1];
        operand x = make_operand(&rng, random_storage(&rng), w.channels * w.height * w.width, false);
        operand k = make_operand(&rng, random_storage(&rng), w.out_channels * depth,
                                 itg_rng_below(&rng, 4) != 0);
        int64_t *bias;
        itg_mac_options mac = make_mac(&rng, &x, &k, depth, w.out_channels, &bias);
        outputs o = make_outputs(&rng, w.out_channels * w.out_height * w.out_width, w.out_channels);
        void *scratch = buffer((int64_t)itg_int_conv_scratch(&w));
        itg_int_conv(&w, &x.view, &k.view, &mac, o.e, OUTPUTS, scratch);
        check_conv(&w, &x, &k, &mac, &o);
        free(scratch);
        free(bias);
        free_outputs(&o);
        free_operand(&x);
        free_operand(&k);
    }
}

static void a_large_convolution_takes_several_blocks(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 22);
    const itg_window w = {70, 20, 21, 9, 20, 21, {3, 3}, {1, 1}, {1, 1}, 1, 1, 1};
    operand x = make_operand(&rng, ITG_U8, 70 * 20 * 21, false);
    operand k = make_operand(&rng, ITG_S8, 9 * 70 * 9, true);
    const itg_mac_options mac = {{32, ITG_OVERFLOW_WRAP}, false, 630 * 255 * 128, NULL};
    outputs o = make_outputs(&rng, 9 * 20 * 21, 9);
    void *scratch = buffer((int64_t)itg_int_conv_scratch(&w));
    itg_int_conv(&w, &x.view, &k.view, &mac, o.e, OUTPUTS, scratch);
    check_conv(&w, &x, &k, &mac, &o);
    free(scratch);
    free_outputs(&o);
    free_operand(&x);
    free_operand(&k);
}

/* ---- matrix product ---- */

typedef struct product {
    int64_t m, n, k;
    bool transposed;
} product;

static void check_matmul(const product *t, const operand *a, const operand *b,
                         const itg_mac_options *mac, const outputs *o)
{
    for (int64_t m = 0; m < t->m; m++)
        for (int64_t n = 0; n < t->n; n++) {
            running s = {0, mac};
            sum_add(&s, mac->bias ? mac->bias[n] : 0);
            for (int64_t k = 0; k < t->k; k++) {
                wide u = a->codes[m * t->k + k] - a->view.zero_point;
                wide v = b->codes[t->transposed ? n * t->k + k : k * t->n + n] - b->view.zero_point;
                sum_add(&s, u * v);
            }
            expect_outputs(o, m * t->n + n, n, sum_result(&s));
        }
}

static void matrix_products_equal_naive_sums(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 23);
    for (int i = 0; i < 1500; i++) {
        product t = {between(&rng, 1, 9), between(&rng, 1, 9), between(&rng, 1, 80),
                     itg_rng_below(&rng, 2)};
        if (i % 50 == 0) t.n = between(&rng, 60, 150), t.m = 5;
        operand a = make_operand(&rng, random_storage(&rng), t.m * t.k, false);
        operand b = make_operand(&rng, random_storage(&rng), t.n * t.k, itg_rng_below(&rng, 2));
        int64_t *bias;
        itg_mac_options mac = make_mac(&rng, &a, &b, t.k, t.n, &bias);
        outputs o = make_outputs(&rng, t.m * t.n, t.n);
        void *scratch = buffer((int64_t)itg_int_matmul_scratch(t.m, t.n, t.k));
        itg_int_matmul(t.m, t.n, t.k, &a.view, &b.view, t.transposed, &mac, o.e, OUTPUTS, scratch);
        check_matmul(&t, &a, &b, &mac, &o);
        free(scratch);
        free(bias);
        free_outputs(&o);
        free_operand(&a);
        free_operand(&b);
    }
}

static void sixteen_by_eight_bits_take_sums_beyond_32_bits(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 24);
    static const itg_dtype storages[][2] = {{ITG_S16, ITG_S8}, {ITG_S16, ITG_S16}, {ITG_U16, ITG_S8}};
    for (int i = 0; i < 6; i++) {
        const product t = {5, 6, 3001, true};
        operand a = make_operand(&rng, storages[i / 2][0], t.m * t.k, i % 2 == 0);
        operand b = make_operand(&rng, storages[i / 2][1], t.n * t.k, true);
        a.view.qmin = itg_dtype_min(a.view.storage), a.view.qmax = itg_dtype_max(a.view.storage);
        b.view.qmin = itg_dtype_min(b.view.storage), b.view.qmax = itg_dtype_max(b.view.storage);
        for (int64_t j = 0; j < t.m * t.k; j++) {
            a.codes[j] = a.view.qmin;
            itg_store(a.view.storage, (void *)(uintptr_t)a.view.data, j, a.codes[j]);
        }
        for (int64_t j = 0; j < t.n * t.k; j++) {
            b.codes[j] = b.view.qmin;
            itg_store(b.view.storage, (void *)(uintptr_t)b.view.data, j, b.codes[j]);
        }
        const itg_mac_options mac = {{64, ITG_OVERFLOW_WRAP}, false, t.k * reach(&a) * reach(&b), NULL};
        outputs o = make_outputs(&rng, t.m * t.n, t.n);
        void *scratch = buffer((int64_t)itg_int_matmul_scratch(t.m, t.n, t.k));
        itg_int_matmul(t.m, t.n, t.k, &a.view, &b.view, true, &mac, o.e, OUTPUTS, scratch);
        check_matmul(&t, &a, &b, &mac, &o);
        free(scratch);
        free_outputs(&o);
        free_operand(&a);
        free_operand(&b);
    }
}

/* ---- two operands ---- */

static itg_broadcast random_broadcast(itg_rng *rng, int64_t *na, int64_t *nb)
{
    itg_broadcast s;
    memset(&s, 0, sizeof s);
    s.out.rank = (int32_t)between(rng, 0, 4);
    *na = *nb = 1;
    int kind_a = (int)itg_rng_below(rng, 3), kind_b = (int)itg_rng_below(rng, 3);
    for (int32_t d = s.out.rank - 1; d >= 0; d--) {
        s.out.dims[d] = between(rng, 1, 9);
        bool full_a = kind_a == 0 || itg_rng_below(rng, 2), full_b = kind_b == 0 || itg_rng_below(rng, 2);
        if (full_a && s.out.dims[d] > 1) s.stride_a[d] = *na, *na *= s.out.dims[d];
        if (full_b && s.out.dims[d] > 1) s.stride_b[d] = *nb, *nb *= s.out.dims[d];
    }
    return s;
}

static void operand_indices(const itg_broadcast *s, int64_t flat, int64_t *ia, int64_t *ib)
{
    *ia = *ib = 0;
    for (int32_t d = s->out.rank - 1; d >= 0; d--) {
        int64_t at = flat % s->out.dims[d];
        flat /= s->out.dims[d];
        *ia += at * s->stride_a[d];
        *ib += at * s->stride_b[d];
    }
}

/* arm_elementwise_add_s8: both inputs shifted left and requantized, then added. */
static wide expected_native(const itg_int_binary *k, int64_t a, int64_t b)
{
    if (k->form == ITG_BINARY_PRODUCT) return (wide)a * b;
    if (k->form == ITG_BINARY_RESCALE) {
        a = itg_requant_apply(&k->ra, a * ((int64_t)1 << k->left_shift));
        b = itg_requant_apply(&k->rb, b * ((int64_t)1 << k->left_shift));
    }
    return k->sign < 0 ? (wide)a - b : (wide)a + b;
}

static void binary_forms_equal_their_formulas(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 25);
    static const itg_binary_form forms[] = {ITG_BINARY_RESCALE, ITG_BINARY_EQUAL, ITG_BINARY_PRODUCT};
    for (int i = 0; i < 3000; i++) {
        int64_t na, nb, n = 1, ia, ib;
        itg_broadcast s = random_broadcast(&rng, &na, &nb);
        for (int32_t d = 0; d < s.out.rank; d++)
            n *= s.out.dims[d];
        operand a = make_operand(&rng, random_storage(&rng), na, false);
        operand b = make_operand(&rng, random_storage(&rng), nb, false);
        itg_int_binary k = {.form = forms[i % 3], .sign = itg_rng_below(&rng, 2) ? 1 : -1,
                            .left_shift = (int32_t)between(&rng, 0, 20),
                            .ra = random_requant(&rng), .rb = random_requant(&rng),
                            .acc = {(int32_t)between(&rng, 8, 64), itg_rng_below(&rng, 2)
                                        ? ITG_OVERFLOW_SATURATE : ITG_OVERFLOW_WRAP}};
        itg_mac_options mac = {k.acc, true, 0, NULL};
        outputs o = make_outputs(&rng, n, 1);
        itg_int_binary_run(&k, &s, &a.view, &b.view, o.e, OUTPUTS);
        for (int64_t j = 0; j < n; j++) {
            operand_indices(&s, j, &ia, &ib);
            running native = {0, &mac};
            sum_add(&native, expected_native(&k, a.codes[ia] - a.view.zero_point,
                                             b.codes[ib] - b.view.zero_point));
            expect_outputs(&o, j, 0, sum_result(&native));
        }
        free_outputs(&o);
        free_operand(&a);
        free_operand(&b);
    }
}

static void float_sums_equal_onnx_runtime_form(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 26);
    for (int i = 0; i < 500; i++) {
        int64_t na, nb, n = 1, ia, ib;
        itg_broadcast s = random_broadcast(&rng, &na, &nb);
        for (int32_t d = 0; d < s.out.rank; d++)
            n *= s.out.dims[d];
        operand a = make_operand(&rng, ITG_U8, na, false), b = make_operand(&rng, ITG_S8, nb, false);
        float scale_out[2] = {(float)itg_rng_unit(&rng) + 0.01F, 1};
        itg_int_binary k = {.form = ITG_BINARY_F32, .sign = i % 2 ? 1 : -1,
                            .scale_a = (float)itg_rng_unit(&rng) + 0.01F,
                            .scale_b = (float)itg_rng_unit(&rng) + 0.01F, .scale_out = scale_out};
        uint8_t *codes = buffer(n);
        float *reals = buffer(4 * n);
        itg_epilogue e[2] = {{.storage = ITG_U8, .out = codes, .zero_point = 130, .lo = 0, .hi = 255},
                             {.storage = ITG_F32, .out = reals, .float_lo = -1, .float_hi = 6}};
        itg_int_binary_run(&k, &s, &a.view, &b.view, e, 2);
        itg_f32_add add = itg_f32_add_derive(k.scale_a, a.view.zero_point, k.scale_b,
                                             b.view.zero_point, scale_out[0], 130, k.sign);
        for (int64_t j = 0; j < n; j++) {
            operand_indices(&s, j, &ia, &ib);
            assert_int_equal(codes[j], itg_f32_add_apply(&add, a.codes[ia], b.codes[ib], 0, 255));
            volatile float u = (float)(a.codes[ia] - a.view.zero_point) * k.scale_a;
            volatile float v = (float)(b.codes[ib] - b.view.zero_point) * k.scale_b;
            volatile float t = k.sign < 0 ? u - v : u + v;
            assert_true(reals[j] == fminf(fmaxf(t, -1), 6));
        }
        free(codes);
        free(reals);
        free_operand(&a);
        free_operand(&b);
    }
}

/* ---- pools, tables, storages ---- */

static void pools_equal_naive_windows(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 27);
    for (int i = 0; i < 1000; i++) {
        itg_window w = random_window(&rng);
        w.out_channels = w.channels;
        operand x = make_operand(&rng, random_storage(&rng), w.channels * w.height * w.width, false);
        int64_t n = w.channels * w.out_height * w.out_width, at = 0;
        int64_t bytes = n * (int64_t)itg_dtype_size(x.view.storage);
        void *most = buffer(bytes), *mean = buffer(bytes), *padded = buffer(bytes);
        int64_t *acc = buffer(8 * n);
        int32_t *count = buffer(4 * n);
        itg_rounding rounding = (itg_rounding)itg_rng_below(&rng, ITG_ROUNDING_COUNT);
        int64_t lo = x.view.qmin / 2, hi = x.view.qmax;
        itg_int_max_pool(&w, &x.view, most);
        itg_int_average_pool_keep(&w, &x.view, false, rounding, lo, hi, mean);
        itg_int_average_pool_keep(&w, &x.view, true, rounding, lo, hi, padded);
        itg_int_pool_sum(&w, &x.view, acc, count);
        for (int64_t c = 0; c < w.channels; c++)
            for (int64_t p = 0; p < w.out_height; p++)
                for (int64_t q = 0; q < w.out_width; q++, at++) {
                    int64_t sum = 0, valid = 0, best = INT64_MIN, area = w.kernel[0] * w.kernel[1];
                    for (int64_t r = 0; r < w.kernel[0]; r++)
                        for (int64_t s = 0; s < w.kernel[1]; s++) {
                            int64_t y = p * w.stride[0] - w.pad_top + r * w.dilation[0];
                            int64_t z = q * w.stride[1] - w.pad_left + s * w.dilation[1];
                            if (y < 0 || y >= w.height || z < 0 || z >= w.width) continue;
                            int64_t v = x.codes[(c * w.height + y) * w.width + z];
                            sum += v;
                            valid++;
                            if (v > best) best = v;
                        }
                    int64_t zp = x.view.zero_point, all = sum + (area - valid) * zp;
                    if (valid > 0) assert_int_equal(itg_load(x.view.storage, most, at), best);
                    int64_t only = valid > 0 ? itg_round_divide(sum, valid, rounding) : zp;
                    if (valid > 0 && rounding == ITG_ROUND_HALF_AWAY) /* as CMSIS-NN writes it */
                        only = sum > 0 ? (sum + valid / 2) / valid : (sum - valid / 2) / valid;
                    assert_int_equal(itg_load(x.view.storage, mean, at), itg_clamp(only, lo, hi));
                    assert_int_equal(itg_load(x.view.storage, padded, at),
                                     itg_clamp(itg_round_divide(all, area, rounding), lo, hi));
                    assert_int_equal(acc[at], sum - valid * zp);
                    assert_int_equal(count[at], valid);
                }
        free(most);
        free(mean);
        free(padded);
        free(acc);
        free(count);
        free_operand(&x);
    }
}

static void tables_are_looked_up_by_code(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 28);
    static const itg_dtype storages[] = {ITG_S8, ITG_U8, ITG_S16, ITG_U16};
    for (int i = 0; i < 64; i++) {
        operand x = make_operand(&rng, storages[i % 4], 300, false);
        int64_t entries = x.view.qmax - x.view.qmin + 1;
        int32_t *table = buffer(4 * entries);
        itg_dtype to = storages[i / 4 % 4];
        for (int64_t j = 0; j < entries; j++)
            table[j] = (int32_t)between(&rng, itg_dtype_min(to), itg_dtype_max(to));
        void *out = buffer(300 * (int64_t)itg_dtype_size(to));
        itg_int_lut(&x.view, 300, table, to, out);
        for (int64_t j = 0; j < 300; j++)
            assert_int_equal(itg_load(to, out, j), table[x.codes[j] - x.view.qmin]);
        free(table);
        free(out);
        free_operand(&x);
    }
}

static void epilogues_follow_the_channel_stride(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 29);
    for (int i = 0; i < 200; i++) {
        int64_t channels = between(&rng, 1, 5), stride = between(&rng, 1, 400), acc[3000];
        int64_t n = between(&rng, 1, 3000);
        outputs o = make_outputs(&rng, n, channels);
        for (int64_t j = 0; j < n; j++)
            acc[j] = (int64_t)itg_rng_next(&rng) >> itg_rng_below(&rng, 64);
        for (int e = 0; e < OUTPUTS; e++)
            itg_int_epilogue(acc, n, stride, &o.e[e]);
        for (int64_t j = 0; j < n; j++)
            expect_outputs(&o, j, j / stride % channels, acc[j]);
        free_outputs(&o);
    }
}

static void storages_hold_their_extremes(void **state)
{
    (void)state;
    for (int d = 0; d < ITG_DTYPE_COUNT; d++) {
        itg_dtype storage = (itg_dtype)d;
        if (!itg_dtype_is_integer(storage)) continue;
        unsigned char *data = buffer(3 * (int64_t)itg_dtype_size(storage));
        itg_store(storage, data, 2, itg_dtype_min(storage));
        itg_store(storage, data, 1, itg_dtype_max(storage));
        assert_true(itg_load(storage, data, 2) == itg_dtype_min(storage));
        assert_true(itg_load(storage, data, 1) == itg_dtype_max(storage));
        free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_equal_naive_sums),
        cmocka_unit_test(a_large_convolution_takes_several_blocks),
        cmocka_unit_test(matrix_products_equal_naive_sums),
        cmocka_unit_test(sixteen_by_eight_bits_take_sums_beyond_32_bits),
        cmocka_unit_test(binary_forms_equal_their_formulas),
        cmocka_unit_test(float_sums_equal_onnx_runtime_form),
        cmocka_unit_test(pools_equal_naive_windows),
        cmocka_unit_test(tables_are_looked_up_by_code),
        cmocka_unit_test(epilogues_follow_the_channel_stride),
        cmocka_unit_test(storages_hold_their_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
