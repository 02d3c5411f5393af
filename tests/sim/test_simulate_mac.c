/* Conv, Gemm and MatMul (docs/arithmetic.md 3), against loops written again. */
#include "formulas.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- mac ---- */

typedef struct conv_shape {
    int64_t images, groups, in, out, height, width, kernel[2], stride[2], pad[4], dilation[2];
} conv_shape;

static int64_t out_size(const conv_shape *s, int d, int64_t size)
{
    return (size + s->pad[d] + s->pad[d + 2] - s->dilation[d] * (s->kernel[d] - 1) - 1) /
               s->stride[d] +
           1;
}

/* One output element, terms in the page's order. */
static int64_t conv_at(const conv_shape *s, const int64_t *x, int64_t zero, const int64_t *w,
                       int64_t bias, int64_t k, int64_t p, int64_t q, int bits, bool saturate)
{
    int64_t per_in = s->in / s->groups, first = k / (s->out / s->groups) * per_in;
    int64_t acc = fit(bias, saturate ? bits : 64, saturate);
    for (int64_t c = 0; c < per_in; c++)
        for (int64_t r = 0; r < s->kernel[0]; r++)
            for (int64_t t = 0; t < s->kernel[1]; t++) {
                int64_t y = p * s->stride[0] - s->pad[0] + r * s->dilation[0],
                        z = q * s->stride[1] - s->pad[1] + t * s->dilation[1];
                if (y < 0 || y >= s->height || z < 0 || z >= s->width) continue;
                acc += (x[((first + c) * s->height + y) * s->width + z] - zero) *
                       w[((k * per_in + c) * s->kernel[0] + r) * s->kernel[1] + t];
                if (saturate) acc = fit(acc, bits, true);
            }
    return fit(acc, bits, saturate);
}

static conv_shape random_conv(itg_rng *rng, bool flat)
{
    conv_shape s = {.groups = 1 + (int64_t)itg_rng_below(rng, 3)};
    s.in = s.groups * (1 + (int64_t)itg_rng_below(rng, 3));
    s.out = s.groups * (1 + (int64_t)itg_rng_below(rng, 3));
    s.height = flat ? 1 : 3 + (int64_t)itg_rng_below(rng, 5);
    s.width = 3 + (int64_t)itg_rng_below(rng, 20);
    for (int d = 0; d < 2; d++) {
        bool one = flat && d == 0;
        s.kernel[d] = one ? 1 : 1 + (int64_t)itg_rng_below(rng, 3);
        s.stride[d] = one ? 1 : 1 + (int64_t)itg_rng_below(rng, 2);
        s.dilation[d] = one ? 1 : 1 + (int64_t)itg_rng_below(rng, 2);
        if ((s.kernel[d] - 1) * s.dilation[d] >= (d ? s.width : s.height))
            s.dilation[d] = s.kernel[d] = 1;
        s.pad[d] = one ? 0 : (int64_t)itg_rng_below(rng, 3);
        s.pad[d + 2] = one ? 0 : (int64_t)itg_rng_below(rng, 3);
    }
    s.images = 1 + (int64_t)itg_rng_below(rng, 3);
    return s;
}

static itg_attrs conv_attrs(const conv_shape *s, bool flat)
{
    itg_attrs a = itg_attrs_default(ITG_OP_CONV);
    a.spatial_rank = flat ? 1 : 2;
    a.group = s->groups;
    memcpy(a.kernel, s->kernel, sizeof a.kernel);
    memcpy(a.stride, s->stride, sizeof a.stride);
    memcpy(a.dilation, s->dilation, sizeof a.dilation);
    memcpy(a.pad, s->pad, sizeof a.pad);
    return a;
}

enum { MOST = 8192 };

typedef struct conv_data {
    float x[MOST], w[MOST], b[64];
    int64_t xq[MOST], wq[MOST], bq[64];
    double t[64];
} conv_data;

static void check_conv(uint64_t seed, bool flat, int bits, bool saturate, int64_t *overflows)
{
    conv_data *d = calloc(1, sizeof *d);
    itg_rng rng;
    char x_shape[64], w_shape[64], b_shape[16], operators[300];
    itg_rng_init(&rng, seed);
    conv_shape s = random_conv(&rng, flat);
    int64_t depth = s.in / s.groups * s.kernel[0] * s.kernel[1], image = s.in * s.height * s.width,
            size = s.images * image;
    random_floats(&rng, d->x, size, 1.2);
    random_floats(&rng, d->w, s.out * depth, 0.8);
    random_floats(&rng, d->b, s.out, 0.5);
    if (flat)
        snprintf(x_shape, sizeof x_shape, "%d,%d,%d", (int)s.images, (int)s.in, (int)s.width);
    else
        snprintf(x_shape, sizeof x_shape, "%d,%d,%d,%d", (int)s.images, (int)s.in, (int)s.height,
                 (int)s.width);
    if (flat)
        snprintf(w_shape, sizeof w_shape, "%d,%d,%d", (int)s.out, (int)(s.in / s.groups),
                 (int)s.kernel[1]);
    else
        snprintf(w_shape, sizeof w_shape, "%d,%d,%d,%d", (int)s.out, (int)(s.in / s.groups),
                 (int)s.kernel[0], (int)s.kernel[1]);
    snprintf(b_shape, sizeof b_shape, "%d", (int)s.out);
    snprintf(operators, sizeof operators,
             "'Conv':[{'arithmetic':'mac','inputs':['u8'],'weights':['w'],'outputs':['u8'],'"
             "requantize':'r','per_channel':true,"
             "'bias_bits':%d,'accumulator':{'bits':%d,'overflow':'%s'}}]",
             bits < 32 ? bits : 32, bits, saturate ? "saturate" : "wrap");
    itg_graph *g = net_new();
    itg_attrs a = conv_attrs(&s, flat);
    itg_id x = net_input(g, "x", x_shape);
    itg_id y = NODE(g, "conv", ITG_OP_CONV, &a, x, net_constant(g, "w", w_shape, d->w),
                    net_constant(g, "b", b_shape, d->b));
    OUTPUTS(g, x, y);
    sim_case c = case_new(g, chip("", U8 "," W, F32, operators));
    set_all(&c, 8, 8, -1, 1.5, true);
    annotated(&c);
    run(&c, d->x);
    const itg_quantizer *xq = &encoding_at(&c, "conv", 0)->q, *wq = &encoding_at(&c, "conv", 1)->q,
                        *yq = &encoding_at(&c, NULL, 0)->q;
    for (int64_t i = 0; i < size; i++)
        d->xq[i] = code_of(d->x[i], xq->scale[0], xq->zero_point, 0, 255);
    for (int64_t k = 0; k < s.out; k++)
        for (int64_t i = 0; i < depth; i++)
            d->wq[k * depth + i] = code_of(d->w[k * depth + i], wq->scale[k], 0, -127, 127);
    int64_t heights = out_size(&s, 0, s.height), widths = out_size(&s, 1, s.width), i = 0;
    for (int64_t m = 0; m < s.images * s.out; m++) {
        int64_t k = m % s.out;
        const int64_t *codes = d->xq + m / s.out * image;
        float unit = xq->scale[0] * wq->scale[k];
        int64_t bias = (int64_t)nearbyint((double)d->b[k] / (double)unit);
        for (int64_t p = 0; p < heights; p++)
            for (int64_t q = 0; q < widths; q++, i++) {
                int64_t acc =
                    conv_at(&s, codes, xq->zero_point, d->wq, bias, k, p, q, bits, saturate);
                int64_t wanted = f32_code(acc, unit / yq->scale[0], yq->zero_point, 0, 255);
                if (output_code(&c, 0, i) != wanted)
                    fail_msg("seed %d, element %d: %d, expected %d", (int)seed, (int)i,
                             (int)output_code(&c, 0, i), (int)wanted);
            }
    }
    itg_tensor t = itg_sim_output(c.sim, 0, NULL);
    int64_t elements = 0;
    assert_true(itg_shape_elements(&t.shape, &elements) && elements == i);
    itg_edge_events events = {0};
    float *values = malloc(sizeof *values * (size_t)elements);
    assert_true(itg_sim_edge(c.sim, case_edge(&c, NULL, 0), values, &events));
    *overflows += events.overflowed;
    free(values);
    free(d);
    case_end(&c);
}

static void convolutions(void **state)
{
    int64_t none = 0, wraps = 0, clips = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        check_conv(seed, seed % 4 == 3, 32, seed % 2, &none);
        check_conv(seed + 100, seed % 4 == 3, 15, false, &wraps);
        check_conv(seed + 200, seed % 4 == 3, 15, true, &clips);
    }
    assert_int_equal(none, 0);
    assert_true(wraps > 100 && clips > 100);
}

/* Sums far beyond 2^53, where doubles would round. */
static void sums_beyond_doubles(void **state)
{
    enum { K = 40 };
    float w[K], x[K];
    itg_rng rng;
    (void)state;
    for (int overflow = 0; overflow < 2; overflow++) {
        itg_graph *g = net_new();
        itg_rng_init(&rng, 7);
        random_floats(&rng, w, K, 1);
        random_floats(&rng, x, K, 1);
        w[0] = x[0] = 1;
        itg_id in = net_input(g, "x", "1,40"), y = net_gemm(g, "gemm", in, "1,40", w, ITG_NONE);
        OUTPUTS(g, in, y);
        sim_case c = case_new(
            g,
            chip("", "'y':{'storage':'s32','bits':[2,32]}",
                 "'r':{'form':'preshift','multiplier_bits':2,'rounding':'floor'}",
                 overflow ? "'Gemm':[{'arithmetic':'mac','inputs':['y'],'weights':['y'],'outputs':["
                            "'y'],'requantize':'r','accumulator':{'bits':60,'overflow':'wrap'}}]"
                          : "'Gemm':[{'arithmetic':'mac','inputs':['y'],'weights':['y'],'outputs':["
                            "'y'],'requantize':'r','accumulator':{'bits':64}}]"));
        set_range(&c, "gemm", 0, 30, -1, 1);
        set_weights(&c, "gemm", 30, 1, (double[]){1});
        set_range(&c, NULL, 0, 32, -4, 4);
        annotated(&c);
        run(&c, x);
        int64_t acc = 0, m = (1 << 29) - 1;
        float scale = (float)(1.0 / (double)m);
        for (int i = 0; i < K; i++)
            acc += code_of(x[i], scale, 0, -m, m) * code_of(w[i], scale, 0, -m, m);
        assert_true(llabs(acc) > (int64_t)1 << 54);
        acc = fit(acc, overflow ? 60 : 64, false);
        /* multiplier of 2 bits: m(1) = 1, r = s^2/s_y with s = 1/(2^29-1), s_y = 4/(2^31-1): 2^-29
         * and a bit; f * 2 rounds to 1 */
        int e;
        double r = (double)scale * (double)scale / (double)(float)(4.0 / 2147483647.0),
               f = frexp(r, &e);
        assert_true(floor(f * 2 + 0.5) == 1);
        assert_int_equal(
            output_code(&c, 0, 0),
            limited(divide(acc, (int64_t)1 << (1 - e), ITG_ROUND_FLOOR), -2147483647, 2147483647));
        case_end(&c);
    }
}

/* [2,3,4] x [3?,4,2]: batches broadcast; zero points on both sides. */
static void two_activations_multiplied(void **state)
{
    float x[24], y[8];
    itg_rng rng;
    (void)state;
    for (int saturate = 0; saturate < 2; saturate++) {
        itg_graph *g = net_new();
        itg_id a = net_input(g, "a", "2,3,4"), b = NODE(g, "part", ITG_OP_RELU, NULL, a);
        itg_attrs slice = itg_attrs_default(ITG_OP_SLICE);
        (void)slice;
        itg_attrs swap = itg_attrs_default(ITG_OP_TRANSPOSE);
        const int64_t perm[] = {0, 2, 1};
        memcpy(swap.perm, perm, sizeof perm);
        itg_id t = NODE(g, "swap", ITG_OP_TRANSPOSE, &swap, b),
               z = NODE(g, "mul", ITG_OP_MATMUL, NULL, a, t);
        OUTPUTS(g, a, z, t);
        sim_case c = case_new(
            g, chip("", U8, F32,
                    saturate ? ONE("MatMul", "mac",
                                   ",'requantize':'r','accumulator':{'bits':15,'overflow':'"
                                   "saturate'}") "," ONE("Relu", "rescale",
                                                         ",'requantize':'r'") "," KEEP("Transpos"
                                                                                       "e")
                             : ONE("MatMul", "mac",
                                   ",'requantize':'r','accumulator':{'bits':15,'overflow':'wrap'"
                                   "}") "," ONE("Relu", "rescale",
                                                ",'requantize':'r'") "," KEEP("Transpose")));
        itg_rng_init(&rng, 3);
        random_floats(&rng, x, 24, 1);
        set_range(&c, "part", 0, 8, -1, 1);
        set_range(&c, "swap", 0, 7, -0.25, 1);
        set_range(&c, "mul", 1, 7, -0.25, 1);
        set_range(&c, NULL, 1, 7, -0.25, 1);
        set_range(&c, "mul", 0, 8, -1, 0.75);
        set_range(&c, NULL, 0, 8, -2, 2);
        annotated(&c);
        run(&c, x);
        const itg_quantizer *p = &encoding_at(&c, "mul", 0)->q, *q = &encoding_at(&c, "mul", 1)->q,
                            *o = &encoding_at(&c, NULL, 0)->q;
        for (int n = 0; n < 2; n++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    int64_t acc = 0;
                    for (int k = 0; k < 4; k++) {
                        acc += (code_of(x[n * 12 + i * 4 + k], p->scale[0], p->zero_point, 0, 255) -
                                p->zero_point) *
                               (output_code(&c, 1, n * 12 + k * 3 + j) - q->zero_point);
                        if (saturate) acc = fit(acc, 15, true);
                    }
                    acc = fit(acc, 15, saturate);
                    assert_int_equal(output_code(&c, 0, n * 9 + i * 3 + j),
                                     f32_code(acc, p->scale[0] * q->scale[0] / o->scale[0],
                                              o->zero_point, 0, 255));
                }
        case_end(&c);
    }
    (void)y;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions),
        cmocka_unit_test(sums_beyond_doubles),
        cmocka_unit_test(two_activations_multiplied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
