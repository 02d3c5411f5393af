/* Every function is a fixed sequence of + - * / on doubles, so that IEEE 754 alone determines its
 * bits. docs/arithmetic-math.md states each sequence. A change here changes that page and every
 * table and threshold computed with the function. */
#include "kernels/math.h"
#include "kernels/math_parts.h"

#include <math.h> /* sqrt, floor, ceil, rint (exact by IEEE 754), NAN, INFINITY: nothing transcendental */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const double LOG2_E = 0x1.71547652b82fep+0;
static const double LN2_HI = 0x1.62e42feep-1; /* 32 bits: k * LN2_HI is exact for |k| < 2^21 */
static const double LN2_LO = 0x1.a39ef35793c76p-33;
static const double SQRT_HALF = 0x1.6a09e667f3bcdp-1;
static const double TWO_THIRDS_LO = 0x1.5555555555555p-55; /* 2/3 - (double)(2/3) */

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

/* 2/(2n+1), n = 1.. */
static const double log_terms[] = {
    0x1.5555555555555p-1, 0x1.999999999999ap-2, 0x1.2492492492492p-2, 0x1.c71c71c71c71cp-3,
    0x1.745d1745d1746p-3, 0x1.3b13b13b13b14p-3, 0x1.1111111111111p-3, 0x1.e1e1e1e1e1e1ep-4,
    0x1.af286bca1af28p-4, 0x1.8618618618618p-4, 0x1.642c8590b2164p-4,
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

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

double itg_sqrt(double x)
{
    return x < 0.0 || x != x ? (double)NAN : sqrt(x);
}

double itg_floor(double x)
{
    return floor(x);
}

double itg_ceil(double x)
{
    return ceil(x);
}

double itg_rint(double x)
{
    return rint(x);
}

double itg_frexp(double x, int *exponent)
{
    uint64_t bits = bits_of(x);
    int field = (int)(bits >> 52 & 0x7ff);
    int adjust = 0;
    *exponent = 0;
    if (x == 0.0 || field == 0x7ff) return x;
    if (field == 0) { /* subnormal: scaled up exactly */
        bits = bits_of(x * 0x1p64);
        field = (int)(bits >> 52 & 0x7ff);
        adjust = -64;
    }
    *exponent = field - 1022 + adjust;
    return from_bits((bits & ~((uint64_t)0x7ff << 52)) | (uint64_t)1022 << 52);
}

/* Only the last multiplication can round: the others stay normal, or lose far less than half of
 * 2^-1074. */
double itg_ldexp(double x, int exponent)
{
    for (int i = 0; i < 2 && exponent > 1023; ++i) {
        x *= 0x1p1023;
        exponent -= 1023;
    }
    for (int i = 0; i < 2 && exponent < -1022; ++i) {
        x *= 0x1p-969;
        exponent += 969;
    }
    if (exponent > 1023) exponent = 1023;
    if (exponent < -1022) exponent = -1022;
    return x * from_bits((uint64_t)(exponent + 1023) << 52);
}

/* exp(hi + lo), |lo| far below |hi| */
static double exp_of_sum(double hi, double lo)
{
    if (hi != hi) return (double)NAN;
    if (hi > 710.0) return (double)INFINITY;
    if (hi < -746.0) return 0.0;
    const double scaled = hi * LOG2_E;
    const int k = (int)(scaled + (scaled < 0.0 ? -0.5 : 0.5));
    const double r = ((hi - k * LN2_HI) - k * LN2_LO) + lo;
    const double tail = (r * r) * polynomial(r, exp_terms, COUNT(exp_terms));
    return itg_ldexp(1.0 + (r + tail), k);
}

double itg_exp(double x)
{
    return exp_of_sum(x, 0.0);
}

/* x = m * 2^*k with sqrt(1/2) <= m < sqrt(2); x positive and finite */
static double log_reduce(double x, int *k)
{
    double m = itg_frexp(x, k);
    if (m < SQRT_HALF) {
        m = m + m;
        *k -= 1;
    }
    return m;
}

/* Handles arguments without a reduction: NaN, negative, 0, infinity. */
static bool log_special(double x, double *out)
{
    if (x != x || x < 0.0) {
        *out = (double)NAN;
    } else if (x == 0.0) {
        *out = -(double)INFINITY;
    } else if (x == (double)INFINITY) {
        *out = x;
    } else {
        return false;
    }
    return true;
}

/* log(m) + k ln 2 by log(m) = f - f^2/2 + s (f^2/2 + R), f = m - 1, s = f/(2 + f), R = 2s^2/3 +
 * 2s^4/5 + ... */
static double log_of_parts(double m, int k)
{
    const double f = m - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double series = z * polynomial(z, log_terms, COUNT(log_terms));
    const double half = (0.5 * f) * f;
    const double low = s * (half + series) + k * LN2_LO;
    return k * LN2_HI - ((half - low) - f);
}

double itg_log(double x)
{
    double special;
    int k;
    if (log_special(x, &special)) return special;
    const double m = log_reduce(x, &k);
    return log_of_parts(m, k);
}

/* u / (w - 1) cancels the rounding error of 1 + u (Kahan). */
double itg_log1p(double u)
{
    const double w = 1.0 + u;
    return w == 1.0 ? u : itg_log(w) * (u / (w - 1.0));
}

double itg_log2(double x)
{
    double special;
    int k;
    if (log_special(x, &special)) return special;
    const double m = log_reduce(x, &k);
    return k + log_of_parts(m, 0) * LOG2_E;
}

double itg_erf(double x)
{
    const double a = x < 0.0 ? -x : x;
    if (x != x) return (double)NAN;
    if (a < 1.0) {
        const double two_over_sqrt_pi = 0x1.20dd750429b6dp+0;
        return (x * polynomial(x * x, erf_terms, COUNT(erf_terms))) * two_over_sqrt_pi;
    }
    double magnitude = 1.0;
    if (a < 6.0) {
        const double u = (a - 3.0) / (a + 3.0);
        magnitude = 1.0 - itg_exp(-(a * a)) * polynomial(u, erfc_terms, COUNT(erfc_terms));
    }
    return x < 0.0 ? -magnitude : magnitude;
}

/* Below 0.625 uses the diagonal Pade approximant of exp(2x) of order 8. All its integer terms are
 * positive. */
double itg_tanh(double x)
{
    const double a = x < 0.0 ? -x : x;
    if (x != x) return (double)NAN;
    if (a < 0.625) {
        const double z = x * x;
        const double above = ((36.0 * z + 6930.0) * z + 270270.0) * z + 2027025.0;
        const double below = (((z + 630.0) * z + 51975.0) * z + 945945.0) * z + 2027025.0;
        return x * (above / below);
    }
    double magnitude = 1.0;
    if (a < 20.0) magnitude = 1.0 - 2.0 / (itg_exp(a + a) + 1.0);
    return x < 0.0 ? -magnitude : magnitude;
}

double itg_sigmoid(double x)
{
    if (x >= 0.0) return 1.0 / (1.0 + itg_exp(-x));
    const double e = itg_exp(x);
    return e / (1.0 + e);
}

/* ---- pow: the logarithm as an unevaluated sum of two doubles (Dekker 1971) ---- */
typedef struct pair {
    double hi, lo;
} pair;

static pair two_sum(double a, double b)
{
    const double sum = a + b;
    const double virtual_b = sum - a;
    const double virtual_a = sum - virtual_b;
    return (pair){sum, (a - virtual_a) + (b - virtual_b)};
}

static double upper_half(double a)
{
    const double c = 0x1.0000002p+27 * a; /* 2^27 + 1 */
    return c - (c - a);
}

static pair two_product(double a, double b)
{
    const double product = a * b;
    const double ah = upper_half(a), bh = upper_half(b);
    const double al = a - ah, bl = b - bh;
    return (pair){product, ((ah * bh - product) + ah * bl + al * bh) + al * bl};
}

static pair pair_product(pair a, pair b)
{
    const pair p = two_product(a.hi, b.hi);
    return two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

/* log(x) for positive finite x: the first two terms of the series as pairs, the rest in double. */
static pair log_pair(double x)
{
    int k;
    const double f = log_reduce(x, &k) - 1.0;
    const pair d = two_sum(2.0, f);
    const double q = f / d.hi;
    const pair back = two_product(q, d.hi);
    const pair s = two_sum(q, (((f - back.hi) - back.lo) - q * d.lo) / d.hi);
    const pair z = pair_product(s, s);
    const pair cubic = pair_product(pair_product(z, s), (pair){log_terms[0], TWO_THIRDS_LO});
    const double tail =
        (s.hi * (z.hi * z.hi)) * polynomial(z.hi, log_terms + 1, COUNT(log_terms) - 1);
    const pair first = two_sum(2.0 * s.hi, cubic.hi);
    const double first_lo = first.lo + ((2.0 * s.lo + cubic.lo) + tail);
    const pair sum = two_sum(k * LN2_HI, first.hi);
    return two_sum(sum.hi, sum.lo + (first_lo + k * LN2_LO));
}

static bool is_integer(double y)
{
    return itg_floor(y) == y;
}

static bool is_odd(double y)
{
    return is_integer(y) && !is_integer(0.5 * y);
}

/* Computes powers with an exact or direct form. */
static bool pow_direct(double x, double y, double *out)
{
    if (y == 1.0) {
        *out = x;
    } else if (y == 2.0) {
        *out = x * x;
    } else if (y == 3.0) {
        *out = (x * x) * x;
    } else if (y == 4.0) {
        *out = (x * x) * (x * x);
    } else if (y == -1.0) {
        *out = 1.0 / x;
    } else if (y == 0.5) {
        *out = x == -(double)INFINITY ? (double)INFINITY : itg_sqrt(x) + 0.0; /* -0 gives +0 */
    } else {
        return false;
    }
    return true;
}

/* The special cases of C11 F.10.4.4. */
double itg_pow(double x, double y)
{
    double out;
    if (y == 0.0 || x == 1.0) return 1.0;
    if (x != x || y != y) return (double)NAN;
    if (pow_direct(x, y, &out)) return out;
    const double a = x < 0.0 ? -x : x;
    const double sign = bits_of(x) >> 63 && is_odd(y) ? -1.0 : 1.0;
    const double extreme = (a > 1.0) == (y > 0.0) ? (double)INFINITY : 0.0;
    const double y_magnitude = y < 0.0 ? -y : y;
    if (a == 0.0 || a == (double)INFINITY) return sign * extreme;
    if (x < 0.0 && !is_integer(y)) return (double)NAN;
    if (a == 1.0) return sign;
    if (y_magnitude >= 0x1p64) return extreme; /* y is even or infinite; |log(a)| >= 2^-53 */
    const pair logarithm = log_pair(a);
    const pair product = two_product(logarithm.hi, y);
    return sign * exp_of_sum(product.hi, product.lo + logarithm.lo * y);
}
