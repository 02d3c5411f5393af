/* Vectorizable loops over long rows of codes. Results equal the scalar functions of int_ops.h and
 * requant.h in every bit. Operands do not overlap. */
#ifndef ITG_BLOCK_OPS_H
#define ITG_BLOCK_OPS_H
#include "kernels/int_ops.h"
#include "kernels/accel.h"

/* out[i] = itg_quantize_f32(x[i], q->scale[0], ...), in q's storage. */
void itg_block_quantize(const itg_quantizer *q, const float *x, int64_t n, void *out);
/* The same by q->scale[i % q->scale_count]; n is a multiple of that count. */
void itg_block_quantize_columns(const itg_quantizer *q, const float *x, int64_t n, void *out);
/* out[i] = itg_dequantize_f32(x[i], scale, x.zero_point) */
void itg_block_dequantize(const itg_int_operand *x, int64_t n, float scale, float *out);
/* most[i] = the maximum of most[i] and x[r * step + i], r below rows; both have this integer
 * storage. */
void itg_block_max(itg_dtype storage, const void *x, int64_t rows, int64_t step, int64_t n,
                   void *most);
/* sum[i] += x[i]; x is U8 S8 U16 S16; the sums fit 32 bits. */
void itg_block_add(itg_dtype storage, const void *x, int64_t n, int32_t *sum);

/* A function as a table. */
typedef struct itg_lut {
    const void *table; /* of int32; storage F32: of float32, and shift is 0 */
    int32_t shift;     /* see itg_block_lut */
    itg_dtype storage; /* of what is looked up */
} itg_lut;
/* out[i] = table[x[i] - x.qmin]; storages may differ; codes lie within [qmin, qmax]. shift > 0: the
 * entries belong to the multiples of 2^shift from (x.qmin >> shift) on, and codes between them get
 * a + half_up((b - a) * (x[i] mod 2^shift) / 2^shift) of the entries a, b beside them. */
void itg_block_lut(const itg_accel_kernels *kernels, const itg_lut *lut, const itg_int_operand *x,
                   int64_t n, void *out);

/* An elementwise operation on one operand, or on two of equal shape. Arguments are copied into the
 * arena, except requantization constants, which must outlive it. *made is NULL if there is no fast
 * form: wide codes, accumulators that overflow... */
typedef struct itg_block_element itg_block_element;
/* itg_int_binary_run without broadcasting. */
itg_status itg_block_binary_create(const itg_accel_kernels *kernels, const itg_int_binary *k,
                                   const itg_int_operand *a, const itg_int_operand *b,
                                   const itg_epilogue *out, int32_t out_count, itg_arena *arena,
                                   itg_block_element **made, itg_error *err);
/* Epilogues of x minus its zero point, fitted to acc. */
itg_status itg_block_rescale_create(const itg_accel_kernels *kernels, itg_accumulator acc,
                                    const itg_int_operand *x, const itg_epilogue *out,
                                    int32_t out_count, itg_arena *arena, itg_block_element **made,
                                    itg_error *err);
/* b: NULL for one operand. */
void itg_block_element_run(const itg_block_element *t, const void *a, const void *b, void *const *y,
                           int64_t n);
#endif
