/* Formulas of docs/arithmetic.md that several simulation tests need, written again, and the pieces
 * of their chips. */
#ifndef ITG_TEST_SIM_FORMULAS_H
#define ITG_TEST_SIM_FORMULAS_H
#include "case.h"
#include "kernels/requant.h"

#define FLOATS(...) ((const float[]){__VA_ARGS__})
#define U8 "'u8':{'storage':'u8','bits':[2,8],'zero_point':true}"
#define S8 "'s8':{'storage':'s8','bits':[2,8]}"
#define W "'w':{'storage':'s8','bits':[2,8]}"
#define F32 "'r':{'form':'f32'}"
#define TFLITE "'r':{'form':'tflite_double'}"
#define ONE(op, form, extra)                                                                       \
    "'" op "':[{'arithmetic':'" form "','inputs':['u8'],'outputs':['u8']" extra "}]"
#define KEEP(op) "'" op "':[{'arithmetic':'keep_scale','inputs':['u8']}]"

/* round(v / by), by > 0 */
int64_t divide(int64_t v, int64_t by, itg_rounding rounding);
/* requant(v) of form tflite_double (4) */
int64_t tflite(int64_t v, double ratio);
/* Where an exact sum leaves the accumulator (3); saturate also after every addition, by whoever
 * adds. */
int64_t fit(int64_t v, int bits, bool saturate);
float real_of(int64_t x, const itg_quantizer *q);
/* Add (sign 1) and Sub (-1) of form f32 (3.1), before the clip. */
int64_t float_sum_code(int64_t x, int64_t y, const itg_quantizer *a, const itg_quantizer *b,
                       const itg_quantizer *o, int sign);
void random_floats(itg_rng *rng, float *out, int64_t n, double spread);
#endif
