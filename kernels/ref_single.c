/* Elementwise operators of one operand that are not functions of real numbers: logic, bits, tests;
 * and Abs, Neg, Sign, Relu, Clip on integers. */
#include "kernels/float_call.h"

#include <math.h> /* INFINITY */

static double is_nan(const itg_attrs *a, double x)
{
    (void)a;
    return x != x;
}

static double is_inf(const itg_attrs *a, double x)
{
    return (a->detect_positive && x == (double)INFINITY) ||
           (a->detect_negative && x == -(double)INFINITY);
}

static int64_t not(const itg_attrs *a, int64_t x)
{
    (void)a;
    return x == 0;
}

static int64_t bitwise_not(const itg_attrs *a, int64_t x)
{
    (void)a;
    return ~x;
}

static int64_t negative(const itg_attrs *a, int64_t x)
{
    (void)a;
    return (int64_t)(0u - (uint64_t)x);
}

static int64_t absolute(const itg_attrs *a, int64_t x)
{
    return x < 0 ? negative(a, x) : x;
}

static int64_t sign(const itg_attrs *a, int64_t x)
{
    (void)a;
    return (x > 0) - (x < 0);
}

static int64_t relu(const itg_attrs *a, int64_t x)
{
    (void)a;
    return x < 0 ? 0 : x;
}

/* Clips. Bounds beyond the integers have no effect; shape inference ensures whole ones. */
static int64_t clip(const itg_attrs *a, int64_t x)
{
    if (a->min > -0x1p63f && x < (int64_t)a->min) x = (int64_t)a->min;
    if (a->max < 0x1p63f && x > (int64_t)a->max) x = (int64_t)a->max;
    return x;
}

static const struct {
    int64_t (*whole)(const itg_attrs *a, int64_t x); /* NULL: not for integers */
    double (*real)(const itg_attrs *a, double x);    /* NULL: not for floats */
} rules[ITG_OP_COUNT] = {
    [ITG_OP_IS_NAN] = {NULL, is_nan}, [ITG_OP_IS_INF] = {NULL, is_inf},
    [ITG_OP_NOT] = {not, NULL},       [ITG_OP_BITWISE_NOT] = {bitwise_not, NULL},
    [ITG_OP_NEG] = {negative, NULL},  [ITG_OP_ABS] = {absolute, NULL},
    [ITG_OP_SIGN] = {sign, NULL},     [ITG_OP_RELU] = {relu, NULL},
    [ITG_OP_CLIP] = {clip, NULL},
};

itg_status itg_any_single(const itg_call *call)
{
    const itg_tensor *x = &call->inputs[0];
    itg_tensor *y = &call->outputs[0];
    const int64_t n = itg_elements(&x->shape);
    const bool real = itg_is_float(x->dtype);
    if (real ? !rules[call->op].real : !rules[call->op].whole)
        return itg_fail(call->err, ITG_UNSUPPORTED, "%s: not computed on %s", itg_op_name(call->op),
                        itg_dtype_name(x->dtype));
    if (itg_elements(&y->shape) != n)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "output and input differ in size");
    for (int64_t i = 0; i < n; ++i) {
        if (real)
            itg_store_number(
                y->dtype, y->data, i,
                rules[call->op].real(call->attrs, itg_load_number(x->dtype, x->data, i)));
        else
            itg_store(y->dtype, y->data, i,
                      rules[call->op].whole(call->attrs, itg_load(x->dtype, x->data, i)));
    }
    return ITG_OK;
}
