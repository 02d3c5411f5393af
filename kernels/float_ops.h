/* Reference float32 kernels of all operators. Results have the same bits on every platform: every
 * sum has a fixed order, and there is no contraction and no transcendental function of libm.
 * Univariate functions are computed in double with kernels/math.h and rounded once to float32. */
#ifndef ITG_FLOAT_OPS_H
#define ITG_FLOAT_OPS_H
#include "base/base.h"

/* Computes one node. Inputs and outputs as graph/ states them after shape inference (attributes
 * resolved, NULL data = input left out; Slice starts/steps, Reshape, Squeeze, Pad... from attrs and
 * output shape). Outputs are caller-allocated. F32 for arithmetic; data movement and comparisons
 * for every dtype; Add Sub Mul Div Min Max also S64/S32 (constant folding), Cast between all, Shape
 * gives S64. ITG_UNSUPPORTED with the reason otherwise. Sum order: Conv acc starts at bias, then
 * input channel, kernel row, kernel column ascending; padding adds nothing. Gemm and MatMul start
 * at bias (or 0), k ascending. Reductions ascend in row-major order; means divide by the count. */
itg_status itg_float_eval(itg_op op, const itg_attrs *attrs, const itg_tensor *inputs,
                          int32_t input_count, itg_tensor *outputs, int32_t output_count,
                          itg_error *err);
/* As itg_float_eval for data movement alone (the class ITG_IS_MOVE), on any element type; Pad fills
 * with the element at `fill`. Used on integer tensors too. */
itg_status itg_move_eval(itg_op op, const itg_attrs *attrs, const itg_tensor *inputs,
                         int32_t input_count, itg_tensor *outputs, int32_t output_count,
                         const void *fill, itg_error *err);
/* f of a univariate operator (the class ITG_IS_UNIVARIATE), in double. */
double itg_univariate(itg_op op, const itg_attrs *attrs, double x);
/* x[i] = itg_univariate(op, attrs, x[i]) */
void itg_univariate_all(itg_op op, const itg_attrs *attrs, int64_t n, double *x);
#endif
