/* Add, Sub, Mul, activations and lookup tables in every form (docs/arithmetic.md 3 to 5), against
 * formulas written again. */
#include "formulas.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        assert_true(encoding_at(&c, NULL, 2)->is_float);
        const itg_quantizer *a = &encoding_at(&c, "node", 0)->q,
                            *b = &encoding_at(&c, "node", 1)->q;
        for (int round = 0; round < 200; round++) {
            float x[6];
            random_floats(&rng, x, 6, 1.3);
            run(&c, x);
            for (int i = 0; i < 6; i++) {
                int64_t p = code_of(x[i], a->scale[0], a->zero_point, a->qmin, a->qmax),
                        q = code_of(k[i % 3], b->scale[0], b->zero_point, b->qmin, b->qmax);
                int sign = op == ITG_OP_SUB ? -1 : 1;
                for (int o = 0; o < 2; o++) {
                    const itg_quantizer *out = &encoding_at(&c, NULL, o)->q;
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
        const itg_quantizer *a = &encoding_at(&c, "node", swapped)->q,
                            *b = &encoding_at(&c, "node", !swapped)->q,
                            *o = &encoding_at(&c, NULL, 0)->q;
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
    const itg_quantizer *a = &encoding_at(&c, "relu", 0)->q, *b = &encoding_at(&c, "clip", 0)->q,
                        *y = &encoding_at(&c, NULL, 0)->q, *z = &encoding_at(&c, NULL, 1)->q;
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
    const itg_quantizer *a = &encoding_at(&c, "leaky", 0)->q, *b = &encoding_at(&c, "hard", 0)->q;
    for (int i = 0; i < 200; i++) {
        const itg_quantizer *o = &encoding_at(&c, NULL, 0)->q;
        float u = (float)(code_of(in[i], a->scale[0], a->zero_point, 0, 255) - a->zero_point) *
                  a->scale[0];
        float v = (float)(u < 0 ? (double)0.3f * (double)u : (double)u),
              root = (float)sqrt((double)u);
        assert_int_equal(output_code(&c, 0, i), code_of(v, o->scale[0], o->zero_point, 0, 255));
        assert_true(output_real(&c, 3, i) == v);
        o = &encoding_at(&c, NULL, 2)->q; /* the root of a negative number is the zero point */
        assert_int_equal(output_code(&c, 2, i), code_of(root, o->scale[0], o->zero_point, 0, 255));
        o = &encoding_at(&c, NULL, 1)->q;
        u = (float)(code_of(in[i], b->scale[0], b->zero_point, 0, 127) - b->zero_point) *
            b->scale[0];
        double y = (double)hard.alpha * (double)u + (double)hard.beta;
        assert_int_equal(output_code(&c, 1, i),
                         code_of((float)fmin(fmax(y, 0), 1), o->scale[0], o->zero_point, 0, 31));
    }
    case_end(&c);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(sums_at_one_scale),
        cmocka_unit_test(sums_of_rescaled_operands),
        cmocka_unit_test(sums_and_products_in_float),
        cmocka_unit_test(a_float_sum_whose_first_operand_broadcasts),
        cmocka_unit_test(activations_that_are_not_fused),
        cmocka_unit_test(tables_of_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
