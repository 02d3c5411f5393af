/* Functions of one variable, in double. On float32 tensors the result is rounded once. */
#include "kernels/float_call.h"
#include "kernels/float_ops.h"
#include "kernels/math.h"
#include "kernels/math_lines.h"

enum { MANY = 256 }; /* numbers that are computed together */

/* NaN passes, because both comparisons are false. */
ITG_INLINE double clamp(double x, double lo, double hi)
{
    const double raised = pick(x < lo, lo, x);
    return pick(raised > hi, hi, raised);
}

/* exp(x) - 1 for x <= 0 without cancellation: 2t/(1 - t), t = tanh(x/2) */
ITG_INLINE double exp_minus_one(double x)
{
    const double t = tanh_of(0.5 * x);
    return (t + t) / (1.0 - t);
}

/* ---- the functions ---- */
static double relu(double x)
{
    return x <= 0.0 ? 0.0 : x;
}

ITG_INLINE double leaky_relu(const itg_attrs *a, double x)
{
    return pick(x < 0.0, (double)a->alpha * x, x);
}

ITG_INLINE double elu(const itg_attrs *a, double x)
{
    return pick(x < 0.0, (double)a->alpha * exp_minus_one(x), x);
}

static double selu(const itg_attrs *a, double x)
{
    return (double)a->gamma * (x > 0.0 ? x : (double)a->alpha * exp_minus_one(x));
}

static double celu(const itg_attrs *a, double x)
{
    return x < 0.0 ? (double)a->alpha * exp_minus_one(x / (double)a->alpha) : x;
}

static double power(const itg_attrs *a, double x)
{
    return itg_pow(x, (double)a->alpha);
}

static double thresholded_relu(const itg_attrs *a, double x)
{
    return x <= (double)a->alpha ? 0.0 : x;
}

static double shrink(const itg_attrs *a, double x)
{
    if (x < -(double)a->threshold) return x + (double)a->bias;
    if (x > (double)a->threshold) return x - (double)a->bias;
    return x == x ? 0.0 : x;
}

static double clip(const itg_attrs *a, double x)
{
    return clamp(x, (double)a->min, (double)a->max);
}

ITG_INLINE double hard_sigmoid(const itg_attrs *a, double x)
{
    return clamp((double)a->alpha * x + (double)a->beta, 0.0, 1.0);
}

ITG_INLINE double hard_swish(double x)
{
    return pick(x <= -3.0, 0.0, pick(x >= 3.0, x, x * (x + 3.0) / 6.0));
}

static double softplus(double x)
{
    const double magnitude = x < 0.0 ? -x : x;
    return (x > 0.0 ? x : 0.0) + itg_log1p(itg_exp(-magnitude));
}

/* x times the share of the normal distribution below x, or its approximation by tanh. Far below 0
 * the result is -0; the formula would give NaN for -infinity. */
ITG_INLINE double gelu_by_erf(double x)
{
    const double root_half = 0x1.6a09e667f3bcdp-1;
    return pick(x <= -64.0, -0.0, 0.5 * x * (1.0 + erf_of(x * root_half)));
}

ITG_INLINE double gelu_by_tanh(double x)
{
    const double root_two_over_pi = 0x1.9884533d43651p-1;
    const double share = tanh_of(root_two_over_pi * (x + 0.044715 * (x * x * x)));
    return pick(x <= -64.0, -0.0, 0.5 * x * (1.0 + share));
}

static double gelu(const itg_attrs *a, double x)
{
    return a->approximate == 0 ? gelu_by_erf(x) : gelu_by_tanh(x);
}

/* If the sigmoid is 0, the result is 0 of x's sign, also for -infinity. */
ITG_INLINE double swish(const itg_attrs *a, double x)
{
    const double share = sigmoid_of((double)a->alpha * x);
    return pick(share == 0.0, pick(x < 0.0, -0.0, 0.0), x * share);
}

/* x * tanh(log(1 + e)), e = exp(x) */
ITG_INLINE double mish(double x)
{
    const double e = exp_of_sum(x, 0.0), n = e * (e + 2.0);
    return pick(x > 64.0, x, pick(x < -746.0, -0.0, x * (n / (n + 2.0))));
}

static double softsign(double x)
{
    return x / (1.0 + (x < 0.0 ? -x : x));
}

static double sign(double x)
{
    return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;
}

ITG_INLINE double reciprocal(double x)
{
    return 1.0 / x;
}

static double absolute(double x)
{
    return x < 0.0 ? -x : x + 0.0; /* -0 gives +0 */
}

ITG_INLINE double negative(double x)
{
    return -x;
}

typedef struct function {
    double (*of)(const itg_attrs *attrs, double x);
    double (*plain)(double x); /* has no attributes */
} function;

/* Every operator of the class ITG_IS_UNIVARIATE. */
static const function functions[ITG_OP_COUNT] = {
    [ITG_OP_RELU] = {.plain = relu},
    [ITG_OP_LEAKY_RELU] = {.of = leaky_relu},
    [ITG_OP_ELU] = {.of = elu},
    [ITG_OP_CLIP] = {.of = clip},
    [ITG_OP_SIGMOID] = {.plain = itg_sigmoid},
    [ITG_OP_TANH] = {.plain = itg_tanh},
    [ITG_OP_HARD_SIGMOID] = {.of = hard_sigmoid},
    [ITG_OP_HARD_SWISH] = {.plain = hard_swish},
    [ITG_OP_SOFTPLUS] = {.plain = softplus},
    [ITG_OP_EXP] = {.plain = itg_exp},
    [ITG_OP_LOG] = {.plain = itg_log},
    [ITG_OP_SQRT] = {.plain = itg_sqrt},
    [ITG_OP_RECIPROCAL] = {.plain = reciprocal},
    [ITG_OP_ERF] = {.plain = itg_erf},
    [ITG_OP_GELU] = {.of = gelu},
    [ITG_OP_ABS] = {.plain = absolute},
    [ITG_OP_NEG] = {.plain = negative},
    [ITG_OP_FLOOR] = {.plain = itg_floor},
    [ITG_OP_CEIL] = {.plain = itg_ceil},
    [ITG_OP_ROUND] = {.plain = itg_rint},
    [ITG_OP_SIGN] = {.plain = sign},
    [ITG_OP_SELU] = {.of = selu},
    [ITG_OP_CELU] = {.of = celu},
    [ITG_OP_POWER] = {.of = power},
    [ITG_OP_THRESHOLDED_RELU] = {.of = thresholded_relu},
    [ITG_OP_SHRINK] = {.of = shrink},
    [ITG_OP_SWISH] = {.of = swish},
    [ITG_OP_MISH] = {.plain = mish},
    [ITG_OP_SOFTSIGN] = {.plain = softsign},
    [ITG_OP_SIN] = {.plain = itg_sin},
    [ITG_OP_COS] = {.plain = itg_cos},
    [ITG_OP_TAN] = {.plain = itg_tan},
    [ITG_OP_ASIN] = {.plain = itg_asin},
    [ITG_OP_ACOS] = {.plain = itg_acos},
    [ITG_OP_ATAN] = {.plain = itg_atan},
    [ITG_OP_SINH] = {.plain = itg_sinh},
    [ITG_OP_COSH] = {.plain = itg_cosh},
    [ITG_OP_ASINH] = {.plain = itg_asinh},
    [ITG_OP_ACOSH] = {.plain = itg_acosh},
    [ITG_OP_ATANH] = {.plain = itg_atanh},
};

double itg_univariate(itg_op op, const itg_attrs *attrs, double x)
{
    const function *f = &functions[op];
    return f->plain != NULL ? f->plain(x) : f->of(attrs, x);
}

/* ---- many numbers ---- */

/* The functions of which networks compute many, by vectors: the same operations, so the same bits.
 */
#define DEFINE_LINE(NAME, VALUE)                                                                   \
    ITG_CLONES static void NAME(const itg_attrs *attrs, int64_t n, double *x)                      \
    {                                                                                              \
        const itg_attrs own = *attrs, *const a = &own;                                             \
        (void)a;                                                                                   \
        for (int64_t i = 0; i < n; ++i) {                                                          \
            const double v = x[i];                                                                 \
            x[i] = (VALUE);                                                                        \
        }                                                                                          \
    }

DEFINE_LINE(leaky_relu_line, leaky_relu(a, v))
DEFINE_LINE(elu_line, elu(a, v))
DEFINE_LINE(sigmoid_line, sigmoid_of(v))
DEFINE_LINE(tanh_line, tanh_of(v))
DEFINE_LINE(hard_sigmoid_line, hard_sigmoid(a, v))
DEFINE_LINE(hard_swish_line, hard_swish(v))
DEFINE_LINE(exp_line, exp_of_sum(v, 0.0))
DEFINE_LINE(erf_line, erf_of(v))
DEFINE_LINE(gelu_by_erf_line, gelu_by_erf(v))
DEFINE_LINE(gelu_by_tanh_line, gelu_by_tanh(v))
DEFINE_LINE(swish_line, swish(a, v))
DEFINE_LINE(mish_line, mish(v))
DEFINE_LINE(negative_line, negative(v))
DEFINE_LINE(reciprocal_line, reciprocal(v))

static void gelu_line(const itg_attrs *attrs, int64_t n, double *x)
{
    (attrs->approximate == 0 ? gelu_by_erf_line : gelu_by_tanh_line)(attrs, n, x);
}

typedef void line_fn(const itg_attrs *attrs, int64_t n, double *x);

static line_fn *const lines[ITG_OP_COUNT] = {
    [ITG_OP_LEAKY_RELU] = leaky_relu_line,
    [ITG_OP_ELU] = elu_line,
    [ITG_OP_SIGMOID] = sigmoid_line,
    [ITG_OP_TANH] = tanh_line,
    [ITG_OP_HARD_SIGMOID] = hard_sigmoid_line,
    [ITG_OP_HARD_SWISH] = hard_swish_line,
    [ITG_OP_EXP] = exp_line,
    [ITG_OP_ERF] = erf_line,
    [ITG_OP_GELU] = gelu_line,
    [ITG_OP_SWISH] = swish_line,
    [ITG_OP_MISH] = mish_line,
    [ITG_OP_NEG] = negative_line,
    [ITG_OP_RECIPROCAL] = reciprocal_line,
};

void itg_univariate_all(itg_op op, const itg_attrs *attrs, int64_t n, double *x)
{
    if (lines[op] != NULL) {
        lines[op](attrs, n, x);
        return;
    }
    for (int64_t i = 0; i < n; ++i)
        x[i] = itg_univariate(op, attrs, x[i]);
}

/* ---- tensors of float32 ---- */

ITG_CLONES static void doubles_of_f32(const float *x, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; ++i)
        out[i] = (double)x[i];
}

ITG_CLONES static void f32_of_doubles(const double *x, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; ++i)
        out[i] = (float)x[i];
}

/* Relu and Clip select one of their operands, so float32 gives the same bits as double. These loops
 * vectorize. */
static void relu_run(const float *x, int64_t n, float *y)
{
    for (int64_t i = 0; i < n; ++i)
        y[i] = x[i] <= 0.0f ? 0.0f : x[i];
}

static void clip_run(const float *x, int64_t n, float lo, float hi, float *y)
{
    for (int64_t i = 0; i < n; ++i) {
        const float raised = x[i] < lo ? lo : x[i];
        y[i] = raised > hi ? hi : raised;
    }
}

itg_status itg_f32_univariate(const itg_call *call)
{
    if (itg_dtype_is_integer(call->inputs[0].dtype)) return itg_any_single(call);
    itg_status status = itg_call_need_f32(call, 1);
    if (status != ITG_OK) return status;
    const int64_t n = itg_elements(&call->inputs[0].shape);
    if (itg_elements(&call->outputs[0].shape) != n)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "output and input differ in size");
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    if (call->op == ITG_OP_RELU) {
        relu_run(x, n, y);
        return ITG_OK;
    }
    if (call->op == ITG_OP_CLIP) {
        clip_run(x, n, call->attrs->min, call->attrs->max, y);
        return ITG_OK;
    }
    double numbers[MANY];
    for (int64_t first = 0; first < n; first += MANY) {
        const int64_t count = n - first < MANY ? n - first : MANY;
        doubles_of_f32(x + first, count, numbers);
        itg_univariate_all(call->op, call->attrs, count, numbers);
        f32_of_doubles(numbers, count, y + first);
    }
    return ITG_OK;
}
