/* The definition of rounding and requantization, with the terms of rounding.h. Every function is
 * exact: it computes in 128 bits and saturates only the final result to int64. */
#include "kernels/requant.h"
#include "kernels/rounding.h"
#include <float.h>
#include <math.h>
#include <string.h>

_Static_assert(FLT_EVAL_METHOD == 0,
               "float expressions must be rounded to float (gcc: -fexcess-precision=fast)");

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

#define WIDE_MAX ((wide)((~(uwide)0) >> 1))

static int64_t saturate(wide v)
{
    return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

/* round(v / 2^shift), shift 0..126. v is saturated to 2^126, which derived constants never exceed.
 * >> is the floor: both compilers shift negative values arithmetically. */
static wide round_shift(wide v, int32_t shift, itg_rounding rounding)
{
    const wide most = (wide)1 << 126, half = ITG_ROUND_HALF((wide)1, shift);
    const wide p = v > most ? most : v < -most ? -most : v, keep = shift > 0 ? -1 : 0;
    return (p + ITG_ROUND_TERM(rounding, half, keep, (p >> shift) & 1, p >> 127)) >> shift;
}

int64_t itg_round_shift_product(int64_t a, int64_t b, int32_t shift, itg_rounding rounding)
{
    return saturate(round_shift((wide)a * b, shift, rounding));
}

/* Whether floor + 1 is the rounded value. twice: -1, 0, 1 as twice the remainder compares with the
 * divisor. The remainder is rounded as a fraction of four by rounding.h. */
static bool rounds_up(bool negative, bool floor_is_odd, bool exact, int twice,
                      itg_rounding rounding)
{
    const int fourths = exact ? 0 : 2 + twice, odd = floor_is_odd, sign = negative ? -1 : 0;
    return (fourths + ITG_ROUND_TERM(rounding, 2, -1, odd, sign)) >> 2 != 0;
}

int64_t itg_round_divide(int64_t numerator, int64_t denominator, itg_rounding rounding)
{
    int64_t quotient = numerator / denominator, remainder = numerator % denominator;
    if (remainder < 0) {
        quotient--;
        remainder += denominator;
    }
    int64_t rest = denominator - remainder;
    int twice = remainder > rest ? 1 : remainder == rest ? 0 : -1;
    return quotient +
           rounds_up(numerator < 0, (quotient & 1) != 0, remainder == 0, twice, rounding);
}

/* Finds the root bit by bit, from the highest possible bit. */
int64_t itg_floor_sqrt(int64_t v)
{
    int64_t root = 0;
    for (int64_t bit = INT64_C(1) << 31; bit > 0; bit >>= 1) {
        const int64_t next =
            root + bit; /* below 2^32; where its square leaves 63 bits it is beyond v */
        if (next <= v / next) root = next;
    }
    return root;
}

/* Adding 2^52 removes all bits below the point; the hardware rounds half to even. */
double itg_round_half_even(double x)
{
    const double no_fraction = ITG_NO_FRACTION_F64;
    double magnitude = x < 0 ? -x : x;
    if (!(magnitude < no_fraction) || x == 0) return x;
    double rounded = (magnitude + no_fraction) - no_fraction;
    return x < 0 ? -rounded : rounded;
}

/* The integer nearest to x, half to even, saturated; NaN gives 0. */
static int64_t nearest(double x)
{
    if (x >= 9223372036854775808.0) return INT64_MAX;
    if (x <= -9223372036854775808.0) return INT64_MIN;
    return x == x ? (int64_t)itg_round_half_even(x) : 0;
}

/* v * m, saturated to 128 bits. Derived constants never reach the division: they have 64 + 31 bits
 * shifted left by at most 31. */
static wide multiply(wide v, int64_t m)
{
    if (v >= INT64_MIN && v <= INT64_MAX) return v * m;
    if (m == 0 || m == 1) return m == 0 ? 0 : v;
    uwide v_size = v < 0 ? (uwide)0 - (uwide)v : (uwide)v;
    uwide m_size = m < 0 ? (uwide)0 - (uwide)(wide)m : (uwide)m;
    if (v_size > (uwide)WIDE_MAX / m_size) return (v < 0) == (m < 0) ? WIDE_MAX : -WIDE_MAX;
    return v * m;
}

static wide shift_left(wide v, int32_t shift)
{
    if (v > (WIDE_MAX >> shift)) return WIDE_MAX;
    if (v < -(WIDE_MAX >> shift)) return -WIDE_MAX;
    return v * ((wide)1 << shift);
}

int64_t itg_requant_apply(const itg_requant *r, int64_t acc)
{
    if (r->is_f32) return nearest((double)((float)acc * r->ratio));
    wide v = acc;
    for (int32_t i = 0; i < r->stage_count; i++) {
        const itg_requant_stage *stage = &r->stage[i];
        v = multiply(v, stage->multiplier);
        v = stage->shift < 0 ? shift_left(v, -stage->shift)
                             : round_shift(v, stage->shift, stage->rounding);
    }
    return saturate(v);
}

/* ---- derivation ---- */

/* ratio = multiplier * 2^(exponent - bits), multiplier in [2^(bits-1), 2^bits): f * 2^bits rounded
 * half away and renormalized. The mantissa's 53 bits are taken as an integer, so nothing is rounded
 * twice. */
static int64_t normalized_multiplier(double ratio, int32_t bits, int32_t *exponent)
{
    int e;
    int64_t mantissa = (int64_t)ldexp(frexp(ratio, &e), 53);
    int64_t m = (mantissa + ((int64_t)1 << (52 - bits))) >> (53 - bits);
    if (m == (int64_t)1 << bits) {
        m /= 2;
        e++;
    }
    *exponent = e;
    return m;
}

static void add_stage(itg_requant *r, int64_t multiplier, int32_t shift, itg_rounding rounding)
{
    r->stage[r->stage_count++] = (itg_requant_stage){multiplier, shift, rounding};
}

/* Returns the shortest pre-shift that brings both ends of [-bound, bound] strictly within
 * 2^(bits-1); 0 if the form has none. */
static int32_t pre_shift(const itg_requant_spec *spec, int64_t bound)
{
    if (spec->pre_shift_bits <= 0 || spec->pre_shift_bits > 63) return 0;
    int64_t limit = (int64_t)1 << (spec->pre_shift_bits - 1);
    int32_t shift = 0;
    while (shift < 62 && (itg_round_shift_product(bound, 1, shift, spec->pre_rounding) >= limit ||
                          itg_round_shift_product(bound, -1, shift, spec->pre_rounding) <= -limit))
        shift++;
    return shift;
}

static itg_status derive_tflite_double(double ratio, itg_requant *out)
{
    int32_t e;
    int64_t m = normalized_multiplier(ratio, 31, &e);
    if (e < -31 || e > 30) return ITG_INFEASIBLE;
    if (e > 0) add_stage(out, 1, -e, ITG_ROUND_HALF_UP);
    add_stage(out, m, 31, ITG_ROUND_HALF_UP);
    if (e < 0) add_stage(out, 1, -e, ITG_ROUND_HALF_AWAY);
    return ITG_OK;
}

static itg_status derive_s64_reduced(double ratio, itg_requant *out)
{
    int32_t e;
    int64_t m = normalized_multiplier(ratio, 31, &e);
    m = m < 0x7FFF0000 ? (m + (1 << 15)) >> 16 : 0x7FFF;
    add_stage(out, m, 15 - e, ITG_ROUND_HALF_UP);
    return ITG_OK;
}

static itg_status derive_shift(const itg_requant_spec *spec, double ratio, itg_requant *out)
{
    int e;
    if (frexp(ratio, &e) != 0.5) return ITG_INFEASIBLE;
    add_stage(out, 1, 1 - e, spec->shift_rounding);
    return ITG_OK;
}

/* Derives PRESHIFT and STAGES, which differ in the position of the shift. A negative shift is
 * folded into the multiply stage: the left shift is exact, so the stage rounds the same
 * quotient. */
static itg_status derive_multiply_shift(const itg_requant_spec *spec, double ratio,
                                        int64_t acc_bound, itg_requant *out)
{
    if (spec->multiplier_bits < 2 || spec->multiplier_bits > 32) return ITG_INFEASIBLE;
    int32_t e, bits = spec->multiplier_bits - 1;
    int64_t m = normalized_multiplier(ratio, bits, &e);
    int32_t pre = pre_shift(spec, acc_bound);
    if (pre > 0) add_stage(out, 1, pre, spec->pre_rounding);
    int32_t total = bits - e - pre;
    bool staged = spec->form == ITG_REQUANT_STAGES;
    if (staged && spec->multiply_shift >= 0 && total > spec->multiply_shift) {
        add_stage(out, m, spec->multiply_shift, spec->multiply_rounding);
        add_stage(out, 1, total - spec->multiply_shift, spec->shift_rounding);
    } else {
        add_stage(out, m, total, staged ? spec->multiply_rounding : spec->shift_rounding);
    }
    return ITG_OK;
}

static itg_status derive_f32(float ratio, itg_requant *out)
{
    if (!(ratio >= FLT_MIN && ratio <= FLT_MAX)) return ITG_INFEASIBLE;
    out->is_f32 = true;
    out->ratio = ratio;
    return ITG_OK;
}

static itg_status derive_form(const itg_requant_spec *spec, double ratio, float ratio_f32,
                              int64_t acc_bound, itg_requant *out)
{
    if (spec->form == ITG_REQUANT_F32) return derive_f32(ratio_f32, out);
    if (!(ratio >= DBL_MIN && ratio <= DBL_MAX)) return ITG_INFEASIBLE;
    switch (spec->form) {
    case ITG_REQUANT_TFLITE_DOUBLE:
        return derive_tflite_double(ratio, out);
    case ITG_REQUANT_S64_REDUCED:
        return derive_s64_reduced(ratio, out);
    case ITG_REQUANT_SHIFT:
        return derive_shift(spec, ratio, out);
    case ITG_REQUANT_PRESHIFT:
    case ITG_REQUANT_STAGES:
        return derive_multiply_shift(spec, ratio, acc_bound, out);
    default:
        return ITG_INFEASIBLE;
    }
}

itg_status itg_requant_derive(const itg_requant_spec *spec, double ratio, float ratio_f32,
                              int64_t acc_bound, itg_requant *out)
{
    itg_requant made;
    memset(&made, 0, sizeof made); /* padding too: callers may hash or compare the bytes */
    itg_status status = derive_form(spec, ratio, ratio_f32, acc_bound < 0 ? 0 : acc_bound, &made);
    if (status != ITG_OK) return status;
    int32_t longest = spec->max_shift > 0 && spec->max_shift < 62 ? spec->max_shift : 62;
    for (int32_t i = 0; i < made.stage_count; i++)
        if (made.stage[i].shift > longest || made.stage[i].shift < -62) return ITG_INFEASIBLE;
    *out = made;
    return ITG_OK;
}

double itg_requant_ratio(const itg_requant *r)
{
    if (r->is_f32) return (double)r->ratio;
    double ratio = 1;
    for (int32_t i = 0; i < r->stage_count; i++)
        ratio = ldexp(ratio * (double)r->stage[i].multiplier, -r->stage[i].shift);
    return ratio;
}

/* ---- real to integer and back ---- */

/* a + b, saturated. */
static int64_t add_saturated(int64_t a, int64_t b)
{
    return saturate((wide)a + b);
}

int64_t itg_quantize_f32(float x, float scale, int64_t zero_point, int64_t qmin, int64_t qmax)
{
    return itg_clamp(add_saturated(nearest((double)(x / scale)), zero_point), qmin, qmax);
}

float itg_dequantize_f32(int64_t q, float scale, int64_t zero_point)
{
    return (float)saturate((wide)q - zero_point) * scale;
}

/* ---- accumulators ---- */

int64_t itg_accumulator_max(itg_accumulator acc)
{
    return INT64_MAX >> (64 - acc.bits);
}

int64_t itg_accumulator_min(itg_accumulator acc)
{
    return INT64_MIN >> (64 - acc.bits);
}

int64_t itg_accumulator_fit(itg_accumulator acc, int64_t v)
{
    if (acc.overflow == ITG_OVERFLOW_SATURATE)
        return itg_clamp(v, itg_accumulator_min(acc), itg_accumulator_max(acc));
    return (int64_t)((uint64_t)v << (64 - acc.bits)) >> (64 - acc.bits);
}

/* ---- float32 forms ---- */

/* The product of two float32 is exact in binary64. If the sum is not exact, it is moved to the
 * neighbour with an odd last bit. Rounding that to float32 equals rounding the exact sum (Boldo and
 * Melquiond 2008). */
float itg_fma_f32(float a, float b, float c)
{
    double product = (double)a * (double)b, addend = (double)c, sum = product + addend;
    double part = sum - product, error = (product - (sum - part)) + (addend - part);
    if (error > 0 || error < 0) {
        uint64_t bits;
        memcpy(&bits, &sum, sizeof bits);
        if ((bits & 1) == 0) bits += (error > 0) == (sum > 0) ? 1 : UINT64_MAX;
        memcpy(&sum, &bits, sizeof sum);
    }
    return (float)sum;
}

itg_f32_add itg_f32_add_derive(float sa, int64_t za, float sb, int64_t zb, float sc, int64_t zc)
{
    itg_f32_add k = {.ra = sa / sc, .rb = sb / sc};
    float second = k.rb * (float)zb;
    k.fixed = (float)zc - itg_fma_f32(k.ra, (float)za, second);
    return k;
}

int64_t itg_f32_add_apply(const itg_f32_add *k, int64_t a, int64_t b, int64_t lo, int64_t hi)
{
    float second = itg_fma_f32((float)b, k->rb, k->fixed);
    return itg_clamp(nearest((double)itg_fma_f32((float)a, k->ra, second)), lo, hi);
}

itg_f32_mul itg_f32_mul_derive(float sa, float sb, float sc, int64_t zc)
{
    float scale = sa * sb;
    return (itg_f32_mul){scale / sc, (float)zc};
}

int64_t itg_f32_mul_apply(const itg_f32_mul *k, int64_t v, int64_t lo, int64_t hi)
{
    float scaled = (float)v * k->ratio, sum = scaled + k->zero;
    return itg_clamp(nearest((double)sum), lo, hi);
}

int64_t itg_quantize_mean_f32(float x, float scale, int64_t zero_point, int64_t qmin, int64_t qmax)
{
    float scaled = x / scale, sum = scaled + (float)zero_point;
    return itg_clamp(nearest((double)sum), qmin, qmax);
}

/* ---- names, in the order of the enumerations ---- */

static const char *const rounding_names[ITG_ROUNDING_COUNT] = {"half_even", "half_up", "half_away",
                                                               "floor"};
static const char *const form_names[ITG_REQUANT_FORM_COUNT] = {
    "tflite_double", "s64_reduced", "shift", "preshift", "f32", "stages"};

static const char *name_of(const char *const *names, int count, int index)
{
    return index >= 0 && index < count ? names[index] : "?";
}

static int index_of(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

const char *itg_rounding_name(itg_rounding rounding)
{
    return name_of(rounding_names, ITG_ROUNDING_COUNT, (int)rounding);
}

const char *itg_requant_form_name(itg_requant_form form)
{
    return name_of(form_names, ITG_REQUANT_FORM_COUNT, (int)form);
}

bool itg_requant_form_from_name(const char *name, itg_requant_form *out)
{
    int i = index_of(form_names, ITG_REQUANT_FORM_COUNT, name);
    if (i >= 0) *out = (itg_requant_form)i;
    return i >= 0;
}
