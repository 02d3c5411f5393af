/* itg_requant_apply and itg_f32_add_apply for arrays, equal to them in every bit. Common forms have
 * loops that compilers vectorize; the other cases call the scalar functions of requant.h. */
#ifndef ITG_REQUANT_SPAN_H
#define ITG_REQUANT_SPAN_H
#include "kernels/requant.h"

#define ITG_SPAN 256 /* the most values of one call */

/* True if the results fit the 32-bit codes of the functions below. */
static inline bool itg_span_holds(int64_t zero_point, int64_t lo, int64_t hi)
{
    const int64_t limit = INT32_MAX;
    return zero_point >= -limit && zero_point <= limit && lo >= -limit - 1 && hi <= limit;
}

/* q[i] = clamp(itg_requant_apply(r, acc[i]) + zero_point, lo, hi), n <= ITG_SPAN,
 * itg_span_holds(zero_point, lo, hi). */
void itg_requant_span64(const itg_requant *r, const int64_t *acc, int64_t n, int64_t zero_point,
                        int64_t lo, int64_t hi, int32_t *q);
/* q[i] = itg_f32_add_apply(k, a[i], b[i], lo, hi), |a|, |b| below 2^31. */
void itg_f32_add_span(const itg_f32_add *k, const int32_t *a, const int32_t *b, int64_t n,
                      int64_t lo, int64_t hi, int32_t *q);
/* q[i] = itg_f32_mul_apply(k, v[i], lo, hi). */
void itg_f32_mul_span(const itg_f32_mul *k, const int64_t *v, int64_t n, int64_t lo, int64_t hi,
                      int32_t *q);
#endif
