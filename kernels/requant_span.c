/* Requantization of arrays. The fast loops are exact. Stages: a bound of every intermediate product
 * is computed first; if all stay within 2^62, 64-bit arithmetic equals the unbounded arithmetic of
 * requant.c. Float: clamping to integers that float32 holds commutes with rounding. The result lies
 * within 2^22, where adding 1.5 * 2^23 rounds half to even. */
#include "kernels/requant_span.h"
#include "kernels/rounding.h"
#include "kernels/clones.h"

static const uint64_t EXACT_LIMIT = (uint64_t)1 << 62;
static const int64_t FLOAT_LIMIT = (int64_t)1 << 22;

static uint64_t magnitude(int64_t v)
{
    return v < 0 ? (uint64_t)0 - (uint64_t)v : (uint64_t)v;
}

/* Whether every product stays within 2^62 for |acc| <= bound. */
static bool stages_fit(const itg_requant *r, uint64_t bound)
{
    for (int32_t i = 0; i < r->stage_count; i++) {
        const itg_requant_stage *stage = &r->stage[i];
        uint64_t m = magnitude(stage->multiplier);
        int32_t shift = stage->shift;
        if (shift < -62 || shift > 62) return false;
        if (m > EXACT_LIMIT || (m > 0 && bound > EXACT_LIMIT / m)) return false;
        bound *= m;
        if (shift < 0 && (m > (EXACT_LIMIT >> -shift) || bound > (EXACT_LIMIT >> -shift)))
            return false;
        bound = shift < 0 ? bound << -shift : (bound >> shift) + 1;
    }
    return true;
}

ITG_INLINE void multiply_shift(int64_t m, int32_t s, itg_rounding rounding, int64_t *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        v[i] = itg_round_shift_64(v[i] * m, s, rounding);
}

/* Applies one right-shift stage. Each rounding has its own loop, in which it is a constant. */
ITG_INLINE void stage_right(const itg_requant_stage *stage, int64_t *v, int64_t n)
{
    const int64_t m = stage->multiplier;
    const int32_t s = stage->shift;
    switch (stage->rounding) {
    case ITG_ROUND_HALF_EVEN:
        multiply_shift(m, s, ITG_ROUND_HALF_EVEN, v, n);
        break;
    case ITG_ROUND_HALF_UP:
        multiply_shift(m, s, ITG_ROUND_HALF_UP, v, n);
        break;
    case ITG_ROUND_HALF_AWAY:
        multiply_shift(m, s, ITG_ROUND_HALF_AWAY, v, n);
        break;
    default:
        multiply_shift(m, s, ITG_ROUND_FLOOR, v, n);
    }
}

ITG_CLONES
static void run_stages(const itg_requant *r, int64_t *v, int64_t n)
{
    for (int32_t k = 0; k < r->stage_count; k++) {
        const itg_requant_stage *stage = &r->stage[k];
        if (stage->shift >= 0) {
            stage_right(stage, v, n);
        } else {
            const int64_t factor = stage->multiplier * ((int64_t)1 << -stage->shift);
            for (int64_t i = 0; i < n; i++)
                v[i] *= factor;
        }
    }
}

ITG_CLONES
static void clamp_codes(const int64_t *v, int64_t n, int64_t zero_point, int64_t lo, int64_t hi,
                        int32_t *q)
{
    const int64_t low = lo - zero_point, high = hi - zero_point;
    for (int64_t i = 0; i < n; i++) {
        int64_t c = v[i] < low ? low : v[i];
        c = c > high ? high : c;
        q[i] = (int32_t)(c + zero_point);
    }
}

ITG_CLONES
static void run_f32(float ratio, const int32_t *acc, int64_t n, float low, float high,
                    int32_t zero_point, int32_t *q)
{
    for (int64_t i = 0; i < n; i++) {
        float p = (float)acc[i] * ratio;
        q[i] = itg_nearest_f32(p, low, high) + zero_point;
    }
}

static bool f32_fits(int64_t zero_point, int64_t lo, int64_t hi)
{
    return lo <= hi && lo - zero_point >= -FLOAT_LIMIT && hi - zero_point <= FLOAT_LIMIT;
}

static int32_t one(const itg_requant *r, int64_t acc, int64_t zero_point, int64_t lo, int64_t hi)
{
    int64_t v = itg_clamp(itg_requant_apply(r, acc), INT64_MIN / 2, INT64_MAX / 2);
    return (int32_t)itg_clamp(v + zero_point, lo, hi);
}

ITG_CLONES
static uint64_t largest(const int64_t *v, int64_t n)
{
    int64_t low = 0, high = 0;
    for (int64_t i = 0; i < n; i++) {
        low = v[i] < low ? v[i] : low;
        high = v[i] > high ? v[i] : high;
    }
    uint64_t below = magnitude(low);
    return below > (uint64_t)high ? below : (uint64_t)high;
}

ITG_CLONES
static void narrow(const int64_t *v, int64_t n, int32_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (int32_t)v[i];
}

void itg_requant_span64(const itg_requant *r, const int64_t *acc, int64_t n, int64_t zero_point,
                        int64_t lo, int64_t hi, int32_t *q)
{
    uint64_t bound = largest(acc, n);
    if (r->is_f32 && bound <= INT32_MAX && f32_fits(zero_point, lo, hi)) {
        int32_t v[ITG_SPAN];
        narrow(acc, n, v);
        run_f32(r->ratio, v, n, (float)(lo - zero_point), (float)(hi - zero_point),
                (int32_t)zero_point, q);
    } else if (!r->is_f32 && stages_fit(r, bound)) {
        int64_t v[ITG_SPAN];
        for (int64_t i = 0; i < n; i++)
            v[i] = acc[i];
        run_stages(r, v, n);
        clamp_codes(v, n, zero_point, lo, hi, q);
    } else {
        for (int64_t i = 0; i < n; i++)
            q[i] = one(r, acc[i], zero_point, lo, hi);
    }
}

/* fl(a * b + c). It is rounded once, unless *inexact grows; then c is not finite or far from a * b,
 * and only itg_fma_f32 rounds once. */
ITG_INLINE float fma_f32(float a, float b, float c, double *inexact)
{
    double product = (double)a * (double)b, addend = (double)c, sum = product + addend;
    double part = sum - product, error = (product - (sum - part)) + (addend - part);
    *inexact += error < 0 ? -error : error;
    return (float)sum;
}

/* False: some sum was not exact, and q must not be used. */
ITG_CLONES
static bool run_f32_add(const itg_f32_add *k, const int32_t *a, const int32_t *b, int64_t n,
                        float low, float high, int32_t *q)
{
    const float ra = k->ra, rb = k->rb, fixed = k->fixed;
    double inexact[ITG_SPAN];
    for (int64_t i = 0; i < n; i++) {
        inexact[i] = 0;
        float second = fma_f32((float)b[i], rb, fixed, &inexact[i]);
        float p = fma_f32((float)a[i], ra, second, &inexact[i]);
        q[i] = itg_nearest_f32(p, low, high);
    }
    bool exact = true;
    for (int64_t i = 0; i < n; i++)
        exact &= inexact[i] == 0;
    return exact;
}

void itg_f32_add_span(const itg_f32_add *k, const int32_t *a, const int32_t *b, int64_t n,
                      int64_t lo, int64_t hi, int32_t *q)
{
    const float large = 1e28F; /* 2^31 times this is finite, so no infinities are subtracted */
    if (f32_fits(0, lo, hi) && k->ra < large && k->rb < large && k->fixed < large &&
        k->fixed > -large && run_f32_add(k, a, b, n, (float)lo, (float)hi, q))
        return;
    for (int64_t i = 0; i < n; i++)
        q[i] = (int32_t)itg_f32_add_apply(k, a[i], b[i], lo, hi);
}

ITG_CLONES
static void run_f32_mul(const itg_f32_mul *k, const int32_t *v, int64_t n, float low, float high,
                        int32_t *q)
{
    const float ratio = k->ratio, zero = k->zero;
    for (int64_t i = 0; i < n; i++) {
        float scaled = (float)v[i] * ratio, p = scaled + zero;
        q[i] = itg_nearest_f32(p, low, high);
    }
}

void itg_f32_mul_span(const itg_f32_mul *k, const int64_t *v, int64_t n, int64_t lo, int64_t hi,
                      int32_t *q)
{
    if (f32_fits(0, lo, hi) && k->ratio < 1e28F && largest(v, n) <= INT32_MAX) {
        int32_t narrowed[ITG_SPAN];
        narrow(v, n, narrowed);
        run_f32_mul(k, narrowed, n, (float)lo, (float)hi, q);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        q[i] = (int32_t)itg_f32_mul_apply(k, v[i], lo, hi);
}
