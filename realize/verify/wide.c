#include "realize/verify/wide.h"

#define TOP (UINT64_C(1) << 63)

itg_wide itg_wide_of(int64_t v)
{
    return (itg_wide){v < 0 ? UINT64_MAX : 0, (uint64_t)v};
}

bool itg_wide_is_negative(itg_wide v)
{
    return (v.hi & TOP) != 0;
}

int itg_wide_compare(itg_wide a, itg_wide b)
{
    uint64_t x = a.hi ^ TOP, y = b.hi ^ TOP;
    if (x != y) return x < y ? -1 : 1;
    return a.lo == b.lo ? 0 : a.lo < b.lo ? -1 : 1;
}

itg_wide itg_wide_add(itg_wide a, itg_wide b)
{
    itg_wide out = {a.hi + b.hi, a.lo + b.lo};
    out.hi += out.lo < a.lo;
    return out;
}

itg_wide itg_wide_negate(itg_wide v)
{
    return itg_wide_add((itg_wide){~v.hi, ~v.lo}, itg_wide_of(1));
}

static itg_wide magnitude(itg_wide v)
{
    return itg_wide_is_negative(v) ? itg_wide_negate(v) : v;
}

/* 64 x 64 -> 128 bits, by halves. */
static itg_wide multiply_unsigned(uint64_t a, uint64_t b)
{
    const uint64_t half = UINT32_MAX;
    uint64_t low = (a & half) * (b & half), left = (a >> 32) * (b & half),
             right = (a & half) * (b >> 32), high = (a >> 32) * (b >> 32);
    uint64_t middle = (low >> 32) + (left & half) + (right & half);
    return (itg_wide){high + (left >> 32) + (right >> 32) + (middle >> 32),
                      (middle << 32) | (low & half)};
}

itg_wide itg_wide_product(int64_t a, int64_t b)
{
    itg_wide x = magnitude(itg_wide_of(a)), y = magnitude(itg_wide_of(b));
    itg_wide out = multiply_unsigned(x.lo, y.lo);
    return (a < 0) != (b < 0) ? itg_wide_negate(out) : out;
}

bool itg_wide_multiply(itg_wide v, int64_t m, itg_wide *out)
{
    itg_wide size = magnitude(v), low = multiply_unsigned(size.lo, (uint64_t)m),
             high = multiply_unsigned(size.hi, (uint64_t)m);
    if (high.hi != 0 || high.lo >= TOP || low.hi >= TOP - high.lo) return false;
    low.hi += high.lo;
    *out = itg_wide_is_negative(v) ? itg_wide_negate(low) : low;
    return true;
}

bool itg_wide_shift_left(itg_wide v, int32_t by, itg_wide *out)
{
    return itg_wide_multiply(v, INT64_C(1) << by, out);
}

itg_wide itg_wide_round_shift(itg_wide v, int32_t by, itg_rounding rounding)
{
    if (by == 0) return v;
    uint64_t fill = itg_wide_is_negative(v) ? UINT64_MAX << (64 - by) : 0;
    uint64_t rest = v.lo & ((UINT64_C(1) << by) - 1), half = UINT64_C(1) << (by - 1);
    itg_wide down = {v.hi >> by | fill, v.lo >> by | v.hi << (64 - by)};
    bool up = rest > half;
    if (rest == half)
        up = rounding == ITG_ROUND_HALF_EVEN   ? (down.lo & 1) != 0
             : rounding == ITG_ROUND_HALF_AWAY ? !itg_wide_is_negative(v)
                                               : true;
    if (rounding == ITG_ROUND_FLOOR) up = false;
    return up ? itg_wide_add(down, itg_wide_of(1)) : down;
}

/* 2^(bits-1) - 1 or -2^(bits-1) */
static itg_wide end_of(int32_t bits, bool upper)
{
    int32_t by = bits - 1;
    itg_wide power = {by >= 64 ? UINT64_C(1) << (by - 64) : 0, by < 64 ? UINT64_C(1) << by : 0};
    return upper ? itg_wide_add(power, itg_wide_of(-1)) : itg_wide_negate(power);
}

bool itg_wide_fits(itg_wide v, int32_t bits)
{
    return itg_wide_compare(v, end_of(bits, false)) >= 0 &&
           itg_wide_compare(v, end_of(bits, true)) <= 0;
}

int64_t itg_wide_saturated(itg_wide v)
{
    if (!itg_wide_fits(v, 64)) return itg_wide_is_negative(v) ? INT64_MIN : INT64_MAX;
    return itg_wide_is_negative(v) ? -(int64_t)(~v.lo) - 1 : (int64_t)v.lo;
}

const char *itg_wide_text(itg_wide v, char buffer[ITG_WIDE_TEXT])
{
    itg_wide size = magnitude(v);
    uint32_t limb[4] = {(uint32_t)(size.hi >> 32), (uint32_t)size.hi, (uint32_t)(size.lo >> 32),
                        (uint32_t)size.lo};
    char digits[ITG_WIDE_TEXT];
    int count = 0, at = 0;
    do {
        uint64_t rest = 0;
        for (int i = 0; i < 4; i++) {
            rest = rest << 32 | limb[i];
            limb[i] = (uint32_t)(rest / 10);
            rest %= 10;
        }
        digits[count++] = (char)('0' + rest);
    } while (limb[0] | limb[1] | limb[2] | limb[3]);
    if (itg_wide_is_negative(v)) buffer[at++] = '-';
    while (count > 0)
        buffer[at++] = digits[--count];
    buffer[at] = '\0';
    return buffer;
}

/* ---- intervals ---- */

itg_span itg_span_of(int64_t lo, int64_t hi)
{
    return (itg_span){itg_wide_of(lo), itg_wide_of(hi)};
}

itg_span itg_span_add(itg_span a, itg_span b)
{
    return (itg_span){itg_wide_add(a.lo, b.lo), itg_wide_add(a.hi, b.hi)};
}

itg_span itg_span_negate(itg_span a)
{
    return (itg_span){itg_wide_negate(a.hi), itg_wide_negate(a.lo)};
}

itg_span itg_span_hull(itg_span a, itg_span b)
{
    return (itg_span){itg_wide_compare(a.lo, b.lo) <= 0 ? a.lo : b.lo,
                      itg_wide_compare(a.hi, b.hi) >= 0 ? a.hi : b.hi};
}

itg_span itg_span_product(int64_t a_lo, int64_t a_hi, int64_t b_lo, int64_t b_hi)
{
    const int64_t a[2] = {a_lo, a_hi}, b[2] = {b_lo, b_hi};
    itg_wide first = itg_wide_product(a_lo, b_lo);
    itg_span out = {first, first};
    for (int i = 1; i < 4; i++) {
        itg_wide corner = itg_wide_product(a[i & 1], b[i >> 1]);
        out = itg_span_hull(out, (itg_span){corner, corner});
    }
    return out;
}

bool itg_span_fits(itg_span a, int32_t bits)
{
    return itg_wide_fits(a.lo, bits) && itg_wide_fits(a.hi, bits);
}

int32_t itg_span_bits(itg_span a)
{
    int32_t bits = 1;
    while (bits < 127 && !itg_span_fits(a, bits))
        bits++;
    return bits;
}

itg_span itg_span_saturated(itg_span a, int32_t bits)
{
    itg_wide lo = end_of(bits, false), hi = end_of(bits, true);
    itg_span out = a;
    if (itg_wide_compare(a.lo, lo) < 0) out.lo = lo;
    if (itg_wide_compare(a.hi, hi) > 0) out.hi = hi;
    if (itg_wide_compare(out.lo, hi) > 0) out.lo = hi;
    if (itg_wide_compare(out.hi, lo) < 0) out.hi = lo;
    return out;
}
