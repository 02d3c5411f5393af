/* Every function is a fixed sequence of + - * / on doubles, so that IEEE 754 alone determines its
 * bits. docs/arithmetic-math.md states each sequence. A change here changes that page and every
 * table and threshold computed with the function. */
#include "kernels/math.h"
#include "kernels/math_lines.h"

#include <math.h> /* sqrt, floor, ceil, rint (exact by IEEE 754), NAN, INFINITY: nothing transcendental */
#include <stdbool.h>
#include <stdint.h>

static const double SQRT_HALF = 0x1.6a09e667f3bcdp-1;
static const double TWO_THIRDS_LO = 0x1.5555555555555p-55; /* 2/3 - (double)(2/3) */

/* 2/(2n+1), n = 1.. */
static const double log_terms[] = {
    0x1.5555555555555p-1, 0x1.999999999999ap-2, 0x1.2492492492492p-2, 0x1.c71c71c71c71cp-3,
    0x1.745d1745d1746p-3, 0x1.3b13b13b13b14p-3, 0x1.1111111111111p-3, 0x1.e1e1e1e1e1e1ep-4,
    0x1.af286bca1af28p-4, 0x1.8618618618618p-4, 0x1.642c8590b2164p-4,
};

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
    return erf_of(x);
}

double itg_tanh(double x)
{
    return tanh_of(x);
}

double itg_sigmoid(double x)
{
    return sigmoid_of(x);
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
