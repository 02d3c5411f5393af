/* Native results, requantization and outputs of every form (docs/arithmetic.md 3 to 5, 7), against
 * loops and formulas written again. */
#include "case.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/float_ops.h"
#include "kernels/requant.h"

#define FLOATS(...) ((const float[]){__VA_ARGS__})
#define U8 "'u8':{'storage':'u8','bits':[2,8],'zero_point':true}"
#define S8 "'s8':{'storage':'s8','bits':[2,8]}"
#define W "'w':{'storage':'s8','bits':[2,8]}"
#define F32 "'r':{'form':'f32'}"
#define TFLITE "'r':{'form':'tflite_double'}"
#define ONE(op, form, extra)                                                                       \
    "'" op "':[{'arithmetic':'" form "','inputs':['u8'],'outputs':['u8']" extra "}]"
#define KEEP(op) "'" op "':[{'arithmetic':'keep_scale','inputs':['u8']}]"

/* ---- the page again ---- */

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t divide(int64_t v, int64_t by, itg_rounding rounding)
{
    int64_t down = floor_divide(v, by), rest = v - down * by; /* 0 <= rest < by */
    switch (rounding) {
    case ITG_ROUND_FLOOR:
        return down;
    case ITG_ROUND_HALF_UP:
        return down + (2 * rest >= by);
    case ITG_ROUND_HALF_AWAY:
        return down + (2 * rest > by || (2 * rest == by && v > 0));
    default:
        return down + (2 * rest > by || (2 * rest == by && down % 2 != 0));
    }
}

static int64_t tflite(int64_t v, double ratio)
{
    int e;
    double f = frexp(ratio, &e);
    int64_t m = (int64_t)floor(ldexp(f, 31) + 0.5);
    if (m == (int64_t)1 << 31) {
        m /= 2;
        e++;
    }
    if (e > 0) v *= (int64_t)1 << e;
    int64_t high = divide(v * m, (int64_t)1 << 31, ITG_ROUND_HALF_UP);
    return e < 0 ? divide(high, (int64_t)1 << -e, ITG_ROUND_HALF_AWAY) : high;
}

/* Where an exact sum leaves the accumulator; saturate also after every addition, by whoever adds.
 */
static int64_t fit(int64_t v, int bits, bool saturate)
{
    if (bits == 64) return v;
    int64_t half = (int64_t)1 << (bits - 1);
    if (saturate) return v < -half ? -half : v > half - 1 ? half - 1 : v;
    v = (v + half) % (2 * half);
    return v < 0 ? v + half : v - half;
}

static void random_floats(itg_rng *rng, float *out, int64_t n, double spread)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)random_real(rng, -spread, spread);
}

/* ---- inputs and outputs ---- */

static void inputs_become_codes(void **state)
{
    static const float x[] = {0,   -0.0f, 1,        -1,        0.5f, 1.5f,   2.5f,   -2.5f,
                              300, -300,  INFINITY, -INFINITY, NAN,  1e-30f, 127.5f, 126.5f};
    static const int64_t wanted[] = {100, 100, 101, 99, 100, 102, 102, 98,
                                     255, 0,   255, 0,  100, 100, 228, 226};
    itg_graph *g = net_new();
    itg_id in = net_input(g, "x", "1,16"), flat = NODE(g, "shape", ITG_OP_FLATTEN, NULL, in);
    OUTPUTS(g, in, flat, flat);
    sim_case c = case_new(g, chip("", U8, "", KEEP("Flatten")));
    set_range(&c, "shape", 0, 8, -100, 155);
    set_range(&c, NULL, 0, 8, -100, 155);
    annotated(&c);
    run(&c, x);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(output_code(&c, 0, i), wanted[i]);
        assert_true(output_real(&c, 1, i) == (float)(wanted[i] - 100));
    }
    float values[16];
    itg_edge_events events = {0};
    assert_true(itg_sim_edge(c.sim, 0, values, &events));
    assert_int_equal(events.elements, 16);
    assert_int_equal(events.saturated,
                     4); /* 300, -300 and the infinite ones; a NaN is the zero point */
    for (int i = 0; i < 16; i++)
        assert_true(values[i] == (float)(wanted[i] - 100));
    case_end(&c);
    (void)state;
}

/* ---- mac ---- */

typedef struct conv_shape {
    int64_t groups, in, out, height, width, kernel[2], stride[2], pad[4], dilation[2];
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

enum { MOST = 4096 };

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
    int64_t depth = s.in / s.groups * s.kernel[0] * s.kernel[1], size = s.in * s.height * s.width;
    random_floats(&rng, d->x, size, 1.2);
    random_floats(&rng, d->w, s.out * depth, 0.8);
    random_floats(&rng, d->b, s.out, 0.5);
    if (flat)
        snprintf(x_shape, sizeof x_shape, "1,%d,%d", (int)s.in, (int)s.width);
    else
        snprintf(x_shape, sizeof x_shape, "1,%d,%d,%d", (int)s.in, (int)s.height, (int)s.width);
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
    const itg_quantizer *xq = &version_at(&c, "conv", 0)->q, *wq = &version_at(&c, "conv", 1)->q,
                        *yq = &version_at(&c, NULL, 0)->q;
    for (int64_t i = 0; i < size; i++)
        d->xq[i] = code_of(d->x[i], xq->scale[0], xq->zero_point, 0, 255);
    for (int64_t k = 0; k < s.out; k++)
        for (int64_t i = 0; i < depth; i++)
            d->wq[k * depth + i] = code_of(d->w[k * depth + i], wq->scale[k], 0, -127, 127);
    int64_t heights = out_size(&s, 0, s.height), widths = out_size(&s, 1, s.width), i = 0;
    for (int64_t k = 0; k < s.out; k++) {
        float unit = xq->scale[0] * wq->scale[k];
        int64_t bias = (int64_t)nearbyint((double)d->b[k] / (double)unit);
        for (int64_t p = 0; p < heights; p++)
            for (int64_t q = 0; q < widths; q++, i++) {
                int64_t acc =
                    conv_at(&s, d->xq, xq->zero_point, d->wq, bias, k, p, q, bits, saturate);
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
        const itg_quantizer *p = &version_at(&c, "mul", 0)->q, *q = &version_at(&c, "mul", 1)->q,
                            *o = &version_at(&c, NULL, 0)->q;
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

/* ---- Add, Sub, Mul ---- */

typedef struct binary_case {
    itg_op op;
    const char *operators, *requants;
} binary_case;

/* x [2,3] and a constant [3]: the second operand broadcasts. A third output is in float. */
static sim_case binary_new(itg_op op, bool act, const char *requants, const char *operators,
                           const float *k)
{
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "2,3"),
           y = NODE(g, "node", op, NULL, x, net_constant(g, "k", "3", k));
    itg_id z = act ? NODE(g, "act", ITG_OP_RELU, NULL, y) : y;
    OUTPUTS(g, x, z, z, z);
    return case_new(g, chip(act ? "'fuse':[['Add','Relu'],['Sub','Relu'],['Mul','Relu']]," : "", U8,
                            requants, operators));
}

typedef int64_t (*binary_fn)(int64_t x, int64_t y, const itg_quantizer *a, const itg_quantizer *b,
                             const itg_quantizer *o, int sign);
typedef float (*binary_float_fn)(int64_t x, int64_t y, const itg_quantizer *a,
                                 const itg_quantizer *b, int sign);

static void check_binary(itg_op op, const char *requants, const char *operators, bool tied,
                         binary_fn fn, binary_float_fn in_float)
{
    static const float k[] = {0.7f, -0.3f, 0};
    itg_rng rng;
    itg_rng_init(&rng, 5);
    for (int act = 0; act < 2; act++) {
        sim_case c = binary_new(op, act, requants, operators, k);
        set_range(&c, "node", 0, 8, -1, 1.1);
        set_range(&c, "node", 1, tied ? 8 : 6, -0.3, 0.7);
        set_range(&c, NULL, 0, 8, -1.4, 1.3);
        set_range(&c, NULL, 1, 4, -0.5, 0.25);
        annotated(&c);
        assert_true(version_at(&c, NULL, 2)->is_float);
        const itg_quantizer *a = &version_at(&c, "node", 0)->q, *b = &version_at(&c, "node", 1)->q;
        for (int round = 0; round < 200; round++) {
            float x[6];
            random_floats(&rng, x, 6, 1.3);
            run(&c, x);
            for (int i = 0; i < 6; i++) {
                int64_t p = code_of(x[i], a->scale[0], a->zero_point, a->qmin, a->qmax),
                        q = code_of(k[i % 3], b->scale[0], b->zero_point, b->qmin, b->qmax);
                int sign = op == ITG_OP_SUB ? -1 : 1;
                for (int o = 0; o < 2; o++) {
                    const itg_quantizer *out = &version_at(&c, NULL, o)->q;
                    int64_t lo = act ? out->zero_point : out->qmin;
                    assert_int_equal(output_code(&c, o, i),
                                     limited(fn(p, q, a, b, out, sign), lo, out->qmax));
                }
                float v = in_float(p, q, a, b, sign);
                if (act && !(v > 0)) v = 0;
                assert_true(output_real(&c, 2, i) == v);
            }
        }
        case_end(&c);
    }
}

static int64_t product_code(int64_t x, int64_t y, const itg_quantizer *a, const itg_quantizer *b,
                            const itg_quantizer *o, int sign)
{
    (void)sign;
    return f32_code((x - a->zero_point) * (y - b->zero_point),
                    a->scale[0] * b->scale[0] / o->scale[0], o->zero_point, INT32_MIN, INT32_MAX);
}

static float product_float(int64_t x, int64_t y, const itg_quantizer *a, const itg_quantizer *b,
                           int sign)
{
    float s = a->scale[0] * b->scale[0];
    (void)sign;
    return (float)((x - a->zero_point) * (y - b->zero_point)) * s;
}

static void products(void **state)
{
    (void)state;
    check_binary(ITG_OP_MUL, F32, ONE("Mul", "product", ",'requantize':'r'"), false, product_code,
                 product_float);
}

static int64_t equal_code(int64_t x, int64_t y, const itg_quantizer *a, const itg_quantizer *b,
                          const itg_quantizer *o, int sign)
{
    int64_t acc = x - a->zero_point + sign * (y - b->zero_point);
    return tflite(acc, (double)a->scale[0] / (double)o->scale[0]) + o->zero_point;
}

static float equal_float(int64_t x, int64_t y, const itg_quantizer *a, const itg_quantizer *b,
                         int sign)
{
    return (float)(x - a->zero_point + sign * (y - b->zero_point)) * a->scale[0];
}

static void sums_at_one_scale(void **state)
{
    (void)state;
    check_binary(ITG_OP_ADD, TFLITE, ONE("Add", "equal_scale", ",'requantize':'r'"), true,
                 equal_code, equal_float);
    check_binary(ITG_OP_SUB, TFLITE, ONE("Sub", "equal_scale", ",'requantize':'r'"), true,
                 equal_code, equal_float);
}

static int64_t rescaled_sum(int64_t x, int64_t y, const itg_quantizer *a, const itg_quantizer *b,
                            int sign)
{
    double t = 2 * fmax((double)a->scale[0], (double)b->scale[0]);
    return tflite((x - a->zero_point) * 4096, (double)a->scale[0] / t) +
           sign * tflite((y - b->zero_point) * 4096, (double)b->scale[0] / t);
}

static int64_t rescale_code(int64_t x, int64_t y, const itg_quantizer *a, const itg_quantizer *b,
                            const itg_quantizer *o, int sign)
{
    double t = 2 * fmax((double)a->scale[0], (double)b->scale[0]);
    return tflite(rescaled_sum(x, y, a, b, sign), t / 4096 / (double)o->scale[0]) + o->zero_point;
}

static float rescale_float(int64_t x, int64_t y, const itg_quantizer *a, const itg_quantizer *b,
                           int sign)
{
    double t = 2 * fmax((double)a->scale[0], (double)b->scale[0]);
    return (float)rescaled_sum(x, y, a, b, sign) * (float)(t / 4096);
}

static int64_t narrow_code(int64_t x, int64_t y, const itg_quantizer *a, const itg_quantizer *b,
                           const itg_quantizer *o, int sign)
{
    double t = 2 * fmax((double)a->scale[0], (double)b->scale[0]);
    return tflite(fit(rescaled_sum(x, y, a, b, sign), 19, true), t / 4096 / (double)o->scale[0]) +
           o->zero_point;
}

static float narrow_float(int64_t x, int64_t y, const itg_quantizer *a, const itg_quantizer *b,
                          int sign)
{
    double t = 2 * fmax((double)a->scale[0], (double)b->scale[0]);
    return (float)fit(rescaled_sum(x, y, a, b, sign), 19, true) * (float)(t / 4096);
}

static void sums_of_rescaled_operands(void **state)
{
    (void)state;
    check_binary(ITG_OP_ADD, TFLITE, ONE("Add", "rescale", ",'requantize':'r','left_shift':12"),
                 false, rescale_code, rescale_float);
    check_binary(ITG_OP_SUB, TFLITE, ONE("Sub", "rescale", ",'requantize':'r','left_shift':12"),
                 false, rescale_code, rescale_float);
    /* 2^8 * 2^12 / 2 needs 20 bits: the sum alone meets the accumulator, the operands do not */
    check_binary(
        ITG_OP_ADD, TFLITE,
        ONE("Add", "rescale",
            ",'requantize':'r','left_shift':12,'accumulator':{'bits':19,'overflow':'saturate'}"),
        false, narrow_code, narrow_float);
}

static float real_of(int64_t x, const itg_quantizer *q)
{
    return (float)(x - q->zero_point) * q->scale[0];
}

static int64_t float_sum_code(int64_t x, int64_t y, const itg_quantizer *a, const itg_quantizer *b,
                              const itg_quantizer *o, int sign)
{
    float rx = a->scale[0] / o->scale[0], ry = b->scale[0] / o->scale[0],
          difference = real_of(x, a) - real_of(y, b), steps = difference / o->scale[0];
    if (sign < 0) return (int64_t)nearbyint((double)steps) + o->zero_point;
    float zeros = ry * (float)b->zero_point,
          fixed = (float)o->zero_point - fmaf(rx, (float)a->zero_point, zeros);
    return (int64_t)nearbyint((double)fmaf((float)x, rx, fmaf((float)y, ry, fixed)));
}

static float float_sum(int64_t x, int64_t y, const itg_quantizer *a, const itg_quantizer *b,
                       int sign)
{
    return sign > 0 ? real_of(x, a) + real_of(y, b) : real_of(x, a) - real_of(y, b);
}

static int64_t float_product_code(int64_t x, int64_t y, const itg_quantizer *a,
                                  const itg_quantizer *b, const itg_quantizer *o, int sign)
{
    float unit = a->scale[0] * b->scale[0], c = unit / o->scale[0],
          v = (float)((x - a->zero_point) * (y - b->zero_point)), scaled = v * c;
    (void)sign;
    return (int64_t)nearbyint((double)(scaled + (float)o->zero_point));
}

static float float_product(int64_t x, int64_t y, const itg_quantizer *a, const itg_quantizer *b,
                           int sign)
{
    (void)sign;
    return real_of(x, a) * real_of(y, b);
}

static void sums_and_products_in_float(void **state)
{
    (void)state;
    check_binary(ITG_OP_ADD, F32, ONE("Add", "f32", ""), false, float_sum_code, float_sum);
    check_binary(ITG_OP_SUB, F32, ONE("Sub", "f32", ""), false, float_sum_code, float_sum);
    check_binary(ITG_OP_MUL, F32, ONE("Mul", "f32", ""), false, float_product_code, float_product);
}

/* A first operand that broadcasts along the innermost axis changes places with the second. */
static void a_float_sum_whose_first_operand_broadcasts(void **state)
{
    float in[30];
    itg_rng rng;
    int differ = 0;
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        itg_graph *g = net_new();
        itg_id x = net_input(g, "x", "2,15"), k = net_constant(g, "k", "1", FLOATS(0.7f));
        itg_id y = swapped ? NODE(g, "node", ITG_OP_ADD, NULL, k, x)
                           : NODE(g, "node", ITG_OP_ADD, NULL, x, k);
        OUTPUTS(g, x, y);
        sim_case c = case_new(g, chip("", "'u8':{'storage':'s32','bits':[2,22],'zero_point':true}",
                                      F32, ONE("Add", "f32", "")));
        set_range(&c, "node", swapped, 22, -1, 1.1);
        set_range(&c, "node", !swapped, 22, -0.3, 0.7);
        set_range(&c, NULL, 0, 22, -1.4, 1.3);
        annotated(&c);
        const itg_quantizer *a = &version_at(&c, "node", swapped)->q,
                            *b = &version_at(&c, "node", !swapped)->q,
                            *o = &version_at(&c, NULL, 0)->q;
        itg_rng_init(&rng, 5);
        for (int round = 0; round < 200; round++) {
            random_floats(&rng, in, 30, 1.1);
            run(&c, in);
            for (int i = 0; i < 30; i++) {
                int64_t p = code_of(in[i], a->scale[0], a->zero_point, -(1 << 21), (1 << 21) - 1),
                        q = code_of(0.7f, b->scale[0], b->zero_point, -(1 << 21), (1 << 21) - 1);
                assert_int_equal(output_code(&c, 0, i), limited(float_sum_code(p, q, a, b, o, 1),
                                                                -(1 << 21), (1 << 21) - 1));
                differ += float_sum_code(p, q, a, b, o, 1) != float_sum_code(q, p, b, a, o, 1);
            }
        }
        case_end(&c);
    }
    assert_true(differ > 0); /* else the order could not be seen */
}

/* ---- Relu and Clip of their own ---- */

static void activations_that_are_not_fused(void **state)
{
    itg_graph *g = net_new();
    itg_attrs clip = itg_attrs_default(ITG_OP_CLIP);
    clip.min = -0.4f;
    clip.max = 0.6f;
    itg_id x = net_input(g, "x", "1,64"), r = NODE(g, "relu", ITG_OP_RELU, NULL, x),
           l = NODE(g, "clip", ITG_OP_CLIP, &clip, x);
    float in[64];
    itg_rng rng;
    itg_rng_init(&rng, 9);
    random_floats(&rng, in, 64, 1.2);
    OUTPUTS(g, x, r, l, r, l);
    sim_case c =
        case_new(g, chip("", U8, TFLITE,
                         ONE("Relu", "rescale", ",'requantize':'r'") "," ONE(
                             "Clip", "rescale",
                             ",'requantize':'r','accumulator':{'bits':8,'overflow':'wrap'}")));
    set_range(&c, "relu", 0, 8, -1, 1);
    set_range(&c, "clip", 0, 8, -1, 0.5);
    set_range(&c, NULL, 0, 8, -0.5, 1);
    set_range(&c, NULL, 1, 7, -1, 1);
    annotated(&c);
    run(&c, in);
    const itg_quantizer *a = &version_at(&c, "relu", 0)->q, *b = &version_at(&c, "clip", 0)->q,
                        *y = &version_at(&c, NULL, 0)->q, *z = &version_at(&c, NULL, 1)->q;
    int64_t lo = (int64_t)nearbyint((double)-0.4f / (double)z->scale[0]) + z->zero_point,
            hi = (int64_t)nearbyint((double)0.6f / (double)z->scale[0]) + z->zero_point;
    for (int i = 0; i < 64; i++) {
        int64_t v = code_of(in[i], a->scale[0], a->zero_point, 0, 255) - a->zero_point;
        int64_t u = fit(code_of(in[i], b->scale[0], b->zero_point, 0, 255) - b->zero_point, 8,
                        false); /* down to -170: wraps */
        assert_int_equal(
            output_code(&c, 0, i),
            limited(tflite(v, (double)a->scale[0] / (double)y->scale[0]) + y->zero_point,
                    y->zero_point, 255));
        assert_int_equal(
            output_code(&c, 1, i),
            limited(tflite(u, (double)b->scale[0] / (double)z->scale[0]) + z->zero_point, lo, hi));
        float real = (float)v * a->scale[0], other = (float)u * b->scale[0];
        assert_true(output_real(&c, 2, i) == (real > 0 ? real : 0));
        assert_true(output_real(&c, 3, i) == (other < -0.4f ? -0.4f : other > 0.6f ? 0.6f : other));
    }
    case_end(&c);
    (void)state;
}

/* ---- pools ---- */

typedef struct pool_case {
    itg_attrs at;
    int64_t height, width, heights, widths;
} pool_case;

/* Sum (of x - zero), elements inside the input, elements inside the padded input; additions clamp
 * at `bits` if above 0. */
static void pool_at(const pool_case *p, const int64_t *x, int64_t zero, int64_t c, int64_t i,
                    int64_t j, int bits, int64_t *sum, int64_t *inside, int64_t *padded)
{
    const itg_attrs *a = &p->at;
    *sum = *inside = *padded = 0;
    for (int64_t r = 0; r < a->kernel[0]; r++)
        for (int64_t s = 0; s < a->kernel[1]; s++) {
            int64_t y = i * a->stride[0] - a->pad[0] + r * a->dilation[0],
                    z = j * a->stride[1] - a->pad[1] + s * a->dilation[1];
            *padded += y < p->height + a->pad[2] && z < p->width + a->pad[3];
            if (y < 0 || y >= p->height || z < 0 || z >= p->width) continue;
            ++*inside;
            *sum += x[(c * p->height + y) * p->width + z] - zero;
            if (bits > 0) *sum = fit(*sum, bits, true);
        }
}

/* The window's elements as float, added in row-major order in float. */
static float float_sum_at(const pool_case *p, const int64_t *x, const itg_quantizer *q, int64_t c,
                          int64_t i, int64_t j)
{
    const itg_attrs *a = &p->at;
    float sum = 0;
    for (int64_t r = 0; r < a->kernel[0]; r++)
        for (int64_t s = 0; s < a->kernel[1]; s++) {
            int64_t y = i * a->stride[0] - a->pad[0] + r * a->dilation[0],
                    z = j * a->stride[1] - a->pad[1] + s * a->dilation[1];
            if (y >= 0 && y < p->height && z >= 0 && z < p->width)
                sum += real_of(x[(c * p->height + y) * p->width + z], q);
        }
    return sum;
}

static int64_t float_mean_code(float mean, const itg_quantizer *o)
{
    float steps = mean / o->scale[0];
    return (int64_t)nearbyint((double)(steps + (float)o->zero_point));
}

typedef enum pool_form { POOL_RESCALE, POOL_F32, POOL_KEEP, POOL_NARROW } pool_form;

static void check_pool(uint64_t seed, pool_form form, itg_rounding rounding)
{
    static const char *const operators[] = {
        ONE("AveragePool", "rescale", ",'requantize':'r'"), ONE("AveragePool", "f32", ""), NULL,
        ONE("AveragePool", "rescale",
            ",'requantize':'r','accumulator':{'bits':9,'overflow':'saturate'}")};
    char keep[200], shape[32];
    float in[3 * 9 * 9];
    int64_t x[3 * 9 * 9];
    itg_rng rng;
    itg_rng_init(&rng, seed);
    pool_case p = {.at = itg_attrs_default(ITG_OP_AVERAGE_POOL),
                   .height = 4 + (int64_t)itg_rng_below(&rng, 5),
                   .width = 4 + (int64_t)itg_rng_below(&rng, 5)};
    p.at.spatial_rank = 2;
    p.at.ceil_mode = itg_rng_below(&rng, 2);
    p.at.count_include_pad = itg_rng_below(&rng, 2);
    for (int d = 0; d < 2; d++) {
        p.at.kernel[d] = 1 + (int64_t)itg_rng_below(&rng, 3);
        p.at.stride[d] = 1 + (int64_t)itg_rng_below(&rng, 3);
        p.at.pad[d] = (int64_t)itg_rng_below(&rng, (uint64_t)p.at.kernel[d]);
        p.at.pad[d + 2] = (int64_t)itg_rng_below(&rng, (uint64_t)p.at.kernel[d]);
    }
    snprintf(keep, sizeof keep,
             "'AveragePool':[{'arithmetic':'keep_scale','inputs':['u8'],'rounding':'%s'}]",
             itg_rounding_name(rounding));
    snprintf(shape, sizeof shape, "1,3,%d,%d", (int)p.height, (int)p.width);
    itg_graph *g = net_new();
    itg_id id = net_input(g, "x", shape), y = NODE(g, "pool", ITG_OP_AVERAGE_POOL, &p.at, id);
    OUTPUTS(g, id, y, y);
    p.heights = g->values[y].shape.dims[2];
    p.widths = g->values[y].shape.dims[3];
    sim_case c = case_new(g, chip("", U8, TFLITE, form == POOL_KEEP ? keep : operators[form]));
    set_range(&c, "pool", 0, 8, -1, 1.5);
    set_range(&c, NULL, 0, 8, -1, form == POOL_KEEP ? 1.5 : 1.1);
    annotated(&c);
    int64_t n = 3 * p.height * p.width, i = 0;
    random_floats(&rng, in, n, 1.6);
    run(&c, in);
    const itg_quantizer *a = &version_at(&c, "pool", 0)->q, *o = &version_at(&c, NULL, 0)->q;
    for (int64_t k = 0; k < n; k++)
        x[k] = code_of(in[k], a->scale[0], a->zero_point, 0, 255);
    for (int64_t ch = 0; ch < 3; ch++)
        for (int64_t r = 0; r < p.heights; r++)
            for (int64_t s = 0; s < p.widths; s++, i++) {
                int64_t sum, inside, padded, wanted;
                pool_at(&p, x, form == POOL_KEEP ? 0 : a->zero_point, ch, r, s,
                        form == POOL_NARROW ? 9 : 0, &sum, &inside, &padded);
                int64_t count = p.at.count_include_pad ? padded : inside;
                if (count < 1) count = 1;
                double scale = (double)a->scale[0] / (double)count,
                       ratio = scale / (double)o->scale[0];
                float mean = float_sum_at(&p, x, a, ch, r, s) / (float)count;
                if (form == POOL_KEEP)
                    wanted = limited(
                        divide(sum + (count - inside) * a->zero_point, count, rounding), 0, 255);
                else if (form == POOL_F32)
                    wanted = limited(float_mean_code(mean, o), 0, 255);
                else
                    wanted = limited(tflite(sum, ratio) + o->zero_point, 0, 255);
                if (output_code(&c, 0, i) != wanted)
                    fail_msg("seed %d form %d element %d: %d, expected %d", (int)seed, (int)form,
                             (int)i, (int)output_code(&c, 0, i), (int)wanted);
                float real = form == POOL_KEEP  ? real_of(wanted, o)
                             : form == POOL_F32 ? mean
                                                : (float)sum * (float)scale;
                assert_true(output_real(&c, 1, i) == real);
            }
    case_end(&c);
}

static void average_pools(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 80; seed++) {
        check_pool(seed, POOL_RESCALE, 0);
        check_pool(seed, POOL_F32, 0);
        check_pool(seed, POOL_NARROW, 0); /* clamps after every addition */
        check_pool(seed, POOL_KEEP, (itg_rounding)(seed % ITG_ROUNDING_COUNT));
    }
}

/* ReduceMean over axes 0 and 2 of [2,3,4], and a global pool; small accumulators that saturate on
 * the way. */
static void means_over_axes(void **state)
{
    float in[24];
    itg_rng rng;
    (void)state;
    for (int narrow = 0; narrow < 2; narrow++) {
        itg_graph *g = net_new();
        itg_attrs axes = itg_attrs_default(ITG_OP_REDUCE_MEAN);
        axes.axes_count = 2;
        axes.axes[0] = 0;
        axes.axes[1] = 2;
        axes.keepdims = narrow;
        itg_id x = net_input(g, "x", "2,3,4"), y = NODE(g, "mean", ITG_OP_REDUCE_MEAN, &axes, x);
        OUTPUTS(g, x, y, y);
        sim_case c = case_new(
            g, chip("", U8, F32,
                    narrow ? ONE("ReduceMean", "rescale",
                                 ",'requantize':'r','accumulator':{'bits':8,'overflow':'saturate'}")
                           : ONE("ReduceMean", "f32", "")));
        set_range(&c, "mean", 0, 8, -1, 1);
        set_range(&c, NULL, 0, 8, -0.6, 0.5);
        annotated(&c);
        const itg_quantizer *a = &version_at(&c, "mean", 0)->q, *o = &version_at(&c, NULL, 0)->q;
        for (uint64_t seed = 0; seed < 50; seed++) {
            itg_rng_init(&rng, seed);
            random_floats(&rng, in, 24, 1);
            run(&c, in);
            for (int k = 0; k < 3; k++) {
                int64_t sum = 0;
                for (int n = 0; n < 2; n++)
                    for (int i = 0; i < 4; i++) {
                        sum += code_of(in[n * 12 + k * 4 + i], a->scale[0], a->zero_point, 0, 255) -
                               a->zero_point;
                        if (narrow) sum = fit(sum, 8, true);
                    }
                double scale = (double)a->scale[0] / 8;
                float steps = o->scale[0] * 8,
                      ratio = narrow ? (float)(scale / (double)o->scale[0]) : a->scale[0] / steps;
                assert_int_equal(output_code(&c, 0, k),
                                 f32_code(sum, ratio, o->zero_point, 0, 255));
                assert_true(output_real(&c, 1, k) == (float)sum * (float)scale);
            }
        }
        case_end(&c);
    }
}

/* 2^22 codes of 32 bits: their sum needs 54 bits, and an accumulator that wraps shows its lowest ones. */
static void sums_of_very_many_elements(void **state)
{
    enum { N = 1 << 22 };
    itg_graph *g = net_new();
    itg_attrs axes = itg_attrs_default(ITG_OP_REDUCE_MEAN);
    axes.axes_count = 1;
    axes.axes[0] = 1;
    itg_id x = net_input(g, "x", "1,4194304"), y = NODE(g, "mean", ITG_OP_REDUCE_MEAN, &axes, x);
    OUTPUTS(g, x, y);
    sim_case c = case_new(g, chip("", "'z':{'storage':'s32','bits':[2,32],'zero_point':true},'y':{'storage':'s32','bits':[2,32]}", F32,
                                  "'ReduceMean':[{'arithmetic':'rescale','inputs':['z'],'outputs':['y'],'requantize':'r','accumulator':{'bits':32,'overflow':'wrap'}}]"));
    float *in = malloc(sizeof *in * N);
    assert_non_null(in);
    for (int i = 0; i < N; i++) in[i] = i % 3 ? 1 : 0.75f;
    set_range(&c, "mean", 0, 32, 0, 1);
    set_range(&c, NULL, 0, 32, -0x1p-20, 0x1p-20);
    annotated(&c);
    run(&c, in);
    const itg_quantizer *a = &version_at(&c, "mean", 0)->q, *o = &version_at(&c, NULL, 0)->q;
    int64_t sum = 0, one = code_of(1, a->scale[0], a->zero_point, a->qmin, a->qmax) - a->zero_point, part = code_of(0.75f, a->scale[0], a->zero_point, a->qmin, a->qmax) - a->zero_point;
    for (int i = 0; i < N; i++) sum += i % 3 ? one : part;
    assert_true(sum > (int64_t)1 << 53);
    double ratio = (double)a->scale[0] / N / (double)o->scale[0];
    assert_int_equal(output_code(&c, 0, 0), f32_code(fit(sum, 32, false), (float)ratio, 0, o->qmin, o->qmax));
    free(in);
    case_end(&c);
    (void)state;
}

static void a_global_pool_keeps_codes(void **state)
{
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,2,2,2"),
           y = NODE(g, "pool", ITG_OP_GLOBAL_AVERAGE_POOL, NULL, x),
           z = NODE(g, "most", ITG_OP_GLOBAL_MAX_POOL, NULL, x);
    OUTPUTS(g, x, y, z);
    sim_case c = case_new(g, chip("", U8, "",
                                  "'GlobalAveragePool':[{'arithmetic':'keep_scale','inputs':['u8'],"
                                  "'rounding':'half_away'}]," KEEP("GlobalMaxPool")));
    set_range(&c, "pool", 0, 8, -10, 245);
    set_range(&c, "most", 0, 8, -10, 245);
    set_range(&c, NULL, 0, 8, 0, 1);
    set_range(&c, NULL, 1, 8, 0, 1);
    annotated(&c);
    run(&c, FLOATS(0, 1, 2, 3, -10, -10, -9, -9));
    assert_int_equal(output_code(&c, 0, 0), 12); /* 10 + 1.5 away */
    assert_int_equal(output_code(&c, 0, 1), 1);  /* 0.5 away, over raw codes */
    assert_int_equal(output_code(&c, 1, 0), 13);
    assert_int_equal(output_code(&c, 1, 1), 1);
    case_end(&c);
    (void)state;
}

/* ---- data movement ---- */

static void padding_of_max_pool_never_wins_and_of_pad_is_the_zero_point(void **state)
{
    itg_graph *g = net_new();
    itg_attrs window = itg_attrs_default(ITG_OP_MAX_POOL), pad = itg_attrs_default(ITG_OP_PAD);
    window.spatial_rank = 2;
    window.kernel[0] = window.kernel[1] = 2;
    window.stride[0] = window.stride[1] = 2;
    window.pad[0] = window.pad[1] = window.pad[2] = window.pad[3] = 1;
    (void)pad;
    itg_id x = net_input(g, "x", "1,1,2,2"), y = NODE(g, "pool", ITG_OP_MAX_POOL, &window, x);
    const int64_t pads[] = {0, 0, 0, 1, 0, 0, 0, 0};
    itg_id z = NODE(g, "pad", ITG_OP_PAD, &pad, x, net_indices(g, "pads", "8", pads));
    OUTPUTS(g, x, y, z);
    sim_case c = case_new(g, chip("", U8, "", KEEP("MaxPool") "," KEEP("Pad")));
    set_range(&c, "pool", 0, 8, -100, 155);
    set_range(&c, "pad", 0, 8, -100, 155);
    set_range(&c, NULL, 0, 8, -100, 155);
    set_range(&c, NULL, 1, 8, -100, 155);
    annotated(&c);
    run(&c, FLOATS(-90, -80, -70, -60));
    for (int i = 0; i < 4; i++)
        assert_int_equal(output_code(&c, 0, i), 10 + 10 * i);
    const int64_t padded[] = {100, 10, 20, 100, 30, 40};
    for (int i = 0; i < 6; i++)
        assert_int_equal(output_code(&c, 1, i), padded[i]);
    case_end(&c);
    (void)state;
}

static void concat_transpose_gather_and_float_copies(void **state)
{
    itg_graph *g = net_new();
    itg_attrs cat = itg_attrs_default(ITG_OP_CONCAT), swap = itg_attrs_default(ITG_OP_TRANSPOSE),
              take = itg_attrs_default(ITG_OP_GATHER);
    const int64_t perm[] = {1, 0}, rows[] = {2, 0, -1};
    cat.axis = 1;
    take.axis = 0;
    memcpy(swap.perm, perm, sizeof perm);
    itg_id x = net_input(g, "x", "2,2"), k = net_constant(g, "k", "2,1", FLOATS(7, 500));
    itg_id y = NODE(g, "cat", ITG_OP_CONCAT, &cat, x, k),
           t = NODE(g, "swap", ITG_OP_TRANSPOSE, &swap, y),
           z = NODE(g, "take", ITG_OP_GATHER, &take, t, net_indices(g, "rows", "3", rows));
    OUTPUTS(g, x, z, t);
    sim_case c =
        case_new(g, chip("", U8, "", KEEP("Concat") "," KEEP("Transpose") "," KEEP("Gather")));
    set_all(&c, 0, 8, -10, 245, false);
    set_range(&c, NULL, 1, 0, 0, 0);
    annotated(&c);
    run(&c, FLOATS(1, 2, 3, -40));
    /* x k: 1 2 7; 3 -10 245. Turned: 1 3; 2 -10; 7 245. Rows 2, 0, 2. */
    const int64_t wanted[] = {17, 255, 11, 13, 17, 255};
    const float turned[] = {1, 3, 2, -10, 7, 245};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(output_code(&c, 0, i), wanted[i]);
        assert_true(output_real(&c, 1, i) == turned[i]);
    }
    case_end(&c);
    (void)state;
}

static void arg_max_takes_the_first_or_the_last(void **state)
{
    (void)state;
    for (int last = 0; last < 2; last++) {
        itg_graph *g = net_new();
        itg_attrs a = itg_attrs_default(ITG_OP_ARG_MAX);
        a.axis = 1;
        a.select_last_index = last;
        itg_id x = net_input(g, "x", "2,3,2"), y = NODE(g, "best", ITG_OP_ARG_MAX, &a, x);
        OUTPUTS(g, x, y);
        sim_case c = case_new(g, chip("", U8, "", KEEP("ArgMax")));
        set_range(&c, "best", 0, 8, -10, 245);
        annotated(&c);
        /* 3.2 and 2.9 are one code; so are -50 and -10 */
        run(&c, FLOATS(1, -50, 3.2f, -10, 2.9f, -20, 300, 4, 7, 5, 245, 3));
        const int64_t first[] = {1, 0, 0, 1}, final[] = {2, 2, 2, 1};
        for (int i = 0; i < 4; i++)
            assert_int_equal(output_code(&c, 0, i), last ? final[i] : first[i]);
        case_end(&c);
    }
}

/* ---- tables ---- */

static void tables_of_functions(void **state)
{
    itg_graph *g = net_new();
    itg_attrs leaky = itg_attrs_default(ITG_OP_LEAKY_RELU),
              hard = itg_attrs_default(ITG_OP_HARD_SIGMOID);
    leaky.alpha = 0.3f;
    float in[200];
    itg_id x = net_input(g, "x", "1,200"), l = NODE(g, "leaky", ITG_OP_LEAKY_RELU, &leaky, x),
           h = NODE(g, "hard", ITG_OP_HARD_SIGMOID, &hard, x),
           s = NODE(g, "root", ITG_OP_SQRT, NULL, x);
    for (int i = 0; i < 200; i++)
        in[i] = (float)(i - 100) / 30;
    OUTPUTS(g, x, l, h, s, l);
    sim_case c = case_new(g, chip("", U8, "",
                                  ONE("LeakyRelu", "lut", "") "," ONE(
                                      "HardSigmoid", "lut", "") "," ONE("Sqrt", "lut", "")));
    set_range(&c, "leaky", 0, 8, -3, 3);
    set_range(&c, "hard", 0, 7, -3, 3);
    set_range(&c, "root", 0, 8, -3, 3);
    set_range(&c, NULL, 0, 8, -1, 3);
    set_range(&c, NULL, 1, 5, 0, 1);
    set_range(&c, NULL, 2, 8, -0.2, 1.5);
    annotated(&c);
    run(&c, in);
    const itg_quantizer *a = &version_at(&c, "leaky", 0)->q, *b = &version_at(&c, "hard", 0)->q;
    for (int i = 0; i < 200; i++) {
        const itg_quantizer *o = &version_at(&c, NULL, 0)->q;
        float u = (float)(code_of(in[i], a->scale[0], a->zero_point, 0, 255) - a->zero_point) *
                  a->scale[0];
        float v = (float)(u < 0 ? (double)0.3f * (double)u : (double)u),
              root = (float)sqrt((double)u);
        assert_int_equal(output_code(&c, 0, i), code_of(v, o->scale[0], o->zero_point, 0, 255));
        assert_true(output_real(&c, 3, i) == v);
        o = &version_at(&c, NULL, 2)->q; /* the root of a negative number is the zero point */
        assert_int_equal(output_code(&c, 2, i), code_of(root, o->scale[0], o->zero_point, 0, 255));
        o = &version_at(&c, NULL, 1)->q;
        u = (float)(code_of(in[i], b->scale[0], b->zero_point, 0, 127) - b->zero_point) *
            b->scale[0];
        double y = (double)hard.alpha * (double)u + (double)hard.beta;
        assert_int_equal(output_code(&c, 1, i),
                         code_of((float)fmin(fmax(y, 0), 1), o->scale[0], o->zero_point, 0, 31));
    }
    case_end(&c);
    (void)state;
}

/* ---- float islands ---- */

/* gemm -> Softmax (float) -> gemm; the first one's result is also read by integers, the Softmax's
 * by both. */
static void float_islands_with_mixed_readers(void **state)
{
    static const float w[] = {1, -0.5f, 0.25f, -1, 0.5f, 0.75f},
                       v[] = {0.5f, -0.25f, 1, 1, 0.125f, -1};
    itg_hardware *hw = NULL;
    assert_int_equal(itg_hardware_load("x86-vnni", &hw, NULL), ITG_OK);
    itg_graph *g = net_new();
    itg_attrs soft = itg_attrs_default(ITG_OP_SOFTMAX);
    soft.axis = 1;
    itg_id x = net_input(g, "x", "1,2"), a = net_gemm(g, "one", x, "3,2", w, ITG_NONE),
           s = NODE(g, "soft", ITG_OP_SOFTMAX, &soft, a);
    itg_id b = net_gemm(g, "two", s, "2,3", v, ITG_NONE),
           sum = NODE(g, "sum", ITG_OP_ADD, NULL, a, a),
           mixed = NODE(g, "mixed", ITG_OP_ADD, NULL, a, s);
    OUTPUTS(g, x, b, sum, s, mixed);
    sim_case c = case_new(g, hw);
    assert_true(c.s->node_conds[itg_graph_find_node(g, "two")] &&
                c.s->node_conds[itg_graph_find_node(g, "sum")]);
    assert_false(c.s->node_conds[itg_graph_find_node(g, "mixed")]); /* it follows a float node */
    set_all(&c, 8, 8, -1, 1, true);
    set_range(&c, "two", 0, 8, 0, 1);
    annotated(&c);
    itg_id n = itg_graph_find_node(g, "one");
    assert_int_equal(c.a->values[a].version_count, 2);
    assert_true(version_at(&c, "soft", 0)->is_float && version_at(&c, "mixed", 0)->is_float &&
                version_at(&c, NULL, 2)->is_float);
    assert_ptr_equal(version_at(&c, "soft", 0), version_at(&c, "mixed", 0));
    assert_string_equal(note_of(&c, "soft")->reason,
                        "Softmax is not among the hardware's operators");
    itg_rng rng;
    itg_rng_init(&rng, 11);
    for (int round = 0; round < 100; round++) {
        float in[2], real[3], probabilities[3];
        random_floats(&rng, in, 2, 1);
        run(&c, in);
        const itg_quantizer *xq = &version_at(&c, "one", 0)->q, *wq = &version_at(&c, "one", 1)->q,
                            *aq = &version_at(&c, "sum", 0)->q;
        for (int k = 0; k < 3; k++) {
            int64_t acc = 0;
            for (int i = 0; i < 2; i++)
                acc += (code_of(in[i], xq->scale[0], xq->zero_point, 0, 255) - xq->zero_point) *
                       code_of(w[2 * k + i], wq->scale[k], 0, -127, 127);
            float unit = xq->scale[0] * wq->scale[k];
            real[k] = (float)acc * unit;
            int64_t q = f32_code(acc, unit / aq->scale[0], aq->zero_point, 0, 255);
            const itg_quantizer *o = &version_at(&c, NULL, 1)->q;
            assert_int_equal(output_code(&c, 1, k),
                             limited(float_sum_code(q, q, aq, aq, o, 1), 0, 255));
        }
        itg_tensor t = {ITG_F32, g->values[a].shape, real},
                   p = {ITG_F32, g->values[s].shape, probabilities};
        assert_int_equal(itg_float_eval(ITG_OP_SOFTMAX, &soft, &t, 1, &p, 1, NULL), ITG_OK);
        const itg_quantizer *sq = &version_at(&c, "two", 0)->q, *vq = &version_at(&c, "two", 1)->q,
                            *o = &version_at(&c, NULL, 0)->q;
        for (int k = 0; k < 3; k++) {
            assert_true(output_real(&c, 2, k) == probabilities[k]);
            assert_true(output_real(&c, 3, k) == real[k] + probabilities[k]);
        }
        for (int k = 0; k < 2; k++) {
            int64_t acc = 0;
            for (int i = 0; i < 3; i++)
                acc += (code_of(probabilities[i], sq->scale[0], sq->zero_point, 0, 255) -
                        sq->zero_point) *
                       code_of(v[3 * k + i], vq->scale[k], 0, -127, 127);
            assert_int_equal(
                output_code(&c, 0, k),
                f32_code(acc, sq->scale[0] * vq->scale[k] / o->scale[0], o->zero_point, 0, 255));
        }
    }
    assert_int_equal(c.a->nodes[n].form, ITG_FORM_MAC);
    case_end(&c);
    (void)state;
}

/* A float node with a result that nobody wants. */
static void float_nodes_with_results_left_out(void **state)
{
    itg_graph *g = net_new();
    itg_attrs norm = itg_attrs_default(ITG_OP_LAYER_NORMALIZATION);
    itg_id x = net_input(g, "x", "1,4"), k = net_constant(g, "k", "4", FLOATS(1, 2, 3, 4)), y, node;
    norm.axis = 1;
    assert_int_equal(itg_graph_add_value(g, "y", ITG_F32, NULL, NULL, &y, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_node(g, "norm", ITG_OP_LAYER_NORMALIZATION, (itg_id[]){x, k}, 2,
                                        (itg_id[]){y, ITG_NONE, ITG_NONE}, 3, &norm, &node, NULL),
                     ITG_OK);
    assert_int_equal(itg_infer_node(g, node, NULL), ITG_OK);
    itg_id z = NODE(g, "relu", ITG_OP_RELU, NULL, y);
    OUTPUTS(g, x, z, y);
    sim_case c =
        case_new(g, chip("'float':true,", U8, F32, ONE("Relu", "rescale", ",'requantize':'r'")));
    set_range(&c, "relu", 0, 8, -2, 2);
    set_range(&c, NULL, 0, 8, -2, 2);
    annotated(&c);
    run(&c, FLOATS(1, 2, 3, 4));
    assert_true(output_real(&c, 1, 0) < -1 && output_real(&c, 1, 3) > 1);
    assert_int_equal(output_code(&c, 0, 0), version_at(&c, NULL, 0)->q.zero_point);
    case_end(&c);
    (void)state;
}

/* ---- events ---- */

static void saturation_and_overflow_are_counted(void **state)
{
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,4"),
           y = net_gemm(g, "gemm", x, "2,4", FLOATS(1, 1, 1, 1, 1, -1, 1, -1), ITG_NONE);
    OUTPUTS(g, x, y, y);
    sim_case c = case_new(
        g, chip("", U8 "," W, F32,
                "'Gemm':[{'arithmetic':'mac','inputs':['u8'],'weights':['w'],'outputs':['u8'],'"
                "requantize':'r','accumulator':{'bits':16,'overflow':'saturate'}}]"));
    set_range(&c, "gemm", 0, 8, 0, 255);
    set_weights(&c, "gemm", 8, 1, (double[]){1}); /* codes 127 */
    set_range(&c, NULL, 0, 8, 0, 100);
    annotated(&c);
    float values[4];
    itg_edge_events in = {0}, out = {0};
    run(&c, FLOATS(300, 200, 100,
                   255.4f)); /* the sum stops at 32767; 127 * (255 - 200 + 100 - 255) = -12700 */
    assert_true(itg_sim_edge(c.sim, 0, values, &in));
    assert_true(in.elements == 4 && in.saturated == 1 && in.overflowed == 0);
    assert_true(values[0] == 255 && values[3] == 255);
    assert_true(itg_sim_edge(c.sim, case_edge(&c, NULL, 0), values, &out));
    assert_true(out.elements == 2 && out.saturated == 2 && out.overflowed == 1);
    assert_int_equal(output_code(&c, 0, 0), 255);
    assert_int_equal(output_code(&c, 0, 1), 0);
    assert_true(itg_sim_edge(c.sim, case_edge(&c, NULL, 1), values, &out));
    assert_true(out.saturated == 0 && values[0] == 32767 * (1.0f * (float)(1.0 / 127)));
    run(&c, FLOATS(1, 1, 1, 1)); /* counts are one run's */
    assert_true(itg_sim_edge(c.sim, 0, values, &in) &&
                itg_sim_edge(c.sim, case_edge(&c, NULL, 0), values, &out));
    assert_true(in.saturated == 0 && out.saturated == 0 && out.overflowed == 0);
    case_end(&c);
    (void)state;
}

/* An accumulator that saturates on the way has overflowed, also where the last sum would fit. */
static void pools_count_their_overflows(void **state)
{
    itg_graph *g = net_new();
    itg_attrs axes = itg_attrs_default(ITG_OP_REDUCE_MEAN);
    axes.axes_count = 1;
    axes.axes[0] = 1;
    itg_id x = net_input(g, "x", "2,3"), y = NODE(g, "mean", ITG_OP_REDUCE_MEAN, &axes, x), z = NODE(g, "pool", ITG_OP_GLOBAL_AVERAGE_POOL, NULL, net_input(g, "u", "1,2,3"));
    net_end(g, 2, (itg_id[]){x, itg_graph_find_value(g, "u")}, 2, (itg_id[]){y, z});
    sim_case c = case_new(g, chip("", U8, F32, ONE("ReduceMean", "rescale", ",'requantize':'r','accumulator':{'bits':8,'overflow':'saturate'}") ","
                                                   ONE("GlobalAveragePool", "rescale", ",'requantize':'r','accumulator':{'bits':8,'overflow':'saturate'}")));
    static const float in[] = {100, 100, -100, 10, 20, 30};
    float values[4];
    itg_edge_events events = {0};
    set_all(&c, 0, 8, -128, 127, false);
    annotated(&c);
    assert_int_equal(itg_sim_create(c.a, &c.sim, NULL), ITG_OK);
    memcpy(itg_sim_input(c.sim, 1), in, sizeof in);
    run(&c, in);
    for (int o = 0; o < 2; o++) {
        assert_true(itg_sim_edge(c.sim, case_edge(&c, NULL, o), values, &events));
        assert_true(events.elements == 2 && events.overflowed == 1);
        assert_int_equal(output_code(&c, o, 0), 128 + 9); /* 127 - 100 over 3 */
        assert_int_equal(output_code(&c, o, 1), 128 + 20);
    }
    case_end(&c);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_become_codes),
        cmocka_unit_test(convolutions),
        cmocka_unit_test(sums_beyond_doubles),
        cmocka_unit_test(two_activations_multiplied),
        cmocka_unit_test(products),
        cmocka_unit_test(sums_at_one_scale),
        cmocka_unit_test(sums_of_rescaled_operands),
        cmocka_unit_test(sums_and_products_in_float),
        cmocka_unit_test(a_float_sum_whose_first_operand_broadcasts),
        cmocka_unit_test(activations_that_are_not_fused),
        cmocka_unit_test(average_pools),
        cmocka_unit_test(means_over_axes),
        cmocka_unit_test(sums_of_very_many_elements),
        cmocka_unit_test(a_global_pool_keeps_codes),
        cmocka_unit_test(padding_of_max_pool_never_wins_and_of_pad_is_the_zero_point),
        cmocka_unit_test(concat_transpose_gather_and_float_copies),
        cmocka_unit_test(arg_max_takes_the_first_or_the_last),
        cmocka_unit_test(tables_of_functions),
        cmocka_unit_test(float_islands_with_mixed_readers),
        cmocka_unit_test(float_nodes_with_results_left_out),
        cmocka_unit_test(saturation_and_overflow_are_counted),
        cmocka_unit_test(pools_count_their_overflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
