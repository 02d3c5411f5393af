/* The roundings as macros of operators, for scalars of any width and for vectors. requant.c,
 * requant_span.c and the lanes of accel all use them.
 *
 * round(p / 2^s) = (p + term) >> s, >> being arithmetic (the floor)
 *
 * where p + term does not overflow. half = ITG_ROUND_HALF(1, s); keep is -1 where s > 0 and 0 where
 * s = 0, so that a shift by nothing rounds nothing; odd = (p >> s) & 1; sign = -1 where p < 0, else
 * 0. With a constant `rounding` only its own term remains. */
#ifndef ITG_ROUNDING_H
#define ITG_ROUNDING_H
#include "kernels/clones.h"
#include <intaglio/types.h>
#include <string.h>

#define ITG_ROUND_HALF(one, s) (((one) << (s)) >> 1)
#define ITG_ROUND_TERM(rounding, half, keep, odd, sign)                                            \
    (ITG_ROUND_CONSTANT(rounding, half) + ITG_ROUND_REST(rounding, half, keep, odd, sign))
/* The part of the term that does not depend on p, and the rest. */
#define ITG_ROUND_CONSTANT(rounding, half)                                                         \
    ((rounding) == ITG_ROUND_FLOOR ? (half) ^ (half) : (half))
#define ITG_ROUND_REST(rounding, half, keep, odd, sign)                                            \
    ((rounding) == ITG_ROUND_HALF_EVEN   ? (keep) & ((odd)-1)                                      \
     : (rounding) == ITG_ROUND_HALF_AWAY ? (keep) & (sign)                                         \
                                         : (half) ^ (half))

/* x + c for float rounding to the nearest integer, half to even: the sum has no bits below the
 * point. |x| <= 2^22 with the first constant (float), 0 <= x < 2^52 with the second (double). Less
 * c, the sum is the integer; so is the difference of their bit patterns with the first. */
#define ITG_NO_FRACTION_F32 12582912.0F        /* 1.5 * 2^23 */
#define ITG_NO_FRACTION_F64 4503599627370496.0 /* 2^52 */

/* The integer nearest to p, half to even, within [low, high], which are integers of at most 2^22. p
 * is no NaN. */
ITG_INLINE int32_t itg_nearest_f32(float p, float low, float high)
{
    int32_t bits = 0, zero = 0;
    const float no_fraction = ITG_NO_FRACTION_F32;
    p = p < low ? low : p;
    p = p > high ? high : p;
    p += no_fraction;
    memcpy(&bits, &p, sizeof bits);
    memcpy(&zero, &no_fraction, sizeof zero);
    return bits - zero;
}

/* round(p / 2^s), 0 <= s <= 62, |p| <= 2^62, from its constants. */
static inline int64_t itg_round_shift_by(int64_t p, int64_t s, int64_t half, int64_t keep,
                                         itg_rounding rounding)
{
    return (p + ITG_ROUND_TERM(rounding, half, keep, (p >> s) & 1, p >> 63)) >> s;
}

static inline int64_t itg_round_shift_64(int64_t p, int32_t s, itg_rounding rounding)
{
    return itg_round_shift_by(p, s, ITG_ROUND_HALF((int64_t)1, s), s > 0 ? -1 : 0, rounding);
}
#endif
