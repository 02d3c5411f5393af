/* Operators on broadcast operands: Add Sub Mul Div PRelu Min Max, Pow. Integers wrap; integer
 * division truncates toward zero as in C, and a zero divisor is an error. */
#include "kernels/float_call.h"
#include "kernels/math.h"

/* Computes n results. Steps are in elements; out is contiguous. */
typedef void (*run_fn)(void *out, const void *a, int64_t step_a, const void *b, int64_t step_b,
                       int64_t n);

#define RUN_LOOP(expression)                                                                       \
    for (int64_t i = 0; i < n; ++i) {                                                              \
        expression;                                                                                \
    }

/* The three kinds of broadcasting in hot loops are written out so that they vectorize. */
#define DEFINE_RUN(NAME, TYPE, EXPRESSION)                                                         \
    static inline TYPE NAME##_one(TYPE x, TYPE y)                                                  \
    {                                                                                              \
        return EXPRESSION;                                                                         \
    }                                                                                              \
    static void NAME(void *out, const void *a, int64_t step_a, const void *b, int64_t step_b,      \
                     int64_t n)                                                                    \
    {                                                                                              \
        TYPE *to = out;                                                                            \
        const TYPE *p = a, *q = b;                                                                 \
        if (step_a == 1 && step_b == 1) {                                                          \
            RUN_LOOP(to[i] = NAME##_one(p[i], q[i]))                                               \
        } else if (step_a == 1 && step_b == 0) {                                                   \
            const TYPE y = *q;                                                                     \
            RUN_LOOP(to[i] = NAME##_one(p[i], y))                                                  \
        } else {                                                                                   \
            RUN_LOOP(to[i] = NAME##_one(p[i * step_a], q[i * step_b]))                             \
        }                                                                                          \
    }

DEFINE_RUN(add_f32, float, x + y)
DEFINE_RUN(sub_f32, float, x - y)
DEFINE_RUN(mul_f32, float, x *y)
DEFINE_RUN(div_f32, float, x / y)
DEFINE_RUN(prelu_f32, float, x < 0.0f ? x * y : x)
/* a NaN operand is the result */
DEFINE_RUN(min_f32, float, y < x || y != y ? y : x)
DEFINE_RUN(max_f32, float, y > x || y != y ? y : x)

DEFINE_RUN(add_s32, int32_t, (int32_t)((uint32_t)x + (uint32_t)y))
DEFINE_RUN(sub_s32, int32_t, (int32_t)((uint32_t)x - (uint32_t)y))
DEFINE_RUN(mul_s32, int32_t, (int32_t)((uint32_t)x *(uint32_t)y))
DEFINE_RUN(div_s32, int32_t, y == -1 ? (int32_t)(0u - (uint32_t)x) : x / y)
DEFINE_RUN(min_s32, int32_t, y < x ? y : x)
DEFINE_RUN(max_s32, int32_t, y > x ? y : x)

DEFINE_RUN(add_s64, int64_t, (int64_t)((uint64_t)x + (uint64_t)y))
DEFINE_RUN(sub_s64, int64_t, (int64_t)((uint64_t)x - (uint64_t)y))
DEFINE_RUN(mul_s64, int64_t, (int64_t)((uint64_t)x *(uint64_t)y))
DEFINE_RUN(div_s64, int64_t, y == -1 ? (int64_t)(0u - (uint64_t)x) : x / y)
DEFINE_RUN(min_s64, int64_t, y < x ? y : x)
DEFINE_RUN(max_s64, int64_t, y > x ? y : x)

typedef struct runs {
    run_fn f32, s32, s64; /* NULL: not supported for this type */
} runs;

static const runs binary_runs[ITG_OP_COUNT] = {
    [ITG_OP_ADD] = {add_f32, add_s32, add_s64}, [ITG_OP_SUB] = {sub_f32, sub_s32, sub_s64},
    [ITG_OP_MUL] = {mul_f32, mul_s32, mul_s64}, [ITG_OP_DIV] = {div_f32, div_s32, div_s64},
    [ITG_OP_MIN] = {min_f32, min_s32, min_s64}, [ITG_OP_MAX] = {max_f32, max_s32, max_s64},
    [ITG_OP_PRELU] = {prelu_f32, NULL, NULL},
};

static run_fn run_for(itg_op op, itg_dtype dtype)
{
    switch (dtype) {
    case ITG_F32:
        return binary_runs[op].f32;
    case ITG_S32:
        return binary_runs[op].s32;
    case ITG_S64:
        return binary_runs[op].s64;
    default:
        return NULL;
    }
}

/* Aligns the operands with the output, which is operand 0. */
static bool align(const itg_call *call, itg_strided *s, const itg_tensor *a, const itg_tensor *b)
{
    itg_strided_over(s, &call->outputs[0].shape);
    return itg_strided_broadcast(s, &a->shape) && itg_strided_broadcast(s, &b->shape);
}

static void run_all(run_fn run, itg_strided *s, const itg_tensor *a, const itg_tensor *b,
                    itg_tensor *out)
{
    const int64_t size = (int64_t)itg_dtype_size(out->dtype);
    if (!itg_strided_start(s)) return;
    do {
        run((char *)out->data + s->offset[0] * size, (const char *)a->data + s->offset[1] * size,
            itg_strided_step(s, 1), (const char *)b->data + s->offset[2] * size,
            itg_strided_step(s, 2), itg_strided_run(s));
    } while (itg_strided_next(s));
}

static bool has_zero(const itg_tensor *t)
{
    const int64_t n = itg_elements(&t->shape);
    for (int64_t i = 0; i < n; ++i)
        if (t->dtype == ITG_S32 ? ((const int32_t *)t->data)[i] == 0
                                : ((const int64_t *)t->data)[i] == 0)
            return true;
    return false;
}

/* out = a op b; a may be the output. */
static itg_status apply(const itg_call *call, const itg_tensor *a, const itg_tensor *b)
{
    itg_strided s;
    itg_tensor *out = &call->outputs[0];
    const run_fn run = run_for(call->op, a->dtype);
    if (a->dtype != b->dtype || a->dtype != out->dtype)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "operands and output differ in type");
    if (!run) return itg_any_apply(call, a, b);
    if (!align(call, &s, a, b))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "operands do not broadcast to the output");
    if (call->op == ITG_OP_DIV && a->dtype != ITG_F32 && has_zero(b))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "integer division by zero");
    run_all(run, &s, a, b, out);
    return ITG_OK;
}

itg_status itg_f32_binary(const itg_call *call)
{
    const itg_tensor *a = itg_call_input(call, 0), *b = itg_call_input(call, 1);
    if (!a || !b) return itg_call_fail(call, ITG_BAD_ARGUMENT, "an operand is missing");
    return apply(call, a, b);
}

/* Computes Min and Max of one or more operands from the left. A single operand is compared with
 * itself, which copies it. */
itg_status itg_f32_variadic(const itg_call *call)
{
    for (int32_t i = 0; i < call->input_count; ++i) {
        itg_strided s;
        const itg_tensor *a = itg_call_input(call, i);
        if (!a || a->dtype != call->inputs[0].dtype)
            return itg_call_fail(call, ITG_BAD_ARGUMENT,
                                 "an operand is missing or of another type");
        if (!align(call, &s, a, a))
            return itg_call_fail(call, ITG_BAD_ARGUMENT, "operands do not broadcast to the output");
    }
    const int32_t second = call->input_count > 1 ? 1 : 0;
    itg_status status = apply(call, &call->inputs[0], &call->inputs[second]);
    for (int32_t i = 2; status == ITG_OK && i < call->input_count; ++i)
        status = apply(call, &call->outputs[0], &call->inputs[i]);
    return status;
}

/* Computes in double. Bases are float32, S32 or S64, exponents of any numeric type. An integer
 * result is truncated and saturated. */
itg_status itg_f32_pow(const itg_call *call)
{
    itg_strided s;
    const itg_tensor *a = &call->inputs[0], *b = itg_call_input(call, 1);
    itg_tensor *out = &call->outputs[0];
    if (a->dtype != ITG_F32 && a->dtype != ITG_S32 && a->dtype != ITG_S64)
        return itg_fail(call->err, ITG_UNSUPPORTED, "Pow: not computed on %s",
                        itg_dtype_name(a->dtype));
    if (!b || a->dtype != out->dtype || !align(call, &s, a, b))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its operands do not fit its output");
    if (!itg_strided_start(&s)) return ITG_OK;
    do {
        for (int64_t i = 0; i < itg_strided_run(&s); ++i) {
            const double base =
                itg_load_number(a->dtype, a->data, s.offset[1] + i * itg_strided_step(&s, 1));
            const double exponent =
                itg_load_number(b->dtype, b->data, s.offset[2] + i * itg_strided_step(&s, 2));
            itg_store_number(out->dtype, out->data, s.offset[0] + i, itg_pow(base, exponent));
        }
    } while (itg_strided_next(&s));
    return ITG_OK;
}
