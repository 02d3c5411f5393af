/* Integer reference kernels: they define the result. Scalar semantics, plain loops that compilers
 * vectorize. Activations lie in their storage dtype, row-major NCHW. Nothing here allocates but
 * through `scratch`. */
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
    /* NULL, or how the sums are taken apart; every part and the joined sum are proven to fit.
     * may_overflow is true beside it: fast paths that know nothing of parts keep away. */
    const itg_sum_split *split;
} itg_mac_options;

size_t itg_int_conv_scratch(const itg_window *w);
/* x [C,H,W], w [K,C/group,R,S] (per-channel scales live in the epilogues), native result [K,P,Q].
 * Padding contributes nothing: (x - zp) = 0. */
void itg_int_conv(const itg_window *w, const itg_int_operand *x, const itg_int_operand *weights,
                  const itg_mac_options *mac, const itg_epilogue *out, int32_t out_count,
                  void *scratch);
/* y[m][n] = sum_k (a[m][k]-za) * (b'[n][k]-zb); b_transposed: b is [N,K] (weights), else [K,N]. One
 * matrix; callers loop batches. channel = n. */
size_t itg_int_matmul_scratch(int64_t m, int64_t n, int64_t k);
void itg_int_matmul(int64_t m, int64_t n, int64_t k, const itg_int_operand *a,
                    const itg_int_operand *b, bool b_transposed, const itg_mac_options *mac,
                    const itg_epilogue *out, int32_t out_count, void *scratch);

/* Broadcasting of two operands: flat index of each from the output index. */
typedef struct itg_broadcast {
    itg_shape out;
    int64_t stride_a[ITG_MAX_RANK], stride_b[ITG_MAX_RANK]; /* 0 where broadcast */
} itg_broadcast;

/* F32: Add and Sub, F32_PRODUCT: Mul in float32 as ONNX Runtime computes them; no accumulator, no
 * requantization constants. */
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

/* Average pooling and means. KEEP: q_out = clamp(round(sum(q)/count)) over raw codes (CMSIS-NN
 * form, rounding stated). RESCALE: acc = sum(q - zp); the epilogue's requant holds ratio/count;
 * where padding makes counts differ, requants are given per distinct count: requant[count - 1]. F32
 * as ONNX Runtime: see arithmetic.md. KEEP with count_include_pad: the divisor is the whole kernel
 * and padding counts as zero_point; a window that ceil_mode lets reach beyond the end padding is
 * not told apart. A window without a valid element gives zero_point (maximum: qmin). */
void itg_int_max_pool(const itg_window *w, const itg_int_operand *x,
                      void *out); /* same storage; padding never wins */
void itg_int_average_pool_keep(const itg_window *w, const itg_int_operand *x,
                               bool count_include_pad, itg_rounding rounding, int64_t lo,
                               int64_t hi, void *out);
/* acc[i] = sum (q - zp) and count[i] of each window; the caller applies epilogues
 * (itg_int_epilogue). */
void itg_int_pool_sum(const itg_window *w, const itg_int_operand *x, int64_t *acc, int32_t *count);
/* Means in float32 as ONNX Runtime's QLinearAveragePool: fl(sum/count) of fl(scale * (q - zp)),
 * row-major, each addition rounded; count[out_height * out_width]: what each window's sum is
 * divided by. */
void itg_int_average_pool_f32(const itg_window *w, const itg_int_operand *x, float scale,
                              const int32_t *count, float *mean);
/* Writes out[i] for i in [0,n) from float32 results: itg_quantize_mean_f32, or (F32) clamped to
 * [float_lo, float_hi]. */
void itg_mean_epilogue(const float *mean, int64_t n, float scale_out, const itg_epilogue *out);
/* Writes out[i] for i in [0,n) from 64-bit native results. */
void itg_int_epilogue(const int64_t *acc, int64_t n, int64_t channel_stride,
                      const itg_epilogue *out);
/* out[i] = table[q - qmin]; storages may differ. table entries S32. */
void itg_int_lut(const itg_int_operand *x, int64_t n, const int32_t *table, itg_dtype out_storage,
                 void *out);

int64_t itg_load(itg_dtype storage, const void *data, int64_t index);
void itg_store(itg_dtype storage, void *data, int64_t index, int64_t value);
#endif
