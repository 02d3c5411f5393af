/* Elementwise operators of two operands on every element type: comparisons, logic, bits, Mod, and
 * arithmetic on the types that f32_elementwise.c does not support. Integers are computed in 64 bits
 * and wrap in their own type. Also Sum and Mean of any number of operands. */
#include "kernels/float_call.h"

#include <math.h> /* fmod and copysign, which are exact */
#include <stdlib.h>

typedef int64_t (*whole_fn)(const itg_attrs *a, int64_t x, int64_t y);
typedef double (*real_fn)(const itg_attrs *a, double x, double y);

#define WHOLE(NAME, EXPRESSION)                                                                    \
    static int64_t NAME##_whole(const itg_attrs *a, int64_t x, int64_t y)                          \
    {                                                                                              \
        (void)a;                                                                                   \
        return EXPRESSION;                                                                         \
    }
#define REAL(NAME, EXPRESSION)                                                                     \
    static double NAME##_real(const itg_attrs *a, double x, double y)                              \
    {                                                                                              \
        (void)a;                                                                                   \
        return EXPRESSION;                                                                         \
    }
#define TEST(NAME, COMPARISON) WHOLE(NAME, x COMPARISON y) REAL(NAME, x COMPARISON y ? 1.0 : 0.0)

TEST(equal, ==)
TEST(less, <)
TEST(less_or_equal, <=)
TEST(greater, >)
TEST(greater_or_equal, >=)
WHOLE(and, x &y)
WHOLE(or, x | y)
WHOLE(xor, x ^ y)
WHOLE(add, (int64_t)((uint64_t)x + (uint64_t)y))
WHOLE(sub, (int64_t)((uint64_t)x - (uint64_t)y))
WHOLE(mul, (int64_t)((uint64_t)x *(uint64_t)y))
WHOLE(divide, y == -1 ? (int64_t)(0u - (uint64_t)x) : x / y)
WHOLE(min, y < x ? y : x)
WHOLE(max, y > x ? y : x)

/* The result has the sign of the divisor, or, if truncated, of the dividend. */
static int64_t mod_whole(const itg_attrs *a, int64_t x, int64_t y)
{
    const int64_t rest = y == -1 ? 0 : x % y;
    return rest != 0 && !a->truncated && (rest < 0) != (y < 0) ? rest + y : rest;
}

static double mod_real(const itg_attrs *a, double x, double y)
{
    const double rest = fmod(x, y);
    if (a->truncated) return rest;
    if (rest == 0.0) return copysign(0.0, y);
    return (rest < 0.0) != (y < 0.0) ? rest + y : rest;
}

/* Bits beyond the element's width are lost. A right shift copies the sign. A shift by at least the
 * width, or by less than 0, gives only copies of the sign, or 0. */
static int64_t shift_whole(const itg_attrs *a, int64_t x, int64_t y)
{
    const bool out = y < 0 || y > 63;
    if (a->shift == 0) return out ? 0 : (int64_t)((uint64_t)x << y);
    if (out) return x < 0 ? -1 : 0;
    return x < 0 ? ~(~x >> y) : x >> y;
}

static const struct {
    whole_fn whole; /* NULL: not for integers */
    real_fn real;   /* NULL: not for floats */
} rules[ITG_OP_COUNT] = {
    [ITG_OP_EQUAL] = {equal_whole, equal_real},
    [ITG_OP_LESS] = {less_whole, less_real},
    [ITG_OP_LESS_OR_EQUAL] = {less_or_equal_whole, less_or_equal_real},
    [ITG_OP_GREATER] = {greater_whole, greater_real},
    [ITG_OP_GREATER_OR_EQUAL] = {greater_or_equal_whole, greater_or_equal_real},
    [ITG_OP_AND] = {and_whole, NULL},
    [ITG_OP_OR] = {or_whole, NULL},
    [ITG_OP_XOR] = {xor_whole, NULL},
    [ITG_OP_BITWISE_AND] = {and_whole, NULL},
    [ITG_OP_BITWISE_OR] = {or_whole, NULL},
    [ITG_OP_BITWISE_XOR] = {xor_whole, NULL},
    [ITG_OP_BIT_SHIFT] = {shift_whole, NULL},
    [ITG_OP_MOD] = {mod_whole, mod_real},
    [ITG_OP_ADD] = {add_whole, NULL},
    [ITG_OP_SUB] = {sub_whole, NULL},
    [ITG_OP_MUL] = {mul_whole, NULL},
    [ITG_OP_DIV] = {divide_whole, NULL},
    [ITG_OP_MIN] = {min_whole, NULL},
    [ITG_OP_MAX] = {max_whole, NULL},
};

static bool has_zero(const itg_tensor *t)
{
    const int64_t n = itg_elements(&t->shape);
    for (int64_t i = 0; i < n; ++i)
        if (itg_load(t->dtype, t->data, i) == 0) return true;
    return false;
}

static itg_status check(const itg_call *call, const itg_tensor *a, const itg_tensor *b)
{
    if (!a || !b) return itg_call_fail(call, ITG_BAD_ARGUMENT, "an operand is missing");
    const bool real = itg_is_float(a->dtype);
    if (a->dtype != b->dtype)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its operands differ in type");
    if (real ? !rules[call->op].real : !rules[call->op].whole)
        return itg_fail(call->err, ITG_UNSUPPORTED, "%s: not computed on %s", itg_op_name(call->op),
                        itg_dtype_name(a->dtype));
    if (!real && (call->op == ITG_OP_DIV || call->op == ITG_OP_MOD) && has_zero(b))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "integer division by zero");
    return ITG_OK;
}

/* Computes element k of the output from elements i and j of the operands. */
static void compute(const itg_call *call, const itg_tensor *a, int64_t i, const itg_tensor *b,
                    int64_t j, int64_t k)
{
    itg_tensor *y = &call->outputs[0];
    if (itg_is_float(a->dtype))
        itg_store_number(y->dtype, y->data, k,
                         rules[call->op].real(call->attrs, itg_load_number(a->dtype, a->data, i),
                                              itg_load_number(b->dtype, b->data, j)));
    else
        itg_store(y->dtype, y->data, k,
                  rules[call->op].whole(call->attrs, itg_load(a->dtype, a->data, i),
                                        itg_load(b->dtype, b->data, j)));
}

itg_status itg_any_apply(const itg_call *call, const itg_tensor *a, const itg_tensor *b)
{
    itg_strided s;
    itg_status status = check(call, a, b);
    if (status != ITG_OK) return status;
    itg_strided_over(&s, &call->outputs[0].shape);
    if (!itg_strided_broadcast(&s, &a->shape) || !itg_strided_broadcast(&s, &b->shape))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "operands do not broadcast to the output");
    if (!itg_strided_start(&s)) return ITG_OK;
    do {
        for (int64_t i = 0; i < itg_strided_run(&s); ++i)
            compute(call, a, s.offset[1] + i * itg_strided_step(&s, 1), b,
                    s.offset[2] + i * itg_strided_step(&s, 2), s.offset[0] + i);
    } while (itg_strided_next(&s));
    return ITG_OK;
}

itg_status itg_any_pair(const itg_call *call)
{
    return itg_any_apply(call, itg_call_input(call, 0), itg_call_input(call, 1));
}

/* ---- Sum, Mean ---- */

static itg_status add_operand(const itg_call *call, int32_t index, double *sums)
{
    itg_strided s;
    itg_strided_over(&s, &call->outputs[0].shape);
    if (!itg_strided_broadcast(&s, &call->inputs[index].shape))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "operands do not broadcast to the output");
    const float *x = call->inputs[index].data;
    if (!itg_strided_start(&s)) return ITG_OK;
    do {
        for (int64_t i = 0; i < itg_strided_run(&s); ++i)
            sums[s.offset[0] + i] += (double)x[s.offset[1] + i * itg_strided_step(&s, 1)];
    } while (itg_strided_next(&s));
    return ITG_OK;
}

/* Adds in double from the left, divides a Mean by the number of operands, and rounds once. */
itg_status itg_f32_sum(const itg_call *call)
{
    itg_status status = itg_call_need_f32(call, call->input_count);
    if (status != ITG_OK) return status;
    const int64_t n = itg_elements(&call->outputs[0].shape);
    const double count = call->op == ITG_OP_MEAN ? (double)call->input_count : 1.0;
    double *sums = itg_call_alloc(n, sizeof *sums);
    if (!sums) return itg_call_no_memory(call);
    for (int64_t i = 0; i < n; ++i)
        sums[i] = -0.0;
    for (int32_t i = 0; status == ITG_OK && i < call->input_count; ++i)
        status = add_operand(call, i, sums);
    for (int64_t i = 0; status == ITG_OK && i < n; ++i)
        ((float *)call->outputs[0].data)[i] = (float)(sums[i] / count);
    free(sums);
    return status;
}
