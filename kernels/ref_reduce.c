/* Reductions other than the sum and the maximum of floats (f32_reduce.c). Floats are reduced in
 * double in row-major order of the input and rounded once. Integers are reduced in 64 bits and
 * wrap, except that ReduceL2, ReduceLogSum and ReduceLogSumExp compute them in double and
 * truncate. */
#include "kernels/float_call.h"
#include "kernels/math.h"

#include <math.h> /* INFINITY */
#include <stdlib.h>

static double multiply(double sum, double x)
{
    return sum * x;
}
static double lesser(double sum, double x)
{
    return x < sum || x != x ? x : sum;
}
static double greater(double sum, double x)
{
    return x > sum || x != x ? x : sum;
}
static double add(double sum, double x)
{
    return sum + x;
}
static double add_magnitude(double sum, double x)
{
    return sum + (x < 0.0 ? -x : x);
}
static double add_square(double sum, double x)
{
    return sum + x * x;
}
static int64_t multiply_whole(int64_t sum, int64_t x)
{
    return (int64_t)((uint64_t)sum * (uint64_t)x);
}
static int64_t lesser_whole(int64_t sum, int64_t x)
{
    return x < sum ? x : sum;
}
static int64_t greater_whole(int64_t sum, int64_t x)
{
    return x > sum ? x : sum;
}
static int64_t add_whole(int64_t sum, int64_t x)
{
    return (int64_t)((uint64_t)sum + (uint64_t)x);
}
static int64_t add_magnitude_whole(int64_t sum, int64_t x)
{
    return x < 0 ? (int64_t)((uint64_t)sum - (uint64_t)x) : add_whole(sum, x);
}
static int64_t add_square_whole(int64_t sum, int64_t x)
{
    return add_whole(sum, multiply_whole(x, x));
}

typedef struct reduction {
    double (*real)(double sum, double x); /* NULL: in f32_reduce.c */
    double from;
    double (*end)(double sum);                /* NULL: the sum is the result */
    int64_t (*whole)(int64_t sum, int64_t x); /* NULL: integers use `real` */
} reduction;

static const reduction reductions[ITG_OP_COUNT] = {
    [ITG_OP_REDUCE_SUM] = {NULL, 0.0, NULL, add_whole},
    [ITG_OP_REDUCE_MEAN] = {NULL, 0.0, NULL, add_whole},
    [ITG_OP_REDUCE_MAX] = {NULL, 0.0, NULL, greater_whole},
    [ITG_OP_REDUCE_MIN] = {lesser, (double)INFINITY, NULL, lesser_whole},
    [ITG_OP_REDUCE_PROD] = {multiply, 1.0, NULL, multiply_whole},
    [ITG_OP_REDUCE_L1] = {add_magnitude, 0.0, NULL, add_magnitude_whole},
    [ITG_OP_REDUCE_L2] = {add_square, 0.0, itg_sqrt, NULL},
    [ITG_OP_REDUCE_SUM_SQUARE] = {add_square, 0.0, NULL, add_square_whole},
    [ITG_OP_REDUCE_LOG_SUM] = {add, 0.0, itg_log, NULL},
    [ITG_OP_REDUCE_LOG_SUM_EXP] = {add, 0.0, itg_log, NULL},
};

static int64_t first_whole(itg_op op, itg_dtype dtype)
{
    if (op == ITG_OP_REDUCE_MIN) return itg_dtype_max(dtype);
    if (op == ITG_OP_REDUCE_MAX) return itg_dtype_min(dtype);
    return op == ITG_OP_REDUCE_PROD;
}

static itg_status reduce_whole(const itg_call *call, itg_strided s, int64_t outputs)
{
    const itg_tensor *x = &call->inputs[0];
    const reduction *r = &reductions[call->op];
    int64_t *sums = itg_call_alloc(outputs, sizeof *sums);
    if (!sums) return itg_call_no_memory(call);
    for (int64_t i = 0; i < outputs; ++i)
        sums[i] = first_whole(call->op, x->dtype);
    if (itg_strided_start(&s)) {
        do {
            for (int64_t i = 0; i < itg_strided_run(&s); ++i) {
                int64_t *sum = &sums[s.offset[1] + i * itg_strided_step(&s, 1)];
                *sum = r->whole(*sum, itg_load(x->dtype, x->data, s.offset[0] + i));
            }
        } while (itg_strided_next(&s));
    }
    const int64_t count =
        call->op == ITG_OP_REDUCE_MEAN && outputs > 0 ? itg_elements(&x->shape) / outputs : 1;
    for (int64_t i = 0; i < outputs; ++i)
        itg_store(x->dtype, call->outputs[0].data, i, sums[i] / (count > 0 ? count : 1));
    free(sums);
    return ITG_OK;
}

/* sums[] = step(sums[], x), or, with a shift, step(sums[], exp(x - shift[])). */
static void accumulate(const itg_call *call, itg_strided s, double (*step)(double, double),
                       const double *shift, double *sums)
{
    const itg_tensor *x = &call->inputs[0];
    if (!itg_strided_start(&s)) return;
    do {
        for (int64_t i = 0; i < itg_strided_run(&s); ++i) {
            const int64_t to = s.offset[1] + i * itg_strided_step(&s, 1);
            const double value = itg_load_number(x->dtype, x->data, s.offset[0] + i);
            sums[to] = step(sums[to], shift ? itg_exp(value - shift[to]) : value);
        }
    } while (itg_strided_next(&s));
}

static void fill(double *sums, int64_t n, double value)
{
    for (int64_t i = 0; i < n; ++i)
        sums[i] = value;
}

/* Reduces in double. LogSumExp subtracts the largest element before taking exponentials; if that is
 * infinite, it is the result. */
static void reduce_real(const itg_call *call, const itg_strided *s, int64_t n, double *sums,
                        double *most)
{
    const reduction *r = &reductions[call->op];
    itg_tensor *y = &call->outputs[0];
    const bool shifted = call->op == ITG_OP_REDUCE_LOG_SUM_EXP;
    fill(most, n, -(double)INFINITY);
    if (shifted) accumulate(call, *s, greater, NULL, most);
    fill(sums, n, r->from);
    accumulate(call, *s, r->real, shifted ? most : NULL, sums);
    for (int64_t i = 0; i < n; ++i) {
        double result = r->end ? r->end(sums[i]) : sums[i];
        if (shifted) result = most[i] - most[i] == 0.0 ? most[i] + result : most[i];
        itg_store_number(y->dtype, y->data, i, result);
    }
}

itg_status itg_any_reduce(const itg_call *call)
{
    itg_strided s;
    const itg_tensor *x = &call->inputs[0];
    const int64_t n = itg_elements(&call->outputs[0].shape);
    if (x->dtype != call->outputs[0].dtype)
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "output and input differ in type");
    if (!itg_reduce_space(call, &s))
        return itg_call_fail(call, ITG_BAD_ARGUMENT, "its axes do not fit input and output");
    if (!itg_is_float(x->dtype) && reductions[call->op].whole) return reduce_whole(call, s, n);
    if (!reductions[call->op].real)
        return itg_fail(call->err, ITG_UNSUPPORTED, "%s: not computed on %s", itg_op_name(call->op),
                        itg_dtype_name(x->dtype));
    double *sums = itg_call_alloc(n, 2 * sizeof *sums);
    if (!sums) return itg_call_no_memory(call);
    reduce_real(call, &s, n, sums, sums + n);
    free(sums);
    return ITG_OK;
}
