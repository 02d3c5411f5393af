/* Integer kernels and their argument types. They are plain loops with scalar semantics. Activations
 * have their storage dtype. Nothing here allocates memory. */
#ifndef ITG_INT_OPS_H
#define ITG_INT_OPS_H
#include "base/base.h"

/* One requantized output of a node. channel = (i / channel_stride) % requant_count for flat index
 * i. */
typedef struct itg_epilogue {
    itg_dtype storage; /* of `out`; F32: dequantized output */
    void *out;         /* same element order as the native result */
    const itg_requant *requant;
    int32_t requant_count; /* 0: the native result itself */
    int64_t zero_point, lo, hi;
    const float *dequant; /* storage F32: fl(float32(acc) * dequant[channel]), then clamped to
                             [float_lo, float_hi] */
    int32_t dequant_count;
    float float_lo, float_hi; /* -inf, +inf without activation */
} itg_epilogue;

/* Geometry of a 2-D window operator on one sample. */
typedef struct itg_window {
    int64_t channels, height, width;             /* input C, H, W */
    int64_t out_channels, out_height, out_width; /* K, P, Q */
    int64_t kernel[2], stride[2], dilation[2], pad_top, pad_left, group;
} itg_window;

/* The range [begin, end) of i in [0, taps) with 0 <= first + i * dilation < size; begin <= end.
 * Also used for the outputs that one tap reaches, with the stride as dilation. */
typedef struct itg_taps {
    int64_t begin, end;
} itg_taps;
itg_taps itg_valid_taps(int64_t first, int64_t dilation, int64_t taps, int64_t size);

typedef struct itg_int_operand {
    itg_dtype storage;
    const void *data;
    int64_t zero_point;
    int64_t qmin, qmax; /* bounds of the codes, for the choice of a proven 32-bit path */
} itg_int_operand;

/* acc_bound: proven bound of |partial sum| (itg_bounds); within 31 bits a 32-bit accumulator is
 * exact, within 63 a 64-bit one. An acc that may overflow its stated width is simulated: wrap of
 * the exact sum; saturate after each addition, in order bias, then input channel, kernel row,
 * kernel column (k for matmul). */
typedef struct itg_mac_options {
    itg_accumulator acc;
    bool may_overflow; /* bound exceeds the width */
    int64_t acc_bound;
    const int64_t *bias; /* [out channels] or NULL */
    /* NULL, or how sums are split; every part and the joined sum fit their widths. may_overflow is
     * then true, so fast paths without support for parts are not taken. */
    const itg_sum_split *split;
} itg_mac_options;

/* Broadcasting of two operands: flat index of each from the output index. */
typedef struct itg_broadcast {
    itg_shape out;
    int64_t stride_a[ITG_MAX_RANK], stride_b[ITG_MAX_RANK]; /* 0 where broadcast */
} itg_broadcast;

/* F32 (Add, Sub) and F32_PRODUCT (Mul) compute in float32 as ONNX Runtime does, without accumulator
 * and requantization constants. */
typedef enum itg_binary_form {
    ITG_BINARY_RESCALE,
    ITG_BINARY_F32,
    ITG_BINARY_EQUAL,
    ITG_BINARY_PRODUCT,
    ITG_BINARY_F32_PRODUCT
} itg_binary_form;
typedef struct itg_int_binary {
    itg_binary_form form;
    int sign;               /* +1 Add, -1 Sub */
    int32_t left_shift;     /* RESCALE */
    itg_requant ra, rb;     /* RESCALE */
    float scale_a, scale_b; /* F32, F32_PRODUCT */
    const float *scale_out; /* F32, F32_PRODUCT: [out_count], scale of each output */
    itg_accumulator acc;
} itg_int_binary;
/* Every output uses its epilogue's channel 0. F32 with storage F32: fl(fl(scale_a * (a - za)) +-
 * fl(scale_b * (b - zb))), clamped to [float_lo, float_hi]; scale_out is not read then. acc.bits 0:
 * the exact 64-bit result. */
void itg_int_binary_run(const itg_int_binary *k, const itg_broadcast *shape,
                        const itg_int_operand *a, const itg_int_operand *b, const itg_epilogue *out,
                        int32_t out_count);

/* Row p or output pixel (p, q) of a pool over the image x.data, [height][width][channels]. Padding
 * is not counted. */
/* out [out_width][channels], in x's storage: the greatest code; qmin if the window holds no
 * element. column: room for a row of the image. */
void itg_int_pool_max(const itg_window *w, const itg_int_operand *x, int64_t p, void *column,
                      void *out);
/* sum [channels]: of raw codes, x U8 S8 U16 S16, of at most 2^15 elements. Returns how many
 * elements are valid. */
int64_t itg_int_pool_sum(const itg_window *w, const itg_int_operand *x, int64_t p, int64_t q,
                         int32_t *sum);
/* sum [channels]: of fl(scale * (code - zero_point)), row-major, each addition rounded, as ONNX
 * Runtime's QLinearAveragePool adds. */
void itg_int_pool_sum_f32(const itg_window *w, const itg_int_operand *x, float scale, int64_t p,
                          int64_t q, float *sum);
/* Writes out[i] for i in [0,n) from float32 results: itg_quantize_mean_f32, or (F32) clamped to
 * [float_lo, float_hi]. */
void itg_mean_epilogue(const float *mean, int64_t n, float scale_out, const itg_epilogue *out);
#define ITG_PROBABILITY_BITS 30 /* after the point of a Softmax's native result */
/* A row of `count` codes, `stride` elements apart, of at most 2^16 codes. Exponentials have
 * `fraction` bits, 1..30; fine: of the differences 0..255 (as far as there are codes), coarse: of
 * 256 times 0, 1...; the first of both is 2^fraction. count * 2^fraction is below 2^63. */
typedef struct itg_int_softmax {
    const int32_t *fine, *coarse;
    int32_t fraction;
    int64_t count, stride;
} itg_int_softmax;
/* acc[i * stride]: the native result of element first + i * stride of x. */
void itg_int_softmax_row(const itg_int_softmax *k, const itg_int_operand *x, int64_t first,
                         int64_t *acc);

/* TensorFlow Lite's Softmax of at most 256 codes (docs/arithmetic.md 3.4). table: 2^31 * exp of
 * minus 0, 1... units of the input, of as many as there are codes; the first is 2^31 - 1. The
 * native result has `fraction` bits after the point: 8 is CMSIS-NN's arm_softmax_s8, 16 its
 * arm_softmax_s8_s16. count is at most ITG_TFLITE_MOST_ROW. */
#define ITG_TFLITE_MOST_ROW 4095
typedef struct itg_int_tflite_softmax {
    const int32_t *table;
    int32_t fraction;
    int64_t count, stride;
} itg_int_tflite_softmax;
void itg_int_tflite_softmax_row(const itg_int_tflite_softmax *k, const itg_int_operand *x,
                                int64_t first, int64_t *acc);
/* The table for an input of this scale, which is at least 2^-26. */
void itg_int_tflite_exponentials(double scale, int64_t count, int32_t *out);

/* A row of `count` elements side by side, at most 2^20. count^2 times the square of the widest
 * |code - zero_point|, and epsilon, are at most 2^61; fraction is at most 20; |bias| is at most
 * 2^61. */
typedef struct itg_int_layer_norm {
    const int16_t *gain;
    const int64_t *bias; /* [count] both */
    int32_t fraction;
    int64_t count, epsilon;
} itg_int_layer_norm;
/* acc[i]: the native result of element first + i of x. */
void itg_int_layer_norm_row(const itg_int_layer_norm *k, const itg_int_operand *x, int64_t first,
                            int64_t *acc);

/* Writes out[i] for i in [0,n) from 64-bit native results. */
void itg_int_epilogue(const int64_t *acc, int64_t n, int64_t channel_stride,
                      const itg_epilogue *out);

#endif
