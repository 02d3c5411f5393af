/* Functions of one variable, in double. On float32 tensors the result is rounded once. */
#include "kernels/float_call.h"
#include "kernels/float_ops.h"
#include "kernels/math.h"

/* NaN passes, because both comparisons are false. */
static double clamp(double x, double lo, double hi)
{
    const double raised = x < lo ? lo : x;
    return raised > hi ? hi : raised;
}

/* exp(x) - 1 for x <= 0 without cancellation: 2t/(1 - t), t = tanh(x/2) */
static double exp_minus_one(double x)
{
    const double t = itg_tanh(0.5 * x);
    return (t + t) / (1.0 - t);
}

/* ---- the functions ---- */
static double relu(double x)
{
    return x <= 0.0 ? 0.0 : x;
}

static double leaky_relu(const itg_attrs *a, double x)
{
    return x < 0.0 ? (double)a->alpha * x : x;
}

static double elu(const itg_attrs *a, double x)
{
    return x < 0.0 ? (double)a->alpha * exp_minus_one(x) : x;
}

static double selu(const itg_attrs *a, double x)
{
    return (double)a->gamma * (x > 0.0 ? x : (double)a->alpha * exp_minus_one(x));
}

static double celu(const itg_attrs *a, double x)
{
    return x < 0.0 ? (double)a->alpha * exp_minus_one(x / (double)a->alpha) : x;
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

static double hard_sigmoid(const itg_attrs *a, double x)
{
    return clamp((double)a->alpha * x + (double)a->beta, 0.0, 1.0);
}

static double hard_swish(double x)
{
    if (x <= -3.0) return 0.0;
    return x >= 3.0 ? x : x * (x + 3.0) / 6.0;
}

static double softplus(double x)
{
    const double magnitude = x < 0.0 ? -x : x;
    return (x > 0.0 ? x : 0.0) + itg_log1p(itg_exp(-magnitude));
}

/* x times the share of the normal distribution below x, or its approximation by tanh. Far below 0
 * the result is -0; the formula would give NaN for -infinity. */
static double gelu(const itg_attrs *a, double x)
{
    const double root_half = 0x1.6a09e667f3bcdp-1, root_two_over_pi = 0x1.9884533d43651p-1;
    if (x <= -64.0) return -0.0;
    if (a->approximate == 0) return 0.5 * x * (1.0 + itg_erf(x * root_half));
    return 0.5 * x * (1.0 + itg_tanh(root_two_over_pi * (x + 0.044715 * (x * x * x))));
}

/* If the sigmoid is 0, the result is 0 of x's sign, also for -infinity. */
static double swish(const itg_attrs *a, double x)
{
    const double share = itg_sigmoid((double)a->alpha * x);
    return share == 0.0 ? (x < 0.0 ? -0.0 : 0.0) : x * share;
}

/* x * tanh(log(1 + e)), e = exp(x) */
static double mish(double x)
{
    if (x > 64.0) return x;
    if (x < -746.0) return -0.0;
    const double e = itg_exp(x), n = e * (e + 2.0);
    return x * (n / (n + 2.0));
}

static double softsign(double x)
{
    return x / (1.0 + (x < 0.0 ? -x : x));
}

static double sign(double x)
{
    return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;
}

static double reciprocal(double x)
{
    return 1.0 / x;
}

static double absolute(double x)
{
    return x < 0.0 ? -x : x + 0.0; /* -0 gives +0 */
}

static double negative(double x)
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
    } else if (call->op == ITG_OP_CLIP) {
        clip_run(x, n, call->attrs->min, call->attrs->max, y);
    } else {
        for (int64_t i = 0; i < n; ++i)
            y[i] = (float)itg_univariate(call->op, call->attrs, (double)x[i]);
    }
    return ITG_OK;
}
