#include "formulas.h"
#include <math.h>

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t divide(int64_t v, int64_t by, itg_rounding rounding)
{
    int64_t down = floor_divide(v, by), rest = v - down * by; /* 0 <= rest < by */
    switch (rounding) {
    case ITG_ROUND_FLOOR:
        return down;
    case ITG_ROUND_HALF_UP:
        return down + (2 * rest >= by);
    case ITG_ROUND_HALF_AWAY:
        return down + (2 * rest > by || (2 * rest == by && v > 0));
    default:
        return down + (2 * rest > by || (2 * rest == by && down % 2 != 0));
    }
}

int64_t tflite(int64_t v, double ratio)
{
    int e;
    double f = frexp(ratio, &e);
    int64_t m = (int64_t)floor(ldexp(f, 31) + 0.5);
    if (m == (int64_t)1 << 31) {
        m /= 2;
        e++;
    }
    if (e > 0) v *= (int64_t)1 << e;
    int64_t high = divide(v * m, (int64_t)1 << 31, ITG_ROUND_HALF_UP);
    return e < 0 ? divide(high, (int64_t)1 << -e, ITG_ROUND_HALF_AWAY) : high;
}

/* Where an exact sum leaves the accumulator; saturate also after every addition, by whoever adds.
 */
int64_t fit(int64_t v, int bits, bool saturate)
{
    if (bits == 64) return v;
    int64_t half = (int64_t)1 << (bits - 1);
    if (saturate) return v < -half ? -half : v > half - 1 ? half - 1 : v;
    v = (v + half) % (2 * half);
    return v < 0 ? v + half : v - half;
}

void random_floats(itg_rng *rng, float *out, int64_t n, double spread)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (float)random_real(rng, -spread, spread);
}

float real_of(int64_t x, const itg_quantizer *q)
{
    return (float)(x - q->zero_point) * q->scale[0];
}

int64_t float_sum_code(int64_t x, int64_t y, const itg_quantizer *a, const itg_quantizer *b,
                       const itg_quantizer *o, int sign)
{
    float rx = a->scale[0] / o->scale[0], ry = b->scale[0] / o->scale[0],
          difference = real_of(x, a) - real_of(y, b), steps = difference / o->scale[0];
    if (sign < 0) return (int64_t)nearbyint((double)steps) + o->zero_point;
    float zeros = ry * (float)b->zero_point,
          fixed = (float)o->zero_point - fmaf(rx, (float)a->zero_point, zeros);
    return (int64_t)nearbyint((double)fmaf((float)x, rx, fmaf((float)y, ry, fixed)));
}
