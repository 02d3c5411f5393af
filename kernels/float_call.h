/* Shared by the float kernels: the arguments of one evaluation, their checks, and iteration over
 * broadcast operands. Private to kernels/. */
#ifndef ITG_FLOAT_CALL_H
#define ITG_FLOAT_CALL_H
#include "base/base.h"
#include "kernels/int_ops.h" /* itg_window */

typedef struct itg_call {
    itg_op op;
    const itg_attrs *attrs;
    const itg_tensor *inputs;
    int32_t input_count;
    itg_tensor *outputs;
    int32_t output_count;
    const void *fill; /* one element, or NULL: zero. Pad only */
    itg_error *err;
} itg_call;

typedef itg_status (*itg_call_fn)(const itg_call *call);

/* Input or output i, or NULL if it is left out. */
const itg_tensor *itg_call_input(const itg_call *call, int32_t i);
itg_tensor *itg_call_output(const itg_call *call, int32_t i);
/* "Conv: what", with code. */
itg_status itg_call_fail(const itg_call *call, itg_status code, const char *what);
itg_status itg_call_no_memory(const itg_call *call);
/* Fails unless inputs 0..count-1 and output 0 are present and float32. */
itg_status itg_call_need_f32(const itg_call *call, int32_t count);
/* Checks once before a kernel runs that every shape is known and within ITG_MAX_ELEMENTS, and that
 * input 0 and output 0 are present or empty (input 0 not where the operator reads its shape alone).
 * Kernels may then multiply dims without checks. *done: the only output is empty and there is
 * nothing to compute. */
itg_status itg_call_check(const itg_call *call, bool *done);

int64_t itg_elements(const itg_shape *shape); /* of a checked shape */
/* Uninitialized memory for count elements, at least one byte, to be freed; NULL: no memory. */
void *itg_call_alloc(int64_t count, size_t size);

/* ---- iteration over up to ITG_OPERANDS strided views of one index space ---- */
#define ITG_OPERANDS 4
typedef struct itg_strided {
    int32_t rank, operands; /* rank >= 1; a scalar has one dimension of 1 */
    int64_t dims[ITG_MAX_RANK];
    int64_t stride[ITG_OPERANDS][ITG_MAX_RANK]; /* in elements */
    int64_t index[ITG_MAX_RANK], offset[ITG_OPERANDS];
} itg_strided;

void itg_strided_init(itg_strided *s, const itg_shape *space); /* no operands yet */
/* The same with one operand: a contiguous tensor of that shape. */
void itg_strided_over(itg_strided *s, const itg_shape *space);
/* Adds an operand that broadcasts to the space. False: its shape does not fit. */
bool itg_strided_broadcast(itg_strided *s, const itg_shape *shape);
/* Adds an operand with one stride for each dimension of the space. */
void itg_strided_view(itg_strided *s, const int64_t *stride, int64_t offset);
void itg_row_major(const itg_shape *shape, int64_t *stride);
/* Merges dimensions that are contiguous in every operand. Call it once after adding the operands.
 * False: there is nothing to visit. */
bool itg_strided_start(itg_strided *s);
/* Moves to the next run. A run is the last dimension: itg_strided_run(s) elements from offset[] on.
 * False: that was the last one. */
bool itg_strided_next(itg_strided *s);
static inline int64_t itg_strided_run(const itg_strided *s)
{
    return s->dims[s->rank - 1];
}
static inline int64_t itg_strided_step(const itg_strided *s, int operand)
{
    return s->stride[operand][s->rank - 1];
}

/* ---- the kernels, one entry an operator in float_ops.c ---- */
itg_status itg_f32_conv(const itg_call *call);
itg_status itg_f32_gemm(const itg_call *call);
itg_status itg_f32_matmul(const itg_call *call);
itg_status itg_f32_binary(const itg_call *call);
itg_status itg_f32_variadic(const itg_call *call);
itg_status itg_f32_pow(const itg_call *call);
itg_status itg_f32_univariate(const itg_call *call);
itg_status itg_f32_max_pool(const itg_call *call);
itg_status itg_f32_average_pool(const itg_call *call);
itg_status itg_f32_global_pool(const itg_call *call);
itg_status itg_f32_reduce(const itg_call *call);
itg_status itg_f32_arg_max(const itg_call *call);
itg_status itg_f32_batch_normalization(const itg_call *call);
itg_status itg_f32_layer_normalization(const itg_call *call);
itg_status itg_f32_softmax(const itg_call *call);
itg_status itg_f32_quantize(const itg_call *call);
itg_status itg_f32_dequantize(const itg_call *call);
itg_status itg_any_cast(const itg_call *call);
itg_status itg_any_shape(const itg_call *call);
itg_status itg_any_constant_of_shape(const itg_call *call);
itg_status itg_any_einsum(const itg_call *call);
itg_status itg_any_pair(const itg_call *call);
itg_status itg_any_single(const itg_call *call);
itg_status itg_any_reduce(const itg_call *call);
itg_status itg_any_gather_elements(const itg_call *call);
itg_status itg_any_gather_nd(const itg_call *call);
itg_status itg_any_scatter_elements(const itg_call *call);
itg_status itg_any_scatter_nd(const itg_call *call);
itg_status itg_any_one_hot(const itg_call *call);
itg_status itg_any_top_k(const itg_call *call);
itg_status itg_any_unique(const itg_call *call);
itg_status itg_any_non_zero(const itg_call *call);
itg_status itg_any_compress(const itg_call *call);
itg_status itg_any_range(const itg_call *call);
itg_status itg_any_size(const itg_call *call);
itg_status itg_any_eye_like(const itg_call *call);
itg_status itg_any_trilu(const itg_call *call);
itg_status itg_any_tile(const itg_call *call);
itg_status itg_any_cumulative(const itg_call *call);
itg_status itg_any_reverse_sequence(const itg_call *call);
itg_status itg_f32_sum(const itg_call *call);
itg_status itg_f32_lines(const itg_call *call);
itg_status itg_f32_mean_variance(const itg_call *call);
itg_status itg_f32_det(const itg_call *call);
itg_status itg_any_where(const itg_call *call);
itg_status itg_move_pad(const itg_call *call);

/* output 0 = a op b for what f32_elementwise.c has no loop for (ref_pair.c). */
itg_status itg_any_apply(const itg_call *call, const itg_tensor *a, const itg_tensor *b);
/* The input as operand 0, and as operand 1 the element of output 0 into which attrs.axes reduce it.
 * False: they do not fit. */
bool itg_reduce_space(const itg_call *call, itg_strided *s);
bool itg_is_float(itg_dtype dtype);
static inline void *itg_element_at(const itg_tensor *t, int64_t i)
{
    return (char *)t->data + (size_t)i * itg_dtype_size(t->dtype);
}

/* Converts a number on load and store: float to integer truncates and saturates (NaN: 0), integer
 * to narrower integer wraps, BOOL is value != 0. */
void itg_store_number(itg_dtype dtype, void *data, int64_t index, double value);
double itg_load_number(itg_dtype dtype, const void *data,
                       int64_t index); /* S64 rounds beyond 2^53 */
#endif
