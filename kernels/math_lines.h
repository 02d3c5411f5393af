/* Private to kernels/: exp, erf, tanh and the sigmoid without branches, so that loops over them
 * become vectors. Where a branch would choose, all is computed, and `pick` chooses by bits: a
 * compiler that may not assume anything of exceptions leaves conditional expressions as branches.
 * The same functions serve single numbers (math.c). */
#ifndef ITG_MATH_LINES_H
#define ITG_MATH_LINES_H
#include "kernels/clones.h"
#include "kernels/math_parts.h"

#include <math.h> /* NAN, INFINITY */
#include <string.h>

static const double LOG2_E = 0x1.71547652b82fep+0;
static const double LN2_HI = 0x1.62e42feep-1; /* 32 bits: k * LN2_HI is exact for |k| < 2^21 */
static const double LN2_LO = 0x1.a39ef35793c76p-33;

/* 1/n!, n = 2.. */
static const double exp_terms[] = {
    0x1p-1,
    0x1.5555555555555p-3,
    0x1.5555555555555p-5,
    0x1.1111111111111p-7,
    0x1.6c16c16c16c17p-10,
    0x1.a01a01a01a01ap-13,
    0x1.a01a01a01a01ap-16,
    0x1.71de3a556c734p-19,
    0x1.27e4fb7789f5cp-22,
    0x1.ae64567f544e4p-26,
    0x1.1eed8eff8d898p-29,
    0x1.6124613a86d09p-33,
};

/* (-1)^n/(n!(2n+1)), n = 0.. */
static const double erf_terms[] = {
    0x1p+0,
    -0x1.5555555555555p-2,
    0x1.999999999999ap-4,
    -0x1.8618618618618p-6,
    0x1.2f684bda12f68p-8,
    -0x1.8d3018d3018d3p-11,
    0x1.c01c01c01c01cp-14,
    -0x1.bbd779334ef0bp-17,
    0x1.87a00187a0018p-20,
    -0x1.3777c55568ccdp-23,
    0x1.c2e3054870b38p-27,
    -0x1.2b67310aa9f3ap-30,
    0x1.6f448e13e85e1p-34,
    -0x1.a289ee7e40f74p-38,
    0x1.bd577e658d020p-42,
    -0x1.bc6250fb14231p-46,
    0x1.a173a167fba4dp-50,
    -0x1.7271cbe5863ecp-54,
    0x1.377c2110f2083p-58,
    -0x1.f1b4073b34a68p-63,
};

/* erfc(x) * exp(x^2) as a polynomial in (x - 3)/(x + 3), interpolated at the Chebyshev nodes of 1
 * <= x <= 6 */
static const double erfc_terms[] = {
    0x1.6e9827d229d2dp-3,   -0x1.4e102b9cf8513p-2, 0x1.f6ff204105976p-3,  -0x1.336ffbef08b18p-3,
    0x1.258b13b017934p-4,   -0x1.8fa58eb5e1d42p-6, 0x1.17c838eec7b56p-8,  0x1.73101ea1b3803p-11,
    -0x1.39084c8034bb3p-11, 0x1.7ba0ce14ddbbep-15, 0x1.0cac3a11fe28fp-14, -0x1.af7cf3e087bcfp-17,
    -0x1.0bafe44deb848p-17, 0x1.1b86fc353f5b6p-19, 0x1.4e75dccc737abp-20, -0x1.20ffd2643b2abp-22,
    -0x1.b521f5e62b937p-23,
};

ITG_INLINE uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

ITG_INLINE double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* a where the condition holds, else b */
ITG_INLINE double pick(int condition, double a, double b)
{
    const uint64_t mask = -(uint64_t)condition;
    return from_bits((bits_of(a) & mask) | (bits_of(b) & ~mask));
}

ITG_INLINE double magnitude_of(double x)
{
    return pick(x < 0.0, -x, x);
}

/* x * 2^k for -1077 <= k <= 1025, rounded once, as itg_ldexp. */
ITG_INLINE double scaled_by(double x, int k)
{
    const int large = k > 1023, small = k < -1022;
    const double first = pick(large, 0x1p1023, pick(small, 0x1p-969, 1.0));
    const int rest = k - (-large & 1023) + (-small & 969);
    return (x * first) * from_bits((uint64_t)(int64_t)(rest + 1023) << 52);
}

/* exp(r) for |r| of half of ln 2 and little more */
ITG_INLINE double exp_of_rest(double r)
{
    return 1.0 + (r + (r * r) * polynomial(r, exp_terms, COUNT(exp_terms)));
}

/* exp_of_sum(x, 0) for x of ORDINARY_EXPONENT to 0: no overflow, no subnormal number, no NaN. */
#define ORDINARY_EXPONENT (-708.0)
ITG_INLINE double exp_of_ordinary(double x)
{
    const int k = (int)(x * LOG2_E - 0.5);
    const double r = (x - k * LN2_HI) - k * LN2_LO;
    return exp_of_rest(r) * from_bits((uint64_t)(int64_t)(k + 1023) << 52);
}

/* exp(hi + lo), |lo| far below |hi| */
ITG_INLINE double exp_of_sum(double hi, double lo)
{
    const int above = hi > 710.0, below = hi < -746.0;
    const double x = pick(above | below | (hi != hi), 0.0, hi);
    const double scaled = x * LOG2_E;
    const int k = (int)(scaled + pick(scaled < 0.0, -0.5, 0.5));
    const double r = ((x - k * LN2_HI) - k * LN2_LO) + lo;
    const double y = pick(above, (double)INFINITY, scaled_by(exp_of_rest(r), k));
    return pick(hi != hi, (double)NAN, pick(below, 0.0, y));
}

ITG_INLINE double erf_of(double x)
{
    const double two_over_sqrt_pi = 0x1.20dd750429b6dp+0;
    const double a = magnitude_of(x), u = (a - 3.0) / (a + 3.0);
    const double small = (x * polynomial(x * x, erf_terms, COUNT(erf_terms))) * two_over_sqrt_pi;
    const double near =
        1.0 - exp_of_sum(-(a * a), 0.0) * polynomial(u, erfc_terms, COUNT(erfc_terms));
    const double magnitude = pick(a < 6.0, near, 1.0);
    const double y = pick(a < 1.0, small, pick(x < 0.0, -magnitude, magnitude));
    return pick(x != x, (double)NAN, y);
}

/* Below 0.625 uses the diagonal Pade approximant of exp(2x) of order 8. All its integer terms are
 * positive. */
ITG_INLINE double tanh_of(double x)
{
    const double a = magnitude_of(x), z = x * x;
    const double above = ((36.0 * z + 6930.0) * z + 270270.0) * z + 2027025.0;
    const double below = (((z + 630.0) * z + 51975.0) * z + 945945.0) * z + 2027025.0;
    const double near = 1.0 - 2.0 / (exp_of_sum(a + a, 0.0) + 1.0);
    const double magnitude = pick(a < 20.0, near, 1.0);
    const double y = pick(a < 0.625, x * (above / below), pick(x < 0.0, -magnitude, magnitude));
    return pick(x != x, (double)NAN, y);
}

ITG_INLINE double sigmoid_of(double x)
{
    const double e = exp_of_sum(pick(x >= 0.0, -x, x), 0.0);
    return pick(x >= 0.0, 1.0, e) / (1.0 + e);
}
#endif
