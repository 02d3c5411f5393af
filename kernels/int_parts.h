/* Shared by the integer kernels, private to kernels/: operands packed to 16 bits, dot products,
 * rows of epilogues. A packed operand holds a' = code - subtract as int16, and code - zero_point =
 * a' - residue. The residue is 0 wherever code - zero_point itself fits 16 bits; else (16-bit codes
 * with a zero point) the caller corrects the exact sums. */
#ifndef ITG_INT_PARTS_H
#define ITG_INT_PARTS_H
#include "kernels/int_ops.h"

typedef struct itg_packing {
    bool fits; /* false: storage too wide, take the sequential kernels */
    int64_t subtract, residue;
    int64_t magnitude; /* the largest |a'| */
} itg_packing;
itg_packing itg_packing_of(const itg_int_operand *x);

/* A size for malloc; what no memory can hold becomes what malloc refuses. */
static inline size_t itg_scratch_bytes(int64_t bytes)
{
    return (uint64_t)bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

/* ---- int_pack.c ---- */
/* out[i] = code[first + i] - subtract */
void itg_pack_row(const itg_int_operand *x, int64_t first, int64_t count, int64_t subtract,
                  int16_t *out);
/* out[j * out_stride + r] = code[first + r * row_stride + j] - subtract, r < rows, j < columns */
void itg_pack_transposed(const itg_int_operand *x, int64_t first, int64_t rows, int64_t row_stride,
                         int64_t columns, int64_t subtract, int16_t *out, int64_t out_stride);
/* out[i] = code[first + i * stride] - zero_point, any integer storage */
void itg_widen_row(const itg_int_operand *x, int64_t first, int64_t count, int64_t stride,
                   int64_t *out);
/* storage[first + i] = q[i] */
void itg_store_row(itg_dtype storage, void *data, int64_t first, int64_t n, const int32_t *q);
int64_t itg_sum_row(const int16_t *v, int64_t n);

/* ---- int_dot.c: rows of int16, depth a multiple of ITG_DOT_LANES, the tail filled with zeros ----
 */
#define ITG_DOT_LANES 32
#define ITG_DOT_ROWS 4
static inline int64_t itg_dot_depth(int64_t n)
{
    return (n + ITG_DOT_LANES - 1) / ITG_DOT_LANES * ITG_DOT_LANES;
}
/* acc[r * stride + p] = sum of a[r][i] * b[p][i], r < rows <= ITG_DOT_ROWS, p < count. */
void itg_dot_tile32(const int16_t *a, int64_t rows, const int16_t *b, int64_t count, int64_t depth,
                    int32_t *acc, int64_t stride);
/* The same in 64 bits. |a'| <= a_max, |b'| <= b_max: blocks of partial sums that 32 bits hold for
 * certain. */
void itg_dot_tile64(const int16_t *a, int64_t rows, const int16_t *b, int64_t count, int64_t depth,
                    int64_t a_max, int64_t b_max, int64_t *acc, int64_t stride);
/* bias + sum of a[i] * b[i] with the accumulator's width simulated (mac->may_overflow), one
 * addition after another. */
int64_t itg_dot_sequential(const int64_t *a, const int64_t *b, int64_t n, int64_t bias,
                           const itg_mac_options *mac);
/* The joined sum of the parts, as itg_sum_split says; parts and sum fit 64 bits. */
int64_t itg_dot_split(const int64_t *a, const int64_t *b, int64_t bias, int64_t channel,
                      const itg_sum_split *split);

/* ---- int_epilogue.c ---- */
/* out[first + i] from acc[i]; channel of i is channel + i * step, step 0 or 1. */
void itg_epilogue_row32(const int32_t *acc, int64_t n, int64_t first, int64_t channel, int64_t step,
                        const itg_epilogue *out);
void itg_epilogue_row64(const int64_t *acc, int64_t n, int64_t first, int64_t channel, int64_t step,
                        const itg_epilogue *out);
#endif
