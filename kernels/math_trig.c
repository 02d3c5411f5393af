/* Trigonometric and hyperbolic functions and their inverses, by + - / sqrt only, as in math.c. */
#include "kernels/math.h"
#include "kernels/math_parts.h"

#include <math.h> /* NAN, INFINITY */
#include <stdbool.h>
#include <stdint.h>

static const double HALF_PI = 0x1.921fb54442d18p+0;
static const double QUARTER_PI = 0x1.921fb54442d18p-1;
static const double LN2 = 0x1.62e42fefa39efp-1;

/* (-1)^n/(2n+1)! and (-1)^n/(2n)!, n = 1.. and 2.. */
static const double sin_terms[] = {
    -1.0 / 6,        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,
    -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000,
};
static const double cos_terms[] = {
    1.0 / 24,        -1.0 / 720,         1.0 / 40320,          -1.0 / 3628800,
    1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000,
};
/* (-1)^n/(2n+1), n = 1.. */
static const double atan_terms[] = {
    -1.0 / 3,  1.0 / 5,   -1.0 / 7,  1.0 / 9,   -1.0 / 11, 1.0 / 13,  -1.0 / 15,
    1.0 / 17,  -1.0 / 19, 1.0 / 21,  -1.0 / 23, 1.0 / 25,  -1.0 / 27, 1.0 / 29,
    -1.0 / 31, 1.0 / 33,  -1.0 / 35, 1.0 / 37,  -1.0 / 39, 1.0 / 41,  -1.0 / 43,
};

/* ---- sin, cos, tan ---- */

/* floor(2/pi * 2^1184), the lowest word last */
enum { PI_WORDS = 37, WORDS = 6 };
static const uint32_t two_over_pi[PI_WORDS] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046,
};

/* Returns 32 bits from bit `from` on of a number with words w[0], w[step]..., lowest first. */
static uint32_t bits_from(const uint32_t *w, int step, int count, int from)
{
    const int at = from / 32;
    const uint64_t low = at < count ? w[at * step] : 0,
                   high = at + 1 < count ? w[(at + 1) * step] : 0;
    return (uint32_t)((low | high << 32) >> from % 32);
}

/* out = m * w mod 2^192, lowest word first */
static void multiply(uint64_t m, const uint32_t *w, uint32_t *out)
{
    for (int i = 0; i < WORDS; ++i)
        out[i] = 0;
    for (int k = 0; k < 2; ++k) {
        const uint64_t factor = m >> 32 * k & 0xffffffff;
        uint64_t carry = 0;
        for (int i = k; i < WORDS; ++i) {
            carry += factor * w[i - k] + out[i];
            out[i] = (uint32_t)carry;
            carry >>= 32;
        }
    }
}

static void negate(uint32_t *w)
{
    uint64_t carry = 1;
    for (int i = 0; i < WORDS; ++i) {
        carry += ~w[i];
        w[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* The leading 53 bits of w, times 2^-190. */
static double leading_bits(const uint32_t *w)
{
    int length = 32 * WORDS;
    while (length > 53 && !(bits_from(w, 1, WORDS, length - 1) & 1))
        --length;
    const uint64_t high = bits_from(w, 1, WORDS, length - 21),
                   low = bits_from(w, 1, WORDS, length - 53);
    return itg_ldexp((double)((high & 0x1fffff) << 32 | low), length - 53 - 190);
}

/* x = r + q * pi/2, |r| <= pi/4 (Payne and Hanek 1983). Above pi/4 the product of x and 2/pi is
 * formed modulo 4 in fixed point with 190 bits behind the point, wrong by less than 2^-137; no
 * double is nearer than 2^-62 to a multiple of pi/2. */
static double reduce_angle(double x, int *quadrant)
{
    const double magnitude = x < 0.0 ? -x : x;
    *quadrant = 0;
    if (magnitude <= QUARTER_PI) return x;
    if (!(magnitude < (double)INFINITY)) return (double)NAN;
    int e;
    const uint64_t m = (uint64_t)(itg_frexp(magnitude, &e) * 0x1p53);
    uint32_t window[WORDS], y[WORDS];
    for (int i = 0; i < WORDS; ++i)
        window[i] = bits_from(two_over_pi + PI_WORDS - 1, -1, PI_WORDS, 994 - (e - 53) + 32 * i);
    multiply(m, window, y);
    const int q = (int)((y[WORDS - 1] + 0x20000000u) >> 30);
    y[WORDS - 1] -= (uint32_t)q << 30;
    const bool negative = y[WORDS - 1] >> 31;
    if (negative) negate(y);
    const double r = leading_bits(y) * HALF_PI;
    *quadrant = x < 0.0 ? -q & 3 : q;
    return negative == (x < 0.0) ? r : -r;
}

static double sin_near(double r)
{
    const double z = r * r;
    return r + r * (z * polynomial(z, sin_terms, COUNT(sin_terms)));
}

static double cos_near(double r)
{
    const double z = r * r;
    return 1.0 - (0.5 * z - z * (z * polynomial(z, cos_terms, COUNT(cos_terms))));
}

static double quarter_turns(double r, int quadrant)
{
    const double magnitude = quadrant & 1 ? cos_near(r) : sin_near(r);
    return quadrant & 2 ? -magnitude : magnitude;
}

double itg_sin(double x)
{
    int quadrant;
    if (x == 0.0) return x;
    const double r = reduce_angle(x, &quadrant);
    return quarter_turns(r, quadrant);
}

double itg_cos(double x)
{
    int quadrant;
    const double r = reduce_angle(x, &quadrant);
    return quarter_turns(r, quadrant + 1);
}

double itg_tan(double x)
{
    int quadrant;
    if (x == 0.0) return x;
    const double r = reduce_angle(x, &quadrant);
    return quadrant & 1 ? -(cos_near(r) / sin_near(r)) : sin_near(r) / cos_near(r);
}

/* ---- asin, acos, atan ---- */

/* atan(x) = atan(c) + atan((x - c)/(1 + c*x)) for the nearest c of 0, 1/2, 1, 3/2 and infinity */
static double atan_positive(double x)
{
    static const struct {
        double up_to, c, hi, lo;
    } parts[] = {
        {0.4375, 0.0, 0.0, 0.0},
        {0.6875, 0.5, 0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
        {1.1875, 1.0, 0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55},
        {2.4375, 1.5, 0x1.f730bd281f69bp-1, 0x1.007887af0cbbdp-56},
        {(double)INFINITY, 0.0, 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54},
    };
    int i = 0;
    while (x > parts[i].up_to)
        ++i;
    const double c = parts[i].c;
    const double t = i == COUNT(parts) - 1 ? -1.0 / x : (x - c) / (1.0 + c * x);
    const double z = t * t;
    const double rest = t * (z * polynomial(z, atan_terms, COUNT(atan_terms))) + parts[i].lo;
    return parts[i].hi + (t + rest);
}

double itg_atan(double x)
{
    if (x != x) return (double)NAN;
    return x < 0.0 ? -atan_positive(-x) : x == 0.0 ? x : atan_positive(x);
}

double itg_asin(double x)
{
    return 2.0 * itg_atan(x / (1.0 + itg_sqrt((1.0 - x) * (1.0 + x))));
}

double itg_acos(double x)
{
    return 2.0 * itg_atan(itg_sqrt((1.0 - x) / (1.0 + x)));
}

/* ---- hyperbolic functions ---- */

double itg_sinh(double x)
{
    const double a = x < 0.0 ? -x : x;
    if (a < 1.0) {
        const double t = itg_tanh(0.5 * x);
        return (t + t) / ((1.0 - t) * (1.0 + t));
    }
    const double e = itg_exp(a);
    const double magnitude = 0.5 * e - 0.5 / e;
    return x < 0.0 ? -magnitude : magnitude;
}

double itg_cosh(double x)
{
    const double e = itg_exp(x < 0.0 ? -x : x);
    return 0.5 * e + 0.5 / e;
}

double itg_asinh(double x)
{
    const double a = x < 0.0 ? -x : x;
    if (!(a > 0.0)) return x;
    const double square = a * a;
    const double magnitude =
        a > 0x1p28 ? itg_log(a) + LN2 : itg_log1p(a + square / (1.0 + itg_sqrt(1.0 + square)));
    return x < 0.0 ? -magnitude : magnitude;
}

double itg_acosh(double x)
{
    if (!(x >= 1.0)) return (double)NAN;
    const double t = x - 1.0;
    return x > 0x1p28 ? itg_log(x) + LN2 : itg_log1p(t + itg_sqrt(t * (2.0 + t)));
}

double itg_atanh(double x)
{
    const double a = x < 0.0 ? -x : x;
    if (!(a <= 1.0)) return (double)NAN;
    const double magnitude = a == 1.0 ? (double)INFINITY : 0.5 * itg_log1p((a + a) / (1.0 - a));
    return x < 0.0 ? -magnitude : x == 0.0 ? x : magnitude;
}
