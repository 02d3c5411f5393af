/* Weights, biases and requantization of mac nodes (docs/arithmetic.md 2.2, 4), against the page's
 * formulas written again. */
#include "case.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FLOATS(...) ((const float[]){__VA_ARGS__})
#define DOUBLES(...) ((const double[]){__VA_ARGS__})
#define DTYPES                                                                                     \
    "'x':{'storage':'s16','bits':[2,16]},'y':{'storage':'s32','bits':[2,32]},"                     \
    "'w':{'storage':'s8','bits':[2,8]},'f':{'storage':'s16','bits':[9,16],'full_range':true}"
#define MAC(op, acc, extra)                                                                        \
    "'" op "':[{'arithmetic':'mac','inputs':['x'],'weights':['w','f'],'outputs':['y'],"            \
    "'requantize':'r','accumulator':{'bits':" acc "}" extra "}]"
#define F32 "'r':{'form':'f32'}"
#define TFLITE "'r':{'form':'tflite_double'}"

/* ---- the page again ---- */

static float weight_scale(double t, int bits, bool powers)
{
    double half = ldexp(1, bits - 1);
    int k = -200;
    if (!powers) return (float)(t / (half - 1));
    while (ldexp(half, k) < t)
        k++;
    return t > 0 ? (float)ldexp(1, k) : 0;
}

/* r = f * 2^e, m(bits) of f. */
static int64_t mantissa(double r, int bits, int *e)
{
    double f = frexp(r, e);
    int64_t m = (int64_t)floor(ldexp(f, bits) + 0.5);
    if (m == (int64_t)1 << bits) {
        m /= 2;
        ++*e;
    }
    return m;
}

typedef enum form { AS_F32, AS_TFLITE } form;

static bool ratio_legal(form f, float sx, float sw, float s)
{
    double r = (double)sx * (double)sw / (double)s;
    int e;
    if (!(r >= DBL_MIN) || isinf(r)) return false;
    if (f == AS_F32) {
        float c = sx * sw / s;
        return c >= FLT_MIN && c <= FLT_MAX;
    }
    mantissa(r, 31, &e);
    return e <= 30 && e >= -31;
}

static bool legal(form f, float sx, float sw, float bias, int acc, int bias_bits, const float *s,
                  int encodings)
{
    float u = sx * sw;
    if (u == 0 && bias != 0) return false;
    if (bias != 0 && fabs(nearbyint((double)bias / (double)u)) >
                         ldexp(1, (acc < bias_bits ? acc : bias_bits) - 2))
        return false;
    for (int i = 0; i < encodings; i++)
        if (!ratio_legal(f, sx, sw, s[i])) return false;
    return true;
}

/* ---- cases ---- */

/* gemm: x [1,2] times n channels; biases NULL: none */
static sim_case gemm_case(int n, const float *w, const float *bias, const char *requants,
                          const char *operators)
{
    itg_graph *g = net_new();
    char shape[16], channels[8];
    snprintf(shape, sizeof shape, "%d,2", n);
    snprintf(channels, sizeof channels, "%d", n);
    itg_id x = net_input(g, "x", "1,2");
    itg_id y =
        net_gemm(g, "gemm", x, shape, w, bias ? net_constant(g, "b", channels, bias) : ITG_NONE);
    OUTPUTS(g, x, y);
    return case_new(g, chip("", DTYPES, requants, operators));
}

static void ranges(sim_case *c, double x, double y)
{
    set_range(c, "gemm", 0, 8, -x, x);
    set_range(c, NULL, 0, 8, -y, y);
}

static const itg_quantizer *weights(const sim_case *c)
{
    return &encoding_at(c, "gemm", 1)->q;
}

/* ---- scales ---- */

static void one_scale_a_channel(void **state)
{
    static const double t[] = {1, 0.3, 254, 0x1.8p-50};
    sim_case c = gemm_case(4, FLOATS(1, 2, 3, 4, 5, 6, 7, 8), NULL, F32,
                           MAC("Gemm", "32", ",'per_channel':true"));
    (void)state;
    ranges(&c, 1, 1);
    for (int bits = 2; bits <= 8; bits++) {
        set_weights(&c, "gemm", bits, 4, t);
        annotated(&c);
        const itg_quantizer *q = weights(&c);
        assert_int_equal(q->scale_count, 4);
        assert_int_equal(q->axis, 0);
        assert_int_equal(q->zero_point, 0);
        assert_int_equal(q->bits, bits);
        assert_int_equal(q->storage, ITG_S8);
        assert_int_equal(q->qmax, (1 << (bits - 1)) - 1);
        assert_int_equal(q->qmin, -q->qmax);
        for (int i = 0; i < 4; i++)
            assert_true(q->scale[i] == weight_scale(t[i], bits, false));
    }
    case_end(&c);
}

static void one_scale_in_all_and_full_range(void **state)
{
    sim_case c = gemm_case(3, FLOATS(1, 2, 3, 4, 5, -7), NULL, F32, MAC("Gemm", "40", ""));
    (void)state;
    ranges(&c, 1, 1);
    set_weights(&c, "gemm", 12, 1, DOUBLES(7)); /* only the second dtype admits 12 bits */
    annotated(&c);
    assert_int_equal(weights(&c)->scale_count, 1);
    assert_int_equal(weights(&c)->axis, -1);
    assert_int_equal(weights(&c)->storage, ITG_S16);
    assert_int_equal(weights(&c)->qmin, -2048);
    assert_int_equal(weights(&c)->qmax, 2047);
    assert_true(weights(&c)->scale[0] == (float)(7.0 / 2047));
    assert_int_equal(encoding_at(&c, NULL, 0)->requant_count, 1);
    case_end(&c);
}

static void powers_of_two(void **state)
{
    static const double t[] = {1, 0.3, 256, 257, 0x1p-20};
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,1"),
           y = net_gemm(g, "gemm", x, "5,1", FLOATS(1, 1, 1, 1, 1), ITG_NONE);
    OUTPUTS(g, x, y);
    sim_case c = case_new(g, chip("'power_of_two_scales':true,", DTYPES, "'r':{'form':'shift'}",
                                  MAC("Gemm", "32", ",'per_channel':true")));
    ranges(&c, 1, 1);
    for (int bits = 2; bits <= 9; bits++) {
        set_weights(&c, "gemm", bits, 5, t);
        annotated(&c);
        for (int i = 0; i < 5; i++) {
            float wanted = weight_scale(t[i], bits, true);
            assert_true(weights(&c)->scale[i] == wanted);
            assert_int_equal(encoding_at(&c, NULL, 0)->requant[i].stage_count, 1);
            /* x, y: 2^-7 each */
            assert_true(ldexp(1, -encoding_at(&c, NULL, 0)->requant[i].stage[0].shift) ==
                        (double)wanted);
        }
        assert_true(weight_scale(256, 9, true) == 1.0f && weight_scale(257, 9, true) == 2.0f);
        assert_int_equal(weights(&c)->qmin, bits == 9 ? -256 : -((1 << (bits - 1)) - 1));
    }
    case_end(&c);
    (void)state;
}

static void empty_channels_take_the_largest_scale(void **state)
{
    sim_case c = gemm_case(5, FLOATS(0, 0, 1, 1, 0, 0, 0.5f, 0.5f, 0, 0), NULL, F32,
                           MAC("Gemm", "32", ",'per_channel':true"));
    (void)state;
    ranges(&c, 1, 1);
    set_weights(
        &c, "gemm", 8, 5,
        DOUBLES(0, 127, 0x1p-58, 63.5, 0x1.fbp-58)); /* 2^-58/127 < 2^-64; 0x1.fbp-58/127 also */
    annotated(&c);
    const float wanted[] = {1, 1, 1, 0.5f, 1};
    for (int i = 0; i < 5; i++)
        assert_true(weights(&c)->scale[i] == wanted[i]);
    set_weights(&c, "gemm", 8, 5,
                DOUBLES(0, 0x1.fcp-58, 0, 0, 0)); /* 127 * 2^-64: just not empty */
    annotated(&c);
    for (int i = 0; i < 5; i++)
        assert_true(weights(&c)->scale[i] == 0x1p-64f);
    set_weights(&c, "gemm", 8, 5, DOUBLES(0, 0, 0, 0, 0));
    annotated(&c);
    for (int i = 0; i < 5; i++)
        assert_true(weights(&c)->scale[i] == 1);
    case_end(&c);
}

static void channels_of_conv_and_matmul(void **state)
{
    itg_graph *g = net_new();
    itg_attrs conv = itg_attrs_default(ITG_OP_CONV);
    conv.spatial_rank = 2;
    conv.kernel[0] = conv.kernel[1] = 1;
    itg_id x = net_input(g, "x", "1,2,2,3");
    itg_id y =
        NODE(g, "conv", ITG_OP_CONV, &conv, x, net_constant(g, "w", "2,2,1,1", FLOATS(1, 2, 3, 4)));
    itg_id z = NODE(g, "mul", ITG_OP_MATMUL, NULL, y,
                    net_constant(g, "v", "3,4", FLOATS(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)));
    itg_id one =
        NODE(g, "one", ITG_OP_MATMUL, NULL, y, net_constant(g, "u", "3,1", FLOATS(1, -2, 3)));
    OUTPUTS(g, x, z, one);
    sim_case c = case_new(
        g, chip("", "'x':{'storage':'s16','bits':[2,16]},'w':{'storage':'s8','bits':[2,8]}", F32,
                "'Conv':[{'arithmetic':'mac','inputs':['x'],'weights':['w'],'outputs':['x'],'"
                "requantize':'r','accumulator':{'bits':32},'per_channel':true}],"
                "'MatMul':[{'arithmetic':'mac','inputs':['x'],'weights':['w'],'outputs':['x'],'"
                "requantize':'r','accumulator':{'bits':32},'per_channel':true}]"));
    set_all(&c, 8, 8, -1, 1, true);
    annotated(&c);
    const itg_quantizer *q = &encoding_at(&c, "mul", 1)->q;
    assert_int_equal(q->axis, 1);
    assert_int_equal(q->scale_count, 4);
    for (int i = 0; i < 4; i++)
        assert_true(q->scale[i] == (float)((8.0 + i) / 127));
    q = &encoding_at(&c, "conv", 1)->q;
    assert_int_equal(q->axis, 0);
    assert_true(q->scale_count == 2 && q->scale[0] == (float)(2.0 / 127) &&
                q->scale[1] == (float)(4.0 / 127));
    q = &encoding_at(&c, "one", 1)->q; /* one channel: still the last axis */
    assert_int_equal(q->axis, 1);
    assert_true(q->scale_count == 1 && q->scale[0] == (float)(3.0 / 127));
    case_end(&c);
    (void)state;
}

/* ---- raised scales, bias ---- */

static const itg_encoding *integer_encoding(const sim_case *c, int output)
{
    return encoding_at(c, NULL, output);
}

/* Random channels, most of them illegal at first: scale by scale as the loop on the page. */
static void raise_at_random(form f, int acc, int bias_bits, bool per_channel, uint64_t seed,
                            int *raised)
{
    enum { N = 12 };
    char operators[400];
    float w[2 * N], bias[N], wanted[N], sx, s[2];
    double t[N], largest = 0;
    itg_rng rng;
    itg_rng_init(&rng, seed);
    snprintf(operators, sizeof operators, MAC("Gemm", "%d", ",'per_channel':%s,'bias_bits':%d"),
             acc, per_channel ? "true" : "false", bias_bits);
    for (int i = 0; i < N; i++) {
        t[i] = itg_rng_below(&rng, 6) == 0
                   ? 0
                   : ldexp(random_real(&rng, 0.5, 1), -(int)itg_rng_below(&rng, 75));
        w[2 * i] = (float)t[i];
        w[2 * i + 1] = -(float)t[i] / 2;
        bias[i] = itg_rng_below(&rng, 4) == 0
                      ? 0
                      : (float)ldexp(random_real(&rng, -1, 1), (int)itg_rng_below(&rng, 30) - 20);
        if (t[i] > largest) largest = t[i];
    }
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,2"),
           y = net_gemm(g, "gemm", x, "12,2", w, net_constant(g, "b", "12", bias));
    OUTPUTS(g, x, y, y, y);
    sim_case c = case_new(g, chip("", DTYPES, f == AS_F32 ? F32 : TFLITE, operators));
    set_range(&c, "gemm", 0, 8, -3, 1);
    set_range(&c, NULL, 0, 8, -5, 1);
    set_range(&c, NULL, 1, 16, -0x1p20, 1); /* and a float output, which makes nothing illegal */
    set_weights(&c, "gemm", 6, per_channel ? N : 1, per_channel ? t : &largest);
    annotated(&c);
    sx = (float)(3.0 / 127);
    s[0] = (float)(5.0 / 127);
    s[1] = (float)(0x1p20 / 32767);
    double most = 0;
    for (int i = 0; i < N; i++) {
        wanted[i] = weight_scale(per_channel ? t[i] : largest, 6, false);
        if (wanted[i] < 0x1p-64f) wanted[i] = 0;
        if ((double)wanted[i] > most) most = (double)wanted[i];
    }
    float shared = (float)most;
    for (int i = 0; i < N; i++) {
        if (wanted[i] == 0) wanted[i] = most > 0 ? (float)most : 1;
        float *one = per_channel ? &wanted[i] : &shared;
        for (; !legal(f, sx, *one, bias[i], acc, bias_bits, s, 2); *one *= 2)
            ++*raised;
    }
    const itg_quantizer *q = &encoding_at(&c, "gemm", 1)->q;
    for (int i = 0; i < N; i++) {
        float sw = per_channel ? wanted[i] : shared, unit = sx * sw;
        int k = per_channel ? i : 0, e;
        if (q->scale[k] != sw)
            fail_msg("seed %d channel %d: scale %a, expected %a", (int)seed, i, (double)q->scale[k],
                     (double)sw);
        assert_int_equal(note_of(&c, "gemm")->bias[i],
                         (int64_t)nearbyint((double)bias[i] / (double)unit));
        assert_true(encoding_at(&c, NULL, 2)->is_float &&
                    encoding_at(&c, NULL, 2)->dequant[k] == unit);
        for (int v = 0; v < 2; v++) {
            const itg_requant *r = &integer_encoding(&c, v)->requant[k];
            int64_t m = mantissa((double)sx * (double)sw / (double)s[v], 31, &e);
            assert_int_equal(r->is_f32, f == AS_F32);
            if (f == AS_F32) {
                assert_true(r->ratio == unit / s[v]);
                continue;
            }
            /* stages in any split: together m * 2^(e-31) */
            double product = 1;
            for (int i2 = 0; i2 < r->stage_count; i2++)
                product = ldexp(product * (double)r->stage[i2].multiplier, -r->stage[i2].shift);
            assert_true(product == ldexp((double)m, e - 31));
        }
    }
    assert_int_equal(note_of(&c, "gemm")->bias_count, N);
    case_end(&c);
}

static void scales_are_doubled_until_bias_and_requantization_are_legal(void **state)
{
    static const int widths[][2] = {{32, 32}, {16, 16}, {64, 32}, {64, 64},
                                    {24, 20}, {8, 8},   {40, 2}};
    int raised = 0;
    (void)state;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (uint64_t seed = 0; seed < 40; seed++) {
            raise_at_random(AS_F32, widths[i][0], widths[i][1], seed % 2, seed, &raised);
            raise_at_random(AS_TFLITE, widths[i][0], widths[i][1], seed % 2, seed, &raised);
        }
    assert_true(raised > 1000);
}

static void a_hand_computed_bias(void **state)
{
    sim_case c = gemm_case(4, FLOATS(1, 1, 1, 1, 1, 1, 0, 0), FLOATS(2.5f, -3.5f, 0x1p40f, 0x1p35f),
                           F32, MAC("Gemm", "32", ",'per_channel':true"));
    (void)state;
    ranges(&c, 127, 127);
    set_weights(&c, "gemm", 8, 4, DOUBLES(127, 127, 127, 0));
    annotated(&c);
    const itg_node_note *note = note_of(&c, "gemm");
    assert_int_equal(note->bias[0], 2); /* ties to even */
    assert_int_equal(note->bias[1], -4);
    assert_int_equal(note->bias[2], 0x40000000); /* 2^30 is legal */
    assert_true(weights(&c)->scale[2] == 0x1p10f);
    assert_true(weights(&c)->scale[3] == 0x1p5f); /* a zero channel with a bias: 1, raised */
    case_end(&c);
}

/* A ratio that would be too large takes the largest legal scale; what does not fit saturates. */
static void what_no_scale_has_room_for_saturates(void **state)
{
    static const float huge[] = {0, 0x1p60f, -0x1p60f};
    (void)state;
    /* The bias wants s_w near 2^30, the requantization a ratio below 2^30; y's scale is 2^-30. */
    sim_case c = gemm_case(3, FLOATS(1, 1, 1, 1, 1, 1), huge, TFLITE,
                           MAC("Gemm", "32", ",'per_channel':true"));
    ranges(&c, 127, 127 * 0x1p-30);
    set_weights(&c, "gemm", 8, 3, DOUBLES(127, 127, 127));
    annotated(&c);
    for (int i = 0; i < 3; i++)
        assert_true(weights(&c)->scale[i] == 0.5f);
    assert_int_equal(note_of(&c, "gemm")->bias[0], 0);
    assert_int_equal(note_of(&c, "gemm")->bias[1], 0x40000000);
    assert_int_equal(note_of(&c, "gemm")->bias[2], -0x40000000);
    case_end(&c);
    /* Per tensor: channel 0 is legal until channel 1's bias doubles the scale they share. */
    c = gemm_case(2, FLOATS(1, 1, 1, 1), huge, TFLITE, MAC("Gemm", "64", ",'bias_bits':40"));
    ranges(&c, 127, 127);
    set_weights(&c, "gemm", 8, 1, DOUBLES(127));
    annotated(&c);
    assert_true(weights(&c)->scale[0] == 0x1p22f);
    ranges(&c, 127, 127 * 0x1p-9);
    annotated(&c);
    assert_true(weights(&c)->scale[0] == 0x1p20f);
    assert_int_equal(note_of(&c, "gemm")->bias[0], 0);
    assert_int_equal(note_of(&c, "gemm")->bias[1], INT64_C(1) << 38);
    case_end(&c);
}

static void nothing_makes_it_legal(void **state)
{
    (void)state;
    /* A 32-bit input by weights of 2 bits leaves a 16-bit accumulator at every scale whose ratio
     * is legal: codes become 0 only where the ratio is far too large. */
    sim_case c = gemm_case(1, FLOATS(1, 1), NULL, TFLITE,
                           "'Gemm':[{'arithmetic':'mac','inputs':['y'],'weights':['w'],"
                           "'outputs':['y'],'requantize':'r','accumulator':{'bits':16,"
                           "'split':true,'join_bits':32}}]");
    set_range(&c, "gemm", 0, 32, -1, 1);
    set_range(&c, NULL, 0, 8, -127 * 0x1p-62, 127 * 0x1p-62);
    set_weights(&c, "gemm", 2, 1, DOUBLES(1));
    refused(&c, ITG_INFEASIBLE, "'gemm' (Gemm): no weight scale");
    case_end(&c);
    /* A bias that is no number is the model's fault. */
    c = gemm_case(1, FLOATS(1, 1), FLOATS(NAN), F32, MAC("Gemm", "32", ""));
    ranges(&c, 1, 1);
    set_weights(&c, "gemm", 8, 1, DOUBLES(1));
    refused(&c, ITG_BAD_FILE, "'gemm' (Gemm): its bias is NaN or infinite in a channel");
    case_end(&c);
    /* A scale of 2^127 or more is not doubled: the bias, 1.5 * 2^40 units, saturates. */
    c = gemm_case(1, FLOATS(1, 1), FLOATS(0x1.8p127f), F32, MAC("Gemm", "8", ",'bias_bits':2"));
    ranges(&c, 0x1p-40, 0x1p60);
    set_weights(&c, "gemm", 2, 1, DOUBLES(0x1p127));
    annotated(&c);
    assert_int_equal(note_of(&c, "gemm")->bias[0], 1);
    assert_true(weights(&c)->scale[0] == 0x1p127f);
    case_end(&c);
}

/* ---- pre-shifts ---- */

static int64_t shifted_floor(int64_t v, int p)
{
    return (int64_t)floor(ldexp((double)v, -p));
}

/* The interval of each channel from the weights' codes; p is the least that brings both ends below
 * 2^(bits-1). */
static void pre_shifts_follow_each_channels_bound(void **state)
{
    int shifted = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        bool per_channel = seed % 2;
        int pre_bits = 9 + (int)(seed % 9);
        float w[6], bias[3];
        double t[3] = {0}, largest = 0;
        char requants[200];
        itg_rng rng;
        itg_rng_init(&rng, seed);
        for (int i = 0; i < 6; i++) {
            w[i] = (float)random_real(&rng, -1, 1);
            t[i / 2] = fmax(t[i / 2], fabs((double)w[i]));
            largest = fmax(largest, t[i / 2]);
        }
        for (int i = 0; i < 3; i++)
            bias[i] = (float)random_real(&rng, -1, 1);
        snprintf(
            requants, sizeof requants,
            "'r':{'form':'preshift','multiplier_bits':16,'pre_shift_bits':%d,'rounding':'floor'}",
            pre_bits);
        sim_case c = gemm_case(3, w, bias, requants,
                               per_channel ? MAC("Gemm", "32", ",'per_channel':true")
                                           : MAC("Gemm", "32", ""));
        set_range(&c, "gemm", 0, 8, -1, 1);
        set_range(&c, NULL, 0, 8, -2, 2);
        set_weights(&c, "gemm", 8, per_channel ? 3 : 1, per_channel ? t : &largest);
        annotated(&c);
        float sx = (float)(1.0 / 127), s = (float)(2.0 / 127);
        const itg_encoding *v = encoding_at(&c, NULL, 0);
        assert_int_equal(v->requant_count, 3); /* also where weights have one scale */
        for (int i = 0; i < 3; i++) {
            float sw = (float)((per_channel ? t[i] : largest) / 127);
            int64_t b = (int64_t)nearbyint((double)bias[i] / (double)(sx * sw)), hi = b, lo = b;
            for (int k = 0; k < 2; k++) {
                int64_t q = code_of(w[2 * i + k], sw, 0, -127, 127);
                hi += 127 * llabs(q);
                lo -= 127 * llabs(q);
            }
            int64_t bound = hi > -lo ? hi : -lo;
            int p = 0, e;
            while (shifted_floor(bound, p) >= (int64_t)1 << (pre_bits - 1) ||
                   shifted_floor(-bound, p) <= -((int64_t)1 << (pre_bits - 1)))
                p++;
            int64_t m = mantissa((double)sx * (double)sw / (double)s, 15, &e);
            const itg_requant *r = &v->requant[i];
            assert_int_equal(r->stage_count, p > 0 ? 2 : 1);
            if (p > 0) {
                assert_int_equal(r->stage[0].multiplier, 1);
                assert_int_equal(r->stage[0].shift, p);
                shifted++;
            }
            assert_int_equal(r->stage[p > 0].multiplier, m);
            assert_int_equal(r->stage[p > 0].shift, 15 - e - p);
        }
        case_end(&c);
    }
    assert_in_range(shifted, 60, 175);
}

/* 32-bit codes on both sides: the interval leaves 64 bits, the bound saturates, nothing overflows.
 */
static void a_bound_beyond_64_bits_saturates(void **state)
{
    static const float w[] = {1, 1, -1, 1, 1, 1, 1, 1};
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,8"), y = net_gemm(g, "gemm", x, "1,8", w, ITG_NONE);
    OUTPUTS(g, x, y);
    sim_case c = case_new(
        g,
        chip("",
             "'z':{'storage':'s32','bits':[2,32],'zero_point':true},'w':{'storage':'s32','bits':[2,"
             "32],'full_range':true}",
             "'r':{'form':'preshift','multiplier_bits':16,'pre_shift_bits':32,'rounding':'floor'}",
             "'Gemm':[{'arithmetic':'mac','inputs':['z'],'weights':['w'],'outputs':['z'],'"
             "requantize':'r','accumulator':{'bits':64}}]"));
    set_range(&c, "gemm", 0, 32, 0, 1);
    set_weights(&c, "gemm", 32, 1, DOUBLES(1));
    set_range(&c, NULL, 0, 32, -4, 8);
    annotated(&c);
    assert_int_equal(encoding_at(&c, NULL, 0)->requant[0].stage[0].shift,
                     33); /* -(2^63 - 1) to above -2^31 */
    run(&c, FLOATS(1, 1, 1, 1, 1, 1, 1, 1));
    case_end(&c);
    (void)state;
}

/* ---- constants elsewhere ---- */

static void one_weight_of_two_nodes_has_a_encoding_for_each(void **state)
{
    itg_graph *g = net_new();
    itg_attrs a = itg_attrs_default(ITG_OP_GEMM);
    a.trans_b = true;
    itg_id x = net_input(g, "x", "1,2"),
           w = net_constant(g, "w", "2,2", FLOATS(0.3f, -1, 0.7f, NAN));
    itg_id one = NODE(g, "one", ITG_OP_GEMM, &a, x, w), two = NODE(g, "two", ITG_OP_GEMM, &a, x, w),
           three = NODE(g, "three", ITG_OP_GEMM, &a, x, w);
    OUTPUTS(g, x, one, two, three);
    sim_case c = case_new(g, chip("", DTYPES, F32, MAC("Gemm", "32", "")));
    (void)state;
    set_range(&c, "one", 0, 8, -127, 127);
    set_range(&c, "two", 0, 8, -127, 127);
    set_range(&c, "three", 0, 8, -127, 127);
    for (int i = 0; i < 3; i++)
        set_range(&c, NULL, i, 16, -32767, 32767);
    set_weights(&c, "one", 8, 1, DOUBLES(1));
    set_weights(&c, "two", 3, 1, DOUBLES(3));
    set_weights(&c, "three", 8, 1, DOUBLES(1));
    annotated(&c);
    assert_int_equal(c.a->values[w].encoding_count, 2);
    assert_ptr_equal(encoding_at(&c, "one", 1), encoding_at(&c, "three", 1));
    run(&c, FLOATS(1, 100));
    /* 0.3 * 127 = 38.1, -127; 0.7 * 127 = 88.9, and a NaN is 0. At 3 bits: scale 1; 0, -1; 1, 0. */
    float c1 = 1.0f * (float)(1.0 / 127), c2 = 1;
    assert_int_equal(output_code(&c, 0, 0), f32_code(38 - 12700, c1, 0, -32767, 32767));
    assert_int_equal(output_code(&c, 0, 1), f32_code(89, c1, 0, -32767, 32767));
    assert_int_equal(output_code(&c, 1, 0), f32_code(-100, c2, 0, -32767, 32767));
    assert_int_equal(output_code(&c, 1, 1), 1);
    assert_int_equal(output_code(&c, 2, 0), output_code(&c, 0, 0));
    case_end(&c);
}

static void outputs_that_are_constant(void **state)
{
    sim_case c = gemm_case(3, FLOATS(0, 0, 0, 0, 0, 0), FLOATS(1, -0.5f, 0), F32,
                           MAC("Gemm", "32", ",'per_channel':true"));
    (void)state;
    set_range(&c, "gemm", 0, 8, -1, 1);
    set_weights(&c, "gemm", 8, 3, DOUBLES(0, 0, 0));
    set_range(&c, NULL, 0, 8, -0.5, 1);
    annotated(&c);
    float s = (float)(1.0 / 127), unit = (float)(1.0 / 127); /* s_w = 1 */
    for (int i = 0; i < 3; i++) {
        static const float bias[] = {1, -0.5f, 0};
        run(&c, FLOATS(0.3f * (float)i, -1));
        for (int k = 0; k < 3; k++)
            assert_int_equal(output_code(&c, 0, k),
                             f32_code((int64_t)nearbyint((double)(bias[k]) / (double)unit),
                                      unit / s, 0, -127, 127));
    }
    assert_int_equal(output_code(&c, 0, 1), -64); /* -63.5 to even */
    /* an output that is nothing at all: range [0, 0] */
    set_range(&c, NULL, 0, 8, 0, 0);
    annotated(&c);
    assert_true(encoding_at(&c, NULL, 0)->q.scale[0] == 1);
    case_end(&c);
}

/* ---- refusals ---- */

static void thresholds_of_weights_that_do_not_fit(void **state)
{
    static const double bad[] = {-1, -0x1p-1000, NAN, INFINITY, 0x1p128};
    sim_case c =
        gemm_case(2, FLOATS(1, 1, 1, 1), NULL, F32, MAC("Gemm", "32", ",'per_channel':true"));
    (void)state;
    ranges(&c, 1, 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        set_weights(&c, "gemm", 8, 2, DOUBLES(1, bad[i]));
        refused(&c, ITG_MISMATCH,
                "'gemm' (Gemm): strategy: a weight threshold is negative or not finite");
    }
    set_weights(&c, "gemm", 8, 1, DOUBLES(1));
    refused(&c, ITG_MISMATCH, "one weight threshold per output channel");
    set_weights(&c, "gemm", 8, 2, DOUBLES(1, 1));
    c.s->edges[1].channel = NULL;
    refused(&c, ITG_MISMATCH, "one weight threshold per output channel");
    set_range(&c, "gemm", 1, 8, -1, 1); /* a range is no weight's threshold */
    refused(&c, ITG_MISMATCH, "one weight threshold per output channel");
    set_weights(&c, "gemm", 17, 2, DOUBLES(1, 1));
    refused(&c, ITG_INFEASIBLE, "weights of 17");
    case_end(&c);
    c = gemm_case(2, FLOATS(1, 1, 1, 1), NULL, F32, MAC("Gemm", "32", ""));
    ranges(&c, 1, 1);
    set_weights(&c, "gemm", 8, 2, DOUBLES(1, 1));
    refused(&c, ITG_MISMATCH, "one weight threshold per output channel");
    case_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_scale_a_channel),
        cmocka_unit_test(one_scale_in_all_and_full_range),
        cmocka_unit_test(powers_of_two),
        cmocka_unit_test(empty_channels_take_the_largest_scale),
        cmocka_unit_test(channels_of_conv_and_matmul),
        cmocka_unit_test(scales_are_doubled_until_bias_and_requantization_are_legal),
        cmocka_unit_test(a_hand_computed_bias),
        cmocka_unit_test(what_no_scale_has_room_for_saturates),
        cmocka_unit_test(nothing_makes_it_legal),
        cmocka_unit_test(pre_shifts_follow_each_channels_bound),
        cmocka_unit_test(a_bound_beyond_64_bits_saturates),
        cmocka_unit_test(one_weight_of_two_nodes_has_a_encoding_for_each),
        cmocka_unit_test(outputs_that_are_constant),
        cmocka_unit_test(thresholds_of_weights_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
