/* Integers of 128 bits and closed intervals of them. The verifier has its own rounding, independent
 * of the code that it verifies. */
#ifndef ITG_VERIFY_WIDE_H
#define ITG_VERIFY_WIDE_H
#include "base/base.h"

__extension__ typedef __int128 itg_wide;
typedef struct itg_span {
    itg_wide lo, hi; /* both included */
} itg_span;

#define ITG_WIDE_TEXT 48 /* bytes of a number's text, terminated */

/* v * m and v * 2^by, m >= 0, 0 <= by <= 62; false: the result leaves 128 bits. */
bool itg_wide_multiply(itg_wide v, int64_t m, itg_wide *out);
bool itg_wide_shift_left(itg_wide v, int32_t by, itg_wide *out);
/* round(v / 2^by), 0 <= by <= 62. */
itg_wide itg_wide_round_shift(itg_wide v, int32_t by, itg_rounding rounding);
int64_t itg_wide_saturated(itg_wide v); /* to 64 bits */
/* Decimal; the text lies within buffer. */
const char *itg_wide_text(itg_wide v, char buffer[ITG_WIDE_TEXT]);

itg_span itg_span_of(int64_t lo, int64_t hi);
itg_span itg_span_add(itg_span a, itg_span b);
itg_span itg_span_negate(itg_span a);
itg_span itg_span_hull(itg_span a, itg_span b);
/* All products of a number of [a_lo, a_hi] and one of [b_lo, b_hi], each below 2^62 in size. */
itg_span itg_span_product(int64_t a_lo, int64_t a_hi, int64_t b_lo, int64_t b_hi);
int32_t itg_span_bits(itg_span a); /* the smallest width that holds it; at least 1 */
bool itg_span_fits(itg_span a, int32_t bits);
itg_span itg_span_saturated(itg_span a, int32_t bits);
#endif
