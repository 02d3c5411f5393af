#include "realize/verify/wide.h"

__extension__ typedef unsigned __int128 uwide;

static const itg_wide MOST = (itg_wide)(~(uwide)0 >> 1);

bool itg_wide_multiply(itg_wide v, int64_t m, itg_wide *out)
{
    if (m != 0 && (v > MOST / m || v < -(MOST / m))) return false;
    *out = v * m;
    return true;
}

bool itg_wide_shift_left(itg_wide v, int32_t by, itg_wide *out)
{
    return itg_wide_multiply(v, INT64_C(1) << by, out);
}

itg_wide itg_wide_round_shift(itg_wide v, int32_t by, itg_rounding rounding)
{
    if (by == 0) return v;
    uint64_t rest = (uint64_t)v & ((UINT64_C(1) << by) - 1), half = UINT64_C(1) << (by - 1);
    itg_wide down = v >> by;
    bool up = rest > half;
    if (rest == half)
        up = rounding == ITG_ROUND_HALF_EVEN   ? (down & 1) != 0
             : rounding == ITG_ROUND_HALF_AWAY ? v >= 0
                                               : true;
    if (rounding == ITG_ROUND_FLOOR) up = false;
    return down + up;
}

static itg_wide limited(itg_wide v, itg_span to)
{
    return v < to.lo ? to.lo : v > to.hi ? to.hi : v;
}

int64_t itg_wide_saturated(itg_wide v)
{
    return (int64_t)limited(v, itg_span_of(INT64_MIN, INT64_MAX));
}

const char *itg_wide_text(itg_wide v, char buffer[ITG_WIDE_TEXT])
{
    uwide size = v < 0 ? -(uwide)v : (uwide)v;
    int at = ITG_WIDE_TEXT - 1;
    buffer[at] = '\0';
    do {
        buffer[--at] = (char)('0' + (int)(size % 10));
        size /= 10;
    } while (size != 0);
    if (v < 0) buffer[--at] = '-';
    return buffer + at;
}

/* ---- intervals ---- */

itg_span itg_span_of(int64_t lo, int64_t hi)
{
    return (itg_span){lo, hi};
}

/* The interval that a width of 1 to 127 bits holds. */
static itg_span span_of_bits(int32_t bits)
{
    itg_wide power = (itg_wide)1 << (bits - 1);
    return (itg_span){-power, power - 1};
}

itg_span itg_span_add(itg_span a, itg_span b)
{
    return (itg_span){a.lo + b.lo, a.hi + b.hi};
}

itg_span itg_span_negate(itg_span a)
{
    return (itg_span){-a.hi, -a.lo};
}

itg_span itg_span_hull(itg_span a, itg_span b)
{
    return (itg_span){a.lo <= b.lo ? a.lo : b.lo, a.hi >= b.hi ? a.hi : b.hi};
}

itg_span itg_span_product(int64_t a_lo, int64_t a_hi, int64_t b_lo, int64_t b_hi)
{
    const int64_t a[2] = {a_lo, a_hi}, b[2] = {b_lo, b_hi};
    itg_wide first = (itg_wide)a_lo * b_lo;
    itg_span out = {first, first};
    for (int i = 1; i < 4; i++) {
        itg_wide corner = (itg_wide)a[i & 1] * b[i >> 1];
        out = itg_span_hull(out, (itg_span){corner, corner});
    }
    return out;
}

bool itg_span_fits(itg_span a, int32_t bits)
{
    itg_span all = span_of_bits(bits);
    return a.lo >= all.lo && a.lo <= all.hi && a.hi >= all.lo && a.hi <= all.hi;
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
    itg_span to = span_of_bits(bits);
    return (itg_span){limited(a.lo, to), limited(a.hi, to)};
}
