/* The one table of float kernels. Data movement has its own, in move.c. */
#include "kernels/float_ops.h"
#include "kernels/float_call.h"

static const itg_call_fn kernels[ITG_OP_COUNT] = {
    [ITG_OP_CONV] = itg_f32_conv,
    [ITG_OP_GEMM] = itg_f32_gemm,
    [ITG_OP_MATMUL] = itg_f32_matmul,
    [ITG_OP_ADD] = itg_f32_binary,
    [ITG_OP_SUB] = itg_f32_binary,
    [ITG_OP_MUL] = itg_f32_binary,
    [ITG_OP_DIV] = itg_f32_binary,
    [ITG_OP_PRELU] = itg_f32_binary,
    [ITG_OP_POW] = itg_f32_pow,
    [ITG_OP_MIN] = itg_f32_variadic,
    [ITG_OP_MAX] = itg_f32_variadic,
    [ITG_OP_RELU] = itg_f32_univariate,
    [ITG_OP_LEAKY_RELU] = itg_f32_univariate,
    [ITG_OP_ELU] = itg_f32_univariate,
    [ITG_OP_CLIP] = itg_f32_univariate,
    [ITG_OP_SIGMOID] = itg_f32_univariate,
    [ITG_OP_TANH] = itg_f32_univariate,
    [ITG_OP_HARD_SIGMOID] = itg_f32_univariate,
    [ITG_OP_HARD_SWISH] = itg_f32_univariate,
    [ITG_OP_SOFTPLUS] = itg_f32_univariate,
    [ITG_OP_EXP] = itg_f32_univariate,
    [ITG_OP_LOG] = itg_f32_univariate,
    [ITG_OP_SQRT] = itg_f32_univariate,
    [ITG_OP_RECIPROCAL] = itg_f32_univariate,
    [ITG_OP_ERF] = itg_f32_univariate,
    [ITG_OP_ABS] = itg_f32_univariate,
    [ITG_OP_NEG] = itg_f32_univariate,
    [ITG_OP_FLOOR] = itg_f32_univariate,
    [ITG_OP_CEIL] = itg_f32_univariate,
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
    [ITG_OP_SHAPE] = itg_any_shape,
    [ITG_OP_CONSTANT_OF_SHAPE] = itg_any_constant_of_shape,
    [ITG_OP_CAST] = itg_any_cast,
    [ITG_OP_EQUAL] = itg_any_equal,
    [ITG_OP_WHERE] = itg_any_where,
};

itg_status itg_float_eval(itg_op op, const itg_attrs *attrs, const itg_tensor *inputs,
                          int32_t input_count, itg_tensor *outputs, int32_t output_count,
                          itg_error *err)
{
    const itg_call call = {op, attrs, inputs, input_count, outputs, output_count, NULL, err};
    if (itg_is_movement(op)) {
        int64_t fill = 0; /* holds an element of any type */
        if (op == ITG_OP_PAD && output_count > 0)
            itg_store_number(outputs[0].dtype, &fill, 0, (double)attrs->pad_value);
        return itg_move_eval(op, attrs, inputs, input_count, outputs, output_count, &fill, err);
    }
    if ((int)op < 0 || op >= ITG_OP_COUNT || !kernels[op])
        return itg_fail(err, ITG_UNSUPPORTED, "%s: there is no float kernel", itg_op_name(op));
    bool done;
    itg_status status = itg_call_check(&call, &done);
    return status == ITG_OK && !done ? kernels[op](&call) : status;
}
