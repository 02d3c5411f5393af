/* Exact integers of 128 bits in two halves, and closed intervals of them. Two's complement, on any
 * machine; what might leave 128 bits says so. Written for the verifier alone: it rounds with
 * nobody else's code. */
#ifndef ITG_VERIFY_WIDE_H
#define ITG_VERIFY_WIDE_H
#include "base/base.h"

typedef struct itg_wide {
    uint64_t hi, lo;
} itg_wide;
typedef struct itg_span {
    itg_wide lo, hi; /* both included */
} itg_span;

#define ITG_WIDE_TEXT 48 /* bytes of a number's text, terminated */

itg_wide itg_wide_of(int64_t v);
bool itg_wide_is_negative(itg_wide v);
int itg_wide_compare(itg_wide a, itg_wide b); /* -1, 0, 1 */
/* Modulo 2^128: for sums whose terms are far from it. */
itg_wide itg_wide_add(itg_wide a, itg_wide b);
itg_wide itg_wide_negate(itg_wide v);
/* a * b. */
itg_wide itg_wide_product(int64_t a, int64_t b);
/* false: the result leaves 128 bits (the product, of magnitudes below 2^127). m >= 0, 0 <= by
 * <= 62.
 */
bool itg_wide_multiply(itg_wide v, int64_t m, itg_wide *out);
bool itg_wide_shift_left(itg_wide v, int32_t by, itg_wide *out);
/* round(v / 2^by), 0 <= by <= 62. */
itg_wide itg_wide_round_shift(itg_wide v, int32_t by, itg_rounding rounding);
bool itg_wide_fits(itg_wide v, int32_t bits); /* in two's complement of 1..127 bits */
int64_t itg_wide_saturated(itg_wide v);       /* to 64 bits */
const char *itg_wide_text(itg_wide v, char buffer[ITG_WIDE_TEXT]);

itg_span itg_span_of(int64_t lo, int64_t hi);
itg_span itg_span_add(itg_span a, itg_span b);
itg_span itg_span_negate(itg_span a);
itg_span itg_span_hull(itg_span a, itg_span b);
/* All products of a number of [a_lo, a_hi] and one of [b_lo, b_hi], each below 2^62 in size. */
itg_span itg_span_product(int64_t a_lo, int64_t a_hi, int64_t b_lo, int64_t b_hi);
int32_t itg_span_bits(itg_span a); /* the least width that holds it; at least 1 */
bool itg_span_fits(itg_span a, int32_t bits);
itg_span itg_span_saturated(itg_span a, int32_t bits);
#endif
