/* Functions of one variable, in double. On float32 tensors the result is rounded once. */
#include "kernels/float_call.h"
#include "kernels/float_ops.h"
#include "kernels/math.h"

/* Both comparisons are false for NaN, which therefore passes. */
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

/* log(1 + u) for 0 <= u <= 1; what 1 + u lost by rounding cancels in u / (w - 1) (Kahan) */
static double log_one_plus(double u)
{
    const double w = 1.0 + u;
    return w == 1.0 ? u : itg_log(w) * (u / (w - 1.0));
}

static double softplus(double x)
{
    const double magnitude = x < 0.0 ? -x : x;
    return (x > 0.0 ? x : 0.0) + log_one_plus(itg_exp(-magnitude));
}

static double hard_swish(double x)
{
    if (x <= -3.0) return 0.0;
    return x >= 3.0 ? x : x * (x + 3.0) / 6.0;
}

double itg_univariate(itg_op op, const itg_attrs *attrs, double x)
{
    switch (op) {
    case ITG_OP_RELU:
        return x <= 0.0 ? 0.0 : x;
    case ITG_OP_LEAKY_RELU:
        return x < 0.0 ? (double)attrs->alpha * x : x;
    case ITG_OP_ELU:
        return x < 0.0 ? (double)attrs->alpha * exp_minus_one(x) : x;
    case ITG_OP_CLIP:
        return clamp(x, (double)attrs->min, (double)attrs->max);
    case ITG_OP_SIGMOID:
        return itg_sigmoid(x);
    case ITG_OP_TANH:
        return itg_tanh(x);
    case ITG_OP_HARD_SIGMOID:
        return clamp((double)attrs->alpha * x + (double)attrs->beta, 0.0, 1.0);
    case ITG_OP_HARD_SWISH:
        return hard_swish(x);
    case ITG_OP_SOFTPLUS:
        return softplus(x);
    case ITG_OP_EXP:
        return itg_exp(x);
    case ITG_OP_LOG:
        return itg_log(x);
    case ITG_OP_SQRT:
        return itg_sqrt(x);
    case ITG_OP_RECIPROCAL:
        return 1.0 / x;
    case ITG_OP_ERF:
        return itg_erf(x);
    case ITG_OP_ABS:
        return x < 0.0 ? -x : x + 0.0; /* -0 gives +0 */
    case ITG_OP_NEG:
        return -x;
    case ITG_OP_FLOOR:
        return itg_floor(x);
    case ITG_OP_CEIL:
        return itg_ceil(x);
    default:
        return x;
    }
}

/* Relu and Clip choose one of their operands, so float32 gives the bits that double would; these
 * loops vectorize. */
static void relu(const float *x, int64_t n, float *y)
{
    for (int64_t i = 0; i < n; ++i)
        y[i] = x[i] <= 0.0f ? 0.0f : x[i];
}

static void clip(const float *x, int64_t n, float lo, float hi, float *y)
{
    for (int64_t i = 0; i < n; ++i) {
        const float raised = x[i] < lo ? lo : x[i];
        y[i] = raised > hi ? hi : raised;
    }
}

itg_status itg_f32_univariate(const itg_call *call)
{
    itg_status status = itg_call_need_f32(call, 1);
    if (status != ITG_OK) return status;
    const int64_t n = itg_elements(&call->inputs[0].shape);
    if (itg_elements(&call->outputs[0].shape) != n)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "output and input differ in size");
    const float *x = call->inputs[0].data;
    float *y = call->outputs[0].data;
    if (call->op == ITG_OP_RELU) {
        relu(x, n, y);
    } else if (call->op == ITG_OP_CLIP) {
        clip(x, n, call->attrs->min, call->attrs->max, y);
    } else {
        for (int64_t i = 0; i < n; ++i)
            y[i] = (float)itg_univariate(call->op, call->attrs, (double)x[i]);
    }
    return ITG_OK;
}
