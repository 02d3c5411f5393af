/* The annotated graphs that the tests share. */
#ifndef ITG_TEST_NETWORKS_H
#define ITG_TEST_NETWORKS_H
#include "fixture.h"

/* x [1,2,5,6] -> Conv 3x3 + Relu (y: u8 output, s8, float) -> depthwise Conv (z: s16); y float ->
 * Softmax -> s: u8 */
fixture net_conv(void);
/* p [1,2,3,4], q [1,2,4,5], x [1,6]: a = p w + b; m = p q; one = p q1; v = p vector; g = Gemm; h =
 * Gemm of g, w [K,N] */
fixture net_matrix(void);
/* x, y [1,3,4,4]: Add rescale, Sub equal, Add f32, Mul by [3,1,1], Relu, Clip */
fixture net_elements(void);
/* x, y [1,2,6,7] of odd scales, k [2,1,1]: x - y, x * y, k + x and means of windows in float32, all
 * but the sum shown as floats too */
fixture net_floats(void);
/* x [1,3,6,7]: pools and reductions in every form */
fixture net_pools(void);
/* x [1,40]: Sigmoid of 8 bits (codes and floats), Tanh of 12 bits */
fixture net_tables(void);
/* x [1,2,3,4], y [1,3,3,4]: Concat, Transpose, Pad, Slice, Split, Gather, Reshape */
fixture net_moves(void);
/* x [1,6] of 2-bit codes (x - z is -1..2): g = Gemm with w [2,6], in parts of 10 bits joined in 10
 */
fixture net_split(void);
/* s: Softmax of u8 x along axis 1, in two encodings; wide: of s16 q; n: LayerNormalization of x
 * over the last two dimensions. */
fixture net_norms(void);
typedef fixture (*network)(void);
#define NETWORKS                                                                                   \
    {                                                                                              \
        net_conv, net_matrix, net_elements, net_floats, net_pools, net_tables, net_moves,          \
            net_split, net_norms                                                                   \
    }

extern const float conv_weights[4 * 2 * 9], depthwise_weights[4 * 4];
extern const int64_t conv_bias[4], conv_multiplier[4];
extern const float conv_dequant[4];
extern const float matrix_weights[4 * 5], matrix_vector[4], gemm_weights[7 * 6],
    second_weights[7 * 3];
extern const int64_t matrix_bias[5];
enum { SPLIT_TERMS = 6, SPLIT_CHANNELS = 2, SPLIT_PARTS = 3 };
extern const float split_weights[SPLIT_CHANNELS * SPLIT_TERMS];
extern const int64_t split_bias[SPLIT_CHANNELS], split_ends[SPLIT_PARTS],
    split_shifts[SPLIT_CHANNELS];
#endif
