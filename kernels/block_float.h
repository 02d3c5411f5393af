/* Private to block_element.c: sums and products in float32 of rows of codes. */
#ifndef ITG_BLOCK_FLOAT_H
#define ITG_BLOCK_FLOAT_H
#include "kernels/int_parts.h"
#include "kernels/requant.h"

/* Writes the codes of n sums or products as elements of y from `first` on. a, b: codes of the
 * operands of a sum; of a product, whose size is below 2^31, codes minus zero points. lo and hi of
 * e are at most 2^22 in size. */
void itg_block_add_row(const itg_f32_add *k, const itg_epilogue *e, const int32_t *a,
                       const int32_t *b, int64_t n, void *y, int64_t first);
void itg_block_mul_row(const itg_f32_mul *k, const itg_epilogue *e, const int32_t *a,
                       const int32_t *b, int64_t n, void *y, int64_t first);
/* Float output: the operation on the dequantized operands. zero: still to be subtracted. */
void itg_block_float_row(const itg_int_binary *k, const itg_epilogue *e, const int32_t zero[2],
                         const int32_t *a, const int32_t *b, int64_t n, float *y);

/* Byte codes of both operands and of the output. An operand's value is (byte ^ flip) - zero. */
typedef struct itg_float_bytes {
    const uint8_t *a, *b;
    uint8_t flip[2];
    int32_t zero[2];
    float low, high;
    int64_t n;
    uint8_t *y;
} itg_float_bytes;

/* The same of whole arrays in one pass. False: without a fused multiply-add, rows are faster; y is
 * as it was. */
bool itg_block_add_bytes(const itg_f32_add *k, const itg_float_bytes *f);
void itg_block_mul_bytes(const itg_f32_mul *k, const itg_float_bytes *f);
#endif
