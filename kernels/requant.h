/* Rounding, requantization and clamping of single values; exact and defined for every input. Below
 * the annotated graph, this is the only file that simulator and executor share. Sources: Jacob et
 * al. 2018 (arXiv:1712.05877), gemmlowp, CMSIS-NN 6, MRT. */
#ifndef ITG_REQUANT_H
#define ITG_REQUANT_H
#include <intaglio/types.h>

/* round(v / 2^shift), shift 0..126, v any 128-bit product; exact. (v = a*b is formed exactly.) */
int64_t itg_round_shift_product(int64_t a, int64_t b, int32_t shift, itg_rounding rounding);
/* round(numerator / denominator), denominator > 0. */
int64_t itg_round_divide(int64_t numerator, int64_t denominator, itg_rounding rounding);
/* floor(sqrt(v)), v >= 0; exact. */
int64_t itg_floor_sqrt(int64_t v);
double itg_round_half_even(double x); /* rint in the default mode, without libm */
static inline int64_t itg_clamp(int64_t v, int64_t lo, int64_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* Applies the stages (or the f32 form) to one accumulator value. The result is relative to the zero
 * point and saturated to int64; the caller adds the zero point and clamps:
 * itg_clamp(itg_requant_apply(r, acc) + zp, lo, hi). */
int64_t itg_requant_apply(const itg_requant *r, int64_t acc);

/* Derives the constants for a real ratio > 0 (native scale / output scale). acc_bound: the largest
 * |acc| (for pre-shifts). ITG_INFEASIBLE if the hardware's form cannot hold the ratio (too small,
 * too large, or not a power of two for SHIFT). f32: ratio_f32 is used as it is:
 * float32(float32(sx*sw)/sy). */
itg_status itg_requant_derive(const itg_requant_spec *spec, double ratio, float ratio_f32,
                              int64_t acc_bound, itg_requant *out);
double itg_requant_ratio(const itg_requant *r); /* the achieved ratio */

/* q = clamp(round_half_even(x / scale) + zero_point, qmin, qmax), division in float32 as ONNX
 * QuantizeLinear; NaN -> zero_point. */
int64_t itg_quantize_f32(float x, float scale, int64_t zero_point, int64_t qmin, int64_t qmax);
/* float32((q - zero_point)) * scale in float32. */
float itg_dequantize_f32(int64_t q, float scale, int64_t zero_point);

/* Two's complement wrap, or saturation, of an exact sum to `bits`. */
int64_t itg_accumulator_fit(itg_accumulator acc, int64_t v);
int64_t itg_accumulator_min(itg_accumulator acc);
int64_t itg_accumulator_max(itg_accumulator acc);

/* ---- float32 forms, as ONNX Runtime's kernels on x86 with AVX2 compute them ---- */
/* a * b + c, rounded once. */
float itg_fma_f32(float a, float b, float c);

/* Add: ra = fl(sA/sC), rb = fl(sB/sC), fixed = fl(zC - fma(ra, zA, fl(rb*zB))); q =
 * clamp(rint(fma(a, ra, fma(b, rb, fixed))), lo, hi). The result includes the zero point zC. The
 * order of the operands matters: docs/arithmetic.md 3.1. */
typedef struct itg_f32_add {
    float ra, rb, fixed;
} itg_f32_add;
itg_f32_add itg_f32_add_derive(float sa, int64_t za, float sb, int64_t zb, float sc, int64_t zc);
int64_t itg_f32_add_apply(const itg_f32_add *k, int64_t a, int64_t b, int64_t lo, int64_t hi);

/* Mul: ratio = fl(fl(sA*sB)/sC); q = clamp(rint(fl(fl(fl(v)*ratio) + zC)), lo, hi) of the exact
 * product v = (a-zA)*(b-zB). */
typedef struct itg_f32_mul {
    float ratio, zero;
} itg_f32_mul;
itg_f32_mul itg_f32_mul_derive(float sa, float sb, float sc, int64_t zc);
int64_t itg_f32_mul_apply(const itg_f32_mul *k, int64_t v, int64_t lo, int64_t hi);

/* Means: q = clamp(rint(fl(fl(x/scale) + zero_point)), qmin, qmax). Unlike itg_quantize_f32 the
 * zero point is added before rounding. */
int64_t itg_quantize_mean_f32(float x, float scale, int64_t zero_point, int64_t qmin, int64_t qmax);

const char *itg_rounding_name(itg_rounding rounding);     /* "half_even"... */
const char *itg_requant_form_name(itg_requant_form form); /* "tflite_double"... */
bool itg_requant_form_from_name(const char *name, itg_requant_form *out);
#endif
