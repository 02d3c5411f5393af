/* The table of float kernels. move.c has the table of data movement, univariate.c that of
 * univariate functions. */
#include "kernels/float_ops.h"
#include "kernels/float_call.h"

static const itg_call_fn kernels[ITG_OP_COUNT] = {
    [ITG_OP_CONV] = itg_f32_conv,
    [ITG_OP_GEMM] = itg_f32_gemm,
    [ITG_OP_MATMUL] = itg_f32_matmul,
    [ITG_OP_EINSUM] = itg_any_einsum,
    [ITG_OP_ADD] = itg_f32_binary,
    [ITG_OP_SUB] = itg_f32_binary,
    [ITG_OP_MUL] = itg_f32_binary,
    [ITG_OP_DIV] = itg_f32_binary,
    [ITG_OP_PRELU] = itg_f32_binary,
    [ITG_OP_POW] = itg_f32_pow,
    [ITG_OP_MIN] = itg_f32_variadic,
    [ITG_OP_MAX] = itg_f32_variadic,
    [ITG_OP_MAX_POOL] = itg_f32_max_pool,
    [ITG_OP_AVERAGE_POOL] = itg_f32_average_pool,
    [ITG_OP_GLOBAL_AVERAGE_POOL] = itg_f32_global_pool,
    [ITG_OP_GLOBAL_MAX_POOL] = itg_f32_global_pool,
    [ITG_OP_REDUCE_MEAN] = itg_f32_reduce,
    [ITG_OP_REDUCE_SUM] = itg_f32_reduce,
    [ITG_OP_REDUCE_MAX] = itg_f32_reduce,
    [ITG_OP_BATCH_NORMALIZATION] = itg_f32_batch_normalization,
    [ITG_OP_LAYER_NORMALIZATION] = itg_f32_layer_normalization,
    [ITG_OP_SOFTMAX] = itg_f32_softmax,
    [ITG_OP_LOG_SOFTMAX] = itg_f32_softmax,
    [ITG_OP_ARG_MAX] = itg_f32_arg_max,
    [ITG_OP_QUANTIZE_LINEAR] = itg_f32_quantize,
    [ITG_OP_DEQUANTIZE_LINEAR] = itg_f32_dequantize,
    [ITG_OP_SHAPE] = itg_any_shape,
    [ITG_OP_CONSTANT_OF_SHAPE] = itg_any_constant_of_shape,
    [ITG_OP_CAST] = itg_any_cast,
    [ITG_OP_SUM] = itg_f32_sum,
    [ITG_OP_MEAN] = itg_f32_sum,
    [ITG_OP_EQUAL] = itg_any_pair,
    [ITG_OP_LESS] = itg_any_pair,
    [ITG_OP_LESS_OR_EQUAL] = itg_any_pair,
    [ITG_OP_GREATER] = itg_any_pair,
    [ITG_OP_GREATER_OR_EQUAL] = itg_any_pair,
    [ITG_OP_AND] = itg_any_pair,
    [ITG_OP_OR] = itg_any_pair,
    [ITG_OP_XOR] = itg_any_pair,
    [ITG_OP_BITWISE_AND] = itg_any_pair,
    [ITG_OP_BITWISE_OR] = itg_any_pair,
    [ITG_OP_BITWISE_XOR] = itg_any_pair,
    [ITG_OP_BIT_SHIFT] = itg_any_pair,
    [ITG_OP_MOD] = itg_any_pair,
    [ITG_OP_NOT] = itg_any_single,
    [ITG_OP_BITWISE_NOT] = itg_any_single,
    [ITG_OP_IS_NAN] = itg_any_single,
    [ITG_OP_IS_INF] = itg_any_single,
    [ITG_OP_REDUCE_MIN] = itg_any_reduce,
    [ITG_OP_REDUCE_PROD] = itg_any_reduce,
    [ITG_OP_REDUCE_L1] = itg_any_reduce,
    [ITG_OP_REDUCE_L2] = itg_any_reduce,
    [ITG_OP_REDUCE_SUM_SQUARE] = itg_any_reduce,
    [ITG_OP_REDUCE_LOG_SUM] = itg_any_reduce,
    [ITG_OP_REDUCE_LOG_SUM_EXP] = itg_any_reduce,
    [ITG_OP_ARG_MIN] = itg_f32_arg_max,
    [ITG_OP_HARDMAX] = itg_f32_lines,
    [ITG_OP_LP_NORMALIZATION] = itg_f32_lines,
    [ITG_OP_MEAN_VARIANCE_NORMALIZATION] = itg_f32_mean_variance,
    [ITG_OP_DET] = itg_f32_det,
    [ITG_OP_GATHER_ELEMENTS] = itg_any_gather_elements,
    [ITG_OP_GATHER_ND] = itg_any_gather_nd,
    [ITG_OP_SCATTER_ELEMENTS] = itg_any_scatter_elements,
    [ITG_OP_SCATTER_ND] = itg_any_scatter_nd,
    [ITG_OP_ONE_HOT] = itg_any_one_hot,
    [ITG_OP_TOP_K] = itg_any_top_k,
    [ITG_OP_UNIQUE] = itg_any_unique,
    [ITG_OP_NON_ZERO] = itg_any_non_zero,
    [ITG_OP_COMPRESS] = itg_any_compress,
    [ITG_OP_RANGE] = itg_any_range,
    [ITG_OP_SIZE] = itg_any_size,
    [ITG_OP_EYE_LIKE] = itg_any_eye_like,
    [ITG_OP_TRILU] = itg_any_trilu,
    [ITG_OP_TILE] = itg_any_tile,
    [ITG_OP_CUM_SUM] = itg_any_cumulative,
    [ITG_OP_CUM_PROD] = itg_any_cumulative,
    [ITG_OP_REVERSE_SEQUENCE] = itg_any_reverse_sequence,
    [ITG_OP_WHERE] = itg_any_where,
};

static itg_call_fn kernel_of(itg_op op)
{
    if ((int)op < 0 || op >= ITG_OP_COUNT) return NULL;
    return itg_op_is(op, ITG_IS_UNIVARIATE) ? itg_f32_univariate : kernels[op];
}

itg_status itg_float_eval(itg_op op, const itg_attrs *attrs, const itg_tensor *inputs,
                          int32_t input_count, itg_tensor *outputs, int32_t output_count,
                          itg_error *err)
{
    const itg_call call = {op, attrs, inputs, input_count, outputs, output_count, NULL, err};
    if (itg_op_is(op, ITG_IS_MOVE)) {
        int64_t fill = 0; /* holds an element of any type */
        if (op == ITG_OP_PAD && output_count > 0)
            itg_store_number(outputs[0].dtype, &fill, 0, (double)attrs->pad_value);
        return itg_move_eval(op, attrs, inputs, input_count, outputs, output_count, &fill, err);
    }
    const itg_call_fn kernel = kernel_of(op);
    if (!kernel)
        return itg_fail(err, ITG_UNSUPPORTED, "%s: there is no float kernel", itg_op_name(op));
    bool done;
    itg_status status = itg_call_check(&call, &done);
    return status == ITG_OK && !done ? kernel(&call) : status;
}
