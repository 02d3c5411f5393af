/* Elementwise operators, reductions, normalizations and the dispatch table, against formulas in
 * double with the C library. */
#include "float_cases.h"
#include "kernels/math.h"

typedef struct univariate_case {
    itg_op op;
    double (*formula)(double x);
    float lo, hi;
} univariate_case;

static double leaky(double x)
{
    return x < 0 ? (double)0.1f * x : x;
}
static double elu(double x)
{
    return x < 0 ? (double)0.1f * expm1(x) : x;
}
static double relu(double x)
{
    return fmax(x, 0.0);
}
static double clip(double x)
{
    return fmin(fmax(x, -1.0), 2.5);
}
static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}
static double hard_sigmoid(double x)
{
    return fmax(0.0, fmin(1.0, (double)0.1f * x + 0.5));
}
static double hard_swish(double x)
{
    return x * fmax(0.0, fmin(1.0, x / 6.0 + 0.5));
}
static double softplus(double x)
{
    return x > 30 ? x : log1p(exp(x));
}
static double gelu(double x)
{
    return 0.5 * x * erfc(-x / sqrt(2.0));
}
static double reciprocal(double x)
{
    return 1.0 / x;
}
static double negative(double x)
{
    return -x;
}

static double selu(double x)
{
    return (double)1.05f * (x > 0 ? x : (double)0.1f * expm1(x));
}
static double celu(double x)
{
    return x > 0 ? x : (double)0.1f * expm1(x / (double)0.1f);
}
static double thresholded_relu(double x)
{
    return x > (double)0.1f ? x : 0.0;
}
static double power(double x)
{
    return pow(x, (double)0.1f);
}
static double shrink(double x)
{
    return x < -1.5 ? x + 0.25 : x > 1.5 ? x - 0.25 : 0.0;
}
static double swish(double x)
{
    return x / (1.0 + exp((double)-0.1f * x));
}
static double mish(double x)
{
    return x * tanh(log1p(exp(x)));
}
static double softsign(double x)
{
    return x / (1.0 + fabs(x));
}
static double sign(double x)
{
    return (x > 0) - (x < 0);
}

static const univariate_case univariates[] = {
    {ITG_OP_RELU, relu, -5.0f, 5.0f},
    {ITG_OP_LEAKY_RELU, leaky, -5.0f, 5.0f},
    {ITG_OP_ELU, elu, -30.0f, 5.0f},
    {ITG_OP_CLIP, clip, -5.0f, 5.0f},
    {ITG_OP_SIGMOID, sigmoid, -80.0f, 80.0f},
    {ITG_OP_TANH, tanh, -20.0f, 20.0f},
    {ITG_OP_HARD_SIGMOID, hard_sigmoid, -9.0f, 9.0f},
    {ITG_OP_HARD_SWISH, hard_swish, -5.0f, 5.0f},
    {ITG_OP_SOFTPLUS, softplus, -60.0f, 90.0f},
    {ITG_OP_EXP, exp, -80.0f, 80.0f},
    {ITG_OP_LOG, log, 0.0f, 9.0f},
    {ITG_OP_SQRT, sqrt, 0.0f, 9.0f},
    {ITG_OP_RECIPROCAL, reciprocal, -9.0f, 9.0f},
    {ITG_OP_ERF, erf, -5.0f, 5.0f},
    {ITG_OP_GELU, gelu, -3.5f, 9.0f},
    {ITG_OP_ABS, fabs, -9.0f, 9.0f},
    {ITG_OP_NEG, negative, -9.0f, 9.0f},
    {ITG_OP_FLOOR, floor, -9.0f, 9.0f},
    {ITG_OP_CEIL, ceil, -9.0f, 9.0f},
    {ITG_OP_ROUND, rint, -9.0f, 9.0f},
    {ITG_OP_SIGN, sign, -9.0f, 9.0f},
    {ITG_OP_SELU, selu, -30.0f, 9.0f},
    {ITG_OP_CELU, celu, -9.0f, 9.0f},
    {ITG_OP_THRESHOLDED_RELU, thresholded_relu, -9.0f, 9.0f},
    {ITG_OP_POWER, power, 0.0f, 9.0f},
    {ITG_OP_SHRINK, shrink, -9.0f, 9.0f},
    {ITG_OP_SWISH, swish, -99.0f, 99.0f},
    {ITG_OP_MISH, mish, -80.0f, 80.0f},
    {ITG_OP_SOFTSIGN, softsign, -9.0f, 9.0f},
    {ITG_OP_SIN, sin, -99.0f, 99.0f},
    {ITG_OP_COS, cos, -99.0f, 99.0f},
    {ITG_OP_TAN, tan, -99.0f, 99.0f},
    {ITG_OP_ASIN, asin, -1.0f, 1.0f},
    {ITG_OP_ACOS, acos, -1.0f, 1.0f},
    {ITG_OP_ATAN, atan, -9.0f, 9.0f},
    {ITG_OP_SINH, sinh, -9.0f, 9.0f},
    {ITG_OP_COSH, cosh, -9.0f, 9.0f},
    {ITG_OP_ASINH, asinh, -99.0f, 99.0f},
    {ITG_OP_ACOSH, acosh, 1.0f, 99.0f},
    {ITG_OP_ATANH, atanh, -1.0f, 1.0f},
};
enum { UNIVARIATES = (int)(sizeof univariates / sizeof univariates[0]) };

static void every_univariate_operator_has_a_formula(void **state)
{
    int count = 0;
    (void)state;
    for (int op = 0; op < ITG_OP_COUNT; ++op)
        count += itg_op_is((itg_op)op, ITG_IS_UNIVARIATE);
    for (int k = 0; k < UNIVARIATES; ++k)
        assert_true(itg_op_is(univariates[k].op, ITG_IS_UNIVARIATE));
    assert_int_equal(count, UNIVARIATES);
}

static itg_attrs univariate_attributes(void)
{
    itg_attrs attrs = attributes();
    attrs.alpha = 0.1f;
    attrs.beta = 0.5f;
    attrs.gamma = 1.05f;
    attrs.threshold = 1.5f;
    attrs.bias = 0.25f;
    attrs.min = -1.0f;
    attrs.max = 2.5f;
    return attrs;
}

/* Half an ulp of float32 from the rounding, and next to nothing from the function. */
static void univariates_are_rounded_once(void **state)
{
    const itg_attrs attrs = univariate_attributes();
    itg_tensor x = make(ITG_F32, DIMS(20001)), y = make(ITG_F32, DIMS(20001));
    (void)state;
    for (int k = 0; k < UNIVARIATES; ++k) {
        const univariate_case *u = &univariates[k];
        float *in = x.data, *out = y.data;
        for (int i = 0; i <= 20000; ++i)
            in[i] = u->lo + (u->hi - u->lo) * ((float)i + 0.25f) / 20001.0f;
        run(u->op, &attrs, &x, 1, &y);
        for (int i = 0; i <= 20000; ++i) {
            const double want = u->formula((double)in[i]);
            const double allowed = fabs(want) * 0x1.0001p-24;
            if (!(fabs((double)out[i] - want) <= allowed))
                fail_msg("%s(%a) = %a, not %a", itg_op_name(u->op), (double)in[i], (double)out[i],
                         want);
        }
    }
    drop(&x);
    drop(&y);
}

/* Any bits: infinities, NaN and subnormal numbers too, and lengths that fill no vector. */
static void many_give_the_bits_of_one(void **state)
{
    (void)state;
    enum { MOST = 67, LENGTHS = 300 };
    itg_rng rng;
    itg_rng_init(&rng, 12);
    for (int k = 0; k < 2 * UNIVARIATES; ++k) {
        const itg_op op = univariates[k / 2].op;
        itg_attrs attrs = univariate_attributes();
        attrs.approximate = k % 2;
        for (int i = 0; i < LENGTHS; ++i) {
            const int64_t n = 1 + i % MOST;
            itg_tensor x = make(ITG_F32, &n, 1), y = make(ITG_F32, &n, 1);
            float *in = x.data, *out = y.data;
            for (int64_t j = 0; j < n; ++j) {
                const uint32_t bits = (uint32_t)(itg_rng_next(&rng) >> 32);
                memcpy(in + j, &bits, sizeof bits);
                if (j % 2) in[j] = (float)((itg_rng_unit(&rng) - 0.5) * 20);
            }
            run(op, &attrs, &x, 1, &y);
            for (int64_t j = 0; j < n; ++j) {
                const float want = (float)itg_univariate(op, &attrs, (double)in[j]);
                if (memcmp(&want, out + j, sizeof want) != 0 && !(want != want && out[j] != out[j]))
                    fail_msg("%s(%a) = %a, not %a", itg_op_name(op), (double)in[j], (double)out[j],
                             (double)want);
            }
            drop(&x);
            drop(&y);
        }
    }
}

static void gelu_has_a_form_by_tanh(void **state)
{
    itg_attrs attrs = itg_attrs_default(ITG_OP_GELU);
    (void)state;
    assert_true(itg_univariate(ITG_OP_GELU, &attrs, -INFINITY) == 0.0);
    assert_true(itg_univariate(ITG_OP_GELU, &attrs, INFINITY) == INFINITY);
    attrs.approximate = 1;
    assert_true(itg_univariate(ITG_OP_GELU, &attrs, -INFINITY) == 0.0);
    assert_true(itg_univariate(ITG_OP_GELU, &attrs, INFINITY) == INFINITY);
    for (double x = -70; x < 9; x += 0x1p-6) {
        const double inner = sqrt(2 / acos(-1)) * (x + 0.044715 * pow(x, 3));
        const double y = itg_univariate(ITG_OP_GELU, &attrs, x), want = 0.5 * x * (1 + tanh(inner));
        if (!(fabs(y - want) <= 1e-14)) fail_msg("Gelu(%a) = %a, not %a", x, y, want);
        assert_true(x > -64 || (y == 0 && signbit(y)));
    }
}

static void univariates_keep_nan_and_know_infinity(void **state)
{
    const itg_attrs attrs = univariate_attributes();
    (void)state;
    for (int k = 0; k < UNIVARIATES; ++k) {
        float in[1] = {NAN}, out[1] = {0.0f};
        const itg_tensor x = view(ITG_F32, in, DIMS(1));
        itg_tensor y = view(ITG_F32, out, DIMS(1));
        run(univariates[k].op, &attrs, &x, 1, &y);
        if (!isnan(out[0])) fail_msg("%s loses NaN", itg_op_name(univariates[k].op));
    }
    assert_true(itg_univariate(ITG_OP_SOFTPLUS, &attrs, INFINITY) == INFINITY);
    assert_true(itg_univariate(ITG_OP_SOFTPLUS, &attrs, -INFINITY) == 0.0);
    assert_true(itg_univariate(ITG_OP_MISH, &attrs, -INFINITY) == 0.0);
    assert_true(itg_univariate(ITG_OP_MISH, &attrs, INFINITY) == INFINITY);
    assert_true(itg_univariate(ITG_OP_SWISH, &attrs, -INFINITY) == 0.0);
    assert_true(itg_univariate(ITG_OP_ELU, &attrs, -INFINITY) == -(double)0.1f);
    assert_true(itg_univariate(ITG_OP_HARD_SWISH, &attrs, -INFINITY) == 0.0);
    assert_true(itg_univariate(ITG_OP_HARD_SWISH, &attrs, INFINITY) == INFINITY);
    assert_true(itg_univariate(ITG_OP_CLIP, &attrs, INFINITY) == 2.5);
    assert_false(signbit(itg_univariate(ITG_OP_RELU, &attrs, -0.0)));
}

static void tensors_and_the_scalar_function_agree(void **state)
{
    const itg_attrs attrs = univariate_attributes();
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 21);
    itg_tensor x = make(ITG_F32, DIMS(999)), y = make(ITG_F32, DIMS(999));
    fill_random(&x, &rng, 6.0f);
    for (int k = 0; k < UNIVARIATES; ++k) {
        run(univariates[k].op, &attrs, &x, 1, &y);
        for (int i = 0; i < 999; ++i) {
            const float want =
                (float)itg_univariate(univariates[k].op, &attrs, (double)((float *)x.data)[i]);
            const float got = ((float *)y.data)[i];
            assert_true(memcmp(&got, &want, sizeof got) == 0 || (isnan(got) && isnan(want)));
        }
    }
    drop(&x);
    drop(&y);
}

/* ---- two operands ---- */
static double binary_formula(itg_op op, double a, double b)
{
    switch (op) {
    case ITG_OP_ADD:
        return a + b;
    case ITG_OP_SUB:
        return a - b;
    case ITG_OP_MUL:
        return a * b;
    case ITG_OP_DIV:
        return a / b;
    case ITG_OP_MIN:
        return fmin(a, b);
    case ITG_OP_MAX:
        return fmax(a, b);
    case ITG_OP_PRELU:
        return a < 0 ? a * b : a;
    default:
        return pow(a, b);
    }
}

/* Index into a tensor of dims `own` that broadcasts to `out`, from flat index i of out. */
static int64_t broadcast_index(const int64_t *out, const int64_t *own, int rank, int64_t i)
{
    int64_t index = 0, step = 1;
    for (int d = rank - 1; d >= 0; --d) {
        index += own[d] == 1 ? 0 : i % out[d] * step;
        step *= own[d];
        i /= out[d];
    }
    return index;
}

static void operands_broadcast_in_every_combination(void **state)
{
    static const itg_op ops[] = {ITG_OP_ADD, ITG_OP_SUB, ITG_OP_MUL,   ITG_OP_DIV,
                                 ITG_OP_MIN, ITG_OP_MAX, ITG_OP_PRELU, ITG_OP_POW};
    const int64_t out[3] = {2, 3, 5};
    itg_attrs attrs = attributes();
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 1);
    for (int k = 0; k < 8; ++k)
        for (int mask = 0; mask < 64; ++mask) {
            int64_t da[3], db[3];
            for (int d = 0; d < 3; ++d) {
                da[d] = mask >> d & 1 ? 1 : out[d];
                db[d] = mask >> (d + 3) & 1 ? 1 : out[d];
            }
            itg_tensor in[2] = {make(ITG_F32, da, 3), make(ITG_F32, db, 3)};
            itg_tensor y = make(ITG_F32, out, 3);
            fill_random(&in[0], &rng, 3.0f);
            fill_random(&in[1], &rng, 3.0f);
            if (ops[k] == ITG_OP_POW)
                for (int64_t i = 0; i < count_of(&in[0]); ++i)
                    ((float *)in[0].data)[i] = fabsf(((float *)in[0].data)[i]);
            run(ops[k], &attrs, in, 2, &y);
            for (int64_t i = 0; i < 30; ++i) {
                const double a = (double)((float *)in[0].data)[broadcast_index(out, da, 3, i)];
                const double b = (double)((float *)in[1].data)[broadcast_index(out, db, 3, i)];
                const double want = binary_formula(ops[k], a, b);
                assert_true(fabs((double)((float *)y.data)[i] - want) <= fabs(want) * 0x1.0001p-24);
            }
            drop(&in[0]);
            drop(&in[1]);
            drop(&y);
        }
}

static void fewer_dimensions_align_at_the_right(void **state)
{
    float a[6] = {1, 2, 3, 4, 5, 6}, b[3] = {10, 20, 30}, c[1] = {100}, y[6];
    itg_attrs attrs = attributes();
    (void)state;
    itg_tensor in[2] = {view(ITG_F32, a, DIMS(2, 3)), view(ITG_F32, b, DIMS(3))};
    itg_tensor out = view(ITG_F32, y, DIMS(2, 3));
    run(ITG_OP_ADD, &attrs, in, 2, &out);
    assert_true(y[0] == 11.0f && y[5] == 36.0f);
    in[0] = view(ITG_F32, c, NULL, 0);
    out = view(ITG_F32, y, DIMS(3));
    run(ITG_OP_SUB, &attrs, in, 2, &out);
    assert_true(y[0] == 90.0f && y[2] == 70.0f);
}

static void integers_wrap_and_truncate(void **state)
{
    int64_t a[4] = {INT64_MIN, -7, 7, INT64_MAX}, b[4] = {-1, 2, -2, 1}, y[4];
    int32_t p[2] = {INT32_MIN, INT32_MAX}, q[2] = {-1, 2}, z[2];
    itg_attrs attrs = attributes();
    itg_error err;
    (void)state;
    const itg_tensor in[2] = {view(ITG_S64, a, DIMS(4)), view(ITG_S64, b, DIMS(4))};
    itg_tensor out = view(ITG_S64, y, DIMS(4));
    run(ITG_OP_DIV, &attrs, in, 2, &out);
    assert_true(y[0] == INT64_MIN && y[1] == -3 && y[2] == -3 && y[3] == INT64_MAX);
    run(ITG_OP_ADD, &attrs, in, 2, &out);
    assert_true(y[0] == INT64_MAX && y[3] == INT64_MIN);
    run(ITG_OP_MAX, &attrs, in, 2, &out);
    assert_true(y[0] == -1 && y[1] == 2 && y[2] == 7);
    const itg_tensor narrow[2] = {view(ITG_S32, p, DIMS(2)), view(ITG_S32, q, DIMS(2))};
    itg_tensor small = view(ITG_S32, z, DIMS(2));
    run(ITG_OP_MUL, &attrs, narrow, 2, &small);
    assert_true(z[0] == INT32_MIN && z[1] == -2);
    b[2] = 0;
    assert_int_equal(itg_float_eval(ITG_OP_DIV, &attrs, in, 2, &out, 1, &err), ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err.message, "zero"));
}

/* As ONNX's reference has it: numpy's maximum. */
static void maxima_keep_nan_wherever_it_stands(void **state)
{
    itg_attrs attrs = attributes();
    (void)state;
    attrs.spatial_rank = 2;
    for (int d = 0; d < 2; d++) {
        attrs.kernel[d] = 3;
        attrs.stride[d] = attrs.dilation[d] = 1;
        attrs.pad[d] = attrs.pad[d + 2] = 1;
    }
    attrs.axes_count = 2;
    attrs.axes[0] = 2;
    attrs.axes[1] = 3;
    for (int at = 0; at < 20; at++) {
        float x[20], pooled[20], y[1] = {0};
        for (int i = 0; i < 20; i++)
            x[i] = i == at ? NAN : (float)(i * 7 % 20) - 30;
        const itg_tensor in = view(ITG_F32, x, DIMS(1, 1, 4, 5));
        itg_tensor all = view(ITG_F32, pooled, DIMS(1, 1, 4, 5)), one = view(ITG_F32, y, DIMS(1));
        run(ITG_OP_MAX_POOL, &attrs, &in, 1, &all);
        for (int i = 0; i < 20; i++) {
            const bool near = abs(i / 5 - at / 5) <= 1 && abs(i % 5 - at % 5) <= 1;
            if (isnan(pooled[i]) != near)
                fail_msg("NaN at %d, output %d: %g", at, i, (double)pooled[i]);
        }
        one.shape = (itg_shape){4, {1, 1, 1, 1}};
        run(ITG_OP_GLOBAL_MAX_POOL, &attrs, &in, 1, &one);
        assert_true(isnan(y[0]));
        y[0] = 0;
        run(ITG_OP_REDUCE_MAX, &attrs, &in, 1, &one);
        assert_true(isnan(y[0]));
        for (int inner = 0; inner < 2; inner++) { /* along rows, and across them */
            float rows[5];
            itg_attrs some = attrs;
            some.axes_count = 1;
            some.axes[0] = inner ? 3 : 2;
            itg_tensor out = view(ITG_F32, rows, DIMS(1, 1, 5, 1));
            if (inner) out.shape = (itg_shape){4, {1, 1, 4, 1}};
            run(ITG_OP_REDUCE_MAX, &some, &in, 1, &out);
            for (int i = 0; i < (inner ? 4 : 5); i++)
                assert_true(isnan(rows[i]) == (i == (inner ? at / 5 : at % 5)));
        }
    }
}

static void min_and_max_take_any_number_and_keep_nan(void **state)
{
    float a[3] = {1, 5, NAN}, b[1] = {3}, c[3] = {2, 2, 2}, y[3];
    itg_attrs attrs = attributes();
    (void)state;
    const itg_tensor in[3] = {view(ITG_F32, a, DIMS(3)), view(ITG_F32, b, DIMS(1)),
                              view(ITG_F32, c, DIMS(3))};
    itg_tensor out = view(ITG_F32, y, DIMS(3));
    run(ITG_OP_MAX, &attrs, in, 3, &out);
    assert_true(y[0] == 3.0f && y[1] == 5.0f && isnan(y[2]));
    run(ITG_OP_MIN, &attrs, in, 3, &out);
    assert_true(y[0] == 1.0f && y[1] == 2.0f && isnan(y[2]));
    run(ITG_OP_MIN, &attrs, in, 1, &out);
    assert_true(y[0] == 1.0f && y[1] == 5.0f);
}

static void pow_takes_integers_on_either_side(void **state)
{
    float x[3] = {2.0f, 9.0f, -3.0f}, y[3];
    int64_t exponent[3] = {10, 2, 3}, base[3] = {2, -3, 7}, power[3];
    itg_attrs attrs = attributes();
    (void)state;
    const itg_tensor mixed[2] = {view(ITG_F32, x, DIMS(3)), view(ITG_S64, exponent, DIMS(3))};
    const itg_tensor whole[2] = {view(ITG_S64, base, DIMS(3)), view(ITG_S64, exponent, DIMS(3))};
    itg_tensor out = view(ITG_F32, y, DIMS(3)), whole_out = view(ITG_S64, power, DIMS(3));
    run(ITG_OP_POW, &attrs, mixed, 2, &out);
    assert_true(y[0] == 1024.0f && y[1] == 81.0f && y[2] == -27.0f);
    run(ITG_OP_POW, &attrs, whole, 2, &whole_out);
    assert_true(power[0] == 1024 && power[1] == 9 && power[2] == 343);
}

/* ---- reductions ---- */
static void reductions_over_every_set_of_axes_agree(void **state)
{
    static const int64_t dims[4] = {2, 3, 4, 5};
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 4);
    itg_tensor x = make(ITG_F32, dims, 4);
    fill_random(&x, &rng, 4.0f);
    for (int mask = 0; mask < 16; ++mask) {
        itg_attrs attrs = attributes();
        int64_t kept[4], count = 1;
        for (int d = 0; d < 4; ++d) {
            const bool gone = mask == 0 || mask >> d & 1;
            kept[d] = gone ? 1 : dims[d];
            if (gone) count *= dims[d];
            if (mask >> d & 1) attrs.axes[attrs.axes_count++] = d;
        }
        itg_tensor y = make(ITG_F32, kept, 4);
        double sums[120] = {0};
        float most[120];
        for (int i = 0; i < 120; ++i)
            most[i] = -INFINITY;
        for (int64_t i = 0; i < 120; ++i) {
            const int64_t at = broadcast_index(dims, kept, 4, i);
            const float value = ((float *)x.data)[i];
            sums[at] += (double)value;
            most[at] = fmaxf(most[at], value);
        }
        const float *out = y.data;
        run(ITG_OP_REDUCE_SUM, &attrs, &x, 1, &y);
        for (int64_t i = 0; i < count_of(&y); ++i)
            assert_true(out[i] == (float)sums[i]);
        run(ITG_OP_REDUCE_MEAN, &attrs, &x, 1, &y);
        for (int64_t i = 0; i < count_of(&y); ++i)
            assert_true(out[i] == (float)(sums[i] / (double)count));
        run(ITG_OP_REDUCE_MAX, &attrs, &x, 1, &y);
        for (int64_t i = 0; i < count_of(&y); ++i)
            assert_true(out[i] == most[i]);
        drop(&y);
    }
    drop(&x);
}

static void no_axes_may_mean_no_reduction(void **state)
{
    float x[3] = {1, 2, 3}, y[3] = {0};
    itg_attrs attrs = attributes();
    (void)state;
    attrs.noop_with_empty_axes = true;
    const itg_tensor in = view(ITG_F32, x, DIMS(3));
    itg_tensor out = view(ITG_F32, y, DIMS(3));
    run(ITG_OP_REDUCE_SUM, &attrs, &in, 1, &out);
    assert_memory_equal(x, y, sizeof x);
}

/* Without data, too. */
static void reductions_of_no_elements_have_onnxs_results(void **state)
{
    static const itg_op ops[] = {ITG_OP_REDUCE_SUM, ITG_OP_REDUCE_MAX, ITG_OP_REDUCE_MEAN};
    float nothing[1] = {7}, y[8];
    itg_attrs attrs = attributes();
    (void)state;
    attrs.axes_count = 1;
    attrs.axes[0] = 1;
    for (int k = 0; k < 6; ++k) {
        const itg_tensor in = view(ITG_F32, k % 2 ? nothing : NULL, DIMS(2, 0, 4));
        itg_tensor out = view(ITG_F32, y, DIMS(2, 1, 4));
        memset(y, 1, sizeof y);
        run(ops[k / 2], &attrs, &in, 1, &out);
        for (int i = 0; i < 8; ++i)
            assert_true(k / 2 == 2 ? isnan(y[i]) : y[i] == (k / 2 == 1 ? -INFINITY : 0.0f));
    }
}

static void arg_max_takes_the_first_or_the_last(void **state)
{
    float x[8] = {1, 7, 3, 7, 5, 5, NAN, 2};
    int64_t y[4];
    itg_attrs attrs = attributes();
    (void)state;
    const itg_tensor in = view(ITG_F32, x, DIMS(2, 4));
    itg_tensor rows = view(ITG_S64, y, DIMS(2, 1)), columns = view(ITG_S64, y, DIMS(4));
    attrs.axis = 1;
    run(ITG_OP_ARG_MAX, &attrs, &in, 1, &rows);
    assert_true(y[0] == 1 && y[1] == 2);
    attrs.select_last_index = true;
    run(ITG_OP_ARG_MAX, &attrs, &in, 1, &rows);
    assert_true(y[0] == 3 && y[1] == 2);
    attrs.axis = 0;
    run(ITG_OP_ARG_MAX, &attrs, &in, 1, &columns);
    assert_true(y[0] == 1 && y[1] == 0 && y[2] == 1 && y[3] == 0);
}

/* ---- normalizations ---- */
static void batch_normalization_follows_its_formula(void **state)
{
    itg_attrs attrs = attributes();
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 5);
    attrs.epsilon = 1e-5f;
    itg_tensor in[5], y = make(ITG_F32, DIMS(2, 3, 4, 5));
    in[0] = make(ITG_F32, DIMS(2, 3, 4, 5));
    for (int i = 1; i < 5; ++i)
        in[i] = make(ITG_F32, DIMS(3));
    for (int i = 0; i < 5; ++i)
        fill_random(&in[i], &rng, 2.0f);
    float *variance = in[4].data;
    for (int c = 0; c < 3; ++c)
        variance[c] = fabsf(variance[c]);
    run(ITG_OP_BATCH_NORMALIZATION, &attrs, in, 5, &y);
    for (int i = 0; i < 120; ++i) {
        const int c = i / 20 % 3;
        const double normal =
            ((double)((float *)in[0].data)[i] - (double)((float *)in[3].data)[c]) /
            sqrt((double)variance[c] + (double)attrs.epsilon);
        const double want =
            normal * (double)((float *)in[1].data)[c] + (double)((float *)in[2].data)[c];
        assert_true(((float *)y.data)[i] == (float)want);
    }
    for (int i = 0; i < 5; ++i)
        drop(&in[i]);
    drop(&y);
}

static void layer_normalization_follows_its_formula(void **state)
{
    itg_attrs attrs = attributes();
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 6);
    attrs.epsilon = 1e-5f;
    attrs.axis = 1;
    itg_tensor in[3] = {make(ITG_F32, DIMS(6, 3, 5)), make(ITG_F32, DIMS(3, 5)),
                        make(ITG_F32, DIMS(5))};
    itg_tensor out[3] = {make(ITG_F32, DIMS(6, 3, 5)), make(ITG_F32, DIMS(6, 1, 1)),
                         make(ITG_F32, DIMS(6, 1, 1))};
    itg_error err;
    for (int i = 0; i < 3; ++i)
        fill_random(&in[i], &rng, 2.0f);
    const float *x = in[0].data, *scale = in[1].data, *bias = in[2].data, *y = out[0].data;
    assert_int_equal(itg_float_eval(ITG_OP_LAYER_NORMALIZATION, &attrs, in, 3, out, 3, &err),
                     ITG_OK);
    for (int row = 0; row < 6; ++row) {
        double sum = 0.0, squares = 0.0;
        for (int i = 0; i < 15; ++i)
            sum += (double)x[row * 15 + i];
        for (int i = 0; i < 15; ++i)
            squares += pow((double)x[row * 15 + i] - sum / 15.0, 2.0);
        const double deviation = sqrt(squares / 15.0 + (double)attrs.epsilon);
        for (int i = 0; i < 15; ++i) {
            const double want =
                ((double)x[row * 15 + i] - sum / 15.0) / deviation * (double)scale[i] +
                (double)bias[i % 5];
            assert_true(fabs((double)y[row * 15 + i] - want) <= 1e-6 * (1.0 + fabs(want)));
        }
        assert_true(fabs((double)((float *)out[1].data)[row] - sum / 15.0) < 1e-6);
        assert_true(fabs((double)((float *)out[2].data)[row] * deviation - 1.0) < 1e-6);
    }
    for (int i = 0; i < 3; ++i) {
        drop(&in[i]);
        drop(&out[i]);
    }
}

static void softmax_follows_its_formula_along_any_axis(void **state)
{
    static const int64_t dims[3] = {3, 4, 5};
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 7);
    itg_tensor x = make(ITG_F32, dims, 3), y = make(ITG_F32, dims, 3), z = make(ITG_F32, dims, 3);
    fill_random(&x, &rng, 300.0f); /* exp would overflow if the maximum were not subtracted */
    for (int axis = 0; axis < 3; ++axis) {
        itg_attrs attrs = attributes();
        attrs.axis = axis;
        run(ITG_OP_SOFTMAX, &attrs, &x, 1, &y);
        run(ITG_OP_LOG_SOFTMAX, &attrs, &x, 1, &z);
        const int64_t step = axis == 0 ? 20 : axis == 1 ? 5 : 1;
        for (int64_t i = 0; i < 60; ++i) {
            const int64_t first = i - i / step % dims[axis] * step;
            const float *in = x.data;
            double most = -INFINITY, sum = 0.0;
            for (int64_t k = 0; k < dims[axis]; ++k)
                most = fmax(most, (double)in[first + k * step]);
            for (int64_t k = 0; k < dims[axis]; ++k)
                sum += exp((double)in[first + k * step] - most);
            const double want = exp((double)in[i] - most) / sum;
            const double log_want = (double)in[i] - most - log(sum);
            assert_true(fabs((double)((float *)y.data)[i] - want) <=
                        want * 0x1.0001p-24 + 0x1p-149);
            assert_true(fabs((double)((float *)z.data)[i] - log_want) <=
                        fabs(log_want) * 0x1.0001p-24 + 1e-15);
        }
    }
    drop(&x);
    drop(&y);
    drop(&z);
}

/* A number of a row: most are near to each other, few are not numbers. */
static float any_number(itg_rng *rng, double reach, bool odd)
{
    static const float rare[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, -1e30f, 1e-40f};
    if (odd && itg_rng_unit(rng) < 0.05) return rare[itg_rng_below(rng, 7)];
    return (float)(reach * (itg_rng_unit(rng) - 0.5));
}

static void assert_number_is(float a, float b)
{
    if (isnan(a) && isnan(b)) return;
    if (memcmp(&a, &b, sizeof a) != 0) fail_msg("%a, expected %a", (double)a, (double)b);
}

/* One row, n elements `step` apart, one number after another. */
static void check_softmax_row(const float *x, const float *y, const float *z, int64_t n,
                              int64_t step)
{
    double most = (double)x[0], sum = 0.0;
    for (int64_t i = 0; i < n; ++i)
        most = (double)x[i * step] > most ? (double)x[i * step] : most;
    for (int64_t i = 0; i < n; ++i)
        sum += itg_exp((double)x[i * step] - most);
    for (int64_t i = 0; i < n; ++i) {
        const double less = (double)x[i * step] - most;
        assert_number_is(y[i * step], (float)(itg_exp(less) / sum));
        assert_number_is(z[i * step], (float)(less - itg_log(sum)));
    }
}

static void softmax_of_any_numbers_has_the_bits_of_its_definition(void **state)
{
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 8);
    for (int round = 0; round < 400; ++round) {
        const int64_t n = 1 + (int64_t)itg_rng_below(&rng, round % 20 == 0 ? 2500 : 70);
        const int64_t inner = round % 3 == 0 ? 3 : 1;
        const int64_t dims[3] = {1 + (int64_t)itg_rng_below(&rng, 40), n, inner};
        const double reach = round % 4 == 0 ? 3000.0 : round % 4 == 1 ? 1e-3 : 20.0;
        itg_tensor x = make(ITG_F32, dims, 3), y = make(ITG_F32, dims, 3),
                   z = make(ITG_F32, dims, 3);
        itg_attrs attrs = attributes();
        attrs.axis = 1;
        for (int64_t i = 0; i < dims[0] * n * inner; ++i)
            ((float *)x.data)[i] = any_number(&rng, reach, round % 2 == 0);
        run(ITG_OP_SOFTMAX, &attrs, &x, 1, &y);
        run(ITG_OP_LOG_SOFTMAX, &attrs, &x, 1, &z);
        for (int64_t o = 0; o < dims[0]; ++o)
            for (int64_t i = 0; i < inner; ++i) {
                const int64_t at = o * n * inner + i;
                check_softmax_row((float *)x.data + at, (float *)y.data + at, (float *)z.data + at,
                                  n, inner);
            }
        drop(&x);
        drop(&y);
        drop(&z);
    }
}

/* ---- dispatch ---- */
static void every_operator_has_a_kernel_or_is_named_here(void **state)
{
    float x[1] = {0.0f}, y[1];
    itg_attrs attrs = attributes();
    (void)state;
    for (int op = 0; op < ITG_OP_COUNT; ++op) {
        itg_error err = {ITG_OK, ""};
        const itg_tensor in = view(ITG_F32, x, DIMS(1));
        itg_tensor out = view(ITG_F32, y, DIMS(1));
        (void)itg_float_eval((itg_op)op, &attrs, &in, 1, &out, 1, &err);
        const bool is_missing = strstr(err.message, "there is no float kernel") != NULL;
        const bool folds = op == ITG_OP_QUANTIZE_LINEAR || op == ITG_OP_DEQUANTIZE_LINEAR;
        /* Import, shape inference and preparation put others in their place. */
        assert_int_equal(is_missing, op == ITG_OP_CONSTANT || op == ITG_OP_CAST_LIKE ||
                                         op == ITG_OP_SCATTER ||
                                         (itg_op_is((itg_op)op, ITG_IS_COMPOSITE) && !folds));
    }
}

static void a_type_without_arithmetic_is_refused_by_name(void **state)
{
    double x[2] = {0}, y[2];
    itg_attrs attrs = attributes();
    itg_error err;
    (void)state;
    const itg_tensor in[2] = {view(ITG_F64, x, DIMS(2)), view(ITG_F64, x, DIMS(2))};
    itg_tensor out = view(ITG_F64, y, DIMS(2));
    assert_int_equal(itg_float_eval(ITG_OP_ADD, &attrs, in, 2, &out, 1, &err), ITG_UNSUPPORTED);
    assert_non_null(strstr(err.message, "f64"));
    assert_int_equal(itg_float_eval(ITG_OP_SOFTMAX, &attrs, in, 1, &out, 1, &err), ITG_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_univariate_operator_has_a_formula),
        cmocka_unit_test(univariates_are_rounded_once),
        cmocka_unit_test(many_give_the_bits_of_one),
        cmocka_unit_test(gelu_has_a_form_by_tanh),
        cmocka_unit_test(univariates_keep_nan_and_know_infinity),
        cmocka_unit_test(tensors_and_the_scalar_function_agree),
        cmocka_unit_test(operands_broadcast_in_every_combination),
        cmocka_unit_test(fewer_dimensions_align_at_the_right),
        cmocka_unit_test(integers_wrap_and_truncate),
        cmocka_unit_test(maxima_keep_nan_wherever_it_stands),
        cmocka_unit_test(min_and_max_take_any_number_and_keep_nan),
        cmocka_unit_test(pow_takes_integers_on_either_side),
        cmocka_unit_test(reductions_over_every_set_of_axes_agree),
        cmocka_unit_test(no_axes_may_mean_no_reduction),
        cmocka_unit_test(reductions_of_no_elements_have_onnxs_results),
        cmocka_unit_test(arg_max_takes_the_first_or_the_last),
        cmocka_unit_test(batch_normalization_follows_its_formula),
        cmocka_unit_test(layer_normalization_follows_its_formula),
        cmocka_unit_test(softmax_follows_its_formula_along_any_axis),
        cmocka_unit_test(softmax_of_any_numbers_has_the_bits_of_its_definition),
        cmocka_unit_test(every_operator_has_a_kernel_or_is_named_here),
        cmocka_unit_test(a_type_without_arithmetic_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
